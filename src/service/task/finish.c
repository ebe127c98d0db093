/* SPDX-License-Identifier: MIT */
/* How an attempt ends: well (ack), not well (nack), or with its lease (expiry).
 *
 *   ack      the record is dropped; the run of a schedule tells the schedule
 *   others   the next attempt after a backoff, or an incident when there are none left; what
 *            somebody asked to cancel is cancelled
 *
 * Whoever asks names the run by its fence. When that run is no longer here the lease is lost;
 * when its record has been replaced, the answer is "superseded". */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

enum { RETRY_EXPIRY_MS = 1000 };

static struct bytes cut_error(struct bytes error)
{
    if (error.size <= TASK_ERROR_BYTES_MAX)
        return error;
    size_t size = TASK_ERROR_BYTES_MAX;
    while (size > 0 && ((unsigned char)error.at[size] & 0xc0) == 0x80)
        size--; /* not inside a character */
    return (struct bytes){error.at, size};
}

/* ---- an attempt that failed */

static enum tocsin_status fail_for_good(struct tasks *tasks, struct change *change, unsigned kind,
                                        const struct engine_record *record, struct task *task)
{
    uint64_t rev;
    bool of_schedule = kind == tasks->run_kind;
    enum tocsin_status status = tasks_put_doc(tasks, change, kind, record->key, task, TASK_FAILED,
                                              STORE_NEVER, STORE_ELAPSED, &rev);
    if (status == TOCSIN_OK && of_schedule)
        status = schedule_run_ended(tasks, change, task, false);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, task->id, "failed", task, true);
    /* It is known at once: it may be the end of a schedule, and its id is not free then. */
    uint64_t schedule = of_schedule ? incident_schedule(tasks, task->id) : 0;
    return incident_add(tasks, record->ref, rev, schedule) ? TOCSIN_OK : TOCSIN_NO_MEMORY;
}

static enum tocsin_status cancel_now(struct tasks *tasks, struct change *change, unsigned kind,
                                     const struct engine_record *record, struct task *task)
{
    enum tocsin_status status = change_drop(change, kind, record->key);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, task->id, "cancelled", task, false);
    tasks_ended_after(tasks, change, record, task, FINISHED_CANCELLED);
    return TOCSIN_OK;
}

enum tocsin_status finish_failed(struct tasks *tasks, struct change *change, unsigned kind,
                                 const struct engine_record *record, struct task *task,
                                 const struct failure *failure, enum tasks_count *ret_what)
{
    task->origin = tasks_origin(task, record);
    task->attempt = failure->attempt;
    task->last_error = cut_error(failure->error);
    task->claim = (struct task_claim){0};
    if (task->cancel_requested) {
        *ret_what = TASKS_CANCELLED;
        return cancel_now(tasks, change, kind, record, task);
    }
    if (failure->attempt > task->retries_max) {
        *ret_what = TASKS_FAILED;
        return fail_for_good(tasks, change, kind, record, task);
    }
    *ret_what = TASKS_RETRIED;
    int64_t delay = failure->delay_ms;
    if (!failure->has_delay)
        delay = (int64_t)backoff_delay_ms(&task->backoff, failure->attempt - 1,
                                          tasks->chance(tasks->chance_arg));
    tasks_event(tasks, change, task->id, "attempt_failed", task, false);
    return tasks_put_doc(tasks, change, kind, record->key, task, TASK_RETRYING,
                         engine_now_up_ms(tasks->engine) + delay, STORE_ELAPSED, NULL);
}

/* ---- a run that is named from outside */

/* NONE: it is another's by now. */
static enum tocsin_status task_of(const struct run *run, const struct engine_record *record,
                                  struct task *ret_task)
{
    enum tocsin_status status = tasks_decode(record, &run->tasks->lists, ret_task);
    if (status == TOCSIN_OK && tasks_origin(ret_task, record) != run->origin)
        status = TOCSIN_NONE;
    return status;
}

/* OK and its record; NONE: it was replaced or dropped by somebody else. */
static enum tocsin_status record_of(struct change *change, const struct run *run,
                                    struct engine_record *ret_record, struct task *ret_task)
{
    enum tocsin_status status = change_get_ref(change, run->ref, ret_record);
    return status == TOCSIN_OK ? task_of(run, ret_record, ret_task) : status;
}

static void say(struct tasks_call *call, const char *field, const char *text)
{
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    json_write_object(&writer);
    json_field_bytes(&writer, "run", call->id);
    json_write_key(&writer, field);
    if (text == NULL)
        json_write_bool(&writer, true);
    else
        json_write_text(&writer, text);
    json_write_object_end(&writer);
}

