/* SPDX-License-Identifier: MIT */
/* tocsin lease run: a command that runs only while a lease is held. Here: the options, how
 * the lease is got, and how it is let go; lease_hold.c has what is in between. */

#include "cli/lease_run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/json_write.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/signals.h"
#include "schedule/backoff.h"

enum {
    WAIT_MAX_MS = 24 * 3600 * 1000,
    ANSWER_MS = 10000,
    RELEASE_MS = 5000,
    BODY_BYTES_MAX = 4096,
};

/* ---- options */

static bool read_ttl(const char *value, void *into)
{
    return options_time(value, 100, WAIT_MAX_MS, &((struct lease_run *)into)->ttl_ms);
}

static bool read_wait(const char *value, void *into)
{
    struct lease_run *run = into;
    run->forever = strcmp(value, "forever") == 0;
    return run->forever || options_time(value, 0, WAIT_MAX_MS, &run->wait_ms);
}

static bool read_grace(const char *value, void *into)
{
    return options_time(value, 0, WAIT_MAX_MS, &((struct lease_run *)into)->grace_ms);
}

static bool read_holder(const char *value, void *into)
{
    ((struct lease_run *)into)->holder = value;
    return value[0] != '\0' && strlen(value) < LEASE_TEXT_BYTES;
}

static const struct option_row rows[] = {
    {"--ttl", "TIME", "how long it is ours after each keepalive (30s)",
     "a duration from 100ms to 24h", read_ttl},
    {"--wait", "TIME", "stand in line so long, or forever (0s)", "a duration up to 24h, or forever",
     read_wait},
    {"--holder", "WHO", "who has it (the host); pid and a number by chance follow",
     "a name of 220 bytes at most", read_holder},
    {"--grace", "TIME", "between SIGTERM and SIGKILL, at most a third of the ttl (10s)",
     "a duration up to 24h", read_grace},
};

/* ---- what the files share */

uint64_t lease_run_pause_us(struct lease_run *run)
{
    static const struct backoff backoff = {
        .base_ms = 50, .cap_ms = 2000, .factor = 2, .jitter = 0.5};
    uint64_t chance = 0;
    (void)!getrandom(&chance, sizeof chance, GRND_NONBLOCK);
    uint64_t ms = backoff_delay_ms(&backoff, run->failures++, chance);
    uint64_t most_ms = run->ttl_ms / 20 + 1;
    return (ms < most_ms ? ms : most_ms) * 1000;
}

int lease_run_status(const struct lease_run *run)
{
    return run->end == CALL_ANSWERED ? call_status(run->call) : 0;
}

bool lease_run_is_final(const struct lease_run *run)
{
    int status = lease_run_status(run);
    return status >= 400 && status < 500 && status != 429;
}

void lease_run_sleep(struct lease_run *run, uint64_t until_us)
{
    struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                           {.fd = run->alarm, .events = POLLIN}};
    uint64_t rung;
    if (until_us != UINT64_MAX)
        clock_alarm_set(run->alarm, until_us);
    calls_wait(run->calls, fds, 2, 60000);
    (void)!read(run->alarm, &rung, sizeof rung);
}

static void call_ended(void *arg, struct call *call, enum call_end end)
{
    struct lease_run *run = arg;
    (void)call;
    run->answered = true;
    run->end = end;
}

void lease_run_ask(struct lease_run *run, const char *method, const char *path, struct bytes body,
                   uint64_t timeout_ms)
{
    run->answered = false;
    run->asked_us = clock_boot_us();
    calls_start(run->calls, run->call,
                &(struct call_request){
                    .method = method, .path = path, .body = body, .timeout_ms = timeout_ms},
                call_ended, run);
}

/* {"holder":…,"ttl":…, and "fence" or "wait"} */
static void ask_with(struct lease_run *run, const char *method, const char *after,
                     const char *field, uint64_t value, uint64_t timeout_ms)
{
    char path[CLIENT_PATH_BYTES_MAX];
    struct buffer body;
    struct json_writer writer;
    buffer_init(&body, BODY_BYTES_MAX);
    json_writer_init(&writer, &body);
    json_write_object(&writer);
    json_write_key(&writer, "holder");
    json_write_text(&writer, run->holder);
    json_write_key(&writer, "ttl");
    json_write_uint64(&writer, run->ttl_ms);
    json_write_key(&writer, field);
    json_write_uint64(&writer, value);
    json_write_object_end(&writer);
    (void)client_path(&run->client, "/v1/leases/", run->name, after,
                      path); /* it was tried before */
    lease_run_ask(run, method, path, (struct bytes){body.data, body.size}, timeout_ms);
    buffer_release(&body);
}

