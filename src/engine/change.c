/* SPDX-License-Identifier: MIT */
/* A change's function runs on the tip and stages what it wants; nothing has an effect until
 * it returns OK. When it needs a doc that is not in memory it is run again from the start
 * once that has been read. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

enum { STAGED_MAX = 65536, FULL_PAUSE_MS = 1000 };

void change_list_init(struct change_list *list)
{
    *list = (struct change_list){.end = &list->first};
}

void change_list_add(struct change_list *list, struct change *change)
{
    change->next = NULL;
    *list->end = change;
    list->end = &change->next;
    list->count++;
}

struct change *change_list_pop(struct change_list *list)
{
    struct change *change = list->first;
    if (change == NULL)
        return NULL;
    list->first = change->next;
    if (list->first == NULL)
        list->end = &list->first;
    list->count--;
    return change;
}

struct change *change_make(struct engine *engine)
{
    struct change *change = engine->free_changes;
    if (change != NULL)
        engine->free_changes = change->next;
    else
        change = malloc(sizeof *change);
    if (change != NULL)
        *change = (struct change){.engine = engine};
    return change;
}

static void call_thens(struct engine *engine, struct then *then, enum tocsin_status status)
{
    while (then != NULL) {
        struct then *next = then->next;
        then->fn(then->arg, status);
        then->next = engine->free_thens;
        engine->free_thens = then;
        then = next;
    }
}

void change_end(struct engine *engine, struct change *change, enum tocsin_status status)
{
    change_done_fn done = change->done;
    void *arg = change->arg;
    struct then *thens = change->thens;
    change->thens = NULL;
    if (change->due.index != ENTRY_NONE && status != TOCSIN_OK)
        due_failed(engine, change, status);
    change->next = engine->free_changes;
    engine->free_changes = change;
    if (done != NULL)
        done(arg, status);
    call_thens(engine, thens, status);
}

enum tocsin_status change_then(struct change *change, change_done_fn then, void *arg)
{
    struct engine *engine = change->engine;
    assert(engine->running == change);
    struct then *node = engine->free_thens;
    if (node != NULL)
        engine->free_thens = node->next;
    else
        node = malloc(sizeof *node);
    if (node == NULL)
        return TOCSIN_NO_MEMORY;
    *node = (struct then){NULL, then, arg};
    *change->thens_end = node;
    change->thens_end = &node->next;
    return TOCSIN_OK;
}

void change_free_thens(struct change *change)
{
    struct then *thens = change->thens;
    change->thens = NULL;
    call_thens(change->engine, thens, TOCSIN_UNAVAILABLE);
}

struct engine *change_engine(struct change *change)
{
    return change->engine;
}

/* ---- what a running change sees */

static const struct staged *staged_of(const struct engine *engine, uint32_t at)
{
    for (size_t i = engine->staged_count; i > 0; i--) {
        if (engine->staged[i - 1].entry == at)
            return &engine->staged[i - 1];
    }
    return NULL;
}

static struct staged *staged_new(struct engine *engine, unsigned kind, uint64_t fingerprint,
                                 struct bytes key)
{
    for (size_t i = engine->staged_count; i > 0; i--) {
        struct staged *staged = &engine->staged[i - 1];
        if (staged->entry == ENTRY_NONE && !staged->over && staged->kind == kind &&
            staged->fingerprint == fingerprint && bytes_equal(version_key(staged->version), key))
            return staged;
    }
    return NULL;
}

static enum tocsin_status wait_for(struct engine *engine, uint32_t at)
{
    engine->wait_for = at;
    return TOCSIN_BUSY;
}

/* The tip of an entry: OK and the version, NONE when it is dropped, BUSY when it is not in
 * memory, DAMAGED when it was read and there is none. */
