/* SPDX-License-Identifier: MIT */
/* tally.h - what has been done with the wheel, and how much of it in a second?
 *
 * The callers' own count, kept apart from the wheel's, so that one can be held
 * against the other at the end.
 */
#ifndef TOCSIN_CLI_TALLY_H
#define TOCSIN_CLI_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* All zero is a good start. */
struct tally {
    uint64_t armed;
    uint64_t rearmed;
    uint64_t cancelled;
    uint64_t fired;
    uint64_t moved; /* steps down a level: these only the wheel can count */
};

enum { TALLY_SAMPLES = 12 };

/* The tallies of about the last second. All zero is empty. */
struct tally_history {
    struct tally_sample {
        uint64_t at_us;
        struct tally tally;
    } samples[TALLY_SAMPLES];
    size_t taken;
};

void tally_record(struct tally_history *history, uint64_t at_us, const struct tally *tally);
/* How much was added in a second; all zero until there are two samples. */
struct tally tally_rates(const struct tally_history *history);

#endif
