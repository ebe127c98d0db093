/* SPDX-License-Identifier: MIT */
/* A stream of requests: whatever is in it, where it is cut must make no difference. The first
 * byte says where it is cut. The path and query of what is accepted are decoded too. */
#include <stdint.h>
#include <stdio.h>

#include "net/http_target.h"
#include "support/http_outcome.h"

enum { OUTCOME_BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const char *text, size_t size, const struct buffer *whole, size_t first,
                    size_t step)
{
    struct buffer cut;
    buffer_init(&cut, OUTCOME_BYTES_MAX);
    outcome_of(text, size, first, step, &cut);
    if (cut.size != whole->size || memcmp(cut.data, whole->data, cut.size) != 0) {
        (void)fprintf(stderr, "cut after %zu, then each %zu:\n%s\nwhole:\n%s\n", first, step,
                      cut.data, whole->data);
        abort();
    }
    buffer_release(&cut);
}

static void decode(const char *text, size_t size)
{
    char to[64];
    size_t to_size;
    struct bytes path = {text, size};
    struct bytes query = {text, size};
    struct bytes name;
    struct bytes value;
    struct tocsin_why why = {""};
    static const char *const names[] = {"limit", "after"};
    while (http_path_next(&path, &name))
        (void)http_path_decode(name, to, sizeof to, &to_size);
    while (http_query_next(&query, &name, &value))
        (void)http_query_decode(value, to, sizeof to, &to_size);
    query = (struct bytes){text, size};
    (void)http_query_find(query, "limit");
    (void)http_query_check(query, names, 2, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    struct buffer whole;
    buffer_init(&whole, OUTCOME_BYTES_MAX);
    outcome_of(text, size - 1, 0, SIZE_MAX / 2, &whole);
    if (buffer_status(&whole) == TOCSIN_OK) {
        compare(text, size - 1, &whole, 0, 1);
        compare(text, size - 1, &whole, 1 + data[0], SIZE_MAX / 2);
        compare(text, size - 1, &whole, 0, 1 + data[0] % 16u);
    }
    buffer_release(&whole);
    decode(text, size - 1);
    return 0;
}
