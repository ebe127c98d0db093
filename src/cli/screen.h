/* SPDX-License-Identifier: MIT */
/* screen.h - how does a frame get onto the terminal?
 *
 * A grid of cells one column narrower and one row lower than the terminal: what
 * is put outside of it is cut, so no line ever wraps. A frame is drawn into the
 * grid and shown in place of the last one.
 *
 * Promise   showing never waits for a slow terminal: a frame that has not gone
 *           out yet makes screen_busy true, and the caller skips a beat. close
 *           gives the terminal back as it was: cursor, line mode, colours.
 * Memory    one block from open to close, whatever the size.
 */
#ifndef TOCSIN_CLI_SCREEN_H
#define TOCSIN_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum { SCREEN_ROWS_MAX = 100, SCREEN_COLS_MAX = 240 };

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_DIM,
    SCREEN_BOLD,
    SCREEN_TITLE,
    SCREEN_TIMER, /* a pending timer */
    SCREEN_NOW,   /* the hand of the wheel */
    SCREEN_GOOD,
    SCREEN_WARN,
    SCREEN_BAD,
    SCREEN_RING, /* look here */
    SCREEN_STYLES,
};

/* One column each, in UTF-8 or, where the locale has none, in ASCII. */
struct screen_glyphs {
    const char *bar[9]; /* from below: nothing, an eighth, ... full */
    const char *hand;
    const char *rule;
    const char *tick;
    const char *done; /* of a gauge */
    const char *half; /* the left half of done */
    const char *rest;
    const char *stones[2]; /* of the first and the second player */
    const char *point;     /* where none is */
    const char *times;     /* 3 × 10s */
};

struct screen;

/* NULL: stdout is no terminal that can be drawn on; say it in lines instead. */
struct screen *screen_open(void);
/* Leaves the last frame standing and the cursor below it. NULL is fine. */
void screen_close(struct screen *screen);

/* Look at the terminal's size again, and wipe it. */
void screen_resize(struct screen *screen);
int screen_rows(const struct screen *screen);
int screen_cols(const struct screen *screen);
const struct screen_glyphs *screen_glyphs(const struct screen *screen);
/* The same without a screen, by the locale. */
const struct screen_glyphs *screen_glyphs_of_locale(void);

/* Start an empty frame of this many rows (cut to what there is). */
void screen_begin(struct screen *screen, int rows);
/* All answer with the column after what was put. A letter of a text that is not of the locale, or
 * no letter at all, becomes '?'; a wide one has two columns. */
int screen_glyph(struct screen *screen, int row, int col, enum screen_style style,
                 const char *glyph);
int screen_text(struct screen *screen, int row, int col, enum screen_style style,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same, ending before the column col_end. */
int screen_text_right(struct screen *screen, int row, int col_end, enum screen_style style,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
void screen_show(struct screen *screen);

/* Some of the last frame is still on its way: poll screen_fd for writing. */
bool screen_busy(const struct screen *screen);
void screen_push(struct screen *screen);
int screen_fd(const struct screen *screen);

/* Leave the terminal to the shell and come back, around being stopped. */
void screen_suspend(struct screen *screen);
void screen_resume(struct screen *screen);

#endif
