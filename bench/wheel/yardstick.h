/* SPDX-License-Identifier: MIT */
/* yardstick.h - how fast is this machine at what no structure can avoid?
 *
 * Each call measures in a child process of its own.
 */
#ifndef TOCSIN_BENCH_WHEEL_YARDSTICK_H
#define TOCSIN_BENCH_WHEEL_YARDSTICK_H

#include <stddef.h>

struct yardsticks {
    double miss_small_ns;  /* a random read that waits for the one before, 4 KiB pages */
    double miss_huge_ns;   /* the same on huge pages */
    double independent_ns; /* a random read that waits for nothing, huge pages */
    double touch_ns; /* a handle read by chance, the 32 bytes it leads to compared and written, the
                        handle written: what no timer with handles can do without; a million */
    double contended_add_ns; /* per fetch-add, two threads on one word, each on its core */
};

/* Over a buffer of so many bytes, well past the last-level cache. */
void yardstick_measure(size_t buffer_bytes, struct yardsticks *ret_yardsticks);

#endif
