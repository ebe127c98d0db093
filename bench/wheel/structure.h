/* SPDX-License-Identifier: MIT */
/* structure.h - how is a timer structure driven?
 *
 * One set of functions per structure, each a loop around the structure's own calls
 * as its users write them, so that nothing but a function call per loop comes
 * between.
 *
 * Order     create, then anything. There is no destroy: a structure lives in a
 *           child process that ends after the measurement.
 */
#ifndef TOCSIN_BENCH_WHEEL_STRUCTURE_H
#define TOCSIN_BENCH_WHEEL_STRUCTURE_H

#include "workload.h"

#include <stdbool.h>

/* What happens when a timer fires: it is counted, and armed again while `again` is
 * set, with the next of these delays. */
struct firing {
    uint64_t fired;
    const uint32_t *again;
    size_t again_at;
};

static inline uint32_t firing_next_ms(struct firing *firing)
{
    return firing->again[firing->again_at++ % AGAIN_COUNT];
}

struct structure {
    const char *name;
    /* By its documentation and sizeof: what the caller holds per timer for the
     * structure to use, and what the structure allocates itself. */
    size_t caller_bytes;
    size_t inner_bytes;
    /* Held by a caller who may want to cancel; told apart from the others. */
    size_t handle_bytes;
    const char *(*version)(void);

    void *(*create)(uint32_t timers, uint64_t now_ms, struct firing *firing);
    void (*arm)(void *self, const struct step *steps, size_t count);
    /* Cancel, then arm, one timer after the other. */
    void (*pairs)(void *self, const struct step *steps, size_t count);
    /* The same in the one call that the structure has for it. */
    void (*rearms)(void *self, const struct step *steps, size_t count);
    /* The clock shows now_ms: fire what is due. */
    void (*advance)(void *self, uint64_t now_ms);
    /* Some of its costs come round only once per turn of its levels. */
    bool turns;
    /* True when none of its timers is pending; asks each of them. */
    bool (*idle)(void *self);
    /* What it says itself that it takes. NULL: it does not tell. */
    size_t (*bytes)(void *self);
    /* What a timer takes, without what does not grow with them; NULL: not known. */
    double (*timer_bytes)(void *self);
};

extern const struct structure structure_tocsin;
extern const struct structure structure_libev;
extern const struct structure structure_libuv;
extern const struct structure structure_libevent;
/* libevent's queue for timers that share a delay. */
extern const struct structure structure_libevent_common;

#endif
