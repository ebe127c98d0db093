/* SPDX-License-Identifier: MIT */
/* A timeout in two steps, where several nodes share the store: what is claimed is found by who
 * takes over, and other programs see by two names what there is. */
#include "support/countdown_world.h"

#include <stdio.h>
#include <stdlib.h>
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

static void ask(enum countdown_verb verb, const char *key, enum outcome wanted)
{
    struct countdown_asked asked = {.call = {.give_ms = 5000}};
    countdown_ask(&world, &asked, verb, key);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    if (!asked.done)
        countdown_world_settle(&world);
    assert_true(asked.done);
    assert_int_equal(asked.call.reply.outcome, wanted);
}

static void field_is(const char *key, const char *field, const char *wanted)
{
    assert_string_equal(countdown_world_field(&world, key, field), wanted);
}

static void name_is(const char *name, const char *wanted)
{
    assert_string_equal(countdown_world_name(&world, name), wanted);
}

static void no_names(void)
{
    assert_int_equal(mirror_book_count(&world.book_of_names, world.clock.elapsed.ns), 0);
}

static void seen(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)rev;
    assert_int_equal(outcome, OUTCOME_OK);
    (void)snprintf(arg, 1024, "%.*s", (int)json.size, json.at);
}

/* As GET has it at this moment: nothing goes on meanwhile, unless its doc must be read. */
static const char *look(const char *key)
{
    static char text[1024];
    text[0] = '\0';
    countdowns_get(world.countdowns, bytes_of(key), seen, text);
    if (text[0] == '\0')
        countdown_world_settle(&world);
    assert_true(text[0] != '\0');
    return text;
}

static uint64_t fence_of(const char *json)
{
    return strtoull(strstr(json, "\"fence\":") + 8, NULL, 10);
}

/* Its time is over, and that is claimed, durably; nobody has judged it yet. */
static void let_claim(int64_t ms)
{
    clock_manual_advance(&world.clock, ms * INT64_C(1000000));
    countdown_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    assert_non_null(world.sim.batch);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_null(world.sim.batch);
}

/* C-03, C-04, C-12 */
TEST(C_12_a_timeout_is_claimed_then_judged_and_both_can_be_seen)
{
    char before[1024];
    countdown_world_start_shared(&world);
    countdown_world_game(&world, "gomoku:room-123", "v1", 3 * SECOND);
    (void)snprintf(before, sizeof before,
                   "{\"key\":\"gomoku:room-123\",\"owner\":\"X\",\"version\":\"v1\","
                   "\"deadlineEpochMs\":%s}",
                   countdown_world_field(&world, "gomoku:room-123", "deadline_ms"));
    name_is("countdown:gomoku:room-123", before);
    name_is("countdown:holder:gomoku:room-123", "");
    countdown_world_pass(&world, 2999);
    told("started gomoku:room-123 v1\ntick gomoku:room-123 3\ntick gomoku:room-123 2\n"
         "tick gomoku:room-123 1");
    name_is("countdown:holder:gomoku:room-123", "");

    let_claim(1);
    told("");
    name_is("countdown:gomoku:room-123", before);
    name_is("countdown:holder:gomoku:room-123", "n1");
    const char *claimed = look("gomoku:room-123");
    assert_non_null(strstr(claimed, "\"state\":\"firing\""));
    assert_non_null(strstr(claimed, "\"left_ms\":0,\"left\":0,"));
    assert_non_null(strstr(claimed, "\"expired_ms\":null"));
    uint64_t fence = fence_of(claimed);
    assert_true(fence > 0);
    assert_int_equal(countdown_world_book(&world), 0);

    countdown_world_settle(&world);
    told("timeout gomoku:room-123 v1");
    assert_int_equal(countdown_world_book(&world), 1);
    assert_int_equal(fence_of(look("gomoku:room-123")), fence); /* the one that was claimed */
    field_is("gomoku:room-123", "state", "expired");
    no_names();
    countdown_world_pass(&world, 10 * SECOND);
    told("");
    assert_int_equal(world.timeout_events, 1);
    assert_int_equal(world.early, 0);
    countdown_world_release(&world);
}

