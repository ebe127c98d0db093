/* SPDX-License-Identifier: MIT */
/* bench/redis - how many commands a second get through the client of Redis?
 *
 * PEXPIRE of one key on one connection, so many at once, through net/redis/redis.h and through
 * redis-benchmark, against one redis-server of this run. Rounds are interleaved; medians are
 * printed, held against the target and written to build/bench/redis.json. Rows: rate, of tocsin
 * and of redis-benchmark, in commands a second by depth; ratio, the first over the second; cpu,
 * what the client has had of a processor, in ns a command, with redis-benchmark's start: less
 * is in it of what others do on the machine.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include "args.h"
#include "harness.h"
#include "net/redis/redis.h"
#include "server/child.h"

enum { DEPTHS = 2, DEPTH_MAX = 1000, TIMEOUT_MS = 10000, START_SECONDS = 30 };
static const unsigned depths[DEPTHS] = {64, DEPTH_MAX};
static const double target_ratio = 0.8;

struct options {
    unsigned rounds;
    unsigned long commands;
    const char *json_path;
};

struct figures {
    struct bench_samples ours;
    struct bench_samples theirs;
    struct bench_samples ratio;
    struct bench_samples cpu_ns;
    struct bench_samples their_cpu_ns;
};

static const char usage[] = "usage: bench-redis [options]\n"
                            "  --quick          two rounds of fewer commands\n"
                            "  --rounds N       so many rounds; 7 unless given\n"
                            "  --commands N     in each window; 1000000 unless given\n"
                            "  --json PATH      build/bench/redis.json unless given\n"
                            "  --help           this text\n";

static struct options parse(struct args args)
{
    struct options options = {7, 1000000, "build/bench/redis.json"};
    while (args_next(&args)) {
        if (args_flag(&args, "--quick")) {
            options.rounds = 2;
            options.commands = 200000;
        } else if (args_value(&args, "--commands")) {
            options.commands = strtoul(args.value, NULL, 10);
        } else if (!args_unsigned(&args, "--rounds", &options.rounds) &&
                   !args_text(&args, "--json", &options.json_path)) {
            args_refuse(&args, "%s is unknown, or its value is missing", args.name);
        }
    }
    if (options.rounds == 0 || options.rounds > BENCH_ROUNDS_MAX || options.commands < DEPTH_MAX)
        bench_die("1 to %d rounds, and at least %d commands", BENCH_ROUNDS_MAX, DEPTH_MAX);
    return options;
}

/* ---- the server */

static bool set_key(unsigned short port)
{
    redisContext *context = redisConnect("127.0.0.1", port);
    bool done = false;
    if (context != NULL && context->err == 0) {
        redisReply *reply = redisCommand(context, "SET key value");
        done = reply != NULL && reply->type == REDIS_REPLY_STATUS;
        if (reply != NULL)
            freeReplyObject(reply);
    }
    if (context != NULL)
        redisFree(context);
    return done;
}

static unsigned short start_server(struct child *child)
{
    char folder[PATH_BYTES_MAX], port_text[8];
    unsigned short port = port_free();
    scratch_folder("redis", folder);
    snprintf(port_text, sizeof port_text, "%u", (unsigned)port);
    const char *argv[] = {"redis-server", "--port", port_text, "--bind",       "127.0.0.1", "--dir",
                          folder,         "--save", "",        "--appendonly", "no",        NULL};
    child_start(child, argv, folder, false);
    uint64_t until_ns = bench_now_ns() + START_SECONDS * UINT64_C(1000000000);
    while (!set_key(port)) {
        if (!child_lives(child) || bench_now_ns() > until_ns)
            child_failed(child, "redis-server does not start");
        uv_sleep(1);
    }
    return port;
}

/* ---- ours */

struct window {
    struct redis *redis;
    unsigned depth;
    unsigned long left; /* to be given */
    unsigned long flying;
    uint64_t from_ns, cpu_from_ns, ns, cpu_ns;
    struct redis_call calls[DEPTH_MAX];
};

static void give(struct window *window, struct redis_call *call)
{
    static const struct bytes words[] = {{"PEXPIRE", 7}, {"key", 3}, {"1000000", 7}};
    window->left--;
    window->flying++;
    redis_give(window->redis, call, words, 3, TIMEOUT_MS);
}

static void on_done(struct redis_call *call, enum redis_outcome outcome,
                    const struct redisReply *reply, const char *why)
{
    struct window *window = call->arg;
    if (outcome != REDIS_ANSWERED || reply->integer != 1)
        bench_die("a call was not answered: %s", why != NULL ? why : "not with 1");
    window->flying--;
    if (window->left > 0) {
        give(window, call);
    } else if (window->flying == 0) {
        window->ns = bench_now_ns() - window->from_ns;
        window->cpu_ns = bench_cpu_ns() - window->cpu_from_ns;
        redis_close(window->redis, 0, NULL, NULL);
    }
}

static void on_state(void *arg, bool connected, const char *why)
{
    struct window *window = arg;
    if (!connected)
        bench_die("%s", why);
    window->from_ns = bench_now_ns();
    window->cpu_from_ns = bench_cpu_ns();
    for (unsigned i = 0; i < window->depth; i++) {
        window->calls[i] = (struct redis_call){.done = on_done, .arg = window};
        give(window, &window->calls[i]);
    }
}

