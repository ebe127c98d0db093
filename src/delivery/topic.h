/* SPDX-License-Identifier: MIT */
/* topic.h - who is told of what happens, and how do 10 000 hear of it at once?
 *
 * Destinations ("/topic/room.7") and those who have subscribed to them. What is published is
 * encoded once, and every subscriber's queue holds a reference to it:
 *
 *     WebSocket head, MESSAGE, subscription     shared by all whose subscription has this id
 *     destination, content-type, message-id … body     shared by all
 *
 * Promise   each subscriber of a topic gets what was published to it after it had subscribed, in
 *           that order, once, as long as it reads: who does not is cut off and felt by nobody
 *           else. Nothing is kept for who is not there. Between two topics there is no order.
 * Cost      topic_publish encodes, and queues. Telling is done by topics_run in slices: the owner
 *           of the loop says how many a turn. Topics take turns, 64 subscribers each.
 * Limits    struct topics_limits.
 * Threads   one.
 */
#ifndef TOCSIN_DELIVERY_TOPIC_H
#define TOCSIN_DELIVERY_TOPIC_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/bytes.h"
#include "base/siphash.h"
#include "net/stomp_parse.h"

struct topics;
struct session;

struct topics_limits {
    uint32_t sessions;
    uint32_t topics;            /* with a subscriber */
    uint32_t subscriptions;     /* of one session */
    uint32_t unacknowledged;    /* messages of one subscription; then the session is ended */
    uint32_t unanswered;        /* sends of one session that wait for their end; likewise */
    uint32_t transactions;      /* of one session */
    uint32_t transaction_bytes; /* of all transactions of one session */
    uint32_t connect_ms;        /* until CONNECT has come */
    uint32_t heart_beat_ms;     /* what we offer, and ask for */
    uint64_t pending_bytes;     /* published, and not yet told to all */
    uint64_t frame_bytes;       /* of frames that have come in part, of all sessions together */
    struct stomp_limits frame;
};

extern const struct topics_limits topics_limits_default;

/* What a client sent is done with when it returns, or when session_finish says so: then it gets
 * the receipt it has asked for. */
enum session_when { SESSION_DONE, SESSION_LATER };

struct topics_hooks {
    /* May they? At NULL: not given. NULL, or why not. */
    const char *(*on_connect)(void *arg, struct session *session, struct bytes login,
                              struct bytes passcode);
    /* A SEND. The frame's bytes are borrowed. LATER: session_finish is called once with this
     * ticket, after this has returned. */
    enum session_when (*on_send)(void *arg, struct session *session,
                                 const struct stomp_frame *frame, uint64_t ticket);
    /* One that had connected is gone; the last word on it. */
    void (*on_end)(void *arg, struct session *session);
    /* There is something to run: topics_run is to be called soon. */
    void (*wake)(void *arg);
    uint64_t (*now_ms)(void *arg); /* of a clock that only rises */
    void *arg;
};

struct topics_options {
    struct topics_limits limits;
    struct topics_hooks hooks;
    struct siphash_key hash_key;
    const char *server; /* "tocsin/0.1.0" */
};

enum tocsin_status topics_create(const struct topics_options *options, struct topics **ret_topics);
/* All sessions must be destroyed by then. */
void topics_destroy(struct topics *topics);

/* To all who are subscribed now. OK, also when that is nobody; OVERLOADED when too much is not
 * told yet; NO_MEMORY. */
enum tocsin_status topic_publish(struct topics *topics, struct bytes destination,
                                 const char *content_type, struct bytes body);

/* Who would be told: so that what nobody hears need not be made. */
bool topic_has_subscribers(struct topics *topics, struct bytes destination);

/* Tells at most so many subscribers. True: there is more to do. */
bool topics_run(struct topics *topics, uint32_t max);

struct topics_counters {
    uint64_t sessions;      /* that are there */
    uint64_t connected;     /* that CONNECTed, ever */
    uint64_t topics;        /* that are there */
    uint64_t subscriptions; /* that are there */
    uint64_t published;
    uint64_t delivered; /* MESSAGE frames queued */
    uint64_t untold;    /* for one session, which had not subscribed to it */
    uint64_t received;  /* frames of clients */
    uint64_t refused;   /* ERROR frames */
    uint64_t silent;    /* sessions that broke their heart-beat, or did not CONNECT in time */
    uint64_t nacked;    /* messages a client would not have */
    uint64_t pending;   /* publications not told to all yet */
    uint64_t pending_bytes;
    uint64_t frame_bytes; /* held for frames that have come in part */
};
void topics_describe(const struct topics *topics, struct topics_counters *ret_counters);

/* Do the books agree with a recount? CORRUPT, and why. */
enum tocsin_status topics_check(const struct topics *topics, struct tocsin_why *ret_why);

#endif
