/* SPDX-License-Identifier: MIT */
/* Sweeping: the rows of versions that died are deleted, in slices inside normal commits.
 *
 *   IDLE    → GATHER   when more rows are dead than sweep_min and than half of the living
 *   GATHER             the lists of all commits up to this one go into a set
 *           → DELETE   when the last of them is in
 *   DELETE             the rows in the set are deleted, in ascending order: neighbours share
 *                      pages, so a page is written once for all of its dead
 *           → FORGET   when the last of them is gone
 *   FORGET             these lists are deleted
 *           → IDLE     when the last of them is gone
 *
 * A commit deletes more than it adds to the dead, so a sweep ends. The set is in memory only
 * while a sweep runs, at 2 bytes a dead row (dead.h); while it waits, the dead cost nothing but
 * their place in the file.
 */
#include "store/sqlite_row.h"

enum {
    GATHER_LISTS = 256, /* a slice ends with the first list beyond one of these */
    GATHER_REVS = 4096,
    DELETE_REVS_MIN = 64,
    DELETE_REVS_MAX = 1024,
    FORGET_LISTS = 512,
};

static void begin_when_due(struct sqlite_store *store)
{
    struct sweep *sweep = &store->sweep;
    uint64_t half = store->ledger.living / 2;
    if (store->ledger.dead <= (half > store->sweep_min ? half : store->sweep_min))
        return;
    dead_set_release(&sweep->set);
    sweep->place = (struct sweep_place){.phase = SWEEP_GATHER, .upto = store->ledger.commit};
}

static enum tocsin_status gather(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    struct sweep *sweep = &store->sweep;
    sqlite3_stmt *ledgers = store->writer.statements[SQLITE_LEDGERS_STATEMENT];
    sqlite_bind_number(ledgers, 1, sweep->place.at);
    sqlite_bind_number(ledgers, 2, sweep->place.upto);
    sqlite_bind_number(ledgers, 3, GATHER_LISTS);
    enum tocsin_status status = TOCSIN_OK;
    uint64_t full = sweep->set.size + GATHER_REVS;
    int lists = 0;
    int code = SQLITE_ROW;
    while (status == TOCSIN_OK && sweep->set.size < full) {
        code = sqlite3_step(ledgers);
        if (code != SQLITE_ROW)
            break;
        lists++;
        struct ledger ledger;
        struct bytes list;
        if (!sqlite_read_ledger(ledgers, &ledger, &list))
            status = TOCSIN_DAMAGED;
        else
            status = dead_set_add_list(&sweep->set, list);
        sweep->place.at = ledger.commit + 1;
    }
    if (status == TOCSIN_DAMAGED)
        status = sqlite_db_damaged(&store->writer, "a list of the dead", ret_why);
    else if (status == TOCSIN_OK)
        status = sqlite_db_status(&store->writer, code, "gather the dead", ret_why);
    (void)sqlite3_reset(ledgers);
    /* Fewer than were asked for: there are no more. Otherwise the next slice looks on. */
    if (status == TOCSIN_OK && code == SQLITE_DONE && lists < GATHER_LISTS)
        sweep->place.at = sweep->place.upto + 1;
    return status;
}

static enum tocsin_status delete_rows(struct sqlite_store *store, struct ledger *ledger,
                                      uint64_t budget, bool *ret_done, struct tocsin_why *ret_why)
{
    sqlite3_stmt *delete = store->writer.statements[SQLITE_SWEEP_STATEMENT];
    uint64_t first;
    uint64_t last;
    bool more = true;
    while (budget > 0) {
        more = dead_cursor_next_run(&store->sweep.place.cursor, budget, &first, &last);
        if (!more)
            break;
        budget -= last - first + 1;
        sqlite_bind_number(delete, 1, first);
        sqlite_bind_number(delete, 2, last);
        int code = sqlite_run(delete);
        if (code != SQLITE_OK)
            return sqlite_db_status(&store->writer, code, "sweep", ret_why);
        uint64_t gone = (uint64_t)sqlite3_changes(store->writer.handle);
        if (gone > ledger->dead)
            return sqlite_db_damaged(&store->writer, "more rows are dead than were counted",
                                     ret_why);
        ledger->dead -= gone;
    }
    *ret_done = !more;
    return TOCSIN_OK;
}

static enum tocsin_status forget_lists(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    struct sweep_place *place = &store->sweep.place;
    sqlite3_stmt *delete = store->writer.statements[SQLITE_DROP_LEDGERS_STATEMENT];
    uint64_t last = place->at + FORGET_LISTS - 1;
    last = last < place->upto ? last : place->upto;
    sqlite_bind_number(delete, 1, place->at);
    sqlite_bind_number(delete, 2, last);
    int code = sqlite_run(delete);
    place->at = last + 1;
    return sqlite_db_status(&store->writer, code, "forget the dead", ret_why);
}

/* Where the oldest list stands: what is below was forgotten long ago. */
static enum tocsin_status oldest_list(struct sqlite_store *store, uint64_t *ret_commit,
                                      struct tocsin_why *ret_why)
{
    int64_t oldest = 0;
    enum tocsin_status status =
        sqlite_db_number(&store->writer, "SELECT min(n) FROM dead", &oldest, ret_why);
    if (status == TOCSIN_OK)
        *ret_commit = (uint64_t)oldest;
    return status;
}

enum tocsin_status sweep_step(struct sqlite_store *store, struct ledger *ledger, uint64_t work,
                              struct tocsin_why *ret_why)
{
    struct sweep *sweep = &store->sweep;
    struct sweep_place *place = &sweep->place;
    enum tocsin_status status = TOCSIN_OK;
    uint64_t budget = DELETE_REVS_MIN + 2 * work;
    bool done = false;
    switch (place->phase) {
    case SWEEP_IDLE:
        begin_when_due(store);
        break;
    case SWEEP_GATHER:
        status = gather(store, ret_why);
        if (status == TOCSIN_OK && place->at > place->upto) {
            place->phase = SWEEP_DELETE;
            dead_cursor_init(&place->cursor, &sweep->set);
        }
        break;
    case SWEEP_DELETE:
        budget = budget < DELETE_REVS_MAX ? budget : DELETE_REVS_MAX;
        status = delete_rows(store, ledger, budget, &done, ret_why);
        if (status == TOCSIN_OK && done) {
            place->phase = SWEEP_FORGET;
            status = oldest_list(store, &place->at, ret_why);
        }
        break;
    case SWEEP_FORGET:
        status = forget_lists(store, ret_why);
        if (status == TOCSIN_OK && place->at > place->upto)
            place->phase = SWEEP_IDLE;
        break;
    }
    return status;
}
