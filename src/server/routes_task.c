/* SPDX-License-Identifier: MIT */
/* Tasks, runs and incidents: a request becomes a call of the task service, and its outcome the
 * answer. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/task_request.h"

enum {
    ANSWER_BYTES_MAX = 1024 * 1024,
    KEPT_MAX = 4096,   /* requests kept for the next ones … */
    KEPT_BYTES = 1024, /* … with answers no larger than this */
    WISHES_KEPT_MAX = 64,
    ERROR_BYTES_MAX = TASK_ERROR_BYTES_MAX * 4,
};

static struct task_wish *wish_create(struct server *server)
{
    struct task_wish *wish = server->free_wishes;
    if (wish == NULL)
        return malloc(sizeof *wish);
    server->free_wishes = wish->next;
    server->free_wish_count--;
    return wish;
}

static void wish_free(struct server *server, struct task_wish *wish)
{
    if (wish == NULL)
        return;
    if (server->free_wish_count >= WISHES_KEPT_MAX) {
        free(wish);
        return;
    }
    wish->next = server->free_wishes;
    server->free_wishes = wish;
    server->free_wish_count++;
}

static bool within(const struct task_wish *wish, struct bytes text)
{
    return text.at >= (const char *)wish && text.at < (const char *)(wish + 1);
}

void task_request_let_go(struct task_request *self)
{
    if (self->wish == NULL || self->call.wish != NULL || within(self->wish, self->call.id))
        return;
    wish_free(self->server, self->wish);
    self->wish = NULL;
}

struct task_request *task_request_create(struct server *server, enum tasks_verb verb)
{
    struct task_request *self = server->free_requests;
    if (self != NULL) {
        server->free_requests = self->next;
        server->free_request_count--;
    } else {
        self = malloc(sizeof *self);
        if (self == NULL)
            return NULL;
        buffer_init(&self->call.reply.answer, ANSWER_BYTES_MAX);
    }
    struct buffer answer = self->call.reply.answer;
    buffer_clear(&answer);
    /* Many wait at a time, and each line of the cache counts: a reason is only written when there
     * is one. */
    memset(&self->call, 0, offsetof(struct tasks_call, reply.why));
    self->call.reply.why.text[0] = '\0';
    self->call.reply.answer = answer;
    self->server = server;
    self->exchange = NULL;
    self->many = NULL;
    self->next = NULL;
    self->malformed = self->to_start = false;
    self->text = NULL;
    self->wish = NULL;
    self->call.verb = verb;
    if (verb != TASKS_CREATE && verb != TASKS_PUT)
        return self;
    self->wish = wish_create(server);
    if (self->wish != NULL)
        return self;
    task_request_free(self);
    return NULL;
}

void task_request_free(struct task_request *self)
{
    struct server *server = self->server;
    free(self->text);
    wish_free(server, self->wish);
    if (server->free_request_count >= KEPT_MAX) {
        buffer_release(&self->call.reply.answer);
        free(self);
        return;
    }
    if (self->call.reply.answer.room > KEPT_BYTES)
        buffer_release(&self->call.reply.answer);
    self->next = server->free_requests;
    server->free_requests = self;
    server->free_request_count++;
}

void task_requests_release(struct server *server)
{
    while (server->free_requests != NULL) {
        struct task_request *self = server->free_requests;
        server->free_requests = self->next;
        buffer_release(&self->call.reply.answer);
        free(self);
    }
    while (server->free_wishes != NULL) {
        struct task_wish *wish = server->free_wishes;
        server->free_wishes = wish->next;
        free(wish);
    }
}

static void answer_one(struct tasks_call *call)
{
    struct task_request *self = (struct task_request *)call;
    answer_reply(self->server, self->exchange, &call->reply);
    task_request_free(self);
}

/* ---- headers of a change */

/* False: answered. */
bool task_request_conditions(const struct route_request *request, struct tasks_call *call)
{
    struct bytes prefer = http_request_header(request->http, "Prefer");
    call->brief = prefer.at != NULL && bytes_are(prefer, "return=minimal");
    return request_conditions(request, &call->conditions);
}

bool task_request_idempotency(const struct route_request *request, struct task_request *self,
                              size_t line, struct bytes body)
{
    free(self->text);
    return request_idempotency(request, line, body, &self->text, &self->call.idem);
}

/* ---- one call */

void task_request_start(struct task_request *self)
{
    tasks_start(self->server->tasks, &self->call);
}

/* NULL: answered. */
static struct task_request *begin(const struct route_request *request, enum tasks_verb verb)
{
    struct task_request *self = task_request_create(request->server, verb);
    if (self == NULL) {
        request_overloaded(request);
        return NULL;
    }
    self->exchange = request->exchange;
    self->call.done = answer_one;
    memcpy(self->param, request->param, request->param_size);
    self->param_size = request->param_size;
    self->call.id = (struct bytes){self->param, self->param_size};
    if (!task_request_conditions(request, &self->call) || !request_idempotency_fits(request)) {
        task_request_free(self);
        return NULL;
    }
    if (task_request_idempotency(request, self, 0, request->http->body))
        return self;
    task_request_free(self);
    request_overloaded(request);
    return NULL;
}

