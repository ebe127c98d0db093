/* SPDX-License-Identifier: MIT */
/* Timers that are due far apart, each alone in its slot or nearly so: they are taken out of the slot of whatever
 * level they lie on. None may come early, late or out of order for that (W-13, W-14, W-16). */
#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

enum { MANY = 512 };

struct lone {
    struct tocsin_wheel *wheel;
    uint64_t due[MANY]; /* by cookie, 0: fired */
    uint64_t last;      /* due of the one that fired last */
    uint32_t fired;
    uint64_t then; /* the first that fires arms one for so many ticks later */
};

static void begin(struct lone *lone, uint64_t now)
{
    struct tocsin_wheel_config config = {.now = now};
    *lone = (struct lone){.last = now};
    assert_int_equal(tocsin_wheel_create(&config, &lone->wheel, NULL), TOCSIN_OK);
}

static struct tocsin_timer arm(struct lone *lone, uint32_t i, uint64_t due)
{
    struct tocsin_timer timer;
    assert_int_equal(tocsin_wheel_arm(lone->wheel, due, i, &timer), TOCSIN_OK);
    lone->due[i] = due;
    return timer;
}

static void fire(void *arg, const struct tocsin_due *due)
{
    struct lone *lone = arg;
    assert_whole(lone->wheel);
    assert_int_equal(due->due, lone->due[due->cookie]);
    assert_true(due->due >= lone->last);
    lone->due[due->cookie] = 0;
    lone->last = due->due;
    lone->fired++;
    if (lone->then != 0)
        arm(lone, MANY - 1, due->due + lone->then);
    lone->then = 0;
}

/* In as many calls as the limit takes. */
static void advance(struct lone *lone, uint64_t now, size_t limit)
{
    enum tocsin_status status;
    for (uint32_t calls = 0;; calls++) {
        assert_true(calls < 64 * MANY);
        status = tocsin_wheel_advance(lone->wheel, now, limit, fire, lone);
        assert_whole(lone->wheel);
        if (status != TOCSIN_MORE)
            break;
    }
    assert_int_equal(status, TOCSIN_OK);
}

static void end(struct lone *lone, uint32_t fired)
{
    assert_int_equal(lone->fired, fired);
    assert_int_equal(tocsin_wheel_count(lone->wheel), 0);
    tocsin_wheel_destroy(lone->wheel);
}

/* On every level, from wherever it is, with any work limit (W-04, W-13). */
TEST(wheel_lone_timers_of_all_levels_come_in_order)
{
    static const uint64_t starts[] = {0, 255, 65535, UINT64_C(1700000000123), UINT64_C(1) << 40};
    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++) {
        for (size_t limit = 0; limit < 6; limit++) {
            struct lone lone;
            begin(&lone, starts[s]);
            for (uint32_t i = 0; i < 57; i++)
                arm(&lone, i, starts[s] + (UINT64_C(5) << (56 - i)));
            advance(&lone, UINT64_MAX, limit);
            end(&lone, 57);
        }
    }
}

/* Never early, and not late (W-13). */
TEST(wheel_lone_timers_come_at_their_tick)
{
    struct lone lone;
    begin(&lone, 1000);
    for (uint32_t i = 0; i < 40; i++)
        arm(&lone, i, 1000 + 777 * (i + 1) * (i + 1));
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t due = lone.due[i];
        advance(&lone, due - 1, 0);
        assert_int_equal(lone.fired, i);
        advance(&lone, due, 0);
        assert_int_equal(lone.fired, i + 1);
    }
    end(&lone, 40);
}

/* Two to a slot, in one list or in two, the earlier one armed first or last (W-14). */
TEST(wheel_two_in_a_slot_come_in_order)
{
    for (uint32_t between = 1; between < 24; between++) {
        for (uint32_t first = 0; first < 2; first++) {
            struct lone lone;
            begin(&lone, 0);
            for (uint32_t i = 0; i < 100; i++) {
                uint64_t due = 256 * (i + 1) + 7 * i % 200;
                arm(&lone, 2 * i + first, due + first * between);
                arm(&lone, 2 * i + !first, due + !first * between);
            }
            advance(&lone, 256 * 200, between % 4);
            end(&lone, 200);
        }
    }
}

