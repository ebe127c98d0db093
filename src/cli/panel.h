/* SPDX-License-Identifier: MIT */
/* panel.h - how do the figures of a scene look?
 *
 * Each draws one block with its upper left corner at (row, col).
 */
#ifndef TOCSIN_CLI_PANEL_H
#define TOCSIN_CLI_PANEL_H

#include "cli/view.h"

enum { PANEL_RATES_ROWS = 7, PANEL_RATES_COLS = 34 };

/* PANEL_RATES_ROWS rows; or one, for little room. */
void panel_rates(struct screen *screen, const struct view_scene *scene, int row, int col);
void panel_rates_line(struct screen *screen, const struct view_scene *scene, int row);

/* Figures in one row, then a histogram on a logarithmic axis below. */
void panel_lateness(struct screen *screen, const struct view_scene *scene, int row, int col,
                    int rows);
void panel_lateness_line(struct screen *screen, const struct view_scene *scene, int row);

void panel_bell(struct screen *screen, const struct view_scene *scene, size_t bell, int row);

#endif
