/* SPDX-License-Identifier: MIT */
/* Loading: the lists of the dead become a set, then the rows of record are read in order, and
 * those in the set are passed over. Everything SQLite would not notice is checked on the way:
 * each head by its checksum, and the doc that stands beside it in its page, rows that are
 * missing or come twice by their order and number. Docs that go on in pages of their own are
 * left alone: to read them would be to read the whole file.
 *
 * Reading takes about as long as what the visitor does, so a thread reads while the caller's
 * visits. SQLite calls us for each row, from inside one step: its calls for stepping and for
 * columns would be a third of all. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "schedule/reason.h"
#include "store/record_pipe.h"
#include "store/sqlite_place.h"
#include "store/sqlite_row.h"

/* The last column first: then SQLite finds out once where all of them are. A length costs no
 * reading. With the longest texts, and 60 bytes for the rest, a doc of up to 1680 is in the page
 * of its row; of a longer one the sum tells, up to the 4061 that SQLite leaves there. */
#define FAR "far"
static const char heads_sql[] =
    "SELECT 1 FROM record WHERE scan_row("
    "CASE WHEN length(doc)<=1680 THEN doc"
    " WHEN length(doc)+length(key)+coalesce(length(home),0)+length(kind)+length(tag)>4001"
    " THEN '" FAR "' ELSE doc END,"
    "crc,rev,kind,key,home,due,basis,mark,tag) ORDER BY rev";

static enum tocsin_status gather_all(struct sqlite_store *store, struct dead_set *set,
                                     struct tocsin_why *ret_why)
{
    sqlite3_stmt *ledgers = store->writer.statements[SQLITE_LEDGERS_STATEMENT];
    sqlite_bind_number(ledgers, 1, 0);
    sqlite_bind_number(ledgers, 2, store->ledger.commit);
    (void)sqlite3_bind_int64(ledgers, 3, -1);
    enum tocsin_status status = TOCSIN_OK;
    int code;
    while ((code = sqlite3_step(ledgers)) == SQLITE_ROW && status == TOCSIN_OK) {
        struct ledger ledger;
        struct bytes list;
        status = sqlite_read_ledger(ledgers, &ledger, &list) ? dead_set_add_list(set, list)
                                                             : TOCSIN_DAMAGED;
        if (status == TOCSIN_DAMAGED)
            (void)sqlite_damaged_row(&store->writer, "dead", ledger.commit, ret_why);
    }
    if (status == TOCSIN_OK)
        status = sqlite_db_status(&store->writer, code, "read the dead", ret_why);
    (void)sqlite3_reset(ledgers);
    return status;
}

struct scan {
    struct sqlite_store *store;
    struct record_pipe pipe;
    pthread_t thread;
    sqlite3_stmt *heads;

    /* The thread's, until it is joined. */
    struct dead_cursor cursor;
    uint64_t next_dead; /* the first in the set at or above the row; 0: none */
    uint64_t last;
    uint64_t rows;
    uint64_t living;
    enum tocsin_status status; /* of the last row */
    int code;                  /* SQLite's */
};

static bool is_dead(struct scan *scan, uint64_t rev)
{
    while (scan->next_dead != 0 && scan->next_dead < rev)
        if (!dead_cursor_next(&scan->cursor, &scan->next_dead))
            scan->next_dead = 0;
    return scan->next_dead == rev;
}

static enum tocsin_status read_row(struct scan *scan, sqlite3_value **values)
{
    struct store_record record;
    uint64_t crc = sqlite_number(values[1]);
    bool whole = sqlite_head_of(values + 2, crc, &record);
    uint64_t before = scan->last;
    scan->last = record.rev;
    if (!whole || record.rev <= before || record.rev > scan->store->ledger.high_rev)
        return TOCSIN_DAMAGED;
    scan->rows++;
    if (is_dead(scan, record.rev))
        return TOCSIN_OK;
    scan->living++;
    record.doc = sqlite_bytes(values[0]);
    if (!sqlite_doc_is(&record, crc) && !bytes_are(record.doc, FAR))
        return TOCSIN_DAMAGED;
    return record_pipe_put(&scan->pipe, &record);
}

/* Called by SQLite. A row is in the result, and the step ends, when nothing more is wanted. */
static void scan_row(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct scan *scan = sqlite3_user_data(context);
    (void)count;
    scan->status = read_row(scan, values);
    if (scan->status != TOCSIN_OK)
        sqlite3_result_int(context, 1);
}

static void *scan_all(void *arg)
{
    struct scan *scan = arg;
    scan->code = sqlite3_step(scan->heads);
    record_pipe_end(&scan->pipe);
    return NULL;
}

/* What is missing has no place; what SQLite finds wrong in the file may be the cause, or else the
 * table begins there. */
