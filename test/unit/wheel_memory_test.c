/* SPDX-License-Identifier: MIT */
/* Memory: a refusal is a status and leaves the wheel whole; what is not needed any
 * more goes back; a stated maximum is kept (W-01). */
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "support/limited_memory.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"
#include <tocsin/inbox.h>

enum { TIMERS = 30000 };

/* Arm, cancel and let fire under a limit. Answers false when create was refused; all
 * else must go on as if nothing had happened but the refused armings. */
static bool live_a_life(struct limited_memory *limited, size_t *ret_refused)
{
    struct tocsin_wheel *wheel = (void *)1;
    struct tocsin_why why = {""};
    struct tocsin_wheel_config config = {.memory = &limited->memory, .max_timers = TIMERS};
    *ret_refused = 0;
    enum tocsin_status status = tocsin_wheel_create(&config, &wheel, &why);
    if (status != TOCSIN_OK) {
        assert_int_equal(status, TOCSIN_NO_MEMORY);
        assert_ptr_equal(wheel, (void *)1);
        assert_non_null(strstr(why.text, "no memory"));
        return false;
    }
    size_t armed = 0;
    for (uint64_t i = 0; i < TIMERS; i++) {
        struct tocsin_timer timer = {77};
        status = tocsin_wheel_arm(wheel, 1 + i * i % 1000003, i, &timer);
        if (status == TOCSIN_OK) {
            armed++;
            if (i % 3 == 0) {
                assert_int_equal(tocsin_wheel_cancel(wheel, timer, NULL), TOCSIN_OK);
                armed--;
            }
            continue;
        }
        assert_int_equal(status, TOCSIN_NO_MEMORY);
        assert_int_equal(timer.id, 77);
        (*ret_refused)++;
        if (*ret_refused < 3)
            assert_whole(wheel);
    }
    assert_int_equal(tocsin_wheel_count(wheel), armed);
    assert_whole(wheel);
    assert_int_equal(take_all(wheel, UINT64_MAX), armed);
    tocsin_wheel_destroy(wheel);
    return true;
}

TEST(wheel_survives_a_refusal_of_the_first_second_and_nth_request)
{
    size_t refused;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        for (int fail_on = 0; fail_on < 2; fail_on++) {
            struct limited_memory limited;
            limited_init(&limited, n, fail_on);
            bool created = live_a_life(&limited, &refused);
            failed = !created || refused > 0;
            assert_int_equal(limited.reserved_bytes, 0);
            if (created && !fail_on && failed)
                assert_int_equal(refused, 1); /* the next try gets what this one did not */
        }
        assert_true(n < 100);
    }
}

TEST(inbox_survives_a_refusal_of_the_first_second_and_nth_request)
{
    for (unsigned n = 1;; n++) {
        struct limited_memory limited;
        struct tocsin_wheel *wheel;
        struct tocsin_inbox *inbox = (void *)1;
        limited_init(&limited, 0, true);
        struct tocsin_wheel_config config = {.memory = &limited.memory};
        assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
        limited.fail_at = limited.requests + n;
        struct tocsin_inbox_config big = {.capacity = 65536};
        struct tocsin_why why = {""};
        enum tocsin_status status = tocsin_inbox_create(wheel, &big, &inbox, &why);
        if (status == TOCSIN_OK)
            tocsin_inbox_destroy(inbox);
        else
            assert_true(status == TOCSIN_NO_MEMORY && inbox == (void *)1 && why.text[0] != '\0');
        assert_whole(wheel);
        struct tocsin_wheel_stats stats;
        tocsin_wheel_describe(wheel, &stats);
        assert_int_equal(stats.pending, 0);
        tocsin_wheel_destroy(wheel);
        assert_int_equal(limited.reserved_bytes, 0);
        if (status == TOCSIN_OK)
            break;
        assert_true(n < 100);
    }
}

TEST(wheel_keeps_its_stated_maximum)
{
    struct tocsin_wheel *wheel;
    struct tocsin_wheel_config config = {.max_timers = 1000};
    struct tocsin_timer timers[1000];
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(tocsin_wheel_arm(wheel, i * 100, i, &timers[i]), TOCSIN_OK);
    struct tocsin_timer more = {5};
    assert_int_equal(tocsin_wheel_arm(wheel, 1, 1, &more), TOCSIN_FULL);
    assert_int_equal(more.id, 5);
    assert_int_equal(tocsin_wheel_rearm(wheel, timers[999], 7), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[0], NULL), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_arm(wheel, 1, 1, &more), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_arm(wheel, 1, 1, NULL), TOCSIN_FULL);
    assert_int_equal(take_all(wheel, UINT64_MAX), 1000);
    tocsin_wheel_destroy(wheel);
}

/* Timers move between levels without ever asking for memory: from the most crowded
 * into the most scattered distribution. */
