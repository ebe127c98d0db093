/* SPDX-License-Identifier: MIT */
/* memory.h - where does a growing array live?
 *
 * A wheel keeps its timers in arrays that grow in place: address space for the
 * stated maximum is reserved once, and pages are committed as they are needed.
 * So growing copies nothing, an index stays good for ever, and the tail can be
 * given back. The default (mmap) is used when no other is named; bring your own
 * to run from a fixed arena, or to make the n-th allocation fail in a test.
 *
 * Promise   committed bytes read as zero, also when they are committed again
 *           after a decommit. A refusal (NULL, false) changes nothing.
 * Threads   called by the owner of the wheel only.
 */
#ifndef TOCSIN_MEMORY_H
#define TOCSIN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tocsin_memory {
    /* Address space, aligned to a page (64 KiB is enough for any); NULL: none. */
    void *(*reserve)(void *arg, size_t bytes);
    /* Make [at, at + bytes) usable. Both are multiples of 64 KiB, counted from
     * what reserve gave; the last piece may end where the reservation does. */
    bool (*commit)(void *arg, void *at, size_t bytes);
    /* Give the pages of [at, at + bytes) back; the address space stays. */
    void (*decommit)(void *arg, void *at, size_t bytes);
    void (*release)(void *arg, void *base, size_t bytes);
    void *arg;
};

/* The system's own: mmap, with huge pages once a region passes 2 MiB. */
const struct tocsin_memory *tocsin_memory_system(void);

#ifdef __cplusplus
}
#endif

#endif
