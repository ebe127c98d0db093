/* SPDX-License-Identifier: MIT */
/* Looking at tasks: one, many, why one has not run, what failed, what waits where. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "schedule/duration.h"
#include "service/task/tasks_inside.h"

enum { ANSWER_BYTES_MAX = 32 * 1024 * 1024, PAGE_BYTES = 4 * 1024 * 1024 };

struct reading {
    struct tasks *tasks;
    tasks_read_fn fn;
    void *arg;
    struct buffer out;
    struct json_writer writer;
    uint64_t rev;
    size_t id_size;
    char id[TASK_ID_BYTES_MAX];
};

static struct reading *reading_create(struct tasks *tasks, tasks_read_fn fn, void *arg)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        fn(arg, OUTCOME_OVERLOADED, 0, (struct bytes){0});
        return NULL;
    }
    reading->tasks = tasks;
    reading->fn = fn;
    reading->arg = arg;
    buffer_init(&reading->out, ANSWER_BYTES_MAX);
    json_writer_init(&reading->writer, &reading->out);
    return reading;
}

static void reading_end(struct reading *reading, enum outcome outcome)
{
    if (outcome == OUTCOME_OK && buffer_status(&reading->out) != TOCSIN_OK)
        outcome = OUTCOME_OVERLOADED;
    reading->fn(reading->arg, outcome, reading->rev,
                (struct bytes){reading->out.data, reading->out.size});
    buffer_release(&reading->out);
    free(reading);
}

static struct bytes reading_id(const struct reading *reading)
{
    return (struct bytes){reading->id, reading->id_size};
}

static bool reading_set_id(struct reading *reading, struct bytes id)
{
    if (id.size > sizeof reading->id)
        return false;
    memcpy(reading->id, id.at, id.size);
    reading->id_size = id.size;
    return true;
}

/* ---- those that ended */

static bool read_finished(struct tasks *tasks, const struct finished_task *ended,
                          struct task *ret_task)
{
    if (task_decode(finished_doc(ended), &tasks->lists, ret_task) != TOCSIN_OK)
        return false;
    ret_task->id = finished_id(ended);
    if (ended->how == FINISHED_COMPLETED && ret_task->rhythm == TASK_ONCE)
        ret_task->executed = 1;
    return true;
}

static const char *const how_names[] = {
    [FINISHED_COMPLETED] = "completed",
    [FINISHED_CANCELLED] = "cancelled",
    [FINISHED_FAILED] = "failed",
};

static struct task_view finished_view(const struct finished_task *ended, const struct task *task)
{
    return (struct task_view){
        .status = how_names[ended->how],
        .rev = ended->rev,
        .due_ms = ended->due_ms,
        .attempt = ended->attempt,
        .fence = ended->fence,
        .result = finished_result(ended),
        .cancel_requested = task->cancel_requested,
    };
}

static void write_finished(struct json_writer *writer, const struct finished_task *ended,
                           const struct task *task)
{
    struct task_view view = finished_view(ended, task);
    task_write(writer, task, &view);
}

/* ---- one */

static void got(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct reading *reading = arg;
    struct tasks *tasks = reading->tasks;
    struct task task;
    if (status == TOCSIN_NONE) {
        const struct finished_task *ended = finished_find(&tasks->finished, reading_id(reading));
        if (ended != NULL && read_finished(tasks, ended, &task)) {
            reading->rev = ended->rev;
            write_finished(&reading->writer, ended, &task);
            reading_end(reading, OUTCOME_OK);
            return;
        }
    }
    if (status == TOCSIN_OK)
        status = tasks_decode(record, &tasks->lists, &task);
    if (status == TOCSIN_OK) {
        struct task_view view = tasks_view(tasks, record, &task);
        reading->rev = record->rev;
        tasks_write_json(&reading->out, &task, &view);
    }
    reading_end(reading, outcome_of_status(status));
}

