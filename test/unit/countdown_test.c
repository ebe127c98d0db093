/* SPDX-License-Identifier: MIT */
/* The promises of countdowns, between two steps of a disk. */
#include "support/countdown_world.h"

#include <stdio.h>
#include <string.h>

#include "support/random.h"

enum { SECOND = 1000, HOUR = 3600 * 1000 };

static struct countdown_world world;

static void told(const char *wanted)
{
    countdown_world_told(&world, wanted);
}

static void run(const char *key, const char *version, int64_t for_ms, enum outcome wanted)
{
    assert_int_equal(countdown_world_run(&world, key, version, for_ms), wanted);
}

/* To be asked by countdown_ask, between whose steps something is done; -1: at_ms is to be set. */
static struct countdown_asked start_for(const char *version, const char *kind, int64_t for_ms)
{
    return (struct countdown_asked){.call = {.owner = bytes_of("me"),
                                             .version = bytes_of(version),
                                             .kind = bytes_of(kind),
                                             .for_ms = for_ms}};
}

static void ask(enum countdown_verb verb, const char *key, enum outcome wanted)
{
    assert_int_equal(countdown_world_ask(&world, verb, key), wanted);
}

static void field_is(const char *key, const char *field, const char *wanted)
{
    assert_string_equal(countdown_world_field(&world, key, field), wanted);
}

/* ---- ticks and the deadline */

TEST(C_02_a_tick_at_once_one_a_second_and_a_timeout_at_the_deadline)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    told("started a v1\ntick a 3");
    countdown_world_pass(&world, 999);
    told("");
    countdown_world_pass(&world, 1);
    told("tick a 2");
    countdown_world_pass(&world, 1999);
    told("tick a 1");
    field_is("a", "state", "running");
    field_is("a", "left_ms", "1");
    countdown_world_pass(&world, 1);
    told("timeout a v1");
    field_is("a", "state", "expired");
    countdown_world_pass(&world, 10 * SECOND);
    told("");
    countdown_world_release(&world);
}

TEST(C_22_ticks_are_aligned_to_the_deadline)
{
    countdown_world_start(&world);
    run("a", "v1", 2500, OUTCOME_MADE);
    told("started a v1\ntick a 3");
    countdown_world_pass(&world, 499);
    told("");
    countdown_world_pass(&world, 1);
    told("tick a 2");
    countdown_world_pass(&world, 1000);
    told("tick a 1");
    countdown_world_pass(&world, 1000);
    told("timeout a v1");
    countdown_world_release(&world);
}

TEST(C_02_a_deadline_in_the_past_times_out_at_once_without_a_tick)
{
    countdown_world_start(&world);
    struct countdown_asked asked = start_for("v", "event", -1);
    asked.call.at_ms = 1000;
    countdown_ask(&world, &asked, COUNTDOWN_START, "a");
    countdown_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_MADE);
    told("started a v\ntimeout a v");
    countdown_world_release(&world);
}

TEST(C_19_nothing_is_told_before_it_is_durable)
{
    struct countdown_asked asked = start_for("v", "event", 3 * SECOND);
    countdown_world_start(&world);
    countdown_ask(&world, &asked, COUNTDOWN_START, "a");
    countdown_world_turn(&world);
    sim_store(&world.sim);
    assert_false(asked.done);
    told("");
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    countdown_world_turn(&world);
    assert_true(asked.done);
    told("started a v\ntick a 3");

    struct countdown_asked stop = {.call = {0}};
    countdown_ask(&world, &stop, COUNTDOWN_STOP, "a");
    countdown_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    countdown_world_turn(&world);
    clock_manual_advance(&world.clock, INT64_C(1000000000));
    countdown_world_turn(&world);
    told("tick a 2");
    sim_commit(&world.sim, world.engine, TOCSIN_NO_SPACE);
    countdown_world_settle(&world);
    assert_int_equal(stop.call.reply.outcome, OUTCOME_NO_SPACE);
    told("");
    countdown_world_pass(&world, 2 * SECOND);
    told("tick a 1\ntimeout a v");
    countdown_world_release(&world);
}

/* ---- versions */

