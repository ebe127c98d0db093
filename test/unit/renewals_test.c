/* SPDX-License-Identifier: MIT */
/* Renewals from outside: what they are asked, what they answer, and what a crash leaves. Every test
 * runs with both engines. */
#include "support/renewal_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static struct renewal_world world;

#define BOTH(name) RENEWAL_BOTH(name, &world, 1000)

static void field_is(const char *id, const char *field, const char *wanted)
{
    assert_string_equal(renewal_field(&world, id, field), wanted);
}

static void ask(enum renewal_verb verb, const char *id, enum outcome wanted)
{
    assert_int_equal(renewal_ask(&world, verb, id), wanted);
}

static void enroll(const char *id, const char *spec)
{
    assert_int_equal(renewal_register(&world, id, spec), OUTCOME_MADE);
}

static void crash(int64_t down_ms)
{
    renewal_world_crash(&world);
    clock_manual_advance(&world.clock, down_ms * INT64_C(1000000));
    renewal_world_again(&world);
    renewal_world_settle(&world);
}

#define TEN_SECONDS                                                                                \
    "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"fixed\",\"ttl\":\"30s\"}}"

/* ---- a life */

BOTH(R_13_the_first_renewal_is_at_once_and_then_every_so_often)
{
    renewal_set(&world, "k", "v", 5 * SECOND);
    enroll("a", TEN_SECONDS);
    assert_int_equal(world.keys, 1);
    assert_int_equal(world.last_ttl_ms, 30 * SECOND);
    assert_int_equal(renewal_ttl(&world, "k"), 30 * SECOND);
    renewal_world_pass(&world, 10 * SECOND - 1);
    assert_int_equal(world.keys, 1);
    renewal_world_pass(&world, 101);
    assert_int_equal(world.keys, 2);
    for (int i = 0; i < 100; i++) {
        renewal_world_pass(&world, SECOND);
        assert_true(renewal_ttl(&world, "k") > 0);
    }
    assert_int_equal(world.keys, 12);
    field_is("a", "status", "ACTIVE");
    field_is("a", "total", "12");
    field_is("a", "success", "12");
    field_is("a", "failure", "0");
    field_is("a", "task_failures", "0");
    field_is("a", "success_rate", "100");
    assert_int_equal(world.rounded, 12);
    assert_int_equal(world.given_of[KEY_SCAN] + world.given_of[KEY_TEST], 0);
    assert_int_equal(world.sim.puts, 1); /* a round is not written */
    renewal_world_told(&world, "");
}

BOTH(R_09_beats_of_the_wheel_are_on_its_ticks_and_so_not_late)
{
    int64_t tick = world.beats == BEATS_TIME_WHEEL ? world.tick_ms : 1;
    renewal_set(&world, "k", "v", -1);
    renewal_world_pass(&world, 37); /* between two ticks */
    enroll("a", TEN_SECONDS);
    int64_t next = strtoll(renewal_field(&world, "a", "next_ms"), NULL, 10);
    int64_t now = engine_wall_ms(world.engine);
    assert_int_equal((next - now + engine_now_ms(world.engine)) % tick, 0);
    assert_in_range(next - now, 10 * SECOND - tick + 1, 10 * SECOND);
    renewal_world_pass(&world, next - now - 1);
    assert_int_equal(world.keys, 1);
    renewal_world_pass(&world, 1);
    assert_int_equal(world.keys, 2);
}

BOTH(R_06_beats_do_not_drift)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    renewal_world_pass(&world, 1000 * 10 * SECOND);
    assert_in_range(world.keys, 1000, 1001); /* the last may be late by a tick */
    renewal_world_pass(&world, 100);
    assert_int_equal(world.keys, 1001);
    assert_int_equal(renewal_stats(&world).skipped, 0);
}