void tasks_get(struct tasks *tasks, struct bytes id, tasks_read_fn fn, void *arg)
{
    struct reading *reading = reading_create(tasks, fn, arg);
    if (reading == NULL)
        return;
    if (reading_set_id(reading, id))
        engine_get(tasks->engine, tasks->task_kind, id, got, reading);
    else
        reading_end(reading, OUTCOME_MISSING);
}

/* ---- why */

static void write_lease(struct json_writer *writer, const struct tasks *tasks,
                        const struct run *run)
{
    char id[RUN_ID_BYTES];
    run_id_write(run->fence, id);
    json_write_object(writer);
    json_field_text(writer, "run", id);
    json_field_uint64(writer, "fence", run->fence);
    json_field_int64(writer, "until_ms",
                     engine_wall_of(tasks->engine, run->until_ms, STORE_ELAPSED));
    json_write_object_end(writer);
}

static void reason_of_due(const struct tasks *tasks, const struct engine_record *record, char *text,
                          size_t room)
{
    int64_t due = engine_wall_of(tasks->engine, record->due_ms, record->basis);
    int64_t left = due - engine_wall_ms(tasks->engine);
    char duration[DURATION_TEXT_BYTES];
    duration_format(left > 0 ? (uint64_t)left : 0, duration);
    (void)snprintf(text, room, "it is not due yet: %s to go", duration);
}

static void reason(struct tasks *tasks, const struct engine_record *record, const struct task *task,
                   char *text, size_t room)
{
    const struct run *run = run_of_record(tasks, record->ref);
    const struct queue *queue = queue_find(tasks, task->queue);
    if (run != NULL && run->origin == tasks_origin(task, record)) {
        (void)snprintf(text, room, "a worker has it: attempt %u is under way%s", run->attempt,
                       run->cancel_requested ? ", and somebody has asked it to stop" : "");
    } else if (engine_attached(tasks->engine, record->ref) == ATTACHED_READY) {
        (void)snprintf(text, room,
                       "it is due and waits in its queue for a worker: %llu ready, %u workers "
                       "waiting",
                       queue == NULL ? 0 : (unsigned long long)queue->ready,
                       queue == NULL ? 0 : queue->waiting);
    } else if (record->mark == TASK_PAUSED) {
        (void)snprintf(text, room,
                       task->pause_until_ms != 0 ? "it is paused until pause_until_ms"
                                                 : "it is paused until somebody "
                                                   "resumes or fires it");
    } else if (record->mark == TASK_FAILED) {
        (void)snprintf(text, room,
                       "it failed for good after %u attempts: retry or drop the incident",
                       task->attempt);
    } else if (task->open_count > 0 && record->mark != TASK_RESTING) {
        (void)snprintf(
            text, room,
            "it runs: %zu of its runs are open (ready, with a worker, or before a retry)",
            task->open_count);
    } else if (record->mark == TASK_RESTING) {
        (void)snprintf(text, room, "its next occurrence waits until its open runs have ended");
    } else if (record->due_ms == STORE_NEVER) {
        (void)snprintf(text, room, "it has no due time");
    } else {
        reason_of_due(tasks, record, text, room);
    }
}

static void write_ms(struct json_writer *writer, const char *name, int64_t at_ms, bool known)
{
    json_write_key(writer, name);
    if (known)
        json_write_int64(writer, at_ms);
    else
        json_write_null(writer);
}

/* The same fields for every task, also for one that has ended; run NULL: nobody has it. */
static void write_why(struct reading *reading, const struct task *task,
                      const struct task_view *view, const char *text, const struct run *run)
{
    const struct tasks *tasks = reading->tasks;
    struct json_writer *writer = &reading->writer;
    json_write_object(writer);
    json_write_key(writer, "id");
    json_write_string(writer, reading->id, reading->id_size);
    json_field_text(writer, "status", view->status);
    json_field_text(writer, "reason", text);
    write_ms(writer, "now_ms", engine_wall_ms(tasks->engine), true);
    write_ms(writer, "due_ms", view->due_ms, view->due_ms >= 0);
    json_field_uint64(writer, "attempt", view->attempt);
    json_write_key(writer, "last_error");
    if (task->last_error.size > 0)
        json_write_string(writer, task->last_error.at, task->last_error.size);
    else
        json_write_null(writer);
    write_ms(writer, "pause_until_ms", task->pause_until_ms, task->pause_until_ms != 0);
    json_field_bytes(writer, "queue", task->queue);
    json_write_key(writer, "lease");
    if (run != NULL && run->fence != 0)
        write_lease(writer, tasks, run);
    else
        json_write_null(writer);
    json_field_uint64(writer, "skipped", task->skipped);
    json_field_text(writer, "node", tasks->node);
    json_write_object_end(writer);
    reading->rev = view->rev;
    reading_end(reading, OUTCOME_OK);
}

