/* SPDX-License-Identifier: MIT */
#include "store/sqlite_verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/reason.h"
#include "store/sqlite_log.h"
#include "store/sqlite_place.h"
#include "store/sqlite_row.h"

enum { SENTENCE_BYTES_MAX = 300, PROGRESS_ROWS = 16384, PAGE_BYTES = 4096, PLACES_MAX = 1000 };

struct walk {
    const struct store_inspection *how;
    struct store_report report;
    struct store_dir dir;
    struct sqlite_db db;
    struct ledger ledger;
    struct dead_set set;
    uint64_t rows; /* seen so far, for the progress */
    bool enough;   /* said a visitor */
};

__attribute__((format(printf, 2, 3))) static void damaged(struct walk *walk, const char *format,
                                                          ...)
{
    char sentence[SENTENCE_BYTES_MAX];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(sentence, sizeof sentence, format, words);
    va_end(words);
    walk->report.damages++;
    if (walk->how->damage != NULL)
        walk->how->damage(walk->how->arg, sentence);
}

static void went_on(struct walk *walk)
{
    uint64_t of = walk->ledger.living + walk->ledger.dead + walk->ledger.high_seq + 1 -
                  walk->ledger.first_seq;
    if (++walk->rows % PROGRESS_ROWS == 0 && walk->how->progress != NULL)
        walk->how->progress(walk->how->arg, walk->rows, of > walk->rows ? of : walk->rows);
}

/* A walk over a table ended otherwise than with its last row. */
static void check_end(struct walk *walk, const char *table, int code)
{
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        damaged(walk, "table %s cannot be read on: %s", table, sqlite3_errmsg(walk->db.handle));
}

/* One in a row, which is looked for in the file as long as there are few. */
static void damaged_row(struct walk *walk, const char *table, uint64_t row, const char *what)
{
    char where[SQLITE_PLACE_BYTES] = "";
    if (walk->report.damages < PLACES_MAX)
        sqlite_place_row(&walk->db, table, row, where);
    damaged(walk, "table %s, row %llu%s: %s", table, (unsigned long long)row, where, what);
}

/* SQLite's findings name pages; a byte is easier to find. */
static void check_pages(struct walk *walk)
{
    sqlite3_stmt *check = NULL;
    int code = sqlite3_prepare_v2(walk->db.handle, "PRAGMA integrity_check", -1, &check, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(check);
        if (code != SQLITE_ROW)
            break;
        const char *said = (const char *)sqlite3_column_text(check, 0);
        if (said == NULL || strcmp(said, "ok") == 0)
            continue;
        const char *page = strcasestr(said, "page ");
        unsigned long long number = page != NULL ? strtoull(page + 5, NULL, 10) : 0;
        if (number > 0)
            damaged(walk, "byte %llu: %s", (number - 1) * PAGE_BYTES, said);
        else
            damaged(walk, "%s", said);
    }
    check_end(walk, "of pages", code);
    (void)sqlite3_finalize(check);
}

static void check_meta(struct walk *walk, uint64_t *ret_incarnation)
{
    int64_t incarnation = 0;
    int64_t epoch = 0;
    int64_t crc = -1;
    (void)sqlite_db_number(&walk->db, "SELECT incarnation FROM meta", &incarnation, NULL);
    (void)sqlite_db_number(&walk->db, "SELECT epoch FROM meta", &epoch, NULL);
    (void)sqlite_db_number(&walk->db, "SELECT crc FROM meta", &crc, NULL);
    if (crc != sqlite_meta_checksum((uint64_t)incarnation, (uint64_t)epoch))
        damaged_row(walk, "meta", 1, "it is not what was written");
    walk->report.epoch = (uint64_t)epoch;
    *ret_incarnation = (uint64_t)incarnation;
}

