/* SPDX-License-Identifier: MIT */
/* wheel_model.h - does the wheel do what a sorted array would?
 *
 * Carries out a stream of choices on a wheel and, the obvious way, on an array
 * sorted by due time, and compares after every step. The choices come from a
 * random number generator (the unit test) or from a fuzzer's bytes. Include it
 * after defining MODEL_FAIL(text), which must not return.
 *
 * Shown here, over all geometries: W-01, W-02, W-04, W-13, W-14, W-16, W-21.
 */
#ifndef TEST_WHEEL_MODEL_H
#define TEST_WHEEL_MODEL_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tocsin/wheel.h>

#define MODEL_REQUIRE(condition) ((condition) ? (void)0 : model_failed(model, #condition, __LINE__))

enum { MODEL_PENDING_MAX = 3000, MODEL_STALE_MAX = 64, MODEL_TAKE_MAX = 64 };

/* Where the next choice comes from. */
struct model_choices {
    uint64_t (*next)(void *arg); /* 64 random bits */
    void *arg;
    bool ended; /* set by next when there is nothing left to choose from */
};

struct model_entry {
    uint64_t due;
    uint64_t cookie; /* unique per arming */
    struct tocsin_timer timer;
    bool in_call; /* armed by a callback of the running call */
};

struct model {
    struct model_choices *choices;
    struct tocsin_wheel *wheel;
    uint64_t base;
    uint64_t now;
    struct model_entry pending[MODEL_PENDING_MAX]; /* sorted by due */
    size_t count;
    struct tocsin_timer stale[MODEL_STALE_MAX];
    size_t stale_count;
    uint64_t next_cookie;
    uint64_t fired;
    uint64_t steps;
    bool calling;
    bool ordered; /* what comes out of the running call must come by due tick */
    uint64_t last_tick;
    char geometry[400];
};

static void model_failed(const struct model *model, const char *condition, int line)
{
    static char text[1000];
    (void)snprintf(text, sizeof text,
                   "wheel_model.h:%d: not so: %s (step %" PRIu64 ", now %" PRIu64
                   ", %zu pending, geometry %s)",
                   line, condition, model->steps, model->now, model->count, model->geometry);
    MODEL_FAIL(text);
}

static uint64_t model_choose(struct model *model, uint64_t below)
{
    uint64_t bits = model->choices->next(model->choices->arg);
    return below == 0 ? bits : bits % below;
}

/* The promise in plain arithmetic: due, rounded up to the base tick, is not past
 * now; and at the end of time everything is due. */
static bool model_is_due(const struct model *model, uint64_t due)
{
    __extension__ typedef unsigned __int128 wide;
    wide rounded = ((wide)due + model->base - 1) / model->base * model->base;
    return rounded <= model->now || model->now == UINT64_MAX;
}

static size_t model_lower_bound(const struct model *model, uint64_t due)
{
    size_t low = 0;
    size_t high = model->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->pending[middle].due < due)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void model_insert(struct model *model, struct model_entry entry)
{
    size_t at = model_lower_bound(model, entry.due);
    memmove(&model->pending[at + 1], &model->pending[at],
            (model->count - at) * sizeof model->pending[0]);
    model->pending[at] = entry;
    model->count++;
}

static struct model_entry model_remove(struct model *model, size_t at)
{
    struct model_entry entry = model->pending[at];
    model->count--;
    memmove(&model->pending[at], &model->pending[at + 1],
            (model->count - at) * sizeof model->pending[0]);
    return entry;
}

static void model_remember_stale(struct model *model, struct tocsin_timer timer)
{
    if (model->stale_count < MODEL_STALE_MAX)
        model->stale[model->stale_count++] = timer;
    else
        model->stale[model_choose(model, MODEL_STALE_MAX)] = timer;
}

/* Delays of every size, and at times of no sense at all. */
static uint64_t model_choose_due(struct model *model)
{
    uint64_t bits = model_choose(model, 0);
    uint64_t delay;
    switch (model_choose(model, 8)) {
    case 0:
        delay = 0;
        break;
    case 1:
        return model->now - bits % 5 * (bits % 7 < model->now); /* already past, or now */
    case 2:
        delay = bits % (2 * model->base + 1);
        break;
    case 3:
        delay = bits % (100 * model->base);
        break;
    case 4:
        return bits; /* anywhere */
    default:
        delay = bits >> model_choose(model, 64);
    }
    return model->now + delay < model->now ? UINT64_MAX : model->now + delay;
}

