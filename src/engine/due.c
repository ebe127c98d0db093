/* SPDX-License-Identifier: MIT */
/* One wheel for all: records by both clocks, and volatile timers. It turns by the elapsed
 * line. A record by the wall clock stands where the wall clock will be then, as far as can be
 * told now; when it comes out its own clock is asked again, so it is never early, and after a
 * step of the wall clock all of them are armed anew, some at a time.
 *
 * A record whose doc is not in memory first comes out early, to have it read. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

#define MS INT64_C(1000000)

enum {
    SKEW_DRIFT_MAX_MS = 500,   /* the wall clock is steered: past this, as if it were set */
    WALL_ERROR_MAX_MS = 10000, /* one that is said to be worse is of no use to anybody */
    SKEW_READS = 3,
    SKEW_READ_MAX_NS = 100000,
    REARM_A_TURN = 4096,
    DUE_RETRY_MS = 1000,
    TURN_BUDGET_US = 1000,
};

static int64_t ceil_ms(int64_t ns)
{
    return ns >= 0 ? (ns + MS - 1) / MS : -(-ns / MS);
}

static int64_t floor_ms(int64_t ns)
{
    return ns >= 0 ? ns / MS : -((-ns + MS - 1) / MS);
}

static int64_t line_ns(const struct engine *engine)
{
    return clock_elapsed(&engine->clock).ns + engine->base_ns;
}

static int64_t skew_ns(const struct engine *engine)
{
    return clock_wall(&engine->clock).ns - line_ns(engine);
}

int64_t engine_now_ms(const struct engine *engine)
{
    return floor_ms(line_ns(engine));
}

int64_t engine_now_up_ms(const struct engine *engine)
{
    return ceil_ms(line_ns(engine));
}

int64_t engine_wall_ms(const struct engine *engine)
{
    return floor_ms(clock_wall(&engine->clock).ns);
}

int64_t engine_wall_up_ms(const struct engine *engine)
{
    return ceil_ms(clock_wall(&engine->clock).ns);
}

int64_t engine_wall_ns(const struct engine *engine)
{
    return clock_wall(&engine->clock).ns;
}

int64_t engine_wall_of(const struct engine *engine, int64_t due_ms, enum store_basis basis)
{
    if (due_ms == STORE_NEVER || basis == STORE_WALL)
        return due_ms;
    int64_t wall;
    return __builtin_add_overflow(due_ms, engine->shown_skew_ms, &wall) ? STORE_NEVER - 1 : wall;
}

void due_show_skew(struct engine *engine, int64_t skew)
{
    int64_t off = skew - engine->shown_skew_ms * MS;
    if (off > MS || off < -MS)
        engine->shown_skew_ms = floor_ms(skew + MS / 2);
}

static int64_t on_line(int64_t due_ms, enum store_basis basis, int64_t skew)
{
    int64_t line = due_ms;
    if (basis == STORE_WALL && __builtin_sub_overflow(due_ms, floor_ms(skew), &line))
        line = STORE_NEVER - 1;
    return due_ms < 0 || line < 0 ? 0 : line; /* what has long passed is due at once */
}

int64_t due_on_line(const struct engine *engine, int64_t due_ms, enum store_basis basis)
{
    return on_line(due_ms, basis, basis == STORE_WALL ? skew_ns(engine) : 0);
}

/* Both rounded so that the line never goes on too far after a restart. */
/* Who goes on from here may see the wall nearer to the true one than we do, and must not take that
 * for time that has passed: so what our wall may lack counts as skew. */
void due_save_time(struct engine *engine, struct store_time *ret_time)
{
    int64_t error = clock_wall_error_ns(&engine->clock);
    if (error > WALL_ERROR_MAX_MS * MS)
        error = WALL_ERROR_MAX_MS * MS;
    *ret_time = (struct store_time){
        .elapsed_ms = engine_now_ms(engine),
        .skew_ms = ceil_ms(skew_ns(engine) + error),
    };
    engine->time_unsaved = false;
}

/* ---- arming */

static void arm_at(struct engine *engine, uint32_t at, int64_t line_ms)
{
    struct entry *entry = &engine->index.entries[at];
    uint64_t due = line_ms < 0 ? 0 : (uint64_t)line_ms;
    enum tocsin_status status;
    entry->held = 0;
    entry->fired = 0;
    if (entry->timer.id != 0)
        status = tocsin_wheel_rearm(engine->wheel, entry->timer, due);
    else
        status = tocsin_wheel_arm(engine->wheel, due, (uint64_t)at << 1, &entry->timer);
    /* The wheel has room for every record: only memory can fail. It is stored and would not
     * fire, so stop, and let a restart take it in. */
    assert(status == TOCSIN_OK || status == TOCSIN_NO_MEMORY);
    if (status != TOCSIN_OK && !engine->dead) {
        engine->dead = true;
        engine->on_fatal(engine->arg, status, "no memory to put a record on the wheel");
    }
}

static void due_again(struct engine *engine, uint32_t at, int64_t line_ms)
{
    engine->index.entries[at].early = 0;
    arm_at(engine, at, line_ms);
}

