/* SPDX-License-Identifier: MIT */
/* tocsin add: do this later. The flags become the JSON of a task; what they mean together is
 * for the server to judge, which says what is wrong with which field. */

#include "cli/add.h"

#include <errno.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/task_text.h"
#include "cli/when.h"

enum { BODY_BYTES_MAX = 8 * 1024 * 1024 };

static bool is_number(const char *text)
{
    struct json_reader reader;
    json_reader_init(&reader, text, strlen(text), 0);
    return json_read_expect(&reader, JSON_READ_NUMBER) &&
           json_read_finish(&reader, NULL) == TOCSIN_OK;
}

/* As it was written. */
static bool read_number(const char *value, void *into)
{
    *(const char **)into = value;
    return is_number(value);
}

static const struct option_row rows[] = {
    {"--id", "ID", "its id (one is made)", "an id", options_read_text, offsetof(struct add, id)},
    {"--name", "TEXT", "its name, for people", "a text", options_read_text,
     offsetof(struct add, name)},
    {"--delay", "TIME", "due after this: 5s, 1h30m, PT5M", "a duration such as 5m",
     options_read_text, offsetof(struct add, delay)},
    {"--at", "INSTANT", "due then: 2026-11-15T13:00:00+08:00, or epoch ms",
     "a time such as 2026-11-15T13:00:00Z", options_read_text, offsetof(struct add, at)},
    {"--every", "TIME", "again and again, so far apart", "a duration such as 10m",
     options_read_text, offsetof(struct add, every)},
    {"--cron", "CRON", "again and again: '0 13 * * *'", "a cron expression in quotes",
     options_read_text, offsetof(struct add, cron)},
    {"--tz", "ZONE", "the time zone of --cron (UTC)", "a zone such as Europe/Berlin",
     options_read_text, offsetof(struct add, tz)},
    {"--from", "WHAT", "--every counts from the start or the end of a run (start)", "start or end",
     options_read_text, offsetof(struct add, from)},
    {"--repeat", "N", "so many times in all (-1: no end)", "a whole number", read_number,
     offsetof(struct add, repeat)},
    {"--misfire", "POLICY", "what was missed: once, skip or all (once)", "once, skip or all",
     options_read_text, offsetof(struct add, misfire)},
    {"--overlap", "POLICY", "while the last one still runs: skip, queue or allow (skip)",
     "skip, queue or allow", options_read_text, offsetof(struct add, overlap)},
    {"--jitter", "TIME", "later by up to this, always the same for an id (0s)",
     "a duration such as 30s", options_read_text, offsetof(struct add, jitter)},
    {"--dst-gap", "POLICY", "a time that the clock leaps over: shift or skip", "shift or skip",
     options_read_text, offsetof(struct add, dst_gap)},
    {"--dst-overlap", "POLICY", "a time that comes twice: first, last or both",
     "first, last or both", options_read_text, offsetof(struct add, dst_overlap)},
    {"--queue", "QUEUE", "where workers find it (default)", "a queue", options_read_text,
     offsetof(struct add, queue)},
    {"--payload", "JSON", "what the worker is given", "JSON", options_read_text,
     offsetof(struct add, payload)},
    {"--payload-file", "FILE", "the same from a file; - is stdin", "a file", options_read_text,
     offsetof(struct add, payload_file)},
    {"--retry-max", "N", "how often a failure is tried again (3)", "a whole number", read_number,
     offsetof(struct add, retry_max)},
    {"--retry-base", "TIME", "first wait before that (1s)", "a duration such as 1s",
     options_read_text, offsetof(struct add, retry_base)},
    {"--retry-factor", "X", "how much longer each next one is (2)", "a number", read_number,
     offsetof(struct add, retry_factor)},
    {"--retry-cap", "TIME", "the longest wait (1m)", "a duration such as 1m", options_read_text,
     offsetof(struct add, retry_cap)},
    {"--retry-jitter", "X", "a random part of the wait, 0 to 1 (0.2)", "a number", read_number,
     offsetof(struct add, retry_jitter)},
    {"--timeout", "TIME", "the longest an attempt may take (5m)", "a duration such as 5m",
     options_read_text, offsetof(struct add, timeout)},
    {"--replace", NULL, "replace the task of this id, if there is one", "", options_read_flag,
     offsetof(struct add, replace)},
    {"--if-match", "REV", "with --replace: only this revision of it", "a revision",
     options_read_whole, offsetof(struct add, if_match)},
    {"--idempotency-key", "KEY", "asking twice with the same key is asking once", "a text",
     options_read_text, offsetof(struct add, idempotency_key)},
    {"--batch", "FILE", "a task a line, as JSON, instead of all the flags; - is stdin", "a file",
     options_read_text, offsetof(struct add, batch)},
};