static void model_arm(struct model *model)
{
    if (model->count == MODEL_PENDING_MAX)
        return;
    struct model_entry entry = {
        .due = model_choose_due(model),
        .cookie = model->next_cookie++,
        .in_call = model->calling,
    };
    if (model_choose(model, 4) == 0) {
        uint64_t delay = entry.due > model->now ? entry.due - model->now : 0;
        entry.due = model->now + delay;
        MODEL_REQUIRE(tocsin_wheel_arm_after(model->wheel, delay, entry.cookie, &entry.timer) ==
                      TOCSIN_OK);
    } else {
        MODEL_REQUIRE(tocsin_wheel_arm(model->wheel, entry.due, entry.cookie, &entry.timer) ==
                      TOCSIN_OK);
    }
    MODEL_REQUIRE(entry.timer.id != 0);
    model_insert(model, entry);
}

static void model_cancel(struct model *model)
{
    if (model->count == 0)
        return;
    struct model_entry entry = model_remove(model, model_choose(model, model->count));
    uint64_t cookie = ~entry.cookie;
    MODEL_REQUIRE(tocsin_wheel_cancel(model->wheel, entry.timer, &cookie) == TOCSIN_OK);
    MODEL_REQUIRE(cookie == entry.cookie);
    model_remember_stale(model, entry.timer);
}

static void model_rearm(struct model *model)
{
    if (model->count == 0)
        return;
    struct model_entry entry = model_remove(model, model_choose(model, model->count));
    entry.due = model_choose_due(model);
    entry.in_call = model->calling;
    MODEL_REQUIRE(tocsin_wheel_rearm(model->wheel, entry.timer, entry.due) == TOCSIN_OK);
    model_insert(model, entry);
}

/* A handle that was good once, and one that is made up. */
static void model_use_stale(struct model *model)
{
    if (model->stale_count == 0)
        return;
    struct tocsin_timer timer = model->stale[model_choose(model, model->stale_count)];
    if (model_choose(model, 8) == 0)
        timer.id = 0;
    uint64_t cookie = 12345;
    struct tocsin_due due = {.cookie = 12345};
    MODEL_REQUIRE(tocsin_wheel_cancel(model->wheel, timer, &cookie) == TOCSIN_STALE);
    MODEL_REQUIRE(tocsin_wheel_rearm(model->wheel, timer, model->now + 1) == TOCSIN_STALE);
    MODEL_REQUIRE(tocsin_wheel_get(model->wheel, timer, &due) == TOCSIN_STALE);
    MODEL_REQUIRE(cookie == 12345 && due.cookie == 12345);
}

static void model_get(struct model *model)
{
    if (model->count == 0)
        return;
    const struct model_entry *entry = &model->pending[model_choose(model, model->count)];
    struct tocsin_due due;
    MODEL_REQUIRE(tocsin_wheel_get(model->wheel, entry->timer, &due) == TOCSIN_OK);
    MODEL_REQUIRE(due.due == entry->due && due.cookie == entry->cookie &&
                  due.timer.id == entry->timer.id);
}

/* A timer came out: it must be pending here, and due. */
static void model_came_out(struct model *model, const struct tocsin_due *due)
{
    size_t at = model_lower_bound(model, due->due);
    while (at < model->count && model->pending[at].due == due->due &&
           model->pending[at].cookie != due->cookie)
        at++;
    MODEL_REQUIRE(at < model->count && model->pending[at].due == due->due &&
                  model->pending[at].cookie == due->cookie);
    MODEL_REQUIRE(model->pending[at].timer.id == due->timer.id);
    MODEL_REQUIRE(model_is_due(model, due->due)); /* W-13: never early */
    uint64_t tick = due->due / model->base + (due->due % model->base != 0);
    if (model->ordered && !model->pending[at].in_call) {
        MODEL_REQUIRE(tick >= model->last_tick);
        model->last_tick = tick;
    }
    model_remember_stale(model, model_remove(model, at).timer);
    model->fired++;
}

static void model_callback(void *arg, const struct tocsin_due *due)
{
    struct model *model = arg;
    model_came_out(model, due);
    struct tocsin_due untouched;
    MODEL_REQUIRE(tocsin_wheel_get(model->wheel, due->timer, &untouched) == TOCSIN_STALE);
    switch (model_choose(model, 12)) { /* W-21 */
    case 0:
    case 1:
        model_arm(model);
        break;
    case 2:
        model_cancel(model);
        break;
    case 3:
        model_rearm(model);
        break;
    case 4:
        model_use_stale(model);
        break;
    case 5:
        tocsin_wheel_trim(model->wheel);
        MODEL_REQUIRE(tocsin_wheel_advance(model->wheel, model->now, 0, model_callback, model) ==
                      TOCSIN_BUSY);
        break;
    default:
        break;
    }
}

/* After a call that said it is up to date: nothing that was due before it is left. */
static void model_require_up_to_date(struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model_is_due(model, model->pending[i].due))
            MODEL_REQUIRE(model->pending[i].in_call);
        model->pending[i].in_call = false;
    }
}

static void model_forget_in_call(struct model *model)
{
    for (size_t i = 0; i < model->count; i++)
        model->pending[i].in_call = false;
}

