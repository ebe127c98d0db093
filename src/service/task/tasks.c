/* SPDX-License-Identifier: MIT */
#include "service/task/tasks.h"

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

enum { QUEUE_SLOTS = 4096, DOC_BYTES_MAX = STORE_DOC_BYTES_MAX };

const struct tasks_limits tasks_limits_default = {
    .tasks = UINT32_MAX,
    .lease_runs = 1000,
    .lease_waiting = 20000,
    .queues = 10000,
    .finished = 100000,
    .finished_bytes = UINT64_C(64) * 1024 * 1024,
    .misfire_grace_ms = 60000,
    .list_scan = 1000,
};

void tasks_count(struct tasks *tasks, enum tasks_count what, uint64_t n)
{
    if (tasks->watch.count != NULL && n > 0)
        tasks->watch.count(tasks->watch.arg, what, n);
}

/* ---- records */

struct bytes tasks_id_of(struct bytes key)
{
    const char *end = memchr(key.at, RUN_NUMBER_MARK, key.size);
    return (struct bytes){key.at, end == NULL ? key.size : (size_t)(end - key.at)};
}

enum tocsin_status tasks_decode(const struct engine_record *record, struct task_lists *lists,
                                struct task *ret_task)
{
    enum tocsin_status status = TOCSIN_OK;
    if (record->own)
        task_decode_own(record->doc, lists, ret_task);
    else
        status = task_decode(record->doc, lists, ret_task);
    if (status == TOCSIN_OK)
        ret_task->id = tasks_id_of(record->key);
    return status;
}

uint64_t tasks_origin(const struct task *task, const struct engine_record *record)
{
    return task->origin != 0 ? task->origin : record->rev;
}

/* What loading wants to know without the doc: the queue of what goes to one, or the zone of a
 * cron. */
static struct bytes tag_of(const struct task *task, enum task_mark mark,
                           char ret_room[ZONE_NAME_MAX + 1])
{
    if (task->rhythm == TASK_CRON) {
        ret_room[0] = ZONE_TAG_MARK;
        memcpy(ret_room + 1, task->zone.at, task->zone.size);
        return (struct bytes){ret_room, task->zone.size + 1};
    }
    bool to_queue = task->rhythm == TASK_ONCE && mark != TASK_PAUSED && mark != TASK_FAILED;
    return to_queue ? task->queue : (struct bytes){0};
}

enum tocsin_status tasks_put_doc(struct tasks *tasks, struct change *change, unsigned kind,
                                 struct bytes key, const struct task *task, enum task_mark mark,
                                 int64_t due_ms, enum store_basis basis, uint64_t *ret_rev)
{
    char room[ZONE_NAME_MAX + 1];
    buffer_clear(&tasks->doc);
    task_encode(task, &tasks->doc);
    if (buffer_status(&tasks->doc) != TOCSIN_OK)
        return buffer_status(&tasks->doc);
    return change_put(change,
                      &(struct change_put){
                          .kind = kind,
                          .key = key,
                          .home = task->id,
                          .tag = tag_of(task, mark, room),
                          .due_ms = due_ms,
                          .basis = basis,
                          .mark = (uint8_t)mark,
                          .doc = {tasks->doc.data, tasks->doc.size},
                      },
                      ret_rev);
}

void tasks_event(struct tasks *tasks, struct change *change, struct bytes id, const char *type,
                 const struct task *task, bool failure)
{
    if (tasks->history == TASKS_HISTORY_NONE ||
        (tasks->history == TASKS_HISTORY_FAILURES && !failure))
        return;
    struct buffer *out = &tasks->other_doc;
    buffer_clear(out);
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_field_bytes(&writer, "task_id", id);
    if (task->attempt > 0)
        json_field_uint64(&writer, "attempt", task->attempt);
    if (task->last_error.size > 0) {
        json_field_bytes(&writer, "error", task->last_error);
    }
    json_write_object_end(&writer);
    if (buffer_status(out) == TOCSIN_OK)
        change_event(change, tasks->task_kind, id, type, (struct bytes){out->data, out->size});
    else
        change_event_lost(change, buffer_status(out));
}

/* ---- how it looks from outside */

/* Wall. What is in somebody's hands or paused has no due time in the store: shown is the one it
 * had. Negative: none. */
static int64_t due_shown(const struct tasks *tasks, const struct engine_record *record,
                         const struct task *task)
{
    if (record->due_ms != STORE_NEVER && record->mark != TASK_PAUSED)
        return engine_wall_of(tasks->engine, record->due_ms, record->basis);
    if (record->mark == TASK_FAILED || (task->rhythm != TASK_ONCE && task->nominal_ms == 0))
        return -1;
    return engine_wall_of(tasks->engine, rhythm_due(task, task->nominal_ms), rhythm_basis(task));
}

