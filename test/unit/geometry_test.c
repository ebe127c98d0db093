/* SPDX-License-Identifier: MIT */
/* W-02: the geometry is data; four presets, any valid list, clear refusals. */
#include <string.h>

#include "runner.h"
#include "wheel/core.h"

TEST(geometry_presets_are_those_of_the_requirements)
{
    static const struct {
        const char *name;
        size_t count;
        struct tocsin_wheel_level first, last;
    } expected[] = {
        {"default", 5, {10, 100}, {24 * 3600 * 1000, 30}},
        {"game", 3, {10, 100}, {1000, 300}},
        {"order", 4, {1000, 60}, {24 * 3600 * 1000, 30}},
        {"fine", 8, {1, 256}, {UINT64_C(1) << 56, 256}},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        size_t count = 0;
        const struct tocsin_wheel_level *levels = tocsin_wheel_preset(expected[i].name, &count);
        assert_non_null(levels);
        assert_int_equal(count, expected[i].count);
        assert_true(levels[0].tick == expected[i].first.tick);
        assert_true(levels[0].slots == expected[i].first.slots);
        assert_true(levels[count - 1].tick == expected[i].last.tick);
        assert_true(levels[count - 1].slots == expected[i].last.slots);
        assert_int_equal(tocsin_wheel_valid(levels, count, NULL), TOCSIN_OK);
    }
    size_t names = 0;
    while (tocsin_wheel_preset_name(names) != NULL) {
        size_t count;
        assert_non_null(tocsin_wheel_preset(tocsin_wheel_preset_name(names++), &count));
    }
    assert_int_equal(names, sizeof expected / sizeof expected[0]);
    size_t untouched = 5;
    assert_null(tocsin_wheel_preset("coarse", &untouched));
    assert_int_equal(untouched, 5);
}

static void assert_refused(const struct tocsin_wheel_level *levels, size_t count, const char *why)
{
    struct tocsin_why said = {""};
    assert_int_equal(tocsin_wheel_valid(levels, count, &said), TOCSIN_INVALID);
    assert_string_equal(said.text, why);
    struct tocsin_wheel *wheel = (void *)1;
    struct tocsin_wheel_config config = {.levels = levels, .level_count = count};
    if (levels == NULL && count == 0)
        return; /* in a configuration that asks for "fine" */
    assert_int_equal(tocsin_wheel_create(&config, &wheel, &said), TOCSIN_INVALID);
    assert_string_equal(said.text, why);
    assert_ptr_equal(wheel, (void *)1);
    assert_int_equal(tocsin_wheel_create(&config, &wheel, NULL), TOCSIN_INVALID);
}

TEST(geometry_that_is_not_valid_is_refused_with_the_reason)
{
    struct tocsin_wheel_level levels[17] = {{10, 100}, {25, 60}};
    assert_refused(levels, 2, "level 1: its tick 25 is not a multiple of the tick below, 10");
    levels[1] = (struct tocsin_wheel_level){2000, 60};
    assert_refused(levels, 2,
                   "level 1: its tick 2000 is more than the range of the level below, 1000 "
                   "(10 x 100)");
    levels[1] = (struct tocsin_wheel_level){5, 60};
    assert_refused(levels, 2, "level 1: its tick 5 is not a multiple of the tick below, 10");
    levels[1] = (struct tocsin_wheel_level){1000, 0};
    assert_refused(levels, 2, "level 1: 0 slots, allowed are 1 to 65536");
    levels[1] = (struct tocsin_wheel_level){1000, 65537};
    assert_refused(levels, 2, "level 1: 65537 slots, allowed are 1 to 65536");
    levels[0].tick = 0;
    assert_refused(levels, 2, "level 0: its tick is 0, at least 1 is needed");
    assert_refused(levels, 0, "0 levels, allowed are 1 to 16");
    assert_refused(levels, 17, "17 levels, allowed are 1 to 16");
    assert_refused(NULL, 3, "3 levels at NULL, allowed are 1 to 16");
    assert_refused(NULL, 0, "0 levels at NULL, allowed are 1 to 16");
}

TEST(wheel_refuses_too_many_timers_with_the_reason)
{
    struct tocsin_why why = {""};
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_wheel_config config = {.max_timers = TOCSIN_WHEEL_TIMERS_MAX + 1};
    assert_int_equal(tocsin_wheel_create(&config, &wheel, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "max_timers is 1000000001"));
    tocsin_wheel_destroy(wheel);
}

