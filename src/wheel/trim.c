/* SPDX-License-Identifier: MIT */
/* Giving memory back. A node cannot move, its index is in a handle somebody holds:
 * what can go is the free nodes behind the last one in use. A chunk can move, so
 * the arena shrinks to what is used. */
#include <string.h>

#include "wheel/core.h"

/* A node's generation goes with it, so the nodes that come back in its place must
 * start above any that was given out. One that is half worn out is kept: the new
 * ones would start with its wear. */
static bool node_may_go(const struct node *node)
{
    return node->where == WHERE_FREE && node->generation <= UINT32_MAX / 2;
}

static void trim_nodes(struct tocsin_wheel *wheel)
{
    uint32_t used = wheel->used_nodes;
    for (; used > 0 && node_may_go(&wheel->nodes[used - 1]); used--) {
        if (wheel->first_generation < wheel->nodes[used - 1].generation)
            wheel->first_generation = wheel->nodes[used - 1].generation;
    }
    wheel->used_nodes = used;
    /* The lowest first, so that what is armed next fills the holes at the front. */
    wheel->spare.id = 0;
    wheel->free_node = NODE_NONE;
    for (uint32_t i = used; i > 0; i--) {
        if (wheel->nodes[i - 1].where == WHERE_FREE) {
            wheel->nodes[i - 1].due = wheel->free_node;
            wheel->free_node = i - 1;
        }
    }
    region_shrink(&wheel->node_region, (size_t)used * sizeof(struct node));
    size_t room = wheel->node_region.committed_bytes / sizeof(struct node);
    if (room < wheel->node_room)
        wheel->node_room = (uint32_t)room;
}

/* Marks a free chunk while trim runs, where one in use has its first entry. */
#define ENTRY_NONE NODE_NONE

static void chunk_move(struct tocsin_wheel *wheel, uint32_t bag, uint32_t from, uint32_t to)
{
    uint32_t *words = &wheel->arena[(size_t)to * CHUNK_WORDS];
    memcpy(words, &wheel->arena[(size_t)from * CHUNK_WORDS], CHUNK_WORDS * sizeof *words);
    uint32_t last = wheel->bags[bag];
    uint32_t end = last / CHUNK_WORDS == from ? last % CHUNK_WORDS : BAG_EMPTY;
    for (uint32_t i = CHUNK_HEAD; i <= end; i++)
        wheel->nodes[words[i]].where += (to - from) * CHUNK_WORDS; /* unsigned, may wrap */
}

/* Move a bag's chunks at or past end into holes before it. */
static void bag_move_down(struct tocsin_wheel *wheel, uint32_t bag, uint32_t end, uint32_t *hole)
{
    uint32_t after = 0; /* the chunk that links to this one */
    uint32_t chunk = wheel->bags[bag] / CHUNK_WORDS;
    while (chunk != 0) {
        if (chunk >= end) {
            while (wheel->arena[(size_t)*hole * CHUNK_WORDS + CHUNK_HEAD] != ENTRY_NONE)
                (*hole)++;
            assert(*hole < end);
            chunk_move(wheel, bag, chunk, *hole);
            uint32_t word = wheel->bags[bag] % CHUNK_WORDS;
            if (after == 0)
                wheel->bags[bag] = *hole * CHUNK_WORDS + word;
            else
                wheel->arena[(size_t)after * CHUNK_WORDS] = *hole;
            chunk = *hole;
        }
        after = chunk;
        chunk = wheel->arena[(size_t)chunk * CHUNK_WORDS];
    }
}

static void trim_chunks(struct tocsin_wheel *wheel)
{
    uint32_t in_use = wheel->used_chunks;
    for (uint32_t i = wheel->free_chunk; i != 0; i = wheel->arena[(size_t)i * CHUNK_WORDS]) {
        wheel->arena[(size_t)i * CHUNK_WORDS + CHUNK_HEAD] = ENTRY_NONE;
        in_use--;
    }
    uint32_t hole = 1;
    for (uint32_t bag = 0; bag < wheel->bag_count; bag++)
        bag_move_down(wheel, bag, in_use, &hole);
    wheel->free_chunk = 0;
    wheel->used_chunks = in_use;
    /* Any distribution of what the nodes have room for must still fit. */
    size_t chunks = wheel_chunks_for(wheel, wheel->node_room);
    if (chunks < in_use)
        chunks = in_use;
    region_shrink(&wheel->arena_region, chunks * CHUNK_WORDS * sizeof(uint32_t));
    if (chunks < wheel->chunk_room)
        wheel->chunk_room = (uint32_t)chunks;
}

void tocsin_wheel_trim(struct tocsin_wheel *wheel)
{
    trim_nodes(wheel);
    trim_chunks(wheel);
}
