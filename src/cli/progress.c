/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/figure.h"
#include "cli/when.h"

enum { REDRAW_US = 100000, BAR_COLS = 24, LINE_BYTES = 400 };

void progress_init(struct progress *progress, const char *what)
{
    const char *term = getenv("TERM");
    *progress = (struct progress){.what = what, .started_us = clock_now_us()};
    progress->shown = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static int terminal_cols(void)
{
    struct winsize size = {0};
    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    return size.ws_col > 0 ? size.ws_col : 80;
}

static void draw(const struct progress *progress, uint64_t done, uint64_t of, uint64_t now_us)
{
    char line[LINE_BYTES];
    char bar[BAR_COLS + 1];
    double part = of > 0 ? (double)done / (double)of : 0;
    part = part > 1 ? 1 : part;
    int filled = (int)(part * BAR_COLS);
    double seconds = (double)(now_us - progress->started_us) / 1e6;
    uint64_t rate = seconds > 0 ? (uint64_t)((double)done / seconds) : 0;
    for (int i = 0; i < BAR_COLS; i++)
        bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[BAR_COLS] = '\0';
    if (of == 0)
        (void)snprintf(line, sizeof line, "%s %s, %s/s", progress->what, figure_count(done).text,
                       figure_count(rate).text);
    else
        (void)snprintf(line, sizeof line, "%s [%s] %3d%%  %s of %s, %s/s, %s left", progress->what,
                       bar, (int)(part * 100), figure_count(done).text, figure_count(of).text,
                       figure_count(rate).text,
                       when_span(rate > 0 && of > done ? (of - done) * 1000 / rate : 0).text);
    (void)fprintf(stderr, "\r%.*s\033[K", terminal_cols() - 1, line);
    (void)fflush(stderr);
}

void progress_set(struct progress *progress, uint64_t done, uint64_t of)
{
    if (!progress->shown)
        return;
    uint64_t now_us = clock_now_us();
    if (progress->drawn && now_us - progress->drawn_us < REDRAW_US)
        return;
    progress->drawn = true;
    progress->drawn_us = now_us;
    draw(progress, done, of, now_us);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn)
        (void)fputs("\r\033[K", stderr);
    progress->drawn = false;
}
