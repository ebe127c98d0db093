/* SPDX-License-Identifier: MIT */
/* Renewals in this server: set up by the configuration, with a client for each Redis server, and
 * with somebody who looks on. */

#include "server/keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/config_form.h"
#include "server/redis_keys.h"
#include "service/renewal/mock_client.h"

enum { WAIT_MS = 10000, REPORT_WORST = 10 };

struct keeper {
    struct server *server;
    struct renewals *renewals;
    struct redis_server *servers; /* the first is `default` */
    char *words;                  /* their texts */
    size_t count;
    struct redis_keys **threads;
    size_t thread_count;
    struct key_client *clients;
    struct mock_client *mock;
    struct key_client mock_port;
    struct renewals_stats reported;
    uint64_t seconds;
    bool stopped;
};

/* ---- who looks on */

static void told(void *arg, struct bytes id, enum renewal_state state, const char *why)
{
    struct server *server = ((struct keeper *)arg)->server;
    static const char *const texts[] = {
        [RENEWAL_ACTIVE] = "a renewal does not reach all its keys",
        [RENEWAL_FAILED] = "a renewal has failed for good: its keys are not kept alive any more",
        [RENEWAL_LOST] = "a renewal has lost its key: somebody else has it",
    };
    log_event(&server->log, LOG_WARN, texts[state], LOG_TEXT("id", id), LOG_WORD("why", why),
              LOG_END);
}

static void rounded(void *arg, uint64_t good, uint64_t bad, int64_t late_ns, int64_t took_ns)
{
    struct metrics *metrics = &((struct keeper *)arg)->server->metrics;
    metrics_count(metrics, M_RENEWAL_KEYS_RENEWED, 0, good);
    metrics_count(metrics, M_RENEWAL_KEYS_FAILED, 0, bad);
    metrics_observe(metrics, M_RENEWAL_LATENESS, 0, late_ns > 0 ? (uint64_t)late_ns : 0);
    metrics_observe(metrics, M_RENEWAL_TOOK, 0, took_ns > 0 ? (uint64_t)took_ns : 0);
}

static void redis_told(void *arg, const char *name, bool connected, const char *why)
{
    struct server *server = ((struct keeper *)arg)->server;
    if (connected)
        log_event(&server->log, LOG_INFO, "redis is connected", LOG_WORD("redis", name), LOG_END);
    else
        log_event(&server->log, LOG_WARN, "redis is not reached: its keys are not renewed",
                  LOG_WORD("redis", name), LOG_WORD("why", why), LOG_END);
}

static void report_one(void *arg, struct bytes id, unsigned good_percent, const char *why)
{
    struct server *server = arg;
    log_event(&server->log, LOG_WARN, "renewal in trouble", LOG_TEXT("id", id),
              LOG_UINT("good_percent", good_percent), LOG_WORD("why", why), LOG_END);
}

/* */
static void report(struct keeper *keeper)
{
    struct server *server = keeper->server;
    struct renewals_stats now;
    const struct renewals_stats *before = &keeper->reported;
    renewals_describe(keeper->renewals, &now);
    if (now.active + now.paused == 0 && now.rounds == before->rounds) {
        log_event(&server->log, LOG_INFO, "renewals: none", LOG_END);
        return;
    }
    uint64_t good = now.keys_renewed - before->keys_renewed;
    uint64_t bad = now.keys_failed - before->keys_failed;
    log_event(&server->log, LOG_INFO, "renewals", LOG_UINT("active", now.active),
              LOG_UINT("paused", now.paused), LOG_UINT("rounds", now.rounds - before->rounds),
              LOG_UINT("keys_renewed", good), LOG_UINT("keys_failed", bad),
              LOG_UINT("success_percent", good + bad == 0 ? 100 : good * 100 / (good + bad)),
              LOG_UINT("in_trouble", now.unhealthy), LOG_END);
    renewals_each_unhealthy(keeper->renewals, REPORT_WORST, report_one, server);
    keeper->reported = now;
}

void keeper_tick(struct keeper *keeper)
{
    uint64_t interval = keeper->server->config->redis.renewal.metrics_report_interval;
    if (interval > 0 && ++keeper->seconds % interval == 0)
        report(keeper);
}

/* ---- the Redis servers of the configuration */

static char *put_word(char **at, struct bytes word)
{
    char *copy = *at;
    if (word.size > 0)
        memcpy(copy, word.at, word.size);
    copy[word.size] = '\0';
    *at += word.size + 1;
    return copy;
}

