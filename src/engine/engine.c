/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/inside.h"

#define MS INT64_C(1000000)

const struct engine_limits engine_limits_default = {
    .records = 50 * 1000 * 1000,
    .commit_changes = 512,
    .waiting = 100 * 1000,
    .doc_bytes = UINT64_C(64) * 1024 * 1024,
    .ahead_ms = 2000,
    .turn_work = 256,
    .epoch_fences = UINT32_MAX,
};

enum tocsin_status engine_create(const struct engine_options *options, struct engine **ret_engine,
                                 struct tocsin_why *ret_why)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return TOCSIN_NO_MEMORY;
    engine->limits = options->limits;
    engine->clock = options->clock;
    engine->backend = options->backend;
    engine->hash_key = options->hash_key;
    engine->on_fatal = options->on_fatal;
    engine->arg = options->arg;
    engine->shared = options->shared;
    change_list_init(&engine->waiting);
    commit_init(&engine->open);
    commit_init(&engine->flying);
    commit_init(&engine->spare);
    buffer_init(&engine->staged_events.bytes, 16 * 1024 * 1024);
    mirror_rows_init(&engine->staged_mirrors, 16 * 1024 * 1024);
    if (!tags_init(&engine->tags)) {
        engine_destroy(engine);
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory for the engine");
        return TOCSIN_NO_MEMORY;
    }
    *ret_engine = engine;
    return TOCSIN_OK;
}

void own_read_send(struct engine *engine, struct own_read *own)
{
    own->engine = engine;
    own->before = NULL;
    own->after = engine->reads;
    if (own->after != NULL)
        own->after->before = own;
    engine->reads = own;
    engine_read(engine, &own->read);
}

void own_read_came(struct own_read *own)
{
    *(own->before != NULL ? &own->before->after : &own->engine->reads) = own->after;
    if (own->after != NULL)
        own->after->before = own->before;
}

static void drop_reads(struct engine *engine)
{
    while (engine->reads != NULL) {
        struct own_read *own = engine->reads;
        own_read_came(own);
        own->drop(own);
    }
}

static void free_changes(struct change *change)
{
    while (change != NULL) {
        struct change *next = change->next;
        change_free_thens(change);
        free(change);
        change = next;
    }
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL)
        return;
    for (size_t i = 0; i < engine->staged_count; i++)
        version_drop(engine, engine->staged[i].version);
    drop_reads(engine);
    if (engine->index.entries != NULL)
        live_free_all(engine);
    free_changes(engine->free_changes);
    free_changes(engine->waiting.first);
    free_changes(engine->open.changes.first);
    free_changes(engine->flying.changes.first);
    while (engine->free_thens != NULL) {
        struct then *then = engine->free_thens;
        engine->free_thens = then->next;
        free(then);
    }
    commit_release(&engine->open);
    commit_release(&engine->flying);
    commit_release(&engine->spare);
    free(engine->staged_events.rows);
    buffer_release(&engine->staged_events.bytes);
    mirror_rows_release(&engine->staged_mirrors);
    free(engine->staged);
    free(engine->puts);
    free(engine->dead_revs);
    free(engine->events);
    free(engine->mirrors);
    free(engine->wishes);
    free(engine->damages);
    version_pool_release(&engine->versions);
    if (engine->wheel != NULL)
        tocsin_wheel_destroy(engine->wheel);
    if (engine->index.entries != NULL)
        index_release(&engine->index);
    tags_release(&engine->tags);
    free(engine);
}

unsigned engine_add_kind(struct engine *engine, const struct engine_kind *kind)
{
    assert(engine->kind_count < ENGINE_KINDS_MAX);
    assert(strlen(kind->name) <= STORE_KIND_BYTES_MAX);
    engine->kinds[engine->kind_count] = kind;
    return engine->kind_count++;
}

/* ---- finding */

uint64_t engine_fingerprint(struct engine *engine, unsigned kind, struct bytes key)
{
    if (engine->hashed_size == key.size && engine->hashed_kind == kind && key.size > 0 &&
        memcmp(engine->hashed_key, key.at, key.size) == 0)
        return engine->hashed;
    struct siphash_key hash_key = engine->hash_key;
    hash_key.low += kind; /* each kind is hashed by a key of its own */
    uint64_t fingerprint = siphash_quick(hash_key, key.at, key.size);
    if (key.size > 0 && key.size <= sizeof engine->hashed_key) {
        engine->hashed = fingerprint;
        engine->hashed_kind = kind;
        engine->hashed_size = key.size;
        memcpy(engine->hashed_key, key.at, key.size);
    }
    return fingerprint;
}

