/* SPDX-License-Identifier: MIT */
/* ballast.h - is there room left for what must go on when the disk is full?
 *
 * A file that holds disk space and nothing else. When the disk is full it is thrown overboard,
 * so that work can still be ended; when there is room for twice as much again, it is taken in
 * again, a slice at a time.
 *
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
};

/* Finds what is there from before. */
void ballast_init(struct ballast *ballast, const struct store_dir *dir, uint64_t wanted_bytes);

/* True when there was something to throw. */
bool ballast_drop(struct ballast *ballast);

bool ballast_whole(const struct ballast *ballast);

/* Whether new work may still be written: what is missing of the ballast is free, on the disk or
 * inside the files. Otherwise that room belongs to what ends work. */
bool ballast_covered(const struct ballast *ballast, uint64_t inside_bytes);

/* A slice of what is missing, if the disk has room for it to spare. */
void ballast_take_in(struct ballast *ballast);

#endif
