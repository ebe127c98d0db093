/* SPDX-License-Identifier: MIT */
/* Questions that change nothing of what is true: when next, how many, where. */
#include <string.h>

#include "wheel/core.h"

bool tocsin_wheel_wake(const struct tocsin_wheel *wheel, uint64_t *ret_at)
{
    if (tocsin_wheel_count(wheel) == 0)
        return false;
    wheel_settle(wheel_open(wheel));
    struct event event;
    bool due = wheel->to_cascade != 0 || wheel->levels_in_use >> wheel->level_count != 0 ||
               !slot_is_empty(wheel, place_current(wheel, 0)) || !wheel_next_event(wheel, &event);
    uint64_t at = due ? wheel->now : time_of_tick(wheel, wheel_event_tick(wheel, &event));
    *ret_at = at > wheel->now ? at : wheel->now;
    return true;
}

/* Where a pending timer belongs: where it is linked if it is due while that slot is up, or it has only
 * stayed there. */
static struct place node_home(const struct tocsin_wheel *wheel, const struct node *node)
{
    uint64_t tick = tick_of_due(wheel, node->due);
    if ((node->place & PLACE_MOVES) != 0)
        return (struct place){node->place >> PLACE_MOVES_LEVEL_SHIFT & PLACE_MOVES_LEVEL,
                              node->place >> PLACE_MOVES_SLOT_SHIFT};
    const struct level *level = &wheel->levels[node->place & PLACE_LEVEL];
    uint64_t number = level_number(level, tick);
    struct place place = {node->place & PLACE_LEVEL, level_place(level, number)};
    bool home =
        number - level->current < level->slots && place_word(wheel, place, tick) == node->place;
    return home ? place : place_for(wheel, tick);
}

/* The due time of a timer in a slot, or best if that is earlier. One that has only stayed there is let go or put
 * where it belongs, as if time had come by: once, so that nobody pays for it twice. */
static uint64_t node_earliest(struct tocsin_wheel *wheel, struct place place, struct node *node,
                              uint64_t best)
{
    if (!node_is_pending(node)) {
        slot_remove(wheel, node);
        return best;
    }
    struct place home = node_home(wheel, node);
    if (home.level != place.level || home.slot != place.slot) {
        uint64_t tick = tick_of_due(wheel, node->due);
        slot_remove(wheel, node);
        node_put(wheel, node, tick, tick);
    }
    return node->due < best ? node->due : best;
}

/* The earliest due time in a slot, or best if that is earlier. A step along each of its lists in turn, so that
 * they are waited for together. */
static uint64_t slot_earliest(struct tocsin_wheel *wheel, struct place place, uint64_t best)
{
    uint32_t heads = slot_heads(wheel, place), at[SUBLISTS];
    uint32_t lists = *slot_lists(wheel, heads);
    for (uint32_t i = 0; i < SUBLISTS; i++)
        at[i] = wheel->links[heads + i].next;
    while (lists != 0) {
        for (uint32_t turn = lists; turn != 0; turn &= turn - 1) {
            uint32_t i = lists_first(turn);
            struct node *node = node_at(wheel, at[i]);
            at[i] = node->link.next;
            __builtin_prefetch(&wheel->links[at[i]], 1);
            if (at[i] == heads + i)
                lists &= ~(1u << i);
            best = node_earliest(wheel, place, node, best);
        }
    }
    return best;
}

/* The earliest due time on a level, or best: its slots in order, until none can hold anything that is
 * due before. */
static uint64_t level_earliest(struct tocsin_wheel *wheel, uint32_t number, uint64_t best)
{
    const struct level *level = &wheel->levels[number];
    uint32_t place = level_place(level, level->current);
    for (uint32_t ahead = 0; ahead < level->slots; ahead++) {
        uint32_t from = place + ahead < level->slots ? place + ahead : place + ahead - level->slots;
        uint32_t end = from >= place ? level->slots : place;
        uint32_t next = occupancy_next(&level->occupied, from);
        if (next >= end) { /* none up to the last slot, or all the way round */
            ahead += end - from - 1;
            continue;
        }
        ahead += next - from;
        uint64_t tick = (level->current + ahead) * level->ticks;
        if (tick > tick_of_due(wheel, best))
            break;
        best = slot_earliest(wheel, (struct place){number, next}, best);
    }
    return best;
}

bool tocsin_wheel_next_due(const struct tocsin_wheel *wheel, uint64_t *ret_due)
{
    if (tocsin_wheel_count(wheel) == 0)
        return false;
    struct tocsin_wheel *open = wheel_open(wheel);
    wheel_settle(open);
    uint64_t best = slot_earliest(open, (struct place){wheel->late, 0}, UINT64_MAX);
    best = slot_earliest(open, (struct place){wheel->ready, 0}, best);
    for (uint32_t i = 0; i < wheel->level_count; i++) {
        if ((wheel->levels_in_use >> i & 1) != 0)
            best = level_earliest(open, i, best);
    }
    *ret_due = best;
    return true;
}

