/* SPDX-License-Identifier: MIT */
/* Loading: the lists of the dead become a set, then the rows of record are read in order, docs
 * left alone, and those in the set are passed over. Everything SQLite would not notice is
 * checked on the way: each head by its checksum, rows that are missing or come twice by their
 * order and number. */
#include "schedule/reason.h"
#include "store/sqlite_row.h"

enum { PROGRESS_ROWS = 65536 };

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
            (void)reason_say(ret_why, status,
                             "%s is damaged: table dead, row %llu. Restore a backup; "
                             "'tocsin verify' shows the extent",
                             store->writer.path, (unsigned long long)ledger.commit);
    }
    if (status == TOCSIN_OK)
        status = sqlite_db_status(&store->writer, code, "read the dead", ret_why);
    (void)sqlite3_reset(ledgers);
    return status;
}

struct scan {
    struct sqlite_store *store;
    struct dead_cursor cursor;
    uint64_t next_dead; /* the first in the set at or above the row; 0: none */
    uint64_t last;
    uint64_t rows;
    uint64_t living;
    bool stopped; /* by the visitor */
};

static bool is_dead(struct scan *scan, uint64_t rev)
{
    while (scan->next_dead != 0 && scan->next_dead < rev)
        if (!dead_cursor_next(&scan->cursor, &scan->next_dead))
            scan->next_dead = 0;
    return scan->next_dead == rev;
}

static enum tocsin_status scan_row(struct scan *scan, sqlite3_stmt *heads,
                                   bool (*visit)(void *arg, const struct store_record *record),
                                   void *arg, struct tocsin_why *ret_why)
{
    struct store_record record;
    struct sqlite_store *store = scan->store;
    bool whole = sqlite_read_head(heads, &record);
    if (!whole || record.rev <= scan->last || record.rev > store->ledger.high_rev)
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "%s is damaged: table record, row %llu (number %llu of the table). "
                          "Restore a backup; 'tocsin verify' shows the extent",
                          store->writer.path, (unsigned long long)record.rev,
                          (unsigned long long)scan->rows);
    scan->last = record.rev;
    scan->rows++;
    if (store->progress != NULL && scan->rows % PROGRESS_ROWS == 0)
        store->progress(store->progress_arg, scan->rows, store->ledger.living + store->ledger.dead);
    if (is_dead(scan, record.rev))
        return TOCSIN_OK;
    scan->living++;
    scan->stopped = !visit(arg, &record);
    return TOCSIN_OK;
}

/* The books were written with the rows, so they must agree. */
static enum tocsin_status compare_books(struct scan *scan, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = scan->store;
    uint64_t dead = scan->rows - scan->living;
    if ((scan->living != store->ledger.living || dead != store->ledger.dead) && !store->accept_loss)
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "%s is damaged: %llu records live and %llu are dead where %llu and %llu "
                          "were written. Restore a backup, or accept the loss (--accept-loss)",
                          store->writer.path, (unsigned long long)scan->living,
                          (unsigned long long)dead, (unsigned long long)store->ledger.living,
                          (unsigned long long)store->ledger.dead);
    store->ledger.living = scan->living;
    store->ledger.dead = dead;
    atomic_store_explicit(&store->living, scan->living, memory_order_relaxed);
    atomic_store_explicit(&store->dead, dead, memory_order_relaxed);
    if (store->progress != NULL)
        store->progress(store->progress_arg, scan->rows, scan->rows);
    return TOCSIN_OK;
}

enum tocsin_status sqlite_load(struct store *handle,
                               bool (*visit)(void *arg, const struct store_record *record),
                               void *arg, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    sqlite3_stmt *heads = store->writer.statements[SQLITE_HEADS_STATEMENT];
    struct scan scan = {.store = store};
    struct dead_set set;
    int code = SQLITE_ROW;
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status != TOCSIN_OK)
        return status;
    dead_set_init(&set);
    status = gather_all(store, &set, ret_why);
    dead_cursor_init(&scan.cursor, &set);
    if (!dead_cursor_next(&scan.cursor, &scan.next_dead))
        scan.next_dead = 0;
    while (status == TOCSIN_OK && !scan.stopped && (code = sqlite3_step(heads)) == SQLITE_ROW)
        status = scan_row(&scan, heads, visit, arg, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_status(&store->writer, code, "load", ret_why);
    (void)sqlite3_reset(heads);
    if (status == TOCSIN_OK && !scan.stopped)
        status = compare_books(&scan, ret_why);
    dead_set_release(&set);
    return status;
}
