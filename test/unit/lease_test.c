/* SPDX-License-Identifier: MIT */
/* The promises of named leases, between two steps of a disk. */
#include "support/lease_world.h"

#include <string.h>

enum { SECOND = 1000, HOUR = 3600 * 1000 };

static struct lease_world world;

static void told(const char *wanted)
{
    lease_world_told(&world, wanted);
}

static struct lease_asked *acquire(const char *holder, int64_t ttl_ms, enum outcome wanted)
{
    struct lease_asked *asked = lease_acquire_begin(&world, "a", holder, ttl_ms, 0);
    lease_world_settle(&world);
    assert_true(asked->done);
    assert_int_equal(asked->call.reply.outcome, wanted);
    return asked;
}

static struct lease_asked *wait(const char *holder, int64_t wait_ms)
{
    struct lease_asked *asked = lease_acquire_begin(&world, "a", holder, 10 * SECOND, wait_ms);
    lease_world_settle(&world);
    return asked;
}

static void keep(const struct lease_asked *lease, enum outcome wanted)
{
    struct lease_asked *asked = lease_keep_begin(&world, "a", lease->holder, lease->fence, 0);
    lease_world_settle(&world);
    assert_true(asked->done);
    assert_int_equal(asked->call.reply.outcome, wanted);
}

static void release(const char *holder, uint64_t fence, enum outcome wanted)
{
    struct lease_asked *asked = lease_release_begin(&world, "a", holder, fence);
    lease_world_settle(&world);
    assert_true(asked->done);
    assert_int_equal(asked->call.reply.outcome, wanted);
}

static void is(const struct lease_asked *asked, enum outcome wanted)
{
    assert_true(asked->done);
    assert_int_equal(asked->call.reply.outcome, wanted);
}

static struct leases_stats stats(void)
{
    struct leases_stats it;
    leases_describe(world.leases, &it);
    return it;
}

/* ---- one holder */

TEST(R_30_it_ends_at_its_end_and_not_a_moment_before)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", 10 * SECOND, OUTCOME_MADE);
    lease_world_pass(&world, 10 * SECOND - 1);
    acquire("bob", SECOND, OUTCOME_CONFLICTING);
    told("acquired a ada");
    lease_world_pass(&world, 1);
    told("expired a ada");
    keep(ada, OUTCOME_LOST);
    struct lease_asked *bob = acquire("bob", SECOND, OUTCOME_MADE);
    assert_true(bob->fence > ada->fence);
    keep(ada, OUTCOME_LOST);
    lease_world_release(&world);
}

TEST(R_30_a_keepalive_makes_it_longer_and_never_shorter)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", 10 * SECOND, OUTCOME_MADE);
    lease_world_pass(&world, 9 * SECOND);
    keep(ada, OUTCOME_OK);
    lease_world_pass(&world, 9 * SECOND);
    acquire("bob", SECOND, OUTCOME_CONFLICTING);
    struct lease_asked *again = acquire("ada", HOUR, OUTCOME_OK);
    assert_int_equal(again->fence, ada->fence);
    again = acquire("ada", SECOND, OUTCOME_OK);
    assert_int_equal(lease_number(again->text, "left_ms"), HOUR);
    lease_world_pass(&world, HOUR - 1);
    acquire("bob", SECOND, OUTCOME_CONFLICTING);
    told("acquired a ada");
    lease_world_release(&world);
}

TEST(R_30_one_that_is_over_is_not_kept_alive_though_its_end_is_not_written_yet)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", SECOND, OUTCOME_MADE);
    clock_manual_advance(&world.clock, INT64_C(1000000000)); /* the wheel has not turned yet */
    keep(ada, OUTCOME_LOST);
    lease_world_settle(&world);
    told("acquired a ada\nexpired a ada");
    (void)acquire("ada", SECOND, OUTCOME_MADE);
    clock_manual_advance(&world.clock, INT64_C(1000000000));
    struct lease_asked *bob = lease_acquire_begin(&world, "a", "bob", SECOND, 0);
    lease_world_settle(&world);
    is(bob, OUTCOME_MADE);
    told("acquired a ada\nexpired a ada\nacquired a bob");
    assert_int_equal(stats().held, 1);
    lease_world_release(&world);
}

