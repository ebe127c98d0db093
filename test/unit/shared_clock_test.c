/* SPDX-License-Identifier: MIT */
/* The clock that nodes share: never ahead of Redis's, never back, by whatever is measured. */
#include "cluster/shared_clock.h"

#include <pthread.h>
#include <stdlib.h>

#include "runner.h"
#include "support/random.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define REDIS_EPOCH (1704067200 * SECOND)

static struct clock_manual machine;
static struct shared_clock shared;

static void begin(void)
{
    machine = (struct clock_manual){.elapsed = {7200 * SECOND}, .wall = {1}};
    shared_clock_init_on(&shared, clock_of_manual(&machine));
}

static int64_t wall(void)
{
    struct clock clock = shared_clock_of(&shared);
    return clock_wall(&clock).ns;
}

/* Redis was asked, half of `trip_ns` ago, and stood at redis_ns then. */
static void sample(int64_t redis_ns, int64_t trip_ns)
{
    clock_manual_advance(&machine, trip_ns);
    shared_clock_sample(&shared, (struct elapsed_time){machine.elapsed.ns - trip_ns},
                        machine.elapsed, redis_ns / 1000);
}

static void near(int64_t value, int64_t wanted, int64_t off)
{
    if (llabs(value - wanted) > off)
        fail_msg("%lld, wanted is %lld, %lld off", (long long)value, (long long)wanted,
                 (long long)(value - wanted));
}

TEST(without_a_sample_nothing_is_due)
{
    begin();
    assert_int_equal(wall(), 0);
    assert_int_equal(shared_clock_error_ns(&shared), INT64_MAX);
    struct clock clock = shared_clock_of(&shared);
    assert_int_equal(clock_elapsed(&clock).ns, machine.elapsed.ns);
    shared_clock_release(&shared);
}

TEST(what_cannot_be_is_left_out)
{
    begin();
    shared_clock_sample(&shared, (struct elapsed_time){2}, (struct elapsed_time){1}, 1000);
    shared_clock_sample(&shared, (struct elapsed_time){-1}, (struct elapsed_time){1}, 1000);
    shared_clock_sample(&shared, (struct elapsed_time){1}, (struct elapsed_time){2}, -1);
    shared_clock_sample(&shared, (struct elapsed_time){1}, (struct elapsed_time){2}, INT64_MAX);
    assert_int_equal(shared_clock_error_ns(&shared), INT64_MAX);
    shared_clock_release(&shared);
}

/* The wall is what Redis said when the answer came; the error is the way, and grows by the drift of
 * both bounds: 2 x 200 ppm. */
TEST(a_sample_ages)
{
    begin();
    sample(REDIS_EPOCH, 2 * MS);
    near(wall(), REDIS_EPOCH, 10);
    near(shared_clock_error_ns(&shared), 2 * MS, 2000);
    clock_manual_advance(&machine, 10 * SECOND);
    near(wall(), REDIS_EPOCH + 10 * SECOND - 2 * MS, 10);
    near(shared_clock_error_ns(&shared), 2 * MS + 4 * MS, 4000);
    shared_clock_release(&shared);
}

/* A short way tells more than a long one, also when it is a little older; in the end it does not. */
TEST(the_best_of_the_samples_counts)
{
    begin();
    int64_t start = machine.elapsed.ns;
    sample(REDIS_EPOCH, MS / 10);
    int64_t after_ns = machine.elapsed.ns - start;
    clock_manual_advance(&machine, SECOND);
    int64_t before = wall();
    sample(REDIS_EPOCH + SECOND, 50 * MS); /* it was asked at the begin of those 50 ms */
    near(wall(), before + 50 * MS, 20000);
    assert_true(shared_clock_error_ns(&shared) < MS);
    clock_manual_advance(&machine, 1000 * SECOND);
    sample(REDIS_EPOCH + machine.elapsed.ns - start - after_ns, 50 * MS);
    assert_true(shared_clock_error_ns(&shared) > 40 * MS);
    shared_clock_release(&shared);
}

