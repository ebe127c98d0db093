/* SPDX-License-Identifier: MIT */
/* Slots with many timers, which come and go: in lists of many and of few. */
#include "runner.h"
#include "support/random.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

enum { CROWD = 124 };
static const uint64_t NEAR = 200, FAR = 5 * 65536; /* in one slot, of level 0 and of level 2 */

struct crowd {
    struct tocsin_wheel *wheel;
    struct tocsin_timer timers[CROWD];
};

static void crowd_init(struct crowd *crowd, const char *preset, uint64_t due, uint64_t apart)
{
    struct tocsin_wheel_config config = {0};
    config.levels = tocsin_wheel_preset(preset, &config.level_count);
    assert_int_equal(tocsin_wheel_create(&config, &crowd->wheel, NULL), TOCSIN_OK);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(tocsin_wheel_arm(crowd->wheel, due + i * apart, i, &crowd->timers[i]),
                         TOCSIN_OK);
}

static void crowd_cancel(struct crowd *crowd, size_t which)
{
    assert_int_equal(tocsin_wheel_cancel(crowd->wheel, crowd->timers[which], NULL), TOCSIN_OK);
    assert_whole(crowd->wheel);
}

/* Whichever go first, a slot is empty when the last is gone, and not before. */
TEST(wheel_counts_down_a_slot_that_thins_out)
{
    const uint64_t dues[] = {NEAR, FAR};
    for (int way = 0; way < 4; way++) {
        struct crowd crowd;
        crowd_init(&crowd, "fine", dues[way / 2], 0);
        uint64_t at = 0;
        for (size_t i = 0; i < CROWD; i++) {
            assert_true(tocsin_wheel_wake(crowd.wheel, &at));
            crowd_cancel(&crowd, way % 2 == 0 ? i : CROWD - 1 - i);
            assert_int_equal(tocsin_wheel_count(crowd.wheel), CROWD - 1 - i);
        }
        assert_false(tocsin_wheel_wake(crowd.wheel, &at));
        tocsin_wheel_destroy(crowd.wheel);
    }
}

/* W-21, W-14: a limit that ends in the middle of a crowded slot, on its way down and on its
 * way out, at every place there is. What is left can be cancelled. */
TEST(wheel_stops_anywhere_in_a_crowded_slot_and_goes_on)
{
    for (size_t limit = 1; limit < CROWD; limit++) {
        struct crowd crowd;
        crowd_init(&crowd, "fine", FAR, 1);
        struct tocsin_due due[CROWD];
        size_t taken = 0, count, cancelled = 0;
        enum tocsin_status status = TOCSIN_MORE;
        for (size_t calls = 0; status == TOCSIN_MORE; calls++) {
            status = tocsin_wheel_take(crowd.wheel, FAR + CROWD, limit, due, CROWD, &count);
            taken += count;
            assert_true(count <= limit && calls < 4 * CROWD);
            assert_whole(crowd.wheel);
            if (calls % 3 == 0) {
                size_t which = calls * 7 % CROWD;
                cancelled +=
                    tocsin_wheel_cancel(crowd.wheel, crowd.timers[which], NULL) == TOCSIN_OK;
                assert_whole(crowd.wheel);
            }
        }
        assert_int_equal(taken + cancelled, CROWD);
        tocsin_wheel_destroy(crowd.wheel);
    }
}

static void count_one(void *arg, const struct tocsin_due *due)
{
    (void)due;
    ++*(size_t *)arg;
}

/* An occupied slot come to is a step of work, and a timer taken is another. */
TEST(wheel_counts_each_slot_it_comes_to_as_work)
{
    for (int by_callback = 0; by_callback < 2; by_callback++) {
        struct crowd crowd;
        struct tocsin_due due[CROWD];
        crowd_init(&crowd, "fine", 1, 1);
        for (size_t taken = 0, count; taken < CROWD; taken += count) {
            size_t left = CROWD - taken, steps = left < 5 ? left : 5;
            count = 0;
            assert_int_equal(by_callback
                                 ? tocsin_wheel_advance(crowd.wheel, CROWD, 10, count_one, &count)
                                 : tocsin_wheel_take(crowd.wheel, CROWD, 10, due, CROWD, &count),
                             left > 5 ? TOCSIN_MORE : TOCSIN_OK);
            assert_int_equal(count, steps);
        }
        tocsin_wheel_destroy(crowd.wheel);
    }
}

