/* SPDX-License-Identifier: MIT */
/* tocsin show, tocsin why: one task, and why it has not run. */

#include <inttypes.h>

#include "cli/client.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "cli/task_text.h"
#include "cli/when.h"

static int print_why(const struct client *client)
{
    struct bytes why = call_body(client->call);
    int64_t now_ms = when_now_ms();
    static const char *const texts[] = {"status", "reason", "last_error", "queue", "node"};
    char text[2048];
    struct bytes lease;
    int64_t value;
    (void)fields_int64(why, "now_ms", &now_ms); /* as the server has it */
    (void)fields_text(why, "id", text, sizeof text);
    table_line("id", PAINT_BOLD, "%s", text);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (fields_text(why, texts[i], text, sizeof text))
            table_line(texts[i],
                       i == 2   ? PAINT_BAD
                       : i == 1 ? PAINT_BOLD
                                : PAINT_PLAIN,
                       "%s", text);
    }
    if (fields_int64(why, "due_ms", &value)) {
        task_text_due(value, now_ms, text, sizeof text);
        table_line("due", PAINT_PLAIN, "%s", text);
    }
    if (fields_int64(why, "pause_until_ms", &value)) {
        task_text_due(value, now_ms, text, sizeof text);
        table_line("paused until", PAINT_WARN, "%s", text);
    }
    if (fields_int64(why, "attempt", &value) && value > 0)
        table_line("attempt", PAINT_PLAIN, "%" PRId64, value);
    if (fields_int64(why, "skipped", &value) && value > 0)
        table_line("skipped", PAINT_PLAIN, "%" PRId64, value);
    if (fields_raw(why, "lease", &lease) && fields_int64(lease, "until_ms", &value) &&
        fields_text(lease, "run", text, sizeof text))
        table_line("lease", PAINT_PLAIN, "run %s, ends %s", text,
                   when_relative(value, now_ms).text);
    return EXIT_DONE;
}

static int print_task(const struct client *client)
{
    task_text_print(call_body(client->call), when_now_ms());
    return EXIT_DONE;
}

static int show_run(int argc, char **argv)
{
    return client_show(&show_command, argc, argv, "/v1/tasks/", "", print_task);
}

static int why_run(int argc, char **argv)
{
    return client_show(&why_command, argc, argv, "/v1/tasks/", "/why", print_why);
}

const struct command show_command = {
    .name = "show",
    .text = "everything about a task",
    .usage = "ID [OPTION...]",
    .about = "Shows a task: its state, when it is due, what went wrong last, its payload.\n",
    .after = "example: tocsin show notify-001\n",
    .word_name = "the id of a task",
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = show_run,
};

const struct command why_command = {
    .name = "why",
    .text = "why has a task not run?",
    .usage = "ID [OPTION...]",
    .about = "Says in a sentence what a task waits for: its time, a worker, somebody to resume\n"
             "it; with its lease, its last error and the node that has it.\n",
    .after = "example: tocsin why notify-001\n",
    .word_name = "the id of a task",
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = why_run,
};
