/* SPDX-License-Identifier: MIT */
/* Named leases through many lives: holders, people in line, those who leave, a disk that
 * fails, crashes at every step; and a judge who knows only what was asked and told. */
#include "support/lease_judge.h"
#include "support/lease_world.h"

#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { NAMES = 2, HOLDERS = 4, STEPS = 300, SECOND = 1000 };

/* What a holder believes it has. */
struct belief {
    uint64_t fence; /* 0: nothing */
};

struct life {
    struct test_random random;
    struct lease_judge judge;
    struct belief beliefs[NAMES][HOLDERS];
    uint64_t granted;
};

static struct lease_world world;
static struct life life;

static int number(const char *word)
{
    return word[1] - '0';
}

static const char *word(char letter, uint64_t n)
{
    static char words[8][8];
    static int next;
    char *text = words[next++ % 8];
    (void)snprintf(text, 8, "%c%d", letter, (int)n);
    return text;
}

/* ---- what is told */

static void look_at_the_line(struct lease_asked *served)
{
    for (size_t i = 0; i < LEASE_SLOTS; i++) {
        const struct lease_asked *other = &world.slots[i];
        if (other->used && !other->gone && other->call.verb == LEASE_ACQUIRE &&
            other->call.wait_ms > 0 && other->order < served->order &&
            strcmp(other->name, served->name) == 0)
            lease_judge_overtaken(&life.judge, number(served->name));
    }
}

/* By somebody who took it from whoever would have it: maybe from this one. */
static bool is_being_released(const char *name)
{
    for (size_t i = 0; i < LEASE_SLOTS; i++) {
        const struct lease_asked *other = &world.slots[i];
        if (other->used && other->call.verb == LEASE_RELEASE && other->call.fence == 0 &&
            strcmp(other->name, name) == 0)
            return true;
    }
    return false;
}

static void on_answer(struct lease_world *of, struct lease_asked *asked)
{
    int name = number(asked->name);
    int holder = asked->holder[0] == '\0' ? 0 : number(asked->holder);
    struct belief *belief = &life.beliefs[name][holder];
    (void)of;
    switch (asked->call.reply.outcome) {
    case OUTCOME_MADE:
        life.granted++;
        belief->fence = asked->fence;
        lease_judge_acquired(&life.judge, name, holder, asked->fence, asked->acquired_ms,
                             asked->expires_ms);
        look_at_the_line(asked);
        if (is_being_released(asked->name))
            lease_judge_let_go(&life.judge, name, asked->fence);
        break;
    case OUTCOME_OK:
        if (asked->call.verb == LEASE_RELEASE)
            break;
        belief->fence = asked->fence;
        lease_judge_kept(&life.judge, name, holder, asked->fence, asked->expires_ms);
        if (is_being_released(asked->name))
            lease_judge_let_go(&life.judge, name, asked->fence);
        break;
    case OUTCOME_LOST:
        if (asked->call.verb == LEASE_KEEPALIVE)
            lease_judge_refused(&life.judge, asked->call.fence);
        break;
    default:
        break;
    }
}

/* ---- what is done */

static uint64_t below(uint64_t limit)
{
    return test_random_below(&life.random, limit);
}

static void ask_something(void)
{
    uint64_t name = below(NAMES);
    uint64_t holder = below(HOLDERS);
    struct belief *belief = &life.beliefs[name][holder];
    switch (below(6)) {
    case 0:
        (void)lease_acquire_begin(&world, word('n', name), word('h', holder),
                                  100 + (int64_t)below(3000), 0);
        break;
    case 1:
    case 2:
        (void)lease_acquire_begin(&world, word('n', name), word('h', holder),
                                  100 + (int64_t)below(3000), 1 + (int64_t)below(8000));
        break;
    case 3:
        if (belief->fence != 0)
            (void)lease_keep_begin(&world, word('n', name), word('h', holder), belief->fence,
                                   below(2) == 0 ? 0 : 100 + (int64_t)below(3000));
        break;
    case 4:
        if (belief->fence == 0)
            break;
        lease_judge_let_go(&life.judge, (int)name, belief->fence);
        (void)lease_release_begin(&world, word('n', name), word('h', holder), belief->fence);
        break;
    default:
        if (below(10) > 0)
            break;
        lease_judge_let_go(&life.judge, (int)name, 0);
        (void)lease_release_begin(&world, word('n', name), NULL, 0);
        break;
    }
}

static void let_the_disk_work(void)
{
    if (world.sim.read_count > 0 && below(2) == 0)
        sim_read_done(&world.sim, world.engine, below(world.sim.read_count));
    else if (world.sim.batch != NULL && below(12) == 0 && !world.sim.stored)
        sim_commit(&world.sim, world.engine, below(2) == 0 ? TOCSIN_NO_SPACE : TOCSIN_UNAVAILABLE);
    else if (world.sim.batch != NULL && below(3) == 0 && !world.sim.stored)
        sim_store(&world.sim);
    else if (world.sim.batch != NULL)
        sim_commit(&world.sim, world.engine, TOCSIN_OK);
}

