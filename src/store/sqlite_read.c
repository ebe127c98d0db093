/* SPDX-License-Identifier: MIT */
/* Reading beside the writer, on a connection of its own. Every statement is reset before a call
 * returns: an open snapshot would keep the log from being copied into the file. */
#include "store/sqlite_place.h"
#include "store/sqlite_row.h"

/* What cannot be read is not there for the caller, but the writer may go on. */
static enum tocsin_status ended(struct sqlite_store *store, int code, struct tocsin_why *ret_why)
{
    enum tocsin_status status = sqlite_db_status(&store->reader, code, "read", ret_why);
    return status == TOCSIN_IO || status == TOCSIN_NO_SPACE ? TOCSIN_UNAVAILABLE : status;
}

void sqlite_together(struct store *handle, bool begin)
{
    struct sqlite_store *store = sqlite_inside(handle);
    (void)sqlite3_exec(store->reader.handle, begin ? "BEGIN" : "COMMIT", NULL, NULL, NULL);
}

/* False: it is damaged, and has no doc. */
static bool read_doc(sqlite3_stmt *row, struct store_record *record)
{
    record->damaged = !sqlite_read_doc(row, record);
    if (record->damaged)
        record->doc = (struct bytes){"", 0};
    return !record->damaged;
}

enum tocsin_status sqlite_get(struct store *handle, uint64_t rev,
                              void (*visit)(void *arg, const struct store_record *record),
                              void *arg, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    sqlite3_stmt *get = store->reader.statements[SQLITE_GET_STATEMENT];
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status != TOCSIN_OK)
        return status;
    sqlite_bind_number(get, 1, rev);
    int code = sqlite3_step(get);
    struct store_record record = {0};
    if (code == SQLITE_DONE)
        status = TOCSIN_NONE;
    else if (code != SQLITE_ROW)
        status = ended(store, code, ret_why);
    else if (!sqlite_read_head(get, &record) || !read_doc(get, &record))
        status = sqlite_damaged_row(&store->reader, "record", rev, ret_why);
    if (status == TOCSIN_OK || (status == TOCSIN_DAMAGED && record.damaged))
        visit(arg, &record);
    (void)sqlite3_reset(get);
    return status;
}

/* The tree is searched for the place behind after_rev. An inner page that has decayed leads to
 * another place, and what lies between would be left out in silence. But the row before the
 * place found, and the one behind it, were seen at load to stand next to each other: when
 * after_rev lies between the two, it is the right one. This looks at the one before, and leaves
 * the statement open, so that the list is read in the same snapshot. */
static enum tocsin_status check_place(struct sqlite_store *store, uint64_t after_rev,
                                      struct tocsin_why *ret_why)
{
    sqlite3_stmt *up_to = store->reader.statements[SQLITE_UP_TO_STATEMENT];
    sqlite_bind_number(up_to, 1, after_rev);
    int code = sqlite3_step(up_to);
    enum tocsin_status status = ended(store, code, ret_why);
    if (status == TOCSIN_OK && code == SQLITE_ROW && sqlite_column_number(up_to, 0) > after_rev)
        status =
            sqlite_damaged_row(&store->reader, "record", sqlite_column_number(up_to, 0), ret_why);
    return status;
}

