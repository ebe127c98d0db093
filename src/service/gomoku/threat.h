/* SPDX-License-Identifier: MIT */
/* threat.h - can this side win by threats alone?
 *
 * By fours: each leaves the other side one point to go to, so the tree is narrow, and can be
 * searched to the end of the board. By threes and fours: a three leaves a few, the points of
 * the line that would become a straight four, and whatever four the other side has in
 * between; it is searched deeper and deeper, a move of the attacker at a time.
 *
 * Promise   a win that is found is one: no answer is left out, but for one thing in renju: a
 *           white stone elsewhere that makes the point black needs a double-three, by making a
 *           forbidden point of it allowed. That no win is found means little.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_THREAT_H
#define TOCSIN_SERVICE_GOMOKU_THREAT_H

#include "service/gomoku/think.h"

/* The first move of a win with at most so many fours before the last, or GOMOKU_NOWHERE. The
 * side is to move. */
int threat_by_fours(struct think *think, enum gomoku_side side, int depth);

/* The same by threes and fours, with at most so many moves of the side that are not forced. */
int threat_by_threes(struct think *think, enum gomoku_side side, int depth);

#endif
