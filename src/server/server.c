/* SPDX-License-Identifier: MIT */
#include "server/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/notify.h"
#include "server/keeper.h"
#include "server/live.h"

#define MS INT64_C(1000000)

/* ---- chance: xoshiro256**, seeded by the system. For jitter, ids and hash keys; tokens and
 * other secrets are never made from it. */

static uint64_t rotate(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

uint64_t server_chance(void *arg)
{
    uint64_t *s = ((struct server *)arg)->chance_state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

static bool seed_chance(struct server *server)
{
    size_t size = sizeof server->chance_state;
    return getrandom(server->chance_state, size, 0) == (ssize_t)size;
}

/* ---- counting */

static void observe_commit(void *arg, enum tocsin_status status, int64_t took_ns)
{
    struct metrics *metrics = &((struct server *)arg)->metrics;
    metrics_observe(metrics, M_STORE_COMMIT, 0, took_ns > 0 ? (uint64_t)took_ns : 0);
    if (status == TOCSIN_NO_SPACE)
        metrics_count(metrics, M_STORE_ERRORS, STORE_ERROR_NO_SPACE, 1);
    else if (status == TOCSIN_UNAVAILABLE)
        metrics_count(metrics, M_STORE_ERRORS, STORE_ERROR_UNAVAILABLE, 1);
    else if (status != TOCSIN_OK)
        metrics_count(metrics, M_STORE_ERRORS, STORE_ERROR_IO, 1);
}

static void note_damage(void *arg, const struct engine_damage *damage)
{
    struct server *server = arg;
    metrics_count(&server->metrics, M_STORE_ERRORS, STORE_ERROR_DAMAGED, 1);
    if (damage->why == NULL)
        return;
    if (damage->rev == 0)
        log_event(&server->log, LOG_ERROR, "the store cannot be read on",
                  LOG_WORD("why", damage->why), LOG_END);
    else
        log_event(&server->log, LOG_ERROR,
                  "a record is damaged: it does not fire; DELETE removes it, PUT replaces it",
                  LOG_TEXT("id", damage->key), LOG_UINT("rev", damage->rev),
                  LOG_WORD("why", damage->why), LOG_END);
}

/* ---- turning */

static void open_sockets(struct server *server);
static void stop_when_drained(struct server *server);

void server_turn(struct server *server)
{
    struct elapsed_time wake;
    if (!server->running)
        return; /* not loaded yet, or closing */
    threads_take(server->threads, server->engine);
    live_take_thoughts(server->live);
    keeper_take(server->keeper);
    engine_turn(server->engine, &wake);
    if (server->config->clock == CONFIG_CLOCK_MANUAL)
        wake.ns = wake.ns <= server->manual.elapsed.ns ? 0 : INT64_MAX;
    loop_wake_at(server->loop, wake.ns);
    bool quiet = renewals_under_way(keeper_renewals(server->keeper)) == 0;
    if (wake.ns > 0 && engine_idle(server->engine) && quiet)
        operations_settled(server);
    if (server->phase == SERVER_STARTING && !services_recovering(server))
        open_sockets(server);
    bool full = engine_store_status(server->engine) == TOCSIN_NO_SPACE;
    if (full != server->disk_full) {
        server->disk_full = full;
        if (full) {
            log_event(&server->log, LOG_ERROR, "disk full: new work is refused",
                      LOG_WORD("data", server->config->data), LOG_END);
        } else {
            log_event(&server->log, LOG_INFO, "disk has room again", LOG_END);
        }
    }
    if (server->phase == SERVER_DRAINING)
        stop_when_drained(server);
}

static void on_turn(void *arg)
{
    struct server *server = arg;
    if (server->phase != SERVER_STOPPED) /* while all is closed; there may be no engine */
        server_turn(server);
}

static void on_turn_end(void *arg)
{
    struct server *server = arg;
    server_turn(server);
    metrics_observe(&server->metrics, M_LOOP_TURN, 0, (uint64_t)loop_busy_ns(server->loop));
}

static void on_clock_step(void *arg)
{
    struct server *server = arg;
    log_event(&server->log, LOG_WARN, "the wall clock was set", LOG_END);
    if (server->config->clock == CONFIG_CLOCK_SYSTEM)
        engine_clock_stepped(server->engine);
}

static void post_loop(void *arg)
{
    loop_post(((struct server *)arg)->loop);
}

static void every_second(void *arg)
{
    struct server *server = arg;
    log_flush(&server->log);
    keeper_tick(server->keeper);
    (void)engine_timer_arm(server->engine, &server->second, engine_now_ms(server->engine) + 1000);
}

/* The disk has failed, or memory: nothing more is acknowledged. */
static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    struct server *server = arg;
    if (server->failed != TOCSIN_OK)
        return;
    server->failed = status;
    (void)snprintf(server->why.text, sizeof server->why.text, "%s", why);
    log_event(&server->log, LOG_ERROR, "stopping: the store has failed",
              LOG_WORD("status", tocsin_status_name(status)), LOG_WORD("why", why), LOG_END);
    loop_stop(server->loop);
}

/* ---- signals */

struct signals {
    struct server *server;
    uv_signal_t term;
    uv_signal_t interrupt;
    uv_timer_t deadline;
};

static void drained(void *arg)
{
    struct server *server = arg;
    server->http_open--;
    loop_post(server->loop); /* it may have been the last thing to wait for */
}

static void claims_held(void *arg, enum tocsin_status status)
{
    struct server *server = arg;
    server->held = true;
    if (status != TOCSIN_OK)
        log_event(&server->log, LOG_WARN, "live claims could not all be written",
                  LOG_WORD("status", tocsin_status_name(status)), LOG_END);
}

static void stop_when_drained(struct server *server)
{
    bool renewed = keeper_drain(server->keeper); /* first: calls wait for its rounds */
    if (server->held && server->under_way == 0 && engine_idle(server->engine) && renewed &&
        server->http_open == 0)
        loop_stop(server->loop);
}

static void deadline_passed(uv_timer_t *timer)
{
    struct server *server = timer->data;
    log_event(&server->log, LOG_WARN, "drain timeout: connections are cut", LOG_END);
    loop_stop(server->loop);
}

void server_stop(struct server *server)
{
    if (server->phase >= SERVER_DRAINING) {
        loop_stop(server->loop);
        return;
    }
    log_event(&server->log, LOG_INFO, "stopping: draining", LOG_END);
    (void)notify_send(getenv("NOTIFY_SOCKET"), "STOPPING=1");
    bool was_open = server->phase == SERVER_READY;
    server->phase = SERVER_DRAINING;
    (void)uv_timer_start(&server->signals->deadline, deadline_passed, server->config->drain_timeout,
                         0);
    tasks_hold(server->tasks, claims_held, server);
    leases_close_lines(server->leases);
    events_end(server);
    for (size_t i = 0; was_open && i < server->http_count; i++)
        http_server_drain(server->http[i], drained, server);
    loop_post(server->loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    server_stop(handle->data);
}

static bool signals_start(struct server *server)
{
    struct signals *signals = calloc(1, sizeof *signals);
    if (signals == NULL)
        return false;
    uv_loop_t *uv = loop_uv(server->loop);
    signals->server = server;
    signals->term.data = signals->interrupt.data = signals->deadline.data = server;
    server->signals = signals;
    (void)uv_signal_init(uv, &signals->term);
    (void)uv_signal_init(uv, &signals->interrupt);
    (void)uv_timer_init(uv, &signals->deadline);
    return uv_signal_start(&signals->term, on_signal, SIGTERM) == 0 &&
           uv_signal_start(&signals->interrupt, on_signal, SIGINT) == 0;
}

static void signals_close(struct server *server)
{
    if (server->signals == NULL)
        return;
    uv_close((uv_handle_t *)&server->signals->term, NULL);
    uv_close((uv_handle_t *)&server->signals->interrupt, NULL);
    uv_close((uv_handle_t *)&server->signals->deadline, NULL);
}

/* ---- starting */

static enum tocsin_status open_store(struct server *server)
{
    const struct config *config = server->config;
    if (config_store_kind(config) == CONFIG_MEMORY)
        return store_memory_open(&server->store, &server->store_state);
    return store_sqlite_open(
        &(struct store_sqlite_options){
            .dir = config->data,
            .ballast_bytes = config->ballast_bytes,
            .event_bytes_max = config->limits.events_bytes,
            .accept_loss = config->accept_loss,
        },
        &server->store, &server->store_state, &server->why);
}

static enum tocsin_status start_engine(struct server *server)
{
    const struct config *config = server->config;
    struct engine_limits limits = engine_limits_default;
    limits.records = (uint32_t)(config->limits.tasks_pending + config->limits.idempotency_entries +
                                config->limits.countdowns + 2 * config->gomoku.rooms);
    limits.doc_bytes = config->limits.docs_bytes;
    enum tocsin_status status =
        threads_create(server->store, post_loop, server, &server->threads, &server->why);
    if (status != TOCSIN_OK)
        return status;
    status = engine_create(
        &(struct engine_options){
            .limits = limits,
            .clock = server->clock,
            .backend = threads_backend(server->threads),
            .hash_key = {server_chance(server), server_chance(server)},
            .on_fatal = on_fatal,
            .arg = server,
        },
        &server->engine, &server->why);
    if (status != TOCSIN_OK)
        return status;
    status = services_start(server);
    if (status == TOCSIN_OK)
        status = engine_load(server->engine, server->store, &server->store_state, &server->why);
    return status == TOCSIN_OK ? services_recover(server) : status;
}

static void say_ready(struct server *server)
{
    struct engine_stats stats;
    services_say_restored(server);
    engine_describe(server->engine, &stats);
    const char *scheme = server->config->tls.certificate[0] != '\0' ? "https" : "http";
    (void)printf("tocsin ready on %s://%s (store %s, %llu records, node %s)\n", scheme,
                 http_server_address(server->http[0]), server->store->ops->name,
                 (unsigned long long)stats.records, server->config->node);
    (void)fflush(stdout);
    (void)notify_send(getenv("NOTIFY_SOCKET"), "READY=1");
    log_event(&server->log, LOG_INFO, "ready",
              LOG_WORD("address", http_server_address(server->http[0])),
              LOG_WORD("store", server->store->ops->name), LOG_UINT("records", stats.records),
              LOG_UINT("epoch", engine_epoch(server->engine)), LOG_END);
}

/* Of a port that is taken. */
static void say_what_to_do(struct tocsin_why *why)
{
    size_t size = strlen(why->text);
    (void)snprintf(why->text + size, sizeof why->text - size,
                   "; another tocsin may be running; --listen 127.0.0.1:0 picks a free port");
}

static void open_sockets(struct server *server)
{
    const struct config *config = server->config;
    struct http_server_options options = {
        .loop = server->loop,
        .on_request = route_on_request,
        .arg = server,
    };
    config_http_limits(config, &options.limits);
    if (config->tls.certificate[0] != '\0') {
        options.tls_certificate = config->tls.certificate;
        options.tls_key = config->tls.key;
    }
    server->phase = SERVER_READY;
    for (size_t i = 0; i < config->listen.count; i++) {
        options.address = config->listen.items[i];
        enum tocsin_status status = http_server_create(&options, &server->http[i], &server->why);
        if (status != TOCSIN_OK) {
            server->failed = status;
            if (status == TOCSIN_BUSY)
                say_what_to_do(&server->why);
            loop_stop(server->loop);
            return;
        }
        server->http_count++;
        server->http_open++;
    }
    say_ready(server);
}

/* As many files as we are allowed: each connection is one. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum tocsin_status prepare(struct server *server)
{
    const struct config *config = server->config;
    server->clock = clock_system;
    if (config->clock == CONFIG_CLOCK_MANUAL) {
        /* In whole milliseconds: after an advance by 5s, what had a delay of 5s is due. */
        server->manual.elapsed.ns = clock_elapsed(&clock_system).ns / MS * MS;
        server->manual.wall.ns = clock_wall(&clock_system).ns / MS * MS;
        server->clock = clock_of_manual(&server->manual);
    }
    (void)snprintf(server->why.text, sizeof server->why.text, "no memory, or no random numbers");
    server->http = calloc(config->listen.count, sizeof(struct http_server *));
    if (server->http == NULL || !seed_chance(server))
        return TOCSIN_NO_MEMORY;
    uuid_source_init(&server->uuids, server_chance, server);
    enum tocsin_status status = metrics_init(&server->metrics, metric_list, M_COUNT);
    if (status != TOCSIN_OK)
        return status;
    struct loop_hooks hooks = {
        .on_wake = on_turn,
        .on_clock_step = on_clock_step,
        .on_post = on_turn,
        .on_turn_end = on_turn_end,
        .arg = server,
    };
    status = loop_create(&hooks, &server->loop, &server->why);
    if (status != TOCSIN_OK)
        return status;
    return signals_start(server) ? TOCSIN_OK : TOCSIN_NO_MEMORY;
}

