/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(struct state *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

/* Up to eight bytes, the lowest first on every machine; compilers make one load of eight. */
static uint64_t word_at(const unsigned char *at, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

static inline void take(struct state *s, uint64_t word, int rounds)
{
    s->v3 ^= word;
    mix(s, rounds);
    s->v0 ^= word;
}

static inline uint64_t hash(struct siphash_key key, const void *bytes, size_t size, int rounds,
                            int last_rounds)
{
    /* The four constants are those of the paper: "somepseudorandomlygeneratedbytes". */
    struct state s = {
        key.low ^ UINT64_C(0x736f6d6570736575),
        key.high ^ UINT64_C(0x646f72616e646f6d),
        key.low ^ UINT64_C(0x6c7967656e657261),
        key.high ^ UINT64_C(0x7465646279746573),
    };
    const unsigned char *at = bytes;
    size_t left = size;
    for (; left >= 8; left -= 8, at += 8)
        take(&s, word_at(at, 8), rounds);
    /* The last word ends with the length, so that zeros at the end count. */
    take(&s, (uint64_t)size << 56 | word_at(at, left), rounds);
    s.v2 ^= 0xff;
    mix(&s, last_rounds);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t siphash(struct siphash_key key, const void *bytes, size_t size)
{
    return hash(key, bytes, size, 2, 4);
}

uint64_t siphash_quick(struct siphash_key key, const void *bytes, size_t size)
{
    return hash(key, bytes, size, 1, 3);
}