/* Links have 32 bits: the most timers beside the most slots, and the last has a position. */
TEST(wheel_holds_the_most_timers_in_the_largest_geometry)
{
    struct tocsin_wheel_level levels[TOCSIN_WHEEL_LEVELS_MAX];
    for (size_t i = 0; i < TOCSIN_WHEEL_LEVELS_MAX; i++)
        levels[i] = (struct tocsin_wheel_level){UINT64_C(1) << 3 * i, TOCSIN_WHEEL_SLOTS_MAX};
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_why why = {""};
    struct tocsin_wheel_config config = {.levels = levels, .level_count = TOCSIN_WHEEL_LEVELS_MAX};
    config.max_timers = TOCSIN_WHEEL_TIMERS_MAX;
    assert_int_equal(tocsin_wheel_create(&config, &wheel, &why), TOCSIN_OK);
    const struct node *last = &wheel->nodes[TOCSIN_WHEEL_TIMERS_MAX + NODE_SPARE - 1];
    assert_true(node_position(wheel, last) > node_position(wheel, wheel->nodes));
    assert_ptr_equal(node_at(wheel, node_position(wheel, last)), last);
    assert_int_equal(tocsin_wheel_arm(wheel, UINT64_MAX, 1, NULL), TOCSIN_OK);
    assert_int_equal(tocsin_wheel_arm(wheel, 5, 2, NULL), TOCSIN_OK);
    uint64_t due;
    assert_true(tocsin_wheel_next_due(wheel, &due));
    assert_int_equal(due, 5);
    tocsin_wheel_destroy(wheel);
}

/* W-04: whatever was asked for, the levels added reach the end of 64 bits. */
TEST(geometry_is_completed_to_the_end_of_time)
{
    struct test_random random = {test_seed()};
    for (int round = 0; round < 20000; round++) {
        struct tocsin_wheel_level levels[TOCSIN_WHEEL_LEVELS_MAX];
        size_t count = 1 + test_random_below(&random, TOCSIN_WHEEL_LEVELS_MAX);
        levels[0].tick = 1 + (test_random_next(&random) >> test_random_below(&random, 64)) / 2;
        for (size_t i = 0; i < count; i++) {
            levels[i].slots = 1 + (uint32_t)(test_random_below(&random, TOCSIN_WHEEL_SLOTS_MAX) >>
                                             test_random_below(&random, 17));
            if (i == 0)
                continue;
            uint64_t times = 1 + test_random_below(&random, levels[i - 1].slots);
            if (__builtin_mul_overflow(levels[i - 1].tick, times, &levels[i].tick))
                levels[i].tick = levels[i - 1].tick;
        }
        assert_int_equal(tocsin_wheel_valid(levels, count, NULL), TOCSIN_OK);
        struct geometry geometry;
        geometry_complete(&geometry, levels, count);
        assert_true(geometry.count <= GEOMETRY_LEVELS_MAX && geometry.asked == count);
        const struct tocsin_wheel_level *top = &geometry.levels[geometry.count - 1];
        uint64_t last = UINT64_MAX / geometry.base + (UINT64_MAX % geometry.base != 0);
        assert_true(last / top->tick < top->slots);
        for (uint32_t i = 1; i < geometry.count; i++) {
            const struct tocsin_wheel_level *below = &geometry.levels[i - 1];
            assert_true(geometry.levels[i].tick % below->tick == 0);
            assert_true(geometry.levels[i].tick / below->tick <= below->slots);
        }
    }
}

/* Empty slots cost nothing: the next occupied one is found over any gap. */
TEST(occupancy_finds_what_a_plain_search_finds)
{
    struct test_random random = {test_seed()};
    static uint64_t room[2000];
    static bool plain[TOCSIN_WHEEL_SLOTS_MAX];
    for (int round = 0; round < 200; round++) {
        uint32_t slots = 1 + (uint32_t)(test_random_below(&random, TOCSIN_WHEEL_SLOTS_MAX) >>
                                        test_random_below(&random, 17));
        struct occupancy occupancy;
        assert_true(occupancy_room(slots) <= 2000);
        memset(room, 0, sizeof room);
        memset(plain, 0, sizeof plain);
        occupancy_init(&occupancy, slots, room);
        for (int i = 0; i < 50; i++) {
            uint32_t slot = (uint32_t)test_random_below(&random, slots);
            plain[slot] = !plain[slot];
            if (plain[slot])
                occupancy_set(&occupancy, slot);
            else
                occupancy_clear(&occupancy, slot);
            uint32_t from = (uint32_t)test_random_below(&random, slots + 1);
            uint32_t next = from;
            while (next < slots && !plain[next])
                next++;
            assert_int_equal(occupancy_next(&occupancy, from), next);
            assert_int_equal(occupancy_has(&occupancy, slot), plain[slot]);
        }
    }
}