TEST(R_30_only_its_holder_releases_it_or_whoever_names_nobody)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", SECOND, OUTCOME_MADE);
    release("bob", 0, OUTCOME_LOST);
    release("ada", ada->fence + 1, OUTCOME_LOST);
    release("ada", ada->fence, OUTCOME_OK);
    release("ada", ada->fence, OUTCOME_MISSING);
    (void)acquire("ada", SECOND, OUTCOME_MADE);
    release(NULL, 0, OUTCOME_OK);
    told("acquired a ada\nreleased a ada\nacquired a ada\nreleased a ada");
    assert_int_equal(stats().held, 0);
    assert_int_equal(stats().fenced, 2);
    lease_world_release(&world);
}

TEST(R_30_an_old_fence_of_the_same_holder_keeps_nothing)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", SECOND, OUTCOME_MADE);
    release("ada", ada->fence, OUTCOME_OK);
    (void)acquire("ada", SECOND, OUTCOME_MADE);
    keep(ada, OUTCOME_LOST);
    lease_world_release(&world);
}

/* ---- the disk */

TEST(R_30_nothing_is_told_before_it_is_durable_and_a_rollback_takes_it_back)
{
    lease_world_start(&world);
    struct lease_asked *ada = lease_acquire_begin(&world, "a", "ada", SECOND, 0);
    lease_world_turn(&world);
    sim_store(&world.sim);
    assert_false(ada->done);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    lease_world_turn(&world);
    is(ada, OUTCOME_MADE);
    struct lease_asked *freed = lease_release_begin(&world, "a", "ada", ada->fence);
    struct lease_asked *bob = lease_acquire_begin(&world, "a", "bob", SECOND, 0);
    lease_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    lease_world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_NO_SPACE);
    lease_world_settle(&world);
    is(freed, OUTCOME_NO_SPACE);
    is(bob, OUTCOME_NO_SPACE);
    keep(ada, OUTCOME_OK);
    assert_int_equal(stats().acquired, 1);
    lease_world_release(&world);
}

TEST(R_30_after_a_crash_it_lives_on_with_what_was_left)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", 10 * SECOND, OUTCOME_MADE);
    uint64_t fence = ada->fence;
    lease_world_pass(&world, 4 * SECOND);
    lease_world_crash(&world);
    clock_manual_advance(&world.clock, 3 * INT64_C(1000000000));
    lease_world_again(&world);
    assert_int_equal(stats().held, 1);
    acquire("bob", SECOND, OUTCOME_CONFLICTING);
    keep(ada, OUTCOME_OK);
    lease_world_pass(&world, 10 * SECOND);
    keep(ada, OUTCOME_LOST);
    struct lease_asked *bob = acquire("bob", SECOND, OUTCOME_MADE);
    assert_true(bob->fence > fence);
    lease_world_crash(&world);
    lease_world_again(&world);
    release("bob", bob->fence, OUTCOME_OK);
    lease_world_crash(&world);
    lease_world_again(&world);
    assert_true(acquire("ada", SECOND, OUTCOME_MADE)->fence > bob->fence);
    lease_world_release(&world);
}

/* ---- the line */

TEST(R_30_those_in_line_are_served_in_order)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", SECOND, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *two = wait("two", HOUR);
    struct lease_asked *three = wait("three", HOUR);
    assert_false(one->done);
    acquire("hasty", SECOND, OUTCOME_CONFLICTING);
    release("ada", ada->fence, OUTCOME_OK);
    is(one, OUTCOME_MADE);
    assert_false(two->done);
    lease_world_pass(&world, 10 * SECOND);
    is(two, OUTCOME_MADE);
    assert_false(three->done);
    release(NULL, 0, OUTCOME_OK);
    is(three, OUTCOME_MADE);
    assert_true(three->fence > two->fence && two->fence > one->fence && one->fence > ada->fence);
    told("acquired a ada\nreleased a ada\nacquired a one\nexpired a one\nacquired a two\n"
         "released a two\nacquired a three");
    assert_int_equal(stats().waiting, 0);
    lease_world_release(&world);
}

TEST(R_30_in_between_it_is_nobodys)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", SECOND, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *freed = lease_release_begin(&world, "a", "ada", ada->fence);
    lease_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    lease_world_turn(&world);
    assert_false(one->done);
    sim_store(&world.sim); /* both are on the disk, or none */
    lease_world_crash(&world);
    lease_world_again(&world);
    assert_int_equal(stats().held, 1);
    acquire("ada", SECOND, OUTCOME_CONFLICTING);
    (void)freed;
    lease_world_release(&world);
}