static enum tocsin_status take_servers(struct keeper *keeper)
{
    const struct config_redis *config = &keeper->server->config->redis;
    size_t room = 1;
    keeper->count = 1 + config->servers.count;
    for (size_t i = 0; i < config->servers.count; i++)
        room += strlen(config->servers.items[i]) + 4;
    keeper->servers = calloc(keeper->count, sizeof *keeper->servers);
    keeper->clients = calloc(keeper->count, sizeof *keeper->clients);
    keeper->words = malloc(room);
    if (keeper->servers == NULL || keeper->clients == NULL || keeper->words == NULL)
        return TOCSIN_NO_MEMORY;
    keeper->servers[0] = (struct redis_server){
        .name = "default",
        .host = config->host,
        .port = (uint16_t)config->port,
        .user = config->user,
        .password = config->password,
        .database = (unsigned)config->database,
    };
    char *at = keeper->words;
    for (size_t i = 0; i < config->servers.count; i++) {
        struct config_redis_url url;
        (void)config_form_redis_split(config->servers.items[i], &url); /* it fits: config_form.h */
        keeper->servers[i + 1] = (struct redis_server){
            .name = put_word(&at, url.name),
            .host = put_word(&at, url.host),
            .port = (uint16_t)url.port,
            .user = put_word(&at, url.user),
            .password = put_word(&at, url.password),
            .database = url.database,
        };
    }
    return TOCSIN_OK;
}

static void post(void *arg)
{
    loop_post(((struct server *)arg)->loop);
}

/* Each thread has every n-th of them. */
static enum tocsin_status start_threads(struct keeper *keeper)
{
    struct server *server = keeper->server;
    size_t most = (size_t)server->config->redis.renewal.executor_thread_pool_size;
    size_t wanted = keeper->count < most ? keeper->count : most;
    keeper->threads = calloc(wanted, sizeof(struct redis_keys *));
    if (keeper->threads == NULL)
        return TOCSIN_NO_MEMORY;
    for (size_t i = 0; i < wanted; i++) {
        enum tocsin_status status = redis_keys_create(
            &(struct redis_keys_options){
                .servers = keeper->servers + i,
                .count = (keeper->count - i + wanted - 1) / wanted,
                .stride = wanted,
                .timeout_ms = (uint32_t)server->config->redis.timeout,
                .seed = server_chance(server),
                .post = post,
                .arg = server,
            },
            &keeper->threads[i]);
        if (status != TOCSIN_OK)
            return status;
        keeper->thread_count++;
    }
    for (size_t i = 0; i < keeper->count; i++)
        keeper->clients[i] = redis_keys_client(keeper->threads[i % wanted], i / wanted);
    return TOCSIN_OK;
}

static enum tocsin_status add_clients(struct keeper *keeper)
{
    enum tocsin_status status = TOCSIN_OK;
    for (size_t i = 0; status == TOCSIN_OK && i < keeper->count; i++)
        status =
            renewals_add_client(keeper->renewals, keeper->servers[i].name, &keeper->clients[i]);
    if (status != TOCSIN_OK)
        return status;
    status = mock_client_create(keeper->server->engine, &keeper->mock);
    if (status != TOCSIN_OK)
        return status;
    mock_client_take_all(keeper->mock);
    keeper->mock_port = mock_client_port(keeper->mock);
    return renewals_add_client(keeper->renewals, "mock", &keeper->mock_port);
}

/* ---- life */

struct renewal_defaults keeper_defaults(const struct server *server)
{
    const struct config_renewal *config = &server->config->redis.renewal;
    return (struct renewal_defaults){
        .ttl_ms = (int64_t)config->default_ttl * 1000,
        .every_ms = (int64_t)config->default_renewal_interval * 1000,
        .least_every_ms =
            config->type == CONFIG_TIME_WHEEL ? (int64_t)config->time_wheel.tick_duration : 1,
    };
}

