/* SPDX-License-Identifier: MIT */
/* cron_count against going from answer to answer, and cron_spacing_ms against looking at each
 * second of two days. */
#include "schedule/cron.h"

#include <string.h>

#include "runner.h"
#include "schedule/civil.h"
#include "schedule/instant.h"

#define DAY_MS (CIVIL_DAY_S * 1000)

static const char *const crons[] = {
    "* * * * *",       "*/5 * * * *",     "30 2 * * *",           "0 30 2 * * *",
    "15,45 1-3 * * *", "0 0 1 * *",       "0 0 29 2 *",           "0 0 L * *",
    "0 12 15W * *",    "0 9 * * MON-FRI", "0 9 1 * MON",          "10-20 7 23 31 12 ?",
    "0 0 12 ? * 5#2",  "0 59 23 L * *",   "30 0 0,1,2,3 * * SUN", "0 0,30 2-3 * * *",
    "0 0 0 * * *",     "1 0 3 * * *",     "0 0 3 * * *",          "59 59 1 * * *",
};

static const char *const zones[] = {"UTC",
                                    "Europe/Berlin",
                                    "America/New_York",
                                    "Asia/Shanghai",
                                    "Australia/Lord_Howe",
                                    "Pacific/Apia",
                                    "America/Santiago",
                                    "Africa/Casablanca",
                                    "Antarctica/Troll"};