/* C-19: the claim ends the ticks when it is durable. */
TEST(C_02_nothing_ticks_once_it_is_claimed)
{
    countdown_world_start_shared(&world);
    world.game_fails = TOCSIN_UNAVAILABLE; /* nobody can judge it for a while */
    countdown_world_game(&world, "g", "v1", 2 * SECOND);
    countdown_world_pass(&world, 7 * SECOND);
    told("started g v1\ntick g 2\ntick g 1");
    field_is("g", "state", "firing");
    struct countdowns_stats stats;
    countdowns_describe(world.countdowns, &stats);
    assert_int_equal(stats.firing, 1);
    assert_int_equal(stats.running + stats.expired, 0);
    countdown_world_release(&world);
}

/* C-04: with a time to live, so that it does not outlast who died with it. */
TEST(C_04_the_name_of_the_holder_goes_by_itself)
{
    countdown_world_start_shared(&world);
    countdown_world_game(&world, "g", "v1", SECOND);
    let_claim(SECOND);
    name_is("countdown:holder:g", "n1");
    countdown_world_crash(&world);
    clock_manual_advance(&world.clock, 9999 * INT64_C(1000000));
    name_is("countdown:holder:g", "n1");
    clock_manual_advance(&world.clock, INT64_C(1000000));
    name_is("countdown:holder:g", "");
    assert_string_not_equal(countdown_world_name(&world, "countdown:g"), "");
    countdown_world_again(&world);
    assert_int_equal(countdown_world_book(&world), 1);
    no_names();
    countdown_world_release(&world);
}

/* C-13: who takes over finds the claim, makes it his own, and only then judges. */
TEST(C_13_who_takes_over_claims_anew)
{
    countdown_world_start_shared(&world);
    countdown_world_game(&world, "g", "v1", SECOND);
    let_claim(SECOND);
    uint64_t first = fence_of(look("g"));
    countdown_world_crash(&world);
    world.node = "n2";
    world.game_fails = TOCSIN_UNAVAILABLE;
    name_is("countdown:holder:g", "n1");
    countdown_world_again(&world);
    assert_int_equal(countdowns_restored(world.countdowns).expired_handled, 1);
    name_is("countdown:holder:g", "n2");
    uint64_t second = fence_of(look("g"));
    assert_true(second > first);
    assert_int_equal(countdown_world_book(&world), 0);
    world.game_fails = TOCSIN_OK;
    countdown_world_pass(&world, 2 * SECOND);
    assert_int_equal(countdown_world_book(&world), 1);
    assert_int_equal(fence_of(look("g")), second);
    no_names();
    countdown_world_release(&world);
}

/* One step of the disk. */
static void one_step(int step)
{
    if (step % 3 == 0)
        countdown_world_turn(&world);
    else if (step % 3 == 1 && world.sim.batch != NULL && !world.sim.stored)
        sim_store(&world.sim);
    else if (world.sim.batch != NULL)
        sim_commit(&world.sim, world.engine, TOCSIN_OK);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
}

/* C-12, C-13: a crash before each step of the disk in turn, then one more in the next life. */
TEST(C_13_a_crash_at_any_step_loses_nothing_and_doubles_nothing)
{
    for (int crash_at = 0; crash_at < 12; crash_at++) {
        for (int again_at = 0; again_at < 12; again_at++) {
            countdown_world_start_shared(&world);
            countdown_world_game(&world, "g", "v1", 2 * SECOND);
            clock_manual_advance(&world.clock, 2 * SECOND * INT64_C(1000000));
            for (int step = 0; step < crash_at; step++)
                one_step(step);
            countdown_world_crash(&world);
            world.node = "n2";
            countdown_world_load(&world);
            for (int step = 0; step < again_at; step++)
                one_step(step);
            countdown_world_crash(&world);
            world.node = "n3";
            countdown_world_again(&world);
            countdown_world_pass(&world, 10 * SECOND);
            assert_int_equal(countdown_world_book(&world), 1);
            assert_int_equal(world.timeout_events, 1);
            assert_int_equal(world.early, 0);
            no_names();
            countdown_world_release(&world);
        }
    }
}

/* ---- what is asked for between the two steps */

