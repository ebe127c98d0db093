/* SPDX-License-Identifier: MIT */
/* rules.h - may this stone be put here, and does it win?
 *
 * STANDARD  five or more in a row win, for both sides, and nothing is forbidden. (What the
 *           federations call free-style; their "standard" wants five exactly. Casual players
 *           expect six to win as well.)
 * RENJU     by the International Rules of Renju (RIF, chapters 3 and 9). White is free, and wins
 *           with five or more. Black wins with exactly five, and must not make
 *             an overline    six or more in a row
 *             a double-four  two fours at once, also when both lie in one line
 *             a double-three two threes at once
 *           A move that makes a five wins, whatever else it makes. The words mean:
 *             four           four stones that one more makes a five
 *             straight four  four stones side by side that two different ones make a five
 *             three          three stones that one more makes a straight four, by a move that
 *                            makes no five and is not forbidden itself. This looks ahead as
 *                            far as it has to: a three whose only way on is a double-three
 *                            whose threes are real is none.
 *           The rules of opening are left to the players.
 *
 * Draw      when the board is full, and when the side to move has no point it may take (in
 *           RENJU, every point left may be forbidden to black). RIF would let black pass; here
 *           nobody passes, so nobody can be made to lose for it.
 *
 * Cost      a look at the lines through the point. For a double-three a few more for each way
 *           on; microseconds at most.
 * Memory    none.
 * Threads   any.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_RULES_H
#define TOCSIN_SERVICE_GOMOKU_RULES_H

#include "service/gomoku/board.h"

enum gomoku_rule { GOMOKU_STANDARD, GOMOKU_RENJU };

/* Why black may not play there; only RENJU forbids anything. */
enum gomoku_foul {
    GOMOKU_NO_FOUL,
    GOMOKU_OVERLINE,
    GOMOKU_DOUBLE_FOUR,
    GOMOKU_DOUBLE_THREE,
};

/* What becomes of the game with this move. */
enum gomoku_verdict {
    GOMOKU_GOES_ON,
    GOMOKU_WINS,  /* the side that moved */
    GOMOKU_DRAWN, /* the board is full, or the other side may take no point */
    GOMOKU_TAKEN, /* illegal: a stone lies there, or it is off the board */
    GOMOKU_FOUL,  /* illegal: gomoku_foul says why */
};

/* The stones in one line; as many as can lie in a row. */
struct gomoku_line {
    int point[GOMOKU_SIZE];
    int count; /* 0: there is no such line */
};

/* A stone of this side on this empty point, which is not put: the board stays as it is. */
enum gomoku_verdict gomoku_judge(enum gomoku_rule rule, const struct gomoku_board *board,
                                 enum gomoku_side side, int point);

/* What forbids black this empty point under RENJU. A five is no foul. */
enum gomoku_foul gomoku_foul(const struct gomoku_board *board, int point);

/* Empty, and not forbidden to this side. */
bool gomoku_legal(enum gomoku_rule rule, const struct gomoku_board *board, enum gomoku_side side,
                  int point);

/* The winning line that goes through the stone on this point, its points ascending; none when
 * the stone does not win. Of two lines, that of the first direction. */
struct gomoku_line gomoku_line_through(enum gomoku_rule rule, const struct gomoku_board *board,
                                       int point);

/* The same over the whole board, for a position whose last move is not known. */
struct gomoku_line gomoku_line_anywhere(enum gomoku_rule rule, const struct gomoku_board *board);

#endif
