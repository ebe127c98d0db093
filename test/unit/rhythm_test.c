/* SPDX-License-Identifier: MIT */
/* The rhythm against an obvious one that goes from occurrence to occurrence. */
#include "service/task/rhythm.h"

#include <stdio.h>
#include <string.h>

#include "runner.h"
#include "schedule/instant.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define NEW_YEAR INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

static struct zone *zone_named(const char *name)
{
    struct zone *zone;
    struct tocsin_why why;
    if (zone_create(NULL, name, strlen(name), &zone, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    return zone;
}

static struct task every(int64_t ms)
{
    struct task task;
    task_init(&task);
    task.id = bytes_of("t");
    task.rhythm = TASK_EVERY;
    task.every_ms = ms;
    return task;
}

static struct task by_cron(const char *text, const char *zone)
{
    struct task task;
    task_init(&task);
    task.id = bytes_of("t");
    task.rhythm = TASK_CRON;
    task.cron = bytes_of(text);
    task.zone = bytes_of(zone);
    return task;
}

/* The oracle: step by step, with nothing clever. */
struct steps {
    int64_t *due; /* the last TASK_BACKLOG_MAX of them, in a ring */
    uint64_t count;
    int64_t next_ms;
};

static struct steps step_through(const struct task *task, const struct zone *zone, int64_t now_ms)
{
    static int64_t ring[TASK_BACKLOG_MAX];
    struct steps steps = {ring, 0, task->nominal_ms};
    struct cron cron;
    if (task->rhythm == TASK_CRON)
        assert_int_equal(cron_parse(task->cron.at, task->cron.size, &cron, NULL), TOCSIN_OK);
    while (steps.next_ms != STORE_NEVER && rhythm_due(task, steps.next_ms) <= now_ms) {
        ring[steps.count++ % TASK_BACKLOG_MAX] = steps.next_ms;
        if (task->rhythm == TASK_EVERY)
            steps.next_ms += task->every_ms;
        else if (cron_next(&cron, zone, task->dst, steps.next_ms, &steps.next_ms, NULL) !=
                 TOCSIN_OK)
            steps.next_ms = STORE_NEVER;
    }
    return steps;
}

static void compare(const struct task *task, const struct zone *zone, int64_t now_ms)
{
    static struct rhythm_due_set set;
    struct steps steps = step_through(task, zone, now_ms);
    uint64_t runs = task->misfire == TASK_MISFIRE_ALL ? TASK_BACKLOG_MAX : 1;
    if (runs > steps.count)
        runs = steps.count;
    rhythm_take_due(task, zone, now_ms, &set);
    assert_int_equal(set.run_count, runs);
    assert_int_equal(set.skipped, steps.count - runs);
    assert_int_equal(set.next_ms, steps.next_ms);
    for (size_t i = 0; i < runs; i++)
        assert_int_equal(set.run[i], steps.due[(steps.count - runs + i) % TASK_BACKLOG_MAX]);
    int64_t nominal_ms;
    uint64_t skipped;
    rhythm_resume(task, zone, now_ms, &nominal_ms, &skipped);
    assert_int_equal(nominal_ms, steps.next_ms);
    assert_int_equal(skipped, steps.count);
}

static enum task_misfire any_misfire(struct test_random *random)
{
    return (enum task_misfire)test_random_below(random, 3);
}

/* W-06 W-22 */
TEST(an_interval_is_as_if_stepped_through)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = 0; round < test_effort(10000); round++) {
        struct task task = every(1 + (int64_t)test_random_below(&random, 10 * MINUTE));
        uint64_t length = (uint64_t)task.every_ms * test_random_below(&random, 2500);
        task.nominal_ms = NEW_YEAR + (int64_t)test_random_below(&random, DAY);
        task.misfire = any_misfire(&random);
        task.jitter_ms = (int64_t)test_random_below(&random, (uint64_t)task.every_ms);
        compare(&task, NULL,
                task.nominal_ms - task.every_ms + (int64_t)test_random_below(&random, length + 2));
    }
}

