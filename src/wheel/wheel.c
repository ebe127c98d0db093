/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "wheel/core.h"

static uint32_t shift_of(uint64_t value)
{
    bool power = (value & (value - 1)) == 0;
    return power ? (uint32_t)__builtin_ctzll(value) : SHIFT_NONE;
}

/* Where the parts of the body lie: the struct, then the bags, then the bitmaps. */
struct layout {
    size_t bag_count; /* with late and ready */
    size_t bags_at;   /* and as much again for their chunk counts */
    size_t bitmaps_at;
    size_t bytes;
};

static struct layout layout_of(const struct geometry *geometry)
{
    size_t words = 2 * occupancy_room(1); /* late and ready */
    struct layout layout = {.bag_count = 2};
    for (uint32_t i = 0; i < geometry->count; i++) {
        layout.bag_count += geometry->levels[i].slots;
        words += occupancy_room(geometry->levels[i].slots);
    }
    layout.bags_at = (sizeof(struct tocsin_wheel) + 63) / 64 * 64;
    layout.bitmaps_at = (layout.bags_at + 2 * layout.bag_count * sizeof(uint32_t) + 63) / 64 * 64;
    layout.bytes = layout.bitmaps_at + words * sizeof(uint64_t);
    return layout;
}

static void level_init(struct level *level, const struct tocsin_wheel_level *from, uint32_t first,
                       uint64_t tick, uint64_t *bitmaps)
{
    level->ticks = from->tick;
    level->shift = shift_of(from->tick);
    level->slots = from->slots;
    level->mask = shift_of(from->slots) != SHIFT_NONE ? from->slots - 1 : 0;
    level->first = first;
    level->current = level_number(level, tick);
    occupancy_init(&level->occupied, from->slots, bitmaps);
}

static void body_init(struct tocsin_wheel *wheel, const struct geometry *geometry,
                      const struct layout *layout, uint64_t now)
{
    wheel->bags = (uint32_t *)((char *)wheel + layout->bags_at);
    wheel->bag_count = (uint32_t)layout->bag_count;
    wheel->bag_chunks = wheel->bags + layout->bag_count;
    wheel->base = geometry->base;
    wheel->now = now;
    wheel->tick = tick_of_now(wheel, now);
    wheel->level_count = geometry->count;
    wheel->asked_levels = geometry->asked;
    wheel->late = geometry->count;
    wheel->ready = geometry->count + 1;
    wheel->bytes = geometry->base == 1 && geometry->count == 8;

    uint64_t *bitmaps = (uint64_t *)((char *)wheel + layout->bitmaps_at);
    uint32_t first = 0;
    for (uint32_t i = 0; i < geometry->count + 2; i++) {
        static const struct tocsin_wheel_level single = {1, 1};
        const struct tocsin_wheel_level *from =
            i < geometry->count ? &geometry->levels[i] : &single;
        struct level *level = &wheel->levels[i];
        level_init(level, from, first, wheel->tick, bitmaps);
        if (i < geometry->count)
            wheel->bytes &= level->shift == 8 * i && level->slots == 256;
        first += from->slots;
        bitmaps += occupancy_room(from->slots);
    }
    wheel->short_tick = wheel->bytes ? wheel->tick : UINT64_MAX;
    for (uint32_t i = 0; i < wheel->bag_count; i++)
        wheel->bags[i] = BAG_EMPTY;
    wheel->free_node = NODE_NONE;
    wheel->used_chunks = 1; /* chunk 0 stands for none */
    wheel->first_generation = 1;
}

static uint32_t nodes_max(const struct tocsin_wheel *wheel)
{
    return wheel->max_timers + NODE_SPARE;
}

/* Room for at least one more node, and for whatever chunks that may take: so only
 * here can memory be wanting, never when timers move. */
static bool wheel_grow(struct tocsin_wheel *wheel)
{
    size_t want = (size_t)wheel->used_nodes + 1;
    if (want > nodes_max(wheel))
        return false;
    if (!region_grow(&wheel->node_region, want * sizeof(struct node)))
        return false;
    size_t room = wheel->node_region.committed_bytes / sizeof(struct node);
    if (room > nodes_max(wheel))
        room = nodes_max(wheel);
    size_t chunks = wheel_chunks_for(wheel, room);
    if (!region_grow(&wheel->arena_region, chunks * CHUNK_WORDS * sizeof(uint32_t)))
        return false;
    wheel->node_room = (uint32_t)room;
    wheel->chunk_room = (uint32_t)chunks;
    return true;
}

static enum tocsin_status refuse(struct tocsin_why *ret_why, const char *text, unsigned long number)
{
    if (ret_why != NULL)
        (void)snprintf(ret_why->text, sizeof ret_why->text, text, number);
    return TOCSIN_INVALID;
}

