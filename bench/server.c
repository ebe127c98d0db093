/* SPDX-License-Identifier: MIT */
/* bench/server - what can one Tocsin server do, beside the servers people use today?
 *
 * One load generator (load.c: one thread, one epoll) drives Tocsin over HTTP, Redis with a
 * sorted-set script and appendfsync always, and beanstalkd -b -f0, each alone on the machine,
 * with the same connections, depth and payload (peer.h). Servers run on free ports in a
 * folder on a disk. Rounds are interleaved; medians are printed, held against the targets
 * (targets.c) and written to build/bench/server.json. The parts and their rows:
 *
 *   schedule   schedule-64, schedule-1        tasks/s, one task a request, all synced
 *   batch      batch-full, batch-short        tasks/s, 100 a request on 8 connections
 *   lateness   lateness-5k-*, lateness-50k-*  ms from due to the worker: p50, p99, most
 *   life       life-single, -mixed, -batched  tasks/s scheduled, fired, leased and acked
 *   memory     memory-20, memory-36, idle     bytes a pending task by size of id; % CPU
 *   restart    restart, restart-ready         s from exec to the first good answer, after
 *                                             kill -9, the file at its worst state
 *   growth     all of these at 10k, 100k, 1M and with --full 10M pending
 *
 * Beside a rate stand NAME-server-cpu and NAME-client-cpu: microseconds of a processor for
 * each task, which say more than the rate when others use the machine. Yardsticks: fdatasync,
 * wakeup-p50, wakeup-p99.
 */
#include "server/parts.h"

#include <stdlib.h>

static const struct part parts[] = {
    {"schedule", part_schedule}, {"batch", part_batch},
    {"lateness", part_lateness}, {"life", part_life},
    {"memory", part_memory},     {"restart", part_restart},
    {"growth", part_growth},     {0},
};
enum { ROUNDS = 5 };

static const char usage[] =
    "usage: bench-server [options]\n"
    "  --quick          shorter measurements, 3 rounds, nothing beyond 100k pending\n"
    "                   in the part growth\n"
    "  --full           growth up to 10M pending\n"
    "  --only NAME      one part: schedule, batch, lateness, life, memory, restart,\n"
    "                   growth; may be repeated\n"
    "  --rounds N       so many rounds; 5 unless given\n"
    "  --seconds S      of each measurement of a rate\n"
    "  --program PATH   the server; build/bench/tocsin unless given\n"
    "  --json PATH      build/bench/server.json unless given\n"
    "  --plot PATH      draw an SVG picture; without any option it is drawn at\n"
    "                   docs/bench-server.svg\n"
    "  --help           this text\n";

static struct options parse(struct args args, struct suite *suite)
{
    struct options options = {0};
    while (args_next(&args)) {
        if (args_flag(&args, "--quick"))
            options.quick = true;
        else if (args_flag(&args, "--full"))
            options.full = true;
        else if (args_value(&args, "--seconds"))
            options.seconds = strtod(args.value, NULL);
        else if (!args_unsigned(&args, "--rounds", &options.rounds) && !suite_option(suite, &args))
            args_unknown(&args);
    }
    if (args.argc == 1 || (args.argc == 2 && options.full))
        suite->plot_path = "docs/bench-server.svg";
    if (options.rounds > BENCH_ROUNDS_MAX)
        args_refuse(&args, "too many rounds");
    if (options.rounds == 0)
        options.rounds = options.quick ? 3 : ROUNDS;
    return options;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct args args = {"bench-server", usage, argc, argv};
    struct suite suite = {
        .parts = parts, .json_path = "build/bench/server.json", .plot = plot_write};
    struct options options = parse(args, &suite);
    suite_run(&suite, &options, &results);
    suite_report(&suite, &results);
    return 0;
}
