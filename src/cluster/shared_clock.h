/* SPDX-License-Identifier: MIT */
/* shared_clock.h - what time is it by the one clock that all nodes go by?
 *
 * Nodes that share a Redis go by its clock, so that it does not matter whose own clock is wrong, or
 * who fires. Redis is asked now and then (TIME); in between this machine's elapsed clock goes on
 * from there. Somewhere between the moment a question was sent and the moment the answer was read,
 * Redis's clock stood where it says. So each sample bounds it from both sides,
 *
 *     from below: as if it had been read when the answer came,
 *     from above: as if it had been read when the question was sent,
 *
 * and both bounds move apart as the sample ages, since two oscillators may differ by
 * SHARED_CLOCK_DRIFT_PPM. The best bounds of all samples count; old ones fall behind by themselves.
 *
 * Promise   the wall is the lower bound: never ahead of Redis's clock, whatever this machine's wall
 *           clock says, and never behind it by more than shared_clock_error_ns. It does not go back:
 *           where Redis's clock went back by a second or less, or is steered faster than the drift
 *           that is assumed, the wall stands still until it is right again. By more than a second
 *           it is a step: the wall follows, forward or back, and shared_clock_stepped says so once.
 *           Elapsed is the machine's own.
 * Before    the first sample the wall stands at 1970, by which nothing is due, and the error is
 *           INT64_MAX.
 * Cost      reading takes no lock: the machine's clock, four loads, some arithmetic.
 * Threads   any. Who samples waits for others who do, for a moment; who reads for nobody but a
 *           sample that is being written down.
 */
#ifndef TOCSIN_CLUSTER_SHARED_CLOCK_H
#define TOCSIN_CLUSTER_SHARED_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum { SHARED_CLOCK_DRIFT_PPM = 200 };

/* In place; it must not move. What is in it is its own business. */
struct shared_clock {
    struct clock machine;
    pthread_mutex_t sampling;
    _Atomic uint64_t turn;    /* odd while a sample is being written down */
    _Atomic int64_t low_ns;   /* the lower bound, at elapsed 0; INT64_MIN: no sample yet */
    _Atomic int64_t high_ns;  /* the upper one */
    _Atomic int64_t floor_ns; /* as far as it has been shown */
    _Atomic bool stepped;
};

void shared_clock_init(struct shared_clock *clock);
/* With another elapsed clock than the machine's: for tests. */
void shared_clock_init_on(struct shared_clock *clock, struct clock machine);
void shared_clock_release(struct shared_clock *clock);

/* Redis said `redis_us` (microseconds since 1970) to a question that was sent at `before` and
 * answered by `after`. What cannot be (an answer before its question, a time before 1970) is left
 * out. */
void shared_clock_sample(struct shared_clock *clock, struct elapsed_time before,
                         struct elapsed_time after, int64_t redis_us);

/* Reads it, as long as it is there; with its error. */
struct clock shared_clock_of(struct shared_clock *clock);

/* How far behind Redis's clock the wall may be at this moment. */
int64_t shared_clock_error_ns(struct shared_clock *clock);

/* Whether there was a step since this was last asked: then engine_clock_stepped is due. */
bool shared_clock_stepped(struct shared_clock *clock);

#endif
