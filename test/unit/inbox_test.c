/* SPDX-License-Identifier: MIT */
/* The inbox: any thread arms and cancels, the owner drains. Also run under TSan. */
#include <tocsin/inbox.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "support/wheel_checks.h"

static struct tocsin_wheel *make_wheel(uint32_t max_timers)
{
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_wheel_config config = {.max_timers = max_timers};
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    return wheel;
}

static struct tocsin_inbox *make_inbox(struct tocsin_wheel *wheel, uint32_t capacity)
{
    struct tocsin_inbox *inbox = NULL;
    struct tocsin_inbox_config config = {.capacity = capacity};
    assert_int_equal(tocsin_inbox_create(wheel, &config, &inbox, NULL), TOCSIN_OK);
    return inbox;
}

TEST(inbox_ticket_is_the_handle_of_the_timer)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = make_inbox(wheel, 8);
    struct tocsin_timer ticket = {0};
    struct tocsin_due due;
    size_t count;
    assert_int_equal(tocsin_inbox_arm(inbox, 10, 42, &ticket), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_count(wheel), 0);
    assert_int_equal(tocsin_wheel_get(wheel, ticket, &due), TOCSIN_BUSY); /* not drained yet */
    assert_int_equal(tocsin_wheel_rearm(wheel, ticket, 11), TOCSIN_BUSY);
    struct tocsin_inbox_report report;
    assert_int_equal(tocsin_inbox_drain(inbox, 0, &report), TOCSIN_OK);
    assert_int_equal(report.armed, 1);
    assert_int_equal(tocsin_wheel_get(wheel, ticket, &due), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_take(wheel, 10, 0, &due, 1, &count), TOCSIN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(due.cookie, 42);
    assert_true(due.timer.id == ticket.id);
    tocsin_inbox_destroy(inbox);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

TEST(inbox_cancel_takes_the_ticket_before_and_after_the_drain)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = make_inbox(wheel, 16);
    struct tocsin_timer before;
    struct tocsin_timer after;
    struct tocsin_timer owner;
    struct tocsin_inbox_report report;
    assert_int_equal(tocsin_inbox_arm(inbox, 10, 1, &before), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_cancel(inbox, before), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_arm(inbox, 10, 2, &after), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_arm(inbox, 10, 3, &owner), TOCSIN_OK);
    uint64_t cookie = 777;
    assert_int_equal(tocsin_wheel_cancel(wheel, owner, &cookie), TOCSIN_BUSY); /* too soon */
    assert_int_equal(cookie, 777);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, &report), TOCSIN_OK);
    assert_int_equal(report.armed, 3);
    assert_int_equal(report.cancelled, 1);
    assert_int_equal(tocsin_wheel_cancel(wheel, owner, &cookie), TOCSIN_OK);
    assert_int_equal(cookie, 3);
    assert_int_equal(tocsin_wheel_count(wheel), 1);
    assert_int_equal(tocsin_inbox_cancel(inbox, after), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_cancel(inbox, after), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, &report), TOCSIN_OK);
    assert_int_equal(report.cancelled, 1);
    assert_int_equal(report.too_late, 1);
    assert_int_equal(tocsin_wheel_count(wheel), 0);
    assert_int_equal(tocsin_inbox_cancel(inbox, (struct tocsin_timer){0}), TOCSIN_STALE);
    assert_whole(wheel);
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
}

TEST(inbox_answers_full_and_drops_nothing)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = make_inbox(wheel, 5); /* rounded up to 8 */
    struct tocsin_timer ticket = {99};
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(tocsin_inbox_arm(inbox, i, i, &ticket), TOCSIN_OK);
    struct tocsin_timer last = ticket;
    assert_int_equal(tocsin_inbox_arm(inbox, 8, 8, &ticket), TOCSIN_FULL);
    assert_true(ticket.id == last.id);
    assert_int_equal(tocsin_inbox_cancel(inbox, last), TOCSIN_FULL);
    assert_int_equal(tocsin_inbox_drain(inbox, 3, NULL), TOCSIN_MORE);
    assert_int_equal(tocsin_wheel_count(wheel), 3);
    assert_int_equal(tocsin_inbox_arm(inbox, 8, 8, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_count(wheel), 9);
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
}

/* Reserved timers count against the maximum: when the wheel is full the push says
 * so, and goes on as soon as there is room. */
