/* SPDX-License-Identifier: MIT */
/* Leases: a worker asks for runs, and has them until it says how they ended, or its time is
 * up.
 *
 *   ready --taken--> CLAIMING --doc here, claim written if it must be--> LEASED --> ENDING
 *
 * The claim of a first attempt is not written: we are the only one who gives it out, and after
 * a crash its fence is of an old epoch. That of any further attempt is, before it is given
 * out, so that what kills its worker, or us, runs out of attempts. */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

enum { ROW_BYTES_MAX = TASK_PAYLOAD_BYTES_MAX * 2 + 8192, ROW_KEPT_BYTES = 1024 };

/* ---- runs */

struct run *run_create(struct tasks *tasks)
{
    if (!number_map_make_room(&tasks->by_fence, tasks->run_count + 1))
        return NULL;
    if (tasks->run_free_count == 0 && tasks->run_end == tasks->run_room) {
        uint32_t room = tasks->run_room == 0 ? 256 : tasks->run_room * 2;
        struct run **runs = realloc(tasks->runs, room * sizeof(struct run *));
        if (runs == NULL)
            return NULL;
        tasks->runs = runs;
        uint32_t *unused = realloc(tasks->run_free, room * sizeof *unused);
        if (unused == NULL)
            return NULL;
        tasks->run_free = unused;
        tasks->run_room = room;
    }
    struct run *run = tasks->free_runs;
    struct buffer row;
    if (run != NULL) {
        tasks->free_runs = run->next_free;
        row = run->row;
        buffer_clear(&row);
    } else {
        run = malloc(sizeof *run);
        buffer_init(&row, ROW_BYTES_MAX);
    }
    if (run == NULL)
        return NULL;
    *run = (struct run){.row = row};
    run->tasks = tasks;
    run->index =
        tasks->run_free_count > 0 ? tasks->run_free[--tasks->run_free_count] : tasks->run_end++;
    run->timer.fn = run_timer_fired;
    run->timer.arg = run;
    tasks->runs[run->index] = run;
    tasks->run_count++;
    return run;
}

static void leave_queue(struct run *run)
{
    struct queue *queue = run->queue;
    if (queue == NULL)
        return;
    run->queue = NULL;
    queue->leased--;
    run->tasks->leased--;
    queue_unuse(run->tasks, queue);
}

void run_destroy(struct run *run)
{
    struct tasks *tasks = run->tasks;
    engine_timer_cancel(tasks->engine, &run->timer);
    if (engine_attached(tasks->engine, run->ref) == run->index + 1)
        engine_attach(tasks->engine, run->ref, 0);
    if (run->fence != 0)
        number_map_drop(&tasks->by_fence, run->fence);
    leave_queue(run);
    tasks->runs[run->index] = NULL;
    tasks->run_free[tasks->run_free_count++] = run->index;
    tasks->run_count--;
    if (run->row.room > ROW_KEPT_BYTES)
        buffer_release(&run->row);
    run->next_free = tasks->free_runs;
    tasks->free_runs = run;
}

void run_supersede(struct tasks *tasks, struct engine_ref ref)
{
    struct run *run = run_of_record(tasks, ref);
    if (run == NULL)
        return;
    engine_attach(tasks->engine, ref, 0);
    leave_queue(run);
}

struct run *run_of_fence(struct tasks *tasks, uint64_t fence)
{
    uint32_t index;
    return number_map_get(&tasks->by_fence, fence, &index) ? tasks->runs[index] : NULL;
}

struct run *run_of_record(const struct tasks *tasks, struct engine_ref ref)
{
    uint32_t attached = engine_attached(tasks->engine, ref);
    if (attached == 0 || attached == ATTACHED_READY)
        return NULL;
    return tasks->runs[attached - 1];
}

