/* SPDX-License-Identifier: MIT */
#include "service/task/finished.h"

#include <stdlib.h>

struct finished_task *finished_task_create(const struct finished_task *ending, struct bytes id,
                                           struct bytes doc, struct bytes result)
{
    struct finished_task *task = malloc(sizeof *task + id.size + doc.size + result.size);
    if (task == NULL)
        return NULL;
    *task = *ending;
    task->id_size = (uint32_t)id.size;
    task->doc_size = (uint32_t)doc.size;
    task->result_size = (uint32_t)result.size;
    memcpy(task->bytes, id.at, id.size);
    memcpy(task->bytes + id.size, doc.at, doc.size);
    if (result.size > 0)
        memcpy(task->bytes + id.size + doc.size, result.at, result.size);
    return task;
}

struct bytes finished_id(const struct finished_task *task)
{
    return (struct bytes){task->bytes, task->id_size};
}

struct bytes finished_doc(const struct finished_task *task)
{
    return (struct bytes){task->bytes + task->id_size, task->doc_size};
}

struct bytes finished_result(const struct finished_task *task)
{
    return (struct bytes){task->bytes + task->id_size + task->doc_size, task->result_size};
}

static size_t size_of(const struct finished_task *task)
{
    return sizeof *task + task->id_size + task->doc_size + task->result_size;
}

bool finished_init(struct finished *finished, uint32_t max, uint64_t max_bytes,
                   struct siphash_key key)
{
    *finished = (struct finished){.max = max, .max_bytes = max_bytes, .key = key};
    if (max == 0)
        return true;
    finished->ring = calloc(max, sizeof(struct finished_task *));
    return finished->ring != NULL;
}

void finished_release(struct finished *finished)
{
    for (uint32_t i = 0; i < finished->count; i++)
        free(finished->ring[(finished->first + i) % finished->max]);
    free(finished->ring);
    number_map_release(&finished->by_hash);
}

static uint64_t hash_of(const struct finished *finished, struct bytes id)
{
    uint64_t hash = siphash_quick(finished->key, id.at, id.size);
    return hash == 0 ? 1 : hash;
}

static void hide(struct finished *finished, uint32_t at)
{
    struct finished_task *task = finished->ring[at];
    if (task == NULL)
        return;
    uint32_t newest;
    if (number_map_get(&finished->by_hash, task->hash, &newest) && newest == at)
        number_map_drop(&finished->by_hash, task->hash);
    finished->bytes -= size_of(task);
    free(task);
    finished->ring[at] = NULL;
}

static void drop_oldest(struct finished *finished)
{
    hide(finished, finished->first);
    finished->first = (finished->first + 1) % finished->max;
    finished->count--;
}

const struct finished_task *finished_find(const struct finished *finished, struct bytes id)
{
    uint32_t at;
    if (!number_map_get(&finished->by_hash, hash_of(finished, id), &at))
        return NULL;
    const struct finished_task *task = finished->ring[at];
    return bytes_equal(finished_id(task), id) ? task : NULL;
}

static void forget(struct finished *finished, struct bytes id, uint64_t hash)
{
    uint32_t at;
    if (number_map_get(&finished->by_hash, hash, &at) &&
        bytes_equal(finished_id(finished->ring[at]), id))
        hide(finished, at);
}

void finished_take(struct finished *finished, struct finished_task *task)
{
    size_t size = size_of(task);
    if (finished->max == 0 || size > finished->max_bytes) {
        free(task);
        return;
    }
    task->hash = hash_of(finished, finished_id(task));
    forget(finished, finished_id(task), task->hash);
    while (finished->count == finished->max || finished->bytes + size > finished->max_bytes)
        drop_oldest(finished);
    uint32_t at = (finished->first + finished->count) % finished->max;
    if (!number_map_put(&finished->by_hash, task->hash, at)) {
        free(task);
        return;
    }
    task->order = ++finished->order;
    finished->ring[at] = task;
    finished->count++;
    finished->bytes += size;
}

const struct finished_task *finished_at(const struct finished *finished, uint32_t n)
{
    return finished->ring[(finished->first + n) % finished->max];
}