TEST(wheel_never_needs_memory_to_move_timers)
{
    struct limited_memory limited;
    limited_init(&limited, 0, true);
    struct tocsin_wheel *wheel;
    struct tocsin_wheel_config config = {.memory = &limited.memory};
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    static struct tocsin_timer timers[TIMERS];
    for (uint64_t i = 0; i < TIMERS; i++)
        assert_int_equal(tocsin_wheel_arm(wheel, UINT64_C(1) << 40, i, &timers[i]), TOCSIN_OK);
    limited.fail_at = limited.requests + 1;
    for (uint64_t i = 0; i < TIMERS; i++) {
        uint64_t due = (1 + i % 255) << i % 8 * 8;
        assert_int_equal(tocsin_wheel_rearm(wheel, timers[i], due), TOCSIN_OK);
    }
    assert_whole(wheel);
    assert_int_equal(take_all(wheel, UINT64_MAX), TIMERS);
    assert_int_equal(limited.requests, limited.fail_at - 1);
    tocsin_wheel_destroy(wheel);
}

TEST(wheel_trim_gives_all_back_when_nothing_is_pending)
{
    struct limited_memory limited;
    limited_init(&limited, 0, false);
    struct tocsin_wheel *wheel;
    struct tocsin_wheel_config config = {.memory = &limited.memory};
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    size_t empty = limited.committed_bytes;
    struct tocsin_timer first = {0};
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 300000; i++) {
            struct tocsin_timer timer;
            assert_int_equal(tocsin_wheel_arm(wheel, i, i, &timer), TOCSIN_OK);
            if (round == 0 && i == 0)
                first = timer;
        }
        assert_true(limited.committed_bytes > 8000000);
        assert_int_equal(take_all(wheel, 1000000), 300000);
        tocsin_wheel_trim(wheel);
        assert_true(limited.committed_bytes <= empty);
        assert_whole(wheel);
        /* Nodes come back with generations that no handle has. */
        assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_STALE);
        struct tocsin_timer again;
        assert_int_equal(tocsin_wheel_arm(wheel, UINT64_MAX, 0, &again), TOCSIN_OK);
        assert_int_equal(handle_index(again), handle_index(first));
        assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_STALE);
        assert_int_equal(tocsin_wheel_cancel(wheel, again, NULL), TOCSIN_OK);
    }
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(wheel, &stats);
    assert_int_equal(stats.bytes, limited.committed_bytes);
    tocsin_wheel_destroy(wheel);
}

TEST(wheel_trim_keeps_what_is_pending_and_gives_the_tail_back)
{
    struct limited_memory limited;
    limited_init(&limited, 0, false);
    struct tocsin_wheel *wheel;
    struct tocsin_wheel_config config = {.memory = &limited.memory};
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    enum { MANY = 200000 };
    struct tocsin_timer *timers = malloc(MANY * sizeof *timers);
    assert_non_null(timers);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(tocsin_wheel_arm(wheel, i * 7919 % 10000019, i, &timers[i]), TOCSIN_OK);
    size_t before = limited.committed_bytes;
    for (uint64_t i = 0; i < MANY; i++) {
        if (i >= MANY / 10 || i % 2 == 0)
            assert_int_equal(tocsin_wheel_cancel(wheel, timers[i], NULL), TOCSIN_OK);
    }
    tocsin_wheel_trim(wheel);
    assert_true(limited.committed_bytes < before / 4);
    assert_whole(wheel);
    for (uint64_t i = 1; i < MANY / 10; i += 2) {
        struct tocsin_due due;
        assert_int_equal(tocsin_wheel_get(wheel, timers[i], &due), TOCSIN_OK);
        assert_int_equal(due.cookie, i);
    }
    assert_int_equal(tocsin_wheel_cancel(wheel, timers[MANY - 1], NULL), TOCSIN_STALE);
    assert_int_equal(take_all(wheel, UINT64_MAX), MANY / 20);
    free(timers);
    tocsin_wheel_destroy(wheel);
}

/* A node that is half worn out is not given back: those in its place would start
 * with its wear. */
TEST(wheel_trim_does_not_spread_wear)
{
    struct tocsin_wheel *wheel;
    assert_int_equal(tocsin_wheel_create(NULL, &wheel, NULL), TOCSIN_OK);
    struct tocsin_timer timers[10];
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(tocsin_wheel_arm(wheel, 5, i, &timers[i]), TOCSIN_OK);
    assert_int_equal(take_all(wheel, 5), 10);
    wheel->nodes[4].generation = UINT32_MAX - 3;
    tocsin_wheel_trim(wheel);
    assert_int_equal(wheel->used_nodes, 5);
    assert_true(wheel->first_generation < 20);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* At most 16 bytes of links, 32 in all: 65536 timers more take one huge page more. What a
 * wheel takes beside them does not grow. */
TEST(wheel_needs_32_bytes_a_timer)
{
    struct tocsin_wheel *wheel;
    assert_int_equal(tocsin_wheel_create(NULL, &wheel, NULL), TOCSIN_OK);
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(wheel, &stats);
    assert_true(stats.bytes <= 320 * 1024);
    struct tocsin_wheel_stats empty = stats;
    size_t before = 0;
    for (uint64_t i = 0; i < 16 * 65536; i++) {
        assert_int_equal(tocsin_wheel_arm(wheel, i * 7919 % 60000, i, NULL), TOCSIN_OK);
        if (i % 65536 != 65535)
            continue;
        tocsin_wheel_describe(wheel, &stats);
        if (before > 0)
            assert_int_equal(stats.bytes - before, 32 * 65536);
        before = stats.bytes;
        assert_true(stats.room >= i + 1);
        assert_int_equal(stats.bytes - empty.bytes, 32 * (stats.room - empty.room));
    }
    tocsin_wheel_destroy(wheel);
}
