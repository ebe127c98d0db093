/* SPDX-License-Identifier: MIT */
/* mirror_book.h - what would a program find by a name that a shared store keeps beside its records?
 *
 * The names of the batches that were stored, in a list, with the moment each goes by itself.
 */
#ifndef TEST_MIRROR_BOOK_H
#define TEST_MIRROR_BOOK_H

#include "store/store.h"

enum { MIRROR_BOOK_NAMES_MAX = 64, MIRROR_BOOK_NAME_BYTES = 320, MIRROR_BOOK_VALUE_BYTES = 1024 };

struct mirror_book {
    struct mirror_book_row {
        char name[MIRROR_BOOK_NAME_BYTES];
        char value[MIRROR_BOOK_VALUE_BYTES];
        int64_t end_ns; /* INT64_MAX: it stays */
    } rows[MIRROR_BOOK_NAMES_MAX];
    size_t count;
    uint64_t taken; /* mirrors, with those that went */
};

void mirror_book_take(struct mirror_book *book, const struct store_batch *batch, int64_t now_ns);
/* "": there is no such name, or no more. */
const char *mirror_book_find(const struct mirror_book *book, const char *name, int64_t now_ns);
/* Those that are there. */
size_t mirror_book_count(const struct mirror_book *book, int64_t now_ns);

#endif