static enum tocsin_status tip(struct engine *engine, uint32_t at, struct version **ret_version)
{
    const struct staged *staged = staged_of(engine, at);
    const struct entry *entry = &engine->index.entries[at];
    const struct live *live = entry->live;
    const struct pending *pending = NULL;
    if (live != NULL && live->open.there) {
        pending = &live->open;
        engine->saw = SAW_OPEN;
    } else if (live != NULL && live->flying.there) {
        pending = &live->flying;
        if (engine->saw == SAW_COMMITTED)
            engine->saw = SAW_FLYING;
    }
    if (staged != NULL) {
        *ret_version = staged->version;
        return staged->dropped ? TOCSIN_NONE : TOCSIN_OK;
    }
    if (pending != NULL) {
        *ret_version = pending->version;
        return pending->dropped ? TOCSIN_NONE : TOCSIN_OK;
    }
    if (live != NULL && live->committed == NULL && live->damaged)
        return TOCSIN_DAMAGED;
    if (live == NULL || live->committed == NULL)
        return wait_for(engine, at);
    *ret_version = live->committed;
    return TOCSIN_OK;
}

/* Whether the tip is another record than the committed one by the same key: dropped and made
 * again, and not settled yet. It has no ref of its own till then. */
static bool tip_is_another(const struct engine *engine, uint32_t at)
{
    const struct live *live = engine->index.entries[at].live;
    if (live != NULL &&
        (live->flying.dropped || live->flying.reborn || live->open.dropped || live->open.reborn))
        return true;
    for (size_t i = 0; i < engine->staged_count; i++) {
        if (engine->staged[i].entry == at && engine->staged[i].dropped)
            return true;
    }
    return false;
}

/* The entry with this key. NONE: there is none, and nothing staged either. */
static enum tocsin_status find(struct engine *engine, unsigned kind, struct bytes key,
                               uint64_t fingerprint, uint32_t *ret_at)
{
    bool sure;
    uint32_t at = engine_find(engine, kind, key, fingerprint, &sure);
    if (at == ENTRY_NONE)
        return TOCSIN_NONE;
    const struct live *live = engine->index.entries[at].live;
    if (!sure && (live == NULL || !live->damaged))
        return wait_for(engine, at);
    *ret_at = at;
    return TOCSIN_OK;
}

static void fill_damaged(const struct engine *engine, uint32_t at, struct bytes key,
                         struct engine_record *ret_record)
{
    struct engine_head head;
    engine_fill_head(engine, at, &head);
    *ret_record = (struct engine_record){
        .ref = head.ref,
        .rev = head.rev,
        .key = key,
        .home = key,
        .tag = head.tag,
        .due_ms = head.due_ms,
        .basis = head.basis,
        .mark = head.mark,
        .doc = {"", 0},
    };
}

enum tocsin_status change_get(struct change *change, unsigned kind, struct bytes key,
                              struct engine_record *ret_record)
{
    struct engine *engine = change->engine;
    assert(engine->running == change);
    uint32_t at;
    struct version *version;
    uint64_t fingerprint = engine_fingerprint(engine, kind, key);
    enum tocsin_status status = find(engine, kind, key, fingerprint, &at);
    if (status == TOCSIN_NONE) {
        const struct staged *staged = staged_new(engine, kind, fingerprint, key);
        if (staged == NULL || staged->dropped)
            return TOCSIN_NONE;
        engine_fill_record(engine, ENTRY_NONE, staged->version, ret_record);
        return TOCSIN_OK;
    }
    if (status == TOCSIN_OK)
        status = tip(engine, at, &version);
    if (status == TOCSIN_DAMAGED)
        fill_damaged(engine, at, key, ret_record);
    if (status == TOCSIN_OK) {
        engine_fill_record(engine, at, version, ret_record);
        if (tip_is_another(engine, at))
            ret_record->ref = (struct engine_ref){0};
    }
    return status;
}

