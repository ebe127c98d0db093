/* SPDX-License-Identifier: MIT */

#include "cli/panel.h"

#include "cli/figure.h"

enum {
    RATE_END = 20, /* columns, from the block's own left */
    TOTAL_END = 31,
    AXIS_ROWS = 2,
    EIGHTHS = 8,
    BELL_LEFT_END = 29,
    BELL_GAUGE_COL = 31,
    BELL_GAUGE_MIN_COLS = 8,
    BELL_NOTE_COLS = sizeof "rang 9 times, 0.000 ms late" - 1,
    BELL_LIT_US = 1200000,
};

#define AXIS_START_US 10.0
#define AXIS_SHORTEST_US 100000.0

static void rate_row(struct screen *screen, int row, int col, const char *name, uint64_t rate,
                     uint64_t total)
{
    (void)screen_text(screen, row, col + 1, SCREEN_PLAIN, "%s", name);
    (void)screen_text_right(screen, row, col + RATE_END, SCREEN_BOLD, "%s",
                            figure_count(rate).text);
    (void)screen_text_right(screen, row, col + TOTAL_END, SCREEN_PLAIN, "%s",
                            figure_count(total).text);
}

void panel_rates(struct screen *screen, const struct view_scene *scene, int row, int col)
{
    const struct tally *rates = scene->rates;
    const struct tally *so_far = scene->tally;
    (void)screen_text(screen, row, col + 1, SCREEN_DIM, "timers");
    (void)screen_text_right(screen, row, col + RATE_END, SCREEN_DIM, "a second");
    (void)screen_text_right(screen, row, col + TOTAL_END, SCREEN_DIM, "so far");
    rate_row(screen, row + 1, col, "armed", rates->armed, so_far->armed);
    rate_row(screen, row + 2, col, "pushed back", rates->rearmed, so_far->rearmed);
    rate_row(screen, row + 3, col, "cancelled", rates->cancelled, so_far->cancelled);
    rate_row(screen, row + 4, col, "fired", rates->fired, so_far->fired);
    rate_row(screen, row + 5, col, "moved down", rates->moved, so_far->moved);
    (void)screen_text(screen, row + 6, col + 1, SCREEN_PLAIN, "pending now");
    (void)screen_text_right(screen, row + 6, col + TOTAL_END, SCREEN_BOLD, "%s",
                            figure_count(tocsin_wheel_count(scene->wheel)).text);
}

void panel_rates_line(struct screen *screen, const struct view_scene *scene, int row)
{
    const struct tally *rates = scene->rates;
    (void)screen_text(screen, row, 0, SCREEN_PLAIN, "a second: %s fired, %s armed",
                      figure_count(rates->fired).text, figure_count(rates->armed).text);
}

static void draw_early(struct screen *screen, const struct view_scene *scene, int row, int col_end)
{
    if (scene->early == 0)
        (void)screen_text_right(screen, row, col_end, SCREEN_GOOD, "none early");
    else
        (void)screen_text_right(screen, row, col_end, SCREEN_BAD, "%s EARLY",
                                figure_count(scene->early).text);
}

void panel_lateness_line(struct screen *screen, const struct view_scene *scene, int row)
{
    uint64_t p99_us = lateness_percentile_us(scene->lateness, 990);
    int col = screen_text(screen, row, 0, SCREEN_PLAIN, "late: ");
    col = screen_text(screen, row, col, SCREEN_BOLD, "%s", figure_late(p99_us).text);
    (void)screen_text(screen, row, col, SCREEN_PLAIN, " (p99)");
    draw_early(screen, scene, row, screen_cols(screen));
}

/* A column of the histogram covers this factor: 10 to the power 1/n, for the
 * biggest n of the list with which the axis fits the room. */
static double axis_factor(int cols, double decades, int *ret_per_decade)
{
    static const struct {
        int per_decade;
        double factor;
    } scales[] = {{20, 1.1220184543}, {16, 1.1547819847}, {12, 1.2115276586}, {10, 1.2589254118},
                  {9, 1.2915496650},  {8, 1.3335214322},  {6, 1.4677992676},  {4, 1.7782794100}};
    size_t at = 0;
    while (at + 1 < sizeof scales / sizeof scales[0] && scales[at].per_decade * decades > cols)
        at++;
    *ret_per_decade = scales[at].per_decade;
    return scales[at].factor;
}

static void draw_axis(struct screen *screen, int row, int col, int decades, int per_decade)
{
    static const char *const labels[] = {"0.01", "0.1", "1 ms", "10",
                                         "100",  "1 s", "10 s", "100 s"};
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    for (int i = 0; i <= decades * per_decade; i++) {
        bool whole = i % per_decade == 0;
        (void)screen_glyph(screen, row, col + i, SCREEN_DIM, whole ? glyphs->tick : glyphs->rule);
        size_t label = (size_t)(i / per_decade);
        if (whole && label < sizeof labels / sizeof labels[0])
            (void)screen_text(screen, row + 1, col + i, SCREEN_DIM, "%s", labels[label]);
    }
}

static void draw_column(struct screen *screen, int row_end, int col, int rows,
                        enum screen_style style, uint64_t count, uint64_t most)
{
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    int eighths = most > 0 ? (int)((double)count / (double)most * rows * EIGHTHS + 0.5) : 0;
    if (eighths == 0 && count > 0)
        eighths = 1;
    for (int up = 0; up < rows; up++) {
        int filled = eighths - up * EIGHTHS;
        filled = filled < 0 ? 0 : filled > EIGHTHS ? EIGHTHS : filled;
        (void)screen_glyph(screen, row_end - up, col, style, glyphs->bar[filled]);
    }
}

