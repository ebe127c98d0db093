/* SPDX-License-Identifier: MIT */
#include "base/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

/* The cells of a series of a histogram: one per bound, one for what is above, the sum. */
static size_t cells_of_series(const struct metric_row *row)
{
    return row->type == METRIC_HISTOGRAM ? row->bounds->count + 2 : 1;
}

static size_t series_of_row(const struct metric_row *row)
{
    size_t count = 1;
    for (size_t i = 0; i < METRIC_LABELS_MAX && row->labels[i] != NULL; i++)
        count *= row->labels[i]->count;
    return count;
}

static bool named_while_running(const struct metric_row *row)
{
    return row->labels[0] != NULL && row->labels[0]->values == NULL;
}

static void check_row(const struct metric_row *row)
{
    assert(row->help != NULL && row->help[0] != '\0');
    assert((row->type == METRIC_HISTOGRAM) == (row->bounds != NULL));
    assert(row->labels[1] == NULL || row->labels[1]->values != NULL);
    assert(!named_while_running(row) ||
           (row->labels[0]->count == METRIC_NAMES_MAX + 1 && row->labels[1] == NULL));
    for (size_t i = 1; row->bounds != NULL && i < row->bounds->count; i++)
        assert(row->bounds->at[i - 1] < row->bounds->at[i]);
}

enum tocsin_status metrics_init(struct metrics *metrics, const struct metric_row *rows,
                                size_t count)
{
    *metrics = (struct metrics){.rows = rows, .row_count = count};
    metrics->first = calloc(count + 1, sizeof *metrics->first);
    metrics->names = calloc(METRIC_NAMES_MAX, sizeof *metrics->names);
    size_t cells = 0;
    for (size_t i = 0; metrics->first != NULL && i < count; i++) {
        check_row(&rows[i]);
        cells += series_of_row(&rows[i]) * cells_of_series(&rows[i]);
        metrics->first[i + 1] = (uint32_t)cells;
    }
    metrics->cells = calloc(cells > 0 ? cells : 1, sizeof *metrics->cells);
    if (metrics->first == NULL || metrics->names == NULL || metrics->cells == NULL) {
        metrics_release(metrics);
        return TOCSIN_NO_MEMORY;
    }
    return TOCSIN_OK;
}

void metrics_release(struct metrics *metrics)
{
    free(metrics->first);
    free(metrics->cells);
    free(metrics->names);
    *metrics = (struct metrics){0};
}

size_t metrics_name(struct metrics *metrics, struct bytes name)
{
    for (size_t i = 0; i < metrics->name_count; i++) {
        if (bytes_are(name, metrics->names[i]))
            return i;
    }
    bool bad = name.size > METRIC_NAME_BYTES_MAX || memchr(name.at, 0, name.size) != NULL;
    if (bad || metrics->name_count == METRIC_NAMES_MAX) {
        metrics->names_refused++;
        return METRIC_NAMES_MAX;
    }
    memcpy(metrics->names[metrics->name_count], name.at, name.size);
    metrics->names[metrics->name_count][name.size] = '\0';
    return metrics->name_count++;
}

void metrics_forget_names(struct metrics *metrics)
{
    metrics->name_count = 0;
    for (size_t row = 0; row < metrics->row_count; row++) {
        if (!named_while_running(&metrics->rows[row]))
            continue;
        for (uint32_t i = metrics->first[row]; i < metrics->first[row + 1]; i++)
            atomic_store_explicit(&metrics->cells[i], 0, memory_order_relaxed);
    }
}

void metrics_observe(struct metrics *metrics, size_t row, size_t series, uint64_t value)
{
    const struct metric_bounds *bounds = metrics->rows[row].bounds;
    assert(bounds != NULL);
    _Atomic uint64_t *cells = metrics_cell(metrics, row, series * (bounds->count + 2));
    size_t bucket = 0;
    while (bucket < bounds->count && value > bounds->at[bucket])
        bucket++;
    metrics_raise(&cells[bucket], 1);
    metrics_raise(&cells[bounds->count + 1], value);
}

uint64_t metrics_observed(const struct metrics *metrics, size_t row, size_t series)
{
    const struct metric_bounds *bounds = metrics->rows[row].bounds;
    assert(bounds != NULL);
    const _Atomic uint64_t *cells = metrics_cell(metrics, row, series * (bounds->count + 2));
    uint64_t sum = 0;
    for (size_t i = 0; i <= bounds->count; i++)
        sum += atomic_load_explicit(&cells[i], memory_order_relaxed);
    return sum;
}

enum { NUMBER_BYTES = 40 };

/* Exactly, without a detour through floating point: 131000 ns are 0.000131 seconds. */
static void format_whole(bool negative, uint64_t value, enum metric_unit unit,
                         char text[NUMBER_BYTES])
{
    static const struct {
        uint64_t per_second;
        int digits;
    } units[] = {[METRIC_ONE] = {1, 0}, [METRIC_MS] = {1000, 3}, [METRIC_NS] = {1000000000, 9}};
    uint64_t rest = value % units[unit].per_second;
    int size = snprintf(text, NUMBER_BYTES, "%s%" PRIu64, negative && value > 0 ? "-" : "",
                        value / units[unit].per_second);
    if (rest == 0)
        return;
    size += snprintf(text + size, (size_t)(NUMBER_BYTES - size), ".%0*" PRIu64, units[unit].digits,
                     rest);
    while (text[size - 1] == '0')
        text[--size] = '\0';
}

