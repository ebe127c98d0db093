/* SPDX-License-Identifier: MIT */
/* Timers that stay where they are: cancelled, pushed back, or armed anew in the place of another.
 * What stays must neither fire, nor keep anything else from firing on time. */
#include <stdlib.h>

#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

enum { CROWD = 300 };

struct crowd {
    struct tocsin_wheel *wheel;
    struct tocsin_timer timers[CROWD];
    uint64_t fired_at[CROWD]; /* 0: not yet */
    uint64_t now;
    uint64_t arm_at;   /* by the first that fires */
    uint64_t rearm_at; /* by the first that fires, the last of all */
};

static void note(void *arg, const struct tocsin_due *due)
{
    struct crowd *crowd = arg;
    assert_int_equal(crowd->fired_at[due->cookie], 0);
    assert_true(due->due <= crowd->now);
    crowd->fired_at[due->cookie] = crowd->now;
    if (crowd->rearm_at != 0)
        assert_int_equal(
            tocsin_wheel_rearm(crowd->wheel, crowd->timers[CROWD - 1], crowd->rearm_at), TOCSIN_OK);
    crowd->rearm_at = 0;
    if (crowd->arm_at == 0)
        return;
    /* Due before the place that is left over, and before the end of the running call. The first takes
     * that place, the second the node of the one that fires. */
    assert_int_equal(tocsin_wheel_cancel(crowd->wheel, crowd->timers[CROWD - 1], NULL), TOCSIN_OK);
    for (uint64_t i = CROWD - 2; i < CROWD; i++)
        assert_int_equal(tocsin_wheel_arm(crowd->wheel, crowd->arm_at, i, &crowd->timers[i]),
                         TOCSIN_OK);
    crowd->arm_at = 0;
}

static void begin(struct crowd *crowd, uint64_t now)
{
    struct tocsin_wheel_config config = {.now = now};
    *crowd = (struct crowd){.now = now};
    assert_int_equal(tocsin_wheel_create(&config, &crowd->wheel, NULL), TOCSIN_OK);
}

static void arm(struct crowd *crowd, uint64_t i, uint64_t due)
{
    assert_int_equal(tocsin_wheel_arm(crowd->wheel, due, i, &crowd->timers[i]), TOCSIN_OK);
}

static void rearm(struct crowd *crowd, uint64_t i, uint64_t due)
{
    assert_int_equal(tocsin_wheel_rearm(crowd->wheel, crowd->timers[i], due), TOCSIN_OK);
}

static void cancel(struct crowd *crowd, uint64_t i)
{
    assert_int_equal(tocsin_wheel_cancel(crowd->wheel, crowd->timers[i], NULL), TOCSIN_OK);
}

static void advance(struct crowd *crowd, uint64_t now)
{
    crowd->now = now;
    assert_int_equal(tocsin_wheel_advance(crowd->wheel, now, 0, note, crowd), TOCSIN_OK);
    assert_whole(crowd->wheel);
}

/* As a loop does: sleeps until wake, to the end. Every timer at its due time (W-13). */
static void run_out(struct crowd *crowd)
{
    uint64_t at = 0;
    while (tocsin_wheel_wake(crowd->wheel, &at)) {
        uint64_t next = 0;
        assert_true(tocsin_wheel_next_due(crowd->wheel, &next));
        assert_true(at <= next);
        advance(crowd, at);
    }
}

static void end(struct crowd *crowd)
{
    assert_int_equal(tocsin_wheel_count(crowd->wheel), 0);
    assert_whole(crowd->wheel);
    tocsin_wheel_destroy(crowd->wheel);
}

/* W-13: pushed back time and again, it fires once, at the last time told. */
TEST(wheel_timer_pushed_back_fires_when_told_last)
{
    struct crowd crowd;
    begin(&crowd, 1000);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 1000 + 1 + i);
    for (uint64_t turn = 1; turn <= 50; turn++) {
        for (uint64_t i = 0; i < CROWD; i++)
            rearm(&crowd, i, 1000 + turn * 1000 + i * 7);
        assert_whole(crowd.wheel);
    }
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 1000 + 50 * 1000 + i * 7);
    end(&crowd);
}

