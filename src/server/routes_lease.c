/* SPDX-License-Identifier: MIT */
/* Named leases over HTTP. */

#include <stdio.h>
#include <stdlib.h>

#include "server/inside.h"

enum { ANSWER_BYTES_MAX = 16 * 1024 };
#define FENCE_MAX (INT64_C(1) << 53)

/* A call on its way, with every byte it points to. */
struct lease_request {
    struct lease_call call;       /* first */
    struct change_request change; /* its exchange is NULL: the client has left */
    bool starting;
    char holder[LEASE_HOLDER_BYTES_MAX];
};

static void request_free(struct lease_request *self)
{
    buffer_release(&self->call.reply.answer);
    free(self->change.idem);
    free(self);
}

static void answered(struct lease_call *call)
{
    struct lease_request *self = (struct lease_request *)call;
    struct bytes json = {call->reply.answer.data, call->reply.answer.size};
    bool refused =
        call->reply.outcome == OUTCOME_CONFLICTING || call->reply.outcome == OUTCOME_LOST;
    if (self->change.exchange != NULL && refused)
        answer_problem(self->change.server, self->change.exchange,
                       &(struct problem){.status = answer_status(call->reply.outcome),
                                         .code = answer_code(call->reply.outcome),
                                         .detail = call->reply.why.text,
                                         .headers = call->reply.replayed ? ANSWER_REPLAYED : NULL,
                                         .members = json});
    else if (self->change.exchange != NULL)
        answer_reply(self->change.server, self->change.exchange, &call->reply);
    request_free(self);
}

static void gone(void *arg)
{
    struct lease_request *self = arg;
    self->change.server->under_way--;
    self->change.exchange = NULL;
    if (!self->starting && leases_gone(self->change.server->leases, &self->call))
        request_free(self);
}

/* NULL: answered. */
static struct lease_request *begin(const struct route_request *request, enum lease_verb verb)
{
    struct lease_request *self = request_alloc(request, sizeof *self);
    if (self == NULL)
        return NULL;
    self->call.verb = verb;
    self->call.done = answered;
    buffer_init(&self->call.reply.answer, ANSWER_BYTES_MAX);
    if (change_begin(request, &self->change, &self->call.name, &self->call.conditions,
                     &self->call.idem))
        return self;
    request_free(self);
    return NULL;
}

/* NULL: it is fine. */
static const char *wrong_with(const struct lease_call *call)
{
    if (call->verb != LEASE_RELEASE && call->holder.size == 0)
        return "holder: is missing or empty: who is to have it?";
    if (!body_plain(call->holder))
        return "holder: no control characters";
    if (call->verb == LEASE_KEEPALIVE && call->fence == 0)
        return "fence: is missing: which holding of it?";
    return NULL;
}

static void go(const struct route_request *request, struct lease_request *self)
{
    const char *wrong = wrong_with(&self->call);
    if (wrong != NULL) {
        request_free(self);
        answer_invalid(request, wrong);
        return;
    }
    if (self->call.wait_ms > 0) {
        self->starting = true;
        http_exchange_on_gone(request->exchange, gone, self);
        self->starting = false;
        if (self->change.exchange == NULL) {
            request_free(self);
            return;
        }
    }
    leases_ask(request->server->leases, &self->call);
}

#define HOLDER_FIELD(self)                                                                         \
    {                                                                                              \
        .name = "holder", .type = BODY_TEXT, .into = &(self)->call.holder,                         \
        .max = sizeof(self)->holder, .room = (self)->holder                                        \
    }
#define TTL_FIELD(self)                                                                            \
    {                                                                                              \
        .name = "ttl", .type = BODY_DURATION, .into = &(self)->call.ttl_ms,                        \
        .min = LEASE_TTL_MS_MIN, .max = LEASE_TTL_MS_MAX                                           \
    }
#define FENCE_FIELD(into_)                                                                         \
    {                                                                                              \
        .name = "fence", .type = BODY_WHOLE, .into = (into_), .min = 1, .max = FENCE_MAX           \
    }

void lease_put_request(const struct route_request *request)
{
    struct lease_request *self = begin(request, LEASE_ACQUIRE);
    if (self == NULL)
        return;
    self->call.ttl_ms = LEASE_TTL_MS_DEFAULT;
    const struct body_field fields[] = {
        HOLDER_FIELD(self),
        TTL_FIELD(self),
        {.name = "wait",
         .type = BODY_DURATION,
         .into = &self->call.wait_ms,
         .max = LEASE_WAIT_MS_MAX},
    };
    if (body_read(request, fields, sizeof fields / sizeof fields[0]))
        go(request, self);
    else
        request_free(self);
}

void lease_keepalive(const struct route_request *request)
{
    struct lease_request *self = begin(request, LEASE_KEEPALIVE);
    if (self == NULL)
        return;
    int64_t fence = 0;
    const struct body_field fields[] = {HOLDER_FIELD(self), FENCE_FIELD(&fence), TTL_FIELD(self)};
    if (!body_read(request, fields, sizeof fields / sizeof fields[0])) {
        request_free(self);
        return;
    }
    self->call.fence = (uint64_t)fence;
    go(request, self);
}

/* Neither: whoever has it. But who names nobody has forgotten a name, and must not take it from
 * another. False: answered. */
static bool read_release(const struct route_request *request, struct lease_request *self)
{
    static const char *const names[] = {"holder", "fence"};
    if (!body_read(request, NULL, 0) || !query_fits(request, names, 2) ||
        !query_text(request, "holder", self->holder, sizeof self->holder, &self->call.holder) ||
        !query_whole(request, "fence", 1, (uint64_t)FENCE_MAX, &self->call.fence))
        return false;
    if (self->call.holder.size > 0 || http_query_find(request->http->query, "holder").at == NULL)
        return true;
    answer_invalid(request, "holder: is empty: without it, whoever has the lease loses it");
    return false;
}

void lease_delete(const struct route_request *request)
{
    struct lease_request *self = begin(request, LEASE_RELEASE);
    if (self == NULL)
        return;
    if (read_release(request, self))
        go(request, self);
    else
        request_free(self);
}

void lease_get_request(const struct route_request *request)
{
    struct read_request *self = read_begin(request, "nobody has this lease");
    if (self != NULL)
        leases_get(request->server->leases, (struct bytes){request->param, request->param_size},
                   read_answered, self);
}

void lease_list_request(const struct route_request *request)
{
    uint64_t limit;
    uint64_t after;
    if (!query_page_only(request, &limit, &after))
        return;
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        leases_list(request->server->leases, after, (uint32_t)limit, read_answered, self);
}
