/* SPDX-License-Identifier: MIT */
/* when.h - how far away is that, for a reader? */
#ifndef TOCSIN_CLI_WHEN_H
#define TOCSIN_CLI_WHEN_H

#include <stdint.h>

enum { WHEN_BYTES = 64 };

struct when {
    char text[WHEN_BYTES];
};

int64_t when_now_ms(void);                                /* by the wall clock */
struct when when_span(uint64_t ms);                       /* "4m 59s", "350ms" */
struct when when_relative(int64_t at_ms, int64_t now_ms); /* "in 4m 59s", "3s ago", "now" */
struct when when_local(int64_t at_ms);                    /* "2026-11-15T13:00:00+01:00" */
struct when when_clock(int64_t at_ms);                    /* "13:00:00.250", of today or not */

#endif