static void measure_ours(unsigned short port, unsigned depth, unsigned long commands,
                         struct figures *figures)
{
    static struct window window;
    uv_loop_t uv;
    window = (struct window){.depth = depth, .left = commands};
    struct redis_options options = {
        .host = "127.0.0.1", .port = port, .on_state = on_state, .arg = &window};
    if (uv_loop_init(&uv) != 0 || redis_create(&uv, &options, &window.redis) != TOCSIN_OK)
        bench_die("no client");
    (void)uv_run(&uv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&uv);
    bench_sample(&figures->ours, (double)commands * 1e9 / (double)window.ns);
    bench_sample(&figures->cpu_ns, (double)window.cpu_ns / (double)commands);
}

/* ---- theirs */

/* Of those that have ended. */
static uint64_t children_cpu_ns(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_CHILDREN, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

static void measure_theirs(unsigned short port, unsigned depth, unsigned long commands,
                           struct figures *figures)
{
    char line[512], command[256];
    double rate = 0;
    uint64_t cpu_from_ns = children_cpu_ns();
    snprintf(command, sizeof command,
             "exec redis-benchmark -h 127.0.0.1 -p %u -c 1 -P %u -n %lu --csv PEXPIRE key 1000000",
             (unsigned)port, depth, commands);
    FILE *out = popen(command, "r");
    if (out == NULL)
        bench_die("redis-benchmark does not start");
    while (fgets(line, sizeof line, out) != NULL) {
        const char *comma = strchr(line, ',');
        if (strncmp(line, "\"PEXPIRE", 8) == 0 && comma != NULL)
            (void)sscanf(comma, ",\"%lf\"", &rate);
    }
    if (pclose(out) != 0 || rate <= 0)
        bench_die("redis-benchmark says nothing of use");
    bench_sample(&figures->theirs, rate);
    bench_sample(&figures->their_cpu_ns,
                 (double)(children_cpu_ns() - cpu_from_ns) / (double)commands);
}

/* ---- rounds, and what came of them */

static void run_round(unsigned short port, const struct options *options, unsigned round,
                      struct figures *figures)
{
    for (size_t i = 0; i < DEPTHS; i++) {
        bench_progress("round %u of %u, depth %u", round + 1, options->rounds, depths[i]);
        if (round % 2 == 1)
            measure_theirs(port, depths[i], options->commands, &figures[i]);
        measure_ours(port, depths[i], options->commands, &figures[i]);
        if (round % 2 == 0)
            measure_theirs(port, depths[i], options->commands, &figures[i]);
        bench_sample(&figures[i].ratio,
                     figures[i].ours.value[round] / figures[i].theirs.value[round]);
    }
}

static void write_row(struct bench_json *json, const char *name, const char *who, unsigned depth,
                      const char *unit, const struct bench_samples *samples)
{
    bench_row_begin(json);
    bench_row_text(json, "name", name);
    bench_row_text(json, "client", who);
    bench_row_count(json, "depth", depth);
    bench_row_text(json, "unit", unit);
    bench_row_number(json, "value", bench_median(samples));
    bench_row_number(json, "least", bench_least(samples));
    bench_row_number(json, "most", bench_most(samples));
    bench_row_count(json, "rounds", samples->count);
    bench_row_end(json);
}

static void report(const struct options *options, const struct bench_machine *machine,
                   const struct figures *figures)
{
    struct bench_json json;
    bench_json_begin(&json, options->json_path, machine);
    printf("%-8s %14s %18s %8s %14s %18s\n", "depth", "tocsin, 1/s", "redis-benchmark", "ratio",
           "cpu, ns each", "redis-benchmark's");
    for (size_t i = 0; i < DEPTHS; i++) {
        const struct figures *now = &figures[i];
        printf("%-8u %14.0f %18.0f %8.2f %14.0f %18.0f\n", depths[i], bench_median(&now->ours),
               bench_median(&now->theirs), bench_median(&now->ratio), bench_median(&now->cpu_ns),
               bench_median(&now->their_cpu_ns));
        write_row(&json, "rate", "tocsin", depths[i], "1/s", &now->ours);
        write_row(&json, "rate", "redis-benchmark", depths[i], "1/s", &now->theirs);
        write_row(&json, "ratio", "tocsin", depths[i], "x", &now->ratio);
        write_row(&json, "cpu", "tocsin", depths[i], "ns", &now->cpu_ns);
        write_row(&json, "cpu", "redis-benchmark", depths[i], "ns", &now->their_cpu_ns);
    }
    for (size_t i = 0; i < DEPTHS; i++) {
        struct bench_target target = {.unit = "x",
                                      .target = target_ratio,
                                      .value = bench_median(&figures[i].ratio),
                                      .at_least = true};
        snprintf(target.name, sizeof target.name, "of redis-benchmark's rate, %u at once",
                 depths[i]);
        bench_target_print(&target, stdout);
        bench_row_target(&json, &target);
    }
    bench_json_end(&json);
    printf("Written to %s.\n", options->json_path);
}

int main(int argc, char **argv)
{
    struct options options = parse((struct args){"bench-redis", usage, argc, argv});
    struct bench_machine machine;
    struct figures figures[DEPTHS] = {0};
    struct child child;
    bench_machine_read(&machine);
    scratch_open();
    supervise();
    unsigned short port = start_server(&child);
    for (unsigned i = 0; i < options.rounds; i++)
        run_round(port, &options, i, figures);
    bench_progress_end();
    child_kill(&child);
    bench_machine_print(&machine, stdout);
    report(&options, &machine, figures);
    return 0;
}