TEST(inbox_of_a_full_wheel_answers_full_and_recovers)
{
    struct tocsin_wheel *wheel = make_wheel(10);
    struct tocsin_why why = {""};
    struct tocsin_inbox *inbox = NULL;
    struct tocsin_inbox_config config = {.capacity = 16};
    assert_int_equal(tocsin_inbox_create(wheel, &config, &inbox, &why), TOCSIN_FULL);
    assert_string_equal(why.text, "the wheel cannot reserve 16 timers");
    inbox = make_inbox(wheel, 8);
    struct tocsin_timer mine[2];
    assert_int_equal(tocsin_wheel_arm(wheel, 100, 0, &mine[0]), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_arm(wheel, 100, 0, &mine[1]), TOCSIN_OK);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(tocsin_inbox_arm(inbox, 50, i, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_arm(inbox, 50, 8, NULL), TOCSIN_FULL);
    assert_int_equal(tocsin_inbox_cancel(inbox, mine[0]), TOCSIN_OK); /* a cancel needs none */
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_count(wheel), 9);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK); /* takes stock again */
    struct tocsin_due due[10];
    size_t count;
    assert_int_equal(tocsin_wheel_take(wheel, 50, 0, due, 10, &count), TOCSIN_OK);
    assert_int_equal(count, 8);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(tocsin_inbox_arm(inbox, 60, i, NULL), TOCSIN_OK);
    assert_whole(wheel);
    tocsin_inbox_destroy(inbox);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* A made-up handle that hits a timer reserved for a push to come does nothing to it. */
TEST(inbox_push_is_not_lost_to_a_made_up_handle)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = make_inbox(wheel, 4);
    for (uint64_t i = 0; i < 8; i++) {
        struct tocsin_timer made_up = {UINT64_C(1) << 32 | i};
        assert_true(tocsin_wheel_cancel(wheel, made_up, NULL) != TOCSIN_OK);
    }
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(tocsin_inbox_arm(inbox, 5, i, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_int_equal(take_all(wheel, 5), 4);
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
}

/* How many arms the inbox takes before it says FULL. */
static uint32_t push_until_full(struct tocsin_inbox *inbox)
{
    uint32_t pushed = 0;
    while (tocsin_inbox_arm(inbox, 100, pushed, NULL) == TOCSIN_OK)
        pushed++;
    return pushed;
}

/* Or a call of the owner would take as long as the queue is wide, with nothing in it. */
TEST(inbox_takes_stock_of_so_many_places_a_call)
{
    enum { PLACES = 16384, A_CALL = 4096 };
    struct tocsin_wheel *wheel = make_wheel(PLACES);
    struct tocsin_inbox *inbox = make_inbox(wheel, PLACES);
    assert_int_equal(push_until_full(inbox), PLACES);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK); /* all timers are pending */
    assert_int_equal(push_until_full(inbox), 0);
    assert_int_equal(tocsin_inbox_drain(inbox, 1, NULL), TOCSIN_OK);
    assert_int_equal(take_all(wheel, 100), PLACES);
    assert_true(tocsin_inbox_sleeps(inbox));
    assert_int_equal(push_until_full(inbox), A_CALL);
    assert_int_equal(tocsin_inbox_drain(inbox, 1, NULL), TOCSIN_MORE);
    assert_int_equal(push_until_full(inbox), A_CALL);
    assert_false(tocsin_inbox_sleeps(inbox));
    assert_int_equal(push_until_full(inbox), A_CALL);
    tocsin_inbox_destroy(inbox);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* The owner drains, lets all fire and goes to sleep: the next push finds a timer. */
TEST(inbox_takes_stock_again_before_the_owner_sleeps)
{
    struct tocsin_wheel *wheel = make_wheel(4);
    struct tocsin_inbox *inbox = make_inbox(wheel, 2);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(tocsin_inbox_arm(inbox, 5, i, NULL), TOCSIN_OK);
        assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    }
    assert_int_equal(tocsin_inbox_arm(inbox, 6, 4, NULL), TOCSIN_FULL);
    assert_int_equal(take_all(wheel, 5), 4);
    assert_true(tocsin_inbox_sleeps(inbox));
    assert_int_equal(tocsin_inbox_arm(inbox, 6, 4, NULL), TOCSIN_OK);
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
}

TEST(inbox_refuses_a_capacity_past_its_limit)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = (void *)1;
    struct tocsin_why why = {""};
    struct tocsin_inbox_config config = {.capacity = TOCSIN_INBOX_CAPACITY_MAX + 1};
    assert_int_equal(tocsin_inbox_create(wheel, &config, &inbox, &why), TOCSIN_INVALID);
    assert_ptr_equal(inbox, (void *)1);
    assert_non_null(strstr(why.text, "capacity is 16777217"));
    tocsin_wheel_destroy(wheel);
}

