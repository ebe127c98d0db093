/* SPDX-License-Identifier: MIT */
/* tunnel.h - how do the bytes of one socket get to another, and back?
 *
 * A client's socket and one to a far end, joined: what comes out of the one goes into the other, in
 * both directions, until both have ended. It knows no protocol.
 *
 *     tunnel_create      the client is there, and is not read
 *     tunnel_connect     to a far end; may be tried again when it failed
 *     tunnel_answer      or instead: nobody is there to connect to, and this is why
 *     tunnel_cut         at once, at any time
 *
 * Promise   bytes arrive in their order, none twice; none is missing before an end that is passed
 *           on as one. Who shuts its sending side still gets what the other says. When the far end
 *           is through, or breaks, the client gets all that came from it, then the end; what it
 *           still sends is taken for at most 2 s and 4 MiB, so that no reset eats the answer.
 *           on_closed is called once, never from inside a call of the caller's own; the tunnel is
 *           gone by then, and nothing else is called after it.
 * Bounds    in each direction at most 64 KiB are held, and the first bytes: one side is not read
 *           until the other has taken them; of all tunnels together at most bytes_max: who would
 *           hold more is cut. Who takes nothing for write_timeout_ms is cut, up to 1 s later.
 * Memory    about 1.3 KiB, and what is held.
 * Threads   the loop's.
 */
#ifndef TOCSIN_NET_TUNNEL_H
#define TOCSIN_NET_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "net/loop.h"

enum { TUNNEL_READ_BYTES = 64 * 1024 };

/* What all tunnels of one owner have in common. */
struct tunnels {
    struct loop *loop;
    uint64_t bytes_max;
    uint32_t write_timeout_ms;
    /* theirs, to be looked at */
    uint64_t held_bytes;
    uint64_t held_bytes_most; /* that there ever were */
    uint64_t bytes_to_far;
    uint64_t bytes_to_client;
    char read_buffer[TUNNEL_READ_BYTES];
};

struct tunnel;

struct tunnel_hooks {
    /* The end of a tunnel_connect: 0, or what libuv calls the error. */
    void (*on_connected)(void *arg, int error);
    void (*on_closed)(void *arg);
    void *arg;
};

/* The descriptor is taken, the bytes are copied: they go to the far end first. NULL: no memory, or
 * too much is held; the descriptor is closed. */
struct tunnel *tunnel_create(struct tunnels *tunnels, int fd, struct bytes first,
                             const struct tunnel_hooks *hooks);

/* Not while it is connecting or connected. 0: on_connected comes later, unless it is cut or given up
 * before; else what libuv calls the error, and it may be tried again. */
int tunnel_connect(struct tunnel *tunnel, const struct sockaddr *address);
/* Gives up an attempt that is under way: on_connected is not called for it. */
void tunnel_disconnect(struct tunnel *tunnel);

/* Says this to the client, and ends in good order. Not while it is connecting or connected. */
void tunnel_answer(struct tunnel *tunnel, struct bytes answer);

void tunnel_cut(struct tunnel *tunnel);

/* Has somebody waited too long? To be called about once a second. */
void tunnel_look(struct tunnel *tunnel, uint64_t now_ms);

#endif
