/* SPDX-License-Identifier: MIT */
/* Moving time forward. Every call walks the same three steps until it is up to
 * date or out of work, and can stop between any two timers, because the place
 * where it stopped can be seen from the wheel itself:
 *
 *   1. cascade: while a level above the first has timers in the slot that now is
 *      in, they move down;
 *   2. take: what is ready, and then what is in the first level's slot that now is
 *      in, is due;
 *   3. turn: to the next tick at which an occupied slot comes up, on any level,
 *      however far that is; when the slot has few timers, straight to the first of
 *      them, so that lonely timers do not wander down level by level.
 */
#include "wheel/core.h"

uint32_t bag_take_some(struct tocsin_wheel *wheel, struct place place, uint32_t room,
                       uint32_t ret[CHUNK_ENTRIES])
{
    uint32_t last = wheel->bags[place.bag];
    assert(last != BAG_EMPTY && room > 0);
    const uint32_t *words = &wheel->arena[last / CHUNK_WORDS * (size_t)CHUNK_WORDS];
    uint32_t held = last % CHUNK_WORDS - CHUNK_HEAD + 1;
    uint32_t count = held < room ? held : room;
    uint32_t before = words[0];
    if (before != 0 && (count == held || held == CHUNK_ENTRIES)) {
        /* Full, as every chunk but the last. Its own predecessor is asked for too,
         * so that reading its indexes does not wait next time. */
        const uint32_t *next = &wheel->arena[(size_t)before * CHUNK_WORDS];
        __builtin_prefetch(&wheel->arena[(size_t)next[0] * CHUNK_WORDS]);
        for (uint32_t i = CHUNK_HEAD; i < CHUNK_WORDS; i++)
            __builtin_prefetch(&wheel->nodes[next[i]], 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = words[last % CHUNK_WORDS - i];
        __builtin_prefetch(&wheel->nodes[ret[i]], 1);
    }
    bag_drop_last(wheel, place, count);
    return count;
}

static uint32_t bag_take_one(struct tocsin_wheel *wheel, struct place place)
{
    enum { AHEAD = 6 };
    uint32_t last = wheel->bags[place.bag];
    if (last % CHUNK_WORDS >= CHUNK_HEAD + AHEAD)
        __builtin_prefetch(&wheel->nodes[wheel->arena[last - AHEAD]], 1);
    uint32_t index = wheel->arena[last];
    bag_drop_last(wheel, place, 1);
    return index;
}

static struct place place_current(const struct tocsin_wheel *wheel, uint32_t level)
{
    return (struct place){level, level_current_bag(&wheel->levels[level])};
}

/* Move some timers of a level's current slot to where they belong now. */
static void cascade_some(struct tocsin_wheel *wheel, uint32_t level, size_t *left)
{
    uint32_t indexes[CHUNK_ENTRIES];
    uint32_t room = *left < CHUNK_ENTRIES ? (uint32_t)*left : CHUNK_ENTRIES;
    uint32_t count = bag_take_some(wheel, place_current(wheel, level), room, indexes);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t tick = tick_of_due(wheel, wheel->nodes[indexes[i]].due);
        bag_put(wheel, place_for(wheel, tick), indexes[i]);
    }
    wheel->moved += count;
    *left -= count;
}

static void turn_to(struct tocsin_wheel *wheel, uint64_t tick)
{
    assert(tick > wheel->tick && wheel->to_cascade == 0);
    wheel->tick = tick;
    wheel->short_tick = wheel->bytes ? tick : UINT64_MAX;
    for (uint32_t i = 0; i < wheel->level_count; i++) {
        struct level *level = &wheel->levels[i];
        uint64_t number = level_number(level, tick);
        if (number == level->current)
            break; /* so it is on all levels above */
        level->current = number;
        if (i > 0 && !bag_is_empty(wheel, level_current_bag(level)))
            wheel->to_cascade |= 1u << i;
    }
}

