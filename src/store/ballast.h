/* SPDX-License-Identifier: MIT */
/* ballast.h - is there room left for what must go on when the disk is full?
 *
 * A file that holds disk space and nothing else. When the disk is full it is thrown overboard,
 * so that work can still be ended; when there is room for twice as much again, it is taken in
 * again, a slice at a time.
 *
 * Promise   new work leaves at least half of this room to what ends work, whether the file holds
 *           it or not, as far as other programs leave it.
 * Cost      nothing while it is whole; otherwise a look at the free space at each call.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_BALLAST_H
#define TOCSIN_STORE_BALLAST_H

#include "store/store_dir.h"

struct ballast {
    const struct store_dir *dir;
    uint64_t wanted_bytes; /* 0: none is kept */
    uint64_t held_bytes;
    uint64_t least_bytes; /* of room, since it was thrown or new work was last refused */
    bool risen;           /* a good part of it has come back since */
};

/* Finds what is there from before. */
void ballast_init(struct ballast *ballast, const struct store_dir *dir, uint64_t wanted_bytes);

/* True when there was something to throw. */
bool ballast_drop(struct ballast *ballast);

bool ballast_whole(const struct ballast *ballast);

/* Whether new work of so many bytes may be written. While something is missing of the ballast, the
 * room on the disk and inside the files belongs to what ends work: new work gets what goes beyond
 * all that is missing; and what goes beyond half of it, once a quarter has come back.
 * inside_bytes is below 0 when the files have yet to grow. */
bool ballast_spares(struct ballast *ballast, int64_t inside_bytes, uint64_t work_bytes);

/* The ballast is there, and the disk has as much room besides. */
bool ballast_at_ease(const struct ballast *ballast);

/* A slice of what is missing, if the disk has room for it to spare. */
void ballast_take_in(struct ballast *ballast);

#endif
