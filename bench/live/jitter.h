/* SPDX-License-Identifier: MIT */
/* jitter.h - how far from its whole second is a tick called?
 *
 * The countdown service on the real engine, loop and clock, with a store in memory and a kind
 * that counts; nothing listens. Deadlines are spread evenly over the milliseconds of a second.
 */
#ifndef TOCSIN_BENCH_LIVE_JITTER_H
#define TOCSIN_BENCH_LIVE_JITTER_H

#include "harness.h"

struct jitter_wish {
    unsigned countdowns;
    unsigned seconds;
};

struct jitter {
    uint64_t ticks; /* due in these seconds, and called */
    struct bench_ranks late;
    double cpu_percent; /* of one core */
};

/* For bench_in_child: a struct jitter_wish in, a struct jitter out. */
void jitter_measure(const void *wish, void *ret_jitter);

#endif
