/* SPDX-License-Identifier: MIT */
#include "base/json_scan.h"

#include <string.h>

#include "base/eight.h"
#include "base/utf8.h"

/* Marks what needs a closer look: a quote, a backslash, a control character or a part of a
 * longer character. */
static uint64_t special_bytes(uint64_t word)
{
    return eight_high(word) | eight_below(word, 0x20) | eight_is(word, '"') | eight_is(word, '\\');
}

static const char *skip_plain(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t special = special_bytes(eight_load(at));
        if (special != 0)
            return at + eight_first(special);
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The number in \uXXXX, or -1 when it is not one. */
static int32_t escaped_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Past the escape at this place, or NULL. */
static const char *scan_escape(struct json_reader *reader, const char *at)
{
    const char *end = reader->end;
    if (end - at >= 2 && at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL)
        return at + 2;
    if (end - at < 2 || at[1] != 'u') {
        (void)json_malformed(reader, at,
                             "after a backslash comes one of \" \\ / b f n r t, or u and four "
                             "hexadecimal digits");
        return NULL;
    }
    int32_t unit = escaped_unit(at, end);
    if (unit < 0) {
        (void)json_malformed(reader, at, "\\u must be followed by four hexadecimal digits");
        return NULL;
    }
    if (is_high_surrogate(unit) && is_low_surrogate(escaped_unit(at + 6, end)))
        return at + 12;
    if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
        (void)json_malformed(reader, at, "this is half of a surrogate pair, the other is missing");
        return NULL;
    }
    return at + 6;
}

bool json_scan_string(struct json_reader *reader)
{
    const char *start = reader->at;
    const char *at = start;
    bool escaped = false;
    for (;;) {
        at = skip_plain(at, reader->end);
        if (at == reader->end)
            return json_malformed(reader, start - 1, "a string must end with a quote");
        if (*at == '"')
            break;
        if (*at == '\\') {
            escaped = true;
            at = scan_escape(reader, at);
            if (at == NULL)
                return false;
            continue;
        }
        size_t length = utf8_length(at, (size_t)(reader->end - at));
        if (length == 0)
            return json_malformed(reader, at, "this is not valid UTF-8");
        if (length == 1)
            return json_malformed(reader, at,
                                  "a control character in a string must be written as an escape");
        at += length;
    }
    reader->span = (struct json_span){start, (size_t)(at - start)};
    reader->escaped = escaped;
    reader->at = at + 1;
    return true;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

bool json_scan_number(struct json_reader *reader)
{
    const char *start = reader->at;
    const char *end = reader->end;
    const char *whole = start + (*start == '-');
    const char *at = skip_digits(whole, end);
    if (at == whole)
        return json_malformed(reader, at, "a minus must be followed by a digit");
    if (at - whole > 1 && *whole == '0')
        return json_malformed(reader, whole, "a number must not start with a zero");
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction, end);
        if (at == fraction)
            return json_malformed(reader, at, "a decimal point must be followed by a digit");
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;
        if (exponent < end && (*exponent == '+' || *exponent == '-'))
            exponent++;
        at = skip_digits(exponent, end);
        if (at == exponent)
            return json_malformed(reader, at, "an exponent must have a digit");
    }
    reader->span = (struct json_span){start, (size_t)(at - start)};
    reader->at = at;
    return true;
}

/* One escape of a string that was scanned: reads it and writes what it means. */
static size_t unescape_one(const char **from, const char *end, char to[UTF8_BYTES_MAX])
{
    static const char letters[] = "bfnrt";
    static const char meanings[] = "\b\f\n\r\t";
    const char *at = *from;
    if (at[1] != 'u') {
        const char *letter = strchr(letters, at[1]);
        to[0] = letter != NULL ? meanings[letter - letters] : at[1];
        *from = at + 2;
        return 1;
    }
    int32_t unit = escaped_unit(at, end);
    *from = at + 6;
    if (is_high_surrogate(unit)) {
        unit = 0x10000 + (unit - 0xd800) * 0x400 + (escaped_unit(at + 6, end) - 0xdc00);
        *from = at + 12;
    }
    return utf8_encode((uint32_t)unit, to);
}

size_t json_unescape(struct json_span string, char *to, size_t room)
{
    const char *at = string.at;
    const char *end = at + string.size;
    size_t size = 0;
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((backslash != NULL ? backslash : end) - at);
        if (plain > room - size)
            return SIZE_MAX;
        memcpy(to + size, at, plain);
        size += plain;
        at += plain;
        if (backslash == NULL)
            break;
        char bytes[UTF8_BYTES_MAX];
        size_t length = unescape_one(&at, end, bytes);
        if (length > room - size)
            return SIZE_MAX;
        memcpy(to + size, bytes, length);
        size += length;
    }
    return size;
}
