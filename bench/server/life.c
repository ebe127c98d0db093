/* SPDX-License-Identifier: MIT */
/* A full life: scheduled, fired, leased and acknowledged, everything synced before its answer.
 * Tasks are due at once; as many are under way as keep every connection busy, and no more
 * than WINDOW, so that what is counted is lives and not a backlog. */
#include <stdlib.h>

#include "drive.h"
#include "parts.h"
#include "work.h"

enum { WINDOW = 20000, TASKS_MAX = 20 * 1000 * 1000 };

static const struct way {
    const char *row;
    enum wish wish;
    unsigned schedulers, units;
    unsigned leasers, lease_max;
    unsigned ackers, ack_max;
} ways[] = {
    {"life-single", WISH_ONE, 64, 1, 64, 1, 64, 1},
    {"life-mixed", WISH_ONE, 64, 1, 4, 100, 4, 100},
    {"life-batched", WISH_SHORT, 8, 100, 8, 100, 8, 100},
};
enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

struct life {
    struct work work;
    struct recipe recipe;
    struct connection *idle[CONNECTIONS_MAX]; /* the window is full */
    unsigned idle_count;
    bool enough;
};

static void schedule(struct life *self, struct connection *connection)
{
    struct work *work = &self->work;
    int64_t due[1000];
    uint64_t sent = work->server->next_id - work->first_id;
    if (self->enough || sent - work->acked > WINDOW || sent + self->recipe.units > work->count) {
        self->idle[self->idle_count++] = connection;
        return;
    }
    int64_t now_ms = bench_wall_ns() / 1000000;
    for (unsigned i = 0; i < self->recipe.units; i++)
        due[i] = now_ms;
    char *out = load_room(connection, recipe_bytes(&self->recipe));
    load_request(connection, recipe_write_due(&self->recipe, work->server, due, out));
}

static void scheduled(void *arg, struct connection *connection, const struct answer *answer)
{
    (void)answer;
    schedule(arg, connection);
}

static void turn(struct life *self)
{
    load_turn(&self->work.load, 1000);
    work_ack(&self->work);
    unsigned count = self->idle_count;
    self->idle_count = 0;
    for (unsigned i = 0; i < count; i++)
        schedule(self, self->idle[i]);
}

static void begin(struct life *self, struct server *server, const struct way *way)
{
    self->idle_count = 0;
    self->enough = false;
    self->work.lease_max = way->lease_max;
    self->work.ack_max = way->ack_max;
    work_open(&self->work, server, way->leasers, way->ackers, false, TASKS_MAX);
    work_lease_all(&self->work);
    peer_tocsin.recipe(server, way->wish, way->units, ID_SHORT, &self->recipe);
    for (unsigned i = 0; i < way->schedulers; i++) {
        struct connection *connection =
            load_connect(&self->work.load, server->port, self->recipe.frame, scheduled, self);
        connection->units = way->units;
        schedule(self, connection);
    }
}

/* Lives a second, counted at their end. All that began must end, each once. */
static struct pace measure_on(struct server *server, const struct way *way, double warm_s,
                              double run_s)
{
    static struct life self;
    struct pace_meter meter;
    begin(&self, server, way);
    uint64_t until_ns = bench_now_ns() + (uint64_t)(warm_s * 1e9);
    while (bench_now_ns() < until_ns)
        turn(&self);
    pace_start(&meter, server, self.work.acked);
    until_ns = meter.from_ns + (uint64_t)(run_s * 1e9);
    while (bench_now_ns() < until_ns)
        turn(&self);
    struct pace pace = pace_read(&meter, server, self.work.acked);
    self.enough = true;
    until_ns = bench_now_ns() + UINT64_C(60000000000);
    while (self.work.acked < server->next_id - self.work.first_id) {
        turn(&self);
        if (bench_now_ns() > until_ns)
            bench_die("%s: only %llu of %llu lives ended", way->row,
                      (unsigned long long)self.work.acked,
                      (unsigned long long)(server->next_id - self.work.first_id));
    }
    work_close(&self.work);
    return pace;
}

static struct pace measure(const struct way *way, double warm_s, double run_s)
{
    struct server server;
    server_start(&server, &peer_tocsin, NULL, false);
    struct pace pace = measure_on(&server, way, warm_s, run_s);
    server_drop(&server);
    return pace;
}

void life_measure(struct results *results, struct server *server, uint64_t pending, double run_s)
{
    for (size_t i = 0; i < WAY_COUNT; i++)
        results_add(results, ways[i].row, "tocsin", pending, "tasks/s",
                    measure_on(server, &ways[i], 0.5, run_s).rate);
}

void part_life(struct results *results, const struct options *options)
{
    double run_s = options->seconds > 0 ? options->seconds : options->quick ? 2 : 5;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (size_t i = 0; i < WAY_COUNT; i++) {
            const struct way *way = &ways[i];
            bench_progress("round %u of %u: full life, %s", round + 1, options->rounds, way->row);
            pace_add(results, way->row, "tocsin", measure(way, options->quick ? 0.5 : 1, run_s));
        }
    }
}
