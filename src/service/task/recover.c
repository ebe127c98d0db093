/* SPDX-License-Identifier: MIT */
/* After a start: what was under way. Before an orderly stop: what is.
 *
 *   CLAIMED      its worker's claim is of an old epoch: that attempt has failed
 *   CANCELLING   the same, and it was to be cancelled
 *   HELD         the claim was written as the server was stopped in order: it stays good
 */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

enum { RETRY_MS = 1000 };

/* One less is under way; after the last there are none. */
static void one_over(struct tasks *tasks)
{
    if (--tasks->recoveries_left > 0)
        return;
    free(tasks->recoveries);
    tasks->recoveries = NULL;
    tasks->recovery_count = tasks->recovery_room = 0;
}

/* The store may be full, or the memory: it is tried again, and meanwhile requests are taken. */
static void tried(struct recovery *recovery, enum tocsin_status status)
{
    struct tasks *tasks = recovery->tasks;
    struct engine *engine = tasks->engine;
    tasks->recovering -= recovery->counted;
    recovery->counted = false;
    if (!tocsin_status_retryable(status) ||
        engine_timer_arm(engine, &recovery->again, engine_now_ms(engine) + RETRY_MS) != TOCSIN_OK)
        one_over(tasks);
}

/* ---- claims of an old epoch */

static enum tocsin_status end_old_claim(void *arg, struct change *change)
{
    struct recovery *recovery = arg;
    struct tasks *tasks = recovery->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = change_get_ref(change, recovery->ref, &record);
    if (status == TOCSIN_OK && record.mark != TASK_CLAIMED && record.mark != TASK_CANCELLING)
        return TOCSIN_NONE; /* replaced, before this could be written */
    if (status == TOCSIN_OK)
        status = tasks_decode(&record, &tasks->lists, &task);
    if (status != TOCSIN_OK)
        return status;
    struct failure failure = {
        .attempt = task.attempt > 0 ? task.attempt : 1,
        .error = bytes_of("the server was stopped hard while a worker had it"),
    };
    unsigned kind = task.occurrence != 0 ? tasks->run_kind : tasks->task_kind;
    enum tasks_count what;
    status = finish_failed(tasks, change, kind, &record, &task, &failure, &what);
    if (status == TOCSIN_OK)
        tasks_count_after(tasks, change, what, 1);
    return status;
}

static void old_claim_ended(void *arg, enum tocsin_status status)
{
    tried(arg, status);
}

static void try_to_end(void *arg)
{
    struct recovery *recovery = arg;
    engine_change(recovery->tasks->engine, true, end_old_claim, old_claim_ended, recovery);
}

/* ---- claims that stay good */

static enum tocsin_status take_up(struct tasks *tasks, const struct engine_record *record,
                                  const struct task *task)
{
    struct run *run = run_create(tasks);
    struct queue *queue = run == NULL ? NULL : queue_get(tasks, task->queue);
    if (queue == NULL) {
        if (run != NULL)
            run_destroy(run);
        return TOCSIN_NO_MEMORY;
    }
    run->ref = record->ref;
    run->rev = record->rev;
    run->origin = tasks_origin(task, record);
    run->of_schedule = task->occurrence != 0;
    run->attempt = task->attempt;
    run->written = true;
    run->cancel_requested = task->cancel_requested;
    run->fence = task->claim.fence;
    run->started_ms = task->claim.started_ms;
    run->until_ms = task->claim.until_ms;
    run->end_ms = run->started_ms + task->timeout_ms;
    run->queue = queue;
    queue->leased++;
    tasks->leased++;
    engine_attach(tasks->engine, run->ref, run->index + 1);
    run_start_lease(run);
    return TOCSIN_OK;
}

static void held_here(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct recovery *recovery = arg;
    struct tasks *tasks = recovery->tasks;
    struct task task;
    if (status == TOCSIN_OK && record->mark != TASK_HELD && record->mark != TASK_CANCELLING)
        status = TOCSIN_NONE; /* replaced, before it could be read */
    if (status == TOCSIN_OK)
        status = tasks_decode(record, &tasks->lists, &task);
    if (status == TOCSIN_OK)
        status = take_up(tasks, record, &task);
    tried(recovery, status);
}

