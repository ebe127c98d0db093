/* SPDX-License-Identifier: MIT */

#include "cli/levels.h"

#include <stdio.h>

#include "cli/figure.h"

enum {
    WIDE_STRIP_COL = 28,
    NARROW_STRIP_COL = 12,
    EIGHTHS = 8,
    PEAK_KEPT = 97, /* percent of a scale's height that stay from frame to frame */
};

/* A strip of cells over all slots of a level. */
struct strip {
    int cells;
    int hand;
    double density[SCREEN_COLS_MAX]; /* timers per slot */
};

size_t levels_drawn(const struct tocsin_wheel *wheel, size_t max, bool *ret_empty_left)
{
    struct tocsin_wheel_level_stats stats;
    size_t drawn = 1;
    size_t count = 0;
    for (; tocsin_wheel_describe_level(wheel, count, &stats); count++) {
        if (stats.pending > 0)
            drawn = count + 1;
    }
    *ret_empty_left = drawn < count;
    size_t limit = max < LEVELS_DRAWN_MAX ? max : LEVELS_DRAWN_MAX;
    return drawn < limit ? drawn : limit;
}

static void strip_read(struct strip *strip, const struct tocsin_wheel *wheel, size_t level,
                       const struct tocsin_wheel_level_stats *stats, int cells)
{
    static uint32_t counts[TOCSIN_WHEEL_SLOTS_MAX]; /* too many for a stack */
    (void)tocsin_wheel_slot_counts(wheel, level, counts);
    strip->cells = cells;
    strip->hand = -1;
    for (int cell = 0; cell < cells; cell++) {
        uint32_t from = (uint32_t)((uint64_t)stats->slots * (uint64_t)cell / (uint64_t)cells);
        uint32_t to = (uint32_t)((uint64_t)stats->slots * (uint64_t)(cell + 1) / (uint64_t)cells);
        size_t timers = 0;
        to = to > from ? to : from + 1;
        for (uint32_t slot = from; slot < to; slot++)
            timers += counts[slot];
        strip->density[cell] = (double)timers / (double)(to - from);
        if (strip->hand < 0 && stats->current >= from && stats->current < to)
            strip->hand = cell;
    }
}

/* The highest column, or a little less than the scale of the last frame. */
static double strip_peak(const struct strip *strip, double last_peak)
{
    double peak = last_peak * PEAK_KEPT / 100;
    for (int cell = 0; cell < strip->cells; cell++) {
        if (strip->density[cell] > peak)
            peak = strip->density[cell];
    }
    return peak;
}

/* Height by the square root: a column with a tenth of the timers is still seen. */
static int height_of(double density, double peak, int full)
{
    int height = density > 0 ? 1 : 0;
    while (height < full && height * height * peak < density * full * full)
        height++;
    return height;
}

/* An eighth of a row stays free, to set a strip off from the one above. The hand
 * stands between the cells, so that it hides none: in front of the one that holds
 * the slot of now. */
static void strip_draw(const struct strip *strip, struct screen *screen, int row, int col, int rows,
                       double peak)
{
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    for (int cell = 0; cell < strip->cells; cell++) {
        int height = height_of(strip->density[cell], peak, rows * EIGHTHS - 1);
        for (int up = 0; up < rows; up++, height -= EIGHTHS) {
            int at_row = row + rows - 1 - up;
            int filled = height < 0 ? 0 : height > EIGHTHS ? EIGHTHS : height;
            if (cell == strip->hand)
                (void)screen_glyph(screen, at_row, col + cell, SCREEN_NOW, glyphs->hand);
            (void)screen_glyph(screen, at_row, col + cell + (cell >= strip->hand), SCREEN_TIMER,
                               glyphs->bar[filled]);
        }
    }
}

void levels_draw_header(struct screen *screen, int row, bool wide)
{
    if (!wide) {
        (void)screen_text(screen, row, 0, SCREEN_DIM, "lv pending  slots");
        return;
    }
    (void)screen_text(screen, row, 0, SCREEN_DIM, " level  slots      pending");
    (void)screen_text(screen, row, WIDE_STRIP_COL, SCREEN_DIM,
                      "the taller, the more timers in those slots");
}

void levels_draw_legend(struct screen *screen, int row)
{
    int col = screen_text(screen, row, 2, SCREEN_DIM, "the hand ");
    col = screen_glyph(screen, row, col, SCREEN_NOW, screen_glyphs(screen)->hand);
    (void)screen_text(screen, row, col, SCREEN_DIM,
                      " is now: what it reaches fires on level 0, moves down on the others");
}

void levels_draw(struct levels *levels, struct screen *screen, const struct tocsin_wheel *wheel,
                 size_t level, int row, int strip_rows, bool wide)
{
    struct tocsin_wheel_level_stats stats;
    struct strip strip;
    int col = wide ? WIDE_STRIP_COL : NARROW_STRIP_COL;
    if (level >= LEVELS_DRAWN_MAX || !tocsin_wheel_describe_level(wheel, level, &stats))
        return;
    int base = row + strip_rows - 1;
    (void)screen_text(screen, base, wide ? 2 : 0, SCREEN_BOLD, "%zu%s", level,
                      stats.overflow ? "+" : "");
    if (wide) {
        (void)screen_text(screen, base, 5, SCREEN_PLAIN, "%4u x %s", stats.slots,
                          figure_span(stats.tick).text);
    }
    (void)screen_text_right(screen, base, col - 2, SCREEN_PLAIN, "%s",
                            figure_short(stats.pending).text);
    int cells = screen_cols(screen) - col - 1;
    if (cells < 1)
        return;
    strip_read(&strip, wheel, level, &stats, cells);
    levels->peaks[level] = strip_peak(&strip, levels->peaks[level]);
    strip_draw(&strip, screen, row, col, strip_rows, levels->peaks[level]);
}

void levels_draw_empty(struct screen *screen, const struct tocsin_wheel *wheel, size_t level,
                       int row)
{
    struct tocsin_wheel_level_stats stats;
    struct tocsin_wheel_level_stats last = {0};
    size_t count = level;
    while (tocsin_wheel_describe_level(wheel, count, &stats)) {
        last = stats;
        count++;
    }
    if (count <= level)
        return;
    char which[48];
    if (count - level == 1)
        (void)snprintf(which, sizeof which, "%zu", level);
    else
        (void)snprintf(which, sizeof which, "%zu-%zu", level, count - 1);
    double reach_ms = (double)last.tick * last.slots;
    uint64_t reach = reach_ms >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)reach_ms;
    (void)screen_text(screen, row, 2, SCREEN_DIM, "%s  empty, ready for timers up to %s away",
                      which, figure_span(reach).text);
}
