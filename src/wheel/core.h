/* SPDX-License-Identifier: MIT */
/* core.h - how does a wheel look inside?
 *
 * For the files of src/wheel and white-box tests only.
 *
 * Three arrays, linked by 32-bit indexes (docs/decisions/0003):
 *
 *   nodes   24 bytes a timer: due, cookie, where, generation. A handle is index
 *           and generation.
 *   bags    a slot is a bag, timers in no order: 4 bytes, the position of its last
 *           entry.
 *   arena   the bags' contents, in chunks:
 *
 *             word 0      the chunk before this one in the bag; 0: none
 *             word 1 on   node indexes, filled from 1 up
 *
 *           Only the last chunk of a bag is not full. A position is chunk * words
 *           + word. Removing an entry moves the bag's last one into its place. So a
 *           timer is unlinked without touching neighbours, and a bag is drained
 *           by reading indexes in a row: the misses on the nodes are independent
 *           of each other, and can be asked for in advance.
 *
 * A node's `where` is its level and its entry's position; with the due time that
 * gives the slot by arithmetic alone. On the way of a cancel the node is then the
 * only read that has to wait for memory.
 *
 * A timer lies on the lowest level that can hold it: the level's slots are
 * numbered in absolute time (tick / level's ticks), and a slot fits when it is
 * less than a full turn ahead of the one that now is in. Hence the slot of a level
 * above the first that now is in is empty, but while it is being emptied; on the
 * first level it holds what is due. Two more bags stand beside the levels, each as
 * a level with one slot: what is armed already due waits in `late`; the next call
 * lets `late` and `ready` change places, and takes what is ready.
 *
 * Speed is the number of cache misses that are under way at once, and that is how
 * many operations fit into what the processor holds back at a time: instructions
 * and, above all, loads and stores whose place depends on one that has not arrived.
 * So arm, rearm and cancel keep no books about levels, and each has a short way for
 * the usual case in the "fine" geometry, where a level's slot is a byte of the due
 * time; all else goes the long way, which can do everything (docs/decisions/0003).
 */
#ifndef TOCSIN_WHEEL_CORE_H
#define TOCSIN_WHEEL_CORE_H

#include <assert.h>

#include "base/region.h"
#include "wheel/geometry.h"
#include "wheel/occupancy.h"
#include <tocsin/wheel.h>

enum {
    CHUNK_WORDS = 32,
    CHUNK_HEAD = 1,
    CHUNK_ENTRIES = CHUNK_WORDS - CHUNK_HEAD,
    BAG_EMPTY = CHUNK_WORDS - 1, /* "the last entry of no chunk": full, like any full chunk */
};

/* A node's `where`: one of these, or a level and a position in the arena. Chunk 0 is
 * not used, so a position is at least CHUNK_WORDS. */
enum {
    WHERE_FREE = 0,     /* the spare one, or on the free list */
    WHERE_WORN = 1,     /* all generations used up: never to be used again */
    WHERE_RESERVED = 2, /* an inbox holds it for a push to come or to be drained */
};

#define WHERE_LEVEL_SHIFT 27
#define WHERE_POSITION ((1u << WHERE_LEVEL_SHIFT) - 1)
#define CHUNKS_MAX ((size_t)(WHERE_POSITION + 1) / CHUNK_WORDS)

struct node {
    uint64_t due;
    uint64_t cookie;
    uint32_t where;
    uint32_t generation;
};

#define NODE_NONE UINT32_MAX
/* Nodes that may wear out before max_timers of good ones are left: address space
 * only, and good for 2^48 armings. */
#define NODE_SPARE 65536u

#define SHIFT_NONE 64u

struct level {
    uint32_t shift; /* ticks is 1 << shift, or SHIFT_NONE */
    uint32_t mask;  /* slots - 1 when a power of two */
    uint32_t first; /* its first bag */
    uint32_t slots;
    uint64_t current; /* number of the slot that now is in, in absolute time */
    uint64_t ticks;   /* base ticks per slot */
    struct occupancy occupied;
    uint32_t in_use; /* how many slots have timers */
};

/* The levels of a wheel, then those of late and ready. */
enum { LEVELS_MAX = GEOMETRY_LEVELS_MAX + 2 };