/* Gathers the dead; the last row is how things stand. */
static enum tocsin_status walk_ledgers(struct walk *walk)
{
    sqlite3_stmt *ledgers = walk->db.statements[SQLITE_LEDGERS_STATEMENT];
    enum tocsin_status status = TOCSIN_OK;
    uint64_t rows = 0;
    int code = SQLITE_DONE;
    sqlite_bind_number(ledgers, 1, 0);
    sqlite_bind_number(ledgers, 2, INT64_MAX);
    (void)sqlite3_bind_int64(ledgers, 3, -1);
    while (status != TOCSIN_NO_MEMORY && (code = sqlite3_step(ledgers)) == SQLITE_ROW) {
        struct bytes list;
        bool whole = sqlite_read_ledger(ledgers, &walk->ledger, &list);
        status = whole ? dead_set_add_list(&walk->set, list) : TOCSIN_DAMAGED;
        if (status == TOCSIN_DAMAGED)
            damaged_row(walk, "dead", walk->ledger.commit, "it is not what was written");
        rows++;
    }
    check_end(walk, "dead", code);
    (void)sqlite3_reset(ledgers);
    if (rows == 0)
        damaged(walk, "table dead is empty");
    return status == TOCSIN_NO_MEMORY ? status : TOCSIN_OK;
}

static void check_record(struct walk *walk, sqlite3_stmt *list, uint64_t last, bool dead)
{
    struct store_record record;
    bool whole = sqlite_read_head(list, &record);
    if (whole && (record.rev <= last || record.rev > walk->ledger.high_rev))
        damaged_row(walk, "record", record.rev, "it is out of order");
    if (!whole)
        damaged_row(walk, "record", record.rev, "it is not what was written");
    else if (!sqlite_read_doc(list, &record))
        damaged_row(walk, "record", record.rev, "its doc is not what was written");
    else if (!dead && walk->how->record != NULL)
        walk->enough = !walk->how->record(walk->how->arg, &record);
    if (dead)
        walk->report.dead++;
    else
        walk->report.living++;
    walk->report.doc_bytes += record.doc.size;
}

static void walk_records(struct walk *walk)
{
    sqlite3_stmt *list = walk->db.statements[SQLITE_LIST_STATEMENT];
    struct dead_cursor cursor;
    uint64_t next_dead = 0;
    uint64_t last = 0;
    int code = SQLITE_DONE;
    dead_cursor_init(&cursor, &walk->set);
    bool more = dead_cursor_next(&cursor, &next_dead);
    sqlite_bind_number(list, 1, 0);
    (void)sqlite3_bind_int64(list, 2, -1);
    while (!walk->enough && (code = sqlite3_step(list)) == SQLITE_ROW) {
        uint64_t rev = sqlite_column_number(list, 0);
        while (more && next_dead < rev)
            more = dead_cursor_next(&cursor, &next_dead);
        check_record(walk, list, last, more && next_dead == rev);
        last = rev;
        went_on(walk);
    }
    check_end(walk, "record", code);
    (void)sqlite3_reset(list);
}

static void walk_events(struct walk *walk)
{
    sqlite3_stmt *events = walk->db.statements[SQLITE_EVENTS_STATEMENT];
    uint64_t next = walk->ledger.first_seq;
    int code = SQLITE_DONE;
    sqlite_bind_number(events, 1, 0);
    (void)sqlite3_bind_int64(events, 2, -1);
    while (!walk->enough && (code = sqlite3_step(events)) == SQLITE_ROW) {
        struct store_event event;
        bool whole = sqlite_read_event(events, &event);
        if (event.seq != next)
            damaged(walk, "table event: row %llu stands where %llu should",
                    (unsigned long long)event.seq, (unsigned long long)next);
        if (!whole)
            damaged_row(walk, "event", event.seq, "it is not what was written");
        else if (walk->how->event != NULL)
            walk->enough = !walk->how->event(walk->how->arg, &event);
        next = event.seq + 1;
        walk->report.events++;
        went_on(walk);
    }
    check_end(walk, "event", code);
    (void)sqlite3_reset(events);
    if (!walk->enough && next != walk->ledger.high_seq + 1)
        damaged(walk, "table event: row %llu is missing", (unsigned long long)next);
}

