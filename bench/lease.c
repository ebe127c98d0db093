/* SPDX-License-Identifier: MIT */
/* bench/lease - what does it cost to keep many leases, and how fast do they change hands?
 *
 * A Tocsin with its store on the disk, driven over HTTP on 64 connections, one request on its way
 * on each. The parts and their rows:
 *
 *   keep    keep-cpu           % of a core: 10 000 holders of leases of 10 s, each kept alive every
 *                              3 s, evenly spread, so many a second whatever the answers do
 *           keep-p50, -p99, -most  ms from when a keepalive was due to its answer
 *           keep-lost          leases that ended, or keepalives that were refused: must be 0
 *   pairs   pairs-rate         acquired and released again, so many pairs a second; beside Redis with
 *                              SET NX PX and a script that compares and deletes, both synced to
 *                              the disk before the answer (appendfsync always)
 *           pairs-server-cpu   microseconds of a processor the server had for each
 *           pairs-ratio        the first rate over the second, of each round
 *
 * Yardstick: fdatasync, a bare loop of it in the same run. Rounds are interleaved; medians are
 * printed and written to build/bench/lease.json.
 */
#include <stdlib.h>
#include <string.h>

#include "live/requests.h"
#include "server/child.h"
#include "server/drive.h"
#include "server/peer.h"
#include "server/suite.h"
#include "server/yardstick.h"

enum {
    CONNECTIONS = 64,
    TTL_MS = 10000,
    EVERY_MS = 3000,
    ROOM = 512,
};

struct options {
    unsigned rounds;
    unsigned holders;
    double seconds;
};

static const char usage[] = "usage: bench-lease [options]\n"
                            "  --quick          one round, shorter\n"
                            "  --only NAME      one part: keep, pairs; may be repeated\n"
                            "  --rounds N       so many rounds; 5 unless given\n"
                            "  --holders N      of keep; 10000 unless given\n"
                            "  --program PATH   the server; build/bench/tocsin unless given\n"
                            "  --json PATH      build/bench/lease.json unless given\n"
                            "  --help           this text\n";

static uint64_t fence_of(const struct answer *answer)
{
    static const char word[] = "\"fence\":";
    const char *at = memmem(answer->body, answer->body_size, word, sizeof word - 1);
    if (at == NULL)
        bench_die("an answer without a fence: %.*s", (int)answer->body_size, answer->body);
    return strtoull(at + sizeof word - 1, NULL, 10);
}

/* ---- keeping many */

/* Beat k is due at from + k * gap and is of holder k % holders; its first one acquires. */
struct keeping {
    struct load load;
    uint64_t from_ns, holders, next, end;
    double gap_ns;
    uint64_t *fences;
    float *took_ms; /* of each beat */
    struct lane {
        struct keeping *keeping;
        uint64_t beat; /* that is on its way */
    } lanes[CONNECTIONS];
    struct connection *idle[CONNECTIONS];
    unsigned idle_count;
};

static uint64_t due_ns(const struct keeping *self, uint64_t beat)
{
    return self->from_ns + (uint64_t)((double)beat * self->gap_ns);
}

static void beat_taken(void *arg, struct connection *connection, const struct answer *answer)
{
    struct lane *lane = arg;
    struct keeping *self = lane->keeping;
    self->took_ms[lane->beat] = (float)(bench_now_ns() - due_ns(self, lane->beat)) / 1e6f;
    if (lane->beat < self->holders)
        self->fences[lane->beat] = fence_of(answer);
    self->idle[self->idle_count++] = connection;
}

static void beat(struct keeping *self, struct connection *connection)
{
    char path[64], body[96];
    struct lane *lane = connection->arg;
    lane->beat = self->next++;
    unsigned long long holder = lane->beat % self->holders, fence = self->fences[holder];
    if (lane->beat < self->holders) {
        snprintf(path, sizeof path, "/v1/leases/lease-%llu", holder);
        snprintf(body, sizeof body, "{\"holder\":\"h%llu\",\"ttl\":%d}", holder, TTL_MS);
        request_send(connection, "PUT", path, body);
    } else {
        if (fence == 0)
            bench_die("a lease was not given within %d ms", EVERY_MS);
        snprintf(path, sizeof path, "/v1/leases/lease-%llu/keepalive", holder);
        snprintf(body, sizeof body, "{\"holder\":\"h%llu\",\"fence\":%llu}", holder, fence);
        request_send(connection, "POST", path, body);
    }
}

