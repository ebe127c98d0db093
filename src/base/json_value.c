/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"

bool json_read_borrowed(struct json_reader *reader, char *to, size_t room,
                        struct json_span *ret_text)
{
    if (reader->failed)
        return false;
    if (reader->token != JSON_READ_STRING && reader->token != JSON_READ_KEY)
        return json_unwanted(reader, "a string is expected");
    struct json_span text = reader->span;
    if (reader->escaped)
        text = (struct json_span){to, json_unescape(reader->span, to, room)};
    if (text.size > room) {
        char complaint[64];
        (void)snprintf(complaint, sizeof complaint, "a string may have at most %zu bytes here",
                       room);
        return json_unwanted(reader, complaint);
    }
    *ret_text = text;
    return true;
}

bool json_read_string(struct json_reader *reader, char *to, size_t room, size_t *ret_size)
{
    struct json_span text = {to, 0};
    if (!json_read_borrowed(reader, to, room, &text))
        return false;
    if (text.at != to && text.size > 0)
        memcpy(to, text.at, text.size);
    *ret_size = text.size;
    return true;
}

/* The digits of a whole number as they stand; false when it is none or past 64 bits. */
static bool whole_number(struct json_reader *reader, bool *ret_negative, uint64_t *ret_value)
{
    if (reader->failed)
        return false;
    if (reader->token != JSON_READ_NUMBER)
        return json_unwanted(reader, "a number is expected");
    const char *at = reader->span.at;
    const char *end = at + reader->span.size;
    bool negative = *at == '-';
    uint64_t value = 0;
    bool fits = true;
    for (at += negative; at < end; at++) {
        if (*at < '0' || *at > '9')
            return json_unwanted(reader,
                                 "a whole number is expected, without fraction and exponent");
        uint64_t digit = (uint64_t)(*at - '0');
        fits = fits && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (!fits)
        return json_unwanted(reader, "this number does not fit into 64 bits");
    *ret_negative = negative;
    *ret_value = value;
    return true;
}

bool json_read_int64(struct json_reader *reader, int64_t *ret_value)
{
    bool negative = false;
    uint64_t value = 0;
    if (!whole_number(reader, &negative, &value))
        return false;
    if (value > (uint64_t)INT64_MAX + negative)
        return json_unwanted(reader, "this number does not fit into 64 bits with a sign");
    if (!negative)
        *ret_value = (int64_t)value;
    else
        *ret_value = value > INT64_MAX ? INT64_MIN : -(int64_t)value;
    return true;
}

bool json_read_uint64(struct json_reader *reader, uint64_t *ret_value)
{
    bool negative = false;
    uint64_t value = 0;
    if (!whole_number(reader, &negative, &value))
        return false;
    if (negative && value != 0)
        return json_unwanted(reader, "this number must not be negative");
    *ret_value = value;
    return true;
}

/* A double halfway between two others has at most 767 significant digits; what follows can
 * only say "and a bit more", which a last digit of 1 says as well. */
enum { DIGITS_MAX = 800, EXPONENT_TEXT = 16 };
#define EXPONENT_FAR INT64_C(1000000000000) /* more than any text has digits */

static int64_t exponent_of(const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;
    for (at += at < end && (*at == '-' || *at == '+'); at < end; at++) {
        if (value < EXPONENT_FAR)
            value = value * 10 + (*at - '0');
    }
    return negative ? -value : value;
}

/* The number again as its significant digits and an exponent, without a decimal point:
 * strtod then needs no long copy, and does not ask the locale how a point looks. */
static void normalise(struct json_span number, char to[DIGITS_MAX + EXPONENT_TEXT])
{
    const char *at = number.at;
    const char *end = at + number.size;
    size_t digits = 0;
    int64_t exponent = 0;
    bool behind_point = false;
    bool more = false;
    for (at += *at == '-'; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            behind_point = true;
            continue;
        }
        bool kept = digits < DIGITS_MAX - 1 && (digits > 0 || *at != '0');
        if (kept)
            to[digits++] = *at;
        else if (digits > 0)
            more = more || *at != '0';
        /* Behind the point each digit kept, and each zero that leads, is worth a tenth;
         * before it, each one dropped leaves the others worth ten times as much. */
        if (behind_point && (kept || digits == 0))
            exponent--;
        else if (!behind_point && !kept && digits > 0)
            exponent++;
    }
    if (digits == 0)
        to[digits++] = '0';
    if (more) {
        to[digits++] = '1';
        exponent--;
    }
    if (at < end)
        exponent += exponent_of(at + 1, end);
    /* Beyond this everything is 0 or too large, with up to 800 digits. */
    int shown = exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : (int)exponent;
    (void)snprintf(to + digits, EXPONENT_TEXT, "e%d", shown);
}

bool json_read_double(struct json_reader *reader, double *ret_value)
{
    if (reader->failed)
        return false;
    if (reader->token != JSON_READ_NUMBER)
        return json_unwanted(reader, "a number is expected");
    char text[DIGITS_MAX + EXPONENT_TEXT];
    normalise(reader->span, text);
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return json_unwanted(reader, "this number is too large");
    *ret_value = reader->span.at[0] == '-' ? -value : value;
    return true;
}
