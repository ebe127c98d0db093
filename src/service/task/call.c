/* SPDX-License-Identifier: MIT */
/* How a call runs: an answer that was given before is given again (Idempotency-Key), else its
 * verb runs as a change (command.c, finish.c); what must happen in memory happens when it has
 * been staged for good, and when it is durable or rolled back. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

/* In the doc of an `idem` record: body hash, rev (8 bytes each, lowest first), outcome, answer
 * (the reason, of a refusal). */
enum { IDEM_HEAD_BYTES = 17 };

/* ---- Idempotency-Key */

static void put_u64(char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (char)(value >> (8 * i));
}

static uint64_t get_u64(const char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)(unsigned char)from[i] << (8 * i);
    return value;
}

/* Refused by what it found, so that it could be answered otherwise next time, and is not. What is
 * wrong in itself is refused again anyway; what there was no room for is to be tried again. */
static bool stands(enum tasks_outcome outcome)
{
    return outcome == TASKS_MISSING || outcome == TASKS_CONFLICTING || outcome == TASKS_LOST ||
           outcome == TASKS_TO_CANCEL || outcome == TASKS_UNMATCHED;
}

static enum tocsin_status replay(struct tasks_call *call, const struct engine_record *record)
{
    if (record->doc.size < IDEM_HEAD_BYTES || (unsigned char)record->doc.at[16] > TASKS_BROKEN)
        return TOCSIN_DAMAGED;
    struct bytes said = {record->doc.at + IDEM_HEAD_BYTES, record->doc.size - IDEM_HEAD_BYTES};
    if (get_u64(record->doc.at) != call->idem_body)
        return tasks_refuse(call, TASKS_CONFLICTING,
                            "Idempotency-Key: it was used with another body in the last 24 hours");
    call->rev = get_u64(record->doc.at + 8);
    call->outcome = (enum tasks_outcome)(unsigned char)record->doc.at[16];
    call->replayed = true;
    if (stands(call->outcome))
        (void)snprintf(call->why.text, sizeof call->why.text, "%.*s", (int)said.size, said.at);
    else
        buffer_append(&call->answer, said.at, said.size);
    return buffer_status(&call->answer);
}

static enum tocsin_status keep_answer(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct buffer *doc = &tasks->other_doc;
    char head[IDEM_HEAD_BYTES];
    put_u64(head, call->idem_body);
    put_u64(head + 8, call->rev);
    head[16] = (char)call->outcome;
    buffer_clear(doc);
    buffer_append(doc, head, sizeof head);
    if (stands(call->outcome))
        buffer_append_text(doc, call->why.text);
    else
        buffer_append(doc, call->answer.data, call->answer.size);
    if (buffer_status(doc) != TOCSIN_OK)
        return buffer_status(doc);
    struct change_put put = {
        .kind = tasks->idem_kind,
        .key = call->idem_key,
        .home = call->id,
        .due_ms = engine_now_up_ms(tasks->engine) + tasks->limits.idem_ms,
        .basis = STORE_ELAPSED,
        .doc = {doc->data, doc->size},
    };
    enum tocsin_status status = change_put(change, &put, NULL);
    call->idem_put = status == TOCSIN_OK; /* counted when it is staged for good */
    return status;
}

/* ---- running a call */

/* Nothing of this has been, until it is staged for good. */
static void begin(struct tasks_call *call)
{
    buffer_clear(&call->answer);
    call->outcome = TASKS_OK;
    call->rev = 0;
    call->why.text[0] = '\0';
    call->replayed = call->cancels = call->idem_put = false;
    call->ended = CALL_NOT_ENDED;
    call->unready_count = 0;
    call->fence = 0;
}

static void staged(struct tasks_call *call)
{
    for (size_t i = 0; i < call->unready_count; i++)
        (void)queue_unready(call->tasks, call->unready[i]);
    call->tasks->idem_count += call->idem_put;
    finish_staged(call);
}

static enum tocsin_status run_verb(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    if (call->idem_key.size > 0) {
        struct engine_record record;
        enum tocsin_status status = change_get(change, tasks->idem_kind, call->idem_key, &record);
        if (status == TOCSIN_OK)
            return replay(call, &record);
        if (status != TOCSIN_NONE)
            return status;
        if (tasks->idem_count >= tasks->limits.idem_entries)
            return tasks_refuse(call, TASKS_TOO_MANY,
                                "Idempotency-Key: too many of the last 24 hours");
    }
    enum tocsin_status status = command_verb(call, change);
    if (status != TOCSIN_BUSY)
        call->wish = NULL; /* it will not run again */
    if (status == TOCSIN_OK && buffer_status(&call->answer) != TOCSIN_OK)
        status = buffer_status(&call->answer);
    if (status != TOCSIN_OK)
        return status;
    bool done = call->outcome < TASKS_INVALID;
    if (call->idem_key.size > 0 && (done || stands(call->outcome)))
        return keep_answer(call, change);
    return done ? TOCSIN_OK : TOCSIN_CONFLICT; /* nothing is written */
}

