/* SPDX-License-Identifier: MIT */
/* tocsin cancel, pause, resume, fire: the same change of each task that is named. What is
 * refused is said, and the others are done all the same. */

#include "base/json_write.h"
#include "cli/client.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/task_text.h"
#include "cli/when.h"

struct change {
    struct client_options client; /* first */
    const char *if_match;
    const char *until;
    const char *method;
    const char *after;
};

static const struct option_row rows[] = {
    {"--if-match", "REV", "only when it still has this revision", "a revision, a whole number",
     options_read_whole, offsetof(struct change, if_match)},
    {"--until", "TIME", "resumes by itself then", "a time such as 2026-11-15T13:00:00Z",
     options_read_filled, offsetof(struct change, until)},
};

enum { PLAIN_ROWS = 1, PAUSE_ROWS = 2 };

static void write_until(const char *until, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    fields_write_instant(&writer, "until", until);
    json_write_object_end(&writer);
}

static int change_one(struct client *client, const void *arg, const char *id)
{
    const struct change *change = arg;
    char path[CLIENT_PATH_BYTES_MAX];
    char match[64];
    struct buffer body;
    if (!client_path(client, "/v1/tasks/", id, change->after, path))
        return EXIT_USAGE;
    struct call_request request = {.method = change->method, .path = path};
    buffer_init(&body, CLIENT_PATH_BYTES_MAX);
    if (change->until != NULL) {
        write_until(change->until, &body);
        request.body = (struct bytes){body.data, body.size};
    }
    if (change->if_match != NULL) {
        (void)snprintf(match, sizeof match, "If-Match: \"%.20s\"", change->if_match);
        request.headers[0] = match;
    }
    int code = client_ask(client, &request);
    buffer_release(&body);
    if (code == EXIT_DONE && client->json)
        client_print(client);
    else if (code == EXIT_DONE)
        task_text_line(call_body(client->call), when_now_ms());
    return code;
}

static int change_all(const struct command *command, int argc, char **argv, const char *method,
                      const char *after)
{
    struct change change = {.method = method, .after = after};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(command, &words, &change, &code))
        return code;
    return client_each(command, &change.client, &words, change_one, &change);
}

static int cancel_run(int argc, char **argv)
{
    return change_all(&cancel_command, argc, argv, "DELETE", "");
}

static int pause_run(int argc, char **argv)
{
    return change_all(&pause_command, argc, argv, "POST", "/pause");
}

static int resume_run(int argc, char **argv)
{
    return change_all(&resume_command, argc, argv, "POST", "/resume");
}

static int fire_run(int argc, char **argv)
{
    return change_all(&fire_command, argc, argv, "POST", "/fire");
}

/* What the four have in common; of each only its words differ. */
#define CHANGE_OF_TASKS(verb, rows_taken)                                                          \
    .name = #verb, .usage = "ID... [OPTION...]", .rows = rows, .row_count = (rows_taken),          \
    .word_name = "the id of a task", .words_min = 1, .words_max = COMMAND_WORDS_ANY,               \
    .client = true, .run = verb##_run

const struct command cancel_command = {
    CHANGE_OF_TASKS(cancel, PLAIN_ROWS),
    .text = "cancel tasks",
    .about = "Cancels tasks. One that is running is told to stop: its worker's next extend is\n"
             "refused, and it is not retried. Of a schedule the current run may finish.\n",
    .after = "example: tocsin cancel notify-001 notify-002\n",
};

const struct command pause_command = {
    CHANGE_OF_TASKS(pause, PAUSE_ROWS),
    .text = "take tasks off the wheel until they are resumed",
    .about = "Pauses tasks. What falls into the pause is skipped and counted.\n",
    .after = "example: tocsin pause nightly --until 2026-11-15T13:00:00Z\n",
};

const struct command resume_command = {
    CHANGE_OF_TASKS(resume, PLAIN_ROWS),
    .text = "put paused tasks back",
    .about = "Resumes paused tasks with the next occurrence of the same rhythm.\n",
    .after = "example: tocsin resume nightly\n",
};

const struct command fire_command = {
    CHANGE_OF_TASKS(fire, PLAIN_ROWS),
    .text = "let tasks come due now",
    .about = "Fires tasks now. A one-shot is used up by it; a schedule keeps its rhythm.\n",
    .after = "example: tocsin fire nightly\n",
};
