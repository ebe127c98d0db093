/* SPDX-License-Identifier: MIT */
#include "cli/clock_face.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TENTHS_MAX = 100, SECOND_MS = 1000, DAY_S = 86400, PIXEL_COLS = 2 };

/* A pixel is two columns wide, which makes it about square. */
struct letter {
    char name;
    const char *rows[CLOCK_FACE_ROWS];
};

static const struct letter letters[] = {
    {'0', {"###", "# #", "# #", "# #", "###"}}, {'1', {" # ", "## ", " # ", " # ", "###"}},
    {'2', {"###", "  #", "###", "#  ", "###"}}, {'3', {"###", "  #", "###", "  #", "###"}},
    {'4', {"# #", "# #", "###", "  #", "  #"}}, {'5', {"###", "#  ", "###", "  #", "###"}},
    {'6', {"###", "#  ", "###", "# #", "###"}}, {'7', {"###", "  #", "  #", "  #", "  #"}},
    {'8', {"###", "# #", "###", "# #", "###"}}, {'9', {"###", "# #", "###", "  #", "###"}},
    {'d', {"  #", "  #", "###", "# #", "###"}}, {':', {" ", "#", " ", "#", " "}},
    {'.', {" ", " ", " ", " ", "#"}},           {' ', {" ", " ", " ", " ", " "}},
};

/* ---- text */

static uint64_t rounded_up(uint64_t ms, uint64_t unit_ms)
{
    return ms / unit_ms + (ms % unit_ms != 0);
}

struct clock_face_text clock_face_whole(uint64_t left_ms)
{
    struct clock_face_text face;
    uint64_t all_s = rounded_up(left_ms, SECOND_MS);
    uint64_t days = all_s / DAY_S;
    int hours = (int)(all_s % DAY_S / 3600);
    int minutes = (int)(all_s / 60 % 60);
    int seconds = (int)(all_s % 60);
    if (days > 0)
        (void)snprintf(face.text, sizeof face.text, "%" PRIu64 "d %02d:%02d:%02d", days, hours,
                       minutes, seconds);
    else if (hours > 0)
        (void)snprintf(face.text, sizeof face.text, "%d:%02d:%02d", hours, minutes, seconds);
    else
        (void)snprintf(face.text, sizeof face.text, "%d:%02d", minutes, seconds);
    return face;
}

struct clock_face_text clock_face_text(uint64_t left_ms)
{
    struct clock_face_text face;
    uint64_t tenths = rounded_up(left_ms, SECOND_MS / 10);
    if (tenths == 0 || tenths >= TENTHS_MAX)
        return clock_face_whole(left_ms);
    (void)snprintf(face.text, sizeof face.text, "%d.%d", (int)(tenths / 10), (int)(tenths % 10));
    return face;
}

/* ---- cells */

static const struct letter *letter_of(char name)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (letters[i].name == name)
            return &letters[i];
    }
    return NULL;
}

int clock_face_row(const char *text, int row, char ret_cells[CLOCK_FACE_COLS_MAX + 1])
{
    int cols = 0;
    ret_cells[0] = '\0';
    for (; *text != '\0'; text++) {
        const struct letter *letter = letter_of(*text);
        if (letter == NULL)
            continue;
        const char *pixel = letter->rows[row];
        int needed = (int)strlen(pixel) * PIXEL_COLS + (cols > 0 ? PIXEL_COLS : 0);
        if (cols + needed > CLOCK_FACE_COLS_MAX) {
            ret_cells[0] = '\0';
            return CLOCK_FACE_COLS_MAX + 1;
        }
        for (int i = 0; cols > 0 && i < PIXEL_COLS; i++)
            ret_cells[cols + i] = ' ';
        cols += cols > 0 ? PIXEL_COLS : 0;
        for (; *pixel != '\0'; pixel++) {
            for (int i = 0; i < PIXEL_COLS; i++)
                ret_cells[cols++] = *pixel;
        }
    }
    ret_cells[cols] = '\0';
    return cols;
}

void clock_face_bar(uint64_t left_ms, uint64_t whole_ms, int cols,
                    char ret_cells[CLOCK_FACE_COLS_MAX + 1])
{
    if (cols > CLOCK_FACE_COLS_MAX)
        cols = CLOCK_FACE_COLS_MAX;
    if (cols < 0)
        cols = 0;
    double part =
        left_ms >= whole_ms ? (whole_ms > 0 || left_ms > 0) : (double)left_ms / (double)whole_ms;
    int halves = (int)(part * 2 * cols);
    if (halves == 0 && left_ms > 0)
        halves = 1;
    for (int i = 0; i < cols; i++)
        ret_cells[i] = i < halves / 2 ? '=' : i * 2 < halves ? '-' : '.';
    ret_cells[cols] = '\0';
}
