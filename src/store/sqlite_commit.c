/* SPDX-License-Identifier: MIT */
/* A commit is one transaction: new rows at the end of record and event, one row in dead, and a
 * slice of sweeping. Nothing in memory changes before SQLite has said that it is synced. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "schedule/reason.h"
#include "store/sqlite_row.h"

enum {
    OLD_EVENTS_MIN = 64,
    ROOM_COMMITS = 16,       /* of sweeping alone, for one try of new work on a full disk */
    ROOM_EXTRA_BYTES = 1024, /* of a row's numbers, and of pages not filled */
};

enum tocsin_status sqlite_stop(struct sqlite_store *store, enum tocsin_status status,
                               const struct tocsin_why *why)
{
    store->stopped_why = *why;
    atomic_store_explicit(&store->stopped, (int)status, memory_order_release);
    return status;
}

enum tocsin_status sqlite_running(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    enum tocsin_status status =
        (enum tocsin_status)atomic_load_explicit(&store->stopped, memory_order_acquire);
    if (status != TOCSIN_OK && ret_why != NULL)
        *ret_why = store->stopped_why;
    return status;
}

enum tocsin_status sqlite_checkpoint(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    int frames = 0;
    int copied = 0;
    int code = sqlite3_wal_checkpoint_v2(store->writer.handle, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                         &frames, &copied);
    store->checkpoint_at = store->frames + store->checkpoint_frames;
    enum tocsin_status status =
        sqlite_db_status(&store->writer, code, "copy the log into the file", ret_why);
    if (status == TOCSIN_NO_SPACE || status == TOCSIN_UNAVAILABLE)
        return TOCSIN_OK;
    return status;
}

