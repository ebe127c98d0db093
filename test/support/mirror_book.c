/* SPDX-License-Identifier: MIT */
#include "support/mirror_book.h"

#include <stdio.h>
#include <string.h>

#include "runner.h"

static struct mirror_book_row *row_of(struct mirror_book *book, struct bytes name)
{
    for (size_t i = 0; i < book->count; i++) {
        if (bytes_are(name, book->rows[i].name))
            return &book->rows[i];
    }
    return NULL;
}

static void take(struct mirror_book *book, const struct store_mirror *mirror, int64_t now_ns)
{
    struct mirror_book_row *row = row_of(book, mirror->name);
    if (mirror->value.at == NULL) {
        if (row != NULL)
            *row = book->rows[--book->count];
        return;
    }
    if (row == NULL) {
        assert_true(book->count < MIRROR_BOOK_NAMES_MAX);
        row = &book->rows[book->count++];
    }
    assert_true(mirror->name.size < sizeof row->name && mirror->value.size < sizeof row->value);
    (void)snprintf(row->name, sizeof row->name, "%.*s", (int)mirror->name.size, mirror->name.at);
    (void)snprintf(row->value, sizeof row->value, "%.*s", (int)mirror->value.size,
                   mirror->value.at);
    row->end_ns = mirror->expire_ms == 0 ? INT64_MAX : now_ns + mirror->expire_ms * 1000000;
}

void mirror_book_take(struct mirror_book *book, const struct store_batch *batch, int64_t now_ns)
{
    for (size_t i = 0; i < batch->mirror_count; i++)
        take(book, &batch->mirrors[i], now_ns);
    book->taken += batch->mirror_count;
}

const char *mirror_book_find(const struct mirror_book *book, const char *name, int64_t now_ns)
{
    for (size_t i = 0; i < book->count; i++) {
        if (strcmp(book->rows[i].name, name) == 0 && book->rows[i].end_ns > now_ns)
            return book->rows[i].value;
    }
    return "";
}

size_t mirror_book_count(const struct mirror_book *book, int64_t now_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < book->count; i++)
        count += book->rows[i].end_ns > now_ns;
    return count;
}
