/* SPDX-License-Identifier: MIT */
/* gomoku_players.h - against whom is the ai measured?
 *
 * One who plays anywhere, and one who looks a single move ahead: he takes the point that adds
 * most to his rows of five and takes most from the other's, so he makes fives, stops fives and
 * fours, and builds; but he never asks what comes next. Between equals chance decides. Both play
 * legal moves only.
 */
#ifndef TEST_SUPPORT_GOMOKU_PLAYERS_H
#define TEST_SUPPORT_GOMOKU_PLAYERS_H

#include "service/gomoku/rules.h"
#include "support/random.h"

static inline int gomoku_random_move(enum gomoku_rule rule, const struct gomoku_board *board,
                                     enum gomoku_side side, struct test_random *random)
{
    int chosen = GOMOKU_NOWHERE;
    uint64_t count = 0;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (gomoku_legal(rule, board, side, point) && test_random_one_in(random, ++count))
            chosen = point;
    }
    return chosen;
}

/* All windows of five that hold the point and no stone of one of the sides. */
static inline int64_t gomoku_greedy_worth(const struct gomoku_board *board, enum gomoku_side side,
                                          int point)
{
    static const int64_t own_worth[5] = {1, 12, 140, 1600, 10000000};
    static const int64_t other_worth[5] = {1, 10, 120, 1400, 500000};
    int64_t worth = 0;
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        for (int first = -4; first <= 0; first++) {
            int own = 0;
            int other = 0;
            bool fits = true;
            for (int i = 0; i < 5 && fits; i++) {
                int at = gomoku_along(point, direction, first + i);
                fits = at != GOMOKU_NOWHERE;
                own += fits && board->at[at] == gomoku_stone(side);
                other += fits && board->at[at] == gomoku_stone(gomoku_other(side));
            }
            if (fits && other == 0)
                worth += own_worth[own];
            if (fits && own == 0)
                worth += other_worth[other];
        }
    }
    return worth;
}

static inline int gomoku_greedy_move(enum gomoku_rule rule, const struct gomoku_board *board,
                                     enum gomoku_side side, struct test_random *random)
{
    int chosen = GOMOKU_NOWHERE;
    int64_t best = -1;
    uint64_t equals = 0;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (board->at[point] != GOMOKU_EMPTY)
            continue;
        int64_t worth = gomoku_greedy_worth(board, side, point);
        if (worth < best || !gomoku_legal(rule, board, side, point))
            continue;
        equals = worth > best ? 1 : equals + 1;
        best = worth;
        if (test_random_one_in(random, equals))
            chosen = point;
    }
    return chosen;
}

#endif