static void count_wake(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* W-16 for several threads: who sleeps is woken, once. */
TEST(inbox_wakes_the_owner_once_per_sleep)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *inbox = NULL;
    atomic_uint wakes = 0;
    struct tocsin_inbox_config config = {.capacity = 64, .wake = count_wake, .wake_arg = &wakes};
    assert_int_equal(tocsin_inbox_create(wheel, &config, &inbox, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_arm(inbox, 1, 0, NULL), TOCSIN_OK);
    assert_int_equal(wakes, 0); /* nobody sleeps */
    assert_false(tocsin_inbox_sleeps(inbox));
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_true(tocsin_inbox_sleeps(inbox));
    assert_int_equal(tocsin_inbox_arm(inbox, 1, 0, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_arm(inbox, 1, 0, NULL), TOCSIN_OK);
    assert_int_equal(wakes, 1);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_true(tocsin_inbox_sleeps(inbox));
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK); /* woke by itself */
    assert_int_equal(tocsin_inbox_arm(inbox, 1, 0, NULL), TOCSIN_OK);
    assert_int_equal(wakes, 1);
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);
}

/* Several producers that arm, and cancel every fourth of their own, while the owner
 * drains, sleeps and advances on a clock of its own. */
enum { PRODUCERS = 100, TASKS = 100000, EACH = TASKS / PRODUCERS };

struct rush {
    struct tocsin_inbox *inbox;
    struct tocsin_timer tickets[TASKS];
    atomic_uint producers_left;
    bool cancels;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned wakes;
    uint8_t fired[TASKS];
};

struct producer {
    struct rush *rush;
    uint64_t number;
};

static void wake_owner(void *arg)
{
    struct rush *rush = arg;
    pthread_mutex_lock(&rush->lock);
    rush->wakes++;
    pthread_cond_signal(&rush->changed);
    pthread_mutex_unlock(&rush->lock);
}

static void *produce(void *arg)
{
    const struct producer *producer = arg;
    struct rush *rush = producer->rush;
    struct test_random random = {producer->number};
    for (uint64_t i = producer->number * EACH; i < (producer->number + 1) * EACH; i++) {
        uint64_t due = test_random_below(&random, 10000); /* 0 to 10 s */
        if (rush->cancels)
            due++; /* not before the clock moves: the cancel must be in time */
        while (tocsin_inbox_arm(rush->inbox, due, i, &rush->tickets[i]) == TOCSIN_FULL)
            sched_yield();
        if (rush->cancels && i % 4 == 0) {
            while (tocsin_inbox_cancel(rush->inbox, rush->tickets[i]) == TOCSIN_FULL)
                sched_yield();
        }
    }
    if (atomic_fetch_sub(&rush->producers_left, 1) == 1)
        wake_owner(rush);
    return NULL;
}

static void on_due(void *arg, const struct tocsin_due *due)
{
    struct rush *rush = arg;
    assert_true(due->cookie < TASKS);
    rush->fired[due->cookie]++;
}

static void sleep_until_woken(struct rush *rush, unsigned seen)
{
    pthread_mutex_lock(&rush->lock);
    while (rush->wakes == seen && atomic_load(&rush->producers_left) > 0)
        pthread_cond_wait(&rush->changed, &rush->lock);
    pthread_mutex_unlock(&rush->lock);
}

static unsigned wakes_so_far(struct rush *rush)
{
    pthread_mutex_lock(&rush->lock);
    unsigned wakes = rush->wakes;
    pthread_mutex_unlock(&rush->lock);
    return wakes;
}

/* Drain and advance until all have pushed; when a wake-up is lost this hangs, and
 * the test's time limit tells. */
static void own(struct rush *rush, struct tocsin_wheel *wheel, uint64_t until)
{
    uint64_t now = 0;
    while (atomic_load(&rush->producers_left) > 0) {
        unsigned seen = wakes_so_far(rush);
        (void)tocsin_inbox_drain(rush->inbox, 500, NULL);
        now = now < until ? now + 1 : now;
        assert_int_equal(tocsin_wheel_advance(wheel, now, 0, on_due, rush), TOCSIN_OK);
        if (tocsin_inbox_sleeps(rush->inbox))
            sleep_until_woken(rush, seen);
    }
    assert_int_equal(tocsin_inbox_drain(rush->inbox, 0, NULL), TOCSIN_OK);
    assert_whole(wheel);
    assert_int_equal(tocsin_wheel_advance(wheel, 10000, 0, on_due, rush), TOCSIN_OK);
}

