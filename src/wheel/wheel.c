/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "wheel/core.h"

static uint32_t shift_of(uint64_t value)
{
    bool power = (value & (value - 1)) == 0;
    return power ? (uint32_t)__builtin_ctzll(value) : SHIFT_NONE;
}

/* Where the parts lie: in the body the struct, then the bitmaps, then which lists have
 * timers; in the slab the heads, then the nodes. */
struct layout {
    size_t bitmaps_at;
    size_t lists_at;
    size_t body_bytes;
    uint32_t first_node; /* its position */
};

static struct layout layout_of(const struct geometry *geometry)
{
    size_t words = 2 * occupancy_room(1); /* late and ready */
    uint32_t heads = HEAD_FIRST + 2 * SUBLISTS;
    for (uint32_t i = 0; i < geometry->count; i++) {
        heads += geometry->levels[i].slots * SUBLISTS;
        words += occupancy_room(geometry->levels[i].slots);
    }
    struct layout layout = {.bitmaps_at = (sizeof(struct tocsin_wheel) + 63) / 64 * 64};
    layout.lists_at = layout.bitmaps_at + words * sizeof(uint64_t);
    layout.body_bytes = layout.lists_at + heads / SUBLISTS;
    layout.first_node = (heads + 7) / 8 * 8; /* a cache line */
    return layout;
}

static void level_init(struct level *level, const struct tocsin_wheel_level *from, uint32_t heads,
                       uint64_t tick, uint64_t *bitmaps)
{
    level->ticks = from->tick;
    level->shift = shift_of(from->tick);
    level->slots = from->slots;
    level->mask = shift_of(from->slots) != SHIFT_NONE ? from->slots - 1 : 0;
    level->heads = heads;
    level->current = level_number(level, tick);
    occupancy_init(&level->occupied, from->slots, bitmaps);
}

static void body_init(struct tocsin_wheel *wheel, const struct geometry *geometry,
                      const struct layout *layout, uint64_t now)
{
    wheel->first_node = layout->first_node;
    wheel->base = geometry->base;
    wheel->now = now;
    wheel->tick = tick_of_now(wheel, now);
    wheel->level_count = geometry->count;
    wheel->asked_levels = geometry->asked;
    wheel->late = geometry->count;
    wheel->ready = geometry->count + 1;
    wheel->bytes = geometry->base == 1 && geometry->count == BYTE_LEVELS;

    wheel->lists = (uint8_t *)wheel + layout->lists_at;
    uint64_t *bitmaps = (uint64_t *)((char *)wheel + layout->bitmaps_at);
    uint32_t heads = HEAD_FIRST;
    for (uint32_t i = 0; i < geometry->count + 2; i++) {
        static const struct tocsin_wheel_level single = {1, 1};
        const struct tocsin_wheel_level *from =
            i < geometry->count ? &geometry->levels[i] : &single;
        struct level *level = &wheel->levels[i];
        level_init(level, from, heads, wheel->tick, bitmaps);
        if (i < geometry->count)
            wheel->bytes &= level->shift == 8 * i && level->slots == 256;
        heads += from->slots * SUBLISTS;
        bitmaps += occupancy_room(from->slots);
    }
    wheel->early_due = UINT64_MAX;
    wheel->free_node = NODE_NONE;
    wheel->first_generation = 2;
}

static uint32_t nodes_max(const struct tocsin_wheel *wheel)
{
    return wheel->max_timers + NODE_SPARE;
}

size_t slab_bytes(const struct tocsin_wheel *wheel, size_t nodes)
{
    return wheel->first_node * sizeof(struct link) + nodes * sizeof(struct node);
}

void slab_set_room(struct tocsin_wheel *wheel)
{
    size_t room = (wheel->slab.committed_bytes - slab_bytes(wheel, 0)) / sizeof(struct node);
    wheel->node_room = room < nodes_max(wheel) ? (uint32_t)room : nodes_max(wheel);
}

/* Room for at least one more node. */
static bool wheel_grow(struct tocsin_wheel *wheel)
{
    size_t want = (size_t)wheel->used_nodes + 1;
    if (want > nodes_max(wheel))
        return false;
    if (!region_grow(&wheel->slab, slab_bytes(wheel, want)))
        return false;
    slab_set_room(wheel);
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
    struct region body = {0};
    if (!region_init(&body, complete.memory, layout.body_bytes))
        goto no_memory;
    if (!region_grow(&body, layout.body_bytes)) {
        region_release(&body);
        goto no_memory;
    }
    struct tocsin_wheel *wheel = body.base;
    wheel->body = body;
    wheel->max_timers = complete.max_timers;
    body_init(wheel, &geometry, &layout, complete.now);

    if (!region_init(&wheel->slab, complete.memory, slab_bytes(wheel, nodes_max(wheel))) ||
        !wheel_grow(wheel)) {
        tocsin_wheel_destroy(wheel);
        goto no_memory;
    }
    wheel->links = wheel->slab.base;
    wheel->nodes = (struct node *)(wheel->links + wheel->first_node);
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
    region_release(&wheel->slab);
    struct region body = wheel->body; /* the wheel lies in it */
    region_release(&body);
}

