/* SPDX-License-Identifier: MIT */
/* sqlite_db.h - one connection to the store's file, and what its errors mean.
 *
 * The only place, with sqlite_verify.c, that talks to SQLite about anything but rows, and the
 * one that makes a status of its codes:
 *
 *     FULL; a write that failed with ENOSPC or EDQUOT   NO_SPACE
 *     BUSY, LOCKED                                      UNAVAILABLE
 *     NOMEM                                             UNAVAILABLE, or DAMAGED when a page is
 *     CORRUPT, NOTADB, TOOBIG;                          DAMAGED
 *     ERROR, CONSTRAINT, MISMATCH                       DAMAGED: our SQL is right
 *     IOERR, all others                                 IO
 *
 * Threads   one at a time per connection.
 */
#ifndef TOCSIN_STORE_SQLITE_DB_H
#define TOCSIN_STORE_SQLITE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/bytes.h"

/*            name            sql */
#define SQLITE_WRITER_TABLE(ROW)                                                                   \
    ROW(BEGIN, "BEGIN IMMEDIATE")                                                                  \
    ROW(COMMIT, "COMMIT")                                                                          \
    ROW(PUT, "INSERT INTO record VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")                          \
    ROW(ADD_EVENT, "INSERT INTO event VALUES(?1,?2,?3,?4,?5,?6,?7)")                               \
    ROW(OLD_EVENTS, "SELECT seq,length(kind)+length(key)+length(type)+length(doc) FROM event"      \
                    " ORDER BY seq LIMIT ?1")                                                      \
    ROW(DROP_EVENTS, "DELETE FROM event WHERE seq<=?1")                                            \
    ROW(ADD_LEDGER, "INSERT INTO dead VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)")                 \
    ROW(DROP_LEDGERS, "DELETE FROM dead WHERE n BETWEEN ?1 AND ?2")                                \
    ROW(LEDGERS, "SELECT * FROM dead WHERE n BETWEEN ?1 AND ?2 ORDER BY n LIMIT ?3")               \
    ROW(LAST_LEDGER, "SELECT * FROM dead ORDER BY n DESC LIMIT 1")                                 \
    ROW(SWEEP, "DELETE FROM record WHERE rev BETWEEN ?1 AND ?2")                                   \
    ROW(WEIGH, "SELECT length(key)+length(doc) FROM record WHERE rev=?1")

#define SQLITE_READER_TABLE(ROW)                                                                   \
    ROW(GET, "SELECT rev,kind,key,home,due,basis,mark,tag,crc,doc FROM record WHERE rev=?1")       \
    ROW(LIST, "SELECT rev,kind,key,home,due,basis,mark,tag,crc,doc FROM record WHERE rev>?1"       \
              " ORDER BY rev LIMIT ?2")                                                            \
    ROW(UP_TO, "SELECT rev FROM record WHERE rev<=?1 ORDER BY rev DESC LIMIT 1")                   \
    ROW(EVENTS, "SELECT seq,at,kind,key,type,crc,doc FROM event WHERE seq>?1"                      \
                " ORDER BY seq LIMIT ?2")                                                          \
    ROW(NOW_LEDGER, "SELECT * FROM dead ORDER BY n DESC LIMIT 1")

enum sqlite_statement {
#define SQLITE_STATEMENT_ROW(name, sql) SQLITE_##name##_STATEMENT,
    SQLITE_WRITER_TABLE(SQLITE_STATEMENT_ROW) SQLITE_WRITER_STATEMENTS,
    SQLITE_READER_FIRST = SQLITE_WRITER_STATEMENTS - 1,
    SQLITE_READER_TABLE(SQLITE_STATEMENT_ROW) SQLITE_STATEMENTS,
#undef SQLITE_STATEMENT_ROW
};

enum sqlite_role { SQLITE_WRITER, SQLITE_READER, SQLITE_INSPECTOR };

struct sqlite_db {
    sqlite3 *handle;
    char *path;
    sqlite3_stmt *statements[SQLITE_STATEMENTS];
};

/* A writer makes the file when it is not there. An inspector changes nothing. */
enum tocsin_status sqlite_db_open(struct sqlite_db *db, const char *path, enum sqlite_role role,
                                  const char *vfs, bool unsafe_no_sync, struct tocsin_why *ret_why);
/* Once the tables are there. */
enum tocsin_status sqlite_db_prepare(struct sqlite_db *db, enum sqlite_role role,
                                     struct tocsin_why *ret_why);
void sqlite_db_close(struct sqlite_db *db);

/* OK for OK, ROW and DONE; otherwise what it means, and a sentence. */
enum tocsin_status sqlite_db_status(const struct sqlite_db *db, int code, const char *doing,
                                    struct tocsin_why *ret_why);
/* " at byte 69632 (page 18)": what SQLite cannot read or finds wrong first; "" when that is nothing.
 * Reads the whole file. */
enum { SQLITE_PLACE_BYTES = 100, SQLITE_PAGE_BYTES = 4096 };
void sqlite_db_find_damage(const struct sqlite_db *db, char ret_where[SQLITE_PLACE_BYTES]);
/* "…: restore a backup, …", with that place. Always DAMAGED. */
enum tocsin_status sqlite_db_damaged(const struct sqlite_db *db, const char *what,
                                     struct tocsin_why *ret_why);

/* One text that answers nothing, or whose answer is one number. */
enum tocsin_status sqlite_db_run(struct sqlite_db *db, const char *sql, struct tocsin_why *ret_why);
enum tocsin_status sqlite_db_number(struct sqlite_db *db, const char *sql, int64_t *ret_number,
                                    struct tocsin_why *ret_why);

/* Binding and reading never fail with memory at hand and the number of a column that is there. */
static inline void sqlite_bind_number(sqlite3_stmt *statement, int at, uint64_t number)
{
    (void)sqlite3_bind_int64(statement, at, (sqlite3_int64)number);
}

static inline void sqlite_bind_bytes(sqlite3_stmt *statement, int at, struct bytes bytes)
{
    (void)sqlite3_bind_blob(statement, at, bytes.size > 0 ? bytes.at : "", (int)bytes.size,
                            SQLITE_STATIC);
}

static inline uint64_t sqlite_number(sqlite3_value *value)
{
    return (uint64_t)sqlite3_value_int64(value);
}

/* Valid until the statement steps or is reset. */
static inline struct bytes sqlite_bytes(sqlite3_value *value)
{
    const char *bytes = sqlite3_value_blob(value);
    return (struct bytes){bytes != NULL ? bytes : "", (size_t)sqlite3_value_bytes(value)};
}

/* Through the value, which spares the locks and checks of the calls for columns. */
static inline uint64_t sqlite_column_number(sqlite3_stmt *statement, int at)
{
    return sqlite_number(sqlite3_column_value(statement, at));
}

static inline struct bytes sqlite_column_bytes(sqlite3_stmt *statement, int at)
{
    return sqlite_bytes(sqlite3_column_value(statement, at));
}

/* Runs a statement that answers no rows, and makes it ready for the next time. */
static inline int sqlite_run(sqlite3_stmt *statement)
{
    (void)sqlite3_step(statement);
    return sqlite3_reset(statement);
}

#endif
