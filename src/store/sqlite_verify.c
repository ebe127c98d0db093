/* SPDX-License-Identifier: MIT */
#include "store/sqlite_verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/reason.h"
#include "store/sqlite_cut.h"
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
    struct dead_cursor cursor;
    uint64_t next_dead;
    bool more_dead;
    bool books_end;    /* the last of the books has been read */
    uint64_t last_rev; /* of the record before this one */
    uint64_t next_seq; /* that the next event should have */
    uint64_t rows;     /* seen so far, for the progress */
    bool enough;       /* said a visitor, or memory has run out */
};

/* A table, and what is done with each of its rows, whose number is in the first column. */
struct table {
    const char *name;
    const char *sql; /* ?1: from which number on */
    void (*see)(struct walk *walk, sqlite3_stmt *row);
    sqlite3_stmt *rows;
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
    if (code != SQLITE_DONE)
        damaged(walk, "the pages cannot be checked on: %s", sqlite3_errmsg(walk->db.handle));
    (void)sqlite3_finalize(check);
}

/* ---- a table, also around what cannot be read of it */

static void begin(const struct table *table, uint64_t from)
{
    (void)sqlite3_reset(table->rows);
    sqlite_bind_number(table->rows, 1, from);
}

static bool readable(const struct table *table, uint64_t from)
{
    begin(table, from);
    int code = sqlite3_step(table->rows);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* SQLite cannot step over a page that it cannot read, but it can look for a row behind it: the
 * first number above bad from which on the table can be read again, or 0. The steps grow with
 * what is lost already, so that a hole of any size takes some thousand of them, and what is whole
 * between two holes is found unless it is small beside the first. */
static uint64_t behind_the_hole(const struct table *table, uint64_t bad)
{
    uint64_t first = bad;
    uint64_t good = bad;
    do {
        uint64_t step = 1 + (good - first) / 64;
        if (good > INT64_MAX - step)
            return 0;
        bad = good;
        good += step;
    } while (!readable(table, good));
    while (good - bad > 1) {
        uint64_t middle = bad + (good - bad) / 2;
        if (readable(table, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* True: up to the last row, or enough. False: from is the first that could not be read. */
static bool read_on(struct walk *walk, const struct table *table, uint64_t *from)
{
    int code = SQLITE_ROW;
    begin(table, *from);
    while (!walk->enough && (code = sqlite3_step(table->rows)) == SQLITE_ROW) {
        uint64_t row = sqlite_column_number(table->rows, 0);
        table->see(walk, table->rows);
        if (row >= *from && row < INT64_MAX)
            *from = row + 1;
        went_on(walk);
    }
    return walk->enough || code == SQLITE_DONE;
}

/* False: nothing can be read behind it. */
static bool skip_hole(struct walk *walk, const struct table *table, uint64_t *from)
{
    char said[100];
    char where[SQLITE_PLACE_BYTES] = "";
    (void)snprintf(said, sizeof said, "%s", sqlite3_errmsg(walk->db.handle));
    if (walk->report.damages < PLACES_MAX)
        sqlite_place_page(&walk->db, table->name, *from, where);
    uint64_t next = behind_the_hole(table, *from);
    if (next == 0) {
        damaged(walk, "table %s cannot be read from row %llu on%s: %s", table->name,
                (unsigned long long)*from, where, said);
        return false;
    }
    damaged(walk, "table %s, rows %llu to %llu%s are skipped: %s", table->name,
            (unsigned long long)*from, (unsigned long long)next - 1, where, said);
    *from = next;
    return true;
}

/* False: its last rows cannot be read. */
static bool read_table(struct walk *walk, struct table table)
{
    uint64_t from = 0;
    if (sqlite3_prepare_v2(walk->db.handle, table.sql, -1, &table.rows, NULL) != SQLITE_OK) {
        damaged(walk, "table %s: %s", table.name, sqlite3_errmsg(walk->db.handle));
        return false;
    }
    bool ended = read_on(walk, &table, &from);
    while (!ended && skip_hole(walk, &table, &from))
        ended = read_on(walk, &table, &from);
    (void)sqlite3_finalize(table.rows);
    return ended;
}

/* ---- its parts */

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

static void see_ledger(struct walk *walk, sqlite3_stmt *row)
{
    struct bytes list;
    bool whole = sqlite_read_ledger(row, &walk->ledger, &list);
    enum tocsin_status status = whole ? dead_set_add_list(&walk->set, list) : TOCSIN_DAMAGED;
    if (status == TOCSIN_DAMAGED)
        damaged_row(walk, "dead", walk->ledger.commit, "it is not what was written");
    walk->enough = status == TOCSIN_NO_MEMORY;
}

/* Gathers the dead; the last row is how things stand. */
static enum tocsin_status walk_ledgers(struct walk *walk)
{
    uint64_t damages = walk->report.damages;
    walk->books_end =
        read_table(walk, (struct table){.name = "dead",
                                        .sql = "SELECT * FROM dead WHERE n>=?1 ORDER BY n",
                                        .see = see_ledger});
    if (walk->rows == 0)
        damaged(walk, "table dead is empty");
    if (walk->report.damages > damages)
        damaged(walk, "without all of table dead, records that are dead are taken for living");
    return walk->enough ? TOCSIN_NO_MEMORY : TOCSIN_OK;
}

static void see_record(struct walk *walk, sqlite3_stmt *row)
{
    struct store_record record;
    bool whole = sqlite_read_head(row, &record);
    while (walk->more_dead && walk->next_dead < record.rev)
        walk->more_dead = dead_cursor_next(&walk->cursor, &walk->next_dead);
    bool dead = walk->more_dead && walk->next_dead == record.rev;
    if (whole &&
        (record.rev <= walk->last_rev || (walk->books_end && record.rev > walk->ledger.high_rev)))
        damaged_row(walk, "record", record.rev, "it is out of order");
    walk->last_rev = record.rev;
    if (!whole)
        damaged_row(walk, "record", record.rev, "it is not what was written");
    else if (!sqlite_read_doc(row, &record))
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
    dead_cursor_init(&walk->cursor, &walk->set);
    walk->more_dead = dead_cursor_next(&walk->cursor, &walk->next_dead);
    (void)read_table(walk, (struct table){.name = "record",
                                          .sql = "SELECT * FROM record WHERE rev>=?1 ORDER BY rev",
                                          .see = see_record});
}

static void see_event(struct walk *walk, sqlite3_stmt *row)
{
    struct store_event event;
    bool whole = sqlite_read_event(row, &event);
    if (event.seq != walk->next_seq)
        damaged(walk, "table event: row %llu stands where %llu should",
                (unsigned long long)event.seq, (unsigned long long)walk->next_seq);
    if (!whole)
        damaged_row(walk, "event", event.seq, "it is not what was written");
    else if (walk->how->event != NULL)
        walk->enough = !walk->how->event(walk->how->arg, &event);
    walk->next_seq = event.seq + 1;
    walk->report.events++;
}

static void walk_events(struct walk *walk)
{
    walk->next_seq = walk->ledger.first_seq;
    (void)read_table(walk, (struct table){.name = "event",
                                          .sql = "SELECT * FROM event WHERE seq>=?1 ORDER BY seq",
                                          .see = see_event});
    if (!walk->enough && walk->next_seq != walk->ledger.high_seq + 1)
        damaged(walk, "table event: row %llu is missing", (unsigned long long)walk->next_seq);
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

/* The file may be shorter than its head says while the rest is in the log. */
static void check_end(struct walk *walk)
{
    struct sqlite_extent extent;
    uint64_t bytes = walk->report.file_bytes;
    if (sqlite_place_end(&walk->db, &extent) && bytes < extent.wanted_bytes)
        damaged(walk, "byte %llu (page %llu): the file ends there, of %llu: the rest is missing",
                (unsigned long long)bytes, (unsigned long long)bytes / PAGE_BYTES + 1,
                (unsigned long long)extent.wanted_bytes);
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
    status = sqlite_db_open(&walk->db, path, SQLITE_INSPECTOR, sqlite_cut_vfs(), false, ret_why);
    free(path);
    if (status == TOCSIN_OK && walk->report.log_bytes == 0)
        check_end(walk);
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
        if (walk.report.log_bytes > 0 && walk.report.damages > 0)
            check_end(&walk);
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
