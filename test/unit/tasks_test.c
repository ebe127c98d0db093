/* SPDX-License-Identifier: MIT */
/* The promises of the task service, between two steps of a disk. How it all looks from outside
 * is in test/process. */
#include "support/tasks_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000, HOUR = 3600 * 1000 };

static struct tasks_world world;

static void make(const char *id, const char *json)
{
    assert_int_equal(tasks_world_ask(&world, TASKS_CREATE, id, json), OUTCOME_MADE);
}

static struct leased take(const char *id)
{
    struct leased leased = tasks_world_lease(&world);
    assert_int_equal(leased.count, 1);
    assert_string_equal(leased.task_id, id);
    return leased;
}

static void none_ready(void)
{
    assert_int_equal(tasks_world_lease(&world).count, 0);
}

static enum outcome ack(const struct leased *leased)
{
    return tasks_world_ask(&world, TASKS_ACK, leased->run, NULL);
}

static enum outcome nack(const struct leased *leased)
{
    return tasks_world_ask(&world, TASKS_NACK, leased->run, NULL);
}

static void status_is(const char *id, const char *status)
{
    assert_string_equal(tasks_world_status(&world, id), status);
}

#define RETRY_AFTER_1S "\"retry\":{\"max\":2,\"base\":\"1s\",\"factor\":1,\"jitter\":0}"

/* ---- durable before visible */

TEST(a_task_is_not_due_before_it_is_durable)
{
    struct asked asked;
    tasks_world_start(&world);
    asked_init(&asked, TASKS_CREATE, "a", "{}");
    asked_begin(&world, &asked);
    tasks_world_turn(&world);
    struct leased leased;
    leased_begin(&world, &leased, 1, 0);
    assert_true(leased.done);
    assert_int_equal(leased.count, 0);
    assert_false(asked.done);
    tasks_world_settle(&world);
    assert_true(asked.done);
    assert_int_equal(take("a").attempt, 1);
    tasks_world_release(&world);
}

TEST(an_ack_is_answered_and_seen_only_when_it_is_durable)
{
    struct asked asked;
    tasks_world_start(&world);
    make("a", "{}");
    struct leased run = take("a");
    asked_init(&asked, TASKS_ACK, run.run, NULL);
    asked_begin(&world, &asked);
    tasks_world_turn(&world);
    assert_false(asked.done);
    status_is("a", "running");
    assert_int_equal(world.counts[TASKS_EXECUTED], 0);
    sim_crash(&world.sim);
    tasks_world_crash(&world);
    buffer_release(&asked.call.reply.answer);
    tasks_world_again(&world);
    status_is("a", "pending");
    assert_int_equal(ack(&run), OUTCOME_LOST);
    run = take("a");
    assert_int_equal(ack(&run), OUTCOME_OK);
    status_is("a", "completed");
    tasks_world_release(&world);
}

static void count_ids(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)outcome;
    (void)rev;
    const char *end = json.at + json.size;
    for (const char *at = json.at; (at = memmem(at, (size_t)(end - at), "\"id\":", 5)) != NULL;
         at++)
        ++*(int *)arg;
}

static int count_completed(void)
{
    int count = 0;
    struct tasks_filter filter = {.status = bytes_of("completed"), .limit = 10};
    tasks_list(world.tasks, &filter, count_ids, &count);
    return count;
}

/* A GET by its id would find the one that lives; a list must not show both. */
TEST(a_task_that_lives_again_is_not_listed_among_those_that_ended)
{
    tasks_world_start(&world);
    make("a", "{}");
    struct leased run = take("a");
    assert_int_equal(ack(&run), OUTCOME_OK);
    assert_non_null(strstr(tasks_world_task(&world, "a"), "\"executed\":1,"));
    assert_int_equal(count_completed(), 1);
    make("a", "{}");
    status_is("a", "pending");
    assert_int_equal(count_completed(), 0);
    run = take("a");
    assert_int_equal(ack(&run), OUTCOME_OK);
    assert_int_equal(count_completed(), 1);
    tasks_world_release(&world);
}

/* Law 8: an answer has a limit; what is past it is another answer's, and not lost till its lease
 * ends. */
