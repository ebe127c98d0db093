/* SPDX-License-Identifier: MIT */
/* wheel.h - which timers are due, and when to look next.
 *
 * A hierarchical timing wheel with no clock, file or thread of its own: time
 * comes in as an argument, so a test can live through a leap year in a
 * millisecond, and any loop can drive it.
 *
 * Time      64 bits of whatever unit the caller counts in; the presets take it
 *           as milliseconds. With a clock that is finer than the unit, round now
 *           down and due up, so that nothing is early. Time never runs backwards
 *           here: a smaller now counts as the last one.
 * Promise   a timer comes out once per arming, at the first call whose now is at
 *           or past its due time rounded up to the base tick; never before it is
 *           due. No delay is too long.
 * Order     by due tick; unspecified inside one tick. What is armed when the wheel
 *           has reached its tick already is late: it comes out at the next call, or
 *           at the end of the running one if the call before reached its work
 *           limit; in no order. Calls that answer MORE take turns between what is late
 *           and the rest.
 * Cost      arm, rearm, cancel and taking a due timer O(1) each, amortised;
 *           passing over time in which nothing is due costs by the number of
 *           levels, not by the time. A timer that was cancelled or armed anew for later may
 *           cost a step of work when the time comes that it was armed for before.
 * Memory    32 bytes a timer, in steps that double up to 2 MiB, which are 65536
 *           timers. Beside them a wheel takes 192 KiB ("fine"), of which it touches
 *           little. Taken as the number of pending timers rises and kept for the
 *           next ones; tocsin_wheel_trim gives it back. Only create, arm and an inbox ask
 *           for memory; a refusal is a status and leaves the wheel as it was.
 * Threads   one at a time per wheel, also for the calls that only ask: they may do work
 *           that was put off. No locks inside. Other threads arm and cancel through an
 *           inbox (inbox.h).
 */
#ifndef TOCSIN_WHEEL_H
#define TOCSIN_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/memory.h>
#include <tocsin/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tocsin_wheel;

/* A handle on one arming of one wheel. Zero is never a timer. A handle whose timer
 * has fired or was cancelled is stale: every call takes it and answers STALE,
 * whatever has been armed since. A ticket that is still in an inbox (inbox.h) is
 * answered with BUSY. */
struct tocsin_timer {
    uint64_t id;
};

struct tocsin_due {
    struct tocsin_timer timer;
    uint64_t due;    /* as armed, not rounded */
    uint64_t cookie; /* the caller's own, never looked at */
};

static inline uint64_t tocsin_cookie(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static inline void *tocsin_cookie_pointer(uint64_t cookie)
{
    return (void *)(uintptr_t)cookie;
}

/* Geometry is data: levels from the finest up. Valid when every tick is a
 * multiple of the tick below and at most that level's range (tick * slots).
 * What lies beyond the last level is kept on further levels that the wheel adds
 * by itself (256 slots each) and counts as overflow. */
struct tocsin_wheel_level {
    uint64_t tick;
    uint32_t slots;
};

enum { TOCSIN_WHEEL_LEVELS_MAX = 16, TOCSIN_WHEEL_SLOTS_MAX = 65536 };

/* "fine" (1 ms, powers of two, all 64 bits), "default", "game", "order"; in
 * milliseconds. NULL when there is no such preset. */
const struct tocsin_wheel_level *tocsin_wheel_preset(const char *name, size_t *ret_count);
/* The names there are, from 0 up; NULL past the last. */
const char *tocsin_wheel_preset_name(size_t number);

/* INVALID, and why, when these levels make no wheel. ret_why may be NULL. */
enum tocsin_status tocsin_wheel_valid(const struct tocsin_wheel_level *levels, size_t count,
                                      struct tocsin_why *ret_why);

/* All zero is a good configuration: "fine", starting at 0, 16 Mi timers. */
struct tocsin_wheel_config {
    const struct tocsin_wheel_level *levels; /* copied; NULL: "fine" */
    size_t level_count;
    uint64_t now;
    uint32_t max_timers;                /* 0: TOCSIN_WHEEL_TIMERS_DEFAULT */
    const struct tocsin_memory *memory; /* not copied; NULL: the system's */
};

#define TOCSIN_WHEEL_TIMERS_DEFAULT 16777216u
#define TOCSIN_WHEEL_TIMERS_MAX 1000000000u

/* INVALID (ret_why says what is), NO_MEMORY. config and ret_why may be NULL. */
enum tocsin_status tocsin_wheel_create(const struct tocsin_wheel_config *config,
                                       struct tocsin_wheel **ret_wheel, struct tocsin_why *ret_why);
/* Not from a callback, and after the inboxes of this wheel. NULL is fine. */
void tocsin_wheel_destroy(struct tocsin_wheel *wheel);

/* FULL at max_timers, NO_MEMORY. ret_timer may be NULL. */
enum tocsin_status tocsin_wheel_arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_timer);
/* Due at now + delay, and at the end of time where that would pass it. */
enum tocsin_status tocsin_wheel_arm_after(struct tocsin_wheel *wheel, uint64_t delay,
                                          uint64_t cookie, struct tocsin_timer *ret_timer);
/* Another due time, same handle, same cookie. STALE, BUSY; never FULL or NO_MEMORY. */
enum tocsin_status tocsin_wheel_rearm(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                      uint64_t due);
/* OK: it will not come out. STALE: there is nothing to cancel. BUSY: it is still in an
 * inbox; drain, or cancel through that. ret_cookie may be NULL. */
