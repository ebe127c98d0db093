/* SPDX-License-Identifier: MIT */
/* What live countdowns are held to. The peer has no known figure: the run is never void for it. */
#include <stdio.h>

#include "server/results.h"

struct wanted {
    const char *name, *row, *unit;
    double most;
    const char *yardstick; /* NULL: there is none */
    double factor;
};

static const struct wanted all[] = {
    {"100 000 countdowns, jitter of a tick, p99", "ticks-jitter-p99", "ms", 20, "wakeup-p99", 3},
    {"100 000 countdowns, nobody listens, of one core", "ticks-cpu", "%", 60, NULL, 0},
    {"10 000 clients of one topic, due to received, p99", "fanout-p99", "ms", 200, "fanout-p99",
     1.25},
    {"10 000 clients of one topic, processor a client", "fanout-cpu", "us", 15, "fanout-cpu", 1.25},
    {"5 000 rooms of two, due to received, p99", "rooms-p99", "ms", 50, "wakeup-p99", 3},
    {"timeout under 10 000 clients of one topic, p99", "fanout-timeout-p99", "ms", 5, "wakeup-p99",
     3},
    {"timeout under 5 000 rooms, p99", "rooms-timeout-p99", "ms", 5, "wakeup-p99", 3},
};

bool targets_check(const struct results *results, struct bench_targets *targets)
{
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct wanted *wanted = &all[i];
        if (results_find(results, wanted->row, "tocsin", 0) == NULL)
            continue;
        struct bench_target *target =
            bench_target_add(targets, wanted->unit, wanted->most,
                             results_median(results, wanted->row, "tocsin", 0), "%s", wanted->name);
        target->factor = wanted->factor;
        if (wanted->yardstick != NULL)
            target->yardstick = results_median(results, wanted->yardstick, "yardstick", 0);
        double theirs = results_median(results, wanted->row, "ws", 0);
        if (theirs > 0)
            bench_target_note(target, "Node's ws: %.3g %s, %.2f times", theirs, wanted->unit,
                              theirs / target->value);
    }
    return true;
}