static void arm_with(struct engine *engine, uint32_t at, int64_t now_ms, int64_t line_ms)
{
    int64_t ahead = line_ms - (int64_t)engine->limits.ahead_ms;
    bool early = ahead > now_ms;
    engine->index.entries[at].early = early;
    arm_at(engine, at, early ? ahead : line_ms);
}

void due_arm(struct engine *engine, uint32_t at)
{
    const struct entry *entry = &engine->index.entries[at];
    if (entry->due_ms == STORE_NEVER)
        due_disarm(engine, at);
    else
        arm_with(engine, at, engine_now_ms(engine),
                 due_on_line(engine, entry->due_ms, (enum store_basis)entry->basis));
}

/* Reading both clocks for each would be a tenth of a start. */
void due_arm_as_of(struct engine *engine, uint32_t at, int64_t now_ms)
{
    const struct entry *entry = &engine->index.entries[at];
    if (entry->due_ms != STORE_NEVER)
        arm_with(engine, at, now_ms,
                 on_line(entry->due_ms, (enum store_basis)entry->basis, engine->armed_skew_ns));
}

void due_look(struct engine *engine)
{
    engine->about_ms = engine_now_ms(engine);
    engine->about_skew_ns = skew_ns(engine);
}

int64_t due_line_about(const struct engine *engine, const struct entry *entry)
{
    return on_line(entry->due_ms, (enum store_basis)entry->basis, engine->about_skew_ns);
}

void due_arm_about(struct engine *engine, uint32_t at)
{
    const struct entry *entry = &engine->index.entries[at];
    if (entry->due_ms == STORE_NEVER)
        due_disarm(engine, at);
    else
        arm_with(engine, at, engine->about_ms, due_line_about(engine, entry));
}

void due_disarm(struct engine *engine, uint32_t at)
{
    struct entry *entry = &engine->index.entries[at];
    if (entry->timer.id != 0)
        (void)tocsin_wheel_cancel(engine->wheel, entry->timer, NULL);
    entry->timer.id = 0;
    entry->early = 0;
    entry->fired = 0;
}

/* ---- firing */

/* Not by its own clock: the wall clock may have been set back since it was armed. In whole
 * milliseconds, rounded down, since no due time is too far to be compared so. */
static bool before_due(const struct engine *engine, const struct entry *entry)
{
    int64_t now = entry->basis == STORE_WALL ? engine_wall_ms(engine) : engine_now_ms(engine);
    return now < entry->due_ms;
}

static enum tocsin_status run_on_due(void *arg, struct change *change)
{
    struct engine *engine = change->engine;
    (void)arg;
    uint32_t at = engine_entry_of(engine, change->due);
    if (at == ENTRY_NONE)
        return TOCSIN_NONE;
    const struct engine_kind *kind = engine->kinds[engine->index.entries[at].kind];
    struct engine_record record;
    enum tocsin_status status = change_get_ref(change, change->due, &record);
    if (status != TOCSIN_OK)
        return status;
    /* It may have waited for its turn or its doc: somebody was quicker, and then it is armed
     * again when that is settled, or the wall clock was set back. */
    if (engine->saw != SAW_COMMITTED || record.rev != change->due_rev ||
        before_due(engine, &engine->index.entries[at]))
        return TOCSIN_CONFLICT;
    return kind->on_due(kind->service, change, &record);
}

/* Not written, so it is still due: again soon, or as soon as another change of it has been
 * settled. */
void due_failed(struct engine *engine, const struct change *change, enum tocsin_status status)
{
    uint32_t at = engine_entry_of(engine, change->due);
    if (at == ENTRY_NONE)
        return;
    struct entry *entry = &engine->index.entries[at];
    if (entry->rev != change->due_rev || entry->timer.id != 0)
        return; /* a newer version was armed for itself, and may be in somebody's hands */
    if (entry->live != NULL && live_changing(entry->live))
        entry->held = 1;
    else if (before_due(engine, entry))
        due_arm(engine, at);
    else if (status != TOCSIN_DAMAGED)
        due_again(engine, at, engine_now_ms(engine) + DUE_RETRY_MS);
}

void engine_due_again(struct engine *engine, struct engine_ref ref)
{
    uint32_t at = engine_entry_of(engine, ref);
    if (at == ENTRY_NONE || !engine->index.entries[at].fired)
        return;
    struct change due = {.due = ref, .due_rev = engine->index.entries[at].rev};
    due_failed(engine, &due, TOCSIN_NO_MEMORY);
}

static void fire(struct engine *engine, uint32_t at)
{
    struct engine_head head;
    engine_fill_head(engine, at, &head);
    const struct engine_kind *kind = engine->kinds[engine->index.entries[at].kind];
    engine->stats.fired++;
    engine->index.entries[at].fired = 1;
    if (kind->on_due_head != NULL && kind->on_due_head(kind->service, &head))
        return;
    if (kind->on_due == NULL)
        return;
    change_start(
        engine,
        &(struct change){.urgent = true, .fn = run_on_due, .due = head.ref, .due_rev = head.rev});
}

