/* SPDX-License-Identifier: MIT */
/* rate.h - how late are tasks when so many are due each second? */
#ifndef TOCSIN_BENCH_SERVER_RATE_H
#define TOCSIN_BENCH_SERVER_RATE_H

#include "harness.h"
#include "peer.h"

struct rate {
    unsigned a_second;
    double seconds;
    unsigned lease_max, leasers;
    unsigned ack_max, ackers;
};

extern const struct rate rate_5k, rate_50k;

/* On a server that may hold other tasks, all due later. */
struct bench_ranks lateness_measure(struct server *server, const struct rate *rate);

#endif
