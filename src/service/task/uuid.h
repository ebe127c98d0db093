/* SPDX-License-Identifier: MIT */
/* uuid.h - what is this task called, when nobody gave it a name?
 *
 * UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits, so that ids
 * sort by the time they were made. Lower case, 36 characters.
 *
 * Promise   the ids of one source ascend, also inside a millisecond and when the clock goes
 *           back: what was last is then raised by a random step of up to 32 bits, and carries
 *           into the milliseconds when the 74 bits are used up.
 * Chance    and time are arguments.
 * Threads   one at a time per source.
 */
#ifndef TOCSIN_SERVICE_TASK_UUID_H
#define TOCSIN_SERVICE_TASK_UUID_H

#include <stdint.h>

enum { UUID_TEXT_BYTES = 36 }; /* not terminated */

/* The lowest 12 and 62 bits of the two are used; milliseconds beyond 48 bits become the
 * nearest that are not. */
void uuid_format(int64_t unix_ms, uint16_t random_high, uint64_t random_low,
                 char ret_text[UUID_TEXT_BYTES]);

struct uuid_source {
    uint64_t (*random)(void *arg); /* 64 random bits */
    void *arg;
    int64_t last_ms;
    uint16_t last_high;
    uint64_t last_low;
};

void uuid_source_init(struct uuid_source *source, uint64_t (*random)(void *arg), void *arg);
void uuid_next(struct uuid_source *source, int64_t unix_ms, char ret_text[UUID_TEXT_BYTES]);

#endif