/* Time goes on: not at all, a little, to the next due time, or far. */
static uint64_t model_choose_now(struct model *model)
{
    uint64_t bits = model_choose(model, 0);
    uint64_t by;
    switch (model_choose(model, 10)) {
    case 0:
        by = 0;
        break;
    case 1:
        return model->now - (model->now > 10 ? bits % 10 : 0); /* backwards: ignored */
    case 2:
    case 3:
    case 4:
        by = bits % (3 * model->base + 1);
        break;
    case 5:
        by = bits % (1000 * model->base);
        break;
    case 6:
        by = model->count > 0 && model->pending[0].due > model->now
                 ? model->pending[0].due - model->now + model->base - 1
                 : 0;
        break;
    case 7: {
        uint64_t at = model->now;
        (void)tocsin_wheel_wake(model->wheel, &at);
        return at;
    }
    default:
        by = bits >> (20 + model_choose(model, 44));
    }
    return model->now + by < model->now ? UINT64_MAX : model->now + by;
}

/* Late ones and those of a callback may come out of turn, the rest may not. */
static void model_begin(struct model *model, uint64_t now)
{
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(model->wheel, &stats);
    model->ordered = stats.late == 0;
    model->last_tick = 0;
    model->calling = true;
    if (now > model->now)
        model->now = now;
}

static void model_advance(struct model *model)
{
    uint64_t now = model_choose_now(model);
    size_t work = model_choose(model, 3) == 0 ? 1 + model_choose(model, 40) : 0;
    uint64_t before = model->fired;
    model_begin(model, now);
    enum tocsin_status status =
        tocsin_wheel_advance(model->wheel, now, work, model_callback, model);
    model->calling = false;
    MODEL_REQUIRE(status == TOCSIN_OK || (status == TOCSIN_MORE && work > 0));
    MODEL_REQUIRE(work == 0 || model->fired - before <= work);
    if (status == TOCSIN_OK)
        model_require_up_to_date(model);
    else
        model_forget_in_call(model);
}

static void model_take(struct model *model)
{
    struct tocsin_due due[MODEL_TAKE_MAX];
    uint64_t now = model_choose_now(model);
    size_t work = model_choose(model, 3) == 0 ? 1 + model_choose(model, 40) : 0;
    size_t room = 1 + model_choose(model, MODEL_TAKE_MAX);
    enum tocsin_status status;
    unsigned calls = 0;
    do {
        size_t count = room + 1;
        model_begin(model, now);
        status = tocsin_wheel_take(model->wheel, now, work, due, room, &count);
        model->calling = false;
        MODEL_REQUIRE(status == TOCSIN_OK || status == TOCSIN_MORE);
        MODEL_REQUIRE(count <= room && (work == 0 || count <= work));
        MODEL_REQUIRE(status == TOCSIN_OK || work > 0 || count == room);
        for (size_t i = 0; i < count; i++)
            model_came_out(model, &due[i]);
    } while (status == TOCSIN_MORE && ++calls < 20);
    if (status == TOCSIN_OK)
        model_require_up_to_date(model);
}

static void model_compare_times(struct model *model)
{
    uint64_t wake = 1;
    uint64_t next = 1;
    bool pending = model->count > 0;
    MODEL_REQUIRE(tocsin_wheel_count(model->wheel) == model->count);
    MODEL_REQUIRE(tocsin_wheel_now(model->wheel) == model->now);
    MODEL_REQUIRE(tocsin_wheel_wake(model->wheel, &wake) == pending);
    MODEL_REQUIRE(tocsin_wheel_next_due(model->wheel, &next) == pending);
    if (!pending) {
        MODEL_REQUIRE(wake == 1 && next == 1);
        return;
    }
    uint64_t first = model->pending[0].due;
    MODEL_REQUIRE(next == first);
    MODEL_REQUIRE(wake >= model->now);
    uint64_t over = first % model->base;
    uint64_t rounded = over == 0 ? first : first - over + model->base;
    if (rounded < first)
        rounded = UINT64_MAX;
    MODEL_REQUIRE(wake <= (rounded > model->now ? rounded : model->now)); /* W-16 */
}

static bool model_seen(void *arg, const struct tocsin_due *due)
{
    struct model *model = arg;
    size_t at = model_lower_bound(model, due->due);
    while (at < model->count && model->pending[at].cookie != due->cookie)
        at++;
    MODEL_REQUIRE(at < model->count && model->pending[at].due == due->due);
    model->last_tick++;
    return true;
}

