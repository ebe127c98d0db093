/* SPDX-License-Identifier: MIT */
/* Rounds: what reaches the key store, what became of each key, and what follows. Every test runs
 * with both engines. */
#include "support/renewal_world.h"

#include <stdio.h>
#include <stdlib.h>
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

static const char *with_keys(int count)
{
    static char json[1000];
    size_t at = 0;
    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s\"k%d\"", i > 0 ? "," : "", i);
    static char spec[2000];
    (void)snprintf(spec, sizeof spec, "{\"keys\":[%s],\"every\":\"10s\"}", json);
    return spec;
}

#define ONE_KEY "{\"keys\":[\"k0\"],\"every\":\"10s\"}"

/* ---- which keys */

BOTH(R_03_batches_are_bounded_and_two_are_under_way)
{
    renewal_set_many(&world, "k", 10, 5 * SECOND);
    renewal_world_hold(&world, true);
    enroll("a", with_keys(10));
    assert_int_equal(world.job_count, 2);
    assert_int_equal(world.keys, 6);
    for (int i = 0; i < 4; i++)
        assert_true(renewal_world_let(&world, 1));
    assert_int_equal(world.job_count, 0);
    assert_int_equal(world.most_jobs, 2);
    assert_int_equal(world.largest, 3);
    assert_int_equal(world.keys, 10);
    field_is("a", "renewed", "10");
    for (int i = 0; i < 10; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(renewal_ttl(&world, key), 300 * SECOND);
    }
}

BOTH(R_03_a_scan_finds_all_in_bounded_batches)
{
    renewal_set_many(&world, "x:", 2500, 5 * SECOND);
    renewal_set_many(&world, "y:", 10, 5 * SECOND);
    enroll("a", "{\"prefix\":\"x:\",\"every\":\"10s\"}");
    assert_int_equal(world.given_of[KEY_SCAN], 3);
    assert_int_equal(world.keys, 2500);
    assert_int_equal(world.largest, 3);
    assert_true(world.most_jobs <= 2);
    field_is("a", "renewed", "2500");
    assert_int_equal(renewal_ttl(&world, "x:2499"), 300 * SECOND);
    assert_int_equal(renewal_ttl(&world, "y:1"), 5 * SECOND);
    enroll("b", "{\"pattern\":\"y:[0-4]\",\"every\":\"10s\"}");
    field_is("b", "renewed", "5");
}

BOTH(R_03_each_key_is_renewed_once_whoever_names_it)
{
    renewal_set_many(&world, "x:", 5, 5 * SECOND);
    renewal_set_many(&world, "y:", 2, 5 * SECOND);
    enroll("a",
           "{\"any\":[{\"keys\":[\"x:1\",\"z\"]},{\"prefix\":\"x:\"},{\"keys\":[\"y:0\",\"x:2\"]},"
           "{\"pattern\":\"*:1\"}],\"every\":\"10s\"}");
    field_is("a", "renewed", "7");
    field_is("a", "missing", "1");
    assert_int_equal(world.keys, 8);
    enroll("b", "{\"keys\":[\"x:1\",\"x:1\",\"x:1\",\"x:1\",\"x:2\"],\"every\":\"10s\"}");
    assert_int_equal(world.keys, 10);
    field_is("b", "renewed", "2");
}

BOTH(R_03_a_scan_that_finds_nothing_is_no_failure)
{
    enroll("a", "{\"prefix\":\"x:\",\"every\":\"10s\",\"max_retries\":1}");
    renewal_world_pass(&world, 10 * MINUTE);
    field_is("a", "status", "ACTIVE");
    field_is("a", "task_failures", "0");
    field_is("a", "success_rate", "null");
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
}

