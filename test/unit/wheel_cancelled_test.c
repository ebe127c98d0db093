/* SPDX-License-Identifier: MIT */
/* A timer that was cancelled is gone at once for everybody, although its node hears of it later; and the place
 * it leaves is not trusted when time has passed it over. */
#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

enum { COOKIE = 77 };

static struct tocsin_wheel *make_wheel(const char *preset, uint64_t now)
{
    struct tocsin_wheel_config config = {.now = now};
    config.levels = tocsin_wheel_preset(preset, &config.level_count);
    struct tocsin_wheel *wheel;
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_OK);
    return wheel;
}

static struct tocsin_timer arm(struct tocsin_wheel *wheel, uint64_t due)
{
    struct tocsin_timer timer;
    assert_int_equal(tocsin_wheel_arm(wheel, due, COOKIE, &timer), TOCSIN_OK);
    return timer;
}

static bool must_not_be_seen(void *arg, const struct tocsin_due *due)
{
    (void)arg;
    (void)due;
    fail_msg("a timer that was cancelled is walked over");
    return false;
}

static void must_not_fire(void *arg, const struct tocsin_due *due)
{
    (void)arg;
    (void)due;
    fail_msg("a timer that was cancelled fires");
}

/* Each of those who may ask, alone, right after the cancel. */
enum asker {
    GET,
    REARM,
    CANCEL,
    COUNT,
    WAKE,
    NEXT_DUE,
    WALK,
    STATS,
    LEVEL,
    COUNTS,
    SLOTS,
    ADVANCE,
    ASKERS
};

static void ask(struct tocsin_wheel *wheel, enum asker asker, struct tocsin_timer gone)
{
    struct tocsin_due due;
    struct tocsin_wheel_stats stats = {0};
    struct tocsin_wheel_level_stats level = {0};
    size_t counts[TOCSIN_WHEEL_LEVELS_MAX + 8] = {0}, sum = 0;
    static uint32_t slots[TOCSIN_WHEEL_SLOTS_MAX];
    uint64_t at;
    switch (asker) {
    case GET:
        assert_int_equal(tocsin_wheel_get(wheel, gone, &due), TOCSIN_STALE);
        break;
    case REARM:
        assert_int_equal(tocsin_wheel_rearm(wheel, gone, 900), TOCSIN_STALE);
        break;
    case CANCEL:
        assert_int_equal(tocsin_wheel_cancel(wheel, gone, NULL), TOCSIN_STALE);
        break;
    case COUNT:
        assert_int_equal(tocsin_wheel_count(wheel), 0);
        break;
    case WAKE:
        assert_false(tocsin_wheel_wake(wheel, &at));
        break;
    case NEXT_DUE:
        assert_false(tocsin_wheel_next_due(wheel, &at));
        break;
    case WALK:
        tocsin_wheel_walk(wheel, must_not_be_seen, NULL);
        break;
    case STATS:
        tocsin_wheel_describe(wheel, &stats);
        assert_int_equal(stats.pending + stats.late + stats.overflow, 0);
        break;
    case LEVEL:
        for (size_t i = 0; tocsin_wheel_describe_level(wheel, i, &level); i++)
            assert_int_equal(level.pending, 0);
        break;
    case COUNTS:
        tocsin_wheel_level_counts(wheel, 0, counts);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            sum += counts[i];
        assert_int_equal(sum, 0);
        break;
    case SLOTS:
        for (size_t i = 0; tocsin_wheel_describe_level(wheel, i, &level); i++) {
            struct tocsin_timer timer = arm(wheel, 1 << 20), again = arm(wheel, 1 << 20);
            tocsin_wheel_cancel(wheel, again, NULL);
            tocsin_wheel_cancel(wheel, timer, NULL);
            assert_true(tocsin_wheel_slot_counts(wheel, i, slots));
            for (size_t k = 0; k < level.slots; k++)
                assert_int_equal(slots[k], 0);
        }
        break;
    default:
        assert_int_equal(tocsin_wheel_advance(wheel, UINT64_C(1) << 40, 0, must_not_fire, NULL),
                         TOCSIN_OK);
        break;
    }
}

