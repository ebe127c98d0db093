/* SPDX-License-Identifier: MIT */
/* websocket.h - what does this WebSocket client say, and what is it told?
 *
 * A connection of the HTTP server that has become a WebSocket (RFC 6455): pings are answered,
 * the closing handshake is done, and the payload of messages is handed on as it comes.
 *
 * Promise   whoever breaks the protocol gets a close frame with the code that says why
 *           (websocket_parse.h has the list). on_gone is called once, as the last thing, never
 *           from inside a call of the user's own.
 * Slow      a client that leaves more than queue_bytes unread is told so (1008), as far as it
 *           still takes anything, and cut off 2 s later; what was queued for it is forgotten.
 * Memory    nothing is buffered but what waits to be sent.
 * Threads   the loop's.
 */
#ifndef TOCSIN_NET_WEBSOCKET_H
#define TOCSIN_NET_WEBSOCKET_H

#include "net/frame.h"
#include "net/http_server.h"
#include "net/websocket_handshake.h"
#include "net/websocket_parse.h"

struct websocket;

struct websocket_counters {
    uint64_t opened;
    uint64_t open;
    uint64_t slow;      /* cut off: did not read */
    uint64_t broken;    /* broke the protocol, or sent text that is none */
    uint64_t too_large; /* a message over the limit */
};

struct websocket_options {
    uint64_t message_bytes; /* then 1009 */
    uint64_t queue_bytes;   /* then it is slow */
    struct websocket_counters *counters;
    void (*on_heard)(void *arg);                    /* whatever it was: the client lives */
    void (*on_data)(void *arg, struct bytes piece); /* of a message, text or binary */
    void (*on_look)(void *arg, uint64_t now_ms);    /* about once a second, while it is open */
    void (*on_gone)(void *arg);                     /* the websocket is freed after this */
    void *arg;
};

/* 101: answered so. Else nothing was answered: the status, sentence and headers to refuse with are
 * given. 503: no memory. Inside on_request only. */
int websocket_open(struct http_exchange *exchange, const char *const *protocols,
                   const struct websocket_options *options, struct websocket **ret_websocket,
                   char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem);

/* A whole frame with its head, one reference; NULL: no memory. */
struct frame *websocket_frame(enum websocket_opcode opcode, struct bytes payload);

/* Frames with their head (websocket_head), perhaps in two parts; shared, not taken; tail may be
 * NULL. False: it is not open, or no longer, because this was too much for a slow reader. */
bool websocket_send(struct websocket *websocket, struct frame *head, struct frame *tail);
bool websocket_is_open(const struct websocket *websocket);
void websocket_ping(struct websocket *websocket);
/* With a close frame; the reason is cut after 123 bytes. What was queued before is still sent. */
void websocket_close(struct websocket *websocket, enum websocket_code code, const char *reason);
int64_t websocket_round_trip_ms(const struct websocket *websocket); /* as http_upgrade.h has it */
uint64_t websocket_now_ms(const struct websocket *websocket);

#endif