TEST(C_12_what_is_claimed_is_neither_paused_nor_given_time)
{
    countdown_world_start_shared(&world);
    run("a", "v1", SECOND, OUTCOME_MADE);
    let_claim(SECOND);
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_GIVE, "a", OUTCOME_CONFLICTING);
    ask(COUNTDOWN_RESUME, "a", OUTCOME_CONFLICTING);
    assert_non_null(strstr(look("a"), "\"state\":\"firing\""));
    name_is("countdown:holder:a", "n1");
    run("a", "v1", HOUR, OUTCOME_OK); /* C-18: the same version keeps its deadline */
    told("started a v1\ntick a 1\ntimeout a v1");
    field_is("a", "state", "expired");
    no_names();
    countdown_world_release(&world);
}

/* Also while the claim is on its way to the disk. */
TEST(C_12_a_claim_under_way_beats_a_pause_if_it_becomes_durable_and_only_then)
{
    for (int fails = 0; fails < 2; fails++) {
        struct countdown_asked asked = {.call = {0}};
        countdown_world_start_shared(&world);
        run("a", "v1", SECOND, OUTCOME_MADE);
        clock_manual_advance(&world.clock, SECOND * INT64_C(1000000));
        countdown_world_turn(&world);
        assert_non_null(world.sim.batch);
        countdown_ask(&world, &asked, COUNTDOWN_PAUSE, "a");
        assert_false(asked.done);
        sim_commit(&world.sim, world.engine, fails ? TOCSIN_UNAVAILABLE : TOCSIN_OK);
        assert_true(asked.done);
        assert_int_equal(asked.call.reply.outcome,
                         fails ? OUTCOME_UNAVAILABLE : OUTCOME_CONFLICTING);
        name_is("countdown:holder:a", fails ? "" : "n1");
        countdown_world_pass(&world, 2 * SECOND);
        told("started a v1\ntick a 1\ntimeout a v1");
        assert_int_equal(world.timeout_events, 1);
        no_names();
        countdown_world_release(&world);
    }
}

/* C-17 */
TEST(C_17_another_version_replaces_what_is_claimed)
{
    countdown_world_start_shared(&world);
    run("a", "v1", SECOND, OUTCOME_MADE);
    let_claim(SECOND);
    run("a", "v2", 3 * SECOND, OUTCOME_OK);
    name_is("countdown:holder:a", "");
    assert_non_null(strstr(countdown_world_name(&world, "countdown:a"), "\"version\":\"v2\""));
    told("started a v1\ntick a 1\nstarted a v2\ntick a 3");
    countdown_world_pass(&world, 3 * SECOND);
    told("tick a 2\ntick a 1\ntimeout a v2");
    assert_int_equal(world.timeout_events, 1);
    no_names();
    countdown_world_release(&world);
}

/* C-11, C-14: and it does not come back. */
TEST(C_11_what_is_claimed_can_be_stopped)
{
    countdown_world_start_shared(&world);
    run("a", "v1", SECOND, OUTCOME_MADE);
    let_claim(SECOND);
    ask(COUNTDOWN_STOP, "a", OUTCOME_OK);
    no_names();
    countdown_world_crash(&world);
    countdown_world_again(&world);
    countdown_world_pass(&world, 5 * SECOND);
    field_is("a", "state", "");
    told("started a v1\ntick a 1\nstopped a v1");
    assert_int_equal(world.timeout_events, 0);
    no_names();
    countdown_world_release(&world);
}

TEST(a_handler_may_begin_the_next_turn_of_what_was_claimed)
{
    countdown_world_start_shared(&world);
    world.next_turn = true;
    countdown_world_game(&world, "g", "v", SECOND);
    let_claim(SECOND);
    name_is("countdown:holder:g", "n1");
    countdown_world_settle(&world);
    told("started g v\ntick g 1\nstarted g v'\ntick g 5\ntimeout g v");
    name_is("countdown:holder:g", "");
    assert_non_null(strstr(countdown_world_name(&world, "countdown:g"), "\"version\":\"v'\""));
    world.next_turn = false;
    countdown_world_pass(&world, 5 * SECOND);
    told("tick g 4\ntick g 3\ntick g 2\ntick g 1\ntimeout g v'");
    assert_int_equal(countdown_world_book(&world), 2);
    no_names();
    countdown_world_release(&world);
}

/* ---- names */

