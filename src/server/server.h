/* SPDX-License-Identifier: MIT */
/* server.h - all of it together: store, engine, services, routes, one loop.
 *
 *     server_run(&config, &why)    until SIGTERM or SIGINT, or until the disk has failed
 *
 * With a Redis that nodes share (shared.h) it is one of several: it follows, and owns the records when
 * it has the lease; what stands below is then told of each time.
 *
 * Start     store opened and checked, records loaded, what was under way taken up; then the
 *           sockets are opened and the ready line is printed on stdout.
 * Stop      the first SIGTERM or SIGINT: no new connections, waiting lease calls answered
 *           empty, live claims written, open answers sent; at most config.drain_timeout. The
 *           second ends it at once. A node that follows waits for the answers of what it has passed
 *           on.
 */
#ifndef TOCSIN_SERVER_SERVER_H
#define TOCSIN_SERVER_SERVER_H

#include "server/config.h"

/* OK: it was stopped in order. Else ret_why says what was wrong. */
enum tocsin_status server_run(const struct config *config, struct tocsin_why *ret_why);

#endif
