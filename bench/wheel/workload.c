/* SPDX-License-Identifier: MIT */
/* How fast does the clock run? A timer is touched ten times a minute: pending / 6000
 * pairs per millisecond. That is a server whose timers are mostly timeouts: of the
 * uniform ones a tenth fires and the rest is cancelled before, of the constant ones
 * one in 150 fires, of the log-uniform ones three in eight, the short ones. What fires is
 * armed again, so the number of pending timers stays as it is.
 *
 * With the clock running, the timers must be as they are after it has run for
 * long, or the first seconds would measure how the short ones of a fresh set fire
 * off. draw_aged draws from about that state: a timer of delay d lives until it
 * fires or is touched, so it is found pending in proportion to that life, and then
 * at any age in it.
 *
 * Which timer is touched next is pure chance: nobody's neighbour is any likelier to be in the cache
 * than anything else.
 *
 * The simulated time starts at a random millisecond of a real calendar, not at 0:
 * a wheel that starts at 0 is aligned on all levels and gets a better deal than it
 * will ever have in life.
 */
#include "workload.h"

#include "harness.h"

#include <math.h>

enum {
    TOUCHED_EACH_MS = 6000,
    PAIRS_MIN = 200000,
    PAIRS_MAX = 500000,
    CHURN_MAX = 32000000, /* who needs more starts over */
};

const char *dist_name(enum dist dist)
{
    static const char *const names[DIST_COUNT] = {"uniform", "log", "constant"};
    return names[dist];
}

const char *dist_text(enum dist dist)
{
    static const char *const texts[DIST_COUNT] = {"uniform 1 ms - 60 s",
                                                  "log-uniform 1 ms - 30 days", "constant 30 s"};
    return texts[dist];
}

/* [0, 1) */
static double draw_share(uint64_t *random)
{
    return (double)(bench_random(random) >> 11) / (double)(UINT64_C(1) << 53);
}

static uint32_t draw_delay(enum dist dist, uint64_t *random)
{
    switch (dist) {
    case DIST_UNIFORM:
        return 1 + bench_random_below(random, UNIFORM_MAX_MS);
    case DIST_LOG:
        return (uint32_t)exp(draw_share(random) * log((double)LOG_MAX_MS));
    default:
        return CONSTANT_MS;
    }
}

/* What is left of the delay of a timer that is pending. */
static uint32_t draw_aged(enum dist dist, uint64_t *random)
{
    uint32_t delay_ms;
    uint32_t life_ms;
    do {
        delay_ms = draw_delay(dist, random);
        life_ms = delay_ms < TOUCHED_EACH_MS ? delay_ms : TOUCHED_EACH_MS;
    } while (bench_random_below(random, TOUCHED_EACH_MS) >= life_ms);
    return delay_ms - bench_random_below(random, life_ms);
}

void workload_init(struct workload *workload, enum dist dist, uint32_t pending, uint64_t seed)
{
    uint64_t random = seed;
    struct workload made = {.dist = dist, .pending = pending};
    made.start_ms = UINT64_C(1700000000000) + (bench_random(&random) >> 28);
    made.pairs_per_ms = pending / TOUCHED_EACH_MS > 0 ? pending / TOUCHED_EACH_MS : 1;
    made.pairs = pending < PAIRS_MIN ? PAIRS_MIN : pending < PAIRS_MAX ? pending : PAIRS_MAX;
    made.churn_count = made.pairs_per_ms * TURN_MS;
    if (made.churn_count > CHURN_MAX)
        made.churn_count = CHURN_MAX / made.pairs_per_ms * made.pairs_per_ms;
    if (made.churn_count < made.pairs * 2)
        made.churn_count = made.pairs * 2;

    made.fresh = bench_map(pending, sizeof made.fresh[0]);
    made.aged = bench_map(pending, sizeof made.aged[0]);
    for (uint32_t i = 0; i < pending; i++) {
        made.fresh[i] = (struct step){i, draw_delay(dist, &random)};
        made.aged[i] = (struct step){i, draw_aged(dist, &random)};
    }
    made.churn = bench_map(made.churn_count, sizeof made.churn[0]);
    for (size_t i = 0; i < made.churn_count; i++) {
        uint32_t index = bench_random_below(&random, pending);
        made.churn[i] = (struct step){index, draw_delay(dist, &random)};
    }
    made.again = bench_map(AGAIN_COUNT, sizeof made.again[0]);
    for (size_t i = 0; i < AGAIN_COUNT; i++)
        made.again[i] = draw_delay(dist, &random);
    *workload = made;
}

void workload_release(struct workload *workload)
{
    bench_unmap(workload->fresh, workload->pending, sizeof workload->fresh[0]);
    bench_unmap(workload->aged, workload->pending, sizeof workload->aged[0]);
    bench_unmap(workload->churn, workload->churn_count, sizeof workload->churn[0]);
    bench_unmap(workload->again, AGAIN_COUNT, sizeof workload->again[0]);
    *workload = (struct workload){0};
}

uint64_t workload_next_ms(const struct workload *workload, uint64_t elapsed_ms, uint32_t count)
{
    double share = (double)count / workload->pending;
    double step_ms;
    switch (workload->dist) {
    case DIST_UNIFORM:
        step_ms = share * UNIFORM_MAX_MS;
        break;
    case DIST_LOG:
        step_ms = share * log((double)LOG_MAX_MS) * (double)elapsed_ms;
        break;
    default:
        step_ms = share * CONSTANT_MS;
        break;
    }
    return elapsed_ms + (step_ms > 1 ? (uint64_t)step_ms : 1);
}