/* ---- the JSON of a task */

static void write_number(struct json_writer *writer, const char *key, const char *value)
{
    if (value == NULL)
        return;
    json_write_key(writer, key);
    json_write_raw(writer, value, strlen(value));
}

/* An instant is a text, or a number when it is one. */
static void write_instant(struct json_writer *writer, const char *key, const char *value)
{
    if (value != NULL && is_number(value))
        write_number(writer, key, value);
    else
        fields_write_text(writer, key, value);
}

static void write_groups(struct json_writer *writer, const struct add *add)
{
    if (add->dst_gap != NULL || add->dst_overlap != NULL) {
        json_write_key(writer, "dst");
        json_write_object(writer);
        fields_write_text(writer, "gap", add->dst_gap);
        fields_write_text(writer, "overlap", add->dst_overlap);
        json_write_object_end(writer);
    }
    if (add->queue != NULL) {
        json_write_key(writer, "target");
        json_write_object(writer);
        fields_write_text(writer, "type", "queue");
        fields_write_text(writer, "queue", add->queue);
        json_write_object_end(writer);
    }
    if (add->retry_max != NULL || add->retry_base != NULL || add->retry_factor != NULL ||
        add->retry_cap != NULL || add->retry_jitter != NULL) {
        json_write_key(writer, "retry");
        json_write_object(writer);
        write_number(writer, "max", add->retry_max);
        fields_write_text(writer, "base", add->retry_base);
        write_number(writer, "factor", add->retry_factor);
        fields_write_text(writer, "cap", add->retry_cap);
        write_number(writer, "jitter", add->retry_jitter);
        json_write_object_end(writer);
    }
}

static void write_task(const struct add *add, struct bytes payload, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    if (!add->replace)
        fields_write_text(&writer, "id", add->id);
    fields_write_text(&writer, "name", add->name);
    fields_write_text(&writer, "delay", add->delay);
    write_instant(&writer, "at", add->at);
    fields_write_text(&writer, "every", add->every);
    fields_write_text(&writer, "cron", add->cron);
    fields_write_text(&writer, "tz", add->tz);
    fields_write_text(&writer, "from", add->from);
    write_number(&writer, "repeat", add->repeat);
    fields_write_text(&writer, "misfire", add->misfire);
    fields_write_text(&writer, "overlap", add->overlap);
    fields_write_text(&writer, "jitter", add->jitter);
    fields_write_text(&writer, "timeout", add->timeout);
    write_groups(&writer, add);
    if (payload.size > 0) {
        json_write_key(&writer, "payload");
        json_write_raw(&writer, payload.at, payload.size);
    }
    json_write_object_end(&writer);
}

/* ---- the payload */

static int read_file(const char *path, struct buffer *out)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char piece[65536];
    size_t size;
    if (in == NULL)
        return command_usage(&add_command, "cannot read %.200s: %s", path, strerror(errno));
    while ((size = fread(piece, 1, sizeof piece, in)) > 0)
        buffer_append(out, piece, size);
    bool failed = ferror(in) != 0;
    if (in != stdin)
        (void)fclose(in);
    if (failed || buffer_status(out) != TOCSIN_OK)
        return command_usage(&add_command, "cannot read %.200s: %s", path,
                             failed ? strerror(errno) : "it is too large");
    return EXIT_DONE;
}

