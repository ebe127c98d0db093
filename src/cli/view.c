/* SPDX-License-Identifier: MIT */

#include "cli/view.h"

#include "cli/figure.h"
#include "cli/panel.h"

enum {
    WIDE_COLS = 72,
    LEVEL_ROWS_MAX = 4,
    LATENESS_ROWS_MAX = 12,
    FEW_BELLS = 3,
};

/* How the rows of the screen are spent. */
struct plan {
    bool wide; /* two panels side by side, else a line each */
    bool header;
    bool legend;
    bool empty_row;
    size_t levels;
    int level_rows; /* for each; from the third on, one of them stays blank */
    int panel_rows;
    int bells;
    int gaps; /* of the three blank rows between blocks */
    int rows; /* all told */
};

static bool spend(struct plan *plan, int *left, int rows)
{
    if (*left < rows)
        return false;
    *left -= rows;
    plan->rows += rows;
    return true;
}

/* What matters most gets its rows first; what is left makes the strips and the
 * histogram higher. */
static struct plan plan_rows(const struct screen *screen, const struct tocsin_wheel *wheel)
{
    struct plan plan = {.wide = screen_cols(screen) >= WIDE_COLS, .level_rows = 1, .rows = 1};
    bool empty_left;
    int left = screen_rows(screen) - plan.rows;
    plan.levels = levels_drawn(wheel, left > 0 ? (size_t)left : 0, &empty_left);
    (void)spend(&plan, &left, (int)plan.levels);
    if (spend(&plan, &left, 2))
        plan.panel_rows = 2;
    while (plan.bells < FEW_BELLS && spend(&plan, &left, 1))
        plan.bells++;
    if (plan.wide && plan.panel_rows == 2 && spend(&plan, &left, PANEL_RATES_ROWS - 2))
        plan.panel_rows = PANEL_RATES_ROWS;
    plan.header = spend(&plan, &left, 1);
    while (plan.bells < BELLS_COUNT && spend(&plan, &left, 1))
        plan.bells++;
    plan.empty_row = empty_left && spend(&plan, &left, 1);
    while (plan.gaps < 3 && spend(&plan, &left, 1))
        plan.gaps++;
    plan.legend = plan.wide && spend(&plan, &left, 1);
    while (plan.level_rows < LEVEL_ROWS_MAX && spend(&plan, &left, (int)plan.levels))
        plan.level_rows++;
    while (plan.wide && plan.panel_rows >= PANEL_RATES_ROWS &&
           plan.panel_rows < LATENESS_ROWS_MAX && spend(&plan, &left, 1))
        plan.panel_rows++;
    return plan;
}

static void draw_title(struct screen *screen, const struct view_scene *scene, bool wide)
{
    double elapsed = (double)scene->elapsed_us / 1e6;
    double run = (double)scene->run_us / 1e6;
    int col = screen_text(screen, 0, wide ? 1 : 0, SCREEN_TITLE, "tocsin");
    if (wide)
        (void)screen_text(screen, 0, col, SCREEN_PLAIN,
                          "  a timing wheel at work: \"%s\", %s a tick", scene->geometry,
                          figure_span(scene->base_tick_ms).text);
    (void)screen_text_right(screen, 0, screen_cols(screen), SCREEN_DIM, "%.1f of %g s   q quits",
                            elapsed < run ? elapsed : run, run);
}

static int draw_levels(struct view *view, struct screen *screen, const struct view_scene *scene,
                       const struct plan *plan, int row)
{
    if (plan->header)
        levels_draw_header(screen, row++, plan->wide);
    for (size_t level = 0; level < plan->levels; level++) {
        int blank = plan->level_rows > 2;
        levels_draw(&view->levels, screen, scene->wheel, level, row + blank,
                    plan->level_rows - blank, plan->wide);
        row += plan->level_rows;
    }
    if (plan->empty_row)
        levels_draw_empty(screen, scene->wheel, plan->levels, row++);
    if (plan->legend)
        levels_draw_legend(screen, row++);
    return row;
}

static int draw_panels(struct screen *screen, const struct view_scene *scene,
                       const struct plan *plan, int row)
{
    if (plan->panel_rows >= PANEL_RATES_ROWS) {
        panel_rates(screen, scene, row, 0);
        panel_lateness(screen, scene, row, PANEL_RATES_COLS, plan->panel_rows);
    } else if (plan->panel_rows > 0) {
        panel_rates_line(screen, scene, row);
        panel_lateness_line(screen, scene, row + 1);
    }
    return row + plan->panel_rows;
}

void view_draw(struct view *view, struct screen *screen, const struct view_scene *scene)
{
    struct plan plan = plan_rows(screen, scene->wheel);
    screen_begin(screen, plan.rows);
    draw_title(screen, scene, plan.wide);
    int row = 1 + (plan.gaps > 0);
    row = draw_levels(view, screen, scene, &plan, row) + (plan.gaps > 1);
    row = draw_panels(screen, scene, &plan, row) + (plan.gaps > 2);
    for (int bell = 0; bell < plan.bells; bell++)
        panel_bell(screen, scene, (size_t)bell, row++);
    screen_show(screen);
}
