/* SPDX-License-Identifier: MIT */
/* The picture: three panels of bars on a log scale, one per operation, and one of
 * memory. */
#include "results.h"

#include <math.h>

#include "svg.h"

enum {
    WIDTH = 960,
    HEIGHT = 724,
    PANEL_WIDTH = 440,
    PANEL_HEIGHT = 225,
    LEFT = 58, /* of the first panel's axis */
    TOP = 142,
    ACROSS = 470, /* from panel to panel */
    DOWN = 292,
    BAR_WIDTH = 28,
    DECADES = 4, /* 1 ns to 10 us; more where a figure needs it */
};

static const struct series {
    const char *name;
    const char *colour;
} series[] = {
    {"tocsin", "#d1480b"},
    {"libev", "#1f6fb4"},
    {"libuv", "#1b9477"},
    {"libevent", "#7d7f86"},
};
enum { SERIES_COUNT = sizeof series / sizeof series[0] };

static const uint32_t sizes[] = {100000, 1000000, 10000000};
static const char *const size_names[] = {"100 thousand", "1 million", "10 million"};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

enum operation { PAIR, STEADY, EXPIRE, OPERATION_COUNT };
static const char *const operation_names[] = {
    "Cancel + arm a random timer",
    "The same with the clock running",
    "Expire, per timer",
};

struct panel {
    FILE *out;
    double left, top;
};

static double figure(const struct cell *cell, enum operation operation)
{
    switch (operation) {
    case PAIR:
        return bench_median(&cell->pair);
    case STEADY:
        return bench_median(&cell->steady);
    default:
        return bench_median(&cell->expire);
    }
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *class)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
            x2, y2, class);
}

static void bar(FILE *out, double x, double y, double width, double height, const char *colour)
{
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\" fill=\"%s\"/>\n",
            x, y, width, height, colour);
}

static const struct svg_page page = {
    .width = WIDTH,
    .height = HEIGHT,
    .label = "Timers compared: nanoseconds per operation and bytes per timer",
    .style = ".panel{font-size:15px;font-weight:600}\n"
             ".group{font-size:12px}\n"
             ".value{font-size:10.5px;fill:#43464e}\n"
             ".ours{font-size:11.5px;font-weight:700;fill:#b03a06}\n"
             ".base{stroke:#9da1aa;stroke-width:1}\n",
    .title = "Pending timers: what an operation costs",
    .sub = "Uniform delays, 1 ms to 60 s. Medians in nanoseconds, log scale; lower is better.",
    .foot = 16,
};

static void draw_legend(FILE *out)
{
    double x = 24;
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        bar(out, x, 76, 13, 13, series[i].colour);
        svg_text(out, x + 19, 87, "legend", "start", series[i].name);
        x += 92;
    }
}

static double most_decades(const struct results *results)
{
    double most = DECADES;
    for (size_t i = 0; i < results->cell_count; i++) {
        const struct cell *cell = &results->cells[i];
        if (cell->dist == DIST_UNIFORM)
            most = fmax(most, ceil(log10(fmax(bench_median(&cell->expire), 1))));
    }
    return most;
}

static void draw_scale(const struct panel *panel, double decades)
{
    static const char *const names[] = {"1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs"};
    for (int i = 0; i <= (int)decades; i++) {
        double y = panel->top + PANEL_HEIGHT - i * PANEL_HEIGHT / decades;
        line(panel->out, panel->left, y, panel->left + PANEL_WIDTH - LEFT, y,
             i == 0 ? "base" : "grid");
        svg_text(panel->out, panel->left - 7, y + 4, "axis", "end", names[i < 6 ? i : 5]);
    }
}

static void draw_operation(const struct panel *panel, const struct results *results,
                           enum operation operation)
{
    double decades = most_decades(results), width = (PANEL_WIDTH - LEFT) / (double)SIZE_COUNT;
    svg_text(panel->out, panel->left, panel->top - 14, "panel", "start",
             operation_names[operation]);
    draw_scale(panel, decades);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        double middle = panel->left + width * ((double)i + 0.5);
        double x = middle - SERIES_COUNT * BAR_WIDTH / 2.0;
        svg_text(panel->out, middle, panel->top + PANEL_HEIGHT + 18, "group", "middle",
                 size_names[i]);
        for (size_t j = 0; j < SERIES_COUNT; j++, x += BAR_WIDTH) {
            const struct cell *cell = results_find(results, series[j].name, DIST_UNIFORM, sizes[i]);
            if (cell == NULL)
                continue;
            char words[24];
            double value = figure(cell, operation);
            double height = log10(fmax(value, 1)) / decades * PANEL_HEIGHT;
            double y = panel->top + PANEL_HEIGHT - height;
            bar(panel->out, x + 1.5, y, BAR_WIDTH - 3, height, series[j].colour);
            snprintf(words, sizeof words, "%.0f", value);
            svg_text(panel->out, x + BAR_WIDTH / 2.0, y - 4, j == 0 ? "ours" : "value", "middle",
                     words);
        }
    }
}

/* Memory is the same at every size but for rounding: the largest one measured. */
static void draw_bytes(const struct panel *panel, const struct results *results)
{
    const double each = 50, scale = (PANEL_WIDTH - LEFT - 110) / 160.0;
    svg_text(panel->out, panel->left - 34, panel->top - 14, "panel", "start",
             "Memory per pending timer, in bytes");
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        const struct cell *cell = NULL;
        for (size_t j = SIZE_COUNT; j-- > 0 && cell == NULL;)
            cell = results_find(results, series[i].name, DIST_UNIFORM, sizes[j]);
        if (cell == NULL)
            continue;
        char words[64];
        double bytes = bench_median(&cell->bytes), y = panel->top + 14 + (double)i * each;
        size_t handle = cell->structure->handle_bytes;
        svg_text(panel->out, panel->left + 16, y + 17, "group", "end", series[i].name);
        bar(panel->out, panel->left + 24, y, bytes * scale, 25, series[i].colour);
        double end = panel->left + 30 + bytes * scale;
        snprintf(words, sizeof words, handle > 0 ? "%.0f + %zu for the handle" : "%.0f", bytes,
                 handle);
        svg_text(panel->out, end, y + 17, i == 0 ? "ours" : "value", "start", words);
    }
    svg_text(panel->out, panel->left - 34, panel->top + PANEL_HEIGHT + 18, "sub", "start",
             "Growth of resident memory, with the object that the caller holds.");
}

void plot_write(const struct results *results, const char *path)
{
    FILE *out = svg_begin(path, &page, &results->machine);
    draw_legend(out);
    for (enum operation i = PAIR; i < OPERATION_COUNT; i++) {
        unsigned column = i % 2, line_of_panels = i / 2;
        struct panel panel = {out, LEFT + 10 + column * ACROSS, TOP + line_of_panels * DOWN};
        draw_operation(&panel, results, i);
    }
    struct panel panel = {out, LEFT + 10 + ACROSS, TOP + DOWN};
    draw_bytes(&panel, results);
    svg_end(out, path);
}
