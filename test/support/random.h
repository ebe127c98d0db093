/* SPDX-License-Identifier: MIT */
/* random.h - what does a test do next?
 *
 * Numbers that look random and are the same for the same seed. Tests begin with test_seed()
 * (runner.h), fuzz targets with the bytes they are given.
 */
#ifndef TEST_SUPPORT_RANDOM_H
#define TEST_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* splitmix64: good enough to choose what a test does next, and one word of state. */
struct test_random {
    uint64_t state;
};

static inline uint64_t test_random_next(struct test_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Evenly from [0, limit); limit 0 means all 64 bits. */
static inline uint64_t test_random_below(struct test_random *random, uint64_t limit)
{
    if (limit == 0)
        return test_random_next(random);
    uint64_t uneven = (0 - limit) % limit; /* 2^64 mod limit: that many are too many */
    uint64_t value;
    do {
        value = test_random_next(random);
    } while (value < uneven);
    return value % limit;
}

/* True once in n times, on average. */
static inline bool test_random_one_in(struct test_random *random, uint64_t n)
{
    return test_random_below(random, n) == 0;
}

#endif