static void try_to_take_up(void *arg)
{
    struct recovery *recovery = arg;
    engine_get_ref(recovery->tasks->engine, recovery->ref, held_here, recovery);
}

enum tocsin_status tasks_recover(struct tasks *tasks)
{
    if (tasks->load_failed)
        return TOCSIN_NO_MEMORY;
    tasks->recoveries_left = tasks->recovery_count + 1; /* this loop's own */
    tasks->recovering += tasks->recovery_count;
    for (size_t i = 0; i < tasks->recovery_count; i++) {
        struct recovery *recovery = &tasks->recoveries[i];
        recovery->counted = true;
        recovery->again = (struct engine_timer){
            .fn = recovery->mark == TASK_HELD ? try_to_take_up : try_to_end, .arg = recovery};
        recovery->again.fn(recovery);
    }
    one_over(tasks);
    return TOCSIN_OK;
}

bool tasks_recovering(const struct tasks *tasks)
{
    return tasks->recovering > 0;
}

/* ---- an orderly stop */

struct holding {
    struct tasks *tasks;
    size_t pending;
    enum tocsin_status status;
    void (*done)(void *arg, enum tocsin_status status);
    void *arg;
};

struct hold_one {
    struct holding *holding;
    uint64_t fence;
};

static enum tocsin_status write_held(void *arg, struct change *change)
{
    const struct hold_one *one = arg;
    struct tasks *tasks = one->holding->tasks;
    const struct run *run = run_of_fence(tasks, one->fence);
    struct engine_record record;
    struct task task;
    if (run == NULL || run->state != RUN_LEASED)
        return TOCSIN_OK; /* it has ended meanwhile */
    enum tocsin_status status = change_get_ref(change, run->ref, &record);
    if (status == TOCSIN_OK)
        status = tasks_decode(&record, &tasks->lists, &task);
    if (status != TOCSIN_OK)
        return status == TOCSIN_NONE ? TOCSIN_OK : status;
    if (tasks_origin(&task, &record) != run->origin)
        return TOCSIN_OK;
    task.origin = run->origin;
    task.attempt = run->attempt;
    task.claim = (struct task_claim){run->fence, run->started_ms, run->until_ms};
    unsigned kind = run->of_schedule ? tasks->run_kind : tasks->task_kind;
    return tasks_put_doc(tasks, change, kind, record.key, &task, TASK_HELD, STORE_NEVER,
                         STORE_ELAPSED, NULL);
}

static void one_held(struct holding *holding, enum tocsin_status status)
{
    if (status != TOCSIN_OK && holding->status == TOCSIN_OK)
        holding->status = status;
    if (--holding->pending > 0)
        return;
    holding->done(holding->arg, holding->status);
    free(holding);
}

static void held_written(void *arg, enum tocsin_status status)
{
    struct hold_one *one = arg;
    one_held(one->holding, status);
    free(one);
}

void tasks_hold(struct tasks *tasks, void (*done)(void *arg, enum tocsin_status status), void *arg)
{
    leases_hold(tasks);
    struct holding *holding = malloc(sizeof *holding);
    if (holding == NULL) {
        done(arg, TOCSIN_NO_MEMORY);
        return;
    }
    *holding = (struct holding){tasks, 1, TOCSIN_OK, done, arg};
    for (uint32_t i = 0; i < tasks->run_end; i++) {
        const struct run *run = tasks->runs[i];
        if (run == NULL || run->state != RUN_LEASED)
            continue;
        struct hold_one *one = malloc(sizeof *one);
        if (one == NULL) {
            holding->status = TOCSIN_NO_MEMORY;
            continue;
        }
        *one = (struct hold_one){holding, run->fence};
        holding->pending++;
        engine_change(tasks->engine, true, write_held, held_written, one);
    }
    one_held(holding, TOCSIN_OK);
}
