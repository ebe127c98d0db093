/* SPDX-License-Identifier: MIT */
/* Two commits at a time: one in the store's hands (flying), one being gathered (open). The
 * running fsync is the batch window: there is no timer. When it ends, the next is handed over
 * first, and only then is anybody answered. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

enum {
    EVENT_BYTES_MAX = 64 * 1024 * 1024,
    MIRROR_BYTES_MAX = 64 * 1024 * 1024,
    FULL_PAUSE_MS = 1000,
};

void commit_init(struct commit *commit)
{
    *commit = (struct commit){0};
    change_list_init(&commit->changes);
    buffer_init(&commit->events.bytes, EVENT_BYTES_MAX);
    mirror_rows_init(&commit->mirrors, MIRROR_BYTES_MAX);
}

void commit_release(struct commit *commit)
{
    free(commit->dirty);
    free(commit->events.rows);
    buffer_release(&commit->events.bytes);
    mirror_rows_release(&commit->mirrors);
}

bool commit_room_for(void **array, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return true;
    size_t wanted = *room == 0 ? 64 : *room;
    while (wanted < count)
        wanted *= 2;
    void *bigger = realloc(*array, wanted * size);
    if (bigger == NULL)
        return false;
    *array = bigger;
    *room = wanted;
    return true;
}

enum tocsin_status event_rows_add(struct event_rows *rows, uint32_t kind, struct bytes key,
                                  struct bytes type, struct bytes doc, int64_t at_ms)
{
    if (!commit_room_for((void **)&rows->rows, &rows->room, rows->count + 1, sizeof *rows->rows))
        return TOCSIN_NO_MEMORY;
    size_t at = rows->bytes.size;
    buffer_append(&rows->bytes, key.at, key.size);
    buffer_append(&rows->bytes, type.at, type.size);
    buffer_append(&rows->bytes, doc.at, doc.size);
    if (buffer_status(&rows->bytes) != TOCSIN_OK)
        return buffer_status(&rows->bytes) == TOCSIN_FULL ? TOCSIN_TOO_LARGE : TOCSIN_NO_MEMORY;
    rows->rows[rows->count++] = (struct event_row){
        at, kind, (uint32_t)key.size, (uint32_t)type.size, (uint32_t)doc.size, at_ms};
    return TOCSIN_OK;
}

void event_rows_clear(struct event_rows *rows)
{
    rows->count = 0;
    buffer_clear(&rows->bytes);
}

static void event_of(const struct engine *engine, const struct event_rows *rows, size_t i,
                     uint64_t seq, struct store_event *ret_event)
{
    const struct event_row *row = &rows->rows[i];
    const char *at = rows->bytes.data + row->at;
    *ret_event = (struct store_event){
        .seq = seq,
        .at_ms = row->at_ms,
        .kind = bytes_of(engine->kinds[row->kind]->name),
        .key = {at, row->key_size},
        .type = {at + row->key_size, row->type_size},
        .doc = {at + row->key_size + row->type_size, row->doc_size},
    };
}

/* ---- gathering */

static void event_rows_cut(struct event_rows *rows, size_t count, size_t bytes)
{
    rows->count = count;
    rows->bytes.size = bytes;
    rows->bytes.status = TOCSIN_OK;
}

/* The staged events, all or none. */
static bool take_events(struct engine *engine, struct event_rows *rows)
{
    const struct event_rows *staged = &engine->staged_events;
    size_t count = rows->count;
    size_t bytes = rows->bytes.size;
    for (size_t i = 0; i < staged->count; i++) {
        struct store_event event;
        event_of(engine, staged, i, 0, &event);
        if (event_rows_add(rows, staged->rows[i].kind, event.key, event.type, event.doc,
                           event.at_ms) != TOCSIN_OK) {
            event_rows_cut(rows, count, bytes);
            return false;
        }
    }
    return true;
}

/* Room for all that is staged, before any of it is applied. */
static bool prepare(struct engine *engine)
{
    struct commit *open = &engine->open;
    if (!commit_room_for((void **)&open->dirty, &open->dirty_room,
                         open->dirty_count + engine->staged_count, sizeof(struct live *)))
        return false;
    if (!take_events(engine, &open->events) ||
        !mirror_rows_append(&open->mirrors, &engine->staged_mirrors))
        return false;
    for (size_t i = 0; i < engine->staged_count; i++) {
        struct staged *staged = &engine->staged[i];
        bool new = staged->entry == ENTRY_NONE;
        if (new && (staged->dropped || staged->over))
            continue; /* made and dropped by one change: it never was */
        if (new) {
            staged->entry = index_add(&engine->index, staged->fingerprint);
            if (staged->entry == ENTRY_NONE)
                return false;
            engine->index.entries[staged->entry].kind = staged->kind & 31u;
        }
        if (live_of(engine, staged->entry) == NULL)
            return false;
    }
    return true;
}

