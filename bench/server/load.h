/* SPDX-License-Identifier: MIT */
/* load.h - how are requests sent and answers taken at the least cost?
 *
 * The client shares the processors with the server it measures: one thread, one epoll, one
 * recv and one send a connection and turn; requests are copied from a template with two
 * numbers patched in; of an answer no more is read than tells that it is good.
 *
 * Order     load_open, connections, requests, turns, load_close.
 * Errors    a refused or broken connection ends the benchmark: it would prove nothing.
 */
#ifndef TOCSIN_BENCH_SERVER_LOAD_H
#define TOCSIN_BENCH_SERVER_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONNECTIONS_MAX = 256 };

struct answer {
    size_t size;      /* of all of it */
    bool good;        /* every part of it */
    const char *body; /* of HTTP */
    size_t body_size;
};

struct connection;

/* One answer to a request of so many tasks, at the start of the bytes that have come; size 0:
 * it has not come in full. */
typedef struct answer answer_frame(const char *in, size_t size, unsigned units);
typedef void answer_taken(void *arg, struct connection *connection, const struct answer *answer);

struct connection {
    struct load *load;
    int fd;
    unsigned units;     /* of a request */
    unsigned under_way; /* requests without an answer */
    bool dirty;         /* has something to send */
    bool blocked;       /* the socket is full */
    answer_frame *frame;
    answer_taken *taken;
    void *arg;
    char *in;
    size_t in_size, in_room;
    char *out;
    size_t out_at, out_size, out_room;
};

struct load {
    int epoll;
    unsigned count;
    unsigned dirty_count;
    uint64_t under_way; /* on all connections */
    int64_t wall_ns;    /* when the bytes that are being read arrived */
    struct connection connections[CONNECTIONS_MAX];
    struct connection *dirty[CONNECTIONS_MAX];
};

void load_open(struct load *load);
struct connection *load_connect(struct load *load, unsigned short port, answer_frame *frame,
                                answer_taken *taken, void *arg);
/* Room at the end of what is to be sent; load_request says how much of it a request took. */
char *load_room(struct connection *connection, size_t bytes);
void load_request(struct connection *connection, size_t bytes);
/* Sends, waits at most so long, takes what came. */
void load_turn(struct load *load, int timeout_ms);
void load_close(struct load *load);

#endif
