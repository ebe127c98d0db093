/* SPDX-License-Identifier: MIT */
/* Which docs are in memory. A record has a live part while it is read, changed, waited for,
 * or due soon; docs that only wait are let go, the oldest first, when they are too many. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

enum { WISHES_A_READ = 256 };

static void leave_warm(struct engine *engine, struct live *live)
{
    if (!live->warm)
        return;
    *(live->older != NULL ? &live->older->newer : &engine->oldest) = live->newer;
    *(live->newer != NULL ? &live->newer->older : &engine->newest) = live->older;
    live->warm = false;
    engine->doc_bytes -= version_bytes(live->committed);
}

static void enter_warm(struct engine *engine, struct live *live)
{
    assert(!live->warm && live->committed != NULL);
    live->older = engine->newest;
    live->newer = NULL;
    *(engine->newest != NULL ? &engine->newest->newer : &engine->oldest) = live;
    engine->newest = live;
    live->warm = true;
    engine->doc_bytes += version_bytes(live->committed);
}

struct live *live_of(struct engine *engine, uint32_t at)
{
    struct entry *entry = &engine->index.entries[at];
    if (entry->live != NULL) {
        leave_warm(engine, entry->live);
        return entry->live;
    }
    struct live *live = engine->free_lives;
    if (live != NULL)
        engine->free_lives = live->newer;
    else
        live = malloc(sizeof *live);
    if (live == NULL)
        return NULL;
    *live = (struct live){0};
    live->entry = at;
    live->waiters_end = &live->waiters;
    entry->live = live;
    engine->live_count++;
    return live;
}

const struct version *live_any_version(const struct live *live)
{
    if (live->committed != NULL)
        return live->committed;
    return live->flying.there ? live->flying.version : live->open.version;
}

bool live_changing(const struct live *live)
{
    return live->flying.there || live->open.there;
}

void live_wait(struct engine *engine, struct live *live, struct waiter *waiter)
{
    engine->doc_waiters++;
    waiter->next = NULL;
    *live->waiters_end = waiter;
    live->waiters_end = &waiter->next;
}

bool live_fetch(struct engine *engine, struct live *live)
{
    const struct entry *entry = &engine->index.entries[live->entry];
    if (live->fetching || live->committed != NULL)
        return true;
    assert(entry->rev != 0);
    if (engine->wish_count == engine->wish_room) {
        size_t room = engine->wish_room == 0 ? 64 : engine->wish_room * 2;
        struct fetch_wish *wishes = realloc(engine->wishes, room * sizeof *wishes);
        if (wishes == NULL)
            return false;
        engine->wishes = wishes;
        engine->wish_room = room;
    }
    live->fetching = true;
    engine->wishes[engine->wish_count++] = (struct fetch_wish){live->entry, entry->rev};
    return true;
}

static void let_go(struct engine *engine, struct live *live)
{
    assert(!live->warm && live->pins == 0 && !live->fetching);
    assert(!live_changing(live) && live->waiters == NULL);
    uint32_t at = live->entry;
    struct entry *entry = &engine->index.entries[at];
    entry->live = NULL;
    version_drop(engine, live->committed);
    live->newer = engine->free_lives;
    engine->free_lives = live;
    engine->live_count--;
    if (entry->rev == 0) {
        assert(entry->timer.id == 0);
        index_remove(&engine->index, at);
    }
}

/* Wanted soon: its time is near, or has come and it is in somebody's hands. */
static bool wanted(const struct engine *engine, const struct entry *entry)
{
    if (entry->rev == 0 || entry->due_ms == STORE_NEVER)
        return false;
    int64_t left = due_line_about(engine, entry) - engine->about_ms;
    return left <= (int64_t)engine->limits.ahead_ms;
}

static void evict(struct engine *engine)
{
    if (engine->running != NULL)
        return; /* it may be looking at any of them */
    while (engine->doc_bytes > engine->limits.doc_bytes && engine->oldest != NULL) {
        struct live *live = engine->oldest;
        leave_warm(engine, live);
        let_go(engine, live);
    }
}