TEST(C_18_the_same_version_keeps_its_deadline)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 1500);
    told("started a v1\ntick a 3\ntick a 2");
    run("a", "v1", 3 * SECOND, OUTCOME_OK);
    told("");
    field_is("a", "left_ms", "1500");
    countdown_world_pass(&world, 1500);
    told("tick a 1\ntimeout a v1");
    run("a", "v1", 3 * SECOND, OUTCOME_OK);
    countdown_world_pass(&world, 5 * SECOND);
    told("");
    field_is("a", "state", "expired");
    run("a", "v2", 3 * SECOND, OUTCOME_OK);
    countdown_world_pass(&world, 3 * SECOND);
    told("started a v2\ntick a 3\ntick a 2\ntick a 1\ntimeout a v2");
    countdown_world_release(&world);
}

/* Whose time runs is part of the turn: it is not swallowed when it is told otherwise. */
TEST(C_17_the_same_version_is_not_anothers)
{
    static const char *const others[][2] = {{"you", "event"}, {"me", "chess"}};
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    told("started a v1\ntick a 3\npaused a v1");
    for (int i = 0; i < 2; i++) {
        struct countdown_asked asked = start_for("v1", others[i][1], HOUR);
        asked.call.owner = bytes_of(others[i][0]);
        countdown_ask(&world, &asked, COUNTDOWN_START, "a");
        countdown_world_settle(&world);
        assert_int_equal(asked.call.reply.outcome, OUTCOME_CONFLICTING);
        assert_string_equal(asked.call.reply.why.text,
                            "version: it is there with owner \"me\" and kind \"event\": with "
                            "another owner or kind it needs another version");
        told("");
        field_is("a", "owner", "me");
        field_is("a", "kind", "event");
        field_is("a", "state", "paused");
    }
    countdown_world_release(&world);
}

TEST(C_01_the_same_version_resumes_one_that_was_paused)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 500);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    countdown_world_pass(&world, HOUR);
    countdown_world_crash(&world);
    countdown_world_again(&world);
    told("started a v1\ntick a 3\npaused a v1");
    run("a", "v1", HOUR, OUTCOME_OK);
    told("resumed a v1\ntick a 3");
    field_is("a", "left_ms", "2500");
    run("a", "v1", HOUR, OUTCOME_OK);
    countdown_world_pass(&world, 2500);
    told("tick a 2\ntick a 1\ntimeout a v1");
    run("a", "v1", HOUR, OUTCOME_OK);
    field_is("a", "state", "expired");
    run("a", "v2", 2 * SECOND, OUTCOME_OK);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    run("a", "v3", SECOND, OUTCOME_OK);
    told("started a v2\ntick a 2\npaused a v2\nstarted a v3\ntick a 1");
    countdown_world_release(&world);
}

TEST(C_01_a_service_resumes_by_a_start_too)
{
    countdown_world_start(&world);
    world.game.name = "of nobody";
    countdown_world_game(&world, "g", "v1", 3 * SECOND);
    ask(COUNTDOWN_PAUSE, "g", OUTCOME_OK);
    countdown_world_pass(&world, HOUR);
    countdown_world_game(&world, "g", "v1", HOUR);
    told("started g v1\ntick g 3\npaused g v1\nresumed g v1\ntick g 3");
    countdown_world_release(&world);
}

TEST(C_17_an_old_turn_never_times_out_a_new_one)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 2999);
    told("started a v1\ntick a 3\ntick a 2\ntick a 1");
    run("a", "v2", 2 * SECOND, OUTCOME_OK);
    told("started a v2\ntick a 2");
    countdown_world_pass(&world, 1999);
    told("tick a 1");
    countdown_world_pass(&world, 1);
    told("timeout a v2");
    countdown_world_release(&world);
}

TEST(C_11_one_that_was_stopped_does_not_come_back)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    ask(COUNTDOWN_STOP, "a", OUTCOME_OK);
    told("started a v1\ntick a 3\nstopped a v1");
    field_is("a", "state", "");
    ask(COUNTDOWN_STOP, "a", OUTCOME_MISSING);
    countdown_world_crash(&world);
    countdown_world_again(&world);
    countdown_world_pass(&world, 10 * SECOND);
    told("");
    countdown_world_release(&world);
}

