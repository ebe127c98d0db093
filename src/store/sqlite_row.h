/* SPDX-License-Identifier: MIT */
/* sqlite_row.h - how is a record, an event, or the books a row, and is the row still whole?
 *
 * Binding and reading are side by side here, in the order of the columns that
 * sqlite_inside.h gives. Checksums are over what a row means, not over SQLite's bytes.
 *
 * Memory    what is read is borrowed from the statement until it steps or is reset; what is
 *           bound must stay until then.
 * Threads   any; the statement's.
 */
#ifndef TOCSIN_STORE_SQLITE_ROW_H
#define TOCSIN_STORE_SQLITE_ROW_H

#include "store/sqlite_inside.h"

void sqlite_bind_record(sqlite3_stmt *put, const struct store_record *record);
void sqlite_bind_event(sqlite3_stmt *add, const struct store_event *event);
void sqlite_bind_ledger(sqlite3_stmt *add, const struct ledger *ledger, struct bytes list);

/* False when the checksum does not agree. The first reads all but the doc, which is left empty,
 * the second the doc of what the first has read. */
bool sqlite_read_head(sqlite3_stmt *statement, struct store_record *ret_record);
bool sqlite_read_doc(sqlite3_stmt *statement, struct store_record *record);
bool sqlite_read_event(sqlite3_stmt *statement, struct store_event *ret_event);
bool sqlite_read_ledger(sqlite3_stmt *statement, struct ledger *ret_ledger, struct bytes *ret_list);

/* The same from the values of the columns before crc, and crc. */
enum { SQLITE_HEAD_COLUMNS = 8 };
bool sqlite_head_of(sqlite3_value **values, uint64_t crc, struct store_record *ret_record);
bool sqlite_doc_is(const struct store_record *record, uint64_t crc);

/* How much of event_bytes an event takes. */
uint64_t sqlite_event_bytes(const struct store_event *event);
enum { SQLITE_EVENT_EXTRA_BYTES = 32 }; /* its numbers */

uint32_t sqlite_meta_checksum(uint64_t incarnation, uint64_t epoch);

#endif