BOTH(R_01_what_is_answered)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\"],\"name\":\"mine\"}");
    assert_non_null(
        strstr(renewal_said.text, "\"id\":\"a\",\"status\":\"ACTIVE\",\"name\":\"mine\""));
    assert_non_null(strstr(renewal_said.text, "\"next_ms\":1704067200000"));
    assert_true(renewal_said.call.reply.rev > 0);
    field_is("a", "persistent", "false");
    field_is("a", "next_ms", "1704067230000");
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    assert_non_null(strstr(renewal_said.text, "\"status\":\"PAUSED\""));
    field_is("a", "next_ms", "null");
    ask(RENEWAL_RENEW, "a", OUTCOME_CONFLICTING);
    ask(RENEWAL_RESUME, "a", OUTCOME_OK);
    ask(RENEWAL_RENEW, "a", OUTCOME_OK);
    assert_non_null(
        strstr(renewal_said.text, "\"last\":{\"renewed\":0,\"longer\":0,\"persistent\":1"));
    ask(RENEWAL_CANCEL, "a", OUTCOME_OK);
    assert_non_null(strstr(renewal_said.text, "\"status\":\"CANCELLED\""));
    field_is("a", "ended_ms", "1704067200000");
    static const enum renewal_verb verbs[] = {RENEWAL_CANCEL, RENEWAL_PAUSE, RENEWAL_RESUME,
                                              RENEWAL_RENEW};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        ask(verbs[i], "a", OUTCOME_CONFLICTING);
        assert_non_null(strstr(renewal_said.call.reply.why.text, "CANCELLED"));
        ask(verbs[i], "nobody", OUTCOME_MISSING);
    }
    renewal_world_pass(&world, HOUR - 1);
    field_is("a", "status", "CANCELLED");
    renewal_world_pass(&world, 1 + SECOND);
    field_is("a", "status", ""); /* it is forgotten, and its id free */
    enroll("a", TEN_SECONDS);
}

static char page[20000];

static void listed(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)rev;
    assert_int_equal(outcome, OUTCOME_OK);
    (void)snprintf(page, sizeof page, "%.*s", (int)json.size, json.at);
    *(bool *)arg = true;
}

BOTH(R_01_a_list_has_all_of_them_with_their_metrics)
{
    bool done = false;
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    enroll("b", TEN_SECONDS);
    ask(RENEWAL_PAUSE, "b", OUTCOME_OK);
    enroll("c", TEN_SECONDS);
    ask(RENEWAL_CANCEL, "c", OUTCOME_OK);
    renewals_list(world.renewals, (enum renewal_state)0, 0, 10, listed, &done);
    renewal_world_settle(&world);
    assert_true(done);
    const char *a = strstr(page, "\"id\":\"a\",\"status\":\"ACTIVE\"");
    assert_non_null(a);
    assert_non_null(strstr(a, "\"metrics\":{\"total\":1,"));
    assert_non_null(strstr(page, "\"id\":\"b\",\"status\":\"PAUSED\""));
    assert_non_null(strstr(page, "\"id\":\"c\",\"status\":\"CANCELLED\""));
    assert_non_null(strstr(page, "\"next\":null"));
}

BOTH(R_10_pause_stops_all_and_resume_makes_one_chain)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    renewal_world_pass(&world, 25 * SECOND);
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    uint64_t before = world.given;
    renewal_world_pass(&world, HOUR);
    assert_int_equal(world.given, before);
    for (int i = 0; i < 3; i++)
        ask(RENEWAL_RESUME, "a", OUTCOME_OK); /* twice is once */
    assert_int_equal(world.given, before + 1);
    for (int i = 0; i < 5; i++) {
        ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
        ask(RENEWAL_RESUME, "a", OUTCOME_OK);
    }
    assert_int_equal(world.given, before + 6);
    renewal_world_pass(&world, 100 * SECOND + 100);
    assert_int_equal(world.given, before + 16);
}

BOTH(renew_is_one_more_round_and_leaves_the_rhythm)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    renewal_world_pass(&world, 5 * SECOND);
    ask(RENEWAL_RENEW, "a", OUTCOME_OK);
    assert_int_equal(world.keys, 2);
    renewal_world_pass(&world, 5 * SECOND - 1);
    assert_int_equal(world.keys, 2);
    renewal_world_pass(&world, 101);
    assert_int_equal(world.keys, 3);
}

static char events[1000];

