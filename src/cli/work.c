/* SPDX-License-Identifier: MIT */
/* tocsin work: makes any command a worker (W-05, W-24). One thread; commands, lease, extends and
 * acks all go on at once:
 *
 *     lease      while there are free slots, one call that waits
 *     slots      each a command and its run: work_slot.c
 *     sleep      until a call, a command or a signal has something to say, or a time comes
 */

#include "cli/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/signals.h"
#include "schedule/backoff.h"

enum {
    LEASE_GRACE_MS = 10000,
    HASTY_MS = 100,
    FORCE_MS = 15000,
    FDS_MAX = WORK_SLOTS_MAX * JOB_FDS + 1
};

/* ---- options */

static bool read_max(const char *value, void *into)
{
    return options_whole(value, 1, WORK_SLOTS_MAX, &((struct work *)into)->max);
}

static bool read_ttl(const char *value, void *into)
{
    return options_time(value, 100, 86400000, &((struct work *)into)->ttl_ms);
}

static bool read_wait(const char *value, void *into)
{
    ((struct work *)into)->waits = true;
    return options_time(value, 1000, 3600000, &((struct work *)into)->wait_ms);
}

static const struct option_row rows[] = {
    {"--max", "N", "so many at a time (1)", "a whole number from 1 to 256", read_max},
    {"--ttl", "TIME", "a lease, extended while the command runs (30s)",
     "a duration from 100ms to 24h", read_ttl},
    {"--wait", "TIME", "how long one call waits for work (30s)", "a duration from 1s to 1h",
     read_wait},
    {"--once", NULL, "leave when the queue is empty, after --wait if that is given", "",
     options_read_flag, offsetof(struct work, once)},
    {"--result", NULL, "what the command prints, JSON of 16 KiB at most, becomes the result", "",
     options_read_flag, offsetof(struct work, wants_result)},
};

/* ---- what the files share */

uint64_t work_backoff_us(uint32_t failures)
{
    static const struct backoff backoff = {
        .base_ms = 100, .cap_ms = 5000, .factor = 2, .jitter = 0.5};
    uint64_t chance = 0;
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0)
        chance = clock_now_us() * UINT64_C(0x9e3779b97f4a7c15);
    return backoff_delay_ms(&backoff, failures, chance) * 1000;
}

/* ---- leasing */

static struct slot *free_slot(struct work *work)
{
    for (uint64_t i = 0; i < work->max; i++) {
        if (work->slots[i].state == SLOT_FREE)
            return &work->slots[i];
    }
    return NULL;
}

static uint64_t busy_slots(const struct work *work)
{
    uint64_t busy = 0;
    for (uint64_t i = 0; i < work->max; i++)
        busy += work->slots[i].state != SLOT_FREE;
    return busy;
}

static void take_runs(struct work *work, struct bytes answer)
{
    struct bytes runs;
    struct bytes run;
    work->empty = true;
    if (!fields_raw(answer, "runs", &runs))
        return;
    while (fields_item(&runs, &run)) {
        struct slot *slot = free_slot(work);
        if (slot == NULL)
            break; /* more than was asked for: they come back when their lease ends */
        work->empty = false;
        slot_take(slot, run);
    }
}

static void leased(void *arg, struct call *call, enum call_end end)
{
    struct work *work = arg;
    int status = end == CALL_ANSWERED ? call_status(call) : 0;
    if (end == CALL_UNREACHED && work->once && !work->met) { /* a script wants to know */
        work->code = client_judge(&work->client, call, end);
        work->failed = true;
        return;
    }
    work->met = work->met || end == CALL_ANSWERED;
    client_note_answer(&work->client, call, end, &work->away);
    if (status == 0 || status >= 500 || status == 429) {
        work->lease_us = clock_now_us() + work_backoff_us(work->lease_failures++);
        return;
    }
    work->lease_failures = 0;
    work->lease_us = 0;
    if (status >= 300) {
        work->code = client_judge(&work->client, call, end);
        work->failed = true;
        return;
    }
    take_runs(work, call_body(call));
    /* A server that stops answers at once those who wait: they are not to ask again at once. */
    uint64_t now_us = clock_now_us();
    if (work->empty && !work->once && now_us - work->asked_us < (uint64_t)HASTY_MS * 1000)
        work->lease_us = now_us + work_backoff_us(0);
}

