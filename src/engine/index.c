/* SPDX-License-Identifier: MIT */
/* Entries in one array that grows in place, found through chains by fingerprint. When there
 * are as many entries as chains, a table of twice the size is made, and every step from then
 * on moves some chains over: no step ever moves them all. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

enum { TABLE_MIN = 1024, CHAINS_A_STEP = 8 };

static bool table_init(struct index_table *table, uint32_t size)
{
    uint32_t *buckets = calloc(size, sizeof *buckets);
    if (buckets == NULL)
        return false;
    table->buckets = buckets;
    table->mask = size - 1;
    return true;
}

bool index_init(struct index *index, uint32_t max, uint64_t expected)
{
    *index = (struct index){.end = 1, .max = max};
    uint32_t size = TABLE_MIN;
    while (size < expected && size < (UINT32_C(1) << 30))
        size *= 2;
    size_t bytes = ((size_t)max + 1) * sizeof(struct entry);
    if (!region_init(&index->region, tocsin_memory_system(), bytes))
        return false;
    index->entries = index->region.base;
    if (table_init(&index->table, size))
        return true;
    region_release(&index->region);
    return false;
}

void index_release(struct index *index)
{
    free(index->table.buckets);
    free(index->old.buckets);
    region_release(&index->region);
}

static uint32_t *chain(const struct index_table *table, uint64_t fingerprint)
{
    return &table->buckets[(uint32_t)fingerprint & table->mask];
}

/* The chain that holds this fingerprint now. */
static uint32_t *chain_of(const struct index *index, uint64_t fingerprint)
{
    if (index->old.buckets != NULL && ((uint32_t)fingerprint & index->old.mask) >= index->moved)
        return chain(&index->old, fingerprint);
    return chain(&index->table, fingerprint);
}

static void move_chain(struct index *index, uint32_t from)
{
    uint32_t at = index->old.buckets[from];
    while (at != ENTRY_NONE) {
        struct entry *entry = &index->entries[at];
        uint32_t next = entry->next;
        uint32_t *to = chain(&index->table, entry->fingerprint);
        entry->next = *to;
        *to = at;
        at = next;
    }
}

static void move_some(struct index *index)
{
    if (index->old.buckets == NULL)
        return;
    for (int i = 0; i < CHAINS_A_STEP && index->moved <= index->old.mask; i++) {
        move_chain(index, index->moved);
        index->moved++;
    }
    if (index->moved > index->old.mask) {
        free(index->old.buckets);
        index->old = (struct index_table){0};
    }
}

/* A table that cannot be had is no failure: the chains get longer. */
static void grow_table(struct index *index)
{
    uint32_t size = index->table.mask + 1;
    if (index->old.buckets != NULL || index->count < size || size >= (UINT32_C(1) << 30))
        return;
    struct index_table table;
    if (!table_init(&table, size * 2))
        return;
    index->old = index->table;
    index->table = table;
    index->moved = 0;
}

/* An entry that was never used. */
static uint32_t take_new(struct index *index)
{
    if (index->end > index->max ||
        !region_grow(&index->region, ((size_t)index->end + 1) * sizeof(struct entry)))
        return ENTRY_NONE;
    return index->end++;
}

uint32_t index_add(struct index *index, uint64_t fingerprint)
{
    grow_table(index);
    move_some(index);
    uint32_t at = index->free;
    if (at != ENTRY_NONE)
        index->free = index->entries[at].next;
    else
        at = take_new(index);
    if (at == ENTRY_NONE)
        return at;
    uint32_t *head = chain_of(index, fingerprint);
    struct entry *entry = &index->entries[at];
    *entry = (struct entry){
        .fingerprint = fingerprint, .next = *head, .born = entry->born + 1, .used = 1};
    *head = at;
    index->count++;
    return at;
}

uint32_t index_append(struct index *index, uint64_t fingerprint)
{
    uint32_t at = take_new(index);
    if (at == ENTRY_NONE)
        return at;
    index->entries[at] = (struct entry){.fingerprint = fingerprint, .born = 1, .used = 1};
    index->count++;
    return at;
}

/* Each chain is a cache miss, and no chain waits for another: so they are fetched together. */
void index_link(struct index *index, uint32_t from, uint32_t to)
{
    assert(index->old.buckets == NULL);
    for (uint32_t at = from; at < to; at++)
        __builtin_prefetch(chain(&index->table, index->entries[at].fingerprint), 1);
    for (uint32_t at = from; at < to; at++) {
        struct entry *entry = &index->entries[at];
        uint32_t *head = chain(&index->table, entry->fingerprint);
        entry->next = *head;
        *head = at;
    }
}

void index_remove(struct index *index, uint32_t at)
{
    move_some(index);
    struct entry *entry = &index->entries[at];
    assert(entry->used);
    uint32_t *link = chain_of(index, entry->fingerprint);
    while (*link != at) {
        assert(*link != ENTRY_NONE);
        link = &index->entries[*link].next;
    }
    *link = entry->next;
    *entry = (struct entry){.next = index->free, .born = entry->born};
    index->free = at;
    index->count--;
}

static uint32_t search(const struct index *index, uint32_t at, uint64_t fingerprint)
{
    while (at != ENTRY_NONE && index->entries[at].fingerprint != fingerprint)
        at = index->entries[at].next;
    return at;
}

uint32_t index_first(struct index *index, uint64_t fingerprint)
{
    move_some(index);
    return search(index, *chain_of(index, fingerprint), fingerprint);
}

uint32_t index_after(const struct index *index, uint32_t at)
{
    return search(index, index->entries[at].next, index->entries[at].fingerprint);
}

void index_expect(const struct index *index, uint64_t fingerprint)
{
    __builtin_prefetch(chain_of(index, fingerprint));
}

void index_expect_entry(const struct index *index, uint64_t fingerprint)
{
    __builtin_prefetch(&index->entries[*chain_of(index, fingerprint)]);
}
