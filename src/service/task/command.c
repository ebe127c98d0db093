/* SPDX-License-Identifier: MIT */
/* What is asked from outside, as changes. Each verb is a function that may run several times
 * (engine.h) and has no effect but what it stages and what it writes into its call; what must
 * happen in memory happens when it has been staged for good (staged) and when it is durable
 * or rolled back (settled). */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

static void write_answer(struct tasks_call *call, const struct task *task,
                         const struct task_view *view)
{
    struct task_view shown = *view;
    shown.on_a_line = call->on_a_line;
    call->reply.rev = view->rev;
    if (!call->brief) {
        tasks_write_json(&call->reply.answer, task, &shown);
        return;
    }
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    json_write_object(&writer);
    json_field_bytes(&writer, "id", task->id);
    json_field_uint64(&writer, "rev", view->rev);
    json_field_int64(&writer, "due_ms", view->due_ms);
    json_write_object_end(&writer);
}

/* As it is, or as it will be once this is durable. */
static void answer_with(struct tasks_call *call, const struct engine_record *record,
                        const struct task *task, uint64_t rev, enum task_mark mark, int64_t due_ms,
                        enum store_basis basis)
{
    struct engine_record shown = {0};
    if (record != NULL)
        shown = *record;
    shown.mark = (uint8_t)mark;
    shown.due_ms = due_ms;
    shown.basis = basis;
    struct task_view view = tasks_view(call->tasks, &shown, task);
    view.rev = rev;
    write_answer(call, task, &view);
}

/* The record is about to change: as long as that is under way it is in no queue. */
static enum tocsin_status take_out_of_queue(struct tasks_call *call, struct engine_ref ref)
{
    if (engine_attached(call->tasks->engine, ref) != ATTACHED_READY)
        return TOCSIN_OK;
    size_t room = (call->unready_count + 1) * sizeof *call->unready;
    struct engine_ref *unready = realloc(call->unready, room);
    if (unready == NULL)
        return TOCSIN_NO_MEMORY;
    call->unready = unready;
    unready[call->unready_count++] = ref;
    return TOCSIN_OK;
}

static enum tocsin_status get(struct tasks_call *call, struct change *change,
                              struct engine_record *ret_record, struct task *ret_task)
{
    struct tasks *tasks = call->tasks;
    enum tocsin_status status = change_get(change, tasks->task_kind, call->id, ret_record);
    if (status == TOCSIN_OK)
        status = tasks_decode(ret_record, &tasks->lists, ret_task);
    if (status == TOCSIN_OK || status == TOCSIN_DAMAGED)
        call->ref = ret_record->ref;
    return status;
}

/* False: refused, by If-Match or If-None-Match. record NULL: there is none. */
static bool matches(struct tasks_call *call, const struct engine_record *record)
{
    return conditions_hold(&call->conditions, record != NULL, record != NULL ? record->rev : 0,
                           &call->reply);
}

/* The task a verb is for. False: the verb ends here, with this status; when that is OK, the call
 * says why. */
static bool find(struct tasks_call *call, struct change *change, struct engine_record *ret_record,
                 struct task *ret_task, enum tocsin_status *ret_status)
{
    *ret_status = get(call, change, ret_record, ret_task);
    if (*ret_status == TOCSIN_OK)
        return matches(call, ret_record);
    if (*ret_status == TOCSIN_NONE)
        *ret_status = matches(call, NULL)
                          ? reply_refuse(&call->reply, OUTCOME_MISSING, "there is no such task")
                          : TOCSIN_OK;
    return false;
}

static bool leased(const struct tasks_call *call, const struct engine_record *record,
                   const struct task *task)
{
    const struct run *run = run_of_record(call->tasks, record->ref);
    if (run == NULL)
        return record->mark == TASK_CLAIMED || record->mark == TASK_HELD ||
               record->mark == TASK_CANCELLING;
    return run->state == RUN_CLAIMING || run->origin == tasks_origin(task, record);
}