void live_rest(struct engine *engine, struct live *live)
{
    if (live_changing(live) || live->fetching || live->pins > 0 || live->waiters != NULL)
        return;
    const struct entry *entry = &engine->index.entries[live->entry];
    leave_warm(engine, live);
    bool looked_at = engine->running != NULL && live->committed != NULL;
    if (live->committed == NULL || (!looked_at && !wanted(engine, entry))) {
        let_go(engine, live);
        return;
    }
    enter_warm(engine, live);
    evict(engine);
}

void live_pin(struct engine *engine, struct live *live)
{
    assert(!live->warm);
    live->pins++;
    engine->pin_count++;
}

void live_unpin(struct engine *engine, struct live *live)
{
    assert(live->pins > 0);
    live->pins--;
    engine->pin_count--;
    live_rest(engine, live);
}

/* ---- reading docs in */

struct fetch {
    struct own_read own; /* first */
    size_t count;
    struct fetched {
        struct fetch_wish wish;
        struct version *version; /* of a damaged one: for its key */
        enum tocsin_status status;
        char *why; /* DAMAGED; may be NULL */
    } rows[WISHES_A_READ];
};

static void take_version(void *arg, const struct store_record *record)
{
    struct fetched *row = arg;
    struct change_put put = {
        .key = record->key,
        .home = record->home,
        .due_ms = record->due_ms,
        .basis = record->basis,
        .mark = record->mark,
        .doc = record->doc,
    };
    row->version = version_create(NULL, &put, 0, record->rev);
}

static void fetch_run(struct engine_read *read, struct store *store)
{
    struct fetch *fetch = (struct fetch *)read;
    bool together = fetch->count > 1 && store->ops->together != NULL;
    if (together)
        store->ops->together(store, true);
    for (size_t i = 0; i < fetch->count; i++) {
        struct fetched *row = &fetch->rows[i];
        struct tocsin_why why = {""};
        row->status = store->ops->get(store, row->wish.rev, take_version, row, &why);
        if (row->status == TOCSIN_OK && row->version == NULL)
            row->status = TOCSIN_NO_MEMORY;
        if (row->status == TOCSIN_DAMAGED)
            row->why = strdup(why.text);
    }
    if (together)
        store->ops->together(store, false);
}

static void wake_all(struct engine *engine, struct live *live, enum tocsin_status status)
{
    struct waiter *waiter = live->waiters;
    live->waiters = NULL;
    live->waiters_end = &live->waiters;
    while (waiter != NULL) {
        struct waiter *next = waiter->next;
        engine->doc_waiters--;
        waiter->wake(engine, waiter, status);
        waiter = next;
    }
}

static void fetched_release(struct engine *engine, struct fetched *row)
{
    version_drop(engine, row->version);
    free(row->why);
}

static void tell_damage(struct engine *engine, const struct fetched *row)
{
    struct bytes key = row->version != NULL ? version_key(row->version) : (struct bytes){"", 0};
    damage_met(engine, row->wish.rev, key,
               row->why != NULL ? row->why
               : engine->shared ? "a living record is not in the store. Restore a backup"
                                : "a living record is not where it should be in the store. Restore "
                                  "a backup; 'tocsin verify' shows the extent");
}