static void note_event(void *arg, const struct store_event *event)
{
    (void)arg;
    size_t size = strlen(events);
    (void)snprintf(events + size, sizeof events - size, "%.*s %.*s\n", (int)event->type.size,
                   event->type.at, (int)event->doc.size, event->doc.at);
}

BOTH(every_change_of_state_is_an_event)
{
    events[0] = '\0';
    engine_on_event(world.engine, note_event, NULL);
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\"],\"name\":\"mine\",\"every\":\"10s\"}");
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    ask(RENEWAL_RESUME, "a", OUTCOME_OK);
    ask(RENEWAL_CANCEL, "a", OUTCOME_OK);
    enroll("b", "{\"keys\":[\"k\"],\"owner\":\"me\"}");
    enroll("c", "{\"keys\":[\"k\"],\"strategy\":{\"type\":\"until\",\"at\":5}}");
    assert_string_equal(events, "registered {\"id\":\"a\",\"name\":\"mine\"}\n"
                                "paused {\"id\":\"a\",\"name\":\"mine\"}\n"
                                "resumed {\"id\":\"a\",\"name\":\"mine\"}\n"
                                "cancelled {\"id\":\"a\",\"name\":\"mine\"}\n"
                                "registered {\"id\":\"b\"}\n"
                                "lost {\"id\":\"b\",\"why\":\"k: foreign\"}\n"
                                "registered {\"id\":\"c\"}\n"
                                "completed {\"id\":\"c\"}\n");
}

/* ---- conditions, idempotency, limits */

BOTH(if_match_and_if_none_match_are_looked_at)
{
    static struct renewal_asked asked;
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    uint64_t rev = renewal_said.call.reply.rev;
    asked = (struct renewal_asked){.call = {.conditions = {.if_match = true, .rev = rev + 1}}};
    renewal_begin(&world, &asked, RENEWAL_PAUSE, "a", NULL);
    renewal_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_UNMATCHED);
    field_is("a", "status", "ACTIVE");
    asked = (struct renewal_asked){.call = {.conditions = {.if_match = true, .rev = rev}}};
    renewal_begin(&world, &asked, RENEWAL_PAUSE, "a", NULL);
    renewal_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_OK);
    asked = (struct renewal_asked){.call = {.conditions = {.if_match = true, .rev = rev}}};
    renewal_begin(&world, &asked, RENEWAL_CANCEL, "nobody", NULL);
    renewal_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_UNMATCHED);
}

static struct renewal_asked with_key(enum renewal_verb verb, const char *id, const char *spec,
                                     uint64_t body)
{
    static struct renewal_asked asked;
    asked = (struct renewal_asked){.call = {.idem = {bytes_of("key"), body}}};
    renewal_begin(&world, &asked, verb, id, spec);
    renewal_world_settle(&world);
    assert_true(asked.done);
    return asked;
}

BOTH(an_idempotency_key_is_answered_once_and_replayed_after_a_crash)
{
    renewal_set(&world, "k", "v", -1);
    struct renewal_asked first = with_key(RENEWAL_REGISTER, "a", TEN_SECONDS, 1);
    assert_int_equal(first.call.reply.outcome, OUTCOME_MADE);
    struct renewal_asked second = with_key(RENEWAL_REGISTER, "b", TEN_SECONDS, 1);
    assert_true(second.call.reply.replayed);
    assert_string_equal(second.text, first.text);
    crash(SECOND);
    second = with_key(RENEWAL_REGISTER, "b", TEN_SECONDS, 1);
    assert_true(second.call.reply.replayed);
    assert_string_equal(second.text, first.text);
    field_is("b", "status", "");
    assert_int_equal(with_key(RENEWAL_REGISTER, "b", TEN_SECONDS, 2).call.reply.outcome,
                     OUTCOME_CONFLICTING);
    assert_int_equal(renewal_stats(&world).active, 1);
}

