/* SPDX-License-Identifier: MIT */
/* view.h - what does the live picture show, and what when there is little room?
 *
 * From the top: a title, the levels of the wheel, what happens per second beside
 * how late it happens, and the timers with a name. Parts are left out, made
 * one-line, or grow, by the size of the screen.
 */
#ifndef TOCSIN_CLI_VIEW_H
#define TOCSIN_CLI_VIEW_H

#include "cli/bells.h"
#include "cli/lateness.h"
#include "cli/levels.h"
#include "cli/screen.h"
#include "cli/tally.h"

/* What there is to see; all borrowed. */
struct view_scene {
    const struct tocsin_wheel *wheel;
    const struct lateness *lateness;
    const struct bells *bells;
    const struct tally *tally;
    const struct tally *rates; /* a second */
    const char *geometry;
    uint64_t base_tick_ms;
    uint64_t early;
    uint64_t now_us;
    uint64_t elapsed_us;
    uint64_t run_us;
};

/* All zero is good. */
struct view {
    struct levels levels;
};

void view_draw(struct view *view, struct screen *screen, const struct view_scene *scene);

#endif
