/* SPDX-License-Identifier: MIT */
#include "store/sqlite_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/reason.h"
#include "store/sqlite_place.h"

enum {
    BUSY_MS = 2000,
    SAID_BYTES_MAX = 80,
    ROW_BYTES_MAX = 72 * 1024 * 1024, /* a list of the dead with its books is below that */
};

/* The writer's cache holds the pages a commit changes; the reader's, those of a page of a list.
 * Memory a task is a promise, so both are small. Checkpoints are ours, because SQLite's own
 * swallow their errors. Overwriting what is deleted would cost a write for each freed page. */
static const char writer_settings[] = "PRAGMA cache_size=-4096; PRAGMA journal_mode=WAL;"
                                      "PRAGMA wal_autocheckpoint=0; PRAGMA secure_delete=OFF;"
                                      "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;";
static const char reader_settings[] = "PRAGMA cache_size=-1024; PRAGMA query_only=ON;"
                                      "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;";

static const char *const sql[] = {
#define ROW(name, text) [SQLITE_##name##_STATEMENT] = (text),
    SQLITE_WRITER_TABLE(ROW) SQLITE_READER_TABLE(ROW)
#undef ROW
};

static bool no_space(int code, int system_error)
{
    bool of_a_write = code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_TRUNCATE ||
                      code == SQLITE_IOERR_SHMSIZE || code == SQLITE_CANTOPEN;
    return (code & 0xff) == SQLITE_FULL ||
           (of_a_write && (system_error == ENOSPC || system_error == EDQUOT));
}

/* A file that was cut: its head says how many pages it should have. */
static bool find_end(const struct sqlite_db *db, char ret_where[SQLITE_PLACE_BYTES])
{
    struct sqlite_extent extent;
    if (!sqlite_place_end(db, &extent) || extent.bytes >= extent.wanted_bytes)
        return false;
    (void)snprintf(
        ret_where, SQLITE_PLACE_BYTES, " at byte %llu (page %llu): it ends there, of %llu",
        (unsigned long long)extent.bytes, (unsigned long long)extent.bytes / SQLITE_PAGE_BYTES + 1,
        (unsigned long long)extent.wanted_bytes);
    return true;
}

static void say_page(unsigned long long number, char ret_where[SQLITE_PLACE_BYTES])
{
    (void)snprintf(ret_where, SQLITE_PLACE_BYTES, " at byte %llu (page %llu)",
                   (number - 1) * SQLITE_PAGE_BYTES, number);
}

/* SQLite does not say where it found the damage, but its own check does, as "page 17". When it
 * cannot even begin, it could not read the tables' names, which are in the first page. */
void sqlite_db_find_damage(const struct sqlite_db *db, char ret_where[SQLITE_PLACE_BYTES])
{
    sqlite3_stmt *check = NULL;
    unsigned long long number = 0;
    ret_where[0] = '\0';
    int code = sqlite3_prepare_v2(db->handle, "PRAGMA quick_check(1)", -1, &check, NULL) & 0xff;
    if (code == SQLITE_OK && sqlite3_step(check) == SQLITE_ROW) {
        const char *said = (const char *)sqlite3_column_text(check, 0);
        const char *page = said != NULL ? strcasestr(said, "page ") : NULL;
        number = page != NULL ? strtoull(page + 5, NULL, 10) : 0;
    }
    (void)sqlite3_finalize(check);
    if (number > 0)
        say_page(number, ret_where);
    else if (find_end(db, ret_where))
        return;
    else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR)
        say_page(1, ret_where);
    else
        sqlite_place_unreadable(db, ret_where);
}

enum tocsin_status sqlite_db_damaged(const struct sqlite_db *db, const char *what,
                                     struct tocsin_why *ret_why)
{
    char where[SQLITE_PLACE_BYTES];
    sqlite_db_find_damage(db, where);
    if (where[0] == '\0')
        say_page(1, where); /* all can be read, so what the tables are called and have is wrong */
    return reason_say(ret_why, TOCSIN_DAMAGED,
                      "%s is damaged%s: %s. Restore a backup; 'tocsin verify' shows the extent",
                      db->path, where, what);
}

static enum tocsin_status unavailable(const struct sqlite_db *db, int code, const char *doing,
                                      struct tocsin_why *ret_why)
{
    return reason_say(ret_why, TOCSIN_UNAVAILABLE, "%s: %s: %s", db->path, doing,
                      sqlite3_errstr(code));
}

