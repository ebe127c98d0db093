/* SPDX-License-Identifier: MIT */
#include "schedule/duration.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "schedule/reason.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define WEEK (7 * DAY)

/* Larger first: a text goes down this list. */
static const struct {
    const char *name;
    char iso;
    bool after_t;
    uint64_t ms;
} units[] = {
    {"w", 'W', false, WEEK},  {"d", 'D', false, DAY},   {"h", 'H', true, HOUR},
    {"m", 'M', true, MINUTE}, {"s", 'S', true, SECOND}, {"ms", '\0', true, 1},
};

enum { UNIT_COUNT = sizeof units / sizeof units[0], FORMAT_FIRST = 1 /* days: no weeks */ };

struct reading {
    const char *text;
    size_t length;
    size_t at;
    size_t next_unit; /* only this one and smaller ones may come */
    uint64_t sum_ms;
    struct tocsin_why *why;
};

static bool digit_at(const struct reading *reading)
{
    return reading->at < reading->length && reading->text[reading->at] >= '0' &&
           reading->text[reading->at] <= '9';
}

static enum tocsin_status refuse(const struct reading *reading, const char *problem)
{
    return reason_refuse(reading->why, "duration '%.*s': %s at character %zu",
                         reason_quoted(reading->length), reading->text, problem, reading->at + 1);
}

static enum tocsin_status read_number(struct reading *reading, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (!digit_at(reading))
        return refuse(reading, "a digit is missing");
    for (; digit_at(reading); reading->at++) {
        uint64_t digit = (uint64_t)(reading->text[reading->at] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return refuse(reading, "a number beyond 64 bits");
        number = number * 10 + digit;
    }
    *ret_number = number;
    return TOCSIN_OK;
}

static enum tocsin_status add(struct reading *reading, uint64_t number, size_t unit)
{
    uint64_t ms;
    if (unit < reading->next_unit)
        return refuse(reading, "a unit that is repeated or larger than the one before");
    if (__builtin_mul_overflow(number, units[unit].ms, &ms) ||
        __builtin_add_overflow(reading->sum_ms, ms, &reading->sum_ms))
        return refuse(reading, "more milliseconds than 64 bits hold");
    reading->next_unit = unit + 1;
    return TOCSIN_OK;
}

/* "1h30m" from the start, or just a number. */
static enum tocsin_status read_plain(struct reading *reading)
{
    while (reading->at < reading->length) {
        uint64_t number = 0;
        enum tocsin_status status = read_number(reading, &number);
        if (status != TOCSIN_OK)
            return status;
        const char *name = reading->text + reading->at;
        size_t letters = 0;
        while (reading->at + letters < reading->length && name[letters] >= 'a' &&
               name[letters] <= 'z')
            letters++;
        if (letters == 0 && reading->at == reading->length && reading->next_unit == 0)
            return add(reading, number, UNIT_COUNT - 1);
        size_t unit = 0;
        while (unit < UNIT_COUNT && !(strlen(units[unit].name) == letters &&
                                      memcmp(units[unit].name, name, letters) == 0))
            unit++;
        if (unit == UNIT_COUNT)
            return refuse(reading, "one of the units w, d, h, m, s, ms is missing");
        status = add(reading, number, unit);
        if (status != TOCSIN_OK)
            return status;
        reading->at += letters;
    }
    return TOCSIN_OK;
}

/* The decimals of seconds, after the point: ".5S" is 500 ms. */
static enum tocsin_status read_decimals(struct reading *reading, uint64_t *ret_ms)
{
    size_t start = reading->at;
    uint64_t ms = 0;
    enum tocsin_status status = read_number(reading, &ms);
    if (status != TOCSIN_OK)
        return status;
    size_t digits = reading->at - start;
    if (digits > 3)
        return refuse(reading, "more than three decimals");
    if (reading->at == reading->length || reading->text[reading->at] != 'S')
        return refuse(reading, "decimals of something else than seconds (S)");
    for (; digits < 3; digits++)
        ms *= 10;
    *ret_ms = ms;
    return TOCSIN_OK;
}

static enum tocsin_status read_iso_part(struct reading *reading, bool after_t)
{
    uint64_t number = 0;
    uint64_t ms = 0;
    enum tocsin_status status = read_number(reading, &number);
    if (status != TOCSIN_OK)
        return status;
    if (reading->at < reading->length && reading->text[reading->at] == '.') {
        reading->at++;
        status = read_decimals(reading, &ms);
        if (status != TOCSIN_OK)
            return status;
    }
    char letter = reading->at < reading->length ? reading->text[reading->at] : '\0';
    for (size_t unit = 0; letter != '\0' && unit < UNIT_COUNT; unit++) {
        if (units[unit].iso != letter || units[unit].after_t != after_t)
            continue;
        status = add(reading, number, unit);
        if (status == TOCSIN_OK && __builtin_add_overflow(reading->sum_ms, ms, &reading->sum_ms))
            status = refuse(reading, "more milliseconds than 64 bits hold");
        reading->at++;
        return status;
    }
    return refuse(reading, after_t ? "one of the units H, M, S is missing"
                                   : "one of the units W, D is missing (months and years have no "
                                     "fixed length)");
}

static enum tocsin_status read_iso(struct reading *reading)
{
    bool after_t = false;
    reading->at = 1;
    do {
        if (!after_t && reading->at < reading->length && reading->text[reading->at] == 'T') {
            after_t = true;
            reading->at++;
        }
        enum tocsin_status status = read_iso_part(reading, after_t);
        if (status != TOCSIN_OK)
            return status;
    } while (reading->at < reading->length);
    return TOCSIN_OK;
}

enum tocsin_status duration_parse(const char *text, size_t length, uint64_t *ret_ms,
                                  struct tocsin_why *ret_why)
{
    struct reading reading = {.text = text, .length = length, .why = ret_why};
    if (length == 0)
        return reason_refuse(ret_why, "duration: it is empty");
    enum tocsin_status status = text[0] == 'P' ? read_iso(&reading) : read_plain(&reading);
    if (status == TOCSIN_OK)
        *ret_ms = reading.sum_ms;
    return status;
}

/* "12s" at the end of what is there. By hand: every answer has some of these. */
static size_t put_unit(char *text, uint64_t number, const char *name)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    size_t size = 0;
    while (count > 0)
        text[size++] = digits[--count];
    while (*name != '\0')
        text[size++] = *name++;
    return size;
}

void duration_format(uint64_t ms, char ret_text[DURATION_TEXT_BYTES])
{
    size_t used = 0;
    for (size_t unit = FORMAT_FIRST; unit < UNIT_COUNT; unit++) {
        uint64_t number = ms / units[unit].ms;
        ms %= units[unit].ms;
        bool zero = unit == UNIT_COUNT - 1 && used == 0;
        if (number == 0 && !zero)
            continue;
        used += put_unit(ret_text + used, number, units[unit].name);
        assert(used < DURATION_TEXT_BYTES);
    }
    ret_text[used] = '\0';
}
