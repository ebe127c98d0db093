/* SPDX-License-Identifier: MIT */
/* Queues: what is ready, by due time and then by acceptance, and who waits for it. */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

enum { HEAP_SLACK = 1024, PUMP_AGAIN_MS = 1000 };

static uint64_t hash_name(const struct tasks *tasks, struct bytes name)
{
    return siphash_quick(tasks->hash_key, name.at, name.size);
}

static bool has_name(const struct queue *queue, struct bytes name)
{
    return bytes_equal((struct bytes){queue->name, queue->name_size}, name);
}

struct queue *queue_find(struct tasks *tasks, struct bytes name)
{
    if (tasks->last_queue != NULL && has_name(tasks->last_queue, name))
        return tasks->last_queue;
    uint64_t hash = hash_name(tasks, name);
    struct queue *queue = tasks->queues[hash & tasks->queue_mask];
    while (queue != NULL && !(queue->hash == hash && has_name(queue, name)))
        queue = queue->next;
    if (queue != NULL)
        tasks->last_queue = queue;
    return queue;
}

struct queue *queue_get(struct tasks *tasks, struct bytes name)
{
    struct queue *queue = queue_find(tasks, name);
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof *queue + name.size);
    if (queue == NULL)
        return NULL;
    queue->hash = hash_name(tasks, name);
    queue->name_size = name.size;
    memcpy(queue->name, name.at, name.size);
    struct queue **slot = &tasks->queues[queue->hash & tasks->queue_mask];
    queue->next = *slot;
    *slot = queue;
    tasks->queue_count++;
    return queue;
}

void queue_unuse(struct tasks *tasks, struct queue *queue)
{
    if (queue->ready > 0 || queue->leased > 0 || queue->waiting > 0 || queue->pins > 0 ||
        queue->to_pump)
        return;
    struct queue **link = &tasks->queues[queue->hash & tasks->queue_mask];
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    if (tasks->last_queue == queue)
        tasks->last_queue = NULL;
    tasks->queue_count--;
    free(queue->heap);
    free(queue);
}

void queues_release(struct tasks *tasks)
{
    for (uint32_t i = 0; tasks->queues != NULL && i <= tasks->queue_mask; i++) {
        while (tasks->queues[i] != NULL) {
            struct queue *queue = tasks->queues[i];
            tasks->queues[i] = queue->next;
            free(queue->heap);
            free(queue);
        }
    }
    free(tasks->queues);
}

/* ---- the heap */

static bool before(const struct ready *one, const struct ready *other)
{
    return one->due_ms != other->due_ms ? one->due_ms < other->due_ms : one->rev < other->rev;
}

static void sift_down(struct queue *queue, size_t at)
{
    struct ready moving = queue->heap[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= queue->heap_count)
            break;
        if (child + 1 < queue->heap_count && before(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!before(&queue->heap[child], &moving))
            break;
        queue->heap[at] = queue->heap[child];
        at = child;
    }
    queue->heap[at] = moving;
}

static bool add(struct queue *queue, const struct ready *ready)
{
    if (queue->heap_count == queue->heap_room) {
        size_t room = queue->heap_room == 0 ? 16 : queue->heap_room * 2;
        struct ready *heap = realloc(queue->heap, room * sizeof *heap);
        if (heap == NULL)
            return false;
        queue->heap = heap;
        queue->heap_room = room;
    }
    size_t at = queue->heap_count++;
    while (at > 0 && before(ready, &queue->heap[(at - 1) / 2])) {
        queue->heap[at] = queue->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->heap[at] = *ready;
    return true;
}

static bool still_ready(const struct tasks *tasks, const struct ready *ready)
{
    struct engine_head head;
    return engine_head(tasks->engine, ready->ref, &head) && head.rev == ready->rev &&
           engine_attached(tasks->engine, ready->ref) == ATTACHED_READY;
}

/* When most entries are no longer true, they are all looked at once. */
static void clean(struct tasks *tasks, struct queue *queue)
{
    if (queue->heap_count <= queue->ready * 2 + HEAP_SLACK)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < queue->heap_count; i++) {
        if (still_ready(tasks, &queue->heap[i]))
            queue->heap[kept++] = queue->heap[i];
    }
    queue->heap_count = kept;
    for (size_t i = kept / 2; i > 0; i--)
        sift_down(queue, i - 1);
}

bool queue_pop(struct tasks *tasks, struct queue *queue, struct ready *ret_ready)
{
    while (queue->heap_count > 0) {
        struct ready top = queue->heap[0];
        queue->heap[0] = queue->heap[--queue->heap_count];
        if (queue->heap_count > 1)
            sift_down(queue, 0);
        if (!still_ready(tasks, &top))
            continue;
        engine_attach(tasks->engine, top.ref, 0);
        queue->ready--;
        tasks->ready--;
        *ret_ready = top;
        return true;
    }
    assert(queue->ready == 0);
    return false;
}

