/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "net/loop.h"

#define MS INT64_C(1000000)

struct world {
    struct loop *loop;
    struct test_random random;
    int64_t wake_ns; /* what on_wake must not come before */
    uint64_t rounds;
    unsigned wakes;
    unsigned posts;
    unsigned turns;
    unsigned steps;
    char order[16];
    size_t order_size;
    atomic_uint asked;    /* by the poster */
    atomic_uint answered; /* by the loop */
    struct loop_deferred first;
    struct loop_deferred second;
};

static int64_t now_ns(void)
{
    return clock_elapsed(&clock_system).ns;
}

static void start(struct world *world, struct loop_hooks hooks)
{
    struct tocsin_why why;
    hooks.arg = world;
    assert_int_equal(loop_create(&hooks, &world->loop, &why), TOCSIN_OK);
}

static void wake_at(struct world *world, int64_t at_ns)
{
    world->wake_ns = at_ns;
    loop_wake_at(world->loop, at_ns);
}

static void note(struct world *world, char what)
{
    if (world->order_size < sizeof world->order - 1)
        world->order[world->order_size++] = what;
}

/* Law 2 */
static void wake_again(void *arg)
{
    struct world *world = arg;
    assert_true(now_ns() >= world->wake_ns);
    world->wakes++;
    if (world->wakes == world->rounds)
        loop_stop(world->loop);
    else
        wake_at(world, now_ns() + (int64_t)test_random_below(&world->random, 2 * MS) - MS / 8);
}

TEST(a_wake_is_never_early_and_always_comes)
{
    struct world world = {.random = {test_seed()}, .rounds = test_effort(1000)};
    start(&world, (struct loop_hooks){.on_wake = wake_again});
    wake_at(&world, now_ns() + MS);
    loop_run(world.loop);
    assert_int_equal(world.wakes, world.rounds);
    loop_destroy(world.loop);
}

static void stop_on_wake(void *arg)
{
    struct world *world = arg;
    assert_true(now_ns() >= world->wake_ns);
    world->wakes++;
    loop_stop(world->loop);
}

TEST(a_time_that_is_past_wakes_at_once)
{
    static const int64_t past[] = {0, 1, -5, INT64_MIN};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
        struct world world = {0};
        start(&world, (struct loop_hooks){.on_wake = stop_on_wake});
        wake_at(&world, past[i]);
        loop_run(world.loop);
        assert_int_equal(world.wakes, 1);
        loop_destroy(world.loop);
    }
}

TEST(the_last_wake_time_counts)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_wake = stop_on_wake});
    loop_wake_at(world.loop, now_ns() + 1);
    loop_wake_at(world.loop, INT64_MAX - 1);
    wake_at(&world, now_ns() + 3 * MS);
    loop_run(world.loop);
    assert_int_equal(world.wakes, 1);
    loop_destroy(world.loop);
}

static void stop_on_timer(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void run_for_ms(struct world *world, uint64_t ms)
{
    uv_timer_t timer;
    assert_int_equal(uv_timer_init(loop_uv(world->loop), &timer), 0);
    assert_int_equal(uv_timer_start(&timer, stop_on_timer, ms, 0), 0);
    loop_run(world->loop);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(loop_uv(world->loop), UV_RUN_NOWAIT);
}

TEST(a_wake_that_is_taken_back_does_not_come)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_wake = stop_on_wake});
    loop_wake_at(world.loop, now_ns() + 5 * MS);
    (void)uv_run(loop_uv(world.loop), UV_RUN_NOWAIT);
    loop_wake_at(world.loop, INT64_MAX);
    run_for_ms(&world, 20);
    assert_int_equal(world.wakes, 0);
    loop_destroy(world.loop);
}

/* It is armed for the later time anew, although the first was armed already. */
TEST(a_wake_that_is_put_off_comes_later)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_wake = stop_on_wake});
    wake_at(&world, now_ns() + 2 * MS);
    (void)uv_run(loop_uv(world.loop), UV_RUN_NOWAIT);
    wake_at(&world, now_ns() + 6 * MS);
    loop_run(world.loop);
    assert_int_equal(world.wakes, 1);
    loop_destroy(world.loop);
}

static void breathe_in_wake(void *arg)
{
    struct world *world = arg;
    world->wakes++;
    loop_wake_at(world->loop, 0);
    loop_breathe(world->loop);
    loop_wake_at(world->loop, INT64_MAX);
}

/* Somebody works through many sockets: due work comes in between. */
TEST(breathing_wakes_when_the_time_has_come_and_only_then)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_wake = breathe_in_wake});
    loop_breathe(world.loop);
    assert_int_equal(world.wakes, 0);
    int64_t at_ns = now_ns() + MS;
    loop_wake_at(world.loop, at_ns);
    while (world.wakes == 0) {
        int64_t before_ns = now_ns();
        loop_breathe(world.loop);
        assert_true(world.wakes == 0 ? before_ns < at_ns : now_ns() >= at_ns);
    }
    loop_breathe(world.loop);
    assert_int_equal(world.wakes, 1); /* used up, and not inside itself */
    loop_destroy(world.loop);
}

/* Posts. */

static void answer_post(void *arg)
{
    struct world *world = arg;
    world->posts++;
    atomic_store(&world->answered, atomic_load(&world->asked));
    if (atomic_load(&world->answered) == world->rounds)
        loop_stop(world->loop);
}