/* The first occupied slot of a level after the one that now is in, as its tick. */
static bool level_next_tick(const struct level *level, uint64_t *ret_tick)
{
    uint32_t place = level_place(level, level->current);
    uint32_t next = occupancy_next(&level->occupied, place + 1);
    uint32_t ahead = next - place;
    if (next == level->slots) {
        next = occupancy_next(&level->occupied, 0);
        if (next >= place)
            return false;
        ahead = level->slots - place + next;
    }
    *ret_tick = (level->current + ahead) * level->ticks;
    return true;
}

bool wheel_next_event(const struct tocsin_wheel *wheel, struct event *ret_event)
{
    struct event event = {.tick = UINT64_MAX, .other = UINT64_MAX};
    bool found = false;
    uint32_t in_use = wheel->levels_in_use & ((1u << wheel->level_count) - 1);
    for (; in_use != 0; in_use &= in_use - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(in_use);
        uint64_t tick;
        if (!level_next_tick(&wheel->levels[i], &tick))
            continue;
        if (!found || tick < event.tick)
            event = (struct event){.tick = tick, .other = event.tick, .level = i};
        else if (tick < event.other)
            event.other = tick;
        found = true;
        /* Before the slot of the level above ends, nothing comes up there or higher. */
        const struct level *above = &wheel->levels[i + 1];
        if (i + 1 < wheel->level_count && level_number(above, event.tick) == above->current)
            break;
    }
    *ret_event = event;
    return found;
}

uint64_t wheel_event_tick(const struct tocsin_wheel *wheel, const struct event *event)
{
    const struct level *level = &wheel->levels[event->level];
    uint32_t bag = level->first + level_place(level, level_number(level, event->tick));
    if (event->level == 0 || wheel->bag_chunks[bag] > 1)
        return event->tick;
    const uint32_t *words = &wheel->arena[wheel->bags[bag] / CHUNK_WORDS * (size_t)CHUNK_WORDS];
    uint64_t first = event->other;
    for (uint32_t i = CHUNK_HEAD; i <= wheel->bags[bag] % CHUNK_WORDS; i++) {
        uint64_t tick = tick_of_due(wheel, wheel->nodes[words[i]].due);
        first = tick < first ? tick : first;
    }
    return first;
}

/* What is ready, or what is in the first level's current slot. False: it is empty. */
static bool place_due(const struct tocsin_wheel *wheel, uint32_t level, struct place *ret_place)
{
    *ret_place = place_current(wheel, level);
    return !bag_is_empty(wheel, ret_place->bag);
}

/* Bring the wheel to where something is due in the first level's current slot. False:
 * nothing more is due by target, or no work is left to do it with. */
static bool find_on_time(struct tocsin_wheel *wheel, uint64_t target, size_t *left,
                         struct place *ret_place)
{
    for (;;) {
        while (wheel->to_cascade != 0) {
            uint32_t level = (uint32_t)__builtin_ctz(wheel->to_cascade);
            uint32_t bag = level_current_bag(&wheel->levels[level]);
            while (!bag_is_empty(wheel, bag)) {
                if (*left == 0)
                    return false;
                cascade_some(wheel, level, left);
            }
            wheel->to_cascade &= ~(1u << level);
        }
        if (place_due(wheel, 0, ret_place))
            return *left > 0;
        if (wheel->tick >= target)
            return false;
        struct event event;
        if (!wheel_next_event(wheel, &event) || event.tick > target) {
            turn_to(wheel, target);
            return false;
        }
        if (*left == 0)
            return false;
        (*left)--;
        uint64_t tick = wheel_event_tick(wheel, &event);
        turn_to(wheel, tick < target ? tick : target);
    }
}

static bool is_behind(const struct tocsin_wheel *wheel, uint64_t target)
{
    struct place place;
    struct event event;
    return wheel->to_cascade != 0 || place_due(wheel, 0, &place) ||
           (wheel->tick < target && wheel_next_event(wheel, &event) && event.tick <= target);
}

