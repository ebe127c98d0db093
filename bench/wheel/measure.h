/* SPDX-License-Identifier: MIT */
/* measure.h - what does one structure cost under one workload?
 *
 * Each call measures in child processes of its own.
 */
#ifndef TOCSIN_BENCH_WHEEL_MEASURE_H
#define TOCSIN_BENCH_WHEEL_MEASURE_H

#include "structure.h"

struct figures {
    double pair_ns;      /* cancel + arm of a random timer, the clock standing still */
    double rearm_ns;     /* the same in one call */
    double steady_ns;    /* per pair, the clock running: firing and re-arming included */
    double steady_fired; /* timers fired per pair meanwhile */
    double expire_ns;    /* per timer, all of them */
    double expire_turns; /* times the clock moved for that */
    double bytes;        /* per timer, without handle_bytes */
    double timer_bytes;  /* a timer's own, where that is known */
};

/* Pairs, re-arms, the running clock, and memory. */
void measure_churn(const struct structure *structure, const struct workload *workload,
                   struct figures *figures);
/* All armed, then the clock runs until the last has fired. */
void measure_expiry(const struct structure *structure, const struct workload *workload,
                    struct figures *figures);

/* Ends the program unless the structure lives by the simulated clock. */
void measure_check_clock(const struct structure *structure);

#endif
