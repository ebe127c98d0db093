/* SPDX-License-Identifier: MIT */
/* W-03: `at` as RFC 3339, and the calendar under it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runner.h"
#include "schedule/civil.h"
#include "schedule/instant.h"

TEST(instant_is_read_from_rfc_3339)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-15T13:00:00+08:00", 1794718800000},
        {"2026-11-15t05:00:00z", 1794718800000},
        {"2026-11-14T23:30:00.25-05:30", 1794718800250},
        {"1985-04-12T23:20:50.52Z", 482196050520},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1969-12-31T23:59:59.9999999Z", 0}, /* W-13: never early */
        {"1969-12-31T23:59:59.9990000Z", -1},
        {"2000-02-29T12:00:00.001-00:00", 951825600001},
        {"0001-01-01T00:00:00Z", INSTANT_FIRST_MS},
        {"9999-12-31T23:59:59.999Z", INSTANT_LAST_MS},
        {"1937-01-01T12:00:27.87+00:20", -1041337172130},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = 7;
        struct tocsin_why why = {""};
        if (instant_parse(rows[i].text, strlen(rows[i].text), &ms, &why) != TOCSIN_OK)
            fail_msg("%s: %s", rows[i].text, why.text);
        if (ms != rows[i].ms)
            fail_msg("%s is %lld", rows[i].text, (long long)ms);
    }
}

TEST(instant_is_read_from_milliseconds_too)
{
    static const struct {
        const char *text;
        int64_t ms; /* 7: refused */
    } rows[] = {
        {"0", 0},
        {"1794718800000", 1794718800000},
        {"-1", -1},
        {"2026-11-15T13:00:00+08:00", 1794718800000},
        {"253402300799999", INSTANT_LAST_MS},
        {"-62135596800000", INSTANT_FIRST_MS},
        {"253402300800000", 7},
        {"-62135596800001", 7},
        {"99999999999999999999", 7},
        {"-", 7},
        {"", 7},
        {"12x", 7},
        {"1e3", 7},
        {" 5", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = 7;
        struct tocsin_why why = {""};
        enum tocsin_status status =
            instant_parse_either(rows[i].text, strlen(rows[i].text), &ms, &why);
        if (ms != rows[i].ms || (status == TOCSIN_OK) != (ms != 7))
            fail_msg("%s is %lld: %s", rows[i].text, (long long)ms, why.text);
    }
}

TEST(instant_that_is_not_rfc_3339_is_refused_with_the_place)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"", "a year from 0001 to 9999 is missing at character 1"},
        {"0000-01-01T00:00:00Z", "a year from 0001"},
        {"2026", "a '-' is missing at character 5"},
        {"2026-13-01T00:00:00Z", "a month from 01 to 12"},
        {"2026-1-01T00:00:00Z", "a month from 01 to 12"},
        {"2026-02-29T00:00:00Z", "that month has no such day"},
        {"1900-02-29T00:00:00Z", "that month has no such day"},
        {"2026-04-31T00:00:00Z", "that month has no such day"},
        {"2026-01-00T00:00:00Z", "a day from 01"},
        {"2026-01-01 00:00:00Z", "a 'T' and the time are missing at character 11"},
        {"2026-01-01", "a 'T' and the time are missing"},
        {"2026-01-01T24:00:00Z", "an hour from 00 to 23"},
        {"2026-01-01T00:60:00Z", "a minute from 00 to 59"},
        {"2026-01-01T00:00:61Z", "a second from 00 to 59"},
        {"2016-12-31T23:59:60Z", "a leap second"},
        {"2026-01-01T00:00:00", "an offset is missing"},
        {"2026-01-01T00:00:00.Z", "a decimal is missing"},
        {"2026-01-01T00:00:00,5Z", "an offset is missing"},
        {"2026-01-01T00:00:00+24:00", "the offset is not Z or +hh:mm"},
        {"2026-01-01T00:00:00+0100", "the offset is not"},
        {"2026-01-01T00:00:00+01", "the offset is not"},
        {"2026-01-01T00:00:00Zx", "something follows the time at character 21"},
        {"2026-01-01T00:00:00Z ", "something follows"},
        {"+2026-01-01T00:00:00Z", "a year from"},
        {"0001-01-01T00:00:00+00:01", "outside of the years 0001 to 9999"},
        {"9999-12-31T23:59:59-00:01", "outside of the years 0001 to 9999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = 77;
        struct tocsin_why why = {""};
        assert_int_equal(instant_parse(rows[i].text, strlen(rows[i].text), &ms, &why),
                         TOCSIN_INVALID);
        if (strstr(why.text, rows[i].why) == NULL)
            fail_msg("'%s' said: %s", rows[i].text, why.text);
        assert_true(ms == 77);
    }
}

