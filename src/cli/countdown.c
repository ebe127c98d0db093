/* SPDX-License-Identifier: MIT */
/* tocsin countdown: time that runs out for somebody. All but watch are here. */

#include <inttypes.h>

#include "base/json_write.h"
#include "cli/clock_face.h"
#include "cli/command_list.h"
#include "cli/countdown_text.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/list.h"
#include "cli/when.h"

enum { VERSION_BYTES = 24 };

static const struct command start_command;
static const struct command show_verb;
static const struct command ls_verb;
static const struct command stop_command;
static const struct command pause_verb;
static const struct command resume_verb;
static const struct command give_command;

static const char word_name[] = "the key of a countdown";

/* "turn-1 running: ada has 0:30 left, until 13:00:30.250" */
static void print_line(const struct client *client, const char *state)
{
    struct countdown_text it;
    char text[COUNTDOWN_LINE_BYTES];
    if (client->json) {
        client_print(client);
        return;
    }
    if (!countdown_text_read(call_body(client->call), &it))
        return;
    if (state != NULL)
        (void)snprintf(text, sizeof text, "%s had %s left", it.owner,
                       clock_face_whole(it.left_ms).text);
    else
        countdown_text_say(&it, text);
    (void)printf("%s%s%s %s%s%s: %s\n", paint_on(PAINT_BOLD), it.key, paint_off(),
                 paint_on(countdown_text_paint(&it)), state != NULL ? state : it.state, paint_off(),
                 text);
}

/* ---- start */

struct start {
    struct client_options client; /* first */
    const char *owner;
    const char *duration;
    const char *deadline;
    const char *version;
    const char *kind;
};

static const struct option_row start_rows[] = {
    {"--owner", "WHO", "whose time runs; needed", "a name", options_read_filled,
     offsetof(struct start, owner)},
    {"--for", "TIME", "how long: 30s, 1h30m, PT5M", "a duration such as 30s", options_read_duration,
     offsetof(struct start, duration)},
    {"--deadline", "INSTANT", "or until when: 2026-11-15T13:00:00+08:00, or epoch ms",
     "a time such as 2026-11-15T13:00:00Z", options_read_filled, offsetof(struct start, deadline)},
    {"--version", "TEXT", "which turn it is; the same one keeps its deadline (without: a new one)",
     "a text", options_read_filled, offsetof(struct start, version)},
    {"--kind", "KIND", "what is told at the deadline (event)", "a text", options_read_filled,
     offsetof(struct start, kind)},
};

static void write_wish(const struct start *start, struct buffer *out)
{
    struct json_writer writer;
    char now[VERSION_BYTES];
    /* Whoever names no turn means a new one, also when the last one of the key has just expired. */
    (void)snprintf(now, sizeof now, "%" PRId64, when_now_ms());
    json_writer_init(&writer, out);
    json_write_object(&writer);
    fields_write_text(&writer, "owner", start->owner);
    fields_write_text(&writer, "for", start->duration);
    fields_write_instant(&writer, "deadline_ms", start->deadline);
    fields_write_text(&writer, "version", start->version != NULL ? start->version : now);
    fields_write_text(&writer, "kind", start->kind);
    json_write_object_end(&writer);
}

/* A turn that was named and is over is not begun again: nothing runs now, and a script must know.
 * With --json the note is JSON, too. */
static int judge_start(const struct start *start, const struct client *client)
{
    struct countdown_text it;
    print_line(client, NULL);
    if (start->version == NULL || !countdown_text_read(call_body(client->call), &it) ||
        !countdown_text_over(&it))
        return EXIT_DONE;
    error_note(client->command->name, "that turn is over and nothing was started; another "
                                      "--version, or none, starts a new one");
    return EXIT_REFUSED;
}

