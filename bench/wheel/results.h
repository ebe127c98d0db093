/* SPDX-License-Identifier: MIT */
/* results.h - what has been measured so far?
 *
 * A cell is one line of the table: a structure under one distribution at one
 * number of pending timers, with a sample per round for each figure.
 */
#ifndef TOCSIN_BENCH_WHEEL_RESULTS_H
#define TOCSIN_BENCH_WHEEL_RESULTS_H

#include "harness.h"
#include "inbox.h"
#include "measure.h"
#include "yardstick.h"

enum { CELLS_MAX = 64 };

struct cell {
    const struct structure *structure;
    enum dist dist;
    uint32_t pending;
    struct bench_samples pair, rearm, steady, steady_fired, expire, expire_turns, bytes,
        timer_bytes;
};

struct results {
    struct bench_machine machine;
    uint64_t seed;
    struct cell cells[CELLS_MAX];
    size_t cell_count;
    struct bench_samples miss_small, miss_huge, independent, touch, contended_add;
    struct bench_samples burst_push, burst_fair, burst_drain, drained_push, drained_wall,
        drained_full;
};

/* NULL when it was not measured. */
const struct cell *results_find(const struct results *results, const char *structure,
                                enum dist dist, uint32_t pending);
void results_add(struct results *results, const struct structure *structure,
                 const struct workload *workload, const struct figures *figures);
void results_add_yardsticks(struct results *results, const struct yardsticks *yardsticks);
void results_add_inbox(struct results *results, const struct inbox_figures *figures);

/* The yardstick that targets use: a dependent random miss, on the kind of pages
 * where it is cheaper. 0: not measured. */
double results_miss_ns(const struct results *results);

/* Adds the targets that what was measured can answer. False: a peer was driven worse than
 * the rules of a benchmark allow. */
bool targets_check(const struct results *results, struct bench_targets *targets);

void report_print(const struct results *results, FILE *out);
void report_write(const struct results *results, const char *path);

/* A picture of the uniform distribution. */
void plot_write(const struct results *results, const char *path);

#endif
