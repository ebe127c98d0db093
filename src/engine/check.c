/* SPDX-License-Identifier: MIT */
/* The slow, obvious recount: every chain, entry, version, tag and timer, compared with what
 * the fast code keeps in its counters. Not from inside a change or a callback. */

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/inside.h"

struct recount {
    const struct engine *engine;
    struct tocsin_why *why;
    uint8_t *seen;      /* by entry: found in a chain, or among the free */
    uint32_t *tag_uses; /* by tag */
    uint32_t used;
    uint32_t records;
    uint32_t armed;
    uint32_t waiters;
    uint32_t pins;
    size_t lives;
    size_t fetching;
    size_t warm;
    size_t open;
    size_t flying;
};

__attribute__((format(printf, 2, 3))) static bool wrong(const struct recount *recount,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (recount->why != NULL)
        (void)vsnprintf(recount->why->text, sizeof recount->why->text, format, args);
    va_end(args);
    return false;
}

/* ---- the index */

static bool check_chain(struct recount *recount, const struct index_table *table, uint32_t bucket)
{
    const struct index *index = &recount->engine->index;
    for (uint32_t at = table->buckets[bucket]; at != ENTRY_NONE; at = index->entries[at].next) {
        if (at >= index->end || !index->entries[at].used)
            return wrong(recount, "chain %" PRIu32 " leads to %" PRIu32 ", no entry", bucket, at);
        if (recount->seen[at])
            return wrong(recount, "entry %" PRIu32 " is in two chains", at);
        if (((uint32_t)index->entries[at].fingerprint & table->mask) != bucket)
            return wrong(recount, "entry %" PRIu32 " is in another's chain", at);
        recount->seen[at] = 1;
        recount->used++;
    }
    return true;
}

static bool check_index(struct recount *recount)
{
    const struct index *index = &recount->engine->index;
    uint32_t old_count = index->old.buckets == NULL ? 0 : index->old.mask + 1;
    /* What the old table has handed over it does not know any more, and the new one has not
     * been told of the rest. */
    for (uint32_t i = index->moved; i < old_count; i++) {
        if (!check_chain(recount, &index->old, i))
            return false;
    }
    for (uint32_t i = 0; i <= index->table.mask; i++) {
        if (!check_chain(recount, &index->table, i))
            return false;
    }
    uint32_t free_count = 0;
    for (uint32_t at = index->free; at != ENTRY_NONE; at = index->entries[at].next) {
        if (at >= index->end || index->entries[at].used || recount->seen[at])
            return wrong(recount, "entry %" PRIu32 " is free and is not", at);
        recount->seen[at] = 1;
        free_count++;
    }
    if (recount->used != index->count || recount->used + free_count + 1 != index->end)
        return wrong(recount,
                     "%" PRIu32 " entries in chains, %" PRIu32 " free; counted %" PRIu32
                     " of %" PRIu32,
                     recount->used, free_count, index->count, index->end - 1);
    return true;
}

/* ---- what is live */

static bool check_versions(struct recount *recount, uint32_t at, const struct live *live)
{
    const struct version *all[] = {live->committed, live->flying.version, live->open.version};
    for (int i = 0; i < 3; i++) {
        uint32_t refs = 0;
        bool first = true;
        for (int k = 0; k < 3; k++) {
            refs += all[k] == all[i];
            first = first && (k >= i || all[k] != all[i]);
        }
        if (all[i] == NULL || !first)
            continue;
        if (all[i]->refs != refs)
            return wrong(recount,
                         "entry %" PRIu32 ": a version with %" PRIu32 " uses says %" PRIu32, at,
                         refs, all[i]->refs);
        if (all[i]->rev > recount->engine->rev)
            return wrong(recount, "entry %" PRIu32 ": rev %" PRIu64 " was never given", at,
                         all[i]->rev);
        recount->tag_uses[all[i]->tag]++;
    }
    return true;
}

static bool check_live(struct recount *recount, uint32_t at, const struct live *live)
{
    const struct entry *entry = &recount->engine->index.entries[at];
    recount->lives++;
    recount->fetching += live->fetching;
    recount->warm += live->warm;
    recount->pins += live->pins;
    recount->open += live->open.there;
    recount->flying += live->flying.there;
    for (const struct waiter *waiter = live->waiters; waiter != NULL; waiter = waiter->next)
        recount->waiters++;
    if (live->entry != at)
        return wrong(recount, "entry %" PRIu32 " has the live part of %" PRIu32, at, live->entry);
    if (live->waiters != NULL && !live->fetching)
        return wrong(recount, "entry %" PRIu32 " has waiters, and nobody reads it", at);
    if (live->warm && (live_changing(live) || live->committed == NULL))
        return wrong(recount, "entry %" PRIu32 " is warm and has no doc or is changing", at);
    if (!live->warm && !live->fetching && live->pins == 0 && !live_changing(live))
        return wrong(recount, "entry %" PRIu32 " has a live part for nothing", at);
    if (live->committed != NULL && live->committed->rev != entry->rev)
        return wrong(recount, "entry %" PRIu32 " has rev %" PRIu64 ", its doc %" PRIu64, at,
                     entry->rev, live->committed->rev);
    if (live->flying.there && !recount->engine->commit_under_way)
        return wrong(recount, "entry %" PRIu32 " flies, and no commit does", at);
    return check_versions(recount, at, live);
}