static void compare_books(struct walk *walk, uint64_t incarnation)
{
    const struct ledger *ledger = &walk->ledger;
    uint64_t counted = commit_counter_read(&walk->dir, incarnation);
    if (!walk->enough &&
        (walk->report.living != ledger->living || walk->report.dead != ledger->dead))
        damaged(walk, "%llu records live and %llu are dead where %llu and %llu were written",
                (unsigned long long)walk->report.living, (unsigned long long)walk->report.dead,
                (unsigned long long)ledger->living, (unsigned long long)ledger->dead);
    if (counted > ledger->commit)
        damaged(walk, "%llu acknowledged commits after number %llu are missing",
                (unsigned long long)(counted - ledger->commit), (unsigned long long)ledger->commit);
    walk->report.high_rev = ledger->high_rev;
    walk->report.high_seq = ledger->high_seq;
    walk->report.first_seq = ledger->first_seq <= ledger->high_seq ? ledger->first_seq : 0;
    walk->report.commits = ledger->commit;
}

static enum tocsin_status open_walk(struct walk *walk, const char *dir, struct tocsin_why *ret_why)
{
    struct sqlite_log log;
    enum tocsin_status status = store_dir_open(&walk->dir, dir, false, ret_why);
    if (status != TOCSIN_OK)
        return status;
    walk->report.file_bytes = store_dir_file_bytes(&walk->dir, SQLITE_STORE_FILE);
    walk->report.log_bytes = store_dir_file_bytes(&walk->dir, SQLITE_STORE_LOG);
    if (walk->report.file_bytes == 0)
        return reason_say(ret_why, TOCSIN_NONE, "%s holds no store", dir);
    status = sqlite_log_read(&walk->dir, SQLITE_STORE_LOG, &log, ret_why);
    if (status != TOCSIN_OK)
        return status;
    walk->report.tail_bytes = log.tail_bytes;
    if (log.tail_commits > 1)
        damaged(walk, "the log: %llu commits lie behind byte %llu, which does not verify",
                (unsigned long long)log.tail_commits, (unsigned long long)log.tail_at_bytes);
    char *path = store_dir_file(&walk->dir, SQLITE_STORE_FILE);
    if (path == NULL)
        return TOCSIN_NO_MEMORY;
    status = sqlite_db_open(&walk->db, path, SQLITE_INSPECTOR, NULL, false, ret_why);
    free(path);
    return status;
}

enum tocsin_status store_sqlite_inspect(const char *dir, const struct store_inspection *inspection,
                                        struct store_report *ret_report, struct tocsin_why *ret_why)
{
    struct walk walk = {.how = inspection, .dir = {.fd = -1, .lock_fd = -1}};
    uint64_t incarnation = 0;
    dead_set_init(&walk.set);
    enum tocsin_status status = open_walk(&walk, dir, ret_why);
    if (status == TOCSIN_OK && inspection->pages_too)
        check_pages(&walk);
    if (status == TOCSIN_OK)
        status = sqlite_db_prepare(&walk.db, SQLITE_INSPECTOR, ret_why);
    if (status == TOCSIN_OK) {
        check_meta(&walk, &incarnation);
        status = walk_ledgers(&walk);
    }
    if (status == TOCSIN_OK) {
        walk_records(&walk);
        walk_events(&walk);
        compare_books(&walk, incarnation);
    }
    sqlite_db_close(&walk.db);
    store_dir_close(&walk.dir);
    dead_set_release(&walk.set);
    if (status == TOCSIN_OK && walk.report.damages > 0)
        status = reason_say(ret_why, TOCSIN_DAMAGED, "%s: %llu findings", dir,
                            (unsigned long long)walk.report.damages);
    if (status == TOCSIN_OK || status == TOCSIN_DAMAGED)
        *ret_report = walk.report;
    return status;
}
