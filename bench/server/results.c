/* SPDX-License-Identifier: MIT */
#include "results.h"

#include <string.h>

/* The count when there is no such figure. */
static size_t place_of(const struct results *results, const char *row, const char *server,
                       uint64_t pending)
{
    size_t i = 0;
    for (; i < results->count; i++) {
        const struct figure *figure = &results->figures[i];
        if (figure->pending == pending && strcmp(figure->row, row) == 0 &&
            strcmp(figure->server, server) == 0)
            break;
    }
    return i;
}

const struct figure *results_find(const struct results *results, const char *row,
                                  const char *server, uint64_t pending)
{
    size_t place = place_of(results, row, server, pending);
    return place < results->count ? &results->figures[place] : NULL;
}

void results_add(struct results *results, const char *row, const char *server, uint64_t pending,
                 const char *unit, double value)
{
    size_t place = place_of(results, row, server, pending);
    if (place == FIGURES_MAX)
        bench_die("more than %d figures", FIGURES_MAX);
    struct figure *figure = &results->figures[place];
    if (place == results->count) {
        results->count++;
        *figure = (struct figure){.server = server, .pending = pending, .unit = unit};
        snprintf(figure->row, sizeof figure->row, "%s", row);
    }
    bench_sample(&figure->samples, value);
}

void results_add_ranks(struct results *results, const char *row, const char *server,
                       struct bench_ranks ranks)
{
    char name[ROW_BYTES];
    snprintf(name, sizeof name, "%s-p50", row);
    results_add(results, name, server, 0, "ms", ranks.p50_ms);
    snprintf(name, sizeof name, "%s-p99", row);
    results_add(results, name, server, 0, "ms", ranks.p99_ms);
    snprintf(name, sizeof name, "%s-most", row);
    results_add(results, name, server, 0, "ms", ranks.most_ms);
}

double results_median(const struct results *results, const char *row, const char *server,
                      uint64_t pending)
{
    const struct figure *figure = results_find(results, row, server, pending);
    return figure == NULL ? 0 : bench_median(&figure->samples);
}