enum tocsin_status change_get_ref(struct change *change, struct engine_ref ref,
                                  struct engine_record *ret_record)
{
    struct engine *engine = change->engine;
    assert(engine->running == change);
    uint32_t at = engine_entry_of(engine, ref);
    if (at == ENTRY_NONE)
        return TOCSIN_NONE;
    struct version *version;
    enum tocsin_status status = tip(engine, at, &version);
    if (status == TOCSIN_OK && tip_is_another(engine, at))
        return TOCSIN_NONE;
    if (status == TOCSIN_OK)
        engine_fill_record(engine, at, version, ret_record);
    if (status == TOCSIN_DAMAGED)
        fill_damaged(engine, at, (struct bytes){"", 0}, ret_record);
    return status;
}

/* Takes over the version, also when it cannot. */
static enum tocsin_status stage(struct engine *engine, const struct staged *wish)
{
    if (engine->staged_count == engine->staged_room) {
        bool full = engine->staged_room >= STAGED_MAX;
        size_t room = engine->staged_room == 0 ? 16 : engine->staged_room * 2;
        struct staged *staged =
            full ? NULL : realloc(engine->staged, room * sizeof *engine->staged);
        if (staged == NULL) {
            version_drop(engine, wish->version);
            return full ? TOCSIN_FULL : TOCSIN_NO_MEMORY;
        }
        engine->staged = staged;
        engine->staged_room = room;
    }
    engine->staged[engine->staged_count++] = *wish;
    return TOCSIN_OK;
}

/* The one of a new record that this one comes after. */
static struct staged *staged_before(struct engine *engine, const struct staged *last)
{
    engine->staged_count--;
    struct staged *before =
        staged_new(engine, last->kind, last->fingerprint, version_key(last->version));
    engine->staged_count++;
    return before;
}

enum tocsin_status change_put(struct change *change, const struct change_put *put,
                              uint64_t *ret_rev)
{
    struct engine *engine = change->engine;
    assert(engine->running == change && put->kind < engine->kind_count);
    assert(put->mark <= ENGINE_MARKS_MAX);
    uint32_t at = ENTRY_NONE;
    uint64_t fingerprint = engine_fingerprint(engine, put->kind, put->key);
    enum tocsin_status status = find(engine, put->kind, put->key, fingerprint, &at);
    if (status == TOCSIN_BUSY)
        return status;
    if (status == TOCSIN_NONE &&
        engine->index.count + engine->staged_count >= engine->limits.records)
        return TOCSIN_FULL;
    uint16_t tag;
    status = tags_keep(&engine->tags, engine->hash_key, put->tag, &tag);
    if (status != TOCSIN_OK)
        return status;
    struct version *version = version_create(&engine->versions, put, tag, engine->rev + 1);
    if (version == NULL) {
        tags_drop(&engine->tags, engine->hash_key, tag);
        return TOCSIN_NO_MEMORY;
    }
    version->own = 1;
    status = stage(engine, &(struct staged){at, put->kind, fingerprint, version, false, false});
    if (status != TOCSIN_OK)
        return status;
    const struct staged *staged = &engine->staged[engine->staged_count - 1];
    struct staged *before = at == ENTRY_NONE ? staged_before(engine, staged) : NULL;
    if (before != NULL)
        before->over = true;
    engine->rev++;
    if (ret_rev != NULL)
        *ret_rev = version->rev;
    return TOCSIN_OK;
}

/* What is dropped is known by its key alone: enough until it is settled. NULL: no memory. */
static struct version *version_of_damaged(struct engine *engine, uint32_t at, struct bytes key)
{
    const struct entry *entry = &engine->index.entries[at];
    struct change_put put = {.key = key, .due_ms = STORE_NEVER, .doc = {"", 0}};
    struct version *version =
        version_create(&engine->versions, &put, (uint16_t)entry->tag, entry->rev);
    if (version != NULL)
        tags_keep_number(&engine->tags, (uint16_t)entry->tag);
    return version;
}