BOTH(a_registration_that_waits_for_the_disk_is_made_once)
{
    static struct renewal_asked asked;
    static struct renewal_asked again;
    world.limits.renewals = 2;
    renewal_world_crash(&world);
    renewal_world_again(&world);
    renewal_world_settle(&world);
    renewal_set(&world, "k", "v", -1);
    (void)with_key(RENEWAL_REGISTER, "a", TEN_SECONDS, 1);
    crash(SECOND); /* what the key says has to be read from the disk now: BUSY, and again */
    asked = (struct renewal_asked){.call = {.idem = {bytes_of("key"), 1}}};
    again = (struct renewal_asked){.call = {.idem = {bytes_of("other"), 1}}};
    renewal_begin(&world, &asked, RENEWAL_REGISTER, "b", TEN_SECONDS);
    renewal_begin(&world, &again, RENEWAL_REGISTER, "b", TEN_SECONDS);
    renewal_world_settle(&world);
    assert_true(asked.call.reply.replayed);
    assert_int_equal(again.call.reply.outcome, OUTCOME_MADE);
    assert_int_equal(renewal_register(&world, "c", TEN_SECONDS), OUTCOME_TOO_MANY);
}

BOTH(there_are_as_many_as_the_limit_says)
{
    static struct renewal_asked asked[4];
    world.limits.renewals = 3;
    renewal_world_crash(&world);
    renewal_world_again(&world);
    renewal_world_settle(&world);
    renewal_set(&world, "k", "v", -1);
    for (int i = 0; i < 4; i++) { /* all at once */
        char id[16];
        (void)snprintf(id, sizeof id, "r%d", i);
        asked[i] = (struct renewal_asked){.done = false};
        renewal_begin(&world, &asked[i], RENEWAL_REGISTER, id, TEN_SECONDS);
    }
    renewal_world_settle(&world);
    for (int i = 0; i < 3; i++)
        assert_int_equal(asked[i].call.reply.outcome, OUTCOME_MADE);
    assert_int_equal(asked[3].call.reply.outcome, OUTCOME_TOO_MANY);
    ask(RENEWAL_CANCEL, "r0", OUTCOME_OK); /* what has ended takes no room */
    enroll("r3", TEN_SECONDS);
}

BOTH(a_key_store_that_is_not_configured_is_refused)
{
    assert_int_equal(renewal_register(&world, "a", "{\"keys\":[\"k\"],\"redis\":\"other\"}"),
                     OUTCOME_INVALID);
    assert_non_null(strstr(renewal_said.call.reply.why.text, "redis"));
    field_is("a", "status", "");
}

BOTH(a_change_that_is_rolled_back_changes_nothing)
{
    static struct renewal_asked asked;
    struct elapsed_time wake;
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    for (enum renewal_verb verb = RENEWAL_CANCEL; verb <= RENEWAL_PAUSE; verb++) {
        asked = (struct renewal_asked){.done = false};
        renewal_begin(&world, &asked, verb, "a", NULL);
        while (world.sim.batch == NULL) {
            engine_turn(world.engine, &wake);
            if (world.sim.read_count > 0)
                sim_read_done(&world.sim, world.engine, 0);
        }
        assert_false(asked.done); /* durable before it is answered */
        sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
        renewal_world_settle(&world);
        assert_int_equal(asked.call.reply.outcome, OUTCOME_UNAVAILABLE);
    }
    asked = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, RENEWAL_REGISTER, "b", TEN_SECONDS);
    engine_turn(world.engine, &wake);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    renewal_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_UNAVAILABLE);
    field_is("a", "status", "ACTIVE");
    field_is("b", "status", "");
    uint64_t before = world.keys;
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(world.keys, before + 1);
}

/* ---- restarts */

BOTH(R_17_renewals_survive_a_crash_and_begin_at_once)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    enroll("p", TEN_SECONDS);
    enroll("c", TEN_SECONDS);
    ask(RENEWAL_PAUSE, "p", OUTCOME_OK);
    ask(RENEWAL_CANCEL, "c", OUTCOME_OK);
    uint64_t before = world.keys;
    crash(5 * SECOND);
    assert_int_equal(world.keys, before + 1);
    field_is("a", "status", "ACTIVE");
    field_is("p", "status", "PAUSED");
    field_is("c", "status", "CANCELLED");
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(world.keys, before + 2);
    ask(RENEWAL_RESUME, "p", OUTCOME_OK);
    assert_int_equal(world.keys, before + 3);
    struct renewals_stats stats = renewal_stats(&world);
    assert_int_equal(stats.active, 2);
    assert_int_equal(stats.paused, 0);
    assert_int_equal(stats.unread, 0);
}

