/* SPDX-License-Identifier: MIT */
/* http_upgrade.h - what becomes of a connection that stops speaking HTTP?
 *
 * A handler answers a request with 101 and from then on gets the connection's bytes as they come,
 * decrypted where there is TLS, and sends shared frames. The connection stays the server's: it
 * counts among the open ones, is drained and closed with them; but none of the rules for requests
 * (idle, head, body) holds for it any more.
 *
 * Promise   frames leave in the order they were sent, whole, and without a copy (with TLS they are
 *           copied when they are encrypted, 64 KiB at a time). on_closed is called once, never
 *           from inside a call of the handler's own; nothing else is called after it.
 * Limits    what is queued is the caller's to bound: http_upgraded_unsent says how much it is.
 *           Who takes nothing of it for write_timeout_ms is cut off.
 * Memory    about 150 bytes beside the connection, and 8 for each frame that is queued.
 * Threads   the loop's.
 */
#ifndef TOCSIN_NET_HTTP_UPGRADE_H
#define TOCSIN_NET_HTTP_UPGRADE_H

#include "net/frame.h"
#include "net/http_server.h"

struct http_upgraded;

struct http_upgrade {
    /* The bytes may be changed where they lie. */
    void (*on_bytes)(void *arg, char *bytes, size_t size);
    void (*on_look)(void *arg, uint64_t now_ms); /* about once a second */
    void (*on_drain)(void *arg);                 /* the server stops: say good-bye */
    void (*on_closed)(void *arg);
    void *arg;
};

/* Why this one cannot be upgraded, in a sentence; NULL: it can. To be asked, and acted on, inside
 * on_request only. */
const char *http_upgrade_problem(const struct http_exchange *exchange);

/* Answers 101 with these headers, under 400 bytes, each line ended by \r\n, and ends the exchange. NULL: no memory,
 * and the exchange is as it was. */
struct http_upgraded *http_upgrade(struct http_exchange *exchange, const char *headers,
                                   const struct http_upgrade *upgrade);

/* The frame is shared, not taken; more: the next one is the rest of the same message. False: no
 * memory, or the client is gone; it is being closed. After http_upgraded_finish or a close nothing
 * is sent any more. */
bool http_upgraded_send(struct http_upgraded *upgraded, struct frame *frame, bool more);
/* Bytes that the kernel has not taken, and 64 more for each frame: about what is kept for them. */
size_t http_upgraded_unsent(const struct http_upgraded *upgraded);
/* Messages of which nothing has begun to leave are forgotten. */
void http_upgraded_forget_unsent(struct http_upgraded *upgraded);
/* Nothing is handed over any more; what is queued is sent, our side shut, and the connection
 * closed when the client has shut its own, or 2 s later. */
void http_upgraded_finish(struct http_upgraded *upgraded);
/* At once. */
void http_upgraded_cut(struct http_upgraded *upgraded);
/* How long it takes to the client and back, smoothed, as the kernel has measured it; to a proxy when
 * there is one in between. 0: not known. */
int64_t http_upgraded_round_trip_ms(const struct http_upgraded *upgraded);
/* The loop's time. */
uint64_t http_upgraded_now_ms(const struct http_upgraded *upgraded);

#endif
