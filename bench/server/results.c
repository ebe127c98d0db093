/* SPDX-License-Identifier: MIT */
#include "results.h"

#include <string.h>

static bool is(const struct figure *figure, const char *row, const char *server, uint64_t pending)
{
    return figure->pending == pending && strcmp(figure->row, row) == 0 &&
           strcmp(figure->server, server) == 0;
}

const struct figure *results_find(const struct results *results, const char *row,
                                  const char *server, uint64_t pending)
{
    for (size_t i = 0; i < results->count; i++) {
        if (is(&results->figures[i], row, server, pending))
            return &results->figures[i];
    }
    return NULL;
}

void results_add(struct results *results, const char *row, const char *server, uint64_t pending,
                 const char *unit, double value)
{
    struct figure *figure = NULL;
    for (size_t i = 0; i < results->count && figure == NULL; i++) {
        if (is(&results->figures[i], row, server, pending))
            figure = &results->figures[i];
    }
    if (figure == NULL) {
        if (results->count == FIGURES_MAX)
            bench_die("more than %d figures", FIGURES_MAX);
        figure = &results->figures[results->count++];
        *figure = (struct figure){.row = row, .server = server, .pending = pending, .unit = unit};
    }
    bench_sample(&figure->samples, value);
}

double results_median(const struct results *results, const char *row, const char *server,
                      uint64_t pending)
{
    const struct figure *figure = results_find(results, row, server, pending);
    return figure == NULL ? 0 : bench_median(&figure->samples);
}
