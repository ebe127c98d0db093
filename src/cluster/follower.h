/* SPDX-License-Identifier: MIT */
/* follower.h - what does a node do with its clients while another one owns the records?
 *
 * It passes them on. A connection's first request that is not for this node alone goes to the owner,
 * as it came, with one header more (Tocsin-Forwarded: NODE), and from then on the connection is a
 * tunnel in both directions until both sides have ended: streams, upgrades, long polls, 100-continue
 * and keep-alive are the owner's. What follows on the same connection goes to the owner, too,
 * whatever it is.
 *
 *   a request with Tocsin-Forwarded                      503: passed on once, never again
 *   GET or HEAD /healthz, /readyz, /metrics, /v1/info    answered here, by on_request
 *   any other                                            to the owner
 *   with tls: whatever comes                             to the owner, unread
 *
 * Promise   bytes are passed on as they came. A request goes to at most one owner: once a connection
 *           to it stands, the request is never sent again. When the owner changes, the tunnels to
 *           the one before are cut: nobody goes on talking to one that is none any more.
 * Nobody    owns, or the owner cannot be reached: the client waits up to wait_ms for one, and an
 *           owner is tried again every 100 ms; then it is 503 UNAVAILABLE with Retry-After: 1,
 *           and with TLS the connection is closed.
 * Reach     with probe_ms the owner is looked at when it is set, every probe_ms, and when something
 *           could not be passed on: whether it answers, and as the owner. When it has not for 2 s,
 *           on_reach is told, and follower_unreached says why.
 * Trust     nothing is: Host, Origin and token are checked by the owner, by the same bytes. So what
 *           clients call this node must be among the allowed_hosts of every node.
 * Bounds    the connections of limits, once for those answered here and once for tunnels; waiting_max
 *           of them wait; what tunnels hold: tunnel.h. Heads are bounded and timed by limits.
 * Threads   the loop's.
 */
#ifndef TOCSIN_CLUSTER_FOLLOWER_H
#define TOCSIN_CLUSTER_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "net/http_server.h"
#include "net/loop.h"

struct follower;

enum { FOLLOWER_NODE_BYTES_MAX = 128 };

struct follower_options {
    struct loop *loop;
    const char *node;          /* who we are: printable, at most FOLLOWER_NODE_BYTES_MAX */
    const char *const *listen; /* "127.0.0.1:7400", "[::1]:0" */
    size_t listen_count;
    const int *listen_fds;     /* NULL, or for each what listens there already: http_server.h */
    bool tls;                  /* pass through unread: the nodes share a certificate */
    struct http_limits limits; /* as the owner's */
    uint32_t wait_ms;          /* for an owner; 0: 3 000 */
    uint32_t connect_ms;       /* one attempt to reach it; 0: 2 000 */
    uint32_t waiting_max;      /* 0: 1 024; more are answered 503 at once */
    uint64_t held_bytes_max;   /* of all tunnels; 0: 256 MiB */
    uint32_t probe_ms;         /* between two looks at the owner; 0: none */
    /* The owner is not reached, and why; NULL: it is again. May be NULL. Not told when the owner
     * changes: nothing is known of the next one then. */
    void (*on_reach)(void *arg, const char *why);
    /* As http_server.h. Not asked with tls. */
    void (*on_request)(void *arg, struct http_exchange *exchange,
                       const struct http_request *request);
    void *arg;
};

/* What the options point to is copied. INVALID or BUSY, and why; the loop must then run on a little
 * when there are several addresses, of which the first were open already. */
enum tocsin_status follower_create(const struct follower_options *options,
                                   struct follower **ret_follower, struct tocsin_why *ret_why);
/* "127.0.0.1:43017": where it really listens. */
const char *follower_address(const struct follower *follower, size_t index);

/* "host:port": the owner is there, as far as is known; NULL: nobody owns now. The same as before:
 * nothing happens. INVALID, and why: it is no address; nobody owns, then. */
enum tocsin_status follower_set_owner(struct follower *follower, const char *address,
                                      struct tocsin_why *ret_why);

struct follower_stats {
    uint64_t tunnels;   /* open now */
    uint64_t waiting;   /* of them: for an owner, or to reach it */
    uint64_t forwarded; /* connections that reached an owner */
    uint64_t waited;    /* of all: those that had to wait for one */
    uint64_t refused;   /* 503, or closed */
    uint64_t cut;       /* because the owner changed */
    uint64_t bytes_to_owner;
    uint64_t bytes_to_clients;
    uint64_t held_bytes; /* now */
    uint64_t held_bytes_most;
};
void follower_stats(const struct follower *follower, struct follower_stats *ret_stats);

/* NULL: the owner is reached, or there is none, or it is too soon to say. */
const char *follower_unreached(const struct follower *follower);

/* This node is to own the records itself: no more connections are taken here. Those that wait for an
 * owner, and those that are passed on, stay; follower_set_owner with an address of our own serves
 * them. */
void follower_retire(struct follower *follower);
/* Closes everything now. The loop must run on until closed, which may be NULL; it is freed by
 * then. */
void follower_close(struct follower *follower, void (*closed)(void *arg), void *arg);

#endif
