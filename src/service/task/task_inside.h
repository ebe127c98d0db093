/* SPDX-License-Identifier: MIT */
/* task_inside.h - what do the files of this folder that make tasks share? */
#ifndef TOCSIN_SERVICE_TASK_TASK_INSIDE_H
#define TOCSIN_SERVICE_TASK_TASK_INSIDE_H

#include "service/task/task.h"

/* The names of the enums, as in requests and answers. */
enum { TASK_MISFIRE_COUNT = TASK_MISFIRE_ALL + 1, TASK_OVERLAP_COUNT = TASK_OVERLAP_ALLOW + 1 };
enum { TASK_GAP_COUNT = CRON_GAP_SKIP + 1, TASK_DST_OVERLAP_COUNT = CRON_OVERLAP_BOTH + 1 };
extern const char *const task_misfire_names[TASK_MISFIRE_COUNT];
extern const char *const task_overlap_names[TASK_OVERLAP_COUNT];
extern const char *const task_gap_names[TASK_GAP_COUNT]; /* NULL at USUAL: left out */
extern const char *const task_dst_overlap_names[TASK_DST_OVERLAP_COUNT];

/* UTF-8 without control characters (C0, DEL, C1). */
bool task_text_plain(struct bytes text);

/* The jitter must be below this; INT64_MAX for a one-shot. The cron must parse. */
int64_t task_jitter_end_ms(const struct task *task);

#endif