/* One that was cancelled, or armed for later, stays where it was alone. */
TEST(wheel_lone_timers_that_stay_are_no_lone_timers)
{
    for (size_t limit = 0; limit < 8; limit++) {
        struct lone lone;
        begin(&lone, 0);
        struct tocsin_timer later = arm(&lone, 0, 600), gone = arm(&lone, 1, 900);
        arm(&lone, 2, 1200);
        arm(&lone, 3, 1800);
        assert_int_equal(tocsin_wheel_rearm(lone.wheel, later, 1500), TOCSIN_OK);
        lone.due[0] = 1500;
        assert_int_equal(tocsin_wheel_cancel(lone.wheel, gone, NULL), TOCSIN_OK);
        if (limit >= 4) {
            advance(&lone, 1499, limit % 4);
            assert_int_equal(lone.fired, 1);
            assert_int_equal(lone.last, 1200);
        }
        advance(&lone, 5000, limit % 4);
        end(&lone, 3);
    }
}

/* What a callback arms comes before the next that was alone, if it is due before (W-21). */
TEST(wheel_callback_of_a_lone_timer_arms_before_the_next)
{
    static const uint64_t thens[] = {1, 100, 255, 256, 300, 700, 1023, 1024, 1025};
    for (size_t t = 0; t < sizeof thens / sizeof thens[0]; t++) {
        struct lone lone;
        begin(&lone, 77);
        lone.then = thens[t];
        for (uint32_t i = 0; i < 20; i++)
            arm(&lone, i, 77 + 1024 * (i + 1));
        advance(&lone, 1 << 20, t % 3);
        end(&lone, 21);
    }
}

/* Taken one at a time, into an array, with and without a limit. */
TEST(wheel_lone_timers_are_taken_one_by_one)
{
    for (size_t limit = 0; limit < 4; limit++) {
        struct lone lone;
        begin(&lone, 5);
        for (uint32_t i = 0; i < 30; i++)
            arm(&lone, i, 5 + 999 * (i + 1));
        for (uint32_t calls = 0; lone.fired < 30; calls++) {
            struct tocsin_due due;
            size_t count;
            assert_true(calls < 1000);
            (void)tocsin_wheel_take(lone.wheel, 40000, limit, &due, 1, &count);
            assert_whole(lone.wheel);
            if (count == 1)
                fire(&lone, &due);
        }
        end(&lone, 30);
    }
}

/* Without room nothing can be taken, and who asks again and again must not be told to (it was so: a slot of a
 * level above that had come up seemed to be more). */
TEST(wheel_take_refuses_to_take_into_nothing)
{
    struct lone lone;
    begin(&lone, 0);
    arm(&lone, 0, 300);
    size_t count = 99;
    assert_int_equal(tocsin_wheel_take(lone.wheel, 260, 0, NULL, 0, &count), TOCSIN_INVALID);
    assert_int_equal(count, 99);
    advance(&lone, 300, 0);
    end(&lone, 1);
}

/* A wheel whose slots are no bytes of the due time has no such way, and the same order. */
TEST(wheel_lone_timers_in_another_geometry)
{
    static const struct tocsin_wheel_level levels[] = {{3, 60}, {180, 60}, {10800, 24}};
    struct tocsin_wheel_config config = {.levels = levels, .level_count = 3};
    struct lone lone = {0};
    assert_int_equal(tocsin_wheel_create(&config, &lone.wheel, NULL), TOCSIN_OK);
    for (uint32_t i = 0; i < 50; i++)
        arm(&lone, i, 600 * (i + 1) + i % 3);
    advance(&lone, 1 << 20, 2);
    end(&lone, 50);
}
