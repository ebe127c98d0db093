/* SPDX-License-Identifier: MIT */
/* http_inside.h - how do the parts of the HTTP server see each other?
 *
 *   http_server.c      listens, accepts, sweeps, drains, closes
 *   http_connection.c  reads bytes and hands requests over; decides when reading stops, and
 *                      when a connection ends
 *   http_write.c       sends what was gathered, through TLS where there is any
 *   http_exchange.c    a request and the place of its answer in the order
 *   http_answer.c      how answers look
 *   http_upgrade.c     connections that speak something else by now
 *   http_take.c        connections that are given away
 *
 * Dirty     whatever happens to a connection marks it (http_connection_touch); at the end of
 *           the turn each marked one is settled once: written out, read on, or closed.
 * Closing   uv_close at once, the memory in its callback, which never runs inside a call of
 *           ours: so a connection can be used to the end of whatever is under way, and gone is
 *           never called from inside a handler.
 */
#ifndef TOCSIN_NET_HTTP_INSIDE_H
#define TOCSIN_NET_HTTP_INSIDE_H

#include <uv.h>

#include "net/address.h"
#include "net/http_chain.h"
#include "net/http_parse.h"
#include "net/http_server.h"
#include "net/http_upgrade.h"
#include "net/tls.h"

enum {
    HTTP_READ_BYTES = 64 * 1024,
    HTTP_DATE_BYTES = 32,
    HTTP_TURNED_AWAY_MAX = 64,           /* connections past the limit that still get their 503 */
    HTTP_SWEEP_MS = 100,                 /* a tenth of the connections each time */
    HTTP_SWEEP_PARTS = 10,               /* so each one is looked at once a second */
    HTTP_LINGER_MS = 2000,               /* for the client to take the last answer and leave */
    HTTP_LINGER_BYTES = 4 * 1024 * 1024, /* of what it sends meanwhile and nobody wants */
    HTTP_FLUSH_BYTES = 64 * 1024,        /* unsent: do not wait for the end of the turn */
    HTTP_PAUSE_BYTES = 256 * 1024,       /* unsent: take no further requests */
    HTTP_EXCHANGE_BYTES = 2048,          /* an exchange with its request, from the pool */
    HTTP_EXCHANGE_POOL_MAX = 1024,
};

/* What a connection is waiting for, which says how long it may. */
enum http_wait {
    HTTP_WAIT_NEW, /* decide anew, from now */
    HTTP_WAIT_HANDSHAKE,
    HTTP_WAIT_IDLE,
    HTTP_WAIT_HEAD,
    HTTP_WAIT_BODY,
    HTTP_WAIT_HANDLER, /* as long as the handler likes */
    HTTP_WAIT_WRITE,
    HTTP_WAIT_LINGER,
};

struct http_write;

struct http_connection {
    uv_tcp_t tcp;
    struct http_server *server;
    struct http_connection *next; /* a ring of all */
    struct http_connection *previous;
    struct http_connection *next_dirty;
    struct tls_session *tls;
    struct http_parser parser;
    char *in; /* of its own only for a request that is not whole, or not yet wanted */
    size_t in_size;
    size_t in_room;
    struct http_exchange *first; /* in the order of the requests */
    struct http_exchange *last;
    uint32_t exchange_count;
    struct http_chain plain;        /* with TLS: answers whose turn it is */
    struct http_chain out;          /* for the wire; without TLS: the answers */
    struct http_upgraded *upgraded; /* it speaks HTTP no more */
    struct http_write *writing;     /* the kernel would not take all of out at once */
    size_t unsent;                  /* bytes in plain, in out, and in the exchanges */
    size_t discarded;
    uint64_t since_ms; /* of wait */
    size_t write_left; /* at the last look: whether there is progress */
    uint8_t wait;
    bool dirty;
    bool reading;
    bool paused;       /* not reading, until answers have left */
    bool no_more;      /* takes no more requests: closes after the last answer */
    bool said_last;    /* an answer with "Connection: close" has its place in out */
    bool ended;        /* the client has shut its side */
    bool said_goodbye; /* we have nothing more to say */
    bool shut;         /* and have told the kernel */
    bool closing;
    bool closed; /* the handle is; the memory waits for the worker */
    bool handshaking;
    bool working; /* a worker has the TLS session */
    bool continue_due;
    bool looked; /* the taker was asked for the request that comes in */
    bool wanted; /* and wants it */
    bool turned_away;
};

enum http_exchange_state { HTTP_WAITING, HTTP_STREAMING, HTTP_ANSWERED };