/* C-03: while it runs, and no longer. */
TEST(C_03_the_name_of_a_countdown_is_there_while_it_runs)
{
    countdown_world_start_shared(&world);
    run("a", "v1", 10 * SECOND, OUTCOME_MADE);
    assert_non_null(strstr(countdown_world_name(&world, "countdown:a"), "\"owner\":\"me\""));
    ask(COUNTDOWN_PAUSE, "a", OUTCOME_OK);
    no_names();
    ask(COUNTDOWN_GIVE, "a", OUTCOME_OK);
    no_names();
    ask(COUNTDOWN_RESUME, "a", OUTCOME_OK);
    char text[1024];
    (void)snprintf(text, sizeof text, "\"deadlineEpochMs\":%s}",
                   countdown_world_field(&world, "a", "deadline_ms"));
    assert_non_null(strstr(countdown_world_name(&world, "countdown:a"), text));
    ask(COUNTDOWN_GIVE, "a", OUTCOME_OK);
    assert_null(strstr(countdown_world_name(&world, "countdown:a"), text)); /* 5 s later */
    run("a", "v2", SECOND, OUTCOME_OK);
    assert_non_null(strstr(countdown_world_name(&world, "countdown:a"), "\"version\":\"v2\""));
    ask(COUNTDOWN_STOP, "a", OUTCOME_OK);
    no_names();
    run("a", "v3", SECOND, OUTCOME_MADE);
    countdown_world_pass(&world, SECOND);
    no_names();
    countdown_world_pass(&world, HOUR);
    field_is("a", "state", "");
    no_names();
    countdown_world_release(&world);
}

/* C-16: the holder of x and the state of "holder:x" have two names, and so on for all others. */
TEST(C_16_no_key_has_the_name_of_anothers_holder)
{
    static const struct {
        const char *key;
        const char *state;
        const char *holder;
    } rows[] = {
        {"x", "countdown:x", "countdown:holder:x"},
        {"holder:x", "countdown::holder:x", "countdown:holder:holder:x"},
        {":holder:x", "countdown:::holder:x", "countdown:holder::holder:x"},
        {"holder:holder:x", "countdown::holder:holder:x", "countdown:holder:holder:holder:x"},
        {"holder:", "countdown::holder:", "countdown:holder:holder:"},
        {"holder", "countdown:holder", "countdown:holder:holder"},
        {":x", "countdown::x", "countdown:holder::x"},
        {"a:holder:x", "countdown:a:holder:x", "countdown:holder:a:holder:x"},
        {"holderx", "countdown:holderx", "countdown:holder:holderx"},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    countdown_world_start_shared(&world);
    world.game_fails = TOCSIN_UNAVAILABLE;
    for (size_t i = 0; i < ROWS; i++)
        countdown_world_game(&world, rows[i].key, "v", SECOND);
    countdown_world_pass(&world, SECOND);
    assert_int_equal(mirror_book_count(&world.book_of_names, world.clock.elapsed.ns), 2 * ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "{\"key\":\"%s\",", rows[i].key);
        const char *state = countdown_world_name(&world, rows[i].state);
        assert_int_equal(strncmp(state, text, strlen(text)), 0);
        name_is(rows[i].holder, "n1");
    }
    world.game_fails = TOCSIN_OK;
    countdown_world_pass(&world, 2 * SECOND);
    no_names();
    countdown_world_release(&world);
}

TEST(C_03_the_longest_key_has_its_names)
{
    char key[COUNTDOWN_KEY_BYTES_MAX + 1];
    char name[COUNTDOWN_KEY_BYTES_MAX + 32];
    memset(key, 'k', sizeof key - 1);
    memcpy(key, "holder:", 7);
    key[sizeof key - 1] = '\0';
    countdown_world_start_shared(&world);
    run(key, "v", SECOND, OUTCOME_MADE);
    let_claim(SECOND);
    (void)snprintf(name, sizeof name, "countdown::%s", key);
    assert_string_not_equal(countdown_world_name(&world, name), "");
    (void)snprintf(name, sizeof name, "countdown:holder:%s", key);
    name_is(name, "n1");
    countdown_world_settle(&world);
    no_names();
    countdown_world_release(&world);
}

