/* SPDX-License-Identifier: MIT */
/* Gomoku rooms over HTTP: made and looked at. They are played over STOMP (live.c). */

#include <stdlib.h>

#include "server/live.h"

struct room_request {
    struct server *server;
    struct http_exchange *exchange;
    char *idem;
};

static void opened(void *arg, enum outcome outcome, uint64_t rev, struct bytes json,
                   const char *why, bool replayed)
{
    struct room_request *self = arg;
    answer_outcome(self->server, self->exchange, outcome, rev, json, why, replayed);
    free(self->idem);
    free(self);
}

void room_create(const struct route_request *request)
{
    struct rooms *rooms = live_rooms(request->server->live);
    struct bytes body = request->http->body;
    struct room_opening opening = {.fn = opened};
    struct tocsin_why why;
    if (!request_idempotency_fits(request))
        return;
    if (rooms_read_wish(rooms, body.size > 0 ? body : bytes_of("{}"), &opening.wish, &why) !=
        TOCSIN_OK) {
        answer_invalid(request, why.text);
        return;
    }
    struct room_request *self = malloc(sizeof *self);
    if (self == NULL || !request_idempotency(request, 0, body, &self->idem, &opening.idem)) {
        free(self);
        request_overloaded(request);
        return;
    }
    self->server = request->server;
    self->exchange = request->exchange;
    opening.arg = self;
    rooms_open(rooms, &opening);
}

void room_get(const struct route_request *request)
{
    struct read_request *self = read_begin(request, "there is no such room");
    if (self != NULL)
        rooms_get(live_rooms(request->server->live),
                  (struct bytes){request->param, request->param_size}, read_answered, self);
}

void room_list(const struct route_request *request)
{
    static const char *const names[] = {"phase", "order", "limit", "after"};
    static const char *const phases[] = {"WAITING", "PLAYING", "ENDED", NULL}; /* room.h */
    static const char *const orders[] = {"changed", "newest", NULL};
    struct rooms_query query = {0};
    uint64_t limit;
    int order;
    if (!query_fits(request, names, 4) ||
        !query_word(request, "phase", phases, "phase: must be WAITING, PLAYING or ENDED",
                    &query.phase) ||
        !query_word(request, "order", orders, "order: must be changed or newest", &order) ||
        !query_page(request, &limit, &query.after))
        return;
    query.limit = (uint32_t)limit;
    query.newest = order == 2;
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        rooms_list(live_rooms(request->server->live), &query, read_answered, self);
}
