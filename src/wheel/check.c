/* SPDX-License-Identifier: MIT */
/* The slow, obvious recount: every entry of every bag, every node, both free
 * lists, every bit, compared with what the fast code keeps in its counters. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wheel/core.h"

struct recount {
    const struct tocsin_wheel *wheel;
    struct tocsin_why *why;
    size_t entries;
    size_t chunks;
    uint64_t chunk_sum; /* of squares: two chunks cannot stand in for each other */
};

__attribute__((format(printf, 2, 3))) static bool wrong(const struct recount *recount,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (recount->why != NULL)
        (void)vsnprintf(recount->why->text, sizeof recount->why->text, format, args);
    va_end(args);
    return false;
}

/* The due time of an entry must belong into its bag. */
static bool check_place(const struct recount *recount, struct place place, uint32_t index)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct level *level = &wheel->levels[place.level];
    uint64_t tick = tick_of_due(wheel, wheel->nodes[index].due);
    if (place_of(wheel, &wheel->nodes[index]).bag != place.bag)
        return wrong(recount, "timer %" PRIu32 " cannot be found in its bag", index);
    if (place.level >= wheel->level_count)
        return tick <= wheel->tick ||
               wrong(recount, "timer %" PRIu32 " is late but not due", index);
    if (tick < wheel->tick)
        return wrong(recount, "timer %" PRIu32 " is overdue on level %" PRIu32, index, place.level);
    uint64_t turn = level_number(level, tick) - level->current;
    if (turn >= level->slots)
        return wrong(recount, "timer %" PRIu32 " is past the range of level %" PRIu32, index,
                     place.level);
    if (place.level > 0 && turn == 0 && (wheel->to_cascade >> place.level & 1) == 0)
        return wrong(recount, "timer %" PRIu32 " was left behind on level %" PRIu32, index,
                     place.level);
    return true;
}

static bool check_chunk(struct recount *recount, struct place place, uint32_t last)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    uint32_t chunk = last / CHUNK_WORDS;
    if (chunk == 0 || chunk >= wheel->used_chunks || last % CHUNK_WORDS < CHUNK_HEAD)
        return wrong(recount, "bag %" PRIu32 " ends at %" PRIu32 ", where no entry can be",
                     place.bag, last);
    recount->chunk_sum += (uint64_t)chunk * chunk;
    if (++recount->chunks >= wheel->used_chunks)
        return wrong(recount, "the chunks of bag %" PRIu32 " go round in a ring", place.bag);
    const uint32_t *words = &wheel->arena[(size_t)chunk * CHUNK_WORDS];
    uint32_t where = place.level << WHERE_LEVEL_SHIFT | chunk * CHUNK_WORDS;
    for (uint32_t i = CHUNK_HEAD; i <= last % CHUNK_WORDS; i++) {
        uint32_t index = words[i];
        if (index >= wheel->used_nodes || wheel->nodes[index].where != where + i)
            return wrong(recount, "entry %" PRIu32 " of chunk %" PRIu32 " and its timer disagree",
                         i, chunk);
        recount->entries++;
        if (!check_place(recount, place, index))
            return false;
    }
    return true;
}

static bool check_bag(struct recount *recount, struct place place)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct level *level = &wheel->levels[place.level];
    uint32_t last = wheel->bags[place.bag];
    size_t chunks = recount->chunks;
    if (occupancy_has(&level->occupied, place.bag - level->first) != (last != BAG_EMPTY))
        return wrong(recount, "bag %" PRIu32 " and its bit disagree", place.bag);
    while (last != BAG_EMPTY) {
        if (!check_chunk(recount, place, last))
            return false;
        uint32_t before = wheel->arena[last / CHUNK_WORDS * (size_t)CHUNK_WORDS];
        last = before * CHUNK_WORDS + BAG_EMPTY;
    }
    if (wheel->bag_chunks[place.bag] != recount->chunks - chunks)
        return wrong(recount, "bag %" PRIu32 " counts %" PRIu32 " chunks, there are %zu", place.bag,
                     wheel->bag_chunks[place.bag], recount->chunks - chunks);
    return true;
}

