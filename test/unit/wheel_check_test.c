/* SPDX-License-Identifier: MIT */
/* The checker is not blind. */
#include "runner.h"
#include "support/wheel_checks.h"
#include "wheel/core.h"

static struct tocsin_wheel *make_wheel(void)
{
    struct tocsin_wheel *wheel;
    assert_int_equal(tocsin_wheel_create(NULL, &wheel, NULL), TOCSIN_OK);
    return wheel;
}

static struct tocsin_timer arm(struct tocsin_wheel *wheel, uint64_t due, uint64_t cookie)
{
    struct tocsin_timer timer;
    assert_int_equal(tocsin_wheel_arm(wheel, due, cookie, &timer), TOCSIN_OK);
    return timer;
}

static void ignore(void *arg, const struct tocsin_due *due)
{
    (void)arg;
    (void)due;
}

/* Each kind of damage is named. */
TEST(wheel_check_sees_damage)
{
    struct tocsin_wheel *wheel = make_wheel();
    for (uint64_t i = 0; i < 100; i++)
        arm(wheel, 1 + i * 1000, i);
    (void)tocsin_wheel_cancel(wheel, arm(wheel, 5, 5), NULL);
    assert_whole(wheel);
    struct {
        uint32_t *what;
        uint32_t value;
    } damages[] = {
        {&wheel->nodes[3].generation, 0},
        {&wheel->nodes[3].link.next, node_position(wheel, &wheel->nodes[4])},
        {&wheel->nodes[3].link.prev, node_position(wheel, &wheel->nodes[4])},
        {&wheel->nodes[3].link.next, node_position(wheel, &wheel->nodes[3])},
        {&wheel->nodes[3].link.next, node_position(wheel, &wheel->nodes[3]) + 1},
        {&wheel->nodes[3].link.next, 0},
        {&wheel->links[wheel->nodes[50].link.next].prev, 0},
        {&wheel->links[wheel->levels[0].heads + 77].prev, 1},
        {&wheel->links[wheel->levels[0].heads + 77].next, node_position(wheel, &wheel->nodes[50])},
        {&wheel->nodes[3].place, wheel->nodes[3].place ^ 2},
        {&wheel->nodes[3].place, wheel->nodes[3].place ^ 256},
        {&wheel->nodes[3].place, wheel->nodes[3].place ^ PLACE_MOVES},
        {&wheel->nodes[3].generation, wheel->nodes[3].generation ^ 1},
        {&wheel->levels_in_use, wheel->levels_in_use ^ 2},
        {&wheel->free_node, 3},
        {&wheel->free_count, 2},
        {&wheel->used_nodes, 102},
        {&wheel->reserved, 1},
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct tocsin_why why = {""};
        uint32_t before = *damages[i].what;
        *damages[i].what = damages[i].value;
        if (tocsin_wheel_check(wheel, &why) != TOCSIN_CORRUPT || why.text[0] == '\0')
            fail_msg("damage %zu was not seen", i);
        *damages[i].what = before;
        assert_whole(wheel);
    }
    wheel->nodes[10].due -= 5000;
    assert_int_equal(tocsin_wheel_check(wheel, NULL), TOCSIN_CORRUPT);
    wheel->nodes[10].due += 5000;
    assert_whole(wheel);

    uint8_t *lists = slot_lists(wheel, wheel->levels[1].heads + 3 * SUBLISTS);
    *lists ^= 1;
    assert_int_equal(tocsin_wheel_check(wheel, NULL), TOCSIN_CORRUPT);
    *lists ^= 1;
    assert_whole(wheel);

    /* What is left in a slot that is up is known to have to move down. */
    for (uint32_t calls = 0; wheel->to_cascade == 0; calls++) {
        assert_true(calls < 100);
        (void)tocsin_wheel_advance(wheel, 1000000, 1, ignore, NULL);
    }
    assert_whole(wheel);
    wheel->to_cascade = 0;
    assert_int_equal(tocsin_wheel_check(wheel, NULL), TOCSIN_CORRUPT);
    tocsin_wheel_destroy(wheel);
}
