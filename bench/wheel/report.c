/* SPDX-License-Identifier: MIT */
#include "results.h"

#include <stdio.h>

static void print_figure(FILE *out, const struct bench_samples *samples,
                         const struct bench_samples *ours)
{
    double value = bench_median(samples);
    fprintf(out, " %8.*f", value < 100 ? 1 : 0, value);
    if (ours == NULL || ours == samples)
        fprintf(out, "       ");
    else
        fprintf(out, " %5.1fx", value / bench_median(ours));
}

static void print_cell(FILE *out, const struct cell *cell, const struct cell *ours)
{
    fprintf(out, "  %-16s", cell->structure->name);
    print_figure(out, &cell->pair, ours != NULL ? &ours->pair : NULL);
    print_figure(out, &cell->rearm, ours != NULL ? &ours->rearm : NULL);
    print_figure(out, &cell->steady, ours != NULL ? &ours->steady : NULL);
    print_figure(out, &cell->expire, ours != NULL ? &ours->expire : NULL);
    fprintf(out, " %8.1f", bench_median(&cell->bytes));
    const struct structure *structure = cell->structure;
    if (structure->handle_bytes > 0)
        fprintf(out, "   + %zu for a handle", structure->handle_bytes);
    else
        fprintf(out, "   %zu at the caller's + %zu inside", structure->caller_bytes,
                structure->inner_bytes);
    fprintf(out, "\n");
}

static void print_heading(FILE *out, const struct cell *cell)
{
    fprintf(out, "\n%u pending, %s (%zu round%s; the clock running: %.2f fired per pair)\n",
            cell->pending, dist_text(cell->dist), cell->pair.count,
            cell->pair.count == 1 ? "" : "s", bench_median(&cell->steady_fired));
    fprintf(out, "  %-16s %8s %6s %8s %6s %8s %6s %8s %6s %8s\n", "ns, median", "pair", "", "rearm",
            "", "running", "", "expire", "", "bytes");
}

/* A line per structure, under a heading per workload, in the order measured. */
static void print_cells(const struct results *results, FILE *out)
{
    bool printed[CELLS_MAX] = {false};
    for (size_t i = 0; i < results->cell_count; i++) {
        const struct cell *first = &results->cells[i];
        if (printed[i])
            continue;
        const struct cell *ours = results_find(results, "tocsin", first->dist, first->pending);
        print_heading(out, first);
        for (size_t j = i; j < results->cell_count; j++) {
            const struct cell *cell = &results->cells[j];
            if (cell->dist != first->dist || cell->pending != first->pending)
                continue;
            print_cell(out, cell, ours);
            printed[j] = true;
        }
    }
}

static void print_legend(FILE *out)
{
    fprintf(
        out,
        "\npair     cancel + arm of a random timer, the clock standing still\n"
        "rearm    the same in the one call there is for it\n"
        "running  per pair, 1 ms passing each pending/6000 pairs; what fires is armed again;\n"
        "         ours over a full turn of 65.5 s, the peers for at most 500k pairs of the same\n"
        "expire   per timer, the clock running until all have fired, some 64 timers a turn,\n"
        "         without a system call in the peers' loops\n"
        "bytes    growth of resident memory per timer, with the caller's own object\n");
}

static void print_spread(FILE *out, const char *name, const struct bench_samples *samples)
{
    fprintf(out, "  %-52s %8.1f ns   %.1f - %.1f\n", name, bench_median(samples),
            bench_least(samples), bench_most(samples));
}

static void print_others(const struct results *results, FILE *out)
{
    if (results->miss_small.count == 0)
        return;
    fprintf(out, "\nyardsticks and inbox (median, range)\n");
    print_spread(out, "dependent random miss, 4 KiB pages", &results->miss_small);
    print_spread(out, "dependent random miss, huge pages", &results->miss_huge);
    print_spread(out, "independent random miss, huge pages", &results->independent);
    print_spread(out, "handle and node touched, 1M, nothing else", &results->touch);
    print_spread(out, "fetch-add contended by two threads", &results->contended_add);
    print_spread(out, "inbox push, two producers, room for all", &results->burst_push);
    print_spread(out, "inbox drain, per push", &results->burst_drain);
    print_spread(out, "inbox push while drained, producer's CPU", &results->drained_push);
    print_spread(out, "inbox push while drained, all that passed", &results->drained_wall);
    fprintf(out, "  %-52s %8.2f\n", "answers FULL per push while drained",
            bench_median(&results->drained_full));
}

