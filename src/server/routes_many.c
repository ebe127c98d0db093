/* SPDX-License-Identifier: MIT */
/* Many calls in one request: a batch of tasks, one a line, and a list of acks. They are started
 * one after the other and answered together, in their order. */

#include <stdio.h>
#include <stdlib.h>

#include "server/task_request.h"

#define NO_MEMORY_TEXT "no memory for this one now: try again"

/* Several calls that are answered together, in their order. */
struct many {
    struct route_request request;
    struct server *server;
    struct http_exchange *exchange;
    struct task_request *first;
    struct task_request **end;
    size_t pending;
    size_t unread;            /* lines there was no memory for */
    bool lines;               /* NDJSON; else {"results":[…]} */
    bool brief;               /* Prefer: return=minimal */
    struct task_request *key; /* NULL: they have no Idempotency-Key */
    void (*begin)(struct many *many);
    struct loop_deferred deferred; /* begins once the key is taken */
};

/* ---- many at once */

static struct many *many_create(const struct route_request *request, bool lines)
{
    struct many *many = request_alloc(request, sizeof *many);
    if (many == NULL)
        return NULL;
    many->request = *request;
    many->server = request->server;
    many->exchange = request->exchange;
    many->end = &many->first;
    many->pending = 1; /* while they are being read */
    many->lines = lines;
    return many;
}

static void many_free(struct many *many)
{
    if (many->key != NULL)
        task_request_free(many->key);
    while (many->first != NULL) {
        struct task_request *self = many->first;
        many->first = self->next;
        task_request_free(self);
    }
    free(many);
}

/* What one of them came to, as a line or an item. A problem says whose it is: the run, or the id
 * if one was given and could be read. */
static void write_part(const struct many *many, struct task_request *self, struct buffer *out)
{
    const struct tasks_call *call = &self->call;
    int status = answer_status(call->reply.outcome);
    bool named = call->id.at != self->uuid;
    if (status >= 400)
        answer_write_problem(out, status,
                             self->malformed ? "BAD_REQUEST" : answer_code(call->reply.outcome),
                             call->reply.why.text, call->verb == TASKS_ACK ? "run" : "id",
                             named ? call->id : (struct bytes){0});
    else
        buffer_append(out, call->reply.answer.data, call->reply.answer.size);
    if (many->lines)
        buffer_append_byte(out, '\n');
}

static void many_answer(struct many *many)
{
    struct buffer out;
    buffer_init(&out, many->server->config->limits.answer_bytes);
    if (!many->lines)
        buffer_append_text(&out, "{\"results\":[");
    for (struct task_request *self = many->first; self != NULL; self = self->next) {
        write_part(many, self, &out);
        if (!many->lines && self->next != NULL)
            buffer_append_byte(&out, ',');
    }
    for (; many->unread > 0; many->unread--) {
        answer_write_problem(&out, 503, "OVERLOADED", NO_MEMORY_TEXT, "", (struct bytes){0});
        buffer_append_byte(&out, '\n');
    }
    if (!many->lines)
        buffer_append_text(&out, "]}");
    if (buffer_status(&out) == TOCSIN_OK)
        answer_bytes(many->server, many->exchange, 200,
                     many->lines ? "application/x-ndjson" : "application/json",
                     (struct bytes){out.data, out.size},
                     many->key != NULL && many->key->call.reply.replayed ? ANSWER_REPLAYED : NULL);
    else
        answer_problem(many->server, many->exchange,
                       &(struct problem){.status = 500,
                                         .code = "TOO_LARGE",
                                         .detail = "all of it was done, but the answers are "
                                                   "larger than limits.answer_bytes: ask for "
                                                   "each, or use Prefer: return=minimal"});
    buffer_release(&out);
    many_free(many);
}

static void part_done(struct many *many)
{
    if (--many->pending == 0)
        many_answer(many);
}

static void part_answered(struct tasks_call *call)
{
    part_done(((struct task_request *)call)->many);
}

static struct task_request *add_part(struct many *many, enum tasks_verb verb)
{
    struct task_request *self = task_request_create(many->server, verb);
    if (self == NULL)
        return NULL;
    self->many = many;
    self->call.done = part_answered;
    *many->end = self;
    many->end = &self->next;
    many->pending++;
    return self;
}

static void part_refused(struct task_request *self, enum outcome outcome, const char *why)
{
    (void)reply_refuse(&self->call.reply, outcome, "%s", why);
    part_done(self->many);
}