/* W-13, W-16: armed anew for earlier, it fires then, however many are at a time. */
TEST(wheel_timer_drawn_forward_fires_on_time)
{
    struct crowd crowd;
    begin(&crowd, 77);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 77 + 1000000 + i * 1000);
    for (uint64_t i = 0; i < CROWD; i++) {
        uint64_t due = 77 + 500 + i * 13;
        rearm(&crowd, i, due);
        uint64_t at = 0;
        uint64_t next = 0;
        assert_true(tocsin_wheel_wake(crowd.wheel, &at));
        assert_true(at <= 577);
        assert_true(tocsin_wheel_next_due(crowd.wheel, &next));
        assert_int_equal(next, 577);
    }
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 77 + 500 + i * 13);
    end(&crowd);
}

/* The same with nobody asking in between, and with time passing at once. */
TEST(wheel_timers_drawn_forward_together_fire_on_time)
{
    struct crowd crowd;
    begin(&crowd, 5);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 5 + 70000 + i);
    for (uint64_t i = 0; i < CROWD; i++)
        rearm(&crowd, i, 5 + 1 + i);
    for (uint64_t i = 0; i < CROWD; i++) {
        advance(&crowd, 5 + 1 + i);
        assert_int_equal(crowd.fired_at[i], 5 + 1 + i);
    }
    end(&crowd);
}

/* W-13: the last to be drawn forward is the first to be due, time and again, with nobody asking. */
TEST(wheel_timers_drawn_forward_fire_on_time_in_any_order)
{
    enum { FEW = 10, ROUNDS = 5 };
    struct crowd crowd;
    begin(&crowd, 5);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t now = crowd.now, first = round * FEW;
        for (uint64_t i = 0; i < FEW; i++)
            arm(&crowd, first + i, now + 70000 + i);
        for (uint64_t i = 0; i < FEW; i++)
            rearm(&crowd, first + i, now + (FEW - i) * 10);
        for (uint64_t i = FEW; i-- > 0;) {
            advance(&crowd, now + (FEW - i) * 10);
            assert_int_equal(crowd.fired_at[first + i], crowd.now);
        }
    }
    end(&crowd);
}

/* W-21: what was cancelled does not fire, also when others take its place over. */
TEST(wheel_place_of_a_cancelled_timer_is_taken_over)
{
    struct crowd crowd;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 100 + i * 50);
    for (uint64_t i = 0; i < CROWD; i += 2) {
        struct tocsin_timer stale = crowd.timers[i];
        cancel(&crowd, i);
        assert_int_equal(tocsin_wheel_cancel(crowd.wheel, stale, NULL), TOCSIN_STALE);
        arm(&crowd, i, i % 4 == 0 ? 20000 + i : 10 + i); /* later, and earlier */
        assert_int_equal(tocsin_wheel_rearm(crowd.wheel, stale, 1), TOCSIN_STALE);
    }
    assert_whole(crowd.wheel);
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++) {
        uint64_t due = i % 2 != 0 ? 100 + i * 50 : i % 4 == 0 ? 20000 + i : 10 + i;
        assert_int_equal(crowd.fired_at[i], due);
    }
    end(&crowd);
}

