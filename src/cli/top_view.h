/* SPDX-License-Identifier: MIT */
/* top_view.h - what does `tocsin top` show of two samples?
 *
 * A frame is lines of text with styles and gauges, so that the same one goes to a terminal, to
 * a pipe, or, as figures, into JSON.
 */
#ifndef TOCSIN_CLI_TOP_VIEW_H
#define TOCSIN_CLI_TOP_VIEW_H

#include <stdio.h>

#include "cli/sample.h"
#include "cli/screen.h"

/* All borrowed. older and newer are the same at first. */
struct top_scene {
    const char *url;
    const char *problem; /* NULL: the server answers */
    const struct sample *older;
    const struct sample *newer;
};

void top_view_draw(struct screen *screen, const struct top_scene *scene);
void top_view_print(FILE *out, const struct top_scene *scene);
void top_view_print_line(FILE *out, const struct top_scene *scene);
void top_view_print_json(FILE *out, const struct top_scene *scene);

#endif
