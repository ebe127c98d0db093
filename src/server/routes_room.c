/* SPDX-License-Identifier: MIT */
/* Gomoku rooms over HTTP: made and looked at. They are played over STOMP (live.c). */

#include "server/live.h"

void room_create(const struct route_request *request)
{
    struct rooms *rooms = live_rooms(request->server->live);
    struct room_wish wish;
    struct tocsin_why why;
    if (!request_idempotency_fits(request))
        return;
    struct bytes body = request->http->body;
    if (rooms_read_wish(rooms, body.size > 0 ? body : bytes_of("{}"), &wish, &why) != TOCSIN_OK) {
        answer_invalid(request, why.text);
        return;
    }
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        rooms_open(rooms, &wish, read_answered, self);
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
    uint64_t limit;
    uint64_t after;
    if (!query_page(request, &limit, &after))
        return;
    struct read_request *self = read_begin(request, "");
    if (self != NULL)
        rooms_list(live_rooms(request->server->live), after, (uint32_t)limit, read_answered, self);
}
