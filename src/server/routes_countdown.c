/* SPDX-License-Identifier: MIT */
/* Countdowns over HTTP. */

#include <stdio.h>
#include <stdlib.h>

#include "server/inside.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

/* A call on its way, with every byte it points to. */
struct countdown_request {
    struct countdown_call call; /* first */
    struct change_request change;
    char owner[COUNTDOWN_WORD_BYTES_MAX];
    char version[COUNTDOWN_WORD_BYTES_MAX];
    char kind[COUNTDOWN_KIND_BYTES_MAX];
};

static void request_free(struct countdown_request *self)
{
    buffer_release(&self->call.reply.answer);
    free(self->change.idem);
    free(self);
}

static void answered(struct countdown_call *call)
{
    struct countdown_request *self = (struct countdown_request *)call;
    answer_reply(self->change.server, self->change.exchange, &call->reply);
    request_free(self);
}

/* NULL: answered. */
static struct countdown_request *begin(const struct route_request *request,
                                       enum countdown_verb verb)
{
    struct countdown_request *self = request_alloc(request, sizeof *self);
    if (self == NULL)
        return NULL;
    self->call.verb = verb;
    self->call.done = answered;
    buffer_init(&self->call.reply.answer, ANSWER_BYTES_MAX);
    if (change_begin(request, &self->change, &self->call.key, &self->call.conditions,
                     &self->call.idem))
        return self;
    request_free(self);
    return NULL;
}

/* NULL: it is fine. */
static const char *wrong_with(const struct countdown_call *call, bool has_deadline, bool has_for)
{
    if (call->owner.size == 0)
        return "owner: is missing or empty: whose time runs?";
    if (!body_plain(call->owner) || !body_plain(call->version) || !body_plain(call->kind))
        return "owner, version, kind: no control characters";
    if (call->version.size == 0 || call->kind.size == 0)
        return "version, kind: must not be empty";
    if (has_deadline == has_for)
        return has_for ? "deadline_ms, for: one of them, not both"
                       : "deadline_ms, for: one of them is needed";
    if (has_deadline && (call->at_ms < 0 || call->at_ms > INT64_C(253402300799999)))
        return "deadline_ms: must be a time before the year 10000";
    return NULL;
}

void countdown_put_request(const struct route_request *request)
{
    struct countdown_request *self = begin(request, COUNTDOWN_START);
    if (self == NULL)
        return;
    struct countdown_call *call = &self->call;
    bool has_deadline = false;
    bool has_for = false;
    bool has_kind = false;
    call->version = bytes_of("1");
    call->kind = bytes_of("event");
    const struct body_field fields[] = {
        {.name = "owner",
         .type = BODY_TEXT,
         .into = &call->owner,
         .max = sizeof self->owner,
         .room = self->owner},
        {.name = "version",
         .type = BODY_TEXT,
         .into = &call->version,
         .max = sizeof self->version,
         .room = self->version},
        {.name = "kind",
         .type = BODY_TEXT,
         .into = &call->kind,
         .max = sizeof self->kind,
         .room = self->kind,
         .ret_given = &has_kind},
        {.name = "deadline_ms",
         .type = BODY_INSTANT,
         .into = &call->at_ms,
         .ret_given = &has_deadline},
        {.name = "for",
         .type = BODY_DURATION,
         .into = &call->for_ms,
         .max = COUNTDOWN_MS_MAX,
         .ret_given = &has_for},
    };
    if (!body_read(request, fields, sizeof fields / sizeof fields[0])) {
        request_free(self);
        return;
    }
    call->any_kind = !has_kind;
    if (has_deadline && !has_for)
        call->for_ms = -1;
    const char *wrong = wrong_with(call, has_deadline, has_for);
    if (wrong == NULL) {
        countdowns_ask(request->server->countdowns, call);
        return;
    }
    request_free(self);
    answer_invalid(request, wrong);
}

static void simple(const struct route_request *request, enum countdown_verb verb)
{
    if (!body_read(request, NULL, 0))
        return;
    struct countdown_request *self = begin(request, verb);
    if (self != NULL)
        countdowns_ask(request->server->countdowns, &self->call);
}

void countdown_delete(const struct route_request *request)
{
    simple(request, COUNTDOWN_STOP);
}

void countdown_pause(const struct route_request *request)
{
    simple(request, COUNTDOWN_PAUSE);
}

void countdown_resume(const struct route_request *request)
{
    simple(request, COUNTDOWN_RESUME);
}

void countdown_give(const struct route_request *request)
{
    int64_t ms = 0;
    bool given = false;
    const struct body_field fields[] = {{.name = "ms",
                                         .type = BODY_DURATION,
                                         .into = &ms,
                                         .min = 1,
                                         .max = COUNTDOWN_MS_MAX,
                                         .ret_given = &given}};
    if (!body_read(request, fields, 1))
        return;
    if (!given) {
        answer_invalid(request, "ms: is missing: how much more time?");
        return;
    }
    struct countdown_request *self = begin(request, COUNTDOWN_GIVE);
    if (self == NULL)
        return;
    self->call.give_ms = ms;
    countdowns_ask(request->server->countdowns, &self->call);
}

void countdown_get(const struct route_request *request)
{
    struct read_request *self = read_begin(request, "there is no such countdown");
    if (self != NULL)
        countdowns_get(request->server->countdowns,
                       (struct bytes){request->param, request->param_size}, read_answered, self);
}

void countdown_list(const struct route_request *request)
{
    uint64_t limit;
    uint64_t after;
    if (!query_page_only(request, &limit, &after))
        return;
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        countdowns_list(request->server->countdowns, after, (uint32_t)limit, read_answered, self);
}