static void part_overloaded(struct task_request *self)
{
    part_refused(self, OUTCOME_OVERLOADED, NO_MEMORY_TEXT);
}

/* ---- an Idempotency-Key of them all */

static void begin_deferred(void *arg)
{
    struct many *many = arg;
    struct loop *loop = many->server->loop;
    many->begin(many);
    loop_post(loop); /* the engine has had its turn: once more */
}

static void key_answered(struct tasks_call *call)
{
    struct many *many = ((struct task_request *)call)->many;
    if (answer_status(call->reply.outcome) < 400) {
        loop_defer(many->server->loop, &many->deferred); /* out of the engine, which called this */
        return;
    }
    answer_outcome(many->server, many->exchange, call->reply.outcome, 0, (struct bytes){0},
                   call->reply.why.text, false);
    many_free(many);
}

/* Begins at once, or when it is certain that the key was not used with another body. What each of
 * them came to is kept under an entry of its own: a crash in between leaves some undone, and asking
 * again does these. */
static void many_begin(struct many *many, void (*begin)(struct many *many), bool urgent)
{
    if (http_request_header(many->request.http, "Idempotency-Key").at == NULL) {
        begin(many);
        return;
    }
    struct task_request *key = task_request_create(many->server, TASKS_KEY);
    many->key = key;
    if (key == NULL ||
        !task_request_idempotency(&many->request, key, 0, many->request.http->body)) {
        request_overloaded(&many->request);
        many_free(many);
        return;
    }
    many->begin = begin;
    many->deferred = (struct loop_deferred){.run = begin_deferred, .arg = many};
    key->many = many;
    key->call.done = key_answered;
    key->call.id = key->call.idem.key;
    key->call.urgent = urgent;
    task_request_start(key);
}

/* ---- a batch of tasks, one a line */

static bool next_line(struct bytes *left, struct bytes *ret_line)
{
    if (left->size == 0)
        return false;
    const char *end = memchr(left->at, '\n', left->size);
    size_t size = end == NULL ? left->size : (size_t)(end - left->at);
    *ret_line = (struct bytes){left->at, size};
    size_t taken = end == NULL ? size : size + 1;
    left->at += taken;
    left->size -= taken;
    if (ret_line->size > 0 && ret_line->at[ret_line->size - 1] == '\r')
        ret_line->size--;
    return true;
}

static bool batch_fits(const struct route_request *request)
{
    const struct config_limits *limits = &request->server->config->limits;
    struct bytes left = request->http->body;
    struct bytes line;
    size_t lines = 0;
    char detail[160] = "";
    while (next_line(&left, &line))
        lines++;
    if (request->http->body.size > limits->batch_bytes)
        (void)snprintf(detail, sizeof detail, "a batch may have %llu bytes at most",
                       (unsigned long long)limits->batch_bytes);
    else if (lines > limits->batch_lines)
        (void)snprintf(detail, sizeof detail, "%zu lines: a batch may have %llu at most", lines,
                       (unsigned long long)limits->batch_lines);
    if (detail[0] == '\0')
        return true;
    answer_problem(request->server, request->exchange,
                   &(struct problem){.status = 413, .code = "TOO_LARGE", .detail = detail});
    return false;
}

/* Reads one line; what it needs in memory is fetched while the next ones are read. */
static void read_line(struct task_request *self, struct bytes line)
{
    struct tocsin_why why;
    if (task_request_wish(self, line, false, &self->malformed, &why) != TOCSIN_OK) {
        part_refused(self, OUTCOME_INVALID, why.text);
        return;
    }
    self->to_start = true;
    tasks_expect(self->server->tasks, self->call.id);
}

/* The one that has waited longest; the list stays until all have ended. */
static void start_next(struct task_request **next)
{
    struct task_request *self = *next;
    *next = self->next;
    if (!self->to_start)
        return;
    task_request_start(self);
    task_request_let_go(self);
}

static void begin_batch(struct many *many)
{
    enum { LINES_A_BREATH = 32, LINES_AHEAD = 8 };
    struct loop *loop = many->server->loop;
    struct bytes left = many->request.http->body;
    struct bytes line;
    struct task_request *next = NULL;
    for (size_t n = 1; next_line(&left, &line); n++) {
        struct task_request *self = many->unread > 0 ? NULL : add_part(many, TASKS_CREATE);
        if (self == NULL) {
            many->unread++;
            continue;
        }
        if (next == NULL)
            next = self;
        self->call.on_a_line = true;
        self->call.brief = many->brief;
        if (many->key != NULL && !task_request_idempotency(&many->request, self, n, line))
            part_overloaded(self);
        else
            read_line(self, line);
        if (n > LINES_AHEAD)
            start_next(&next);
        if (n % LINES_A_BREATH == 0)
            loop_breathe(loop);
    }
    while (next != NULL)
        start_next(&next);
    part_done(many);
}

