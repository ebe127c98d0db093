/* SPDX-License-Identifier: MIT */
/* progress.h - how far is it? A bar on stderr, redrawn ten times a second, only where that is a
 * terminal. It is wiped away at the end. */
#ifndef TOCSIN_CLI_PROGRESS_H
#define TOCSIN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* "verifying" */
    bool shown;       /* there is a terminal */
    bool drawn;
    uint64_t started_us;
    uint64_t drawn_us;
};

void progress_init(struct progress *progress, const char *what);
/* of is 0 when nobody knows. */
void progress_set(struct progress *progress, uint64_t done, uint64_t of);
void progress_end(struct progress *progress);

#endif
