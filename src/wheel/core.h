/* SPDX-License-Identifier: MIT */
/* core.h - how does a wheel look inside?
 *
 * For the files of src/wheel and white-box tests only.
 *
 * One array of links, addressed by 32-bit positions (docs/decisions/0003):
 *
 *   heads   8 bytes each, one or SUBLISTS of them a slot
 *   nodes   32 bytes each: link, due, cookie, level, generation. A handle is the
 *           node's index (0, 1, 2 ...) and generation.
 *
 * A slot's timers are in lists, circular and doubly linked, in no order. Heads and
 * nodes are links of the same array, so a timer is taken out by two stores, without
 * a question about where it is. A list must be followed node by node, and each may
 * be a cache miss. So lists are drained from both ends, and a slot of a higher level
 * has SUBLISTS of them (which one a timer is in follows from its index): the misses
 * of twice as many ways overlap. On the first level one list is enough: what has just
 * moved down is in the cache, and most slots hold few timers. An empty list's head is
 * zero, and position 0 is nobody's: a new wheel touches none of its heads.
 *
 * A timer lies on the lowest level that can hold it: the level's slots are
 * numbered in absolute time (tick / level's ticks), and a slot fits when it is
 * less than a full turn ahead of the one that now is in. Hence the slot of a level
 * above the first that now is in is empty, but while it is being emptied; on the
 * first level it holds what is due. Two more slots stand beside the levels, each as
 * a level of its own: what is armed already due waits in `late`; the next call
 * lets `late` and `ready` change places, and takes what is ready.
 *
 * In "fine", where a level's slot is a byte of the due time, timers stay where they are as
 * long as they can: one that is cancelled stays linked, and the next timer armed takes its
 * node and place over; one that is armed anew for later stays, too. When the slot comes
 * up, what is not due is put where it belongs then, and what was cancelled is let go. Only
 * a timer that is due before its slot begins must move, and not at once: it is noted in
 * `early`, and all of these move together before time does or anybody looks. So:
 *
 *   a timer that is pending is due when its slot begins or later, or is in `early`
 *   a node in a list is pending, or was cancelled; none of these is late or ready
 *
 * Speed is the number of cache misses that are under way at once, and that is how
 * many operations fit into what the processor holds back at a time: instructions
 * and stores. So arm, rearm and cancel each have a short way for this, in which nothing but
 * the timer's own node is touched, and no branch waits for it; all else goes the long way,
 * which can do everything, and leaves nothing behind.
 */
#ifndef TOCSIN_WHEEL_CORE_H
#define TOCSIN_WHEEL_CORE_H

#include <assert.h>

#include "base/region.h"
#include "wheel/geometry.h"
#include "wheel/occupancy.h"
#include <tocsin/wheel.h>

/* Lists of a slot above the first level. */
#define SUBLISTS 4u

/* Positions. In an empty list's head both are 0. */
struct link {
    uint32_t next;
    uint32_t prev;
};

struct node {
    struct link link; /* zero: in no list */
    uint64_t due;     /* of a free node: the index of the next free one */
    uint64_t cookie;
    uint16_t slot; /* where it is linked */
    uint8_t level;
    uint8_t state;
    uint32_t generation;
};

enum {
    NODE_PENDING = 0,
    NODE_FREE = 1,     /* the spare one, or on the free list */
    NODE_WORN = 2,     /* all generations used up: never to be used again */
    NODE_RESERVED = 3, /* an inbox holds it for a push to come or to be drained */
    NODE_DOOMED = 4,   /* so is this one, and what comes has been cancelled through another inbox */
};

/* The position of the first head, at the start of a cache line; 0 is nobody's. */
enum { HEAD_FIRST = 8 };

enum { NODE_LINKS = sizeof(struct node) / sizeof(struct link) };

#define NODE_NONE UINT32_MAX
/* Nodes that may wear out before max_timers of good ones are left: address space
 * only, and good for 2^48 armings. */
#define NODE_SPARE 65536u

#define SHIFT_NONE 64u

enum { EARLY_MAX = 256 };

struct level {
    uint32_t shift; /* ticks is 1 << shift, or SHIFT_NONE */
    uint32_t mask;  /* slots - 1 when a power of two */
    uint32_t heads; /* position of the first of its heads */
    uint32_t lists; /* of a slot: 1 or SUBLISTS */
    uint32_t slots;
    uint64_t current; /* number of the slot that now is in, in absolute time */
    uint64_t ticks;   /* base ticks per slot */
    struct occupancy occupied;
    uint32_t in_use; /* how many slots have timers */
};

/* Every head and node of the largest wheel has a position. */
_Static_assert(HEAD_FIRST + 2 +
                       (UINT64_C(1) * TOCSIN_WHEEL_LEVELS_MAX * TOCSIN_WHEEL_SLOTS_MAX +
                        8 * GEOMETRY_OVERFLOW_SLOTS) *
                           SUBLISTS +
                       (UINT64_C(1) * TOCSIN_WHEEL_TIMERS_MAX + NODE_SPARE) * NODE_LINKS <=
                   UINT32_MAX,
               "positions have 32 bits");
