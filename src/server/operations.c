/* SPDX-License-Identifier: MIT */
/* How is it? Health, readiness, metrics, what this server is, and the clock of tests. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/inside.h"
#include "server/keeper.h"
#include "server/live.h"
#include "server/openapi.h"
#include "server/shared.h"

/* Timers that are looked at to say how many a level has. */
enum { WHEEL_SAMPLE = 65536 };

enum { ANSWER_BYTES_MAX = 4 * 1024 * 1024 };

/* Of Redis's time, as this node knows it. */
enum { CLOCK_ERROR_MS = 100 };

/* ---- health */

struct health {
    bool down;
    bool warning;
    const char *reasons[16];
    size_t count;
    char redis[300]; /* room for some of them */
    char owner[300];
    char lost[160];
};

static void note(struct health *health, bool holds, bool down, const char *reason)
{
    if (!holds)
        return;
    health->down = health->down || down;
    health->warning = true;
    health->reasons[health->count++] = reason;
}

static bool renewals_are_off(struct server *server)
{
    struct renewals_stats stats;
    renewals_describe(keeper_renewals(server->keeper), &stats);
    return !keeper_enabled(server->keeper) && stats.active > 0;
}

/* Following: who owns them, or why nobody does. */
static void look_at_owner(struct server *server, const struct owner_state *state,
                          struct health *health)
{
    const char *refusal = shared_refusal(server);
    if (server->phase != SERVER_FOLLOWING || !state->reached)
        return;
    if (state->foreign) {
        note(health, true, true, SHARED_FOREIGN);
    } else if (refusal != NULL && (!state->held || state->epoch == 0)) {
        (void)snprintf(health->owner, sizeof health->owner,
                       "no node owns the records, and this one cannot: %s", refusal);
        note(health, true, true, health->owner);
    } else {
        note(health, !state->held, false, "no node owns the records: one takes over soon");
        note(health, state->held && state->epoch == 0, false,
             "the node that owns the records is loading them");
    }
}

/* Of several nodes: is there an owner, and does Redis answer? */
static void look_at_cluster(struct server *server, struct health *health)
{
    struct owner_state state;
    bool following = server->phase == SERVER_FOLLOWING;
    if (server->shared == NULL)
        return;
    shared_describe(server, &state);
    (void)snprintf(health->redis, sizeof health->redis, "Redis %s, %s: %s",
                   state.spoke ? "answers with a refusal" : "is not reached",
                   following ? "so no node can take over"
                             : "and this node stops when its lease ends",
                   state.why.text);
    note(health, !state.reached, true, health->redis);
    note(health, state.reached && shared_clock_error_ms(server) > CLOCK_ERROR_MS, false,
         "Redis answers so slowly that its time is hardly known: what is due may be late");
    look_at_owner(server, &state, health);
    const char *unreached = shared_unreached(server);
    note(health, unreached != NULL, true, unreached);
    (void)snprintf(health->lost, sizeof health->lost,
                   "Redis has lost %llu commits that it had answered: see the log; said until this "
                   "process is started again",
                   (unsigned long long)shared_lost_commits(server));
    note(health, shared_lost_commits(server) > 0, false, health->lost);
}