/* What has run, or never will, and is still remembered. */
static void explain_ended(struct reading *reading, const struct finished_task *ended,
                          const struct task *task)
{
    char text[80];
    struct task_view view = finished_view(ended, task);
    (void)snprintf(text, sizeof text, "it is %s: GET the task tells the rest", view.status);
    write_why(reading, task, &view, text, NULL);
}

static void explain(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct reading *reading = arg;
    struct tasks *tasks = reading->tasks;
    struct task task;
    const struct finished_task *ended =
        status == TOCSIN_NONE ? finished_find(&tasks->finished, reading_id(reading)) : NULL;
    if (ended != NULL && read_finished(tasks, ended, &task)) {
        explain_ended(reading, ended, &task);
        return;
    }
    if (status == TOCSIN_OK)
        status = tasks_decode(record, &tasks->lists, &task);
    if (status != TOCSIN_OK) {
        reading_end(reading, outcome_of_status(status));
        return;
    }
    char text[200];
    reason(tasks, record, &task, text, sizeof text);
    struct task_view view = tasks_view(tasks, record, &task);
    write_why(reading, &task, &view, text, run_of_record(tasks, record->ref));
}

void tasks_why(struct tasks *tasks, struct bytes id, tasks_read_fn fn, void *arg)
{
    struct reading *reading = reading_create(tasks, fn, arg);
    if (reading == NULL)
        return;
    if (reading_set_id(reading, id))
        engine_get(tasks->engine, tasks->task_kind, id, explain, reading);
    else
        reading_end(reading, OUTCOME_MISSING);
}

/* ---- many */

struct listing {
    struct reading *reading;
    struct tasks_filter filter; /* pointing into bytes */
    size_t count;
    uint64_t last_rev; /* of those that are listed */
    bool full;         /* and there is one more */
    unsigned scans;
    char bytes[];
};

/* Rows of the dead lie among the others until they are swept, and a filter may pass over all that
 * one scan sees: then it goes on, some scans, before a page without a task is the answer. */
enum { SCANS_MAX = 200 };

/* Failed are incidents, which are records, and schedules whose last run failed, which are not:
 * they come behind the others. */
#define FINISHED_FIRST (UINT64_C(1) << 52)

static bool lists_finished(const struct tasks_filter *filter)
{
    for (size_t i = 0; i < sizeof how_names / sizeof how_names[0]; i++) {
        if (bytes_are(filter->status, how_names[i]))
            return true;
    }
    return false;
}

static bool starts_with(struct bytes text, struct bytes prefix)
{
    return text.size >= prefix.size &&
           (prefix.size == 0 || memcmp(text.at, prefix.at, prefix.size) == 0);
}

/* The end of a list, and where to go on; 0: there is no more. */
static void write_next(struct reading *reading, uint64_t next)
{
    json_write_array_end(&reading->writer);
    json_write_key(&reading->writer, "next");
    if (next != 0)
        json_write_uint64(&reading->writer, next);
    else
        json_write_null(&reading->writer);
    json_write_object_end(&reading->writer);
}

static void list_finished(struct reading *reading, const struct tasks_filter *filter, size_t count);

