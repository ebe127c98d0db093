/* SPDX-License-Identifier: MIT */
/* tocsin bench: how many, how fast, how late, seen from here? Tasks are scheduled one a request
 * on some connections, while others lease them as they come due, in hundreds, and ack them
 * together. It shares the machine with whatever else runs there, the server perhaps included: a
 * look at one's own set-up, not the project's benchmarks. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "cli/client.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/figure.h"
#include "cli/lateness.h"
#include "cli/progress.h"
#include "cli/when.h"

enum {
    CONNECTIONS_MAX = 256,
    WORKERS_MAX = 4,
    LEASE_RUNS = 100,
    LEASE_WAIT_MS = 1000,
    LEASE_TTL_MS = 60000,
    PAYLOAD_MAX = 60000,
    BODY_BYTES_MAX = 256 * 1024,
};

struct bench;

/* A connection that leases and acks, in turn. */
struct worker {
    struct bench *bench;
    struct call *call;
    uint64_t runs; /* in the ack that is on its way */
};

/* A connection that schedules. */
struct planner {
    struct bench *bench;
    struct call *call;
    uint64_t asked_us;
};

struct bench {
    struct client_options options; /* first */
    uint64_t tasks;
    uint64_t connections;
    uint64_t payload_bytes;
    uint64_t spread_ms;
    uint64_t limit_ms;

    struct client client;
    struct calls *calls;
    char queue[64];
    char lease_path[96];
    char payload[PAYLOAD_MAX + 1];
    uint64_t asked; /* scheduled or on their way */
    uint64_t planned;
    uint64_t acked;
    uint64_t again; /* answers that told us to come later */
    uint64_t started_us;
    uint64_t planned_us;
    uint64_t done_us;
    uint64_t random;
    int code;
    bool failed;
    struct lateness late;   /* from due to here */
    struct lateness answer; /* of a schedule */
    struct planner planners[CONNECTIONS_MAX];
    struct worker workers[WORKERS_MAX];
};

/* ---- options */

static bool read_tasks(const char *value, void *into)
{
    return options_whole(value, 1, 10000000, &((struct bench *)into)->tasks);
}

static bool read_connections(const char *value, void *into)
{
    return options_whole(value, 1, CONNECTIONS_MAX, &((struct bench *)into)->connections);
}

static bool read_payload(const char *value, void *into)
{
    return options_whole(value, 0, PAYLOAD_MAX, &((struct bench *)into)->payload_bytes);
}

static bool read_spread(const char *value, void *into)
{
    return options_time(value, 0, 3600000, &((struct bench *)into)->spread_ms);
}

static bool read_limit(const char *value, void *into)
{
    return options_time(value, 1000, 7200000, &((struct bench *)into)->limit_ms);
}

static const struct option_row rows[] = {
    {"--tasks", "N", "so many tasks (10000)", "a whole number from 1 to 10000000", read_tasks},
    {"--connections", "N", "scheduled from so many at once (16)", "a whole number from 1 to 256",
     read_connections},
    {"--payload-bytes", "N", "of each (100)", "a whole number from 0 to 60000", read_payload},
    {"--spread", "TIME", "due at random within this (5s)", "a duration up to 1h", read_spread},
    {"--limit", "TIME", "give up after this (2m)", "a duration from 1s to 2h", read_limit},
};

static void fail(struct bench *bench, int code)
{
    bench->failed = true;
    bench->code = code;
}

/* ---- scheduling */

static uint64_t next_random(struct bench *bench)
{
    uint64_t x = bench->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return bench->random = x;
}

static void plan(struct planner *planner);

static void plan_answered(void *arg, struct call *call, enum call_end end)
{
    struct planner *planner = arg;
    struct bench *bench = planner->bench;
    int status = end == CALL_ANSWERED ? call_status(call) : 0;
    if (status == 429 || status == 503) {
        bench->again++;
        bench->asked--;
    } else if (status < 200 || status >= 300) {
        if (!bench->failed)
            fail(bench, client_judge(&bench->client, call, end));
        return;
    } else {
        bench->planned++;
        bench->planned_us = clock_now_us();
        lateness_add(&bench->answer, bench->planned_us - planner->asked_us);
    }
    plan(planner);
}

