/* SPDX-License-Identifier: MIT */
/* Sweeping: the rows of versions that died are deleted, in slices inside normal commits.
 *
 *   IDLE    → GATHER   when more rows are dead than sweep_min and than half of the living, or more
 *                      bytes than sweep_bytes_min and than half of the living; or when any is, and
 *                      the disk is full
 *   GATHER             the lists of all commits up to this one go into a set
 *           → DELETE   when the last of them is in
 *   DELETE             the rows in the set are deleted, in ascending order: neighbours share
 *                      pages, so a page is written once for all of its dead
 *           → FORGET   when the last of them is gone
 *   FORGET             these lists are deleted
 *           → IDLE     when the last of them is gone
 *
 * A commit deletes more than it adds to the dead, so a sweep ends. A row of many pages costs the
 * reading of each (SQLite follows the chain) though hardly a write; so a slice ends by the pages
 * it has read as well, of which a commit may read more than it writes. The set is in memory only
 * while a sweep runs, at 2 bytes a dead row (dead.h); while it waits, the dead cost nothing but
 * their place in the file.
 */
#include "store/sqlite_row.h"

enum {
    GATHER_LISTS = 256, /* a slice ends with the first list beyond one of these */
    GATHER_REVS = 4096,
    DELETE_REVS_MIN = 64,
    DELETE_REVS_MAX = 1024,
    DELETE_REVS_TIGHT = 256, /* one page of the log each, at worst */
    DELETE_RUN_REVS = 16,    /* one statement: what a slice may go beyond its pages */
    DELETE_PAGES_MIN = 256,
    FORGET_LISTS = 512,
    ALONE = 8,      /* times as much where nothing else is done */
    LOOKS = 8,      /* at the pages of the file, while sweep_bytes_min more bytes die */
    WEIGH_BITS = 6, /* one row in 64 is weighed */
    ROW_EXTRA_BYTES = 64,
};

uint64_t sqlite_free_bytes(struct sqlite_store *store)
{
    int64_t pages = 0;
    (void)sqlite_db_number(&store->writer, "PRAGMA freelist_count", &pages, NULL);
    return (uint64_t)pages * SQLITE_PAGE_BYTES;
}

/* Of everything but events. */
static uint64_t used_bytes(struct sqlite_store *store)
{
    int64_t pages = 0;
    (void)sqlite_db_number(&store->writer, "PRAGMA page_count", &pages, NULL);
    uint64_t used = (uint64_t)pages * SQLITE_PAGE_BYTES;
    uint64_t others = sqlite_free_bytes(store) + store->ledger.event_bytes;
    return used > others ? used - others : 0;
}

void sweep_guess_bytes(struct sqlite_store *store)
{
    const struct ledger *ledger = &store->ledger;
    uint64_t rows = ledger->living + ledger->dead;
    store->sweep.place.dead_bytes =
        rows > 0 ? (uint64_t)((double)used_bytes(store) * (double)ledger->dead / (double)rows) : 0;
}

/* Which row is weighed is told by its number alone, but so that no rhythm of work can meet it. The
 * page was read not long ago, by whoever ended it. What cannot be read counts as nothing here:
 * this is an estimate, and no reason to fail. */
void sweep_weigh(struct sqlite_store *store, const struct store_batch *batch)
{
    sqlite3_stmt *weigh = store->writer.statements[SQLITE_WEIGH_STATEMENT];
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->dead_count; i++) {
        if ((batch->dead[i] * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - WEIGH_BITS) != 0)
            continue;
        sqlite_bind_number(weigh, 1, batch->dead[i]);
        if (sqlite3_step(weigh) == SQLITE_ROW)
            bytes += sqlite_column_number(weigh, 0) + ROW_EXTRA_BYTES;
        (void)sqlite3_reset(weigh);
    }
    store->sweep.place.dead_bytes += bytes << WEIGH_BITS;
}

bool sweep_has_work(const struct sqlite_store *store)
{
    return store->sweep.place.phase != SWEEP_IDLE || store->ledger.dead > 0;
}

static bool is_due(struct sqlite_store *store)
{
    uint64_t half = store->ledger.living / 2;
    struct sweep_place *place = &store->sweep.place;
    if (store->ledger.dead > (half > store->sweep_min ? half : store->sweep_min))
        return true;
    if (store->tight)
        return store->ledger.dead > 0;
    if (place->dead_bytes <= store->sweep_bytes_min || place->dead_bytes < place->look_at_bytes)
        return false;
    place->look_at_bytes = place->dead_bytes + store->sweep_bytes_min / LOOKS;
    return place->dead_bytes > used_bytes(store) / 3; /* so it is more than half of the rest */
}

