/* SPDX-License-Identifier: MIT */
/* backoff.h - how long until the next attempt?
 *
 * min(cap, base * factor^n) after failure number n, the first being 0, and then up to
 * the fraction `jitter` of it less, so that what failed together does not come back
 * together. Less only: the cap holds, and delays at the cap are spread like all others.
 *
 * Promise   truly exponential until the cap; never more than the cap; no overflow for
 *           any n; the same arguments give the same delay.
 * Chance    is an argument: 64 random bits.
 */
#ifndef TOCSIN_SCHEDULE_BACKOFF_H
#define TOCSIN_SCHEDULE_BACKOFF_H

#include <stdint.h>

#include <tocsin/status.h>

/* The longest base and cap: about 285 000 years, and exact in a double. */
#define BACKOFF_MAX_MS (UINT64_C(1) << 53)

struct backoff {
    uint64_t base_ms;
    uint64_t cap_ms;
    double factor; /* 1 to 1000 */
    double jitter; /* 0 to 1 */
};

enum tocsin_status backoff_valid(const struct backoff *backoff, struct tocsin_why *ret_why);

/* The backoff must be valid. */
uint64_t backoff_delay_ms(const struct backoff *backoff, uint32_t failures_before, uint64_t chance);

#endif
