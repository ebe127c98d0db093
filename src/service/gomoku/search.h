/* SPDX-License-Identifier: MIT */
/* search.h - what is the best that either side can get?
 *
 * Alpha-beta over the points near stones, a ply deeper each time. Fives, straight fours and
 * what must be answered are seen without a search; where the depth ends, a win by fours is
 * still looked for, and the rest is guessed from the shapes on the board.
 *
 * Order     of the moves, best first: what was best one ply less deep, then by what the point
 *           is worth to both sides.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_SEARCH_H
#define TOCSIN_SERVICE_GOMOKU_SEARCH_H

#include "service/gomoku/think.h"

enum { SEARCH_MOVES_MAX = 60 };

/* Moves to choose from; all of them legal. */
struct search_moves {
    int point[SEARCH_MOVES_MAX];
    int value[SEARCH_MOVES_MAX];
    int count;
};

/* The legal moves that are worth a look, best first, at most so many. None only when the side
 * has no legal move. Between equals the chance decides. */
void search_list(const struct think *think, enum gomoku_side side, int most, uint64_t chance,
                 struct search_moves *ret_moves);

/* The best of these, which are not none. They are left sorted by what was found. */
int search_best(struct think *think, enum gomoku_side side, struct search_moves *moves);

#endif