/* W-22 */
TEST(a_cron_is_as_if_stepped_through_in_zones_whose_clocks_change)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York",
                                        "Australia/Lord_Howe", "Asia/Shanghai"};
    static const char *const texts[] = {"* * * * *", "*/5 * * * *",    "30 2 * * *",     "@hourly",
                                        "0 0 1 * *", "*/20 * * * * *", "0 9 * * MON-FRI"};
    struct test_random random = {test_seed()};
    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        struct zone *zone = zone_named(zones[z]);
        for (uint64_t round = 0; round < test_effort(250); round++) {
            struct task task = by_cron(
                texts[test_random_below(&random, sizeof texts / sizeof texts[0])], zones[z]);
            int64_t made_ms = NEW_YEAR + (int64_t)test_random_below(&random, 366 * DAY);
            task.misfire = any_misfire(&random);
            task.jitter_ms = (int64_t)test_random_below(&random, 20 * SECOND);
            task.dst.gap = (enum cron_gap)test_random_below(&random, 3);
            task.dst.overlap = (enum cron_overlap)test_random_below(&random, 4);
            assert_int_equal(rhythm_first(&task, zone, made_ms, &task.nominal_ms, NULL), TOCSIN_OK);
            assert_true(task.nominal_ms > made_ms);
            int64_t length_ms = test_random_one_in(&random, 4) ? 30 * DAY : DAY;
            compare(&task, zone,
                    task.nominal_ms + (int64_t)test_random_below(&random, (uint64_t)length_ms));
        }
        zone_destroy(zone);
    }
}

/* W-08 W-22 */
TEST(thirty_days_of_missed_seconds_run_the_newest_1000)
{
    static struct rhythm_due_set set;
    struct zone *zone = zone_named("Europe/Berlin");
    struct task task = by_cron("* * * * * *", "Europe/Berlin");
    task.nominal_ms = NEW_YEAR;
    task.misfire = TASK_MISFIRE_ALL;
    rhythm_take_due(&task, zone, NEW_YEAR + 30 * DAY, &set);
    assert_int_equal(set.run_count, 1000);
    assert_int_equal(set.skipped, 30 * DAY / SECOND + 1 - 1000);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(set.run[i], NEW_YEAR + 30 * DAY - (999 - i) * SECOND);
    assert_int_equal(set.next_ms, NEW_YEAR + 30 * DAY + SECOND);
    task.misfire = TASK_MISFIRE_ONCE;
    compare(&task, zone, NEW_YEAR + 30 * DAY);
    zone_destroy(zone);
}

/* Bursts far apart: the newest are in the last burst, however long the silence after it. */
TEST(a_burst_long_ago_is_found)
{
    struct zone *zone = zone_named("America/New_York");
    struct task task = by_cron("* * 0 1 1 *", "America/New_York"); /* an hour of seconds a year */
    assert_int_equal(rhythm_first(&task, zone, NEW_YEAR, &task.nominal_ms, NULL), TOCSIN_OK);
    for (int misfire = TASK_MISFIRE_ONCE; misfire <= TASK_MISFIRE_ALL; misfire++) {
        task.misfire = (enum task_misfire)misfire;
        compare(&task, zone, NEW_YEAR + 360 * DAY);
        compare(&task, zone, NEW_YEAR + 3 * 365 * DAY);
        compare(&task, zone, NEW_YEAR + 3 * 365 * DAY + 5 * HOUR + 500 * SECOND);
    }
    zone_destroy(zone);
}

/* W-06 W-22: whatever was late, the next one is where it always was. */
TEST(a_fixed_rate_does_not_drift)
{
    static struct rhythm_due_set set;
    struct test_random random = {test_seed()};
    struct task task = every(10 * MINUTE);
    assert_int_equal(rhythm_first(&task, NULL, 12345, &task.nominal_ms, NULL), TOCSIN_OK);
    assert_int_equal(task.nominal_ms, 12345 + 10 * MINUTE);
    task.jitter_ms = 9 * MINUTE;
    for (int64_t i = 1; i <= 1000; i++) {
        assert_int_equal(task.nominal_ms, 12345 + i * 10 * MINUTE);
        int64_t late_ms = (int64_t)test_random_below(&random, 10 * MINUTE);
        rhythm_take_due(&task, NULL, rhythm_due(&task, task.nominal_ms) + late_ms, &set);
        assert_int_equal(set.run_count, 1);
        assert_int_equal(set.run[0], task.nominal_ms);
        assert_int_equal(set.skipped, 0);
        task.nominal_ms = set.next_ms;
    }
}

TEST(an_interval_of_a_millisecond_may_miss_a_century)
{
    static struct rhythm_due_set set;
    struct task task = every(1);
    task.nominal_ms = 5;
    task.misfire = TASK_MISFIRE_ALL;
    rhythm_take_due(&task, NULL, 36525 * DAY, &set);
    assert_int_equal(set.run_count, 1000);
    assert_int_equal(set.run[999], 36525 * DAY);
    assert_int_equal(set.run[0], 36525 * DAY - 999);
    assert_int_equal(set.skipped, 36525 * DAY - 5 + 1 - 1000);
    assert_int_equal(set.next_ms, 36525 * DAY + 1);
}