static enum tocsin_status superseded(struct tasks_call *call)
{
    if (call->verb == TASKS_EXTEND)
        return reply_refuse(&call->reply, OUTCOME_LOST,
                            "the task was replaced or removed: this run is void");
    say(call, "superseded", NULL);
    call->ended = CALL_SUPERSEDED;
    return TOCSIN_OK;
}

static enum tocsin_status end_one_shot(struct tasks_call *call, struct change *change,
                                       const struct run *run, const struct engine_record *record)
{
    enum tocsin_status status = change_drop(change, run->tasks->task_kind, record->key);
    if (status == TOCSIN_OK)
        tasks_acked_after(run->tasks, change, record, run, call->result);
    return status;
}

/* The very version that was leased: then nothing in its doc is news. */
static bool as_leased(const struct run *run, const struct engine_record *record)
{
    return record->rev == run->rev && !run->of_schedule && run->tasks->history != TASKS_HISTORY_ALL;
}

static enum tocsin_status ack(struct tasks_call *call, struct change *change, struct run *run)
{
    struct tasks *tasks = run->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = change_get_ref(change, run->ref, &record);
    bool known = status == TOCSIN_OK && as_leased(run, &record);
    if (status == TOCSIN_OK && !known)
        status = task_of(run, &record, &task);
    if (status == TOCSIN_NONE && run->state == RUN_ENDING) {
        say(call, "status", "completed"); /* the same ack, twice: the first is on its way */
        return TOCSIN_OK;
    }
    if (status == TOCSIN_NONE)
        return superseded(call);
    if (status != TOCSIN_OK)
        return status;
    if (!known)
        task.attempt = run->attempt;
    if (run->of_schedule) {
        status = schedule_run_ended(tasks, change, &task, true);
        if (status == TOCSIN_OK)
            status = change_drop(change, tasks->run_kind, record.key);
    } else {
        status = end_one_shot(call, change, run, &record);
    }
    if (status != TOCSIN_OK)
        return status;
    if (!known)
        tasks_event(tasks, change, task.id, "completed", &task, false);
    say(call, "status", "completed");
    call->ended = CALL_ENDED_WELL;
    return TOCSIN_OK;
}

static enum tocsin_status nack(struct tasks_call *call, struct change *change, struct run *run)
{
    struct tasks *tasks = run->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = record_of(change, run, &record, &task);
    if (status == TOCSIN_NONE)
        return superseded(call);
    if (status != TOCSIN_OK)
        return status;
    struct failure failure = {run->attempt, call->error, call->has_delay, call->delay_ms};
    unsigned kind = run->of_schedule ? tasks->run_kind : tasks->task_kind;
    enum tasks_count what;
    status = finish_failed(tasks, change, kind, &record, &task, &failure, &what);
    if (status != TOCSIN_OK)
        return status;
    tasks_count_after(tasks, change, what, 1);
    if (tasks->watch.failed != NULL)
        tasks->watch.failed(tasks->watch.arg, task.id, run->attempt, task.last_error,
                            what == TASKS_FAILED);
    say(call, "status",
        what == TASKS_RETRIED  ? "pending"
        : what == TASKS_FAILED ? "failed"
                               : "cancelled");
    call->ended = CALL_ENDED_BADLY;
    return TOCSIN_OK;
}

static enum tocsin_status extend(struct tasks_call *call, struct change *change, struct run *run)
{
    struct engine *engine = run->tasks->engine;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = record_of(change, run, &record, &task);
    if (status == TOCSIN_NONE)
        return superseded(call);
    if (status != TOCSIN_OK)
        return status;
    if (run->cancel_requested)
        return reply_refuse(&call->reply, OUTCOME_TO_CANCEL,
                            "somebody asked to cancel this task: please stop");
    int64_t until = engine_now_ms(engine) + call->ttl_ms;
    if (until > run->end_ms)
        until = run->end_ms;
    run->until_ms = until;
    (void)engine_timer_arm(engine, &run->timer, until);
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    json_write_object(&writer);
    json_field_bytes(&writer, "run", call->id);
    json_field_int64(&writer, "lease_until_ms", engine_wall_of(engine, until, STORE_ELAPSED));
    json_write_object_end(&writer);
    return TOCSIN_OK;
}

#define ACKED_SUPERSEDED (UINT64_C(1) << 63) /* a fence is below 2^53 */

static void remember_acked(struct tasks *tasks, uint64_t fence, bool superseded)
{
    tasks->acked[fence % ACKED_MAX] = fence | (superseded ? ACKED_SUPERSEDED : 0);
}