static void print_targets(const struct results *results, FILE *out)
{
    struct bench_targets targets = {0};
    bool fair = targets_check(results, &targets);
    size_t met = 0;
    fprintf(out, "\ntargets\n");
    for (size_t i = 0; i < targets.count; i++) {
        bench_target_print(&targets.at[i], out);
        met += bench_target_met(&targets.at[i]);
    }
    fprintf(out, "\n%zu of %zu targets met.", met, targets.count);
    if (!fair)
        fprintf(out, " THE RUN IS VOID: a peer stayed below 0.7 of its known speed.");
    fprintf(out, "\n");
}

void report_print(const struct results *results, FILE *out)
{
    bench_machine_print(&results->machine, out);
    fprintf(out, "seed %llu\n", (unsigned long long)results->seed);
    print_cells(results, out);
    print_legend(out);
    print_others(results, out);
    print_targets(results, out);
}

static void write_spread(struct bench_json *json, const char *key,
                         const struct bench_samples *samples)
{
    char name[48];
    bench_row_number(json, key, bench_median(samples));
    snprintf(name, sizeof name, "%s_least", key);
    bench_row_number(json, name, bench_least(samples));
    snprintf(name, sizeof name, "%s_most", key);
    bench_row_number(json, name, bench_most(samples));
}

static void write_cell(struct bench_json *json, const struct cell *cell)
{
    const struct structure *structure = cell->structure;
    bench_row_begin(json);
    bench_row_text(json, "structure", structure->name);
    bench_row_text(json, "version", structure->version());
    bench_row_count(json, "pending", cell->pending);
    bench_row_text(json, "dist", dist_name(cell->dist));
    bench_row_count(json, "rounds", cell->pair.count);
    write_spread(json, "pair_ns", &cell->pair);
    write_spread(json, "rearm_ns", &cell->rearm);
    write_spread(json, "steady_ns", &cell->steady);
    bench_row_number(json, "steady_fired_per_pair", bench_median(&cell->steady_fired));
    write_spread(json, "expire_ns", &cell->expire);
    bench_row_number(json, "expire_turns", bench_median(&cell->expire_turns));
    bench_row_number(json, "bytes", bench_median(&cell->bytes));
    bench_row_count(json, "caller_bytes", structure->caller_bytes);
    bench_row_count(json, "handle_bytes", structure->handle_bytes);
    bench_row_end(json);
}

static void write_figure(struct bench_json *json, const char *name,
                         const struct bench_samples *samples)
{
    if (samples->count == 0)
        return;
    bench_row_begin(json);
    bench_row_text(json, "name", name);
    write_spread(json, "ns", samples);
    bench_row_end(json);
}

void report_write(const struct results *results, const char *path)
{
    struct bench_json json;
    struct bench_targets targets = {0};
    bool fair = targets_check(results, &targets);
    bench_json_begin(&json, path, &results->machine);
    for (size_t i = 0; i < results->cell_count; i++)
        write_cell(&json, &results->cells[i]);
    write_figure(&json, "yardstick: dependent random miss, 4 KiB pages", &results->miss_small);
    write_figure(&json, "yardstick: dependent random miss, huge pages", &results->miss_huge);
    write_figure(&json, "yardstick: independent random miss", &results->independent);
    write_figure(&json, "yardstick: handle and node touched, 1M", &results->touch);
    write_figure(&json, "yardstick: contended fetch-add", &results->contended_add);
    write_figure(&json, "inbox: push with room for all", &results->burst_push);
    write_figure(&json, "inbox: drain, per push", &results->burst_drain);
    write_figure(&json, "inbox: push while drained, CPU", &results->drained_push);
    write_figure(&json, "inbox: push while drained, elapsed", &results->drained_wall);
    for (size_t i = 0; i < targets.count; i++)
        bench_row_target(&json, &targets.at[i]);
    bench_row_begin(&json);
    bench_row_text(&json, "name", "run is valid: every peer within 0.7 of its known speed");
    bench_row_truth(&json, "valid", fair);
    bench_row_end(&json);
    bench_json_end(&json);
}