static bool listed(void *arg, enum tocsin_status status, const struct engine_record *record,
                   uint64_t next)
{
    struct listing *listing = arg;
    struct reading *reading = listing->reading;
    struct tasks *tasks = reading->tasks;
    const struct tasks_filter *filter = &listing->filter;
    struct task task;
    if (record == NULL && status == TOCSIN_OK && listing->count == 0 && next != 0 &&
        ++listing->scans < SCANS_MAX) {
        engine_list(tasks->engine, tasks->task_kind, next, tasks->limits.list_scan, listed,
                    listing);
        return false;
    }
    if (record == NULL) {
        listing->filter.after = 0;
        if (status == TOCSIN_OK && !listing->full && next == 0 && lists_finished(filter)) {
            list_finished(reading, filter, listing->count);
        } else {
            write_next(reading, listing->full ? listing->last_rev : next);
            reading_end(reading, outcome_of_status(status));
        }
        free(listing);
        return false;
    }
    if (!starts_with(record->key, filter->prefix) ||
        tasks_decode(record, &tasks->lists, &task) != TOCSIN_OK)
        return true;
    struct task_view view = tasks_view(tasks, record, &task);
    if ((filter->status.size > 0 && !bytes_are(filter->status, view.status)) ||
        (filter->queue.size > 0 && !bytes_equal(filter->queue, task.queue)))
        return true;
    listing->full = listing->count == filter->limit || reading->out.size >= PAGE_BYTES;
    if (listing->full)
        return false;
    task_write(&reading->writer, &task, &view);
    listing->count++;
    listing->last_rev = record->rev;
    return true;
}

/* Those that ended are in memory. Their cursor is the order in which they did, one a place of
 * the ring, above all revs; the newest come last. Behind a task that lives again its past is not
 * shown. count: already in the list. */
static void list_finished(struct reading *reading, const struct tasks_filter *filter, size_t count)
{
    const struct finished *finished = &reading->tasks->finished;
    uint64_t before = FINISHED_FIRST + finished->order - finished->count; /* of the oldest */
    uint64_t at = filter->after > before ? filter->after - before : 0;
    uint64_t end = at + reading->tasks->limits.list_scan;
    for (; at < finished->count && at < end; at++) {
        const struct finished_task *ended = finished_at(finished, (uint32_t)at);
        struct task task;
        if (ended == NULL || !bytes_are(filter->status, how_names[ended->how]) ||
            !starts_with(finished_id(ended), filter->prefix) ||
            engine_has(reading->tasks->engine, reading->tasks->task_kind, finished_id(ended)) ||
            !read_finished(reading->tasks, ended, &task) ||
            (filter->queue.size > 0 && !bytes_equal(task.queue, filter->queue)))
            continue;
        if (count == filter->limit || reading->out.size >= PAGE_BYTES)
            break;
        write_finished(&reading->writer, ended, &task);
        count++;
    }
    write_next(reading, at < finished->count ? before + at : 0);
    reading_end(reading, OUTCOME_OK);
}

void tasks_list(struct tasks *tasks, const struct tasks_filter *filter, tasks_read_fn fn, void *arg)
{
    struct reading *reading = reading_create(tasks, fn, arg);
    if (reading == NULL)
        return;
    json_write_object(&reading->writer);
    json_write_key(&reading->writer, "tasks");
    json_write_array(&reading->writer);
    bool failed = bytes_are(filter->status, how_names[FINISHED_FAILED]);
    if (lists_finished(filter) && (!failed || filter->after >= FINISHED_FIRST)) {
        list_finished(reading, filter, 0);
        return;
    }
    size_t size = filter->status.size + filter->prefix.size + filter->queue.size;
    struct listing *listing = calloc(1, sizeof *listing + size);
    if (listing == NULL) {
        reading_end(reading, OUTCOME_OVERLOADED);
        return;
    }
    listing->reading = reading;
    listing->filter = *filter;
    char *to = listing->bytes;
    struct bytes *kept[] = {&listing->filter.status, &listing->filter.prefix,
                            &listing->filter.queue};
    for (int i = 0; i < 3; i++) {
        if (kept[i]->size > 0)
            memcpy(to, kept[i]->at, kept[i]->size);
        kept[i]->at = to;
        to += kept[i]->size;
    }
    engine_list(tasks->engine, tasks->task_kind, filter->after, tasks->limits.list_scan, listed,
                listing);
}

