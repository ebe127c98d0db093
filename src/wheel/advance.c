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
 *
 * In "fine" a timer that is alone in the next slot of its level does not move down at all: the turn is to its
 * tick, and it is taken out of that slot (turn_to_lone).
 */
#include "wheel/core.h"

/* Up to then every slot in which something may have stayed comes up again: their turns take 2^32 ticks
 * at most. */
#define LAST_TURN (UINT64_MAX - (UINT64_C(1) << 33))

/* A slot of timers that are due: what is ready, the first level's current slot, or that of a lone timer. */
struct due_slot {
    struct place place;
    uint32_t heads; /* the first of its lists */
    uint32_t moved; /* the list to take from first, of what has moved there; 0: nothing is left */
};

/* A list's first and last timer out. at is where the list begins and ends, and zero when
 * nothing is left. The nodes that come next are asked for. */
static inline uint32_t list_take_ends(const struct link *links, struct link *at, uint32_t ret[2])
{
    uint32_t first = at->next, last = at->prev;
    ret[0] = first;
    ret[1] = last;
    if (first == last) {
        at->next = 0;
        return 1;
    }
    at->next = links[first].next;
    __builtin_prefetch(&links[at->next], 1);
    if (at->next == last) {
        at->next = 0;
        return 2;
    }
    at->prev = links[last].prev;
    __builtin_prefetch(&links[at->prev], 1);
    return 2;
}

static inline uint32_t *link_end(struct link *link, bool back)
{
    return back ? &link->prev : &link->next;
}

/* Take one timer out of a list, which is not empty, from its ends in turn, whether all turns are its
 * own or each eighth: there are then so many ways along which the misses overlap. The node after the next is
 * asked for: the next one is written to here, and a store that waits for memory holds up all those behind it. */
static inline struct node *list_take(struct tocsin_wheel *wheel, struct place place, uint32_t head,
                                     size_t turn)
{
    struct link *links = wheel->links;
    struct link ends = links[head];
    bool back = ((turn ^ turn / SUBLISTS) & 1) == 0;
    struct node *node = node_at(wheel, *link_end(&ends, back));
    if (ends.next == ends.prev) {
        list_emptied(wheel, place, head);
    } else {
        uint32_t next = *link_end(&node->link, back);
        __builtin_prefetch(&links[*link_end(&links[next], back)], 1);
        link_out(links, node->link);
    }
    node->link = (struct link){0, 0};
    return node;
}

/* Of the lists of what was armed straight into the slot, in turn. */
__attribute__((noinline)) static struct node *slot_take_armed(struct tocsin_wheel *wheel,
                                                              struct due_slot slot, size_t turn)
{
    uint32_t lists = *slot_lists(wheel, slot.heads), from = (uint32_t)turn % SUBLISTS;
    if (lists == 0)
        return NULL;
    uint32_t after = lists >> from << from;
    uint32_t list = lists_first(after != 0 ? after : lists);
    return list_take(wheel, slot.place, slot.heads + list, turn);
}

/* Take one timer out, what has moved first, from its ends in turn as well: it was in the cache when it
 * moved, which may be long ago. NULL: the slot is empty. (Position 0 is nobody's, and empty.) */
static inline struct node *slot_take(struct tocsin_wheel *wheel, struct due_slot *slot, size_t turn)
{
    struct link *links = wheel->links;
    struct link *head = &links[slot->moved];
    bool back = turn % 2 != 0;
    uint32_t taken = *link_end(head, back);
    if (taken == 0)
        return slot->moved != 0 ? slot_take_armed(wheel, *slot, turn) : NULL;
    struct node *node = node_at(wheel, taken);
    uint32_t next = *link_end(&node->link, back);
    __builtin_prefetch(&links[*link_end(head, !back)], 1);
    node->link = (struct link){0, 0};
    if (next != slot->moved) {
        *link_end(head, back) = next;
        *link_end(&links[next], !back) = slot->moved;
        return node;
    }
    if (list_emptied(wheel, slot->place, slot->moved))
        slot->moved = 0;
    return node;
}

/* Move a timer that was taken out to where it belongs now; one that was cancelled is let go. */
static inline void node_move(struct tocsin_wheel *wheel, struct node *node)
{
    if (!node_is_pending(node)) {
        node->link = (struct link){0, 0};
        return;
    }
    uint64_t tick = tick_of_due(wheel, node->due);
    node_put(wheel, node, tick, tick);
    wheel->moved++;
}

/* A slot none of whose lists has more than one timer, which is the rule where they are due far apart:
 * all of it at once, without a look at neighbours. False: it is not so. */