static int put(const struct start *start, const char *key)
{
    struct client client;
    struct buffer body;
    char path[CLIENT_PATH_BYTES_MAX];
    buffer_init(&body, CLIENT_PATH_BYTES_MAX * 16);
    write_wish(start, &body);
    int code = client_init(&client, &start_command, &start->client);
    if (code == EXIT_DONE && buffer_status(&body) != TOCSIN_OK)
        code = command_usage(&start_command, "that is too long");
    if (code == EXIT_DONE && !client_path(&client, "/v1/countdowns/", key, "", path))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = client_ask(
            &client,
            &(struct call_request){.method = "PUT", .path = path, .body = {body.data, body.size}});
    if (code == EXIT_DONE)
        code = judge_start(start, &client);
    client_release(&client);
    buffer_release(&body);
    return code;
}

static int start_run(int argc, char **argv)
{
    struct start start = {.owner = NULL};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&start_command, &words, &start, &code))
        return code;
    if (start.owner == NULL)
        return command_usage(&start_command, "--owner is missing");
    if ((start.duration == NULL) == (start.deadline == NULL))
        return command_usage(&start_command, start.duration == NULL
                                                 ? "--for or --deadline is needed"
                                                 : "--for and --deadline: one of them, not both");
    return put(&start, words.at[0]);
}

static const struct command start_command = {
    .name = "countdown start",
    .text = "start one, or let a turn that is named run on",
    .usage = "KEY --owner WHO (--for TIME | --deadline INSTANT) [OPTION...]",
    .about =
        "Starts a countdown; one of the same key that runs is replaced. With a --version that is\n"
        "asked for again it keeps its deadline, and runs on if it was paused; when that turn is\n"
        "over, nothing is started and the exit code is 1. With another owner or kind the same\n"
        "version is refused (409): whose time runs is part of the turn. Without a version each\n"
        "start is a new turn: it is then the time in ms.\n",
    .after = "example: tocsin countdown start table-1 --owner ada --for 30s\n"
             "         tocsin countdown start table-1 --owner ada --for 30s --version game-7:3\n",
    COMMAND_ROWS(start_rows),
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = start_run,
};

/* ---- show and ls */

static int print_countdown(const struct client *client)
{
    countdown_text_print(call_body(client->call), when_now_ms());
    return EXIT_DONE;
}

static int show_run(int argc, char **argv)
{
    return client_show(&show_verb, argc, argv, "/v1/countdowns/", "", print_countdown);
}

static const struct command show_verb = {
    .name = "countdown show",
    .text = "how long is left, and for whom",
    .usage = "KEY [OPTION...]",
    .about = "Shows a countdown. One that has expired can be seen for an hour.\n"
             "Where several nodes share a store, it is firing between its deadline and the moment\n"
             "that has been dealt with.\n",
    .after = "example: tocsin countdown show table-1\n",
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = show_run,
};

static const struct option_row ls_rows[] = {LIST_LIMIT_ROW, LIST_ALL_ROW};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"KEY", "STATE", ">LEFT", "OWNER", "VERSION", "KIND"};
    static const struct list countdowns = {"countdowns", heads, sizeof heads / sizeof heads[0],
                                           countdown_text_row};
    return list_run(&ls_verb, argc, argv, &countdowns, "/v1/countdowns");
}

static const struct command ls_verb = {
    .name = "countdown ls",
    .text = "which countdowns are there?",
    .usage = "[OPTION...]",
    .about = "Lists countdowns, what changed last at the end. With --json: a page of the\n"
             "server's JSON a line.\n",
    .after = "example: tocsin countdown ls\n",
    COMMAND_ROWS(ls_rows),
    .client = true,
    .run = ls_run,
};

/* ---- stop, pause, resume, give */

/* How one of them asks, and what it says that has become of it; NULL: the state. */
struct change {
    const char *method;
    const char *after;
    const char *state;
    struct bytes body;
};

static int change_one(struct client *client, const void *arg, const char *key)
{
    const struct change *change = arg;
    char path[CLIENT_PATH_BYTES_MAX];
    if (!client_path(client, "/v1/countdowns/", key, change->after, path))
        return EXIT_USAGE;
    int code = client_ask(
        client,
        &(struct call_request){.method = change->method, .path = path, .body = change->body});
    if (code == EXIT_DONE)
        print_line(client, change->state);
    return code;
}

