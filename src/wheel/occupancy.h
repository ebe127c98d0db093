/* SPDX-License-Identifier: MIT */
/* occupancy.h - which is the next slot with anything in it?
 *
 * A bitmap with a second, 64 times smaller one over it, so that even a level of
 * 65536 empty slots is passed over in a few reads. Inline: it is on every path.
 */
#ifndef TOCSIN_WHEEL_OCCUPANCY_H
#define TOCSIN_WHEEL_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct occupancy {
    uint64_t *words;
    uint64_t *summary; /* bit i: words[i] is not zero */
    uint32_t slots;
    uint32_t summaries; /* words of summary */
};

static inline uint32_t occupancy_words(uint32_t slots)
{
    return (slots + 63) / 64;
}

/* How many uint64_t the two bitmaps of a level need. */
static inline size_t occupancy_room(uint32_t slots)
{
    return (size_t)occupancy_words(slots) + occupancy_words(occupancy_words(slots));
}

/* room: that many zeroed uint64_t. */
static inline void occupancy_init(struct occupancy *occupancy, uint32_t slots, uint64_t *room)
{
    occupancy->words = room;
    occupancy->summary = room + occupancy_words(slots);
    occupancy->slots = slots;
    occupancy->summaries = occupancy_words(occupancy_words(slots));
}

static inline bool occupancy_has(const struct occupancy *occupancy, uint32_t slot)
{
    return (occupancy->words[slot / 64] >> slot % 64 & 1) != 0;
}

static inline void occupancy_set(struct occupancy *occupancy, uint32_t slot)
{
    uint32_t word = slot / 64;
    occupancy->words[word] |= UINT64_C(1) << slot % 64;
    occupancy->summary[word / 64] |= UINT64_C(1) << word % 64;
}

/* False: that was the last one. */
static inline bool occupancy_clear(struct occupancy *occupancy, uint32_t slot)
{
    uint32_t word = slot / 64;
    occupancy->words[word] &= ~(UINT64_C(1) << slot % 64);
    if (occupancy->words[word] != 0)
        return true;
    occupancy->summary[word / 64] &= ~(UINT64_C(1) << word % 64);
    uint64_t any = 0;
    for (uint32_t i = 0; i < occupancy->summaries; i++)
        any |= occupancy->summary[i];
    return any != 0;
}

static inline uint32_t occupancy_count(const struct occupancy *occupancy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < occupancy_words(occupancy->slots); i++)
        count += (uint32_t)__builtin_popcountll(occupancy->words[i]);
    return count;
}

/* The first set bit at or after from in bits; limit when there is none. */
static inline uint32_t occupancy_scan(const uint64_t *bits, uint32_t from, uint32_t limit)
{
    if (from >= limit)
        return limit;
    uint32_t word = from / 64;
    uint64_t left = bits[word] & ~UINT64_C(0) << from % 64;
    while (left == 0) {
        if (++word >= occupancy_words(limit))
            return limit;
        left = bits[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(left);
}

/* The first occupied slot at or after from; slots when there is none. */
static inline uint32_t occupancy_next(const struct occupancy *occupancy, uint32_t from)
{
    uint32_t slots = occupancy->slots;
    if (from >= slots)
        return slots;
    uint32_t word = from / 64;
    uint64_t left = occupancy->words[word] & ~UINT64_C(0) << from % 64;
    if (left == 0) {
        uint32_t words = occupancy_words(slots);
        word = occupancy_scan(occupancy->summary, word + 1, words);
        if (word == words)
            return slots;
        left = occupancy->words[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(left);
}

#endif