_Static_assert(sizeof(struct node) == 32, "two a cache line, none across two");

/* The levels of a wheel, then those of late and ready. */
enum { LEVELS_MAX = GEOMETRY_LEVELS_MAX + 2 };

struct tocsin_wheel {
    struct link *links;
    struct node *nodes;        /* those behind the heads */
    uint64_t tick;             /* base ticks: all before it is out */
    uint64_t short_tick;       /* the same where the short ways may be taken, else UINT64_MAX */
    struct tocsin_timer spare; /* what the node freed last will have as its handle, or 0 */
    uint32_t used_nodes;       /* ever taken since create or trim */
    uint32_t free_node;        /* the other free ones, linked through next */
    bool bytes;                /* "fine": a level's slot is a byte of the due time */
    bool in_call;
    bool ready_last; /* the last call did not get through: take turns in who goes first */
    uint32_t level_count;

    uint64_t now;  /* caller's unit: the latest time told */
    uint64_t base; /* caller's units per base tick */
    uint32_t asked_levels;
    uint32_t late;          /* these two are numbers of levels, level_count and the next, */
    uint32_t ready;         /* and change places */
    uint32_t levels_in_use; /* bit i: level i has timers */
    uint32_t to_cascade;    /* bit i: the slot of level i that now is in has timers */

    uint32_t early_count;
    uint32_t early[EARLY_MAX]; /* due before the slot they are linked in begins */

    uint32_t reserved;
    uint32_t max_timers;
    uint32_t node_room;        /* of what is committed */
    uint32_t free_count;       /* how many are on the list of the free */
    uint32_t first_node;       /* its position */
    uint32_t first_generation; /* of a node used for the first time */
    uint64_t fired, moved, worn;

    struct region body; /* this struct and the bitmaps */
    struct region slab; /* heads and nodes */
    struct level levels[LEVELS_MAX];
};

/* Time. A due time is rounded up to the base tick, now is rounded down: never
 * early. The last, cut-off tick of all ends at UINT64_MAX. */
static inline uint64_t tick_of_due(const struct tocsin_wheel *wheel, uint64_t due)
{
    if (wheel->base == 1)
        return due;
    return due / wheel->base + (due % wheel->base != 0);
}

static inline uint64_t tick_of_now(const struct tocsin_wheel *wheel, uint64_t now)
{
    return now == UINT64_MAX ? tick_of_due(wheel, now) : now / wheel->base;
}

static inline uint64_t time_of_tick(const struct tocsin_wheel *wheel, uint64_t tick)
{
    uint64_t time;
    return __builtin_mul_overflow(tick, wheel->base, &time) ? UINT64_MAX : time;
}

/* Levels. A number is absolute (it never wraps), a place is counted from the
 * level's first slot. */
static inline uint64_t level_number(const struct level *level, uint64_t tick)
{
    return level->shift != SHIFT_NONE ? tick >> level->shift : tick / level->ticks;
}

static inline uint32_t level_place(const struct level *level, uint64_t number)
{
    return (uint32_t)(level->mask + 1 == level->slots ? number & level->mask
                                                      : number % level->slots);
}

/* Where a timer belongs. */
struct place {
    uint32_t level;
    uint32_t slot;
};

static inline struct place place_current(const struct tocsin_wheel *wheel, uint32_t level)
{
    const struct level *from = &wheel->levels[level];
    return (struct place){level, level_place(from, from->current)};
}

/* In "fine": the level whose byte of the due time is the highest to differ by more
 * than a carry. due is after tick. */
static inline uint32_t byte_level(uint64_t tick, uint64_t due)
{
    uint32_t shift = (63 - (uint32_t)__builtin_clzll(due - tick)) & ~7u;
    if (__builtin_expect((due >> shift) - (tick >> shift) > 255, 0))
        shift += 8;
    return shift / 8;
}

/* In "fine": the first tick of a slot, which is not over. */
static inline uint64_t byte_begin(uint64_t tick, uint32_t level, uint32_t slot)
{
    uint64_t current = tick >> level * 8;
    return (current + (uint8_t)(slot - current)) << level * 8;
}

/* For a timer due at tick, which is not before the wheel's. */
static inline struct place place_for(const struct tocsin_wheel *wheel, uint64_t tick)
{
    if (wheel->bytes && tick > wheel->tick) {
        uint32_t level = byte_level(wheel->tick, tick);
        return (struct place){level, (uint8_t)(tick >> level * 8)};
    }
    const struct level *level = wheel->levels;
    for (uint32_t i = 0;; level++, i++) {
        assert(i < wheel->level_count);
        uint64_t number = level_number(level, tick);
        if (number - level->current < level->slots)
            return (struct place){i, level_place(level, number)};
    }
}

/* Lists: the head of a slot's first one, and of the one for a timer. */
static inline uint32_t slot_heads(const struct tocsin_wheel *wheel, struct place place)
{
    const struct level *level = &wheel->levels[place.level];
    return level->heads + place.slot * level->lists;
}

