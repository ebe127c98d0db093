/* SPDX-License-Identifier: MIT */
/* sqlite_place.h - where in the file does a row stand?
 *
 * SQLite gives rows, not places; who has to mend a damaged file, or to look at it with other
 * tools, wants bytes. So the pages of the table are walked once more, without SQLite: down to
 * the row, or else through all leaves, because the row's number may be what is damaged.
 *
 *     a page     0 1 kind: 5 inner, 13 leaf   3 2 cells   8 4 last child (inner)
 *                8 or 12: 2 a cell, where it stands in the page. The first page has the file's
 *                head of 100 bytes before that.
 *     inner      4 child, its highest row
 *     leaf       bytes in all, row, bytes; 4 the first page with those that did not fit
 *     overflow   0 4 the next one, or 0
 *
 * Promise   nothing in the file is trusted: every place is checked against the page, every page
 *           against the file, and no more pages are read than the file has. What cannot be told
 *           is not told.
 * Cost      a few pages; all of the table when the row is not where it should be. For the way
 *           to an error only.
 * Threads   the connection's. What is still in the log only is not seen.
 */
#ifndef TOCSIN_STORE_SQLITE_PLACE_H
#define TOCSIN_STORE_SQLITE_PLACE_H

#include "store/sqlite_db.h"

/* " at byte 69700 (page 18)", or " … (pages 18, 40, 41)" when the row goes on there; "" when it
 * cannot be told. */
void sqlite_place_row(const struct sqlite_db *db, const char *table, uint64_t row,
                      char ret_text[SQLITE_PLACE_BYTES]);

/* " at byte 69632 (page 18)": the page in which the row should be, or the one on the way to it
 * that cannot be read, or that leads out of the file. */
void sqlite_place_page(const struct sqlite_db *db, const char *table, uint64_t row,
                       char ret_text[SQLITE_PLACE_BYTES]);

/* The same: the top of the table. */
void sqlite_place_table(const struct sqlite_db *db, const char *table,
                        char ret_text[SQLITE_PLACE_BYTES]);

/* The same for the first row, of any table, that SQLite cannot read. "" when it can read all. */
void sqlite_place_unreadable(const struct sqlite_db *db, char ret_text[SQLITE_PLACE_BYTES]);

/* How long the file is, and how long its head says it should be. False: it cannot be told. */
struct sqlite_extent {
    uint64_t bytes;
    uint64_t wanted_bytes;
};
bool sqlite_place_end(const struct sqlite_db *db, struct sqlite_extent *ret_extent);

/* "FILE is damaged at byte 69700 (page 18): table record, row 17. Restore …". Always DAMAGED. */
enum tocsin_status sqlite_damaged_row(const struct sqlite_db *db, const char *table, uint64_t row,
                                      struct tocsin_why *ret_why);

#endif