struct http_exchange {
    struct http_exchange *next;
    struct http_connection *connection; /* NULL: the client is gone */
    struct http_request request;
    struct http_chain stash; /* the answer, while others are before it */
    void (*gone)(void *arg);
    void *gone_arg;
    char *taken; /* the connection's buffer, when the request was too large to copy */
    size_t held_bytes;
    uint8_t state;
    bool pooled;
    bool version_1_0;
    bool raw_stream; /* HTTP/1.0 has no chunks */
    bool close;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct http_parse_limits parse_limits;
    struct tls_context *tls;
    int fd;
    uv_poll_t listener;
    uv_timer_t sweep;
    uv_timer_t backoff;           /* after accept found no descriptor left */
    unsigned handles;             /* of these three, not yet closed */
    struct http_connection *ring; /* where the next sweep starts */
    struct http_connection *dirty;
    struct http_connection **dirty_end;
    struct loop_deferred settle;
    struct http_exchange *exchange_pool;
    size_t exchange_pool_count;
    struct http_header *look_headers; /* of a head that the taker is asked for */
    struct http_block_pool blocks;
    uint64_t held_bytes; /* of requests, in buffers and exchanges */
    uint64_t turned_away;
    struct http_counters counters;
    void (*on_drained)(void *arg);
    void *drained_arg;
    void (*on_closed)(void *arg);
    void *closed_arg;
    bool draining;
    bool closing;
    time_t date_s;
    char date[HTTP_DATE_BYTES];
    char address[ADDRESS_TEXT_BYTES];
    char read_buffer[HTTP_READ_BYTES]; /* every connection's, from the read to its callback */
};

/* http_connection.c */
bool http_connection_open(struct http_server *server, int fd, bool turned_away);
void http_connection_touch(struct http_connection *connection);
void http_connection_settle(struct http_connection *connection);
/* Has it waited too long? */
void http_connection_check(struct http_connection *connection, uint64_t now_ms);
/* Nobody is told; the exchanges are gone. */
void http_connection_close(struct http_connection *connection);
/* Takes no more requests, and closes after what is under way; at once when nothing is. */
void http_connection_retire(struct http_connection *connection);
/* Answers with a problem, in its turn, and retires. */
void http_connection_refuse(struct http_connection *connection, int status, const char *detail);
/* The memory, when handle and worker are through with it. */
void http_connection_free(struct http_connection *connection);

/* http_handshake.c */
void http_handshake_go_on(struct http_connection *connection);

/* http_write.c */
/* False: the connection is broken. */
bool http_connection_flush(struct http_connection *connection);
/* What the TLS session has for the wire goes to the end of out. False: no memory. */
bool http_connection_take_tls(struct http_connection *connection);
/* The last word was said: shut our side, and wait for the client to shut its own. */
void http_connection_say_goodbye(struct http_connection *connection);

static inline struct http_chain *http_connection_answers(struct http_connection *connection)
{
    return connection->tls != NULL ? &connection->plain : &connection->out;
}

/* Whatever is answered from now on, nobody hears it. */
static inline bool http_connection_deaf(const struct http_connection *connection)
{
    return connection->closing || connection->said_last;
}

/* http_take.c */
/* Asks the taker, once a request, when its head is whole. DONE: it was asked, or there is none. */
enum http_parse_end http_take_look(struct http_connection *connection, char *data, size_t size);
/* Gives away a connection that is wanted, with these bytes. False: not yet. */
bool http_take(struct http_connection *connection, const char *data, size_t size);

/* http_exchange.c */
/* A copy of the request the parser has found in data; or of nothing, for a refusal. NULL: no
 * memory, or too much is held. own: the connection's buffer, when all of it is this request. */
struct http_exchange *http_exchange_create(struct http_connection *connection, const char *data,
                                           char *own);
struct http_exchange *http_exchange_create_empty(struct http_connection *connection);
void http_exchange_push(struct http_connection *connection, struct http_exchange *exchange);
/* Answers whose turn has come go to the connection's out. */
void http_exchange_advance(struct http_connection *connection);
/* When the connection is closed: each is gone, or left to whoever will still answer it. */
void http_exchange_abandon_all(struct http_connection *connection);
void http_exchange_free(struct http_server *server, struct http_exchange *exchange);
bool http_server_hold(struct http_server *server, size_t bytes);
void http_server_unhold(struct http_server *server, size_t bytes);

/* http_answer.c */
/* Into the exchange's place. False: no memory. */
bool http_answer_problem(struct http_exchange *exchange, int status, const char *detail);

/* http_upgrade.c */
void http_upgraded_take(struct http_upgraded *upgraded, char *bytes, size_t size);
void http_upgraded_settle(struct http_upgraded *upgraded);
void http_upgraded_look(struct http_upgraded *upgraded, uint64_t now_ms);
void http_upgraded_drain(struct http_upgraded *upgraded);
/* Tells, and frees it. */
void http_upgraded_closed(struct http_upgraded *upgraded);

/* http_server.c */
void http_server_forget(struct http_connection *connection);

#endif
