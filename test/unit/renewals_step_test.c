/* SPDX-License-Identifier: MIT */
/* A pause, a resume, a cancel, a crash at each step of a round. With both engines. */
#include "support/renewal_world.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct renewal_world world;

#define BOTH(name) RENEWAL_BOTH(name, &world, 3)

static void field_is(const char *id, const char *field, const char *wanted)
{
    assert_string_equal(renewal_field(&world, id, field), wanted);
}

static void enroll(const char *id, const char *spec)
{
    assert_int_equal(renewal_register(&world, id, spec), OUTCOME_MADE);
}

static const char *const rounds[] = {
    "{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\",\"k5\",\"k6\",\"k7\",\"k8\",\"k9\"],\"every\":"
    "\"10s\"}",
    "{\"prefix\":\"k\",\"every\":\"10s\"}",
    "{\"any\":[{\"keys\":[\"k0\"]},{\"prefix\":\"k\"}],\"every\":\"10s\",\"strategy\":{\"type\":"
    "\"while\",\"key\":\"k1\",\"exists\":true}}",
};

static struct renewal_asked asked;
static struct renewal_asked second;

/* The round is at this step; false: it is over before. */
static bool up_to(size_t which, size_t step)
{
    renewal_set_many(&world, "k", 10, 900 * SECOND);
    enroll("a", rounds[which]);
    renewal_world_hold(&world, true);
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_true(world.job_count > 0);
    return renewal_world_let(&world, step) && world.job_count > 0;
}

/* So it ends, and nothing reaches the key store once that is answered. */
static void stop_at(enum renewal_verb verb, const char *status, bool beat_first)
{
    asked = (struct renewal_asked){.done = false};
    second = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, verb, "a", NULL);
    if (beat_first)
        clock_manual_advance(&world.clock, 10 * SECOND * INT64_C(1000000));
    renewal_world_settle(&world);
    uint64_t given = world.given;
    assert_false(asked.done); /* a job is still under way */
    if (verb == RENEWAL_PAUSE) {
        renewal_begin(&world, &second, RENEWAL_PAUSE, "a", NULL);
        renewal_world_settle(&world);
        assert_false(second.done); /* for whoever asks again, too */
    }
    field_is("a", "status", status);
    renewal_world_hold(&world, false);
    assert_true(asked.done);
    assert_int_equal(second.done, verb == RENEWAL_PAUSE);
    assert_int_equal(world.given, given); /* nothing more was begun */
    assert_int_equal(renewals_under_way(world.renewals), 0);
    renewal_world_pass(&world, 5 * MINUTE);
    assert_int_equal(world.given, given);
    field_is("a", "status", status);
}

static void each_step(void (*fn)(size_t which, size_t step))
{
    for (enum beats_type type = BEATS_TIME_WHEEL; type <= BEATS_SCHEDULED; type++) {
        for (size_t i = 0; i < 2 * (sizeof rounds / sizeof rounds[0]); i++) {
            size_t steps = 0;
            for (bool more = true; more; steps++) {
                renewal_world_init(&world, type);
                world.limits.batch = 3;
                renewal_world_again(&world);
                more = up_to(i / 2, steps);
                if (more)
                    fn(i, steps);
                renewal_world_release(&world);
            }
            assert_true(steps > 4);
        }
    }
}

static void cancel_at(size_t which, size_t step)
{
    (void)step;
    stop_at(RENEWAL_CANCEL, "CANCELLED", which % 2 == 1);
}

static void pause_at(size_t which, size_t step)
{
    (void)step;
    stop_at(RENEWAL_PAUSE, "PAUSED", which % 2 == 1);
    renewal_world_hold(&world, false);
    uint64_t before = world.keys;
    assert_int_equal(renewal_ask(&world, RENEWAL_RESUME, "a"), OUTCOME_OK);
    assert_int_equal(world.keys, before + 10); /* one round, whole */
    renewal_world_pass(&world, 20 * SECOND + 100);
    assert_int_equal(world.keys, before + 30); /* and one chain */
}

static void pause_and_resume_at(size_t which, size_t step)
{
    (void)step;
    asked = (struct renewal_asked){.done = false};
    second = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, RENEWAL_PAUSE, "a", NULL);
    if (which % 2 == 1)
        renewal_world_settle(&world);
    renewal_begin(&world, &second, RENEWAL_RESUME, "a", NULL);
    renewal_world_settle(&world);
    assert_true(second.done);
    assert_int_equal(renewals_under_way(world.renewals), 1);
    field_is("a", "status", "ACTIVE");
    uint64_t rounds_before = world.rounded;
    renewal_world_hold(&world, false);
    assert_true(asked.done);
    assert_int_equal(world.rounded, rounds_before + 2); /* what was under way, and the first one */
    assert_int_equal(world.job_count, 0);
    field_is("a", "task_failures", "0");
    uint64_t before = world.keys;
    renewal_world_pass(&world, 30 * SECOND + 100);
    assert_int_equal(world.keys, before + 30);
}