static enum tocsin_status config_complete(struct tocsin_wheel_config *config,
                                          struct tocsin_why *ret_why)
{
    if (config->levels == NULL && config->level_count == 0)
        config->levels = tocsin_wheel_preset("fine", &config->level_count);
    if (config->max_timers == 0)
        config->max_timers = TOCSIN_WHEEL_TIMERS_DEFAULT;
    if (config->memory == NULL)
        config->memory = tocsin_memory_system();
    if (config->max_timers > TOCSIN_WHEEL_TIMERS_MAX)
        return refuse(ret_why, "max_timers is %lu, more than TOCSIN_WHEEL_TIMERS_MAX",
                      config->max_timers);
    return tocsin_wheel_valid(config->levels, config->level_count, ret_why);
}

enum tocsin_status tocsin_wheel_create(const struct tocsin_wheel_config *config,
                                       struct tocsin_wheel **ret_wheel, struct tocsin_why *ret_why)
{
    struct tocsin_wheel_config complete =
        config != NULL ? *config : (struct tocsin_wheel_config){0};
    enum tocsin_status status = config_complete(&complete, ret_why);
    if (status != TOCSIN_OK)
        return status;

    struct geometry geometry;
    geometry_complete(&geometry, complete.levels, complete.level_count);
    struct layout layout = layout_of(&geometry);
    if (chunks_for(layout.bag_count, complete.max_timers + NODE_SPARE) > CHUNKS_MAX)
        return refuse(ret_why, "max_timers is %lu, too many for a geometry with so many slots",
                      complete.max_timers);
    struct region body = {0};
    if (!region_init(&body, complete.memory, layout.bytes))
        goto no_memory;
    if (!region_grow(&body, layout.bytes)) {
        region_release(&body);
        goto no_memory;
    }
    struct tocsin_wheel *wheel = body.base;
    wheel->body = body;
    wheel->max_timers = complete.max_timers;
    body_init(wheel, &geometry, &layout, complete.now);

    size_t node_bytes = (size_t)nodes_max(wheel) * sizeof(struct node);
    size_t arena_bytes = wheel_chunks_for(wheel, nodes_max(wheel)) * CHUNK_WORDS * sizeof(uint32_t);
    if (!region_init(&wheel->node_region, complete.memory, node_bytes) ||
        !region_init(&wheel->arena_region, complete.memory, arena_bytes) || !wheel_grow(wheel)) {
        tocsin_wheel_destroy(wheel);
        goto no_memory;
    }
    wheel->nodes = wheel->node_region.base;
    wheel->arena = wheel->arena_region.base;
    *ret_wheel = wheel;
    return TOCSIN_OK;

no_memory:
    if (ret_why != NULL)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory for a wheel of %lu timers",
                       (unsigned long)complete.max_timers);
    return TOCSIN_NO_MEMORY;
}

void tocsin_wheel_destroy(struct tocsin_wheel *wheel)
{
    if (wheel == NULL)
        return;
    assert(!wheel->in_call);
    region_release(&wheel->arena_region);
    region_release(&wheel->node_region);
    struct region body = wheel->body; /* the wheel lies in it */
    region_release(&body);
}

/* A bag's last chunk is full, or there is none: a new one. */
void bag_add_chunk(struct tocsin_wheel *wheel, struct place place)
{
    uint32_t last = wheel->bags[place.bag];
    uint32_t chunk = chunk_take(wheel);
    wheel->arena[(size_t)chunk * CHUNK_WORDS] = last / CHUNK_WORDS;
    wheel->bags[place.bag] = chunk * CHUNK_WORDS;
    wheel->bag_chunks[place.bag]++;
    if (last == BAG_EMPTY) {
        struct level *level = &wheel->levels[place.level];
        level->in_use++;
        wheel->levels_in_use |= 1u << place.level;
        occupancy_set(&level->occupied, place.bag - level->first);
    }
}

/* A bag's last chunk has no entry left. */
void bag_drop_chunk(struct tocsin_wheel *wheel, struct place place)
{
    uint32_t chunk = wheel->bags[place.bag] / CHUNK_WORDS;
    uint32_t before = wheel->arena[(size_t)chunk * CHUNK_WORDS];
    wheel->bags[place.bag] = before * CHUNK_WORDS + BAG_EMPTY;
    wheel->bag_chunks[place.bag]--;
    chunk_free(wheel, chunk);
    if (before == 0) {
        struct level *level = &wheel->levels[place.level];
        if (--level->in_use == 0)
            wheel->levels_in_use &= ~(1u << place.level);
        occupancy_clear(&level->occupied, place.bag - level->first);
    }
}

