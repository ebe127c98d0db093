/* SPDX-License-Identifier: MIT */
/* bench/wheel - is our wheel faster than the timers people use today?
 *
 * Round after round, and in a round structure after structure: what disturbs the
 * machine for a while disturbs all of them. Each measurement runs in a child of
 * its own (measure.c says what is timed), on a workload drawn from a seed that is
 * the same for all structures of a round. The medians over the rounds are printed,
 * held against the targets, and written to build/bench/wheel.json.
 */
#include "wheel/results.h"

#include <stdlib.h>
#include <string.h>

#include "args.h"

/* The order in a round: ours between the peers, to see what they leave behind. */
static const struct structure *const structures[] = {
    &structure_libev,    &structure_tocsin,          &structure_libuv,
    &structure_libevent, &structure_libevent_common,
};
enum { STRUCTURE_COUNT = sizeof structures / sizeof structures[0] };

/* 10M timers take a heap a minute to expire: all of it takes some 25 minutes. */
static const struct plan {
    uint32_t pending;
    enum dist dist;
    bool quick;
} plans[] = {
    {100000, DIST_UNIFORM, true},    {100000, DIST_LOG, false},   {100000, DIST_CONSTANT, false},
    {1000000, DIST_UNIFORM, true},   {1000000, DIST_LOG, false},  {1000000, DIST_CONSTANT, false},
    {10000000, DIST_UNIFORM, false}, {10000000, DIST_LOG, false}, {10000000, DIST_CONSTANT, false},
};
enum { PLAN_COUNT = sizeof plans / sizeof plans[0], ROUNDS = 5 };

struct options {
    bool quick;
    unsigned rounds; /* 0: as many as usual */
    uint64_t seed;
    uint32_t only_pending;
    const char *only_dist;
    const char *only_structure;
    const char *json_path;
    const char *plot_path;
};

static const char usage[] =
    "usage: bench-wheel [options]\n"
    "  --quick             100k and 1M, uniform delays\n"
    "  --rounds N          so many rounds for everything\n"
    "  --only KEY=VALUE    pending=1000000, dist=uniform|log|constant,\n"
    "                      structure=tocsin|libev|libuv|libevent|libevent-common,\n"
    "                      inbox=1 (yardsticks and inbox alone); may be repeated\n"
    "  --seed N            of the workloads; 1 unless given\n"
    "  --json PATH         build/bench/wheel.json unless given\n"
    "  --plot PATH         draw an SVG picture; without any option it is drawn at\n"
    "                      docs/bench-wheel.svg\n";

static void parse_only(struct options *options, const struct args *args)
{
    const char *value = strchr(args->value, '=');
    if (value == NULL)
        args_refuse(args, "--only wants KEY=VALUE");
    value++;
    if (strncmp(args->value, "pending=", 8) == 0)
        options->only_pending = (uint32_t)strtoul(value, NULL, 10);
    else if (strncmp(args->value, "dist=", 5) == 0)
        options->only_dist = value;
    else if (strncmp(args->value, "structure=", 10) == 0)
        options->only_structure = value;
    else if (strncmp(args->value, "inbox=", 6) == 0)
        options->only_structure = "none";
    else
        args_refuse(args, "--only knows pending, dist, structure and inbox");
}

static struct options parse(struct args args)
{
    struct options options = {.seed = 1, .json_path = "build/bench/wheel.json"};
    while (args_next(&args)) {
        if (args_flag(&args, "--quick"))
            options.quick = true;
        else if (args_value(&args, "--seed"))
            options.seed = strtoull(args.value, NULL, 10);
        else if (args_value(&args, "--only"))
            parse_only(&options, &args);
        else if (!args_unsigned(&args, "--rounds", &options.rounds) &&
                 !args_text(&args, "--json", &options.json_path) &&
                 !args_text(&args, "--plot", &options.plot_path))
            args_unknown(&args);
    }
    if (args.argc == 1)
        options.plot_path = "docs/bench-wheel.svg";
    if (options.rounds > BENCH_ROUNDS_MAX)
        args_refuse(&args, "too many rounds");
    return options;
}

static unsigned rounds_of(const struct options *options)
{
    if (options->rounds > 0)
        return options->rounds;
    return ROUNDS;
}

static bool plan_wanted(const struct options *options, const struct plan *plan, unsigned round)
{
    return round < rounds_of(options) && (!options->quick || plan->quick) &&
           (options->only_pending == 0 || options->only_pending == plan->pending) &&
           (options->only_dist == NULL || strcmp(options->only_dist, dist_name(plan->dist)) == 0);
}

static bool structure_wanted(const struct options *options, const struct structure *structure,
                             enum dist dist)
{
    if (structure == &structure_libevent_common && dist != DIST_CONSTANT)
        return false;
    return options->only_structure == NULL || strcmp(options->only_structure, structure->name) == 0;
}

static void run_plan(struct results *results, const struct options *options,
                     const struct plan *plan, unsigned round)
{
    struct workload workload;
    workload_init(&workload, plan->dist, plan->pending, options->seed * 1000 + round);
    for (size_t i = 0; i < STRUCTURE_COUNT; i++) {
        struct figures figures = {0};
        if (!structure_wanted(options, structures[i], plan->dist))
            continue;
        bench_progress("round %u of %u: %u pending, %s, %s", round + 1, rounds_of(options),
                       plan->pending, dist_name(plan->dist), structures[i]->name);
        measure_churn(structures[i], &workload, &figures);
        measure_expiry(structures[i], &workload, &figures);
        results_add(results, structures[i], &workload, &figures);
    }
    workload_release(&workload);
}

static void run_round(struct results *results, const struct options *options, unsigned round)
{
    enum { BUFFER_MIN_BYTES = 512 << 20 };
    size_t buffer_bytes = results->machine.cache_bytes * 8;
    struct yardsticks yardsticks;
    struct inbox_figures inbox;
    bench_progress("round %u: yardsticks", round + 1);
    yardstick_measure(buffer_bytes > BUFFER_MIN_BYTES ? buffer_bytes : BUFFER_MIN_BYTES,
                      &yardsticks);
    results_add_yardsticks(results, &yardsticks);
    bench_progress("round %u: inbox", round + 1);
    inbox_measure(&inbox);
    results_add_inbox(results, &inbox);
    for (size_t i = 0; i < PLAN_COUNT; i++) {
        if (plan_wanted(options, &plans[i], round))
            run_plan(results, options, &plans[i], round);
    }
}

int main(int argc, char **argv)
{
    static struct results results;
    struct options options = parse((struct args){"bench-wheel", usage, argc, argv});
    uint64_t from_ns = bench_now_ns();
    results.seed = options.seed;
    bench_machine_read(&results.machine);
    for (size_t i = 0; i < STRUCTURE_COUNT; i++)
        measure_check_clock(structures[i]);
    for (unsigned round = 0; round < rounds_of(&options); round++)
        run_round(&results, &options, round);
    bench_progress_end();

    report_print(&results, stdout);
    report_write(&results, options.json_path);
    printf("Written to %s", options.json_path);
    if (options.plot_path != NULL) {
        plot_write(&results, options.plot_path);
        printf(" and %s", options.plot_path);
    }
    printf(", in %.0f s.\n", (double)(bench_now_ns() - from_ns) / 1e9);
    return 0;
}