static void look(struct server *server, struct health *health)
{
    look_at_cluster(server, health);
    if (server->phase == SERVER_FOLLOWING)
        return; /* the rest is the owner's */
    struct engine_stats stats;
    struct tasks_stats tasks;
    engine_describe(server->engine, &stats);
    tasks_describe(server->tasks, &tasks);
    note(health, server->phase == SERVER_STARTING, true, "it is starting");
    note(health, server->phase >= SERVER_DRAINING, true, "it is stopping");
    note(health, stats.store == TOCSIN_NO_SPACE, false,
         server->shared != NULL
             ? "Redis is full (maxmemory): new work is refused, what is there goes on"
             : "the disk is full: new work is refused, what is there goes on");
    note(health, stats.store == TOCSIN_UNAVAILABLE, true, "the store does not take anything");
    note(health, stats.damaged > 0, false,
         server->shared != NULL ? "damaged records were met: the log says which"
                                : "damaged records were met: run tocsin verify");
    note(health, stats.waiting > engine_limits_default.waiting / 2, false,
         "more comes in than can be written");
    note(health, tasks.incidents > 0, false, "there are open incidents: see /v1/incidents");
    note(health, server->log.dropped > 0, false, "log lines were lost");
    enum renewals_health renewals = renewals_health(keeper_renewals(server->keeper));
    note(health, renewals == RENEWALS_WARNING, false,
         "renewals are in trouble: see /v1/renewals and the log");
    note(health, renewals_are_off(server), false,
         "renewals are switched off (redis.renewal.enabled), and there are some");
    note(health, renewals == RENEWALS_DOWN, false,
         "no renewal reaches its keys: is their Redis there?");
}

/* of the renewals alone. */
static void write_renewals(struct json_writer *writer, struct server *server)
{
    static const char *const words[] = {
        [RENEWALS_UP] = "UP", [RENEWALS_WARNING] = "WARNING", [RENEWALS_DOWN] = "DOWN"};
    struct renewals_stats stats;
    renewals_describe(keeper_renewals(server->keeper), &stats);
    json_write_key(writer, "renewals");
    json_write_object(writer);
    json_write_key(writer, "status");
    json_write_text(writer, renewals_are_off(server)
                                ? words[RENEWALS_WARNING]
                                : words[renewals_health(keeper_renewals(server->keeper))]);
    json_write_key(writer, "active");
    json_write_uint64(writer, stats.active);
    json_write_key(writer, "in_trouble");
    json_write_uint64(writer, stats.unhealthy);
    json_write_object_end(writer);
}

void operations_health(const struct route_request *request)
{
    struct health health = {0};
    struct buffer out;
    struct json_writer writer;
    look(request->server, &health);
    buffer_init(&out, ANSWER_BYTES_MAX);
    json_writer_init(&writer, &out);
    json_write_object(&writer);
    json_write_key(&writer, "status");
    json_write_text(&writer, health.down ? "DOWN" : health.warning ? "WARNING" : "UP");
    json_write_key(&writer, "reasons");
    json_write_array(&writer);
    for (size_t i = 0; i < health.count; i++)
        json_write_text(&writer, health.reasons[i]);
    json_write_array_end(&writer);
    if (request->server->phase != SERVER_FOLLOWING)
        write_renewals(&writer, request->server);
    json_write_object_end(&writer);
    answer_json(request->server, request->exchange, health.down ? 503 : 200,
                (struct bytes){out.data, out.size}, 0);
    buffer_release(&out);
}

/* A follower is, when there is somebody to pass requests on to; and none is without Redis. */
static bool is_ready(struct server *server)
{
    struct owner_state state;
    if (server->shared == NULL)
        return server->phase == SERVER_READY;
    shared_describe(server, &state);
    if (server->phase != SERVER_FOLLOWING)
        return server->phase == SERVER_READY && state.reached;
    return state.reached && state.held && state.epoch > 0 && shared_unreached(server) == NULL;
}

/* Why it is not. */
static const char *unready(const struct server *server)
{
    switch (server->phase) {
    case SERVER_FOLLOWING:
        return shared_unreached(server) != NULL ? shared_unreached(server)
                                                : "no node owns the records now";
    case SERVER_STARTING:
        return "it is starting";
    case SERVER_READY:
        return "Redis is not reached, or refuses the lease";
    case SERVER_DRAINING:
    case SERVER_STOPPED:
        break;
    }
    return "it is stopping";
}

void operations_ready(const struct route_request *request)
{
    if (is_ready(request->server))
        answer_json(request->server, request->exchange, 200, bytes_of("{\"ready\":true}"), 0);
    else
        answer_problem(request->server, request->exchange,
                       &(struct problem){.status = 503,
                                         .code = "UNAVAILABLE",
                                         .detail = unready(request->server)});
}

