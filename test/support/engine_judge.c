/* SPDX-License-Identifier: MIT */
#include "support/engine_judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

void judge_init(struct judge *judge, const struct clock_manual *clock)
{
    memset(judge, 0, sizeof *judge);
    judge->clock = clock;
    judge->line_base_ns = clock->wall.ns - clock->elapsed.ns;
}

bool judge_fine(const struct judge *judge)
{
    return judge->verdict[0] == '\0';
}

void judge_accuse(struct judge *judge, const char *format, ...)
{
    if (!judge_fine(judge))
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(judge->verdict, sizeof judge->verdict, format, args);
    va_end(args);
}

static bool same(const struct judge_version *one, const struct judge_version *other)
{
    if (one->rev != other->rev)
        return false;
    return one->rev == 0 || (one->stamp == other->stamp && one->due_ms == other->due_ms &&
                             one->basis == other->basis);
}

static const struct judge_version *effect_on(const struct judge_group *group, unsigned key)
{
    const struct judge_version *found = NULL;
    for (size_t i = 0; i < group->count; i++) {
        if (group->effects[i].key == key)
            found = &group->effects[i].version;
    }
    return found;
}

static int64_t line_ns(const struct judge *judge)
{
    return judge->clock->elapsed.ns + judge->line_base_ns;
}

/* ---- changes */

uint64_t judge_read_tip(struct judge *judge, unsigned key, uint64_t rev)
{
    const struct judge_version *tip = &judge->committed[key];
    uint64_t made_by = 0;
    for (size_t i = 0; i < judge->pending_count; i++) {
        const struct judge_version *next = effect_on(&judge->pending[i], key);
        if (next != NULL) {
            tip = next;
            made_by = judge->pending[i].id;
        }
    }
    if (tip->rev != rev)
        judge_accuse(judge, "a change read rev %" PRIu64 " of key %u, the tip is %" PRIu64, rev,
                     key, tip->rev);
    return made_by;
}

void judge_applied(struct judge *judge, const struct judge_group *group)
{
    if (judge->pending_count == JUDGE_PENDING_MAX) {
        judge_accuse(judge, "too much is pending");
        return;
    }
    for (size_t i = 0; i < group->count; i++) {
        uint64_t rev = group->effects[i].version.rev;
        if (rev != 0 && rev <= judge->high_rev)
            judge_accuse(judge, "rev %" PRIu64 " was given after %" PRIu64, rev, judge->high_rev);
        if (rev > judge->high_rev)
            judge->high_rev = rev;
    }
    judge->pending[judge->pending_count++] = *group;
}

void judge_refused(struct judge *judge, uint64_t id)
{
    for (size_t i = 0; i < judge->pending_count; i++) {
        if (judge->pending[i].id == id)
            judge_accuse(judge,
                         "a change was refused for group %" PRIu64 " before that was durable", id);
    }
}

void judge_acknowledged(struct judge *judge, uint64_t id)
{
    if (judge->pending_count == 0 || judge->pending[0].id != id) {
        judge_accuse(judge,
                     "group %" PRIu64 " was acknowledged out of order, twice, or after it "
                     "was rolled back",
                     id);
        return;
    }
    const struct judge_group *group = &judge->pending[0];
    for (size_t i = 0; i < group->count; i++) {
        const struct judge_effect *effect = &group->effects[i];
        judge->committed[effect->key] = effect->version;
    }
    judge->last_acknowledged = id;
    judge->acknowledged++;
    judge->pending_count--;
    memmove(judge->pending, judge->pending + 1, judge->pending_count * sizeof *judge->pending);
}

void judge_rolled_back(struct judge *judge)
{
    judge->pending_count = 0;
}

/* ---- what is seen */

/* Whether the key stood so, with committed and some first part of what is pending. */
static bool stands(const struct judge *judge, unsigned key, const struct judge_version *version)
{
    if (same(&judge->committed[key], version))
        return true;
    for (size_t i = 0; i < judge->pending_count; i++) {
        const struct judge_version *next = effect_on(&judge->pending[i], key);
        if (next != NULL && same(next, version))
            return true;
    }
    return false;
}

void judge_seen(struct judge *judge, const char *by, unsigned key,
                const struct judge_version *version)
{
    if (!stands(judge, key, version))
        judge_accuse(judge,
                     "%s saw rev %" PRIu64 " of key %u, which is not there; committed is "
                     "%" PRIu64,
                     by, version->rev, key, judge->committed[key].rev);
    if (version->rev > judge->stored_rev)
        judge_accuse(judge, "%s saw rev %" PRIu64 " of key %u, which is not on the disk", by,
                     version->rev, key);
}