struct task_view tasks_view(const struct tasks *tasks, const struct engine_record *record,
                            const struct task *task)
{
    static const char *const names[] = {
        [TASK_WAITING] = "pending",      [TASK_RETRYING] = "pending",
        [TASK_CLAIMED] = "running",      [TASK_HELD] = "running",
        [TASK_CANCELLING] = "running",   [TASK_PAUSED] = "paused",
        [TASK_FAILED] = "failed",        [TASK_RESTING] = "running",
        [TASK_WAITING_SKIP] = "pending", [TASK_SCHEDULED] = "pending",
    };
    struct task_view view = {
        .status = names[record->mark],
        .rev = record->rev,
        .attempt = task->attempt,
        .fence = task->claim.fence,
        .cancel_requested = task->cancel_requested,
    };
    const struct run *run = run_of_record(tasks, record->ref);
    if (run != NULL && run->origin == tasks_origin(task, record) && run->state != RUN_CLAIMING) {
        view.status = "running";
        view.attempt = run->attempt;
        view.fence = run->fence;
    }
    if (record->mark == TASK_SCHEDULED && task->open_count > 0)
        view.status = "running";
    view.due_ms = due_shown(tasks, record, task);
    return view;
}

void tasks_write_json(struct buffer *out, const struct task *task, const struct task_view *view)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    task_write(&writer, task, view);
}

/* ---- coming due */

static void observe_late(struct tasks *tasks, const struct engine_head *head)
{
    if (tasks->watch.late == NULL)
        return;
    int64_t due = engine_wall_of(tasks->engine, head->due_ms, head->basis);
    int64_t late_ns = engine_wall_ns(tasks->engine) - due * 1000000;
    tasks->watch.late(tasks->watch.arg, late_ns > 0 ? late_ns : 0); /* as queue_push has it */
}

static bool missed(const struct tasks *tasks, int64_t due_ms, enum store_basis basis)
{
    return schedule_now(tasks, basis) - due_ms > tasks->limits.misfire_grace_ms;
}

static bool on_due_head(void *service, const struct engine_head *head)
{
    struct tasks *tasks = service;
    switch ((enum task_mark)head->mark) {
    case TASK_WAITING_SKIP:
        if (missed(tasks, head->due_ms, head->basis))
            return false;
        break;
    case TASK_WAITING:
    case TASK_RETRYING:
        break;
    default:
        return false;
    }
    if (!queue_push(tasks, head, engine_wall_ms(tasks->engine)))
        return false;
    observe_late(tasks, head);
    return true;
}

/* ---- what is counted, or kept to be read, once a change of the service's own is durable */

struct counted {
    struct tasks *tasks;
    enum tasks_count what;
    uint64_t count;
};

static void counted_after(void *arg, enum tocsin_status status)
{
    struct counted *counted = arg;
    if (status == TOCSIN_OK)
        tasks_count(counted->tasks, counted->what, counted->count);
    free(counted);
}

void tasks_count_after(struct tasks *tasks, struct change *change, enum tasks_count what,
                       uint64_t count)
{
    struct counted *counted = count == 0 ? NULL : malloc(sizeof *counted);
    if (counted == NULL)
        return;
    *counted = (struct counted){tasks, what, count};
    if (change_then(change, counted_after, counted) != TOCSIN_OK)
        free(counted);
}

static void finished_after(void *arg, enum tocsin_status status)
{
    struct finished_task *ended = arg;
    struct tasks *tasks = ended->owner;
    if (status == TOCSIN_OK)
        finished_take(&tasks->finished, ended);
    else
        free(ended);
}

static void finish_after(struct tasks *tasks, struct change *change,
                         const struct finished_task *ending, struct bytes id, struct bytes doc,
                         struct bytes result)
{
    if (tasks->limits.finished == 0)
        return;
    struct finished_task *finished = finished_task_create(ending, id, doc, result);
    if (finished == NULL)
        return;
    finished->owner = tasks;
    if (change_then(change, finished_after, finished) != TOCSIN_OK)
        free(finished);
}

void tasks_acked_after(struct tasks *tasks, struct change *change,
                       const struct engine_record *record, const struct run *run,
                       struct bytes result)
{
    struct finished_task ending = {
        .rev = record->rev,
        .fence = run->fence,
        .due_ms = run->due_ms,
        .attempt = run->attempt,
        .how = FINISHED_COMPLETED,
    };
    finish_after(tasks, change, &ending, record->key, record->doc, result);
}