static void crash(void)
{
    /* What they asked for may have been done, and they have not heard of it. */
    if (below(2) == 0 && world.sim.batch != NULL && !world.sim.stored)
        sim_store(&world.sim);
    lease_world_crash(&world);
    clock_manual_advance(&world.clock, (int64_t)below(1500) * MS);
    lease_world_again(&world);
}

static void step(void)
{
    uint64_t what = below(100);
    if (what < 40) {
        ask_something();
    } else if (what < 70) {
        let_the_disk_work();
    } else if (what < 85) {
        clock_manual_advance(&world.clock, (int64_t)below(400) * MS + (int64_t)below(MS));
    } else if (what < 91) {
        struct lease_asked *asked = &world.slots[below(LEASE_SLOTS)];
        if (asked->used && asked->call.verb == LEASE_ACQUIRE && asked->call.wait_ms > 0)
            lease_asked_gone(asked);
    } else if (what < 93) {
        crash();
    } else {
        lease_world_settle(&world);
    }
    lease_world_turn(&world);
}

static void live(uint64_t seed)
{
    lease_world_start(&world);
    life = (struct life){.random = {seed}};
    world.on_answer = on_answer;
    for (int i = 0; i < STEPS; i++)
        step();
    lease_world_pass(&world, 20 * SECOND); /* all waits and leases are over by then */
    for (size_t i = 0; i < LEASE_SLOTS; i++)
        assert_false(world.slots[i].used); /* nobody is forgotten */
    struct leases_stats stats;
    leases_describe(world.leases, &stats);
    if (stats.held != 0 || stats.waiting != 0)
        fail_msg("seed %llu: %llu are held, %llu wait", (unsigned long long)seed,
                 (unsigned long long)stats.held, (unsigned long long)stats.waiting);
    lease_world_release(&world);
}

TEST(R_30_never_two_holders_through_any_crashes)
{
    uint64_t seed = test_seed();
    uint64_t rounds = test_effort(600);
    uint64_t granted = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        live(seed + i);
        granted += life.granted;
        if (life.judge.why[0] != '\0')
            fail_msg("TOCSIN_SEED=%llu: %s", (unsigned long long)(seed + i), life.judge.why);
    }
    assert_true(granted > rounds * 3); /* something has happened */
}

/* ---- controls */

/* It says that it has synced, and has not: after a crash another has the lease. */
TEST(control_a_disk_that_lies_is_noticed)
{
    lease_world_start(&world);
    life = (struct life){.random = {1}};
    world.on_answer = on_answer;
    (void)lease_acquire_begin(&world, "n0", "h0", 30 * SECOND, 0);
    lease_world_turn(&world);
    sim_lie(&world.sim, world.engine);
    assert_int_equal(life.granted, 1);
    lease_world_crash(&world);
    lease_world_again(&world);
    (void)lease_acquire_begin(&world, "n0", "h1", 30 * SECOND, 0);
    lease_world_settle(&world);
    assert_int_equal(life.granted, 2);
    assert_true(strncmp(life.judge.why, "early", 5) == 0);
    lease_world_release(&world);
}

static void blamed(const struct lease_judge *judge, const char *what)
{
    assert_true(strncmp(judge->why, what, strlen(what)) == 0);
}

TEST(control_the_judge_names_what_is_broken)
{
    static struct lease_judge judge;
    judge = (struct lease_judge){.count = 0};
    lease_judge_acquired(&judge, 0, 1, 10, 0, 1000);
    lease_judge_kept(&judge, 0, 1, 10, 2000);
    lease_judge_acquired(&judge, 1, 2, 11, 500, 1000);
    lease_judge_acquired(&judge, 0, 2, 12, 2000, 3000);
    assert_string_equal(judge.why, "");
    lease_judge_acquired(&judge, 0, 3, 13, 2999, 4000);
    blamed(&judge, "early");
    judge = (struct lease_judge){.count = 0};
    lease_judge_acquired(&judge, 0, 1, 10, 0, 1000);
    lease_judge_acquired(&judge, 0, 2, 10, 1000, 2000);
    blamed(&judge, "fence");
    judge = (struct lease_judge){.count = 0};
    lease_judge_acquired(&judge, 0, 1, 10, 0, 1000);
    lease_judge_let_go(&judge, 0, 10);
    lease_judge_acquired(&judge, 0, 2, 12, 500, 2000);
    assert_string_equal(judge.why, "");
    lease_judge_kept(&judge, 0, 1, 10, 1500);
    blamed(&judge, "revived");
    judge = (struct lease_judge){.count = 0};
    lease_judge_acquired(&judge, 0, 1, 10, 0, 1000);
    lease_judge_refused(&judge, 10);
    lease_judge_kept(&judge, 0, 1, 10, 1500);
    blamed(&judge, "revived");
    judge = (struct lease_judge){.count = 0};
    lease_judge_overtaken(&judge, 0);
    blamed(&judge, "overtaken");
}
