/* SPDX-License-Identifier: MIT */
/* sqlite_verify.h - is everything in this directory whole, and what is it?
 *
 * Walks a store that nobody has open, row by row, docs and all, and changes nothing. For
 * `tocsin verify` (what is damaged, and where) and `tocsin dump` (what is in it, also when some
 * of it is damaged).
 *
 * Promise   every page, checksum, order and count is looked at. What is damaged is told, and the
 *           walk goes on: with the next row, or, where a page cannot be read, with the next row
 *           behind it that can. Which rows were skipped is told; some of these may have been whole
 *           when several holes are close together.
 * Cost      reads everything twice, once for the pages and once for the rows; some thousand
 *           lookups a hole.
 * Memory    the set of the dead (dead.h). What a visitor is given is borrowed until it returns.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_SQLITE_VERIFY_H
#define TOCSIN_STORE_SQLITE_VERIFY_H

#include "store/store.h"

struct store_inspection {
    /* All may be NULL. Living versions, then events; then nothing more when one answers false. */
    bool (*record)(void *arg, const struct store_record *record);
    bool (*event)(void *arg, const struct store_event *event);
    /* One sentence a finding, such as
     * "table record, row 17 at byte 69700 (page 18): its doc is not what was written". */
    void (*damage)(void *arg, const char *sentence);
    void (*progress)(void *arg, uint64_t done, uint64_t of);
    void *arg;
    bool pages_too; /* SQLite's own check of every page, before the rows */
};

struct store_report {
    uint64_t living;
    uint64_t dead; /* rows not swept yet */
    uint64_t events;
    uint64_t first_seq; /* the oldest event kept; 0: none */
    uint64_t high_rev;
    uint64_t high_seq;
    uint64_t epoch;   /* of the last start */
    uint64_t commits; /* since the store was made */
    uint64_t doc_bytes;
    uint64_t file_bytes;
    uint64_t log_bytes;
    uint64_t tail_bytes; /* of the log, torn: the next start cuts them */
    uint64_t damages;
};

/* OK: nothing is damaged. DAMAGED: something is, and was told. NONE: there is no store. BUSY: a
 * process has it open. UNAVAILABLE: it cannot be read. */
enum tocsin_status store_sqlite_inspect(const char *dir, const struct store_inspection *inspection,
                                        struct store_report *ret_report,
                                        struct tocsin_why *ret_why);

#endif