TEST(R_30_a_promise_that_is_taken_back_leaves_the_line_as_it_was)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", 5 * SECOND);
    struct lease_asked *two = wait("two", HOUR);
    struct lease_asked *freed = lease_release_begin(&world, "a", "ada", ada->fence);
    lease_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    lease_world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_NO_SPACE);
    lease_world_settle(&world);
    is(freed, OUTCOME_NO_SPACE);
    assert_false(one->done || two->done);
    lease_world_pass(&world, 5 * SECOND);
    is(one, OUTCOME_CONFLICTING);
    assert_true(strstr(one->text, "\"holder\":\"ada\"") != NULL);
    release("ada", ada->fence, OUTCOME_OK);
    is(two, OUTCOME_MADE);
    lease_world_release(&world);
}

TEST(R_30_one_who_has_left_gets_nothing)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *two = wait("two", HOUR);
    lease_asked_gone(one);
    assert_int_equal(stats().waiting, 1);
    release("ada", ada->fence, OUTCOME_OK);
    is(two, OUTCOME_MADE);
    told("acquired a ada\nreleased a ada\nacquired a two");
    lease_world_release(&world);
}

/* As far as its commit, which is under way. */
static void begin_release(const struct lease_asked *ada)
{
    (void)lease_release_begin(&world, "a", "ada", ada->fence);
    lease_world_turn(&world);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    lease_world_turn(&world);
}

TEST(R_30_one_who_leaves_while_it_is_given_does_not_keep_it)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *two = wait("two", HOUR);
    begin_release(ada);
    lease_asked_gone(one); /* the commit is under way */
    lease_world_settle(&world);
    is(two, OUTCOME_MADE);
    assert_true(one->done);
    told("acquired a ada\nreleased a ada\nacquired a one\nreleased a one\nacquired a two");
    lease_world_release(&world);
}

TEST(R_30_what_was_asked_for_again_meanwhile_is_not_handed_on)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *two = wait("two", HOUR);
    begin_release(ada);
    lease_asked_gone(one); /* its connection broke, and it asks on another */
    struct lease_asked *again = lease_acquire_begin(&world, "a", "one", HOUR, 0);
    lease_world_settle(&world);
    is(again, OUTCOME_OK);
    assert_false(two->done);
    struct lease_asked *kept = lease_keep_begin(&world, "a", "one", again->fence, 0);
    lease_world_settle(&world);
    is(kept, OUTCOME_OK);
    lease_world_release(&world);
}

TEST(R_30_the_same_holder_in_line_twice_is_answered_twice)
{
    lease_world_start(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *other = wait("other", HOUR);
    struct lease_asked *again = wait("one", HOUR);
    struct lease_asked *own = wait("ada", HOUR);
    is(own, OUTCOME_OK);
    release("ada", ada->fence, OUTCOME_OK);
    is(one, OUTCOME_MADE);
    is(again, OUTCOME_OK);
    assert_int_equal(one->fence, again->fence);
    assert_false(other->done);
    lease_world_release(&world);
}

TEST(lines_and_leases_are_bounded)
{
    lease_world_start(&world);
    world.limits = (struct leases_limits){.leases = 1, .waiting = 1, .list_scan = 10};
    lease_world_crash(&world);
    lease_world_again(&world);
    struct lease_asked *ada = acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *b = lease_acquire_begin(&world, "b", "ada", HOUR, 0);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *two = wait("two", HOUR);
    is(b, OUTCOME_TOO_MANY);
    is(two, OUTCOME_TOO_MANY);
    release("ada", ada->fence, OUTCOME_OK);
    is(one, OUTCOME_MADE);
    release(NULL, 0, OUTCOME_OK);
    b = lease_acquire_begin(&world, "b", "ada", HOUR, HOUR);
    lease_world_settle(&world);
    is(b, OUTCOME_MADE);
    lease_world_release(&world);
}

TEST(who_waits_is_answered_when_the_server_stops)
{
    lease_world_start(&world);
    (void)acquire("ada", HOUR, OUTCOME_MADE);
    struct lease_asked *one = wait("one", HOUR);
    struct lease_asked *b = lease_acquire_begin(&world, "b", "one", HOUR, HOUR);
    lease_world_turn(&world);
    leases_close_lines(world.leases);
    is(one, OUTCOME_UNAVAILABLE);
    lease_world_settle(&world);
    is(b, OUTCOME_MADE); /* it was on its way */
    is(wait("two", HOUR), OUTCOME_UNAVAILABLE);
    lease_world_release(&world);
}