/* W-13: what a call left over in the slot it came to is not passed over by one that begins with what is
 * late. */
TEST(wheel_what_is_left_over_comes_after_what_was_late)
{
    for (int calls = 1; calls < 5; calls++) {
        struct crowd crowd;
        size_t count = 0;
        crowd_init(&crowd, "fine", NEAR, 0);
        assert_int_equal(tocsin_wheel_arm(crowd.wheel, NEAR + 10, 0, NULL), TOCSIN_OK);
        for (int i = 0; i < calls; i++)
            assert_int_equal(tocsin_wheel_advance(crowd.wheel, NEAR + 20, 10, count_one, &count),
                             TOCSIN_MORE);
        assert_int_equal(tocsin_wheel_arm(crowd.wheel, 5, 0, NULL), TOCSIN_OK);
        assert_int_equal(tocsin_wheel_advance(crowd.wheel, NEAR + 20, 0, count_one, &count),
                         TOCSIN_OK);
        assert_int_equal(count, CROWD + 2);
        assert_whole(crowd.wheel);
        tocsin_wheel_destroy(crowd.wheel);
    }
}

/* A level of as many slots as there may be is in use until the last of them is empty. */
TEST(wheel_level_of_many_slots_thins_out)
{
    struct tocsin_wheel_level level = {1, TOCSIN_WHEEL_SLOTS_MAX};
    struct tocsin_wheel_config config = {.levels = &level, .level_count = 1};
    struct crowd crowd;
    assert_int_equal(tocsin_wheel_create(&config, &crowd.wheel, NULL), TOCSIN_OK);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(tocsin_wheel_arm(crowd.wheel, 10 + i * 500, i, &crowd.timers[i]),
                         TOCSIN_OK);
    for (size_t i = 0; i + 1 < CROWD; i++)
        crowd_cancel(&crowd, i);
    uint64_t at = 0;
    assert_true(tocsin_wheel_wake(crowd.wheel, &at));
    assert_int_equal(at, 10 + (CROWD - 1) * 500);
    assert_int_equal(take_all(crowd.wheel, at), 1);
    tocsin_wheel_destroy(crowd.wheel);
}

TEST(wheel_next_due_follows_what_is_cancelled_in_a_crowded_slot)
{
    struct crowd crowd;
    crowd_init(&crowd, "fine", FAR, 1);
    for (uint64_t i = 0; i + 1 < CROWD; i++) {
        uint64_t due;
        crowd_cancel(&crowd, i);
        assert_true(tocsin_wheel_next_due(crowd.wheel, &due));
        assert_int_equal(due, FAR + i + 1);
    }
    assert_int_equal(take_all(crowd.wheel, FAR + CROWD), 1);
    tocsin_wheel_destroy(crowd.wheel);
}

static void cancel_another(void *arg, const struct tocsin_due *due)
{
    struct crowd *crowd = arg;
    size_t other = (due->cookie + CROWD / 2) % CROWD;
    assert_int_equal(tocsin_wheel_cancel(crowd->wheel, crowd->timers[other], NULL), TOCSIN_OK);
    crowd->timers[due->cookie].id = 0;
    crowd->timers[other].id = 0;
    assert_whole(crowd->wheel);
}

/* W-21: each that fires takes another one of its slot with it. */
TEST(wheel_cancels_in_the_crowded_slot_that_is_being_drained)
{
    struct crowd crowd;
    crowd_init(&crowd, "fine", NEAR, 0);
    assert_int_equal(tocsin_wheel_advance(crowd.wheel, NEAR, 0, cancel_another, &crowd), TOCSIN_OK);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.timers[i].id, 0);
    assert_int_equal(tocsin_wheel_count(crowd.wheel), 0);
    tocsin_wheel_destroy(crowd.wheel);
}

TEST(wheel_stale_handles_are_harmless_in_a_crowded_slot)
{
    struct crowd crowd;
    crowd_init(&crowd, "fine", NEAR, 0);
    for (size_t i = 0; i < CROWD; i++) {
        struct tocsin_timer stale = crowd.timers[i];
        crowd_cancel(&crowd, i);
        assert_int_equal(tocsin_wheel_cancel(crowd.wheel, stale, NULL), TOCSIN_STALE);
        assert_int_equal(tocsin_wheel_arm(crowd.wheel, NEAR, i, &crowd.timers[i]), TOCSIN_OK);
        assert_int_equal(handle_index(crowd.timers[i]), handle_index(stale));
        assert_int_equal(tocsin_wheel_cancel(crowd.wheel, stale, NULL), TOCSIN_STALE);
        assert_int_equal(tocsin_wheel_rearm(crowd.wheel, stale, NEAR + 1), TOCSIN_STALE);
        assert_whole(crowd.wheel);
    }
    assert_int_equal(take_all(crowd.wheel, NEAR), CROWD);
    tocsin_wheel_destroy(crowd.wheel);
}