void tasks_ended_after(struct tasks *tasks, struct change *change,
                       const struct engine_record *record, const struct task *task,
                       enum finished_how how)
{
    struct task_view view = tasks_view(tasks, record, task);
    struct finished_task ending = {
        .rev = record->rev,
        .fence = view.fence,
        .due_ms = view.due_ms,
        .attempt = view.attempt,
        .how = how,
    };
    struct buffer *doc = &tasks->other_doc;
    buffer_clear(doc);
    task_encode(task, doc);
    if (buffer_status(doc) == TOCSIN_OK)
        finish_after(tasks, change, &ending, task->id, (struct bytes){doc->data, doc->size},
                     (struct bytes){0});
}

/* A one-shot that is not to run when it was missed. */
static enum tocsin_status skip_missed(struct tasks *tasks, struct change *change,
                                      const struct engine_record *record, struct task *task)
{
    task->last_error = bytes_of("missed: nobody could fire it in time, and its misfire is skip");
    enum tocsin_status status = change_drop(change, tasks->task_kind, record->key);
    if (status != TOCSIN_OK)
        return status;
    tasks_event(tasks, change, task->id, "skipped", task, true);
    tasks_ended_after(tasks, change, record, task, FINISHED_CANCELLED);
    tasks_count_after(tasks, change, TASKS_SKIPPED_MISFIRE, 1);
    return TOCSIN_OK;
}

static enum tocsin_status resume_by_itself(struct tasks *tasks, struct change *change,
                                           const struct engine_record *record, struct task *task)
{
    /* What has come since its pause ended did not fall into it. */
    int64_t late_ms = engine_wall_ms(tasks->engine) - task->pause_until_ms;
    uint64_t skipped;
    enum tocsin_status status =
        schedule_resume(tasks, change, record, task, late_ms > 0 ? late_ms : 0, &skipped);
    if (status == TOCSIN_OK)
        tasks_count_after(tasks, change, TASKS_SKIPPED_PAUSE, skipped);
    return status;
}

static enum tocsin_status on_due(void *service, struct change *change,
                                 const struct engine_record *record)
{
    struct tasks *tasks = service;
    struct task task;
    enum tocsin_status status = tasks_decode(record, &tasks->lists, &task);
    if (status != TOCSIN_OK)
        return status;
    switch ((enum task_mark)record->mark) {
    case TASK_WAITING_SKIP:
        return missed(tasks, record->due_ms, record->basis)
                   ? skip_missed(tasks, change, record, &task)
                   : TOCSIN_NO_MEMORY;
    case TASK_SCHEDULED:
        return schedule_due(tasks, change, record);
    case TASK_PAUSED:
        return resume_by_itself(tasks, change, record, &task);
    case TASK_WAITING:
    case TASK_RETRYING:
        return TOCSIN_NO_MEMORY; /* for its queue: tried again soon */
    default:
        return TOCSIN_OK; /* nothing else has a due time */
    }
}

/* ---- loading */

/* False: no memory. */
static bool remember(struct tasks *tasks, const struct engine_head *head)
{
    if (tasks->recovery_count == tasks->recovery_room) {
        size_t room = tasks->recovery_room == 0 ? 64 : tasks->recovery_room * 2;
        struct recovery *list = realloc(tasks->recoveries, room * sizeof *list);
        if (list == NULL)
            return false;
        tasks->recoveries = list;
        tasks->recovery_room = room;
    }
    tasks->recoveries[tasks->recovery_count++] =
        (struct recovery){.tasks = tasks, .ref = head->ref, .mark = (enum task_mark)head->mark};
    return true;
}

static void zone_here(void *arg, enum tocsin_status status, const struct tocsin_why *why)
{
    struct tasks *tasks = arg;
    (void)status;
    (void)why;
    tasks->recovering--;
}

static void zone_tried(void *arg, enum tocsin_status status, const struct tocsin_why *why)
{
    (void)arg;
    (void)status;
    (void)why;
}

void tasks_want_zone(struct tasks *tasks, struct bytes zone)
{
    zones_want(&tasks->zones, tasks->engine, zone, zone_tried, NULL);
}

static void on_load(void *service, const struct engine_head *head)
{
    struct tasks *tasks = service;
    bool known = true;
    switch ((enum task_mark)head->mark) {
    case TASK_CLAIMED:
    case TASK_HELD:
    case TASK_CANCELLING:
        known = remember(tasks, head);
        break;
    case TASK_FAILED:
        known =
            incident_add(tasks, head->ref, head->rev,
                         head->kind == tasks->run_kind ? incident_schedule(tasks, head->home) : 0);
        break;
    default:
        break;
    }
    tasks->load_failed = tasks->load_failed || !known;
    if (head->tag.size > 1 && head->tag.at[0] == ZONE_TAG_MARK) {
        struct bytes zone = {head->tag.at + 1, head->tag.size - 1};
        if (zones_find(&tasks->zones, zone) == NULL) {
            tasks->recovering++;
            zones_want(&tasks->zones, tasks->engine, zone, zone_here, tasks);
        }
    }
}

