/* SPDX-License-Identifier: MIT */
#include "base/number_map.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_MIN = 64 };

void number_map_release(struct number_map *map)
{
    free(map->slots);
    *map = (struct number_map){0};
}

static uint32_t home(const struct number_map *map, uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15); /* numbers side by side would be one long cluster */
    return (uint32_t)(key >> 32) & map->mask;
}

/* The slot of this key, or the empty one where it would be. */
static struct number_slot *slot(const struct number_map *map, uint64_t key)
{
    uint32_t at = home(map, key);
    while (map->slots[at].key != 0 && map->slots[at].key != key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static bool grow(struct number_map *map)
{
    uint32_t size = map->slots == NULL ? SLOTS_MIN : (map->mask + 1) * 2;
    struct number_map bigger = {.slots = calloc(size, sizeof *bigger.slots), .mask = size - 1};
    if (bigger.slots == NULL)
        return false;
    for (uint32_t i = 0; map->slots != NULL && i <= map->mask; i++) {
        if (map->slots[i].key != 0)
            *slot(&bigger, map->slots[i].key) = map->slots[i];
    }
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
    return true;
}

bool number_map_make_room(struct number_map *map, uint32_t count)
{
    while (map->slots == NULL || count > map->mask / 2 + 1) {
        if (!grow(map))
            return false;
    }
    return true;
}

bool number_map_put(struct number_map *map, uint64_t key, uint32_t value)
{
    assert(key != 0);
    if (!number_map_make_room(map, map->count + 1))
        return false;
    struct number_slot *at = slot(map, key);
    map->count += at->key == 0;
    *at = (struct number_slot){key, value};
    return true;
}

bool number_map_get(const struct number_map *map, uint64_t key, uint32_t *ret_value)
{
    if (map->slots == NULL || key == 0)
        return false;
    const struct number_slot *at = slot(map, key);
    if (at->key == 0)
        return false;
    *ret_value = at->value;
    return true;
}

void number_map_drop(struct number_map *map, uint64_t key)
{
    if (map->slots == NULL || key == 0)
        return;
    struct number_slot *found = slot(map, key);
    if (found->key == 0)
        return;
    uint32_t gap = (uint32_t)(found - map->slots);
    for (uint32_t at = (gap + 1) & map->mask; map->slots[at].key != 0; at = (at + 1) & map->mask) {
        uint32_t wanted = home(map, map->slots[at].key);
        if (((at - wanted) & map->mask) >= ((at - gap) & map->mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap] = (struct number_slot){0};
    map->count--;
}