/* ---- making and replacing */

/* With those that are being made. */
static bool tasks_full(const struct tasks *tasks)
{
    uint64_t count = tasks->making;
    for (int mark = 0; mark < TASK_MARKS; mark++)
        count += engine_mark_count(tasks->engine, tasks->task_kind, (uint8_t)mark) +
                 engine_mark_count(tasks->engine, tasks->run_kind, (uint8_t)mark);
    return count >= tasks->limits.tasks;
}

static enum tocsin_status put_wish(struct tasks_call *call, struct change *change,
                                   const struct engine_record *old, int64_t created_ms)
{
    struct tasks *tasks = call->tasks;
    if (old == NULL && tasks_full(tasks))
        return reply_refuse(&call->reply, OUTCOME_TOO_MANY,
                            "as many tasks wait as may (limits.tasks_pending): try again later");
    struct task task = *call->wish;
    task.id = call->id;
    enum store_basis basis = rhythm_basis(&task);
    int64_t now =
        basis == STORE_WALL ? engine_wall_up_ms(tasks->engine) : engine_now_up_ms(tasks->engine);
    const struct zone *zone = zones_find(&tasks->zones, task.zone);
    enum tocsin_status status = rhythm_first(&task, zone, now, &task.nominal_ms, &call->reply.why);
    if (status != TOCSIN_OK) {
        call->reply.outcome = OUTCOME_INVALID;
        return TOCSIN_OK;
    }
    task.created_ms = created_ms != 0 ? created_ms : engine_wall_ms(tasks->engine);
    task.left = task.repeat;
    enum task_mark mark = TASK_SCHEDULED;
    int64_t due = rhythm_due(&task, task.nominal_ms);
    if (task.rhythm == TASK_ONCE) {
        mark = task.misfire == TASK_MISFIRE_SKIP ? TASK_WAITING_SKIP : TASK_WAITING;
        due = due < now ? now : due; /* in the past: at once, and not missed */
    }
    uint64_t rev;
    status =
        tasks_put_doc(tasks, change, tasks->task_kind, call->id, &task, mark, due, basis, &rev);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, call->id, old == NULL ? "created" : "replaced", &task, false);
    call->reply.outcome = old == NULL ? OUTCOME_MADE : OUTCOME_OK;
    answer_with(call, NULL, &task, rev, mark, due, basis);
    return TOCSIN_OK;
}

/* There is no such task; but there may be incidents of a schedule that had its id. */
static enum tocsin_status create_new(struct tasks_call *call, struct change *change)
{
    struct engine_record record;
    size_t at = 0;
    if (!matches(call, NULL))
        return TOCSIN_OK;
    enum tocsin_status status = incident_of_schedule(call->tasks, change, call->id, &at, &record);
    if (status == TOCSIN_NONE)
        return put_wish(call, change, NULL, 0);
    if (status != TOCSIN_OK)
        return status;
    return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                        "id: a schedule of this id has ended, and a run of it is an open incident "
                        "(retry or drop that, or PUT a new task)");
}

static enum tocsin_status create(struct tasks_call *call, struct change *change)
{
    struct engine_record record;
    struct task task;
    enum tocsin_status status = get(call, change, &record, &task);
    if (status == TOCSIN_NONE)
        return create_new(call, change);
    if (status != TOCSIN_OK || !matches(call, &record))
        return status;
    struct task_view view = tasks_view(call->tasks, &record, &task);
    return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                        "id: there is such a task already, and it is %s (PUT replaces it)",
                        record.mark == TASK_FAILED ? "an open incident" : view.status);
}

