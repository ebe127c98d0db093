/* SPDX-License-Identifier: MIT */
/* core.h - how does a wheel look inside?
 *
 * For the files of src/wheel and white-box tests only.
 *
 * One array of links, addressed by 32-bit positions (docs/decisions/0003):
 *
 *   heads   8 bytes each, SUBLISTS of them a slot: a cache line; which of its lists
 *           have timers, a byte tells
 *   nodes   32 bytes each: link, due, cookie, place, generation. A handle is the
 *           node's index (0, 1, 2 ...) above and its generation below, which is odd while the
 *           timer is pending and even while it is not: one comparison tells whether a handle
 *           is good.
 *
 * A slot's timers are in lists, circular and doubly linked, in no order. Heads and
 * nodes are links of the same array, so a timer is taken out by two stores, without
 * a question about where it is. A list must be followed node by node, and each may
 * be a cache miss. So lists are drained from both ends, and a slot has SUBLISTS of them:
 * the misses of so many ways overlap. Which list a timer goes into when it moves, its due
 * tick says. So on the first level, where a slot is a tick, all go into one: what has just
 * moved down is in the cache, and most slots hold few timers. What is armed goes into the
 * others in turn: there may be crowds of it that no cache has seen for long. An empty list's
 * head is zero, and position 0 is nobody's: a new wheel touches none of its heads.
 *
 * A timer lies on the lowest level that can hold it: the level's slots are
 * numbered in absolute time (tick / level's ticks), and a slot fits when it is
 * less than a full turn ahead of the one that now is in. Hence the slot of a level
 * above the first that now is in is empty, but while it is being emptied; on the
 * first level it holds what is due. Two more slots stand beside the levels, each as
 * a level of its own: what is armed already due waits in `late`; the next call
 * lets `late` and `ready` change places, and takes what is ready.
 *
 * In "fine", where a level's slot is a byte of the due time, timers on the first four
 * levels stay where they are as long as they can: one that is cancelled stays linked,
 * and the next timer armed takes its node and place over; one that is armed anew for later
 * stays, too. When the slot comes up, what is not due is put where it belongs then, and what
 * was cancelled is let go. Only a timer that is due before its slot begins must move, and not
 * at once: it is noted in `early`, and all of these move together before the first of them is
 * due or anybody looks. On all other levels a timer is where it belongs.
 *
 * A cancel only says who it was, in `cancelled`: the node hears of it when another is cancelled
 * or anybody looks, or never, if an arm comes next and takes it over. So:
 *
 *   a timer that is pending is due when its slot begins or later, or is in `early`
 *   a node in a list is pending, or was cancelled where timers stay
 *   a node that says it is pending is, or is in `cancelled`
 *
 * Speed is the number of cache misses that are under way at once, and that is how
 * many operations fit into what the processor holds back at a time: instructions
 * and stores. So arm, rearm and cancel each have a short way for this, in which nothing but
 * the timer's own node is touched, and no branch waits for it; all else goes the long way,
 * which can do everything.
 */
#ifndef TOCSIN_WHEEL_CORE_H
#define TOCSIN_WHEEL_CORE_H

#include <assert.h>

#include "base/region.h"
#include "wheel/geometry.h"
#include "wheel/occupancy.h"
#include <tocsin/wheel.h>

/* Lists of a slot, as many as a byte has bits. */
#define SUBLISTS 8u

/* Positions. In an empty list's head both are 0. */
struct link {
    uint32_t next;
    uint32_t prev;
};

struct node {
    struct link link; /* zero: in no list */
    uint64_t due;     /* of a free node: the index of the next free one */
    uint64_t cookie;
    uint32_t place;      /* where it is linked, see below */
    uint32_t generation; /* odd: pending; 0: worn, all are used up; else free or reserved */
};

/* The cookie of a node that is not pending. */
enum {
    NODE_FREE,
    NODE_RESERVED, /* an inbox holds it for a push to come or to be drained */
    NODE_DOOMED,   /* so it does, and what comes has been cancelled through another inbox */
};

/* A node's place. Where timers stay: the low 32 bits of the tick at which the slot begins, rounded up to a
 * multiple of 8, and the level in the bits that are free then. So whether a timer is due before that is a
 * subtraction and a look at one bit (is_early). Elsewhere: PLACE_MOVES, level and slot. */
enum {
    PLACE_LEVEL = 3,
    PLACE_MOVES = 4, /* a timer does not stay here */
    PLACE_MARKS = 7, /* both of these */
    PLACE_MOVES_LEVEL_SHIFT = 3,
    PLACE_MOVES_LEVEL = 31,
    PLACE_MOVES_SLOT_SHIFT = 8,
};

