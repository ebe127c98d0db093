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
#include "server/shared.h"
#include "server/term.h"

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

/* ---- turning */

static void on_turn(void *arg)
{
    struct server *server = arg;
    if (server->phase == SERVER_FOLLOWING)
        shared_turn(server);
    else if (server->phase != SERVER_STOPPED) /* while all is closed; there may be no engine */
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
    /* With several nodes it is Redis's time that counts. */
    if (server->config->clock == CONFIG_CLOCK_SYSTEM && server->shared == NULL && server->running)
        engine_clock_stepped(server->engine);
}

/* ---- signals */

struct signals {
    struct server *server;
    uv_signal_t term;
    uv_signal_t interrupt;
    uv_timer_t deadline;
};

static void deadline_passed(uv_timer_t *timer)
{
    struct server *server = timer->data;
    log_event(&server->log, LOG_WARN, "drain timeout: connections are cut", LOG_END);
    loop_stop(server->loop);
}

void server_stop(struct server *server)
{
    bool again = server->stopping;
    server->stopping = true;
    if (!again) {
        log_event(&server->log, LOG_INFO, "stopping: draining", LOG_END);
        (void)notify_send(getenv("NOTIFY_SOCKET"), "STOPPING=1");
    }
    if (!again && server->phase == SERVER_FOLLOWING) {
        shared_drain(server);
        return;
    }
    if (again || (server->phase != SERVER_STARTING && server->phase != SERVER_READY)) {
        loop_stop(server->loop); /* between two terms there is nothing to drain */
        return;
    }
    (void)uv_timer_start(&server->signals->deadline, deadline_passed, server->config->drain_timeout,
                         0);
    term_drain(server);
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

/* ---- life */

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

static enum tocsin_status run_alone(struct server *server)
{
    enum tocsin_status status = term_begin(server);
    if (status == TOCSIN_OK) {
        loop_run(server->loop);
        status = server->failed;
    }
    term_end(server);
    return status;
}

static void release(struct server *server)
{
    if (server->loop != NULL) {
        server->phase = SERVER_STOPPED;
        signals_close(server);
        (void)uv_run(loop_uv(server->loop), UV_RUN_NOWAIT);
        loop_destroy(server->loop);
    }
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
        status = config_store_kind(config) == CONFIG_REDIS ? shared_run(server) : run_alone(server);
    if (status == TOCSIN_OK)
        log_event(&server->log, LOG_INFO, "stopped", LOG_END);
    *ret_why = server->why;
    release(server);
    log_release(&server->log);
    free(server);
    return status;
}
