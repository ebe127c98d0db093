/* SPDX-License-Identifier: MIT */
#include "results.h"

#include <math.h>
#include <string.h>

/* cell_count when there is no such cell. */
static size_t place_of(const struct results *results, const char *structure, enum dist dist,
                       uint32_t pending)
{
    size_t i = 0;
    for (; i < results->cell_count; i++) {
        const struct cell *cell = &results->cells[i];
        if (cell->dist == dist && cell->pending == pending &&
            strcmp(cell->structure->name, structure) == 0)
            break;
    }
    return i;
}

const struct cell *results_find(const struct results *results, const char *structure,
                                enum dist dist, uint32_t pending)
{
    size_t place = place_of(results, structure, dist, pending);
    return place < results->cell_count ? &results->cells[place] : NULL;
}

void results_add(struct results *results, const struct structure *structure,
                 const struct workload *workload, const struct figures *figures)
{
    size_t place = place_of(results, structure->name, workload->dist, workload->pending);
    if (place == CELLS_MAX)
        bench_die("more than %d lines to measure", CELLS_MAX);
    struct cell *cell = &results->cells[place];
    if (place == results->cell_count) {
        results->cell_count++;
        cell->structure = structure;
        cell->dist = workload->dist;
        cell->pending = workload->pending;
    }
    bench_sample(&cell->pair, figures->pair_ns);
    bench_sample(&cell->rearm, figures->rearm_ns);
    bench_sample(&cell->steady, figures->steady_ns);
    bench_sample(&cell->steady_fired, figures->steady_fired);
    bench_sample(&cell->expire, figures->expire_ns);
    bench_sample(&cell->expire_turns, figures->expire_turns);
    bench_sample(&cell->bytes, figures->bytes);
    bench_sample(&cell->timer_bytes, figures->timer_bytes);
}

void results_add_yardsticks(struct results *results, const struct yardsticks *yardsticks)
{
    bench_sample(&results->miss_small, yardsticks->miss_small_ns);
    bench_sample(&results->miss_huge, yardsticks->miss_huge_ns);
    bench_sample(&results->independent, yardsticks->independent_ns);
    bench_sample(&results->touch, yardsticks->touch_ns);
    bench_sample(&results->contended_add, yardsticks->contended_add_ns);
}

void results_add_inbox(struct results *results, const struct inbox_figures *figures)
{
    bench_sample(&results->burst_push, figures->burst_push_ns);
    bench_sample(&results->burst_fair, figures->burst_fair);
    bench_sample(&results->burst_drain, figures->burst_drain_ns);
    bench_sample(&results->drained_push, figures->drained_push_ns);
    bench_sample(&results->drained_wall, figures->drained_wall_ns);
    bench_sample(&results->drained_full, figures->drained_full);
}

double results_miss_ns(const struct results *results)
{
    return fmin(bench_median(&results->miss_small), bench_median(&results->miss_huge));
}
