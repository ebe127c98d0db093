/* SPDX-License-Identifier: MIT */
/* commit_counter.h - how many commits were there, by another witness?
 *
 * A flipped byte in SQLite's write-ahead log ends the log there, in silence: what was committed
 * after it is gone. So the number of each commit is written to a file beside it, after the
 * commit and without a sync. It may lag behind, when power fails; it never leads. When it is
 * above what the database knows, acknowledged commits are missing.
 *
 * The file `commits`, 32 bytes, numbers in the byte order of the machine:
 *
 *     0  8  "tocsin-n"
 *     8  8  the incarnation of the database it belongs to
 *    16  8  the number of the last commit
 *    24  4  crc32c of the above
 *    28  4  zero
 *
 * Cost      a small write a commit, into the page cache.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_COMMIT_COUNTER_H
#define TOCSIN_STORE_COMMIT_COUNTER_H

#include "store/store_dir.h"

struct commit_counter {
    int fd; /* -1: none */
    uint64_t incarnation;
};

/* What it says about this incarnation; 0 when it says nothing, or cannot be read: a witness
 * that is missing accuses nobody. With incarnation 0: of whichever it is. */
uint64_t commit_counter_read(const struct store_dir *dir, uint64_t incarnation);

/* There from the first start on, whatever it says. */
bool commit_counter_exists(const struct store_dir *dir);

enum tocsin_status commit_counter_open(struct commit_counter *counter, const struct store_dir *dir,
                                       uint64_t incarnation, struct tocsin_why *ret_why);
void commit_counter_close(struct commit_counter *counter);

/* A write that fails leaves it behind, which is allowed. */
void commit_counter_write(struct commit_counter *counter, uint64_t commit);

#endif