static int change_all(const struct command *command, int argc, char **argv,
                      const struct change *change)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(command, &words, &options, &code))
        return code;
    return client_each(command, &options, &words, change_one, change);
}

static int stop_run(int argc, char **argv)
{
    return change_all(&stop_command, argc, argv, &(struct change){"DELETE", "", "stopped"});
}

static int pause_run(int argc, char **argv)
{
    return change_all(&pause_verb, argc, argv, &(struct change){"POST", "/pause"});
}

static int resume_run(int argc, char **argv)
{
    return change_all(&resume_verb, argc, argv, &(struct change){"POST", "/resume"});
}

static int give_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct buffer body;
    struct json_writer writer;
    uint64_t ms;
    int code;
    if (!command_begin(&give_command, &words, &options, &code))
        return code;
    if (!options_duration(words.at[1], &ms))
        return command_usage(&give_command, "'%.100s' is no duration such as 5s", words.at[1]);
    buffer_init(&body, CLIENT_PATH_BYTES_MAX);
    json_writer_init(&writer, &body);
    json_write_object(&writer);
    fields_write_text(&writer, "ms", words.at[1]);
    json_write_object_end(&writer);
    words.count = 1;
    code = client_each(&give_command, &options, &words, change_one,
                       &(struct change){"POST", "/give", NULL, {body.data, body.size}});
    buffer_release(&body);
    return code;
}

/* What the three have in common; of each only its words differ. */
#define CHANGE_OF_COUNTDOWNS(verb)                                                                 \
    .name = "countdown " #verb, .usage = "KEY... [OPTION...]", .word_name = word_name,             \
    .words_min = 1, .words_max = COMMAND_WORDS_ANY, .client = true, .run = verb##_run

static const struct command stop_command = {
    CHANGE_OF_COUNTDOWNS(stop),
    .text = "stop them; they do not come back",
    .about = "Stops countdowns: nothing happens at their deadlines.\n",
    .after = "example: tocsin countdown stop table-1 table-2\n",
};

static const struct command pause_verb = {
    CHANGE_OF_COUNTDOWNS(pause),
    .text = "hold their clocks",
    .about = "Pauses countdowns: what is left stays left.\n",
    .after = "example: tocsin countdown pause table-1\n",
};

static const struct command resume_verb = {
    CHANGE_OF_COUNTDOWNS(resume),
    .text = "let them go on with what was left",
    .about = "Resumes paused countdowns, with what was left.\n",
    .after = "example: tocsin countdown resume table-1\n",
};

static const struct command give_command = {
    .name = "countdown give",
    .text = "give more time",
    .usage = "KEY TIME [OPTION...]",
    .about = "Gives a countdown more time, whether it runs or is paused.\n",
    .after = "example: tocsin countdown give table-1 5s\n",
    .word_name = "the key of a countdown, or how much time to give,",
    .words_min = 2,
    .words_max = 2,
    .client = true,
    .run = give_run,
};

/* ---- all of them */

static const struct command *const verbs[] = {
    &start_command, &show_verb,   &ls_verb,      &stop_command,
    &pause_verb,    &resume_verb, &give_command, &countdown_watch_command,
    NULL,
};

const struct command countdown_command = {
    .name = "countdown",
    .text = "time that runs out for somebody: start, watch, pause, stop",
    .usage = "VERB [OPTION...]",
    .about = "A countdown is time that runs out for somebody: a player's turn, a bid, an answer.\n"
             "The server keeps it, also over a restart.\n",
    .after = "example: tocsin countdown start table-1 --owner ada --for 30s\n"
             "         tocsin countdown watch table-1\n"
             "exit codes: 0 done, 1 refused, 2 usage, 3 cannot reach the server\n"
             "tocsin countdown VERB --help tells more.\n",
    .verbs = verbs,
};