static void take_fetched(struct engine *engine, struct fetched *row)
{
    struct entry *entry = &engine->index.entries[row->wish.entry];
    struct live *live = entry->live;
    assert(live != NULL && live->fetching);
    live->fetching = false;
    if (live->committed == NULL && entry->rev == row->wish.rev && row->status == TOCSIN_OK) {
        row->version->tag = entry->tag;
        tags_keep_number(&engine->tags, entry->tag);
        live->committed = row->version;
        row->version = NULL;
        engine->stats.fetched++;
    }
    if (live->committed == NULL && entry->rev != 0 && entry->rev != row->wish.rev) {
        if (live_fetch(engine, live))
            return; /* it has changed since: that one is read now */
        row->status = TOCSIN_NO_MEMORY;
    }
    enum tocsin_status status = TOCSIN_OK;
    if (live->committed == NULL && entry->rev != 0) {
        status = row->status == TOCSIN_NONE ? TOCSIN_DAMAGED : row->status;
        if (status == TOCSIN_DAMAGED)
            tell_damage(engine, row);
    }
    live->damaged = status == TOCSIN_DAMAGED;
    /* Its waiters may end it all, and ask again: hold on to it meanwhile. */
    live_pin(engine, live);
    wake_all(engine, live, status);
    live_unpin(engine, live);
}

static void fetch_done(struct engine_read *read)
{
    struct fetch *fetch = (struct fetch *)read;
    own_read_came(&fetch->own);
    for (size_t i = 0; i < fetch->count; i++) {
        take_fetched(fetch->own.engine, &fetch->rows[i]);
        fetched_release(fetch->own.engine, &fetch->rows[i]);
    }
    free(fetch);
}

static void fetch_drop(struct own_read *own)
{
    struct fetch *fetch = (struct fetch *)own;
    for (size_t i = 0; i < fetch->count; i++)
        fetched_release(own->engine, &fetch->rows[i]);
    free(fetch);
}

void live_send_wishes(struct engine *engine)
{
    size_t sent = 0;
    while (sent < engine->wish_count) {
        struct fetch *fetch = calloc(1, sizeof *fetch);
        if (fetch == NULL)
            break;
        size_t left = engine->wish_count - sent;
        fetch->own =
            (struct own_read){.read = {.run = fetch_run, .done = fetch_done}, .drop = fetch_drop};
        fetch->count = left < WISHES_A_READ ? left : WISHES_A_READ;
        for (size_t i = 0; i < fetch->count; i++)
            fetch->rows[i].wish = engine->wishes[sent + i];
        sent += fetch->count;
        own_read_send(engine, &fetch->own);
    }
    if (sent == 0)
        return;
    engine->wish_count -= sent;
    memmove(engine->wishes, engine->wishes + sent, engine->wish_count * sizeof *engine->wishes);
}

void live_free_all(struct engine *engine)
{
    while (engine->free_lives != NULL) {
        struct live *live = engine->free_lives;
        engine->free_lives = live->newer;
        free(live);
    }
    for (uint32_t at = 1; at < engine->index.end; at++) {
        struct live *live = engine->index.entries[at].live;
        if (live == NULL)
            continue;
        leave_warm(engine, live);
        version_drop(engine, live->committed);
        if (live->flying.there)
            version_drop(engine, live->flying.version);
        if (live->open.there)
            version_drop(engine, live->open.version);
        while (live->waiters != NULL) {
            struct waiter *waiter = live->waiters;
            live->waiters = waiter->next;
            waiter->drop(waiter);
        }
        free(live);
    }
}

void live_wake_all(struct engine *engine, enum tocsin_status status)
{
    for (uint32_t at = 1; at < engine->index.end && engine->doc_waiters > 0; at++) {
        struct live *live = engine->index.entries[at].live;
        if (live != NULL)
            wake_all(engine, live, status);
    }
}

/* ---- reading what is committed */

struct get {
    struct waiter waiter; /* first */
    engine_get_fn fn;
    void *arg;
    unsigned kind;
    struct engine_ref ref; /* index 0: by key */
    bool kept;             /* it had to wait, and owns its key */
    size_t key_size;
    char key[];
};

static void get_woken(struct engine *engine, struct waiter *waiter, enum tocsin_status status);
static void get_dropped(struct waiter *waiter);