static void *post_and_wait(void *arg)
{
    struct world *world = arg;
    for (unsigned i = 1; i <= world->rounds; i++) {
        atomic_store(&world->asked, i);
        loop_post(world->loop);
        while (atomic_load(&world->answered) != i)
            (void)sched_yield();
    }
    return NULL;
}

/* Each post is made while the loop falls asleep after the last one. */
TEST(no_post_is_slept_through)
{
    struct world world = {.rounds = test_effort(20000)};
    pthread_t thread;
    start(&world, (struct loop_hooks){.on_post = answer_post});
    assert_int_equal(pthread_create(&thread, NULL, post_and_wait, &world), 0);
    loop_run(world.loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(world.posts >= world.rounds);
    loop_destroy(world.loop);
}

static void stop_on_post(void *arg)
{
    struct world *world = arg;
    world->posts++;
    loop_stop(world->loop);
}

TEST(many_posts_are_one_call)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_post = stop_on_post});
    for (int i = 0; i < 1000; i++)
        loop_post(world.loop);
    loop_run(world.loop);
    (void)uv_run(loop_uv(world.loop), UV_RUN_NOWAIT);
    assert_int_equal(world.posts, 1);
    loop_destroy(world.loop);
}

/* The last moment before the sleep: the loop is awake, so nothing wakes it but its own look. */
static void post_as_it_falls_asleep(void *arg)
{
    struct world *world = arg;
    if (world->turns++ == 0)
        loop_post(world->loop);
}

static void slept_through(void *arg)
{
    struct world *world = arg;
    world->wakes++;
    loop_stop(world->loop);
}

TEST(a_post_at_the_end_of_a_turn_is_not_slept_through)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){.on_post = stop_on_post,
                                      .on_turn_end = post_as_it_falls_asleep,
                                      .on_wake = slept_through});
    loop_wake_at(world.loop, now_ns() + INT64_C(3000000000));
    loop_run(world.loop);
    assert_int_equal(world.posts, 1);
    assert_int_equal(world.wakes, 0);
    loop_destroy(world.loop);
}

/* The end of a turn. */

static void note_turn_end(void *arg)
{
    note(arg, 't');
}

static void note_first(void *arg)
{
    struct world *world = arg;
    note(world, '1');
    if (world->order_size > 8)
        loop_stop(world->loop);
    else
        loop_defer(world->loop, &world->first);
}

static void note_second(void *arg)
{
    note(arg, '2');
}

TEST(deferred_work_runs_once_after_the_turn_and_again_in_the_next)
{
    struct world world = {0};
    world.first = (struct loop_deferred){.run = note_first, .arg = &world};
    world.second = (struct loop_deferred){.run = note_second, .arg = &world};
    start(&world, (struct loop_hooks){.on_turn_end = note_turn_end});
    loop_defer(world.loop, &world.first);
    loop_defer(world.loop, &world.second);
    loop_defer(world.loop, &world.first);
    loop_run(world.loop); /* hangs when deferred work lets the loop sleep */
    assert_string_equal(world.order, "t12t1t1t1");
    loop_destroy(world.loop);
}

/* The wall clock. */

static void note_step(void *arg)
{
    struct world *world = arg;
    world->steps++;
    loop_stop(world->loop);
}

/* Stands before the C library's. The kernel arms the timer and answers ECANCELED when the clock was
 * set between the read that told of a step and this. */
static unsigned steps_while_arming;

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                    struct itimerspec *old_value)
{
    long failed = syscall(SYS_timerfd_settime, fd, flags, new_value, old_value);
    if (failed == 0 && (flags & TFD_TIMER_CANCEL_ON_SET) != 0 && steps_while_arming > 0) {
        steps_while_arming--;
        errno = ECANCELED;
        return -1;
    }
    return (int)failed;
}

/* A nanosecond forth or back: nobody else is disturbed, but the kernel tells. */
static bool step_clock(bool forth)
{
    struct timex step = {.modes = ADJ_SETOFFSET | ADJ_NANO};
    step.time.tv_sec = forth ? 0 : -1;
    step.time.tv_usec = forth ? 1 : 999999999;
    return adjtimex(&step) >= 0;
}

TEST(a_step_of_the_wall_clock_is_noticed_each_time)
{
    struct world world = {0};
    if (!step_clock(true) || !step_clock(false)) {
        (void)printf("Not allowed to set the clock: not tested here.\n");
        skip();
    }
    start(&world, (struct loop_hooks){.on_clock_step = note_step});
    for (unsigned i = 1; i <= 4; i++) {
        unsigned before = world.steps; /* others may set the clock too */
        assert_true(step_clock(i % 2 == 1));
        run_for_ms(&world, 5000);
        assert_true(world.steps > before);
    }
    loop_destroy(world.loop);
}

TEST(a_step_of_the_wall_clock_while_the_last_one_is_told_is_no_failure)
{
    struct world world = {0};
    steps_while_arming = 2;
    start(&world, (struct loop_hooks){.on_clock_step = note_step});
    assert_int_equal(steps_while_arming, 0);
    loop_destroy(world.loop);
}

TEST(hooks_may_be_left_out)
{
    struct world world = {0};
    start(&world, (struct loop_hooks){0});
    loop_post(world.loop);
    loop_wake_at(world.loop, 0);
    run_for_ms(&world, 1);
    loop_destroy(world.loop);
}