/* ---- metrics: gauges are set as they are asked for */

static void set(struct server *server, enum metric_id id, uint64_t value)
{
    metrics_set(&server->metrics, id, 0, (int64_t)value);
}

static void set_queue(void *arg, const struct tasks_queue_stats *stats)
{
    struct metrics *metrics = arg;
    size_t series = metrics_name(metrics, stats->name);
    metrics_add(metrics, M_QUEUE_DEPTH, series, (int64_t)stats->ready);
    metrics_add(metrics, M_QUEUE_LEASED, series, (int64_t)stats->leased);
    metrics_add(metrics, M_QUEUE_DELAYED, series, (int64_t)stats->delayed);
    metrics_add(metrics, M_QUEUE_WAITING, series, (int64_t)stats->waiting);
}

static void set_wheel(struct server *server)
{
    const struct tocsin_wheel *wheel = engine_wheel(server->engine);
    size_t counts[METRIC_LEVELS] = {0};
    struct tocsin_wheel_level_stats none;
    assert(!tocsin_wheel_describe_level(wheel, METRIC_LEVELS, &none));
    tocsin_wheel_level_counts(wheel, WHEEL_SAMPLE, counts); /* the loop is not to wait for all */
    for (size_t i = 0; i < METRIC_LEVELS; i++)
        metrics_set(&server->metrics, M_WHEEL_TIMERS, i, (int64_t)counts[i]);
    set(server, M_WHEEL_TICKS, tocsin_wheel_now(wheel) - server->wheel_start);
    set(server, M_WHEEL_MOVED, tocsin_wheel_moved(wheel));
}

static void set_store(struct server *server)
{
    struct store_sizes sizes;
    server->store->ops->sizes(server->store, &sizes);
    set(server, M_STORE_COMMITS, sizes.commits);
    set(server, M_STORE_LIVING, sizes.living);
    set(server, M_STORE_DEAD, sizes.dead);
    set(server, M_STORE_SWEPT, sizes.swept);
    set(server, M_STORE_FILE, sizes.file_bytes);
    set(server, M_STORE_LOG, sizes.log_bytes);
}

static void set_http(struct server *server)
{
    struct http_counters all = {0};
    for (size_t i = 0; i < server->http_count; i++) {
        struct http_counters one;
        if (server->http[i] == NULL)
            continue;
        http_server_counters(server->http[i], &one);
        all.accepted += one.accepted;
        all.open += one.open;
        all.refused += one.refused;
        all.bytes_in += one.bytes_in;
        all.bytes_out += one.bytes_out;
    }
    set(server, M_HTTP_CONNECTIONS, all.open);
    set(server, M_HTTP_CONNECTIONS_LIMIT, server->config->limits.connections);
    set(server, M_HTTP_ACCEPTED, all.accepted);
    set(server, M_HTTP_RECEIVED, all.bytes_in);
    set(server, M_HTTP_SENT, all.bytes_out);
}

static void set_leases(struct server *server)
{
    struct leases_stats leases;
    leases_describe(server->leases, &leases);
    set(server, M_NAMED_HELD, leases.held);
    set(server, M_NAMED_WAITING, leases.waiting);
    set(server, M_NAMED_LIMIT, server->config->limits.leases);
    set(server, M_NAMED_ACQUIRED, leases.acquired);
    set(server, M_NAMED_RENEWED, leases.renewed);
    set(server, M_NAMED_RELEASED, leases.released);
    set(server, M_NAMED_EXPIRED, leases.expired);
    set(server, M_NAMED_FENCED, leases.fenced);
}