/* Until beat `until` has been sent; and what is due meanwhile is. */
static void keep_until(struct keeping *self, uint64_t until)
{
    while (self->next < until) {
        uint64_t now = bench_now_ns();
        while (self->idle_count > 0 && self->next < until && due_ns(self, self->next) <= now)
            beat(self, self->idle[--self->idle_count]);
        uint64_t due = due_ns(self, self->next);
        load_turn(&self->load, due > now + 1000000 ? (int)((due - now) / 1000000) : 0);
    }
}

static void keep_open(struct keeping *self, const struct server *server, uint64_t holders,
                      uint64_t beats)
{
    *self = (struct keeping){.holders = holders,
                             .end = holders * beats,
                             .gap_ns = EVERY_MS * 1e6 / (double)holders,
                             .fences = bench_alloc(holders, sizeof(uint64_t)),
                             .took_ms = bench_alloc(holders * beats, sizeof(float))};
    load_open(&self->load);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        self->lanes[i].keeping = self;
        self->idle[self->idle_count++] =
            load_connect(&self->load, server->port, http_frame, beat_taken, &self->lanes[i]);
    }
    self->from_ns = bench_now_ns();
}

/* A busy client would measure itself: it looks at the clock only when it must. */
static void part_keep(struct results *results, const struct options *options)
{
    static struct keeping self;
    struct server server;
    uint64_t warm = 2 * (uint64_t)options->holders; /* acquired, and kept once */
    uint64_t beats = 2 + (uint64_t)(options->seconds * 1000 / EVERY_MS);
    for (unsigned round = 0; round < options->rounds; round++) {
        bench_progress("round %u of %u: keep", round + 1, options->rounds);
        server_start(&server, &peer_tocsin, NULL, false);
        keep_open(&self, &server, options->holders, beats);
        keep_until(&self, warm);
        uint64_t cpu_ns = child_cpu_ns(&server.child), from_ns = bench_now_ns();
        keep_until(&self, self.end);
        cpu_ns = child_cpu_ns(&server.child) - cpu_ns;
        double passed_s = (double)(bench_now_ns() - from_ns) / 1e9;
        while (self.load.under_way > 0)
            load_turn(&self.load, 1000);
        double held = metric_read(&server, "tocsin_named_leases_held");
        double lost = metric_read(&server, "tocsin_named_leases_expired_total") +
                      metric_read(&server, "tocsin_named_leases_fenced_total");
        results_add(results, "keep-cpu", "tocsin", 0, "%", (double)cpu_ns / 1e7 / passed_s);
        results_add_ranks(results, "keep", "tocsin",
                          bench_rank(self.took_ms + warm, self.end - warm));
        results_add(results, "keep-lost", "tocsin", 0, "leases",
                    lost + (double)options->holders - held);
        load_close(&self.load);
        free(self.fences);
        free(self.took_ms);
        server_drop(&server);
    }
}

/* ---- from hand to hand */

struct pairs;
struct hand {
    struct pairs *pairs;
    unsigned number;
    uint64_t fence; /* 0: it has none */
};

struct pairs {
    struct load load;
    char script[REDIS_SCRIPT_BYTES]; /* of Redis */
    void (*ask)(const struct pairs *self, struct hand *hand, struct connection *connection);
    uint64_t done;
    struct hand hands[CONNECTIONS];
};

static void ask_tocsin(const struct pairs *self, struct hand *hand, struct connection *connection)
{
    char path[128], body[96];
    (void)self;
    if (hand->fence == 0) {
        snprintf(path, sizeof path, "/v1/leases/lease-%u", hand->number);
        snprintf(body, sizeof body, "{\"holder\":\"h%u\",\"ttl\":%d}", hand->number, TTL_MS);
        request_send(connection, "PUT", path, body);
    } else {
        snprintf(path, sizeof path, "/v1/leases/lease-%u?holder=h%u&fence=%llu", hand->number,
                 hand->number, (unsigned long long)hand->fence);
        request_send(connection, "DELETE", path, "");
    }
}

static void tocsin_taken(void *arg, struct connection *connection, const struct answer *answer)
{
    struct hand *hand = arg;
    hand->pairs->done += hand->fence != 0;
    hand->fence = hand->fence == 0 ? fence_of(answer) : 0;
    hand->pairs->ask(hand->pairs, hand, connection);
}

static const char compare_and_delete[] =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) else return 0 end";

