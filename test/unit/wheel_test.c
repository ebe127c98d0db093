/* SPDX-License-Identifier: MIT */
/* The wheel's promises, one at a time. The clock is a variable: nothing sleeps. */
#include <string.h>

#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

#define DAY_MS (UINT64_C(24) * 60 * 60 * 1000)

struct fired {
    struct tocsin_wheel *wheel;
    struct tocsin_due due[100];
    size_t count;
    struct tocsin_timer victim; /* cancelled by the first callback */
    enum tocsin_status victim_status;
    bool rearms_at_once;
};

static void on_due(void *arg, const struct tocsin_due *due)
{
    struct fired *fired = arg;
    assert_true(fired->count < sizeof fired->due / sizeof fired->due[0]);
    fired->due[fired->count++] = *due;
    if (fired->victim.id != 0) {
        fired->victim_status = tocsin_wheel_cancel(fired->wheel, fired->victim, NULL);
        fired->victim.id = 0;
    }
    if (fired->rearms_at_once)
        assert_int_equal(tocsin_wheel_arm_after(fired->wheel, 0, due->cookie, NULL), TOCSIN_OK);
}

static struct tocsin_wheel *make_wheel(const char *preset, uint64_t now)
{
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_wheel_config config = {.now = now};
    config.levels = tocsin_wheel_preset(preset, &config.level_count);
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    return wheel;
}

static struct tocsin_timer arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie)
{
    struct tocsin_timer timer = {0};
    assert_int_equal(tocsin_wheel_arm(wheel, due, cookie, &timer), TOCSIN_OK);
    return timer;
}

/* W-12: a wheel of 100 ms x 10 fires a task of 500 ms by 600 ms. */
TEST(wheel_of_100_ms_fires_500_ms_by_600_ms)
{
    for (uint64_t start = 0; start < 100; start++) {
        struct tocsin_wheel_level level = {100, 10};
        struct tocsin_wheel_config config = {.levels = &level, .level_count = 1, .now = start};
        struct tocsin_wheel *wheel;
        assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
        arm(wheel, start + 500, 1);
        for (uint64_t now = start; now < start + 500; now++)
            assert_int_equal(take_all(wheel, now), 0);
        assert_int_equal(take_all(wheel, start + 599), 1);
        tocsin_wheel_destroy(wheel);
    }
}

/* W-12: a cancelled task never fires. */
TEST(wheel_never_fires_what_was_cancelled)
{
    struct tocsin_wheel *wheel = make_wheel("default", 0);
    struct tocsin_timer timer = arm(wheel, 500, 7);
    uint64_t cookie = 0;
    assert_int_equal(tocsin_wheel_cancel(wheel, timer, &cookie), TOCSIN_OK);
    assert_int_equal(cookie, 7);
    assert_int_equal(tocsin_wheel_count(wheel), 0);
    assert_int_equal(take_all(wheel, UINT64_MAX), 0);
    tocsin_wheel_destroy(wheel);
}

/* W-13: never early, late by less than a base tick, for every preset, every phase of
 * the start, and delays at all the places where a level ends. The seed's sketch has
 * 61 s up to 59 s late and 24 h up to 24 h late. */
TEST(wheel_is_never_early_and_late_by_less_than_a_tick)
{
    static const char *const presets[] = {"fine", "default", "game", "order"};
    static const uint64_t delays[] = {
        0,      1,       9,       10,     11,         99,          100,         999,         1000,
        1001,   9999,    10000,   59999,  60000,      61000,       65535,       65536,       299999,
        300001, 3600000, 3600001, DAY_MS, DAY_MS + 1, 30 * DAY_MS, 31 * DAY_MS, 400 * DAY_MS};
    for (size_t p = 0; p < 4; p++) {
        size_t count;
        uint64_t base = tocsin_wheel_preset(presets[p], &count)[0].tick;
        for (uint64_t start = 1000000007; start < 1000000007 + 3000; start += 337) {
            for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
                struct tocsin_wheel *wheel = make_wheel(presets[p], start);
                uint64_t due = start + delays[i];
                arm(wheel, due, i);
                if (delays[i] > 0)
                    assert_int_equal(take_all(wheel, due - 1), 0);
                uint64_t latest = (due + base - 1) / base * base;
                assert_true(latest - due < base);
                assert_int_equal(take_all(wheel, latest), 1);
                tocsin_wheel_destroy(wheel);
            }
        }
    }
}