TEST(C_14_stop_and_start_side_by_side_leave_the_new_one)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    told("started a v1\ntick a 3");
    struct countdown_asked stop = {.call = {0}};
    struct countdown_asked start = start_for("v2", "event", 2 * SECOND);
    countdown_ask(&world, &stop, COUNTDOWN_STOP, "a");
    countdown_ask(&world, &start, COUNTDOWN_START, "a");
    countdown_world_settle(&world);
    told("stopped a v1\nstarted a v2\ntick a 2");
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    told("paused a v2");
    ask(COUNTDOWN_STOP, "a", OUTCOME_OK);
    countdown_world_pass(&world, 5 * SECOND);
    told("stopped a v2");
    countdown_world_release(&world);
}

/* ---- pause, resume, give */

TEST(C_30_pause_resume_and_give)
{
    countdown_world_start(&world);
    run("a", "v1", 3 * SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 500);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    told("started a v1\ntick a 3\npaused a v1");
    countdown_world_pass(&world, HOUR);
    told("");
    field_is("a", "left_ms", "2500");
    field_is("a", "deadline_ms", "null");
    countdown_world_crash(&world);
    countdown_world_again(&world);
    assert_int_equal(countdowns_restored(world.countdowns).paused, 1);
    ask(COUNTDOWN_GIVE, "a", OUTCOME_OK);
    ask(COUNTDOWN_RESUME, "a", OUTCOME_OK);
    ask(COUNTDOWN_RESUME, "a", OUTCOME_OK);
    told("given a v1\nresumed a v1\ntick a 8");
    countdown_world_pass(&world, 7499);
    ask(COUNTDOWN_GIVE, "a", OUTCOME_OK);
    told("tick a 7\ntick a 6\ntick a 5\ntick a 4\ntick a 3\ntick a 2\ntick a 1\ngiven a v1\ntick a "
         "6");
    countdown_world_pass(&world, 5001);
    told("tick a 5\ntick a 4\ntick a 3\ntick a 2\ntick a 1\ntimeout a v1");
    ask(COUNTDOWN_GIVE, "a", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_RESUME, "a", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_STOP, "a", OUTCOME_OK);
    countdown_world_release(&world);
}

/* ---- restarts */

TEST(C_06_a_restart_takes_up_what_runs_and_handles_what_ran_out)
{
    countdown_world_start(&world);
    run("runs", "v", 3 * HOUR, OUTCOME_MADE);
    countdown_world_pass(&world, 1); /* inside one tick there is no order */
    run("out", "v", 5 * SECOND, OUTCOME_MADE);
    run("done", "v", SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, SECOND);
    told("started runs v\ntick runs 10800\nstarted out v\ntick out 5\nstarted done v\n"
         "tick done 1\ntick runs 10799\ntick out 4\ntimeout done v");
    countdown_world_crash(&world);
    clock_manual_advance(&world.clock, 2 * HOUR * INT64_C(1000000));
    countdown_world_again(&world);
    struct countdowns_restored restored = countdowns_restored(world.countdowns);
    assert_int_equal(restored.restored, 1);
    assert_int_equal(restored.expired_handled, 1);
    assert_int_equal(restored.expired_cleaned, 1);
    told("tick runs 3599\ntimeout out v");
    field_is("done", "state", "");
    field_is("out", "state", "expired");
    countdown_world_pass(&world, 2 * SECOND);
    told("tick runs 3598\ntick runs 3597");
    countdown_world_release(&world);
}

/* A crash before each step of the disk in turn: the book has one line, and it was not early. */
TEST(C_13_a_crash_anywhere_re_drives_the_timeout_and_never_twice)
{
    for (int crash_at = 0; crash_at < 8; crash_at++) {
        countdown_world_start(&world);
        countdown_world_game(&world, "g", "v1", 2 * SECOND);
        clock_manual_advance(&world.clock, 2 * SECOND * INT64_C(1000000));
        for (int step = 0; step < crash_at; step++) {
            if (step % 3 == 0)
                countdown_world_turn(&world);
            else if (step % 3 == 1 && world.sim.batch != NULL)
                sim_store(&world.sim);
            else if (world.sim.batch != NULL)
                sim_commit(&world.sim, world.engine, TOCSIN_OK);
            while (world.sim.read_count > 0)
                sim_read_done(&world.sim, world.engine, 0);
        }
        countdown_world_crash(&world);
        countdown_world_again(&world);
        countdown_world_pass(&world, 10 * SECOND);
        assert_int_equal(countdown_world_book(&world), 1);
        assert_int_equal(world.early, 0);
        countdown_world_release(&world);
    }
}