static void set_cluster(struct server *server)
{
    struct owner_state state;
    struct follower_stats follower;
    set(server, M_CLUSTER_OWNER, server->phase != SERVER_FOLLOWING);
    if (server->shared == NULL)
        return;
    shared_describe(server, &state);
    shared_follower_stats(server, &follower);
    set(server, M_CLUSTER_TAKEOVERS, state.won);
    set(server, M_CLUSTER_LOST, state.lost);
    set(server, M_CLUSTER_RENEW_FAILURES, state.renew_failures);
    set(server, M_CLUSTER_LOST_COMMITS, shared_lost_commits(server));
    set(server, M_CLUSTER_TUNNELS, follower.tunnels);
    set(server, M_CLUSTER_FORWARDED, follower.forwarded);
    set(server, M_CLUSTER_REFUSED, follower.refused);
}

/* What only the node has that owns the records. */
static void set_owned(struct server *server)
{
    struct engine_stats engine;
    struct tasks_stats tasks;
    engine_describe(server->engine, &engine);
    tasks_describe(server->tasks, &tasks);
    set(server, M_TASKS_ACTIVE, tasks.waiting_tasks);
    set(server, M_TASKS_PAUSED, tasks.paused);
    set(server, M_TASKS_LIMIT, server->config->limits.tasks_pending);
    set(server, M_TASKS_RUNNING, tasks.leased);
    set(server, M_INCIDENTS, tasks.incidents);
    set(server, M_IDEMPOTENCY, idem_count(server->idem));
    struct countdowns_stats countdowns;
    countdowns_describe(server->countdowns, &countdowns);
    set(server, M_COUNTDOWNS_RUNNING, countdowns.running);
    set(server, M_COUNTDOWNS_PAUSED, countdowns.paused);
    set(server, M_COUNTDOWNS_FIRING, countdowns.firing);
    set(server, M_COUNTDOWNS_LIMIT, server->config->limits.countdowns);
    set(server, M_COUNTDOWN_TICKS, countdowns.ticks);
    set(server, M_COUNTDOWN_TIMEOUTS, countdowns.timeouts);
    set(server, M_COUNTDOWN_UNARMED, countdowns.unarmed);
    set_leases(server);
    set(server, M_COMMANDS_QUEUED, engine.waiting + engine.open + engine.flying);
    set(server, M_COMMANDS_LIMIT, engine_limits_default.waiting);
    set(server, M_STORE_RECORDS, engine.puts);
    set(server, M_STORE_FULL, engine.store == TOCSIN_NO_SPACE);
    tasks_each_queue(server->tasks, set_queue, &server->metrics);
    set_wheel(server);
    set_store(server);
    set_http(server);
    ws_set_metrics(server);
    live_set_metrics(server);
    keeper_set_metrics(server);
}

void operations_metrics(const struct route_request *request)
{
    struct server *server = request->server;
    struct buffer out;
    metrics_forget_names(&server->metrics);
    if (server->phase != SERVER_FOLLOWING)
        set_owned(server);
    set_cluster(server);
    set(server, M_LOG_LINES, server->log.written);
    set(server, M_LOG_DROPPED, server->log.dropped);
    set(server, M_LOG_SUPPRESSED, server->log.suppressed);
    metric_list_read_process(&server->metrics);
    buffer_init(&out, ANSWER_BYTES_MAX);
    metrics_write(&server->metrics, &out);
    answer_bytes(server, request->exchange, 200, "text/plain; version=0.0.4; charset=utf-8",
                 (struct bytes){out.data, out.size}, NULL);
    buffer_release(&out);
}

/* ---- what this server is */

struct figure {
    const char *name;
    uint64_t value;
};

static void write_figures(struct json_writer *writer, const char *name, const struct figure *rows,
                          size_t count)
{
    json_write_key(writer, name);
    json_write_object(writer);
    for (size_t i = 0; i < count; i++) {
        json_write_key(writer, rows[i].name);
        json_write_uint64(writer, rows[i].value);
    }
    json_write_object_end(writer);
}

