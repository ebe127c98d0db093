/* SPDX-License-Identifier: MIT */
/* finished.h - how did a task end that is no longer there?
 *
 * The last tasks that ended, in memory: so many, or so many bytes; the oldest go first. A task
 * that ends again under the same id hides the one before. Each is one block, made by whoever
 * ended it, and holds the doc: the answer is written when somebody asks.
 */
#ifndef TOCSIN_SERVICE_TASK_FINISHED_H
#define TOCSIN_SERVICE_TASK_FINISHED_H

#include "base/bytes.h"
#include "base/number_map.h"
#include "base/siphash.h"

enum finished_how { FINISHED_COMPLETED, FINISHED_CANCELLED, FINISHED_FAILED };

struct finished_task {
    void *owner; /* of whoever made it */
    uint64_t rev;
    uint64_t fence; /* of its last attempt; 0: none */
    int64_t due_ms; /* wall; negative: none */
    uint32_t attempt;
    uint32_t id_size;
    uint32_t doc_size;
    uint32_t result_size;
    enum finished_how how;
    uint64_t hash;  /* the ring's, and the next */
    uint64_t order; /* rises with each */
    char bytes[];   /* id, doc, result */
};

/* As this one, with these bytes copied behind it. NULL: no memory. */
struct finished_task *finished_task_create(const struct finished_task *ending, struct bytes id,
                                           struct bytes doc, struct bytes result);
struct bytes finished_id(const struct finished_task *task);
struct bytes finished_doc(const struct finished_task *task);
struct bytes finished_result(const struct finished_task *task);

struct finished {
    struct finished_task **ring; /* of `max`; NULL: hidden */
    uint32_t max;
    uint32_t first;
    uint32_t count;
    uint64_t order;
    uint64_t bytes;
    uint64_t max_bytes;
    struct siphash_key key;
    struct number_map by_hash; /* the newest of each id */
};

bool finished_init(struct finished *finished, uint32_t max, uint64_t max_bytes,
                   struct siphash_key key);
void finished_release(struct finished *finished);

/* Takes it over; without room for it, it is forgotten. */
void finished_take(struct finished *finished, struct finished_task *task);
/* NULL: none. */
const struct finished_task *finished_find(const struct finished *finished, struct bytes id);

/* The n-th, the oldest being 0; NULL when it is hidden. */
const struct finished_task *finished_at(const struct finished *finished, uint32_t n);

#endif
