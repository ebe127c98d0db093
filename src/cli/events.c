/* SPDX-License-Identifier: MIT */
/* tocsin events: what happens, as it happens. Server-sent events come in pieces that end
 * anywhere; whole lines are put together here. When the server goes away it is asked again,
 * from the last event that was seen on. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "cli/when.h"

enum { LINE_BYTES_MAX = 2 * 1024 * 1024, RETRY_MS = 500 };

struct follow {
    struct client_options client; /* first */
    uint64_t after;
    uint64_t limit; /* 0: none */
    uint64_t seen;
    bool json;
    struct buffer line;
};

static bool read_after(const char *value, void *into)
{
    return options_whole(value, 0, INT64_MAX, &((struct follow *)into)->after);
}

static bool read_limit(const char *value, void *into)
{
    return options_whole(value, 1, INT64_MAX, &((struct follow *)into)->limit);
}

static const struct option_row rows[] = {
    {"--after", "SEQ", "from the event after this one (0)", "the number of an event", read_after},
    {"--limit", "N", "end after so many (none)", "a whole number", read_limit},
};

static void print_event(struct follow *follow, struct bytes event)
{
    char type[64] = "";
    char kind[64] = "";
    char key[512];
    char text[1001];
    int64_t at_ms = 0;
    int64_t seq = 0;
    struct bytes doc = {"", 0};
    (void)fields_text(event, "type", type, sizeof type);
    (void)fields_text(event, "kind", kind, sizeof kind);
    fields_clean(event, "key", key, sizeof key);
    (void)fields_int64(event, "at_ms", &at_ms);
    (void)fields_int64(event, "seq", &seq);
    (void)fields_raw(event, "doc", &doc);
    (void)snprintf(text, sizeof text, "%.*s", (int)doc.size, doc.at);
    table_clean(text, text, sizeof text);
    if (strcmp(type, "gap") == 0) {
        (void)printf("%sgap: older events have been given up%s\n", paint_on(PAINT_WARN),
                     paint_off());
        return;
    }
    follow->after = (uint64_t)seq;
    (void)printf("%s%" PRId64 " %s%s %s%s%s %s %s\n", paint_on(PAINT_DIM), seq,
                 when_clock(at_ms).text, paint_off(), paint_on(PAINT_BOLD), type, paint_off(), key,
                 text);
}

/* False: that were enough. */
static bool take_line(struct follow *follow)
{
    static const char data[] = "data: ";
    struct bytes line = {follow->line.data, follow->line.size};
    if (line.size < sizeof data - 1 || memcmp(line.at, data, sizeof data - 1) != 0)
        return true;
    struct bytes event = {line.at + sizeof data - 1, line.size - (sizeof data - 1)};
    if (follow->json) {
        int64_t seq;
        if (fields_int64(event, "seq", &seq))
            follow->after = (uint64_t)seq;
        (void)printf("%.*s\n", (int)event.size, event.at);
    } else {
        print_event(follow, event);
    }
    (void)fflush(stdout);
    return ++follow->seen != follow->limit && ferror(stdout) == 0;
}

static bool take_piece(void *arg, struct bytes piece)
{
    struct follow *follow = arg;
    while (piece.size > 0) {
        const char *end = memchr(piece.at, '\n', piece.size);
        size_t size = end != NULL ? (size_t)(end - piece.at) : piece.size;
        buffer_append(&follow->line, piece.at, size);
        if (end == NULL)
            return true;
        bool more = buffer_status(&follow->line) != TOCSIN_OK || take_line(follow);
        buffer_clear(&follow->line);
        if (!more)
            return false;
        piece = (struct bytes){end + 1, piece.size - size - 1};
    }
    return true;
}

static int follow_on(struct follow *follow, struct client *client)
{
    bool was_there = false;
    for (;;) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/events?after=%" PRIu64, follow->after);
        buffer_clear(&follow->line);
        enum call_end end =
            call_run(client->call, &(struct call_request){.method = "GET",
                                                          .path = path,
                                                          .headers = {"Accept: text/event-stream"},
                                                          .piece = take_piece,
                                                          .piece_arg = follow});
        if ((follow->limit > 0 && follow->seen >= follow->limit) || ferror(stdout) != 0)
            return EXIT_DONE;
        bool good = end == CALL_ANSWERED && call_status(client->call) < 300;
        if (end == CALL_ANSWERED && !good && call_status(client->call) < 500)
            return client_judge(client, client->call, end);
        if (!was_there && !good && end != CALL_LOST)
            return client_judge(client, client->call, end);
        if (good || !was_there)
            error_note("events", "the server has ended the stream; trying again");
        was_there = true;
        (void)usleep(RETRY_MS * 1000);
    }
}

static int events_run(int argc, char **argv)
{
    struct follow follow = {.after = 0};
    struct words words = {argc, argv};
    struct client client;
    int code;
    if (!command_begin(&events_command, &words, &follow, &code))
        return code;
    follow.json = follow.client.json;
    buffer_init(&follow.line, LINE_BYTES_MAX);
    code = client_init(&client, &events_command, &follow.client);
    if (code == EXIT_DONE)
        code = follow_on(&follow, &client);
    client_release(&client);
    buffer_release(&follow.line);
    return code;
}

const struct command events_command = {
    .name = "events",
    .text = "what happens, as it happens",
    .usage = "[OPTION...]",
    .about = "Follows the events of the server, one a line, first those that it has kept. Which\n"
             "events there are is a setting of the server (history.tasks).\n",
    .after = "example: tocsin events --after 4711 --json\n",
    COMMAND_ROWS(rows),
    .client = true,
    .run = events_run,
};