BOTH(R_03_more_keys_than_the_limit_are_a_failure_that_is_told)
{
    world.limits.scan_keys = 20;
    renewal_world_crash(&world);
    renewal_world_again(&world);
    renewal_world_settle(&world);
    renewal_set_many(&world, "x:", 21, 100 * SECOND);
    enroll("a", "{\"prefix\":\"x:\",\"every\":\"10s\"}");
    field_is("a", "task_failures", "1");
    assert_non_null(strstr(renewal_json(&world, "a"), "more than 20 keys match"));
    renewal_world_told(&world, "ACTIVE a: more than 20 keys match (limits.renewal_keys)");
    mock_client_drop(world.mock, bytes_of("x:7"));
    renewal_world_pass(&world, 10 * SECOND);
    field_is("a", "failures", "0");
    field_is("a", "renewed", "20");
}

BOTH(R_03_a_scan_that_breaks_is_a_failure)
{
    renewal_set_many(&world, "x:", 5, 100 * SECOND);
    mock_client_mood(world.mock, MOCK_REFUSES);
    enroll("a", "{\"prefix\":\"x:\",\"every\":\"10s\"}");
    field_is("a", "task_failures", "1");
    field_is("a", "failures", "1");
    assert_non_null(strstr(renewal_json(&world, "a"), "mock: READONLY"));
    renewal_world_told(&world, "ACTIVE a: mock: READONLY");
    renewal_world_pass(&world, MINUTE / 6);
    renewal_world_told(&world, ""); /* once */
    mock_client_mood(world.mock, MOCK_WELL);
    renewal_world_pass(&world, 10 * SECOND);
    field_is("a", "failures", "0");
}

/* ---- what became of them */

BOTH(R_12_each_key_has_its_result)
{
    renewal_set(&world, "short", "v", 5 * SECOND);
    renewal_set(&world, "long", "v", 900 * SECOND);
    renewal_set(&world, "ever", "v", -1);
    enroll("a", "{\"keys\":[\"short\",\"long\",\"ever\",\"gone\"],\"every\":\"10s\"}");
    field_is("a", "renewed", "1");
    field_is("a", "longer", "1");
    field_is("a", "persistent", "false"); /* the policy, which comes first */
    assert_non_null(strstr(renewal_json(&world, "a"),
                           "\"last\":{\"renewed\":1,\"longer\":1,\"persistent\":1,\"missing\":1,"
                           "\"foreign\":0,\"refused\":0,\"failed\":0,\"unknown\":0,"
                           "\"why\":\"gone: missing\",\"bad\":[{\"key\":\"gone\","
                           "\"result\":\"missing\"}]}"));
    field_is("a", "success", "3");
    field_is("a", "failure", "1");
    field_is("a", "success_rate", "75");
    renewal_world_told(&world, "ACTIVE a: gone: missing");
    renewal_world_pass(&world, MINUTE);
    renewal_world_told(&world, ""); /* once */
    field_is("a", "status", "ACTIVE");
    assert_int_equal(renewal_ttl(&world, "long"), 900 * SECOND - MINUTE); /* */
    assert_int_equal(renewal_ttl(&world, "ever"), -1);
}

BOTH(R_15_the_policies_shorten_and_limit)
{
    renewal_set(&world, "long", "v", 900 * SECOND);
    renewal_set(&world, "ever", "v", -1);
    enroll("a", "{\"keys\":[\"long\",\"ever\"],\"every\":\"10s\",\"shorten\":true}");
    assert_int_equal(renewal_ttl(&world, "long"), 300 * SECOND);
    assert_int_equal(renewal_ttl(&world, "ever"), -1);
    enroll("b", "{\"keys\":[\"long\",\"ever\"],\"every\":\"10s\",\"persistent\":true}");
    assert_int_equal(renewal_ttl(&world, "ever"), 300 * SECOND);
}

BOTH(R_12_what_is_not_reached_any_more_has_failed_too)
{
    renewal_set_many(&world, "k", 10, 100 * SECOND);
    mock_client_mood(world.mock, MOCK_DOWN);
    enroll("a", with_keys(10));
    field_is("a", "failed", "10");
    field_is("a", "failure", "10");
    assert_int_equal(world.keys, 6); /* the others would only fail, too: they are not sent */
}