void lease_run_beat(struct lease_run *run, uint64_t timeout_ms)
{
    ask_with(run, "POST", "/keepalive", "fence", (uint64_t)run->fence, timeout_ms);
}

void lease_run_take(struct lease_run *run)
{
    (void)fields_int64(call_body(run->call), "fence", &run->fence);
    run->until_us = run->asked_us + run->ttl_ms * 1000;
    run->beat_us = run->asked_us + run->ttl_ms * 1000 / 3;
    run->failures = 0;
}

/* ---- getting it */

/* False: a signal came. */
static bool wait_for_answer(struct lease_run *run)
{
    while (!run->answered) {
        struct signalfd_siginfo info;
        lease_run_sleep(run, UINT64_MAX);
        while (!run->answered && read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo != SIGCHLD)
                run->stopped_by = (int)info.ssi_signo;
        }
        if (run->stopped_by != 0)
            return false;
    }
    return true;
}

static bool pause_for(struct lease_run *run, uint64_t us)
{
    uint64_t end_us = clock_boot_us() + us;
    while (clock_boot_us() < end_us && run->stopped_by == 0) {
        struct signalfd_siginfo info;
        lease_run_sleep(run, end_us);
        if (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info &&
            info.ssi_signo != SIGCHLD)
            run->stopped_by = (int)info.ssi_signo;
    }
    return run->stopped_by == 0;
}

/* The lease began when it was given to us, and we count from when we asked: after a long wait that
 * is too much. A beat makes it shorter. */
static bool confirm(struct lease_run *run)
{
    lease_run_take(run);
    if (clock_boot_us() - run->asked_us < run->ttl_ms * 1000 / 10)
        return true;
    lease_run_beat(run, run->ttl_ms);
    if (!wait_for_answer(run) || lease_run_status(run) != 200)
        return false;
    lease_run_take(run);
    return true;
}

static int tell_refused(struct lease_run *run)
{
    char holder[LEASE_TEXT_BYTES] = "somebody else";
    if (lease_run_status(run) != 409)
        return client_judge(&run->client, run->call, run->end);
    (void)fields_text(call_body(run->call), "holder", holder, sizeof holder);
    return command_fail(&lease_run_command, "%s could not be had: %s has it", run->name, holder);
}

/* EXIT_DONE: it is ours. */
static int get(struct lease_run *run)
{
    uint64_t end_us = clock_boot_us() + run->wait_ms * 1000;
    for (;;) {
        uint64_t now_us = clock_boot_us();
        uint64_t left_ms = run->forever      ? WAIT_MAX_MS
                           : end_us > now_us ? (end_us - now_us) / 1000
                                             : 0;
        run->maybe = true;
        ask_with(run, "PUT", "", "wait", left_ms, left_ms + ANSWER_MS);
        if (!wait_for_answer(run))
            return EXIT_REFUSED;
        int status = lease_run_status(run);
        run->maybe = status == 0;
        if ((status == 200 || status == 201) && confirm(run))
            return EXIT_DONE;
        if (run->stopped_by != 0)
            return EXIT_REFUSED;
        bool held = status == 409;
        if (lease_run_is_final(run) && !(held && run->forever) && status != 201 && status != 200)
            return tell_refused(run);
        if (!run->forever && clock_boot_us() >= end_us)
            return tell_refused(run);
        client_note_answer(&run->client, run->call, run->end, &run->away);
        if (!held && !pause_for(run, lease_run_pause_us(run)))
            return EXIT_REFUSED;
    }
}

/* ---- letting it go */

static void release(struct lease_run *run)
{
    char path[CLIENT_PATH_BYTES_MAX];
    char fence[32];
    (void)snprintf(fence, sizeof fence, "%" PRId64, run->fence);
    if (!client_path(&run->client, "/v1/leases/", run->name, "", path) ||
        !client_query(&run->client, "holder", run->holder, path) ||
        (run->fence != 0 && !client_query(&run->client, "fence", fence, path)))
        return;
    calls_cancel(run->calls, run->call);
    lease_run_ask(run, "DELETE", path, (struct bytes){0}, RELEASE_MS);
    while (!run->answered)
        lease_run_sleep(run, UINT64_MAX);
    int status = lease_run_status(run);
    if (run->fence != 0 && status != 200 && status != 404 && !run->lost)
        error_note("lease run", "%s could not be released; it ends by itself", run->name);
}

