/* SPDX-License-Identifier: MIT */
/* bench/renewal - what does it cost to keep keys alive, and who feels it when a Redis hangs?
 *
 * A Tocsin with its store on the disk, and a redis-server without one, on this machine. The parts
 * and their rows:
 *
 *   many   many-cpu      % of a core, on average over one interval of 30 s, 100 000 renewals
 *          many-memory   MB of the server with them
 *          many-latency-p50, -p99  ms from when a renewal was due to its answer
 *          many-lateness-p50, -p99 of these, until its round began
 *   keys   keys-rate     keys a second through a renewal of 10 000 keys, in batches of 1 000,
 *                        beside redis-benchmark -c 1 -P 1000 with the same command; ratio
 *   hang   hang-p50, -p99      ms of lateness of tasks while 1 000 renewals meet a Redis that hangs
 *          hang-p50-calm, -p99-calm  the same while it does not
 *
 * Rounds are interleaved; medians are held against the targets and written to
 * build/bench/renewal.json.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/requests.h"
#include "server/child.h"
#include "server/peer.h"
#include "server/suite.h"

enum {
    INTERVAL_S = 30,
    BOUNDS = 17,
    BATCH = 1000,
    KEYS = 10000,
    HUNG = 1000,
    TASKS_A_SECOND = 2000,
    CALM_S = 4,
};

struct options {
    unsigned rounds;
    unsigned renewals;
};

static const char usage[] = "usage: bench-renewal [options]\n"
                            "  --quick          one round\n"
                            "  --only NAME      one part: many, keys, hang; may be repeated\n"
                            "  --rounds N       so many rounds; 5 unless given, and 1 of many\n"
                            "  --renewals N     of many; 100000 unless given\n"
                            "  --program PATH   the server; build/bench/tocsin unless given\n"
                            "  --json PATH      build/bench/renewal.json unless given\n"
                            "  --help           this text\n";

/* ---- a Redis without a disk */

static void redis_launch(struct server *redis, bool lax)
{
    char port[8];
    (void)lax; /* it writes nothing */
    snprintf(port, sizeof port, "%u", (unsigned)redis->port);
    const char *argv[] = {
        "redis-server", "--port", port, "--bind",       "127.0.0.1", "--dir",
        redis->folder,  "--save", "",   "--appendonly", "no",        "--enable-debug-command",
        "local",        NULL};
    child_start(&redis->child, argv, redis->folder, false);
}

static bool redis_probe(struct server *redis)
{
    char answer[64];
    return ask(redis->port, "PING\r\n", 7, answer, sizeof answer);
}

static const struct peer peer_keys = {
    .name = "redis-server", .launch = redis_launch, .probe = redis_probe};

static void redis_say(struct server *redis, const char *command)
{
    char answer[256], line[256];
    snprintf(line, sizeof line, "%s\r\n", command);
    if (!ask(redis->port, line, 3, answer, sizeof answer) || answer[0] == '-')
        bench_die("redis-server says '%.100s' to %s", answer, command);
}

static void tocsin_start(struct server *server, const struct server *redis)
{
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)redis->port);
    setenv("REDIS_HOST", "127.0.0.1", 1);
    setenv("REDIS_PORT", port, 1);
    server_start(server, &peer_tocsin, NULL, false);
}

/* ---- histograms of /metrics */

static const char *const bounds[BOUNDS] = {
    "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
    "0.1",    "0.25",    "0.5",    "1",     "2.5",    "5",     "10",   "60"};

struct histogram {
    double upto[BOUNDS + 1];
};

static struct histogram histogram_read(const struct server *server, const char *name)
{
    struct histogram histogram;
    char line[128];
    for (int i = 0; i <= BOUNDS; i++) {
        snprintf(line, sizeof line, "%s_bucket{le=\"%s\"}", name, i < BOUNDS ? bounds[i] : "+Inf");
        histogram.upto[i] = metric_read(server, line);
    }
    return histogram;
}

/* In ms, straight between the two bounds around it. */
static double percentile(const struct histogram *after, const struct histogram *before, double part)
{
    double all = after->upto[BOUNDS] - before->upto[BOUNDS], below = 0, from = 0;
    for (int i = 0; i < BOUNDS; i++) {
        double upto = after->upto[i] - before->upto[i], bound = strtod(bounds[i], NULL) * 1000;
        if (upto >= all * part)
            return upto > below ? from + (bound - from) * (all * part - below) / (upto - below)
                                : bound;
        below = upto;
        from = bound;
    }
    return 60000;
}

