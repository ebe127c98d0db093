/* SPDX-License-Identifier: MIT */
/* Tags are few words for many records (names of queues), so a record holds a number of 16
 * bits, and the word stands here once. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

enum { SLOTS = 131072 }; /* a power of two, twice ENGINE_TAGS_MAX */

bool tags_init(struct tags *tags)
{
    *tags = (struct tags){.end = 1, .slot_count = SLOTS};
    tags->list = calloc(ENGINE_TAGS_MAX + 1, sizeof *tags->list);
    tags->slots = calloc(SLOTS, sizeof *tags->slots);
    tags->free = calloc(ENGINE_TAGS_MAX + 1, sizeof *tags->free);
    if (tags->list != NULL && tags->slots != NULL && tags->free != NULL)
        return true;
    tags_release(tags);
    return false;
}

void tags_release(struct tags *tags)
{
    for (uint32_t i = 1; tags->list != NULL && i < tags->end; i++)
        free(tags->list[i].bytes);
    free(tags->list);
    free(tags->slots);
    free(tags->free);
    *tags = (struct tags){0};
}

struct bytes tags_word(const struct tags *tags, uint16_t tag)
{
    return (struct bytes){tags->list[tag].bytes, tags->list[tag].size};
}

static uint32_t home_slot(struct siphash_key key, struct bytes word)
{
    return (uint32_t)siphash_quick(key, word.at, word.size) & (SLOTS - 1);
}

static uint16_t *find_slot(struct tags *tags, struct siphash_key key, struct bytes word)
{
    uint32_t at = home_slot(key, word);
    while (tags->slots[at] != 0 && !bytes_equal(tags_word(tags, tags->slots[at]), word))
        at = (at + 1) & (SLOTS - 1);
    return &tags->slots[at];
}

static enum tocsin_status add(struct tags *tags, uint16_t *slot, struct bytes word)
{
    if (tags->free_count == 0 && tags->end > ENGINE_TAGS_MAX)
        return TOCSIN_FULL;
    char *bytes = malloc(word.size);
    if (bytes == NULL)
        return TOCSIN_NO_MEMORY;
    memcpy(bytes, word.at, word.size);
    uint16_t tag = tags->free_count > 0 ? tags->free[--tags->free_count] : (uint16_t)tags->end++;
    tags->list[tag].bytes = bytes;
    tags->list[tag].size = (uint32_t)word.size;
    tags->list[tag].refs = 0;
    tags->list[tag].entries = 0;
    *slot = tag;
    return TOCSIN_OK;
}

enum tocsin_status tags_keep(struct tags *tags, struct siphash_key key, struct bytes word,
                             uint16_t *ret_tag)
{
    assert(word.size <= STORE_TAG_BYTES_MAX);
    if (word.size == 0) {
        *ret_tag = 0;
        return TOCSIN_OK;
    }
    if (tags->last == 0 || !bytes_equal(tags_word(tags, tags->last), word)) {
        uint16_t *slot = find_slot(tags, key, word);
        enum tocsin_status status = *slot == 0 ? add(tags, slot, word) : TOCSIN_OK;
        if (status != TOCSIN_OK)
            return status;
        tags->last = *slot;
    }
    tags->list[tags->last].refs++;
    *ret_tag = tags->last;
    return TOCSIN_OK;
}

void tags_keep_number(struct tags *tags, uint16_t tag)
{
    if (tag != 0)
        tags->list[tag].refs++;
}

/* Takes a word out of the slots: those behind it that would no longer be found move up. */
static void close_gap(struct tags *tags, struct siphash_key key, uint32_t gap)
{
    uint32_t at = gap;
    for (;;) {
        at = (at + 1) & (SLOTS - 1);
        uint16_t tag = tags->slots[at];
        if (tag == 0)
            break;
        uint32_t home = home_slot(key, tags_word(tags, tag));
        if (((at - home) & (SLOTS - 1)) >= ((at - gap) & (SLOTS - 1))) {
            tags->slots[gap] = tag;
            gap = at;
        }
    }
    tags->slots[gap] = 0;
}

void tags_drop(struct tags *tags, struct siphash_key key, uint16_t tag)
{
    if (tag == 0)
        return;
    assert(tags->list[tag].refs > 0);
    if (--tags->list[tag].refs > 0)
        return;
    uint16_t *slot = find_slot(tags, key, tags_word(tags, tag));
    assert(*slot == tag);
    close_gap(tags, key, (uint32_t)(slot - tags->slots));
    free(tags->list[tag].bytes);
    tags->list[tag] = (struct tag){0};
    tags->free[tags->free_count++] = tag;
    if (tags->last == tag)
        tags->last = 0;
}

uint64_t engine_tag_count(const struct engine *engine, struct bytes word)
{
    uint32_t at = home_slot(engine->hash_key, word);
    const struct tags *tags = &engine->tags;
    while (tags->slots[at] != 0) {
        if (bytes_equal(tags_word(tags, tags->slots[at]), word))
            return tags->list[tags->slots[at]].entries;
        at = (at + 1) & (SLOTS - 1);
    }
    return 0;
}

void engine_each_tag(const struct engine *engine,
                     void (*fn)(void *arg, struct bytes word, uint64_t count), void *arg)
{
    for (uint32_t tag = 1; tag < engine->tags.end; tag++) {
        if (engine->tags.list[tag].entries > 0)
            fn(arg, tags_word(&engine->tags, (uint16_t)tag), engine->tags.list[tag].entries);
    }
}