enum tocsin_status sqlite_list(struct store *handle, struct bytes kind, uint64_t after_rev,
                               size_t scan, bool (*visit)(void *arg, const struct store_record *),
                               void *arg, uint64_t *ret_next, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    sqlite3_stmt *list = store->reader.statements[SQLITE_LIST_STATEMENT];
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status != TOCSIN_OK)
        return status;
    sqlite_bind_number(list, 1, after_rev);
    sqlite_bind_number(list, 2, (uint64_t)scan + 1); /* one more tells whether that was all */
    uint64_t next = 0;
    int code = SQLITE_DONE;
    status = check_place(store, after_rev, ret_why);
    while (status == TOCSIN_OK && (code = sqlite3_step(list)) == SQLITE_ROW) {
        struct store_record record;
        if (scan-- == 0) {
            next = after_rev;
            break;
        }
        if (sqlite_column_number(list, 0) <= after_rev) { /* they do not ascend */
            status = sqlite_damaged_row(&store->reader, "record", after_rev, ret_why);
            break;
        }
        after_rev = sqlite_column_number(list, 0);
        if (!sqlite_read_head(list, &record))
            record = (struct store_record){.rev = after_rev, .damaged = true};
        else if (bytes_equal(record.kind, kind))
            (void)read_doc(list, &record);
        else
            continue;
        if (!visit(arg, &record)) {
            next = after_rev;
            break;
        }
    }
    if (status == TOCSIN_OK)
        status = ended(store, code, ret_why);
    (void)sqlite3_reset(list);
    (void)sqlite3_reset(store->reader.statements[SQLITE_UP_TO_STATEMENT]);
    if (status == TOCSIN_OK)
        *ret_next = next;
    return status;
}

/* In the same snapshot as the events, so that the two agree. */
static enum tocsin_status read_books(struct sqlite_store *store, struct ledger *ret_ledger,
                                     struct tocsin_why *ret_why)
{
    sqlite3_stmt *now = store->reader.statements[SQLITE_NOW_LEDGER_STATEMENT];
    struct bytes list;
    int code = sqlite3_step(now);
    enum tocsin_status status = ended(store, code, ret_why);
    if (status == TOCSIN_OK && (code != SQLITE_ROW || !sqlite_read_ledger(now, ret_ledger, &list)))
        status = sqlite_damaged_row(&store->reader, "dead", ret_ledger->commit, ret_why);
    (void)sqlite3_reset(now);
    return status;
}

/* Seqs rise by one from the first kept to the last: one that is missing is damage. */
static enum tocsin_status visit_events(struct sqlite_store *store, const struct ledger *ledger,
                                       uint64_t after_seq, size_t scan,
                                       bool (*visit)(void *arg, const struct store_event *),
                                       void *arg, struct tocsin_why *ret_why)
{
    sqlite3_stmt *events = store->reader.statements[SQLITE_EVENTS_STATEMENT];
    uint64_t next = after_seq < ledger->first_seq ? ledger->first_seq : after_seq + 1;
    sqlite_bind_number(events, 1, after_seq);
    sqlite_bind_number(events, 2, scan);
    enum tocsin_status status = TOCSIN_OK;
    bool wanted = true;
    int code = SQLITE_DONE;
    while (wanted && scan > 0 && next <= ledger->high_seq) {
        struct store_event event;
        code = sqlite3_step(events);
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            break;
        if (code == SQLITE_DONE || !sqlite_read_event(events, &event) || event.seq != next) {
            status = sqlite_damaged_row(&store->reader, "event", next, ret_why);
            break;
        }
        wanted = visit(arg, &event);
        next++;
        scan--;
    }
    if (status == TOCSIN_OK)
        status = ended(store, code, ret_why);
    (void)sqlite3_reset(events);
    return status;
}

enum tocsin_status sqlite_events(struct store *handle, uint64_t after_seq, size_t scan,
                                 bool (*visit)(void *arg, const struct store_event *), void *arg,
                                 uint64_t *ret_first, struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    struct ledger ledger = {0};
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_run(&store->reader, "BEGIN", ret_why);
    if (status != TOCSIN_OK)
        return status;
    status = read_books(store, &ledger, ret_why);
    if (status == TOCSIN_OK)
        status = visit_events(store, &ledger, after_seq, scan, visit, arg, ret_why);
    (void)sqlite3_exec(store->reader.handle, "COMMIT", NULL, NULL, NULL);
    if (status == TOCSIN_OK)
        *ret_first = ledger.first_seq <= ledger.high_seq ? ledger.first_seq : 0;
    return status;
}
