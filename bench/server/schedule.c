/* SPDX-License-Identifier: MIT */
/* Scheduling: one task a request, and batches. Every round begins with empty servers. */
#include "drive.h"
#include "parts.h"
#include "yardstick.h"

static const struct peer *const peers[] = {&peer_redis, &peer_tocsin, &peer_beanstalkd};
enum { PEER_COUNT = sizeof peers / sizeof peers[0] };

struct rows {
    const char *rate, *server_cpu, *client_cpu;
};
static const struct rows schedule_64 = {"schedule-64", "schedule-64-server-cpu",
                                        "schedule-64-client-cpu"};
static const struct rows schedule_1 = {"schedule-1", "schedule-1-server-cpu",
                                       "schedule-1-client-cpu"};
static const struct rows batch_full = {"batch-full", "batch-full-server-cpu",
                                       "batch-full-client-cpu"};
static const struct rows batch_short = {"batch-short", "batch-short-server-cpu",
                                        "batch-short-client-cpu"};

static void measure(struct results *results, const struct options *options, const struct rows *rows,
                    const struct peer *peer, const struct drive *drive)
{
    struct server server;
    struct drive timed = *drive;
    timed.warm_s = options->quick ? 0.3 : 0.5;
    timed.run_s = options->seconds > 0 ? options->seconds : options->quick ? 1.2 : 3;
    server_start(&server, peer, NULL, false);
    struct pace pace = drive_for(&server, &timed);
    results_add(results, rows->rate, peer->name, 0, "tasks/s", pace.rate);
    results_add(results, rows->server_cpu, peer->name, 0, "us", pace.server_us);
    results_add(results, rows->client_cpu, peer->name, 0, "us", pace.client_us);
    server_drop(&server);
}

static void measure_fdatasync(struct results *results)
{
    results_add(results, "fdatasync", "yardstick", 0, "ms", yardstick_fdatasync_ms(0.5));
}

void part_schedule(struct results *results, const struct options *options)
{
    struct drive many = {
        .connections = 64, .depth = 1, .wish = WISH_ONE, .units = 1, .id_bytes = ID_SHORT};
    struct drive one = many;
    one.connections = 1;
    for (unsigned round = 0; round < options->rounds; round++) {
        measure_fdatasync(results);
        for (size_t i = 0; i < PEER_COUNT; i++) {
            bench_progress("round %u of %u: scheduling, %s", round + 1, options->rounds,
                           peers[i]->name);
            measure(results, options, &schedule_64, peers[i], &many);
            measure(results, options, &schedule_1, peers[i], &one);
        }
    }
}

void part_batch(struct results *results, const struct options *options)
{
    struct drive full = {
        .connections = 8, .depth = 1, .wish = WISH_FULL, .units = 100, .id_bytes = ID_SHORT};
    struct drive brief = full;
    brief.wish = WISH_SHORT;
    for (unsigned round = 0; round < options->rounds; round++) {
        measure_fdatasync(results);
        for (size_t i = 0; i < PEER_COUNT; i++) {
            bench_progress("round %u of %u: batches, %s", round + 1, options->rounds,
                           peers[i]->name);
            measure(results, options, &batch_full, peers[i], &full);
            if (peers[i] == &peer_tocsin)
                measure(results, options, &batch_short, peers[i], &brief);
        }
    }
}