/* The nodes lie in a row: to look at all of them is far cheaper than to follow lists. */
static size_t level_count_pending(const struct tocsin_wheel *wheel, size_t level)
{
    size_t pending = 0;
    wheel_let_go(wheel_open(wheel));
    for (uint32_t i = 0; i < wheel->used_nodes; i++) {
        const struct node *node = &wheel->nodes[i];
        pending += node_is_pending(node) && node_home(wheel, node).level == level;
    }
    return pending;
}

size_t tocsin_wheel_count(const struct tocsin_wheel *wheel)
{
    return wheel->used_nodes - wheel->free_count - (wheel->cancelled.id != 0) - wheel->reserved -
           wheel->worn;
}

uint64_t tocsin_wheel_now(const struct tocsin_wheel *wheel)
{
    return wheel->now;
}

uint64_t tocsin_wheel_moved(const struct tocsin_wheel *wheel)
{
    return wheel->moved;
}

void tocsin_wheel_describe(const struct tocsin_wheel *wheel, struct tocsin_wheel_stats *ret_stats)
{
    wheel_let_go(wheel_open(wheel));
    *ret_stats = (struct tocsin_wheel_stats){
        .tick = wheel->base,
        .pending = tocsin_wheel_count(wheel),
        .max_timers = wheel->max_timers,
        .room = wheel->node_room,
        .levels = wheel->level_count,
        .bytes = wheel->body.committed_bytes + wheel->slab.committed_bytes,
        .fired = wheel->fired,
        .moved = wheel->moved,
        .worn = wheel->worn,
    };
    for (uint32_t i = 0; i < wheel->used_nodes; i++) {
        const struct node *node = &wheel->nodes[i];
        if (!node_is_pending(node))
            continue;
        uint32_t level = node_home(wheel, node).level;
        ret_stats->late += level >= wheel->level_count;
        ret_stats->overflow += level >= wheel->asked_levels && level < wheel->level_count;
    }
}

bool tocsin_wheel_describe_level(const struct tocsin_wheel *wheel, size_t level,
                                 struct tocsin_wheel_level_stats *ret_stats)
{
    if (level >= wheel->level_count)
        return false;
    const struct level *from = &wheel->levels[level];
    *ret_stats = (struct tocsin_wheel_level_stats){
        .tick = time_of_tick(wheel, from->ticks),
        .slots = from->slots,
        .occupied = occupancy_count(&from->occupied),
        .current = level_place(from, from->current),
        .pending = level_count_pending(wheel, level),
        .overflow = level >= wheel->asked_levels,
    };
    return true;
}

void tocsin_wheel_level_counts(const struct tocsin_wheel *wheel, size_t most, size_t *ret_counts)
{
    uint32_t nodes = wheel->used_nodes;
    uint32_t stride = most == 0 || nodes <= most ? 1 : (uint32_t)((nodes + most - 1) / most);
    wheel_let_go(wheel_open(wheel));
    memset(ret_counts, 0, wheel->level_count * sizeof *ret_counts);
    for (uint64_t i = 0; i < nodes; i += stride) {
        const struct node *node = &wheel->nodes[i];
        if (!node_is_pending(node))
            continue;
        uint32_t level = node_home(wheel, node).level;
        if (level < wheel->level_count)
            ret_counts[level] += stride;
    }
}

bool tocsin_wheel_slot_counts(const struct tocsin_wheel *wheel, size_t level, uint32_t *ret_counts)
{
    if (level >= wheel->level_count)
        return false;
    const struct level *from = &wheel->levels[level];
    wheel_let_go(wheel_open(wheel));
    memset(ret_counts, 0, from->slots * sizeof *ret_counts);
    for (uint32_t i = 0; i < wheel->used_nodes; i++) {
        const struct node *node = &wheel->nodes[i];
        if (!node_is_pending(node))
            continue;
        struct place home = node_home(wheel, node);
        if (home.level == level)
            ret_counts[home.slot]++;
    }
    return true;
}

void tocsin_wheel_walk(struct tocsin_wheel *wheel,
                       bool (*fn)(void *arg, const struct tocsin_due *due), void *arg)
{
    uint32_t end = wheel->used_nodes; /* what fn arms must not keep it going for ever */
    for (uint32_t i = 0; i < end && i < wheel->used_nodes; i++) {
        const struct node *node = &wheel->nodes[i];
        wheel_let_go(wheel);
        if (!node_is_pending(node))
            continue;
        struct tocsin_due due = {node_handle(wheel, node), node->due, node->cookie};
        if (!fn(arg, &due))
            return;
    }
}
