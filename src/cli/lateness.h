/* SPDX-License-Identifier: MIT */
/* lateness.h - how late did they come?
 *
 * A histogram of microseconds with buckets that grow with the value (each at
 * most 1/32 wide), so that a percentile costs no sorting and no memory.
 */
#ifndef TOCSIN_CLI_LATENESS_H
#define TOCSIN_CLI_LATENESS_H

#include <stdint.h>

enum { LATENESS_BUCKETS = 1216 };

/* All zero is empty. */
struct lateness {
    uint64_t count;
    uint64_t max_us;
    uint64_t sum_us;
    uint64_t buckets[LATENESS_BUCKETS];
};

void lateness_add(struct lateness *lateness, uint64_t late_us);
/* What permille of all stayed at or below, rounded up to the bucket; 0 if empty. */
uint64_t lateness_percentile_us(const struct lateness *lateness, uint32_t permille);
/* How many were at or above from and below to, as exactly as the buckets tell. */
uint64_t lateness_between(const struct lateness *lateness, uint64_t from_us, uint64_t to_us);

#endif