/* W-14: one clock for all levels; after a stall everything comes out, by due time. */
TEST(wheel_catches_up_in_order_after_a_stall)
{
    struct tocsin_wheel *wheel = make_wheel("default", 12345);
    struct fired fired = {.wheel = wheel};
    for (uint64_t i = 0; i < 60; i++)
        arm(wheel, 12345 + (i * 7919 % 60) * 61007, i);
    assert_int_equal(tocsin_wheel_advance(wheel, 12345 + 2 * DAY_MS, 0, on_due, &fired), TOCSIN_OK);
    assert_int_equal(fired.count, 60);
    for (size_t i = 1; i < fired.count; i++)
        assert_true(fired.due[i - 1].due <= fired.due[i].due);
    tocsin_wheel_destroy(wheel);
}

/* W-14: a timer that must still move down when its tick comes is not forgotten, and
 * one level up is not late: cascade comes before expiry. */
TEST(wheel_cascades_before_it_expires)
{
    for (uint64_t start = 0; start < 300; start += 7) {
        struct tocsin_wheel *wheel = make_wheel("fine", start);
        for (unsigned shift = 0; shift < 62; shift++) {
            arm(wheel, start + (UINT64_C(1) << shift), shift);
            arm(wheel, start + (UINT64_C(1) << shift), shift);
        }
        for (unsigned shift = 0; shift < 62; shift++) {
            assert_int_equal(take_all(wheel, start + (UINT64_C(1) << shift) - 1), 0);
            assert_int_equal(take_all(wheel, start + (UINT64_C(1) << shift)), 2);
            assert_whole(wheel);
        }
        tocsin_wheel_destroy(wheel);
    }
}

/* W-16: an earlier insertion moves the time to wake up forward. */
TEST(wheel_wakes_for_what_was_armed_last_when_it_is_first)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 1000);
    uint64_t at = 0;
    assert_false(tocsin_wheel_wake(wheel, &at));
    arm(wheel, 1000 + DAY_MS, 0);
    assert_true(tocsin_wheel_wake(wheel, &at));
    assert_true(at > 1000 && at <= 1000 + DAY_MS);
    arm(wheel, 1005, 0);
    assert_true(tocsin_wheel_wake(wheel, &at));
    assert_int_equal(at, 1005);
    uint64_t next;
    assert_true(tocsin_wheel_next_due(wheel, &next));
    assert_int_equal(next, 1005);
    tocsin_wheel_destroy(wheel);
}

/* W-16: a loop that sleeps until wake says so meets every due time exactly, and is
 * woken for moves at most once a level on the way. */
TEST(wheel_loop_that_sleeps_until_wake_is_exact)
{
    static const char *const presets[] = {"fine", "default", "game", "order"};
    for (size_t p = 0; p < 4; p++) {
        struct tocsin_wheel *wheel = make_wheel(presets[p], 999);
        size_t count;
        uint64_t base = tocsin_wheel_preset(presets[p], &count)[0].tick;
        struct tocsin_wheel_stats stats;
        tocsin_wheel_describe(wheel, &stats);
        uint64_t due = 999 + 400 * DAY_MS + 12345;
        arm(wheel, due, 0);
        uint64_t now = 999;
        size_t wakes = 0;
        while (tocsin_wheel_wake(wheel, &now)) {
            wakes++;
            if (take_all(wheel, now) == 1)
                break;
        }
        assert_true(now >= due && now < due + base);
        assert_true(wakes <= stats.levels);
        tocsin_wheel_destroy(wheel);
    }
}

