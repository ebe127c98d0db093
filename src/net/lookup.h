/* SPDX-License-Identifier: MIT */
/* lookup.h - which socket addresses does "host:port" mean?
 *
 * Names are looked up off the loop, in libuv's workers. address.h knows those that need no
 * looking up.
 *
 * Promise   done is called once, from the loop, never from inside lookup_start; also after a
 *           cancel. The loop must run on until then.
 * Bounds    of a name with more than LOOKUP_ADDRESSES_MAX addresses the first ones are told. How
 *           long it takes is up to the system's resolver.
 * Threads   the loop's.
 */
#ifndef TOCSIN_NET_LOOKUP_H
#define TOCSIN_NET_LOOKUP_H

#include <stddef.h>
#include <sys/socket.h>

#include <tocsin/status.h>

#include "net/loop.h"

enum { LOOKUP_ADDRESSES_MAX = 8, LOOKUP_TEXT_BYTES = 264 };

struct lookup;

/* count 0: there is none, and error says why. The lookup is gone when this is called. */
typedef void lookup_done(void *arg, const struct sockaddr_storage *addresses, size_t count,
                         const char *error);

/* "db.example:7400", "10.0.0.1:7400", "[::1]:7400". INVALID, and why. */
enum tocsin_status lookup_start(struct loop *loop, const char *text, lookup_done *done, void *arg,
                                struct lookup **ret_lookup, struct tocsin_why *ret_why);
/* done is called soon, or when the resolver is through. */
void lookup_cancel(struct lookup *lookup);

#endif
