/* SPDX-License-Identifier: MIT */
#include "service/gomoku/rules.h"

#include <assert.h>
#include <stdlib.h>

/* How far a stone reaches along a line: a five that holds it ends four further. */
enum { FIVE = 5, REACH = FIVE - 1 };

static bool is_at(const struct gomoku_board *board, int point, char stone)
{
    return point != GOMOKU_NOWHERE && board->at[point] == stone;
}

/* How many stones like this one follow it in a direction. */
static int followers(const struct gomoku_board *board, int point, int direction, int sign,
                     char stone)
{
    int count = 0;
    while (is_at(board, gomoku_along(point, direction, sign * (count + 1)), stone))
        count++;
    return count;
}

/* How long the row through the point is, if a stone of that colour lay on it. */
static int row_length(const struct gomoku_board *board, int point, int direction, char stone)
{
    return followers(board, point, direction, -1, stone) + 1 +
           followers(board, point, direction, +1, stone);
}

static bool row_wins(enum gomoku_rule rule, char stone, int length)
{
    return rule == GOMOKU_RENJU && stone == 'X' ? length == FIVE : length >= FIVE;
}

static bool stone_wins(enum gomoku_rule rule, const struct gomoku_board *board, int point,
                       char stone)
{
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        if (row_wins(rule, stone, row_length(board, point, direction, stone)))
            return true;
    }
    return false;
}

static bool makes_overline(const struct gomoku_board *board, int point)
{
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        if (row_length(board, point, direction, 'X') > FIVE)
            return true;
    }
    return false;
}

/* Would a black stone at `end`, `steps` away from the black one at `point`, make a five of which
 * both are part? */
static bool completes_five(const struct gomoku_board *board, int point, int direction, int steps)
{
    int end = gomoku_along(point, direction, steps);
    if (!is_at(board, end, GOMOKU_EMPTY))
        return false;
    int sign = steps > 0 ? -1 : +1;
    return followers(board, end, direction, sign, 'X') >= abs(steps) &&
           row_length(board, end, direction, 'X') == FIVE;
}

/* The fours in one line that hold the black stone at `point`. Two ways to a five are two fours,
 * but for a straight four: the same four stones, open at both ends. */
static int fours_in(const struct gomoku_board *board, int point, int direction)
{
    int ways = 0;
    for (int steps = -REACH; steps <= REACH; steps++)
        ways += steps != 0 && completes_five(board, point, direction, steps);
    bool is_straight = ways == 2 && row_length(board, point, direction, 'X') == FIVE - 1;
    return is_straight ? 1 : ways;
}

static bool makes_double_four(const struct gomoku_board *board, int point)
{
    int fours = 0;
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++)
        fours += fours_in(board, point, direction);
    return fours > 1;
}

/* Are the black stones around `added`, one of them at `point`, a straight four? */
static bool is_straight_four(const struct gomoku_board *board, int added, int direction)
{
    int before = followers(board, added, direction, -1, 'X');
    int after = followers(board, added, direction, +1, 'X');
    return before + 1 + after == FIVE - 1 &&
           completes_five(board, added, direction, -(before + 1)) &&
           completes_five(board, added, direction, after + 1);
}

static enum gomoku_foul foul_at(struct gomoku_board *board, int point);

/* Is the black stone at `point` part of a three in this line? The stones between it and the one
 * that is added must be there already, so the first empty point on either side decides. */
static bool is_three(struct gomoku_board *board, int point, int direction)
{
    for (int sign = -1; sign <= +1; sign += 2) {
        int steps = followers(board, point, direction, sign, 'X') + 1;
        int added = gomoku_along(point, direction, sign * steps);
        if (!is_at(board, added, GOMOKU_EMPTY))
            continue;
        board->at[added] = 'X';
        bool is_four = is_straight_four(board, added, direction);
        board->at[added] = GOMOKU_EMPTY;
        if (is_four && !stone_wins(GOMOKU_RENJU, board, added, 'X') &&
            foul_at(board, added) == GOMOKU_NO_FOUL)
            return true;
    }
    return false;
}