/* On one node there is nothing to claim: one commit, and no names. */
TEST(C_12_a_store_of_ones_own_has_no_claims_and_no_names)
{
    countdown_world_start(&world);
    countdown_world_game(&world, "g", "v", SECOND);
    uint64_t commits = world.sim.commits;
    countdown_world_pass(&world, SECOND);
    assert_int_equal(world.sim.commits, commits + 1);
    assert_int_equal(world.book_of_names.taken, 0);
    field_is("g", "state", "expired");
    countdown_world_release(&world);
}

/* ---- a thousand lives */

static bool judge_record(void *arg, const struct store_record *record)
{
    char name[400];
    size_t *states = arg;
    (void)snprintf(name, sizeof name, "countdown:%.*s", (int)record->key.size, record->key.at);
    bool named = countdown_world_name(&world, name)[0] != '\0';
    bool runs = record->mark == COUNTDOWN_RUNNING || record->mark == COUNTDOWN_FIRING;
    assert_int_equal(named, runs);
    *states += runs;
    (void)snprintf(name, sizeof name, "countdown:holder:%.*s", (int)record->key.size,
                   record->key.at);
    bool held = countdown_world_name(&world, name)[0] != '\0';
    assert_true(!held || record->mark == COUNTDOWN_FIRING);
    *states += held;
    return true;
}

/* What is on disk, and no other names than what is on disk has. */
static void judge_names(void)
{
    size_t names = 0;
    uint64_t next;
    struct tocsin_why why;
    (void)world.sim.under->ops->list(world.sim.under, bytes_of("countdown"), 0, 10000, judge_record,
                                     &names, &next, &why);
    assert_int_equal(mirror_book_count(&world.book_of_names, world.clock.elapsed.ns), names);
}

static void take_over(struct test_random *random)
{
    static const char *const nodes[] = {"n1", "n2", "n3"};
    for (uint64_t left = test_random_below(random, 7); left > 0; left--)
        one_step((int)test_random_below(random, 3));
    if (test_random_below(random, 2) == 0 && world.sim.batch != NULL && !world.sim.stored)
        sim_store(&world.sim);
    judge_names();
    countdown_world_crash(&world);
    world.node = nodes[test_random_below(random, 3)];
    countdown_world_again(&world);
}

static void random_life(uint64_t seed)
{
    static const char *const keys[] = {"g1", "g2", "g3"};
    static const enum countdown_verb verbs[] = {COUNTDOWN_STOP, COUNTDOWN_PAUSE, COUNTDOWN_RESUME,
                                                COUNTDOWN_GIVE};
    struct test_random random = {seed};
    unsigned versions = 0;
    countdown_world_start_shared(&world);
    for (int i = 0; i < 60; i++) {
        char version[32];
        const char *key = keys[test_random_below(&random, 3)];
        (void)snprintf(version, sizeof version, "v%u", versions + 1);
        clock_manual_advance(&world.clock, (int64_t)test_random_below(&random, 1500) * 1000000);
        one_step(0);
        for (uint64_t left = test_random_below(&random, 4); left > 0; left--)
            one_step((int)test_random_below(&random, 3));
        switch (test_random_below(&random, 6)) {
        case 0:
            versions++;
            countdown_world_game(&world, key, version,
                                 (int64_t)test_random_below(&random, 4) * SECOND);
            break;
        case 1:
            versions++;
            (void)countdown_world_run(&world, "p", version,
                                      (int64_t)test_random_below(&random, 3000));
            break;
        case 2:
            (void)countdown_world_ask(&world, verbs[test_random_below(&random, 4)], "p");
            break;
        case 3:
            take_over(&random);
            break;
        default:
            countdown_world_pass(&world, (int64_t)test_random_below(&random, 1500));
            break;
        }
        judge_names();
        world.log_size = 0;
    }
    if (strcmp(countdown_world_field(&world, "p", "state"), "paused") == 0)
        assert_int_equal(countdown_world_ask(&world, COUNTDOWN_STOP, "p"), OUTCOME_OK);
    countdown_world_pass(&world, 2 * HOUR);
    assert_int_equal(world.early, 0);
    struct countdowns_stats stats;
    countdowns_describe(world.countdowns, &stats);
    assert_int_equal(stats.running + stats.firing, 0);
    no_names();
    countdown_world_release(&world);
}

/* C-12, C-13 */
TEST(C_12_one_timeout_for_each_version_whoever_takes_over)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 100; i++)
        random_life(seed + (uint64_t)i);
}
