/* SPDX-License-Identifier: MIT */
/* ai.h - where would a good player put the next stone?
 *
 * A program that a casual player respects. It looks, in this order, for a five; for the point
 * that stops one; for a win by fours alone, each of which must be answered; for a win by
 * threes and fours; and then, by alpha-beta search over the points near stones, for the best
 * that either side can get, leaving out what loses to such an attack of the other side. Its
 * parts are field.h, threat.h and search.h.
 *
 * Promise   the point is legal by the rules, also when there was no time at all. In RENJU black
 *           never plays a forbidden point, and white knows which they are. The first stone
 *           goes into the centre. The same board, effort in nodes and seed give the same point.
 * Effort    ends at the deadline by the clock that is given, looked at every few hundred stones
 *           tried (well under a millisecond), after so many stones tried, or when it is
 *           cancelled, whichever is first.
 * Memory    GOMOKU_AI_BYTES or so for each, taken at create; nothing later.
 * Threads   one at a time for each ai; as many at once as there are ais. The cancel flag may be
 *           set by any thread.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_AI_H
#define TOCSIN_SERVICE_GOMOKU_AI_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "service/gomoku/rules.h"

#define GOMOKU_AI_BYTES (8u << 20)

struct gomoku_ai;

struct gomoku_effort {
    const struct clock *clock; /* NULL: no limit in time */
    struct elapsed_time until;
    uint64_t nodes;            /* stones tried; 0: no limit, then there must be one in time */
    const atomic_bool *cancel; /* NULL: never */
};

/* NO_MEMORY, or OK. */
enum tocsin_status gomoku_ai_create(struct gomoku_ai **ret_ai);
void gomoku_ai_destroy(struct gomoku_ai *ai);

/* The game must not be over. NONE when this side has no legal point. `seed` decides between
 * points that are as good as each other. */
enum tocsin_status gomoku_ai_choose(struct gomoku_ai *ai, enum gomoku_rule rule,
                                    const struct gomoku_board *board, enum gomoku_side side,
                                    const struct gomoku_effort *effort, uint64_t seed,
                                    int *ret_point);

#endif