/* W-21: cancelled by a callback in the same tick: neither corrupts nor runs. */
TEST(wheel_callback_may_cancel_a_timer_of_the_same_tick)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer timers[40];
    for (uint64_t i = 0; i < 40; i++)
        timers[i] = arm(wheel, 300, i);
    for (size_t i = 0; i < 40; i++) {
        struct fired fired = {.wheel = wheel, .victim = timers[i]};
        assert_int_equal(tocsin_wheel_advance(wheel, 300 + i * 1000, 0, on_due, &fired), TOCSIN_OK);
        /* The first that comes out may be the victim itself: then it is too late. */
        bool itself = fired.due[0].timer.id == timers[i].id;
        assert_int_equal(fired.victim_status, itself ? TOCSIN_STALE : TOCSIN_OK);
        assert_int_equal(fired.count, itself ? 40 : 39);
        for (size_t j = itself; j < fired.count; j++)
            assert_true(fired.due[j].timer.id != timers[i].id);
        assert_whole(wheel);
        for (uint64_t j = 0; j < 40; j++)
            timers[j] = arm(wheel, 300 + (i + 1) * 1000, j);
    }
    tocsin_wheel_destroy(wheel);
}

/* W-21: cancelled while its slot is half way down to the next level. */
TEST(wheel_cancel_during_cascade_does_not_fire)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer timers[200];
    for (uint64_t i = 0; i < 200; i++)
        timers[i] = arm(wheel, 70000 + i, i);
    struct tocsin_due due[4];
    size_t count;
    /* 65536 is where the slot of the third level begins: 50 steps stop inside it. */
    assert_int_equal(tocsin_wheel_take(wheel, 69999, 50, due, 4, &count), TOCSIN_MORE);
    assert_int_equal(count, 0);
    assert_whole(wheel);
    for (uint64_t i = 0; i < 200; i += 2)
        assert_int_equal(tocsin_wheel_cancel(wheel, timers[i], NULL), TOCSIN_OK);
    for (uint64_t i = 1; i < 200; i += 4)
        assert_int_equal(tocsin_wheel_rearm(wheel, timers[i], 80000), TOCSIN_OK);
    assert_whole(wheel);
    assert_int_equal(take_all(wheel, 69999), 0);
    assert_int_equal(take_all(wheel, 79999), 50);
    assert_int_equal(take_all(wheel, 80000), 50);
    tocsin_wheel_destroy(wheel);
}

/* A callback that arms what is due at once does not keep advance for ever: it comes
 * out of the next call. */
TEST(wheel_what_a_callback_arms_as_due_waits_for_the_next_call)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 10);
    struct fired fired = {.wheel = wheel, .rearms_at_once = true};
    arm(wheel, 20, 1);
    for (size_t i = 1; i <= 5; i++) {
        uint64_t at;
        assert_int_equal(tocsin_wheel_advance(wheel, 20, 0, on_due, &fired), TOCSIN_OK);
        assert_int_equal(fired.count, i);
        assert_true(tocsin_wheel_wake(wheel, &at));
        assert_int_equal(at, 20);
    }
    tocsin_wheel_destroy(wheel);
}

static void on_due_reenters(void *arg, const struct tocsin_due *due)
{
    struct fired *fired = arg;
    struct tocsin_due none;
    size_t count = 99;
    assert_int_equal(tocsin_wheel_advance(fired->wheel, due->due, 0, on_due, arg), TOCSIN_BUSY);
    assert_int_equal(tocsin_wheel_take(fired->wheel, due->due, 0, &none, 1, &count), TOCSIN_BUSY);
    assert_int_equal(count, 99);
    fired->count++;
}

TEST(wheel_refuses_to_advance_inside_a_callback)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct fired fired = {.wheel = wheel};
    arm(wheel, 1, 0);
    arm(wheel, 1, 0);
    assert_int_equal(tocsin_wheel_advance(wheel, 1, 0, on_due_reenters, &fired), TOCSIN_OK);
    assert_int_equal(fired.count, 2);
    tocsin_wheel_destroy(wheel);
}

/* W-04: no delay is too long, in any geometry; what is beyond its range is counted
 * and can be cancelled. */