static inline uint32_t slot_head(const struct tocsin_wheel *wheel, struct place place,
                                 uint32_t index)
{
    return slot_heads(wheel, place) + index % SUBLISTS % wheel->levels[place.level].lists;
}

static inline uint32_t node_position(const struct tocsin_wheel *wheel, uint32_t index)
{
    return wheel->first_node + index * NODE_LINKS;
}

static inline uint32_t node_index(const struct tocsin_wheel *wheel, uint32_t position)
{
    return (position - wheel->first_node) / NODE_LINKS;
}

static inline bool slot_is_empty(const struct tocsin_wheel *wheel, struct place place)
{
    return !occupancy_has(&wheel->levels[place.level].occupied, place.slot);
}

/* What so many nodes take, with the heads; and how many fit into what is committed. */
size_t slab_bytes(const struct tocsin_wheel *wheel, size_t nodes);
void slab_set_room(struct tocsin_wheel *wheel);

/* A list of a slot gets its first timer, or has lost its last. */
void slot_mark(struct tocsin_wheel *wheel, struct place place);
void slot_emptied(struct tocsin_wheel *wheel, struct place place);

/* The two stores, for a timer that is not the only one of its list. */
static inline void link_out(struct link *links, struct link link)
{
    links[link.next].prev = link.prev;
    links[link.prev].next = link.next;
}

/* The newest goes first: what is then second came not long ago, and is in the cache. */
static inline void link_in(struct link *links, uint32_t head, uint32_t first, uint32_t position)
{
    links[position] = (struct link){first, head};
    links[first].prev = position;
    links[head].next = position;
}

static inline void slot_put(struct tocsin_wheel *wheel, struct place place, uint32_t index)
{
    uint32_t head = slot_head(wheel, place, index);
    uint32_t first = wheel->links[head].next;
    if (first == 0) {
        slot_mark(wheel, place);
        first = head;
    }
    link_in(wheel->links, head, first, node_position(wheel, index));
    wheel->nodes[index].level = (uint8_t)place.level;
    wheel->nodes[index].slot = (uint16_t)place.slot;
}
/* Out of its list, which it may be the only one of. */
void slot_remove(struct tocsin_wheel *wheel, uint32_t index);

/* Nodes and handles. */
static inline bool node_is_pending(const struct node *node)
{
    return node->state == NODE_PENDING;
}

static inline struct tocsin_timer node_handle(const struct tocsin_wheel *wheel, uint32_t index)
{
    return (struct tocsin_timer){(uint64_t)wheel->nodes[index].generation << 32 | index};
}

/* NULL for a handle that is not of a pending timer. */
static inline struct node *node_pending(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = (uint32_t)timer.id;
    if (index >= wheel->used_nodes)
        return NULL;
    struct node *node = &wheel->nodes[index];
    if (node->generation != timer.id >> 32 || !node_is_pending(node))
        return NULL;
    return node;
}

/* NULL for a handle that is not of a reserved timer. */
struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer);

/* Out of reach of the handles given out for it, and free for the next. */
static inline void node_free(struct tocsin_wheel *wheel, uint32_t index)
{
    struct node *node = &wheel->nodes[index];
    if (++node->generation == 0) {
        node->state = NODE_WORN;
        wheel->worn++;
        return;
    }
    node->state = NODE_FREE;
    if (wheel->spare.id == 0) {
        wheel->spare = node_handle(wheel, index);
        return;
    }
    node->due = wheel->free_node;
    wheel->free_node = index;
    wheel->free_count++;
}

/* For inboxes: a timer that is not pending yet, but cannot fail to become so. */
enum tocsin_status wheel_reserve(struct tocsin_wheel *wheel, struct tocsin_timer *ret_timer);
/* Cannot fail: that is what the reservation is for. Nothing is pending afterwards if it was doomed. */
void wheel_arm_reserved(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t due,
                        uint64_t cookie);
void wheel_unreserve(struct tocsin_wheel *wheel, struct tocsin_timer timer);
/* When it is armed it is over at once. False: it is not reserved, or doomed already. */
bool wheel_doom(struct tocsin_wheel *wheel, struct tocsin_timer timer);

/* What is due before its slot begins moves to where it belongs. */
void wheel_settle_early(struct tocsin_wheel *wheel);

static inline void wheel_settle(struct tocsin_wheel *wheel)
{
    if (wheel->early_count > 0)
        wheel_settle_early(wheel);
}

/* For those who only look: what they are told does not change when something that stays is moved. No
 * wheel lies in memory that cannot be written. */
static inline struct tocsin_wheel *wheel_open(const struct tocsin_wheel *wheel)
{
    return (struct tocsin_wheel *)(uintptr_t)wheel;
}

/* The next slot after those that now is in that has timers. */
struct event {
    uint64_t tick;  /* when it comes up */
    uint64_t other; /* before that nothing comes up on any other level */
    uint32_t level;
};

bool wheel_next_event(const struct tocsin_wheel *wheel, struct event *ret_event);
/* Up to when nothing needs to be done about it: the tick itself, or later, when the
 * slot has so few timers that a look at each is cheap. */
uint64_t wheel_event_tick(const struct tocsin_wheel *wheel, const struct event *event);

#endif
