/* SPDX-License-Identifier: MIT */
/* clock_face.h - how does the time that is left look, in big digits and as a bar?
 *
 * Pure text, one character a cell, for whoever draws it. Rounded up as a clock is that runs down:
 * 0 means that the time is up, and nothing else does.
 */
#ifndef TOCSIN_CLI_CLOCK_FACE_H
#define TOCSIN_CLI_CLOCK_FACE_H

#include <stdint.h>

enum { CLOCK_FACE_ROWS = 5, CLOCK_FACE_TEXT_BYTES = 32, CLOCK_FACE_COLS_MAX = 240 };

struct clock_face_text {
    char text[CLOCK_FACE_TEXT_BYTES];
};

/* "9.4" below ten seconds, "0:10", "59:59", "1:00:00", "3d 04:00:00" */
struct clock_face_text clock_face_text(uint64_t left_ms);
/* The same without tenths: "0:10". */
struct clock_face_text clock_face_whole(uint64_t left_ms);

/* One row of that text in big digits: '#' and blanks. Answers with its columns, which are the same
 * for each row; ret_cells is empty when they are too many. */
int clock_face_row(const char *text, int row, char ret_cells[CLOCK_FACE_COLS_MAX + 1]);

/* '=' for each cell that is left, '-' for half of one, '.' for what is gone. Empty only when the
 * time is up. */
void clock_face_bar(uint64_t left_ms, uint64_t whole_ms, int cols,
                    char ret_cells[CLOCK_FACE_COLS_MAX + 1]);

#endif