TEST(instant_is_written_in_local_time_with_its_offset)
{
    static const struct {
        int64_t ms;
        int32_t offset_s;
        const char *text;
    } rows[] = {
        {0, 0, "1970-01-01T00:00:00Z"},
        {-1, 0, "1969-12-31T23:59:59.999Z"},
        {1794718800000, 8 * 3600, "2026-11-15T13:00:00+08:00"},
        {1794718800025, -12600, "2026-11-15T01:30:00.025-03:30"},
        {0, 3208, "1970-01-01T00:53:00+00:53"},
        {INSTANT_FIRST_MS, 0, "0001-01-01T00:00:00Z"},
        {INSTANT_LAST_MS, 0, "9999-12-31T23:59:59.999Z"},
    };
    char text[INSTANT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        instant_format(rows[i].ms, rows[i].offset_s, text);
        assert_string_equal(text, rows[i].text);
    }
    struct test_random random = {test_seed()};
    for (uint64_t i = test_effort(20000); i > 0; i--) {
        int64_t ms = (int64_t)test_random_below(&random, 300000000000000) - 60000000000000;
        int32_t offset_s = (int32_t)test_random_below(&random, 172000) - 86000;
        int64_t again = 0;
        if (ms + 86400000 > INSTANT_LAST_MS)
            continue;
        instant_format(ms, offset_s, text);
        assert_int_equal(instant_parse(text, strlen(text), &again, NULL), TOCSIN_OK);
        assert_true(ms == again);
    }
}

/* Every day of the years we know, counted one by one. */
TEST(calendar_goes_day_by_day_from_year_1_to_9999)
{
    int64_t days = CIVIL_FIRST_S / CIVIL_DAY_S;
    int32_t weekday = 1; /* 0001-01-01 was a Monday */
    for (int32_t year = 1; year <= 9999; year++) {
        for (int32_t month = 1; month <= 12; month++) {
            for (int32_t day = 1; day <= civil_days_in_month(year, month); day++) {
                struct civil civil = civil_of(days * CIVIL_DAY_S + 86399);
                if (civil.year != year || civil.month != month || civil.day != day ||
                    civil.hour != 23 || civil.minute != 59 || civil.second != 59 ||
                    civil_days(year, month, day) != days || civil_weekday(days) != weekday)
                    fail_msg("%d-%d-%d", year, month, day);
                days++;
                weekday = (weekday + 1) % 7;
            }
        }
    }
    assert_true(days * CIVIL_DAY_S == CIVIL_END_S);
}

TEST(calendar_agrees_with_the_c_library)
{
    struct test_random random = {test_seed()};
    for (uint64_t i = test_effort(100000); i > 0; i--) {
        time_t at = (time_t)test_random_below(&random, CIVIL_END_S - CIVIL_FIRST_S) + CIVIL_FIRST_S;
        struct tm tm;
        assert_non_null(gmtime_r(&at, &tm));
        struct civil civil = civil_of(at);
        assert_int_equal(civil.year, tm.tm_year + 1900);
        assert_int_equal(civil.month, tm.tm_mon + 1);
        assert_int_equal(civil.day, tm.tm_mday);
        assert_int_equal(civil.hour, tm.tm_hour);
        assert_int_equal(civil.minute, tm.tm_min);
        assert_int_equal(civil.second, tm.tm_sec);
        assert_true(civil_seconds(&civil) == at);
    }
}