void node_put_anywhere(struct tocsin_wheel *wheel, struct node *node, uint64_t tick,
                       uint64_t number)
{
    struct place place = place_for(wheel, tick);
    if (wheel->bytes) {
        byte_put(wheel, node, place, tick, number);
        return;
    }
    node->place = place_word_moves(place);
    list_put(wheel, place, slot_head(wheel, place, number), node);
}

static struct place place_of_head(const struct tocsin_wheel *wheel, uint32_t head)
{
    uint32_t level = wheel->level_count + 1;
    while (wheel->levels[level].heads > head)
        level--;
    return (struct place){level, (head - wheel->levels[level].heads) / SUBLISTS};
}

void slot_remove(struct tocsin_wheel *wheel, struct node *node)
{
    struct link link = node->link;
    node->link = (struct link){0, 0};
    if (link.next != link.prev) {
        link_out(wheel->links, link);
        return;
    }
    list_emptied(wheel, place_of_head(wheel, link.next), link.next);
}

static void early_expect(const struct tocsin_wheel *wheel, uint32_t i)
{
    struct link link = wheel->early[i]->link;
    __builtin_prefetch(&wheel->links[link.next], 1);
    __builtin_prefetch(&wheel->links[link.prev], 1);
}

void wheel_settle_early(struct tocsin_wheel *wheel)
{
    enum { AHEAD = 8 }; /* as many neighbours as can be on their way from memory at a time */
    uint32_t count = wheel->early_count;
    for (uint32_t i = 0; i < count && i < AHEAD; i++)
        early_expect(wheel, i);
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = wheel->early[i];
        if (i + AHEAD < count)
            early_expect(wheel, i + AHEAD);
        /* It may have been touched again since: cancelled, or armed for later, or for at once. */
        if (!node_is_pending(node) || (node->place & PLACE_MOVES) != 0 ||
            !is_early(node->place, node->due))
            continue;
        slot_remove(wheel, node);
        node_put(wheel, node, node->due, node->due);
    }
    wheel->early_count = wheel->early_seen = 0;
    wheel->early_due = UINT64_MAX;
}

/* No free node: one that was never used. */
static enum tocsin_status node_take_new(struct tocsin_wheel *wheel, struct node **ret_node)
{
    if (wheel->used_nodes - wheel->worn >= wheel->max_timers)
        return TOCSIN_FULL;
    if (wheel->used_nodes == wheel->node_room && !wheel_grow(wheel))
        return wheel->used_nodes == nodes_max(wheel) ? TOCSIN_FULL : TOCSIN_NO_MEMORY;
    struct node *node = &wheel->nodes[wheel->used_nodes++];
    node->link = (struct link){0, 0};
    node->cookie = NODE_FREE;
    node->generation = wheel->first_generation;
    *ret_node = node;
    return TOCSIN_OK;
}

static enum tocsin_status node_take(struct tocsin_wheel *wheel, struct node **ret_node)
{
    wheel_let_go(wheel);
    if (wheel->free_node == NODE_NONE)
        return node_take_new(wheel, ret_node);
    *ret_node = &wheel->nodes[wheel->free_node];
    wheel->free_node = (uint32_t)(*ret_node)->due;
    wheel->free_count--;
    return TOCSIN_OK;
}

/* What is due already waits for the next call, so that a callback that arms what
 * is due at once does not keep the running call for ever. */
static inline void node_enter(struct tocsin_wheel *wheel, struct node *node)
{
    uint64_t tick = tick_of_due(wheel, node->due);
    uint32_t spread = wheel->spread < SUBLISTS - 1 ? wheel->spread + 1 : 1;
    wheel->spread = spread;
    if (tick > wheel->tick) {
        node_put(wheel, node, tick, tick + spread);
        return;
    }
    struct place late = {wheel->late, 0};
    node->place = place_word_moves(late);
    list_put(wheel, late, slot_head(wheel, late, spread), node);
}

/* The timer stays where it is linked. Whether it is due before that slot begins is known only when
 * its node has come from memory: no branch depends on it, so that the processor goes on meanwhile. */
static inline void node_stay(struct tocsin_wheel *wheel, struct node *node)
{
    uint32_t count = wheel->early_count;
    wheel->early[count] = node;
    count += is_early(node->place, node->due);
    wheel->early_count = count;
    if (count == EARLY_MAX)
        wheel_settle_early(wheel);
}

/* A node that is free, or was reserved. */
static void node_arm(struct tocsin_wheel *wheel, struct node *node, uint64_t due, uint64_t cookie)
{
    node->due = due;
    node->cookie = cookie;
    node->generation |= 1;
    if (due > wheel->tick && node_may_stay(wheel, node)) {
        node_stay(wheel, node);
        return;
    }
    if (node->link.next != 0)
        slot_remove(wheel, node);
    node_enter(wheel, node);
}