void engine_expect(struct engine *engine, unsigned kind, struct bytes key)
{
    uint64_t fingerprint = engine_fingerprint(engine, kind, key);
    index_expect(&engine->index, fingerprint);
    /* The chain of the one a few before is here by now; its entry comes next. */
    uint64_t *before = &engine->expected[engine->expected_at++ % EXPECTED_AHEAD];
    if (*before != 0)
        index_expect_entry(&engine->index, *before);
    *before = fingerprint;
}

uint32_t engine_find(struct engine *engine, unsigned kind, struct bytes key, uint64_t fingerprint,
                     bool *ret_sure)
{
    uint32_t maybe = ENTRY_NONE;
    uint32_t at = index_first(&engine->index, fingerprint);
    for (; at != ENTRY_NONE; at = index_after(&engine->index, at)) {
        const struct entry *entry = &engine->index.entries[at];
        if (entry->kind != kind)
            continue;
        const struct version *version = entry->live == NULL ? NULL : live_any_version(entry->live);
        if (version == NULL && entry->rev == 0)
            continue; /* dropped, and only kept for somebody who has not run yet */
        if (version == NULL) {
            maybe = at; /* unless one further on surely is */
        } else if (bytes_equal(version_key(version), key)) {
            *ret_sure = true;
            return at;
        }
    }
    *ret_sure = maybe == ENTRY_NONE;
    return maybe;
}

uint64_t engine_count(const struct engine *engine)
{
    return engine->index.count;
}

bool engine_has(struct engine *engine, unsigned kind, struct bytes key)
{
    bool sure;
    uint32_t at = engine_find(engine, kind, key, engine_fingerprint(engine, kind, key), &sure);
    return at != ENTRY_NONE && engine->index.entries[at].rev != 0;
}

uint32_t engine_entry_of(const struct engine *engine, struct engine_ref ref)
{
    if (ref.index == ENTRY_NONE || ref.index >= engine->index.end)
        return ENTRY_NONE;
    const struct entry *entry = &engine->index.entries[ref.index];
    return entry->used && entry->born == ref.born ? ref.index : ENTRY_NONE;
}

void engine_fill_head(const struct engine *engine, uint32_t at, struct engine_head *ret_head)
{
    const struct entry *entry = &engine->index.entries[at];
    *ret_head = (struct engine_head){
        .ref = {at, entry->born},
        .kind = entry->kind,
        .rev = entry->rev,
        .tag = tags_word(&engine->tags, (uint16_t)entry->tag),
        .due_ms = entry->due_ms,
        .basis = (enum store_basis)entry->basis,
        .mark = (uint8_t)entry->mark,
    };
}

void engine_fill_record(const struct engine *engine, uint32_t at, const struct version *version,
                        struct engine_record *ret_record)
{
    uint32_t born = at == ENTRY_NONE ? 0 : engine->index.entries[at].born;
    *ret_record = (struct engine_record){
        .ref = {at, born},
        .rev = version->rev,
        .key = version_key(version),
        .home = version_home(version),
        .tag = tags_word(&engine->tags, version->tag),
        .due_ms = version->due_ms,
        .basis = (enum store_basis)version->basis,
        .mark = version->mark,
        .own = version->own,
        .doc = version_doc(version),
    };
}

bool engine_head(const struct engine *engine, struct engine_ref ref, struct engine_head *ret_head)
{
    uint32_t at = engine_entry_of(engine, ref);
    if (at == ENTRY_NONE || engine->index.entries[at].rev == 0)
        return false;
    engine_fill_head(engine, at, ret_head);
    return true;
}

bool engine_changing(const struct engine *engine, struct engine_ref ref)
{
    uint32_t at = engine_entry_of(engine, ref);
    if (at == ENTRY_NONE)
        return false;
    const struct live *live = engine->index.entries[at].live;
    return live != NULL && live_changing(live);
}

uint32_t engine_attached(const struct engine *engine, struct engine_ref ref)
{
    uint32_t at = engine_entry_of(engine, ref);
    return at == ENTRY_NONE ? 0 : engine->index.entries[at].attached;
}

void engine_attach(struct engine *engine, struct engine_ref ref, uint32_t value)
{
    uint32_t at = engine_entry_of(engine, ref);
    if (at != ENTRY_NONE)
        engine->index.entries[at].attached = value;
}

/* ---- loading */

enum { LINK_ENTRIES = 256 }; /* at a time: they are in the cache still */

