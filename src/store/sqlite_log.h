/* SPDX-License-Identifier: MIT */
/* sqlite_log.h - how does SQLite's write-ahead log end?
 *
 * SQLite takes a log up to the last commit it can verify and passes over the rest in silence.
 * Read before SQLite opens it, the log tells what the rest is: nothing; the frames of an
 * earlier turn, left to be written over; or what a crash cut off.
 *
 * Only one commit is under way at a time, and the next begins when it is synced. So a torn tail
 * holds at most one commit; if frames of several commits follow one that does not verify, that
 * one has decayed.
 *
 * The file, numbers with the highest byte first:
 *
 *     0   4  0x377f0682 or …83: the sums are over words with the lowest / highest byte first
 *     8   4  page size
 *    16   8  salt: another one for each turn of the log
 *    24   8  sum of the above
 *    32      frames: 0 4 page, 4 4 pages of the file if a commit ends here (else 0), 8 8 salt,
 *            16 8 sum of everything from the start of the file to here, 24 the page
 *
 * Cost      reads the log once.
 * Threads   any, before the file is opened by SQLite: its locks are lost when any descriptor of
 *           the process is closed.
 */
#ifndef TOCSIN_STORE_SQLITE_LOG_H
#define TOCSIN_STORE_SQLITE_LOG_H

#include "store/store_dir.h"

struct sqlite_log {
    uint64_t commits;       /* that verify */
    uint64_t end_bytes;     /* where the last of them ends */
    uint64_t tail_bytes;    /* of the same turn, after that */
    uint64_t tail_commits;  /* commits in the tail, as far as the frames still tell */
    uint64_t tail_at_bytes; /* where the first frame stands that does not verify */
};

/* A log that is not there, or has no valid start, is empty. UNAVAILABLE: it cannot be read. */
enum tocsin_status sqlite_log_read(const struct store_dir *dir, const char *name,
                                   struct sqlite_log *ret_log, struct tocsin_why *ret_why);

#endif
