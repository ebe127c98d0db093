/* SPDX-License-Identifier: MIT */
/* Schedules: an occurrence is a run record, put in one group with the schedule's own next
 * time.
 *
 *   open      runs that have not ended: their numbers stand in the schedule
 *   backlog   occurrences that wait until no run is open (overlap queue; and what misfire
 *             `all` catches up, also under overlap skip: else it would catch up nothing)
 *   left      of repeat: occurrences that may still end. Never more are open or wait than
 *             that.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

size_t schedule_run_key(struct bytes id, uint64_t number, char ret_key[TASK_ID_BYTES_MAX + 24])
{
    assert(id.size <= TASK_ID_BYTES_MAX);
    memcpy(ret_key, id.at, id.size);
    int size =
        snprintf(ret_key + id.size, 24, "%c%llu", RUN_NUMBER_MARK, (unsigned long long)number);
    return id.size + (size_t)size;
}

int64_t schedule_now(const struct tasks *tasks, enum store_basis basis)
{
    return basis == STORE_WALL ? engine_wall_ms(tasks->engine) : engine_now_ms(tasks->engine);
}

static struct draft *draft_of(struct tasks *tasks, const struct task *task)
{
    struct draft *draft = &tasks->draft;
    draft->task = *task;
    if (task->open_count > 0)
        memcpy(draft->open, task->open, task->open_count * sizeof draft->open[0]);
    if (task->backlog_count > 0)
        memcpy(draft->backlog, task->backlog, task->backlog_count * sizeof draft->backlog[0]);
    draft->task.open = draft->open;
    draft->task.backlog = draft->backlog;
    return draft;
}

/* More may begin or wait: repeat is not used up by what is open, and the lists have room. */
static bool may_add(const struct task *task)
{
    size_t under_way = task->open_count + task->backlog_count;
    return under_way < TASK_BACKLOG_MAX && (task->left < 0 || (int64_t)under_way < task->left);
}

static enum tocsin_status add_run(struct tasks *tasks, struct change *change, struct draft *draft,
                                  int64_t nominal_ms, bool by_hand)
{
    struct task *task = &draft->task;
    struct task run;
    task_init(&run);
    run.id = task->id;
    run.name = task->name;
    run.payload = task->payload;
    run.queue = task->queue;
    run.retries_max = task->retries_max;
    run.backoff = task->backoff;
    run.timeout_ms = task->timeout_ms;
    run.created_ms = engine_wall_ms(tasks->engine);
    run.nominal_ms = nominal_ms;
    run.by_hand = by_hand;
    if (!by_hand) { /* so that every attempt can tell when the occurrence was due */
        run.jitter_ms = task->jitter_ms;
        run.has_at = rhythm_basis(task) == STORE_WALL;
        run.at_ms = run.has_at ? nominal_ms : 0;
    }
    run.occurrence = engine_next_fence(tasks->engine);
    char key[TASK_ID_BYTES_MAX + 24];
    size_t key_size = schedule_run_key(task->id, run.occurrence, key);
    enum store_basis basis = by_hand ? STORE_ELAPSED : rhythm_basis(task);
    int64_t due = by_hand ? nominal_ms : rhythm_due(task, nominal_ms);
    enum tocsin_status status =
        tasks_put_doc(tasks, change, tasks->run_kind, (struct bytes){key, key_size}, &run,
                      TASK_WAITING, due, basis, NULL);
    if (status == TOCSIN_OK)
        draft->open[task->open_count++] = run.occurrence; /* numbers rise */
    return status;
}