struct loading {
    struct engine *engine;
    const struct engine_kind *kind; /* of the record before: mostly the same again */
    unsigned kind_number;
    int64_t now_ms;
    uint32_t linked; /* entries before this one can be found */
    enum tocsin_status status;
    struct tocsin_why *why;
};

static void link_loaded(struct loading *loading)
{
    struct index *index = &loading->engine->index;
    index_link(index, loading->linked, index->end);
    loading->linked = index->end;
}

static bool find_kind(struct loading *loading, struct bytes name)
{
    if (loading->kind != NULL && bytes_are(name, loading->kind->name))
        return true;
    struct engine *engine = loading->engine;
    for (unsigned i = 0; i < engine->kind_count; i++) {
        if (bytes_are(name, engine->kinds[i]->name)) {
            loading->kind = engine->kinds[i];
            loading->kind_number = i;
            return true;
        }
    }
    loading->status = TOCSIN_INVALID;
    (void)snprintf(loading->why->text, sizeof loading->why->text,
                   "the store holds records of kind '%.*s', which this version does not know",
                   (int)name.size, name.at);
    return false;
}

static bool load_one(void *arg, const struct store_record *record)
{
    struct loading *loading = arg;
    struct engine *engine = loading->engine;
    if (!find_kind(loading, record->kind))
        return false;
    uint16_t tag;
    uint64_t fingerprint = engine_fingerprint(engine, loading->kind_number, record->key);
    uint32_t at = ENTRY_NONE;
    if (tags_keep(&engine->tags, engine->hash_key, record->tag, &tag) == TOCSIN_OK)
        at = index_append(&engine->index, fingerprint);
    if (at == ENTRY_NONE) {
        loading->status = TOCSIN_FULL;
        (void)snprintf(loading->why->text, sizeof loading->why->text,
                       "the store holds more than the limit of %u records, or %d tags, or than "
                       "there is memory for",
                       engine->limits.records, ENGINE_TAGS_MAX);
        return false;
    }
    struct entry *entry = &engine->index.entries[at];
    entry->rev = record->rev;
    entry->due_ms = record->due_ms;
    entry->basis = record->basis == STORE_WALL;
    entry->kind = loading->kind_number & 31u;
    entry->mark = record->mark & 63u;
    entry->tag = tag;
    engine->tags.list[tag].entries++;
    engine->marks[entry->kind][entry->mark]++;
    engine->stats.records++;
    due_arm_as_of(engine, at, loading->now_ms);
    if (loading->kind->on_load != NULL) {
        struct engine_head head;
        engine_fill_head(engine, at, &head);
        head.home = record->home;
        loading->kind->on_load(loading->kind->service, &head);
    }
    if (at - loading->linked >= LINK_ENTRIES)
        link_loaded(loading);
    return true;
}

/* The elapsed line goes on where it was, by the time that passed on the wall since, and never
 * back. */
static void set_line(struct engine *engine, const struct store_state *state)
{
    int64_t wall = clock_wall(&engine->clock).ns;
    int64_t line = wall;
    if (state->time.elapsed_ms != 0) {
        line = wall - state->time.skew_ms * MS;
        if (line < state->time.elapsed_ms * MS)
            line = state->time.elapsed_ms * MS;
    }
    engine->base_ns = line - clock_elapsed(&engine->clock).ns;
    engine->armed_skew_ns = wall - line;
    due_show_skew(engine, wall - line);
}

enum tocsin_status engine_load(struct engine *engine, struct store *store,
                               const struct store_state *state, struct tocsin_why *ret_why)
{
    assert(engine->wheel == NULL);
    assert(engine->limits.records <= TOCSIN_WHEEL_TIMERS_MAX - VOLATILE_TIMERS_MAX);
    set_line(engine, state);
    engine->epoch = state->epoch;
    engine->rev = engine->committed_rev = state->high_rev;
    engine->seq = state->high_seq;
    int64_t now = engine_now_ms(engine);
    uint64_t timers = (uint64_t)engine->limits.records + VOLATILE_TIMERS_MAX;
    struct tocsin_wheel_config wheel = {
        .now = now < 0 ? 0 : (uint64_t)now,
        .max_timers = (uint32_t)timers,
    };
    enum tocsin_status status = tocsin_wheel_create(&wheel, &engine->wheel, ret_why);
    if (status != TOCSIN_OK)
        return status;
    if (!index_init(&engine->index, engine->limits.records, state->living)) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory for the index");
        return TOCSIN_NO_MEMORY;
    }
    struct loading loading = {
        .engine = engine,
        .now_ms = engine_now_ms(engine),
        .linked = engine->index.end,
        .why = ret_why,
    };
    status = store->ops->load(store, load_one, &loading, ret_why);
    link_loaded(&loading);
    return loading.status != TOCSIN_OK ? loading.status : status;
}