/* What the open commit had before. */
struct had {
    size_t event_count;
    size_t event_bytes;
    size_t mirror_count;
    size_t mirror_bytes;
};

static void undo_prepare(struct engine *engine, const struct had *had)
{
    event_rows_cut(&engine->open.events, had->event_count, had->event_bytes);
    mirror_rows_cut(&engine->open.mirrors, had->mirror_count, had->mirror_bytes);
    for (size_t i = 0; i < engine->staged_count; i++) {
        uint32_t at = engine->staged[i].entry;
        if (at == ENTRY_NONE || !engine->index.entries[at].used)
            continue;
        struct live *live = engine->index.entries[at].live;
        if (live != NULL)
            live_rest(engine, live);
        else if (engine->index.entries[at].rev == 0)
            index_remove(&engine->index, at);
    }
}

bool commit_apply(struct engine *engine)
{
    struct commit *open = &engine->open;
    struct had had = {open->events.count, open->events.bytes.size, open->mirrors.count,
                      open->mirrors.bytes.size};
    if (!prepare(engine)) {
        undo_prepare(engine, &had);
        return false;
    }
    for (size_t i = 0; i < engine->staged_count; i++) {
        struct staged *staged = &engine->staged[i];
        if (staged->entry == ENTRY_NONE) {
            version_drop(engine, staged->version);
            continue;
        }
        struct live *live = engine->index.entries[staged->entry].live;
        bool reborn = live->open.dropped || live->open.reborn;
        if (live->open.there)
            version_drop(engine, live->open.version);
        else
            open->dirty[open->dirty_count++] = live;
        live->open = (struct pending){staged->version, true, staged->dropped, reborn};
    }
    engine->staged_count = 0;
    event_rows_clear(&engine->staged_events);
    mirror_rows_clear(&engine->staged_mirrors);
    return true;
}

/* ---- handing over */

static int by_rev(const void *one, const void *other)
{
    const struct store_record *a = one;
    const struct store_record *b = other;
    return (a->rev > b->rev) - (a->rev < b->rev);
}

static void record_of(const struct engine *engine, uint32_t at, const struct version *version,
                      struct store_record *ret_record)
{
    *ret_record = (struct store_record){
        .rev = version->rev,
        .kind = bytes_of(engine->kinds[engine->index.entries[at].kind]->name),
        .key = version_key(version),
        .home = version_home(version),
        .tag = tags_word(&engine->tags, version->tag),
        .due_ms = version->due_ms,
        .basis = (enum store_basis)version->basis,
        .mark = version->mark,
        .doc = version_doc(version),
    };
}

static bool batch_room(struct engine *engine, const struct commit *commit)
{
    return commit_room_for((void **)&engine->puts, &engine->puts_room, commit->dirty_count,
                           sizeof *engine->puts) &&
           commit_room_for((void **)&engine->dead_revs, &engine->dead_room, commit->dirty_count,
                           sizeof *engine->dead_revs) &&
           commit_room_for((void **)&engine->events, &engine->events_room, commit->events.count,
                           sizeof *engine->events) &&
           commit_room_for((void **)&engine->mirrors, &engine->mirrors_room, commit->mirrors.count,
                           sizeof *engine->mirrors);
}

/* An epoch has 2^32 fences. When half of them are used, the next epoch is written down, so that
 * no start after a crash takes the same. */
static uint64_t epoch_to_reserve(struct engine *engine)
{
    if (engine->epoch_reserved || engine->fence_count < engine->limits.epoch_fences / 2)
        return 0;
    engine->reserved_epoch = engine->epoch + 1;
    return engine->reserved_epoch;
}