static void write_limits(struct json_writer *writer, const struct config_limits *limits)
{
    const struct figure rows[] = {
        {"connections", limits->connections},
        {"body_bytes", limits->body_bytes},
        {"tasks_pending", limits->tasks_pending},
        {"payload_bytes", limits->payload_bytes},
        {"batch_lines", limits->batch_lines},
        {"batch_bytes", limits->batch_bytes},
        {"leases_waiting", limits->leases_waiting},
        {"runs_per_lease", limits->runs_per_lease},
        {"queues", limits->queues},
        {"countdowns", limits->countdowns},
        {"renewals", limits->renewals},
        {"leases", limits->leases},
        {"leases_in_line", limits->leases_in_line},
        {"idempotency_entries", limits->idempotency_entries},
        {"idempotency_ms", limits->idempotency_time},
        {"finished_tasks", limits->finished_tasks},
        {"finished_bytes", limits->finished_bytes},
    };
    write_figures(writer, "limits", rows, sizeof rows / sizeof rows[0]);
}

static void write_counts(struct json_writer *writer, struct server *server)
{
    struct engine_stats engine;
    struct tasks_stats tasks;
    engine_describe(server->engine, &engine);
    tasks_describe(server->tasks, &tasks);
    const struct figure rows[] = {
        {"records", engine.records},     {"ready", tasks.ready},
        {"running", tasks.leased},       {"waiting_leases", tasks.waiting},
        {"incidents", tasks.incidents},  {"finished_kept", tasks.finished},
        {"high_rev", engine.high_rev},   {"high_seq", engine.high_seq},
        {"docs_in_memory", engine.docs}, {"doc_bytes", engine.doc_bytes},
        {"clock_steps", engine.steps},   {"rolled_back", engine.rolled_back},
    };
    write_figures(writer, "counts", rows, sizeof rows / sizeof rows[0]);
}

static void write_cluster(struct json_writer *writer, struct server *server)
{
    struct owner_state state;
    char shown[CONFIG_STORE_SHOWN_BYTES];
    bool following = server->phase == SERVER_FOLLOWING;
    json_write_key(writer, "cluster");
    json_write_object(writer);
    json_write_key(writer, "role");
    json_write_text(writer, server->shared == NULL ? "solo" : following ? "follower" : "owner");
    if (server->shared != NULL) {
        shared_describe(server, &state);
        config_store_shown(server->config, shown);
        json_write_key(writer, "owner");
        if (state.held) {
            json_write_object(writer);
            json_write_key(writer, "node");
            json_write_text(writer, state.node);
            json_write_key(writer, "address");
            json_write_text(writer, state.address);
            json_write_object_end(writer);
        } else {
            json_write_null(writer);
        }
        json_write_key(writer, "redis");
        json_write_text(writer, shown);
        json_write_key(writer, "epoch");
        json_write_uint64(writer, shared_epoch(server));
        json_write_key(writer, "lease_ms");
        json_write_uint64(writer, server->config->cluster.lease);
        json_write_key(writer, "takeovers");
        json_write_uint64(writer, state.won);
    }
    json_write_object_end(writer);
}

static const char *store_name(const struct server *server)
{
    return server->store != NULL ? server->store->ops->name : "redis";
}