TEST(wheel_takes_any_delay_and_counts_what_is_beyond_its_range)
{
    struct tocsin_wheel *wheel = make_wheel("game", 0); /* reaches 300 s */
    struct tocsin_timer far = arm(wheel, 3000 * DAY_MS, 1);
    arm(wheel, 3000 * DAY_MS + 5, 2);
    arm(wheel, 100, 3);
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(wheel, &stats);
    assert_int_equal(stats.pending, 3);
    assert_int_equal(stats.overflow, 2);
    assert_int_equal(tocsin_wheel_cancel(wheel, far, NULL), TOCSIN_OK);
    tocsin_wheel_describe(wheel, &stats);
    assert_int_equal(stats.overflow, 1);
    assert_int_equal(take_all(wheel, 3000 * DAY_MS), 1);
    tocsin_wheel_describe(wheel, &stats);
    assert_int_equal(stats.overflow, 0); /* taken in, in time */
    assert_int_equal(take_all(wheel, 3000 * DAY_MS + 10), 1);
    tocsin_wheel_destroy(wheel);
}

TEST(wheel_clamps_at_the_end_of_time_and_does_not_wrap)
{
    static const char *const presets[] = {"fine", "default", "game", "order"};
    for (size_t p = 0; p < 4; p++) {
        struct tocsin_wheel *wheel = make_wheel(presets[p], UINT64_MAX - 5000);
        struct tocsin_timer timer;
        assert_int_equal(tocsin_wheel_arm_after(wheel, UINT64_MAX, 1, &timer), TOCSIN_OK);
        struct tocsin_due due;
        assert_int_equal(tocsin_wheel_get(wheel, timer, &due), TOCSIN_OK);
        assert_true(due.due == UINT64_MAX);
        arm(wheel, UINT64_MAX, 2);
        arm(wheel, UINT64_MAX - 1, 3);
        assert_whole(wheel);
        uint64_t at;
        assert_true(tocsin_wheel_wake(wheel, &at));
        assert_true(at > UINT64_MAX - 5000);
        size_t early = take_all(wheel, UINT64_MAX - 1);
        assert_int_equal(early, p == 0 ? 1 : 0); /* only a tick of 1 ends there */
        assert_int_equal(take_all(wheel, UINT64_MAX), 3 - early);
        arm(wheel, 5, 4); /* long past */
        assert_int_equal(take_all(wheel, UINT64_MAX), 1);
        assert_whole(wheel);
        tocsin_wheel_destroy(wheel);
    }
}

TEST(wheel_time_never_runs_backwards)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 1000);
    arm(wheel, 1500, 0);
    assert_int_equal(take_all(wheel, 1400), 0);
    assert_int_equal(take_all(wheel, 3), 0);
    assert_int_equal(tocsin_wheel_now(wheel), 1400);
    assert_int_equal(tocsin_wheel_arm_after(wheel, 50, 0, NULL), TOCSIN_OK);
    assert_int_equal(take_all(wheel, 1449), 0);
    assert_int_equal(take_all(wheel, 1450), 1);
    assert_int_equal(take_all(wheel, 1500), 1);
    tocsin_wheel_destroy(wheel);
}

/* One crowded slot never holds the caller up. */
TEST(wheel_work_limit_is_kept_and_every_call_makes_progress)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    enum { TIMERS = 20000, LIMIT = 100 };
    for (uint64_t i = 0; i < TIMERS; i++)
        arm(wheel, 20000000 + i % 3, i);
    size_t taken = 0;
    size_t calls = 0;
    enum tocsin_status status;
    do {
        struct tocsin_due due[LIMIT + 1];
        struct tocsin_wheel_stats before;
        struct tocsin_wheel_stats after;
        size_t count;
        tocsin_wheel_describe(wheel, &before);
        status = tocsin_wheel_take(wheel, 20000002, LIMIT, due, LIMIT + 1, &count);
        tocsin_wheel_describe(wheel, &after);
        assert_true(after.moved - before.moved + count <= LIMIT);
        assert_true(after.moved - before.moved + count > 0);
        taken += count;
        calls++;
    } while (status == TOCSIN_MORE);
    assert_int_equal(status, TOCSIN_OK);
    assert_int_equal(taken, TIMERS);
    assert_true(calls >= TIMERS / LIMIT);
    tocsin_wheel_destroy(wheel);
}