/* What the format wants escaped in a label's value; it must be UTF-8, too. */
static void put_escaped(struct buffer *out, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(text + at, size - at);
        char byte = text[at];
        if (length == 0)
            buffer_append_text(out, "\xef\xbf\xbd");
        else if (byte == '\n')
            buffer_append_text(out, "\\n");
        else if (byte == '\\' || byte == '"')
            buffer_append(out, (char[]){'\\', byte}, 2);
        else
            buffer_append(out, text + at, length);
        at += length > 0 ? length : 1;
    }
}

static void put_label(struct buffer *out, bool *any, const char *name, const char *value)
{
    buffer_append_byte(out, *any ? ',' : '{');
    *any = true;
    buffer_append_text(out, name);
    buffer_append_text(out, "=\"");
    put_escaped(out, value);
    buffer_append_byte(out, '"');
}

static const char *value_name(const struct metrics *metrics, const struct metric_label *label,
                              size_t value)
{
    if (label->values != NULL)
        return label->values[value];
    return value == METRIC_NAMES_MAX ? "other" : metrics->names[value];
}

/* name_suffix{labels,le="bound"} number */
static void put_sample(const struct metrics *metrics, size_t row, size_t series, const char *suffix,
                       const char *bound, const char *number, struct buffer *out)
{
    const struct metric_row *about = &metrics->rows[row];
    const struct metric_label *const *labels = about->labels;
    bool any = false;
    buffer_append_text(out, about->name);
    buffer_append_text(out, suffix);
    if (labels[0] != NULL) {
        size_t inner = labels[1] != NULL ? labels[1]->count : 1;
        put_label(out, &any, labels[0]->name, value_name(metrics, labels[0], series / inner));
        if (labels[1] != NULL)
            put_label(out, &any, labels[1]->name, value_name(metrics, labels[1], series % inner));
    }
    if (bound != NULL)
        put_label(out, &any, "le", bound);
    buffer_append_text(out, any ? "} " : " ");
    buffer_append_text(out, number);
    buffer_append_byte(out, '\n');
}

static void put_histogram(const struct metrics *metrics, size_t row, size_t series,
                          struct buffer *out)
{
    const struct metric_bounds *bounds = metrics->rows[row].bounds;
    const _Atomic uint64_t *cells = metrics_cell(metrics, row, series * (bounds->count + 2));
    enum metric_unit unit = metrics->rows[row].unit;
    char bound[NUMBER_BYTES];
    char number[NUMBER_BYTES] = "0";
    uint64_t sum = 0;
    for (size_t i = 0; i < bounds->count; i++) {
        sum += atomic_load_explicit(&cells[i], memory_order_relaxed);
        format_whole(false, bounds->at[i], unit, bound);
        format_whole(false, sum, METRIC_ONE, number);
        put_sample(metrics, row, series, "_bucket", bound, number, out);
    }
    sum += atomic_load_explicit(&cells[bounds->count], memory_order_relaxed);
    format_whole(false, sum, METRIC_ONE, number);
    put_sample(metrics, row, series, "_bucket", "+Inf", number, out);
    char total[NUMBER_BYTES];
    format_whole(false, atomic_load_explicit(&cells[bounds->count + 1], memory_order_relaxed), unit,
                 total);
    put_sample(metrics, row, series, "_sum", NULL, total, out);
    put_sample(metrics, row, series, "_count", NULL, number, out);
}

static void put_plain(const struct metrics *metrics, size_t row, size_t series, struct buffer *out)
{
    const struct metric_row *about = &metrics->rows[row];
    uint64_t cell = (uint64_t)metrics_value(metrics, row, series);
    bool negative = about->type == METRIC_GAUGE && (int64_t)cell < 0;
    char number[NUMBER_BYTES];
    format_whole(negative, negative ? 0 - cell : cell, about->unit, number);
    put_sample(metrics, row, series, "", NULL, number, out);
}

static void put_head(const struct metric_row *row, struct buffer *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    const char *const words[] = {
        "# HELP ", row->name, " ", row->help, "\n# TYPE ", row->name, " ", types[row->type], "\n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        buffer_append_text(out, words[i]);
}

void metrics_write(const struct metrics *metrics, struct buffer *out)
{
    for (size_t row = 0; row < metrics->row_count; row++) {
        const struct metric_row *about = &metrics->rows[row];
        bool by_name = named_while_running(about);
        size_t count = series_of_row(about);
        put_head(about, out);
        for (size_t series = 0; series < count; series++) {
            /* "other" is shown once there is one, and the names that are not in use never. */
            if (by_name && series >= metrics->name_count &&
                !(series == METRIC_NAMES_MAX && metrics->names_refused > 0))
                continue;
            if (about->type == METRIC_HISTOGRAM)
                put_histogram(metrics, row, series, out);
            else
                put_plain(metrics, row, series, out);
        }
    }
}
