/* SPDX-License-Identifier: MIT */
/* stomp_socket.h - how does an HTTP request become a STOMP session?
 *
 * A WebSocket (net/websocket.h) with a session (session.h) on it: the bytes of one go to the
 * other, and both end together.
 *
 * Threads   the loop's.
 */
#ifndef TOCSIN_DELIVERY_STOMP_SOCKET_H
#define TOCSIN_DELIVERY_STOMP_SOCKET_H

#include "delivery/topic.h"
#include "net/websocket.h"

struct stomp_socket_options {
    struct topics *topics;
    uint64_t message_bytes;
    uint64_t queue_bytes;
    struct websocket_counters *counters;
};

/* 101: answered so, and the exchange is gone. Else nothing was answered: the status, the sentence
 * and the headers to refuse with. 503: as many are open as may be, or no memory. Inside on_request
 * only. */
int stomp_socket_open(struct http_exchange *exchange, const struct stomp_socket_options *options,
                      char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem);

#endif
