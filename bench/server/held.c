/* SPDX-License-Identifier: MIT */
/* What pending tasks cost: memory, processor time while nothing is due, the time to be back
 * after kill -9, and everything else while they are there.
 *
 * Servers are filled without syncing where that can be said (the peers), because only what
 * is in them afterwards counts. A folder is filled once and copied for each start, so that
 * every start finds the same files, all of them in the page cache. Tocsin's hold the most
 * dead rows there can be without a sweep; the peers' hold no more than the tasks.
 */
#include <string.h>
#include <unistd.h>

#include "drive.h"
#include "parts.h"
#include "rate.h"
#include "yardstick.h"

enum { MILLION = 1000000, SWEEP_MIN = 100000, SETTLE_S = 2, IDLE_S = 10 };

static const struct peer *const peers[] = {&peer_tocsin, &peer_redis, &peer_beanstalkd};
enum { PEER_COUNT = sizeof peers / sizeof peers[0] };

static const char *memory_row(size_t id_bytes)
{
    return id_bytes == ID_LONG ? "memory-36" : "memory-20";
}

/* Starts and fills one, and says what a task takes. */
static void fill(struct results *results, struct server *server, const struct peer *peer,
                 uint64_t pending, size_t id_bytes)
{
    bench_progress("%llu pending: filling %s", (unsigned long long)pending, peer->name);
    server_start(server, peer, NULL, true);
    usleep(200000);
    size_t empty = child_rss_bytes(&server->child);
    drive_fill(server, pending, id_bytes);
    sleep(SETTLE_S);
    size_t full = child_rss_bytes(&server->child);
    results_add(results, memory_row(id_bytes), peer->name, pending, "bytes",
                ((double)full - (double)empty) / (double)pending);
}

static void measure_idle(struct results *results, struct server *server, uint64_t pending)
{
    bench_progress("%llu pending: idle for %d s", (unsigned long long)pending, IDLE_S);
    uint64_t cpu_ns = child_cpu_ns(&server->child), from_ns = bench_now_ns();
    sleep(IDLE_S);
    cpu_ns = child_cpu_ns(&server->child) - cpu_ns;
    results_add(results, "idle", server->peer->name, pending, "%",
                100 * (double)cpu_ns / (double)(bench_now_ns() - from_ns));
}

void part_memory(struct results *results, const struct options *options)
{
    struct server server;
    for (size_t i = 0; i < PEER_COUNT; i++) {
        fill(results, &server, peers[i], MILLION, ID_SHORT);
        measure_idle(results, &server, MILLION);
        server_drop(&server);
        if (peers[i] == &peer_beanstalkd || (options->quick && peers[i] != &peer_tocsin))
            continue; /* its ids are its own */
        fill(results, &server, peers[i], MILLION, ID_LONG);
        server_drop(&server);
    }
}

/* A folder with so many pending, and nobody running in it. */
static void prepare(struct results *results, const struct peer *peer, uint64_t pending,
                    char ret_folder[PATH_BYTES_MAX])
{
    struct server server;
    fill(results, &server, peer, pending, ID_SHORT);
    if (peer == &peer_tocsin) {
        uint64_t half = pending / 2;
        uint64_t dead = (half > SWEEP_MIN ? half : SWEEP_MIN) - SWEEP_MIN / 100;
        bench_progress("%llu pending: replacing %llu", (unsigned long long)pending,
                       (unsigned long long)dead);
        drive_replace(&server, dead, pending, ID_SHORT);
        sleep(1); /* what is lazy in it may end */
    }
    memcpy(ret_folder, server.folder, PATH_BYTES_MAX);
    server_kill(&server);
    sync();
}

/* Starts in a copy of the folder. */
static void restart(struct results *results, struct server *server, const struct peer *peer,
                    uint64_t pending, const char *folder)
{
    char copy[PATH_BYTES_MAX];
    bench_progress("%llu pending: starting %s", (unsigned long long)pending, peer->name);
    scratch_folder("copy", copy);
    rmdir(copy);
    scratch_copy(folder, copy);
    server_start(server, peer, copy, false);
    server->next_id = pending;
    results_add(results, "restart", peer->name, pending, "s", server->serving_s);
    if (peer == &peer_tocsin)
        results_add(results, "restart-ready", peer->name, pending, "s", server->ready_s);
}

/* All else, while so many are pending. */
static void measure_with(struct results *results, const struct options *options,
                         struct server *server, uint64_t pending)
{
    struct drive one = {.connections = 64,
                        .depth = 1,
                        .wish = WISH_ONE,
                        .units = 1,
                        .id_bytes = ID_SHORT,
                        .warm_s = 0.3,
                        .run_s = options->quick ? 1 : 2};
    struct drive many = one;
    many.connections = 8;
    many.units = 100;
    many.wish = WISH_FULL;
    const char *name = server->peer->name;
    bench_progress("%llu pending: %s at work", (unsigned long long)pending, name);
    if (server->peer == &peer_tocsin) {
        struct rate rate = rate_5k;
        rate.seconds = options->quick ? 2 : 5;
        struct bench_ranks lateness = lateness_measure(server, &rate);
        results_add(results, "lateness-5k-p50", name, pending, "ms", lateness.p50_ms);
        results_add(results, "lateness-5k-p99", name, pending, "ms", lateness.p99_ms);
    }
    results_add(results, "schedule-64", name, pending, "tasks/s", drive_for(server, &one).rate);
    results_add(results, "batch-full", name, pending, "tasks/s", drive_for(server, &many).rate);
    if (server->peer == &peer_tocsin) {
        many.wish = WISH_SHORT;
        results_add(results, "batch-short", name, pending, "tasks/s",
                    drive_for(server, &many).rate);
        life_measure(results, server, pending, one.run_s);
    }
}

static void measure_at(struct results *results, const struct options *options, uint64_t pending,
                       unsigned rounds, bool at_work)
{
    char folders[PEER_COUNT][PATH_BYTES_MAX];
    size_t count = pending > MILLION ? 2 : PEER_COUNT; /* beanstalkd takes too long for 10M */
    for (size_t i = 0; i < count; i++)
        prepare(results, peers[i], pending, folders[i]);
    for (unsigned round = 0; round < rounds; round++) {
        results_add(results, "memory-miss", "yardstick", 0, "ns", yardstick_miss_ns());
        for (size_t i = 0; i < count; i++) {
            struct server server;
            restart(results, &server, peers[i], pending, folders[i]);
            if (at_work)
                measure_with(results, options, &server, pending);
            server_drop(&server);
        }
    }
    for (size_t i = 0; i < count; i++)
        scratch_remove(folders[i]);
}

void part_restart(struct results *results, const struct options *options)
{
    measure_at(results, options, MILLION, options->rounds, false);
}

void part_growth(struct results *results, const struct options *options)
{
    static const uint64_t sizes[] = {10000, 100000, MILLION, 10 * MILLION};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] > MILLION && !options->full)
            continue;
        if (sizes[i] > 100000 && options->quick)
            continue;
        measure_at(results, options, sizes[i], sizes[i] > MILLION ? 2 : 3, true);
    }
}