/* ---- Redis's own clock is set */

struct step {
    int64_t by_ns;
    bool told;
};

TEST(what_redis_does_to_its_clock)
{
    static const struct step rows[] = {
        {300 * MS, false},  {-300 * MS, false},  {900 * MS, false},     {-900 * MS, false},
        {5 * SECOND, true}, {-5 * SECOND, true}, {3600 * SECOND, true}, {-3600 * SECOND, true},
        {MS / 2, false},    {-MS / 2, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        sample(REDIS_EPOCH, MS);
        int64_t base = REDIS_EPOCH - machine.elapsed.ns;
        clock_manual_advance(&machine, SECOND);
        sample(base + machine.elapsed.ns, MS);
        assert_false(shared_clock_stepped(&shared));
        int64_t before = wall();
        base += rows[i].by_ns;
        sample(base + machine.elapsed.ns, MS);
        assert_int_equal(shared_clock_stepped(&shared), rows[i].told);
        assert_false(shared_clock_stepped(&shared)); /* once */
        if (rows[i].told || rows[i].by_ns > MS)
            near(wall(), base + machine.elapsed.ns, 2 * MS);
        else
            assert_true(wall() >= before);
        /* Where it had to stand still, it has come right when that time has passed. */
        clock_manual_advance(&machine, SECOND);
        sample(base + machine.elapsed.ns, MS);
        assert_false(shared_clock_stepped(&shared));
        near(wall(), base + machine.elapsed.ns, 2 * MS);
        assert_true(shared_clock_error_ns(&shared) < 3 * MS);
        shared_clock_release(&shared);
    }
}

TEST(it_stands_still_until_redis_has_caught_up)
{
    begin();
    sample(REDIS_EPOCH, MS);
    int64_t base = REDIS_EPOCH - machine.elapsed.ns - 500 * MS; /* set back */
    clock_manual_advance(&machine, 100 * MS);
    sample(base + machine.elapsed.ns, MS);
    int64_t shown = wall();
    for (int i = 0; i < 3; i++) {
        clock_manual_advance(&machine, 100 * MS);
        assert_int_equal(wall(), shown);
        assert_int_equal(shared_clock_error_ns(&shared), 0);
        sample(base + machine.elapsed.ns, MS);
    }
    clock_manual_advance(&machine, 300 * MS);
    assert_true(wall() > shown);
    near(wall(), base + machine.elapsed.ns, 2 * MS);
    /* Set back again while it stands still: that is a step, in the sum. */
    sample(base + machine.elapsed.ns - 800 * MS, MS);
    assert_false(shared_clock_stepped(&shared));
    sample(base + machine.elapsed.ns - 1600 * MS, MS);
    assert_true(shared_clock_stepped(&shared));
    near(wall(), base + machine.elapsed.ns - 1600 * MS, 2 * MS);
    shared_clock_release(&shared);
}

/* ---- C-24 */

struct node {
    struct clock_manual machine;
    struct shared_clock clock;
    double rate; /* of its oscillator, against Redis's */
    int64_t offset_ns;
    int64_t last_ns;
    int64_t worst_ns;
};

static int64_t node_elapsed(const struct node *node, int64_t true_ns)
{
    return node->offset_ns + (int64_t)((double)true_ns * node->rate);
}

static void node_look(struct node *node, int64_t true_ns)
{
    struct clock clock = shared_clock_of(&node->clock);
    node->machine.elapsed.ns = node_elapsed(node, true_ns);
    int64_t wall = clock_wall(&clock).ns;
    int64_t behind = REDIS_EPOCH + true_ns - wall;
    assert_true(wall >= node->last_ns);
    node->last_ns = wall;
    if (wall == 0)
        return;
    assert_true(behind >= 0); /* never ahead */
    assert_true(behind <= shared_clock_error_ns(&node->clock));
    if (behind > node->worst_ns)
        node->worst_ns = behind;
}

/* The question takes a while, the answer another: neither is known. */
static int64_t node_sample(struct node *node, int64_t true_ns, struct test_random *random)
{
    int64_t most = test_random_one_in(random, 10) ? 200 * MS : 2 * MS;
    int64_t there = (int64_t)test_random_below(random, (uint64_t)most);
    int64_t back = (int64_t)test_random_below(random, (uint64_t)most);
    struct elapsed_time before = {node_elapsed(node, true_ns)};
    struct elapsed_time after = {node_elapsed(node, true_ns + there + back)};
    node->machine.elapsed = after;
    shared_clock_sample(&node->clock, before, after, (REDIS_EPOCH + true_ns + there) / 1000);
    node_look(node, true_ns + there + back);
    return true_ns + there + back;
}

static void two_nodes(uint64_t seed)
{
    struct test_random random = {seed};
    static struct node nodes[2];
    for (int i = 0; i < 2; i++) {
        int64_t ppm = (int64_t)test_random_below(&random, 391) - 195;
        nodes[i] =
            (struct node){.rate = 1 + (double)ppm / 1e6,
                          .offset_ns = (int64_t)test_random_below(&random, 1u << 30) * MS,
                          /* their own wall clocks are wrong by years, which matters to none */
                          .machine = {.wall = {(int64_t)test_random_next(&random) / 4}}};
        shared_clock_init_on(&nodes[i].clock, clock_of_manual(&nodes[i].machine));
    }
    int64_t now = 0;
    for (int i = 0; i < 400; i++) {
        struct node *node = &nodes[test_random_below(&random, 2)];
        now += (int64_t)test_random_below(&random, 1500) * MS;
        if (!test_random_one_in(&random, 3))
            now = node_sample(node, now, &random);
        node_look(&nodes[0], now);
        node_look(&nodes[1], now);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(nodes[i].worst_ns < 500 * MS);
        assert_false(shared_clock_stepped(&nodes[i].clock));
        shared_clock_release(&nodes[i].clock);
    }
}

TEST(C_24_no_node_is_ahead_of_redis_by_any_skew_or_delay)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < test_effort(500); i++)
        two_nodes(seed + i);
}