/* The open runs of a schedule end with it; those in somebody's hands only when `all`. */
static enum tocsin_status drop_runs(struct tasks_call *call, struct change *change,
                                    const struct task *task, bool all)
{
    struct tasks *tasks = call->tasks;
    for (size_t i = 0; i < task->open_count; i++) {
        char key[TASK_ID_BYTES_MAX + 24];
        size_t size = schedule_run_key(task->id, task->open[i], key);
        struct engine_record record;
        enum tocsin_status status =
            change_get(change, tasks->run_kind, (struct bytes){key, size}, &record);
        if (status == TOCSIN_NONE)
            continue;
        if (status != TOCSIN_OK && status != TOCSIN_DAMAGED)
            return status;
        bool held = run_of_record(tasks, record.ref) != NULL || record.mark == TASK_CLAIMED ||
                    record.mark == TASK_HELD;
        if (held && !all)
            continue;
        status = take_out_of_queue(call, record.ref);
        if (status == TOCSIN_OK)
            status = change_drop(change, tasks->run_kind, (struct bytes){key, size});
        if (status != TOCSIN_OK)
            return status;
    }
    return TOCSIN_OK;
}

static enum tocsin_status replace(struct tasks_call *call, struct change *change)
{
    struct engine_record record;
    struct task task;
    enum tocsin_status status = get(call, change, &record, &task);
    if (status == TOCSIN_NONE)
        return matches(call, NULL) ? put_wish(call, change, NULL, 0) : TOCSIN_OK;
    bool damaged = status == TOCSIN_DAMAGED;
    if ((status != TOCSIN_OK && !damaged) || !matches(call, &record))
        return damaged ? TOCSIN_OK : status;
    if (damaged)
        task = (struct task){.created_ms = 0}; /* what it was nobody knows: it begins now */
    status = drop_runs(call, change, &task, true);
    if (status == TOCSIN_OK)
        status = take_out_of_queue(call, record.ref);
    return status == TOCSIN_OK ? put_wish(call, change, &record, task.created_ms) : status;
}

/* ---- cancelling */

static enum tocsin_status cancel_running(struct tasks_call *call, struct change *change,
                                         const struct engine_record *record, struct task *task)
{
    struct tasks *tasks = call->tasks;
    uint64_t rev = record->rev;
    enum task_mark mark = TASK_CANCELLING;
    if (!task->cancel_requested) {
        task->origin = tasks_origin(task, record);
        task->cancel_requested = true;
        enum tocsin_status status = tasks_put_doc(tasks, change, tasks->task_kind, record->key,
                                                  task, mark, STORE_NEVER, STORE_ELAPSED, &rev);
        if (status != TOCSIN_OK)
            return status;
    }
    call->cancels = true;
    call->reply.outcome = OUTCOME_REQUESTED;
    answer_with(call, record, task, rev, mark, STORE_NEVER, STORE_ELAPSED);
    return TOCSIN_OK;
}

/* Nothing is known of it but its id and its queue: it is removed, also when somebody runs it. The
 * runs of a schedule stay, and end by themselves. */
static enum tocsin_status cancel_damaged(struct tasks_call *call, struct change *change,
                                         const struct engine_record *record)
{
    struct tasks *tasks = call->tasks;
    if (!matches(call, record))
        return TOCSIN_OK;
    enum tocsin_status status = take_out_of_queue(call, record->ref);
    if (status == TOCSIN_OK)
        status = change_drop(change, tasks->task_kind, call->id);
    if (status != TOCSIN_OK)
        return status;
    struct task task;
    task_init(&task);
    task.id = call->id;
    task.queue = record->tag;
    tasks_event(tasks, change, call->id, "cancelled", &task, false);
    tasks_count_after(tasks, change, TASKS_CANCELLED, 1);
    struct task_view view = {.status = "cancelled", .rev = record->rev, .due_ms = record->due_ms};
    write_answer(call, &task, &view);
    return TOCSIN_OK;
}

