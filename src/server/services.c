/* SPDX-License-Identifier: MIT */
/* The services on the engine: which there are, how they are set up, and the order in which they
 * begin and end. */

#include "server/keeper.h"
#include "server/live.h"

#define NS_PER_MS INT64_C(1000000)

/* ---- who looks on */

static void count_tasks(void *arg, enum tasks_count what, uint64_t n)
{
    struct metrics *metrics = &((struct server *)arg)->metrics;
    switch (what) {
    case TASKS_ADDED:
        metrics_count(metrics, M_TASKS_ADDED, 0, n);
        break;
    case TASKS_REPLACED:
        metrics_count(metrics, M_TASKS_REPLACED, 0, n);
        break;
    case TASKS_EXECUTED:
        metrics_count(metrics, M_TASKS_EXECUTED, 0, n);
        break;
    case TASKS_FAILED:
        metrics_count(metrics, M_TASKS_FAILED, 0, n);
        break;
    case TASKS_CANCELLED:
        metrics_count(metrics, M_TASKS_CANCELLED, 0, n);
        break;
    case TASKS_RETRIED:
        metrics_count(metrics, M_TASKS_RETRIED, 0, n);
        break;
    case TASKS_EXPIRED:
        metrics_count(metrics, M_LEASES_EXPIRED, 0, n);
        break;
    case TASKS_FENCED:
    case TASKS_SUPERSEDED:
        metrics_count(metrics, M_FENCED, 0, n);
        break;
    case TASKS_CONFLICT:
        metrics_count(metrics, M_CONFLICTS, 0, n);
        break;
    case TASKS_SKIPPED_OVERLAP:
        metrics_count(metrics, M_TASKS_SKIPPED, SKIPPED_OVERLAP, n);
        break;
    case TASKS_SKIPPED_MISFIRE:
        metrics_count(metrics, M_TASKS_SKIPPED, SKIPPED_MISFIRE, n);
        metrics_count(metrics, M_TASKS_MISFIRED, 0, n);
        break;
    case TASKS_SKIPPED_PAUSE:
        metrics_count(metrics, M_TASKS_SKIPPED, SKIPPED_PAUSE, n);
        break;
    case TASKS_LEASED:
    case TASKS_COUNTS:
        break;
    }
}

static void observe_late(void *arg, int64_t late_ns)
{
    struct metrics *metrics = &((struct server *)arg)->metrics;
    metrics_count(metrics, M_TASKS_FIRED, 0, 1);
    metrics_observe(metrics, M_LATENESS, 0, late_ns > 0 ? (uint64_t)late_ns : 0);
}

static void observe_took(void *arg, int64_t ms)
{
    struct metrics *metrics = &((struct server *)arg)->metrics;
    metrics_observe(metrics, M_EXECUTION, 0, ms > 0 ? (uint64_t)(ms * NS_PER_MS) : 0);
}

static void note_failed(void *arg, struct bytes id, uint32_t attempt, struct bytes error,
                        bool for_good)
{
    struct server *server = arg;
    metrics_count(&server->metrics, M_ATTEMPTS_FAILED, 0, 1);
    log_event(&server->log, for_good ? LOG_WARN : LOG_INFO,
              for_good ? "task failed for good" : "attempt failed", LOG_TEXT("id", id),
              LOG_UINT("attempt", attempt), LOG_TEXT("error", error), LOG_END);
}

static enum tocsin_status start_tasks(struct server *server)
{
    const struct config *config = server->config;
    struct tasks_limits tasks = tasks_limits_default;
    tasks.tasks = config->limits.tasks_pending;
    tasks.lease_runs = (uint32_t)config->limits.runs_per_lease;
    tasks.lease_waiting = (uint32_t)config->limits.leases_waiting;
    tasks.queues = (uint32_t)config->limits.queues;
    tasks.finished = (uint32_t)config->limits.finished_tasks;
    tasks.finished_bytes = config->limits.finished_bytes;
    tasks.misfire_grace_ms = (int64_t)config->misfire_grace;
    static const enum tasks_history histories[] = {
        [CONFIG_HISTORY_FAILURES] = TASKS_HISTORY_FAILURES,
        [CONFIG_HISTORY_ALL] = TASKS_HISTORY_ALL,
        [CONFIG_HISTORY_NONE] = TASKS_HISTORY_NONE,
    };
    return tasks_create(
        &(struct tasks_options){
            .engine = server->engine,
            .idem = server->idem,
            .limits = tasks,
            .history = histories[config->history.tasks],
            .watch = {count_tasks, observe_late, observe_took, note_failed, server},
            .node = config->node,
            .chance = server_chance,
            .chance_arg = server,
        },
        &server->tasks);
}

enum tocsin_status services_start(struct server *server)
{
    const struct config *config = server->config;
    struct idem_limits idem = {
        .entries = (uint32_t)config->limits.idempotency_entries,
        .keep_ms = (int64_t)config->limits.idempotency_time,
    };
    struct countdowns_limits countdowns = countdowns_limits_default;
    countdowns.countdowns = config->limits.countdowns;
    enum tocsin_status status = idem_create(server->engine, &idem, &server->idem);
    if (status == TOCSIN_OK)
        status = start_tasks(server);
    if (status == TOCSIN_OK)
        status = countdowns_create(
            &(struct countdowns_options){
                .engine = server->engine,
                .idem = server->idem,
                .limits = countdowns,
                .hash_key = {server_chance(server), server_chance(server)},
                .node = config->node,
                .holder_ttl_ms = (int64_t)config->countdown.holder.ttl.seconds * 1000,
            },
            &server->countdowns);
    if (status == TOCSIN_OK)
        status = keeper_create(server);
    struct leases_limits leases = leases_limits_default;
    leases.leases = config->limits.leases;
    leases.waiting = config->limits.leases_in_line;
    if (status == TOCSIN_OK)
        status = leases_create(server->engine, server->idem, &leases,
                               (struct siphash_key){server_chance(server), server_chance(server)},
                               &server->leases);
    return status == TOCSIN_OK ? live_create(server, ws_topics(server)) : status;
}

/* C-06 */
void services_say_restored(struct server *server)
{
    struct countdowns_restored found = countdowns_restored(server->countdowns);
    log_event(&server->log, LOG_INFO, "countdowns restored", LOG_UINT("restored", found.restored),
              LOG_UINT("expired_handled", found.expired_handled),
              LOG_UINT("expired_cleaned", found.expired_cleaned), LOG_UINT("paused", found.paused),
              LOG_END);
}

enum tocsin_status services_recover(struct server *server)
{
    enum tocsin_status status = tasks_recover(server->tasks);
    if (status == TOCSIN_OK)
        status = countdowns_recover(server->countdowns);
    if (status == TOCSIN_OK)
        status = keeper_recover(server->keeper);
    return status == TOCSIN_OK ? rooms_recover(live_rooms(server->live)) : status;
}

bool services_recovering(const struct server *server)
{
    return tasks_recovering(server->tasks) || countdowns_recovering(server->countdowns) ||
           keeper_recovering(server->keeper) || rooms_recovering(live_rooms(server->live));
}

/* The engine in the middle: its last changes still end in some of them. */
void services_destroy(struct server *server)
{
    tasks_destroy(server->tasks);
    engine_destroy(server->engine);
    live_destroy(server->live);
    keeper_destroy(server->keeper);
    countdowns_destroy(server->countdowns);
    leases_destroy(server->leases);
    idem_destroy(server->idem);
}
