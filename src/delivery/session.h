/* SPDX-License-Identifier: MIT */
/* session.h - what does one STOMP 1.2 client want, and what is it owed?
 *
 * The server's half of STOMP 1.2 on one connection: CONNECT, subscriptions, sends, receipts,
 * acknowledgements, transactions, heart-beats, errors. It reads bytes and sends WebSocket frames
 * through a link; time is the topics' now_ms.
 *
 * Promise   a receipt says that the frame was processed: a SEND's comes when its handler is done,
 *           behind what was published on its topics until then.
 *           Of DISCONNECT: that all before it was. Whatever is refused is an ERROR frame with a
 *           message and, when the frame had one, its receipt's id; then the connection ends.
 * Users     a subscription to "/user/queue/…" is the session's own: session_tell reaches this one
 *           session and no other.
 * Acks      with ack client or client-individual each message has an `ack` header. Whoever leaves
 *           more than limits.unacknowledged of a subscription without ACK or NACK is ended with an
 *           ERROR. A NACK is counted, and nothing is sent again: topics keep nothing.
 * Silence   a client that promised heart-beats and sent nothing for twice its interval is cut off.
 *           One that promised none is pinged, and cut off when it does not even answer that.
 * Threads   one.
 */
#ifndef TOCSIN_DELIVERY_SESSION_H
#define TOCSIN_DELIVERY_SESSION_H

#include "delivery/topic.h"
#include "net/frame.h"
#include "net/websocket_parse.h"

/* What a session speaks through. None of these calls the session back. */
struct session_link {
    /* Whole WebSocket frames, in one part or two; shared, not taken. False: nobody hears. */
    bool (*send)(void *arg, struct frame *head, struct frame *tail);
    void (*ping)(void *arg);
    void (*close)(void *arg, enum websocket_code code, const char *reason);
    void *arg;
    int64_t (*round_trip_ms)(void *arg); /* 0: not known. May be NULL. */
};

/* FULL; NO_MEMORY. */
enum tocsin_status session_create(struct topics *topics, const struct session_link *link,
                                  struct session **ret_session);
/* The connection is gone. */
void session_destroy(struct session *session);

/* Bytes from the client, cut anywhere. */
void session_take(struct session *session, struct bytes bytes);
/* The client shows life in some other way: it answered a ping. */
void session_heard(struct session *session);
/* About once a second: heart-beats. */
void session_look(struct session *session);

/* ---- for those who serve it */

/* Never used again in this process. */
uint64_t session_id(const struct session *session);
/* How long it takes to the client and back; 0: not known. */
int64_t session_round_trip_ms(const struct session *session);
/* NULL: it has ended. So who must wait keeps the id, not the pointer. */
struct session *session_find(struct topics *topics, uint64_t id);
/* The service's own; NULL at first. */
void session_set_user(struct session *session, void *user);
void *session_user(const struct session *session);

/* A message to this session alone, on its subscriptions to this destination ("/user/queue/…").
 * How many they were; 0 is counted. */
uint32_t session_tell(struct session *session, struct bytes destination, const char *content_type,
                      struct bytes body);

/* A send for which on_send said LATER is done. Of a session that is gone: nothing. */
void session_finish(struct topics *topics, uint64_t id, uint64_t ticket);

/* Ends it with an ERROR frame. */
void session_refuse(struct session *session, const char *message, const char *detail);

#endif