enum tocsin_status tocsin_wheel_cancel(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                       uint64_t *ret_cookie);
enum tocsin_status tocsin_wheel_get(const struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                    struct tocsin_due *ret_due);

/* Take out what is due at now, at most max_work steps of work (0: no limit): a
 * timer taken, moved to another slot, or swept after it was cancelled, or an occupied slot
 * come to is a step each. Not counted are 255 timers at most whose move was put off when they were
 * armed for earlier than before, or in the place of one that was cancelled.
 * OK: all that was due is out, but what a callback has armed as already due (see Order).
 * MORE: call again, with the same or a later now.
 * BUSY: called from a callback of this wheel; nothing is written.
 *
 * advance calls fn for each timer after taking it out, so fn may arm and cancel
 * freely; a timer it cancels does not come out any more. It must return: no exception, no
 * longjmp. */
enum tocsin_status tocsin_wheel_advance(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                        void (*fn)(void *arg, const struct tocsin_due *due),
                                        void *arg);
/* take writes up to room of them to ret_due. MORE also when the room was short; when it is used up,
 * perhaps also when nothing more is due, which the next call finds out. INVALID: there is no room. */
enum tocsin_status tocsin_wheel_take(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                     struct tocsin_due *ret_due, size_t room, size_t *ret_count);

/* When to call advance or take next, for a loop to sleep until: never after the
 * earliest due time (rounded up to the base tick), at times before it, when
 * timers must move down a level, or when one would have been due that was cancelled or
 * armed anew for later. It can be as far away as UINT64_MAX: compare
 * before you multiply. False, and ret_at untouched: nothing pending. */
bool tocsin_wheel_wake(const struct tocsin_wheel *wheel, uint64_t *ret_at);
/* The earliest due time itself, as armed. Costs a look at what is late, and at every
 * timer of the first occupied slot of each level in the worst case; and once at each that was
 * cancelled or armed anew for later, if it would have been due before: some 20 ms a million of
 * these, in one go, where advance with a work limit takes less at a time. False: nothing pending. */
bool tocsin_wheel_next_due(const struct tocsin_wheel *wheel, uint64_t *ret_due);

size_t tocsin_wheel_count(const struct tocsin_wheel *wheel);
uint64_t tocsin_wheel_now(const struct tocsin_wheel *wheel);
uint64_t tocsin_wheel_moved(const struct tocsin_wheel *wheel); /* stats.moved, at no cost */

struct tocsin_wheel_stats {
    uint64_t tick; /* the base tick, in the caller's unit */
    size_t pending;
    size_t overflow; /* of these, beyond the last level that was asked for */
    size_t late;     /* of these, armed already due and not yet taken */
    size_t max_timers;
    size_t room;    /* as many fit into what is committed */
    size_t levels;  /* with those added for overflow */
    size_t bytes;   /* committed, all told */
    uint64_t fired; /* since create */
    uint64_t moved; /* from slot to slot as time passed, since create */
    uint64_t worn;  /* nodes set aside after 2^31 - 1 armings */
};

struct tocsin_wheel_level_stats {
    uint64_t tick;
    uint32_t slots;
    uint32_t occupied; /* slots that are not empty; what was cancelled may not be swept yet */
    uint32_t current;  /* the slot that now is in */
    size_t pending;
    bool overflow;
};

/* The pending timers of a level are counted when somebody asks, by a look at each timer of
 * the wheel (some milliseconds a million). So are those that are late and those in overflow. */
void tocsin_wheel_describe(const struct tocsin_wheel *wheel, struct tocsin_wheel_stats *ret_stats);
/* False when there is no such level. */
bool tocsin_wheel_describe_level(const struct tocsin_wheel *wheel, size_t level,
                                 struct tocsin_wheel_level_stats *ret_stats);
/* How many timers each level holds, all of them in one look at no more than `most` timers (0: at
 * all): where there are more, what is seen is scaled up. Room for stats.levels; those that are late
 * belong to none. */
void tocsin_wheel_level_counts(const struct tocsin_wheel *wheel, size_t most, size_t *ret_counts);
/* How many timers each slot of a level holds, for pictures: room for all of its slots.
 * Costs a look at every timer. False when there is no such level. */
bool tocsin_wheel_slot_counts(const struct tocsin_wheel *wheel, size_t level, uint32_t *ret_counts);

/* Every pending timer once, in no order, until fn answers false. fn may cancel and
 * rearm; what it arms may or may not be visited, but does not make the walk longer. */
void tocsin_wheel_walk(struct tocsin_wheel *wheel,
                       bool (*fn)(void *arg, const struct tocsin_due *due), void *arg);

/* Give memory back: all of it when nothing is pending and no inbox holds any, else what lies
 * behind the last pending timer; but not what lies before a place that was armed 2^30 times.
 * Takes a walk over everything; for quiet times. */
void tocsin_wheel_trim(struct tocsin_wheel *wheel);

/* Recount everything the slow way. CORRUPT, and ret_why says what is wrong. */
enum tocsin_status tocsin_wheel_check(const struct tocsin_wheel *wheel, struct tocsin_why *ret_why);

#ifdef __cplusplus
}
#endif

#endif