BOTH(R_12_an_answer_that_was_lost_is_unknown_and_tried_again)
{
    renewal_set_many(&world, "k", 1, 5 * SECOND);
    mock_client_mood(world.mock, MOCK_LOSES);
    enroll("a", ONE_KEY);
    field_is("a", "unknown", "1");
    field_is("a", "failures", "1");
    mock_client_mood(world.mock, MOCK_WELL);
    renewal_world_pass(&world, SECOND);
    field_is("a", "renewed", "1");
    field_is("a", "failures", "0");
    field_is("a", "total", "2");
    renewal_world_told(&world, "");
}

/* ---- whose they are */

#define OWNED "{\"keys\":[\"k0\",\"k1\"],\"every\":\"10s\",\"owner\":\"me\"}"

BOTH(R_16_a_foreign_key_is_lost_at_once_and_untouched)
{
    renewal_set(&world, "k0", "me", 100 * SECOND);
    renewal_set(&world, "k1", "me", 100 * SECOND);
    enroll("a", OWNED);
    field_is("a", "renewed", "2");
    renewal_set(&world, "k1", "you", 100 * SECOND);
    renewal_world_pass(&world, 10 * SECOND + 100);
    renewal_world_told(&world, "LOST a: k1: foreign");
    field_is("a", "status", "LOST");
    field_is("a", "why", "k1: foreign");
    assert_in_range(renewal_ttl(&world, "k1"), 89 * SECOND, 90 * SECOND);
    uint64_t before = world.given;
    renewal_set(&world, "k1", "me", 100 * SECOND);
    renewal_world_pass(&world, MINUTE);
    renewal_world_crash(&world);
    renewal_world_again(&world);
    renewal_world_pass(&world, MINUTE);
    assert_int_equal(world.given, before); /* never again */
    field_is("a", "status", "LOST");
    assert_int_equal(renewal_ask(&world, RENEWAL_RESUME, "a"), OUTCOME_CONFLICTING);
}

BOTH(R_16_a_missing_key_is_lost_when_it_has_an_owner)
{
    renewal_set(&world, "k0", "me", 100 * SECOND);
    enroll("a", OWNED);
    renewal_world_told(&world, "LOST a: k1: missing");
    field_is("a", "status", "LOST");
    enroll("b", "{\"keys\":[\"k0\",\"k1\"],\"every\":\"10s\"}");
    field_is("b", "status", "ACTIVE"); /* without one it is a failure of that key */
}

BOTH(R_16_that_a_key_is_lost_is_told_whatever_else_went_wrong)
{
    renewal_set_many(&world, "k", 6, 100 * SECOND); /* of the value v */
    renewal_set(&world, "k4", "you", 100 * SECOND);
    renewal_world_hold(&world, true);
    enroll(
        "a",
        "{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\",\"k5\"],\"every\":\"10s\",\"owner\":\"v\"}");
    mock_client_mood(world.mock, MOCK_REFUSES);
    assert_true(renewal_world_let(&world, 1));
    mock_client_mood(world.mock, MOCK_WELL);
    assert_true(renewal_world_let(&world, 1));
    renewal_world_settle(&world);
    renewal_world_told(&world, "LOST a: k4: foreign");
}

BOTH(R_16_that_it_is_lost_is_written_until_it_is_durable)
{
    struct elapsed_time wake;
    renewal_set(&world, "k0", "me", 100 * SECOND);
    renewal_set(&world, "k1", "me", 100 * SECOND);
    enroll("a", OWNED);
    renewal_set(&world, "k0", "you", 100 * SECOND);
    clock_manual_advance(&world.clock, (10 * SECOND + 100) * INT64_C(1000000));
    for (int i = 0; i < 3; i++) {
        while (world.sim.batch == NULL) {
            engine_turn(world.engine, &wake);
            if (world.sim.read_count > 0)
                sim_read_done(&world.sim, world.engine, 0);
        }
        assert_int_equal(world.given, 2); /* what is lost is not touched while that is written */
        sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
        renewal_world_told(&world, "");
        clock_manual_advance(&world.clock, 1100 * INT64_C(1000000));
    }
    renewal_world_settle(&world);
    renewal_world_told(&world, "LOST a: k0: foreign");
    field_is("a", "status", "LOST");
    assert_int_equal(world.given, 2);
}

