/* SPDX-License-Identifier: MIT */
/* crash_vfs.h - what would be on the disk if power failed now?
 *
 * A layer between SQLite and the system's files, named "crash". It writes down every change of a
 * file (an op: a write, a truncation or a sync), and can let chosen ops fail. From what it wrote
 * down, crash_cut makes the files as they may be when power fails after the first n ops: what
 * was synced is there; of what was not, none, all, or some of the sectors.
 *
 *     struct crash_disk *disk = crash_disk_create();       SQLite knows "crash" from now on
 *     … open the store with .vfs = "crash", commit, crash_disk_mark(disk, i) …
 *     struct crash_cut *cut = crash_cut_create(disk);
 *     while (crash_cut_next(cut))                          after 1 op, after 2 ops, …
 *         crash_cut_write(cut, CRASH_SOME, &random, directory);
 *
 * Threads   one at a time; one disk at a time.
 */
#ifndef TEST_SUPPORT_CRASH_VFS_H
#define TEST_SUPPORT_CRASH_VFS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/random.h"

enum crash_fault {
    CRASH_NO_FAULT,
    CRASH_EIO,      /* the op is not done */
    CRASH_NO_SPACE, /* a write is not done; other ops are */
    CRASH_SHORT,    /* a write is done by half, then the disk is full; other ops are done */
    CRASH_EIO_READ, /* counts reads instead */
    CRASH_FAULTS,
};

struct crash_disk;

struct crash_disk *crash_disk_create(void);
void crash_disk_destroy(struct crash_disk *disk);

/* Ops `from` … `from + times - 1` fail, counted from this call on, 0 being the first. */
void crash_disk_fail(struct crash_disk *disk, enum crash_fault fault, uint64_t from,
                     uint64_t times);
/* How many ops have failed since. */
uint64_t crash_disk_failed(const struct crash_disk *disk);
/* Above this size in all, files cannot grow. 0: no limit. */
void crash_disk_limit(struct crash_disk *disk, uint64_t bytes);
/* Ops from now on carry this number. */
void crash_disk_mark(struct crash_disk *disk, uint64_t mark);

enum crash_variant { CRASH_NONE, CRASH_ALL, CRASH_SOME, CRASH_VARIANTS };

struct crash_cut;

/* As of now; what the disk does later is not in it. */
struct crash_cut *crash_cut_create(const struct crash_disk *disk);
void crash_cut_destroy(struct crash_cut *cut);
/* One op further. False: there are no more. */
bool crash_cut_next(struct crash_cut *cut);
/* The mark of the last op. */
uint64_t crash_cut_mark(const struct crash_cut *cut);
uint64_t crash_cut_ops(const struct crash_cut *cut);
/* The files as they may be then, into an empty directory. */
void crash_cut_write(const struct crash_cut *cut, enum crash_variant variant,
                     struct test_random *random, const char *directory);

#endif
