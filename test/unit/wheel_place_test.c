/* SPDX-License-Identifier: MIT */
/* A node says in 32 bits where it is, and when its slot begins: what of the time does not fit, and what is
 * rounded, makes no timer late and none counted in the wrong place. */
#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

static struct tocsin_wheel *make_wheel(uint64_t now)
{
    struct tocsin_wheel_config config = {.now = now};
    struct tocsin_wheel *wheel;
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    return wheel;
}

static struct tocsin_timer arm(struct tocsin_wheel *wheel, uint64_t due)
{
    struct tocsin_timer timer;
    assert_int_equal(tocsin_wheel_arm(wheel, due, 0, &timer), TOCSIN_OK);
    return timer;
}

/* W-13: drawn forward by a tick or a few, on the first level, where the beginning of a slot is rounded. */
TEST(wheel_timer_drawn_forward_by_a_few_ticks_fires_on_time)
{
    enum { START = 1000, FAR = 40 };
    for (uint64_t was = START + 2; was < START + FAR; was++) {
        for (uint64_t due = START + 1; due < was; due++) {
            struct tocsin_wheel *wheel = make_wheel(START);
            struct tocsin_timer timer = arm(wheel, was);
            assert_int_equal(tocsin_wheel_rearm(wheel, timer, due), TOCSIN_OK);
            assert_int_equal(take_all(wheel, due - 1), 0);
            assert_int_equal(take_all(wheel, due), 1);
            assert_whole(wheel);
            tocsin_wheel_destroy(wheel);
        }
    }
}

/* W-13: drawn forward over the tick at which the low 32 bits of the time begin anew, and on the fourth level,
 * where a timer may stay only as far ahead as the other 31 of them can tell. */
TEST(wheel_timer_drawn_forward_from_far_fires_on_time)
{
    const uint64_t starts[] = {100, (UINT64_C(1) << 32) - 100, (UINT64_C(7) << 32) + (1 << 30)};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (unsigned shift = 7; shift < 35; shift++) {
            for (uint64_t ahead = 3; ahead >> shift == 0; ahead *= 7) {
                uint64_t due = starts[i] + ahead;
                struct tocsin_wheel *wheel = make_wheel(starts[i]);
                struct tocsin_timer timer = arm(wheel, starts[i] + (UINT64_C(3) << shift));
                assert_int_equal(tocsin_wheel_rearm(wheel, timer, due), TOCSIN_OK);
                assert_int_equal(take_all(wheel, due - 1), 0);
                assert_int_equal(take_all(wheel, due), 1);
                assert_whole(wheel);
                tocsin_wheel_destroy(wheel);
            }
        }
    }
}

/* W-09: pushed back by so much that the low 32 bits of its due time are the same again, it counts where it
 * belongs. */
TEST(wheel_timer_pushed_back_by_all_bits_counts_where_it_belongs)
{
    const uint64_t dues[] = {40, 600, 70000, 1 << 26};
    for (size_t i = 0; i < sizeof dues / sizeof dues[0]; i++) {
        struct tocsin_wheel *wheel = make_wheel(20);
        struct tocsin_timer timer = arm(wheel, dues[i]);
        assert_int_equal(tocsin_wheel_rearm(wheel, timer, dues[i] + (UINT64_C(1) << 32)),
                         TOCSIN_OK);
        size_t counts[8];
        tocsin_wheel_level_counts(wheel, 0, counts);
        for (size_t level = 0; level < 8; level++)
            assert_int_equal(counts[level], level == 4);
        uint32_t slots[256];
        assert_true(tocsin_wheel_slot_counts(wheel, 4, slots));
        assert_int_equal(slots[1], 1);
        tocsin_wheel_destroy(wheel);
    }
}

/* W-13: drawn forward to the very next ticks from as far ahead as a timer may stay. */
TEST(wheel_timer_drawn_forward_from_as_far_as_it_may_stay)
{
    const uint64_t slot = UINT64_C(1) << 24, half = UINT64_C(1) << 31;
    for (uint64_t now = slot - 4; now < slot + 20; now++) {
        for (uint64_t due = now + 1; due < now + 12; due++) {
            struct tocsin_wheel *wheel = make_wheel(now);
            struct tocsin_timer timer = arm(wheel, slot + half + 5);
            assert_int_equal(tocsin_wheel_rearm(wheel, timer, due), TOCSIN_OK);
            assert_int_equal(take_all(wheel, due - 1), 0);
            assert_int_equal(take_all(wheel, due), 1);
            tocsin_wheel_destroy(wheel);
        }
    }
}

/* W-13: time has come to rest just behind the slot of a timer that was cancelled. Its place, which is rounded
 * up, still seems to lie ahead: what is armed there is on time all the same. */
TEST(wheel_place_passed_over_by_a_few_ticks_is_not_trusted)
{
    enum { START = 250, TURN = 256 };
    for (uint64_t slot = TURN; slot < TURN + 16; slot++) {
        for (uint64_t now = slot + 1; now < slot + 10; now++) {
            for (uint64_t due = now + 1; due < now + 30; due++) {
                struct tocsin_wheel *wheel = make_wheel(START);
                tocsin_wheel_cancel(wheel, arm(wheel, slot), NULL);
                assert_int_equal(take_all(wheel, now), 0);
                (void)arm(wheel, due);
                assert_int_equal(take_all(wheel, due - 1), 0);
                assert_int_equal(take_all(wheel, due), 1);
                tocsin_wheel_destroy(wheel);
            }
        }
    }
}
