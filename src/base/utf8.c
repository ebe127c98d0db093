/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <assert.h>
#include <stdbool.h>

#include "base/eight.h"

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Only the second byte has bounds of its own: they keep out the overlong forms (after E0
 * and F0), the surrogates (after ED) and what is past the last code point (after F4). */
size_t utf8_length(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    size_t length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (size < length)
        return 0;
    unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (!continues(at[i]))
            return 0;
    }
    return length;
}

size_t utf8_plain(const char *text, size_t size)
{
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word = eight_load(text + at);
        uint64_t odd = eight_high(word) | eight_below(word, 0x20) | eight_is(word, 0x7f);
        if (odd != 0)
            return at + eight_first(odd);
    }
    while (at < size && text[at] >= 0x20 && text[at] < 0x7f)
        at++;
    return at;
}

size_t utf8_encode(uint32_t code, char to[UTF8_BYTES_MAX])
{
    assert(code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char head[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(head[length] | code);
    return length;
}