static void make_id(struct task_request *self)
{
    struct server *server = self->server;
    uuid_next(&server->uuids, clock_wall(&server->clock).ns / 1000000, self->uuid);
    self->call.id = (struct bytes){self->uuid, UUID_TEXT_BYTES};
}

enum tocsin_status task_request_wish(struct task_request *self, struct bytes body, bool by_path,
                                     bool *ret_malformed, struct tocsin_why *ret_why)
{
    struct task_read_options options = {0};
    struct task *wish = &self->wish->task;
    if (by_path)
        options.path_id = (struct bytes){self->param, self->param_size};
    enum tocsin_status status =
        task_read(body, &options, &self->wish->scratch, wish, ret_malformed, ret_why);
    if (status != TOCSIN_OK)
        return status;
    if (wish->payload.size > self->server->config->limits.payload_bytes) {
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "payload: %zu bytes, at most %llu are allowed", wish->payload.size,
                       (unsigned long long)self->server->config->limits.payload_bytes);
        return TOCSIN_INVALID;
    }
    self->call.wish = wish;
    if (by_path)
        self->call.id = options.path_id;
    else if (wish->id.size > 0)
        self->call.id = wish->id;
    else
        make_id(self);
    return TOCSIN_OK;
}

static void make_task(const struct route_request *request, enum tasks_verb verb)
{
    struct tocsin_why why;
    bool malformed = false;
    if (verb == TASKS_PUT && task_id_valid((struct bytes){request->param, request->param_size},
                                           "id", &why) != TOCSIN_OK) {
        answer_invalid(request, why.text);
        return;
    }
    struct task_request *self = begin(request, verb);
    if (self == NULL)
        return;
    if (task_request_wish(self, request->http->body, verb == TASKS_PUT, &malformed, &why) !=
        TOCSIN_OK) {
        task_request_free(self);
        answer_bad_json(request, malformed, why.text);
        return;
    }
    task_request_start(self);
}

void task_create(const struct route_request *request)
{
    make_task(request, TASKS_CREATE);
}

void task_put(const struct route_request *request)
{
    make_task(request, TASKS_PUT);
}

static void simple(const struct route_request *request, enum tasks_verb verb)
{
    if (!body_read(request, NULL, 0))
        return;
    struct task_request *self = begin(request, verb);
    if (self != NULL)
        task_request_start(self);
}

void task_delete(const struct route_request *request)
{
    simple(request, TASKS_DELETE);
}

void task_resume(const struct route_request *request)
{
    simple(request, TASKS_RESUME);
}

void task_fire(const struct route_request *request)
{
    simple(request, TASKS_FIRE);
}

void incident_retry(const struct route_request *request)
{
    simple(request, TASKS_RETRY);
}

void incident_drop(const struct route_request *request)
{
    simple(request, TASKS_FORGET);
}

void task_pause(const struct route_request *request)
{
    int64_t until = 0;
    bool given = false;
    const struct body_field fields[] = {
        {.name = "until", .type = BODY_INSTANT, .into = &until, .ret_given = &given}};
    if (!body_read(request, fields, 1))
        return;
    struct task_request *self = begin(request, TASKS_PAUSE);
    if (self == NULL)
        return;
    self->call.has_until = given;
    self->call.until_ms = until;
    task_request_start(self);
}

/* ---- runs */

void run_ack(const struct route_request *request)
{
    struct bytes result = {0};
    const struct body_field fields[] = {
        {.name = "result", .type = BODY_RAW, .into = &result, .max = TASK_RESULT_BYTES_MAX}};
    if (!body_read(request, fields, 1))
        return;
    struct task_request *self = begin(request, TASKS_ACK);
    if (self == NULL)
        return;
    self->call.result = result;
    task_request_start(self);
}

void run_nack(const struct route_request *request)
{
    char error[ERROR_BYTES_MAX];
    struct bytes text = {0};
    int64_t delay = 0;
    bool has_delay = false;
    const struct body_field fields[] = {
        {.name = "error", .type = BODY_TEXT, .into = &text, .max = sizeof error, .room = error},
        {.name = "delay",
         .type = BODY_DURATION,
         .into = &delay,
         .ret_given = &has_delay,
         .max = TASK_DELAY_MAX_MS},
    };
    if (!body_read(request, fields, 2))
        return;
    struct task_request *self = begin(request, TASKS_NACK);
    if (self == NULL)
        return;
    size_t key_size = self->call.idem.key.size;
    char *both = realloc(self->text, key_size + text.size + 1);
    if (both == NULL) {
        task_request_free(self);
        request_overloaded(request);
        return;
    }
    self->text = both;
    if (key_size > 0)
        self->call.idem.key.at = both;
    if (text.size > 0)
        memcpy(both + key_size, text.at, text.size);
    self->call.error = (struct bytes){both + key_size, text.size};
    self->call.has_delay = has_delay;
    self->call.delay_ms = delay;
    task_request_start(self);
}

void run_extend(const struct route_request *request)
{
    int64_t ttl = 30000;
    const struct body_field fields[] = {
        {.name = "ttl", .type = BODY_DURATION, .into = &ttl, .min = 1, .max = 86400000}};
    if (!body_read(request, fields, 1))
        return;
    struct task_request *self = begin(request, TASKS_EXTEND);
    if (self == NULL)
        return;
    self->call.ttl_ms = ttl;
    task_request_start(self);
}