/* ---- many renewals */

static void write_renewal(void *arg, uint64_t number, struct request_text *ret_text)
{
    (void)arg;
    ret_text->method = "POST";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/renewals");
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"keys\":[\"key:%llu\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":\"90s\"},"
             "\"every\":\"%ds\",\"persistent\":true}",
             (unsigned long long)number, INTERVAL_S);
}

static void wait_for(const struct server *server, const char *metric, double wanted)
{
    for (int i = 0; metric_read(server, metric) < wanted; i++) {
        if (i == 1200)
            bench_die("%s stays below %.0f", metric, wanted);
        usleep(50000);
    }
}

static void part_many(struct results *results, const struct options *options)
{
    static const char latency[] = "tocsin_renewal_latency_seconds";
    static const char lateness[] = "tocsin_renewal_lateness_seconds";
    struct server redis, server;
    char populate[64];
    server_start(&redis, &peer_keys, NULL, false);
    snprintf(populate, sizeof populate, "DEBUG POPULATE %u key 10", options->renewals);
    redis_say(&redis, populate);
    tocsin_start(&server, &redis);
    bench_progress("many: registering %u", options->renewals);
    requests_run(&server, options->renewals, &(struct requests){.write = write_renewal});
    wait_for(&server, "tocsin_renewal_rounds_total", options->renewals);
    bench_progress("many: one interval of %d s", INTERVAL_S);
    struct histogram before = histogram_read(&server, latency);
    struct histogram late_before = histogram_read(&server, lateness);
    double failed = metric_read(&server, "tocsin_renewal_keys_failed_total");
    uint64_t cpu_ns = child_cpu_ns(&server.child), from_ns = bench_now_ns();
    usleep(INTERVAL_S * 1000000);
    cpu_ns = child_cpu_ns(&server.child) - cpu_ns;
    double passed_s = (double)(bench_now_ns() - from_ns) / 1e9;
    struct histogram after = histogram_read(&server, latency);
    struct histogram late_after = histogram_read(&server, lateness);
    failed = metric_read(&server, "tocsin_renewal_keys_failed_total") - failed;
    double rounds = after.upto[BOUNDS] - before.upto[BOUNDS];
    if (failed > 0 || rounds < options->renewals * 0.9)
        bench_die("%.0f rounds in an interval, %.0f keys failed", rounds, failed);
    results_add(results, "many-cpu", "tocsin", 0, "%", (double)cpu_ns / 1e7 / passed_s);
    results_add(results, "many-memory", "tocsin", 0, "MB",
                (double)child_rss_bytes(&server.child) / 1e6);
    results_add(results, "many-latency-p50", "tocsin", 0, "ms", percentile(&after, &before, 0.5));
    results_add(results, "many-latency-p99", "tocsin", 0, "ms", percentile(&after, &before, 0.99));
    results_add(results, "many-lateness-p50", "tocsin", 0, "ms",
                percentile(&late_after, &late_before, 0.5));
    results_add(results, "many-lateness-p99", "tocsin", 0, "ms",
                percentile(&late_after, &late_before, 0.99));
    server_drop(&server);
    server_drop(&redis);
}

/* ---- many keys of one renewal */

static double benchmark_rate(const struct server *redis)
{
    char command[256], line[16384]; /* how far it is, too, all in one line */
    double rate = 0;
    snprintf(command, sizeof command,
             "redis-benchmark -p %u -c 1 -P %d -n 1000000 -r %d -q PEXPIRE key:__rand_int__ 90000 "
             "2>/dev/null",
             (unsigned)redis->port, BATCH, KEYS);
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c): no part of it comes from outside */
    if (from == NULL)
        bench_die("redis-benchmark does not start");
    while (fgets(line, sizeof line, from) != NULL) {
        for (char *at = line; (at = strstr(at, "requests per second")) != NULL; at++) {
            char *number = at;
            while (number > line && number[-1] != ':')
                number--;
            rate = strtod(number, NULL);
        }
    }
    if (pclose(from) != 0 || rate <= 0)
        bench_die("redis-benchmark gives no rate");
    return rate;
}

