/* SPDX-License-Identifier: MIT */
/* What is said of a renewal is so: when a stop is clean, when a key is lost, when only some of its
 * keys are there, when a round does not end.. */
#include <stdlib.h>
#include <string.h>

#include "support/renewal_world.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

static struct renewal_world world;

#define BOTH(name) RENEWAL_BOTH(name, &world, 1000)

static void field_is(const char *id, const char *field, const char *wanted)
{
    assert_string_equal(renewal_field(&world, id, field), wanted);
}

static void enroll(const char *id, const char *spec)
{
    assert_int_equal(renewal_register(&world, id, spec), OUTCOME_MADE);
}

static void crash(void)
{
    renewal_world_crash(&world);
    clock_manual_advance(&world.clock, SECOND * INT64_C(1000000));
    renewal_world_again(&world);
    renewal_world_settle(&world);
}

/* ---- over a restart */

#define SIX_STEPS                                                                                  \
    "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"steps\","                        \
    "\"steps\":[{\"count\":6,\"ttl\":\"30s\"}]}}"

/* */
BOTH(a_stop_in_good_order_loses_nothing_that_was_counted)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", SIX_STEPS);
    renewal_world_pass(&world, 25 * SECOND);
    field_is("a", "total", "3");
    renewals_stop(world.renewals);
    renewals_save_all(world.renewals);
    assert_true(renewals_under_way(world.renewals) > 0);
    renewal_world_settle(&world);
    assert_int_equal(renewals_under_way(world.renewals), 0);
    crash();
    field_is("a", "total", "4"); /* the first after the restart is at once */
    renewal_world_pass(&world, 5 * MINUTE);
    field_is("a", "status", "COMPLETED");
    field_is("a", "total", "6");
}

/* what is under way when it stops is counted, too. */
BOTH(a_round_that_ends_while_it_stops_is_counted)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", SIX_STEPS);
    renewal_world_hold(&world, true);
    renewal_world_pass(&world, 10 * SECOND);
    renewals_stop(world.renewals);
    renewals_save_all(world.renewals);
    renewal_world_settle(&world);
    assert_int_equal(renewals_under_way(world.renewals), 1);
    assert_true(renewal_world_let(&world, 1));
    renewal_world_settle(&world);
    assert_int_equal(renewals_under_way(world.renewals), 0);
    renewal_world_hold(&world, false);
    crash();
    field_is("a", "total", "3");
}

/* a crash loses no more than a minute of what a strategy counts. */
BOTH(steps_are_written_every_minute)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"steps\","
                "\"steps\":[{\"count\":60,\"ttl\":\"30s\"}]}}");
    renewal_world_pass(&world, 4 * MINUTE + 5 * SECOND);
    field_is("a", "total", "25");
    crash();
    assert_true(atoi(renewal_field(&world, "a", "total")) >= 25 - 6);
}

/* ---- lost */

/* told at once, also to whoever asked for that round. */
BOTH(a_round_by_hand_that_finds_the_key_lost_is_answered_with_lost)
{
    renewal_set(&world, "k", "me", -1);
    enroll("a", "{\"keys\":[\"k\"],\"every\":\"10s\",\"owner\":\"me\"}");
    renewal_set(&world, "k", "him", -1);
    assert_int_equal(renewal_ask(&world, RENEWAL_RENEW, "a"), OUTCOME_OK);
    assert_non_null(strstr(renewal_said.text, "\"status\":\"LOST\""));
    assert_non_null(strstr(renewal_said.text, "\"foreign\":1"));
}

static void drop_one(void *arg, const struct key_job *job)
{
    (void)arg;
    if (job->count > 1)
        mock_client_drop(world.mock, job->items[0].key);
}

/* its owner lets a key go between the search and the renewal: the others are kept. */
BOTH(a_key_that_was_only_found_and_is_gone_is_not_lost)
{
    renewal_set_many(&world, "k", 5, 60 * SECOND);
    world.on_expire = drop_one;
    enroll("a", "{\"prefix\":\"k\",\"every\":\"10s\"}");
    enroll("b", "{\"prefix\":\"k\",\"every\":\"10s\",\"owner\":\"v\"}");
    renewal_world_pass(&world, 15 * SECOND);
    world.on_expire = NULL;
    field_is("b", "status", "ACTIVE");
}

/* ---- health */

/* DOWN is when none reaches any of its keys; that one of two is missing is a warning. */
BOTH(half_of_the_keys_is_a_warning_and_none_is_down)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\",\"gone\"],\"every\":\"10s\",\"max_retries\":1000}");
    renewal_world_pass(&world, 5 * MINUTE);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_WARNING);
    mock_client_drop(world.mock, bytes_of("k"));
    renewal_world_pass(&world, 5 * MINUTE);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_DOWN);
}

BOTH(one_missing_key_among_many_is_told_once)
{
    renewal_set_many(&world, "k", 9, -1);
    enroll("a",
           "{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\",\"k5\",\"k6\",\"k7\",\"k8\",\"gone\"],"
           "\"every\":\"10s\"}");
    renewal_world_pass(&world, 5 * MINUTE);
    renewal_world_told(&world, "ACTIVE a: gone: missing");
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
}

/* nothing silent. */
BOTH(a_round_that_does_not_end_for_longer_than_its_keys_live_is_told)
{
    renewal_set(&world, "k", "v", 30 * SECOND);
    renewal_world_hold(&world, true);
    enroll(
        "a",
        "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"fixed\",\"ttl\":\"30s\"}}");
    renewal_world_pass(&world, 25 * SECOND);
    renewal_world_told(&world, "");
    renewal_world_pass(&world, 15 * SECOND);
    renewal_world_told(&world, "ACTIVE a: its round has not ended for longer than its keys live");
    renewal_world_hold(&world, false);
    (void)renewal_world_let(&world, 1);
}