static struct zone *zone_named(const char *name)
{
    struct zone *zone;
    struct tocsin_why why;
    if (zone_create(NULL, name, strlen(name), &zone, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    return zone;
}

static bool parse(const char *text, struct cron *ret_cron)
{
    return cron_parse(text, strlen(text), ret_cron, NULL) == TOCSIN_OK;
}

static uint64_t count_slowly(const struct cron *cron, const struct zone *zone,
                             struct cron_policy policy, int64_t after_ms, int64_t until_ms)
{
    uint64_t count = 0;
    while (cron_next(cron, zone, policy, after_ms, &after_ms, NULL) == TOCSIN_OK &&
           after_ms <= until_ms)
        count++;
    return count;
}

/* A time at which clocks of this zone change, some year. */
static int64_t some_change_ms(struct test_random *random, const struct zone *zone)
{
    int64_t at_s = (int64_t)test_random_below(random, 80 * 366) * CIVIL_DAY_S;
    struct zone_span span = zone_span_at(zone, at_s);
    return (span.end_s < CIVIL_END_S ? span.end_s : at_s) * 1000;
}

/* W-22 */
TEST(counting_by_the_month_is_counting_one_by_one)
{
    struct test_random random = {test_seed()};
    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        struct zone *zone = zone_named(zones[z]);
        for (uint64_t round = 0; round < test_effort(1000); round++) {
            struct cron cron;
            const char *text = crons[test_random_below(&random, sizeof crons / sizeof crons[0])];
            assert_true(parse(text, &cron));
            struct cron_policy policy = {(enum cron_gap)test_random_below(&random, 3),
                                         (enum cron_overlap)test_random_below(&random, 4)};
            /* Near a change and to the second, or over weeks. */
            bool near = test_random_one_in(&random, 2);
            uint64_t span_ms = (uint64_t)(near ? 3 * DAY_MS : 20 * DAY_MS);
            int64_t at_ms = near ? some_change_ms(&random, zone)
                                 : (int64_t)test_random_below(&random, 80 * 366) * DAY_MS;
            int64_t after_ms = at_ms - (int64_t)test_random_below(&random, span_ms);
            int64_t until_ms = at_ms + (int64_t)test_random_below(&random, span_ms);
            if (test_random_one_in(&random, 3))
                after_ms = at_ms - (int64_t)test_random_below(&random, 3) * 1000 + 1000;
            if (test_random_one_in(&random, 3))
                until_ms = at_ms + (int64_t)test_random_below(&random, 5) * 1000 - 2000;
            uint64_t count = cron_count(&cron, zone, policy, after_ms, until_ms);
            uint64_t expected = count_slowly(&cron, zone, policy, after_ms, until_ms);
            if (count != expected)
                fail_msg("%s %s %d %d after %lld until %lld: %llu, not %llu", text, zones[z],
                         policy.gap, policy.overlap, (long long)after_ms, (long long)until_ms,
                         (unsigned long long)count, (unsigned long long)expected);
        }
        zone_destroy(zone);
    }
}

TEST(a_year_of_seconds_is_counted_at_once)
{
    struct cron cron;
    struct zone *zone = zone_named("Europe/Berlin");
    struct cron_policy policy = {CRON_GAP_USUAL, CRON_OVERLAP_USUAL};
    assert_true(parse("* * * * * *", &cron));
    int64_t start_ms = 1767225600000; /* 2026 */
    assert_int_equal(cron_count(&cron, zone, policy, start_ms - 1, start_ms + 365 * DAY_MS - 1),
                     365 * CIVIL_DAY_S);
    /* The hour that is there twice counts once. */
    policy.overlap = CRON_OVERLAP_FIRST;
    assert_int_equal(cron_count(&cron, zone, policy, start_ms - 1, start_ms + 365 * DAY_MS - 1),
                     365 * CIVIL_DAY_S - 3600);
    zone_destroy(zone);
}

TEST(nothing_is_counted_beyond_the_calendar_or_backwards)
{
    struct cron cron;
    struct zone *zone = zone_named("UTC");
    struct cron_policy policy = {CRON_GAP_USUAL, CRON_OVERLAP_USUAL};
    assert_true(parse("@daily", &cron));
    assert_int_equal(cron_count(&cron, zone, policy, INSTANT_LAST_MS, INT64_MAX), 0);
    assert_int_equal(cron_count(&cron, zone, policy, INT64_MIN, INSTANT_FIRST_MS - 1), 0);
    assert_int_equal(cron_count(&cron, zone, policy, 5 * DAY_MS, 4 * DAY_MS), 0);
    assert_int_equal(cron_count(&cron, zone, policy, 5 * DAY_MS, 5 * DAY_MS), 0);
    /* Every day of the years 1 to 9999. */
    assert_int_equal(cron_count(&cron, zone, policy, INT64_MIN, INT64_MAX),
                     (CIVIL_END_S - CIVIL_FIRST_S) / CIVIL_DAY_S);
    zone_destroy(zone);
}

/* The least distance of two times of day that match, also over midnight. */
static int64_t spacing_slowly(const struct cron *cron)
{
    int64_t least_s = CIVIL_DAY_S;
    int64_t last_s = -1;
    for (int64_t s = 0; s < 2 * CIVIL_DAY_S; s++) {
        if ((cron->hours >> (s / 3600 % 24) & 1) == 0 ||
            (cron->minutes >> (s / 60 % 60) & 1) == 0 || (cron->seconds >> (s % 60) & 1) == 0)
            continue;
        if (last_s >= 0 && s - last_s < least_s)
            least_s = s - last_s;
        last_s = s;
    }
    return least_s * 1000;
}

TEST(the_spacing_is_never_more_than_the_least_distance)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = 0; round < test_effort(300); round++) {
        struct cron cron = {0};
        for (unsigned i = 0; i < 3; i++) {
            cron.seconds |= UINT64_C(1) << test_random_below(&random, 60);
            cron.minutes |= UINT64_C(1) << test_random_below(&random, 60);
            cron.hours |= UINT32_C(1) << test_random_below(&random, 24);
        }
        int64_t spacing_ms = cron_spacing_ms(&cron);
        assert_in_range(spacing_ms, 1000, spacing_slowly(&cron));
    }
}

TEST(the_spacing_of_usual_expressions_is_what_one_thinks)
{
    static const struct {
        const char *text;
        int64_t spacing_s;
    } cases[] = {
        {"* * * * * *", 1},    {"*/15 * * * * *", 15}, {"* * * * *", 60},
        {"*/5 * * * *", 300},  {"0 * * * *", 3600},    {"0 */6 * * *", 21600},
        {"0 13 * * *", 86400}, {"0 0 1 1 *", 86400},   {"0 9,17 * * *", 28800},
        {"0,50 * * * *", 600}, {"*/7 * * * *", 240},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cron cron;
        assert_true(parse(cases[i].text, &cron));
        assert_int_equal(cron_spacing_ms(&cron), cases[i].spacing_s * 1000);
        assert_int_equal(spacing_slowly(&cron), cases[i].spacing_s * 1000);
    }
}