/* ---- kinds */

/* C-23 */
TEST(C_23_only_its_own_kind_is_asked_at_the_deadline)
{
    countdown_world_start(&world);
    run("plain", "v", SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 1); /* inside one tick there is no order */
    countdown_world_game(&world, "g", "v1", SECOND);
    countdown_world_pass(&world, SECOND);
    assert_int_equal(countdown_world_book(&world), 1);
    told("started plain v\ntick plain 1\nstarted g v1\ntick g 1\ntimeout plain v\ntimeout g v1");
    countdown_world_release(&world);
}

/* C-21 */
TEST(C_21_a_handler_that_fails_is_asked_again_and_holds_up_nobody)
{
    countdown_world_start(&world);
    world.game_fails = TOCSIN_UNAVAILABLE;
    countdown_world_game(&world, "g", "v1", SECOND);
    countdown_world_pass(&world, 1); /* inside one tick there is no order */
    run("a", "v", 3 * SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, 2 * SECOND);
    told("started g v1\ntick g 1\nstarted a v\ntick a 3\ntick a 2\ntick a 1");
    assert_int_equal(countdown_world_book(&world), 0);
    world.game_fails = TOCSIN_OK;
    countdown_world_pass(&world, 2 * SECOND);
    assert_int_equal(countdown_world_book(&world), 1);
    told("timeout g v1\ntimeout a v");
    countdown_world_release(&world);
}

TEST(a_handler_may_begin_the_next_turn)
{
    countdown_world_start(&world);
    world.next_turn = true;
    countdown_world_game(&world, "g", "v", SECOND);
    countdown_world_pass(&world, SECOND);
    told("started g v\ntick g 1\nstarted g v'\ntick g 5\ntimeout g v");
    field_is("g", "owner", "other");
    field_is("g", "state", "running");
    world.next_turn = false;
    countdown_world_pass(&world, 5 * SECOND);
    told("tick g 4\ntick g 3\ntick g 2\ntick g 1\ntimeout g v'");
    assert_int_equal(countdown_world_book(&world), 2);
    countdown_world_release(&world);
}

TEST(those_of_a_service_are_its_own)
{
    countdown_world_start(&world);
    countdown_world_game(&world, "game:1", "v1", HOUR);
    ask(COUNTDOWN_STOP, "game:1", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_PAUSE, "game:1", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_GIVE, "game:1", OUTCOME_CONFLICTING);
    run("game:1", "v2", SECOND, OUTCOME_CONFLICTING);
    run("game:2", "v2", SECOND, OUTCOME_CONFLICTING);
    run("gamer", "v2", SECOND, OUTCOME_MADE);
    field_is("game:1", "version", "v1");
    struct countdown_asked asked = start_for("v", "game", SECOND);
    countdown_ask(&world, &asked, COUNTDOWN_START, "x");
    countdown_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_CONFLICTING);
    field_is("x", "state", "");
    countdown_world_release(&world);
}

/* ---- clocks */

TEST(a_duration_does_not_move_with_the_wall_and_an_instant_does)
{
    countdown_world_start(&world);
    struct countdown_asked asked = start_for("v", "event", -1);
    asked.call.at_ms = engine_wall_ms(world.engine) + 10000;
    countdown_ask(&world, &asked, COUNTDOWN_START, "at");
    countdown_world_settle(&world);
    run("for", "v", 10 * SECOND, OUTCOME_MADE);
    world.log_size = 0;
    world.clock.wall.ns += INT64_C(8) * 1000000000;
    engine_clock_stepped(world.engine);
    countdown_world_settle(&world);
    field_is("at", "left", "2");
    field_is("for", "left", "10");
    countdown_world_pass(&world, 2 * SECOND);
    field_is("at", "state", "expired");
    field_is("for", "left", "8");
    assert_int_equal(world.early, 0);
    countdown_world_release(&world);
}

/* The clocks are some microseconds further apart at each start: so its own line is a millisecond
 * late each time, and the deadline that is shown stays. */