/* No free node: one that was never used. */
static enum tocsin_status node_take_new(struct tocsin_wheel *wheel, uint32_t *ret_index)
{
    if (wheel->used_nodes - wheel->worn >= wheel->max_timers)
        return TOCSIN_FULL;
    if (wheel->used_nodes == wheel->node_room && !wheel_grow(wheel))
        return wheel->used_nodes == nodes_max(wheel) ? TOCSIN_FULL : TOCSIN_NO_MEMORY;
    uint32_t index = wheel->used_nodes++;
    wheel->nodes[index].generation = wheel->first_generation;
    *ret_index = index;
    return TOCSIN_OK;
}

static enum tocsin_status node_take(struct tocsin_wheel *wheel, uint32_t *ret_index)
{
    if (wheel->spare.id != 0) {
        *ret_index = (uint32_t)wheel->spare.id;
        wheel->spare.id = 0;
        return TOCSIN_OK;
    }
    uint32_t index = wheel->free_node;
    if (index == NODE_NONE)
        return node_take_new(wheel, ret_index);
    wheel->free_node = (uint32_t)wheel->nodes[index].due;
    *ret_index = index;
    return TOCSIN_OK;
}

/* What is due already waits for the next call, so that a callback that arms what
 * is due at once does not keep the running call for ever. */
static struct place place_to_arm(const struct tocsin_wheel *wheel, uint64_t due)
{
    uint64_t tick = tick_of_due(wheel, due);
    if (tick > wheel->tick)
        return place_for(wheel, tick);
    return (struct place){wheel->late, wheel->levels[wheel->late].first};
}

static void node_arm(struct tocsin_wheel *wheel, uint32_t index, uint64_t due, uint64_t cookie)
{
    struct node *node = &wheel->nodes[index];
    node->due = due;
    node->cookie = cookie;
    bag_put(wheel, place_to_arm(wheel, due), index);
}

/* The long ways. Out of line, so that the short ones need no registers saved. */

__attribute__((noinline)) static enum tocsin_status
arm_any(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie, struct tocsin_timer *ret_timer)
{
    uint32_t index;
    enum tocsin_status status = node_take(wheel, &index);
    if (status != TOCSIN_OK)
        return status;
    node_arm(wheel, index, due, cookie);
    if (ret_timer != NULL)
        *ret_timer = node_handle(wheel, index);
    return TOCSIN_OK;
}

/* Why a handle that is not of a pending timer can be neither read nor changed. */
static enum tocsin_status not_pending(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    return node_reserved(wheel, timer) != NULL ? TOCSIN_BUSY : TOCSIN_STALE;
}

__attribute__((noinline)) static enum tocsin_status
rearm_any(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t due)
{
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    struct place from = place_of(wheel, node);
    struct place to = place_to_arm(wheel, due);
    node->due = due;
    if (from.bag == to.bag)
        return TOCSIN_OK;
    bag_remove(wheel, from, node);
    bag_put(wheel, to, (uint32_t)timer.id);
    return TOCSIN_OK;
}

__attribute__((noinline)) static enum tocsin_status
cancel_any(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t *ret_cookie)
{
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    bag_remove(wheel, place_of(wheel, node), node);
    node_free(wheel, (uint32_t)timer.id);
    return TOCSIN_OK;
}

/* A timer that is in no bag just now, to where it belongs. */
__attribute__((noinline)) static enum tocsin_status put_any(struct tocsin_wheel *wheel,
                                                            uint32_t index)
{
    bag_put(wheel, place_to_arm(wheel, wheel->nodes[index].due), index);
    return TOCSIN_OK;
}

/* The short ways: "fine", a timer on one of its levels, no chunk to take or free. What
 * counts on them is the number of stores (docs/decisions/0003). */

/* The handle of a free node, without a look at the node if it was freed last; 0 when
 * there is none. */
static inline struct tocsin_timer node_next(struct tocsin_wheel *wheel)
{
    struct tocsin_timer next = wheel->spare;
    if (next.id != 0) {
        wheel->spare.id = 0;
        return next;
    }
    uint32_t index = wheel->free_node;
    if (index == NODE_NONE)
        return next;
    wheel->free_node = (uint32_t)wheel->nodes[index].due;
    return node_handle(wheel, index);
}

static inline enum tocsin_status byte_put(struct tocsin_wheel *wheel, struct node *node,
                                          uint32_t index, uint64_t due)
{
    uint64_t tick = wheel->short_tick;
    if (due <= tick)
        return put_any(wheel, index);
    uint32_t level = byte_level(tick, due);
    uint32_t *last = &wheel->bags[byte_bag(level, due)];
    uint32_t at = *last + 1;
    if (at % CHUNK_WORDS == 0)
        return put_any(wheel, index);
    *last = at;
    wheel->arena[at] = index;
    node->where = level << WHERE_LEVEL_SHIFT | at;
    return TOCSIN_OK;
}