void task_batch(const struct route_request *request)
{
    struct tasks_call conditions = {0};
    if (!batch_fits(request) || !task_request_conditions(request, &conditions) ||
        !request_idempotency_fits(request))
        return;
    if (conditions.conditions.if_match || conditions.conditions.if_none_match) {
        answer_invalid(request, "If-Match, If-None-Match: a batch is many records: ask for each");
        return;
    }
    struct many *many = many_create(request, true);
    if (many == NULL)
        return;
    many->brief = conditions.brief;
    many_begin(many, begin_batch, false);
}

/* ---- many acks */

static void read_run(struct json_reader *reader, struct task_request *self)
{
    struct json_span name;
    if (json_read_borrowed(reader, self->param, sizeof self->param, &name))
        self->call.id = (struct bytes){name.at, name.size};
}

static void read_run_and_result(struct json_reader *reader, struct task_request *self)
{
    static const char *const names[] = {"run", "result"};
    struct json_keys keys = {names, 2, 0};
    struct json_span span;
    size_t which;
    while (json_read_field(reader, &keys, &which)) {
        if (which == 0 && json_read_expect(reader, JSON_READ_STRING))
            read_run(reader, self);
        else if (which == 1 && json_read_raw(reader, &span))
            self->call.result = (struct bytes){span.at, span.size};
    }
    if ((keys.seen & 1) == 0)
        json_read_refuse(reader, "must have \"run\"");
    if (self->call.result.size > TASK_RESULT_BYTES_MAX)
        json_read_refuse(reader, "has a result of more than 16384 bytes");
}

/* The next one of the list; false: there is none, or it is wrong. */
static bool add_ack(struct many *many, struct json_reader *reader)
{
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_ARRAY_END || token == JSON_READ_BAD)
        return false;
    struct task_request *self = add_part(many, TASKS_ACK);
    if (self == NULL) {
        json_read_refuse(reader, NO_MEMORY_TEXT);
        return false;
    }
    many->pending--; /* not started before all have been read */
    if (token == JSON_READ_OBJECT)
        read_run_and_result(reader, self);
    else if (token == JSON_READ_STRING)
        read_run(reader, self);
    else
        json_read_refuse(reader, "must be a run's name, or an object with \"run\"");
    return true;
}

static size_t read_acks(struct many *many, struct json_reader *reader)
{
    enum { RUNS_MAX = 1000 };
    static const char *const names[] = {"runs"};
    struct json_keys keys = {names, 1, 0};
    size_t which;
    size_t count = 0;
    (void)json_read_expect(reader, JSON_READ_OBJECT);
    while (json_read_field(reader, &keys, &which)) {
        if (!json_read_expect(reader, JSON_READ_ARRAY))
            continue;
        while (add_ack(many, reader)) {
            if (++count > RUNS_MAX)
                json_read_refuse(reader, "may have 1000 runs at most");
        }
    }
    if (keys.seen == 0)
        json_read_refuse(reader, "\"runs\" is missing");
    return count;
}

static void begin_acks(struct many *many)
{
    size_t line = 0;
    for (struct task_request *self = many->first; self != NULL; self = self->next) {
        if (task_request_idempotency(&many->request, self, ++line, self->call.id))
            task_request_start(self); /* the list stays until the last, which is below */
        else
            part_overloaded(self);
    }
    part_done(many);
}

void run_ack_many(const struct route_request *request)
{
    if (!request_idempotency_fits(request))
        return;
    struct many *many = many_create(request, false);
    if (many == NULL)
        return;
    struct json_reader reader;
    struct tocsin_why why;
    json_reader_init(&reader, request->http->body.at, request->http->body.size, 0);
    size_t count = read_acks(many, &reader);
    if (json_read_finish(&reader, &why) != TOCSIN_OK) {
        many_free(many);
        answer_bad_json(request, json_read_malformed(&reader), why.text);
        return;
    }
    many->pending += count;
    many_begin(many, begin_acks, true);
}