/* ---- failures */

BOTH(R_06_too_many_failures_in_a_row_end_it_and_partial_ones_do_not)
{
    renewal_set_many(&world, "k", 2, 900 * SECOND);
    enroll("a", "{\"keys\":[\"k0\"],\"every\":\"10s\",\"max_retries\":2}");
    enroll("b", "{\"keys\":[\"k1\",\"gone\"],\"every\":\"10s\",\"max_retries\":2}");
    mock_client_drop(world.mock, bytes_of("k0"));
    renewal_world_pass(&world, 25 * SECOND);
    field_is("a", "failures", "2");
    field_is("a", "status", "ACTIVE");
    renewal_world_pass(&world, 6 * SECOND);
    field_is("a", "status", "FAILED");
    field_is("a", "why", "3 rounds in a row have failed: k0: missing");
    renewal_world_pass(&world, 10 * MINUTE);
    field_is("b", "status", "ACTIVE");
    field_is("b", "failures", "0");
    field_is("b", "task_failures", "0");
    renewal_world_told(&world, "ACTIVE b: gone: missing\nACTIVE a: k0: missing\n"
                               "FAILED a: 3 rounds in a row have failed: k0: missing");
}

BOTH(R_01_one_that_may_not_fail_at_all_ends_with_its_first_failure)
{
    enroll("a", "{\"keys\":[\"k0\"],\"every\":\"10s\",\"max_retries\":0}");
    field_is("a", "status", "FAILED");
    field_is("a", "why", "a round has failed: k0: missing");
}

BOTH(R_12_a_success_resets_the_run_of_failures)
{
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    enroll("a", "{\"keys\":[\"k0\"],\"every\":\"10s\",\"max_retries\":2}");
    for (int i = 0; i < 5; i++) {
        mock_client_mood(world.mock, MOCK_DOWN);
        renewal_world_pass(&world, 20 * SECOND);
        field_is("a", "failures", "2");
        mock_client_mood(world.mock, MOCK_WELL);
        renewal_world_pass(&world, 10 * SECOND);
        field_is("a", "failures", "0");
    }
    field_is("a", "status", "ACTIVE");
}

BOTH(renewing_by_hand_while_it_is_down_does_not_end_it)
{
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    mock_client_mood(world.mock, MOCK_DOWN);
    enroll("a", "{\"keys\":[\"k0\"],\"every\":100,\"max_retries\":5}"); /* no time for a retry */
    for (int i = 0; i < 20; i++)
        assert_int_equal(renewal_ask(&world, RENEWAL_RENEW, "a"), OUTCOME_OK);
    field_is("a", "failures", "1");
    field_is("a", "status", "ACTIVE");
}

static int64_t retries[64];
static int retry_count;

static void note_retry(void *arg, const struct key_job *job)
{
    struct renewal_world *of = arg;
    (void)job;
    if (retry_count < 64)
        retries[retry_count++] = of->clock.elapsed.ns / 1000000;
}

