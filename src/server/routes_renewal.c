/* SPDX-License-Identifier: MIT */
/* Renewals over HTTP. */

#include <stdio.h>
#include <stdlib.h>

#include "server/keeper.h"

enum { ANSWER_BYTES_MAX = 2 * 1024 * 1024 };

/* A call on its way, with every byte it points to. */
struct renewal_request {
    struct renewal_call call; /* first */
    struct change_request change;
};

static void request_free(struct renewal_request *self)
{
    buffer_release(&self->call.reply.answer);
    free(self->call.spec);
    free(self->change.idem);
    free(self);
}

static void answered(struct renewal_call *call)
{
    struct renewal_request *self = (struct renewal_request *)call;
    answer_reply(self->change.server, self->change.exchange, &call->reply);
    request_free(self);
}

/* NULL: answered. */
static struct renewal_request *begin(const struct route_request *request, enum renewal_verb verb)
{
    struct renewal_request *self = request_alloc(request, sizeof *self);
    if (self == NULL)
        return NULL;
    self->call.verb = verb;
    self->call.done = answered;
    buffer_init(&self->call.reply.answer, ANSWER_BYTES_MAX);
    if (change_begin(request, &self->change, &self->call.id, &self->call.conditions,
                     &self->call.idem))
        return self;
    request_free(self);
    return NULL;
}

static bool is_switched_on(const struct route_request *request)
{
    if (keeper_enabled(request->server->keeper))
        return true;
    answer_problem(request->server, request->exchange,
                   &(struct problem){.status = 503,
                                     .code = "UNAVAILABLE",
                                     .detail = "renewals are switched off "
                                               "(redis.renewal.enabled)"});
    return false;
}

void renewal_create_request(const struct route_request *request)
{
    struct server *server = request->server;
    struct renewal_defaults defaults = keeper_defaults(server);
    struct bytes body = request->http->body;
    struct renewal_spec *spec;
    struct tocsin_why why;
    bool malformed;
    if (!is_switched_on(request))
        return;
    enum tocsin_status status = renewal_spec_read(body.size > 0 ? body : bytes_of("{}"), &defaults,
                                                  &spec, &malformed, &why);
    if (status == TOCSIN_INVALID) {
        answer_bad_json(request, malformed, why.text);
        return;
    }
    struct renewal_request *self = status == TOCSIN_OK ? begin(request, RENEWAL_REGISTER) : NULL;
    if (self == NULL) {
        if (status == TOCSIN_OK)
            free(spec);
        else
            request_overloaded(request);
        return;
    }
    uuid_next(&server->uuids, engine_wall_ms(server->engine), self->change.id);
    self->call.id = (struct bytes){self->change.id, UUID_TEXT_BYTES};
    self->call.spec = spec;
    renewals_ask(keeper_renewals(server->keeper), &self->call);
}

static void simple(const struct route_request *request, enum renewal_verb verb)
{
    if (!body_read(request, NULL, 0))
        return;
    struct renewal_request *self = begin(request, verb);
    if (self != NULL)
        renewals_ask(keeper_renewals(request->server->keeper), &self->call);
}

void renewal_delete(const struct route_request *request)
{
    simple(request, RENEWAL_CANCEL);
}

void renewal_pause(const struct route_request *request)
{
    simple(request, RENEWAL_PAUSE);
}

void renewal_resume(const struct route_request *request)
{
    simple(request, RENEWAL_RESUME);
}

void renewal_renew(const struct route_request *request)
{
    if (is_switched_on(request))
        simple(request, RENEWAL_RENEW);
}

void renewal_get(const struct route_request *request)
{
    struct read_request *self = read_begin(request, "there is no such renewal");
    if (self != NULL)
        renewals_get(keeper_renewals(request->server->keeper),
                     (struct bytes){request->param, request->param_size}, read_answered, self);
}

void renewal_list(const struct route_request *request)
{
    static const char *const names[] = {"status", "limit", "after"};
    static const char *const states[] = {"ACTIVE",    "PAUSED", "COMPLETED", "FAILED",
                                         "CANCELLED", "LOST",   NULL}; /* enum renewal_state */
    uint64_t limit;
    uint64_t after;
    int state;
    if (!query_fits(request, names, sizeof names / sizeof names[0]) ||
        !query_word(request, "status", states,
                    "status: must be ACTIVE, PAUSED, COMPLETED, FAILED, CANCELLED or LOST",
                    &state) ||
        !query_page(request, &limit, &after))
        return;
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        renewals_list(keeper_renewals(request->server->keeper), (enum renewal_state)state, after,
                      (uint32_t)limit, read_answered, self);
}
