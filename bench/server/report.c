/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "results.h"

static void print_figure(FILE *out, const struct figure *figure)
{
    double median = bench_median(&figure->samples);
    double least = bench_least(&figure->samples), most = bench_most(&figure->samples);
    fprintf(out, "  %-24s %-11s %12.*f %-8s", figure->row, figure->server, bench_digits_of(median),
            median, figure->unit);
    if (figure->samples.count > 1)
        fprintf(out, " %.*f - %.*f", bench_digits_of(least), least, bench_digits_of(most), most);
    fprintf(out, "\n");
}

static void print_figures(const struct results *results, FILE *out)
{
    fprintf(out, "\nMedians, with the least and the most\n");
    for (size_t i = 0; i < results->count; i++) {
        if (results->figures[i].pending == 0)
            print_figure(out, &results->figures[i]);
    }
}

/* ---- how cost grows: a line a figure, a column a size */

static const uint64_t sizes[] = {10000, 100000, 1000000, 10000000};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static bool is_first(const struct results *results, size_t index)
{
    const struct figure *figure = &results->figures[index];
    for (size_t i = 0; i < index; i++) {
        const struct figure *earlier = &results->figures[i];
        if (earlier->pending > 0 && strcmp(earlier->row, figure->row) == 0 &&
            strcmp(earlier->server, figure->server) == 0)
            return false;
    }
    return figure->pending > 0;
}

static void print_growth(const struct results *results, FILE *out)
{
    bool headed = false;
    for (size_t i = 0; i < results->count; i++) {
        const struct figure *figure = &results->figures[i];
        if (!is_first(results, i))
            continue;
        if (!headed)
            fprintf(out, "\n%-40s %10s %10s %10s %10s\n", "With so many tasks pending", "10k",
                    "100k", "1M", "10M");
        headed = true;
        fprintf(out, "  %-17s %-11s %-8s", figure->row, figure->server, figure->unit);
        for (size_t j = 0; j < SIZE_COUNT; j++) {
            double value = results_median(results, figure->row, figure->server, sizes[j]);
            if (results_find(results, figure->row, figure->server, sizes[j]) != NULL)
                fprintf(out, " %10.*f", bench_digits_of(value), value);
            else
                fprintf(out, " %10s", "");
        }
        fprintf(out, "\n");
    }
}

void report_print(const struct results *results, FILE *out)
{
    struct bench_targets targets = {0};
    bool fair = targets_check(results, &targets);
    bench_machine_print(&results->machine, out);
    fprintf(out, "Files on %s; load average at the start %.2f\n", scratch_filesystem(),
            results->load_before);
    if (results->load_before > results->machine.cores / 4.0)
        fprintf(out, "Others were at work on this machine: take the rates with care.\n");
    print_figures(results, out);
    print_growth(results, out);
    fprintf(out, "\nTargets\n");
    for (size_t i = 0; i < targets.count; i++)
        bench_target_print(&targets.at[i], out);
    if (!fair)
        fprintf(out, "\nVOID: a peer stays below 0.7 of what it is known to do (the lines that "
                     "begin with fair).\n");
    fprintf(out, "\n");
}

static void write_figure(struct bench_json *json, const struct figure *figure)
{
    bench_row_begin(json);
    bench_row_text(json, "name", figure->row);
    bench_row_text(json, "server", figure->server);
    bench_row_count(json, "pending", figure->pending);
    bench_row_text(json, "unit", figure->unit);
    bench_row_number(json, "value", bench_median(&figure->samples));
    bench_row_number(json, "least", bench_least(&figure->samples));
    bench_row_number(json, "most", bench_most(&figure->samples));
    bench_row_count(json, "rounds", figure->samples.count);
    bench_row_end(json);
}

void report_write(const struct results *results, const char *path)
{
    struct bench_json json;
    struct bench_targets targets = {0};
    bool fair = targets_check(results, &targets);
    bench_json_begin(&json, path, &results->machine);
    bench_row_begin(&json);
    bench_row_text(&json, "name", "run");
    bench_row_text(&json, "filesystem", scratch_filesystem());
    bench_row_number(&json, "load_average", results->load_before);
    bench_row_truth(&json, "void", !fair);
    bench_row_end(&json);
    for (size_t i = 0; i < results->count; i++)
        write_figure(&json, &results->figures[i]);
    for (size_t i = 0; i < targets.count; i++)
        bench_row_target(&json, &targets.at[i]);
    bench_json_end(&json);
}
