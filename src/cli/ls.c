/* SPDX-License-Identifier: MIT */
/* tocsin ls: which tasks are there? */

#include "cli/command_list.h"
#include "cli/list.h"
#include "cli/task_text.h"

struct ls {
    struct list_options list; /* first */
    const char *status;
    const char *prefix;
    const char *queue;
};

static const struct option_row rows[] = {
    {"--status", "STATUS", "pending, running, completed, failed, cancelled or paused",
     "pending, running, completed, failed, cancelled or paused", options_read_filled,
     offsetof(struct ls, status)},
    {"--prefix", "TEXT", "whose ids begin so", "the beginning of ids", options_read_text,
     offsetof(struct ls, prefix)},
    {"--queue", "QUEUE", "of this queue", "a queue", options_read_text, offsetof(struct ls, queue)},
    LIST_LIMIT_ROW,
    LIST_ALL_ROW,
};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"ID", "STATUS", "DUE", "RHYTHM", "QUEUE", ">TRIES", "NAME"};
    static const struct list tasks = {"tasks", heads, sizeof heads / sizeof heads[0],
                                      task_text_row};
    struct ls ls = {.list.limit = LIST_LIMIT_DEFAULT};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&ls_command, &words, &ls, &code))
        return code;
    return list_print(
        &ls_command, &ls.list, &tasks, "/v1/tasks",
        (struct list_filter[]){
            {"status", ls.status}, {"prefix", ls.prefix}, {"queue", ls.queue}, {NULL}});
}

const struct command ls_command = {
    .name = "ls",
    .text = "which tasks are there?",
    .usage = "[OPTION...]",
    .about = "Lists tasks, the oldest first. With --json: a page of the server's JSON a line.\n",
    .after = "example: tocsin ls --status pending --prefix invoice-\n",
    COMMAND_ROWS(rows),
    .client = true,
    .run = ls_run,
};