/* All cancelled: nothing to wake up for, nothing comes, the memory can go back. */
TEST(wheel_of_cancelled_timers_is_empty)
{
    struct crowd crowd;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 1 + i * i);
    for (uint64_t i = 0; i < CROWD; i++)
        cancel(&crowd, i);
    uint64_t at = 0;
    assert_int_equal(tocsin_wheel_count(crowd.wheel), 0);
    assert_false(tocsin_wheel_wake(crowd.wheel, &at));
    assert_false(tocsin_wheel_next_due(crowd.wheel, &at));
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(crowd.wheel, &stats);
    assert_int_equal(stats.pending, 0);
    for (size_t i = 0; i < stats.levels; i++) {
        struct tocsin_wheel_level_stats level;
        assert_true(tocsin_wheel_describe_level(crowd.wheel, i, &level));
        assert_int_equal(level.pending, 0);
    }
    tocsin_wheel_trim(crowd.wheel);
    assert_whole(crowd.wheel);
    assert_int_equal(crowd.wheel->used_nodes, 0);
    arm(&crowd, 0, 3);
    advance(&crowd, UINT64_C(30) * 24 * 3600 * 1000);
    assert_true(crowd.fired_at[0] != 0);
    end(&crowd);
}

/* Nothing is due for a month, whatever was cancelled: one call, next to no work. */
TEST(wheel_jump_over_cancelled_timers_takes_no_work)
{
    struct crowd crowd;
    begin(&crowd, 1234567);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 1234567 + 1 + i * 211);
    for (uint64_t i = 0; i < CROWD; i++)
        cancel(&crowd, i);
    crowd.now = 1234567 + UINT64_C(30) * 24 * 3600 * 1000;
    assert_int_equal(tocsin_wheel_advance(crowd.wheel, crowd.now, 16, note, &crowd), TOCSIN_OK);
    assert_whole(crowd.wheel);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, crowd.now + 1 + i * 97);
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 1234567 + UINT64_C(30) * 24 * 3600 * 1000 + 1 + i * 97);
    end(&crowd);
}

/* Near the end of time there are slots that never come up again: nothing may stay in them. */
TEST(wheel_leaves_nothing_behind_near_the_end_of_time)
{
    struct crowd crowd;
    const uint64_t turn = UINT64_C(1) << 56;
    begin(&crowd, 5);
    for (uint64_t i = 0; i < 8; i++)
        arm(&crowd, i, 5 + (i + 1) * turn);
    for (uint64_t i = 0; i < 8; i++)
        cancel(&crowd, i);
    advance(&crowd, 5 + 100 * turn);
    for (uint64_t i = 0; i < 8; i++)
        arm(&crowd, i, 5 + (101 + i) * turn);
    for (uint64_t i = 0; i < 8; i++) {
        advance(&crowd, 5 + (101 + i) * turn);
        assert_int_equal(crowd.fired_at[i], 5 + (101 + i) * turn);
    }
    end(&crowd);
}

/* W-04: nor where the slot would come up after the end of time. */
TEST(wheel_waits_for_no_slot_after_the_end_of_time)
{
    struct crowd crowd;
    const uint64_t last = UINT64_MAX - 0xffffff; /* the last slot of the fourth level */
    begin(&crowd, last);
    for (uint64_t i = 0; i < 8; i++)
        arm(&crowd, i, last + 0x50000 + i * 0x10000);
    for (uint64_t i = 0; i < 8; i++)
        cancel(&crowd, i);
    advance(&crowd, last + 0xfefff0);
    arm(&crowd, 0, last + 0xff0010);
    uint64_t at = 0;
    assert_true(tocsin_wheel_wake(crowd.wheel, &at));
    assert_true(at > last + 0xfefff0);
    advance(&crowd, last + 0xff0010);
    assert_true(crowd.fired_at[0] == last + 0xff0010);
    arm(&crowd, 1, UINT64_MAX);
    run_out(&crowd);
    assert_true(crowd.fired_at[1] == UINT64_MAX);
    end(&crowd);
}

