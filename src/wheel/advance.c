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

/* As many at a time as their nodes are sure to stay in the nearest cache. */
enum { BATCH = 32 };

/* From then on the highest level of "fine" has slots that never come up again. */
#define LAST_TURN (UINT64_C(1) << 56)

/* A list's first and last timer out, or only the first if there is no more room. at is
 * where the list begins and ends, and zero when nothing is left. The nodes that come
 * next are asked for. */
static uint32_t list_take_ends(const struct tocsin_wheel *wheel, struct link *at, uint32_t room,
                               uint32_t ret[2])
{
    const struct link *links = wheel->links;
    uint32_t last = at->prev;
    ret[0] = at->next;
    if (ret[0] == last) {
        *at = (struct link){0, 0};
        return 1;
    }
    at->next = links[ret[0]].next;
    __builtin_prefetch(&links[at->next], 1);
    if (room == 1)
        return 1;
    ret[1] = last;
    if (at->next == last) {
        *at = (struct link){0, 0};
        return 2;
    }
    at->prev = links[last].prev;
    __builtin_prefetch(&links[at->prev], 1);
    return 2;
}

/* Take up to room timers out of a slot, from both ends of its lists in turn. */
static uint32_t slot_take_some(struct tocsin_wheel *wheel, struct place place, uint32_t room,
                               uint32_t ret[BATCH])
{
    struct link *links = wheel->links;
    uint32_t head = slot_heads(wheel, place);
    struct link at[SUBLISTS];
    for (uint32_t i = 0; i < SUBLISTS; i++)
        at[i] = links[head + i];
    uint32_t count = 0;
    for (uint32_t before = UINT32_MAX; count != before && count < room;) {
        before = count;
        for (uint32_t i = 0; i < SUBLISTS && count < room; i++) {
            if (at[i].next != 0)
                count += list_take_ends(wheel, &at[i], room - count, &ret[count]);
        }
    }
    uint32_t emptied = 0;
    for (uint32_t i = 0; i < SUBLISTS; i++) {
        links[head + i] = at[i];
        if (at[i].next != 0) {
            links[at[i].next].prev = head + i;
            links[at[i].prev].next = head + i;
        }
        emptied |= at[i].next == 0;
    }
    if (emptied)
        slot_emptied(wheel, place);
    return count;
}

/* Take one timer out of a slot with a single list, which is not empty. From its ends in
 * turn, so that there are two ways along which the misses overlap. */
static uint32_t slot_take_one(struct tocsin_wheel *wheel, struct place place, size_t turn)
{
    struct link *links = wheel->links;
    uint32_t head = slot_heads(wheel, place);
    struct link ends = links[head];
    if (ends.next == ends.prev) {
        links[head] = links[ends.next] = (struct link){0, 0};
        slot_emptied(wheel, place);
        return node_index(wheel, ends.next);
    }
    uint32_t taken = turn % 2 != 0 ? ends.next : ends.prev;
    link_out(links, links[taken]);
    links[taken] = (struct link){0, 0};
    return node_index(wheel, taken);
}

/* Move some timers of a level's current slot to where they belong now. */
static void cascade_some(struct tocsin_wheel *wheel, uint32_t level, size_t *left)
{
    uint32_t taken[BATCH];
    uint32_t room = *left < BATCH ? (uint32_t)*left : BATCH;
    uint32_t count = slot_take_some(wheel, place_current(wheel, level), room, taken);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = node_index(wheel, taken[i]);
        struct node *node = &wheel->nodes[index];
        if (!node_is_pending(node)) {
            node->link = (struct link){0, 0};
            continue;
        }
        slot_put(wheel, place_for(wheel, tick_of_due(wheel, node->due)), index);
        wheel->moved++;
    }
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
        if (i > 0 && !slot_is_empty(wheel, place_current(wheel, i)))
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
    enum { FEW = 16 };
    if (event->level == 0)
        return event->tick;
    const struct level *level = &wheel->levels[event->level];
    struct place place = {event->level, level_place(level, level_number(level, event->tick))};
    uint64_t first; /* at the latest the slot's last tick: what stays in it may be due after that */
    if (__builtin_add_overflow(event->tick, level->ticks - 1, &first))
        first = UINT64_MAX;
    first = first < event->other ? first : event->other;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < SUBLISTS; i++) {
        uint32_t head = slot_heads(wheel, place) + i;
        uint32_t at = wheel->links[head].next;
        for (; at != 0 && at != head; at = wheel->links[at].next) {
            if (++seen > FEW)
                return event->tick;
            const struct node *node = &wheel->nodes[node_index(wheel, at)];
            uint64_t tick = tick_of_due(wheel, node->due);
            if (node_is_pending(node) && tick < first)
                first = tick;
        }
    }
    return first;
}

