/* SPDX-License-Identifier: MIT */
#include "schedule/zone_rule.h"

#include "schedule/civil.h"
#include "schedule/reason.h"

enum { HOUR_S = 3600, HOURS_MAX = 167, OFFSET_HOURS_MAX = 24, DEFAULT_TIME_S = 2 * HOUR_S };

struct reading {
    const char *text;
    size_t length;
    size_t at;
};

static bool take(struct reading *reading, char c)
{
    if (reading->at == reading->length || reading->text[reading->at] != c)
        return false;
    reading->at++;
    return true;
}

static bool number(struct reading *reading, int32_t min, int32_t max, int32_t *ret_number)
{
    int32_t value = 0;
    size_t start = reading->at;
    while (reading->at < reading->length && reading->at - start < 3 &&
           reading->text[reading->at] >= '0' && reading->text[reading->at] <= '9')
        value = value * 10 + (reading->text[reading->at++] - '0');
    if (reading->at == start || value < min || value > max)
        return false;
    *ret_number = value;
    return true;
}

/* At least three letters, or in <> also digits and signs. */
static bool skip_name(struct reading *reading)
{
    bool quoted = take(reading, '<');
    size_t start = reading->at;
    for (; reading->at < reading->length; reading->at++) {
        char c = reading->text[reading->at];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-';
        if (!letter && !(quoted && other))
            break;
    }
    return reading->at - start >= 3 && (!quoted || take(reading, '>'));
}

/* [+-]hh[:mm[:ss]], in seconds. */
static bool time_of(struct reading *reading, int32_t hours_max, int32_t *ret_s)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t seconds = 0;
    bool minus = take(reading, '-');
    if (!minus)
        (void)take(reading, '+');
    if (!number(reading, 0, hours_max, &hours))
        return false;
    if (take(reading, ':') && !number(reading, 0, 59, &minutes))
        return false;
    if (take(reading, ':') && !number(reading, 0, 59, &seconds))
        return false;
    *ret_s = (hours * HOUR_S + minutes * 60 + seconds) * (minus ? -1 : 1);
    return true;
}

static bool day_of(struct reading *reading, struct zone_day *day)
{
    bool good;
    if (take(reading, 'M')) {
        day->kind = ZONE_DAY_OF_MONTH;
        good = number(reading, 1, 12, &day->month) && take(reading, '.') &&
               number(reading, 1, 5, &day->week) && take(reading, '.') &&
               number(reading, 0, 6, &day->day);
    } else if (take(reading, 'J')) {
        day->kind = ZONE_DAY_OF_365;
        good = number(reading, 1, 365, &day->day);
    } else {
        day->kind = ZONE_DAY_OF_YEAR;
        good = number(reading, 0, 365, &day->day);
    }
    day->time_s = DEFAULT_TIME_S;
    return good && (!take(reading, '/') || time_of(reading, HOURS_MAX, &day->time_s));
}

/* In seconds of a clock without zone. */
static int64_t day_in_year(const struct zone_day *day, int32_t year)
{
    int64_t days = civil_days(year, 1, 1);
    switch (day->kind) {
    case ZONE_DAY_OF_365:
        days += day->day - 1 + (day->day >= 60 && civil_leap_year(year));
        break;
    case ZONE_DAY_OF_YEAR:
        days += day->day;
        break;
    case ZONE_DAY_OF_MONTH: {
        int64_t first = civil_days(year, day->month, 1);
        int32_t until = (day->day - civil_weekday(first) + 7) % 7;
        int32_t in_month = until + (day->week - 1) * 7;
        if (in_month >= civil_days_in_month(year, day->month))
            in_month -= 7;
        days = first + in_month;
        break;
    }
    }
    return days * CIVIL_DAY_S + day->time_s;
}

static int64_t summer_start_s(const struct zone_rule *rule, int32_t year)
{
    return day_in_year(&rule->summer_starts, year) - rule->standard_s;
}

static int64_t summer_end_s(const struct zone_rule *rule, int32_t year)
{
    return day_in_year(&rule->summer_ends, year) - rule->summer_s;
}

/* "XXX3EDT4,0/0,J365/23" is how the format says that it is always summer. */
static bool always_summer(const struct zone_rule *rule)
{
    for (int32_t year = 2000; year < 2400; year++) {
        if (summer_end_s(rule, year) < summer_start_s(rule, year + 1))
            return false;
    }
    return true;
}

static bool parse(struct reading *reading, struct zone_rule *rule)
{
    int32_t west_s = 0;
    if (!skip_name(reading) || !time_of(reading, OFFSET_HOURS_MAX, &west_s))
        return false;
    rule->standard_s = -west_s;
    rule->summer_s = -west_s;
    rule->has_summer = false;
    if (reading->at == reading->length)
        return true;
    if (!skip_name(reading))
        return false;
    rule->has_summer = true;
    rule->summer_s = rule->standard_s + HOUR_S;
    if (!take(reading, ',')) {
        if (!time_of(reading, OFFSET_HOURS_MAX, &west_s) || !take(reading, ','))
            return false;
        rule->summer_s = -west_s;
    }
    return day_of(reading, &rule->summer_starts) && take(reading, ',') &&
           day_of(reading, &rule->summer_ends) && reading->at == reading->length;
}

enum tocsin_status zone_rule_parse(const char *text, size_t length, struct zone_rule *ret_rule,
                                   struct tocsin_why *ret_why)
{
    struct reading reading = {text, length, 0};
    struct zone_rule rule = {0};
    if (!parse(&reading, &rule))
        return reason_refuse(ret_why, "the rule '%.*s' is not a POSIX TZ string, at character %zu",
                             reason_quoted(length), text, reading.at + 1);
    if (rule.has_summer && always_summer(&rule)) {
        rule.has_summer = false;
        rule.standard_s = rule.summer_s;
    }
    *ret_rule = rule;
    return TOCSIN_OK;
}

/* Narrows the span around at_s by a change of offset at change_s. */
static void narrow(struct zone_span *span, int64_t at_s, int64_t change_s, int32_t offset_s)
{
    if (change_s > at_s) {
        if (change_s < span->end_s)
            span->end_s = change_s;
    } else if (change_s >= span->start_s) {
        span->start_s = change_s;
        span->offset_s = offset_s;
    }
}

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at_s)
{
    struct zone_span span = {INT64_MIN, INT64_MAX, rule->standard_s};
    if (!rule->has_summer || at_s < ZONE_FIRST_S || at_s >= ZONE_END_S)
        return span;
    int32_t year = civil_of(at_s).year;
    /* Two changes a year, which a time of 167 hours moves into the next year at most. */
    for (int32_t y = year - 1; y <= year + 1; y++) {
        narrow(&span, at_s, summer_start_s(rule, y), rule->summer_s);
        narrow(&span, at_s, summer_end_s(rule, y), rule->standard_s);
    }
    return span;
}
