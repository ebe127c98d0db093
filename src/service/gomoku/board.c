/* SPDX-License-Identifier: MIT */
#include "service/gomoku/board.h"

#include <assert.h>
#include <string.h>

#include "schedule/reason.h"

void gomoku_board_init(struct gomoku_board *board)
{
    memset(board->at, GOMOKU_EMPTY, sizeof board->at);
}

enum tocsin_status gomoku_board_read(const char *text, size_t length,
                                     struct gomoku_board *ret_board, struct tocsin_why *ret_why)
{
    if (length != GOMOKU_POINTS)
        return reason_refuse(ret_why, "board: %zu characters, it must have %d", length,
                             GOMOKU_POINTS);
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        char c = text[point];
        if (c != GOMOKU_EMPTY && c != 'X' && c != 'O')
            return reason_refuse(ret_why, "board: '%c' at x %d, y %d, allowed are '.', 'X' and 'O'",
                                 c, point % GOMOKU_SIZE, point / GOMOKU_SIZE);
    }
    memcpy(ret_board->at, text, GOMOKU_POINTS);
    return TOCSIN_OK;
}

int gomoku_board_left(const struct gomoku_board *board)
{
    int left = 0;
    for (int point = 0; point < GOMOKU_POINTS; point++)
        left += board->at[point] == GOMOKU_EMPTY;
    return left;
}

int gomoku_along(int point, int direction, int steps)
{
    static const struct {
        int x, y;
    } step[GOMOKU_DIRECTIONS] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    assert(point >= 0 && point < GOMOKU_POINTS);
    return gomoku_point(point % GOMOKU_SIZE + step[direction].x * steps,
                        point / GOMOKU_SIZE + step[direction].y * steps);
}