/* A jump of 30 days with nothing due: one step of work suffices, whatever the jump. */
TEST(wheel_jump_over_empty_time_takes_no_work)
{
    static const char *const presets[] = {"fine", "default", "game", "order"};
    for (size_t p = 0; p < 4; p++) {
        struct tocsin_wheel *wheel = make_wheel(presets[p], 77);
        struct tocsin_due due;
        size_t count;
        assert_int_equal(tocsin_wheel_take(wheel, 77 + 30 * DAY_MS, 1, &due, 1, &count), TOCSIN_OK);
        arm(wheel, 77 + 90 * DAY_MS, 1);
        /* A pending timer far behind: at most one move a level on the way. */
        struct tocsin_wheel_stats stats;
        tocsin_wheel_describe(wheel, &stats);
        assert_int_equal(
            tocsin_wheel_take(wheel, 77 + 60 * DAY_MS, 2 * stats.levels, &due, 1, &count),
            TOCSIN_OK);
        assert_int_equal(count, 0);
        tocsin_wheel_destroy(wheel);
    }
}

TEST(wheel_stale_handles_are_harmless)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer first = arm(wheel, 10, 1);
    assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_OK);
    struct tocsin_timer second = arm(wheel, 10, 2); /* the same node again */
    assert_int_equal(handle_index(first), handle_index(second));
    assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_STALE);
    assert_int_equal(tocsin_wheel_rearm(wheel, first, 99), TOCSIN_STALE);
    struct tocsin_due due;
    assert_int_equal(tocsin_wheel_get(wheel, first, &due), TOCSIN_STALE);
    assert_int_equal(tocsin_wheel_get(wheel, second, &due), TOCSIN_OK);
    assert_int_equal(due.due, 10);
    assert_int_equal(take_all(wheel, 10), 1);
    assert_int_equal(tocsin_wheel_cancel(wheel, second, NULL), TOCSIN_STALE);
    for (uint64_t id = 0; id < 3000; id++) {
        struct tocsin_timer made_up = {id * 0x9e3779b97f4a7c15u};
        assert_int_equal(tocsin_wheel_cancel(wheel, made_up, NULL), TOCSIN_STALE);
    }
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* A handle never comes back: a node whose generations are used up is set aside. */
TEST(wheel_sets_a_worn_out_node_aside)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer timer = arm(wheel, 10, 1);
    uint32_t index = handle_index(timer);
    for (int way = 0; way < 3; way++) { /* where it moves, where it stays, and fired */
        wheel->nodes[index].generation = UINT32_MAX;
        struct tocsin_timer last = {(uint64_t)index << 32 | UINT32_MAX};
        if (way < 2)
            assert_int_equal(tocsin_wheel_cancel(wheel, last, NULL), TOCSIN_OK);
        else
            assert_int_equal(take_all(wheel, 20), 1);
        struct tocsin_wheel_stats stats;
        tocsin_wheel_describe(wheel, &stats);
        assert_int_equal(stats.worn, way + 1);
        assert_int_equal(tocsin_wheel_cancel(wheel, last, NULL), TOCSIN_STALE);
        struct tocsin_timer zero = {(uint64_t)index << 32};
        assert_int_equal(tocsin_wheel_cancel(wheel, zero, NULL), TOCSIN_STALE);
        struct tocsin_timer next = arm(wheel, way == 0 ? 5000 : 15, 2);
        assert_true(handle_index(next) != index);
        index = handle_index(next);
        assert_whole(wheel);
    }
    tocsin_wheel_destroy(wheel);
}

/* A handle that nobody was given is nobody's, whatever its node is at. */
TEST(wheel_takes_no_handle_it_never_gave)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer timer = arm(wheel, 5000, 1);
    struct tocsin_due due;
    for (int pending = 1; pending >= 0; pending--) {
        for (uint64_t generation = 0; generation < 20; generation++) {
            struct tocsin_timer forged = {(uint64_t)handle_index(timer) << 32 | generation};
            if (pending && forged.id == timer.id)
                continue;
            assert_int_equal(tocsin_wheel_get(wheel, forged, &due), TOCSIN_STALE);
            assert_int_equal(tocsin_wheel_rearm(wheel, forged, 9), TOCSIN_STALE);
            assert_int_equal(tocsin_wheel_cancel(wheel, forged, NULL), TOCSIN_STALE);
        }
        assert_int_equal(tocsin_wheel_count(wheel), pending);
        assert_whole(wheel);
        if (pending)
            assert_int_equal(tocsin_wheel_cancel(wheel, timer, NULL), TOCSIN_OK);
    }
    tocsin_wheel_destroy(wheel);
}