static void fill_batch(struct engine *engine, struct commit *commit)
{
    struct store_batch *batch = &engine->batch;
    *batch = (struct store_batch){.puts = engine->puts,
                                  .dead = engine->dead_revs,
                                  .events = engine->events,
                                  .event_count = commit->events.count,
                                  .mirrors = engine->mirrors,
                                  .mirror_count = commit->mirrors.count,
                                  .high_rev = engine->rev,
                                  .epoch = epoch_to_reserve(engine),
                                  .urgent = !commit->ordinary};
    bool sorted = true;
    for (size_t i = 0; i < commit->dirty_count; i++) {
        struct live *live = commit->dirty[i];
        uint64_t old = engine->index.entries[live->entry].rev;
        if (old != 0)
            engine->dead_revs[batch->dead_count++] = old;
        if (live->flying.dropped)
            continue;
        struct store_record *put = &engine->puts[batch->put_count++];
        record_of(engine, live->entry, live->flying.version, put);
        sorted = sorted && (put == engine->puts || put[-1].rev < put->rev);
    }
    if (!sorted)
        qsort(engine->puts, batch->put_count, sizeof *engine->puts, by_rev);
    for (size_t i = 0; i < commit->events.count; i++)
        event_of(engine, &commit->events, i, engine->seq + 1 + i, &engine->events[i]);
    mirror_rows_give(&commit->mirrors, engine->mirrors);
    due_save_time(engine, &batch->time);
}

void commit_hand_over(struct engine *engine)
{
    if (engine->commit_under_way || engine->dead ||
        (engine->open.changes.count == 0 && !engine->time_unsaved))
        return;
    if (!batch_room(engine, &engine->open))
        return; /* tried again next turn */
    struct commit swap = engine->flying;
    engine->flying = engine->open;
    if (engine->flying.changes.count == 0)
        change_list_init(&engine->flying.changes); /* its end pointed into the open one */
    engine->open = swap;
    change_list_init(&engine->open.changes);
    for (size_t i = 0; i < engine->flying.dirty_count; i++) {
        struct live *live = engine->flying.dirty[i];
        live->flying = live->open;
        live->open = (struct pending){0};
    }
    fill_batch(engine, &engine->flying);
    engine->commit_under_way = true;
    engine->commit_began_ns = clock_elapsed(&engine->clock).ns;
    engine->backend->commit(engine->backend->arg, &engine->batch);
}

/* ---- settling */

static void clear(struct commit *commit)
{
    change_list_init(&commit->changes);
    commit->dirty_count = 0;
    commit->ordinary = false;
    event_rows_clear(&commit->events);
    mirror_rows_clear(&commit->mirrors);
}

static void settle_drop(struct engine *engine, struct live *live)
{
    struct entry *entry = &engine->index.entries[live->entry];
    due_disarm(engine, live->entry);
    if (entry->rev != 0) {
        engine->stats.records--;
        engine->tags.list[entry->tag].entries--;
        engine->marks[entry->kind][entry->mark]--;
    }
    entry->rev = 0;
    entry->born++;
    entry->attached = 0;
    entry->held = 0;
    entry->due_ms = STORE_NEVER;
    tags_drop(&engine->tags, engine->hash_key, (uint16_t)entry->tag);
    entry->tag = 0;
    version_drop(engine, live->committed);
    live->committed = NULL;
    version_drop(engine, live->flying.version);
    live->flying = (struct pending){0};
    engine->stats.drops++;
}

static void settle_put(struct engine *engine, struct live *live)
{
    struct entry *entry = &engine->index.entries[live->entry];
    struct version *version = live->flying.version;
    if (live->flying.reborn) {
        entry->born++;
        entry->attached = 0;
    }
    version_drop(engine, live->committed);
    live->committed = version;
    live->flying = (struct pending){0};
    if (entry->rev == 0) {
        engine->stats.records++;
    } else {
        engine->tags.list[entry->tag].entries--;
        engine->marks[entry->kind][entry->mark]--;
    }
    engine->tags.list[version->tag].entries++;
    engine->marks[entry->kind][version->mark & 63u]++;
    tags_drop(&engine->tags, engine->hash_key, (uint16_t)entry->tag);
    tags_keep_number(&engine->tags, version->tag);
    entry->tag = version->tag;
    entry->rev = version->rev;
    entry->due_ms = version->due_ms;
    entry->basis = version->basis & 1u;
    entry->mark = version->mark & 63u;
    entry->held = 0;
    due_arm_about(engine, live->entry);
    engine->stats.puts++;
}

static void settle(struct engine *engine)
{
    struct commit *flying = &engine->flying;
    for (size_t i = 0; i < flying->dirty_count; i++) {
        struct live *live = flying->dirty[i];
        if (live->flying.dropped)
            settle_drop(engine, live);
        else
            settle_put(engine, live);
    }
    if (engine->batch.epoch != 0)
        engine->epoch_reserved = true;
    engine->committed_rev = engine->batch.high_rev;
    engine->seq += flying->events.count;
    engine->stats.commits++;
    engine->stats.events += flying->events.count;
}

