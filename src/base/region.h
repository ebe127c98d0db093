/* SPDX-License-Identifier: MIT */
/* region.h - how far has this array grown, and can it grow on?
 *
 * A region is reserved once and committed from its start, in steps that double up
 * to 2 MiB. Its base never moves. A refusal leaves it as it was.
 */
#ifndef TOCSIN_BASE_REGION_H
#define TOCSIN_BASE_REGION_H

#include <tocsin/memory.h>

struct region {
    const struct tocsin_memory *memory;
    void *base;
    size_t reserved_bytes;
    size_t committed_bytes;
};

bool region_init(struct region *region, const struct tocsin_memory *memory, size_t max_bytes);
void region_release(struct region *region);

/* At least so many bytes usable from the start on. */
bool region_grow(struct region *region, size_t bytes);
/* Keep these, give back what can be of the rest. */
void region_shrink(struct region *region, size_t bytes);

#endif