TEST(a_lease_hands_out_what_fits_into_its_answer)
{
    enum { TASKS = 8, PAYLOAD = 1500 };
    char json[PAYLOAD + 64];
    char id[2] = "a";
    tasks_world_start(&world);
    int at = snprintf(json, sizeof json, "{\"payload\":\"");
    memset(json + at, 'p', PAYLOAD);
    (void)snprintf(json + at + PAYLOAD, sizeof json - (size_t)at - PAYLOAD, "\"}");
    for (int i = 0; i < TASKS; i++, id[0]++)
        make(id, json);
    int seen = 0;
    for (int i = 0; i < TASKS && seen < TASKS; i++) {
        struct leased leased;
        leased_begin(&world, &leased, TASKS, 0);
        tasks_world_settle(&world);
        assert_true(leased.done);
        assert_int_equal(leased.lease.outcome, OUTCOME_OK);
        assert_in_range(leased.count, 1, ASKED_TEXT_MAX / PAYLOAD);
        seen += (int)leased.count;
    }
    assert_int_equal(seen, TASKS);
    none_ready();
    tasks_world_release(&world);
}

TEST(an_ack_that_could_not_be_written_can_be_said_again)
{
    struct asked asked;
    tasks_world_start(&world);
    make("a", "{}");
    struct leased run = take("a");
    asked_init(&asked, TASKS_ACK, run.run, NULL);
    asked_begin(&world, &asked);
    tasks_world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    assert_true(asked.done);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_UNAVAILABLE);
    tasks_world_settle(&world);
    status_is("a", "running");
    assert_int_equal(tasks_world_ask(&world, TASKS_EXTEND, run.run, NULL), OUTCOME_OK);
    assert_int_equal(ack(&run), OUTCOME_OK);
    assert_int_equal(world.counts[TASKS_EXECUTED], 1);
    status_is("a", "completed");
    tasks_world_release(&world);
}

TEST(a_further_attempt_is_given_out_only_when_it_is_durable)
{
    tasks_world_start(&world);
    make("a", "{" RETRY_AFTER_1S "}");
    struct leased run = take("a");
    assert_int_equal(nack(&run), OUTCOME_OK);
    tasks_world_pass(&world, SECOND);
    leased_begin(&world, &run, 1, 0);
    tasks_world_turn(&world);
    assert_false(run.done);
    tasks_world_settle(&world);
    assert_true(run.done);
    assert_int_equal(run.attempt, 2);
    tasks_world_release(&world);
}

TEST(a_cancel_that_could_not_be_written_leaves_the_task_in_its_queue)
{
    struct asked asked;
    tasks_world_start(&world);
    make("a", "{}");
    asked_init(&asked, TASKS_DELETE, "a", NULL);
    asked_begin(&world, &asked);
    tasks_world_turn(&world);
    struct leased none;
    leased_begin(&world, &none, 1, 0);
    assert_int_equal(none.count, 0); /* nobody gets what may be cancelled */
    struct tasks_stats stats;
    tasks_describe(world.tasks, &stats);
    assert_int_equal(stats.finished, 0); /* and nobody is told that it was */
    assert_int_equal(world.counts[TASKS_CANCELLED], 0);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_UNAVAILABLE);
    tasks_world_settle(&world);
    assert_int_equal(take("a").attempt, 1);
    tasks_world_release(&world);
}

/* ---- attempts and fences (W-06, W-23) */

TEST(an_old_fence_is_refused)
{
    tasks_world_start(&world);
    make("a", "{" RETRY_AFTER_1S "}");
    struct leased old = take("a");
    tasks_world_pass(&world, 30 * SECOND); /* its lease ends */
    assert_int_equal(ack(&old), OUTCOME_LOST);
    tasks_world_pass(&world, SECOND);
    struct leased new = take("a");
    assert_true(new.fence > old.fence);
    assert_int_equal(ack(&old), OUTCOME_LOST);
    assert_int_equal(nack(&old), OUTCOME_LOST);
    assert_int_equal(tasks_world_ask(&world, TASKS_EXTEND, old.run, NULL), OUTCOME_LOST);
    status_is("a", "running");
    assert_int_equal(ack(&new), OUTCOME_OK);
    assert_int_equal(ack(&new), OUTCOME_OK); /* twice is no harm */
    assert_int_equal(world.counts[TASKS_EXECUTED], 1);
    tasks_world_release(&world);
}

