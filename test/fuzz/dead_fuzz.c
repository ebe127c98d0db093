/* SPDX-License-Identifier: MIT */
/* The list of a commit's dead, as it stands in a file that may have decayed: it is refused, or
 * the revs ascend and writing them again gives the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/dead.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { REVS_MAX = 4096 };
    static uint64_t revs[REVS_MAX];
    if (size > REVS_MAX)
        return 0;
    /* A copy of exactly this size, so that a read past the end is seen. */
    char *bytes = malloc(size > 0 ? size : 1);
    require(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    struct dead_reader reader;
    struct dead_set set;
    size_t count = 0;
    uint64_t last = 0;
    enum tocsin_status status;
    dead_reader_init(&reader, (struct bytes){bytes, size});
    while ((status = dead_read(&reader, &revs[count])) == TOCSIN_OK) {
        require(revs[count] > last && revs[count] <= DEAD_REV_MAX);
        last = revs[count++];
    }
    require(status == TOCSIN_NONE || status == TOCSIN_DAMAGED);
    dead_set_init(&set);
    enum tocsin_status added = dead_set_add_list(&set, (struct bytes){bytes, size});
    require(set.size == count);
    require((added == TOCSIN_OK) == (status == TOCSIN_NONE));
    struct dead_cursor cursor;
    dead_cursor_init(&cursor, &set);
    uint64_t rev;
    for (size_t i = 0; i < count; i++)
        require(dead_cursor_next(&cursor, &rev) && rev == revs[i]);
    require(!dead_cursor_next(&cursor, &rev));
    dead_set_release(&set);
    if (status == TOCSIN_NONE) {
        struct buffer buffer;
        buffer_init(&buffer, REVS_MAX * 10);
        dead_encode(&buffer, revs, count);
        require(buffer.size == size && (size == 0 || memcmp(buffer.data, bytes, size) == 0));
        buffer_release(&buffer);
    }
    free(bytes);
    return 0;
}