static void churn_once(struct crowd *crowd, uint64_t *dues, struct test_random *random)
{
    size_t which = test_random_below(random, CROWD);
    uint64_t due = 1 + test_random_below(random, 3);
    uint64_t choice = test_random_below(random, 3);
    bool pending = dues[which] != 0;
    enum tocsin_status expected = pending ? TOCSIN_OK : TOCSIN_STALE;
    struct tocsin_timer *timer = &crowd->timers[which];
    uint64_t cookie = which;
    if (choice == 0) {
        assert_int_equal(tocsin_wheel_cancel(crowd->wheel, *timer, &cookie), expected);
        assert_int_equal(cookie, which);
        dues[which] = 0;
    } else if (choice == 1 || pending) {
        assert_int_equal(tocsin_wheel_rearm(crowd->wheel, *timer, due), expected);
        dues[which] = pending ? due : 0;
    } else {
        assert_int_equal(tocsin_wheel_arm(crowd->wheel, due, which, timer), TOCSIN_OK);
        dues[which] = due;
    }
}

/* Three crowded slots, against an array: nothing is lost and nothing comes twice. */
TEST(wheel_crowded_slots_do_what_an_array_does)
{
    struct test_random random = {test_seed()};
    for (int pass = 0; pass < 20; pass++) {
        struct crowd crowd;
        crowd_init(&crowd, pass % 2 == 0 ? "fine" : "default", 3, 0);
        uint64_t dues[CROWD];
        for (size_t i = 0; i < CROWD; i++)
            dues[i] = 3;
        for (int i = 0; i < 5000; i++) {
            churn_once(&crowd, dues, &random);
            if (i % 16 == 0)
                assert_whole(crowd.wheel);
        }
        struct tocsin_due due[CROWD];
        size_t count;
        (void)tocsin_wheel_take(crowd.wheel, 1000, 0, due, CROWD, &count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(due[i].due, dues[due[i].cookie]);
            dues[due[i].cookie] = 0;
        }
        for (size_t i = 0; i < CROWD; i++)
            assert_int_equal(dues[i], 0);
        tocsin_wheel_destroy(crowd.wheel);
    }
}

/* W-09: what the levels and their slots say they hold is what is pending, through all moves. */
TEST(wheel_counts_the_timers_of_each_level_and_slot)
{
    struct crowd crowd;
    crowd_init(&crowd, "game", 1, 9973 * 7);
    struct tocsin_wheel *wheel = crowd.wheel;
    for (uint64_t now = 0; now < 1000000; now += 9973) {
        (void)take_all(wheel, now);
        assert_int_equal(tocsin_wheel_arm(wheel, 0, 0, NULL), TOCSIN_OK); /* late */
        struct tocsin_wheel_stats stats;
        struct tocsin_wheel_level_stats level;
        tocsin_wheel_describe(wheel, &stats);
        size_t pending = stats.late, overflow = 0;
        for (size_t i = 0; tocsin_wheel_describe_level(wheel, i, &level); i++) {
            uint32_t counts[300] = {0}, occupied = 0;
            size_t timers = 0;
            assert_true(level.slots <= 300 && tocsin_wheel_slot_counts(wheel, i, counts));
            for (uint32_t slot = 0; slot < level.slots; slot++) {
                timers += counts[slot];
                occupied += counts[slot] > 0;
            }
            assert_int_equal(timers, level.pending);
            assert_int_equal(occupied, level.occupied);
            pending += timers;
            overflow += level.overflow ? timers : 0;
        }
        assert_int_equal(stats.late, 1);
        assert_int_equal(stats.overflow, overflow);
        assert_int_equal(stats.pending, pending);
        assert_int_equal(tocsin_wheel_count(wheel), pending);
    }
    assert_false(tocsin_wheel_slot_counts(wheel, 99, NULL));
    tocsin_wheel_destroy(wheel);
}