/* A renewal of so many keys; its id. */
static void register_keys(const struct server *server, char ret_id[40])
{
    enum { ROOM = KEYS * 20 + 2048 };
    char *text = bench_alloc(1, ROOM), *body = bench_alloc(1, ROOM);
    static char answer[2 * 1024 * 1024];
    int size = sprintf(body, "{\"keys\":[");
    for (int i = 0; i < KEYS; i++)
        size += sprintf(body + size, "%s\"key:%012d\"", i > 0 ? "," : "", i);
    size +=
        sprintf(body + size, "],\"strategy\":{\"type\":\"fixed\",\"ttl\":\"2h\"},\"every\":\"1h\","
                             "\"shorten\":true,\"persistent\":true}");
    sprintf(text,
            "POST /v1/renewals HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
            size, body);
    const char *at = NULL;
    if (ask(server->port, text, sizeof answer, answer, sizeof answer))
        at = strstr(answer, "\"id\":\"");
    if (at == NULL || sscanf(at, "\"id\":\"%36[0-9a-f-]", ret_id) != 1)
        bench_die("the renewal is not taken: %.200s", answer);
    free(text);
    free(body);
}

static double renewal_rate(const struct server *server, const char *id, unsigned times)
{
    static char answer[2 * 1024 * 1024];
    char text[256];
    snprintf(text, sizeof text,
             "POST /v1/renewals/%s/renew HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
             id);
    double keys = metric_read(server, "tocsin_renewal_keys_renewed_total");
    double sum = metric_read(server, "tocsin_renewal_latency_seconds_sum");
    for (unsigned i = 0; i < times; i++) {
        if (!ask(server->port, text, sizeof answer, answer, sizeof answer))
            bench_die("no answer to renew");
    }
    keys = metric_read(server, "tocsin_renewal_keys_renewed_total") - keys;
    sum = metric_read(server, "tocsin_renewal_latency_seconds_sum") - sum;
    if (keys != (double)times * KEYS)
        bench_die("%.0f keys were renewed instead of %u", keys, times * KEYS);
    return keys / sum;
}

static void part_keys(struct results *results, const struct options *options)
{
    struct server redis, server;
    char id[40];
    server_start(&redis, &peer_keys, NULL, false);
    for (int i = 0; i < KEYS; i++) {
        char set[64];
        snprintf(set, sizeof set, "SET key:%012d x", i);
        redis_say(&redis, set);
    }
    tocsin_start(&server, &redis);
    register_keys(&server, id);
    wait_for(&server, "tocsin_renewal_rounds_total", 1);
    for (unsigned round = 0; round < options->rounds; round++) {
        bench_progress("round %u of %u: keys", round + 1, options->rounds);
        double theirs = benchmark_rate(&redis), ours = renewal_rate(&server, id, 50);
        results_add(results, "keys-rate", "redis-benchmark", 0, "/s", theirs);
        results_add(results, "keys-rate", "tocsin", 0, "/s", ours);
        results_add(results, "keys-ratio", "tocsin", 0, "x", ours / theirs);
    }
    server_drop(&server);
    server_drop(&redis);
}

/* ---- a Redis that hangs */

struct spread {
    int64_t first_ms;
};

static void write_task(void *arg, uint64_t number, struct request_text *ret_text)
{
    struct spread *self = arg;
    ret_text->method = "POST";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/tasks");
    snprintf(ret_text->body, sizeof ret_text->body, "{\"at\":%lld}",
             (long long)(self->first_ms + (int64_t)(number * 1000 / TASKS_A_SECOND)));
}

static void write_hung(void *arg, uint64_t number, struct request_text *ret_text)
{
    (void)arg;
    ret_text->method = "POST";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/renewals");
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"keys\":[\"key:%llu\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":\"1h\"},"
             "\"every\":\"200ms\",\"max_retries\":1000000,\"persistent\":true}",
             (unsigned long long)number);
}

