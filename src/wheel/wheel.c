/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "wheel/core.h"

static uint32_t shift_of(uint64_t value)
{
    bool power = (value & (value - 1)) == 0;
    return power ? (uint32_t)__builtin_ctzll(value) : SHIFT_NONE;
}

/* Where the parts lie: in the body the struct, then the bitmaps; in the slab the heads,
 * then the nodes. */
struct layout {
    size_t bitmaps_at;
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
    layout.body_bytes = layout.bitmaps_at + words * sizeof(uint64_t);
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
    wheel_set_tick(wheel, tick_of_now(wheel, now));
    wheel->level_count = geometry->count;
    wheel->asked_levels = geometry->asked;
    wheel->late = geometry->count;
    wheel->ready = geometry->count + 1;
    wheel->bytes = geometry->base == 1 && geometry->count == 8;

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

void slot_emptied(struct tocsin_wheel *wheel, struct place place)
{
    const struct link *heads = &wheel->links[slot_heads(wheel, place)];
    uint32_t any = 0;
    for (uint32_t i = 0; i < SUBLISTS; i++)
        any |= heads[i].next;
    if (any == 0)
        slot_clear(wheel, place);
}

void slot_remove(struct tocsin_wheel *wheel, struct node *node)
{
    struct link link = node->link;
    node->link = (struct link){0, 0};
    if (link.next != link.prev) {
        link_out(wheel->links, link);
        return;
    }
    wheel->links[link.next] = (struct link){0, 0};
    slot_emptied(wheel, node_place(node));
}

static void early_expect(const struct tocsin_wheel *wheel, uint32_t i)
{
    struct link link = wheel->nodes[wheel->early[i]].link;
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
        struct node *node = &wheel->nodes[wheel->early[i]];
        if (i + AHEAD < count)
            early_expect(wheel, i + AHEAD);
        /* It may have been touched again since: cancelled, or armed for later, or for at once. */
        if (!node_is_pending(node) || (node->place & PLACE_MOVES) != 0 ||
            !is_early(wheel, node, node->due))
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
    node->place = 0;
    node->generation = wheel->first_generation;
    *ret_node = node;
    return TOCSIN_OK;
}

static enum tocsin_status node_take(struct tocsin_wheel *wheel, struct node **ret_node)
{
    if (wheel->spare.id != 0) {
        *ret_node = &wheel->nodes[(uint32_t)wheel->spare.id];
        wheel->spare.id = 0;
        return TOCSIN_OK;
    }
    if (wheel->free_node == NODE_NONE)
        return node_take_new(wheel, ret_node);
    *ret_node = &wheel->nodes[wheel->free_node];
    wheel->free_node = (uint32_t)(*ret_node)->due;
    wheel->free_count--;
    return TOCSIN_OK;
}

/* What is due already waits for the next call, so that a callback that arms what
 * is due at once does not keep the running call for ever. */
__attribute__((noinline)) static enum tocsin_status node_enter(struct tocsin_wheel *wheel,
                                                               struct node *node)
{
    uint64_t tick = tick_of_due(wheel, node->due);
    uint32_t spread = wheel->spread < SUBLISTS - 1 ? wheel->spread + 1 : 1;
    wheel->spread = spread;
    if (tick > wheel->tick) {
        node_put(wheel, node, tick, tick + spread);
        return TOCSIN_OK;
    }
    struct place late = {wheel->late, 0};
    node->place = place_word(wheel, late, tick);
    list_put(wheel, late, slot_head(wheel, late, spread), node);
    return TOCSIN_OK;
}

/* The timer stays where it is linked. Whether it is due before that slot begins is known only when
 * its node has come from memory: no branch depends on it, so that the processor goes on meanwhile. */
static inline void node_stay(struct tocsin_wheel *wheel, uint32_t index, uint64_t due)
{
    uint32_t count = wheel->early_count;
    wheel->early[count] = index;
    count += is_early(wheel, &wheel->nodes[index], due);
    wheel->early_count = count;
    if (count == EARLY_MAX)
        wheel_settle_early(wheel);
}

/* A node that is free, or was reserved. */
static void node_arm(struct tocsin_wheel *wheel, struct node *node, uint64_t due, uint64_t cookie)
{
    bool linked = node->link.next != 0;
    node->due = due;
    node->cookie = cookie;
    node->generation |= 1;
    if (linked && due > wheel->tick) {
        node_stay(wheel, node_index(wheel, node), due);
        return;
    }
    if (linked)
        slot_remove(wheel, node);
    (void)node_enter(wheel, node);
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
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    slot_remove(wheel, node);
    node->due = due;
    return node_enter(wheel, node);
}

__attribute__((noinline)) static enum tocsin_status
cancel_any(struct tocsin_wheel *wheel, struct tocsin_timer timer, uint64_t *ret_cookie)
{
    struct node *node = node_pending(wheel, timer);
    if (node == NULL)
        return not_pending(wheel, timer);
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    slot_remove(wheel, node);
    node_free(wheel, node);
    return TOCSIN_OK;
}

/* The short ways: the node stays in its list (docs/decisions/0003), or is in none when it is armed. */

enum tocsin_status tocsin_wheel_arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_timer)
{
    struct tocsin_timer timer = wheel->spare;
    struct node *node = &wheel->nodes[(uint32_t)timer.id];
    if (timer.id == 0 || ret_timer == NULL || (node->link.next != 0 && due <= wheel->tick))
        return arm_any(wheel, due, cookie, ret_timer);
    wheel->spare.id = 0;
    *ret_timer = timer;
    node->due = due;
    node->cookie = cookie;
    node->generation = (uint32_t)(timer.id >> 32);
    if (node->link.next == 0)
        return node_enter(wheel, node);
    node_stay(wheel, (uint32_t)timer.id, due);
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
    if (node == NULL || (node->place & PLACE_MOVES) != 0 || due <= wheel->tick)
        return rearm_any(wheel, timer, due);
    node->due = due;
    node_stay(wheel, (uint32_t)timer.id, due);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_wheel_cancel(struct tocsin_wheel *wheel, struct tocsin_timer timer,
                                       uint64_t *ret_cookie)
{
    struct node *node = node_pending(wheel, timer);
    uint64_t next; /* the handle of who comes after */
    if (node == NULL || (node->place & PLACE_MOVES) != 0 ||
        __builtin_add_overflow(timer.id, UINT64_C(2) << 32, &next))
        return cancel_any(wheel, timer, ret_cookie);
    if (ret_cookie != NULL)
        *ret_cookie = node->cookie;
    node->generation = (uint32_t)(timer.id >> 32) + 1;
    if (wheel->spare.id == 0) {
        wheel->spare.id = next;
    } else {
        node->due = wheel->free_node;
        wheel->free_node = (uint32_t)timer.id;
        wheel->free_count++;
    }
    return TOCSIN_OK;
}

struct node *node_reserved(const struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    uint32_t index = (uint32_t)timer.id;
    if (index >= wheel->used_nodes)
        return NULL;
    struct node *node = &wheel->nodes[index];
    return node_is_reserved(node) && node_handle(wheel, node).id == timer.id ? node : NULL;
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
    struct node *node;
    enum tocsin_status status = node_take(wheel, &node);
    if (status != TOCSIN_OK)
        return status;
    node->place |= PLACE_RESERVED;
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
    if ((node->place & PLACE_DOOMED) != 0) {
        node_free(wheel, node);
        return;
    }
    node->place &= ~(uint32_t)PLACE_RESERVED;
    node_arm(wheel, node, due, cookie);
}

bool wheel_doom(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    struct node *node = node_reserved(wheel, timer);
    if (node == NULL || (node->place & PLACE_DOOMED) != 0)
        return false;
    node->place |= PLACE_DOOMED;
    return true;
}

void wheel_unreserve(struct tocsin_wheel *wheel, struct tocsin_timer timer)
{
    struct node *node = node_reserved(wheel, timer);
    assert(node != NULL);
    wheel->reserved--;
    node_free(wheel, node);
}