static bool wants_lease(const struct work *work, uint64_t busy, uint64_t now_us)
{
    if (work->stops > 0 || work->failed || busy == work->max || now_us < work->lease_us ||
        call_under_way(work->lease))
        return false;
    return !(work->once && work->empty && busy > 0); /* it asks again when one has ended */
}

static void lease(struct work *work, uint64_t busy)
{
    char path[CLIENT_PATH_BYTES_MAX];
    char body[128];
    uint64_t wait_ms = work->once && !work->waits ? 0 : work->wait_ms;
    if (!client_path(&work->client, "/v1/queues/", work->queue, "/lease", path)) {
        work->failed = true;
        work->code = EXIT_USAGE;
        return;
    }
    (void)snprintf(body, sizeof body,
                   "{\"max\":%" PRIu64 ",\"wait\":%" PRIu64 ",\"ttl\":%" PRIu64 "}",
                   work->max - busy, wait_ms, work->ttl_ms);
    work->asked_us = clock_now_us();
    calls_start(work->calls, work->lease,
                &(struct call_request){.method = "POST",
                                       .path = path,
                                       .body = bytes_of(body),
                                       .timeout_ms = wait_ms + LEASE_GRACE_MS},
                leased, work);
}

/* ---- signals */

static void stop(struct work *work)
{
    uint64_t now_us = clock_now_us();
    work->stops++;
    if (work->stops == 1) {
        /* What has just been leased to us is taken, not dropped. */
        calls_wait(work->calls, NULL, 0, 0);
        calls_cancel(work->calls, work->lease);
        uint64_t busy = busy_slots(work);
        if (busy > 0)
            error_note("work", "stopping when %" PRIu64 " running %s; once more ends %s", busy,
                       busy == 1 ? "command has ended" : "commands have ended",
                       busy == 1 ? "it" : "them");
        return;
    }
    for (uint64_t i = 0; i < work->max; i++) {
        if (work->slots[i].state == SLOT_RUNNING)
            job_end(&work->slots[i].job, now_us);
    }
    if (work->give_up_us == UINT64_MAX)
        work->give_up_us = now_us + (uint64_t)FORCE_MS * 1000;
}

static void read_signals(struct work *work)
{
    struct signalfd_siginfo info;
    while (read(work->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            stop(work);
    }
}

/* ---- the loop */

static bool finished(const struct work *work, uint64_t busy, uint64_t now_us)
{
    if (now_us >= work->give_up_us)
        return true;
    if (busy > 0)
        return false;
    return work->stops > 0 || work->failed ||
           (work->once && work->empty && !call_under_way(work->lease));
}

static void sleep_now(struct work *work)
{
    struct pollfd fds[FDS_MAX];
    size_t count = 0;
    uint64_t wake_us = work->give_up_us;
    uint64_t busy = busy_slots(work);
    fds[count++] = (struct pollfd){.fd = work->signals, .events = POLLIN};
    for (uint64_t i = 0; i < work->max; i++) {
        const struct slot *slot = &work->slots[i];
        uint64_t at_us = slot_wake_us(slot);
        wake_us = at_us < wake_us ? at_us : wake_us;
        if (slot->state == SLOT_RUNNING)
            count += job_fds(&slot->job, fds + count);
    }
    if (busy < work->max && work->stops == 0 && !call_under_way(work->lease) &&
        work->lease_us < wake_us && !(work->once && work->empty && busy > 0))
        wake_us = work->lease_us;
    uint64_t now_us = clock_now_us();
    uint64_t ms = wake_us <= now_us ? 0 : (wake_us - now_us) / 1000 + 1;
    calls_wait(work->calls, fds, count, ms);
}

static void loop(struct work *work)
{
    for (;;) {
        uint64_t now_us = clock_now_us();
        uint64_t before = busy_slots(work);
        for (uint64_t i = 0; i < work->max; i++)
            slot_step(&work->slots[i], now_us);
        uint64_t busy = busy_slots(work);
        if (finished(work, busy, now_us))
            return;
        if (busy < before)
            work->empty = false;
        if (wants_lease(work, busy, now_us))
            lease(work, busy);
        sleep_now(work);
        read_signals(work);
    }
}

static void close_slots(struct work *work)
{
    for (uint64_t i = 0; work->slots != NULL && i < work->max; i++) {
        struct slot *slot = &work->slots[i];
        if (slot->work == NULL)
            continue;
        if (slot->state != SLOT_FREE)
            error_note("work", "%s: left without an answer; it is tried again when its lease ends",
                       slot->task_id);
        calls_cancel(work->calls, slot->extend);
        calls_cancel(work->calls, slot->settle);
        slot_release(slot);
    }
    free(work->slots);
}

static int prepare(struct work *work)
{
    int code = client_init(&work->client, &work_command, &work->options);
    if (code != EXIT_DONE)
        return code;
    work->calls = calls_create();
    work->lease = call_create(&work->client.target);
    work->slots = calloc(work->max, sizeof *work->slots);
    bool good = work->calls != NULL && work->lease != NULL && work->slots != NULL;
    for (uint64_t i = 0; good && i < work->max; i++)
        good = slot_init(&work->slots[i], work);
    if (!good)
        return command_fail(&work_command, "no memory");
    work->signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0});
    if (work->signals < 0)
        return command_fail(&work_command, "cannot wait for signals: %s", strerror(errno));
    return EXIT_DONE;
}

