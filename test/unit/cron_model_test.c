/* SPDX-License-Identifier: MIT */
/* W-22: cron_next against the obvious way: go second by second, and look at the clock. */
#include <stdio.h>
#include <string.h>

#include "runner.h"
#include "schedule/civil.h"
#include "schedule/cron.h"

enum { STEPS_MAX = 2 * 86400 };

static const char *const zone_names[] = {
    "UTC",          "Europe/Berlin",     "America/New_York",     "Australia/Lord_Howe",
    "Africa/Cairo", "Africa/Casablanca", "America/St_Johns",     "Pacific/Apia",
    "Asia/Tehran",  "America/Sao_Paulo", "America/Scoresbysund", "Europe/Dublin",
};

enum { ZONE_COUNT = sizeof zone_names / sizeof zone_names[0] };

/* Weekday counted from the date by another way than the code's (Sakamoto's). */
static int weekday_of(int year, int month, int day)
{
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    year -= month < 3;
    return (year + year / 4 - year / 100 + year / 400 + shift[month - 1] + day) % 7;
}

static bool workday(int year, int month, int day)
{
    int weekday = weekday_of(year, month, day);
    return day >= 1 && day <= civil_days_in_month(year, month) && weekday != 0 && weekday != 6;
}

/* Is this day the workday nearest to the wanted one, within the month? */
static bool nearest(int year, int month, int wanted, int day)
{
    static const int tries[] = {0, -1, 1, -2, 2};
    if (wanted > civil_days_in_month(year, month))
        return false;
    for (int i = 0; i < 5; i++) {
        if (workday(year, month, wanted + tries[i]))
            return wanted + tries[i] == day;
    }
    return false;
}

static bool day_matches(const struct cron *cron, const struct civil *now)
{
    int last = civil_days_in_month(now->year, now->month);
    int weekday = weekday_of(now->year, now->month, now->day);
    bool by_day = cron->days >> now->day & 1;
    for (int day = 1; day <= 31; day++) {
        if (cron->nearest_days >> day & 1 && nearest(now->year, now->month, day, now->day))
            by_day = true;
    }
    if (cron->last_day && now->day == last)
        by_day = true;
    if (cron->last_weekday && nearest(now->year, now->month, last, now->day))
        by_day = true;
    bool by_weekday = cron->weekdays[weekday] >> (now->day - 1) / 7 & 1;
    if (cron->weekdays[weekday] & CRON_LAST && now->day + 7 > last)
        by_weekday = true;
    if (cron->any_day)
        return by_weekday;
    if (cron->any_weekday)
        return by_day;
    return by_day || by_weekday;
}

static bool matches(const struct cron *cron, int64_t local_s)
{
    struct civil now = civil_of(local_s);
    return cron->seconds >> now.second & 1 && cron->minutes >> now.minute & 1 &&
           cron->hours >> now.hour & 1 && cron->months >> now.month & 1 && day_matches(cron, &now);
}

static bool fires(const struct cron *cron, const struct zone *zone, struct cron_policy policy,
                  int64_t at_s)
{
    int32_t offset_s = zone_offset_at(zone, at_s);
    int32_t before_s = zone_offset_at(zone, at_s - 1);
    bool shift = policy.gap == CRON_GAP_SHIFT || (policy.gap == CRON_GAP_USUAL && cron->one_time);
    for (int64_t local_s = at_s + before_s; shift && local_s < at_s + offset_s; local_s++) {
        if (matches(cron, local_s))
            return true;
    }
    if (!matches(cron, at_s + offset_s))
        return false;
    int64_t instants[2];
    if (zone_instants(zone, at_s + offset_s, instants) < 2)
        return true;
    enum cron_overlap overlap = policy.overlap;
    if (overlap == CRON_OVERLAP_USUAL)
        overlap = cron->one_time ? CRON_OVERLAP_FIRST : CRON_OVERLAP_BOTH;
    if (overlap == CRON_OVERLAP_BOTH)
        return true;
    return at_s == instants[overlap == CRON_OVERLAP_LAST];
}

static void choose_field(struct test_random *random, char *text, size_t size, int min, int max)
{
    int from = min + (int)test_random_below(random, (uint64_t)max - (uint64_t)min + 1);
    int to = from + (int)test_random_below(random, (uint64_t)max - (uint64_t)from + 1);
    int step = 1 + (int)test_random_below(random, (uint64_t)max - (uint64_t)min);
    switch (test_random_below(random, 5)) {
    case 0:
        (void)snprintf(text, size, "%d", from);
        break;
    case 1:
        (void)snprintf(text, size, "%d-%d", from, to);
        break;
    case 2:
        (void)snprintf(text, size, "%d-%d/%d,%d", from, to, step, min);
        break;
    case 3:
        (void)snprintf(text, size, "*/%d", step);
        break;
    default:
        (void)snprintf(text, size, "*");
        break;
    }
}

