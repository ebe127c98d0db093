/* SPDX-License-Identifier: MIT */
#include "schedule/instant.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

#include "schedule/civil.h"
#include "schedule/reason.h"

struct reading {
    const char *text;
    size_t length;
    size_t at;
    struct tocsin_why *why;
};

static enum tocsin_status refuse(const struct reading *reading, const char *problem)
{
    return reason_refuse(reading->why, "time '%.*s': %s at character %zu",
                         reason_quoted(reading->length), reading->text, problem, reading->at + 1);
}

static bool take(struct reading *reading, char first, char second)
{
    if (reading->at == reading->length ||
        (reading->text[reading->at] != first && reading->text[reading->at] != second))
        return false;
    reading->at++;
    return true;
}

/* Just so many digits, and a number from min to max. */
static bool number(struct reading *reading, int digits, int32_t min, int32_t max,
                   int32_t *ret_number)
{
    int32_t value = 0;
    if (reading->length - reading->at < (size_t)digits)
        return false;
    for (int i = 0; i < digits; i++) {
        char c = reading->text[reading->at + (size_t)i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    if (value < min || value > max)
        return false;
    reading->at += (size_t)digits;
    *ret_number = value;
    return true;
}

static enum tocsin_status read_date(struct reading *reading, struct civil *civil)
{
    if (!number(reading, 4, 1, 9999, &civil->year))
        return refuse(reading, "a year from 0001 to 9999 is missing");
    if (!take(reading, '-', '-'))
        return refuse(reading, "a '-' is missing");
    if (!number(reading, 2, 1, 12, &civil->month))
        return refuse(reading, "a month from 01 to 12 is missing");
    if (!take(reading, '-', '-'))
        return refuse(reading, "a '-' is missing");
    if (!number(reading, 2, 1, 31, &civil->day))
        return refuse(reading, "a day from 01 to 31 is missing");
    if (civil->day > civil_days_in_month(civil->year, civil->month))
        return refuse(reading, "that month has no such day,");
    return TOCSIN_OK;
}

static enum tocsin_status read_decimals(struct reading *reading, int32_t *ret_ms)
{
    int32_t ms = 0;
    int32_t weight = 100;
    int32_t digit;
    if (!number(reading, 1, 0, 9, &digit))
        return refuse(reading, "a decimal is missing");
    bool more = false;
    do {
        ms += digit * weight;
        more = more || (weight == 0 && digit != 0);
        weight /= 10;
    } while (number(reading, 1, 0, 9, &digit));
    *ret_ms = ms + more; /* a millisecond that has begun is rounded up: nothing is early */
    return TOCSIN_OK;
}

static enum tocsin_status read_time(struct reading *reading, struct civil *civil, int32_t *ret_ms)
{
    if (!take(reading, 'T', 't'))
        return refuse(reading, "a 'T' and the time are missing");
    if (!number(reading, 2, 0, 23, &civil->hour))
        return refuse(reading, "an hour from 00 to 23 is missing");
    if (!take(reading, ':', ':'))
        return refuse(reading, "a ':' is missing");
    if (!number(reading, 2, 0, 59, &civil->minute))
        return refuse(reading, "a minute from 00 to 59 is missing");
    if (!take(reading, ':', ':'))
        return refuse(reading, "a ':' is missing");
    if (!number(reading, 2, 0, 60, &civil->second))
        return refuse(reading, "a second from 00 to 59 is missing");
    if (civil->second == 60)
        return refuse(reading, "a leap second, which epoch time does not have (take 59 or the next "
                               "minute),");
    return take(reading, '.', '.') ? read_decimals(reading, ret_ms) : TOCSIN_OK;
}

static enum tocsin_status read_offset(struct reading *reading, int32_t *ret_offset_s)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    if (take(reading, 'Z', 'z'))
        return TOCSIN_OK;
    bool minus = take(reading, '-', '-');
    if (!minus && !take(reading, '+', '+'))
        return refuse(reading, "an offset is missing (Z or +hh:mm)");
    if (!number(reading, 2, 0, 23, &hours) || !take(reading, ':', ':') ||
        !number(reading, 2, 0, 59, &minutes))
        return refuse(reading, "the offset is not Z or +hh:mm");
    *ret_offset_s = (hours * 3600 + minutes * 60) * (minus ? -1 : 1);
    return TOCSIN_OK;
}

enum tocsin_status instant_parse(const char *text, size_t length, int64_t *ret_ms,
                                 struct tocsin_why *ret_why)
{
    struct reading reading = {text, length, 0, ret_why};
    struct civil civil = {0};
    int32_t ms = 0;
    int32_t offset_s = 0;
    enum tocsin_status status = read_date(&reading, &civil);
    if (status == TOCSIN_OK)
        status = read_time(&reading, &civil, &ms);
    if (status == TOCSIN_OK)
        status = read_offset(&reading, &offset_s);
    if (status == TOCSIN_OK && reading.at != length)
        status = refuse(&reading, "something follows the time");
    if (status != TOCSIN_OK)
        return status;
    int64_t instant_ms = (civil_seconds(&civil) - offset_s) * 1000 + ms;
    if (instant_ms < INSTANT_FIRST_MS || instant_ms > INSTANT_LAST_MS)
        return reason_refuse(ret_why, "time '%.*s': in UTC it is outside of the years 0001 to 9999",
                             reason_quoted(length), text);
    *ret_ms = instant_ms;
    return TOCSIN_OK;
}

enum tocsin_status instant_parse_either(const char *text, size_t length, int64_t *ret_ms,
                                        struct tocsin_why *ret_why)
{
    enum { DIGITS_MAX = 15 }; /* so nothing wraps */
    size_t sign = length > 0 && text[0] == '-' ? 1 : 0;
    int64_t ms = 0;
    size_t at = sign;
    for (; at < length && at < sign + DIGITS_MAX && text[at] >= '0' && text[at] <= '9'; at++)
        ms = ms * 10 + (text[at] - '0');
    if (at == sign || at < length)
        return instant_parse(text, length, ret_ms, ret_why);
    ms = sign > 0 ? -ms : ms;
    if (ms < INSTANT_FIRST_MS || ms > INSTANT_LAST_MS)
        return reason_refuse(ret_why, "time '%.*s': it is outside of the years 0001 to 9999",
                             reason_quoted(length), text);
    *ret_ms = ms;
    return TOCSIN_OK;
}

/* By hand: answers have many of these, and printf takes longer than all the rest. */
static char *put_digits(char *to, int32_t number, int count)
{
    for (int i = count; i > 0; i--, number /= 10)
        to[i - 1] = (char)('0' + number % 10);
    return to + count;
}

void instant_format(int64_t ms, int32_t offset_s, char ret_text[INSTANT_TEXT_BYTES])
{
    assert(ms >= INSTANT_FIRST_MS && ms <= INSTANT_LAST_MS);
    int32_t minutes = offset_s / 60;
    int32_t rest_ms = (int32_t)(ms % 1000) + (ms % 1000 < 0 ? 1000 : 0);
    int64_t local_s = (ms - rest_ms) / 1000 + minutes * 60;
    assert(local_s >= CIVIL_FIRST_S && local_s < CIVIL_END_S);
    struct civil civil = civil_of(local_s);
    char *to = put_digits(ret_text, civil.year, 4);
    *to++ = '-';
    to = put_digits(to, civil.month, 2);
    *to++ = '-';
    to = put_digits(to, civil.day, 2);
    *to++ = 'T';
    to = put_digits(to, civil.hour, 2);
    *to++ = ':';
    to = put_digits(to, civil.minute, 2);
    *to++ = ':';
    to = put_digits(to, civil.second, 2);
    if (rest_ms != 0) {
        *to++ = '.';
        to = put_digits(to, rest_ms, 3);
    }
    if (minutes == 0) {
        *to++ = 'Z';
    } else {
        int32_t size = minutes < 0 ? -minutes : minutes;
        *to++ = minutes < 0 ? '-' : '+';
        to = put_digits(to, size / 60, 2);
        *to++ = ':';
        to = put_digits(to, size % 60, 2);
    }
    *to = '\0';
}
