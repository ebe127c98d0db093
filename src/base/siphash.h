/* SPDX-License-Identifier: MIT */
/* siphash.h - which 64 bits stand for these bytes, when somebody hostile may choose them?
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012). Under a random key nobody outside can find
 * bytes that collide, so a hash table under it stays one. Under a fixed key it is a good
 * hash that is the same on every machine, and nothing more.
 *
 * Cost      linear: two rounds for 8 bytes, and four more at the end.
 * Memory    none.
 */
#ifndef TOCSIN_BASE_SIPHASH_H
#define TOCSIN_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The 16 bytes of a key, as two numbers whose lowest byte comes first. */
struct siphash_key {
    uint64_t low;
    uint64_t high;
};

uint64_t siphash(struct siphash_key key, const void *bytes, size_t size);

/* SipHash-1-3, for tables that die with the process: half the rounds, and still nothing is known
 * that finds collisions under a key one does not know. */
uint64_t siphash_quick(struct siphash_key key, const void *bytes, size_t size);

#endif
