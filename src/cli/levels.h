/* SPDX-License-Identifier: MIT */
/* levels.h - how do the levels of a wheel look?
 *
 * A row each: its slots, how many timers are pending there, and a strip in which
 * a column stands for some slots and its height for the timers in them. The hand
 * marks the slot that now is in. Levels above the last timer share one row.
 */
#ifndef TOCSIN_CLI_LEVELS_H
#define TOCSIN_CLI_LEVELS_H

#include <tocsin/wheel.h>

#include "cli/screen.h"

enum { LEVELS_DRAWN_MAX = 16 };

/* All zero is good. Keeps a strip from jumping when its highest column goes. */
struct levels {
    double peaks[LEVELS_DRAWN_MAX];
};

/* How many levels get a row of their own, at most max; and whether others, all
 * empty, are left for the row they share. */
size_t levels_drawn(const struct tocsin_wheel *wheel, size_t max, bool *ret_empty_left);

void levels_draw_header(struct screen *screen, int row, bool wide);
void levels_draw_legend(struct screen *screen, int row);
void levels_draw(struct levels *levels, struct screen *screen, const struct tocsin_wheel *wheel,
                 size_t level, int row, int strip_rows, bool wide);
/* The row of the empty ones, from this level up. */
void levels_draw_empty(struct screen *screen, const struct tocsin_wheel *wheel, size_t level,
                       int row);

#endif
