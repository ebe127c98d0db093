/* SPDX-License-Identifier: MIT */
/* What the server is held to. Ratios are of medians, so that they can be computed again from
 * the rows.
 *
 * What the peers are known to do was measured on a machine where a write and fdatasync took
 * KNOWN_FDATASYNC_MS. A slower disk excuses them in proportion, a faster one does not ask more
 * of them: they are bound by the processor then. A start takes a million keys into memory at
 * random places, so there it is slower memory that excuses. A peer that stays below 0.7 of that
 * is driven badly, and a run against it proves nothing: the run is void.
 */
#include <stdio.h>

#include "results.h"

static const double KNOWN_FDATASYNC_MS = 0.35; /* the middle of 0.2 - 0.5 */
static const double KNOWN_MISS_NS = 157;       /* the middle of 145 - 170 */
static const double FAIR_SPEED = 0.7;
enum { MILLION = 1000000 };

static const struct {
    const char *row, *server;
    double rate;
} known_rates[] = {
    {"schedule-64", "redis", 22000},    {"schedule-1", "redis", 2200},
    {"batch-full", "redis", 73000},     {"schedule-64", "beanstalkd", 3900},
    {"schedule-1", "beanstalkd", 3500}, {"batch-full", "beanstalkd", 3700},
};

static const struct {
    const char *server;
    double seconds; /* for 1M */
} known_restarts[] = {{"redis", 5.5}, {"beanstalkd", 3.5}};

/* At least so many times a peer. */
static void add_ratio(struct bench_targets *targets, const struct results *results,
                      const char *name, const char *row, const char *peer, const char *peer_row,
                      double times)
{
    double ours = results_median(results, row, "tocsin", 0);
    double theirs = results_median(results, peer_row, peer, 0);
    if (ours <= 0 || theirs <= 0)
        return;
    struct bench_target *target = bench_target_add(targets, "x", times, ours / theirs, "%s", name);
    target->at_least = true;
    bench_target_note(target, "%.0f tasks/s against %.0f", ours, theirs);
}

static void add_rate(struct bench_targets *targets, const struct results *results, const char *name,
                     const char *row, double rate)
{
    double ours = results_median(results, row, "tocsin", 0);
    if (ours > 0)
        bench_target_add(targets, "/s", rate, ours, "%s", name)->at_least = true;
}

static void add_lateness(struct bench_targets *targets, const struct results *results,
                         const char *name, const char *row, const char *yardstick, double most_ms)
{
    double ours = results_median(results, row, "tocsin", 0);
    if (ours <= 0)
        return;
    struct bench_target *target = bench_target_add(targets, "ms", most_ms, ours, "%s", name);
    target->factor = 3;
    target->yardstick = results_median(results, yardstick, "yardstick", 0);
}

static void add_at_million(struct bench_targets *targets, const struct results *results,
                           const char *name, const char *row, const char *unit, double most)
{
    double ours = results_median(results, row, "tocsin", MILLION);
    if (results_find(results, row, "tocsin", MILLION) != NULL)
        bench_target_add(targets, unit, most, ours, "%s", name);
}

static void add_restart(struct bench_targets *targets, const struct results *results)
{
    double ours = results_median(results, "restart", "tocsin", MILLION);
    double theirs = results_median(results, "restart", "redis", MILLION);
    add_at_million(targets, results, "restart with 1M pending, serving", "restart", "s", 1);
    if (ours <= 0 || theirs <= 0)
        return;
    bench_target_note(bench_target_add(targets, "x", 0.25, ours / theirs,
                                       "restart with 1M pending, part of Redis (1/4)"),
                      "%.2f s against %.2f s: 1/%.1f", ours, theirs, theirs / ours);
}

static bool check_peer(struct bench_targets *targets, const struct results *results, size_t i,
                       double excuse)
{
    double rate = results_median(results, known_rates[i].row, known_rates[i].server, 0);
    double least = FAIR_SPEED * known_rates[i].rate * excuse;
    if (rate <= 0)
        return true;
    struct bench_target *target = bench_target_add(targets, "/s", least, rate, "fair: %s, %s",
                                                   known_rates[i].server, known_rates[i].row);
    target->at_least = true;
    bench_target_note(target, "0.7 of %.0f, scaled by %.2f for the disk", known_rates[i].rate,
                      excuse);
    return bench_target_met(target);
}

static bool check_restart(struct bench_targets *targets, const struct results *results, size_t i)
{
    double seconds = results_median(results, "restart", known_restarts[i].server, MILLION);
    if (seconds <= 0)
        return true;
    double miss_ns = results_median(results, "memory-miss", "yardstick", 0);
    double excuse = miss_ns > KNOWN_MISS_NS ? miss_ns / KNOWN_MISS_NS : 1;
    struct bench_target *target =
        bench_target_add(targets, "s", known_restarts[i].seconds / FAIR_SPEED * excuse, seconds,
                         "fair: %s, restart with 1M pending", known_restarts[i].server);
    bench_target_note(target, "%.1f s / 0.7, scaled by %.2f for the memory",
                      known_restarts[i].seconds, excuse);
    return bench_target_met(target);
}

static bool check_peers(struct bench_targets *targets, const struct results *results)
{
    double sync_ms = results_median(results, "fdatasync", "yardstick", 0);
    double excuse = sync_ms > KNOWN_FDATASYNC_MS ? KNOWN_FDATASYNC_MS / sync_ms : 1;
    bool fair = true;
    for (size_t i = 0; i < sizeof known_rates / sizeof known_rates[0]; i++)
        fair = check_peer(targets, results, i, excuse) && fair;
    for (size_t i = 0; i < sizeof known_restarts / sizeof known_restarts[0]; i++)
        fair = check_restart(targets, results, i) && fair;
    return fair;
}

bool targets_check(const struct results *results, struct bench_targets *targets)
{
    add_ratio(targets, results, "scheduling, 64 connections, times Redis", "schedule-64", "redis",
              "schedule-64", 1.5);
    add_ratio(targets, results, "scheduling, 64 connections, times beanstalkd", "schedule-64",
              "beanstalkd", "schedule-64", 8);
    add_ratio(targets, results, "batches, full answers, times Redis pipelined", "batch-full",
              "redis", "batch-full", 3);
    add_ratio(targets, results, "batches, short answers, times Redis pipelined", "batch-short",
              "redis", "batch-full", 4);
    add_lateness(targets, results, "lateness p50 at 5 000/s", "lateness-5k-p50", "wakeup-p50", 0.3);
    add_lateness(targets, results, "lateness p99 at 5 000/s", "lateness-5k-p99", "wakeup-p99", 3);
    add_lateness(targets, results, "lateness p99 at 50 000/s", "lateness-50k-p99", "wakeup-p99", 5);
    add_rate(targets, results, "full life, all single", "life-single", 10000);
    add_rate(targets, results, "full life, leases and acks batched", "life-mixed", 25000);
    add_rate(targets, results, "full life, all batched", "life-batched", 100000);
    add_at_million(targets, results, "memory a task, 1M pending, ids of 20", "memory-20", "bytes",
                   120);
    add_at_million(targets, results, "memory a task, 1M pending, ids of 36", "memory-36", "bytes",
                   160);
    add_restart(targets, results);
    add_at_million(targets, results, "idle with 1M pending", "idle", "%", 1);
    return check_peers(targets, results);
}