struct tocsin_wheel {
    struct node *nodes;
    uint32_t *arena;
    uint32_t *bags;
    uint32_t *bag_chunks;      /* how many each has */
    uint64_t tick;             /* base ticks: all before it is out */
    uint64_t short_tick;       /* the same where the short ways may be taken, else UINT64_MAX */
    struct tocsin_timer spare; /* what the node freed last will have as its handle, or 0 */
    uint32_t used_nodes;       /* ever taken since create or trim */
    uint32_t free_node;        /* the other free ones, linked through due */
    bool bytes;                /* "fine": a level's slot is a byte of the due time */
    bool in_call;
    bool ready_last; /* the last call did not get through: take turns in who goes first */
    uint32_t level_count;

    uint64_t now;  /* caller's unit: the latest time told */
    uint64_t base; /* caller's units per base tick */
    uint32_t asked_levels;
    uint32_t late;  /* these two are numbers of levels, level_count and the next, */
    uint32_t ready; /* and change places */
    uint32_t bag_count;
    uint32_t levels_in_use; /* bit i: level i has timers */
    uint32_t to_cascade;    /* bit i: the slot of level i that now is in has timers */

    uint32_t reserved;
    uint32_t max_timers;
    uint32_t node_room; /* of what is committed */
    uint32_t free_chunk;
    uint32_t used_chunks;
    uint32_t chunk_room;
    uint32_t first_generation; /* of a node used for the first time */
    uint64_t fired, moved, worn;