static enum tocsin_status say_books(const struct scan *scan, uint64_t dead,
                                    struct tocsin_why *ret_why)
{
    const struct sqlite_store *store = scan->store;
    char where[SQLITE_PLACE_BYTES];
    sqlite_db_find_damage(&store->writer, where);
    if (where[0] == '\0')
        sqlite_place_table(&store->writer, "record", where);
    return reason_say(ret_why, TOCSIN_DAMAGED,
                      "%s is damaged%s: %llu records live and %llu are dead, not %llu and %llu. "
                      "Restore a backup, or accept the loss (--accept-loss)",
                      store->writer.path, where, (unsigned long long)scan->living,
                      (unsigned long long)dead, (unsigned long long)store->ledger.living,
                      (unsigned long long)store->ledger.dead);
}

/* The books were written with the rows, so they must agree. */
static enum tocsin_status compare_books(const struct scan *scan, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = scan->store;
    uint64_t dead = scan->rows - scan->living;
    if ((scan->living != store->ledger.living || dead != store->ledger.dead) && !store->accept_loss)
        return say_books(scan, dead, ret_why);
    store->ledger.living = scan->living;
    store->ledger.dead = dead;
    atomic_store_explicit(&store->living, scan->living, memory_order_relaxed);
    atomic_store_explicit(&store->dead, dead, memory_order_relaxed);
    if (store->progress != NULL)
        store->progress(store->progress_arg, scan->living, scan->living);
    return TOCSIN_OK;
}

static int set_function(struct scan *scan, bool there)
{
    return sqlite3_create_function(scan->store->writer.handle, "scan_row", 2 + SQLITE_HEAD_COLUMNS,
                                   SQLITE_UTF8 | SQLITE_DIRECTONLY, scan, there ? scan_row : NULL,
                                   NULL, NULL);
}

static enum tocsin_status scan_begin(struct scan *scan, const struct dead_set *set,
                                     struct tocsin_why *ret_why)
{
    struct sqlite_db *db = &scan->store->writer;
    dead_cursor_init(&scan->cursor, set);
    if (!dead_cursor_next(&scan->cursor, &scan->next_dead))
        scan->next_dead = 0;
    int code = set_function(scan, true);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db->handle, heads_sql, -1, &scan->heads, NULL);
    return sqlite_db_status(db, code, "load", ret_why);
}

static void scan_end(struct scan *scan)
{
    (void)sqlite3_finalize(scan->heads);
    (void)set_function(scan, false);
}

static bool start_thread(struct scan *scan)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all); /* signals are the caller's business */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&scan->thread, NULL, scan_all, scan) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_setname_np(scan->thread, "tocsin-load");
    return started;
}

/* False: the visitor wants no more. */
static bool visit_all(struct scan *scan, bool (*visit)(void *arg, const struct store_record *),
                      void *arg)
{
    struct sqlite_store *store = scan->store;
    const struct record_block *block;
    uint64_t done = 0;
    while ((block = record_pipe_take(&scan->pipe)) != NULL) {
        for (size_t i = 0; i < block->count; i++)
            if (!visit(arg, &block->records[i]))
                return false;
        done += block->count;
        if (store->progress != NULL)
            store->progress(store->progress_arg, done, store->ledger.living);
    }
    return true;
}

/* How the scan ended, with the place: SQLite's own check does not always find one. */
static enum tocsin_status scan_status(const struct scan *scan, struct tocsin_why *ret_why)
{
    const struct sqlite_db *db = &scan->store->writer;
    if (scan->status != TOCSIN_OK) /* TOO_LARGE too: no such record was ever written */
        return sqlite_damaged_row(db, "record", scan->last, ret_why);
    if ((scan->code & 0xff) != SQLITE_CORRUPT)
        return sqlite_db_status(db, scan->code, "load", ret_why);
    char what[80];
    (void)snprintf(what, sizeof what, "table record, after row %llu",
                   (unsigned long long)scan->last);
    return sqlite_db_damaged(db, what, ret_why);
}

/* All rows of record that are not in the set, and the books. */
static enum tocsin_status scan_records(struct scan *scan,
                                       bool (*visit)(void *arg, const struct store_record *record),
                                       void *arg, struct tocsin_why *ret_why)
{
    if (!start_thread(scan))
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "the system gave no thread to load with");
    bool visited = visit_all(scan, visit, arg);
    if (!visited)
        record_pipe_close(&scan->pipe);
    (void)pthread_join(scan->thread, NULL);
    enum tocsin_status status = visited ? scan_status(scan, ret_why) : TOCSIN_OK;
    return visited && status == TOCSIN_OK ? compare_books(scan, ret_why) : status;
}

enum tocsin_status sqlite_load(struct store *handle,
                               bool (*visit)(void *arg, const struct store_record *record),
                               void *arg, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    struct scan scan = {.store = store};
    struct dead_set set;
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status != TOCSIN_OK)
        return status;
    if (!record_pipe_init(&scan.pipe))
        return TOCSIN_NO_MEMORY;
    dead_set_init(&set);
    status = gather_all(store, &set, ret_why);
    if (status == TOCSIN_OK)
        status = scan_begin(&scan, &set, ret_why);
    if (status == TOCSIN_OK)
        status = scan_records(&scan, visit, arg, ret_why);
    scan_end(&scan);
    dead_set_release(&set);
    record_pipe_release(&scan.pipe);
    return status;
}
