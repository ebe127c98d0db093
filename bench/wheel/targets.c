/* SPDX-License-Identifier: MIT */
/* What the wheel is held to. Ratios are of medians, so that they can be computed
 * again from the rows.
 *
 * The known figures were measured on another machine, where a dependent random
 * miss took KNOWN_MISS_NS; here they are scaled by the miss of the same run. A
 * peer that does not come within 0.7 of its own known speed is driven badly, and a
 * run against it proves nothing: the run is void.
 */
#include "results.h"

#include <stdio.h>

static const double KNOWN_MISS_NS = 157.5; /* the middle of 145 - 170 */
static const double FAIR_SPEED = 0.7;

/* 1M pending, uniform. */
static const struct {
    const char *structure;
    double pair_ns, steady_ns, expire_ns;
} known_peers[] = {
    {"libev", 236, 327, 487},
    {"libuv", 652, 752, 2386},
    {"libevent", 903, 1104, 3108},
};

/* The best of every known structure other than the prototypes, uniform: ratas and
 * wahern/timeout in all places. */
static const struct {
    uint32_t pending;
    double pair_ns, steady_ns, expire_ns;
} known_best[] = {
    {100000, 12, 17, 33},
    {1000000, 64, 104, 197},
    {10000000, 136, 247, 1948},
};
static const double KNOWN_BEST_BYTES = 40;

enum { MILLION = 1000000, DUE_BYTES = 8, COOKIE_BYTES = 8, GENERATION_BYTES = 4 };

/* At most a part of a peer, at 1M pending and uniform delays. */
static void add_ratios(struct bench_targets *targets, const struct results *results,
                       const char *peer_name, double pair_part, double expire_part)
{
    const struct cell *ours = results_find(results, "tocsin", DIST_UNIFORM, MILLION);
    const struct cell *peer = results_find(results, peer_name, DIST_UNIFORM, MILLION);
    if (ours == NULL || peer == NULL)
        return;
    double our_pair = bench_median(&ours->pair), peer_pair = bench_median(&peer->pair);
    double our_expire = bench_median(&ours->expire), peer_expire = bench_median(&peer->expire);
    bench_target_note(bench_target_add(targets, "x", 1 / pair_part, our_pair / peer_pair,
                                       "cancel + arm, 1M uniform, part of %s (1/%.0f)", peer_name,
                                       pair_part),
                      "%.1f ns against %.1f ns: 1/%.1f; to touch handle and node takes %.1f",
                      our_pair, peer_pair, peer_pair / our_pair, bench_median(&results->touch));
    bench_target_note(
        bench_target_add(targets, "x", 1 / expire_part, our_expire / peer_expire,
                         "expiry, 1M uniform, part of %s (1/%.0f)", peer_name, expire_part),
        "%.1f ns against %.1f ns: 1/%.1f", our_expire, peer_expire, peer_expire / our_expire);
}

static void add_absolutes(struct bench_targets *targets, const struct results *results)
{
    const struct cell *ours = results_find(results, "tocsin", DIST_UNIFORM, MILLION);
    double miss = results_miss_ns(results);
    if (ours == NULL)
        return;
    double pair = bench_median(&ours->pair), bytes = bench_median(&ours->timer_bytes);
    if (miss > 0)
        bench_target_note(
            bench_target_add(targets, "x", 0.5, pair / miss,
                             "cancel + arm, 1M uniform, part of a memory miss"),
            "%.1f ns against %.1f ns, the cheaper of small (%.1f) and huge pages (%.1f)", pair,
            miss, bench_median(&results->miss_small), bench_median(&results->miss_huge));
    bench_target_note(bench_target_add(targets, "bytes", 16,
                                       bytes - DUE_BYTES - COOKIE_BYTES - GENERATION_BYTES,
                                       "links per pending timer, 1M"),
                      "all but due time (8), cookie (8) and generation (4)");
    bench_target_note(
        bench_target_add(targets, "bytes", 32, bytes, "memory per pending timer, 1M"),
        "%.1f with slots, bitmaps and the rest of the last step of 2 MiB; a caller that may want "
        "to cancel keeps a handle of %zu more",
        bench_median(&ours->bytes), ours->structure->handle_bytes);
}

static void add_log_expiry(struct bench_targets *targets, const struct results *results,
                           uint32_t pending)
{
    const struct cell *uniform = results_find(results, "tocsin", DIST_UNIFORM, pending);
    const struct cell *log = results_find(results, "tocsin", DIST_LOG, pending);
    if (uniform == NULL || log == NULL)
        return;
    double uniform_ns = bench_median(&uniform->expire), log_ns = bench_median(&log->expire);
    bench_target_note(bench_target_add(targets, "x", 2, log_ns / uniform_ns,
                                       "expiry, log-uniform over uniform, %u pending", pending),
                      "%.1f ns against %.1f ns", log_ns, uniform_ns);
}

