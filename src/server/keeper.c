/* SPDX-License-Identifier: MIT */
/* Renewals in this server: set up by the configuration, with a client for each Redis server, and
 * with somebody who looks on. */

#include "server/keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/config_form.h"
#include "service/redis_keys/redis_provider.h"
#include "service/renewal/mock_client.h"

enum { WAIT_MS = 10000, LOST_WAIT_MS = 500, REPORT_WORST = 10 };

struct keeper {
    struct server *server;
    struct renewals *renewals;
    struct key_providers providers;
    char **names; /* of the Redis servers in redis.servers */
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
        [RENEWAL_LOST] = "a renewal has lost its key: it is somebody else's, or gone",
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

/* ---- the key stores of the configuration */

static void post(void *arg)
{
    loop_post(((struct keeper *)arg)->server->loop);
}

static enum tocsin_status add_providers(struct keeper *keeper)
{
    struct server *server = keeper->server;
    const struct config_redis *config = &server->config->redis;
    struct key_provider provider;
    enum tocsin_status status = redis_provider_create(
        &(struct redis_provider_options){
            .threads = (size_t)config->renewal.executor_thread_pool_size,
            .standard = {.host = config->host,
                         .port = (uint16_t)config->port,
                         .user = config->user,
                         .password = config->password,
                         .database = (unsigned)config->database},
            .timeout_ms = (uint32_t)config->timeout,
            .seed = server_chance(server),
            .post = post,
            .told = redis_told,
            .arg = keeper,
        },
        &provider);
    if (status == TOCSIN_OK)
        status = key_providers_add(&keeper->providers, &provider);
    if (status == TOCSIN_OK)
        status = mock_provider_create(server->engine, &provider);
    if (status == TOCSIN_OK)
        status = key_providers_add(&keeper->providers, &provider);
    return status;
}

static enum tocsin_status reach(struct keeper *keeper, const char *provider, const char *store,
                                const char *where)
{
    const struct key_client *client;
    enum tocsin_status status = key_providers_open(&keeper->providers, provider, store, where,
                                                   &client, &keeper->server->why);
    return status == TOCSIN_OK ? renewals_add_client(keeper->renewals, store, client) : status;
}

static enum tocsin_status reach_all(struct keeper *keeper)
{
    const struct config_list *servers = &keeper->server->config->redis.servers;
    keeper->names = calloc(servers->count + 1, sizeof keeper->names[0]);
    if (keeper->names == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = reach(keeper, "redis", RENEWAL_REDIS_DEFAULT, NULL);
    if (status == TOCSIN_OK)
        status = reach(keeper, "mock", "mock", NULL);
    for (size_t i = 0; status == TOCSIN_OK && i < servers->count; i++) {
        struct bytes name;
        const char *where = config_form_redis_url(servers->items[i], &name); /* it fits */
        keeper->names[i] = strndup(name.at, name.size);
        status = keeper->names[i] == NULL ? TOCSIN_NO_MEMORY
                                          : reach(keeper, "redis", keeper->names[i], where);
    }
    return status;
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
    enum tocsin_status status = add_providers(keeper);
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
    return status == TOCSIN_OK ? reach_all(keeper) : status;
}

enum tocsin_status keeper_recover(struct keeper *keeper)
{
    if (!keeper_enabled(keeper)) {
        log_event(&keeper->server->log, LOG_WARN,
                  "renewals are switched off (redis.renewal.enabled): no key is kept alive",
                  LOG_END);
        renewals_stop(keeper->renewals);
    }
    return renewals_recover(keeper->renewals);
}

bool keeper_recovering(const struct keeper *keeper)
{
    return renewals_recovering(keeper->renewals);
}

void keeper_take(struct keeper *keeper)
{
    if (key_providers_take(&keeper->providers))
        loop_post(keeper->server->loop); /* in the next turn: others want to be served, too */
}

bool keeper_drain(struct keeper *keeper)
{
    renewals_stop(keeper->renewals);
    renewals_save_all(keeper->renewals);
    /* So that a Redis that hangs is given up in time. */
    key_providers_stop(&keeper->providers, WAIT_MS);
    return renewals_under_way(keeper->renewals) == 0;
}

void keeper_stop(struct keeper *keeper)
{
    if (keeper == NULL || keeper->stopped)
        return;
    keeper->stopped = true;
    if (keeper->renewals != NULL)
        renewals_stop(keeper->renewals);
    /* Who has lost the records to another node cannot write down what becomes of it. */
    bool lost = keeper->server->shared != NULL && keeper->server->failed != TOCSIN_OK;
    key_providers_stop(&keeper->providers, lost ? LOST_WAIT_MS : WAIT_MS);
    key_providers_join(&keeper->providers);
    while (key_providers_take(&keeper->providers)) {
    }
}

void keeper_destroy(struct keeper *keeper)
{
    if (keeper == NULL)
        return;
    renewals_destroy(keeper->renewals);
    key_providers_destroy(&keeper->providers);
    for (size_t i = 0; keeper->names != NULL && keeper->names[i] != NULL; i++)
        free(keeper->names[i]);
    free(keeper->names);
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
