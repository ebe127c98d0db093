/* SPDX-License-Identifier: MIT */
/* live.h - who is told of what happens in countdowns, rooms and leases? For src/server only. */
#ifndef TOCSIN_SERVER_LIVE_H
#define TOCSIN_SERVER_LIVE_H

#include "delivery/session.h"
#include "server/inside.h"
#include "service/gomoku/rooms.h"

/* Registers kinds: before engine_load. What has been made is server->live, also when it fails. */
enum tocsin_status live_create(struct server *server, struct topics *topics);
/* Nobody thinks any more. Before the engine is destroyed … */
void live_stop(struct live *live);
/* … and after. */
void live_destroy(struct live *live);

struct rooms *live_rooms(const struct live *live);
void live_set_metrics(struct server *server);
/* Leases are told of as they are written: ACQUIRED, RELEASED, EXPIRED. */
void live_tell_event(struct live *live, const struct store_event *event);

/* The AI has answered: when the loop was posted. */
void live_take_thoughts(struct live *live);

enum session_when live_on_send(struct live *live, struct session *session,
                               const struct stomp_frame *frame, uint64_t ticket);
void live_on_end(struct live *live, struct session *session);

#endif
