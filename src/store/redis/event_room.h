/* SPDX-License-Identifier: MIT */
/* event_room.h - which events are given up, when they have so many bytes?
 *
 * The events kept are a run of seqs. They are counted in parts of about 1/64 of the maximum, so
 * that it is known how much goes with the oldest part without asking for what is in it. Those that
 * were there before are taken for equally large.
 *
 * Promise   no more than max bytes are kept, unless the last part alone has more.
 * Memory    about a kilobyte, whatever there is. A value: copied to try something.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_REDIS_EVENT_ROOM_H
#define TOCSIN_STORE_REDIS_EVENT_ROOM_H

#include <stddef.h>
#include <stdint.h>

enum { EVENT_ROOM_PARTS = 64 };

struct event_room {
    uint64_t max_bytes; /* 0: none are given up */
    uint64_t bytes;     /* of all that are kept */
    uint64_t next_seq;
    size_t count;
    struct event_part {
        uint64_t first_seq;
        uint64_t bytes;
    } parts[EVENT_ROOM_PARTS + 4]; /* the oldest first */
};

/* first_seq is above high_seq when there are none. */
void event_room_init(struct event_room *room, uint64_t max_bytes, uint64_t first_seq,
                     uint64_t high_seq, uint64_t bytes);
/* The event with the next seq comes; the oldest may go. */
void event_room_add(struct event_room *room, uint64_t bytes);
/* The oldest kept; next_seq when there is none. */
uint64_t event_room_first(const struct event_room *room);

#endif
