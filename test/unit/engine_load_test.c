/* SPDX-License-Identifier: MIT */
/* Many records at once, as a start finds them: law 8; W-19. */
#include "support/engine_world.h"

#include <stdio.h>
#include <string.h>

static struct world world;

static void begin(void)
{
    world_init(&world);
    world_start(&world);
}

static void make_things(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "thing-%u", i);
        (void)world_make(&world, key, engine_now_ms(world.engine) + 60000 + i, key);
    }
}

/* W-19: whatever was accepted is there after a restart, and comes due. */
TEST(every_record_is_found_by_its_key_after_a_load)
{
    enum { THINGS = 300 };
    begin();
    make_things(THINGS);
    world_stop(&world);
    world_start(&world);
    assert_int_equal(world.loaded, THINGS);
    world_check(&world);
    for (unsigned i = 0; i < THINGS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "thing-%u", i);
        world_assert_is(&world, key, TOCSIN_OK, key);
    }
    for (int i = 0; i < 10; i++) {
        world_pass(&world, 60000);
        world_settle(&world);
    }
    assert_int_equal(world.fired_count, THINGS);
    world_release(&world);
}

/* Law 8: the limits hold at a start too, and what was half loaded can be given up. */
TEST(more_records_than_the_limit_stop_the_load)
{
    begin();
    make_things(300);
    world_stop(&world);
    struct engine_kind thing = {.name = "thing"};
    struct engine_options options = {
        .limits = world.limits,
        .clock = clock_of_manual(&world.clock),
        .backend = &world.sim.backend,
    };
    options.limits.records = 299;
    struct tocsin_why why;
    assert_int_equal(engine_create(&options, &world.engine, &why), TOCSIN_OK);
    (void)engine_add_kind(world.engine, &thing);
    assert_int_equal(engine_load(world.engine, &world.sim.store, &world.sim.state, &why),
                     TOCSIN_FULL);
    assert_non_null(strstr(why.text, "299"));
    world_release(&world);
}

static int64_t five_ms(void *arg)
{
    (void)arg;
    return 5 * WORLD_MS;
}

/* C-24: the wall of who takes over is nearer to the true one than that of who was before him. That
 * is no time that has passed: a delay is not early by it. */
TEST(a_delay_is_not_early_by_what_two_nodes_know_of_the_time)
{
    world_init(&world);
    world.wall_error_ns = five_ms;
    world_start(&world);
    (void)world_make(&world, "a", engine_now_ms(world.engine) + 1000, "");
    world_stop(&world);
    world.clock.wall.ns += 4 * WORLD_MS;
    world.clock.elapsed.ns = 5000 * WORLD_MS; /* of another machine */
    world_start(&world);
    world_pass(&world, 999);
    world_settle(&world);
    assert_int_equal(world.fired_count, 0);
    world_pass(&world, 12); /* and late by no more than both errors */
    world_settle(&world);
    assert_int_equal(world.fired_count, 1);
    world_release(&world);
}