static void entry_due(struct engine *engine, uint32_t at)
{
    struct entry *entry = &engine->index.entries[at];
    bool early = entry->early;
    entry->timer.id = 0;
    entry->early = 0;
    if (early && before_due(engine, entry)) {
        arm_at(engine, at, due_on_line(engine, entry->due_ms, (enum store_basis)entry->basis));
        engine_warm(engine, (struct engine_ref){at, entry->born});
        return;
    }
    if (before_due(engine, entry)) {
        int64_t line = due_on_line(engine, entry->due_ms, (enum store_basis)entry->basis);
        int64_t next = engine_now_ms(engine) + 1;
        arm_at(engine, at, line > next ? line : next);
        return;
    }
    if (entry->live != NULL && live_changing(entry->live)) {
        entry->held = 1;
        return;
    }
    fire(engine, at);
}

static void timer_due(void *arg, const struct tocsin_due *due)
{
    struct engine *engine = arg;
    if ((due->cookie & 1) == 0) {
        entry_due(engine, (uint32_t)(due->cookie >> 1));
        return;
    }
    struct engine_timer *timer = tocsin_cookie_pointer(due->cookie & ~UINT64_C(1));
    timer->handle.id = 0;
    engine->timer_count--;
    timer->fn(timer->arg);
}

/* ---- the wall clock */

static void arm_wall_anew(struct engine *engine)
{
    engine->stats.steps++;
    engine->armed_skew_ns = skew_ns(engine);
    due_show_skew(engine, engine->armed_skew_ns);
    /* A restart takes the wall clock's difference for the time that passed, so it must not
     * take the step for time: a commit of its own, if there is none. */
    engine->time_unsaved = true;
    engine->rearm_at = 1;
}

/* The two clocks are read one after the other: to be held up in between would look like a step.
 * False: it was, each time. */
static bool read_skew(const struct engine *engine, int64_t *ret_skew_ns)
{
    for (int i = 0; i < SKEW_READS; i++) {
        int64_t before = line_ns(engine);
        int64_t skew = clock_wall(&engine->clock).ns - before;
        if (line_ns(engine) - before < SKEW_READ_MAX_NS) {
            *ret_skew_ns = skew;
            return true;
        }
    }
    return false;
}

/* A clock that is steered goes astray slowly and tells nobody. What is armed long ahead looks
 * again when its doc is read; so only more than that matters. */
static void watch_wall(struct engine *engine)
{
    int64_t skew;
    if (!read_skew(engine, &skew))
        return; /* in the next turn */
    due_show_skew(engine, skew);
    int64_t drift = skew - engine->armed_skew_ns;
    if (drift > SKEW_DRIFT_MAX_MS * MS || drift < -SKEW_DRIFT_MAX_MS * MS)
        arm_wall_anew(engine);
}

void engine_clock_stepped(struct engine *engine)
{
    arm_wall_anew(engine);
}

static void rearm_some(struct engine *engine)
{
    for (int i = 0; engine->rearm_at != 0 && i < REARM_A_TURN; i++) {
        if (engine->rearm_at >= engine->index.end) {
            engine->rearm_at = 0;
            return;
        }
        const struct entry *entry = &engine->index.entries[engine->rearm_at];
        if (entry->used && entry->rev != 0 && entry->basis == STORE_WALL && entry->timer.id != 0)
            due_arm(engine, engine->rearm_at);
        engine->rearm_at++;
    }
}

void due_advance(struct engine *engine)
{
    watch_wall(engine);
    rearm_some(engine);
    int64_t end_ns = clock_elapsed(&engine->clock).ns + TURN_BUDGET_US * INT64_C(1000);
    enum tocsin_status status;
    do {
        int64_t now = engine_now_ms(engine);
        status = tocsin_wheel_advance(engine->wheel, now < 0 ? 0 : (uint64_t)now,
                                      engine->limits.turn_work, timer_due, engine);
    } while (status == TOCSIN_MORE && clock_elapsed(&engine->clock).ns < end_ns);
}

/* ---- volatile timers */

enum tocsin_status engine_timer_arm(struct engine *engine, struct engine_timer *timer,
                                    int64_t due_ms)
{
    uint64_t due = due_ms < 0 ? 0 : (uint64_t)due_ms;
    if (timer->handle.id != 0)
        return tocsin_wheel_rearm(engine->wheel, timer->handle, due);
    if (engine->timer_count >= VOLATILE_TIMERS_MAX)
        return TOCSIN_FULL; /* the rest of the wheel is the records' */
    enum tocsin_status status =
        tocsin_wheel_arm(engine->wheel, due, tocsin_cookie(timer) | 1, &timer->handle);
    engine->timer_count += status == TOCSIN_OK;
    return status;
}

void engine_timer_cancel(struct engine *engine, struct engine_timer *timer)
{
    if (timer->handle.id == 0)
        return;
    (void)tocsin_wheel_cancel(engine->wheel, timer->handle, NULL);
    timer->handle.id = 0;
    engine->timer_count--;
}