/* ---- all of it */

static void choose_holder(struct lease_run *run)
{
    char host[128] = "";
    uint32_t chance = 0;
    (void)gethostname(host, sizeof host - 1);
    (void)!getrandom(&chance, sizeof chance, 0);
    (void)snprintf(run->own_holder, sizeof run->own_holder, "%.220s:%ld:%08" PRIx32,
                   run->holder != NULL ? run->holder : host, (long)getpid(), chance);
    run->holder = run->own_holder;
}

static int prepare(struct lease_run *run)
{
    char path[CLIENT_PATH_BYTES_MAX];
    choose_holder(run);
    int code = client_init(&run->client, &lease_run_command, &run->options);
    if (code != EXIT_DONE)
        return code;
    if (!client_path(&run->client, "/v1/leases/", run->name, "/keepalive", path))
        return EXIT_USAGE;
    run->calls = calls_create();
    run->call = call_create(&run->client.target);
    if (run->calls == NULL || run->call == NULL)
        return command_fail(&lease_run_command, "no memory");
    run->signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, 0});
    run->alarm = clock_boot_alarm_open();
    if (run->signals < 0 || run->alarm < 0)
        return command_fail(&lease_run_command, "cannot wait for signals: %s", strerror(errno));
    return EXIT_DONE;
}

static int run_all(struct lease_run *run)
{
    int code = prepare(run);
    if (code != EXIT_DONE)
        return code;
    code = get(run);
    if (code == EXIT_DONE) {
        code = lease_run_hold(run);
        if (code == EXIT_DONE)
            code = run->lost ? EXIT_REFUSED : run->exit_code;
    } else if (run->stopped_by != 0) {
        code = 128 + run->stopped_by;
    }
    if (run->fence != 0 || run->maybe)
        release(run);
    return code;
}

static int lease_run_run(int argc, char **argv)
{
    struct lease_run run = {.ttl_ms = 30000, .grace_ms = 10000, .signals = -1, .alarm = -1};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&lease_run_command, &words, &run, &code))
        return code;
    if (words.count < 2)
        return command_usage(&lease_run_command,
                             "the command is missing: tocsin lease run NAME -- COMMAND");
    char **command = calloc((size_t)words.count, sizeof *command);
    if (command == NULL)
        return command_fail(&lease_run_command, "no memory");
    memcpy(command, words.at + 1, (size_t)(words.count - 1) * sizeof *command);
    run.name = words.at[0];
    run.command = command;
    code = run_all(&run);
    call_destroy(run.call);
    calls_destroy(run.calls);
    client_release(&run.client);
    if (run.signals >= 0)
        (void)close(run.signals);
    if (run.alarm >= 0)
        (void)close(run.alarm);
    free(command);
    return code;
}

const struct command lease_run_command = {
    .name = "lease run",
    .text = "run a command only while the lease is held",
    .usage = "NAME [OPTION...] -- COMMAND [ARGUMENT...]",
    .about =
        "Gets the lease, starts the command, keeps the lease alive while it runs, and releases\n"
        "it after. The command has TOCSIN_LEASE, TOCSIN_LEASE_HOLDER and TOCSIN_FENCE in its\n"
        "environment. When the lease cannot be renewed, the command is asked to end (SIGTERM)\n"
        "and then killed, with all of its process group, before anybody else can have the lease;\n"
        "when it is lost, at once. A small process beside it sees to that also when this one is\n"
        "stopped or killed.\n",
    .after =
        "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command. Exit code: the\n"
        "command's own (128 and the signal, if it died by one); 1 when the lease could not be\n"
        "had or was lost; 3 when the server could not be reached; 126 or 127 when the command\n"
        "could not be started. A server that is away for less than two thirds of the ttl does\n"
        "not matter.\n"
        "\n"
        "example: tocsin lease run nightly-backup --wait 1m -- ./backup.sh\n",
    COMMAND_ROWS(rows),
    .word_name = "the lease",
    .words_min = 1,
    .words_max = COMMAND_WORDS_ANY,
    .client = true,
    .run = lease_run_run,
};
