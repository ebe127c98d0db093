/* SPDX-License-Identifier: MIT */
/* What is timed, and what is not:
 *
 *   fill     not timed.
 *   steady   timed: pairs_per_ms pairs, then the clock moves 1 ms and what is due
 *            fires and is armed again; and so on. Ours runs for a full turn of its
 *            wheel, so that each of its costs comes round. A heap's cost has no
 *            period: the peers stop after PEER_PAIRS_MAX pairs, of the same state.
 *   pair     timed, after steady, so that the memory is as mixed as it gets.
 *   rearm    timed, after pair.
 *   expire   timed, in a child of its own. A peer's turn has a fixed cost that is
 *            its loop's, not its heap's, so the clock moves for all of them so that
 *            some EXPIRE_BATCH timers are due per turn. Constant delays are armed
 *            over 30 s, one after the other, as they would be in life, or all would
 *            be due in one tick.
 *
 * Time is the child's CPU time: nothing here waits, so it differs from the time
 * that passes only by what other programs took of the processor meanwhile.
 */
#include "measure.h"

#include "harness.h"

enum { PEER_PAIRS_MAX = 500000, EXPIRE_BATCH = 64 };

struct task {
    const struct structure *structure;
    const struct workload *workload;
};

/* All armed with fresh delays; answers with the time that it then is. */
static uint64_t fill(const struct structure *structure, void *self, const struct workload *workload)
{
    if (workload->dist != DIST_CONSTANT) {
        structure->arm(self, workload->fresh, workload->pending);
        return workload->start_ms;
    }
    uint64_t moved_ms = 0;
    for (uint32_t from = 0, to; from < workload->pending; from = to) {
        moved_ms++;
        to = (uint32_t)((uint64_t)workload->pending * moved_ms / (CONSTANT_MS - 1));
        if (to > workload->pending)
            to = workload->pending;
        structure->advance(self, workload->start_ms + moved_ms);
        structure->arm(self, workload->fresh + from, to - from);
    }
    return workload->start_ms + moved_ms;
}

static double ns_each(uint64_t from_ns, uint64_t count)
{
    return (double)(bench_cpu_ns() - from_ns) / (double)count;
}

static void run_steady(const struct task *task, void *self, struct firing *firing, uint64_t now_ms,
                       struct figures *figures)
{
    const struct structure *structure = task->structure;
    const struct workload *workload = task->workload;
    size_t batch = workload->pairs_per_ms;
    size_t turns = TURN_MS, round = workload->churn_count / batch;
    if (!structure->turns && turns > PEER_PAIRS_MAX / batch)
        turns = PEER_PAIRS_MAX / batch;
    firing->again = workload->again;
    firing->fired = 0;
    uint64_t from_ns = bench_cpu_ns();
    for (size_t i = 0; i < turns; i++) {
        structure->pairs(self, workload->churn + i % round * batch, batch);
        structure->advance(self, now_ms + i + 1);
    }
    figures->steady_ns = ns_each(from_ns, turns * batch);
    figures->steady_fired = (double)firing->fired / (double)(turns * batch);
    firing->again = NULL;
}

static void churn_child(const void *arg, void *result)
{
    const struct task *task = arg;
    const struct structure *structure = task->structure;
    const struct workload *workload = task->workload;
    struct figures *figures = result;
    struct firing firing = {0};

    size_t before = bench_rss_bytes();
    void *self = structure->create(workload->pending, workload->start_ms, &firing);
    structure->arm(self, workload->aged, workload->pending);
    size_t taken = bench_rss_bytes() - before - structure->handle_bytes * workload->pending;
    if (structure->bytes != NULL && structure->bytes(self) > taken)
        taken = structure->bytes(self);
    figures->bytes = (double)taken / workload->pending;
    if (structure->timer_bytes != NULL)
        figures->timer_bytes = structure->timer_bytes(self);
    run_steady(task, self, &firing, workload->start_ms, figures);

    const struct step *steps = workload->churn;
    size_t count = workload->pairs;
    uint64_t from_ns = bench_cpu_ns();
    structure->pairs(self, steps, count);
    figures->pair_ns = ns_each(from_ns, count);
    from_ns = bench_cpu_ns();
    structure->rearms(self, steps + count, count);
    figures->rearm_ns = ns_each(from_ns, count);
}

void measure_churn(const struct structure *structure, const struct workload *workload,
                   struct figures *figures)
{
    struct task task = {structure, workload};
    bench_in_child(churn_child, &task, figures, sizeof *figures);
}

static uint64_t longest_ms(enum dist dist)
{
    return dist == DIST_UNIFORM ? UNIFORM_MAX_MS : dist == DIST_LOG ? LOG_MAX_MS : CONSTANT_MS;
}

/* How many times the clock moved. */
static uint64_t run_out(const struct task *task, void *self, uint64_t start_ms,
                        const struct firing *firing)
{
    const struct structure *structure = task->structure;
    const struct workload *workload = task->workload;
    uint64_t turns = 0, at_ms = start_ms;
    uint64_t end_ms = start_ms + longest_ms(workload->dist) + 2;
    for (; firing->fired < workload->pending && at_ms < end_ms; turns++) {
        at_ms = start_ms + workload_next_ms(workload, at_ms - start_ms, EXPIRE_BATCH);
        structure->advance(self, at_ms < end_ms ? at_ms : end_ms);
    }
    return turns;
}

static void expiry_child(const void *arg, void *result)
{
    const struct task *task = arg;
    const struct structure *structure = task->structure;
    const struct workload *workload = task->workload;
    struct figures *figures = result;
    struct firing firing = {0};

    void *self = structure->create(workload->pending, workload->start_ms, &firing);
    uint64_t now_ms = fill(structure, self, workload);
    if (firing.fired > 0)
        bench_die("%s fired %llu timers early", structure->name, (unsigned long long)firing.fired);
    uint64_t from_ns = bench_cpu_ns();
    uint64_t turns = run_out(task, self, now_ms, &firing);
    figures->expire_ns = ns_each(from_ns, workload->pending);
    figures->expire_turns = (double)turns;
    if (firing.fired != workload->pending || !structure->idle(self))
        bench_die("%s fired %llu of %u timers", structure->name, (unsigned long long)firing.fired,
                  workload->pending);
}

void measure_expiry(const struct structure *structure, const struct workload *workload,
                    struct figures *figures)
{
    struct task task = {structure, workload};
    bench_in_child(expiry_child, &task, figures, sizeof *figures);
}

static void clock_child(const void *arg, void *result)
{
    const struct structure *const *structure = arg;
    struct firing firing = {0};
    const uint64_t start_ms = UINT64_C(1700000000000);
    const struct step step = {.index = 0, .delay_ms = CONSTANT_MS};
    void *self = (*structure)->create(1, start_ms, &firing);
    (*structure)->arm(self, &step, 1);
    (*structure)->advance(self, start_ms + CONSTANT_MS - 1);
    bool early = firing.fired != 0;
    (*structure)->advance(self, start_ms + CONSTANT_MS + 1);
    *(bool *)result = !early && firing.fired == 1;
}

void measure_check_clock(const struct structure *structure)
{
    bool good = false;
    bench_in_child(clock_child, &structure, &good, sizeof good);
    if (!good)
        bench_die("%s does not follow the simulated clock", structure->name);
}
