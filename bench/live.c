/* SPDX-License-Identifier: MIT */
/* bench/live - how exact are ticks and timeouts, and how many can listen to them?
 *
 * One load generator (live/swarm.c: one thread, one epoll) is ten thousand STOMP clients over
 * WebSocket, of Tocsin, of the same fan-out on Node's ws (live/peer) and of a bare loop of
 * sends, each alone on the machine. Rounds are interleaved; medians are printed, held against
 * the targets (live/targets.c) and written to build/bench/live.json. The parts and their rows:
 *
 *   ticks    ticks-jitter-p50, -p99, -most    ms from a whole second to its tick, in-process
 *            ticks-cpu                        % of a core of a server, nobody listens
 *   fanout   fanout-p50, -p99, -most          ms from due to received, one topic
 *            fanout-cpu                       microseconds of the server for each message
 *            fanout-timeout-p50, -p99, -most  ms from a deadline to its end, at the server
 *            fanout-timeout-told-p50, -p99    … to the client that is told
 *            fanout-p99-ratio, -cpu-ratio     Node's ws over Tocsin
 *            fanout-wait, -timeout-wait       ms/s the server waited for a processor: others were
 *                                             at work
 *   rooms    rooms-…                          the same, rooms with two clients each
 *
 * Beside them: stolen, the part of the processors that the machine's host gave to others.
 * Yardsticks: wakeup-p50, wakeup-p99 (timerfd to socketpair), fanout-… of the bare loop.
 */
#include "live/parts.h"

#include <stdlib.h>
#include <sys/resource.h>

static const struct part parts[] = {
    {"ticks", part_ticks}, {"fanout", part_fanout}, {"rooms", part_rooms}, {0}};
enum { FILES_BESIDE = 500 };

static const char usage[] =
    "usage: bench-live [options]\n"
    "  --quick          one round of shorter windows\n"
    "  --only NAME      one part: ticks, fanout, rooms; may be repeated\n"
    "  --rounds N       so many rounds; 5 unless given, and 3 of ticks and rooms,\n"
    "                   which have no peer\n"
    "  --seconds S      of each window; 4 unless given\n"
    "  --countdowns N   of ticks; 100000 unless given\n"
    "  --clients N      of fanout; 10000 unless given\n"
    "  --rooms N        of rooms; 5000 unless given\n"
    "  --program PATH   the server; build/bench/tocsin unless given\n"
    "  --json PATH      build/bench/live.json unless given\n"
    "  --plot PATH      draw an SVG picture; without any option it is drawn at\n"
    "                   docs/bench-live.svg\n"
    "  --help           this text\n";

static struct options parse(struct args args, struct suite *suite)
{
    struct options options = {.clients = 10000, .countdowns = 100000, .rooms = 5000};
    while (args_next(&args)) {
        if (args_unsigned(&args, "--rounds", &options.rounds) ||
            args_unsigned(&args, "--seconds", &options.seconds) ||
            args_unsigned(&args, "--clients", &options.clients) ||
            args_unsigned(&args, "--countdowns", &options.countdowns) ||
            args_unsigned(&args, "--rooms", &options.rooms)) {
            if ((unsigned)strtoul(args.value, NULL, 10) == 0)
                args_refuse(&args, "a number from 1 on is needed");
        } else if (args_flag(&args, "--quick")) {
            options.quick = true;
        } else if (!suite_option(suite, &args)) {
            args_unknown(&args);
        }
    }
    if (args.argc == 1)
        suite->plot_path = "docs/bench-live.svg";
    if (options.rounds > BENCH_ROUNDS_MAX)
        args_refuse(&args, "too many rounds");
    if (options.rounds == 0)
        options.rounds = options.quick ? 1 : 5;
    if (options.seconds == 0)
        options.seconds = options.quick ? 3 : 4;
    return options;
}

/* A client is a file here and one at the server, which inherits the limit. */
static void raise_file_limit(const struct options *options)
{
    unsigned clients =
        options->clients > options->rooms * 2 ? options->clients : options->rooms * 2;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        bench_die("the limit on open files cannot be read");
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < clients + FILES_BESIDE)
        bench_die("%u clients need as many open files, and %llu are allowed: ulimit -n", clients,
                  (unsigned long long)limit.rlim_cur);
    /* The watchers come on top of the clients that the server takes unless told otherwise. */
    char connections[16];
    snprintf(connections, sizeof connections, "%u", clients + FILES_BESIDE);
    setenv("TOCSIN_WS_CONNECTIONS", connections, 1);
    setenv("TOCSIN_LIMITS_CONNECTIONS", connections, 1);
}

/* What the machine's processors did since it was started, in ticks of the kernel. */
struct processors {
    unsigned long long all, stolen; /* the second by whoever runs the machine */
};

static struct processors processors_read(void)
{
    struct processors sum = {0};
    unsigned long long part;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL || fscanf(file, "cpu") != 0)
        bench_die("/proc/stat cannot be read");
    for (int i = 0; i < 8 && fscanf(file, "%llu", &part) == 1; i++) {
        sum.all += part;
        sum.stolen = part; /* the last of them */
    }
    fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct args args = {"bench-live", usage, argc, argv};
    struct suite suite = {.parts = parts, .json_path = "build/bench/live.json", .plot = plot_write};
    struct options options = parse(args, &suite);
    raise_file_limit(&options);
    struct processors before = processors_read();
    suite_run(&suite, &options, &results);
    struct processors after = processors_read();
    results_add(&results, "stolen", "machine", 0, "%",
                100.0 * (double)(after.stolen - before.stolen) / (double)(after.all - before.all));
    suite_report(&suite, &results);
    return 0;
}
