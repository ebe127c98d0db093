/* SPDX-License-Identifier: MIT */
/* metrics.h - how much of each, so far and now?
 *
 * Counters, gauges and histograms from a table of rows; a row's number in the table is its
 * name in calls. metrics_write gives them all in the Prometheus text format, version 0.0.4.
 *
 *     metrics_count(metrics, TASKS_ADDED, 0, 1);
 *     metrics_observe(metrics, LATENESS, 0, late_ns);
 *     metrics_set(metrics, QUEUE_DEPTH, metrics_name(metrics, queue), depth);
 *
 * Series    a row without labels has one, 0. A label with fixed values has one for each, in
 *           their order; two such labels have one for each pair (metrics_pair). A label whose
 *           values come up while running (at most one such label in a table, METRIC_NAMES_MAX
 *           values) has those that metrics_name knows, and "other" for the rest.
 * Units     values are whole numbers; a row says of what (METRIC_NS are written as seconds).
 * Cost      counting, setting and observing some ns; nothing allocates after init.
 * Threads   one thread counts, sets, observes and names; another may write them out at the
 *           same time, but not while names come up or are forgotten. Who counts from
 *           elsewhere uses metrics_count_shared, on rows that nobody counts otherwise.
 */
#ifndef TOCSIN_BASE_METRICS_H
#define TOCSIN_BASE_METRICS_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum {
    METRIC_NAMES_MAX = 64,
    METRIC_NAME_BYTES_MAX = 255, /* of a value that came up while running */
    METRIC_LABELS_MAX = 2,
    METRIC_BOUNDS_MAX = 24,
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum metric_unit { METRIC_ONE, METRIC_MS, METRIC_NS };

struct metric_label {
    const char *name;
    const char *const *values; /* NULL: they come up while running */
    size_t count;              /* METRIC_NAMES_MAX + 1 then, with "other" */
};

/* Upper bounds, ascending, in the row's unit; what is above the last is counted as well. */
struct metric_bounds {
    size_t count;
    uint64_t at[METRIC_BOUNDS_MAX];
};

struct metric_row {
    const char *name;
    enum metric_type type;
    enum metric_unit unit;
    const struct metric_label *labels[METRIC_LABELS_MAX]; /* NULL: none */
    const struct metric_bounds *bounds;                   /* of a histogram */
    const char *help;
};

struct metrics {
    const struct metric_row *rows;
    size_t row_count;
    uint32_t *first;         /* of each row: its first cell */
    _Atomic uint64_t *cells; /* gauges as int64_t */
    char (*names)[METRIC_NAME_BYTES_MAX + 1];
    size_t name_count;
    uint64_t names_refused; /* calls that got "other", since init */
};

/* The rows stay the caller's. NO_MEMORY: nothing is left to release. */
enum tocsin_status metrics_init(struct metrics *metrics, const struct metric_row *rows,
                                size_t count);
void metrics_release(struct metrics *metrics);

/* The series of a pair of label values. */
static inline size_t metrics_pair(const struct metrics *metrics, size_t row, size_t one,
                                  size_t other)
{
    const struct metric_label *const *labels = metrics->rows[row].labels;
    assert(labels[1] != NULL && one < labels[0]->count && other < labels[1]->count);
    return one * labels[1]->count + other;
}

/* The series of a value that came up while running: known, new, or "other". */
size_t metrics_name(struct metrics *metrics, struct bytes name);
/* None is known any more, and all their series are 0: for gauges that are set anew each time
 * before writing. */
void metrics_forget_names(struct metrics *metrics);

static inline _Atomic uint64_t *metrics_cell(const struct metrics *metrics, size_t row,
                                             size_t series)
{
    assert(row < metrics->row_count && metrics->first[row] + series < metrics->first[row + 1]);
    return &metrics->cells[metrics->first[row] + series];
}

/* Not an atomic addition: this is the only thread that writes. */
static inline void metrics_raise(_Atomic uint64_t *cell, uint64_t by)
{
    uint64_t was = atomic_load_explicit(cell, memory_order_relaxed);
    atomic_store_explicit(cell, was + by, memory_order_relaxed);
}

static inline void metrics_count(struct metrics *metrics, size_t row, size_t series, uint64_t by)
{
    metrics_raise(metrics_cell(metrics, row, series), by);
}

/* From any thread. */
static inline void metrics_count_shared(struct metrics *metrics, size_t row, size_t series,
                                        uint64_t by)
{
    atomic_fetch_add_explicit(metrics_cell(metrics, row, series), by, memory_order_relaxed);
}

/* A gauge, or a counter whose total somebody else keeps. */
static inline void metrics_set(struct metrics *metrics, size_t row, size_t series, int64_t value)
{
    atomic_store_explicit(metrics_cell(metrics, row, series), (uint64_t)value,
                          memory_order_relaxed);
}

/* A gauge that several sources add up to; by may be negative. */
static inline void metrics_add(struct metrics *metrics, size_t row, size_t series, int64_t by)
{
    metrics_raise(metrics_cell(metrics, row, series), (uint64_t)by);
}

void metrics_observe(struct metrics *metrics, size_t row, size_t series, uint64_t value);

/* Of a counter or a gauge, as it stands. */
static inline int64_t metrics_value(const struct metrics *metrics, size_t row, size_t series)
{
    return (int64_t)atomic_load_explicit(metrics_cell(metrics, row, series), memory_order_relaxed);
}
/* How many were observed; of a histogram. */
uint64_t metrics_observed(const struct metrics *metrics, size_t row, size_t series);

/* Appends all of them. Whether they fitted is the buffer's to tell. */
void metrics_write(const struct metrics *metrics, struct buffer *out);

#endif
