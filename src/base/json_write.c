/* SPDX-License-Identifier: MIT */
#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/eight.h"
#include "base/utf8.h"

void json_writer_init(struct json_writer *writer, struct buffer *out)
{
    *writer = (struct json_writer){.out = out};
}

static uint64_t depth_bit(const struct json_writer *writer)
{
    return UINT64_C(1) << (writer->depth - 1);
}

static bool in_object(const struct json_writer *writer)
{
    return writer->depth > 0 && (writer->objects & depth_bit(writer)) != 0;
}

static void comma(struct json_writer *writer)
{
    uint64_t bit = depth_bit(writer);
    if ((writer->has_items & bit) != 0)
        buffer_append_byte(writer->out, ',');
    writer->has_items |= bit;
}

static void before_value(struct json_writer *writer)
{
    assert(!writer->done);
    assert(writer->has_key == in_object(writer));
    if (writer->depth > 0 && !writer->has_key)
        comma(writer);
    writer->has_key = false;
}

static void after_value(struct json_writer *writer)
{
    writer->done = writer->depth == 0;
}

static void open_container(struct json_writer *writer, bool object)
{
    before_value(writer);
    assert(writer->depth < JSON_WRITE_DEPTH_MAX);
    writer->depth++;
    uint64_t bit = depth_bit(writer);
    writer->objects = object ? writer->objects | bit : writer->objects & ~bit;
    writer->has_items &= ~bit;
    buffer_append_byte(writer->out, object ? '{' : '[');
}

static void close_container(struct json_writer *writer, bool object)
{
    assert(writer->depth > 0 && !writer->has_key);
    assert(in_object(writer) == object);
    writer->depth--;
    buffer_append_byte(writer->out, object ? '}' : ']');
    after_value(writer);
}

void json_write_object(struct json_writer *writer)
{
    open_container(writer, true);
}

void json_write_object_end(struct json_writer *writer)
{
    close_container(writer, true);
}

void json_write_array(struct json_writer *writer)
{
    open_container(writer, false);
}

void json_write_array_end(struct json_writer *writer)
{
    close_container(writer, false);
}

/* The escape of a byte, or the replacement of one that is not UTF-8. */
static void put_special(struct buffer *out, unsigned char byte)
{
    static const char letters[0x80] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
        ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
    };
    static const char hex[] = "0123456789abcdef";
    if (byte >= 0x80) {
        buffer_append_text(out, "\xef\xbf\xbd");
        return;
    }
    char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    size_t size = sizeof escape;
    if (letters[byte] != 0) {
        escape[1] = letters[byte];
        size = 2;
    }
    buffer_append(out, escape, size);
}

/* How many bytes from the start are ASCII that needs no escape; eight at a time. */
static size_t plain_run(const char *bytes, size_t size)
{
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word = eight_load(bytes + at);
        uint64_t odd =
            eight_high(word) | eight_below(word, 0x20) | eight_is(word, '"') | eight_is(word, '\\');
        if (odd != 0)
            return at + eight_first(odd);
    }
    for (; at < size; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\')
            break;
    }
    return at;
}

/* With its quotes, in one piece when it can be. */
static void put_string(struct buffer *out, const char *bytes, size_t size)
{
    size_t at = plain_run(bytes, size);
    if (at == size) {
        char *to = buffer_reserve(out, size + 2);
        if (to == NULL)
            return;
        to[0] = '"';
        if (size > 0)
            memcpy(to + 1, bytes, size);
        to[size + 1] = '"';
        buffer_advance(out, size + 2);
        return;
    }
    buffer_append_byte(out, '"');
    size_t done = 0;
    while (at < size) {
        unsigned char byte = (unsigned char)bytes[at];
        size_t length = 1;
        bool plain = byte >= 0x20 && byte != '"' && byte != '\\';
        if (byte >= 0x80) {
            length = utf8_length(bytes + at, size - at);
            plain = length > 0;
        }
        if (plain) {
            at += length;
            continue;
        }
        buffer_append(out, bytes + done, at - done);
        put_special(out, byte);
        done = ++at;
    }
    if (size > done)
        buffer_append(out, bytes + done, size - done);
    buffer_append_byte(out, '"');
}

void json_write_key_bytes(struct json_writer *writer, const char *name, size_t size)
{
    assert(in_object(writer) && !writer->has_key);
    comma(writer);
    put_string(writer->out, name, size);
    buffer_append_byte(writer->out, ':');
    writer->has_key = true;
}

void json_write_fields(struct json_writer *writer, const char *fields, size_t size)
{
    assert(in_object(writer) && !writer->has_key && size > 0);
    comma(writer);
    buffer_append(writer->out, fields, size);
}

void json_write_string(struct json_writer *writer, const char *bytes, size_t size)
{
    before_value(writer);
    put_string(writer->out, bytes, size);
    after_value(writer);
}

void json_write_text(struct json_writer *writer, const char *text)
{
    json_write_string(writer, text, strlen(text));
}

void json_write_raw(struct json_writer *writer, const char *json, size_t size)
{
    assert(size > 0);
    before_value(writer);
    buffer_append(writer->out, json, size);
    after_value(writer);
}

