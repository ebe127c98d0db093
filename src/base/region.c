/* SPDX-License-Identifier: MIT */
#include "base/region.h"

#include <assert.h>
#include <stdint.h>

enum { STEP_MIN_BYTES = 64 * 1024, STEP_MAX_BYTES = 2 * 1024 * 1024 };

static size_t round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

bool region_init(struct region *region, const struct tocsin_memory *memory, size_t max_bytes)
{
    if (max_bytes > SIZE_MAX / 2)
        return false;
    size_t bytes = round_up(max_bytes, STEP_MIN_BYTES);
    void *base = memory->reserve(memory->arg, bytes);
    if (base == NULL)
        return false;
    *region = (struct region){.memory = memory, .base = base, .reserved_bytes = bytes};
    return true;
}

void region_release(struct region *region)
{
    if (region->base != NULL)
        region->memory->release(region->memory->arg, region->base, region->reserved_bytes);
    *region = (struct region){0};
}

/* Powers of two up to 2 MiB, then multiples of it, so that huge pages fit. */
static size_t size_to_commit(size_t bytes)
{
    size_t size = STEP_MIN_BYTES;
    while (size < bytes && size < STEP_MAX_BYTES)
        size *= 2;
    return size < bytes ? round_up(bytes, STEP_MAX_BYTES) : size;
}

bool region_grow(struct region *region, size_t bytes)
{
    assert(bytes <= region->reserved_bytes);
    size_t have = region->committed_bytes;
    if (bytes <= have)
        return true;
    size_t want = size_to_commit(bytes);
    if (want > region->reserved_bytes)
        want = region->reserved_bytes;
    char *end = (char *)region->base + have;
    if (!region->memory->commit(region->memory->arg, end, want - have))
        return false;
    region->committed_bytes = want;
    return true;
}

void region_shrink(struct region *region, size_t bytes)
{
    size_t keep = round_up(bytes, STEP_MIN_BYTES);
    if (keep >= region->committed_bytes)
        return;
    char *end = (char *)region->base + keep;
    region->memory->decommit(region->memory->arg, end, region->committed_bytes - keep);
    region->committed_bytes = keep;
}