static bool cascade_thin(struct tocsin_wheel *wheel, struct place place, size_t *left)
{
    uint32_t first = slot_heads(wheel, place);
    struct link *heads = &wheel->links[first];
    uint8_t *in_use = slot_lists(wheel, first);
    for (uint32_t lists = *in_use; lists != 0; lists &= lists - 1) {
        uint32_t i = lists_first(lists);
        if (heads[i].next != heads[i].prev)
            return false;
    }
    uint32_t lists = *in_use;
    *in_use = 0;
    slot_clear(wheel, place);
    for (; lists != 0; lists &= lists - 1) {
        uint32_t i = lists_first(lists);
        struct node *node = node_at(wheel, heads[i].next);
        heads[i] = (struct link){0, 0};
        node_move(wheel, node);
        (*left)--;
    }
    return true;
}

/* A slot is given back what is left of those of its lists that had timers. */
static void slot_restore(struct tocsin_wheel *wheel, struct place place, const struct link *left)
{
    struct link *links = wheel->links;
    uint32_t heads = slot_heads(wheel, place);
    for (uint32_t lists = *slot_lists(wheel, heads); lists != 0; lists &= lists - 1, left++) {
        uint32_t head = heads + lists_first(lists);
        if (left->next == 0) {
            list_emptied(wheel, place, head);
            continue;
        }
        links[head] = *left;
        links[left->next].prev = head;
        links[left->prev].next = head;
    }
}

/* Empty the current slot of a level, from both ends of its lists, round after round: while those of a
 * round move, those of the next are on their way from memory. False: no work is left to do it with. */
static bool cascade_level(struct tocsin_wheel *wheel, uint32_t level, size_t *left)
{
    enum { ROUND = 2 * SUBLISTS };
    struct place place = place_current(wheel, level);
    if (*left >= ROUND && cascade_thin(wheel, place, left))
        return true;
    uint32_t head = slot_heads(wheel, place);
    struct link at[SUBLISTS];
    uint32_t at_count = 0;
    for (uint32_t lists = *slot_lists(wheel, head); lists != 0; lists &= lists - 1)
        at[at_count++] = wheel->links[head + lists_first(lists)];
    uint32_t count = ROUND;
    while (*left >= ROUND && count > 0) {
        uint32_t taken[ROUND];
        count = 0;
        for (uint32_t i = 0; i < at_count; i++) {
            if (at[i].next != 0)
                count += list_take_ends(wheel->links, &at[i], &taken[count]);
        }
        for (uint32_t i = 0; i < count; i++)
            node_move(wheel, node_at(wheel, taken[i]));
        *left -= count;
    }
    slot_restore(wheel, place, at);
    for (uint32_t end = head + SUBLISTS; head < end; head++) {
        for (; wheel->links[head].next != 0; (*left)--) {
            if (*left == 0)
                return false;
            node_move(wheel, list_take(wheel, place, head, *left));
        }
    }
    return true;
}

/* All that is in the slots that now is in, above the first level, moves down. */
__attribute__((noinline)) static bool cascade(struct tocsin_wheel *wheel, size_t *left)
{
    for (; wheel->to_cascade != 0; wheel->to_cascade &= wheel->to_cascade - 1) {
        if (!cascade_level(wheel, (uint32_t)__builtin_ctz(wheel->to_cascade), left))
            return false;
    }
    return true;
}