static int work_run(int argc, char **argv)
{
    struct work work = {
        .max = 1, .ttl_ms = 30000, .wait_ms = 30000, .signals = -1, .give_up_us = UINT64_MAX};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&work_command, &words, &work, &code))
        return code;
    if (words.count < 2)
        return command_usage(&work_command, "the command is missing: tocsin work QUEUE -- COMMAND");
    work.queue = words.at[0];
    char **command = calloc((size_t)words.count, sizeof *command);
    if (command == NULL)
        return command_fail(&work_command, "no memory");
    memcpy(command, words.at + 1, (size_t)(words.count - 1) * sizeof *command);
    work.command = command;
    work.code = prepare(&work);
    if (work.code == EXIT_DONE)
        loop(&work);
    if (work.give_up_us != UINT64_MAX && busy_slots(&work) > 0)
        work.code = EXIT_REFUSED;
    close_slots(&work);
    if (work.lease != NULL)
        calls_cancel(work.calls, work.lease);
    call_destroy(work.lease);
    calls_destroy(work.calls);
    client_release(&work.client);
    if (work.signals >= 0)
        (void)close(work.signals);
    free(command);
    return work.code;
}

const struct command work_command = {
    .name = "work",
    .text = "make a command a worker: run it for each task of a queue",
    .usage = "QUEUE [OPTION...] -- COMMAND [ARGUMENT...]",
    .about =
        "Takes runs from a queue and starts the command for each: the payload on its stdin,\n"
        "TOCSIN_RUN, TOCSIN_TASK_ID, TOCSIN_ATTEMPT, TOCSIN_FENCE and TOCSIN_DUE_MS in its\n"
        "environment. Exit 0 acknowledges the run; anything else fails the attempt, with the\n"
        "end of stderr as the reason. The lease is extended while the command runs. When it\n"
        "is lost, or the task is cancelled, the command is ended: SIGTERM, 5 s later SIGKILL.\n",
    .after = "SIGTERM or SIGINT: takes nothing new and leaves when the running commands have\n"
             "ended; the second one ends them. A server that is away is waited for. With --json\n"
             "the answer to each ack and nack is printed.\n"
             "\n"
             "example: tocsin work mail --max 4 -- ./send-mail --verbose\n",
    COMMAND_ROWS(rows),
    .word_name = "the queue",
    .words_min = 1,
    .words_max = COMMAND_WORDS_ANY,
    .client = true,
    .run = work_run,
};