enum tocsin_status sqlite_db_status(const struct sqlite_db *db, int code, const char *doing,
                                    struct tocsin_why *ret_why)
{
    char said[SAID_BYTES_MAX];
    char where[SQLITE_PLACE_BYTES];
    int system_error = db->handle != NULL ? sqlite3_system_errno(db->handle) : 0;
    if (db->handle != NULL && code == (sqlite3_errcode(db->handle) & 0xff))
        code = sqlite3_extended_errcode(db->handle);
    if (no_space(code, system_error))
        return reason_say(ret_why, TOCSIN_NO_SPACE, "the disk of %s is full", db->path);
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return TOCSIN_OK;
    case SQLITE_NOMEM: /* a length that has decayed asks for more than there is */
        sqlite_db_find_damage(db, where);
        return where[0] != '\0' ? sqlite_db_damaged(db, sqlite3_errstr(code), ret_why)
                                : unavailable(db, code, doing, ret_why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return unavailable(db, code, doing, ret_why);
    case SQLITE_ERROR:      /* our SQL is right, so the tables are not */
    case SQLITE_CONSTRAINT: /* a rev or a number of a commit is there already */
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG: /* nobody wrote a row that long */
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        (void)snprintf(said, sizeof said, "%s", sqlite3_errmsg(db->handle));
        return sqlite_db_damaged(db, said, ret_why);
    default:
        return reason_say(ret_why, TOCSIN_IO, "%s: %s: %s%s%s", db->path, doing,
                          sqlite3_errstr(code), system_error != 0 ? ", " : "",
                          system_error != 0 ? strerror(system_error) : "");
    }
}

enum tocsin_status sqlite_db_run(struct sqlite_db *db, const char *text, struct tocsin_why *ret_why)
{
    return sqlite_db_status(db, sqlite3_exec(db->handle, text, NULL, NULL, NULL), text, ret_why);
}

enum tocsin_status sqlite_db_number(struct sqlite_db *db, const char *text, int64_t *ret_number,
                                    struct tocsin_why *ret_why)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db->handle, text, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(statement, 0);
    enum tocsin_status status = sqlite_db_status(db, code, text, ret_why);
    (void)sqlite3_finalize(statement);
    return status;
}

static enum tocsin_status configure(struct sqlite_db *db, enum sqlite_role role,
                                    bool unsafe_no_sync, struct tocsin_why *ret_why)
{
    (void)sqlite3_extended_result_codes(db->handle, 1);
    (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* So that a length which has decayed is damage, and not all of the memory. */
    (void)sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);
    if (role != SQLITE_WRITER) {
        (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        return sqlite_db_run(db, reader_settings, ret_why);
    }
    enum tocsin_status status = sqlite_db_run(db, writer_settings, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_run(
            db, unsafe_no_sync ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL", ret_why);
    return status;
}

enum tocsin_status sqlite_db_open(struct sqlite_db *db, const char *path, enum sqlite_role role,
                                  const char *vfs, bool unsafe_no_sync, struct tocsin_why *ret_why)
{
    static const int flags[] = {
        [SQLITE_WRITER] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
        [SQLITE_READER] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
        [SQLITE_INSPECTOR] = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
    };
    *db = (struct sqlite_db){.path = strdup(path)};
    if (db->path == NULL)
        return TOCSIN_NO_MEMORY;
    int code = sqlite3_open_v2(path, &db->handle, flags[role], vfs);
    enum tocsin_status status = sqlite_db_status(db, code, "open", ret_why);
    if (status == TOCSIN_IO && (code & 0xff) == SQLITE_CANTOPEN)
        status = TOCSIN_UNAVAILABLE;
    if (status == TOCSIN_OK)
        status = configure(db, role, unsafe_no_sync, ret_why);
    if (status != TOCSIN_OK)
        sqlite_db_close(db);
    return status;
}

enum tocsin_status sqlite_db_prepare(struct sqlite_db *db, enum sqlite_role role,
                                     struct tocsin_why *ret_why)
{
    size_t first = role == SQLITE_READER ? SQLITE_WRITER_STATEMENTS : 0;
    size_t end = role == SQLITE_WRITER ? SQLITE_WRITER_STATEMENTS : SQLITE_STATEMENTS;
    for (size_t i = first; i < end; i++) {
        int code = sqlite3_prepare_v3(db->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &db->statements[i], NULL);
        if (code != SQLITE_OK)
            return sqlite_db_status(db, code, "prepare", ret_why);
    }
    return TOCSIN_OK;
}

void sqlite_db_close(struct sqlite_db *db)
{
    for (size_t i = 0; i < SQLITE_STATEMENTS; i++)
        (void)sqlite3_finalize(db->statements[i]);
    (void)sqlite3_close(db->handle);
    free(db->path);
    *db = (struct sqlite_db){0};
}