/* Its next time, or rest until a run has ended. Or its end, as its last run ended. */
static enum tocsin_status put_schedule(struct tasks *tasks, struct change *change,
                                       const struct engine_record *record, struct task *task,
                                       bool failed)
{
    enum task_mark mark = record->mark == TASK_PAUSED ? TASK_PAUSED : TASK_SCHEDULED;
    int64_t due = mark == TASK_PAUSED ? record->due_ms : STORE_NEVER;
    enum store_basis basis = mark == TASK_PAUSED ? record->basis : rhythm_basis(task);
    task->origin = tasks_origin(task, record);
    bool ended = task->nominal_ms == STORE_NEVER;
    if (mark == TASK_SCHEDULED) {
        if (!ended && may_add(task))
            due = rhythm_due(task, task->nominal_ms);
        else
            mark = TASK_RESTING;
    }
    if (task->open_count == 0 && task->backlog_count == 0 &&
        (task->left == 0 || (ended && !task->from_end && mark != TASK_PAUSED))) {
        tasks_ended_after(tasks, change, record, task,
                          failed ? FINISHED_FAILED : FINISHED_COMPLETED);
        return change_drop(change, tasks->task_kind, record->key);
    }
    if (ended)
        task->nominal_ms = 0;
    return tasks_put_doc(tasks, change, tasks->task_kind, record->key, task, mark, due, basis,
                         NULL);
}

static enum tocsin_status take_occurrence(struct tasks *tasks, struct change *change,
                                          struct draft *draft, int64_t nominal_ms, bool catching_up,
                                          uint64_t *skipped)
{
    struct task *task = &draft->task;
    if (!may_add(task)) {
        ++*skipped;
        return TOCSIN_OK;
    }
    bool alone = task->open_count == 0 && task->backlog_count == 0;
    if (alone || task->overlap == TASK_OVERLAP_ALLOW)
        return add_run(tasks, change, draft, nominal_ms, false);
    if (task->overlap == TASK_OVERLAP_QUEUE || catching_up)
        draft->backlog[task->backlog_count++] = nominal_ms;
    else
        ++*skipped;
    return TOCSIN_OK;
}

enum tocsin_status schedule_due(struct tasks *tasks, struct change *change,
                                const struct engine_record *record)
{
    struct task decoded;
    enum tocsin_status status = tasks_decode(record, &tasks->lists, &decoded);
    if (status != TOCSIN_OK)
        return status;
    struct draft *draft = draft_of(tasks, &decoded);
    struct task *task = &draft->task;
    struct rhythm_due_set *set = &tasks->due_set;
    const struct zone *zone = zones_find(&tasks->zones, task->zone);
    if (task->rhythm == TASK_CRON && zone == NULL) {
        tasks_want_zone(tasks, task->zone);
        return TOCSIN_UNAVAILABLE; /* tried again, and seen in the log */
    }
    rhythm_take_due(task, zone, schedule_now(tasks, rhythm_basis(task)), set);
    uint64_t overlapped = 0;
    bool catching_up = set->run_count > 1; /* misfire all */
    for (size_t i = 0; i < set->run_count && status == TOCSIN_OK; i++)
        status = take_occurrence(tasks, change, draft, set->run[i], catching_up, &overlapped);
    if (status != TOCSIN_OK)
        return status;
    task->skipped += set->skipped + overlapped;
    task->nominal_ms = set->next_ms;
    status = put_schedule(tasks, change, record, task, task->last_error.size > 0);
    if (status != TOCSIN_OK)
        return status;
    if (overlapped > 0)
        tasks_event(tasks, change, task->id, "skipped", task, true);
    tasks_count_after(tasks, change, TASKS_SKIPPED_MISFIRE, set->skipped);
    tasks_count_after(tasks, change, TASKS_SKIPPED_OVERLAP, overlapped);
    return TOCSIN_OK;
}

enum tocsin_status schedule_fire(struct tasks *tasks, struct change *change,
                                 const struct engine_record *record, struct task *task,
                                 uint64_t *ret_rev)
{
    struct draft *draft = draft_of(tasks, task);
    if (draft->task.open_count + draft->task.backlog_count >= TASK_BACKLOG_MAX)
        return TOCSIN_FULL;
    enum tocsin_status status =
        add_run(tasks, change, draft, engine_now_up_ms(tasks->engine), true);
    if (status != TOCSIN_OK)
        return status;
    draft->task.origin = tasks_origin(task, record);
    *task = draft->task;
    return tasks_put_doc(tasks, change, tasks->task_kind, record->key, &draft->task,
                         (enum task_mark)record->mark, record->due_ms, record->basis, ret_rev);
}

/* ---- a run has ended */

static bool take_out(uint64_t *list, size_t *count, uint64_t number)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i] != number)
            continue;
        memmove(list + i, list + i + 1, (*count - i - 1) * sizeof *list);
        --*count;
        return true;
    }
    return false;
}

