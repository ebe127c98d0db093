/* SPDX-License-Identifier: MIT */
/* Scheduling: one task a request, and batches. Every round begins with empty servers. */
#include "drive.h"
#include "parts.h"
#include "yardstick.h"

static const struct peer *const peers[] = {&peer_redis, &peer_tocsin, &peer_beanstalkd};
enum { PEER_COUNT = sizeof peers / sizeof peers[0] };

static void measure(struct results *results, const struct options *options, const char *row,
                    const struct peer *peer, const struct drive *drive)
{
    struct server server;
    struct drive timed = *drive;
    timed.warm_s = options->quick ? 0.3 : 0.5;
    timed.run_s = options->seconds > 0 ? options->seconds : options->quick ? 1.2 : 3;
    server_start(&server, peer, NULL, false);
    pace_add(results, row, peer->name, drive_for(&server, &timed));
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
            measure(results, options, "schedule-64", peers[i], &many);
            measure(results, options, "schedule-1", peers[i], &one);
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
            measure(results, options, "batch-full", peers[i], &full);
            if (peers[i] == &peer_tocsin)
                measure(results, options, "batch-short", peers[i], &brief);
        }
    }
}
