/* SPDX-License-Identifier: MIT */
/* bytes.h - which bytes, and how many?
 *
 * Somebody else's bytes, borrowed: not terminated, any value. Who keeps them copies them.
 */
#ifndef TOCSIN_BASE_BYTES_H
#define TOCSIN_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    const char *at;
    size_t size;
};

static inline struct bytes bytes_of(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_equal(struct bytes one, struct bytes other)
{
    return one.size == other.size && (one.size == 0 || memcmp(one.at, other.at, one.size) == 0);
}

static inline bool bytes_are(struct bytes bytes, const char *text)
{
    return bytes_equal(bytes, bytes_of(text));
}

#endif
