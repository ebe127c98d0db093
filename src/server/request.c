/* SPDX-License-Identifier: MIT */
/* What requests of every service have in common: conditions, Idempotency-Keys, queries, and
 * answers that are only read. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/inside.h"

/* ---- headers of a change */

static bool read_rev(struct bytes text, uint64_t *ret_rev)
{
    enum { DIGITS_MAX = 19 }; /* a rev has no more, so nothing wraps */
    if (bytes_are(text, "*")) {
        *ret_rev = CONDITIONS_ANY_REV;
        return true;
    }
    if (text.size < 3 || text.size > DIGITS_MAX + 2 || text.at[0] != '"' ||
        text.at[text.size - 1] != '"' || (text.at[1] == '0' && text.size > 3))
        return false;
    uint64_t rev = 0;
    for (size_t i = 1; i + 1 < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        rev = rev * 10 + (uint64_t)(text.at[i] - '0');
    }
    *ret_rev = rev;
    return true;
}

bool request_conditions(const struct route_request *request, struct conditions *ret_conditions)
{
    struct bytes match = http_request_header(request->http, "If-Match");
    struct bytes none = http_request_header(request->http, "If-None-Match");
    *ret_conditions =
        (struct conditions){.if_match = match.at != NULL, .if_none_match = none.at != NULL};
    if (match.at != NULL && !read_rev(match, &ret_conditions->rev)) {
        answer_invalid(request, "If-Match: a rev in quotes is needed, as ETag gives it, or *");
        return false;
    }
    if (none.at != NULL && !bytes_are(none, "*")) {
        answer_invalid(request, "If-None-Match: only * is understood");
        return false;
    }
    return true;
}

bool request_idempotency_fits(const struct route_request *request)
{
    enum { HEADER_MAX = 255 };
    struct bytes key = http_request_header(request->http, "Idempotency-Key");
    if (key.at == NULL || (key.size > 0 && key.size <= HEADER_MAX))
        return true;
    answer_invalid(request, "Idempotency-Key: 1 to 255 bytes are allowed");
    return false;
}

bool request_idempotency(const struct route_request *request, size_t line, struct bytes body,
                         char **ret_text, struct idem_ask *ret_ask)
{
    enum { TEXT_BYTES_MAX = 900 };
    static const struct siphash_key body_key = {0x746f6373696e, 0x6964656d};
    struct bytes key = http_request_header(request->http, "Idempotency-Key");
    *ret_text = NULL;
    *ret_ask = (struct idem_ask){0};
    if (key.at == NULL || request->http->method != HTTP_POST)
        return true;
    char *text = malloc(TEXT_BYTES_MAX);
    if (text == NULL)
        return false;
    int size = snprintf(text, TEXT_BYTES_MAX, "%s\n%s\n%.*s\n%zu\n%.*s", request->token,
                        request->route->pattern, (int)request->param_size, request->param, line,
                        (int)key.size, key.at);
    assert(size > 0 && size < TEXT_BYTES_MAX);
    *ret_text = text;
    *ret_ask = (struct idem_ask){{text, (size_t)size}, siphash(body_key, body.at, body.size)};
    return true;
}

void request_overloaded(const struct route_request *request)
{
    answer_problem(request->server, request->exchange,
                   &(struct problem){.status = 503,
                                     .code = "OVERLOADED",
                                     .detail = "no memory for this request now: try again"});
}

void *request_alloc(const struct route_request *request, size_t bytes)
{
    void *self = calloc(1, bytes);
    if (self == NULL)
        request_overloaded(request);
    return self;
}

bool change_begin(const struct route_request *request, struct change_request *self,
                  struct bytes *ret_id, struct conditions *ret_conditions,
                  struct idem_ask *ret_idem)
{
    self->server = request->server;
    self->exchange = request->exchange;
    memcpy(self->id, request->param, request->param_size);
    *ret_id = (struct bytes){self->id, request->param_size};
    if (!request_conditions(request, ret_conditions) || !request_idempotency_fits(request))
        return false;
    if (request_idempotency(request, 0, request->http->body, &self->idem, ret_idem))
        return true;
    request_overloaded(request);
    return false;
}

