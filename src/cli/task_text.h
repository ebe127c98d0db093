/* SPDX-License-Identifier: MIT */
/* task_text.h - how does a task look to a reader? From the JSON that the server answers. */
#ifndef TOCSIN_CLI_TASK_TEXT_H
#define TOCSIN_CLI_TASK_TEXT_H

#include <stdint.h>

#include "base/bytes.h"
#include "cli/table.h"

/* ID STATUS DUE RHYTHM QUEUE TRIES NAME */
void task_text_row(struct bytes task, int64_t now_ms, struct table *table);
/* Everything worth knowing, a line each. */
void task_text_print(struct bytes task, int64_t now_ms);
/* One line about what has become of it. */
void task_text_line(struct bytes task, int64_t now_ms);
/* "due in 4m 59s (2026-11-15T13:00:00+01:00)" */
void task_text_due(int64_t due_ms, int64_t now_ms, char *ret_text, size_t room);

#endif
