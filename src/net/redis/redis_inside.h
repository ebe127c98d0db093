/* SPDX-License-Identifier: MIT */
/* redis_inside.h - how is the Redis client made inside?
 *
 *   redis.c          calls: given, waiting, past their deadline, done; the end of the client
 *   redis_connect.c  a link: name, address, hello, loss, and when to try again
 *   redis_link.c     what a link writes and reads
 *   redis_command.c  a call as bytes, in chunks that many share
 *   redis_reply.c    hiredis's parser, with replies in memory of our own
 *
 * A call waits (redis->waiting), then flies (redis->flying), then is done. It flies from the
 * moment the kernel has taken the first byte of it: until then it is FAILED when it ends, from
 * then on UNKNOWN. So we write to the socket ourselves, where it is known what was taken.
 *
 *   RESTING --timer--> CONNECTING --connected--> HELLO --yes to all--> READY
 *      ^-------------------'<----------------------'<--------------------'
 */
#ifndef TOCSIN_NET_REDIS_REDIS_INSIDE_H
#define TOCSIN_NET_REDIS_REDIS_INSIDE_H

#include "redis.h"

#include <netdb.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include "schedule/backoff.h"

enum {
    REDIS_REPLY_BYTES_MAX = 64 << 20,
    REDIS_REPLY_ELEMENTS_MAX = 1 << 20,
    REDIS_LINE_BYTES_MAX = 64 << 10, /* of a reply that is one line, and of what says a length */
    REDIS_COMMAND_BYTES_MAX = 64 << 20,
    REDIS_QUEUED_BYTES_MAX = 256 << 20,
    REDIS_CHUNK_BYTES = 64 << 10,
    REDIS_CHUNKS_SPARE_MAX = 16,
    REDIS_READ_BYTES = 64 << 10,
    REDIS_WHY_BYTES = 512,
    REDIS_SCAN_MS = 10, /* deadlines are looked at no more often */
};

/* ---- redis_reply.c */

struct reply_block;

/* The memory of one reply; all of it is given back at once. */
struct redis_replies {
    struct reply_block *blocks; /* beyond what fits in here */
    size_t used;
    size_t total;
    const char *why; /* it was refused */
    _Alignas(max_align_t) char here[1024];
};

struct redis_reader {
    redisReader *parser;
    struct redis_replies replies;
};

bool redis_reader_init(struct redis_reader *reader);
void redis_reader_release(struct redis_reader *reader);
/* False when these bytes are no reply, or one that is too large; then *ret_why says so. */
bool redis_reader_feed(struct redis_reader *reader, const char *bytes, size_t size,
                       const char **ret_why);
/* The next whole one; *ret_reply is NULL when there is none yet. */
bool redis_reader_next(struct redis_reader *reader, const struct redisReply **ret_reply,
                       const char **ret_why);
/* The reply is not needed any more. */
void redis_reader_forget(struct redis_reader *reader);

/* ---- redis_command.c */

/* Commands, one behind the other. It goes when the last of its calls is done. */
struct redis_chunk {
    struct redis_chunk *next; /* among the spare ones */
    size_t used;
    size_t room;
    size_t calls;
    char data[];
};

struct redis_chunks {
    struct redis_chunk *open; /* is being filled */
    struct redis_chunk *spare;
    size_t spare_count;
    size_t bytes; /* of calls that are not done */
};

struct redis_words {
    const struct bytes *at;
    size_t count;
};

/* Puts the words of all lists into the call as one command. NULL, or why it cannot be done. */
const char *redis_command_store(struct redis_chunks *chunks, struct redis_call *call,
                                const struct redis_words *lists, size_t list_count);
void redis_command_drop(struct redis_chunks *chunks, struct redis_call *call);
void redis_chunks_release(struct redis_chunks *chunks);

/* ---- queues */

struct redis_queue {
    struct redis_call *first;
    struct redis_call *last;
    bool unordered; /* a deadline lies before one in front of it */
};

void redis_queue_append(struct redis_queue *queue, struct redis_call *call);
void redis_queue_remove(struct redis_queue *queue, struct redis_call *call);
/* NULL when it is empty. */
struct redis_call *redis_queue_take(struct redis_queue *queue);

/* ---- a link: one attempt to have a connection, and the connection */

struct redis_link {
    struct redis *redis;
    uv_getaddrinfo_t resolve;
    struct addrinfo *addresses; /* the resolver's; NULL: the address is given */
    const struct addrinfo *next;
    uv_poll_t poll;
    int fd;
    int events;
    int64_t since_ms;
    bool resolving;
    bool polling;
    bool reading;  /* the reader is there */
    bool answered; /* a call was, so it is a good one */
    struct redis_reader reader;
};

enum redis_state { REDIS_RESTING, REDIS_CONNECTING, REDIS_HELLO, REDIS_READY };

struct redis_script {
    struct bytes text;
    char sha[41];
    struct redis_call load; /* when Redis has forgotten it */
    bool loading;
};

struct redis {
    uv_loop_t *uv;
    struct redis_options options; /* its texts are ours */
    char *texts;
    struct redis_script *scripts;
    char where[288]; /* host:port, for a person */

    enum redis_state state;
    struct redis_link *link; /* NULL while RESTING */
    struct redis_queue hello;
    struct redis_queue waiting;
    struct redis_queue flying;
    struct redis_call *partial; /* the last that flies: the kernel has only the first bytes of it */
    size_t partial_bytes;
    struct redis_call *hellos; /* AUTH, SELECT, a load each, PING */
    struct redis_chunks chunks;
    struct redis_stats stats;
    int64_t earliest_ms; /* no deadline lies before it */
    int64_t looked_ms;   /* when deadlines were last looked at */

    struct backoff backoff;
    uint32_t failures; /* attempts in a row */
    uint64_t chance;
    char why[REDIS_WHY_BYTES]; /* there is no connection */
    char told[REDIS_WHY_BYTES];

    uv_timer_t timer;    /* RESTING: the next attempt; else until READY: its time is up */
    uv_timer_t deadline; /* of the calls */
    uv_check_t check;    /* the end of the turn */
    uv_idle_t idle;      /* there will be one at once */
    bool at_end;         /* both are started */
    unsigned handles;    /* that are not closed */
    unsigned links;      /* of which libuv knows yet */
    bool resolving;      /* one of them its name */

    bool closing;
    bool finished;
    int64_t close_ms;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* ---- redis.c */

int64_t redis_now_ms(void);
/* There is something to do at the end of this turn: write, or close. */
void redis_at_end(struct redis *redis);
void redis_end_call(struct redis *redis, struct redis_call *call, enum redis_outcome outcome,
                    const struct redisReply *reply, const char *why);
/* Redis has answered the first that flies. */
void redis_answer(struct redis *redis, const struct redisReply *reply);
/* Ends the calls whose deadline has passed; the link, too, when one of them flew. */
void redis_expire(struct redis *redis, int64_t now_ms);
void redis_gone_if_closed(struct redis *redis);

/* ---- redis_connect.c */

void redis_connect_later(struct redis *redis, uint64_t delay_ms);
/* It is over; those that flew are UNKNOWN, and it is tried again. */
void redis_link_lost(struct redis_link *link, const char *why);
void redis_link_discard(struct redis_link *link);

/* ---- redis_link.c */

void redis_link_on_event(uv_poll_t *poll, int status, int events);
void redis_link_watch(struct redis_link *link, int events);
/* Hands over what waits, as far as the kernel takes it. */
void redis_link_write(struct redis_link *link);
/* redis_connect.c: the socket is connected, or is not and never will be. */
void redis_link_connected(struct redis_link *link);

#endif
