/* SPDX-License-Identifier: MIT */
/* load.h - what do the timers of a busy server look like?
 *
 * A steady crowd on one wheel. Three in four are deadlines: any delay from 1 ms
 * to 18 hours, each doubling as likely as the next; many are cancelled before
 * they are due, as the deadlines of requests that were answered. One in four is
 * a keep-alive: 30 s, pushed back again and again while its peer is heard. What
 * fired or was cancelled is replaced at the next beat, so the crowd stays as big.
 *
 * It also keeps books of its own, and so notices a timer that comes out twice,
 * after its cancel, with a wrong due time, or not at all.
 */
#ifndef TOCSIN_CLI_LOAD_H
#define TOCSIN_CLI_LOAD_H

#include <tocsin/wheel.h>

#include "cli/tally.h"

/* How often load_beat wants to be called. */
enum { LOAD_BEAT_US = 10000 };

struct load;

/* The first beats arm the crowd. Wheel and tally are borrowed until destroy. The
 * same seed gives the same delays in the same order. */
enum tocsin_status load_create(struct tocsin_wheel *wheel, struct tally *tally, uint32_t timers,
                               uint64_t seed, uint64_t now_us, struct load **ret_load);
void load_destroy(struct load *load);

/* Cancel, push back and replace as much as the time since the last beat asks for. */
enum tocsin_status load_beat(struct load *load, uint64_t now_us);

/* A timer with this cookie came out. False: it had no business to. The time it was
 * asked for is finer than what the wheel was given. */
bool load_fired(struct load *load, const struct tocsin_due *due, uint64_t *ret_asked_us);

/* How many have not come out although the wheel's time has passed them by. */
uint64_t load_lost(const struct load *load);

/* The first whole millisecond that is not before the given microsecond. */
static inline uint64_t load_due_ms(uint64_t due_us)
{
    return due_us / 1000 + (due_us % 1000 != 0);
}

#endif
