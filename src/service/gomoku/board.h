/* SPDX-License-Identifier: MIT */
/* board.h - which stone lies where?
 *
 * A 15x15 board as the text that travels: 225 characters, row by row from the top left, '.'
 * empty, 'X' black, 'O' white. The point (x, y) is number y * 15 + x, both from 0. Black, X,
 * moves first. What wins and what is forbidden is in rules.h.
 *
 * Memory    none: a board is a value, to be copied.
 * Threads   any.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_BOARD_H
#define TOCSIN_SERVICE_GOMOKU_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include <tocsin/status.h>

enum {
    GOMOKU_SIZE = 15,
    GOMOKU_POINTS = GOMOKU_SIZE * GOMOKU_SIZE,
    GOMOKU_CENTRE = GOMOKU_POINTS / 2,
    GOMOKU_NOWHERE = -1, /* where a point is asked for and there is none */
};

#define GOMOKU_EMPTY '.'

enum gomoku_side { GOMOKU_X, GOMOKU_O };

struct gomoku_board {
    char at[GOMOKU_POINTS]; /* not terminated */
};

void gomoku_board_init(struct gomoku_board *board);

/* The text must have 225 characters of ".XO"; whose turn it is, and whether the stones can
 * have come about by play, is not asked. */
enum tocsin_status gomoku_board_read(const char *text, size_t length,
                                     struct gomoku_board *ret_board, struct tocsin_why *ret_why);

/* How many points are still empty. */
int gomoku_board_left(const struct gomoku_board *board);

static inline char gomoku_stone(enum gomoku_side side)
{
    return side == GOMOKU_X ? 'X' : 'O';
}

static inline enum gomoku_side gomoku_other(enum gomoku_side side)
{
    return side == GOMOKU_X ? GOMOKU_O : GOMOKU_X;
}

/* The point, or GOMOKU_NOWHERE when it is off the board. */
static inline int gomoku_point(int x, int y)
{
    bool on = x >= 0 && x < GOMOKU_SIZE && y >= 0 && y < GOMOKU_SIZE;
    return on ? y * GOMOKU_SIZE + x : GOMOKU_NOWHERE;
}

/* The four directions of a line: right, down, down right, up right. */
enum { GOMOKU_DIRECTIONS = 4 };

/* The point that lies `steps` from this one in a direction, backwards when negative; NOWHERE
 * off the board: a line ends at the edge, it does not go on in the next row. */
int gomoku_along(int point, int direction, int steps);

#endif