TEST(what_is_not_due_yet_stays_next)
{
    static struct rhythm_due_set set;
    struct task task = every(10);
    task.nominal_ms = 1000;
    rhythm_take_due(&task, NULL, 999, &set);
    assert_int_equal(set.run_count, 0);
    assert_int_equal(set.skipped, 0);
    assert_int_equal(set.next_ms, 1000);
}

/* W-13: later only, the same each time, on any machine. */
TEST(jitter_is_later_and_the_same_for_each_occurrence)
{
    struct task task = every(HOUR);
    task.jitter_ms = HOUR - 1;
    task.id = bytes_of("notify-001");
    int64_t late_ms = rhythm_due(&task, 0);
    assert_in_range(late_ms, 0, HOUR - 2);
    assert_int_equal(rhythm_due(&task, NEW_YEAR), NEW_YEAR + late_ms);
    task.jitter_ms = 0;
    assert_int_equal(rhythm_due(&task, NEW_YEAR), NEW_YEAR);
    /* The published value of no bytes under a key of zeros; it may never change. */
    task.jitter_ms = INT64_C(1) << 40;
    task.id = bytes_of("");
    assert_int_equal(rhythm_due(&task, 0),
                     UINT64_C(0x1e924b9d737700d7) & ((UINT64_C(1) << 40) - 1));
    task.jitter_ms = 1;
    task.id = bytes_of("anything");
    assert_int_equal(rhythm_due(&task, 7), 7);
}

TEST(jitter_spreads_tasks_evenly)
{
    enum { TASKS = 10000, PARTS = 10 };
    unsigned parts[PARTS] = {0};
    struct task task = every(HOUR);
    task.jitter_ms = 1000;
    for (unsigned i = 0; i < TASKS; i++) {
        char id[20];
        (void)snprintf(id, sizeof id, "task-%u", i);
        task.id = bytes_of(id);
        parts[rhythm_due(&task, 0) / (1000 / PARTS)]++;
    }
    for (size_t i = 0; i < PARTS; i++)
        assert_in_range(parts[i], 850, 1150);
}

TEST(each_rhythm_has_its_clock)
{
    struct task task = every(10);
    assert_int_equal(rhythm_basis(&task), STORE_ELAPSED);
    task.has_at = true;
    assert_int_equal(rhythm_basis(&task), STORE_WALL);
    task = by_cron("@daily", "UTC");
    assert_int_equal(rhythm_basis(&task), STORE_WALL);
    task_init(&task);
    assert_int_equal(rhythm_basis(&task), STORE_ELAPSED);
    task.has_delay = true;
    assert_int_equal(rhythm_basis(&task), STORE_ELAPSED);
    task.has_delay = false;
    task.has_at = true;
    assert_int_equal(rhythm_basis(&task), STORE_WALL);
}

static int64_t first_of(const struct task *task, int64_t now_ms)
{
    int64_t nominal_ms;
    assert_int_equal(rhythm_first(task, NULL, now_ms, &nominal_ms, NULL), TOCSIN_OK);
    return nominal_ms;
}

TEST(the_first_time_is_the_delay_the_instant_or_one_interval)
{
    struct task task;
    task_init(&task);
    assert_int_equal(first_of(&task, 500), 500);
    task.has_delay = true;
    task.delay_ms = 40;
    assert_int_equal(first_of(&task, 500), 540);
    task.delay_ms = TASK_DELAY_MAX_MS;
    assert_int_equal(first_of(&task, INT64_MAX - 5), STORE_NEVER); /* W-04 */
    task_init(&task);
    task.has_at = true;
    task.at_ms = 77;
    assert_int_equal(first_of(&task, 500), 77);
    task = every(100);
    assert_int_equal(first_of(&task, 500), 600);
    task.has_delay = true;
    assert_int_equal(first_of(&task, 500), 500);
    task.delay_ms = 5;
    assert_int_equal(first_of(&task, 500), 505);
}

TEST(an_anchor_in_the_past_begins_at_once_and_in_step)
{
    static struct rhythm_due_set set;
    struct task task = every(100);
    task.has_at = true;
    task.at_ms = 30;
    task.misfire = TASK_MISFIRE_ALL;
    assert_int_equal(first_of(&task, 29), 30);
    assert_int_equal(first_of(&task, 30), 30);
    assert_int_equal(first_of(&task, 129), 30);
    assert_int_equal(first_of(&task, 130), 130);
    assert_int_equal(first_of(&task, 1000), 930);
    task.nominal_ms = 930;
    rhythm_take_due(&task, NULL, 1000, &set);
    assert_int_equal(set.run_count, 1);
    assert_int_equal(set.skipped, 0);
    assert_int_equal(set.next_ms, 1030);
    task.at_ms = INSTANT_FIRST_MS;
    assert_in_range(first_of(&task, NEW_YEAR), NEW_YEAR - 99, NEW_YEAR);
}