/* Timers stay on the first four levels of "fine", on the last of these only in slots that begin so soon that
 * half of the 32 bits can tell. */
enum { STAY_LAST = 3 };
#define STAY_AHEAD ((UINT64_C(1) << 31) - PLACE_MARKS - 1)

/* The position of the first head, at the start of a cache line; 0 is nobody's. */
enum { HEAD_FIRST = 8 };

enum { NODE_LINKS = sizeof(struct node) / sizeof(struct link) };

#define NODE_NONE UINT32_MAX
/* Nodes that may wear out before max_timers of good ones are left: address space
 * only, and good for 2^47 armings. */
#define NODE_SPARE 65536u

#define SHIFT_NONE 64u

enum { EARLY_MAX = 256 };

/* How many levels "fine" has: one for each byte of a due time. */
enum { BYTE_LEVELS = 8 };

struct level {
    _Alignas(64) uint32_t shift; /* ticks is 1 << shift, or SHIFT_NONE */
    uint32_t mask;               /* slots - 1 when a power of two */
    uint32_t heads;              /* position of the first of its heads */
    uint32_t slots;
    uint64_t current; /* number of the slot that now is in, in absolute time */
    uint64_t ticks;   /* base ticks per slot */
    struct occupancy occupied;
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
_Static_assert(LEVELS_MAX <= PLACE_MOVES_LEVEL + 1, "a node's place has room for any level");

struct tocsin_wheel {
    struct link *links;
    struct node *nodes;            /* those behind the heads */
    uint64_t tick;                 /* base ticks: all before it is out */
    struct tocsin_timer cancelled; /* whose node has not heard of it yet; 0: none */
    uint32_t used_nodes;           /* ever taken since create or trim */
    uint32_t free_node;            /* the free ones, linked through due */
    bool bytes;                    /* "fine": a level's slot is a byte of the due time */
    bool in_call;
    bool ready_last; /* the last call did not get through: take turns in who goes first */
    uint32_t level_count;

    uint64_t now;  /* caller's unit: the latest time told */
    uint64_t base; /* caller's units per base tick */
    uint32_t asked_levels;
    uint32_t late;          /* these two are numbers of levels, level_count and the next, */
    uint32_t ready;         /* and change places */
    uint32_t levels_in_use; /* bit i: level i has nodes in its lists */
    uint32_t to_cascade;    /* bit i: so has the slot of level i that now is in */

    uint64_t early_due; /* at the earliest, of those that were looked at */
    uint32_t early_seen;
    uint32_t spread; /* 1, 2 ... 7, 1 ...: how far from its tick's list the next to be armed goes */
    uint32_t early_count;
    struct node *early[EARLY_MAX]; /* due before the slot they are linked in begins */