/* The long ways. Out of line, so that the short ones need no registers saved. */

__attribute__((noinline)) static enum tocsin_status
arm_any(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie, struct tocsin_timer *ret_timer)
{
    struct node *node;
    enum tocsin_status status = node_take(wheel, &node);
    if (status != TOCSIN_OK)
        return status;
    node_arm(wheel, node, due, cookie);
    if (ret_timer != NULL)
        *ret_timer = node_handle(wheel, node);
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
    wheel_let_go(wheel);
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    slot_remove(wheel, node);
    node->due = due;
    node_enter(wheel, node);
    return TOCSIN_OK;
}

__attribute__((noinline)) static enum tocsin_status
cancel_any(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t *ret_cookie)
{
    wheel_let_go(wheel);
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    wheel->cancelled = timer;
    return TOCSIN_OK;
}

void wheel_let_go_now(struct tocsin_wheel *wheel)
{
    struct node *node = &wheel->nodes[handle_index(wheel->cancelled)];
    wheel->cancelled.id = 0;
    if ((node->place & PLACE_MOVES) != 0)
        slot_remove(wheel, node);
    node_free(wheel, node);
}

/* The short ways: the node stays in its list (docs/decisions/0003). A cancel says no more than who it was;
 * an arm that comes next takes node and place over. */

enum tocsin_status tocsin_wheel_arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_timer)
{
    struct tocsin_timer timer = wheel->cancelled;
    struct node *node = &wheel->nodes[handle_index(wheel->cancelled)];
    if (timer.id == 0 || ret_timer == NULL || due <= wheel->tick ||
        (uint32_t)timer.id == UINT32_MAX || (node->place & PLACE_MOVES) != 0)
        return arm_any(wheel, due, cookie, ret_timer);
    timer.id += 2;
    wheel->cancelled.id = 0;
    *ret_timer = timer;
    node->due = due;
    node->cookie = cookie;
    node->generation = (uint32_t)timer.id;
    node_stay(wheel, node);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_wheel_arm_after(struct tocsin_wheel *wheel, uint64_t delay,
                                          uint64_t cookie, struct tocsin_timer *ret_timer)
{
    uint64_t due;
    if (__builtin_add_overflow(wheel->now, delay, &due))
        due = UINT64_MAX;
    return tocsin_wheel_arm(wheel, due, cookie, ret_timer);
}

enum tocsin_status tocsin_wheel_rearm(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                      uint64_t due)
{
    struct node *node = node_pending(wheel, timer);
    if (node == NULL || due <= wheel->tick || timer.id == wheel->cancelled.id ||
        (node->place & PLACE_MOVES) != 0)
        return rearm_any(wheel, timer, due);
    node->due = due;
    node_stay(wheel, node);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_wheel_cancel(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                       uint64_t *ret_cookie)
{
    struct node *node = node_pending(wheel, timer);
    if (node == NULL || wheel->cancelled.id != 0)
        return cancel_any(wheel, timer, ret_cookie);
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    wheel->cancelled = timer;
    return TOCSIN_OK;
}

struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = handle_index(timer);
    if (index >= wheel->used_nodes)
        return NULL;
    struct node *node = &wheel->nodes[index];
    return node_is_reserved(node) && node_handle(wheel, node).id == timer.id ? node : NULL;
}

enum tocsin_status tocsin_wheel_get(const struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                    struct tocsin_due *ret_due)
{
    const struct node *node = node_pending(wheel, timer);
    if (node == NULL || timer.id == wheel->cancelled.id)
        return not_pending(wheel, timer);
    *ret_due = (struct tocsin_due){timer, node->due, node->cookie};
    return TOCSIN_OK;
}

enum tocsin_status wheel_reserve(struct tocsin_wheel *wheel, struct tocsin_timer *ret_timer)
{
    struct node *node;
    enum tocsin_status status = node_take(wheel, &node);
    if (status != TOCSIN_OK)
        return status;
    node->cookie = NODE_RESERVED;
    wheel->reserved++;
    *ret_timer = node_handle(wheel, node);
    return TOCSIN_OK;
}

void wheel_arm_reserved(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t due,
                        uint64_t cookie)
{
    struct node *node = node_reserved(wheel, timer);
    assert(node != NULL);
    wheel->reserved--;
    if (node->cookie == NODE_DOOMED) {
        node_free(wheel, node);
        return;
    }
    node_arm(wheel, node, due, cookie);
}

bool wheel_doom(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    struct node *node = node_reserved(wheel, timer);
    if (node == NULL || node->cookie == NODE_DOOMED)
        return false;
    node->cookie = NODE_DOOMED;
    return true;
}

void wheel_unreserve(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    struct node *node = node_reserved(wheel, timer);
    assert(node != NULL);
    wheel->reserved--;
    node_free(wheel, node);
}