static void begin_when_due(struct sqlite_store *store)
{
    struct sweep *sweep = &store->sweep;
    if (!is_due(store))
        return;
    dead_set_release(&sweep->set);
    sweep->place = (struct sweep_place){.phase = SWEEP_GATHER, .upto = store->ledger.commit};
}

static enum tocsin_status gather(struct sqlite_store *store, uint64_t times,
                                 struct tocsin_why *ret_why)
{
    struct sweep *sweep = &store->sweep;
    sqlite3_stmt *ledgers = store->writer.statements[SQLITE_LEDGERS_STATEMENT];
    sqlite_bind_number(ledgers, 1, sweep->place.at);
    sqlite_bind_number(ledgers, 2, sweep->place.upto);
    sqlite_bind_number(ledgers, 3, times * GATHER_LISTS);
    enum tocsin_status status = TOCSIN_OK;
    uint64_t full = sweep->set.size + times * GATHER_REVS;
    uint64_t lists = 0;
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
    if (status == TOCSIN_OK && code == SQLITE_DONE && lists < times * GATHER_LISTS)
        sweep->place.at = sweep->place.upto + 1;
    return status;
}

struct slice {
    uint64_t revs;
    uint64_t pages;
};

static struct slice slice_of(const struct sqlite_store *store, const struct store_batch *batch,
                             enum sweep_pace pace)
{
    uint64_t work = batch->put_count + batch->dead_count;
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->put_count; i++)
        bytes += batch->puts[i].doc.size;
    struct slice slice = {
        .revs = DELETE_REVS_MIN + 2 * work,
        .pages = DELETE_PAGES_MIN + 2 * (work + bytes / SQLITE_PAGE_BYTES),
    };
    if (pace == SWEEP_ALONE)
        slice = (struct slice){DELETE_REVS_TIGHT, (uint64_t)ALONE * DELETE_PAGES_MIN};
    uint64_t max = store->tight ? DELETE_REVS_TIGHT : DELETE_REVS_MAX;
    slice.revs = slice.revs < max ? slice.revs : max;
    return slice;
}

/* Pages that the writer has asked its file or log for, since it was opened. */
static unsigned pages_read(struct sqlite_store *store)
{
    int now = 0;
    int most = 0;
    (void)sqlite3_db_status(store->writer.handle, SQLITE_DBSTATUS_CACHE_MISS, &now, &most, 0);
    return (unsigned)now;
}

static enum tocsin_status delete_rows(struct sqlite_store *store, struct ledger *ledger,
                                      struct slice slice, bool *ret_done,
                                      struct tocsin_why *ret_why)
{
    sqlite3_stmt *delete = store->writer.statements[SQLITE_SWEEP_STATEMENT];
    unsigned began = pages_read(store);
    uint64_t budget = slice.revs;
    uint64_t first;
    uint64_t last;
    bool more = true;
    while (budget > 0 && pages_read(store) - began < slice.pages) {
        uint64_t run = budget < DELETE_RUN_REVS ? budget : DELETE_RUN_REVS;
        more = dead_cursor_next_run(&store->sweep.place.cursor, run, &first, &last);
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

static enum tocsin_status forget_lists(struct sqlite_store *store, uint64_t times,
                                       struct tocsin_why *ret_why)
{
    struct sweep_place *place = &store->sweep.place;
    sqlite3_stmt *delete = store->writer.statements[SQLITE_DROP_LEDGERS_STATEMENT];
    uint64_t last = place->at + times * FORGET_LISTS - 1;
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

enum tocsin_status sweep_step(struct sqlite_store *store, struct ledger *ledger,
                              const struct store_batch *batch, enum sweep_pace pace,
                              struct tocsin_why *ret_why)
{
    struct sweep *sweep = &store->sweep;
    struct sweep_place *place = &sweep->place;
    enum tocsin_status status = TOCSIN_OK;
    uint64_t times = pace == SWEEP_ALONE ? ALONE : 1;
    bool done = false;
    if (pace == SWEEP_NONE)
        return TOCSIN_OK;
    switch (place->phase) {
    case SWEEP_IDLE:
        begin_when_due(store);
        break;
    case SWEEP_GATHER:
        status = gather(store, times, ret_why);
        if (status == TOCSIN_OK && place->at > place->upto) {
            place->phase = SWEEP_DELETE;
            dead_cursor_init(&place->cursor, &sweep->set);
        }
        break;
    case SWEEP_DELETE:
        status = delete_rows(store, ledger, slice_of(store, batch, pace), &done, ret_why);
        if (status == TOCSIN_OK && done) {
            place->phase = SWEEP_FORGET;
            status = oldest_list(store, &place->at, ret_why);
        }
        break;
    case SWEEP_FORGET:
        status = forget_lists(store, times, ret_why);
        if (status == TOCSIN_OK && place->at > place->upto)
            place->phase = SWEEP_IDLE;
        break;
    }
    return status;
}