BOTH(a_restart_with_a_longer_tick_takes_up_what_was_registered_before)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\"],\"every\":100,\"strategy\":{\"type\":\"fixed\",\"ttl\":5000}}");
    world.defaults.least_every_ms = 1000;
    world.tick_ms = 1000;
    crash(SECOND);
    assert_int_equal(renewal_stats(&world).unread, 0);
    field_is("a", "status", "ACTIVE");
    field_is("a", "every", "100");
    uint64_t before = world.keys;
    renewal_world_pass(&world, 10 * SECOND);
    assert_true(world.keys >= before + 9);
}

BOTH(R_20_counters_are_saved_now_and_then_and_with_changes_of_state)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    uint64_t puts = world.sim.puts;
    renewal_world_pass(&world, HOUR);
    assert_in_range(world.sim.puts - puts, 5, 7); /* every ten minutes */
    crash(SECOND);
    int total = atoi(renewal_field(&world, "a", "total"));
    assert_in_range(total, 300, 362);
    renewal_world_pass(&world, 100 * SECOND + 100);
    total = atoi(renewal_field(&world, "a", "total"));
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    crash(SECOND);
    assert_int_equal(atoi(renewal_field(&world, "a", "total")), total);
}

BOTH(R_02_steps_go_on_from_what_was_saved)
{
    renewal_set(&world, "k", "v", 5 * SECOND);
    enroll("a", "{\"keys\":[\"k\"],\"every\":\"1s\",\"strategy\":{\"type\":\"steps\",\"steps\":["
                "{\"count\":3,\"ttl\":\"5s\"},{\"count\":2,\"ttl\":\"10s\"}]}}");
    assert_int_equal(world.last_ttl_ms, 5 * SECOND);
    renewal_world_pass(&world, 2 * SECOND + 100);
    assert_int_equal(world.keys, 3);
    assert_int_equal(world.last_ttl_ms, 5 * SECOND);
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    crash(SECOND);
    ask(RENEWAL_RESUME, "a", OUTCOME_OK);
    assert_int_equal(world.keys, 4);
    assert_int_equal(world.last_ttl_ms, 10 * SECOND);
    renewal_world_pass(&world, SECOND + 100);
    assert_int_equal(world.keys, 5);
    renewal_world_pass(&world, SECOND + 100);
    assert_int_equal(world.keys, 5);
    field_is("a", "status", "COMPLETED");
    assert_int_equal(renewal_stats(&world).ended[RENEWAL_COMPLETED], 1);
    crash(SECOND);
    field_is("a", "status", "COMPLETED");
    field_is("a", "total", "5");
}

BOTH(R_01_an_id_is_taken_until_its_renewal_has_ended)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    assert_int_equal(renewal_register(&world, "a", TEN_SECONDS), OUTCOME_CONFLICTING);
    ask(RENEWAL_CANCEL, "a", OUTCOME_OK);
    assert_int_equal(renewal_register(&world, "a", TEN_SECONDS), OUTCOME_MADE);
    field_is("a", "status", "ACTIVE");
    renewal_world_pass(&world, 2 * HOUR); /* what is left of the old one does not take it along */
    field_is("a", "status", "ACTIVE");
    crash(SECOND);
    field_is("a", "status", "ACTIVE");
}

BOTH(a_renewal_whose_key_store_is_gone_says_so_and_goes_on_when_it_is_there_again)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    world.no_client = true;
    crash(SECOND);
    field_is("a", "status", "ACTIVE");
    field_is("a", "failures", "1");
    ask(RENEWAL_RENEW, "a", OUTCOME_OK);
    assert_non_null(strstr(renewal_said.text, "not in the configuration any more"));
    renewal_world_pass(&world, 400 * SECOND);
    field_is("a", "status", "ACTIVE");
    renewal_world_told(&world, "ACTIVE a: its redis is not in the configuration any more");
    world.no_client = false;
    crash(SECOND);
    field_is("a", "failures", "0");
}

/* ---- until */

