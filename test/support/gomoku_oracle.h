/* SPDX-License-Identifier: MIT */
/* gomoku_oracle.h - what do the rules say, read word by word?
 *
 * The definitions of the International Rules of Renju as loops over all windows of a board,
 * without a thought for speed: what rules.c is tested against. It shares no code with it.
 */
#ifndef TEST_SUPPORT_GOMOKU_ORACLE_H
#define TEST_SUPPORT_GOMOKU_ORACLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "service/gomoku/rules.h"

/* The i-th point of a window that starts at (x, y); -1 off the board. */
static inline int oracle_point(int x, int y, int direction, int i)
{
    static const int dx[] = {1, 0, 1, 1};
    static const int dy[] = {0, 1, 1, -1};
    x += dx[direction] * i;
    y += dy[direction] * i;
    return x < 0 || x > 14 || y < 0 || y > 14 ? -1 : y * 15 + x;
}

static inline char oracle_at(const struct gomoku_board *board, int point)
{
    return point < 0 ? '#' : board->at[point];
}

/* A window of `size` points, all on the board, and the points before and after it. */
struct oracle_window {
    int point[6];
    int before, after;
};

static inline bool oracle_window(int start, int direction, int size, struct oracle_window *window)
{
    int x = start % 15;
    int y = start / 15;
    for (int i = 0; i < size; i++) {
        window->point[i] = oracle_point(x, y, direction, i);
        if (window->point[i] < 0)
            return false;
    }
    window->before = oracle_point(x, y, direction, -1);
    window->after = oracle_point(x, y, direction, size);
    return true;
}

/* Five of this stone side by side, and when exact no sixth. */
static inline bool oracle_five(const struct gomoku_board *board, char stone, bool exact)
{
    for (int start = 0; start < 225; start++) {
        for (int direction = 0; direction < 4; direction++) {
            struct oracle_window window;
            if (!oracle_window(start, direction, 5, &window))
                continue;
            int count = 0;
            for (int i = 0; i < 5; i++)
                count += board->at[window.point[i]] == stone;
            if (count == 5 && !(exact && (oracle_at(board, window.before) == stone ||
                                          oracle_at(board, window.after) == stone)))
                return true;
        }
    }
    return false;
}

static inline bool oracle_six(const struct gomoku_board *board, int through)
{
    for (int start = 0; start < 225; start++) {
        for (int direction = 0; direction < 4; direction++) {
            struct oracle_window window;
            if (!oracle_window(start, direction, 6, &window))
                continue;
            int count = 0;
            bool holds = false;
            for (int i = 0; i < 6; i++) {
                count += board->at[window.point[i]] == 'X';
                holds |= window.point[i] == through;
            }
            if (count == 6 && holds)
                return true;
        }
    }
    return false;
}

/* The different sets of four stones that hold the stone and that one more makes a five. */
static inline int oracle_fours(const struct gomoku_board *board, int through)
{
    int sets[32][4];
    int count = 0;
    for (int start = 0; start < 225; start++) {
        for (int direction = 0; direction < 4; direction++) {
            struct oracle_window window;
            if (!oracle_window(start, direction, 5, &window) ||
                oracle_at(board, window.before) == 'X' || oracle_at(board, window.after) == 'X')
                continue;
            int stones[5];
            int stone_count = 0;
            int empties = 0;
            bool holds = false;
            for (int i = 0; i < 5; i++) {
                char c = board->at[window.point[i]];
                if (c == 'X')
                    stones[stone_count++] = window.point[i];
                empties += c == '.';
                holds |= window.point[i] == through;
            }
            if (stone_count != 4 || empties != 1 || !holds)
                continue;
            bool is_new = true;
            for (int i = 0; i < count; i++)
                is_new &= memcmp(sets[i], stones, sizeof sets[i]) != 0;
            if (is_new)
                memcpy(sets[count++], stones, sizeof sets[0]);
        }
    }
    return count;
}

/* Do these two stones belong to one straight four in this direction? */
static inline bool oracle_straight_four(const struct gomoku_board *board, int one, int other,
                                        int direction)
{
    for (int start = 0; start < 225; start++) {
        struct oracle_window window;
        if (board->at[start] != '.' || !oracle_window(start, direction, 6, &window))
            continue;
        bool good = board->at[window.point[0]] == '.' && board->at[window.point[5]] == '.' &&
                    oracle_at(board, window.before) != 'X' && oracle_at(board, window.after) != 'X';
        int held = 0;
        for (int i = 1; i < 5; i++) {
            good &= board->at[window.point[i]] == 'X';
            held += window.point[i] == one || window.point[i] == other;
        }
        if (good && held == 2)
            return true;
    }
    return false;
}

static inline enum gomoku_foul oracle_foul(const struct gomoku_board *before, int point)
{
    struct gomoku_board board = *before;
    board.at[point] = 'X';
    if (oracle_five(&board, 'X', true))
        return GOMOKU_NO_FOUL;
    if (oracle_six(&board, point))
        return GOMOKU_OVERLINE;
    if (oracle_fours(&board, point) > 1)
        return GOMOKU_DOUBLE_FOUR;
    int threes = 0;
    for (int direction = 0; direction < 4; direction++) {
        bool is_three = false;
        for (int added = 0; added < 225 && !is_three; added++) {
            /* Further than three away there is no straight four with both. */
            if (board.at[added] != '.' || abs(added % 15 - point % 15) > 3 ||
                abs(added / 15 - point / 15) > 3)
                continue;
            struct gomoku_board next = board;
            next.at[added] = 'X';
            is_three = oracle_straight_four(&next, point, added, direction) &&
                       !oracle_five(&next, 'X', true) &&
                       oracle_foul(&board, added) == GOMOKU_NO_FOUL;
        }
        threes += is_three;
    }
    return threes > 1 ? GOMOKU_DOUBLE_THREE : GOMOKU_NO_FOUL;
}

#endif
