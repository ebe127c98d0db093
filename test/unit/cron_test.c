/* SPDX-License-Identifier: MIT */
/* W-22: cron with time zones and daylight-saving rules: tables checked by hand. */
#include "schedule/cron.h"

#include <stdio.h>
#include <string.h>

#include "runner.h"
#include "schedule/instant.h"

static struct zone *zone_named(const char *name)
{
    struct tocsin_why why = {""};
    struct zone *zone = NULL;
    if (zone_create(NULL, name, strlen(name), &zone, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    return zone;
}

static struct cron cron_of(const char *text)
{
    struct tocsin_why why = {""};
    struct cron cron = {0};
    if (cron_parse(text, strlen(text), &cron, &why) != TOCSIN_OK)
        fail_msg("'%s': %s", text, why.text);
    return cron;
}

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(instant_parse(text, strlen(text), &ms, NULL), TOCSIN_OK);
    return ms;
}

/* The times that follow, as "01-31T00:00 02-28T00:00", in the zone. */
static void assert_times(const char *text, const char *zone_text, struct cron_policy policy,
                         const char *after, const char *expected)
{
    struct zone *zone = zone_named(zone_text);
    struct cron cron = cron_of(text);
    int64_t at_ms = ms_of(after);
    char said[400] = "";
    size_t used = 0;
    while (used < strlen(expected)) {
        char time[INSTANT_TEXT_BYTES];
        if (cron_next(&cron, zone, policy, at_ms, &at_ms, NULL) != TOCSIN_OK)
            break;
        instant_format(at_ms, zone_offset_at(zone, at_ms / 1000), time);
        used +=
            (size_t)snprintf(said + used, sizeof said - used, "%s%s", used == 0 ? "" : " ", time);
    }
    if (strcmp(said, expected) != 0)
        fail_msg("'%s' in %s:\n%s\ninstead of\n%s", text, zone_text, said, expected);
    zone_destroy(zone);
}

static const struct cron_policy usual = {0};

TEST(cron_next_is_strictly_after_and_to_the_second)
{
    assert_times("* * * * *", "UTC", usual, "2026-01-01T00:00:00Z",
                 "2026-01-01T00:01:00Z 2026-01-01T00:02:00Z");
    assert_times("* * * * *", "UTC", usual, "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00Z");
    assert_times("* * * * * *", "UTC", usual, "1969-12-31T23:59:58.001Z",
                 "1969-12-31T23:59:59Z 1970-01-01T00:00:00Z 1970-01-01T00:00:01Z");
    assert_times("30 59 23 31 12 *", "UTC", usual, "2026-12-31T23:59:29Z",
                 "2026-12-31T23:59:30Z 2027-12-31T23:59:30Z");
    assert_times("*/20 10-12/2 * * *", "UTC", usual, "2026-01-01T10:30:00Z",
                 "2026-01-01T10:40:00Z 2026-01-01T12:00:00Z 2026-01-01T12:20:00Z");
}

/* January 2026 begins on a Thursday; 1 February and 1 March are Sundays. */
TEST(cron_finds_the_days)
{
    static const struct {
        const char *text;
        const char *times;
    } rows[] = {
        {"0 0 L * *", "2026-01-31T00:00:00Z 2026-02-28T00:00:00Z 2026-03-31T00:00:00Z"},
        {"0 0 LW * *", "2026-01-30T00:00:00Z 2026-02-27T00:00:00Z 2026-03-31T00:00:00Z"},
        {"0 0 15W * *", "2026-01-15T00:00:00Z 2026-02-16T00:00:00Z 2026-03-16T00:00:00Z"},
        {"0 0 1W * *", "2026-02-02T00:00:00Z 2026-03-02T00:00:00Z 2026-04-01T00:00:00Z"},
        {"0 0 31W * *", "2026-01-30T00:00:00Z 2026-03-31T00:00:00Z 2026-05-29T00:00:00Z"},
        {"0 0 1W aug *", "2026-08-03T00:00:00Z"}, /* a Saturday: not back into July */
        {"0 0 * * 5L", "2026-01-30T00:00:00Z 2026-02-27T00:00:00Z 2026-03-27T00:00:00Z"},
        {"0 0 * * FRI#L", "2026-01-30T00:00:00Z 2026-02-27T00:00:00Z"},
        {"0 0 * * 5#2", "2026-01-09T00:00:00Z 2026-02-13T00:00:00Z"},
        {"0 0 * * THU#5", "2026-01-29T00:00:00Z 2026-04-30T00:00:00Z"},
        {"0 0 * * 1-2#1", "2026-01-05T00:00:00Z 2026-01-06T00:00:00Z 2026-02-02T00:00:00Z"},
        {"0 0 * * 0", "2026-01-04T00:00:00Z 2026-01-11T00:00:00Z"},
        {"0 0 * * 7", "2026-01-04T00:00:00Z 2026-01-11T00:00:00Z"},
        {"0 0 * * SAT-SUN", "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z 2026-01-10T00:00:00Z"},
        {"0 0 13 * FRI", "2026-01-02T00:00:00Z 2026-01-09T00:00:00Z 2026-01-13T00:00:00Z"},
        {"0 0 13 * *", "2026-01-13T00:00:00Z 2026-02-13T00:00:00Z"},
        {"0 0 ? * MON", "2026-01-05T00:00:00Z"},
        {"0 0 15,L * ?", "2026-01-15T00:00:00Z 2026-01-31T00:00:00Z 2026-02-15T00:00:00Z"},
        {"0 0 29 2 *", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
        {"0 0 31 * *", "2026-01-31T00:00:00Z 2026-03-31T00:00:00Z 2026-05-31T00:00:00Z"},
        {"0 0 * 2 SUN#5", "2032-02-29T00:00:00Z 2060-02-29T00:00:00Z"},
        {"0 12 1 JAN,jul *", "2026-01-01T12:00:00Z 2026-07-01T12:00:00Z"},
        {"@yearly", "2027-01-01T00:00:00Z"},
        {"@annually", "2027-01-01T00:00:00Z"},
        {"@monthly", "2026-02-01T00:00:00Z"},
        {"@weekly", "2026-01-04T00:00:00Z"},
        {"@daily", "2026-01-02T00:00:00Z"},
        {" @Midnight ", "2026-01-02T00:00:00Z"},
        {"@hourly", "2026-01-01T01:00:00Z 2026-01-01T02:00:00Z"},
        {"\t0  0 * * *", "2026-01-02T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_times(rows[i].text, "UTC", usual, "2026-01-01T00:00:00Z", rows[i].times);
    /* 1900 and 2100 have no leap day. */
    assert_times("0 0 29 2 *", "UTC", usual, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z");
}

/* One time of day runs once each day; a rhythm goes on. */
TEST(cron_does_the_usual_when_clocks_change)
{
    static const struct {
        const char *text, *zone, *after, *times;
    } rows[] = {
        {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
         "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
         "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
        {"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15:00Z",
         "2026-03-29T01:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00"},
        {"30 * * * *", "Europe/Berlin", "2026-03-29T00:15:00Z",
         "2026-03-29T01:30:00+01:00 2026-03-29T03:30:00+02:00"},
        {"*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
         "2026-10-25T02:00:00+02:00 2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 "
         "2026-10-25T02:30:00+01:00 2026-10-26T02:00:00+01:00"},
        {"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
         "2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00"},
        {"30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
         "2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00"},
        {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
         "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00"},
        {"*/20 * * * *", "Australia/Lord_Howe", "2026-04-04T14:35:00Z",
         "2026-04-05T01:40:00+11:00 2026-04-05T01:40:00+10:30 2026-04-05T02:00:00+10:30"},
        {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
         "2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30"},
        {"30 2 * * *", "Africa/Casablanca", "2026-02-14T12:00:00Z",
         "2026-02-15T02:30:00+01:00 2026-02-16T02:30:00Z"},
        {"30 2 * * *", "Africa/Casablanca", "2026-03-21T12:00:00Z",
         "2026-03-22T03:00:00+01:00 2026-03-23T02:30:00+01:00"},
        {"30 0 * * *", "America/Havana", "2026-03-07T12:00:00Z",
         "2026-03-08T01:00:00-04:00 2026-03-09T00:30:00-04:00"},
        /* The gap ends at midnight: the day before is made up for on the next. */
        {"30 23 * * *", "America/Scoresbysund", "2026-03-28T12:00:00Z",
         "2026-03-29T00:00:00-01:00 2026-03-29T23:30:00-01:00"},
        {"0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
         "2011-12-29T12:00:00-10:00 2011-12-31T00:00:00+14:00 2011-12-31T12:00:00+14:00"},
        {"0 13 * * *", "Asia/Shanghai", "2026-11-15T05:00:00Z", "2026-11-16T13:00:00+08:00"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_times(rows[i].text, rows[i].zone, usual, rows[i].after, rows[i].times);
}

TEST(cron_follows_the_policy_that_is_stated)
{
    struct cron_policy skip = {.gap = CRON_GAP_SKIP, .overlap = CRON_OVERLAP_LAST};
    struct cron_policy shift = {.gap = CRON_GAP_SHIFT, .overlap = CRON_OVERLAP_FIRST};
    struct cron_policy both = {.overlap = CRON_OVERLAP_BOTH};
    assert_times("30 2 * * *", "Europe/Berlin", skip, "2026-03-28T12:00:00Z",
                 "2026-03-30T02:30:00+02:00");
    assert_times("30 2 * * *", "Europe/Berlin", skip, "2026-10-24T12:00:00Z",
                 "2026-10-25T02:30:00+01:00 2026-10-26T02:30:00+01:00");
    assert_times("30 2 * * *", "Europe/Berlin", both, "2026-10-24T12:00:00Z",
                 "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-26T02:30:00+01:00");
    /* Between the two, first has passed and last is still to come. */
    assert_times("30 2 * * *", "Europe/Berlin", shift, "2026-10-25T00:45:00Z",
                 "2026-10-26T02:30:00+01:00");
    assert_times("30 2 * * *", "Europe/Berlin", skip, "2026-10-25T00:45:00Z",
                 "2026-10-25T02:30:00+01:00");
    assert_times("30 * * * *", "Europe/Berlin", shift, "2026-03-29T00:15:00Z",
                 "2026-03-29T01:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00");
    assert_times("*/30 * * * *", "Europe/Berlin", shift, "2026-03-29T00:45:00Z",
                 "2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00");
    assert_times("*/30 * * * *", "Europe/Berlin", shift, "2026-10-25T00:15:00Z",
                 "2026-10-25T02:30:00+02:00 2026-10-25T03:00:00+01:00");
    assert_times("*/30 * * * *", "Europe/Berlin", skip, "2026-10-24T23:15:00Z",
                 "2026-10-25T01:30:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T02:30:00+01:00");
}

TEST(cron_that_never_matches_ends_with_none)
{
    static const char *const texts[] = {"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31W feb ?"};
    struct zone *utc = zone_named("UTC");
    struct zone *berlin = zone_named("Europe/Berlin");
    struct tocsin_why why = {""};
    int64_t at_ms = 7;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct cron cron = cron_of(texts[i]);
        assert_int_equal(cron_next(&cron, utc, usual, 0, &at_ms, &why), TOCSIN_NONE);
        assert_string_equal(why.text,
                            "cron: it matches no time of the next 500 years in the time zone UTC");
    }
    /* Half past two on the last Sunday in March: always in the gap. */
    struct cron gap = cron_of("30 2 * 3 SUN#L");
    struct cron_policy skip = {.gap = CRON_GAP_SKIP};
    assert_int_equal(cron_next(&gap, berlin, skip, ms_of("2026-01-01T00:00:00Z"), &at_ms, NULL),
                     TOCSIN_NONE);
    struct cron any = cron_of("* * * * * *");
    assert_int_equal(cron_next(&any, berlin, usual, INSTANT_LAST_MS, &at_ms, &why), TOCSIN_NONE);
    assert_non_null(strstr(why.text, "before the year 10000"));
    assert_int_equal(cron_next(&any, berlin, usual, INT64_MAX, &at_ms, &why), TOCSIN_NONE);
    assert_true(at_ms == 7);
    assert_int_equal(cron_next(&any, berlin, usual, INT64_MIN, &at_ms, &why), TOCSIN_OK);
    assert_true(at_ms == INSTANT_FIRST_MS);
    assert_int_equal(cron_next(&any, berlin, usual, INSTANT_LAST_MS - 1000, &at_ms, &why),
                     TOCSIN_OK);
    assert_true(at_ms == INSTANT_LAST_MS - 999);
    zone_destroy(utc);
    zone_destroy(berlin);
}

static const struct {
    const char *text;
    const char *why;
} refusals[] = {
    {"", "it has 0 fields, 5 or 6 are needed"},
    {"* * * *", "it has 4 fields"},
    {"* * * * * * *", "it has 7 fields"},
    {"60 * * * *", "cron, minute '60': allowed is 0 to 59"},
    {"* 24 * * *", "cron, hour '24': allowed is 0 to 23"},
    {"60 * * * * *", "cron, second '60'"},
    {"* * 0 * *", "cron, day of month '0': allowed is 1 to 31"},
    {"* * 32 * *", "allowed is 1 to 31"},
    {"* * * 13 *", "cron, month '13': allowed is 1 to 12"},
    {"* * * * 8", "cron, day of week '8': allowed is 0 to 7"},
    {"99999999999999999999 * * * *", "allowed is 0 to 59"},
    {"22-2 * * * *", "the range ends before it begins"},
    {"* * * * FRI-MON", "the range ends before it begins"},
    {"*/0 * * * *", "the step is 0 or larger than the field"},
    {"*/61 * * * *", "the step is 0 or larger"},
    {"* */25 * * *", "the step is 0 or larger"},
    {"* * * * */8", "the step is 0 or larger"},
    {"5/15 * * * *", "a step needs a range or a star"},
    {"/5 * * * *", "a number or a name is missing"},
    {"*/ * * * *", "a number is missing after the /"},
    {"1- * * * *", "missing after the -"},
    {"1-2-3 * * * *", "'-' is not expected at character 4"},
    {"1,,2 * * * *", "an item of the list is empty"},
    {"1, * * * *", "an item of the list is empty"},
    {"-5 * * * *", "a number or a name is missing"},
    {"+5 * * * *", "a number or a name is missing"},
    {"a * * * *", "a number or a name is missing"},
    {"1.5 * * * *", "'.' is not expected at character 2"},
    {"** * * * *", "'*' is not expected"},
    {"L * * * *", "cron, minute 'L'"},
    {"5W * * * *", "'W' is not expected"},
    {"* * L-3 * *", "after L only W may follow"},
    {"* * 5L * *", "'L' is not expected"},
    {"* * W * *", "a number or a name is missing"},
    {"* * 1-5W * *", "W goes with one day"},
    {"* * 5-5W * *", "W goes with one day"},
    {"* * *W * *", "W goes with one day"},
    {"* * 5#2 * *", "'#' is not expected"},
    {"* * * * L", "cron, day of week 'L': a number or a name is missing"},
    {"* * * * 5#6", "after # comes 1 to 5 or L"},
    {"* * * * 5#0", "after # comes 1 to 5 or L"},
    {"* * * * 5#", "after # comes 1 to 5 or L"},
    {"* * * * *#2", "# and L need a weekday before them"},
    {"* * * * *L", "# and L need a weekday"},
    {"* * * * +FRI", "a number or a name is missing"},
    {"* * * * MONDAY", "'D' is not expected at character 4"},
    {"* * * MON *", "cron, month 'MON'"},
    {"@reboot", "known are @yearly"},
    {"@daily *", "known are @yearly"},
    {"@", "known are @yearly"},
    {"* * * *\n*", "it has 4 fields"},
    {"\x1b[2J * * * *", "cron, minute '?[2J'"},
};

TEST(cron_that_is_not_valid_is_refused_with_the_field)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct cron cron = {.hours = 7};
        struct tocsin_why why = {""};
        assert_int_equal(cron_parse(refusals[i].text, strlen(refusals[i].text), &cron, &why),
                         TOCSIN_INVALID);
        if (strstr(why.text, refusals[i].why) == NULL)
            fail_msg("'%s' said: %s", refusals[i].text, why.text);
        assert_int_equal(cron.hours, 7);
        assert_int_equal(cron_parse(refusals[i].text, strlen(refusals[i].text), &cron, NULL),
                         TOCSIN_INVALID);
    }
    char longest[CRON_TEXT_MAX + 1];
    struct cron cron;
    struct tocsin_why why = {""};
    memset(longest, '1', sizeof longest);
    assert_int_equal(cron_parse(longest, sizeof longest, &cron, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "cron: 256 characters, at most 255 are allowed");
}