TEST(wheel_rearm_keeps_handle_and_cookie)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer timer = arm(wheel, 10, 42);
    assert_int_equal(tocsin_wheel_rearm(wheel, timer, 5000), TOCSIN_OK);
    assert_int_equal(take_all(wheel, 4999), 0);
    assert_int_equal(tocsin_wheel_rearm(wheel, timer, 4999), TOCSIN_OK); /* due at once */
    struct fired fired = {.wheel = wheel};
    assert_int_equal(tocsin_wheel_advance(wheel, 4999, 0, on_due, &fired), TOCSIN_OK);
    assert_int_equal(fired.count, 1);
    assert_int_equal(fired.due[0].cookie, 42);
    assert_true(fired.due[0].timer.id == timer.id);
    tocsin_wheel_destroy(wheel);
}

/* However much is armed already due between limited calls, neither that nor the rest
 * is starved. */
TEST(wheel_late_timers_and_those_on_time_take_turns)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 1000);
    enum { CALLS = 50, LIMIT = 10 };
    for (uint64_t i = 0; i < 40; i++)
        arm(wheel, 1001 + i % 3, 1);
    size_t fired[2] = {0, 0};
    for (int call = 0; call < CALLS; call++) {
        struct tocsin_due due[LIMIT];
        size_t count;
        for (int i = 0; i < LIMIT; i++)
            arm(wheel, 500, 0);
        assert_int_equal(tocsin_wheel_take(wheel, 1010, LIMIT, due, LIMIT, &count), TOCSIN_MORE);
        for (size_t i = 0; i < count; i++)
            fired[due[i].cookie]++;
    }
    assert_int_equal(fired[1], 40);
    assert_true(fired[0] >= (CALLS - 12) * LIMIT);
    assert_whole(wheel);
    assert_int_equal(take_all(wheel, 1010), CALLS * LIMIT - fired[0]);
    tocsin_wheel_destroy(wheel);
}

TEST(wheel_carries_a_pointer_as_cookie)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    char text[] = "ring";
    arm(wheel, 1, tocsin_cookie(text));
    struct fired fired = {.wheel = wheel};
    assert_int_equal(tocsin_wheel_advance(wheel, 1, 0, on_due, &fired), TOCSIN_OK);
    assert_ptr_equal(tocsin_cookie_pointer(fired.due[0].cookie), text);
    tocsin_wheel_destroy(wheel);
}

static bool cancel_odd(void *arg, const struct tocsin_due *due)
{
    struct fired *fired = arg;
    fired->count++;
    if (due->cookie % 2 == 1)
        assert_int_equal(tocsin_wheel_cancel(fired->wheel, due->timer, NULL), TOCSIN_OK);
    return fired->count < 80;
}

TEST(wheel_walk_visits_each_once_and_may_cancel)
{
    struct tocsin_wheel *wheel = make_wheel("default", 0);
    struct fired fired = {.wheel = wheel};
    for (uint64_t i = 0; i < 60; i++)
        arm(wheel, i * i * i * 1000, i);
    tocsin_wheel_walk(wheel, cancel_odd, &fired);
    assert_int_equal(fired.count, 60);
    assert_int_equal(tocsin_wheel_count(wheel), 30);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

static bool arm_another(void *arg, const struct tocsin_due *due)
{
    struct fired *fired = arg;
    fired->count++;
    arm(fired->wheel, due->due + 1, 0);
    return true;
}

TEST(wheel_walk_ends_although_it_arms)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct fired fired = {.wheel = wheel};
    for (uint64_t i = 0; i < 50; i++)
        arm(wheel, 1000, i);
    tocsin_wheel_walk(wheel, arm_another, &fired);
    assert_int_equal(fired.count, 50);
    assert_int_equal(tocsin_wheel_count(wheel), 100);
    tocsin_wheel_destroy(wheel);
}