    uint8_t *lists; /* of each slot, in the order of heads: which lists have timers */
    uint32_t reserved;
    uint32_t max_timers;
    uint32_t node_room;        /* of what is committed */
    uint32_t free_count;       /* how many are on the list of the free */
    uint32_t first_node;       /* its position */
    uint32_t first_generation; /* of a node before it is used for the first time */
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
    if (wheel->base == 1)
        return now;
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

/* In "fine": the byte of the due time, as a shift, that is the highest to differ by more than a
 * carry. due is not before tick. */
static inline uint32_t byte_shift(uint64_t tick, uint64_t due)
{
    uint32_t shift = (63 - (uint32_t)__builtin_clzll((due - tick) | 1)) & ~7u;
    if (__builtin_expect((due >> shift) - (tick >> shift) > 255, 0))
        shift += 8;
    return shift;
}

/* For a timer due at tick, which is not before the wheel's. */
static inline struct place place_for(const struct tocsin_wheel *wheel, uint64_t tick)
{
    if (wheel->bytes) {
        uint32_t shift = byte_shift(wheel->tick, tick);
        return (struct place){shift / 8, (uint8_t)(tick >> shift)};
    }
    const struct level *level = wheel->levels;
    for (uint32_t i = 0;; level++, i++) {
        assert(i < wheel->level_count);
        uint64_t number = level_number(level, tick);
        if (number - level->current < level->slots)
            return (struct place){i, level_place(level, number)};
    }
}

/* Lists: the head of a slot's first one, and of the one that a number stands for: a timer's due tick, or
 * more. Not its index: that may still be on its way from memory, and then the processor would not know
 * which head is written to, and could not read any other one meanwhile. */
static inline uint32_t slot_heads(const struct tocsin_wheel *wheel, struct place place)
{
    const struct level *level = &wheel->levels[place.level];
    return level->heads + place.slot * SUBLISTS;
}

/* The same in "fine", and not of late and ready. */
static inline uint32_t byte_heads(struct place place)
{
    return HEAD_FIRST + (place.level * 256 + place.slot) * SUBLISTS;
}

static inline uint32_t slot_head(const struct tocsin_wheel *wheel, struct place place,
                                 uint64_t number)
{
    return slot_heads(wheel, place) + (uint32_t)number % SUBLISTS;
}

static inline struct node *node_at(const struct tocsin_wheel *wheel, uint32_t position)
{
    return (struct node *)&wheel->links[position];
}

static inline uint32_t node_position(const struct tocsin_wheel *wheel, const struct node *node)
{
    return (uint32_t)(&node->link - wheel->links);
}

static inline uint32_t node_index(const struct tocsin_wheel *wheel, const struct node *node)
{
    return (uint32_t)(node - wheel->nodes);
}

static inline bool slot_is_empty(const struct tocsin_wheel *wheel, struct place place)
{
    return !occupancy_has(&wheel->levels[place.level].occupied, place.slot);
}

/* What so many nodes take, with the heads; and how many fit into what is committed. */
size_t slab_bytes(const struct tocsin_wheel *wheel, size_t nodes);
void slab_set_room(struct tocsin_wheel *wheel);

/* A list of a slot gets its first timer. */
static inline void slot_mark(struct tocsin_wheel *wheel, struct place place)
{
    occupancy_set(&wheel->levels[place.level].occupied, place.slot);
    wheel->levels_in_use |= 1u << place.level;
}

/* The last list of a slot has lost its last timer. */
static inline void slot_clear(struct tocsin_wheel *wheel, struct place place)
{
    if (!occupancy_clear(&wheel->levels[place.level].occupied, place.slot))
        wheel->levels_in_use &= ~(1u << place.level);
}

/* Which lists of a slot have timers, bit by bit; head is any of them. */
static inline uint8_t *slot_lists(const struct tocsin_wheel *wheel, uint32_t head)
{
    return &wheel->lists[head / SUBLISTS];
}

static inline uint32_t lists_first(uint32_t lists)
{
    return (uint32_t)__builtin_ctz(lists);
}

/* A list of a slot has lost its last timer. True: so has the slot. */
static inline bool list_emptied(struct tocsin_wheel *wheel, struct place place, uint32_t head)
{
    wheel->links[head] = (struct link){0, 0};
    uint8_t *lists = slot_lists(wheel, head);
    *lists &= (uint8_t) ~(1u << head % SUBLISTS);
    if (*lists != 0)
        return false;
    slot_clear(wheel, place);
    return true;
}

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

static inline uint32_t place_word_moves(struct place place)
{
    return place.slot << PLACE_MOVES_SLOT_SHIFT | place.level << PLACE_MOVES_LEVEL_SHIFT |
           PLACE_MOVES;
}

/* In "fine", of a node that is put there, due at tick. */
static inline uint32_t place_word(const struct tocsin_wheel *wheel, struct place place,
                                  uint64_t tick)
{
    if (place.level > STAY_LAST)
        return place_word_moves(place);
    uint64_t begin = tick >> place.level * 8 << place.level * 8;
    if (place.level == STAY_LAST && begin - wheel->tick >= STAY_AHEAD)
        return place_word_moves(place);
    return (((uint32_t)begin + PLACE_MARKS) & ~(uint32_t)PLACE_MARKS) | place.level;
}

/* Is a timer that stays due before its slot begins? One that is due less than 8 ticks later, or so much later
 * that the bits do not tell, is not early, but does no harm if it is taken to be. */
static inline bool is_early(uint32_t place, uint64_t due)
{
    return ((uint32_t)due - place) >> 31 != 0;
}

/* May a node that was free stay where it is linked? What was cancelled may have been passed over, and
 * remember when its slot came up some turns ago, or, as that is rounded up, just now. If it seems to begin
 * soon all the same, then it does at that time or a number of whole turns before: at worst a timer moves that
 * could have stayed. */
static inline bool node_may_stay(const struct tocsin_wheel *wheel, const struct node *node)
{
    uint32_t at_least = (node->place & ~(uint32_t)PLACE_MARKS) - PLACE_MARKS;
    return node->link.next != 0 && at_least - (uint32_t)wheel->tick < STAY_AHEAD - PLACE_MARKS;
}

/* A node into a list of a slot. */
static inline void list_put(struct tocsin_wheel *wheel, struct place place, uint32_t head,
                            struct node *node)
{
    uint32_t first = wheel->links[head].next;
    if (first == 0) {
        *slot_lists(wheel, head) |= (uint8_t)(1u << head % SUBLISTS);
        slot_mark(wheel, place);
        first = head;
    }
    link_in(wheel->links, head, first, node_position(wheel, node));
}

static inline void byte_put(struct tocsin_wheel *wheel, struct node *node, struct place place,
                            uint64_t tick, uint64_t number)
{
    node->place = place_word(wheel, place, tick);
    list_put(wheel, place, byte_heads(place) + (uint32_t)number % SUBLISTS, node);
}

/* To where it belongs, due at tick, which is not before the wheel's, into the list for number. Most go to
 * the first two levels of "fine", each a case of its own, in which nothing is looked up. */
void node_put_anywhere(struct tocsin_wheel *wheel, struct node *node, uint64_t tick,
                       uint64_t number);

static inline void node_put(struct tocsin_wheel *wheel, struct node *node, uint64_t tick,
                            uint64_t number)
{
    if (wheel->bytes && tick - wheel->tick <= 255)
        byte_put(wheel, node, (struct place){0, (uint8_t)tick}, tick, number);
    else if (wheel->bytes && (tick >> 8) - (wheel->tick >> 8) <= 255)
        byte_put(wheel, node, (struct place){1, (uint8_t)(tick >> 8)}, tick, number);
    else
        node_put_anywhere(wheel, node, tick, number);
}

/* Out of its list, which it may be the only one of. */
void slot_remove(struct tocsin_wheel *wheel, struct node *node);

/* Nodes and handles. */
static inline bool node_is_pending(const struct node *node)
{
    return (node->generation & 1) != 0;
}

static inline bool node_is_reserved(const struct node *node)
{
    return !node_is_pending(node) && node->cookie != NODE_FREE;
}

static inline bool node_is_worn(const struct node *node)
{
    return node->generation == 0;
}

static inline bool node_is_free(const struct node *node)
{
    return !node_is_pending(node) && !node_is_reserved(node) && !node_is_worn(node);
}

/* The handle of the timer, or of the next one that the node will be. */
static inline struct tocsin_timer node_handle(const struct tocsin_wheel *wheel,
                                              const struct node *node)
{
    return (struct tocsin_timer){(uint64_t)node_index(wheel, node) << 32 | node->generation | 1};
}

static inline uint32_t handle_index(struct tocsin_timer timer)
{
    return (uint32_t)(timer.id >> 32);
}

/* NULL for a handle that is not of a pending timer. */
static inline struct node *node_pending(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = handle_index(timer), generation = (uint32_t)timer.id;
    if (index >= wheel->used_nodes || (generation & 1) == 0)
        return NULL;
    struct node *node = &wheel->nodes[index];
    return node->generation == generation ? node : NULL;
}

/* NULL for a handle that is not of a reserved timer. */
struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer);

/* Out of reach of the handles given out for it, and free for the next. */
static inline void node_free(struct tocsin_wheel *wheel, struct node *node)
{
    node->cookie = NODE_FREE;
    node->generation = (node->generation | 1) + 1;
    if (node_is_worn(node)) {
        wheel->worn++;
        return;
    }
    node->due = wheel->free_node;
    wheel->free_node = node_index(wheel, node);
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

/* The node of the timer that was cancelled last hears of it. */
void wheel_let_go_now(struct tocsin_wheel *wheel);

static inline void wheel_let_go(struct tocsin_wheel *wheel)
{
    if (wheel->cancelled.id != 0)
        wheel_let_go_now(wheel);
}

/* Whatever was put off is done. */
static inline void wheel_settle(struct tocsin_wheel *wheel)
{
    wheel_let_go(wheel);
    if (wheel->early_count > 0)
        wheel_settle_early(wheel);
}

/* The same if any of it is due by then: the more move together, the less each of them waits. */
static inline void wheel_settle_by(struct tocsin_wheel *wheel, uint64_t tick)
{
    for (; wheel->early_seen < wheel->early_count; wheel->early_seen++) {
        uint64_t due = wheel->early[wheel->early_seen]->due;
        wheel->early_due = due < wheel->early_due ? due : wheel->early_due;
    }
    if (wheel->early_due <= tick)
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
