/* SPDX-License-Identifier: MIT */
/* Lateness: from the millisecond a task is due until its worker has read the answer that
 * brings it, by the same clock. Tasks are scheduled beforehand, evenly over the time. */
#include "parts.h"
#include "rate.h"
#include "work.h"
#include "yardstick.h"

enum { LEAD_MS = 1500, BATCH = 500, SCHEDULERS = 4 };

/* The tasks of a second are spread over its milliseconds. */
struct plan {
    struct work *work;
    struct recipe recipe;
    int64_t first_ms;
    unsigned rate;
    uint64_t sent, answered;
};

static void schedule(struct plan *self, struct connection *connection)
{
    int64_t due[BATCH];
    if (self->sent == self->work->count)
        return;
    for (unsigned i = 0; i < BATCH; i++)
        due[i] = self->first_ms + (int64_t)((self->sent + i) * 1000 / self->rate);
    char *out = load_room(connection, recipe_bytes(&self->recipe));
    load_request(connection, recipe_write_due(&self->recipe, self->work->server, due, out));
    self->sent += BATCH;
}

static void scheduled(void *arg, struct connection *connection, const struct answer *answer)
{
    struct plan *self = arg;
    (void)answer;
    self->answered += BATCH;
    schedule(self, connection);
}

/* How long scheduling them takes decides when the first can be due. */
static void schedule_all(struct work *work, unsigned rate)
{
    static struct plan plan;
    int64_t lead_ms = LEAD_MS + (int64_t)(work->count / 40);
    plan =
        (struct plan){.work = work, .rate = rate, .first_ms = bench_wall_ns() / 1000000 + lead_ms};
    peer_tocsin.recipe(work->server, WISH_SHORT, BATCH, ID_SHORT, &plan.recipe);
    for (unsigned i = 0; i < SCHEDULERS; i++) {
        struct connection *connection =
            load_connect(&work->load, work->server->port, plan.recipe.frame, scheduled, &plan);
        connection->units = BATCH;
        schedule(&plan, connection);
    }
    while (plan.answered < work->count)
        load_turn(&work->load, 1000);
    if (bench_wall_ns() / 1000000 > plan.first_ms)
        bench_die("scheduling %llu tasks took more than %.1f s: they would be late from the start",
                  (unsigned long long)work->count, (double)lead_ms / 1000);
}

struct bench_ranks lateness_measure(struct server *server, const struct rate *rate)
{
    static struct work work;
    work.lease_max = rate->lease_max;
    work.ack_max = rate->ack_max;
    work_open(&work, server, rate->leasers, rate->ackers, true,
              (uint64_t)(rate->a_second * rate->seconds));
    schedule_all(&work, rate->a_second);
    work_lease_all(&work);
    uint64_t stuck_ns = bench_now_ns() + (uint64_t)((rate->seconds + 60) * 1e9);
    while (work.acked < work.count) {
        load_turn(&work.load, 1000);
        work_ack(&work);
        if (bench_now_ns() > stuck_ns)
            bench_die("only %llu of %llu tasks came", (unsigned long long)work.leased,
                      (unsigned long long)work.count);
    }
    struct bench_ranks lateness = bench_rank(work.late_ms, work.count);
    work_close(&work);
    return lateness;
}

static void measure(struct results *results, const struct rate *rate, const char *row)
{
    struct server server;
    server_start(&server, &peer_tocsin, NULL, false);
    results_add_ranks(results, row, "tocsin", lateness_measure(&server, rate));
    server_drop(&server);
}

const struct rate rate_5k = {5000, 10, 16, 16, 100, 4};
const struct rate rate_50k = {50000, 10, 100, 8, 100, 4};

void part_lateness(struct results *results, const struct options *options)
{
    struct rate slow = rate_5k, fast = rate_50k;
    if (options->quick)
        slow.seconds = fast.seconds = 3;
    for (unsigned round = 0; round < options->rounds; round++) {
        bench_progress("round %u of %u: lateness, yardstick", round + 1, options->rounds);
        struct bench_ranks wakeups = yardstick_wakeups(3);
        results_add(results, "wakeup-p50", "yardstick", 0, "ms", wakeups.p50_ms);
        results_add(results, "wakeup-p99", "yardstick", 0, "ms", wakeups.p99_ms);
        bench_progress("round %u of %u: lateness, 5 000 a second", round + 1, options->rounds);
        measure(results, &slow, "lateness-5k");
        bench_progress("round %u of %u: lateness, 50 000 a second", round + 1, options->rounds);
        measure(results, &fast, "lateness-50k");
    }
}
