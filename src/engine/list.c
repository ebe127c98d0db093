/* SPDX-License-Identifier: MIT */
/* Lists come from the store, in rev order, some rows at a time. The store may still show
 * versions that have died; the index knows which live. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

struct list {
    struct own_read own; /* first */
    unsigned kind;
    uint64_t after_rev;
    uint64_t committed_rev; /* as it was sent */
    size_t scan;
    engine_list_fn fn;
    void *arg;
    enum tocsin_status status;
    struct tocsin_why why;
    uint64_t next;
    size_t count;
    struct version **versions; /* scan of them */
};

static bool take_row(void *arg, const struct store_record *record)
{
    struct list *list = arg;
    struct change_put put = {
        .key = record->key,
        .home = record->home,
        .due_ms = record->due_ms,
        .basis = record->basis,
        .mark = record->mark,
        .doc = record->doc,
    };
    assert(list->count < list->scan);
    struct version *version = version_create(NULL, &put, 0, record->rev);
    if (version == NULL) {
        list->status = TOCSIN_NO_MEMORY;
        return false;
    }
    version->damaged = record->damaged;
    list->versions[list->count++] = version;
    return true;
}

static void list_run(struct engine_read *read, struct store *store)
{
    struct list *list = (struct list *)read;
    struct bytes kind = bytes_of(list->own.engine->kinds[list->kind]->name);
    enum tocsin_status status = store->ops->list(store, kind, list->after_rev, list->scan, take_row,
                                                 list, &list->next, &list->why);
    if (list->status == TOCSIN_OK)
        list->status = status;
}

static uint32_t living(struct engine *engine, unsigned kind, const struct version *version)
{
    uint64_t fingerprint = engine_fingerprint(engine, kind, version_key(version));
    uint32_t at = index_first(&engine->index, fingerprint);
    while (at != ENTRY_NONE && engine->index.entries[at].rev != version->rev)
        at = index_after(&engine->index, at);
    return at;
}

/* Slow; for one that has lost its key. */
static uint32_t living_by_rev(const struct engine *engine, uint64_t rev)
{
    for (uint32_t at = 1; at < engine->index.end; at++) {
        const struct entry *entry = &engine->index.entries[at];
        if (entry->used && entry->rev == rev)
            return at;
    }
    return ENTRY_NONE;
}

/* It is left out. When it lives it is read once more, alone: that tells where it is. */
static void pass_damaged(struct engine *engine, unsigned kind, const struct version *version)
{
    if (damage_known(engine, version->rev))
        return;
    uint32_t at =
        version->key_size > 0 ? living(engine, kind, version) : living_by_rev(engine, version->rev);
    struct live *live = at != ENTRY_NONE ? live_of(engine, at) : NULL;
    if (live == NULL)
        return; /* dead, and not swept yet; or there is no memory, and it is told next time */
    (void)live_fetch(engine, live);
    live_rest(engine, live);
}

static void list_drop(struct own_read *own)
{
    struct list *list = (struct list *)own;
    for (size_t i = 0; i < list->count; i++)
        version_drop(own->engine, list->versions[i]);
    free(list->versions);
    free(list);
}

/* The store was ahead of us: its commit is done, and we have not heard of it. The version it
 * ended is gone, the one it made is not visible yet: whoever is told now misses the record. */
static bool too_new(const struct engine *engine, const struct list *list)
{
    return engine->commit_under_way && list->count > 0 &&
           list->versions[list->count - 1]->rev > engine->committed_rev;
}

static void list_tell(struct list *list)
{
    struct engine *engine = list->own.engine;
    bool go_on = list->status == TOCSIN_OK;
    bool gone = false;
    for (size_t i = 0; i < list->count; i++) {
        struct version *version = list->versions[i];
        if (version->damaged) {
            if (go_on)
                pass_damaged(engine, list->kind, version);
            continue;
        }
        uint32_t at = go_on ? living(engine, list->kind, version) : ENTRY_NONE;
        if (go_on && at == ENTRY_NONE)
            gone = true;
        if (at != ENTRY_NONE) {
            struct engine_record record;
            engine_fill_record(engine, at, version, &record);
            record.tag = tags_word(&engine->tags, (uint16_t)engine->index.entries[at].tag);
            go_on = list->fn(list->arg, TOCSIN_OK, &record, 0);
            if (!go_on)
                list->next = version->rev;
        }
    }
    /* What was changed while the store was read is further on, under a rev of its own: then
     * this was not the end. What had died before was only not swept yet. */
    if (go_on && list->next == 0 && gone && engine->committed_rev > list->committed_rev)
        list->next = list->versions[list->count - 1]->rev;
    if (list->status == TOCSIN_DAMAGED)
        damage_met_reading(engine, list->why.text);
    (void)list->fn(list->arg, list->status, NULL, list->next);
    list_drop(&list->own);
}

static void list_done(struct engine_read *read)
{
    struct list *list = (struct list *)read;
    struct engine *engine = list->own.engine;
    if (too_new(engine, list)) {
        list->own.read.next = engine->reads_ahead;
        engine->reads_ahead = read;
        return;
    }
    own_read_came(&list->own);
    list_tell(list);
}

void list_settled(struct engine *engine)
{
    struct engine_read *read = engine->reads_ahead;
    engine->reads_ahead = NULL;
    while (read != NULL) {
        struct engine_read *next = read->next;
        struct list *list = (struct list *)read;
        own_read_came(&list->own);
        list_tell(list);
        read = next;
    }
}

void engine_list(struct engine *engine, unsigned kind, uint64_t after_rev, size_t scan,
                 engine_list_fn fn, void *arg)
{
    struct list *list = calloc(1, sizeof *list);
    struct version **versions = calloc(scan, sizeof(struct version *));
    if (list == NULL || versions == NULL) {
        free(list);
        free(versions);
        (void)fn(arg, TOCSIN_NO_MEMORY, NULL, 0);
        return;
    }
    *list = (struct list){
        .own = {.read = {.run = list_run, .done = list_done}, .drop = list_drop},
        .kind = kind,
        .after_rev = after_rev,
        .committed_rev = engine->committed_rev,
        .scan = scan,
        .fn = fn,
        .arg = arg,
        .versions = versions,
    };
    own_read_send(engine, &list->own);
}