static bool makes_double_three(struct gomoku_board *board, int point)
{
    int threes = 0;
    for (int direction = 0; direction < GOMOKU_DIRECTIONS && threes < 2; direction++)
        threes += is_three(board, point, direction);
    return threes > 1;
}

/* Each round of is_three has one more stone on the board, so this comes to an end; with the
 * stones that threes need it is a few rounds. The board is as before when it returns. */
static enum gomoku_foul foul_at(struct gomoku_board *board, int point)
{
    if (stone_wins(GOMOKU_RENJU, board, point, 'X'))
        return GOMOKU_NO_FOUL;
    if (makes_overline(board, point))
        return GOMOKU_OVERLINE;
    enum gomoku_foul foul = GOMOKU_NO_FOUL;
    board->at[point] = 'X';
    if (makes_double_four(board, point))
        foul = GOMOKU_DOUBLE_FOUR;
    else if (makes_double_three(board, point))
        foul = GOMOKU_DOUBLE_THREE;
    board->at[point] = GOMOKU_EMPTY;
    return foul;
}

enum gomoku_foul gomoku_foul(const struct gomoku_board *board, int point)
{
    assert(is_at(board, point, GOMOKU_EMPTY));
    struct gomoku_board trial = *board;
    return foul_at(&trial, point);
}

bool gomoku_legal(enum gomoku_rule rule, const struct gomoku_board *board, enum gomoku_side side,
                  int point)
{
    if (point < 0 || point >= GOMOKU_POINTS || board->at[point] != GOMOKU_EMPTY)
        return false;
    return rule != GOMOKU_RENJU || side != GOMOKU_X || gomoku_foul(board, point) == GOMOKU_NO_FOUL;
}

static bool has_legal_point(enum gomoku_rule rule, const struct gomoku_board *board,
                            enum gomoku_side side)
{
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (gomoku_legal(rule, board, side, point))
            return true;
    }
    return false;
}

enum gomoku_verdict gomoku_judge(enum gomoku_rule rule, const struct gomoku_board *board,
                                 enum gomoku_side side, int point)
{
    if (point < 0 || point >= GOMOKU_POINTS || board->at[point] != GOMOKU_EMPTY)
        return GOMOKU_TAKEN;
    if (stone_wins(rule, board, point, gomoku_stone(side)))
        return GOMOKU_WINS;
    if (!gomoku_legal(rule, board, side, point))
        return GOMOKU_FOUL;
    struct gomoku_board after = *board;
    after.at[point] = gomoku_stone(side);
    return has_legal_point(rule, &after, gomoku_other(side)) ? GOMOKU_GOES_ON : GOMOKU_DRAWN;
}

struct gomoku_line gomoku_line_through(enum gomoku_rule rule, const struct gomoku_board *board,
                                       int point)
{
    struct gomoku_line line = {.count = 0};
    char stone = board->at[point];
    if (stone == GOMOKU_EMPTY)
        return line;
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        int length = row_length(board, point, direction, stone);
        if (!row_wins(rule, stone, length))
            continue;
        int first = -followers(board, point, direction, -1, stone);
        /* Up right counts down, so such a row is taken from its other end. */
        bool ascends = gomoku_along(point, direction, first) <=
                       gomoku_along(point, direction, first + length - 1);
        for (int i = 0; i < length; i++) {
            int steps = ascends ? first + i : first + length - 1 - i;
            line.point[line.count++] = gomoku_along(point, direction, steps);
        }
        return line;
    }
    return line;
}

struct gomoku_line gomoku_line_anywhere(enum gomoku_rule rule, const struct gomoku_board *board)
{
    struct gomoku_line line = {.count = 0};
    for (int point = 0; point < GOMOKU_POINTS && line.count == 0; point++)
        line = gomoku_line_through(rule, board, point);
    return line;
}