/* A call: what it may still do, and where it goes. */
struct call {
    uint64_t target;
    size_t left;
    bool admitted; /* what was late when it began is ready */
};

/* Late and ready change places, once a call, when nothing is ready any more. So what
 * a callback arms as already due waits, mostly, for the next call. */
static void call_admit_late(struct tocsin_wheel *wheel, struct call *call)
{
    if (call->admitted || (wheel->levels_in_use >> wheel->ready & 1) != 0)
        return;
    uint32_t late = wheel->late;
    wheel->late = wheel->ready;
    wheel->ready = late;
    call->admitted = true;
}

static enum tocsin_status call_begin(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                     struct call *ret_call)
{
    if (wheel->in_call)
        return TOCSIN_BUSY;
    wheel->in_call = true;
    if (now > wheel->now)
        wheel->now = now;
    *ret_call = (struct call){
        .target = tick_of_now(wheel, wheel->now),
        .left = max_work != 0 ? max_work : SIZE_MAX,
    };
    call_admit_late(wheel, ret_call);
    return TOCSIN_OK;
}

/* The bag to take from next. False: the call is done. */
static bool call_find_due(struct tocsin_wheel *wheel, struct call *call, struct place *ret_place)
{
    if (wheel->ready_last && find_on_time(wheel, call->target, &call->left, ret_place))
        return true;
    call_admit_late(wheel, call);
    if (place_due(wheel, wheel->ready, ret_place))
        return call->left > 0;
    return find_on_time(wheel, call->target, &call->left, ret_place);
}

static enum tocsin_status call_end(struct tocsin_wheel *wheel, const struct call *call)
{
    struct place place;
    bool more = place_due(wheel, wheel->ready, &place) ||
                (!call->admitted && place_due(wheel, wheel->late, &place)) ||
                is_behind(wheel, call->target);
    wheel->in_call = false;
    wheel->ready_last = more && !wheel->ready_last;
    return more ? TOCSIN_MORE : TOCSIN_OK;
}

/* What is known of a due timer, after which its node is free for the next. */
static struct tocsin_due node_finish(struct tocsin_wheel *wheel, uint32_t index)
{
    const struct node *node = &wheel->nodes[index];
    assert(node->due <= wheel->now); /* never early */
    struct tocsin_due due = {node_handle(wheel, index), node->due, node->cookie};
    node_free(wheel, index);
    wheel->fired++;
    return due;
}

enum tocsin_status tocsin_wheel_advance(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                        void (*fn)(void *arg, const struct tocsin_due *due),
                                        void *arg)
{
    struct call call;
    enum tocsin_status status = call_begin(wheel, now, max_work, &call);
    if (status != TOCSIN_OK)
        return status;
    struct place place;
    while (call_find_due(wheel, &call, &place)) {
        /* One at a time: fn may cancel any that are left in the bag. */
        for (; call.left > 0 && !bag_is_empty(wheel, place.bag); call.left--) {
            struct tocsin_due due = node_finish(wheel, bag_take_one(wheel, place));
            fn(arg, &due);
        }
    }
    return call_end(wheel, &call);
}

enum tocsin_status tocsin_wheel_take(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                     struct tocsin_due *ret_due, size_t room, size_t *ret_count)
{
    struct call call;
    enum tocsin_status status = call_begin(wheel, now, max_work, &call);
    if (status != TOCSIN_OK)
        return status;
    size_t taken = 0;
    struct place place;
    while (taken < room && call_find_due(wheel, &call, &place)) {
        uint32_t indexes[CHUNK_ENTRIES];
        size_t limit = room - taken < call.left ? room - taken : call.left;
        uint32_t count = bag_take_some(
            wheel, place, limit < CHUNK_ENTRIES ? (uint32_t)limit : CHUNK_ENTRIES, indexes);
        for (uint32_t i = 0; i < count; i++)
            ret_due[taken++] = node_finish(wheel, indexes[i]);
        call.left -= count;
    }
    *ret_count = taken;
    return call_end(wheel, &call);
}