static void turn_to(struct tocsin_wheel *wheel, uint64_t tick)
{
    assert(tick > wheel->tick && wheel->to_cascade == 0);
    wheel->tick = tick;
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

/* The first occupied slot of a level after the one that now is in, as its tick. There is one, and that which now
 * is in is empty. */
static uint64_t level_next_tick(const struct level *level)
{
    uint32_t place = level_place(level, level->current);
    uint32_t next = occupancy_next(&level->occupied, place + 1);
    if (next == level->slots)
        next = level->slots + occupancy_next(&level->occupied, 0);
    return (level->current + (next - place)) * level->ticks;
}

bool wheel_next_event(const struct tocsin_wheel *wheel, struct event *ret_event)
{
    struct event event = {.tick = UINT64_MAX, .other = UINT64_MAX};
    bool found = false;
    uint32_t in_use = wheel->levels_in_use & ((1u << wheel->level_count) - 1);
    for (; in_use != 0; in_use &= in_use - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(in_use);
        uint64_t tick = level_next_tick(&wheel->levels[i]);
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
    enum { FEW = 8 }; /* each alone in its list, nearly: their misses overlap */
    if (event->level == 0)
        return event->tick;
    const struct level *level = &wheel->levels[event->level];
    struct place place = {event->level, level_place(level, level_number(level, event->tick))};
    uint64_t first; /* at the latest the slot's last tick: what stays in it may be due after that */
    if (__builtin_add_overflow(event->tick, level->ticks - 1, &first))
        first = UINT64_MAX;
    first = first < event->other ? first : event->other;
    uint32_t seen = 0, heads = slot_heads(wheel, place);
    uint32_t lists = *slot_lists(wheel, heads);
    for (uint32_t ahead = lists; ahead != 0; ahead &= ahead - 1)
        __builtin_prefetch(&wheel->links[wheel->links[heads + lists_first(ahead)].next]);
    for (; lists != 0; lists &= lists - 1) {
        uint32_t head = heads + lists_first(lists);
        for (uint32_t at = wheel->links[head].next; at != head; at = wheel->links[at].next) {
            if (++seen > FEW)
                return event->tick;
            const struct node *node = node_at(wheel, at);
            uint64_t tick = tick_of_due(wheel, node->due);
            if (node_is_pending(node) && tick < first)
                first = tick;
        }
    }
    return first;
}

/* A turn in "fine" while nothing is on the first level: to the only timer of the next slot of the lowest level
 * that has any, where timers are due far apart. It is taken out of that slot as it is: nothing is on the levels
 * below, and on those above no other slot comes up before. It must be taken at once, as nothing else says that
 * the slot is not empty. The answer's moved is 0, and nothing has happened, when the slot holds more than one
 * timer, or one that only stays there, or there is none by target. */
__attribute__((noinline)) static struct due_slot turn_to_lone(struct tocsin_wheel *wheel,
                                                              uint64_t target)
{
    const struct due_slot none = {0};
    uint32_t i = (uint32_t)__builtin_ctz(wheel->levels_in_use | 1u << BYTE_LEVELS), shift = i * 8;
    if (i == BYTE_LEVELS)
        return none;
    uint32_t from = (uint8_t)(wheel->tick >> shift) + 1u;
    struct place place = {i, occupancy_next(&wheel->levels[i].occupied, from)};
    if (place.slot > 255)
        return none;
    uint32_t heads = byte_heads(place), lists = *slot_lists(wheel, heads);
    uint32_t head = heads + lists_first(lists);
    struct link ends = wheel->links[head];
    if ((lists & (lists - 1)) != 0 || ends.next != ends.prev)
        return none;
    const struct node *node = node_at(wheel, ends.next);
    if (!node_is_pending(node) || node->due > target ||
        node->due >> shift != (wheel->tick >> shift & ~UINT64_C(255)) + place.slot)
        return none;
    wheel->tick = node->due;
    for (uint32_t j = 0; j <= i; j++)
        wheel->levels[j].current = node->due >> j * 8;
    return (struct due_slot){place, heads, head};
}

/* The usual turn, in "fine": to the next tick of the first level at which there is anything, while the
 * slots of all other levels stay the same, or to a lone timer. Something must then be taken from the slot.
 * False: there is none by target. */
static inline bool turn_within_a_byte(struct tocsin_wheel *wheel, uint64_t target,
                                      struct due_slot *ret_slot)
{
    struct level *first = &wheel->levels[0];
    uint32_t from = (uint8_t)wheel->tick + 1u;
    if (from > 255)
        return false;
    uint64_t ahead = first->occupied.words[from / 64] >> from % 64;
    if (ahead == 0 && (wheel->levels_in_use & 1) == 0) {
        *ret_slot = turn_to_lone(wheel, target);
        return ret_slot->moved != 0;
    }
    uint32_t next = ahead != 0 ? from + (uint32_t)__builtin_ctzll(ahead)
                               : occupancy_next(&first->occupied, from);
    uint64_t tick = (wheel->tick & ~UINT64_C(255)) + next;
    if (next > 255 || tick > target)
        return false;
    wheel->tick = tick;
    first->current = tick;
    struct place place = {0, next};
    uint32_t heads = byte_heads(place);
    *ret_slot = (struct due_slot){place, heads, heads + (uint32_t)tick % SUBLISTS};
    return true;
}

/* False: it is empty. */
static bool slot_on_time(const struct tocsin_wheel *wheel, struct due_slot *ret_slot)
{
    struct place place = place_current(wheel, 0);
    *ret_slot =
        (struct due_slot){place, slot_heads(wheel, place), slot_head(wheel, place, wheel->tick)};
    return !slot_is_empty(wheel, place);
}

/* Nothing moves there, and what is armed late goes into any list but the first: that is empty. */
static bool slot_ready(const struct tocsin_wheel *wheel, struct due_slot *ret_slot)
{
    struct place place = {wheel->ready, 0};
    *ret_slot = (struct due_slot){place, slot_heads(wheel, place), slot_heads(wheel, place)};
    return (wheel->levels_in_use >> wheel->ready & 1) != 0;
}

/* Bring the wheel to where something is due, and say in which slot. False:
 * nothing more is due by target, or no work is left to do it with. */
static bool find_on_time(struct tocsin_wheel *wheel, uint64_t target, size_t *left,
                         struct due_slot *ret_slot)
{
    for (;;) {
        wheel_settle_by(wheel, target);
        if (wheel->to_cascade != 0 && !cascade(wheel, left))
            return false;
        if (slot_on_time(wheel, ret_slot))
            return *left > 0;
        if (wheel->tick >= target)
            return false;
        if (wheel->bytes && *left > 1) {
            if (turn_within_a_byte(wheel, target, ret_slot)) {
                (*left)--;
                return true;
            }
            if (wheel->tick >> 8 == target >> 8) {
                wheel->tick = wheel->levels[0].current = target;
                return false;
            }
        }
        if (tocsin_wheel_count(wheel) == 0 && target < LAST_TURN) {
            turn_to(wheel, target); /* past whatever was cancelled: it may stay for another turn */
            continue;
        }
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

/* The next slot after one that find_on_time has found: no other level has anything to say, nor has what was
 * noted as early until then. */
static inline bool find_next_on_time(struct tocsin_wheel *wheel, uint64_t target, size_t *left,
                                     struct due_slot *slot)
{
    if (!wheel->bytes || slot->place.level >= BYTE_LEVELS || *left < 2 ||
        wheel->early_seen < wheel->early_count || !turn_within_a_byte(wheel, target, slot))
        return false;
    (*left)--;
    return true;
}

static bool is_behind(struct tocsin_wheel *wheel, uint64_t target)
{
    wheel_settle_by(wheel, target);
    struct due_slot slot;
    struct event event;
    return wheel->to_cascade != 0 || slot_on_time(wheel, &slot) ||
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
    wheel_let_go(wheel);
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
static bool call_find_due(struct tocsin_wheel *wheel, struct call *call, struct due_slot *ret_slot)
{
    if (wheel->ready_last && find_on_time(wheel, call->target, &call->left, ret_slot))
        return true;
    call_admit_late(wheel, call);
    if (slot_ready(wheel, ret_slot))
        return call->left > 0;
    return find_on_time(wheel, call->target, &call->left, ret_slot);
}

/* all: it was done when no slot to take from was left. */
static enum tocsin_status call_end(struct tocsin_wheel *wheel, const struct call *call, bool all)
{
    if (all && call->left > 0) {
        wheel->in_call = wheel->ready_last = false;
        return TOCSIN_OK;
    }
    struct due_slot slot;
    bool more = slot_ready(wheel, &slot) ||
                (!call->admitted && (wheel->levels_in_use >> wheel->late & 1) != 0) ||
                is_behind(wheel, call->target);
    if (!more && wheel->tick < call->target)
        turn_to(wheel, call->target); /* take had no room left to go on with */
    wheel->in_call = false;
    wheel->ready_last = more && !wheel->ready_last;
    return more ? TOCSIN_MORE : TOCSIN_OK;
}

/* A timer taken out where things are due: is it? One that was cancelled, or armed anew for
 * later, has only stayed there. */
static inline bool node_fires(struct tocsin_wheel *wheel, struct node *node)
{
    if (node_is_pending(node) && (node->due <= wheel->tick || !wheel->bytes))
        return true;
    node_move(wheel, node);
    return false;
}

/* What is known of a due timer, after which its node is free for the next. */
static inline struct tocsin_due node_finish(struct tocsin_wheel *wheel, struct node *node)
{
    assert(node->due <= wheel->now); /* never early */
    struct tocsin_due due = {node_handle(wheel, node), node->due, node->cookie};
    node_free(wheel, node);
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
    struct due_slot slot;
    while (call_find_due(wheel, &call, &slot)) {
        size_t left = call.left; /* these two are nobody else's, and can be in registers */
        struct due_slot at = slot;
        do {
            struct node *node;
            for (; left > 0 && (node = slot_take(wheel, &at, left)) != NULL; left--) {
                if (!node_fires(wheel, node))
                    continue;
                struct tocsin_due due = node_finish(wheel, node);
                fn(arg, &due);
                wheel_let_go(wheel); /* which may be any that is left */
            }
        } while (find_next_on_time(wheel, call.target, &left, &at));
        call.left = left;
    }
    return call_end(wheel, &call, true);
}

enum tocsin_status tocsin_wheel_take(struct tocsin_wheel *wheel, uint64_t now, size_t max_work,
                                     struct tocsin_due *ret_due, size_t room, size_t *ret_count)
{
    struct call call;
    enum tocsin_status status = room > 0 ? call_begin(wheel, now, max_work, &call) : TOCSIN_INVALID;
    if (status != TOCSIN_OK)
        return status;
    size_t taken = 0;
    struct due_slot slot;
    while (taken < room && call_find_due(wheel, &call, &slot)) {
        struct node *node;
        for (; taken < room && call.left > 0 && (node = slot_take(wheel, &slot, call.left)) != NULL;
             call.left--) {
            if (node_fires(wheel, node))
                ret_due[taken++] = node_finish(wheel, node);
        }
    }
    *ret_count = taken;
    return call_end(wheel, &call, taken < room);
}
