/* SPDX-License-Identifier: MIT */
/* The picture: every target a panel of bars, as long as the part of the target that is used up.
 * It brings its own white ground, so it reads the same on a dark page.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/results.h"

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

static void text(FILE *out, double x, double y, const char *class, const char *words)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, words);
}

static void draw_ground(FILE *out, const struct results *results)
{
    char words[256];
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-label=\"Live countdowns: each figure beside its "
            "target\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(out, "<style>\n"
                 "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
                 "fill:#2b2d33}\n"
                 ".title{font-size:21px;font-weight:650}\n"
                 ".sub{font-size:12.5px;fill:#5d616b}\n"
                 ".panel{font-size:14px;font-weight:600}\n"
                 ".axis{font-size:12px;fill:#5d616b}\n"
                 "</style>\n");
    fprintf(out,
            "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#ffffff\" "
            "stroke=\"#d5d8de\"/>\n",
            WIDTH - 1, HEIGHT - 1);
    text(out, 24, 38, "title", "Ticks and timeouts, and those who listen");
    text(out, 24, 59, "sub",
         "Medians. The line is the target, shorter is better; clients share the cores.");
    snprintf(words, sizeof words, "%s, %u cores, %s, commit %s", results->machine.cpu,
             results->machine.cores, results->machine.compiler, results->machine.commit);
    text(out, 24, HEIGHT - 14, "sub", words);
}

static void draw_bar(FILE *out, const struct panel *panel, const struct series *one, double value,
                     double y)
{
    char words[64];
    double part = value / panel->target;
    double width = BAR_WIDTH * (part < BAR_MOST ? part : BAR_MOST);
    snprintf(words, sizeof words, value >= 100 ? "%.0f %s%s" : "%.2g %s%s", value, panel->unit,
             part > BAR_MOST ? ", and further" : "");
    text(out, 24, y + 12, "axis", one->name);
    fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\" fill=\"%s\"/>\n",
            BAR_LEFT, y, width > 1 ? width : 1, one->colour);
    text(out, BAR_LEFT + (width > BAR_WIDTH - 60 && width < BAR_WIDTH ? BAR_WIDTH : width) + 8,
         y + 12, "axis", words);
}

static void draw_panel(FILE *out, const struct results *results, const struct panel *panel,
                       double top)
{
    char words[64];
    double y = top + 8;
    text(out, 24, top, "panel", panel->title);
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
    text(out, BAR_LEFT + BAR_WIDTH - 30, top - 2, "axis", words);
}

void plot_write(const struct results *results, const char *path)
{
    bench_make_folders(path);
    FILE *out = fopen(path, "w");
    if (out == NULL)
        bench_die("cannot write %s: %s", path, strerror(errno));
    draw_ground(out, results);
    for (size_t i = 0; i < PANEL_COUNT; i++) {
        if (results_find(results, panels[i].row, "tocsin", 0) != NULL)
            draw_panel(out, results, &panels[i], TOP + (double)i * DOWN);
    }
    fprintf(out, "</svg>\n");
    if (ferror(out) || fclose(out) != 0)
        bench_die("cannot write %s", path);
}