TEST(attempts_run_out_also_when_each_kills_the_server)
{
    tasks_world_start(&world);
    make("a", "{" RETRY_AFTER_1S "}");
    for (uint64_t attempt = 1; attempt <= 3; attempt++) {
        struct leased run = take("a");
        assert_int_equal(run.attempt, attempt);
        if (attempt == 1) {
            assert_int_equal(nack(&run), OUTCOME_OK);
        } else {
            tasks_world_crash(&world);
            tasks_world_again(&world);
            assert_int_equal(ack(&run), OUTCOME_LOST);
        }
        none_ready();
        tasks_world_pass(&world, SECOND);
    }
    none_ready();
    status_is("a", "failed");
    tasks_world_release(&world);
}

static enum outcome make_again(const char *id)
{
    return tasks_world_ask(&world, TASKS_CREATE, id, "{\"delay\":\"1h\"}");
}

/* The last run of a schedule is taken by a worker, who is about to fail for good. */
static struct leased last_run_of(const char *id)
{
    make(id, "{\"every\":\"1s\",\"repeat\":1,\"retry\":{\"max\":0}}");
    tasks_world_pass(&world, SECOND);
    return take(id);
}

/* W-22: a duplicate id is a conflict, also when only an incident is left of it. */
TEST(the_id_of_an_ended_schedule_is_taken_while_an_incident_of_it_is_open)
{
    tasks_world_start(&world);
    struct leased run = last_run_of("a");
    struct asked failing;
    struct asked making;
    asked_init(&failing, TASKS_NACK, run.run, NULL);
    asked_init(&making, TASKS_CREATE, "a", "{}");
    asked_begin(&world, &failing);
    asked_begin(&world, &making); /* before the other is durable */
    tasks_world_settle(&world);
    assert_true(failing.done && making.done);
    assert_int_equal(failing.call.reply.outcome, OUTCOME_OK);
    assert_int_equal(making.call.reply.outcome, OUTCOME_CONFLICTING);
    tasks_world_crash(&world);
    tasks_world_again(&world);
    assert_int_equal(make_again("a"), OUTCOME_CONFLICTING);
    assert_int_equal(make_again("b"), OUTCOME_MADE);
    assert_int_equal(tasks_world_ask(&world, TASKS_FORGET, "a", NULL), OUTCOME_OK);
    assert_int_equal(make_again("a"), OUTCOME_MADE);
    tasks_world_release(&world);
}

TEST(a_timeout_bounds_an_attempt_over_its_extends)
{
    tasks_world_start(&world);
    make("a", "{\"timeout\":\"1m\"}");
    struct leased run = take("a");
    tasks_world_pass(&world, 20 * SECOND);
    assert_int_equal(tasks_world_ask(&world, TASKS_EXTEND, run.run, NULL), OUTCOME_OK);
    tasks_world_pass(&world, 25 * SECOND);
    assert_int_equal(tasks_world_ask(&world, TASKS_EXTEND, run.run, NULL), OUTCOME_OK);
    tasks_world_pass(&world, 15 * SECOND - 1);
    status_is("a", "running");
    tasks_world_pass(&world, 1);
    status_is("a", "pending");
    assert_int_equal(ack(&run), OUTCOME_LOST);
    tasks_world_release(&world);
}

TEST(claims_stay_good_over_an_orderly_stop_and_only_that)
{
    tasks_world_start(&world);
    make("a", "{}");
    make("b", "{}");
    struct leased kept = take("a");
    tasks_world_stop(&world);
    status_is("a", "running");
    struct leased lost = take("b");
    assert_int_equal(ack(&kept), OUTCOME_OK);
    tasks_world_crash(&world);
    tasks_world_again(&world);
    assert_int_equal(ack(&lost), OUTCOME_LOST);
    assert_int_equal(take("b").attempt, 1);
    tasks_world_release(&world);
}

/* ---- replaced, cancelled (W-21) */

TEST(a_run_of_a_replaced_task_changes_nothing)
{
    tasks_world_start(&world);
    make("a", "{}");
    struct leased old = take("a");
    assert_int_equal(tasks_world_ask(&world, TASKS_PUT, "a", "{\"delay\":\"1h\"}"), OUTCOME_OK);
    struct asked asked;
    asked_init(&asked, TASKS_ACK, old.run, NULL);
    asked_begin(&world, &asked);
    tasks_world_settle(&world);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_OK);
    assert_non_null(strstr(asked.text, "\"superseded\":true"));
    status_is("a", "pending");
    none_ready();
    tasks_world_pass(&world, HOUR);
    assert_int_equal(take("a").attempt, 1);
    tasks_world_release(&world);
}

