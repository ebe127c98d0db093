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
#include <string.h>
#include <sys/resource.h>

#include "server/child.h"
#include "server/peer.h"

static const struct part {
    const char *name;
    void (*run)(struct results *results, const struct options *options);
} parts[] = {{"ticks", part_ticks}, {"fanout", part_fanout}, {"rooms", part_rooms}};
enum { PART_COUNT = sizeof parts / sizeof parts[0], FILES_BESIDE = 500 };

static void usage(FILE *out)
{
    fprintf(out, "usage: bench-live [options]\n"
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
                 "  --help           this text\n");
}

static _Noreturn void bad_option(const char *what)
{
    fprintf(stderr, "bench-live: %s\n", what);
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
    const struct {
        const char *name;
        unsigned *to;
    } numbers[] = {
        {"--rounds", &options->rounds},   {"--seconds", &options->seconds},
        {"--clients", &options->clients}, {"--countdowns", &options->countdowns},
        {"--rooms", &options->rooms},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].to = (unsigned)strtoul(value, NULL, 10);
            if (*numbers[i].to == 0)
                bad_option("a number from 1 on is needed");
            return;
        }
    }
    if (strcmp(name, "--program") == 0)
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
    struct options options = {.clients = 10000,
                              .countdowns = 100000,
                              .rooms = 5000,
                              .json_path = "build/bench/live.json"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(name, "--quick") == 0) {
            options.quick = true;
        } else {
            if (i + 1 == argc)
                bad_option("unknown option, or its value is missing");
            parse_value(&options, name, argv[++i]);
        }
    }
    if (argc == 1)
        options.plot_path = "docs/bench-live.svg";
    if (options.rounds > BENCH_ROUNDS_MAX)
        bad_option("too many rounds");
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
    struct options options = parse(argc, argv);
    uint64_t from_ns = bench_now_ns();
    raise_file_limit(&options);
    bench_machine_read(&results.machine);
    (void)getloadavg(&results.load_before, 1);
    scratch_open();
    struct processors before = processors_read();
    supervise();
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (options.wanted == 0 || (options.wanted & (1u << i)) != 0)
            parts[i].run(&results, &options);
    }
    bench_progress_end();
    struct processors after = processors_read();
    results_add(&results, "stolen", "machine", 0, "%",
                100.0 * (double)(after.stolen - before.stolen) / (double)(after.all - before.all));
    report_all(&results, options.json_path, plot_write, options.plot_path, from_ns);
    return 0;
}
