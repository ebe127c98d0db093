/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "store/redis/redis_inside.h"

static const char *const fields[] = {"commit",      "living",  "high_rev", "high_seq", "first_seq",
                                     "event_bytes", "elapsed", "skew",     "crc"};
enum { FIELDS = sizeof fields / sizeof fields[0] };
_Static_assert(FIELDS * 2 == REDIS_BOOKS_WORDS, "a word and its value each");

static uint32_t checksum(const struct redis_books *books, uint64_t incarnation)
{
    const uint64_t numbers[] = {
        incarnation,
        books->commit,
        books->living,
        books->high_rev,
        books->high_seq,
        books->first_seq,
        books->event_bytes,
        (uint64_t)books->time.elapsed_ms,
        (uint64_t)books->time.skew_ms,
    };
    return crc32c(0, numbers, sizeof numbers);
}

void redis_books_write(const struct redis_books *books, uint64_t incarnation,
                       struct redis_books_text *text, struct bytes words[REDIS_BOOKS_WORDS])
{
    const uint64_t numbers[] = {books->commit,   books->living,    books->high_rev,
                                books->high_seq, books->first_seq, books->event_bytes};
    size_t size = sizeof text->values[0];
    for (size_t i = 0; i < 6; i++)
        (void)snprintf(text->values[i], size, "%" PRIu64, numbers[i]);
    (void)snprintf(text->values[6], size, "%" PRId64, books->time.elapsed_ms);
    (void)snprintf(text->values[7], size, "%" PRId64, books->time.skew_ms);
    (void)snprintf(text->values[8], size, "%" PRIu32, checksum(books, incarnation));
    for (size_t i = 0; i < FIELDS; i++) {
        words[2 * i] = bytes_of(fields[i]);
        words[2 * i + 1] = bytes_of(text->values[i]);
    }
}

bool redis_books_read(redisReply *const values[REDIS_BOOKS_WORDS / 2], uint64_t incarnation,
                      struct redis_books *ret_books)
{
    uint64_t numbers[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        if (!wire_number(values[i], &numbers[i]))
            return false;
    *ret_books = (struct redis_books){
        .commit = numbers[0],
        .living = numbers[1],
        .high_rev = numbers[2],
        .high_seq = numbers[3],
        .first_seq = numbers[4],
        .event_bytes = numbers[5],
        .time = {(int64_t)numbers[6], (int64_t)numbers[7]},
    };
    return numbers[8] == checksum(ret_books, incarnation);
}
