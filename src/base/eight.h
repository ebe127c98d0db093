/* SPDX-License-Identifier: MIT */
/* eight.h - which of these eight bytes is the first of some sort?
 *
 * Eight bytes of a text as one number, so that a string is looked through eight at a time. The
 * answers are marks: the top bit of each byte that is meant. The lowest mark is always right;
 * those above it may be there without a reason, so only eight_first may read them.
 */
#ifndef TOCSIN_BASE_EIGHT_H
#define TOCSIN_BASE_EIGHT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The first byte is the lowest, on every machine. */
static inline uint64_t eight_load(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

/* Marks bytes from 0x80 on. */
static inline uint64_t eight_high(uint64_t word)
{
    return word & EIGHT(0x80);
}

/* Marks bytes below this one, which is at most 0x80; those from 0x80 on may be marked, too. */
static inline uint64_t eight_below(uint64_t word, unsigned char byte)
{
    return (word - EIGHT(byte)) & EIGHT(0x80);
}

/* Marks bytes that are this one; those from 0x80 on may be marked, too. */
static inline uint64_t eight_is(uint64_t word, unsigned char byte)
{
    return eight_below(word ^ EIGHT(byte), 1);
}

/* Which byte has the lowest mark; there is one. */
static inline size_t eight_first(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) / 8;
}

#endif