/* Two are taken for one lease call: the claim of the first is still to be written as the second
 * is replaced and the client leaves. */
TEST(what_goes_back_unclaimed_goes_back_only_as_it_was)
{
    struct leased leased;
    struct asked asked;
    tasks_world_start(&world);
    make("b", "{" RETRY_AFTER_1S "}");
    leased = take("b");
    assert_int_equal(nack(&leased), OUTCOME_OK);
    tasks_world_pass(&world, SECOND);
    make("a", "{}");
    leased_begin(&world, &leased, 2, 0);
    assert_false(leased.done);
    asked_init(&asked, TASKS_PUT, "a", "{\"delay\":\"1h\"}");
    asked_begin(&world, &asked);
    assert_false(tasks_lease_gone(world.tasks, &leased.lease));
    tasks_world_settle(&world);
    assert_true(asked.done && leased.done);
    assert_int_equal(asked.call.reply.outcome, OUTCOME_OK);
    none_ready(); /* b's attempt was written: it has failed */
    status_is("b", "pending");
    tasks_world_pass(&world, SECOND);
    assert_int_equal(take("b").attempt, 3);
    none_ready();
    tasks_world_pass(&world, HOUR - SECOND);
    assert_int_equal(take("a").attempt, 1);
    tasks_world_release(&world);
}

TEST(what_was_to_be_cancelled_is_not_retried_even_after_a_crash)
{
    tasks_world_start(&world);
    make("a", "{" RETRY_AFTER_1S "}");
    make("b", "{" RETRY_AFTER_1S "}");
    struct leased a = take("a");
    struct leased b = take("b");
    assert_int_equal(tasks_world_ask(&world, TASKS_DELETE, "a", NULL), OUTCOME_REQUESTED);
    assert_int_equal(tasks_world_ask(&world, TASKS_DELETE, "b", NULL), OUTCOME_REQUESTED);
    assert_int_equal(tasks_world_ask(&world, TASKS_EXTEND, a.run, NULL), OUTCOME_TO_CANCEL);
    assert_int_equal(nack(&a), OUTCOME_OK);
    status_is("a", "cancelled");
    tasks_world_crash(&world);
    tasks_world_again(&world);
    assert_int_equal(ack(&b), OUTCOME_LOST);
    tasks_world_pass(&world, HOUR);
    none_ready();
    status_is("b", "cancelled");
    tasks_world_release(&world);
}

/* ---- schedules */

TEST(overlap_skip_has_one_run_at_a_time)
{
    tasks_world_start(&world);
    make("a", "{\"every\":\"10s\"}");
    tasks_world_pass(&world, 10 * SECOND);
    struct leased run = take("a");
    tasks_world_pass(&world, 10 * SECOND);
    none_ready();
    assert_int_equal(world.counts[TASKS_SKIPPED_OVERLAP], 1);
    assert_int_equal(ack(&run), OUTCOME_OK);
    tasks_world_pass(&world, 10 * SECOND);
    (void)take("a");
    tasks_world_release(&world);
}

TEST(repeat_counts_neither_retries_nor_fires_by_hand)
{
    tasks_world_start(&world);
    make("a", "{\"every\":\"1h\",\"repeat\":2," RETRY_AFTER_1S "}");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tasks_world_ask(&world, TASKS_FIRE, "a", NULL), OUTCOME_OK);
        struct leased by_hand = take("a");
        assert_int_equal(ack(&by_hand), OUTCOME_OK);
    }
    for (int i = 0; i < 2; i++) {
        tasks_world_pass(&world, HOUR - i * SECOND);
        struct leased run = take("a");
        assert_int_equal(nack(&run), OUTCOME_OK);
        tasks_world_pass(&world, SECOND);
        run = take("a");
        assert_int_equal(run.attempt, 2);
        assert_int_equal(ack(&run), OUTCOME_OK);
    }
    status_is("a", "completed");
    assert_non_null(strstr(tasks_world_task(&world, "a"), "\"executed\":5,"));
    tasks_world_pass(&world, 5 * HOUR);
    none_ready();
    tasks_world_release(&world);
}

/* ---- queues, keys */

