/* SPDX-License-Identifier: MIT */
/* The picture: every target a panel of bars, as long as the part of the target that is used up. */
#include <stdio.h>

#include "server/results.h"
#include "svg.h"

enum { WIDTH = 860, TOP = 116, DOWN = 92, BAR_LEFT = 130, BAR_WIDTH = 420, BAR_DOWN = 20 };
static const double BAR_MOST = 1.4; /* times the target; what is longer is cut */

static const struct series {
    const char *server, *name, *colour;
} series[] = {
    {"tocsin", "tocsin", "#d1480b"},
    {"ws", "Node's ws", "#1f6fb4"},
    {"yardstick", "bare sends", "#9aa0aa"},
};
enum { SERIES_COUNT = sizeof series / sizeof series[0] };

static const struct panel {
    const char *row, *title, *unit;
    double target;
} panels[] = {
    {"ticks-jitter-p99", "100 000 countdowns: jitter of a tick, p99", "ms", 20},
    {"ticks-cpu", "100 000 countdowns, nobody listens: of one core", "%", 60},
    {"fanout-p99", "10 000 clients of one topic: from due to received, p99", "ms", 200},
    {"fanout-cpu", "10 000 clients of one topic: server's processor for each", "us", 15},
    {"rooms-p99", "5 000 rooms of two clients: from due to received, p99", "ms", 50},
    {"fanout-timeout-p99", "Timeouts under 10 000 clients: lateness, p99", "ms", 5},
    {"rooms-timeout-p99", "Timeouts under 5 000 rooms: lateness, p99", "ms", 5},
};
enum { PANEL_COUNT = sizeof panels / sizeof panels[0], HEIGHT = TOP + PANEL_COUNT * DOWN + 30 };

static const struct svg_page page = {
    .width = WIDTH,
    .height = HEIGHT,
    .label = "Live countdowns: each figure beside its target",
    .style = ".panel{font-size:14px;font-weight:600}\n"
             ".axis{font-size:12px;fill:#5d616b}\n",
    .title = "Ticks and timeouts, and those who listen",
    .sub = "Medians. The line is the target, shorter is better; clients share the cores.",
    .foot = 14,
};

static void draw_bar(FILE *out, const struct panel *panel, const struct series *one, double value,
                     double y)
{
    char words[64];
    double part = value / panel->target;
    double width = BAR_WIDTH * (part < BAR_MOST ? part : BAR_MOST);
    snprintf(words, sizeof words, value >= 100 ? "%.0f %s%s" : "%.2g %s%s", value, panel->unit,
             part > BAR_MOST ? ", and further" : "");
    svg_text(out, 24, y + 12, "axis", "start", one->name);
    fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\" fill=\"%s\"/>\n",
            BAR_LEFT, y, width > 1 ? width : 1, one->colour);
    svg_text(out, BAR_LEFT + (width > BAR_WIDTH - 60 && width < BAR_WIDTH ? BAR_WIDTH : width) + 8,
             y + 12, "axis", "start", words);
}

static void draw_panel(FILE *out, const struct results *results, const struct panel *panel,
                       double top)
{
    char words[64];
    double y = top + 8;
    svg_text(out, 24, top, "panel", "start", panel->title);
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        if (results_find(results, panel->row, series[i].server, 0) == NULL)
            continue;
        draw_bar(out, panel, &series[i], results_median(results, panel->row, series[i].server, 0),
                 y);
        y += BAR_DOWN;
    }
    fprintf(out,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#2b2d33\" "
            "stroke-dasharray=\"3 3\"/>\n",
            BAR_LEFT + BAR_WIDTH, top + 3, BAR_LEFT + BAR_WIDTH, y);
    snprintf(words, sizeof words, "target %g %s", panel->target, panel->unit);
    svg_text(out, BAR_LEFT + BAR_WIDTH - 30, top - 2, "axis", "start", words);
}

void plot_write(const struct results *results, const char *path)
{
    FILE *out = svg_begin(path, &page, &results->machine);
    for (size_t i = 0; i < PANEL_COUNT; i++) {
        if (results_find(results, panels[i].row, "tocsin", 0) != NULL)
            draw_panel(out, results, &panels[i], TOP + (double)i * DOWN);
    }
    svg_end(out, path);
}