static void end_all(struct engine *engine, struct change *change, enum tocsin_status failed)
{
    while (change != NULL) {
        struct change *next = change->next;
        engine->stats.changes += failed == TOCSIN_OK && change->status == TOCSIN_OK;
        change_end(engine, change, failed != TOCSIN_OK ? failed : change->status);
        change = next;
    }
}

static void publish(struct engine *engine, struct event_rows *rows, uint64_t first_seq)
{
    for (size_t i = 0; i < rows->count && engine->on_event != NULL; i++) {
        struct store_event event;
        event_of(engine, rows, i, first_seq + i, &event);
        engine->on_event(engine->on_event_arg, &event);
    }
}

static void succeeded(struct engine *engine)
{
    if (engine->flying.ordinary)
        engine->full_until_ms = 0; /* an urgent one may have lived off the ballast */
    engine->stats.store = engine->full_until_ms == 0 ? TOCSIN_OK : TOCSIN_NO_SPACE;
    settle(engine);
    /* What this commit held is set aside, so that the next can fly while it is answered. */
    struct commit settled = engine->flying;
    uint64_t first_seq = engine->seq + 1 - settled.events.count;
    engine->flying = engine->spare;
    commit_hand_over(engine);
    for (size_t i = 0; i < settled.dirty_count; i++)
        live_rest(engine, settled.dirty[i]);
    publish(engine, &settled.events, first_seq);
    end_all(engine, settled.changes.first, TOCSIN_OK);
    list_settled(engine);
    engine->spare = settled;
    clear(&engine->spare);
}

/* Those in the open commit only: the others are undone with the flying one. */
static void leave_doubles_to_flying(struct commit *open)
{
    size_t kept = 0;
    for (size_t i = 0; i < open->dirty_count; i++) {
        if (!open->dirty[i]->flying.there)
            open->dirty[kept++] = open->dirty[i];
    }
    open->dirty_count = kept;
}

static void undo(struct engine *engine, struct commit *commit)
{
    for (size_t i = 0; i < commit->dirty_count; i++) {
        struct live *live = commit->dirty[i];
        struct pending *both[] = {&live->flying, &live->open};
        for (int k = 0; k < 2; k++) {
            if (both[k]->there)
                version_drop(engine, both[k]->version);
            *both[k] = (struct pending){0};
        }
    }
}

static void let_rest(struct engine *engine, const struct commit *commit)
{
    for (size_t i = 0; i < commit->dirty_count; i++) {
        struct live *live = commit->dirty[i];
        struct entry *entry = &engine->index.entries[live->entry];
        if (entry->held)
            due_arm(engine, live->entry);
        entry->held = 0;
        live_rest(engine, live);
    }
}

static void failed(struct engine *engine, enum tocsin_status status)
{
    leave_doubles_to_flying(&engine->open);
    undo(engine, &engine->flying);
    undo(engine, &engine->open);
    engine->stats.rolled_back += engine->flying.changes.count + engine->open.changes.count;
    if (status == TOCSIN_NO_SPACE)
        engine->full_until_ms = engine_now_ms(engine) + FULL_PAUSE_MS;
    struct change *first = engine->flying.changes.first;
    struct change *second = engine->open.changes.first;
    let_rest(engine, &engine->open);
    let_rest(engine, &engine->flying);
    clear(&engine->flying);
    clear(&engine->open);
    end_all(engine, first, status);
    end_all(engine, second, status);
    list_settled(engine);
}

void engine_abandon(struct engine *engine)
{
    engine->dead = true; /* who comes now is refused at once */
    engine->commit_under_way = false;
    failed(engine, TOCSIN_UNAVAILABLE);
    live_wake_all(engine, TOCSIN_UNAVAILABLE);
    while (engine->waiting.count > 0)
        change_end(engine, change_list_pop(&engine->waiting), TOCSIN_UNAVAILABLE);
}

void engine_committed(struct engine *engine, enum tocsin_status status, const char *why)
{
    assert(engine->commit_under_way);
    engine->commit_under_way = false;
    due_look(engine);
    if (engine->on_commit != NULL)
        engine->on_commit(engine->on_commit_arg, status, why,
                          clock_elapsed(&engine->clock).ns - engine->commit_began_ns);
    if (status == TOCSIN_OK) {
        succeeded(engine);
        return;
    }
    engine->stats.store = status;
    if (status != TOCSIN_NO_SPACE && status != TOCSIN_UNAVAILABLE)
        engine->dead = true; /* whether it was written is unknown: nobody is told anything */
    if (engine->dead) {
        engine->on_fatal(engine->arg, status, why);
        return;
    }
    failed(engine, status);
}