void operations_info(const struct route_request *request)
{
    struct server *server = request->server;
    bool following = server->phase == SERVER_FOLLOWING;
    struct buffer out;
    struct json_writer writer;
    buffer_init(&out, ANSWER_BYTES_MAX);
    json_writer_init(&writer, &out);
    json_write_object(&writer);
    json_write_key(&writer, "version");
    json_write_text(&writer, TOCSIN_VERSION);
    json_write_key(&writer, "node");
    json_write_text(&writer, server->config->node);
    json_write_key(&writer, "store");
    json_write_text(&writer, store_name(server));
    write_cluster(&writer, server);
    json_write_key(&writer, "epoch");
    json_write_uint64(&writer, following ? shared_epoch(server) : engine_epoch(server->engine));
    json_write_key(&writer, "clock");
    json_write_text(&writer, server->config->clock == CONFIG_CLOCK_MANUAL ? "manual" : "system");
    json_write_key(&writer, "now_ms");
    json_write_int64(&writer, following ? clock_wall(&server->clock).ns / 1000000
                                        : engine_wall_ms(server->engine));
    json_write_key(&writer, "misfire_grace_ms");
    json_write_uint64(&writer, server->config->misfire_grace);
    write_limits(&writer, &server->config->limits);
    if (!following)
        write_counts(&writer, server);
    json_write_object_end(&writer);
    answer_json(server, request->exchange, 200, (struct bytes){out.data, out.size}, 0);
    buffer_release(&out);
}

void operations_openapi(const struct route_request *request)
{
    answer_json(request->server, request->exchange, 200, openapi_text(), 0);
}

/* ---- the clock of tests */

/* Answered when all that has come due by it is done and durable. */
struct advance {
    struct advance *next;
    struct http_exchange *exchange;
};

void operations_settled(struct server *server)
{
    while (server->advances != NULL) {
        struct advance *advance = server->advances;
        char text[96];
        (void)snprintf(text, sizeof text, "{\"now_ms\":%lld,\"elapsed_ms\":%lld}",
                       (long long)engine_wall_ms(server->engine),
                       (long long)engine_now_ms(server->engine));
        server->advances = advance->next;
        answer_json(server, advance->exchange, 200, bytes_of(text), 0);
        free(advance);
    }
}

static bool clock_reaches(const struct server *server, int64_t by_ms, int64_t wall_ms)
{
    int64_t by_ns;
    int64_t sum;
    return wall_ms >= 0 && wall_ms <= INT64_MAX / 1000000 &&
           !__builtin_mul_overflow(by_ms, 1000000, &by_ns) &&
           !__builtin_add_overflow(server->manual.wall.ns, by_ns, &sum) &&
           !__builtin_add_overflow(server->manual.elapsed.ns, by_ns, &sum);
}

void operations_advance(const struct route_request *request)
{
    struct server *server = request->server;
    int64_t by = 0;
    int64_t wall = 0;
    bool has_by = false;
    bool has_wall = false;
    const struct body_field fields[] = {
        {.name = "by",
         .type = BODY_DURATION,
         .into = &by,
         .ret_given = &has_by,
         .max = TASK_DELAY_MAX_MS / 1000},
        {.name = "wall", .type = BODY_INSTANT, .into = &wall, .ret_given = &has_wall},
    };
    if (server->config->clock != CONFIG_CLOCK_MANUAL) {
        answer_problem(server, request->exchange,
                       &(struct problem){.status = 404,
                                         .code = "NOT_FOUND",
                                         .detail = "only a server started with --clock manual "
                                                   "has a clock to advance"});
        return;
    }
    if (!body_read(request, fields, 2))
        return;
    if (has_by == has_wall) {
        answer_invalid(request, "by: give this (time passes), or wall (the wall clock is set)");
        return;
    }
    if (!clock_reaches(server, by, has_wall ? wall : 0)) {
        answer_invalid(request, has_by ? "by: this clock ends in the year 2262"
                                       : "wall: this clock goes from 1970 to 2262");
        return;
    }
    struct advance *advance = malloc(sizeof *advance);
    if (advance == NULL) {
        answer_problem(server, request->exchange,
                       &(struct problem){.status = 503,
                                         .code = "OVERLOADED",
                                         .detail = "no memory for this request now: try again"});
        return;
    }
    if (has_by) {
        clock_manual_advance(&server->manual, by * 1000000);
    } else {
        server->manual.wall.ns = wall * 1000000;
        engine_clock_stepped(server->engine);
    }
    *advance = (struct advance){server->advances, request->exchange};
    server->advances = advance;
    loop_post(server->loop);
}