static enum tocsin_status cancel(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status;
    if (!find(call, change, &record, &task, &status))
        return status == TOCSIN_DAMAGED ? cancel_damaged(call, change, &record) : status;
    if (task.rhythm == TASK_ONCE && record.mark != TASK_FAILED && leased(call, &record, &task))
        return cancel_running(call, change, &record, &task);
    status = drop_runs(call, change, &task, false);
    if (status == TOCSIN_OK)
        status = take_out_of_queue(call, record.ref);
    if (status == TOCSIN_OK)
        status = change_drop(change, tasks->task_kind, record.key);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, call->id, "cancelled", &task, false);
    tasks_ended_after(tasks, change, &record, &task, FINISHED_CANCELLED);
    tasks_count_after(tasks, change, TASKS_CANCELLED, 1);
    struct task_view view = tasks_view(tasks, &record, &task);
    view.status = "cancelled";
    write_answer(call, &task, &view);
    return TOCSIN_OK;
}

/* ---- pause, resume, fire */

static enum tocsin_status pause(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status;
    if (!find(call, change, &record, &task, &status))
        return status;
    if (record.mark == TASK_FAILED)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                            "it has failed: retry it or drop the incident");
    if (task.rhythm == TASK_ONCE && leased(call, &record, &task))
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                            "it is running: only DELETE can ask it to stop");
    if (record.mark != TASK_PAUSED)
        task.paused_from = (enum task_mark)record.mark;
    if (record.mark == TASK_RETRYING)
        task.retry_due_ms = record.due_ms;
    task.origin = tasks_origin(&task, &record);
    task.pause_until_ms = call->has_until ? call->until_ms : 0;
    int64_t due = call->has_until ? call->until_ms : STORE_NEVER;
    uint64_t rev;
    status = take_out_of_queue(call, record.ref);
    if (status == TOCSIN_OK)
        status = tasks_put_doc(tasks, change, tasks->task_kind, record.key, &task, TASK_PAUSED, due,
                               STORE_WALL, &rev);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, call->id, "paused", &task, false);
    answer_with(call, &record, &task, rev, TASK_PAUSED, due, STORE_WALL);
    return TOCSIN_OK;
}

static enum tocsin_status answer_as_staged(struct tasks_call *call, struct change *change)
{
    struct engine_record record;
    struct task task;
    enum tocsin_status status = get(call, change, &record, &task);
    if (status == TOCSIN_OK)
        answer_with(call, &record, &task, record.rev, (enum task_mark)record.mark, record.due_ms,
                    record.basis);
    return status;
}

static enum tocsin_status resume(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status;
    if (!find(call, change, &record, &task, &status))
        return status;
    if (record.mark == TASK_FAILED)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                            "it has failed: POST /v1/incidents/{task}/retry");
    if (record.mark != TASK_PAUSED)
        return answer_as_staged(call, change);
    status = schedule_resume(tasks, change, &record, &task, 0, &call->skipped);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, call->id, "resumed", &task, false);
    tasks_count_after(tasks, change, TASKS_SKIPPED_PAUSE, call->skipped);
    status = answer_as_staged(call, change);
    if (status == TOCSIN_NONE) { /* a cron that never comes again: it has ended */
        struct task_view view = tasks_view(tasks, &record, &task);
        view.status = task.last_error.size > 0 ? "failed" : "completed";
        write_answer(call, &task, &view);
        status = TOCSIN_OK;
    }
    return status;
}

static enum tocsin_status fire(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status;
    if (!find(call, change, &record, &task, &status))
        return status;
    if (record.mark == TASK_FAILED)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                            "it has failed: POST /v1/incidents/{task}/retry");
    if (task.rhythm != TASK_ONCE) {
        status = schedule_fire(tasks, change, &record, &task, NULL);
        if (status == TOCSIN_FULL)
            return reply_refuse(&call->reply, OUTCOME_TOO_MANY, "too many of its runs are open");
    } else if (leased(call, &record, &task)) {
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "it is running already");
    } else {
        bool retry = record.mark == TASK_RETRYING || task.paused_from == TASK_RETRYING;
        task.origin = tasks_origin(&task, &record);
        task.paused_from = (enum task_mark)0;
        task.pause_until_ms = task.retry_due_ms = 0;
        status = take_out_of_queue(call, record.ref);
        if (status == TOCSIN_OK)
            status = tasks_put_doc(tasks, change, tasks->task_kind, record.key, &task,
                                   retry ? TASK_RETRYING : TASK_WAITING,
                                   engine_now_up_ms(tasks->engine), STORE_ELAPSED, NULL);
    }
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, call->id, "fired", &task, false);
    return answer_as_staged(call, change);
}