/* The usual turn, in "fine": to the next tick of the first level at which there is anything, where the
 * slots of all other levels stay the same. False: it is not that easy. */
static bool turn_within_a_byte(struct tocsin_wheel *wheel, uint64_t target, size_t *left)
{
    struct level *first = &wheel->levels[0];
    if (!wheel->bytes || *left == 0)
        return false;
    uint32_t next = occupancy_next(&first->occupied, (uint8_t)wheel->tick + 1u);
    uint64_t tick = (wheel->tick & ~UINT64_C(255)) + next;
    if (next == first->slots || tick > target)
        return false;
    (*left)--;
    wheel->tick = wheel->short_tick = first->current = tick;
    return true;
}

/* What is ready, or what is in the first level's current slot. False: it is empty. */
static bool place_due(const struct tocsin_wheel *wheel, uint32_t level, struct place *ret_place)
{
    *ret_place = place_current(wheel, level);
    return !slot_is_empty(wheel, *ret_place);
}

/* Bring the wheel to where something is due in the first level's current slot. False:
 * nothing more is due by target, or no work is left to do it with. */
static bool find_on_time(struct tocsin_wheel *wheel, uint64_t target, size_t *left,
                         struct place *ret_place)
{
    for (;;) {
        wheel_settle(wheel);
        while (wheel->to_cascade != 0) {
            uint32_t level = (uint32_t)__builtin_ctz(wheel->to_cascade);
            while (!slot_is_empty(wheel, place_current(wheel, level))) {
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
        if (tocsin_wheel_count(wheel) == 0 && target < LAST_TURN) {
            turn_to(wheel, target); /* past whatever was cancelled: it may stay for another turn */
            continue;
        }
        if (turn_within_a_byte(wheel, target, left))
            continue;
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

static bool is_behind(struct tocsin_wheel *wheel, uint64_t target)
{
    wheel_settle(wheel);
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

/* The slot to take from next. False: the call is done. */
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

/* A timer taken out where things are due: is it? One that was cancelled, or armed anew for
 * later, has only stayed there. */
static bool node_fires(struct tocsin_wheel *wheel, uint32_t index)
{
    const struct node *node = &wheel->nodes[index];
    if (!node_is_pending(node))
        return false;
    uint64_t tick = tick_of_due(wheel, node->due);
    if (tick <= wheel->tick)
        return true;
    slot_put(wheel, place_for(wheel, tick), index);
    wheel->moved++;
    return false;
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
        /* One at a time: fn may cancel any that are left in the slot. */
        for (; call.left > 0 && !slot_is_empty(wheel, place); call.left--) {
            uint32_t index = slot_take_one(wheel, place, call.left);
            if (!node_fires(wheel, index))
                continue;
            struct tocsin_due due = node_finish(wheel, index);
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
        for (; taken < room && call.left > 0 && !slot_is_empty(wheel, place); call.left--) {
            uint32_t index = slot_take_one(wheel, place, call.left);
            if (node_fires(wheel, index))
                ret_due[taken++] = node_finish(wheel, index);
        }
    }
    *ret_count = taken;
    return call_end(wheel, &call);
}