/* As it is, once it is known to be JSON: anything else would break the JSON around it. */
static int take_payload(const struct add *add, struct buffer *room, struct bytes *ret_payload)
{
    struct json_reader reader;
    struct json_span span;
    struct tocsin_why why;
    *ret_payload = (struct bytes){add->payload, add->payload != NULL ? strlen(add->payload) : 0};
    if (add->payload != NULL && add->payload_file != NULL)
        return command_usage(&add_command, "--payload and --payload-file exclude each other");
    if (add->payload_file != NULL) {
        int code = read_file(add->payload_file, room);
        if (code != EXIT_DONE)
            return code;
        *ret_payload = (struct bytes){room->data, room->size};
    }
    if (add->payload == NULL && add->payload_file == NULL)
        return EXIT_DONE;
    json_reader_init(&reader, ret_payload->at, ret_payload->size, JSON_DEPTH_MAX);
    (void)json_read_raw(&reader, &span);
    if (json_read_finish(&reader, &why) != TOCSIN_OK)
        return command_usage(&add_command, "the payload is not JSON: %s", why.text);
    *ret_payload = (struct bytes){span.at, span.size};
    return EXIT_DONE;
}

/* ---- asking */

static int post(const struct add *add, struct client *client, struct bytes body)
{
    char path[CLIENT_PATH_BYTES_MAX] = "/v1/tasks";
    char match[64];
    char key[320];
    size_t headers = 0;
    struct call_request request = {.method = "POST", .path = path, .body = body};
    if (add->replace) {
        request.method = "PUT";
        if (!client_path(client, "/v1/tasks/", add->id, "", path))
            return EXIT_USAGE;
    }
    if (add->if_match != NULL) {
        (void)snprintf(match, sizeof match, "If-Match: \"%.20s\"", add->if_match);
        request.headers[headers++] = match;
    }
    if (add->idempotency_key != NULL) {
        (void)snprintf(key, sizeof key, "Idempotency-Key: %.255s", add->idempotency_key);
        request.headers[headers++] = key;
    }
    int code = client_ask(client, &request);
    if (code == EXIT_DONE && client->json)
        client_print(client);
    else if (code == EXIT_DONE)
        task_text_line(call_body(client->call), when_now_ms());
    return code;
}

static int add_one(const struct add *add, struct client *client)
{
    struct buffer room;
    struct buffer body;
    struct bytes payload;
    buffer_init(&room, BODY_BYTES_MAX);
    buffer_init(&body, 2 * BODY_BYTES_MAX);
    int code = take_payload(add, &room, &payload);
    if (code == EXIT_DONE) {
        write_task(add, payload, &body);
        code = post(add, client, (struct bytes){body.data, body.size});
    }
    buffer_release(&room);
    buffer_release(&body);
    return code;
}

static int add_run(int argc, char **argv)
{
    struct add add = {.id = NULL};
    struct words words = {argc, argv};
    struct client client;
    int code;
    if (!command_begin(&add_command, &words, &add, &code))
        return code;
    if (add.replace && add.id == NULL)
        return command_usage(&add_command, "--replace needs --id: which task?");
    if (add.if_match != NULL && !add.replace)
        return command_usage(&add_command, "--if-match needs --replace");
    code = client_init(&client, &add_command, &add.client);
    if (code == EXIT_DONE)
        code = add.batch != NULL ? add_batch(&add, &client) : add_one(&add, &client);
    client_release(&client);
    return code;
}

const struct command add_command = {
    .name = "add",
    .text = "do this later: add a task, or many from a file",
    .usage = "[OPTION...]",
    .about = "Adds a task. Without a time it is due at once; --every and --cron make it a\n"
             "schedule. When the command returns 0 the task is durable.\n",
    .after = "example: tocsin add --delay 5m --queue mail --payload '{\"to\":\"ada\"}'\n"
             "         tocsin add --id nightly --cron '0 3 * * *' --tz Europe/Berlin\n"
             "         tocsin add --batch tasks.ndjson\n",
    COMMAND_ROWS(rows),
    .client = true,
    .run = add_run,
};
