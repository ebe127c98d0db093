/* SPDX-License-Identifier: MIT */
/* number_map.h - which number goes with this 64-bit key?
 *
 * A small hash table with open addressing, from keys that are not 0 to numbers.
 *
 * Cost      O(1); it doubles when it is more than half full.
 */
#ifndef TOCSIN_BASE_NUMBER_MAP_H
#define TOCSIN_BASE_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_map {
    struct number_slot {
        uint64_t key; /* 0: empty */
        uint32_t value;
    } * slots;
    uint32_t mask;
    uint32_t count;
};

/* All zero is an empty map. */
void number_map_release(struct number_map *map);
/* Also replaces. False: no memory; never so up to as many keys as there is room for. */
bool number_map_put(struct number_map *map, uint64_t key, uint32_t value);
/* Room for so many keys in all. False: no memory. */
bool number_map_make_room(struct number_map *map, uint32_t count);
bool number_map_get(const struct number_map *map, uint64_t key, uint32_t *ret_value);
void number_map_drop(struct number_map *map, uint64_t key);

#endif
