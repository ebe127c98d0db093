/* SPDX-License-Identifier: MIT */
/* The slow, obvious recount: every list of every slot, every node, the free list, every
 * bit, compared with what the fast code keeps in its counters. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wheel/core.h"

struct recount {
    const struct tocsin_wheel *wheel;
    struct tocsin_why *why;
    size_t listed;
    size_t pending; /* of these */
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

/* And not forgotten: it is yet to be looked at, or counted as the earliest. */
static bool is_noted(const struct tocsin_wheel *wheel, uint32_t index)
{
    for (uint32_t i = 0; i < wheel->early_count; i++) {
        bool known = i >= wheel->early_seen || wheel->nodes[index].due >= wheel->early_due;
        if (wheel->early[i] == &wheel->nodes[index] && known)
            return true;
    }
    return false;
}

/* Where timers stay a node's place may be of an earlier turn, and on the first level is rounded. */
static bool is_place_of(const struct tocsin_wheel *wheel, uint32_t word, struct place place)
{
    bool may_move = !wheel->bytes || place.level >= STAY_LAST;
    bool may_stay = wheel->bytes && place.level <= STAY_LAST;
    if ((word & PLACE_MOVES) != 0)
        return may_move && word == place_word_moves(place);
    uint32_t slot = place.level > 0 ? place.slot : (place.slot + PLACE_MARKS) / 8 * 8;
    return may_stay && (word & PLACE_LEVEL) == place.level &&
           (uint8_t)((word & ~(uint32_t)PLACE_MARKS) >> place.level * 8) == (uint8_t)slot;
}

/* A timer is due when its slot comes up, or later: it may have been armed anew where it
 * was. Or it is about to move. One that was cancelled may have stayed, but only where time comes by. */
static bool check_place(struct recount *recount, struct place place, uint32_t index)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct node *node = &wheel->nodes[index];
    const struct level *level = &wheel->levels[place.level];
    bool stays = (node->place & PLACE_MOVES) == 0;
    if (!is_place_of(wheel, node->place, place))
        return wrong(recount, "timer %" PRIu32 " takes itself to be in another slot", index);
    if (place.level >= wheel->level_count) {
        bool late = node_is_pending(node) && tick_of_due(wheel, node->due) <= wheel->tick;
        recount->pending++;
        return late || wrong(recount, "timer %" PRIu32 " is late but not due", index);
    }
    uint32_t now = level_place(level, level->current);
    uint32_t ahead = place.slot >= now ? place.slot - now : place.slot + level->slots - now;
    if (place.level > 0 && ahead == 0 && (wheel->to_cascade >> place.level & 1) == 0)
        return wrong(recount, "timer %" PRIu32 " was left behind on level %" PRIu32, index,
                     place.level);
    if (!node_is_pending(node))
        return stays || wrong(recount, "timer %" PRIu32 " stays although not pending", index);
    recount->pending++;
    uint64_t tick = tick_of_due(wheel, node->due);
    if (tick < wheel->tick)
        return wrong(recount, "timer %" PRIu32 " is overdue on level %" PRIu32, index, place.level);
    uint64_t number = level_number(level, tick);
    if (number < level->current + ahead)
        return (stays && is_noted(wheel, index)) ||
               wrong(recount, "timer %" PRIu32 " is due before its slot begins", index);
    return stays || number == level->current + ahead ||
           wrong(recount, "timer %" PRIu32 " is in another slot than its due time's", index);
}

/* Each timer of a list is one of the nodes, linked both ways; the last leads back to
 * the head. */
static bool check_list(struct recount *recount, struct place place, uint32_t head)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct link *links = wheel->links;
    if (links[head].next == 0)
        return links[head].prev == 0 || wrong(recount, "list %" PRIu32 " has only an end", head);
    uint32_t before = head;
    for (uint32_t at = links[head].next; at != head; at = links[at].next) {
        uint32_t index = (at - wheel->first_node) / NODE_LINKS;
        if (at < wheel->first_node || (at - wheel->first_node) % NODE_LINKS != 0 ||
            index >= wheel->used_nodes)
            return wrong(recount, "list %" PRIu32 " leads to %" PRIu32 ", no timer of its own",
                         head, at);
        if (links[at].prev != before)
            return wrong(recount, "timer %" PRIu32 " does not lead back to where it is linked from",
                         index);
        if (++recount->listed > wheel->used_nodes)
            return wrong(recount, "list %" PRIu32 " goes round in a ring", head);
        if (!check_place(recount, place, index))
            return false;
        before = at;
    }
    return (before != head && links[head].prev == before) ||
           wrong(recount, "list %" PRIu32 " does not end where it says", head);
}

