/* SPDX-License-Identifier: MIT */
/* follower_inside.h - how do the parts of the follower see each other?
 *
 *   follower.c          listens, sorts requests, begins and ends
 *   follower_passage.c  the way of one connection to the owner
 *   follower_owner.c    who the owner is, and at which addresses
 *   follower_probe.c    whether it is reached
 *
 * A passage is pending until it is through or refused: it waits for an owner, or for the next try
 * (PASSAGE_WAITS), or an attempt is under way (PASSAGE_CONNECTS).
 */
#ifndef TOCSIN_CLUSTER_FOLLOWER_INSIDE_H
#define TOCSIN_CLUSTER_FOLLOWER_INSIDE_H

#include <uv.h>

#include "base/buffer.h"
#include "cluster/follower.h"
#include "net/lookup.h"
#include "net/tunnel.h"

enum {
    FOLLOWER_TICK_MS = 50,
    FOLLOWER_LOOK_PARTS = 20,  /* so each passage is looked at once a second */
    FOLLOWER_RETRY_MS = 100,   /* to reach an owner that could not be reached */
    FOLLOWER_LOOKUP_MS = 1000, /* until a name is looked up again */
    FOLLOWER_LOOKUPS_MAX = 4,  /* at once; of owners before, which cannot be called back */
    FOLLOWER_REASON_BYTES = 128,
    FOLLOWER_DETAIL_BYTES = 1024,
};

/* How a follower answers what was passed on to it. */
#define FOLLOWER_NOT_OWNER "this node is not the owner either"

enum passage_state { PASSAGE_WAITS, PASSAGE_CONNECTS, PASSAGE_THROUGH, PASSAGE_ENDS };

struct passage {
    struct follower *follower;
    struct passage *next; /* the ring of the pending, or of the others */
    struct passage *previous;
    struct tunnel *tunnel;
    uint64_t until_ms; /* new attempts are made up to then */
    uint64_t since_ms; /* CONNECTS: of the attempt */
    uint64_t again_ms; /* WAITS: not before */
    uint32_t tries;
    uint8_t state;
    bool counted_waiting;
    bool without_body; /* it is a HEAD */
};

struct destination {
    char address[LOOKUP_TEXT_BYTES]; /* empty: nobody owns */
    char before[LOOKUP_TEXT_BYTES];  /* the last one; empty: none was ever seen */
    uint64_t since_ms;               /* that it is so */
    uint64_t number;                 /* of the changes: an older lookup's answer is not for us */
    struct sockaddr_storage found[LOOKUP_ADDRESSES_MAX];
    size_t found_count;
    struct lookup *lookup;              /* under way, for this one */
    uint64_t again_ms;                  /* the next one not before */
    char reason[FOLLOWER_REASON_BYTES]; /* why it could not be reached the last time; or empty */
};

/* Whether the owner is reached; probe_ms 0: nobody looks. */
struct reach {
    uv_timer_t timer;
    struct probe *probe; /* the attempt that is under way */
    uint32_t tries;
    bool failing;
    bool told;           /* … for so long that somebody should know */
    uint64_t failing_ms; /* since when */
    char why[FOLLOWER_DETAIL_BYTES];
};

struct follower {
    struct follower_options options;
    struct loop *loop;
    char node[FOLLOWER_NODE_BYTES_MAX + 1];
    char header[FOLLOWER_NODE_BYTES_MAX + 32]; /* "Tocsin-Forwarded: NODE\r\n" */
    struct http_server **servers;
    size_t server_count;
    struct passage *pending;
    struct passage *others;
    uint64_t pending_count;
    uint64_t open;
    struct destination owner;
    struct reach reach;
    unsigned lookups; /* under way, also of owners before */
    struct follower_stats stats;
    uv_timer_t timer;
    bool ticking;
    bool closing;
    bool retired;
    unsigned parts; /* servers, timers and a probe: not yet closed */
    void (*closed)(void *arg);
    void *closed_arg;
    struct tunnels tunnels;
};

static inline uint64_t follower_now_ms(const struct follower *follower)
{
    return uv_now(loop_uv(follower->loop));
}

/* follower.c */
/* Frees it when all is closed. */
void follower_end_when_through(struct follower *follower);
void follower_tick_on(struct follower *follower);
/* A problem+json of status 503. */
void follower_problem(struct buffer *out, const char *code, const char *detail);

/* follower_passage.c */
void passage_begin(struct follower *follower, int fd, struct bytes bytes, size_t head_bytes);
/* All that is due now, of the pending; and a part of the others is looked at. */
void passages_tick(struct follower *follower);
/* The owner has changed. */
void passages_turn(struct follower *follower);
void passages_cut(struct follower *follower);

/* follower_owner.c */
void owner_init(struct follower *follower);
/* Where to try the next time; NULL: not known, yet. */
const struct sockaddr *owner_place(struct follower *follower, uint32_t tries);
/* It could not be reached. */
void owner_note(struct follower *follower, const char *reason);
void owner_tick(struct follower *follower);
/* Why nothing is passed on just now, for a person. */
void owner_say(const struct follower *follower, char text[FOLLOWER_DETAIL_BYTES]);
void owner_release(struct follower *follower);

/* follower_probe.c */
void probe_init(struct follower *follower);
/* The owner has changed: it is looked at at once. */
void probe_turn(struct follower *follower);
/* Something could not be passed on. */
void probe_hurry(struct follower *follower);
void probe_close(struct follower *follower, void (*closed)(uv_handle_t *timer));

#endif