/* ---- threads */

enum { READERS = 2, SAMPLES = 3000, LOOKS = 3000 };

static _Atomic int64_t last_shown;
static _Atomic bool over;
static _Atomic uint64_t backwards;
static _Atomic uint64_t looks;

static void *read_on(void *arg)
{
    struct clock clock = shared_clock_of(arg);
    while (!atomic_load(&over)) {
        int64_t before = atomic_load(&last_shown);
        int64_t now = clock_wall(&clock).ns;
        (void)atomic_fetch_add(&looks, 1);
        if (now < before)
            (void)atomic_fetch_add(&backwards, 1);
        while (now > before && !atomic_compare_exchange_weak(&last_shown, &before, now))
            ;
    }
    return NULL;
}

/* What one thread was shown, no other is shown less later; although Redis's clock jitters. */
TEST(the_wall_goes_back_for_no_thread)
{
    pthread_t readers[READERS];
    struct test_random random = {test_seed()};
    shared_clock_init(&shared);
    struct elapsed_time first = clock_elapsed(&clock_system);
    shared_clock_sample(&shared, first, first, REDIS_EPOCH / 1000);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &shared), 0);
    for (int i = 0; i < SAMPLES || atomic_load(&looks) < LOOKS; i++) {
        struct elapsed_time before = clock_elapsed(&clock_system);
        int64_t jitter = (int64_t)test_random_below(&random, 2 * MS) - MS;
        struct elapsed_time after = clock_elapsed(&clock_system);
        shared_clock_sample(&shared, before, after,
                            (REDIS_EPOCH + after.ns - first.ns + jitter) / 1000);
    }
    atomic_store(&over, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(atomic_load(&backwards), 0);
    assert_true(atomic_load(&last_shown) > REDIS_EPOCH);
    shared_clock_release(&shared);
}