BOTH(R_13_a_failure_is_tried_again_soon_with_jitter_a_few_times)
{
    int64_t late = world.beats == BEATS_TIME_WHEEL ? 100 : 1;
    int64_t spans[8];
    bool differ = false;
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    mock_client_mood(world.mock, MOCK_DOWN);
    world.on_expire = note_retry;
    world.on_expire_arg = &world;
    retry_count = 0;
    enroll("a", "{\"keys\":[\"k0\"],\"every\":\"10s\",\"max_retries\":50}");
    for (int beat = 0; beat < 8; beat++) {
        renewal_world_pass(&world, 10 * SECOND - 100);
        assert_int_equal(retry_count, 4); /* the beat and three more */
        for (int i = 1; i < 4; i++)
            assert_in_range(retries[i] - retries[i - 1], 100 << (i - 1), (200 << (i - 1)) + late);
        spans[beat] = retries[3] - retries[0];
        differ = differ || spans[beat] != spans[0];
        retry_count = 0;
        renewal_world_pass(&world, 100);
        if (retry_count == 0 && beat < 7) /* a beat that is late by a tick */
            renewal_world_pass(&world, 1);
    }
    assert_true(differ);
    assert_in_range(renewal_stats(&world).retried, 24, 27);
    field_is("a", "status", "ACTIVE");
}

BOTH(R_13_what_was_refused_for_some_keys_is_tried_again_too)
{
    renewal_set_many(&world, "k", 10, 900 * SECOND);
    renewal_world_hold(&world, true);
    enroll("a", with_keys(10));
    assert_true(renewal_world_let(&world, 1));
    mock_client_mood(world.mock, MOCK_REFUSES);
    assert_true(renewal_world_let(&world, 3));
    field_is("a", "longer", "3");
    field_is("a", "refused", "7");
    field_is("a", "failures", "0");
    mock_client_mood(world.mock, MOCK_WELL);
    renewal_world_hold(&world, false);
    renewal_world_pass(&world, SECOND);
    field_is("a", "longer", "10");
}

/* ---- one at a time */

BOTH(R_17_one_round_at_a_time_and_beats_keep_their_rhythm)
{
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    enroll("a", ONE_KEY);
    renewal_world_hold(&world, true);
    renewal_world_pass(&world, 55 * SECOND);
    assert_int_equal(world.job_count, 1);
    assert_int_equal(world.most_jobs, 1);
    field_is("a", "skipped", "4");
    assert_int_equal(renewal_stats(&world).skipped, 4);
    renewal_world_hold(&world, false);
    assert_int_equal(world.given, 2);
    renewal_world_pass(&world, 4 * SECOND);
    assert_int_equal(world.given, 2);
    renewal_world_pass(&world, SECOND + 100);
    assert_int_equal(world.given, 3);
}

BOTH(R_14_what_is_sent_late_in_a_round_never_outlives_the_strategy)
{
    renewal_set_many(&world, "k", 9, 5 * SECOND);
    renewal_world_hold(&world, true);
    enroll("a",
           "{\"any\":[{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\",\"k5\",\"k6\",\"k7\",\"k8\"]}],"
           "\"every\":\"4s\",\"strategy\":{\"type\":\"until\",\"at\":\"2024-01-01T00:00:20Z\","
           "\"ttl\":\"15s\"}}");
    assert_int_equal(world.last_ttl_ms, 15 * SECOND);
    renewal_world_pass(&world, 12 * SECOND);
    assert_true(renewal_world_let(&world, 1));
    assert_int_equal(world.given, 3);
    assert_int_equal(world.last_ttl_ms, 8 * SECOND);
    renewal_world_pass(&world, 8 * SECOND); /* it is over */
    field_is("a", "status", "COMPLETED");
    assert_true(renewal_world_let(&world, 2));
    assert_int_equal(world.given, 3);
    assert_int_equal(renewals_under_way(world.renewals), 0);
}

/* ---- while */

