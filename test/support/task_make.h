/* SPDX-License-Identifier: MIT */
/* task_make.h - a task like no other, from a seed; and whether two are the same.
 *
 * What is made passes task_check. It borrows from the struct it was made in.
 */
#ifndef TEST_TASK_MAKE_H
#define TEST_TASK_MAKE_H

#include "runner.h"
#include "service/task/task.h"

struct task_made {
    struct task task;
    char id[TASK_ID_BYTES_MAX];
    char name[TASK_NAME_BYTES_MAX];
    char queue[TASK_QUEUE_BYTES_MAX];
    char error[TASK_ERROR_BYTES_MAX];
    uint64_t open[TASK_BACKLOG_MAX];
    int64_t backlog[TASK_BACKLOG_MAX];
};

void task_make(struct test_random *random, struct task_made *ret_made);

/* Of everything but the id when with_id is false. */
bool task_same(const struct task *one, const struct task *other, bool with_id);

#endif
