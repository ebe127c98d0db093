/* SPDX-License-Identifier: MIT */
/* summary.h - how did the demonstration go, in words or as JSON? */
#ifndef TOCSIN_CLI_SUMMARY_H
#define TOCSIN_CLI_SUMMARY_H

#include <stdio.h>

#include <tocsin/wheel.h>

#include "cli/lateness.h"
#include "cli/tally.h"

/* All borrowed. */
struct summary {
    const char *geometry;
    const struct tocsin_wheel *wheel;
    const struct lateness *lateness;
    const struct tally *tally;
    uint64_t seed;
    uint64_t elapsed_us;
    uint64_t early;      /* came out before they were due */
    uint64_t unexpected; /* twice, after a cancel, or with a wrong due time */
    uint64_t lost;       /* due, and did not come out */
    enum tocsin_status check;
    struct tocsin_why why;
};

/* Nothing early, unexpected or lost, the recount agrees, and the tally adds up to
 * what the wheel says. */
bool summary_good(const struct summary *summary);

void summary_print(FILE *out, const struct summary *summary);
void summary_print_json(FILE *out, const struct summary *summary);

/* Before the end, where no picture can be drawn: one line. */
void summary_print_line(FILE *out, const struct summary *summary, const struct tally *rates);

#endif