static void put_in(struct draft *draft, uint64_t number)
{
    size_t at = draft->task.open_count++;
    for (; at > 0 && draft->open[at - 1] > number; at--)
        draft->open[at] = draft->open[at - 1];
    draft->open[at] = number;
}

/* ---- the run of a schedule that is gone, and remembered */

struct amendment {
    struct tasks *tasks;
    enum run_news { RUN_DONE, RUN_FAILED, RUN_REOPENED } news;
    uint64_t number;
    int64_t created_ms; /* of the run */
    size_t id_size;
    char id[];
};

/* False: this run is not of that schedule, but of another that had its id. */
static bool amend(struct draft *draft, const struct amendment *news, enum finished_how *how)
{
    struct task *task = &draft->task;
    if (news->news == RUN_REOPENED) {
        if (news->created_ms < task->created_ms || task->open_count >= TASK_BACKLOG_MAX)
            return false;
        put_in(draft, news->number);
        task->failed -= task->failed > 0;
        return true;
    }
    if (!take_out(draft->open, &task->open_count, news->number))
        return false;
    bool well = news->news == RUN_DONE;
    task->executed += well;
    task->failed += !well;
    if (well)
        task->last_error = (struct bytes){NULL, 0};
    if (*how != FINISHED_CANCELLED)
        *how = well ? FINISHED_COMPLETED : FINISHED_FAILED;
    return true;
}

static void amend_now(void *arg, enum tocsin_status status)
{
    struct amendment *news = arg;
    struct tasks *tasks = news->tasks;
    struct bytes id = {news->id, news->id_size};
    struct task task;
    const struct finished_task *ended =
        status == TOCSIN_OK ? finished_find(&tasks->finished, id) : NULL;
    if (ended != NULL &&
        task_decode(finished_doc(ended), &tasks->other_lists, &task) == TOCSIN_OK) {
        struct finished_task ending = *ended;
        struct draft *draft = draft_of(tasks, &task);
        struct buffer *doc = &tasks->other_doc;
        buffer_clear(doc);
        if (amend(draft, news, &ending.how))
            task_encode(&draft->task, doc);
        struct finished_task *amended = NULL;
        if (doc->size > 0 && buffer_status(doc) == TOCSIN_OK)
            amended = finished_task_create(&ending, id, (struct bytes){doc->data, doc->size},
                                           finished_result(ended));
        if (amended != NULL)
            finished_take(&tasks->finished, amended);
    }
    free(news);
}

/* Once it is durable; without memory for it, it is not counted. */
static void amend_after(struct tasks *tasks, struct change *change, const struct task *run,
                        enum run_news what)
{
    struct amendment *news = malloc(sizeof *news + run->id.size);
    if (news == NULL)
        return;
    *news = (struct amendment){.tasks = tasks,
                               .news = what,
                               .number = run->occurrence,
                               .created_ms = run->created_ms,
                               .id_size = run->id.size};
    memcpy(news->id, run->id.at, run->id.size);
    if (change_then(change, amend_now, news) != TOCSIN_OK)
        free(news);
}

/* ---- the run of one that is here */

static enum tocsin_status begin_waiting(struct tasks *tasks, struct change *change,
                                        struct draft *draft)
{
    struct task *task = &draft->task;
    if (task->backlog_count == 0 || task->open_count > 0)
        return TOCSIN_OK;
    int64_t nominal = draft->backlog[0];
    memmove(draft->backlog, draft->backlog + 1, --task->backlog_count * sizeof draft->backlog[0]);
    return add_run(tasks, change, draft, nominal, false);
}