enum tocsin_status change_drop(struct change *change, unsigned kind, struct bytes key)
{
    struct engine *engine = change->engine;
    assert(engine->running == change);
    uint32_t at = ENTRY_NONE;
    struct version *version;
    uint64_t fingerprint = engine_fingerprint(engine, kind, key);
    enum tocsin_status status = find(engine, kind, key, fingerprint, &at);
    if (status == TOCSIN_NONE) {
        struct staged *made = staged_new(engine, kind, fingerprint, key);
        if (made == NULL || made->dropped)
            return TOCSIN_NONE;
        made->dropped = true;
        return TOCSIN_OK;
    }
    if (status == TOCSIN_OK)
        status = tip(engine, at, &version);
    if (status != TOCSIN_OK && status != TOCSIN_DAMAGED)
        return status;
    version = status == TOCSIN_OK ? version_keep(version) : version_of_damaged(engine, at, key);
    if (version == NULL)
        return TOCSIN_NO_MEMORY;
    return stage(engine, &(struct staged){at, kind, 0, version, true, false});
}

void change_event(struct change *change, unsigned kind, struct bytes key, const char *type,
                  struct bytes doc)
{
    struct engine *engine = change->engine;
    assert(engine->running == change);
    enum tocsin_status status = event_rows_add(&engine->staged_events, kind, key, bytes_of(type),
                                               doc, engine_wall_ms(engine));
    if (status != TOCSIN_OK)
        change_event_lost(change, status);
}

void change_event_lost(struct change *change, enum tocsin_status status)
{
    assert(change->engine->running == change);
    change->engine->events_status = status;
}

/* ---- running them */

static void unstage(struct engine *engine)
{
    for (size_t i = 0; i < engine->staged_count; i++)
        version_drop(engine, engine->staged[i].version);
    engine->staged_count = 0;
    event_rows_clear(&engine->staged_events);
    mirror_rows_clear(&engine->staged_mirrors);
}

static bool staged_anything(const struct engine *engine)
{
    return engine->staged_count > 0 || engine->staged_events.count > 0 ||
           engine->staged_mirrors.count > 0;
}

/* It writes nothing, and is answered when what it has seen is durable. */
static void end_without_writing(struct engine *engine, struct change *change)
{
    engine->stats.refused += change->status != TOCSIN_OK;
    if (engine->saw == SAW_OPEN)
        change_list_add(&engine->open.changes, change);
    else if (engine->saw == SAW_FLYING)
        change_list_add(&engine->flying.changes, change);
    else
        change_end(engine, change, change->status);
}

static bool pin(struct engine *engine, struct change *change, struct live *live)
{
    struct live **pins = realloc(change->pins, (change->pin_count + 1) * sizeof(struct live *));
    if (pins == NULL)
        return false;
    change->pins = pins;
    change->pins[change->pin_count++] = live;
    live_pin(engine, live);
    return true;
}

static void unpin(struct engine *engine, struct change *change)
{
    for (size_t i = 0; i < change->pin_count; i++)
        live_unpin(engine, change->pins[i]);
    free(change->pins);
    change->pins = NULL;
    change->pin_count = 0;
}

static void wait_for_doc(struct engine *engine, struct change *change)
{
    uint32_t at = engine->wait_for;
    assert(at != ENTRY_NONE && engine->index.entries[at].rev != 0);
    struct live *live = live_of(engine, at);
    if (live != NULL && live_fetch(engine, live) && pin(engine, change, live)) {
        live_wait(engine, live, &change->waiter);
        return;
    }
    if (live != NULL)
        live_rest(engine, live);
    unpin(engine, change);
    change_end(engine, change, TOCSIN_NO_MEMORY);
}

