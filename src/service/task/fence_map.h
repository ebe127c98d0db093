/* SPDX-License-Identifier: MIT */
/* fence_map.h - which number goes with this 64-bit key?
 *
 * A small hash table with open addressing, from keys that are not 0 to numbers.
 *
 * Cost      O(1); it doubles when it is more than half full.
 */
#ifndef TOCSIN_SERVICE_TASK_FENCE_MAP_H
#define TOCSIN_SERVICE_TASK_FENCE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fence_map {
    struct fence_slot {
        uint64_t key; /* 0: empty */
        uint32_t value;
    } * slots;
    uint32_t mask;
    uint32_t count;
};

/* All zero is an empty map. */
void fence_map_release(struct fence_map *map);
/* Also replaces. False: no memory; never so up to as many keys as there is room for. */
bool fence_map_put(struct fence_map *map, uint64_t key, uint32_t value);
/* Room for so many keys in all. False: no memory. */
bool fence_map_make_room(struct fence_map *map, uint32_t count);
bool fence_map_get(const struct fence_map *map, uint64_t key, uint32_t *ret_value);
void fence_map_drop(struct fence_map *map, uint64_t key);

#endif