/* The same ack again gets the same answer. */
static bool said_before(struct tasks_call *call)
{
    uint64_t acked = call->tasks->acked[call->fence % ACKED_MAX];
    if ((acked & ~ACKED_SUPERSEDED) != call->fence)
        return false;
    if ((acked & ACKED_SUPERSEDED) != 0)
        say(call, "superseded", NULL);
    else
        say(call, "status", "completed");
    return true;
}

enum tocsin_status finish_verb(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    call->ended = CALL_NOT_ENDED;
    if (!run_id_read(call->id, &call->fence))
        return reply_refuse(&call->reply, OUTCOME_MISSING, "run: this is not the name of a run");
    struct run *run = run_of_fence(tasks, call->fence);
    if (run == NULL && call->verb == TASKS_ACK && said_before(call))
        return TOCSIN_OK;
    if (run == NULL || (run->state == RUN_ENDING && !(run->ending_well && call->verb == TASKS_ACK)))
        return reply_refuse(&call->reply, OUTCOME_LOST,
                            "the lease of this run is lost: it ended, or the server was restarted");
    switch (call->verb) {
    case TASKS_ACK:
        return ack(call, change, run);
    case TASKS_NACK:
        return nack(call, change, run);
    default:
        return extend(call, change, run);
    }
}

/* The function has returned OK: from here on nobody else may end it. */
void finish_staged(struct tasks_call *call)
{
    struct run *run = run_of_fence(call->tasks, call->fence);
    if (run == NULL || call->ended == CALL_NOT_ENDED)
        return;
    run->state = RUN_ENDING;
    run->ending_well = call->ended == CALL_ENDED_WELL;
}

void finish_done(struct tasks_call *call, bool ok)
{
    struct tasks *tasks = call->tasks;
    if (call->reply.outcome == OUTCOME_LOST && !call->reply.replayed)
        tasks_count(tasks, TASKS_FENCED, 1);
    struct run *run = run_of_fence(tasks, call->fence);
    if (run == NULL || call->ended == CALL_NOT_ENDED)
        return;
    if (!ok) {
        run->state = RUN_LEASED;
        if (run->end_when_free)
            run_timer_fired(run);
        return;
    }
    if (call->ended == CALL_ENDED_WELL) {
        remember_acked(tasks, run->fence, false);
        tasks_count(tasks, TASKS_EXECUTED, 1);
        if (tasks->watch.took != NULL)
            tasks->watch.took(tasks->watch.arg, engine_now_ms(tasks->engine) - run->started_ms);
    } else if (call->ended == CALL_SUPERSEDED) {
        remember_acked(tasks, run->fence, true);
        tasks_count(tasks, TASKS_SUPERSEDED, 1);
    }
    run_destroy(run);
}

/* ---- a lease that ended */

static enum tocsin_status expire(void *arg, struct change *change)
{
    struct run *run = arg;
    struct tasks *tasks = run->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = record_of(change, run, &record, &task);
    if (status == TOCSIN_NONE)
        return TOCSIN_OK; /* superseded: nothing is left to do */
    if (status != TOCSIN_OK)
        return status;
    bool timeout = engine_now_ms(tasks->engine) >= run->end_ms;
    struct failure failure = {
        .attempt = run->attempt,
        .error = bytes_of(timeout ? "timeout: the attempt took longer than the task allows"
                                  : "lease expired: no ack, nack or extend came in time"),
    };
    unsigned kind = run->of_schedule ? tasks->run_kind : tasks->task_kind;
    enum tasks_count what;
    status = finish_failed(tasks, change, kind, &record, &task, &failure, &what);
    if (status == TOCSIN_OK) {
        tasks_count_after(tasks, change, TASKS_EXPIRED, 1);
        tasks_count_after(tasks, change, what, 1);
        if (tasks->watch.failed != NULL)
            tasks->watch.failed(tasks->watch.arg, task.id, run->attempt, failure.error,
                                what == TASKS_FAILED);
    }
    return status;
}

static void expired(void *arg, enum tocsin_status status)
{
    struct run *run = arg;
    if (status == TOCSIN_OK || status == TOCSIN_DAMAGED) {
        run_destroy(run);
        return;
    }
    run->state = RUN_LEASED; /* the store cannot: soon again */
    (void)engine_timer_arm(run->tasks->engine, &run->timer,
                           engine_now_ms(run->tasks->engine) + RETRY_EXPIRY_MS);
}

void run_timer_fired(void *arg)
{
    struct run *run = arg;
    if (run->state == RUN_ENDING) {
        run->end_when_free = true;
        return;
    }
    assert(run->state == RUN_LEASED);
    run->state = RUN_ENDING;
    run->ending_well = false;
    run->end_when_free = false;
    engine_timer_cancel(run->tasks->engine, &run->timer);
    engine_change(run->tasks->engine, true, expire, expired, run);
}