/* Most are answered from memory: only who must wait is kept. NULL: no memory. */
static struct get *get_keep(struct get *get, struct bytes key)
{
    if (get->kept)
        return get;
    struct get *kept = malloc(sizeof *kept + key.size);
    if (kept == NULL)
        return NULL;
    *kept = *get;
    kept->waiter.wake = get_woken;
    kept->waiter.drop = get_dropped;
    kept->kept = true;
    kept->key_size = key.size;
    if (key.size > 0)
        memcpy(kept->key, key.at, key.size);
    return kept;
}

/* OK: it waits. */
static enum tocsin_status get_wait(struct engine *engine, struct get *get, struct bytes key,
                                   struct live *live)
{
    if (engine->doc_waiters >= engine->limits.waiting)
        return TOCSIN_OVERLOADED;
    struct get *kept = get_keep(get, key);
    if (kept != NULL && live_fetch(engine, live)) {
        live_wait(engine, live, &kept->waiter);
        return TOCSIN_OK;
    }
    if (kept != get)
        free(kept);
    return TOCSIN_NO_MEMORY;
}

static void get_give(struct engine *engine, const struct get *get, struct live *live)
{
    struct engine_record record;
    uint32_t at = live->entry;
    struct version *version = version_keep(live->committed);
    engine_fill_record(engine, at, version, &record);
    get->fn(get->arg, TOCSIN_OK, &record);
    version_drop(engine, version);
    /* What fn did may have ended the record, and its live part with it. */
    if (engine->index.entries[at].live == live)
        live_rest(engine, live);
}

/* True when it was answered. */
static bool get_try(struct engine *engine, struct get *get, struct bytes key,
                    enum tocsin_status failed)
{
    bool sure = true;
    uint32_t at = get->ref.index != 0
                      ? engine_entry_of(engine, get->ref)
                      : engine_find(engine, get->kind, key,
                                    engine_fingerprint(engine, get->kind, key), &sure);
    if (at == ENTRY_NONE || engine->index.entries[at].rev == 0) {
        get->fn(get->arg, TOCSIN_NONE, NULL);
        return true;
    }
    if (failed != TOCSIN_OK) {
        get->fn(get->arg, failed, NULL);
        return true;
    }
    struct live *live = live_of(engine, at);
    if (live == NULL) {
        get->fn(get->arg, TOCSIN_NO_MEMORY, NULL);
        return true;
    }
    if (live->committed != NULL) {
        get_give(engine, get, live);
        return true;
    }
    enum tocsin_status status = get_wait(engine, get, key, live);
    if (status == TOCSIN_OK)
        return false;
    live_rest(engine, live);
    get->fn(get->arg, status, NULL);
    return true;
}

static void get_woken(struct engine *engine, struct waiter *waiter, enum tocsin_status status)
{
    struct get *get = (struct get *)waiter;
    if (get_try(engine, get, (struct bytes){get->key, get->key_size}, status))
        free(get);
}

static void get_dropped(struct waiter *waiter)
{
    free(waiter); /* the first part of a get */
}

void engine_get(struct engine *engine, unsigned kind, struct bytes key, engine_get_fn fn, void *arg)
{
    (void)get_try(engine, &(struct get){.fn = fn, .arg = arg, .kind = kind}, key, TOCSIN_OK);
}

void engine_get_ref(struct engine *engine, struct engine_ref ref, engine_get_fn fn, void *arg)
{
    struct get get = {.fn = fn, .arg = arg, .ref = ref};
    if (ref.index == ENTRY_NONE)
        fn(arg, TOCSIN_NONE, NULL);
    else
        (void)get_try(engine, &get, (struct bytes){0}, TOCSIN_OK);
}

void engine_warm(struct engine *engine, struct engine_ref ref)
{
    uint32_t at = engine_entry_of(engine, ref);
    if (at == ENTRY_NONE || engine->index.entries[at].rev == 0 ||
        engine->doc_bytes >= engine->limits.doc_bytes)
        return;
    struct live *live = live_of(engine, at);
    if (live == NULL)
        return;
    (void)live_fetch(engine, live);
    live_rest(engine, live);
}
