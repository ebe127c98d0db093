/* SPDX-License-Identifier: MIT */
/* Many renewals at once: how little each of them is, how a crowd comes apart, and who is
 * served while it beats. Every test of time runs with both engines. */
#include "support/renewal_world.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/renewal/renewals_inside.h"

enum { SECOND = 1000, EVERY = 10 * SECOND, CROWD = 100, SLICE = 128 };

static struct renewal_world world;

#define BOTH(name) RENEWAL_BOTH(name, &world, 1000)

#define TEN_SECONDS                                                                                \
    "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"fixed\",\"ttl\":\"30s\"}}"
/* They count their rounds, so none of them comes early. */
#define THREE_STEPS                                                                                \
    "{\"keys\":[\"k\"],\"every\":\"10s\",\"strategy\":{\"type\":\"steps\",\"steps\":["             \
    "{\"count\":3,\"ttl\":\"30s\"}]}}"

static const char *id_of(int number)
{
    static char id[16];
    (void)snprintf(id, sizeof id, "r%d", number);
    return id;
}

static void enroll(int count, const char *spec)
{
    renewal_set(&world, "k", "v", -1);
    for (int i = 0; i < count; i++)
        assert_int_equal(renewal_register(&world, id_of(i), spec), OUTCOME_MADE);
    assert_int_equal(world.keys, count);
}

/* When its next beat comes, from now. */
static int64_t next_in_ms(int number)
{
    return strtoll(renewal_field(&world, id_of(number), "next_ms"), NULL, 10) -
           engine_wall_ms(world.engine);
}

static int64_t tick_ms(void)
{
    return world.beats == BEATS_TIME_WHEEL ? world.tick_ms : 1;
}

/* ---- memory */

TEST(R_09_a_plain_renewal_is_320_bytes_with_all_it_was_asked)
{
    static const char spec[] = "{\"keys\":[\"a-key-of-24-characters--\"],\"every\":\"10s\","
                               "\"strategy\":{\"type\":\"fixed\",\"ttl\":\"30s\"}}";
    static const char id[] = "0198c1f2-0000-7000-8000-000000000000";
    renewal_world_start(&world, BEATS_TIME_WHEEL);
    assert_int_equal(renewal_register(&world, id, spec), OUTCOME_MADE); /* a key that is missing, */
    struct renewal *renewal = renewal_find(world.renewals, bytes_of(id));
    assert_non_null(renewal->trouble);
    renewal_set(&world, "a-key-of-24-characters--", "v", -1); /* but not for long */
    renewal_world_pass(&world, 5 * EVERY);
    assert_ptr_equal(renewal_find(world.renewals, bytes_of(id)), renewal);
    /* Two pieces, each of a multiple of 16 with 8 of the allocator's own. */
    assert_true(malloc_usable_size(renewal) <= 200);
    assert_true(malloc_usable_size(renewal->spec) <= 104);
    assert_null(renewal->trouble);
    assert_null(renewal->round);
    renewal_world_release(&world);
}

/* ---- a crowd comes apart */

BOTH(R_09_a_crowd_that_is_registered_together_does_not_stay_together)
{
    enroll(CROWD + 1000, TEN_SECONDS);
    for (int i = 0; i < CROWD + 1000; i++) {
        int64_t least = i < CROWD ? EVERY : EVERY / 2;
        assert_in_range(next_in_ms(i), least - tick_ms() + 1, EVERY);
    }
    uint64_t first = world.keys;
    renewal_world_pass(&world, EVERY / 2 - tick_ms()); /* the soonest: half an interval */
    assert_int_equal(world.keys, first);
    renewal_world_pass(&world, tick_ms());
    for (int tenth = 0; tenth < 9; tenth++) {
        uint64_t before = world.keys;
        renewal_world_pass(&world, EVERY / 20);
        assert_in_range(world.keys - before, 50, 160); /* 100 of 1000 each, by chance */
    }
    renewal_world_pass(&world, EVERY / 20 + tick_ms());
    assert_int_equal(world.keys, 2 * first); /* and none of them is late */
}

