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
#include <string.h>

#include "server/child.h"
#include "server/peer.h"

static const struct part {
    const char *name;
    void (*run)(struct results *results, const struct options *options);
} parts[] = {
    {"schedule", part_schedule}, {"batch", part_batch},   {"lateness", part_lateness},
    {"life", part_life},         {"memory", part_memory}, {"restart", part_restart},
    {"growth", part_growth},
};
enum { PART_COUNT = sizeof parts / sizeof parts[0], ROUNDS = 5 };

static void usage(FILE *out)
{
    fprintf(out, "usage: bench-server [options]\n"
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
                 "  --help           this text\n");
}

static _Noreturn void bad_option(const char *what)
{
    fprintf(stderr, "bench-server: %s\n", what);
    usage(stderr);
    exit(2);
}

static void parse_only(struct options *options, const char *name)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (strcmp(name, parts[i].name) == 0) {
            options->wanted |= 1u << i;
            return;
        }
    }
    bad_option("--only: there is no such part");
}

static void parse_value(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--rounds") == 0)
        options->rounds = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        options->seconds = strtod(value, NULL);
    else if (strcmp(name, "--program") == 0)
        tocsin_program(value);
    else if (strcmp(name, "--json") == 0)
        options->json_path = value;
    else if (strcmp(name, "--plot") == 0)
        options->plot_path = value;
    else if (strcmp(name, "--only") == 0)
        parse_only(options, value);
    else
        bad_option("unknown option");
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.json_path = "build/bench/server.json"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(name, "--quick") == 0) {
            options.quick = true;
        } else if (strcmp(name, "--full") == 0) {
            options.full = true;
        } else {
            if (i + 1 == argc)
                bad_option("unknown option, or its value is missing");
            parse_value(&options, name, argv[++i]);
        }
    }
    if (argc == 1 || (argc == 2 && options.full))
        options.plot_path = "docs/bench-server.svg";
    if (options.rounds > BENCH_ROUNDS_MAX)
        bad_option("too many rounds");
    if (options.rounds == 0)
        options.rounds = options.quick ? 3 : ROUNDS;
    return options;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct options options = parse(argc, argv);
    uint64_t from_ns = bench_now_ns();
    bench_machine_read(&results.machine);
    (void)getloadavg(&results.load_before, 1);
    scratch_open();
    supervise();
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (options.wanted == 0 || (options.wanted & (1u << i)) != 0)
            parts[i].run(&results, &options);
    }
    bench_progress_end();

    report_all(&results, options.json_path, plot_write, options.plot_path, from_ns);
    return 0;
}