static void add_inbox(struct bench_targets *targets, const struct results *results)
{
    if (results->burst_push.count == 0)
        return;
    double yardstick = bench_median(&results->contended_add);
    struct bench_target *burst = bench_target_add(
        targets, "ns", 60, bench_median(&results->burst_push), "inbox push, two producers");
    burst->factor = 3;
    burst->yardstick = yardstick;
    bench_target_note(burst,
                      "with room for all; both producers at work in %.0f %% of the bursts, which "
                      "are those that count; the yardstick is a contended fetch-add",
                      100 * bench_median(&results->burst_fair));
    struct bench_target *drained =
        bench_target_add(targets, "ns", 60, bench_median(&results->drained_push),
                         "inbox push, two producers, drained all the while");
    drained->factor = 3;
    drained->yardstick = yardstick;
    bench_target_note(drained, "the producers' CPU time; %.2f pushes answered FULL for each taken",
                      bench_median(&results->drained_full));
}

/* By libev in the same run: what is slower here is slower for all of them. */
static void add_known_best(struct bench_targets *targets, const struct results *results)
{
    const struct cell *libev = results_find(results, "libev", DIST_UNIFORM, MILLION);
    for (size_t i = 0; i < sizeof known_best / sizeof known_best[0] && libev != NULL; i++) {
        uint32_t pending = known_best[i].pending;
        const struct cell *ours = results_find(results, "tocsin", DIST_UNIFORM, pending);
        if (ours == NULL)
            continue;
        const struct {
            const char *name;
            double value, known, libev, known_libev;
        } figures[] = {
            {"cancel + arm", bench_median(&ours->pair), known_best[i].pair_ns,
             bench_median(&libev->pair), known_peers[0].pair_ns},
            {"clock running", bench_median(&ours->steady), known_best[i].steady_ns,
             bench_median(&libev->steady), known_peers[0].steady_ns},
            {"expiry", bench_median(&ours->expire), known_best[i].expire_ns,
             bench_median(&libev->expire), known_peers[0].expire_ns},
        };
        for (size_t j = 0; j < sizeof figures / sizeof figures[0]; j++) {
            bench_target_note(
                bench_target_add(targets, "ns",
                                 figures[j].known * figures[j].libev / figures[j].known_libev,
                                 figures[j].value, "%s, %u uniform, below the best known wheel",
                                 figures[j].name, pending),
                "%.0f ns on another machine, where libev took %.0f at 1M; here it took %.0f",
                figures[j].known, figures[j].known_libev, figures[j].libev);
        }
        if (pending == MILLION)
            bench_target_add(targets, "bytes", KNOWN_BEST_BYTES, bench_median(&ours->bytes),
                             "memory per timer, 1M, below the best known wheel");
    }
}

static bool add_peers(struct bench_targets *targets, const struct results *results)
{
    double scale = results_miss_ns(results) / KNOWN_MISS_NS;
    bool fair = true;
    for (size_t i = 0; i < sizeof known_peers / sizeof known_peers[0] && scale > 0; i++) {
        const char *name = known_peers[i].structure;
        const struct cell *peer = results_find(results, name, DIST_UNIFORM, MILLION);
        if (peer == NULL)
            continue;
        const struct {
            const char *name;
            double value, known;
        } figures[] = {
            {"cancel + arm", bench_median(&peer->pair), known_peers[i].pair_ns},
            {"clock running", bench_median(&peer->steady), known_peers[i].steady_ns},
            {"expiry", bench_median(&peer->expire), known_peers[i].expire_ns},
        };
        for (size_t j = 0; j < sizeof figures / sizeof figures[0]; j++) {
            struct bench_target *added = bench_target_add(
                targets, "x", 1 / FAIR_SPEED, figures[j].value / (figures[j].known * scale),
                "%s driven fairly: %s over its known figure", name, figures[j].name);
            bench_target_note(added, "%.0f ns here; known %.0f ns, scaled by the miss to %.0f ns",
                              figures[j].value, figures[j].known, figures[j].known * scale);
            fair = fair && bench_target_met(added);
        }
    }
    return fair;
}

bool targets_check(const struct results *results, struct bench_targets *targets)
{
    add_ratios(targets, results, "libev", 5, 6);
    add_ratios(targets, results, "libuv", 15, 30);
    add_absolutes(targets, results);
    add_log_expiry(targets, results, MILLION / 10);
    add_log_expiry(targets, results, MILLION);
    add_log_expiry(targets, results, MILLION * 10);
    add_inbox(targets, results);
    add_known_best(targets, results);
    return add_peers(targets, results);
}
