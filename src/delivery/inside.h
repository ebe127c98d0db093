/* SPDX-License-Identifier: MIT */
/* inside.h - what the files of src/delivery share.
 *
 *   topic.c        destinations, their subscribers, and what is not told to all of them yet
 *   message.c      how a MESSAGE is encoded once for many
 *   session.c      CONNECT, heart-beats, errors, the end
 *   command.c      what a connected client may say
 *   transaction.c  what it says for later
 */
#ifndef TOCSIN_DELIVERY_INSIDE_H
#define TOCSIN_DELIVERY_INSIDE_H

#include "delivery/session.h"
#include "delivery/topic.h"

enum {
    TOPIC_BUCKETS = 16384,
    TOPIC_SLICE = 64,  /* subscribers, then it is the next topic's turn */
    MESSAGE_HEADS = 4, /* subscription ids whose head is kept for the next subscriber */
    DESTINATION_BYTES_MAX = 256,
    SUBSCRIPTION_ID_BYTES_MAX = 128,
    RECEIPT_BYTES_MAX = 256,
    SESSION_LOOK_MS = 1000, /* session_look is called this often */
    SESSION_PATIENCE = 6,   /* heart-beats, for a client that promised none */
};

enum ack_mode { ACK_AUTO, ACK_CLIENT, ACK_INDIVIDUAL };

struct topic;

struct subscription {
    struct subscription *next; /* of the topic */
    struct subscription *previous;
    struct subscription *next_own; /* of the session */
    struct session *session;
    struct topic *topic; /* NULL: a user's queue */
    uint64_t since;      /* the last publication it has got, or is not to get */
    uint64_t number;     /* in the session, never used again; for ack ids */
    uint64_t sent;       /* messages that want an ACK */
    uint64_t settled;    /* all before this one have one */
    uint64_t *unsettled; /* INDIVIDUAL: bit n % limits.unacknowledged: message n has none */
    enum ack_mode ack;
    uint32_t id_size;
    uint32_t destination_size;
    uint32_t prefix_size;
    char text[]; /* id; destination; "MESSAGE\nsubscription:…\n", as every head begins */
};

static inline struct bytes subscription_id(const struct subscription *subscription)
{
    return (struct bytes){subscription->text, subscription->id_size};
}

static inline struct bytes subscription_destination(const struct subscription *subscription)
{
    return (struct bytes){subscription->text + subscription->id_size,
                          subscription->destination_size};
}

static inline struct bytes subscription_prefix(const struct subscription *subscription)
{
    return (struct bytes){subscription->text + subscription->id_size +
                              subscription->destination_size,
                          subscription->prefix_size};
}

/* What is to be told, encoded but for each subscriber's own head. */
struct message {
    struct frame *tail;
    enum websocket_opcode opcode;
    struct frame *heads[MESSAGE_HEADS];
    uint32_t next_head;
};

struct publication {
    struct publication *next;
    uint64_t number;
    size_t body_bytes;
    struct message message;
};

struct topic {
    struct topic *next; /* of the bucket */
    uint64_t hash;
    struct subscription *first;
    struct subscription *last;
    uint32_t count;
    struct publication *pending;
    struct publication **pending_end;
    struct subscription *cursor; /* the next one to be told of the first pending */
    struct topic *next_active;
    bool active; /* in the list of those with something to tell */
    uint32_t size;
    char destination[];
};

struct session_slot {
    struct session *session; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct topics {
    struct topics_limits limits;
    struct topics_hooks hooks;
    struct siphash_key hash_key;
    const char *server;
    struct topic *buckets[TOPIC_BUCKETS];
    struct topic *active;
    struct topic **active_end;
    uint64_t numbers; /* of publications; the last one */
    struct session_slot *slots;
    uint32_t free_slot; /* limits.sessions: none */
    struct topics_counters counters;
};

/* A SEND, or a COMMIT of several, whose handlers are not done. */
struct unanswered {
    struct unanswered *next;
    uint64_t ticket;
    uint32_t left;
    uint32_t receipt_size; /* 0: nobody wants one */
    char receipt[];
};

struct transaction;

struct session {
    struct topics *topics;
    struct session_link link;
    uint64_t id;
    void *user;
    struct stomp_parser parser;
    size_t held; /* bytes of a frame that has come in part */
    struct subscription *subscriptions;
    uint32_t subscription_count;
    uint64_t numbers; /* of subscriptions */
    struct unanswered *unanswered;
    uint32_t unanswered_count;
    struct unanswered *leaving; /* DISCONNECT came; its receipt */
    uint64_t tickets;
    struct transaction *transactions;
    uint32_t transaction_count;
    uint32_t transaction_bytes;
    uint64_t heard_ms;
    uint64_t said_ms;
    uint64_t hear_ms; /* how often it promised to say something; 0: not at all */
    uint64_t say_ms;  /* how often it wants to hear something; 0: not at all */
    bool pinged;
    bool connected;
    bool ended; /* nothing is taken or said any more */
};

/* ---- message.c */

enum tocsin_status message_init(struct message *message, struct bytes destination,
                                const char *content_type, uint64_t number, struct bytes body);
void message_release(struct message *message);
/* Queues it for one subscriber, who may be ended by it. */
void message_deliver(struct message *message, struct subscription *subscription);

/* ---- topic.c */

/* Adds it to the topic, which is made when it is new. FULL; NO_MEMORY. */
enum tocsin_status topic_join(struct topics *topics, struct subscription *subscription);
void topic_leave(struct topics *topics, struct subscription *subscription);
/* What was published before this moment is told to this subscriber before anything else is. */
void topic_catch_up(struct subscription *subscription);

/* ---- session.c */

/* False: nobody hears it any more. */
bool session_push(struct session *session, struct frame *head, struct frame *tail);
/* A whole STOMP frame; it is released, failed or not. */
void session_push_text(struct session *session, struct buffer *text);
/* An ERROR about a frame, which may be NULL; then the end. */
void session_error(struct session *session, const struct stomp_frame *frame,
                   enum websocket_code code, const char *message, const char *detail);
void session_no_memory(struct session *session);

/* ---- command.c */

void command_take(struct session *session, const struct stomp_frame *frame);
/* What a COMMIT has kept. ticket: the COMMIT's. How many handlers are not done. */
uint32_t command_replay(struct session *session, const struct stomp_frame *frame, uint64_t ticket);
void command_receipt(struct session *session, struct bytes receipt);
/* Waits for so many handlers, then sends the receipt. False: the session has ended. */
bool command_wait(struct session *session, uint64_t ticket, uint32_t left, struct bytes receipt);
void command_forget(struct session *session, struct subscription *subscription);

/* ---- transaction.c */

void transaction_begin(struct session *session, const struct stomp_frame *frame);
/* False: the receipt is not to be sent now. */
bool transaction_end(struct session *session, const struct stomp_frame *frame, bool commit);
/* True: the frame belongs to a transaction, and was kept or refused. */
bool transaction_takes(struct session *session, const struct stomp_frame *frame);
void transaction_forget_all(struct session *session);

#endif