static void ask_redis(const struct pairs *self, struct hand *hand, struct connection *connection)
{
    char key[24], token[24];
    char *out = load_room(connection, ROOM);
    snprintf(key, sizeof key, "lease-%u", hand->number);
    snprintf(token, sizeof token, "h%u", hand->number);
    int size =
        hand->fence == 0
            ? snprintf(out, ROOM,
                       "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n"
                       "$5\r\n%d\r\n",
                       strlen(key), key, strlen(token), token, TTL_MS)
            : snprintf(
                  out, ROOM,
                  "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                  self->script, strlen(key), key, strlen(token), token);
    load_request(connection, (size_t)size);
}

/* +OK of a SET that was done, :1 of a DEL that was. */
static struct answer redis_frame(const char *in, size_t size, unsigned units)
{
    (void)units;
    struct answer answer = {0};
    const char *end = memchr(in, '\n', size);
    if (end == NULL)
        return answer;
    answer.size = (size_t)(end - in) + 1;
    answer.good = (answer.size == 5 && memcmp(in, "+OK\r\n", 5) == 0) ||
                  (answer.size == 4 && memcmp(in, ":1\r\n", 4) == 0);
    return answer;
}

static void redis_taken(void *arg, struct connection *connection, const struct answer *answer)
{
    struct hand *hand = arg;
    (void)answer;
    hand->pairs->done += hand->fence != 0;
    hand->fence = hand->fence == 0;
    hand->pairs->ask(hand->pairs, hand, connection);
}

static struct pace pairs_measure(struct server *server, double seconds)
{
    static struct pairs self;
    struct pace_meter meter;
    bool redis = server->peer == &peer_redis;
    self = (struct pairs){.ask = redis ? ask_redis : ask_tocsin};
    if (redis)
        redis_load_script(server, compare_and_delete, self.script);
    load_open(&self.load);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        self.hands[i] = (struct hand){.pairs = &self, .number = i};
        self.ask(&self, &self.hands[i],
                 load_connect(&self.load, server->port, redis ? redis_frame : http_frame,
                              redis ? redis_taken : tocsin_taken, &self.hands[i]));
    }
    uint64_t warm_ns = bench_now_ns() + 500000000;
    while (bench_now_ns() < warm_ns)
        load_turn(&self.load, 100);
    pace_start(&meter, server, self.done);
    while (bench_now_ns() < meter.from_ns + (uint64_t)(seconds * 1e9))
        load_turn(&self.load, 100);
    struct pace pace = pace_read(&meter, server, self.done);
    load_close(&self.load); /* what is on its way ends with its server */
    return pace;
}

static void part_pairs(struct results *results, const struct options *options)
{
    static const struct peer *const peers[] = {&peer_tocsin, &peer_redis};
    double seconds = options->seconds / 6;
    for (unsigned round = 0; round < options->rounds; round++) {
        double rates[2];
        results_add(results, "fdatasync", "machine", 0, "ms", yardstick_fdatasync_ms(0.5));
        for (unsigned n = 0; n < 2; n++) {
            unsigned which = (n + round) % 2;
            struct server server;
            bench_progress("round %u of %u: pairs, %s", round + 1, options->rounds,
                           peers[which]->name);
            server_start(&server, peers[which], NULL, false);
            struct pace pace = pairs_measure(&server, seconds);
            server_drop(&server);
            rates[which] = pace.rate;
            results_add(results, "pairs-rate", peers[which]->name, 0, "/s", pace.rate);
            results_add(results, "pairs-server-cpu", peers[which]->name, 0, "us", pace.server_us);
        }
        results_add(results, "pairs-ratio", "tocsin", 0, "x", rates[0] / rates[1]);
    }
}

/* ---- targets */

bool targets_check(const struct results *results, struct bench_targets *targets)
{
    const struct figure *lost = results_find(results, "keep-lost", "tocsin", 0);
    if (lost != NULL)
        bench_target_add(targets, "leases", 0, bench_most(&lost->samples),
                         "leases lost, in any round");
    return true;
}

/* ---- all of it */

static const struct part parts[] = {{"keep", part_keep}, {"pairs", part_pairs}, {0}};

static struct options parse(struct args args, struct suite *suite)
{
    struct options options = {5, 10000, 30};
    while (args_next(&args)) {
        if (args_flag(&args, "--quick")) {
            options.rounds = 1;
            options.seconds = 12;
        } else if (!args_unsigned(&args, "--rounds", &options.rounds) &&
                   !args_unsigned(&args, "--holders", &options.holders) &&
                   !suite_option(suite, &args)) {
            args_unknown(&args);
        }
    }
    if (options.rounds == 0 || options.rounds > BENCH_ROUNDS_MAX || options.holders == 0)
        args_refuse(&args, "a number from 1 on is needed");
    return options;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct args args = {"bench-lease", usage, argc, argv};
    struct suite suite = {.parts = parts, .json_path = "build/bench/lease.json"};
    struct options options = parse(args, &suite);
    suite_run(&suite, &options, &results);
    suite_report(&suite, &results);
    return 0;
}
