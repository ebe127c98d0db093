/* SPDX-License-Identifier: MIT */
/* term.h - what does a node do while the records are its own? For src/server only.
 *
 * A term has a store, an engine, the services and the sockets, and ends with all of them. A node
 * that is alone has one for all its life; one of several has one for each time it owns the records,
 * on the same loop.
 *
 *     term_begin(server)     store opened, records loaded; it turns, and opens its sockets when
 *                            what was under way is taken up
 *     loop_run(…)            until server->failed, or until all is drained
 *     term_end(server)       also when term_begin has failed
 */
#ifndef TOCSIN_SERVER_TERM_H
#define TOCSIN_SERVER_TERM_H

#include "server/inside.h"

/* Else server->why. */
enum tocsin_status term_begin(struct server *server);
/* No new connections; the loop is stopped when what is under way has ended. */
void term_drain(struct server *server);
/* What it had is gone, and the loop is as it was before. */
void term_end(struct server *server);

/* The one line on stdout, the first time only. */
void server_say_ready(struct server *server, const char *address, uint64_t records);

#endif
