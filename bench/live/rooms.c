/* SPDX-License-Identifier: MIT */
/* Thousands of gomoku rooms at play, with two players each, and each told the ticks of its turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audience.h"
#include "parts.h"
#include "requests.h"

enum { ROOM_ID_BYTES = 64, SEAT_KEY_BYTES = 128 };

struct hall {
    unsigned rooms;
    char (*ids)[ROOM_ID_BYTES];
};

static void write_room(void *arg, uint64_t number, struct request_text *ret_text)
{
    (void)arg;
    (void)number;
    ret_text->method = "POST";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/rooms");
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"mode\":\"PVP\",\"rule\":\"STANDARD\",\"turn_seconds\":3600}");
}

static void room_made(void *arg, uint64_t number, const char *body, size_t size)
{
    struct hall *hall = arg;
    if (!body_text(body, size, "room_id", hall->ids[number], ROOM_ID_BYTES))
        bench_die("a room without an id: %.*s", (int)size, body);
}

static void enter(void *arg, struct swarm *swarm, uint32_t client)
{
    struct hall *hall = arg;
    const char *id = hall->ids[client / 2];
    char destination[ROOM_ID_BYTES + 32];
    snprintf(destination, sizeof destination, "/topic/room.%s", id);
    swarm_subscribe(swarm, client, 0, destination, false);
    swarm_subscribe(swarm, client, 1, "/user/queue/gomoku.seat", true);
    swarm_send(swarm, client, "SEND\ndestination:/app/gomoku.resume\n\n{\"roomId\":\"%s\"}", id);
}

/* A seat: the player is ready. Two of them, and play begins. */
static void seated(void *arg, struct swarm *swarm, uint32_t client, const char *body, size_t size)
{
    struct hall *hall = arg;
    char key[SEAT_KEY_BYTES];
    if (!body_text(body, size, "seatKey", key, sizeof key))
        return;
    swarm_send(swarm, client,
               "SEND\ndestination:/app/gomoku.ready\n\n{\"roomId\":\"%s\",\"seatKey\":\"%s\"}",
               hall->ids[client / 2], key);
}

static void add(struct results *results, const struct heard *heard, const struct expired *expired)
{
    results_add_ranks(results, "rooms", "tocsin", heard->late);
    results_add(results, "rooms-cpu", "tocsin", 0, "us", heard->server_us);
    results_add(results, "rooms-client-cpu", "tocsin", 0, "us", heard->client_us);
    results_add(results, "rooms-wait", "tocsin", 0, "ms/s", heard->wait_ms);
    results_add_ranks(results, "rooms-timeout", "tocsin", expired->late);
    results_add(results, "rooms-timeout-told-p50", "tocsin", 0, "ms", expired->told.p50_ms);
    results_add(results, "rooms-timeout-told-p99", "tocsin", 0, "ms", expired->told.p99_ms);
    results_add(results, "rooms-timeout-wait", "tocsin", 0, "ms/s", expired->wait_ms);
}

static void measure(struct results *results, const struct options *options)
{
    struct server server;
    struct hall hall = {.rooms = options->rooms};
    struct audience audience = {
        .clients = options->rooms * 2, .enter = enter, .other = seated, .arg = &hall};
    struct requests requests = {write_room, room_made, &hall};
    hall.ids = bench_alloc(hall.rooms, sizeof *hall.ids);
    server_start(&server, &peer_tocsin, NULL, false);
    requests_run(&server, hall.rooms, &requests);
    audience_open(&audience, options->seconds);
    audience_enter(&audience, server.port, true, "rooms");
    audience_watch(&audience, server.port);
    audience_await(&audience);
    struct heard heard = audience_listen(&audience, &server.child, options->seconds);
    bench_progress("rooms: listening, and %d countdowns run out", WATCHERS * WATCHED);
    struct expired expired = audience_expire(&audience, &server, options->seconds);
    add(results, &heard, &expired);
    server_drop(&server);
    audience_close(&audience);
    free(hall.ids);
}

void part_rooms(struct results *results, const struct options *options)
{
    unsigned rounds = parts_rounds_alone(options);
    for (unsigned round = 0; round < rounds; round++) {
        bench_progress("round %u of %u: rooms", round + 1, rounds);
        parts_wakeups(results, options);
        measure(results, options);
    }
}