static void model_check(struct model *model)
{
    struct tocsin_why why = {""};
    if (tocsin_wheel_check(model->wheel, &why) != TOCSIN_OK)
        model_failed(model, why.text, __LINE__);
    model->last_tick = 0;
    tocsin_wheel_walk(model->wheel, model_seen, model);
    MODEL_REQUIRE(model->last_tick == model->count);
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(model->wheel, &stats);
    size_t in_levels = stats.late;
    struct tocsin_wheel_level_stats level;
    for (size_t i = 0; tocsin_wheel_describe_level(model->wheel, i, &level); i++) {
        static uint32_t counts[TOCSIN_WHEEL_SLOTS_MAX];
        size_t in_slots = 0;
        MODEL_REQUIRE(tocsin_wheel_slot_counts(model->wheel, i, counts));
        for (uint32_t slot = 0; slot < level.slots; slot++)
            in_slots += counts[slot];
        MODEL_REQUIRE(in_slots == level.pending);
        in_levels += level.pending;
    }
    MODEL_REQUIRE(in_levels == model->count && stats.pending == model->count);
    MODEL_REQUIRE(stats.fired == model->fired);
}

/* Time and again nothing is left, and time goes on: it may pass over what was cancelled. */
static void model_idle(struct model *model)
{
    for (uint64_t rounds = 1 + model_choose(model, 32); rounds > 0; rounds--) {
        model_arm(model);
        model_arm(model);
        while (model->count > 0)
            model_cancel(model);
        model_take(model);
    }
}

static void model_step(struct model *model)
{
    uint64_t choice = model_choose(model, 64);
    model->steps++;
    if (choice < 26)
        model_arm(model);
    else if (choice < 36)
        model_cancel(model);
    else if (choice < 44)
        model_rearm(model);
    else if (choice < 47)
        model_use_stale(model);
    else if (choice < 49)
        model_get(model);
    else if (choice < 56)
        model_advance(model);
    else if (choice < 63)
        model_take(model);
    else if (model_choose(model, 2) == 0)
        tocsin_wheel_trim(model->wheel);
    else
        model_idle(model);
    if (model_choose(model, 2) == 0) /* who asks may do what was put off */
        model_compare_times(model);
}

/* A valid geometry: a preset, or any other. */
static size_t model_choose_geometry(struct model *model, struct tocsin_wheel_level *ret_levels)
{
    static const char *const names[] = {"fine", "default", "game", "order"};
    size_t count;
    uint64_t choice = model_choose(model, 8);
    if (choice < 4) {
        const struct tocsin_wheel_level *preset = tocsin_wheel_preset(names[choice], &count);
        memcpy(ret_levels, preset, count * sizeof *preset);
        return count;
    }
    count = 1 + model_choose(model, 6);
    ret_levels[0].tick = 1 + (model_choose(model, 0) >> (44 + model_choose(model, 20)));
    for (size_t i = 0; i < count; i++) {
        ret_levels[i].slots = 1 + (uint32_t)(model_choose(model, 300) >> model_choose(model, 8));
        if (i > 0)
            ret_levels[i].tick =
                ret_levels[i - 1].tick * (1 + model_choose(model, ret_levels[i - 1].slots));
    }
    return count;
}

static void model_begin_wheel(struct model *model)
{
    struct tocsin_wheel_level levels[TOCSIN_WHEEL_LEVELS_MAX];
    size_t count = model_choose_geometry(model, levels);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(model->geometry + used, sizeof model->geometry - used,
                                 "%" PRIu64 "x%" PRIu32 " ", levels[i].tick, levels[i].slots);
    model->base = levels[0].tick;
    model->now = model_choose(model, 0) >> model_choose(model, 64);
    struct tocsin_why why = {""};
    struct tocsin_wheel_config config = {
        .levels = levels,
        .level_count = count,
        .now = model->now,
        .max_timers = MODEL_PENDING_MAX,
    };
    if (tocsin_wheel_create(&config, &model->wheel, &why) != TOCSIN_OK)
        model_failed(model, why.text, __LINE__);
}

/* One life of one wheel, to the end of time. Answers how many timers fired. */
static uint64_t model_run(struct model *model, struct model_choices *choices, uint64_t steps)
{
    memset(model, 0, sizeof *model);
    model->choices = choices;
    model_begin_wheel(model);
    while (model->steps < steps && !choices->ended) {
        model_step(model);
        if (model->steps % 64 == 0)
            model_check(model);
    }
    struct tocsin_due due[MODEL_TAKE_MAX];
    size_t count;
    enum tocsin_status status;
    do {
        model_begin(model, UINT64_MAX);
        status = tocsin_wheel_take(model->wheel, UINT64_MAX, 0, due, MODEL_TAKE_MAX, &count);
        for (size_t i = 0; i < count; i++)
            model_came_out(model, &due[i]);
    } while (status == TOCSIN_MORE);
    MODEL_REQUIRE(status == TOCSIN_OK && model->count == 0);
    model_check(model);
    tocsin_wheel_destroy(model->wheel);
    return model->fired;
}

#endif
