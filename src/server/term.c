/* SPDX-License-Identifier: MIT */
#include "server/term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/notify.h"
#include "server/keeper.h"
#include "server/live.h"
#include "server/shared.h"

#define REFUSED_AGAIN_NS INT64_C(10000000000) /* not told more often */

/* ---- counting */

/* What was refused was not done, and its clients know; but not those who run this. */
static void tell_refused(struct server *server, const char *why)
{
    int64_t now_ns = clock_elapsed(&clock_system).ns;
    if (server->refused_told_ns != 0 && now_ns < server->refused_told_ns + REFUSED_AGAIN_NS)
        return;
    server->refused_told_ns = now_ns;
    log_event(&server->log, LOG_WARN, "the store refuses commits: what was asked for is not done",
              LOG_WORD("why", why), LOG_END);
}

static void observe_commit(void *arg, enum tocsin_status status, const char *why, int64_t took_ns)
{
    struct metrics *metrics = &((struct server *)arg)->metrics;
    if (status == TOCSIN_UNAVAILABLE)
        tell_refused(arg, why);
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

static void tell_room(struct server *server)
{
    bool full = engine_store_status(server->engine) == TOCSIN_NO_SPACE;
    bool redis = server->shared != NULL;
    if (full == server->disk_full)
        return;
    server->disk_full = full;
    if (!full)
        log_event(&server->log, LOG_INFO, redis ? "redis has room again" : "disk has room again",
                  LOG_END);
    else if (redis)
        log_event(&server->log, LOG_ERROR,
                  "redis is full: new work is refused; raise its maxmemory, or end some work",
                  LOG_END);
    else
        log_event(&server->log, LOG_ERROR, "disk full: new work is refused",
                  LOG_WORD("data", server->config->data), LOG_END);
}

void server_turn(struct server *server)
{
    struct elapsed_time wake;
    if (!server->running || !shared_may_act(server))
        return; /* not loaded yet, closing, or not the owner any more */
    if (shared_clock_was_set(server))
        engine_clock_stepped(server->engine);
    threads_take(server->threads, server->engine);
    live_take_thoughts(server->live);
    keeper_take(server->keeper);
    engine_turn(server->engine, &wake);
    if (server->config->clock == CONFIG_CLOCK_MANUAL)
        wake.ns = wake.ns <= server->manual.elapsed.ns ? 0 : INT64_MAX;
    int64_t until_ns = shared_act_until_ns(server);
    loop_wake_at(server->loop, wake.ns < until_ns ? wake.ns : until_ns);
    bool quiet = renewals_under_way(keeper_renewals(server->keeper)) == 0;
    if (wake.ns > 0 && engine_idle(server->engine) && quiet)
        operations_settled(server);
    if (server->phase == SERVER_STARTING && !services_recovering(server))
        open_sockets(server);
    tell_room(server);
    if (server->phase == SERVER_DRAINING)
        stop_when_drained(server);
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
    /* One of several nodes may go on, and says itself what has become of it. */
    if (server->shared == NULL)
        log_event(&server->log, LOG_ERROR, "stopping: the store has failed",
                  LOG_WORD("status", tocsin_status_name(status)), LOG_WORD("why", why), LOG_END);
    loop_stop(server->loop);
}

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

void term_drain(struct server *server)
{
    bool was_open = server->phase == SERVER_READY;
    server->phase = SERVER_DRAINING;
    tasks_hold(server->tasks, claims_held, server);
    leases_close_lines(server->leases);
    events_end(server);
    shared_stop_listening(server);
    for (size_t i = 0; was_open && i < server->http_count; i++)
        http_server_drain(server->http[i], drained, server);
    loop_post(server->loop);
}

/* ---- starting */

static enum tocsin_status open_store(struct server *server)
{
    const struct config *config = server->config;
    if (server->shared != NULL)
        return shared_open_store(server);
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
            .shared = server->shared != NULL,
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

void server_say_ready(struct server *server, const char *address, uint64_t records)
{
    const char *store = config_store_kind(server->config) == CONFIG_SQLITE   ? "sqlite"
                        : config_store_kind(server->config) == CONFIG_MEMORY ? "memory"
                                                                             : "redis";
    const char *scheme = server->config->tls.certificate[0] != '\0' ? "https" : "http";
    if (server->said_ready)
        return;
    server->said_ready = true;
    (void)printf("tocsin ready on %s://%s (store %s, %llu records, node %s)\n", scheme, address,
                 store, (unsigned long long)records, server->config->node);
    (void)fflush(stdout);
    (void)notify_send(getenv("NOTIFY_SOCKET"), "READY=1");
}

static void say_open(struct server *server)
{
    struct engine_stats stats;
    services_say_restored(server);
    engine_describe(server->engine, &stats);
    server_say_ready(server, http_server_address(server->http[0]), stats.records);
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
        options.listen_fd = shared_listen_fd(server, i);
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
    shared_opened(server);
    say_open(server);
}

/* ---- stopping */

static void closed(void *arg)
{
    struct server *server = arg;
    server->closing--;
    loop_stop(server->loop); /* called as the loop goes to sleep, and nothing else may wake it */
}

static void close_sockets(struct server *server)
{
    server->phase = SERVER_STOPPED;
    server->running = false;
    server->closing = server->http_count;
    for (size_t i = 0; i < server->http_count; i++)
        http_server_close(server->http[i], closed, server);
    while (server->closing > 0)
        (void)uv_run(loop_uv(server->loop), UV_RUN_ONCE);
    for (size_t i = 0; i < server->http_count; i++)
        server->http[i] = NULL;
    server->http_count = server->http_open = 0;
}

void term_end(struct server *server)
{
    close_sockets(server);
    live_stop(server->live);
    keeper_stop(server->keeper);
    if (server->engine != NULL && server->threads != NULL) {
        threads_stop(server->threads);
        engine_abandon(server->engine); /* nobody hears it, but all that waits is given back */
        threads_take_reads(server->threads, server->engine);
    }
    threads_destroy(server->threads);
    services_destroy(server);
    ws_destroy(server);
    if (server->store != NULL)
        server->store->ops->close(server->store);
    task_requests_release(server);
    server->live = NULL;
    server->keeper = NULL;
    server->threads = NULL;
    server->engine = NULL;
    server->idem = NULL;
    server->tasks = NULL;
    server->countdowns = NULL;
    server->leases = NULL;
    server->ws = NULL;
    server->store = NULL;
    server->under_way = 0;
    server->subscribers = NULL;
    server->held = server->disk_full = false;
    server->failed = TOCSIN_OK;
    loop_wake_at(server->loop, INT64_MAX);
}

/* ---- beginning */

static void say_what_was_lost(struct server *server)
{
    if (server->store_state.commits_lost > 0 && server->shared == NULL)
        log_event(&server->log, LOG_WARN, "acknowledged commits were lost, and accepted as such",
                  LOG_UINT("commits", server->store_state.commits_lost), LOG_END);
    if (server->store_state.tail_bytes_cut > 0)
        log_event(&server->log, LOG_WARN, "a torn tail was cut off the log",
                  LOG_UINT("bytes", server->store_state.tail_bytes_cut), LOG_END);
}

enum tocsin_status term_begin(struct server *server)
{
    server->phase = SERVER_STARTING;
    enum tocsin_status status = ws_create(server);
    if (status == TOCSIN_OK)
        status = open_store(server);
    if (status == TOCSIN_OK)
        status = start_engine(server);
    if (status != TOCSIN_OK)
        return status;
    say_what_was_lost(server);
    server->wheel_start = tocsin_wheel_now(engine_wheel(server->engine));
    server->second = (struct engine_timer){.fn = every_second, .arg = server};
    every_second(server);
    events_init(server);
    engine_on_commit(server->engine, observe_commit, server);
    engine_on_damage(server->engine, note_damage, server);
    server->running = true;
    server_turn(server);
    return TOCSIN_OK;
}