static struct rush *run_rush(bool cancels, uint64_t until)
{
    struct rush *rush = calloc(1, sizeof *rush);
    assert_non_null(rush);
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox_config config = {.capacity = 1024, .wake = wake_owner, .wake_arg = rush};
    assert_int_equal(tocsin_inbox_create(wheel, &config, &rush->inbox, NULL), TOCSIN_OK);
    atomic_init(&rush->producers_left, PRODUCERS);
    pthread_mutex_init(&rush->lock, NULL);
    pthread_cond_init(&rush->changed, NULL);
    rush->cancels = cancels;
    static struct producer producers[PRODUCERS];
    static pthread_t threads[PRODUCERS];
    for (uint64_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){rush, i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    own(rush, wheel, until);
    for (size_t i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(tocsin_wheel_count(wheel), 0);
    tocsin_inbox_destroy(rush->inbox);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
    pthread_cond_destroy(&rush->changed);
    pthread_mutex_destroy(&rush->lock);
    return rush;
}

/* W-12, W-20: 100 000 tasks from 100 concurrent producers with 0 to 10 s delays: every
 * single one fires exactly once. The seed tolerates 5 % loss, we tolerate none. */
TEST(inbox_100000_tasks_from_100_producers_fire_exactly_once)
{
    struct rush *rush = run_rush(false, 10000);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(rush->fired[i], 1);
    free(rush);
}

/* W-12: what was cancelled in time never fires; with the clock standing still all
 * cancels are in time. */
TEST(inbox_cancels_of_100_producers_are_never_lost)
{
    struct rush *rush = run_rush(true, 0);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(rush->fired[i], i % 4 == 0 ? 0 : 1);
    free(rush);
}

/* A ticket of one inbox, cancelled through another of the same wheel before it is drained: it
 * does not come out. Its place is good for the next. */
TEST(inbox_cancels_what_is_still_in_another)
{
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_inbox *one = make_inbox(wheel, 4);
    struct tocsin_inbox *other = make_inbox(wheel, 4);
    struct tocsin_inbox_report report;
    struct tocsin_timer ticket = {0};
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(tocsin_inbox_arm(one, 10 + i, 1, &ticket), TOCSIN_OK);
        assert_int_equal(tocsin_inbox_cancel(other, ticket), TOCSIN_OK);
        assert_int_equal(tocsin_inbox_cancel(other, ticket), TOCSIN_OK);
        assert_int_equal(tocsin_inbox_drain(other, 0, &report), TOCSIN_OK);
        assert_int_equal(report.cancelled, 1);
        assert_int_equal(report.too_late, 1);
        assert_whole(wheel);
        assert_int_equal(tocsin_inbox_drain(one, 0, &report), TOCSIN_OK);
        assert_int_equal(tocsin_wheel_count(wheel), 0);
        assert_int_equal(tocsin_wheel_cancel(wheel, ticket, NULL), TOCSIN_STALE);
        assert_int_equal(take_all(wheel, 10 + i), 0);
        assert_whole(wheel);
    }
    assert_int_equal(tocsin_inbox_arm(one, 100, 1, &ticket), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_cancel(other, ticket), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(other, 0, NULL), TOCSIN_OK);
    tocsin_inbox_destroy(one); /* with it in there */
    tocsin_inbox_destroy(other);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* W-13, W-21: a push takes the place of a timer that was cancelled and stayed in its slot. It fires on
 * time, later or earlier, and is its owner's like any other: nothing is left of the inbox's hold. */
TEST(inbox_push_in_the_place_of_a_cancelled_timer)
{
    enum { PLACES = 4 };
    struct tocsin_wheel *wheel = make_wheel(0);
    struct tocsin_timer timers[PLACES];
    for (uint64_t i = 0; i < PLACES; i++)
        assert_int_equal(tocsin_wheel_arm(wheel, 70000, i, &timers[i]), TOCSIN_OK);
    for (uint64_t i = 0; i < PLACES; i++)
        assert_int_equal(tocsin_wheel_cancel(wheel, timers[i], NULL), TOCSIN_OK);
    struct tocsin_inbox *inbox = make_inbox(wheel, PLACES);
    struct tocsin_inbox *other = make_inbox(wheel, PLACES);
    for (uint64_t i = 0; i < PLACES; i++)
        assert_int_equal(tocsin_inbox_arm(inbox, i % 2 == 0 ? 80000 : 300, i, &timers[i]),
                         TOCSIN_OK);
    assert_int_equal(tocsin_inbox_cancel(other, timers[3]), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(other, 0, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_inbox_drain(inbox, 0, NULL), TOCSIN_OK);
    assert_whole(wheel);
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[3], NULL), TOCSIN_STALE);
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[0], NULL), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[0], NULL), TOCSIN_STALE);
    assert_whole(wheel);
    struct tocsin_timer next[2]; /* where these two were */
    struct tocsin_due due;
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(tocsin_wheel_arm(wheel, 90000, 9, &next[i]), TOCSIN_OK);
        assert_int_equal(tocsin_wheel_get(wheel, next[i], &due), TOCSIN_OK);
    }
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[0], NULL), TOCSIN_STALE);
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[3], NULL), TOCSIN_STALE);
    assert_int_equal(take_all(wheel, 299), 0);
    assert_int_equal(take_all(wheel, 300), 1);
    assert_int_equal(take_all(wheel, 79999), 0);
    assert_int_equal(take_all(wheel, 80000), 1);
    assert_int_equal(take_all(wheel, 90000), 2);
    tocsin_inbox_destroy(inbox);
    tocsin_inbox_destroy(other);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}
