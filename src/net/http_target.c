/* SPDX-License-Identifier: MIT */
#include "net/http_target.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { SHOWN_BYTES = 40, NAMES_MAX = 64 };

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    char letter = (char)(byte | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The character at *at, which moves on; -1: a bad escape or NUL. */
static int next_byte(struct bytes coded, size_t *at, bool plus_is_blank)
{
    char byte = coded.at[*at];
    if (byte != '%') {
        (*at)++;
        if (byte == '\0')
            return -1;
        return plus_is_blank && byte == '+' ? ' ' : (unsigned char)byte;
    }
    if (coded.size - *at < 3)
        return -1;
    int high = hex_value(coded.at[*at + 1]);
    int low = hex_value(coded.at[*at + 2]);
    *at += 3;
    if (high < 0 || low < 0 || (high | low) == 0)
        return -1;
    return high << 4 | low;
}

static bool valid_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static enum tocsin_status decode(struct bytes coded, bool plus_is_blank, char *to, size_t room,
                                 size_t *ret_size)
{
    size_t size = 0;
    for (size_t at = 0; at < coded.size;) {
        int byte = next_byte(coded, &at, plus_is_blank);
        if (byte < 0)
            return TOCSIN_INVALID;
        if (size == room)
            return TOCSIN_TOO_LARGE;
        to[size++] = (char)byte;
    }
    if (!valid_utf8(to, size))
        return TOCSIN_INVALID;
    *ret_size = size;
    return TOCSIN_OK;
}

bool http_path_next(struct bytes *path, struct bytes *ret_segment)
{
    if (path->size == 0 || path->at[0] != '/')
        return false;
    const char *at = path->at + 1;
    size_t left = path->size - 1;
    const char *slash = left > 0 ? memchr(at, '/', left) : NULL;
    size_t size = slash != NULL ? (size_t)(slash - at) : left;
    *ret_segment = (struct bytes){at, size};
    *path = (struct bytes){at + size, left - size};
    return true;
}

enum tocsin_status http_path_decode(struct bytes segment, char *to, size_t room, size_t *ret_size)
{
    return decode(segment, false, to, room, ret_size);
}

enum tocsin_status http_query_decode(struct bytes coded, char *to, size_t room, size_t *ret_size)
{
    return decode(coded, true, to, room, ret_size);
}

/* Up to the mark, which is passed over; or all of it. */
static struct bytes cut(struct bytes *rest, char mark)
{
    const char *end = rest->size > 0 ? memchr(rest->at, mark, rest->size) : NULL;
    size_t size = end != NULL ? (size_t)(end - rest->at) : rest->size;
    struct bytes piece = {rest->at, size};
    size_t passed = end != NULL ? size + 1 : size;
    *rest = (struct bytes){rest->at + passed, rest->size - passed};
    return piece;
}

bool http_query_next(struct bytes *query, struct bytes *ret_name, struct bytes *ret_value)
{
    while (query->size > 0) {
        struct bytes pair = cut(query, '&');
        if (pair.size == 0)
            continue;
        size_t whole = pair.size;
        struct bytes name = cut(&pair, '=');
        bool has_value = name.size < whole;
        *ret_name = name;
        *ret_value = has_value ? pair : (struct bytes){NULL, 0};
        return true;
    }
    return false;
}

static bool is_name(struct bytes coded, const char *name)
{
    char text[HTTP_QUERY_NAME_BYTES_MAX];
    size_t size;
    if (http_query_decode(coded, text, sizeof text, &size) != TOCSIN_OK)
        return false;
    return bytes_are((struct bytes){text, size}, name);
}

struct bytes http_query_find(struct bytes query, const char *name)
{
    struct bytes coded;
    struct bytes value;
    while (http_query_next(&query, &coded, &value)) {
        if (is_name(coded, name))
            return value.at != NULL ? value : (struct bytes){coded.at + coded.size, 0};
    }
    return (struct bytes){NULL, 0};
}

/* Without room for the result: escapes and UTF-8 are judged character by character. */
static bool well_formed(struct bytes coded)
{
    for (size_t at = 0; at < coded.size;) {
        char character[UTF8_BYTES_MAX];
        size_t size = 0;
        do {
            int byte = next_byte(coded, &at, true);
            if (byte < 0)
                return false;
            character[size++] = (char)byte;
        } while (utf8_length(character, size) == 0 && size < UTF8_BYTES_MAX && at < coded.size);
        if (utf8_length(character, size) == 0)
            return false;
    }
    return true;
}

static enum tocsin_status refuse(struct tocsin_why *why, struct bytes name, const char *problem)
{
    (void)snprintf(why->text, sizeof why->text, "parameter '%.*s' %s",
                   name.size < SHOWN_BYTES ? (int)name.size : SHOWN_BYTES, name.at, problem);
    return TOCSIN_INVALID;
}

enum tocsin_status http_query_check(struct bytes query, const char *const *names, size_t count,
                                    struct tocsin_why *ret_why)
{
    uint64_t seen = 0;
    struct bytes coded;
    struct bytes value;
    assert(count <= NAMES_MAX);
    while (http_query_next(&query, &coded, &value)) {
        size_t i = 0;
        while (i < count && !is_name(coded, names[i]))
            i++;
        if (i == count)
            return refuse(ret_why, coded, "is not known here");
        if ((seen >> i & 1) != 0)
            return refuse(ret_why, coded, "is given twice");
        if (!well_formed(value))
            return refuse(ret_why, coded,
                          "has a value with a bad escape, or one that is not UTF-8");
        seen |= UINT64_C(1) << i;
    }
    return TOCSIN_OK;
}
