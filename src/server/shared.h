/* SPDX-License-Identifier: MIT */
/* shared.h - does this node own the records, or does it follow? For src/server only.
 *
 *     follow --the lease is won--> own --the lease is lost, or the store is fenced--> follow …
 *
 * Following, connections are passed on to the owner (cluster/follower.h) and the lease is raced for
 * (cluster/owner.h). Owning is a term (term.h). The sockets stay open all the while: connections
 * that come in during a change wait in the kernel.
 */
#ifndef TOCSIN_SERVER_SHARED_H
#define TOCSIN_SERVER_SHARED_H

#include "cluster/follower.h"
#include "cluster/owner.h"
#include "server/inside.h"

/* Of owner_state.foreign. */
#define SHARED_FOREIGN                                                                             \
    "the key " LEASE_KEY_NAME " holds something that is not a lease, so no node can own the "      \
    "records: look at it, and delete it"

/* Until server->stopping, or until it cannot go on; then server->why. */
enum tocsin_status shared_run(struct server *server);

/* Following: somebody has posted. */
void shared_turn(struct server *server);
/* Following: no new connections; the loop is stopped when what was passed on is answered. */
void shared_drain(struct server *server);

/* Is the lease still ours? Before everything an owner does. When it is not, the term has failed, and
 * the loop is stopped. True for a node that is alone. */
bool shared_may_act(struct server *server);
/* When that must be asked again at the latest; INT64_MAX: never. */
int64_t shared_act_until_ns(const struct server *server);

/* A store for this term, and the socket of an address. */
enum tocsin_status shared_open_store(struct server *server);
/* The sockets are open: other nodes may pass requests on. */
void shared_opened(struct server *server);
int shared_listen_fd(const struct server *server, size_t index);
const char *shared_address(const struct server *server, size_t index);
void shared_stop_listening(struct server *server);

/* Redis has another time than it had. */
bool shared_clock_was_set(struct server *server);
/* How well its time is known. */
int64_t shared_clock_error_ms(struct server *server);

/* What operations tell. */
void shared_describe(const struct server *server, struct owner_state *ret_state);
void shared_follower_stats(const struct server *server, struct follower_stats *ret_stats);
/* Why this node could not own the records when it last tried; NULL: it could, or another does. */
const char *shared_refusal(const struct server *server);
/* Following: why nothing is passed on; NULL: it is, or there is no owner. */
const char *shared_unreached(const struct server *server);
/* That Redis had answered to this node and had not any more, since the start. */
uint64_t shared_lost_commits(const struct server *server);
/* The epoch as far as it is known; 0: it is not. */
uint64_t shared_epoch(const struct server *server);

#endif