TEST(a_cron_that_never_comes_is_told_at_once)
{
    int64_t nominal_ms = 4711;
    struct tocsin_why why = {""};
    struct zone *zone = zone_named("UTC");
    struct task task = by_cron("0 0 31 2 *", "UTC");
    assert_int_equal(rhythm_first(&task, zone, NEW_YEAR, &nominal_ms, &why), TOCSIN_NONE);
    assert_int_equal(nominal_ms, 4711);
    assert_int_equal(strncmp(why.text, "cron: ", 6), 0);
    task = by_cron("@yearly", "UTC");
    assert_int_equal(rhythm_after(&task, zone, INSTANT_LAST_MS, &nominal_ms), TOCSIN_NONE);
    static struct rhythm_due_set set;
    task.nominal_ms = INSTANT_LAST_MS - 365 * DAY + 1; /* the last New Year of all */
    rhythm_take_due(&task, zone, INT64_MAX, &set);
    assert_int_equal(set.run_count, 1);
    assert_int_equal(set.next_ms, STORE_NEVER);
    zone_destroy(zone);
}

TEST(a_one_shot_and_a_fixed_delay_have_no_next_of_their_own)
{
    static struct rhythm_due_set set;
    struct task task;
    int64_t nominal_ms = 4711;
    uint64_t skipped;
    task_init(&task);
    assert_int_equal(rhythm_after(&task, NULL, 5, &nominal_ms), TOCSIN_NONE);
    assert_int_equal(nominal_ms, 4711);
    task.nominal_ms = 5;
    rhythm_resume(&task, NULL, 1000, &nominal_ms, &skipped);
    assert_int_equal(nominal_ms, 5);
    assert_int_equal(skipped, 0);
    task = every(100);
    task.from_end = true;
    task.nominal_ms = 5;
    task.misfire = TASK_MISFIRE_ALL;
    rhythm_take_due(&task, NULL, 1000, &set);
    assert_int_equal(set.run_count, 1);
    assert_int_equal(set.run[0], 5);
    assert_int_equal(set.skipped, 0);
    assert_int_equal(set.next_ms, STORE_NEVER);
    assert_int_equal(rhythm_after(&task, NULL, 1234, &nominal_ms), TOCSIN_OK);
    assert_int_equal(nominal_ms, 1334);
    rhythm_resume(&task, NULL, 4, &nominal_ms, &skipped);
    assert_int_equal(nominal_ms, 5);
    assert_int_equal(skipped, 0);
    rhythm_resume(&task, NULL, 1000, &nominal_ms, &skipped);
    assert_int_equal(nominal_ms, 1100);
    assert_int_equal(skipped, 1);
}

/* W-04 */
TEST(the_end_of_time_is_never)
{
    static struct rhythm_due_set set;
    int64_t nominal_ms = 4711;
    struct task task = every(TASK_DELAY_MAX_MS);
    assert_int_equal(rhythm_after(&task, NULL, INT64_MAX - 5, &nominal_ms), TOCSIN_NONE);
    task.jitter_ms = TASK_DELAY_MAX_MS - 1;
    assert_int_equal(rhythm_due(&task, INT64_MAX - 1), STORE_NEVER);
    assert_int_equal(rhythm_due(&task, STORE_NEVER), STORE_NEVER);
    task.jitter_ms = 0;
    task.nominal_ms = INT64_MAX - TASK_DELAY_MAX_MS;
    rhythm_take_due(&task, NULL, INT64_MAX - 1, &set);
    assert_int_equal(set.run_count, 1);
    assert_int_equal(set.next_ms, STORE_NEVER);
    /* From the very first to the very last millisecond. */
    task.every_ms = 7;
    task.nominal_ms = INT64_MIN;
    rhythm_take_due(&task, NULL, INT64_MAX, &set);
    assert_int_equal(set.run_count, 1);
    assert_true(set.run[0] <= INT64_MAX && set.run[0] > INT64_MAX - 7);
    assert_int_equal(set.next_ms, STORE_NEVER);
    task.jitter_ms = 6;
    rhythm_take_due(&task, NULL, INT64_MIN, &set);
    assert_true(set.run_count <= 1);
    struct zone *zone = zone_named("Europe/Berlin");
    task = by_cron("* * * * * *", "Europe/Berlin");
    task.misfire = TASK_MISFIRE_ALL;
    task.nominal_ms = INT64_MIN;
    rhythm_take_due(&task, zone, INT64_MAX, &set);
    assert_int_equal(set.run_count, 1000);
    assert_int_equal(set.next_ms, STORE_NEVER);
    zone_destroy(zone);
}
