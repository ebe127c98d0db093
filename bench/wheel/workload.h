/* SPDX-License-Identifier: MIT */
/* workload.h - which timers are touched, in which order, with which delays?
 *
 * Drawn in advance from a seed, and the same for every structure of a round. The
 * structures read it from front to back, so drawing costs nobody anything in the
 * timed part, and reading it costs everybody the same.
 */
#ifndef TOCSIN_BENCH_WHEEL_WORKLOAD_H
#define TOCSIN_BENCH_WHEEL_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

enum dist { DIST_UNIFORM, DIST_LOG, DIST_CONSTANT, DIST_COUNT };

/* "uniform", "log", "constant", and the same with its bounds. */
const char *dist_name(enum dist dist);
const char *dist_text(enum dist dist);

enum {
    UNIFORM_MAX_MS = 60000,
    CONSTANT_MS = 30000,
    /* One turn of a wheel whose two lowest levels have 256 slots of 1 ms and 256
     * ms: no structure here has a cost that comes round less often and matters. */
    TURN_MS = 65536,
    AGAIN_COUNT = 65536, /* a power of two */
};
#define LOG_MAX_MS UINT32_C(2592000000) /* 30 days */

/* A timer is (re-)armed delay_ms from now. Its index is where the caller's object lies, or the
 * caller's handle. */
struct step {
    uint32_t index;
    uint32_t delay_ms;
};

struct workload {
    enum dist dist;
    uint32_t pending;
    uint64_t start_ms;

    /* Every timer once, in the order of the indexes: with fresh delays, and as an
     * observer finds them who comes by later, when some have waited for long. */
    struct step *fresh;
    struct step *aged;

    /* All timers in random order, over and over. The clock moves on by 1 ms each
     * pairs_per_ms of them. */
    struct step *churn;
    size_t churn_count;
    size_t pairs; /* how many of them with the clock standing still */
    size_t pairs_per_ms;

    uint32_t *again; /* AGAIN_COUNT delays for timers that fire while it runs */
};

void workload_init(struct workload *workload, enum dist dist, uint32_t pending, uint64_t seed);
void workload_release(struct workload *workload);

/* When to look next so that about count of the timers in fresh have come due since
 * elapsed_ms: at least 1 ms later. */
uint64_t workload_next_ms(const struct workload *workload, uint64_t elapsed_ms, uint32_t count);

#endif