    struct region body; /* this struct, the bags and the bitmaps */
    struct region node_region;
    struct region arena_region;
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

/* Levels. A number is absolute (it never wraps), a slot is its place in the bags. */
static inline uint64_t level_number(const struct level *level, uint64_t tick)
{
    return level->shift != SHIFT_NONE ? tick >> level->shift : tick / level->ticks;
}

static inline uint32_t level_place(const struct level *level, uint64_t number)
{
    return (uint32_t)(level->mask + 1 == level->slots ? number & level->mask
                                                      : number % level->slots);
}

static inline uint32_t level_current_bag(const struct level *level)
{
    return level->first + level_place(level, level->current);
}

static inline bool bag_is_empty(const struct tocsin_wheel *wheel, uint32_t bag)
{
    return wheel->bags[bag] == BAG_EMPTY;
}

/* All chunks of a bag but the last are full. */
static inline size_t bag_count(const struct tocsin_wheel *wheel, uint32_t bag)
{
    if (bag_is_empty(wheel, bag))
        return 0;
    return (size_t)(wheel->bag_chunks[bag] - 1) * CHUNK_ENTRIES + wheel->bags[bag] % CHUNK_WORDS;
}

/* Where a timer belongs. */
struct place {
    uint32_t level;
    uint32_t bag;
};

/* In "fine": the level whose byte of the due time is the highest to differ by more
 * than a carry. due is after tick. */
static inline uint32_t byte_level(uint64_t tick, uint64_t due)
{
    uint32_t shift = (63 - (uint32_t)__builtin_clzll(due - tick)) & ~7u;
    if (__builtin_expect((due >> shift) - (tick >> shift) > 255, 0))
        shift += 8;
    return shift / 8;
}

static inline uint32_t byte_bag(uint32_t level, uint64_t due)
{
    return level * 256 + (uint8_t)(due >> level * 8);
}

/* For a timer due at tick, which is not before the wheel's. */
static inline struct place place_for(const struct tocsin_wheel *wheel, uint64_t tick)
{
    if (wheel->bytes && tick > wheel->tick) {
        uint32_t level = byte_level(wheel->tick, tick);
        return (struct place){level, byte_bag(level, tick)};
    }
    const struct level *level = wheel->levels;
    for (uint32_t i = 0;; level++, i++) {
        assert(i < wheel->level_count);
        uint64_t number = level_number(level, tick);
        if (number - level->current < level->slots)
            return (struct place){i, level->first + level_place(level, number)};
    }
}

/* The bag in which a pending timer is: on the level it was put. */
static inline struct place place_of(const struct tocsin_wheel *wheel, const struct node *node)
{
    uint32_t i = node->where >> WHERE_LEVEL_SHIFT;
    const struct level *level = &wheel->levels[i];
    uint64_t number = level_number(level, tick_of_due(wheel, node->due));
    return (struct place){i, level->first + level_place(level, number)};
}

/* Chunks. There are always enough: arm makes sure of it, see wheel_grow. */
static inline uint32_t chunk_take(struct tocsin_wheel *wheel)
{
    uint32_t chunk = wheel->free_chunk;
    if (chunk != 0) {
        wheel->free_chunk = wheel->arena[(size_t)chunk * CHUNK_WORDS];
        return chunk;
    }
    assert(wheel->used_chunks < wheel->chunk_room && wheel->used_chunks < CHUNKS_MAX);
    return wheel->used_chunks++;
}

static inline void chunk_free(struct tocsin_wheel *wheel, uint32_t chunk)
{
    wheel->arena[(size_t)chunk * CHUNK_WORDS] = wheel->free_chunk;
    wheel->free_chunk = chunk;
}

/* Chunks that any distribution of so many timers over the bags can need: the full
 * ones, one that is not full per bag, and the one that is not used. */
static inline size_t chunks_for(size_t bags, size_t timers)
{
    return timers / CHUNK_ENTRIES + bags + 1;
}

static inline size_t wheel_chunks_for(const struct tocsin_wheel *wheel, size_t timers)
{
    return chunks_for(wheel->bag_count, timers);
}

/* Bags. */
void bag_add_chunk(struct tocsin_wheel *wheel, struct place place);
void bag_drop_chunk(struct tocsin_wheel *wheel, struct place place);

static inline void bag_put(struct tocsin_wheel *wheel, struct place place, uint32_t index)
{
    if (wheel->bags[place.bag] % CHUNK_WORDS == CHUNK_WORDS - 1)
        bag_add_chunk(wheel, place);
    uint32_t at = ++wheel->bags[place.bag];
    wheel->arena[at] = index;
    wheel->nodes[index].where = place.level << WHERE_LEVEL_SHIFT | at;
}

/* The bag's last count entries, all of one chunk, are out: forget them. */
static inline void bag_drop_last(struct tocsin_wheel *wheel, struct place place, uint32_t count)
{
    wheel->bags[place.bag] -= count;
    if (wheel->bags[place.bag] % CHUNK_WORDS == 0)
        bag_drop_chunk(wheel, place);
}

/* Take a timer out of its bag: the last entry moves into its place. */
static inline void bag_remove(struct tocsin_wheel *wheel, struct place place,
                              const struct node *node)
{
    uint32_t where = node->where;
    uint32_t moved = wheel->arena[wheel->bags[place.bag]];
    wheel->arena[where & WHERE_POSITION] = moved;
    wheel->nodes[moved].where = where;
    bag_drop_last(wheel, place, 1);
}

/* Up to room of the bag's last entries, all of one chunk, taken out of the bag and
 * copied to ret. The nodes of the chunk before are asked for meanwhile. */
uint32_t bag_take_some(struct tocsin_wheel *wheel, struct place place, uint32_t room,
                       uint32_t ret[CHUNK_ENTRIES]);

/* Nodes and handles. */
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
    if (node->generation != timer.id >> 32 || node->where < CHUNK_WORDS)
        return NULL;
    return node;
}

/* NULL for a handle that is not of a reserved timer. */
struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer);

/* To the free list, out of reach of the handles given out for it. */
static inline void node_free(struct tocsin_wheel *wheel, uint32_t index)
{
    struct node *node = &wheel->nodes[index];
    if (++node->generation == 0) {
        node->where = WHERE_WORN;
        wheel->worn++;
        return;
    }
    node->where = WHERE_FREE;
    node->due = wheel->free_node;
    wheel->free_node = index;
}

/* For inboxes: a timer that is not pending yet, but cannot fail to become so. */
enum tocsin_status wheel_reserve(struct tocsin_wheel *wheel, struct tocsin_timer *ret_timer);
/* Cannot fail: that is what the reservation is for. */
void wheel_arm_reserved(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t due,
                        uint64_t cookie);
void wheel_unreserve(struct tocsin_wheel *wheel, struct tocsin_timer timer);

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
