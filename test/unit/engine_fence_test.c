/* SPDX-License-Identifier: MIT */
/* Fences: W-23. */
#include "support/engine_world.h"

static struct world world;

/* W-23: an epoch has room for 2^32 fences, here for 8; the next is reserved durably in time. */
TEST(fences_go_on_rising_when_an_epoch_is_used_up)
{
    world_init(&world);
    world.limits.epoch_fences = 8;
    world_start(&world);
    uint64_t fence = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t next = engine_next_fence(world.engine);
        assert_true(next > fence);
        fence = next;
        world_make(&world, "a", STORE_NEVER, ""); /* any commit takes it along */
        if (i % 30 == 29) {
            world_stop(&world);
            world_start(&world);
        }
    }
    world_release(&world);
}

/* W-23 */
TEST(fences_rise_also_across_restarts)
{
    world_init(&world);
    world_start(&world);
    uint64_t fence = 0;
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < 10; i++) {
            uint64_t next = engine_next_fence(world.engine);
            assert_true(next > fence);
            fence = next;
        }
        world_stop(&world);
        world_start(&world);
    }
    assert_true(fence < UINT64_C(1) << 53);
    world_release(&world);
}