/* W-21: wherever it was, on a level where timers stay, on one where they do not, or already late. */
TEST(wheel_cancelled_timer_is_gone_for_everybody)
{
    static const char *const presets[] = {"fine", "default"};
    static const uint64_t dues[] = {40, 600, 70000, 1 << 26, UINT64_C(1) << 36, 5};
    for (size_t preset = 0; preset < 2; preset++) {
        for (size_t i = 0; i < sizeof dues / sizeof dues[0]; i++) {
            for (enum asker asker = GET; asker < ASKERS; asker++) {
                struct tocsin_wheel *wheel = make_wheel(presets[preset], 20);
                struct tocsin_timer timer = arm(wheel, dues[i]);
                uint64_t cookie = 0;
                assert_int_equal(tocsin_wheel_cancel(wheel, timer, &cookie), TOCSIN_OK);
                assert_int_equal(cookie, COOKIE);
                ask(wheel, asker, timer);
                assert_whole(wheel);
                tocsin_wheel_destroy(wheel);
            }
        }
    }
}

/* W-21: nor is it the next that is due, while another one is pending. */
TEST(wheel_cancelled_timer_is_not_the_next_due)
{
    static const uint64_t dues[] = {5, 40, 600, 70000, 1 << 26, UINT64_C(1) << 36};
    for (size_t i = 0; i < sizeof dues / sizeof dues[0]; i++) {
        struct tocsin_wheel *wheel = make_wheel("fine", 20);
        const uint64_t last = UINT64_C(1) << 40;
        uint64_t next;
        (void)arm(wheel, last);
        tocsin_wheel_cancel(wheel, arm(wheel, dues[i]), NULL);
        assert_true(tocsin_wheel_next_due(wheel, &next));
        assert_int_equal(next, last);
        assert_whole(wheel);
        tocsin_wheel_destroy(wheel);
    }
}

/* The last generation of a node is cancelled, and the very next arming must not take it over. */
TEST(wheel_worn_node_is_not_taken_over)
{
    struct tocsin_wheel *wheel = make_wheel("fine", 0);
    struct tocsin_timer first = arm(wheel, 5000);
    wheel->nodes[handle_index(first)].generation = UINT32_MAX;
    first.id |= UINT32_MAX;
    assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_OK);
    struct tocsin_timer next = arm(wheel, 6000);
    assert_true(handle_index(next) != handle_index(first));
    assert_int_equal(tocsin_wheel_cancel(wheel, first, NULL), TOCSIN_STALE);
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(wheel, &stats);
    assert_int_equal(stats.worn, 1);
    assert_int_equal(stats.pending, 1);
    assert_whole(wheel);
    tocsin_wheel_destroy(wheel);
}

/* W-13: cancelled, and passed over while nothing was pending; its slot comes up again at another time than the
 * place remembers. Armed there for so late that it could stay, and then anew for soon: it is on time. */
TEST(wheel_place_passed_over_is_not_trusted)
{
    static const uint64_t delays[] = {9, 600, 70000, 1 << 26};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        for (uint64_t soon = 3; soon < UINT64_C(1) << 34; soon *= 5) {
            for (int again = 0; again < 2;
                 again++) { /* armed anew by rearm, or by cancel and arm */
                struct tocsin_wheel *wheel = make_wheel("fine", 1000);
                tocsin_wheel_cancel(wheel, arm(wheel, 1000 + delays[i]), NULL);
                uint64_t now = 1000 + delays[i] * 3 / 2;
                assert_int_equal(take_all(wheel, now), 0);
                struct tocsin_timer timer = arm(wheel, now + (UINT64_C(1) << 35));
                if (again)
                    tocsin_wheel_cancel(wheel, timer, NULL);
                uint64_t due = now + soon;
                assert_int_equal(again ? tocsin_wheel_arm(wheel, due, 0, &timer)
                                       : tocsin_wheel_rearm(wheel, timer, due),
                                 TOCSIN_OK);
                assert_whole(wheel);
                assert_int_equal(take_all(wheel, due - 1), 0);
                assert_int_equal(take_all(wheel, due), 1);
                assert_whole(wheel);
                tocsin_wheel_destroy(wheel);
            }
        }
    }
}