/* What was pushed back is looked at once on the way to the earliest, and is then where it belongs. */
TEST(wheel_next_due_sweeps_what_stays)
{
    struct crowd crowd;
    struct tocsin_wheel_level_stats level;
    uint64_t next = 0;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 256 + 10 * i);
    for (uint64_t i = 0; i < CROWD; i++) {
        if (i % 3 == 0)
            cancel(&crowd, i);
        else
            rearm(&crowd, i, UINT64_C(10000000) + i);
    }
    assert_true(tocsin_wheel_describe_level(crowd.wheel, 1, &level));
    assert_int_equal(level.pending, 0); /* where they belong, not where they stay */
    assert_true(level.occupied > 0);
    assert_true(tocsin_wheel_describe_level(crowd.wheel, 2, &level));
    assert_int_equal(level.pending, CROWD * 2 / 3);
    assert_true(tocsin_wheel_next_due(crowd.wheel, &next));
    assert_int_equal(next, 10000001);
    assert_whole(crowd.wheel);
    assert_true(tocsin_wheel_describe_level(crowd.wheel, 1, &level));
    assert_int_equal(level.occupied, 0);
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], i % 3 == 0 ? 0 : 10000000 + i);
    end(&crowd);
}

/* Many are free at a time: each is taken over where it stays. */
TEST(wheel_places_of_many_cancelled_timers_are_taken_over)
{
    struct crowd crowd;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 70000 + i);
    for (uint64_t turn = 0; turn < 20; turn++) {
        for (uint64_t i = 0; i < CROWD; i++)
            cancel(&crowd, i);
        for (uint64_t i = 0; i < CROWD; i++)
            arm(&crowd, i, 1000 + (i * 7919 + turn * 104729) % 200000);
        assert_whole(crowd.wheel);
    }
    assert_int_equal(crowd.wheel->used_nodes, CROWD);
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 1000 + (i * 7919 + 19 * 104729) % 200000);
    end(&crowd);
}

/* Trimmed with what is pending in between, and what stays behind the last of it. */
TEST(wheel_trim_lets_go_of_what_stays)
{
    struct crowd crowd;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 10 + i);
    for (uint64_t i = 0; i < CROWD; i++)
        if (i != 7)
            cancel(&crowd, i);
    tocsin_wheel_trim(crowd.wheel);
    assert_whole(crowd.wheel);
    assert_int_equal(crowd.wheel->used_nodes, 8);
    for (uint64_t i = 0; i < CROWD; i++)
        if (i != 7)
            arm(&crowd, i, 10 + i);
    run_out(&crowd);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 10 + i);
    end(&crowd);
}

/* Drawn forward, cancelled, and its memory given back: nobody looks there any more. */
TEST(wheel_trim_forgets_who_was_drawn_forward)
{
    enum { MANY = 20000 };
    struct crowd crowd;
    begin(&crowd, 0);
    arm(&crowd, 0, 90000);
    struct tocsin_timer *many = calloc(MANY, sizeof *many);
    assert_non_null(many);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(tocsin_wheel_arm(crowd.wheel, 70000 + i, 1, &many[i]), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_rearm(crowd.wheel, many[MANY - 1], 300), TOCSIN_OK);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(tocsin_wheel_cancel(crowd.wheel, many[i], NULL), TOCSIN_OK);
    free(many);
    tocsin_wheel_trim(crowd.wheel);
    assert_int_equal(crowd.wheel->used_nodes, 1);
    run_out(&crowd);
    assert_int_equal(crowd.fired_at[0], 90000);
    end(&crowd);
}

/* Drawn forward, and then once more to what is past: it is late, and comes out at the next call. */
TEST(wheel_timer_drawn_forward_into_the_past_is_late)
{
    const uint64_t starts[] = {9, 1023, (UINT64_C(1) << 26) + 9};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        uint64_t now = starts[i];
        struct crowd crowd;
        begin(&crowd, now);
        arm(&crowd, 0, now + 90000);
        arm(&crowd, 1, now + 90000);
        rearm(&crowd, 0, now + 7);
        rearm(&crowd, 0, now - 3);
        rearm(&crowd, 1, now + 7);
        cancel(&crowd, 1);
        arm(&crowd, 1, now - 3);
        assert_whole(crowd.wheel);
        uint64_t at = 0;
        assert_true(tocsin_wheel_wake(crowd.wheel, &at)); /* whoever asks has all of it settled */
        assert_int_equal(at, now);
        assert_whole(crowd.wheel);
        advance(&crowd, now);
        assert_int_equal(crowd.fired_at[0], now);
        assert_int_equal(crowd.fired_at[1], now);
        end(&crowd);
    }
}