static bool check_slot(struct recount *recount, struct place place)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    uint32_t heads = slot_heads(wheel, place);
    size_t before = recount->listed;
    for (uint32_t i = 0; i < SUBLISTS; i++) {
        size_t listed = recount->listed;
        if (!check_list(recount, place, heads + i))
            return false;
        if ((*slot_lists(wheel, heads) >> i & 1) != (recount->listed > listed))
            return wrong(recount, "list %" PRIu32 " and its bit disagree", heads + i);
    }
    return slot_is_empty(wheel, place) == (recount->listed == before) ||
           wrong(recount, "slot %" PRIu32 " of level %" PRIu32 " and its bit disagree", place.slot,
                 place.level);
}

static bool check_level(struct recount *recount, uint32_t number)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct level *level = &wheel->levels[number];
    bool in_use = false;
    if (number < wheel->level_count && level->current != level_number(level, wheel->tick))
        return wrong(recount, "level %" PRIu32 " is at another time than the wheel", number);
    for (uint32_t i = 0; i < level->slots; i++) {
        struct place place = {number, i};
        if (!check_slot(recount, place))
            return false;
        in_use |= !slot_is_empty(wheel, place);
    }
    for (uint32_t i = 0; i < occupancy_words(level->slots); i++) {
        bool summary = (level->occupied.summary[i / 64] >> i % 64 & 1) != 0;
        if (summary != (level->occupied.words[i] != 0))
            return wrong(recount, "the summary of level %" PRIu32 " is wrong", number);
    }
    if ((wheel->levels_in_use >> number & 1) != in_use)
        return wrong(recount, "level %" PRIu32 " and its bit disagree", number);
    return true;
}

/* The free list is the free nodes, each once. */
static bool check_free(const struct recount *recount, size_t free_nodes)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    if (wheel->free_count != free_nodes)
        return wrong(recount, "%zu nodes are free, the books say %" PRIu32, free_nodes,
                     wheel->free_count);
    for (uint32_t i = wheel->free_node; i != NODE_NONE; i = (uint32_t)wheel->nodes[i].due) {
        if (i >= wheel->used_nodes || !node_is_free(&wheel->nodes[i]) || free_nodes-- == 0)
            return wrong(recount, "the list of free nodes is broken at %" PRIu32, i);
    }
    return free_nodes == 0 || wrong(recount, "%zu free nodes are not on the list", free_nodes);
}

static bool check_nodes(const struct recount *recount)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    size_t pending = 0, linked = 0, free_nodes = 0, worn = 0, reserved = 0;
    for (uint32_t i = 0; i < wheel->used_nodes; i++) {
        const struct node *node = &wheel->nodes[i];
        pending += node_is_pending(node);
        linked += node->link.next != 0;
        free_nodes += node_is_free(node);
        worn += node_is_worn(node);
        reserved += node_is_reserved(node);
    }
    if (pending != recount->pending || linked != recount->listed)
        return wrong(recount,
                     "%zu timers are pending and %zu nodes linked, but %zu and %zu are in lists",
                     pending, linked, recount->pending, recount->listed);
    if (reserved != wheel->reserved || worn != wheel->worn)
        return wrong(recount, "found %zu reserved, %zu worn; the books say %" PRIu32 ", %" PRIu64,
                     reserved, worn, wheel->reserved, wheel->worn);
    if (pending + free_nodes + worn + reserved != wheel->used_nodes)
        return wrong(recount, "%" PRIu32 " nodes in use, but only %zu accounted for",
                     wheel->used_nodes, pending + free_nodes + worn + reserved);
    if (wheel->used_nodes > wheel->node_room)
        return wrong(recount, "more nodes than room");
    return check_free(recount, free_nodes);
}

enum tocsin_status tocsin_wheel_check(const struct tocsin_wheel *wheel, struct tocsin_why *ret_why)
{
    struct recount recount = {.wheel = wheel, .why = ret_why};
    wheel_let_go(wheel_open(wheel));
    if (wheel->early_count >= EARLY_MAX) {
        (void)wrong(&recount, "more timers are about to move than there is room for");
        return TOCSIN_CORRUPT;
    }
    for (uint32_t i = 0; i < wheel->level_count + 2; i++) {
        if (!check_level(&recount, i))
            return TOCSIN_CORRUPT;
    }
    return check_nodes(&recount) ? TOCSIN_OK : TOCSIN_CORRUPT;
}