/* from the second beat on it is every so often. */
BOTH(R_09_who_came_early_once_keeps_the_rhythm_from_there)
{
    enroll(CROWD + 1, TEN_SECONDS);
    int64_t early = next_in_ms(CROWD);
    assert_in_range(early, EVERY / 2 - tick_ms() + 1, EVERY);
    renewal_world_pass(&world, early);
    assert_int_equal(next_in_ms(CROWD), EVERY);
    renewal_world_pass(&world, 100 * EVERY);
    assert_int_equal(next_in_ms(CROWD), EVERY);
    assert_string_equal(renewal_field(&world, id_of(CROWD), "total"), "102");
}

BOTH(R_09_a_crowd_that_is_resumed_together_does_not_stay_together)
{
    enroll(3 * CROWD, TEN_SECONDS);
    for (int i = 0; i < 3 * CROWD; i++)
        assert_int_equal(renewal_ask(&world, RENEWAL_PAUSE, id_of(i)), OUTCOME_OK);
    renewal_world_pass(&world, 10 * EVERY);
    assert_int_equal(world.keys, 3 * CROWD);
    for (int i = 0; i < 3 * CROWD; i++)
        assert_int_equal(renewal_ask(&world, RENEWAL_RESUME, id_of(i)), OUTCOME_OK);
    int64_t soonest = EVERY;
    for (int i = 0; i < 3 * CROWD; i++) {
        int64_t least = i < CROWD ? EVERY : EVERY / 2;
        int64_t next = next_in_ms(i);
        assert_in_range(next, least - tick_ms() + 1, EVERY);
        soonest = next < soonest ? next : soonest;
    }
    assert_true(soonest < EVERY * 3 / 4);
}

BOTH(R_09_what_a_restart_begins_at_once_does_not_stay_together)
{
    enroll(400, TEN_SECONDS);
    renewal_world_crash(&world);
    renewal_world_again(&world);
    renewal_world_settle(&world);
    assert_int_equal(world.keys, 800);
    renewal_world_pass(&world, EVERY / 2 - 100); /* the soonest: half an interval */
    assert_int_equal(world.keys, 800);
    for (int fifth = 0; fifth < 5; fifth++) {
        uint64_t before = world.keys;
        renewal_world_pass(&world, EVERY / 10);
        assert_in_range(world.keys - before, 30, 130); /* 80 of 400 each, by chance */
    }
    renewal_world_pass(&world, 300);
    assert_int_equal(world.keys, 1200);
}

/* an early round would be one of the three, and the keys would end sooner. */
BOTH(R_09_a_strategy_that_counts_its_rounds_is_never_early)
{
    enroll(2 * CROWD, THREE_STEPS);
    for (int i = 0; i < 2 * CROWD; i++)
        assert_in_range(next_in_ms(i), EVERY - tick_ms() + 1, EVERY);
}

/* ---- who is served while it beats */

static void rings(void *arg)
{
    ++*(unsigned *)arg;
}

/* Law 7: they are begun in slices, and a slice is answered before all of them have begun. */
BOTH(R_09_many_that_are_due_at_once_are_renewed_in_slices)
{
    unsigned rung = 0;
    struct engine_timer timer = {.fn = rings, .arg = &rung};
    struct elapsed_time wake;
    enroll(1000, THREE_STEPS);
    int64_t due = next_in_ms(0);
    assert_int_equal(engine_timer_arm(world.engine, &timer, engine_now_ms(world.engine) + due),
                     TOCSIN_OK);
    clock_manual_advance(&world.clock, due * INT64_C(1000000));
    for (int turn = 0; turn < 8; turn++) {
        uint64_t before = world.keys;
        engine_turn(world.engine, &wake);
        assert_in_range(world.keys - before, 1, SLICE);
        assert_int_equal(world.rounded, world.keys); /* the mock answers at once */
        assert_int_equal(rung, 1);
    }
    assert_int_equal(world.keys, 2000);
    assert_int_equal(renewal_stats(&world).skipped, 0);
}