enum tocsin_status keeper_create(struct server *server)
{
    const struct config *config = server->config;
    const struct config_renewal *renewal = &config->redis.renewal;
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL)
        return TOCSIN_NO_MEMORY;
    server->keeper = keeper;
    keeper->server = server;
    struct renewals_limits limits = renewals_limits_default;
    limits.renewals = config->limits.renewals;
    limits.scan_keys = config->limits.renewal_keys;
    enum tocsin_status status = take_servers(keeper);
    if (status == TOCSIN_OK)
        status = start_threads(keeper);
    if (status == TOCSIN_OK)
        status = renewals_create(
            &(struct renewals_options){
                .engine = server->engine,
                .idem = server->idem,
                .limits = limits,
                .defaults = keeper_defaults(server),
                .beats = {.type = renewal->type == CONFIG_TIME_WHEEL ? BEATS_TIME_WHEEL
                                                                     : BEATS_SCHEDULED,
                          .tick_ms = (uint32_t)renewal->time_wheel.tick_duration,
                          .slots = (uint32_t)renewal->time_wheel.ticks_per_wheel},
                .watch = {told, rounded, keeper},
                .hash_key = {server_chance(server), server_chance(server)},
                .chance = server_chance,
                .chance_arg = server,
            },
            &keeper->renewals, &server->why);
    return status == TOCSIN_OK ? add_clients(keeper) : status;
}

enum tocsin_status keeper_recover(struct keeper *keeper)
{
    if (!keeper_enabled(keeper))
        renewals_stop(keeper->renewals);
    return renewals_recover(keeper->renewals);
}

bool keeper_recovering(const struct keeper *keeper)
{
    return renewals_recovering(keeper->renewals);
}

void keeper_take(struct keeper *keeper)
{
    bool more = false;
    for (size_t i = 0; i < keeper->thread_count; i++)
        more |= redis_keys_take(keeper->threads[i], redis_told, keeper);
    if (more)
        loop_post(keeper->server->loop); /* in the next turn: others want to be served, too */
}

/* Of all of them together: they are told before any is waited for. */
static void stop_threads(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->thread_count; i++)
        redis_keys_stop(keeper->threads[i], WAIT_MS);
}

bool keeper_drain(struct keeper *keeper)
{
    renewals_stop(keeper->renewals);
    stop_threads(keeper); /* so that a Redis that hangs is given up in time */
    return renewals_under_way(keeper->renewals) == 0;
}

void keeper_stop(struct keeper *keeper)
{
    if (keeper == NULL || keeper->stopped)
        return;
    keeper->stopped = true;
    if (keeper->renewals != NULL)
        renewals_stop(keeper->renewals);
    stop_threads(keeper);
    for (size_t i = 0; i < keeper->thread_count; i++) {
        redis_keys_join(keeper->threads[i]);
        while (redis_keys_take(keeper->threads[i], NULL, NULL))
            ;
    }
    if (keeper->mock != NULL)
        keeper->mock_port.close(keeper->mock_port.self, 0);
}

void keeper_destroy(struct keeper *keeper)
{
    if (keeper == NULL)
        return;
    renewals_destroy(keeper->renewals);
    for (size_t i = 0; i < keeper->thread_count; i++)
        redis_keys_destroy(keeper->threads[i]);
    if (keeper->mock != NULL)
        mock_client_destroy(keeper->mock);
    free(keeper->threads);
    free(keeper->clients);
    free(keeper->servers);
    free(keeper->words);
    free(keeper);
}

struct renewals *keeper_renewals(const struct keeper *keeper)
{
    return keeper->renewals;
}

bool keeper_enabled(const struct keeper *keeper)
{
    return keeper->server->config->redis.renewal.enabled != 0;
}

/* ---- what is counted */

void keeper_set_metrics(struct server *server)
{
    struct keeper *keeper = server->keeper;
    struct renewals_stats stats;
    renewals_describe(keeper->renewals, &stats);
    const struct {
        enum metric_id id;
        uint64_t value;
    } values[] = {
        {M_RENEWALS_ACTIVE, stats.active},
        {M_RENEWALS_PAUSED, stats.paused},
        {M_RENEWALS_LIMIT, server->config->limits.renewals},
        {M_RENEWALS_IN_TROUBLE, stats.unhealthy},
        {M_RENEWALS_COMPLETED, stats.ended[RENEWAL_COMPLETED]},
        {M_RENEWALS_FAILED, stats.ended[RENEWAL_FAILED]},
        {M_RENEWALS_CANCELLED, stats.ended[RENEWAL_CANCELLED]},
        {M_RENEWALS_LOST, stats.ended[RENEWAL_LOST]},
        {M_RENEWAL_ROUNDS, stats.rounds},
        {M_RENEWAL_ROUNDS_FAILED, stats.rounds_failed},
        {M_RENEWAL_ROUNDS_OPEN, stats.under_way},
        {M_RENEWAL_BEATS_SKIPPED, stats.skipped},
        {M_RENEWAL_RETRIES, stats.retried},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        metrics_set(&server->metrics, values[i].id, 0, (int64_t)values[i].value);
}
