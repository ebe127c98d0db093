/* SPDX-License-Identifier: MIT */
/* keeper.h - renewals, and the Redis servers whose keys they keep alive. For src/server only. */
#ifndef TOCSIN_SERVER_KEEPER_H
#define TOCSIN_SERVER_KEEPER_H

#include "server/inside.h"
#include "service/renewal/renewals.h"

/* Registers its kind: before engine_load. What has been made is server->keeper, also when it
 * fails. */
enum tocsin_status keeper_create(struct server *server);
/* After engine_load. */
enum tocsin_status keeper_recover(struct keeper *keeper);
bool keeper_recovering(const struct keeper *keeper);
/* What the Redis servers have answered: when the loop was posted. */
void keeper_take(struct keeper *keeper);
/* No more rounds are begun, and those under way end within 10 s; true when none is. */
bool keeper_drain(struct keeper *keeper);
/* Waits for what is under way, 10 s at most, since the drain if there was one. Before the engine is destroyed … */
void keeper_stop(struct keeper *keeper);
/* … and after. */
void keeper_destroy(struct keeper *keeper);

struct renewals *keeper_renewals(const struct keeper *keeper);
bool keeper_enabled(const struct keeper *keeper);
struct renewal_defaults keeper_defaults(const struct server *server);
void keeper_set_metrics(struct server *server);
/* Once a second. */
void keeper_tick(struct keeper *keeper);

#endif