/* ---- queries */

bool query_fits(const struct route_request *request, const char *const *names, size_t count)
{
    struct tocsin_why why;
    if (http_query_check(request->http->query, names, count, &why) == TOCSIN_OK)
        return true;
    answer_invalid(request, why.text);
    return false;
}

bool query_text(const struct route_request *request, const char *name, char *room, size_t size,
                struct bytes *ret_text)
{
    struct bytes coded = http_query_find(request->http->query, name);
    size_t length;
    *ret_text = (struct bytes){room, 0};
    if (coded.at == NULL)
        return true;
    if (http_query_decode(coded, room, size, &length) != TOCSIN_OK) {
        char detail[96];
        (void)snprintf(detail, sizeof detail, "%s: too long, or not well-formed", name);
        answer_invalid(request, detail);
        return false;
    }
    ret_text->size = length;
    return true;
}

bool query_whole(const struct route_request *request, const char *name, uint64_t min, uint64_t max,
                 uint64_t *into)
{
    char room[24];
    struct bytes text;
    if (!query_text(request, name, room, sizeof room, &text))
        return false;
    if (text.size == 0 && http_query_find(request->http->query, name).at == NULL)
        return true;
    uint64_t value = 0;
    bool good = text.size > 0 && text.size < 20;
    for (size_t i = 0; i < text.size && good; i++) {
        good = text.at[i] >= '0' && text.at[i] <= '9';
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    if (good && value >= min && value <= max) {
        *into = value;
        return true;
    }
    char detail[120];
    (void)snprintf(detail, sizeof detail, "%s: must be a whole number from %llu to %llu", name,
                   (unsigned long long)min, (unsigned long long)max);
    answer_invalid(request, detail);
    return false;
}

bool query_page(const struct route_request *request, uint64_t *ret_limit, uint64_t *ret_after)
{
    *ret_limit = QUERY_LIMIT_DEFAULT;
    *ret_after = 0;
    return query_whole(request, "limit", 1, QUERY_LIMIT_MAX, ret_limit) &&
           query_whole(request, "after", 0, INT64_MAX, ret_after);
}

bool query_page_only(const struct route_request *request, uint64_t *ret_limit, uint64_t *ret_after)
{
    static const char *const names[] = {"limit", "after"};
    return query_fits(request, names, 2) && query_page(request, ret_limit, ret_after);
}

/* ---- what is only read */

struct read_request *read_begin(const struct route_request *request, const char *missing)
{
    struct read_request *self = request_alloc(request, sizeof *self);
    if (self != NULL)
        *self = (struct read_request){request->server, request->exchange, missing,
                                      "the record is damaged: the log says more"};
    return self;
}

void read_answered(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    struct read_request *self = arg;
    const char *why = outcome == OUTCOME_OK        ? ""
                      : outcome == OUTCOME_MISSING ? self->missing
                      : outcome == OUTCOME_BROKEN
                          ? self->broken
                          : "too much is under way: try again a little later";
    answer_outcome(self->server, self->exchange, outcome, rev, json, why, false);
    free(self);
}

bool query_word(const struct route_request *request, const char *name, const char *const *words,
                const char *complaint, int *ret_which)
{
    char room[16];
    struct bytes text;
    *ret_which = 0;
    if (http_query_find(request->http->query, name).at == NULL)
        return true;
    if (!query_text(request, name, room, sizeof room, &text))
        return false;
    for (int i = 0; words[i] != NULL; i++) {
        if (bytes_are(text, words[i])) {
            *ret_which = i + 1;
            return true;
        }
    }
    answer_invalid(request, complaint);
    return false;
}