enum tocsin_status schedule_run_ended(struct tasks *tasks, struct change *change,
                                      const struct task *run, bool well)
{
    struct engine_record record;
    struct task decoded;
    enum tocsin_status status = change_get(change, tasks->task_kind, run->id, &record);
    if (status == TOCSIN_NONE) { /* cancelled meanwhile: the run was allowed to finish */
        amend_after(tasks, change, run, well ? RUN_DONE : RUN_FAILED);
        return TOCSIN_OK;
    }
    if (status == TOCSIN_OK)
        status = tasks_decode(&record, &tasks->other_lists, &decoded);
    if (status != TOCSIN_OK)
        return status;
    struct draft *draft = draft_of(tasks, &decoded);
    struct task *task = &draft->task;
    if (!take_out(draft->open, &task->open_count, run->occurrence))
        return TOCSIN_OK; /* the schedule was replaced: this run is not its own */
    task->executed += well;
    task->failed += !well;
    task->last_error = well ? (struct bytes){NULL, 0} : run->last_error;
    if (!run->by_hand && task->left > 0)
        task->left--;
    status = begin_waiting(tasks, change, draft);
    if (status != TOCSIN_OK)
        return status;
    /* A fixed delay that has a next time keeps it: this was a run by hand. */
    bool none_next = record.mark == TASK_RESTING && task->nominal_ms == 0;
    int64_t now = schedule_now(tasks, rhythm_basis(task));
    if (none_next && (!task->from_end || task->open_count > 0 ||
                      rhythm_after(task, NULL, now, &task->nominal_ms) != TOCSIN_OK))
        task->nominal_ms = STORE_NEVER;
    return put_schedule(tasks, change, &record, task, !well);
}

enum tocsin_status schedule_run_reopened(struct tasks *tasks, struct change *change,
                                         const struct task *run)
{
    struct engine_record record;
    struct task decoded;
    enum tocsin_status status = change_get(change, tasks->task_kind, run->id, &record);
    if (status == TOCSIN_NONE) {
        amend_after(tasks, change, run, RUN_REOPENED);
        return TOCSIN_OK;
    }
    if (status == TOCSIN_OK)
        status = tasks_decode(&record, &tasks->other_lists, &decoded);
    if (status != TOCSIN_OK)
        return status;
    struct draft *draft = draft_of(tasks, &decoded);
    struct task *task = &draft->task;
    if (task->open_count >= TASK_BACKLOG_MAX)
        return TOCSIN_FULL;
    put_in(draft, run->occurrence);
    task->failed -= task->failed > 0;
    if (!run->by_hand && task->left >= 0 && task->left < task->repeat)
        task->left++;
    task->origin = tasks_origin(task, &record);
    return tasks_put_doc(tasks, change, tasks->task_kind, record.key, task,
                         (enum task_mark)record.mark, record.due_ms, record.basis, NULL);
}

/* ---- going on after a pause */

enum tocsin_status schedule_resume(struct tasks *tasks, struct change *change,
                                   const struct engine_record *record, struct task *task,
                                   int64_t late_ms, uint64_t *ret_skipped)
{
    enum task_mark was = task->paused_from;
    enum store_basis basis = rhythm_basis(task);
    task->origin = tasks_origin(task, record);
    task->paused_from = (enum task_mark)0;
    task->pause_until_ms = 0;
    *ret_skipped = 0;
    if (task->rhythm == TASK_ONCE) {
        bool retry = was == TASK_RETRYING;
        int64_t due = retry ? task->retry_due_ms : rhythm_due(task, task->nominal_ms);
        task->retry_due_ms = 0;
        return tasks_put_doc(tasks, change, tasks->task_kind, record->key, task, was, due,
                             retry ? STORE_ELAPSED : basis, NULL);
    }
    const struct zone *zone = zones_find(&tasks->zones, task->zone);
    if (task->rhythm == TASK_CRON && zone == NULL) {
        tasks_want_zone(tasks, task->zone);
        return TOCSIN_UNAVAILABLE;
    }
    struct engine_record as_scheduled = *record;
    as_scheduled.mark = TASK_SCHEDULED;
    int64_t ended_ms = schedule_now(tasks, basis) - late_ms;
    bool none_next = task->from_end && task->nominal_ms == 0;
    if (none_next && task->open_count > 0)
        task->nominal_ms = STORE_NEVER; /* one interval after the run has ended */
    else if (none_next)
        (void)rhythm_after(task, zone, ended_ms, &task->nominal_ms);
    else
        rhythm_resume(task, zone, ended_ms, &task->nominal_ms, ret_skipped);
    task->skipped += *ret_skipped;
    return put_schedule(tasks, change, &as_scheduled, task, task->last_error.size > 0);
}
