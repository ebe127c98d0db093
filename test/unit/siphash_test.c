/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

#include <stdlib.h>
#include <string.h>

#include "runner.h"

/* The vectors of the paper's appendix and of its reference table: key 00 to 0f, and as many
 * bytes 00, 01, 02 … as the row's number. */
TEST(siphash_agrees_with_the_published_vectors)
{
    static const struct {
        size_t size;
        uint64_t hash;
    } rows[] = {
        {0, 0x726fdb47dd0e0e31u},  {1, 0x74f839c593dc67fdu}, {2, 0x0d6c8009d9a94f5au},
        {3, 0x85676696d7fb7e2du},  {4, 0xcf2794e0277187b7u}, {5, 0x18765564cd99a68du},
        {6, 0xcbc9466e58fee3ceu},  {7, 0xab0200f58b01d137u}, {8, 0x93f5f5799a932462u},
        {15, 0xa129ca6149be45e5u},
    };
    struct siphash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* Of exactly this size, so that a sanitizer sees a read past the end. */
        unsigned char *bytes = malloc(rows[i].size + (rows[i].size == 0));
        assert_non_null(bytes);
        for (size_t j = 0; j < rows[i].size; j++)
            bytes[j] = (unsigned char)j;
        assert_true(siphash(key, bytes, rows[i].size) == rows[i].hash);
        free(bytes);
    }
}

/* What CPython 3.11 answers to hash(bytes(range(n))) with PYTHONHASHSEED=0, which is SipHash-1-3
 * under a key of zeros. */
TEST(siphash_quick_agrees_with_another_implementation)
{
    static const struct {
        size_t size;
        uint64_t hash;
    } rows[] = {
        {1, 0x68a914128e01e473u}, {7, 0x2f098ab0c751325au},  {8, 0xead411e67ebe2eeau},
        {9, 0x75927f9d95124362u}, {20, 0x639e355ae68c0100u}, {36, 0xac77921fcc642bd3u},
    };
    unsigned char bytes[36];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(siphash_quick((struct siphash_key){0, 0}, bytes, rows[i].size) == rows[i].hash);
}

TEST(siphash_depends_on_both_halves_of_the_key_and_on_zeros_at_the_end)
{
    static const char bytes[9] = "abcdefgh";
    uint64_t plain = siphash((struct siphash_key){0, 0}, bytes, 8);
    assert_true(plain != siphash((struct siphash_key){1, 0}, bytes, 8));
    assert_true(plain != siphash((struct siphash_key){0, 1}, bytes, 8));
    assert_true(plain != siphash((struct siphash_key){0, 0}, bytes, 9));
    assert_true(siphash((struct siphash_key){0, 0}, NULL, 0) ==
                siphash((struct siphash_key){0, 0}, bytes, 0));
}

/* Where the bytes stand in memory does not matter. */
TEST(siphash_reads_bytes_at_any_address)
{
    enum { SIZE = 27 };
    struct siphash_key key = {7, 9};
    uint64_t first = 0;
    for (size_t shift = 0; shift < 16; shift++) {
        char room[64] = {0};
        for (size_t i = 0; i < SIZE; i++)
            room[shift + i] = (char)(i * i);
        uint64_t hash = siphash(key, room + shift, SIZE);
        if (shift == 0)
            first = hash;
        assert_true(hash == first);
    }
}