static void measure_lateness(struct results *results, const struct server *server, const char *p50,
                             const char *p99)
{
    static const char name[] = "tocsin_task_lateness_seconds";
    struct spread spread = {bench_wall_ns() / 1000000 + 3000};
    requests_run(server, (uint64_t)TASKS_A_SECOND * CALM_S,
                 &(struct requests){.write = write_task, .arg = &spread});
    int64_t left = spread.first_ms - bench_wall_ns() / 1000000;
    if (left < 0)
        bench_die("the tasks were not in time");
    struct histogram before = histogram_read(server, name);
    usleep((useconds_t)(left + CALM_S * 1000 + 500) * 1000);
    struct histogram after = histogram_read(server, name);
    results_add(results, p50, "tocsin", 0, "ms", percentile(&after, &before, 0.5));
    results_add(results, p99, "tocsin", 0, "ms", percentile(&after, &before, 0.99));
}

static void part_hang(struct results *results, const struct options *options)
{
    struct server redis, server;
    server_start(&redis, &peer_keys, NULL, false);
    redis_say(&redis, "DEBUG POPULATE 1000 key 10");
    tocsin_start(&server, &redis);
    requests_run(&server, HUNG, &(struct requests){.write = write_hung});
    wait_for(&server, "tocsin_renewal_rounds_total", HUNG);
    for (unsigned round = 0; round < options->rounds; round++) {
        bench_progress("round %u of %u: calm", round + 1, options->rounds);
        measure_lateness(results, &server, "hang-p50-calm", "hang-p99-calm");
        bench_progress("round %u of %u: hung", round + 1, options->rounds);
        kill(redis.child.pid, SIGSTOP);
        double failed = metric_read(&server, "tocsin_renewal_rounds_failed_total");
        measure_lateness(results, &server, "hang-p50", "hang-p99");
        if (metric_read(&server, "tocsin_renewal_rounds_failed_total") <= failed)
            bench_die("nobody noticed that Redis hangs");
        kill(redis.child.pid, SIGCONT);
        usleep(6000000); /* until it is connected again */
    }
    server_drop(&server);
    server_drop(&redis);
}

/* ---- targets */

bool targets_check(const struct results *results, struct bench_targets *targets)
{
    static const struct {
        const char *name, *row, *unit;
        double target;
        bool at_least;
    } all[] = {
        {"100 000 renewals at 30 s, of one core", "many-cpu", "%", 5, false},
        {"100 000 renewals, memory of the server", "many-memory", "MB", 100, false},
        {"100 000 renewals, due to answered, p99", "many-latency-p99", "ms", 20, false},
        {"keys through a renewal, over redis-benchmark -c 1", "keys-ratio", "x", 0.8, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (results_find(results, all[i].row, "tocsin", 0) == NULL)
            continue;
        double value = results_median(results, all[i].row, "tocsin", 0);
        bench_target_add(targets, all[i].unit, all[i].target, value, "%s", all[i].name)->at_least =
            all[i].at_least;
    }
    double calm = results_median(results, "hang-p99-calm", "tocsin", 0);
    if (calm > 0) {
        struct bench_target *target =
            bench_target_add(targets, "ms", calm, results_median(results, "hang-p99", "tocsin", 0),
                             "lateness of tasks while a Redis hangs, p99, as when it does not");
        target->factor = 1.5;
        target->yardstick = calm;
    }
    return true;
}

/* ---- all of it */

static const struct part parts[] = {
    {"many", part_many}, {"keys", part_keys}, {"hang", part_hang}, {0}};

static struct options parse(struct args args, struct suite *suite)
{
    struct options options = {5, 100000};
    while (args_next(&args)) {
        if (args_flag(&args, "--quick"))
            options.rounds = 1;
        else if (!args_unsigned(&args, "--rounds", &options.rounds) &&
                 !args_unsigned(&args, "--renewals", &options.renewals) &&
                 !suite_option(suite, &args))
            args_unknown(&args);
    }
    if (options.rounds == 0 || options.rounds > BENCH_ROUNDS_MAX || options.renewals == 0)
        args_refuse(&args, "a number from 1 on is needed");
    return options;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct args args = {"bench-renewal", usage, argc, argv};
    struct suite suite = {.parts = parts, .json_path = "build/bench/renewal.json"};
    struct options options = parse(args, &suite);
    suite_run(&suite, &options, &results);
    suite_report(&suite, &results);
    return 0;
}