static int by_number(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* The list of this commit's dead, in store->list. */
static enum tocsin_status make_list(struct sqlite_store *store, const struct store_batch *batch)
{
    buffer_clear(&store->list);
    if (batch->dead_count > store->sorted_room) {
        uint64_t *sorted = realloc(store->sorted, batch->dead_count * sizeof *sorted);
        if (sorted == NULL)
            return TOCSIN_UNAVAILABLE;
        store->sorted = sorted;
        store->sorted_room = batch->dead_count;
    }
    bool ascending = true;
    for (size_t i = 0; i < batch->dead_count; i++) {
        assert(batch->dead[i] <= batch->high_rev);
        store->sorted[i] = batch->dead[i];
        ascending = ascending && (i == 0 || batch->dead[i] > batch->dead[i - 1]);
    }
    if (!ascending)
        qsort(store->sorted, batch->dead_count, sizeof *store->sorted, by_number);
    dead_encode(&store->list, store->sorted, batch->dead_count);
    return buffer_status(&store->list) == TOCSIN_OK ? TOCSIN_OK : TOCSIN_UNAVAILABLE;
}

/* The order is the caller's promise: a rev used twice would bring the dead back. */
static void require_order(const struct sqlite_store *store, const struct store_batch *batch)
{
    uint64_t rev = store->ledger.high_rev;
    for (size_t i = 0; i < batch->put_count; i++) {
        assert(batch->puts[i].rev > rev);
        rev = batch->puts[i].rev;
    }
    assert(batch->high_rev >= rev && batch->high_rev <= DEAD_REV_MAX);
    for (size_t i = 0; i < batch->event_count; i++)
        assert(batch->events[i].seq == store->ledger.high_seq + 1 + i);
}

static struct ledger next_ledger(const struct sqlite_store *store, const struct store_batch *batch)
{
    struct ledger ledger = store->ledger;
    ledger.commit++;
    ledger.living += batch->put_count;
    assert(ledger.living >= batch->dead_count);
    ledger.living -= batch->dead_count;
    ledger.dead += batch->dead_count;
    ledger.high_rev = batch->high_rev;
    ledger.high_seq += batch->event_count;
    for (size_t i = 0; i < batch->event_count; i++)
        ledger.event_bytes += sqlite_event_bytes(&batch->events[i]);
    ledger.time = batch->time;
    return ledger;
}

static int put_rows(struct sqlite_store *store, const struct store_batch *batch)
{
    sqlite3_stmt *put = store->writer.statements[SQLITE_PUT_STATEMENT];
    sqlite3_stmt *add = store->writer.statements[SQLITE_ADD_EVENT_STATEMENT];
    int code = SQLITE_OK;
    for (size_t i = 0; i < batch->put_count && code == SQLITE_OK; i++) {
        sqlite_bind_record(put, &batch->puts[i]);
        code = sqlite_run(put);
    }
    for (size_t i = 0; i < batch->event_count && code == SQLITE_OK; i++) {
        sqlite_bind_event(add, &batch->events[i]);
        code = sqlite_run(add);
    }
    return code;
}

/* The oldest events go when there are too many bytes of them: more than came, so that it ends. */
static int give_up_old_events(struct sqlite_store *store, struct ledger *ledger, size_t came)
{
    if (store->event_bytes_max == 0 || ledger->event_bytes <= store->event_bytes_max)
        return SQLITE_OK;
    sqlite3_stmt *old = store->writer.statements[SQLITE_OLD_EVENTS_STATEMENT];
    sqlite3_stmt *drop = store->writer.statements[SQLITE_DROP_EVENTS_STATEMENT];
    uint64_t upto = 0;
    int code;
    sqlite_bind_number(old, 1, OLD_EVENTS_MIN + 2 * came);
    while ((code = sqlite3_step(old)) == SQLITE_ROW) {
        uint64_t bytes = sqlite_column_number(old, 1) + SQLITE_EVENT_EXTRA_BYTES;
        upto = sqlite_column_number(old, 0);
        ledger->first_seq = upto + 1;
        ledger->event_bytes -= bytes < ledger->event_bytes ? bytes : ledger->event_bytes;
        if (ledger->event_bytes <= store->event_bytes_max)
            break;
    }
    (void)sqlite3_reset(old);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    sqlite_bind_number(drop, 1, upto);
    return sqlite_run(drop);
}

static int write_ledger(struct sqlite_store *store, const struct ledger *ledger)
{
    sqlite3_stmt *add = store->writer.statements[SQLITE_ADD_LEDGER_STATEMENT];
    sqlite3_stmt *drop = store->writer.statements[SQLITE_DROP_LEDGERS_STATEMENT];
    int code = SQLITE_OK;
    if (store->ledger_bare) {
        sqlite_bind_number(drop, 1, store->ledger.commit);
        sqlite_bind_number(drop, 2, store->ledger.commit);
        code = sqlite_run(drop);
    }
    if (code == SQLITE_OK) {
        sqlite_bind_ledger(add, ledger, (struct bytes){store->list.data, store->list.size});
        code = sqlite_run(add);
    }
    return code;
}

/* Everything between BEGIN and COMMIT. */
static enum tocsin_status fill(struct sqlite_store *store, const struct store_batch *batch,
                               enum sweep_pace pace, struct ledger *ledger,
                               struct tocsin_why *ret_why)
{
    int code = put_rows(store, batch);
    if (code == SQLITE_OK)
        code = give_up_old_events(store, ledger, batch->event_count);
    if (code != SQLITE_OK)
        return sqlite_db_status(&store->writer, code, "write", ret_why);
    enum tocsin_status status = sweep_step(store, ledger, batch, pace, ret_why);
    if (status == TOCSIN_OK && batch->epoch > store->epoch)
        status = sqlite_write_meta(store, batch->epoch, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_status(&store->writer, write_ledger(store, ledger), "write", ret_why);
    return status;
}

/* One attempt. On failure nothing has changed, in the file or here, unless it is IO. */
static enum tocsin_status attempt(struct sqlite_store *store, const struct store_batch *batch,
                                  enum sweep_pace pace, struct tocsin_why *ret_why)
{
    struct sqlite_db *db = &store->writer;
    struct ledger ledger = next_ledger(store, batch);
    struct sweep_place place = store->sweep.place;
    int code = sqlite_run(db->statements[SQLITE_BEGIN_STATEMENT]);
    enum tocsin_status status = sqlite_db_status(db, code, "begin", ret_why);
    if (status == TOCSIN_OK)
        status = fill(store, batch, pace, &ledger, ret_why);
    if (status == TOCSIN_OK) {
        code = sqlite_run(db->statements[SQLITE_COMMIT_STATEMENT]);
        status = sqlite_db_status(db, code, "commit", ret_why);
    }
    if (status == TOCSIN_OK) {
        uint64_t swept = store->ledger.dead + batch->dead_count - ledger.dead;
        atomic_fetch_add_explicit(&store->swept, swept, memory_order_relaxed);
        store->ledger = ledger;
        if (batch->epoch > store->epoch)
            store->epoch = batch->epoch;
        store->ledger_bare = store->list.size == 0;
        return TOCSIN_OK;
    }
    if (!sqlite3_get_autocommit(db->handle))
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    store->sweep.place = place;
    return status;
}

/* A checkpoint lets the log begin anew inside the room it has. No slice beside it now: what was
 * asked for comes first. This is no second try of a sync. */
static enum tocsin_status attempt_anew(struct sqlite_store *store, const struct store_batch *batch,
                                       enum sweep_pace pace, struct tocsin_why *ret_why)
{
    enum tocsin_status status = sqlite_checkpoint(store, ret_why);
    return status == TOCSIN_OK ? attempt(store, batch, pace, ret_why) : status;
}

/* What new work may take of the disk: its rows in the log, and again in the file. */
static uint64_t room_bytes(const struct store_batch *batch)
{
    uint64_t bytes = (batch->put_count + batch->event_count) * ROOM_EXTRA_BYTES;
    for (size_t i = 0; i < batch->put_count; i++)
        bytes += batch->puts[i].key.size + batch->puts[i].doc.size;
    for (size_t i = 0; i < batch->event_count; i++)
        bytes += sqlite_event_bytes(&batch->events[i]);
    return 2 * bytes;
}

/* While the ballast is whole the disk itself says what fits. Once it was thrown, what room there is
 * belongs first to what ends work; pages that are free inside the file count too, since the file
 * never shrinks and SQLite takes them first. What is in the log only may have yet to find room. */
static bool takes_new_work(struct sqlite_store *store, const struct store_batch *batch)
{
    int64_t pages = 0;
    if (ballast_whole(&store->ballast))
        return true;
    (void)sqlite_db_number(&store->writer, "PRAGMA page_count", &pages, NULL);
    int64_t grows_bytes =
        pages * SQLITE_PAGE_BYTES - (int64_t)store_dir_file_bytes(&store->dir, SQLITE_STORE_FILE);
    int64_t inside_bytes = (int64_t)sqlite_free_bytes(store) - (grows_bytes > 0 ? grows_bytes : 0);
    return ballast_spares(&store->ballast, inside_bytes, room_bytes(batch));
}

/* The log cannot begin anew while the file has no room to grow by what is in it. The ballast gives
 * that room, at a price, so only for a sweep which gives back more. */
static bool worth_the_ballast(const struct sqlite_store *store)
{
    return store->sweep.place.phase != SWEEP_IDLE ||
           store->sweep.place.dead_bytes >= store->ballast.wanted_bytes;
}

static enum tocsin_status sweep_alone(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    struct store_batch nothing = {.high_rev = store->ledger.high_rev, .time = store->ledger.time};
    enum tocsin_status status = make_list(store, &nothing);
    if (status == TOCSIN_OK)
        status = attempt(store, &nothing, SWEEP_ALONE, ret_why);
    if (status == TOCSIN_NO_SPACE)
        status = attempt_anew(store, &nothing, SWEEP_ALONE, ret_why);
    if (status == TOCSIN_NO_SPACE && worth_the_ballast(store) && ballast_drop(&store->ballast))
        status = attempt_anew(store, &nothing, SWEEP_ALONE, ret_why);
    if (status == TOCSIN_OK) {
        commit_counter_write(&store->counter, store->ledger.commit);
        atomic_store_explicit(&store->dead, store->ledger.dead, memory_order_relaxed);
    }
    return status;
}

/* New work finds no room, but the dead may hold some. They are swept in commits of their own, since
 * others may not come while work is refused. OK: there may be enough for this batch now. */
static enum tocsin_status make_room(struct sqlite_store *store, const struct store_batch *batch,
                                    struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_OK;
    bool enough = false;
    for (int i = 0; i < ROOM_COMMITS && !enough && sweep_has_work(store); i++) {
        status = sweep_alone(store, ret_why);
        if (status != TOCSIN_OK)
            return status;
        enough = ballast_whole(&store->ballast) ? sqlite_free_bytes(store) >= room_bytes(batch)
                                                : takes_new_work(store, batch);
    }
    if (enough)
        return make_list(store, batch);
    return reason_say(ret_why, TOCSIN_NO_SPACE, "the disk of %s is full", store->writer.path);
}

/* The disk is full. What ends work goes on, at last from the ballast; new work gets what the dead
 * leave. */
static enum tocsin_status commit_when_tight(struct sqlite_store *store,
                                            const struct store_batch *batch,
                                            struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_NO_SPACE;
    if (batch->urgent || takes_new_work(store, batch))
        status = attempt_anew(store, batch, SWEEP_NONE, ret_why);
    if (status != TOCSIN_NO_SPACE)
        return status;
    if (batch->urgent && ballast_drop(&store->ballast))
        return attempt_anew(store, batch, SWEEP_NONE, ret_why);
    if (!batch->urgent)
        status = make_room(store, batch, ret_why);
    if (!batch->urgent && status == TOCSIN_OK)
        status = attempt_anew(store, batch, SWEEP_NONE, ret_why);
    return status;
}

static enum tocsin_status commit_if_room(struct sqlite_store *store,
                                         const struct store_batch *batch,
                                         struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_NO_SPACE;
    if (takes_new_work(store, batch) || batch->urgent)
        status = attempt(store, batch, SWEEP_BESIDE, ret_why);
    if (status == TOCSIN_NO_SPACE) {
        store->tight = true;
        return commit_when_tight(store, batch, ret_why);
    }
    if (store->tight && status == TOCSIN_OK && (!batch->urgent || ballast_at_ease(&store->ballast)))
        store->tight = false;
    return status;
}

static void tell_sizes(struct sqlite_store *store, struct elapsed_time began)
{
    uint64_t ns = (uint64_t)(clock_elapsed(&clock_system).ns - began.ns);
    atomic_store_explicit(&store->living, store->ledger.living, memory_order_relaxed);
    atomic_store_explicit(&store->dead, store->ledger.dead, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->commits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->commit_ns, ns, memory_order_relaxed);
}

enum tocsin_status sqlite_commit(struct store *handle, const struct store_batch *batch,
                                 struct tocsin_why *ret_why)
{
    struct sqlite_store *store = sqlite_inside(handle);
    struct tocsin_why why = {""};
    struct elapsed_time began = clock_elapsed(&clock_system);
    enum tocsin_status status = sqlite_running(store, ret_why);
    if (status != TOCSIN_OK)
        return status;
    require_order(store, batch);
    status = make_list(store, batch);
    if (status != TOCSIN_OK)
        return reason_say(ret_why, status, "the system gave no memory for the commit");
    /* Here and not after the last commit, whose caller was waiting for its answer. */
    if (store->frames >= store->checkpoint_at)
        status = sqlite_checkpoint(store, &why);
    if (status == TOCSIN_OK)
        status = commit_if_room(store, batch, &why);
    if (status != TOCSIN_OK && ret_why != NULL)
        *ret_why = why;
    if (status == TOCSIN_IO || status == TOCSIN_DAMAGED)
        return sqlite_stop(store, status, &why);
    if (status != TOCSIN_OK)
        return status;
    commit_counter_write(&store->counter, store->ledger.commit);
    tell_sizes(store, began);
    sweep_weigh(store, batch);
    ballast_take_in(&store->ballast);
    return TOCSIN_OK;
}
