/* SPDX-License-Identifier: MIT */
/* parts.h - what is measured, in which order?
 *
 * A part measures one or more rows and adds them to the results, round by round and in each
 * round one server after the other: what disturbs the machine disturbs all of them. Only one
 * server runs at a time.
 */
#ifndef TOCSIN_BENCH_SERVER_PARTS_H
#define TOCSIN_BENCH_SERVER_PARTS_H

#include "suite.h"

struct options {
    bool quick;
    bool full; /* 10M pending, too */
    unsigned rounds;
    double seconds; /* of each measurement of a rate; 0: as usual */
};

/* Full lives, each way, on a server that holds so many other tasks. */
struct server;
void life_measure(struct results *results, struct server *server, uint64_t pending, double run_s);

void part_schedule(struct results *results, const struct options *options);
void part_batch(struct results *results, const struct options *options);
void part_lateness(struct results *results, const struct options *options);
void part_life(struct results *results, const struct options *options);
void part_memory(struct results *results, const struct options *options);
void part_restart(struct results *results, const struct options *options);
void part_growth(struct results *results, const struct options *options);

#endif
