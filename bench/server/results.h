/* SPDX-License-Identifier: MIT */
/* results.h - what has been measured so far?
 *
 * A figure is one line: a row's name, a server, so many tasks pending while it was taken, and
 * a sample per round. Targets and tables are made of the medians, so that they can be
 * computed again from what is written.
 */
#ifndef TOCSIN_BENCH_SERVER_RESULTS_H
#define TOCSIN_BENCH_SERVER_RESULTS_H

#include "harness.h"

enum { FIGURES_MAX = 256, ROW_BYTES = 32 };

struct figure {
    char row[ROW_BYTES];
    const char *server;
    uint64_t pending;
    const char *unit;
    struct bench_samples samples;
};

struct results {
    struct bench_machine machine;
    uint64_t from_ns;
    double load_before; /* the load average when it began: others at work spoil what is measured */
    struct figure figures[FIGURES_MAX];
    size_t count;
};

/* The name of the server and the unit are kept, not copied. */
void results_add(struct results *results, const char *row, const char *server, uint64_t pending,
                 const char *unit, double value);
/* ROW-p50, ROW-p99 and ROW-most, with nothing pending. */
void results_add_ranks(struct results *results, const char *row, const char *server,
                       struct bench_ranks ranks);
/* NULL: not measured. */
const struct figure *results_find(const struct results *results, const char *row,
                                  const char *server, uint64_t pending);
/* 0: not measured. */
double results_median(const struct results *results, const char *row, const char *server,
                      uint64_t pending);

/* Adds the targets that what was measured can answer. False: a peer was slower than the rules of a
 * benchmark allow. */
bool targets_check(const struct results *results, struct bench_targets *targets);

void report_print(const struct results *results, FILE *out);
void report_write(const struct results *results, const char *path);
/* How cost grows with what is pending. */
void plot_write(const struct results *results, const char *path);

#endif