/* ---- life */

static void nothing(void *arg)
{
    (void)arg;
}

static void init_kinds(struct tasks *tasks)
{
    tasks->task_kind_info = (struct engine_kind){
        .name = "task",
        .on_due_head = on_due_head,
        .on_due = on_due,
        .on_load = on_load,
        .service = tasks,
    };
    tasks->run_kind_info = tasks->task_kind_info;
    tasks->run_kind_info.name = "run";
    tasks->task_kind = engine_add_kind(tasks->engine, &tasks->task_kind_info);
    tasks->run_kind = engine_add_kind(tasks->engine, &tasks->run_kind_info);
}

enum tocsin_status tasks_create(const struct tasks_options *options, struct tasks **ret_tasks)
{
    struct tasks *tasks = calloc(1, sizeof *tasks);
    if (tasks == NULL)
        return TOCSIN_NO_MEMORY;
    tasks->engine = options->engine;
    tasks->idem = options->idem;
    tasks->limits = options->limits;
    tasks->history = options->history;
    tasks->watch = options->watch;
    tasks->node = options->node;
    tasks->write_claims = options->write_claims;
    tasks->chance = options->chance;
    tasks->chance_arg = options->chance_arg;
    tasks->hash_key =
        (struct siphash_key){tasks->chance(tasks->chance_arg), tasks->chance(tasks->chance_arg)};
    tasks->queue_mask = QUEUE_SLOTS - 1;
    tasks->queues = calloc(QUEUE_SLOTS, sizeof(struct queue *));
    tasks->acked = calloc(ACKED_MAX, sizeof *tasks->acked);
    buffer_init(&tasks->doc, DOC_BYTES_MAX);
    buffer_init(&tasks->other_doc, DOC_BYTES_MAX);
    if (tasks->queues == NULL || tasks->acked == NULL ||
        !finished_init(&tasks->finished, tasks->limits.finished, tasks->limits.finished_bytes,
                       tasks->hash_key)) {
        tasks_destroy(tasks);
        return TOCSIN_NO_MEMORY;
    }
    init_kinds(tasks);
    tasks->pump_again.fn = nothing;
    engine_on_turn(tasks->engine, queue_pump_all, tasks);
    *ret_tasks = tasks;
    return TOCSIN_OK;
}

void tasks_destroy(struct tasks *tasks)
{
    if (tasks == NULL)
        return;
    for (uint32_t i = 0; i < tasks->run_end; i++) {
        if (tasks->runs[i] != NULL) {
            buffer_release(&tasks->runs[i]->row);
            free(tasks->runs[i]);
        }
    }
    while (tasks->free_runs != NULL) {
        struct run *run = tasks->free_runs;
        tasks->free_runs = run->next_free;
        buffer_release(&run->row);
        free(run);
    }
    free(tasks->runs);
    free(tasks->run_free);
    queues_release(tasks);
    number_map_release(&tasks->by_fence);
    free(tasks->acked);
    free(tasks->incidents);
    number_map_release(&tasks->incident_schedules);
    finished_release(&tasks->finished);
    zones_release(&tasks->zones);
    free(tasks->recoveries);
    buffer_release(&tasks->doc);
    buffer_release(&tasks->other_doc);
    free(tasks);
}

void tasks_describe(const struct tasks *tasks, struct tasks_stats *ret_stats)
{
    static const uint8_t waiting[] = {TASK_WAITING, TASK_WAITING_SKIP, TASK_RETRYING,
                                      TASK_SCHEDULED};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof waiting; i++)
        all += engine_mark_count(tasks->engine, tasks->task_kind, waiting[i]) +
               engine_mark_count(tasks->engine, tasks->run_kind, waiting[i]);
    *ret_stats = (struct tasks_stats){
        .waiting_tasks = all > tasks->leased ? all - tasks->leased : 0,
        .paused = engine_mark_count(tasks->engine, tasks->task_kind, TASK_PAUSED),
        .ready = tasks->ready,
        .leased = tasks->leased,
        .waiting = tasks->waiting,
        .incidents = engine_mark_count(tasks->engine, tasks->task_kind, TASK_FAILED) +
                     engine_mark_count(tasks->engine, tasks->run_kind, TASK_FAILED),
        .finished = tasks->finished.count,
        .finished_bytes = tasks->finished.bytes,
        .queues = tasks->queue_count,
    };
}