void run_id_write(uint64_t fence, char ret_id[RUN_ID_BYTES])
{
    char digits[16];
    size_t count = 0;
    for (; fence > 0; fence >>= 4)
        digits[count++] = "0123456789abcdef"[fence & 15];
    *ret_id++ = 'r';
    while (count > 0)
        *ret_id++ = digits[--count];
    *ret_id = '\0';
}

bool run_id_read(struct bytes id, uint64_t *ret_fence)
{
    if (id.size < 2 || id.size > 17 || id.at[0] != 'r' || id.at[1] == '0')
        return false;
    uint64_t fence = 0;
    for (size_t i = 1; i < id.size; i++) {
        char c = id.at[i];
        if (c >= '0' && c <= '9')
            fence = fence << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            fence = fence << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *ret_fence = fence;
    return true;
}

void run_start_lease(struct run *run)
{
    struct tasks *tasks = run->tasks;
    run->state = RUN_LEASED;
    bool found = number_map_put(&tasks->by_fence, run->fence, run->index);
    assert(found); /* there is room for every run */
    (void)found;
    (void)engine_timer_arm(tasks->engine, &run->timer, run->until_ms);
}

/* Nobody wants it any more: back it goes, as if it had not been taken. */
static void give_back(struct run *run)
{
    struct tasks *tasks = run->tasks;
    if (run->written) {
        run->state = RUN_LEASED;
        run_timer_fired(run); /* the attempt is in the store: it has failed */
        return;
    }
    struct engine_ref ref = run->ref;
    uint64_t rev = run->rev;
    run_destroy(run);
    queue_ready_again(tasks, ref, rev);
}

/* ---- answering */

static void answer(struct tasks_lease *lease)
{
    struct tasks *tasks = lease->tasks;
    engine_timer_cancel(tasks->engine, &lease->timer);
    buffer_append_text(&lease->answer, "]}");
    free(lease->runs);
    lease->runs = NULL;
    lease->done(lease);
}

static void leave_line(struct tasks_lease *lease)
{
    struct queue *queue = lease->in;
    if (!lease->waiting)
        return;
    *(lease->before != NULL ? &lease->before->after : &queue->first_waiting) = lease->after;
    *(lease->after != NULL ? &lease->after->before : &queue->last_waiting) = lease->before;
    lease->before = lease->after = NULL;
    lease->waiting = false;
    queue->waiting--;
    lease->tasks->waiting--;
}

static void join_line(struct tasks_lease *lease)
{
    struct queue *queue = lease->in;
    lease->before = queue->last_waiting;
    lease->after = NULL;
    *(queue->last_waiting != NULL ? &queue->last_waiting->after : &queue->first_waiting) = lease;
    queue->last_waiting = lease;
    lease->outcome = OUTCOME_OK;
    lease->waiting = true;
    queue->waiting++;
    lease->tasks->waiting++;
}

static void waited_enough(void *arg)
{
    struct tasks_lease *lease = arg;
    if (!lease->waiting)
        return; /* runs are on their way: they answer it */
    struct tasks *tasks = lease->tasks;
    struct queue *queue = lease->in;
    leave_line(lease);
    answer(lease);
    queue_unuse(tasks, queue);
}

/* All that were taken have been looked at. */
static void all_claimed(struct tasks_lease *lease)
{
    struct tasks *tasks = lease->tasks;
    bool empty = lease->run_count == 0;
    assert(empty || lease->runs != NULL);
    bool time_left = lease->timer.handle.id != 0;
    if (lease->gone || tasks->holding) {
        for (uint32_t i = 0; i < lease->run_count; i++) {
            struct run *run = tasks->runs[lease->runs[i]];
            run->lease = NULL;
            give_back(run);
        }
        buffer_clear(&lease->answer);
        buffer_append_text(&lease->answer, "{\"runs\":[");
        answer(lease);
    } else if (empty && time_left && !tasks->holding) {
        struct queue *queue = queue_get(tasks, lease->queue);
        if (queue == NULL) {
            answer(lease);
            return;
        }
        lease->in = queue;
        join_line(lease);
        if (queue->ready > 0)
            queue_pump_later(tasks, queue);
    } else {
        for (uint32_t i = 0; i < lease->run_count; i++)
            tasks->runs[lease->runs[i]]->lease = NULL;
        if (!empty)
            lease->outcome = OUTCOME_OK;
        tasks_count(tasks, TASKS_LEASED, lease->run_count);
        answer(lease);
    }
}

static void one_claimed(struct tasks_lease *lease)
{
    if (--lease->pending == 0)
        all_claimed(lease);
}

static void write_row(struct run *run, const struct task *task, struct buffer *out)
{
    struct engine *engine = run->tasks->engine;
    char id[RUN_ID_BYTES];
    run_id_write(run->fence, id);
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_field_text(&writer, "run", id);
    json_field_bytes(&writer, "task_id", task->id);
    json_write_key(&writer, "name");
    if (task->name.size > 0)
        json_write_string(&writer, task->name.at, task->name.size);
    else
        json_write_null(&writer);
    json_field_uint64(&writer, "attempt", run->attempt);
    json_field_uint64(&writer, "fence", run->fence);
    json_field_int64(&writer, "due_ms", run->due_ms);
    json_field_int64(&writer, "fired_ms", run->fired_ms);
    json_field_int64(&writer, "lease_until_ms",
                     engine_wall_of(engine, run->until_ms, STORE_ELAPSED));
    json_write_key(&writer, "payload");
    if (task->payload.size > 0)
        json_write_raw(&writer, task->payload.at, task->payload.size);
    else
        json_write_null(&writer);
    json_write_object_end(&writer);
}

/* Whether the answer has room for a row of so many bytes, and its end. What does not fit is
 * another answer's. */
static bool row_fits(struct tasks_lease *lease, size_t bytes)
{
    return buffer_has_room(&lease->answer, bytes + sizeof ",]}");
}

static void row_comma(struct tasks_lease *lease)
{
    if (lease->run_count > 0)
        buffer_append_byte(&lease->answer, ',');
}

/* Its row is in the answer. */
static void claimed(struct run *run)
{
    struct tasks_lease *lease = run->lease;
    assert(buffer_status(&lease->answer) == TOCSIN_OK);
    lease->runs[lease->run_count++] = run->index;
    run_start_lease(run);
    one_claimed(lease);
}

/* Back into its queue, unless it was replaced meanwhile. */
static void not_claimed(struct run *run)
{
    struct tasks *tasks = run->tasks;
    struct tasks_lease *lease = run->lease;
    struct engine_ref ref = run->ref;
    uint64_t rev = run->rev;
    run_destroy(run);
    queue_ready_again(tasks, ref, rev);
    one_claimed(lease);
}

/* ---- claiming */

/* Somebody was told that a worker has it, and will be asked to stop. No worker was given it. */
static enum tocsin_status cancel_unclaimed(struct run *run, struct change *change,
                                           const struct engine_record *record, struct task *task)
{
    struct failure failure = {.attempt = task->attempt, .error = task->last_error};
    enum tasks_count what;
    enum tocsin_status status =
        finish_failed(run->tasks, change, run->tasks->task_kind, record, task, &failure, &what);
    if (status != TOCSIN_OK)
        return status;
    tasks_count_after(run->tasks, change, what, 1);
    run->cancel_requested = true;
    return TOCSIN_OK;
}

static enum tocsin_status write_claim(void *arg, struct change *change)
{
    struct run *run = arg;
    struct tasks *tasks = run->tasks;
    struct engine_record record;
    struct task task;
    enum tocsin_status status = change_get_ref(change, run->ref, &record);
    if (status == TOCSIN_OK)
        status = tasks_decode(&record, &tasks->lists, &task);
    if (status != TOCSIN_OK)
        return status;
    if (record.mark == TASK_CANCELLING && tasks_origin(&task, &record) == run->origin)
        return cancel_unclaimed(run, change, &record, &task);
    if (record.rev != run->rev)
        return TOCSIN_CONFLICT; /* replaced meanwhile */
    task.origin = tasks_origin(&task, &record);
    task.attempt = run->attempt;
    task.claim = (struct task_claim){run->fence, run->started_ms, run->until_ms};
    unsigned kind = run->of_schedule ? tasks->run_kind : tasks->task_kind;
    return tasks_put_doc(tasks, change, kind, record.key, &task, TASK_CLAIMED, STORE_NEVER,
                         STORE_ELAPSED, NULL);
}

static void claim_written(void *arg, enum tocsin_status status)
{
    struct run *run = arg;
    run->written = status == TOCSIN_OK && !run->cancel_requested;
    struct tasks_lease *lease = run->lease;
    if (!run->written) {
        not_claimed(run);
    } else if (row_fits(lease, run->row.size)) {
        row_comma(lease);
        buffer_append(&lease->answer, run->row.data, run->row.size);
        claimed(run);
    } else {
        give_back(run);
        one_claimed(lease);
    }
}

/* A retry has a time of its own; outside, it is still the task that was due then. */
static int64_t first_due(const struct run *run, const struct task *task)
{
    int64_t due =
        engine_wall_of(run->tasks->engine, rhythm_due(task, task->nominal_ms), rhythm_basis(task));
    return due < run->due_ms ? due : run->due_ms; /* fired by hand before its time */
}

/* A first attempt is in the answer at once; one that must be written down first waits in a row of
 * its own. */
static void give(struct run *run, const struct task *task)
{
    enum { ROW_REST_BYTES = 512, ESCAPED_MAX = 6 }; /* all but the texts; for each byte of them */
    struct tasks *tasks = run->tasks;
    if (task->attempt == 0 && !tasks->write_claims) {
        if (!row_fits(run->lease, ROW_REST_BYTES + task->payload.size +
                                      ESCAPED_MAX * (task->id.size + task->name.size))) {
            not_claimed(run);
            return;
        }
        row_comma(run->lease);
        write_row(run, task, &run->lease->answer);
        claimed(run);
        return;
    }
    write_row(run, task, &run->row);
    if (buffer_status(&run->row) == TOCSIN_OK && row_fits(run->lease, run->row.size))
        engine_change(tasks->engine, true, write_claim, claim_written, run);
    else
        not_claimed(run);
}

static void doc_here(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct run *run = arg;
    struct tasks *tasks = run->tasks;
    struct task task;
    if (status == TOCSIN_OK && record->rev == run->rev)
        status = tasks_decode(record, &tasks->lists, &task);
    else if (status == TOCSIN_OK)
        status = TOCSIN_NONE; /* replaced meanwhile; the new one comes by itself */
    if (status == TOCSIN_DAMAGED) {
        struct tasks_lease *lease = run->lease;
        run_destroy(run); /* counted by the engine; it would come back for ever */
        one_claimed(lease);
        return;
    }
    if (status != TOCSIN_OK) {
        not_claimed(run);
        return;
    }
    run->of_schedule = task.occurrence != 0;
    run->origin = tasks_origin(&task, record);
    run->attempt = task.attempt + 1;
    if (task.attempt > 0)
        run->due_ms = first_due(run, &task);
    run->fence = engine_next_fence(tasks->engine);
    run->started_ms = engine_now_ms(tasks->engine);
    run->end_ms = run->started_ms + task.timeout_ms;
    run->until_ms = run->started_ms + run->lease->ttl_ms;
    if (run->until_ms > run->end_ms)
        run->until_ms = run->end_ms;
    give(run, &task);
}

static bool take(struct tasks *tasks, struct queue *queue, struct tasks_lease *lease,
                 const struct ready *ready)
{
    struct run *run = run_create(tasks);
    if (run == NULL) {
        queue_ready_again(tasks, ready->ref, ready->rev);
        return false;
    }
    run->ref = ready->ref;
    run->rev = ready->rev;
    run->due_ms = ready->due_ms;
    run->fired_ms = ready->fired_ms;
    run->queue = queue;
    run->lease = lease;
    queue->leased++;
    tasks->leased++;
    engine_attach(tasks->engine, run->ref, run->index + 1);
    lease->pending++;
    engine_get_ref(tasks->engine, run->ref, doc_here, run);
    return true;
}

void lease_serve(struct tasks *tasks, struct queue *queue, struct tasks_lease *lease)
{
    leave_line(lease);
    queue->pins++;
    lease->pending = 1; /* its own, so that it is answered once, at the end */
    free(lease->runs);
    lease->runs = calloc(lease->max, sizeof *lease->runs);
    bool memory = lease->runs != NULL;
    struct ready ready;
    for (uint32_t i = 0; memory && i < lease->max && queue_pop(tasks, queue, &ready); i++)
        memory = take(tasks, queue, lease, &ready);
    lease->outcome = memory ? OUTCOME_OK : OUTCOME_OVERLOADED;
    queue->pins--;
    one_claimed(lease);
}

void tasks_lease(struct tasks *tasks, struct tasks_lease *lease)
{
    assert(lease->max >= 1 && lease->max <= tasks->limits.lease_runs);
    lease->tasks = tasks;
    lease->outcome = OUTCOME_OK;
    lease->timer = (struct engine_timer){.fn = waited_enough, .arg = lease};
    lease->runs = NULL;
    lease->run_count = lease->pending = 0;
    lease->before = lease->after = NULL;
    lease->waiting = lease->gone = false;
    buffer_append_text(&lease->answer, "{\"runs\":[");
    struct queue *queue = queue_find(tasks, lease->queue);
    bool full = queue == NULL && tasks->queue_count >= tasks->limits.queues;
    if (queue == NULL && !full)
        queue = queue_get(tasks, lease->queue);
    bool behind = queue == NULL || queue->ready == 0 || queue->first_waiting != NULL;
    bool waits = behind && lease->wait_ms > 0;
    full = full || (waits && tasks->waiting >= tasks->limits.lease_waiting);
    if (queue == NULL || full || buffer_status(&lease->answer) != TOCSIN_OK) {
        lease->outcome = full ? OUTCOME_TOO_MANY : OUTCOME_OVERLOADED;
        answer(lease);
        if (queue != NULL)
            queue_unuse(tasks, queue);
        return;
    }
    lease->in = queue;
    if (lease->wait_ms > 0 && !tasks->holding)
        (void)engine_timer_arm(tasks->engine, &lease->timer,
                               engine_now_up_ms(tasks->engine) + lease->wait_ms);
    if (tasks->holding || (behind && !waits)) {
        answer(lease);
        queue_unuse(tasks, queue);
        return;
    }
    if (behind) {
        join_line(lease);
        return;
    }
    queue->pins++;
    lease_serve(tasks, queue, lease);
    queue->pins--;
    queue_unuse(tasks, queue);
}

bool tasks_lease_gone(struct tasks *tasks, struct tasks_lease *lease)
{
    if (lease->waiting) {
        struct queue *queue = lease->in;
        leave_line(lease);
        engine_timer_cancel(tasks->engine, &lease->timer);
        free(lease->runs);
        lease->runs = NULL;
        queue_unuse(tasks, queue);
        return true;
    }
    lease->gone = true;
    return false;
}

/* Who waits is answered with nothing. */
void leases_hold(struct tasks *tasks)
{
    tasks->holding = true;
    for (uint32_t i = 0; i <= tasks->queue_mask; i++) {
        struct queue *queue = tasks->queues[i];
        while (queue != NULL) {
            struct queue *next = queue->next;
            while (queue->first_waiting != NULL) {
                struct tasks_lease *lease = queue->first_waiting;
                leave_line(lease);
                answer(lease);
            }
            queue_unuse(tasks, queue);
            queue = next;
        }
    }
}
