/* SPDX-License-Identifier: MIT */
/* cut.h - what a client sends, in one piece and in others: it must make no difference.
 *
 * The first byte of an input says where the rest is cut.
 */
#ifndef FUZZ_CUT_H
#define FUZZ_CUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { CUT_OUTCOME_BYTES_MAX = 1 << 20 };

/* What a parser makes of the first so many bytes, and then a step at a time. */
typedef void (*outcome_fn)(const char *bytes, size_t size, size_t first, size_t step,
                           struct buffer *out);

static inline void cut_compare(outcome_fn outcome, const char *bytes, size_t size,
                               const struct buffer *whole, size_t first, size_t step)
{
    struct buffer cut;
    buffer_init(&cut, CUT_OUTCOME_BYTES_MAX);
    outcome(bytes, size, first, step, &cut);
    if (cut.size != whole->size || (cut.size > 0 && memcmp(cut.data, whole->data, cut.size) != 0)) {
        (void)fprintf(stderr, "cut after %zu, then each %zu:\n%.*s\nwhole:\n%.*s\n", first, step,
                      (int)cut.size, cut.data, (int)whole->size, whole->data);
        abort();
    }
    buffer_release(&cut);
}

static inline void cut_everywhere(outcome_fn outcome, const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    const char *bytes = (const char *)data + 1;
    struct buffer whole;
    buffer_init(&whole, CUT_OUTCOME_BYTES_MAX);
    outcome(bytes, size - 1, 0, SIZE_MAX / 2, &whole);
    if (buffer_status(&whole) == TOCSIN_OK) {
        cut_compare(outcome, bytes, size - 1, &whole, 0, 1);
        cut_compare(outcome, bytes, size - 1, &whole, 1 + data[0], SIZE_MAX / 2);
        cut_compare(outcome, bytes, size - 1, &whole, 0, 1 + data[0] % 16u);
    }
    buffer_release(&whole);
}

#endif