bool judge_in_change(const struct judge *judge, unsigned key)
{
    for (size_t i = 0; i < judge->pending_count; i++) {
        if (effect_on(&judge->pending[i], key) != NULL)
            return true;
    }
    return false;
}

void judge_due(struct judge *judge, unsigned key, const struct judge_version *version,
               uint64_t fence)
{
    judge->dues++;
    judge_seen(judge, "a due", key, version);
    int64_t now_ns = version->basis == STORE_WALL ? judge->clock->wall.ns : line_ns(judge);
    if (version->due_ms > now_ns / MS)
        judge_accuse(judge, "key %u fired %" PRId64 " ms early by the %s clock", key,
                     version->due_ms - now_ns / MS,
                     version->basis == STORE_WALL ? "wall" : "elapsed");
    if (judge_in_change(judge, key))
        judge_accuse(judge, "key %u came due while it was being changed", key);
    if (fence <= judge->high_fence)
        judge_accuse(judge, "fence %" PRIu64 " after %" PRIu64, fence, judge->high_fence);
    judge->high_fence = fence;
}

/* ---- the disk */

void judge_taken(struct judge *judge)
{
    judge->taken_line_ns = line_ns(judge);
    judge->taken_wall_ns = judge->clock->wall.ns;
}

void judge_stored(struct judge *judge, const struct store_batch *batch)
{
    if (batch->high_rev < judge->stored_rev)
        judge_accuse(judge, "the high rev fell to %" PRIu64, batch->high_rev);
    judge->stored_rev = batch->high_rev;
    judge->stored_line_ns = judge->taken_line_ns;
    judge->stored_wall_ns = judge->taken_wall_ns;
    judge->time_stored = true;
}

static bool is_cut(const struct judge_version state[JUDGE_KEYS],
                   const struct judge_version found[JUDGE_KEYS])
{
    for (unsigned key = 0; key < JUDGE_KEYS; key++) {
        if (!same(&state[key], &found[key]))
            return false;
    }
    return true;
}

static void explain_crash(struct judge *judge, const struct judge_version found[JUDGE_KEYS])
{
    for (unsigned key = 0; key < JUDGE_KEYS; key++) {
        if (!stands(judge, key, &found[key])) {
            judge_accuse(judge,
                         "after a crash key %u has rev %" PRIu64 ", acknowledged was %" PRIu64, key,
                         found[key].rev, judge->committed[key].rev);
            return;
        }
    }
    judge_accuse(judge, "after a crash a group or an order of groups is half there");
}

void judge_crashed(struct judge *judge, const struct judge_version found[JUDGE_KEYS])
{
    struct judge_version state[JUDGE_KEYS];
    memcpy(state, judge->committed, sizeof state);
    size_t kept = 0;
    while (!is_cut(state, found)) {
        if (kept == judge->pending_count) {
            explain_crash(judge, found);
            return;
        }
        const struct judge_group *group = &judge->pending[kept++];
        for (size_t i = 0; i < group->count; i++)
            state[group->effects[i].key] = group->effects[i].version;
    }
    memcpy(judge->committed, state, sizeof state);
    judge->pending_count = 0;
    judge->high_rev = judge->stored_rev;
    judge->crashes++;
    /* The line goes on by what passed on the wall since the disk last heard, and never back. */
    int64_t line = judge->clock->wall.ns;
    if (judge->time_stored) {
        int64_t passed = judge->clock->wall.ns - judge->stored_wall_ns;
        line = judge->stored_line_ns + (passed > 0 ? passed : 0);
    }
    judge->line_base_ns = line - judge->clock->elapsed.ns;
}

void judge_quiet(struct judge *judge, int64_t late_ms, const struct judge_version found[JUDGE_KEYS])
{
    if (judge->pending_count > 0)
        judge_accuse(judge, "group %" PRIu64 " was never answered", judge->pending[0].id);
    for (unsigned key = 0; key < JUDGE_KEYS; key++) {
        const struct judge_version *version = &judge->committed[key];
        if (!same(version, &found[key]))
            judge_accuse(judge, "key %u has rev %" PRIu64 " on the disk, answered was %" PRIu64,
                         key, found[key].rev, version->rev);
        if (version->rev == 0 || version->due_ms == STORE_NEVER)
            continue;
        int64_t now_ns = version->basis == STORE_WALL ? judge->clock->wall.ns : line_ns(judge);
        if (version->due_ms < now_ns / MS - late_ms)
            judge_accuse(judge,
                         "key %u is lost: due %" PRId64 " ms ago by the %s clock, and not "
                         "fired",
                         key, now_ns / MS - version->due_ms,
                         version->basis == STORE_WALL ? "wall" : "elapsed");
    }
}
