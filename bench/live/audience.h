/* SPDX-License-Identifier: MIT */
/* audience.h - when did each of them hear of it, and what did that cost the server?
 *
 * Clients of a swarm that listen to ticks, and watchers among them that listen to countdowns
 * which run out. A tick is due when a whole number of seconds is left: deadlineEpochMs less
 * left seconds. In a window of whole seconds every topic has a tick for each second, and every
 * client must hear each of them once.
 */
#ifndef TOCSIN_BENCH_LIVE_AUDIENCE_H
#define TOCSIN_BENCH_LIVE_AUDIENCE_H

#include "harness.h"
#include "server/peer.h"
#include "swarm.h"

enum { WATCHERS = 10, WATCHED = 60 /* countdowns of each */ };

struct audience {
    struct swarm swarm;
    uint32_t clients; /* those behind them are watchers */
    int64_t from_ms, to_ms;
    bool *hears; /* client: it has heard a tick */
    uint32_t hearing;
    float *late_ms;
    size_t late_count, late_room;
    float expired_ms[WATCHERS * WATCHED]; /* after the deadline: when the server ended it */
    float told_ms[WATCHERS * WATCHED];    /* … when the watcher heard of it */
    size_t expired_count;
    /* What a client does first, and with what is no tick. The second may be NULL. */
    void (*enter)(void *arg, struct swarm *swarm, uint32_t client);
    void (*other)(void *arg, struct swarm *swarm, uint32_t client, const char *body, size_t size);
    void *arg;
};

/* The caller has filled clients, enter, other and arg. */
void audience_open(struct audience *audience, unsigned seconds);
/* All clients, one after the other; what: for the line that says how far it is. */
void audience_enter(struct audience *audience, unsigned short port, bool greets, const char *what);
void audience_watch(struct audience *audience, unsigned short port);
/* Until every client has heard a tick. */
void audience_await(struct audience *audience);
void audience_close(struct audience *audience);

struct heard {
    struct bench_ranks late;
    double server_us, client_us; /* of a processor, for each message */
    double wait_ms;              /* that the server waited for a processor, in each second */
};
/* So many seconds from half a second past a whole one on. */
struct heard audience_listen(struct audience *audience, const struct child *child,
                             unsigned seconds);

struct expired {
    struct bench_ranks late; /* when the server ended it */
    struct bench_ranks told; /* when the watcher heard of it */
    double wait_ms;          /* as in struct heard, but in this window */
};
/* The same, while the countdowns of the watchers run out at random moments. */
struct expired audience_expire(struct audience *audience, const struct server *server,
                               unsigned seconds);

#endif