static enum tocsin_status run_call(void *arg, struct change *change)
{
    struct tasks_call *call = arg;
    begin(call);
    enum tocsin_status status = run_verb(call, change);
    if (status == TOCSIN_OK)
        staged(call);
    else
        call->unready_count = 0; /* nothing was taken out of a queue, so nothing goes back */
    return status;
}

static enum tasks_outcome outcome_of(enum tocsin_status status)
{
    switch (status) {
    case TOCSIN_NO_SPACE:
        return TASKS_NO_SPACE;
    case TOCSIN_OVERLOADED:
    case TOCSIN_NO_MEMORY:
        return TASKS_OVERLOADED;
    case TOCSIN_FULL:
        return TASKS_TOO_MANY;
    case TOCSIN_DAMAGED:
    case TOCSIN_CORRUPT:
    case TOCSIN_NONE:
        return TASKS_BROKEN;
    default:
        return TASKS_UNAVAILABLE;
    }
}

static void count_call(struct tasks_call *call)
{
    struct tasks *tasks = call->tasks;
    if (call->replayed)
        return; /* it was counted then; and the task may have ended since */
    if (call->outcome == TASKS_MADE) {
        tasks_count(tasks, TASKS_ADDED, 1);
    } else if (call->outcome == TASKS_OK && call->verb == TASKS_PUT) {
        tasks_count(tasks, TASKS_REPLACED, 1);
    } else if (call->outcome == TASKS_CONFLICTING || call->outcome == TASKS_UNMATCHED) {
        tasks_count(tasks, TASKS_CONFLICT, 1);
    }
}

static void settled(void *arg, enum tocsin_status status)
{
    struct tasks_call *call = arg;
    struct tasks *tasks = call->tasks;
    bool ok = status == TOCSIN_OK;
    if (!ok && status != TOCSIN_CONFLICT) {
        call->outcome = outcome_of(status);
        (void)snprintf(call->why.text, sizeof call->why.text, "%s",
                       status == TOCSIN_DAMAGED ? TASKS_BROKEN_TEXT : tocsin_status_text(status));
        for (size_t i = 0; i < call->unready_count; i++) {
            struct engine_head head;
            if (engine_head(tasks->engine, call->unready[i], &head))
                queue_ready_again(tasks, call->unready[i], head.rev);
        }
        tasks->idem_count -= call->idem_put;
    }
    free(call->unready);
    call->unready = NULL;
    call->unready_count = 0;
    if (ok && call->cancels) {
        struct run *run = run_of_record(tasks, call->ref);
        if (run != NULL)
            run->cancel_requested = true;
    }
    if (ok && call->verb == TASKS_PUT)
        run_supersede(tasks, call->ref);
    finish_done(call, ok);
    count_call(call);
    call->done(call);
}

static void zone_here(void *arg, enum tocsin_status status, const struct tocsin_why *why)
{
    struct tasks_call *call = arg;
    if (status == TOCSIN_OK) {
        engine_change(call->tasks->engine, false, run_call, settled, call);
        return;
    }
    call->outcome = status == TOCSIN_INVALID ? TASKS_INVALID : TASKS_OVERLOADED;
    (void)snprintf(call->why.text, sizeof call->why.text, "tz: %.190s", why->text);
    call->done(call);
}

void tasks_start(struct tasks *tasks, struct tasks_call *call)
{
    call->tasks = tasks;
    call->unready = NULL;
    begin(call);
    bool makes = call->verb == TASKS_CREATE || call->verb == TASKS_PUT;
    if (makes && call->wish->rhythm == TASK_CRON) {
        zones_want(&tasks->zones, tasks->engine, call->wish->zone, zone_here, call);
        return;
    }
    bool urgent = call->urgent || call->verb == TASKS_ACK || call->verb == TASKS_NACK ||
                  call->verb == TASKS_DELETE || call->verb == TASKS_FORGET;
    engine_change(tasks->engine, urgent, run_call, settled, call);
}

void tasks_expect(struct tasks *tasks, struct bytes id)
{
    engine_expect(tasks->engine, tasks->task_kind, id);
}
