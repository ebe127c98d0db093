/* SPDX-License-Identifier: MIT */
/* parts.h - what is measured, in which order?
 *
 * A part measures one or more rows and adds them to the results, round by round and in each
 * round the yardstick, Tocsin and the peer one after the other: what disturbs the machine
 * disturbs all of them. Only one server runs at a time.
 */
#ifndef TOCSIN_BENCH_LIVE_PARTS_H
#define TOCSIN_BENCH_LIVE_PARTS_H

#include "server/suite.h"

struct options {
    bool quick;
    unsigned rounds;
    unsigned seconds;    /* of each window: so many ticks of each countdown */
    unsigned countdowns; /* of part ticks */
    unsigned clients;    /* of part fanout */
    unsigned rooms;      /* of part rooms, with two clients each */
};

void part_ticks(struct results *results, const struct options *options);
void part_fanout(struct results *results, const struct options *options);
void part_rooms(struct results *results, const struct options *options);

/* Of a part without a peer: medians need fewer than ratios do. */
static inline unsigned parts_rounds_alone(const struct options *options)
{
    return (options->rounds + 1) / 2;
}

/* timerfd to socketpair: what no lateness can beat. */
void parts_wakeups(struct results *results, const struct options *options);

#endif