static void choose_cron(struct test_random *random, char *text, size_t size)
{
    static const char *const days[] = {"*", "*", "L", "LW", "15W", "1W,30W", "L,10", "?"};
    static const char *const weekdays[] = {"*",       "*", "5L",      "1#1,3#L",
                                           "MON-FRI", "7", "SAT-SUN", "?"};
    char second[40] = "0";
    char minute[40];
    char hour[40];
    char day[40];
    char month[40] = "*";
    char weekday[40];
    if (test_random_one_in(random, 2))
        choose_field(random, second, sizeof second, 0, 59);
    choose_field(random, minute, sizeof minute, 0, 59);
    choose_field(random, hour, sizeof hour, 0, test_random_one_in(random, 2) ? 3 : 23);
    (void)snprintf(day, sizeof day, "%s", days[test_random_below(random, 8)]);
    if (test_random_one_in(random, 3))
        choose_field(random, day, sizeof day, 1, 31);
    if (test_random_one_in(random, 5))
        choose_field(random, month, sizeof month, 1, 12);
    (void)snprintf(weekday, sizeof weekday, "%s", weekdays[test_random_below(random, 8)]);
    (void)snprintf(text, size, "%s %s %s %s %s %s", second, minute, hour, day, month, weekday);
}

/* Somewhere in 1975 to 2060, mostly shortly before a change of the clock. */
static int64_t choose_after(struct test_random *random, const struct zone *zone)
{
    int64_t at_s = (int64_t)test_random_below(random, 2700000000) + 157766400;
    struct zone_span span = zone_span_at(zone, at_s);
    if (span.end_s < INT64_C(3000000000) && !test_random_one_in(random, 4))
        at_s = span.end_s - (int64_t)test_random_below(random, 86400) + 3600;
    return at_s * 1000 + (int64_t)test_random_below(random, 1000);
}

static void check(const char *text, const struct cron *cron, const struct zone *zone,
                  struct cron_policy policy, int64_t after_ms)
{
    int64_t found_ms = INT64_MAX;
    enum tocsin_status status = cron_next(cron, zone, policy, after_ms, &found_ms, NULL);
    assert_true(status == TOCSIN_OK || status == TOCSIN_NONE);
    int64_t first_s = after_ms / 1000 + 1;
    int64_t at_s = first_s;
    while (at_s < first_s + STEPS_MAX && !fires(cron, zone, policy, at_s))
        at_s++;
    bool far = at_s == first_s + STEPS_MAX && found_ms >= at_s * 1000;
    if (!far && found_ms != at_s * 1000)
        fail_msg("'%s' in %s, gap %d, overlap %d, after %lld: %lld instead of %lld", text,
                 zone_name(zone), (int)policy.gap, (int)policy.overlap, (long long)after_ms,
                 (long long)found_ms, (long long)at_s * 1000);
    if (status == TOCSIN_OK)
        assert_true(found_ms > after_ms && fires(cron, zone, policy, found_ms / 1000));
}

TEST(cron_next_is_what_a_clock_watched_second_by_second_shows)
{
    struct test_random random = {test_seed()};
    struct zone *zones[ZONE_COUNT];
    for (size_t i = 0; i < ZONE_COUNT; i++)
        assert_int_equal(zone_create(NULL, zone_names[i], strlen(zone_names[i]), &zones[i], NULL),
                         TOCSIN_OK);
    for (uint64_t i = test_effort(200); i > 0; i--) {
        char text[256];
        struct cron cron;
        choose_cron(&random, text, sizeof text);
        assert_int_equal(cron_parse(text, strlen(text), &cron, NULL), TOCSIN_OK);
        const struct zone *zone = zones[test_random_below(&random, ZONE_COUNT)];
        struct cron_policy policy = {(enum cron_gap)test_random_below(&random, 3),
                                     (enum cron_overlap)test_random_below(&random, 4)};
        check(text, &cron, zone, policy, choose_after(&random, zone));
    }
    for (size_t i = 0; i < ZONE_COUNT; i++)
        zone_destroy(zones[i]);
}
