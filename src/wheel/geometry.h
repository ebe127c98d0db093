/* SPDX-License-Identifier: MIT */
/* geometry.h - which levels does a wheel really have?
 *
 * Those that were asked for, and above them as many of 256 slots as it takes to
 * reach the end of 64 bits: what others keep in an overflow list lies on these.
 */
#ifndef TOCSIN_WHEEL_GEOMETRY_H
#define TOCSIN_WHEEL_GEOMETRY_H

#include <tocsin/wheel.h>

/* 2^64 is eight times eight bits, so eight more levels always suffice. */
enum {
    GEOMETRY_OVERFLOW_SLOTS = 256,
    GEOMETRY_LEVELS_MAX = TOCSIN_WHEEL_LEVELS_MAX + 8,
};

struct geometry {
    struct tocsin_wheel_level levels[GEOMETRY_LEVELS_MAX]; /* in base ticks */
    uint64_t base;                                         /* the first level's tick */
    uint32_t count;
    uint32_t asked; /* the first so many are the caller's */
};

/* The levels must be valid. */
void geometry_complete(struct geometry *geometry, const struct tocsin_wheel_level *levels,
                       size_t count);

#endif