static bool check_warm(struct recount *recount)
{
    const struct engine *engine = recount->engine;
    const struct live *before = NULL;
    uint64_t bytes = 0;
    size_t count = 0;
    for (const struct live *live = engine->oldest; live != NULL; live = live->newer) {
        if (!live->warm || live->older != before || ++count > recount->warm)
            return wrong(recount, "the list of warm docs is broken at entry %" PRIu32, live->entry);
        bytes += version_bytes(live->committed);
        before = live;
    }
    if (engine->newest != before || count != recount->warm || bytes != engine->doc_bytes)
        return wrong(recount, "%zu warm docs of %" PRIu64 " bytes; counted %" PRIu64, count, bytes,
                     engine->doc_bytes);
    return true;
}

/* ---- what is due */

static bool check_timer(struct recount *recount, uint32_t at)
{
    const struct engine *engine = recount->engine;
    const struct entry *entry = &engine->index.entries[at];
    struct tocsin_due due;
    recount->armed++;
    if (tocsin_wheel_get(engine->wheel, entry->timer, &due) != TOCSIN_OK)
        return wrong(recount, "entry %" PRIu32 " holds a stale timer", at);
    if (due.cookie != (uint64_t)at << 1)
        return wrong(recount, "entry %" PRIu32 " holds another's timer", at);
    if (entry->rev == 0 || entry->due_ms == STORE_NEVER)
        return wrong(recount, "entry %" PRIu32 " is armed and never due", at);
    if (entry->basis == STORE_ELAPSED && !entry->early && entry->due_ms > 0 &&
        due.due < (uint64_t)entry->due_ms)
        return wrong(recount, "entry %" PRIu32 " is armed before it is due", at);
    return true;
}

static bool check_entry(struct recount *recount, uint32_t at)
{
    const struct entry *entry = &recount->engine->index.entries[at];
    const struct live *live = entry->live;
    bool changing = live != NULL && live_changing(live);
    recount->records += entry->rev != 0;
    recount->tag_uses[entry->tag]++;
    if (entry->rev == 0 && !changing && (live == NULL || live->pins == 0))
        return wrong(recount, "entry %" PRIu32 " is of no record", at);
    if (entry->rev > recount->engine->committed_rev)
        return wrong(recount, "entry %" PRIu32 " has rev %" PRIu64 ", which is not committed", at,
                     entry->rev);
    if (entry->timer.id != 0 && !check_timer(recount, at))
        return false;
    if (entry->held && !changing)
        return wrong(recount, "entry %" PRIu32 " is held for a change that is not there", at);
    if (entry->rev != 0 && entry->due_ms != STORE_NEVER && entry->timer.id == 0 && !entry->held &&
        !entry->fired)
        return wrong(recount, "entry %" PRIu32 " is due, and neither armed, held nor fired", at);
    return live == NULL || check_live(recount, at, live);
}

/* ---- the counters */

static bool check_tags(struct recount *recount)
{
    const struct tags *tags = &recount->engine->tags;
    for (uint32_t i = 1; i <= ENGINE_TAGS_MAX; i++) {
        if (tags->list[i].refs != recount->tag_uses[i])
            return wrong(recount, "tag %" PRIu32 " is used %" PRIu32 " times; counted %" PRIu32, i,
                         recount->tag_uses[i], tags->list[i].refs);
    }
    return true;
}

static bool check_counts(struct recount *recount)
{
    const struct engine *engine = recount->engine;
    if (recount->records != engine->stats.records)
        return wrong(recount, "%" PRIu32 " records; counted %" PRIu64, recount->records,
                     engine->stats.records);
    if (recount->lives != engine->live_count || recount->waiters != engine->doc_waiters)
        return wrong(recount, "%zu live, %" PRIu32 " waiters; counted %" PRIu64 ", %" PRIu32,
                     recount->lives, recount->waiters, engine->live_count, engine->doc_waiters);
    if (recount->pins != engine->pin_count)
        return wrong(recount, "%" PRIu32 " pins; counted %" PRIu32, recount->pins,
                     engine->pin_count);
    if (recount->open != engine->open.dirty_count)
        return wrong(recount, "%zu records in the open commit; counted %zu", recount->open,
                     engine->open.dirty_count);
    if (recount->flying != (engine->commit_under_way ? engine->flying.dirty_count : 0))
        return wrong(recount, "%zu records in the flying commit; counted %zu", recount->flying,
                     engine->flying.dirty_count);
    if (recount->fetching < engine->wish_count)
        return wrong(recount, "%zu are read for %zu wishes", recount->fetching, engine->wish_count);
    size_t timers = tocsin_wheel_count(engine->wheel);
    if (timers != (size_t)recount->armed + engine->timer_count)
        return wrong(recount,
                     "%zu timers on the wheel; %" PRIu32 " of records and %" PRIu32
                     " volatile ones",
                     timers, recount->armed, engine->timer_count);
    return true;
}

static bool check_all(struct recount *recount)
{
    const struct index *index = &recount->engine->index;
    if (!check_index(recount))
        return false;
    for (uint32_t at = 1; at < index->end; at++) {
        if (index->entries[at].used && !check_entry(recount, at))
            return false;
    }
    return check_warm(recount) && check_tags(recount) && check_counts(recount);
}

enum tocsin_status engine_check(const struct engine *engine, struct tocsin_why *ret_why)
{
    assert(engine->running == NULL);
    struct recount recount = {
        .engine = engine,
        .why = ret_why,
        .seen = calloc(engine->index.end, sizeof *recount.seen),
        .tag_uses = calloc(ENGINE_TAGS_MAX + 1, sizeof *recount.tag_uses),
    };
    enum tocsin_status status = TOCSIN_NO_MEMORY;
    if (recount.seen != NULL && recount.tag_uses != NULL)
        status = check_all(&recount) ? TOCSIN_OK : TOCSIN_CORRUPT;
    free(recount.seen);
    free(recount.tag_uses);
    return status != TOCSIN_OK ? status : tocsin_wheel_check(engine->wheel, ret_why);
}
