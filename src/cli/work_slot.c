/* SPDX-License-Identifier: MIT */
/* One run of `tocsin work`, from its lease to its ack or nack: see work.h. */

#include "cli/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "schedule/duration.h"

enum { ERROR_BYTES = 1000, BODY_BYTES_MAX = 128 * 1024, VARIABLES = 5, VARIABLE_BYTES = 320 };

bool slot_init(struct slot *slot, struct work *work)
{
    *slot = (struct slot){.work = work};
    job_init(&slot->job);
    slot->extend = call_create(&work->client.target);
    slot->settle = call_create(&work->client.target);
    return slot->extend != NULL && slot->settle != NULL;
}

void slot_release(struct slot *slot)
{
    job_release(&slot->job);
    call_destroy(slot->extend);
    call_destroy(slot->settle);
}

static void slot_free(struct slot *slot)
{
    calls_cancel(slot->work->calls, slot->extend);
    job_release(&slot->job);
    slot->state = SLOT_FREE;
}

/* ---- start */

static int start(struct slot *slot, struct bytes run)
{
    char variables[VARIABLES][VARIABLE_BYTES];
    int64_t attempt = 0;
    int64_t fence = 0;
    int64_t due_ms = 0;
    struct bytes payload = {"null", 4};
    (void)fields_int64(run, "attempt", &attempt);
    (void)fields_int64(run, "fence", &fence);
    (void)fields_int64(run, "due_ms", &due_ms);
    (void)fields_raw(run, "payload", &payload);
    (void)snprintf(variables[0], VARIABLE_BYTES, "TOCSIN_RUN=%s", slot->run);
    (void)snprintf(variables[1], VARIABLE_BYTES, "TOCSIN_TASK_ID=%s", slot->task_id);
    (void)snprintf(variables[2], VARIABLE_BYTES, "TOCSIN_ATTEMPT=%" PRId64, attempt);
    (void)snprintf(variables[3], VARIABLE_BYTES, "TOCSIN_FENCE=%" PRId64, fence);
    (void)snprintf(variables[4], VARIABLE_BYTES, "TOCSIN_DUE_MS=%" PRId64, due_ms);
    char *pointers[VARIABLES];
    for (size_t i = 0; i < VARIABLES; i++)
        pointers[i] = variables[i];
    char **environment = job_environment(pointers, VARIABLES);
    if (environment == NULL)
        return ENOMEM;
    int problem =
        job_start(&slot->job, slot->work->command, environment, payload, slot->work->wants_result);
    free(environment);
    return problem;
}

void slot_take(struct slot *slot, struct bytes run)
{
    struct work *work = slot->work;
    slot->failures = 0;
    slot->lost = false;
    slot->cancelled = false;
    slot->without_result = false;
    slot->settle_us = 0;
    slot->run[0] = slot->task_id[0] = '\0';
    (void)fields_text(run, "run", slot->run, sizeof slot->run);
    (void)fields_text(run, "task_id", slot->task_id, sizeof slot->task_id);
    slot->extend_us = clock_now_us() + work->ttl_ms * 1000 / 3;
    slot->state = SLOT_RUNNING;
    int problem = start(slot, run);
    if (problem == 0)
        return;
    /* It will not start for the next run either: give this one back, and stop. */
    slot->state = SLOT_SETTLING;
    work->failed = true;
    work->code = command_fail(&work_command, "cannot start '%.200s': %s", work->command[0],
                              strerror(problem));
    slot->job.tail_size =
        (size_t)snprintf(slot->job.tail, sizeof slot->job.tail, "cannot start '%.200s': %s",
                         work->command[0], strerror(problem));
}

/* ---- extend */

static void extended(void *arg, struct call *call, enum call_end end)
{
    struct slot *slot = arg;
    struct work *work = slot->work;
    uint64_t now_us = clock_now_us();
    client_note_answer(&work->client, call, end, &work->away);
    slot->extend_us = now_us + work->ttl_ms * 1000 / 3;
    if (end != CALL_ANSWERED || call_status(call) >= 500 || call_status(call) == 429) {
        slot->extend_us = now_us + work->ttl_ms * 1000 / 10;
        return;
    }
    if (call_status(call) < 300)
        return;
    char code[40] = "";
    char problem[400];
    client_problem(call, problem, sizeof problem);
    (void)fields_text(call_body(call), "code", code, sizeof code);
    slot->cancelled = strcmp(code, "CANCEL_REQUESTED") == 0;
    slot->lost = !slot->cancelled;
    error_note("work", "%s: %s; the command is ended", slot->task_id, problem);
    job_end(&slot->job, now_us);
    slot->extend_us = UINT64_MAX;
}

static void run_path(const struct slot *slot, const char *verb, char *ret_path, size_t room)
{
    (void)snprintf(ret_path, room, "/v1/runs/%s/%s", slot->run, verb);
}