static void draw_histogram(struct screen *screen, const struct view_scene *scene, int row, int col,
                           int rows)
{
    uint64_t counts[SCREEN_COLS_MAX];
    double tick_us = (double)scene->base_tick_ms * 1000;
    double end_us = AXIS_SHORTEST_US;
    int decades = 4;
    int per_decade;
    for (; end_us < tick_us * 10; end_us *= 10)
        decades++;
    double factor = axis_factor(screen_cols(screen) - col - 3, decades, &per_decade);
    int cols = decades * per_decade;
    double from_us = AXIS_START_US;
    uint64_t most = 0;
    for (int i = 0; i < cols && i < SCREEN_COLS_MAX; i++, from_us *= factor) {
        uint64_t from = i == 0 ? 0 : (uint64_t)from_us;
        uint64_t to = i == cols - 1 ? UINT64_MAX : (uint64_t)(from_us * factor);
        counts[i] = lateness_between(scene->lateness, from, to);
        most = counts[i] > most ? counts[i] : most;
    }
    from_us = AXIS_START_US;
    for (int i = 0; i < cols && i < SCREEN_COLS_MAX; i++, from_us *= factor) {
        enum screen_style style = from_us < tick_us ? SCREEN_GOOD : SCREEN_WARN;
        draw_column(screen, row + rows - AXIS_ROWS - 1, col + i, rows - AXIS_ROWS, style, counts[i],
                    most);
    }
    draw_axis(screen, row + rows - AXIS_ROWS, col, decades, per_decade);
}

void panel_lateness(struct screen *screen, const struct view_scene *scene, int row, int col,
                    int rows)
{
    static const struct {
        const char *name;
        uint32_t permille;
    } figures[] = {{"p50", 500}, {"p99", 990}, {"max", 1000}};
    int at = screen_text(screen, row, col, SCREEN_DIM, "late");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        uint64_t late_us = lateness_percentile_us(scene->lateness, figures[i].permille);
        at =
            screen_text(screen, row, at, SCREEN_DIM, "%s%s ", i == 0 ? " " : "  ", figures[i].name);
        at = screen_text(screen, row, at, SCREEN_BOLD, "%s", figure_late(late_us).text);
    }
    if (rows > AXIS_ROWS + 1)
        draw_histogram(screen, scene, row + 1, col, rows - 1);
    draw_early(screen, scene, row + 1, screen_cols(screen));
}

static void draw_gauge(struct screen *screen, int row, int col, int cols, const struct bell *bell,
                       uint64_t now_ms)
{
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    uint64_t waited_ms = now_ms > bell->armed_ms ? now_ms - bell->armed_ms : 0;
    uint64_t whole_ms = bell->due_ms - bell->armed_ms;
    int done = whole_ms == 0 ? cols : (int)(waited_ms * (uint64_t)cols / whole_ms);
    for (int i = 0; i < cols; i++)
        (void)screen_glyph(screen, row, col + i, i < done ? SCREEN_TIMER : SCREEN_DIM,
                           i < done ? glyphs->done : glyphs->rest);
}

static void draw_bell_state(struct screen *screen, int row, const struct bell *bell, bool lit,
                            uint64_t now_ms)
{
    if (lit)
        (void)screen_text_right(screen, row, BELL_LEFT_END, SCREEN_RING, "  RINGS ");
    else if (bell->state == BELL_CANCELLED)
        (void)screen_text_right(screen, row, BELL_LEFT_END, SCREEN_DIM, "cancelled");
    else if (bell->state == BELL_RANG)
        (void)screen_text_right(screen, row, BELL_LEFT_END, SCREEN_DIM, "rang");
    else
        (void)screen_text_right(
            screen, row, BELL_LEFT_END, SCREEN_BOLD, "in %s",
            figure_left(bell->due_ms > now_ms ? bell->due_ms - now_ms : 0).text);
}

void panel_bell(struct screen *screen, const struct view_scene *scene, size_t index, int row)
{
    const struct bell *bell = &scene->bells->all[index];
    uint64_t now_ms = scene->now_us / 1000;
    bool lit = bell->rang_us != 0 && scene->now_us - bell->rang_us < BELL_LIT_US;
    int room = screen_cols(screen) - BELL_GAUGE_COL;
    int gauge_cols = room - BELL_NOTE_COLS - 2;
    bool gauge = gauge_cols >= BELL_GAUGE_MIN_COLS;
    char note[64];
    bells_note(scene->bells, index, note, sizeof note);

    (void)screen_text(screen, row, 0, lit ? SCREEN_RING : SCREEN_PLAIN, " %-14s",
                      bells_name(index));
    draw_bell_state(screen, row, bell, lit, now_ms);
    if (gauge && bell->state == BELL_PENDING)
        draw_gauge(screen, row, BELL_GAUGE_COL, gauge_cols, bell, now_ms);
    if (room >= BELL_NOTE_COLS)
        (void)screen_text(screen, row, BELL_GAUGE_COL + (gauge ? gauge_cols + 2 : 0),
                          lit ? SCREEN_NOW : SCREEN_DIM, "%s", note);
}