/* ---- turning */

/* What could not be finished in this turn, though nobody else will end it. */
static bool left_over(const struct engine *engine)
{
    bool open_full = engine->open.changes.count >= engine->limits.commit_changes;
    bool to_hand_over = engine->open.changes.count > 0 || engine->time_unsaved;
    return engine->rearm_at != 0 || engine->wish_count > 0 ||
           (engine->waiting.count > 0 && !open_full) || (to_hand_over && !engine->commit_under_way);
}

void engine_turn(struct engine *engine, struct elapsed_time *ret_wake)
{
    *ret_wake = (struct elapsed_time){INT64_MAX};
    if (engine->dead)
        return; /* no store, no claim: nothing comes due either */
    due_look(engine);
    due_advance(engine);
    if (engine->on_turn != NULL)
        engine->on_turn(engine->on_turn_arg);
    change_run_waiting(engine);
    commit_hand_over(engine);
    change_run_waiting(engine);
    live_send_wishes(engine);
    uint64_t wake_ms;
    if (left_over(engine))
        ret_wake->ns = 0;
    else if (tocsin_wheel_wake(engine->wheel, &wake_ms) && wake_ms < INT64_MAX / MS &&
             __builtin_sub_overflow((int64_t)wake_ms * MS, engine->base_ns, &ret_wake->ns))
        ret_wake->ns = INT64_MAX;
}

uint64_t engine_next_fence(struct engine *engine)
{
    if (engine->fence_count >= engine->limits.epoch_fences) {
        /* Half of the epoch ago the next one was reserved in the store. */
        assert(engine->epoch_reserved);
        engine->epoch = engine->reserved_epoch;
        engine->epoch_reserved = false;
        engine->fence_count = 0;
    }
    return engine->epoch << 32 | ++engine->fence_count;
}

bool engine_shared(const struct engine *engine)
{
    return engine->shared;
}

uint64_t engine_epoch(const struct engine *engine)
{
    return engine->epoch;
}

void engine_on_event(struct engine *engine, void (*fn)(void *arg, const struct store_event *event),
                     void *arg)
{
    engine->on_event = fn;
    engine->on_event_arg = arg;
}

void engine_on_commit(struct engine *engine,
                      void (*fn)(void *arg, enum tocsin_status status, const char *why,
                                 int64_t took_ns),
                      void *arg)
{
    engine->on_commit = fn;
    engine->on_commit_arg = arg;
}

uint64_t engine_mark_count(const struct engine *engine, unsigned kind, uint8_t mark)
{
    assert(kind < engine->kind_count && mark <= ENGINE_MARKS_MAX);
    return engine->marks[kind][mark];
}

void engine_on_turn(struct engine *engine, void (*fn)(void *arg), void *arg)
{
    engine->on_turn = fn;
    engine->on_turn_arg = arg;
}

void engine_read(struct engine *engine, struct engine_read *read)
{
    engine->backend->read(engine->backend->arg, read);
}

void engine_read_done(struct engine *engine, struct engine_read *read)
{
    (void)engine;
    read->done(read);
}

bool engine_idle(const struct engine *engine)
{
    return engine->waiting.count + engine->doc_waiters + engine->open.changes.count +
               engine->flying.changes.count ==
           0;
}

enum tocsin_status engine_store_status(const struct engine *engine)
{
    return engine->stats.store;
}

void engine_describe(const struct engine *engine, struct engine_stats *ret_stats)
{
    *ret_stats = engine->stats;
    ret_stats->docs = engine->live_count;
    ret_stats->doc_bytes = engine->doc_bytes;
    ret_stats->waiting = engine->waiting.count + engine->doc_waiters;
    ret_stats->open = engine->open.changes.count;
    ret_stats->flying = engine->flying.changes.count;
    ret_stats->high_rev = engine->committed_rev;
    ret_stats->high_seq = engine->seq;
    ret_stats->armed =
        engine->wheel == NULL ? 0 : tocsin_wheel_count(engine->wheel) - engine->timer_count;
    ret_stats->skew_ms = engine->armed_skew_ns / MS;
}

const struct tocsin_wheel *engine_wheel(const struct engine *engine)
{
    return engine->wheel;
}