TEST(the_deadline_that_is_shown_does_not_move_by_restarts)
{
    struct test_random random = {test_seed()};
    for (int life = 0; life < 50; life++) {
        char shown[32];
        char other[32];
        countdown_world_start(&world);
        clock_manual_advance(&world.clock, (int64_t)test_random_below(&random, 1000000));
        world.clock.wall.ns += (int64_t)test_random_below(&random, 3000000);
        countdown_world_settle(&world);
        run("soon", "v", SECOND, OUTCOME_MADE);
        run("a", "v", 20 * SECOND, OUTCOME_MADE);
        run("other", "v", HOUR, OUTCOME_MADE);
        countdown_world_game(&world, "g", "v", 20 * SECOND);
        (void)snprintf(shown, sizeof shown, "%s",
                       countdown_world_field(&world, "a", "deadline_ms"));
        (void)snprintf(other, sizeof other, "%s",
                       countdown_world_field(&world, "g", "deadline_ms"));
        countdown_world_pass(&world, 2 * SECOND);
        for (int start = 0; start < 10; start++) {
            run("other", test_random_below(&random, 2) == 0 ? "v1" : "v2", HOUR, OUTCOME_OK);
            countdown_world_pass(&world, (int64_t)test_random_below(&random, 1000));
            world.clock.wall.ns += 1 + (int64_t)test_random_below(&random, 100000);
            countdown_world_crash(&world);
            countdown_world_again(&world);
            field_is("a", "deadline_ms", shown);
            field_is("g", "deadline_ms", other);
        }
        ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
        ask(COUNTDOWN_RESUME, "a", OUTCOME_OK);
        countdown_world_pass(&world, HOUR / 2);
        field_is("a", "state", "expired");
        field_is("g", "deadline_ms", other);
        assert_int_equal(world.early, 0);
        countdown_world_release(&world);
    }
}

TEST(they_are_limited_and_forgotten_after_their_grace)
{
    countdown_world_start(&world);
    world.limits.countdowns = 2;
    countdown_world_crash(&world);
    countdown_world_again(&world);
    run("a", "v", SECOND, OUTCOME_MADE);
    run("b", "v", HOUR, OUTCOME_MADE);
    run("c", "v", HOUR, OUTCOME_TOO_MANY);
    countdown_world_pass(&world, SECOND);
    field_is("a", "state", "expired");
    countdown_world_pass(&world, world.limits.grace_ms);
    field_is("a", "state", "");
    run("c", "v", HOUR, OUTCOME_MADE);
    countdown_world_release(&world);
}

/* ---- a thousand lives */

static void random_life(uint64_t seed)
{
    static const char *const keys[] = {"g1", "g2", "g3"};
    struct test_random random = {seed};
    unsigned versions = 0;
    countdown_world_start(&world);
    for (int i = 0; i < 60; i++) {
        char version[32];
        const char *key = keys[test_random_below(&random, 3)];
        switch (test_random_below(&random, 6)) {
        case 0:
        case 1:
            (void)snprintf(version, sizeof version, "v%u", ++versions);
            countdown_world_game(&world, key, version,
                                 (int64_t)test_random_below(&random, 4) * SECOND);
            break;
        case 2:
            (void)snprintf(version, sizeof version, "v%u", versions);
            countdown_world_game(&world, key, version, SECOND); /* the newest, of any key */
            break;
        case 3:
            clock_manual_advance(&world.clock, (int64_t)test_random_below(&random, 3000) * 1000000);
            countdown_world_turn(&world);
            if (test_random_below(&random, 2) == 0 && world.sim.batch != NULL)
                sim_store(&world.sim);
            countdown_world_crash(&world);
            countdown_world_again(&world);
            break;
        default:
            countdown_world_pass(&world, (int64_t)test_random_below(&random, 2500));
            break;
        }
        world.log_size = 0;
    }
    countdown_world_pass(&world, HOUR);
    assert_int_equal(world.early, 0);
    struct countdowns_stats stats;
    countdowns_describe(world.countdowns, &stats);
    assert_int_equal(stats.running, 0);
    countdown_world_release(&world);
}

/* C-12 */
TEST(C_12_one_timeout_for_each_version_through_any_crashes)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 100; i++)
        random_life(seed + (uint64_t)i);
}