enum tocsin_status tocsin_wheel_arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_timer)
{
    if (ret_timer == NULL)
        return arm_any(wheel, due, cookie, ret_timer);
    struct tocsin_timer timer = node_next(wheel);
    if (timer.id == 0)
        return arm_any(wheel, due, cookie, ret_timer);
    *ret_timer = timer;
    struct node *node = &wheel->nodes[(uint32_t)timer.id];
    node->due = due;
    node->cookie = cookie;
    return byte_put(wheel, node, (uint32_t)timer.id, due);
}

enum tocsin_status tocsin_wheel_arm_after(struct tocsin_wheel *wheel, uint64_t delay,
                                          uint64_t cookie, struct tocsin_timer *ret_timer)
{
    uint64_t due;
    if (__builtin_add_overflow(wheel->now, delay, &due))
        due = UINT64_MAX;
    return tocsin_wheel_arm(wheel, due, cookie, ret_timer);
}

/* Take a timer out of its bag; where is where it was. False, and nothing done: take
 * the long way. */
static inline bool byte_remove(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = (uint32_t)timer.id;
    if (index >= wheel->used_nodes || !wheel->bytes)
        return false;
    struct node *node = &wheel->nodes[index];
    uint32_t where = node->where;
    /* Only a position on one of the eight levels, not in late or ready, will do. */
    if (node->generation != timer.id >> 32 ||
        where - CHUNK_WORDS >= (8u << WHERE_LEVEL_SHIFT) - CHUNK_WORDS)
        return false;
    uint32_t *last = &wheel->bags[byte_bag(where >> WHERE_LEVEL_SHIFT, node->due)];
    uint32_t moved_at = *last;
    if ((moved_at - 1) % CHUNK_WORDS == 0)
        return false;
    uint32_t moved = wheel->arena[moved_at];
    *last = moved_at - 1;
    wheel->arena[where & WHERE_POSITION] = moved;
    wheel->nodes[moved].where = where;
    return true;
}

enum tocsin_status tocsin_wheel_rearm(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                      uint64_t due)
{
    if (!byte_remove(wheel, timer))
        return rearm_any(wheel, timer, due);
    struct node *node = &wheel->nodes[(uint32_t)timer.id];
    node->due = due;
    return byte_put(wheel, node, (uint32_t)timer.id, due);
}

enum tocsin_status tocsin_wheel_cancel(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                       uint64_t *ret_cookie)
{
    uint32_t next_generation = (uint32_t)(timer.id >> 32) + 1;
    if (next_generation == 0 || !byte_remove(wheel, timer))
        return cancel_any(wheel, timer, ret_cookie);
    uint32_t index = (uint32_t)timer.id;
    struct node *node = &wheel->nodes[index];
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    node->where = WHERE_FREE;
    node->generation = next_generation;
    if (wheel->spare.id == 0) {
        wheel->spare.id = timer.id + (UINT64_C(1) << 32);
    } else {
        node->due = wheel->free_node;
        wheel->free_node = index;
    }
    return TOCSIN_OK;
}

struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = (uint32_t)timer.id;
    if (index >= wheel->used_nodes)
        return NULL;
    struct node *node = &wheel->nodes[index];
    bool reserved = node->where == WHERE_RESERVED && node->generation == timer.id >> 32;
    return reserved ? node : NULL;
}

enum tocsin_status tocsin_wheel_get(const struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                    struct tocsin_due *ret_due)
{
    const struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    *ret_due = (struct tocsin_due){timer, node->due, node->cookie};
    return TOCSIN_OK;
}

enum tocsin_status wheel_reserve(struct tocsin_wheel *wheel, struct tocsin_timer *ret_timer)
{
    uint32_t index;
    enum tocsin_status status = node_take(wheel, &index);
    if (status != TOCSIN_OK)
        return status;
    wheel->nodes[index].where = WHERE_RESERVED;
    wheel->reserved++;
    *ret_timer = node_handle(wheel, index);
    return TOCSIN_OK;
}

void wheel_arm_reserved(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t due,
                        uint64_t cookie)
{
    assert(node_reserved(wheel, timer) != NULL);
    wheel->reserved--;
    node_arm(wheel, (uint32_t)timer.id, due, cookie);
}

void wheel_unreserve(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    assert(node_reserved(wheel, timer) != NULL);
    wheel->reserved--;
    node_free(wheel, (uint32_t)timer.id);
}