void queue_pump_later(struct tasks *tasks, struct queue *queue)
{
    if (queue->to_pump || queue->waiting == 0)
        return;
    queue->to_pump = true;
    queue->pump_next = tasks->pump;
    tasks->pump = queue;
}

bool queue_push(struct tasks *tasks, const struct engine_head *head, int64_t fired_ms)
{
    struct queue *queue = queue_get(tasks, head->tag);
    struct ready ready = {
        .due_ms = engine_wall_of(tasks->engine, head->due_ms, head->basis),
        .rev = head->rev,
        .ref = head->ref,
        .fired_ms = fired_ms,
    };
    /* What is due by one clock is shown on the other, which may be steered meanwhile: it has come due,
     * so nobody is told that it was early. */
    if (ready.fired_ms < ready.due_ms)
        ready.fired_ms = ready.due_ms;
    if (queue == NULL)
        return false;
    if (!add(queue, &ready)) {
        queue_unuse(tasks, queue);
        return false;
    }
    engine_attach(tasks->engine, head->ref, ATTACHED_READY);
    queue->ready++;
    tasks->ready++;
    queue_pump_later(tasks, queue);
    return true;
}

bool queue_unready(struct tasks *tasks, struct engine_ref ref)
{
    struct engine_head head;
    if (engine_attached(tasks->engine, ref) != ATTACHED_READY ||
        !engine_head(tasks->engine, ref, &head))
        return false;
    struct queue *queue = queue_find(tasks, head.tag);
    assert(queue != NULL && queue->ready > 0);
    engine_attach(tasks->engine, ref, 0);
    queue->ready--;
    tasks->ready--;
    clean(tasks, queue);
    queue_unuse(tasks, queue);
    return true;
}

void queue_ready_again(struct tasks *tasks, struct engine_ref ref, uint64_t rev)
{
    struct engine_head head;
    if (engine_head(tasks->engine, ref, &head) && head.rev == rev &&
        engine_attached(tasks->engine, ref) == 0 &&
        !queue_push(tasks, &head, engine_wall_ms(tasks->engine)))
        engine_due_again(tasks->engine, ref);
}

void queue_pump_all(void *arg)
{
    struct tasks *tasks = arg;
    struct queue *list = tasks->pump;
    tasks->pump = NULL;
    while (list != NULL) {
        struct queue *queue = list;
        list = queue->pump_next;
        queue->to_pump = false;
        queue->pins++;
        /* Each once: what could not be given out now is tried again in a later turn. */
        for (uint32_t left = queue->waiting;
             left > 0 && queue->ready > 0 && queue->first_waiting != NULL; left--)
            lease_serve(tasks, queue, queue->first_waiting);
        queue->pins--;
        queue_unuse(tasks, queue);
    }
    /* It may be long till then: nobody else may have anything to do. */
    if (tasks->pump != NULL && tasks->pump_again.handle.id == 0)
        (void)engine_timer_arm(tasks->engine, &tasks->pump_again,
                               engine_now_ms(tasks->engine) + PUMP_AGAIN_MS);
}

/* ---- looking at them */

static int64_t oldest(struct tasks *tasks, struct queue *queue)
{
    while (queue->heap_count > 0 && !still_ready(tasks, &queue->heap[0])) {
        queue->heap[0] = queue->heap[--queue->heap_count];
        if (queue->heap_count > 1)
            sift_down(queue, 0);
    }
    return queue->heap_count > 0 ? queue->heap[0].due_ms : 0;
}

struct looking {
    struct tasks *tasks;
    void (*fn)(void *arg, const struct tasks_queue_stats *stats);
    void *arg;
};

static void look(const struct looking *looking, struct bytes name, struct queue *queue,
                 uint64_t records)
{
    struct tasks_queue_stats stats = {.name = name, .delayed = records};
    if (queue != NULL) {
        uint64_t busy = queue->ready + queue->leased;
        stats.ready = queue->ready;
        stats.leased = queue->leased;
        stats.waiting = queue->waiting;
        stats.delayed = records > busy ? records - busy : 0;
        stats.oldest_ms = oldest(looking->tasks, queue);
    }
    looking->fn(looking->arg, &stats);
}

static void look_at_tag(void *arg, struct bytes word, uint64_t count)
{
    const struct looking *looking = arg;
    if (word.at[0] != ZONE_TAG_MARK)
        look(looking, word, queue_find(looking->tasks, word), count);
}

void tasks_each_queue(struct tasks *tasks,
                      void (*fn)(void *arg, const struct tasks_queue_stats *stats), void *arg)
{
    struct looking looking = {tasks, fn, arg};
    engine_each_tag(tasks->engine, look_at_tag, &looking);
    for (uint32_t i = 0; i <= tasks->queue_mask; i++) {
        for (struct queue *queue = tasks->queues[i]; queue != NULL; queue = queue->next) {
            struct bytes name = {queue->name, queue->name_size};
            if (engine_tag_count(tasks->engine, name) == 0)
                look(&looking, name, queue, 0);
        }
    }
}