/* ---- incidents */

/* One that failed for good begins anew, or is forgotten. */
static enum tocsin_status settle_incident(struct tasks_call *call, struct change *change,
                                          unsigned kind, const struct engine_record *record,
                                          struct task *task)
{
    struct tasks *tasks = call->tasks;
    if (call->verb == TASKS_FORGET)
        return change_drop(change, kind, record->key);
    task->origin = tasks_origin(task, record);
    task->attempt = 0;
    enum tocsin_status status = tasks_put_doc(tasks, change, kind, record->key, task, TASK_WAITING,
                                              engine_now_up_ms(tasks->engine), STORE_ELAPSED, NULL);
    if (status == TOCSIN_OK && kind == tasks->run_kind)
        status = schedule_run_reopened(tasks, change, task);
    return status;
}

static enum tocsin_status incidents_of_schedule(struct tasks_call *call, struct change *change,
                                                size_t *ret_found)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status;
    size_t at = 0;
    while ((status = incident_of_schedule(tasks, change, call->id, &at, &record)) != TOCSIN_NONE) {
        if (status == TOCSIN_OK)
            status = tasks_decode(&record, &tasks->lists, &task);
        if (status == TOCSIN_OK)
            status = settle_incident(call, change, tasks->run_kind, &record, &task);
        if (status != TOCSIN_OK)
            return status;
        ++*ret_found;
    }
    return TOCSIN_OK;
}

static enum tocsin_status incident(struct tasks_call *call, struct change *change)
{
    struct tasks *tasks = call->tasks;
    struct engine_record record;
    struct task task;
    size_t found = 0;
    enum tocsin_status status = get(call, change, &record, &task);
    bool own = status == TOCSIN_OK && record.mark == TASK_FAILED;
    if (status != TOCSIN_OK && status != TOCSIN_NONE)
        return status;
    if (own && !matches(call, &record))
        return TOCSIN_OK;
    if (own)
        status = settle_incident(call, change, tasks->task_kind, &record, &task);
    else
        status = incidents_of_schedule(call, change, &found);
    if (status != TOCSIN_OK)
        return status;
    if (!own && found == 0)
        return reply_refuse(&call->reply, OUTCOME_MISSING,
                            "there is no open incident of this task");
    if (call->verb == TASKS_RETRY) {
        status = answer_as_staged(call, change);
        if (status != TOCSIN_NONE)
            return status; /* NONE: a run of a schedule that is gone */
    }
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    json_write_object(&writer);
    json_field_bytes(&writer, "task_id", call->id);
    json_field_uint64(&writer, call->verb == TASKS_RETRY ? "retried" : "dropped", own ? 1 : found);
    json_write_object_end(&writer);
    return TOCSIN_OK;
}

/* ---- the verbs */

static enum tocsin_status nothing(struct tasks_call *call, struct change *change)
{
    (void)call;
    (void)change;
    return TOCSIN_OK;
}

static enum tocsin_status (*const verbs[])(struct tasks_call *call, struct change *change) = {
    [TASKS_CREATE] = create,    [TASKS_PUT] = replace,        [TASKS_DELETE] = cancel,
    [TASKS_PAUSE] = pause,      [TASKS_RESUME] = resume,      [TASKS_FIRE] = fire,
    [TASKS_RETRY] = incident,   [TASKS_FORGET] = incident,    [TASKS_ACK] = finish_verb,
    [TASKS_NACK] = finish_verb, [TASKS_EXTEND] = finish_verb, [TASKS_KEY] = nothing,
};

enum tocsin_status command_verb(struct tasks_call *call, struct change *change)
{
    return verbs[call->verb](call, change);
}