/* W-04: what was due long ago takes over a place near the end of time, and is not taken to be due
 * after that end. */
TEST(wheel_timer_due_long_ago_is_late_at_the_end_of_time)
{
    for (int way = 0; way < 3; way++) {
        struct crowd crowd;
        uint64_t now = UINT64_MAX - 100000;
        begin(&crowd, now);
        arm(&crowd, 0, now + 1000);
        arm(&crowd, 1, now + 1000);
        if (way == 0) {
            rearm(&crowd, 0, 5);
        } else {
            cancel(&crowd, 0);
            if (way == 1)
                cancel(&crowd, 1); /* so that it takes a place from the list of the free */
            arm(&crowd, 0, 5);
            if (way == 1)
                arm(&crowd, 1, 5);
        }
        assert_whole(crowd.wheel);
        advance(&crowd, now);
        assert_int_equal(crowd.fired_at[0], now);
        advance(&crowd, now + 2000);
        assert_int_equal(crowd.fired_at[1], way == 1 ? now : now + 2000);
        end(&crowd);
    }
}

/* Nothing but cancelled timers are passed over at no cost, also where time is counted in nanoseconds. */
TEST(wheel_passes_over_what_was_cancelled_late_in_time)
{
    const uint64_t starts[] = {0, UINT64_C(1763290000000000000)};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct crowd crowd;
        begin(&crowd, starts[i]);
        for (uint64_t k = 0; k < CROWD; k++)
            arm(&crowd, k, starts[i] + 300 + k * 100);
        for (uint64_t k = 0; k < CROWD; k++)
            cancel(&crowd, k);
        crowd.now = starts[i] + 90000;
        assert_int_equal(tocsin_wheel_advance(crowd.wheel, crowd.now, 4, note, &crowd), TOCSIN_OK);
        end(&crowd);
    }
}

/* A take that has just enough room has come to now all the same: what is armed after it for before
 * that is late. */
TEST(wheel_take_that_fills_its_room_comes_to_now)
{
    struct crowd crowd;
    begin(&crowd, 0);
    arm(&crowd, 0, 10);
    struct tocsin_due due;
    size_t count = 0;
    assert_int_equal(tocsin_wheel_take(crowd.wheel, 1000, 0, &due, 1, &count), TOCSIN_OK);
    assert_int_equal(count, 1);
    arm(&crowd, 1, 500);
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(crowd.wheel, &stats);
    assert_int_equal(stats.late, 1);
    struct tocsin_wheel_level_stats level;
    assert_true(tocsin_wheel_describe_level(crowd.wheel, 0, &level));
    assert_int_equal(level.current, 1000 % 256);
    advance(&crowd, 1000);
    assert_int_equal(crowd.fired_at[1], 1000);
    end(&crowd);
}

/* W-21: armed by a callback, due before the place it took over begins and before the call ends:
 * it comes out in the same call, in time, be it before the next of the first level or after it. */
TEST(wheel_callback_arms_earlier_than_its_place)
{
    const uint64_t dues[] = {50, 300};
    for (size_t i = 0; i < sizeof dues / sizeof dues[0]; i++) {
        struct crowd crowd;
        begin(&crowd, 0);
        arm(&crowd, 0, 10);
        arm(&crowd, 1, 5000);
        arm(&crowd, 2, 100);
        arm(&crowd, CROWD - 1, 1000000);
        crowd.arm_at = dues[i];
        advance(&crowd, 4000);
        assert_int_equal(crowd.fired_at[0], 4000);
        assert_int_equal(crowd.fired_at[2], 4000);
        assert_int_equal(crowd.fired_at[CROWD - 2], 4000);
        assert_int_equal(crowd.fired_at[CROWD - 1], 4000);
        assert_int_equal(crowd.fired_at[1], 0);
        advance(&crowd, 5000);
        end(&crowd);
    }
}

