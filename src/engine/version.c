/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

/* Blocks of a few sizes, kept for the next ones: a task lives by one or two of them. */
static size_t block_bytes(size_t bytes)
{
    return (bytes + VERSION_STEP - 1) / VERSION_STEP * VERSION_STEP;
}

static void *block_create(struct version_pool *pool, size_t bytes)
{
    size_t class = bytes / VERSION_STEP;
    if (pool == NULL || class >= VERSION_CLASSES || pool->free[class] == NULL)
        return malloc(bytes);
    struct version_block *block = pool->free[class];
    pool->free[class] = block->next;
    pool->bytes -= bytes;
    return block;
}

static void block_free(struct version_pool *pool, void *at, size_t bytes)
{
    struct version_block *block = at;
    size_t class = bytes / VERSION_STEP;
    if (class >= VERSION_CLASSES || pool->bytes + bytes > VERSION_POOL_BYTES_MAX) {
        free(block);
        return;
    }
    block->next = pool->free[class];
    pool->free[class] = block;
    pool->bytes += bytes;
}

void version_pool_release(struct version_pool *pool)
{
    for (size_t class = 0; class < VERSION_CLASSES; class ++) {
        while (pool->free[class] != NULL) {
            struct version_block *block = pool->free[class];
            pool->free[class] = block->next;
            free(block);
        }
    }
    pool->bytes = 0;
}

struct version *version_create(struct version_pool *pool, const struct change_put *put,
                               uint16_t tag, uint64_t rev)
{
    assert(put->key.size <= STORE_KEY_BYTES_MAX && put->home.size <= STORE_KEY_BYTES_MAX);
    assert(put->doc.size <= STORE_DOC_BYTES_MAX);
    bool same_home = put->home.at == NULL || bytes_equal(put->home, put->key);
    size_t home_size = same_home ? 0 : put->home.size;
    struct version *version = block_create(
        pool, block_bytes(sizeof *version + put->key.size + home_size + put->doc.size));
    if (version == NULL)
        return NULL;
    *version = (struct version){
        .refs = 1,
        .doc_size = (uint32_t)put->doc.size,
        .rev = rev,
        .due_ms = put->due_ms,
        .key_size = (uint16_t)put->key.size,
        .home_size = same_home ? HOME_IS_KEY : (uint16_t)home_size,
        .tag = tag,
        .mark = put->mark,
        .basis = put->basis & 1,
    };
    memcpy(version->bytes, put->key.at, put->key.size);
    if (home_size > 0)
        memcpy(version->bytes + put->key.size, put->home.at, home_size);
    if (put->doc.size > 0)
        memcpy(version->bytes + put->key.size + home_size, put->doc.at, put->doc.size);
    return version;
}

struct version *version_keep(struct version *version)
{
    version->refs++;
    return version;
}

void version_drop(struct engine *engine, struct version *version)
{
    if (version == NULL)
        return;
    assert(version->refs > 0);
    if (--version->refs > 0)
        return;
    tags_drop(&engine->tags, engine->hash_key, version->tag);
    block_free(&engine->versions, version, block_bytes(version_bytes(version)));
}

struct bytes version_key(const struct version *version)
{
    return (struct bytes){version->bytes, version->key_size};
}

struct bytes version_home(const struct version *version)
{
    if (version->home_size == HOME_IS_KEY)
        return version_key(version);
    return (struct bytes){version->bytes + version->key_size, version->home_size};
}

struct bytes version_doc(const struct version *version)
{
    size_t home_size = version->home_size == HOME_IS_KEY ? 0 : version->home_size;
    return (struct bytes){version->bytes + version->key_size + home_size, version->doc_size};
}

size_t version_bytes(const struct version *version)
{
    size_t home_size = version->home_size == HOME_IS_KEY ? 0 : version->home_size;
    return sizeof *version + version->key_size + home_size + version->doc_size;
}