TEST(a_queue_gives_out_by_due_time_then_by_acceptance)
{
    tasks_world_start(&world);
    make("c", "{\"delay\":\"3s\"}");
    make("b1", "{\"delay\":\"2s\"}");
    make("b2", "{\"delay\":\"2s\"}");
    make("a", "{\"delay\":\"1s\"}");
    tasks_world_pass(&world, HOUR);
    (void)take("a");
    (void)take("b1");
    (void)take("b2");
    (void)take("c");
    tasks_world_release(&world);
}

TEST(a_lease_without_wait_does_not_wait_behind_others)
{
    struct leased first;
    struct leased second;
    tasks_world_start(&world);
    leased_begin(&world, &first, 1, HOUR);
    tasks_world_settle(&world);
    leased_begin(&world, &second, 1, 0);
    assert_true(second.done);
    make("a", "{}");
    assert_true(first.done);
    assert_int_equal(first.count, 1);
    tasks_world_release(&world);
}

static enum outcome create_with_key(const char *id, uint64_t body)
{
    struct asked asked;
    asked_init(&asked, TASKS_CREATE, id, "{\"delay\":\"1h\"}");
    asked.call.idem = (struct idem_ask){bytes_of("ci\nkey"), body};
    asked_begin(&world, &asked);
    tasks_world_settle(&world);
    assert_true(asked.done);
    return asked.call.reply.outcome;
}

TEST(a_key_means_one_body_also_after_a_crash)
{
    tasks_world_start(&world);
    assert_int_equal(create_with_key("a", 1), OUTCOME_MADE);
    assert_int_equal(create_with_key("a", 1), OUTCOME_MADE);
    assert_int_equal(create_with_key("b", 2), OUTCOME_CONFLICTING);
    tasks_world_crash(&world);
    tasks_world_again(&world);
    assert_int_equal(create_with_key("a", 1), OUTCOME_MADE);
    assert_int_equal(create_with_key("b", 2), OUTCOME_CONFLICTING);
    status_is("b", "");
    assert_int_equal(world.counts[TASKS_ADDED], 1);
    tasks_world_pass(&world, 24 * HOUR);
    assert_int_equal(create_with_key("b", 2), OUTCOME_MADE);
    tasks_world_release(&world);
}

TEST(a_refusal_by_what_was_found_is_given_again_also_after_a_crash)
{
    tasks_world_start(&world);
    make("a", "{\"delay\":\"1h\"}");
    assert_int_equal(create_with_key("a", 1), OUTCOME_CONFLICTING);
    assert_int_equal(tasks_world_ask(&world, TASKS_DELETE, "a", NULL), OUTCOME_OK);
    assert_int_equal(create_with_key("a", 1), OUTCOME_CONFLICTING);
    tasks_world_crash(&world);
    tasks_world_again(&world);
    assert_int_equal(create_with_key("a", 1), OUTCOME_CONFLICTING);
    status_is("a", "");
    tasks_world_pass(&world, 24 * HOUR);
    assert_int_equal(create_with_key("a", 1), OUTCOME_MADE);
    tasks_world_release(&world);
}

TEST(a_refusal_for_want_of_room_is_not_kept)
{
    tasks_world_start(&world);
    world.limits.tasks = 1;
    tasks_world_crash(&world);
    tasks_world_again(&world);
    make("a", "{\"delay\":\"1h\"}");
    assert_int_equal(create_with_key("b", 1), OUTCOME_TOO_MANY);
    assert_int_equal(tasks_world_ask(&world, TASKS_DELETE, "a", NULL), OUTCOME_OK);
    assert_int_equal(create_with_key("b", 1), OUTCOME_MADE);
    tasks_world_release(&world);
}

/* ---- what a run is told of its time */

static int64_t number_of(const struct leased *leased, const char *key)
{
    const char *at = strstr(leased->text, key);
    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

/* Law 2: a shared store's time is known with an error that moves; so is a wall clock that is
 * steered. */
TEST(a_run_is_not_told_that_it_fired_before_it_was_due)
{
    for (int64_t back_us = 100; back_us <= 1000; back_us += 300) {
        tasks_world_start(&world);
        make("a", "{\"delay\":\"20ms\"}");
        world.clock.wall.ns -= back_us * 1000;
        tasks_world_pass(&world, 20);
        struct leased run = take("a");
        int64_t due_ms = number_of(&run, "\"due_ms\":");
        assert_int_equal(number_of(&run, "\"fired_ms\":"), due_ms);
        assert_int_equal(nack(&run), OUTCOME_OK);
        tasks_world_release(&world);
    }
}
