/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

struct version *version_create(const struct change_put *put, uint16_t tag, uint64_t rev)
{
    assert(put->key.size <= STORE_KEY_BYTES_MAX && put->home.size <= STORE_KEY_BYTES_MAX);
    assert(put->doc.size <= STORE_DOC_BYTES_MAX);
    bool same_home = put->home.at == NULL || bytes_equal(put->home, put->key);
    size_t home_size = same_home ? 0 : put->home.size;
    struct version *version = malloc(sizeof *version + put->key.size + home_size + put->doc.size);
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
        .basis = (uint8_t)put->basis,
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
    free(version);
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