static void plan(struct planner *planner)
{
    struct bench *bench = planner->bench;
    char body[PAYLOAD_MAX + 256];
    if (bench->asked == bench->tasks || bench->failed)
        return;
    uint64_t delay = bench->spread_ms > 0 ? next_random(bench) % (bench->spread_ms + 1) : 0;
    int size = snprintf(body, sizeof body,
                        "{\"delay\":%" PRIu64 ",\"target\":{\"type\":\"queue\",\"queue\":\"%s\"},"
                        "\"payload\":\"%s\"}",
                        delay, bench->queue, bench->payload);
    bench->asked++;
    planner->asked_us = clock_now_us();
    calls_start(bench->calls, planner->call,
                &(struct call_request){.method = "POST",
                                       .path = "/v1/tasks",
                                       .body = {body, (size_t)size},
                                       .headers = {"Prefer: return=minimal"},
                                       .timeout_ms = bench->client.timeout_ms},
                plan_answered, planner);
}

/* ---- leasing and acking */

static void lease(struct worker *worker);

static void ack_answered(void *arg, struct call *call, enum call_end end)
{
    struct worker *worker = arg;
    struct bench *bench = worker->bench;
    if (end != CALL_ANSWERED || call_status(call) >= 300) {
        if (!bench->failed)
            fail(bench, client_judge(&bench->client, call, end));
        return;
    }
    bench->acked += worker->runs;
    bench->done_us = clock_now_us();
    lease(worker);
}