void change_run(struct engine *engine, struct change *change)
{
    assert(engine->running == NULL && engine->staged_count == 0);
    engine->running = change;
    engine->saw = SAW_COMMITTED;
    engine->wait_for = ENTRY_NONE;
    change->thens = NULL;
    change->thens_end = &change->thens;
    engine->events_status = TOCSIN_OK;
    uint64_t rev = engine->rev;
    enum tocsin_status status = change->fn(change->arg, change);
    engine->running = NULL;
    assert(engine->wait_for == ENTRY_NONE || status == TOCSIN_BUSY);
    if (status == TOCSIN_OK)
        status = engine->events_status; /* a change is not written without its events */
    change->status = status;
    if (status == TOCSIN_OK && staged_anything(engine)) {
        if (commit_apply(engine)) {
            engine->open.ordinary = engine->open.ordinary || !change->urgent;
            change_list_add(&engine->open.changes, change);
            unpin(engine, change);
            return;
        }
        change->status = TOCSIN_NO_MEMORY;
    }
    unstage(engine);
    engine->rev = rev; /* nobody has seen these */
    if (status == TOCSIN_BUSY) {
        call_thens(engine, change->thens, TOCSIN_BUSY);
        change->thens = NULL;
        wait_for_doc(engine, change);
        return;
    }
    unpin(engine, change);
    end_without_writing(engine, change);
}

static void woken(struct engine *engine, struct waiter *waiter, enum tocsin_status status)
{
    struct change *change = (struct change *)waiter;
    /* Also when the open commit is full: its doc is in memory now, and may not be later. What is
     * damaged it may drop or replace. */
    if (status == TOCSIN_OK || status == TOCSIN_DAMAGED) {
        change_run(engine, change);
        return;
    }
    unpin(engine, change);
    change_end(engine, change, status);
}

static void dropped(struct waiter *waiter)
{
    struct change *change = (struct change *)waiter;
    free(change->pins);
    free(change);
}

/* While the disk is full, only what ends work gets through, and one try a second. */
static bool refused_as_full(struct engine *engine, const struct change *change)
{
    if (engine->full_until_ms == 0 || change->urgent)
        return false;
    int64_t now = engine_now_ms(engine);
    if (now < engine->full_until_ms)
        return true;
    engine->full_until_ms = now + FULL_PAUSE_MS;
    return false;
}

void change_start(struct engine *engine, const struct change *wish)
{
    struct change *change = change_make(engine);
    if (change == NULL) {
        if (wish->due.index != ENTRY_NONE)
            due_failed(engine, wish, TOCSIN_NO_MEMORY);
        if (wish->done != NULL)
            wish->done(wish->arg, TOCSIN_NO_MEMORY);
        return;
    }
    *change = *wish;
    change->engine = engine;
    change->waiter.wake = woken;
    change->waiter.drop = dropped;
    if (engine->dead)
        change_end(engine, change, TOCSIN_UNAVAILABLE);
    else if (refused_as_full(engine, change))
        change_end(engine, change, TOCSIN_NO_SPACE);
    else if (engine->running == NULL && engine->waiting.count == 0 &&
             (engine->doc_waiters < engine->limits.waiting || wish->urgent) &&
             engine->open.changes.count < engine->limits.commit_changes)
        change_run(engine, change);
    else if (engine->waiting.count + engine->doc_waiters < engine->limits.waiting || wish->urgent)
        change_list_add(&engine->waiting, change);
    else
        change_end(engine, change, TOCSIN_OVERLOADED);
}

void engine_change(struct engine *engine, bool urgent, change_fn fn, change_done_fn done, void *arg)
{
    change_start(engine, &(struct change){.urgent = urgent, .fn = fn, .done = done, .arg = arg});
}

void change_run_waiting(struct engine *engine)
{
    /* Those that are there now: who is refused may come again, and would never end. */
    for (uint32_t left = engine->waiting.count;
         left > 0 && engine->waiting.count > 0 &&
         engine->open.changes.count < engine->limits.commit_changes;
         left--)
        change_run(engine, change_list_pop(&engine->waiting));
}
