/* SPDX-License-Identifier: MIT */
/* suite.h - which parts of a benchmark are run, and where is it told?
 *
 * Of the benchmarks that start servers; each has options of its own.
 */
#ifndef TOCSIN_BENCH_SERVER_SUITE_H
#define TOCSIN_BENCH_SERVER_SUITE_H

#include "args.h"
#include "results.h"

struct options;

struct part {
    const char *name;
    void (*run)(struct results *results, const struct options *options);
};

struct suite {
    const struct part *parts; /* one without a name ends them */
    unsigned wanted;          /* a bit for each part; 0: all */
    const char *json_path;
    void (*plot)(const struct results *results, const char *path); /* NULL: it has no picture */
    const char *plot_path;                                         /* NULL: it is not wanted */
};

/* --only, --program, --json, and --plot where there is one. False: it is none of these. */
bool suite_option(struct suite *suite, struct args *args);
/* Returns in the process that shall measure: see supervise. */
void suite_run(const struct suite *suite, const struct options *options, struct results *results);
/* Prints the results, writes them, and says where. */
void suite_report(const struct suite *suite, const struct results *results);

#endif