#define UNTIL_A_MINUTE                                                                             \
    "{\"keys\":[\"k\"],\"every\":\"4s\",\"strategy\":{\"type\":\"until\","                         \
    "\"at\":\"2024-01-01T00:01:00Z\",\"ttl\":\"10s\"}}"

BOTH(R_14_until_gives_what_remains_and_ends_at_its_time)
{
    renewal_set(&world, "k", "v", 5 * SECOND);
    enroll("a", UNTIL_A_MINUTE);
    assert_int_equal(world.last_ttl_ms, 10 * SECOND);
    for (int i = 0; i < 59; i++) {
        renewal_world_pass(&world, SECOND);
        assert_in_range(renewal_ttl(&world, "k"), 1, 60 * SECOND - (i + 1) * SECOND);
    }
    renewal_world_pass(&world, 999);
    field_is("a", "status", "ACTIVE");
    renewal_world_pass(&world, 1);
    field_is("a", "status", "COMPLETED");
    field_is("a", "ended_ms", "1704067260000");
    assert_int_equal(renewal_ttl(&world, "k"), -2);
    uint64_t before = world.given;
    renewal_world_pass(&world, MINUTE);
    assert_int_equal(world.given, before);
    assert_int_equal(renewal_stats(&world).ended[RENEWAL_COMPLETED], 1);
    assert_true(world.least_ttl_ms >= 1);
    renewal_world_told(&world, "");
}

BOTH(R_02_until_ends_also_while_it_is_paused)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", UNTIL_A_MINUTE);
    ask(RENEWAL_PAUSE, "a", OUTCOME_OK);
    renewal_world_pass(&world, MINUTE);
    field_is("a", "status", "COMPLETED");
    assert_int_equal(renewals_health(world.renewals), RENEWALS_UP);
    struct renewals_stats stats = renewal_stats(&world);
    assert_int_equal(stats.sampled, 0);
    assert_int_equal(stats.paused, 0);
}

BOTH(R_02_until_ends_also_while_nobody_is_there)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", UNTIL_A_MINUTE);
    enroll("p", UNTIL_A_MINUTE);
    ask(RENEWAL_PAUSE, "p", OUTCOME_OK);
    uint64_t before = world.keys;
    crash(2 * MINUTE);
    field_is("a", "status", "COMPLETED");
    field_is("p", "status", "COMPLETED");
    assert_int_equal(world.keys, before);
    renewal_world_pass(&world, HOUR + SECOND);
    field_is("a", "status", "");
    enroll("a", TEN_SECONDS); /* nothing of the old one is left */
    enroll("b", TEN_SECONDS);
    ask(RENEWAL_CANCEL, "a", OUTCOME_OK);
    before = world.keys;
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(world.keys, before + 1);
}

BOTH(until_a_time_that_has_passed_is_completed_at_once)
{
    renewal_set(&world, "k", "v", -1);
    enroll("a", "{\"keys\":[\"k\"],\"strategy\":{\"type\":\"until\",\"at\":5}}");
    field_is("a", "status", "COMPLETED");
    assert_int_equal(world.given, 0);
}

/* ---- a shutdown */

BOTH(R_20_what_is_under_way_when_it_stops_is_no_failure)
{
    static struct renewal_asked asked;
    renewal_set(&world, "k", "v", -1);
    enroll("a", TEN_SECONDS);
    enroll("b", TEN_SECONDS);
    renewal_world_hold(&world, true);
    renewal_world_pass(&world, 10 * SECOND + 100);
    assert_int_equal(renewals_under_way(world.renewals), 2);
    asked = (struct renewal_asked){.done = false};
    renewal_begin(&world, &asked, RENEWAL_PAUSE, "a", NULL);
    renewal_world_settle(&world);
    assert_false(asked.done);
    renewals_stop(world.renewals);
    world.spy.close(world.spy.self, 10000);
    assert_int_equal(renewals_under_way(world.renewals), 0);
    assert_true(asked.done); /* nobody waits for ever */
    field_is("b", "failures", "0");
    crash(SECOND);
    field_is("a", "status", "PAUSED");
    field_is("b", "status", "ACTIVE");
}