BOTH(R_02_while_is_tested_first_and_ends_it)
{
    renewal_set_many(&world, "k", 2, 900 * SECOND);
    renewal_set(&world, "flag", "on", -1);
    enroll("e",
           "{\"keys\":[\"k0\"],\"every\":\"10s\",\"strategy\":{\"type\":\"while\",\"key\":\"flag\","
           "\"exists\":true}}");
    enroll("n",
           "{\"keys\":[\"k0\"],\"every\":\"10s\",\"strategy\":{\"type\":\"while\",\"key\":\"stop\","
           "\"exists\":false}}");
    enroll("v",
           "{\"keys\":[\"k0\"],\"every\":\"10s\",\"strategy\":{\"type\":\"while\",\"key\":\"flag\","
           "\"equals\":\"on\"}}");
    assert_int_equal(world.given_of[KEY_TEST], 3);
    assert_int_equal(world.keys, 3);
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(world.keys, 6);
    renewal_set(&world, "flag", "off", -1);
    renewal_world_pass(&world, 10 * SECOND);
    field_is("v", "status", "COMPLETED");
    field_is("e", "status", "ACTIVE");
    assert_int_equal(world.keys, 8);
    mock_client_drop(world.mock, bytes_of("flag"));
    renewal_set(&world, "stop", "", -1);
    renewal_world_pass(&world, 10 * SECOND);
    field_is("e", "status", "COMPLETED");
    field_is("n", "status", "COMPLETED");
    assert_int_equal(world.keys, 8);
    renewal_world_told(&world, "");
}

BOTH(R_02_a_test_that_fails_is_a_failure_and_no_end)
{
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    mock_client_mood(world.mock, MOCK_DOWN);
    enroll(
        "a",
        "{\"keys\":[\"k0\"],\"every\":\"10s\",\"strategy\":{\"type\":\"while\",\"exists\":true}}");
    field_is("a", "status", "ACTIVE");
    field_is("a", "failures", "1");
    assert_int_equal(world.keys, 0);
    mock_client_mood(world.mock, MOCK_WELL);
    renewal_world_pass(&world, SECOND);
    field_is("a", "failures", "0");
}

/* ---- health */

BOTH(R_18_health_looks_at_a_recent_window)
{
    renewal_set_many(&world, "k", 3, 9000 * SECOND);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP); /* no samples */
    enroll("a", ONE_KEY);
    enroll("b", "{\"keys\":[\"k1\"],\"every\":\"10s\",\"max_retries\":1000}");
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
    mock_client_drop(world.mock, bytes_of("k1"));
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_WARNING);
    assert_int_equal(renewal_stats(&world).unhealthy, 1);
    renewal_world_pass(&world, 10 * MINUTE);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_WARNING);
    assert_int_equal(renewal_stats(&world).dead, 1);
    assert_int_equal(renewal_stats(&world).sampled, 2);
    renewal_set(&world, "k1", "v", 9000 * SECOND); /* what was long ago does not count */
    renewal_world_pass(&world, 100 * SECOND + 100);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
    mock_client_mood(world.mock, MOCK_DOWN);
    renewal_world_pass(&world, 31 * SECOND);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_DOWN);
    assert_int_equal(renewal_ask(&world, RENEWAL_PAUSE, "a"), OUTCOME_OK);
    assert_int_equal(renewal_ask(&world, RENEWAL_CANCEL, "a"), OUTCOME_OK);
    assert_int_equal(renewal_ask(&world, RENEWAL_PAUSE, "b"), OUTCOME_OK);
    struct renewals_stats stats = renewal_stats(&world); /* metrics go with their renewal */
    assert_int_equal(stats.sampled + stats.unhealthy + stats.dead, 0);
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
}

static void count_one(void *arg, struct bytes id, unsigned good_percent, const char *why)
{
    assert_true(bytes_are(id, "b") && good_percent == 0);
    assert_string_equal(why, "gone: missing");
    ++*(int *)arg;
}

BOTH(R_08_those_that_are_not_well_can_be_listed)
{
    int count = 0;
    renewal_set_many(&world, "k", 1, 900 * SECOND);
    enroll("a", ONE_KEY);
    enroll("b", "{\"keys\":[\"gone\"],\"every\":\"10s\"}");
    renewals_each_unhealthy(world.renewals, 10, count_one, &count);
    assert_int_equal(count, 1);
    renewals_each_unhealthy(world.renewals, 0, count_one, &count);
    assert_int_equal(count, 1);
}
