/* SPDX-License-Identifier: MIT */
/* beats.h - whose turn is it to be renewed?
 *
 * Two engines with the same meaning: `time-wheel` is a timing wheel of the geometry that
 * the configuration names, so that what is due within one tick comes out together; `scheduled`
 * is a queue ordered by time, exact to the millisecond.
 *
 * Promise   a beat comes out once per arming, never before it is due, late by at most a tick.
 * Memory    arming may need some; moving and cancelling never do.
 * Threads   one.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_BEATS_H
#define TOCSIN_SERVICE_RENEWAL_BEATS_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>
#include <tocsin/wheel.h>

struct beats;

enum beats_type { BEATS_TIME_WHEEL, BEATS_SCHEDULED };

struct beats_options {
    enum beats_type type;
    uint32_t tick_ms; /* of the wheel */
    uint32_t slots;
    int64_t now_ms;
};

/* Inside of whatever it belongs to; all zero at first. */
struct beat {
    union {
        struct tocsin_timer timer; /* on the wheel */
        int64_t due_ms;            /* in the queue */
    };
    size_t place; /* in the queue, from 1; 0: not there */
};

enum tocsin_status beats_create(const struct beats_options *options, struct beats **ret_beats,
                                struct tocsin_why *ret_why);
void beats_destroy(struct beats *beats);

/* So many may be armed at once. False: no memory. */
bool beats_make_room(struct beats *beats, size_t count);
/* Also moves one that is armed. NO_MEMORY, FULL: it is not armed; never of a queue with room. */
enum tocsin_status beats_arm(struct beats *beats, struct beat *beat, int64_t due_ms);
void beats_cancel(struct beats *beats, struct beat *beat);
/* One that is due, not armed any more; NULL: none is. */
struct beat *beats_take(struct beats *beats, int64_t now_ms);
/* When to take next; false: nothing is armed. */
bool beats_wake(const struct beats *beats, int64_t *ret_ms);
size_t beats_count(const struct beats *beats);
/* The last tick that is not after it: what is armed for a tick is not late by a part of one. */
int64_t beats_tick(const struct beats *beats, int64_t ms);

#endif
