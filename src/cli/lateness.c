/* SPDX-License-Identifier: MIT */
/* Below 32 every value has its bucket; above, each doubling has 32 of them:
 *
 *     value   0 .. 31   32 .. 63 (by 1)   64 .. 127 (by 2)   128 .. 255 (by 4) ...
 *     bucket  0 .. 31   32 .. 63          64 .. 95           96 .. 127
 */

#include "cli/lateness.h"

#include <assert.h>
#include <stddef.h>

enum { SUB_BITS = 5, SUB_COUNT = 1 << SUB_BITS };

static size_t bucket_of(uint64_t late_us)
{
    if (late_us < SUB_COUNT)
        return (size_t)late_us;
    unsigned shift = 63u - (unsigned)__builtin_clzll(late_us) - SUB_BITS;
    size_t bucket = shift * SUB_COUNT + (size_t)(late_us >> shift);
    return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

static uint64_t bucket_start_us(size_t bucket)
{
    if (bucket < SUB_COUNT)
        return bucket;
    size_t shift = bucket / SUB_COUNT - 1;
    return (uint64_t)(SUB_COUNT + bucket % SUB_COUNT) << shift;
}

void lateness_add(struct lateness *lateness, uint64_t late_us)
{
    lateness->count++;
    lateness->sum_us += late_us;
    lateness->buckets[bucket_of(late_us)]++;
    if (late_us > lateness->max_us)
        lateness->max_us = late_us;
}

uint64_t lateness_percentile_us(const struct lateness *lateness, uint32_t permille)
{
    assert(permille <= 1000);
    uint64_t rank = (lateness->count * permille + 999) / 1000;
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket + 1 < LATENESS_BUCKETS; bucket++) {
        seen += lateness->buckets[bucket];
        if (seen >= rank) {
            uint64_t last_us = bucket_start_us(bucket + 1) - 1;
            return last_us < lateness->max_us ? last_us : lateness->max_us;
        }
    }
    return lateness->max_us;
}

uint64_t lateness_between(const struct lateness *lateness, uint64_t from_us, uint64_t to_us)
{
    uint64_t count = 0;
    for (size_t bucket = bucket_of(from_us); bucket < LATENESS_BUCKETS; bucket++) {
        uint64_t start_us = bucket_start_us(bucket);
        if (start_us >= to_us)
            break;
        count += start_us >= from_us ? lateness->buckets[bucket] : 0;
    }
    return count;
}