/* ---- stopping */

static void closed(void *arg)
{
    struct server *server = arg;
    server->closing--;
    loop_stop(server->loop); /* called as the loop goes to sleep, and nothing else may wake it */
}

static void close_all(struct server *server)
{
    server->phase = SERVER_STOPPED;
    server->running = false;
    server->closing = server->http_count;
    for (size_t i = 0; i < server->http_count; i++)
        http_server_close(server->http[i], closed, server);
    signals_close(server);
    while (server->closing > 0 || uv_loop_alive(loop_uv(server->loop))) {
        if (uv_run(loop_uv(server->loop), UV_RUN_ONCE) == 0)
            break;
        if (server->closing == 0)
            break;
    }
    (void)uv_run(loop_uv(server->loop), UV_RUN_NOWAIT);
}

static void release(struct server *server)
{
    if (server->loop != NULL)
        close_all(server);
    live_stop(server->live);
    keeper_stop(server->keeper);
    threads_destroy(server->threads);
    services_destroy(server);
    ws_destroy(server);
    if (server->store != NULL)
        server->store->ops->close(server->store);
    if (server->loop != NULL)
        loop_destroy(server->loop);
    task_requests_release(server);
    metrics_release(&server->metrics);
    free(server->signals);
    free(server->http);
}

enum tocsin_status server_run(const struct config *config, struct tocsin_why *ret_why)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return TOCSIN_NO_MEMORY;
    server->config = config;
    (void)umask(S_IRWXG | S_IRWXO); /* tasks are nobody else's business */
    raise_file_limit();
    enum tocsin_status status =
        log_init(&server->log, &(struct log_options){
                                   .level = (enum log_level)config->log.level,
                                   .format = (enum log_format)config->log.format,
                               });
    if (status == TOCSIN_OK)
        status = prepare(server);
    if (status == TOCSIN_OK)
        status = ws_create(server);
    if (status == TOCSIN_OK)
        status = open_store(server);
    if (status == TOCSIN_OK)
        status = start_engine(server);
    if (status == TOCSIN_OK) {
        if (server->store_state.commits_lost > 0)
            log_event(&server->log, LOG_WARN,
                      "acknowledged commits were lost, and accepted as such",
                      LOG_UINT("commits", server->store_state.commits_lost), LOG_END);
        if (server->store_state.tail_bytes_cut > 0)
            log_event(&server->log, LOG_WARN, "a torn tail was cut off the log",
                      LOG_UINT("bytes", server->store_state.tail_bytes_cut), LOG_END);
        server->wheel_start = tocsin_wheel_now(engine_wheel(server->engine));
        server->second = (struct engine_timer){.fn = every_second, .arg = server};
        every_second(server);
        events_init(server);
        engine_on_commit(server->engine, observe_commit, server);
        engine_on_damage(server->engine, note_damage, server);
        server->running = true;
        server_turn(server);
        loop_run(server->loop);
        status = server->failed;
        if (status == TOCSIN_OK)
            log_event(&server->log, LOG_INFO, "stopped", LOG_END);
    }
    *ret_why = server->why;
    release(server);
    log_release(&server->log);
    free(server);
    return status;
}