static void renew_at(size_t which, size_t step)
{
    (void)which;
    (void)step;
    asked = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, RENEWAL_RENEW, "a", NULL);
    renewal_world_settle(&world);
    assert_false(asked.done);
    assert_int_equal(renewals_under_way(world.renewals), 1);
    renewal_world_hold(&world, false);
    assert_true(asked.done);
    assert_non_null(strstr(asked.text, "\"longer\":10"));
    assert_int_equal(world.rounded, 2); /* it joins the round under way */
}

static void crash_at(size_t which, size_t step)
{
    (void)step;
    uint64_t keys = world.keys;
    renewal_world_crash(&world);
    clock_manual_advance(&world.clock, (int64_t)(which % 2) * 3600 * INT64_C(1000000000));
    renewal_world_again(&world);
    renewal_set_many(&world, "k", 10, 900 * SECOND);
    renewal_world_settle(&world);
    assert_true(world.keys >= keys);
    renewal_world_pass(&world, 20 * SECOND);
    field_is("a", "status", "ACTIVE");
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
}

TEST(R_10_cancel_at_each_step_of_a_round)
{
    each_step(cancel_at);
}

TEST(R_10_pause_at_each_step_of_a_round)
{
    each_step(pause_at);
}

TEST(R_10_pause_and_resume_at_each_step_of_a_round)
{
    each_step(pause_and_resume_at);
}

TEST(R_17_renew_at_each_step_of_a_round)
{
    each_step(renew_at);
}

TEST(R_17_a_crash_at_each_step_of_a_round)
{
    each_step(crash_at);
}

BOTH(R_12_a_round_that_was_cut_short_is_no_step)
{
    renewal_set_many(&world, "k", 9, 5 * SECOND);
    enroll("a", "{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\",\"k5\",\"k6\",\"k7\"],"
                "\"every\":\"1s\",\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":2,"
                "\"ttl\":\"5s\"},{\"ttl\":\"10s\"}]}}");
    renewal_world_hold(&world, true);
    renewal_world_pass(&world, SECOND + 100);
    asked = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, RENEWAL_PAUSE, "a", NULL);
    renewal_world_settle(&world);
    renewal_world_hold(&world, false);
    assert_true(asked.done);
    assert_int_equal(world.keys, 8 + 6);
    assert_int_equal(renewal_ask(&world, RENEWAL_RESUME, "a"), OUTCOME_OK);
    assert_int_equal(world.last_ttl_ms, 5 * SECOND); /* the second one, whole */
    renewal_world_pass(&world, SECOND + 100);
    assert_int_equal(world.last_ttl_ms, 10 * SECOND);
}

/* Lost is found while a pause or a resume is on its way to the disk: in any order, what is
 * written and what is done agree. */
BOTH(R_10_a_pause_and_what_a_round_finds_meet_on_the_way_to_the_disk)
{
    static const enum renewal_verb verbs[][2] = {{RENEWAL_PAUSE, RENEWAL_PAUSE},
                                                 {RENEWAL_PAUSE, RENEWAL_RESUME},
                                                 {RENEWAL_CANCEL, RENEWAL_CANCEL}};
    static struct renewal_asked calls[2];
    for (size_t i = 0; i < 6; i++) {
        char id[16];
        bool found_first = i >= 3;
        renewal_set(&world, "k0", "me", 900 * SECOND);
        (void)snprintf(id, sizeof id, "r%zu", i);
        renewal_world_hold(&world, false);
        enroll(id, "{\"keys\":[\"k0\"],\"owner\":\"me\",\"every\":\"10s\"}");
        renewal_world_hold(&world, true);
        renewal_world_pass(&world, 10 * SECOND + 100);
        renewal_set(&world, "k0", "you", 900 * SECOND);
        if (found_first)
            assert_true(renewal_world_let(&world, 1));
        for (int n = 0; n < 2; n++) {
            calls[n] = (struct renewal_asked){.done = false};
            renewal_begin(&world, &calls[n], verbs[i % 3][n], id, NULL);
        }
        if (!found_first)
            assert_true(renewal_world_let(&world, 1));
        uint64_t before = world.given;
        renewal_world_settle(&world);
        assert_true(calls[0].done && calls[1].done);
        char status[16];
        (void)snprintf(status, sizeof status, "%s", renewal_field(&world, id, "status"));
        bool paused = calls[0].call.reply.outcome == OUTCOME_OK && i % 3 == 0;
        bool cancelled = calls[0].call.reply.outcome == OUTCOME_OK && i % 3 == 2;
        assert_string_equal(status, paused ? "PAUSED" : cancelled ? "CANCELLED" : "LOST");
        assert_int_equal(world.given, before);
        assert_int_equal(renewals_under_way(world.renewals), 0);
    }
}