/* Writes the ack of all the runs in the answer; how many there are. */
static uint64_t write_acks(struct bench *bench, struct bytes answer, struct buffer *out)
{
    int64_t now_us = clock_wall(&clock_system).ns / 1000;
    struct json_writer writer;
    struct bytes runs;
    struct bytes run;
    uint64_t count = 0;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_write_key(&writer, "runs");
    json_write_array(&writer);
    for (bool any = fields_raw(answer, "runs", &runs); any && fields_item(&runs, &run); count++) {
        char id[64] = "";
        int64_t due_ms = 0;
        (void)fields_text(run, "run", id, sizeof id);
        (void)fields_int64(run, "due_ms", &due_ms);
        lateness_add(&bench->late, now_us > due_ms * 1000 ? (uint64_t)(now_us - due_ms * 1000) : 0);
        json_write_text(&writer, id);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    return count;
}

static void leased(void *arg, struct call *call, enum call_end end)
{
    struct worker *worker = arg;
    struct bench *bench = worker->bench;
    struct buffer body;
    if (end != CALL_ANSWERED || call_status(call) >= 300) {
        if (!bench->failed)
            fail(bench, client_judge(&bench->client, call, end));
        return;
    }
    buffer_init(&body, BODY_BYTES_MAX);
    worker->runs = write_acks(bench, call_body(call), &body);
    if (worker->runs == 0)
        lease(worker);
    else
        calls_start(bench->calls, worker->call,
                    &(struct call_request){.method = "POST",
                                           .path = "/v1/runs/ack",
                                           .body = {body.data, body.size},
                                           .timeout_ms = bench->client.timeout_ms},
                    ack_answered, worker);
    buffer_release(&body);
}

static void lease(struct worker *worker)
{
    struct bench *bench = worker->bench;
    char body[96];
    if (bench->acked >= bench->tasks || bench->failed)
        return;
    (void)snprintf(body, sizeof body, "{\"max\":%d,\"wait\":%d,\"ttl\":%d}", LEASE_RUNS,
                   LEASE_WAIT_MS, LEASE_TTL_MS);
    calls_start(bench->calls, worker->call,
                &(struct call_request){.method = "POST",
                                       .path = bench->lease_path,
                                       .body = bytes_of(body),
                                       .timeout_ms = bench->client.timeout_ms},
                leased, worker);
}

/* ---- the whole */

static double seconds(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0.000001;
}

static void print_percentiles(const char *what, const struct lateness *lateness)
{
    (void)printf("%-10s p50 %s, p99 %s, most %s\n", what,
                 figure_late(lateness_percentile_us(lateness, 500)).text,
                 figure_late(lateness_percentile_us(lateness, 990)).text,
                 figure_late(lateness->max_us).text);
}

static void report(const struct bench *bench)
{
    double plan_s = seconds(bench->started_us, bench->planned_us);
    double all_s = seconds(bench->started_us, bench->done_us);
    if (bench->client.json) {
        (void)printf("{\"tasks\":%" PRIu64 ",\"scheduled\":%" PRIu64 ",\"acked\":%" PRIu64
                     ",\"told_to_wait\":%" PRIu64
                     ",\"scheduled_per_s\":%.1f,\"acked_per_s\":%.1f,\"late_p50_us\":%" PRIu64
                     ",\"late_p99_us\":%" PRIu64 ",\"answer_p50_us\":%" PRIu64
                     ",\"answer_p99_us\":%" PRIu64 "}\n",
                     bench->tasks, bench->planned, bench->acked, bench->again,
                     (double)bench->planned / plan_s, (double)bench->acked / all_s,
                     lateness_percentile_us(&bench->late, 500),
                     lateness_percentile_us(&bench->late, 990),
                     lateness_percentile_us(&bench->answer, 500),
                     lateness_percentile_us(&bench->answer, 990));
        return;
    }
    (void)printf("scheduled  %s in %.2f s, %s a second, one a request, durable\n",
                 figure_count(bench->planned).text, plan_s,
                 figure_count((uint64_t)((double)bench->planned / plan_s)).text);
    print_percentiles("answered", &bench->answer);
    (void)printf("acked      %s after %.2f s\n", figure_count(bench->acked).text, all_s);
    print_percentiles("late", &bench->late);
    if (bench->again > 0)
        (void)printf("told %s times to come again later\n", figure_count(bench->again).text);
}

static void run(struct bench *bench)
{
    struct progress progress;
    progress_init(&progress, "bench");
    bench->started_us = bench->planned_us = bench->done_us = clock_now_us();
    uint64_t end_us = bench->started_us + bench->limit_ms * 1000;
    for (uint64_t i = 0; i < WORKERS_MAX; i++)
        lease(&bench->workers[i]);
    for (uint64_t i = 0; i < bench->connections; i++)
        plan(&bench->planners[i]);
    while (bench->acked < bench->tasks && !bench->failed && clock_now_us() < end_us) {
        calls_wait(bench->calls, NULL, 0, 100);
        progress_set(&progress, bench->planned + bench->acked, bench->tasks * 2);
    }
    progress_end(&progress);
    if (bench->failed)
        return;
    report(bench);
    if (bench->acked < bench->tasks)
        fail(bench, command_fail(&bench_command,
                                 "%s tasks were not done in time; they are in the queue %s",
                                 figure_count(bench->tasks - bench->acked).text, bench->queue));
}

static int prepare(struct bench *bench)
{
    int code = client_init(&bench->client, &bench_command, &bench->options);
    if (code != EXIT_DONE)
        return code;
    bench->calls = calls_create();
    bool good = bench->calls != NULL;
    for (uint64_t i = 0; good && i < bench->connections; i++) {
        bench->planners[i].bench = bench;
        bench->planners[i].call = call_create(&bench->client.target);
        good = bench->planners[i].call != NULL;
    }
    for (uint64_t i = 0; good && i < WORKERS_MAX; i++) {
        bench->workers[i].bench = bench;
        bench->workers[i].call = call_create(&bench->client.target);
        good = bench->workers[i].call != NULL;
    }
    (void)snprintf(bench->queue, sizeof bench->queue, "bench-%ld-%" PRId64, (long)getpid(),
                   when_now_ms());
    (void)snprintf(bench->lease_path, sizeof bench->lease_path, "/v1/queues/%s/lease",
                   bench->queue);
    memset(bench->payload, 'x', bench->payload_bytes);
    bench->random = clock_now_us() | 1;
    return good ? EXIT_DONE : command_fail(&bench_command, "no memory");
}

static void finish(struct bench *bench)
{
    for (uint64_t i = 0; i < CONNECTIONS_MAX; i++) {
        calls_cancel(bench->calls, bench->planners[i].call);
        call_destroy(bench->planners[i].call);
    }
    for (uint64_t i = 0; i < WORKERS_MAX; i++) {
        calls_cancel(bench->calls, bench->workers[i].call);
        call_destroy(bench->workers[i].call);
    }
    calls_destroy(bench->calls);
    client_release(&bench->client);
}

static int bench_run(int argc, char **argv)
{
    struct words words = {argc, argv};
    struct bench *bench = calloc(1, sizeof *bench);
    int code;
    if (bench == NULL)
        return command_fail(&bench_command, "no memory");
    bench->tasks = 10000;
    bench->connections = 16;
    bench->payload_bytes = 100;
    bench->spread_ms = 5000;
    bench->limit_ms = 120000;
    if (command_begin(&bench_command, &words, bench, &code)) {
        bench->code = prepare(bench);
        if (bench->code == EXIT_DONE)
            run(bench);
        code = bench->code;
        finish(bench);
    }
    free(bench);
    return code;
}

const struct command bench_command = {
    .name = "bench",
    .text = "a small load test of a running server",
    .usage = "[OPTION...]",
    .about = "Schedules tasks, one a request, leases and acks them as they come due, and prints\n"
             "rates and how late they reached a worker. The tasks go to a queue of their own.\n"
             "The load generator is one thread and shares the machine: measure with care.\n",
    .after = "example: tocsin bench --tasks 50000 --connections 64\n",
    COMMAND_ROWS(rows),
    .client = true,
    .run = bench_run,
};
