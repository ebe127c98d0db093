/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "base/eight.h"
#include "runner.h"

/* The obvious way. */
static size_t plain_slowly(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && (unsigned char)text[at] >= 0x20 && (unsigned char)text[at] <= 0x7e)
        at++;
    return at;
}

/* Each byte at each place, and another one behind it, since a mark may spill upwards. */
TEST(utf8_plain_stops_at_the_first_byte_that_is_not_printable)
{
    for (size_t size = 1; size <= 19; size++) {
        char *text = malloc(size); /* of this size, so that a sanitizer sees a read past it */
        assert_non_null(text);
        for (size_t at = 0; at < size; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                memset(text, 'x', size);
                text[at] = (char)byte;
                if (at + 1 < size)
                    text[at + 1] = (char)(byte * 7);
                assert_int_equal(utf8_plain(text, size), plain_slowly(text, size));
            }
        }
        free(text);
    }
    assert_int_equal(utf8_plain(NULL, 0), 0);
}

TEST(eight_marks_the_lowest_byte_that_is_meant)
{
    for (unsigned byte = 0; byte < 0x80; byte++) {
        for (size_t at = 0; at < 8; at++) {
            char text[8];
            memset(text, byte == 'a' ? 'b' : 'a', sizeof text);
            text[at] = (char)byte;
            uint64_t word = eight_load(text);
            assert_int_equal(eight_first(eight_is(word, (unsigned char)byte)), at);
            assert_int_equal(eight_high(word), 0);
            if (byte < 'a')
                assert_int_equal(eight_first(eight_below(word, 'a')), at);
            text[at] = (char)(byte | 0x80);
            assert_int_equal(eight_first(eight_high(eight_load(text))), at);
        }
    }
}