void json_write_raw_on_a_line(struct json_writer *writer, const char *json, size_t size)
{
    assert(size > 0);
    before_value(writer);
    char *to = buffer_reserve(writer->out, size);
    if (to != NULL) {
        for (size_t i = 0; i < size; i++)
            to[i] = json[i] == '\n' || json[i] == '\r' ? ' ' : json[i];
        buffer_advance(writer->out, size);
    }
    after_value(writer);
}

void json_write_bool(struct json_writer *writer, bool value)
{
    json_write_raw(writer, value ? "true" : "false", value ? 4 : 5);
}

void json_write_null(struct json_writer *writer)
{
    json_write_raw(writer, "null", 4);
}

/* The digits before end; where they begin. */
static char *digits_before(char *end, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    for (; value >= 100; value /= 100) {
        const char *pair = pairs + value % 100 * 2;
        *--end = pair[1];
        *--end = pair[0];
    }
    if (value >= 10) {
        *--end = pairs[value * 2 + 1];
        *--end = pairs[value * 2];
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

static void write_whole(struct json_writer *writer, bool negative, uint64_t value)
{
    enum { DIGITS_MAX = 20 };
    char text[DIGITS_MAX + 1]; /* with a sign */
    char *end = text + sizeof text;
    char *at = digits_before(end, value);
    if (negative)
        *--at = '-';
    json_write_raw(writer, at, (size_t)(end - at));
}

void json_write_int64(struct json_writer *writer, int64_t value)
{
    /* The cast first: the opposite of the smallest number is not one. */
    write_whole(writer, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_write_uint64(struct json_writer *writer, uint64_t value)
{
    write_whole(writer, false, value);
}

enum { DOUBLE_DIGITS_MAX = 17, DOUBLE_TEXT_MAX = 40, PLAIN_POINT_MAX = 21, PLAIN_ZEROS_MAX = 6 };

/* The fewest digits that read back as the value, which is positive or 0; the value is
 * 0.DIGITS times ten to the power of *ret_point. printf and strtod agree on how the
 * locale's decimal point looks; we take the digits and leave the point. */
static size_t shortest_digits(double value, char digits[DOUBLE_DIGITS_MAX], int *ret_point)
{
    char text[DOUBLE_TEXT_MAX];
    for (int precision = 0; precision < DOUBLE_DIGITS_MAX; precision++) {
        (void)snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    const char *exponent = strchr(text, 'e');
    assert(exponent != NULL);
    size_t count = 0;
    for (const char *at = text; at < exponent; at++) {
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    }
    *ret_point = (int)strtol(exponent + 1, NULL, 10) + 1;
    return count;
}

/* As people write it where that is short: 1500, 0.25, and 1e+30 beyond. */
static size_t lay_out(const char *digits, int count, int point, char text[DOUBLE_TEXT_MAX])
{
    int size;
    if (point > 0 && point <= PLAIN_POINT_MAX && count <= point)
        size = snprintf(text, DOUBLE_TEXT_MAX, "%.*s%.*s", count, digits, point - count,
                        "000000000000000000000");
    else if (point > 0 && point <= PLAIN_POINT_MAX)
        size = snprintf(text, DOUBLE_TEXT_MAX, "%.*s.%.*s", point, digits, count - point,
                        digits + point);
    else if (point <= 0 && point > -PLAIN_ZEROS_MAX)
        size = snprintf(text, DOUBLE_TEXT_MAX, "0.%.*s%.*s", -point, "000000", count, digits);
    else
        size = snprintf(text, DOUBLE_TEXT_MAX, "%c%s%.*se%+d", digits[0], count > 1 ? "." : "",
                        count - 1, digits + 1, point - 1);
    assert(size > 0 && size < DOUBLE_TEXT_MAX);
    return (size_t)size;
}

/* What people write: up to a million, with up to three decimals. No text of ours for these is
 * shorter, and there is no need to try. 0: it is none of these. */
static size_t write_plain(double value, char text[DOUBLE_TEXT_MAX])
{
    double thousandths = value * 1000;
    if (!(value < 1e6) || thousandths != floor(thousandths) || thousandths / 1000 != value)
        return 0;
    uint32_t left = (uint32_t)thousandths;
    char *end = text + DOUBLE_TEXT_MAX;
    char *at = end;
    bool fraction = left % 1000 != 0;
    for (int i = 0; i < 3; i++, left /= 10) {
        if (left % 10 != 0 || at != end)
            *--at = (char)('0' + left % 10);
    }
    if (fraction)
        *--at = '.';
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    memmove(text, at, (size_t)(end - at));
    return (size_t)(end - at);
}

void json_write_double(struct json_writer *writer, double value)
{
    assert(isfinite(value));
    char plain[DOUBLE_TEXT_MAX];
    size_t plain_size = signbit(value) ? 0 : write_plain(value, plain);
    if (plain_size > 0) {
        json_write_raw(writer, plain, plain_size);
        return;
    }
    char digits[DOUBLE_DIGITS_MAX] = "0";
    char text[DOUBLE_TEXT_MAX + 1] = "-";
    int point;
    size_t count = shortest_digits(fabs(value), digits, &point);
    size_t size = lay_out(digits, (int)count, point, text + 1);
    if (signbit(value))
        json_write_raw(writer, text, size + 1);
    else
        json_write_raw(writer, text + 1, size);
}