static void extend(struct slot *slot)
{
    char path[128];
    char body[64];
    struct work *work = slot->work;
    run_path(slot, "extend", path, sizeof path);
    (void)snprintf(body, sizeof body, "{\"ttl\":%" PRIu64 "}", work->ttl_ms);
    slot->extend_us = UINT64_MAX;
    calls_start(work->calls, slot->extend,
                &(struct call_request){.method = "POST",
                                       .path = path,
                                       .body = bytes_of(body),
                                       .timeout_ms = work->client.timeout_ms},
                extended, slot);
}

/* ---- ack and nack */

static bool is_json(struct bytes text)
{
    struct json_reader reader;
    json_reader_init(&reader, text.at, text.size, 0);
    return text.size > 0 && json_read_raw(&reader, NULL) &&
           json_read_finish(&reader, NULL) == TOCSIN_OK;
}

/* The work is done, whatever becomes of what it printed; but nothing is dropped in silence. */
static void judge_result(struct slot *slot)
{
    struct bytes result = {slot->job.result.data, slot->job.result.size};
    const char *why = NULL;
    if (slot->job.result_cut)
        why = "more than 16384 bytes were printed";
    else if (result.size > 0 && !is_json(result))
        why = "what was printed is not JSON";
    slot->without_result = why != NULL;
    if (why != NULL)
        error_note("work", "%s: done, but without a result: %s", slot->task_id, why);
}

static void write_ack(const struct slot *slot, struct buffer *out)
{
    struct json_writer writer;
    struct bytes result = {slot->job.result.data, slot->job.result.size};
    json_writer_init(&writer, out);
    json_write_object(&writer);
    if (result.size > 0 && !slot->without_result) {
        json_write_key(&writer, "result");
        json_write_raw(&writer, result.at, result.size);
    }
    json_write_object_end(&writer);
}

static void write_nack(const struct slot *slot, struct buffer *out)
{
    struct json_writer writer;
    char error[ERROR_BYTES];
    if (slot->job.pid == 0)
        (void)snprintf(error, sizeof error, "%.*s", (int)slot->job.tail_size, slot->job.tail);
    else
        job_error(&slot->job, error, sizeof error);
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_write_key(&writer, "error");
    json_write_text(&writer, error);
    json_write_object_end(&writer);
}

static void settled(void *arg, struct call *call, enum call_end end)
{
    struct slot *slot = arg;
    struct work *work = slot->work;
    char problem[400];
    client_note_answer(&work->client, call, end, &work->away);
    int status = end == CALL_ANSWERED ? call_status(call) : 0;
    if (status == 0 || status >= 500 || status == 429) {
        slot->settle_us = clock_now_us() + work_backoff_us(slot->failures++);
        return;
    }
    if (status == 400 && !slot->without_result && job_succeeded(&slot->job)) {
        client_problem(call, problem, sizeof problem);
        error_note("work", "%s: once more without the result: %s", slot->task_id, problem);
        slot->without_result = true;
        slot->settle_us = 0;
        return;
    }
    if (status >= 300) {
        client_problem(call, problem, sizeof problem);
        error_note("work", "%s: %s", slot->task_id, problem);
    } else if (work->client.json) {
        (void)printf("%.*s\n", (int)call_body(call).size, call_body(call).at);
        (void)fflush(stdout);
    }
    slot_free(slot);
}

static void settle(struct slot *slot)
{
    char path[128];
    struct buffer body;
    struct work *work = slot->work;
    bool good = job_succeeded(&slot->job);
    buffer_init(&body, BODY_BYTES_MAX);
    run_path(slot, good ? "ack" : "nack", path, sizeof path);
    if (good)
        write_ack(slot, &body);
    else
        write_nack(slot, &body);
    calls_start(work->calls, slot->settle,
                &(struct call_request){.method = "POST",
                                       .path = path,
                                       .body = {body.data, body.size},
                                       .timeout_ms = work->client.timeout_ms},
                settled, slot);
    buffer_release(&body);
}

/* The command is over: what does the server have to know? */
static void ended(struct slot *slot)
{
    struct work *work = slot->work;
    calls_cancel(work->calls, slot->extend);
    work->done++;
    work->failed_runs += !job_succeeded(&slot->job);
    if (!slot->lost && job_succeeded(&slot->job))
        judge_result(slot);
    if (slot->lost)
        slot_free(slot);
    else
        slot->state = SLOT_SETTLING;
}

void slot_step(struct slot *slot, uint64_t now_us)
{
    if (slot->state == SLOT_RUNNING) {
        job_pump(&slot->job);
        if (slot->job.ended)
            ended(slot);
        else if (now_us >= slot->extend_us && !call_under_way(slot->extend))
            extend(slot);
    }
    if (slot->state == SLOT_SETTLING && now_us >= slot->settle_us && !call_under_way(slot->settle))
        settle(slot);
}

uint64_t slot_wake_us(const struct slot *slot)
{
    uint64_t at_us = UINT64_MAX;
    if (slot->state == SLOT_RUNNING) {
        at_us = slot->extend_us;
        if (slot->job.kill_us != 0 && slot->job.kill_us < at_us)
            at_us = slot->job.kill_us;
    } else if (slot->state == SLOT_SETTLING && !call_under_way(slot->settle)) {
        at_us = slot->settle_us;
    }
    return at_us;
}