static bool check_level(struct recount *recount, uint32_t number)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    const struct level *level = &wheel->levels[number];
    uint32_t in_use = 0;
    if (number < wheel->level_count && level->current != level_number(level, wheel->tick))
        return wrong(recount, "level %" PRIu32 " is at another time than the wheel", number);
    for (uint32_t i = 0; i < level->slots; i++) {
        if (!check_bag(recount, (struct place){number, level->first + i}))
            return false;
        in_use += !bag_is_empty(wheel, level->first + i);
    }
    for (uint32_t i = 0; i < occupancy_words(level->slots); i++) {
        bool summary = (level->occupied.summary[i / 64] >> i % 64 & 1) != 0;
        if (summary != (level->occupied.words[i] != 0))
            return wrong(recount, "the summary of level %" PRIu32 " is wrong", number);
    }
    if ((wheel->levels_in_use >> number & 1) != (in_use > 0))
        return wrong(recount, "level %" PRIu32 " and its bit disagree", number);
    if (level->in_use != in_use)
        return wrong(recount,
                     "level %" PRIu32 " counts %" PRIu32 " slots in use, there are %" PRIu32,
                     number, level->in_use, in_use);
    return true;
}

static bool check_nodes(const struct recount *recount)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    size_t free_nodes = 0;
    size_t worn = 0;
    size_t reserved = 0;
    for (uint32_t i = 0; i < wheel->used_nodes; i++) {
        uint32_t where = wheel->nodes[i].where;
        free_nodes += where == WHERE_FREE;
        worn += where == WHERE_WORN;
        reserved += where == WHERE_RESERVED;
        if ((wheel->nodes[i].generation == 0) != (where == WHERE_WORN))
            return wrong(recount, "node %" PRIu32 " has a generation that cannot be", i);
    }
    if (recount->entries != tocsin_wheel_count(wheel) || reserved != wheel->reserved ||
        worn != wheel->worn)
        return wrong(recount,
                     "found %zu pending, %zu reserved, %zu worn; the books say %zu"
                     ", %" PRIu32 ", %" PRIu64,
                     recount->entries, reserved, worn, tocsin_wheel_count(wheel), wheel->reserved,
                     wheel->worn);
    if (free_nodes + worn + reserved + recount->entries != wheel->used_nodes)
        return wrong(recount, "%" PRIu32 " nodes in use, but only %zu accounted for",
                     wheel->used_nodes, free_nodes + worn + reserved + recount->entries);
    if (wheel->spare.id != 0) {
        uint32_t spare = (uint32_t)wheel->spare.id;
        if (spare >= wheel->used_nodes || wheel->nodes[spare].where != WHERE_FREE ||
            wheel->spare.id != node_handle(wheel, spare).id)
            return wrong(recount, "the spare node %" PRIu32 " is not free", spare);
        free_nodes--;
    }
    for (uint32_t i = wheel->free_node; i != NODE_NONE; i = (uint32_t)wheel->nodes[i].due) {
        if (i >= wheel->used_nodes || wheel->nodes[i].where != WHERE_FREE || free_nodes-- == 0)
            return wrong(recount, "the list of free nodes is broken at %" PRIu32, i);
    }
    return free_nodes == 0 || wrong(recount, "%zu free nodes are not on the list", free_nodes);
}

static bool check_chunks(const struct recount *recount)
{
    const struct tocsin_wheel *wheel = recount->wheel;
    size_t left = wheel->used_chunks - 1 - recount->chunks;
    uint64_t sum = recount->chunk_sum;
    for (uint32_t i = wheel->free_chunk; i != 0; i = wheel->arena[(size_t)i * CHUNK_WORDS]) {
        if (i >= wheel->used_chunks || left-- == 0)
            return wrong(recount, "the list of free chunks is broken at %" PRIu32, i);
        sum += (uint64_t)i * i;
    }
    for (uint32_t i = 1; i < wheel->used_chunks; i++)
        sum -= (uint64_t)i * i;
    if (left == 0 && sum != 0)
        return wrong(recount, "a chunk is free and in use");
    if (left != 0)
        return wrong(recount, "%zu chunks are neither free nor in use", left);
    return wheel->used_chunks <= wheel->chunk_room || wrong(recount, "more chunks than room");
}

enum tocsin_status tocsin_wheel_check(const struct tocsin_wheel *wheel, struct tocsin_why *ret_why)
{
    struct recount recount = {.wheel = wheel, .why = ret_why};
    for (uint32_t i = 0; i < wheel->level_count + 2; i++) {
        if (!check_level(&recount, i))
            return TOCSIN_CORRUPT;
    }
    return check_nodes(&recount) && check_chunks(&recount) ? TOCSIN_OK : TOCSIN_CORRUPT;
}
