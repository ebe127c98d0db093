/* SPDX-License-Identifier: MIT */
/* The picture: how each figure changes with the number of pending tasks, a panel each, lines
 * on log scales. */
#include "results.h"

#include <math.h>
#include <string.h>

#include "svg.h"

enum {
    WIDTH = 960,
    HEIGHT = 1030,
    PANEL_WIDTH = 226,
    PANEL_HEIGHT = 200,
    LEFT = 76,
    TOP = 150,
    ACROSS = 310, /* from panel to panel */
    DOWN = 290,
    COLUMNS = 3,
};

static const struct series {
    const char *name, *colour;
} series[] = {
    {"tocsin", "#d1480b"},
    {"redis", "#1f6fb4"},
    {"beanstalkd", "#1b9477"},
};
enum { SERIES_COUNT = sizeof series / sizeof series[0] };

static const uint64_t sizes[] = {10000, 100000, 1000000, 10000000};
static const char *const size_names[] = {"10k", "100k", "1M", "10M"};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static const struct panel {
    const char *row, *title, *unit;
} panels[] = {
    {"schedule-64", "One task a request, 64 connections", "tasks/s, higher is better"},
    {"batch-full", "100 tasks a request, 8 connections", "tasks/s, higher is better"},
    {"batch-short", "The same with short answers", "tasks/s, higher is better"},
    {"life-single", "Full lives, one a request", "lives/s, higher is better"},
    {"life-mixed", "Full lives, leases and acks of 100", "lives/s, higher is better"},
    {"life-batched", "Full lives, all by 100", "lives/s, higher is better"},
    {"memory-20", "Memory a pending task", "bytes, lower is better"},
    {"restart", "Serving again after kill -9", "seconds, lower is better"},
    {"lateness-5k-p99", "Lateness at 5 000 a second, p99", "ms, lower is better"},
};
enum { PANEL_COUNT = sizeof panels / sizeof panels[0] };

/* Where a panel stands, and which decades it shows. */
struct frame {
    FILE *out;
    double left, top;
    int low, high; /* powers of ten */
};

static const struct svg_page page = {
    .width = WIDTH,
    .height = HEIGHT,
    .label = "Servers compared: speed, memory, restart and lateness by the number of pending tasks",
    .style = ".panel{font-size:14px;font-weight:600}\n"
             ".value{font-size:10.5px;font-weight:700;fill:#b03a06}\n",
    .title = "How cost grows with the tasks that are pending",
    .sub = "Everything is on the disk before it is answered. Medians, log scales.",
    .foot = 16,
};

static void draw_legend(FILE *out)
{
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        double x = 24 + (double)i * 100;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"76\" width=\"13\" height=\"13\" rx=\"2\" fill=\"%s\"/>\n", x,
                series[i].colour);
        svg_text(out, x + 19, 87, "legend", "start", series[i].name);
    }
}

/* The decades that hold all figures of a row. False: there are none. */
static bool decades_of(const struct results *results, const char *row, struct frame *frame)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct figure *figure = &results->figures[i];
        double value = bench_median(&figure->samples);
        if (figure->pending == 0 || strcmp(figure->row, row) != 0 || value <= 0)
            continue;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (high <= 0)
        return false;
    frame->low = (int)floor(log10(low));
    frame->high = (int)ceil(log10(high));
    if (frame->high == frame->low)
        frame->high++;
    return true;
}

static double x_of(const struct frame *frame, size_t size)
{
    return frame->left + PANEL_WIDTH * ((double)size + 0.5) / SIZE_COUNT;
}

static double y_of(const struct frame *frame, double value)
{
    double part = (log10(value) - frame->low) / (frame->high - frame->low);
    return frame->top + PANEL_HEIGHT * (1 - part);
}

static void draw_scale(const struct frame *frame, const struct panel *panel)
{
    char words[32];
    svg_text(frame->out, frame->left - 46, frame->top - 30, "panel", "start", panel->title);
    svg_text(frame->out, frame->left - 46, frame->top - 13, "axis", "start", panel->unit);
    for (int i = frame->low; i <= frame->high; i++) {
        double y = y_of(frame, pow(10, i));
        fprintf(frame->out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n",
                frame->left, y, frame->left + PANEL_WIDTH, y);
        snprintf(words, sizeof words, "%.7g", pow(10, i));
        svg_text(frame->out, frame->left - 7, y + 4, "axis", "end", words);
    }
    for (size_t i = 0; i < SIZE_COUNT; i++)
        svg_text(frame->out, x_of(frame, i), frame->top + PANEL_HEIGHT + 18, "axis", "middle",
                 size_names[i]);
}

static void draw_series(const struct frame *frame, const struct results *results, const char *row,
                        const struct series *one)
{
    bool ours = one == &series[0];
    fprintf(frame->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"",
            one->colour, ours ? "2.5" : "1.8");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        double value = results_median(results, row, one->name, sizes[i]);
        if (value > 0)
            fprintf(frame->out, "%.1f,%.1f ", x_of(frame, i), y_of(frame, value));
    }
    fprintf(frame->out, "\"/>\n");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        double value = results_median(results, row, one->name, sizes[i]);
        char words[32];
        if (value <= 0)
            continue;
        fprintf(frame->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                x_of(frame, i), y_of(frame, value), one->colour);
        snprintf(words, sizeof words, value >= 10 ? "%.0f" : "%.2f", value);
        if (ours)
            svg_text(frame->out, x_of(frame, i), y_of(frame, value) - 8, "value", "middle", words);
    }
}

void plot_write(const struct results *results, const char *path)
{
    FILE *out = svg_begin(path, &page, &results->machine);
    draw_legend(out);
    for (unsigned i = 0; i < PANEL_COUNT; i++) {
        unsigned column = i % COLUMNS, line = i / COLUMNS;
        struct frame frame = {
            .out = out, .left = LEFT + (double)column * ACROSS, .top = TOP + (double)line * DOWN};
        if (!decades_of(results, panels[i].row, &frame))
            continue;
        draw_scale(&frame, &panels[i]);
        for (size_t j = 0; j < SERIES_COUNT; j++)
            draw_series(&frame, results, panels[i].row, &series[j]);
    }
    svg_end(out, path);
}
