/* SPDX-License-Identifier: MIT */
/* clock.h - what time is it, by which clock?
 *
 * Two clocks that must never be mixed up, so each has a type of its own:
 *
 *   elapsed   how much time has passed: the boot-time clock, which goes on while the machine
 *             sleeps and which nobody can set
 *   wall      what the world calls the time: it can be set, forward and back
 *
 * Both come in through struct clock, so that a test lives through a leap year at once.
 * clock_system is the machine's; a clock_manual stands still until it is told to move.
 *
 * Threads   clock_system: any. A manual clock: the thread that moves it.
 */
#ifndef TOCSIN_BASE_CLOCK_H
#define TOCSIN_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct elapsed_time {
    int64_t ns; /* since the machine was started */
};

struct wall_time {
    int64_t ns; /* since 1970-01-01T00:00:00Z */
};

struct clock {
    struct elapsed_time (*elapsed)(void *arg);
    struct wall_time (*wall)(void *arg);
    void *arg;
    /* How far behind the true one the wall may be at this moment; NULL: it is the true one. */
    int64_t (*wall_error_ns)(void *arg);
};

extern const struct clock clock_system;

struct clock_manual {
    struct elapsed_time elapsed;
    struct wall_time wall;
};

/* Reads the manual clock, which must outlive it. */
struct clock clock_of_manual(struct clock_manual *manual);
/* Time passes: both clocks move. To step the wall clock alone, change it. */
void clock_manual_advance(struct clock_manual *manual, int64_t ns);

static inline struct elapsed_time clock_elapsed(const struct clock *clock)
{
    return clock->elapsed(clock->arg);
}

static inline int64_t clock_wall_error_ns(const struct clock *clock)
{
    return clock->wall_error_ns == NULL ? 0 : clock->wall_error_ns(clock->arg);
}

static inline struct wall_time clock_wall(const struct clock *clock)
{
    return clock->wall(clock->arg);
}

#endif
