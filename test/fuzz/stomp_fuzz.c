/* SPDX-License-Identifier: MIT */
/* What a client sends: whatever is in it, where it is cut must make no difference. The first byte
 * says where it is cut. */
#include <stdint.h>
#include <stdio.h>

#include "support/stomp_outcome.h"

enum { OUTCOME_BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const char *bytes, size_t size, const struct buffer *whole, size_t first,
                    size_t step)
{
    struct buffer cut;
    buffer_init(&cut, OUTCOME_BYTES_MAX);
    stomp_outcome(bytes, size, first, step, &cut);
    if (cut.size != whole->size || (cut.size > 0 && memcmp(cut.data, whole->data, cut.size) != 0)) {
        (void)fprintf(stderr, "cut after %zu, then each %zu:\n%.*s\nwhole:\n%.*s\n", first, step,
                      (int)cut.size, cut.data, (int)whole->size, whole->data);
        abort();
    }
    buffer_release(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct buffer whole;
    buffer_init(&whole, OUTCOME_BYTES_MAX);
    stomp_outcome(bytes, size - 1, 0, SIZE_MAX / 2, &whole);
    if (buffer_status(&whole) == TOCSIN_OK) {
        compare(bytes, size - 1, &whole, 0, 1);
        compare(bytes, size - 1, &whole, 1 + data[0], SIZE_MAX / 2);
        compare(bytes, size - 1, &whole, 0, 1 + data[0] % 16u);
    }
    buffer_release(&whole);
    return 0;
}