/* What it arms as due at once waits for the next call, also in the place of another, or anew. */
TEST(wheel_callback_arms_as_due_in_the_place_of_another)
{
    for (uint64_t due = 9; due <= 10; due++) {
        for (int anew = 0; anew < 2; anew++) {
            struct crowd crowd;
            begin(&crowd, 0);
            arm(&crowd, 0, 10);
            arm(&crowd, CROWD - 1, 1000000);
            *(anew ? &crowd.rearm_at : &crowd.arm_at) = due;
            advance(&crowd, 4000);
            assert_int_equal(crowd.fired_at[0], 4000);
            assert_int_equal(crowd.fired_at[CROWD - 1], 0);
            assert_int_equal(crowd.fired_at[CROWD - 2], 0);
            advance(&crowd, 4001);
            assert_int_equal(crowd.fired_at[CROWD - 1], 4001);
            assert_int_equal(crowd.fired_at[CROWD - 2], anew ? 0 : 4001);
            end(&crowd);
        }
    }
}

/* A call that ends for want of room says so when what was drawn forward is due. */
TEST(wheel_timer_drawn_forward_is_told_of_when_there_is_no_room)
{
    struct crowd crowd;
    begin(&crowd, 100);
    arm(&crowd, 0, 70000);
    rearm(&crowd, 0, 110);
    arm(&crowd, 1, 50); /* late, and first out */
    struct tocsin_due due = {0};
    for (uint64_t left = 2; left-- > 0;) {
        size_t count = 0;
        assert_int_equal(tocsin_wheel_take(crowd.wheel, 110, 0, &due, 1, &count),
                         left > 0 ? TOCSIN_MORE : TOCSIN_OK);
        assert_int_equal(count, 1);
        assert_int_equal(due.cookie, left);
        assert_whole(crowd.wheel);
    }
    end(&crowd);
}

/* A timer pushed back costs a step of work where it was, and no more: many of them do not hold
 * the caller up. */
TEST(wheel_sweeps_within_its_work_limit)
{
    enum { LIMIT = 16 };
    struct crowd crowd;
    begin(&crowd, 0);
    for (uint64_t i = 0; i < CROWD; i++)
        arm(&crowd, i, 1000);
    for (uint64_t i = 0; i < CROWD; i++) {
        if (i % 2 == 0)
            cancel(&crowd, i);
        else
            rearm(&crowd, i, 5000);
    }
    crowd.now = 2000;
    size_t calls = 1;
    while (tocsin_wheel_advance(crowd.wheel, 2000, LIMIT, note, &crowd) == TOCSIN_MORE) {
        assert_whole(crowd.wheel);
        calls++;
    }
    assert_true(calls >= CROWD / LIMIT && calls <= CROWD / LIMIT + 4);
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd.fired_at[i], 0);
    run_out(&crowd);
    for (uint64_t i = 1; i < CROWD; i += 2)
        assert_int_equal(crowd.fired_at[i], 5000);
    end(&crowd);
}

/* What stays far ahead, on a high level with few timers, is passed without being lost. */
TEST(wheel_lonely_timers_stay_and_fire_on_time)
{
    for (unsigned shift = 1; shift < 40; shift++) {
        struct crowd crowd;
        begin(&crowd, 12345);
        uint64_t far = UINT64_C(1) << shift;
        arm(&crowd, 0, 12345 + far);
        arm(&crowd, 1, 12345 + far + 1);
        rearm(&crowd, 0, 12345 + far * 300); /* beyond the end of its slot */
        cancel(&crowd, 1);
        arm(&crowd, 2, 12345 + far * 7);
        run_out(&crowd);
        assert_int_equal(crowd.fired_at[0], 12345 + far * 300);
        assert_int_equal(crowd.fired_at[1], 0);
        assert_int_equal(crowd.fired_at[2], 12345 + far * 7);
        end(&crowd);
    }
}