/* ---- incidents */

struct incidents {
    struct reading *reading;
    size_t limit;
    size_t count;
    uint64_t last_rev;
    uint64_t next;
};

static void incidents_next(struct incidents *self);

static void incidents_end(struct incidents *self, enum outcome outcome)
{
    struct reading *reading = self->reading;
    write_next(reading, self->next);
    reading_end(reading, outcome);
    free(self);
}

static void incident_here(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct incidents *self = arg;
    struct tasks *tasks = self->reading->tasks;
    struct json_writer *writer = &self->reading->writer;
    struct task task;
    if (status == TOCSIN_NO_MEMORY || status == TOCSIN_OVERLOADED) {
        incidents_end(self, outcome_of_status(status)); /* a list without it would not be true */
        return;
    }
    if (status == TOCSIN_OK && record->mark == TASK_FAILED &&
        tasks_decode(record, &tasks->lists, &task) == TOCSIN_OK) {
        json_write_object(writer);
        json_field_bytes(writer, "task_id", task.id);
        if (task.name.size > 0)
            json_field_bytes(writer, "name", task.name);
        json_field_uint64(writer, "rev", record->rev);
        json_field_bytes(writer, "queue", task.queue);
        json_field_uint64(writer, "attempt", task.attempt);
        json_field_bytes(writer, "last_error", task.last_error);
        json_field_int64(writer, "created_ms", task.created_ms);
        json_write_key(writer, "payload");
        if (task.payload.size > 0)
            json_write_raw(writer, task.payload.at, task.payload.size);
        else
            json_write_null(writer);
        json_write_object_end(writer);
        self->count++;
    }
    incidents_next(self);
}

/* One after the other: the list may change between two of them. */
static void incidents_next(struct incidents *self)
{
    struct tasks *tasks = self->reading->tasks;
    for (size_t i = 0; i < tasks->incident_count; i++) {
        const struct incident *incident = &tasks->incidents[i];
        if (incident->rev <= self->last_rev || !incident_open(tasks, incident))
            continue;
        if (self->count == self->limit || self->reading->out.size >= PAGE_BYTES) {
            self->next = self->last_rev;
            break;
        }
        self->last_rev = incident->rev;
        engine_get_ref(tasks->engine, incident->ref, incident_here, self);
        return;
    }
    incidents_end(self, OUTCOME_OK);
}

void tasks_incidents(struct tasks *tasks, uint64_t after_rev, size_t limit, tasks_read_fn fn,
                     void *arg)
{
    struct reading *reading = reading_create(tasks, fn, arg);
    struct incidents *self = reading == NULL ? NULL : calloc(1, sizeof *self);
    if (self == NULL) {
        if (reading != NULL)
            reading_end(reading, OUTCOME_OVERLOADED);
        return;
    }
    *self = (struct incidents){.reading = reading, .limit = limit, .last_rev = after_rev};
    incidents_clean(tasks);
    json_write_object(&reading->writer);
    json_write_key(&reading->writer, "incidents");
    json_write_array(&reading->writer);
    incidents_next(self);
}

/* ---- queues */

static void write_queue(void *arg, const struct tasks_queue_stats *stats)
{
    struct json_writer *writer = arg;
    json_write_object(writer);
    json_field_bytes(writer, "queue", stats->name);
    json_field_uint64(writer, "depth", stats->ready);
    json_field_uint64(writer, "leased", stats->leased);
    json_field_uint64(writer, "delayed", stats->delayed);
    json_field_uint64(writer, "waiting", stats->waiting);
    json_write_key(writer, "oldest_ms");
    if (stats->oldest_ms != 0)
        json_write_int64(writer, stats->oldest_ms);
    else
        json_write_null(writer);
    json_write_object_end(writer);
}

void tasks_queues(struct tasks *tasks, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_write_key(&writer, "queues");
    json_write_array(&writer);
    tasks_each_queue(tasks, write_queue, &writer);
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}
