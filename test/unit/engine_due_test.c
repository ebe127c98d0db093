/* SPDX-License-Identifier: MIT */
/* What comes due, and when: law 2; W-08, W-13, W-16, W-18, W-21. */
#include "support/engine_world.h"

static struct world world;

static int64_t now_ms(void)
{
    return engine_now_ms(world.engine);
}

static void begin(void)
{
    world_init(&world);
    world_start(&world);
}

static void step_wall(int64_t ms)
{
    world.clock.wall.ns += ms * WORLD_MS;
    engine_clock_stepped(world.engine);
    world_settle(&world);
}

static void restart(void)
{
    world_stop(&world);
    world_start(&world);
}

static void make_by(const char *key, int64_t due_ms, enum store_basis basis)
{
    struct wish wish = wish_put(key, due_ms, "");
    wish.put.basis = basis;
    world_change(&world, &wish);
    world_settle(&world);
    assert_int_equal(wish.status, TOCSIN_OK);
}

static void make_in(const char *key, int64_t ms)
{
    make_by(key, now_ms() + ms, STORE_ELAPSED);
}

static void pass(int64_t ms)
{
    clock_manual_advance(&world.clock, ms * WORLD_MS);
    world_settle(&world);
}

/* Nothing comes before so much time has passed; then so many have come in all. */
static void comes_after(int64_t ms, size_t count)
{
    size_t before = world.fired_count;
    pass(ms - 1);
    assert_int_equal(world.fired_count, before);
    pass(1);
    assert_int_equal(world.fired_count, count);
}

/* W-13, to the nanosecond: now is rounded down, and a delay's base up. */
TEST(a_record_is_never_early_and_at_most_a_tick_late)
{
    begin();
    clock_manual_advance(&world.clock, 300);
    int64_t started = world.clock.elapsed.ns;
    make_by("a", engine_now_up_ms(world.engine) + 10, STORE_ELAPSED);
    comes_after(11, 1);
    assert_true(world.clock.elapsed.ns - started <= 11 * WORLD_MS);
    world_release(&world);
}

/* W-16 */
TEST(a_turn_says_when_the_next_is_needed)
{
    begin();
    struct elapsed_time wake;
    make_in("far", 3600000);
    make_in("near", 5);
    engine_turn(world.engine, &wake);
    assert_true(wake.ns > world.clock.elapsed.ns);
    int turns = 0;
    while (world.fired_count < 2) {
        assert_true(wake.ns > world.clock.elapsed.ns && wake.ns < INT64_MAX);
        clock_manual_advance(&world.clock, wake.ns - world.clock.elapsed.ns);
        sim_finish(&world.sim, world.engine);
        engine_turn(world.engine, &wake);
        assert_true(++turns < 100);
    }
    assert_int_equal(world.fired[0].line_ms, world.fired[0].due_ms);
    assert_int_equal(world.fired[1].line_ms, world.fired[1].due_ms);
    assert_int_equal(wake.ns, INT64_MAX);
    world_release(&world);
}

/* Law 1: arm after the commit, and only then. */
TEST(a_record_is_not_on_the_wheel_before_it_is_durable)
{
    begin();
    struct wish make = wish_put("a", now_ms(), "");
    world_change(&world, &make);
    world_turn(&world);
    world_pass(&world, 1000);
    assert_int_equal(world.fired_count, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    world_turn(&world);
    assert_int_equal(world.fired_count, 1);
    world_release(&world);
}

/* W-21 */
TEST(a_record_in_change_does_not_come_due_until_that_is_settled)
{
    begin();
    int64_t due = now_ms() + 100;
    make_by("later", due, STORE_ELAPSED);
    make_by("gone", due, STORE_ELAPSED);
    make_by("kept", due, STORE_ELAPSED);
    struct wish later = wish_put("later", due + 5000, "");
    struct wish gone = wish_drop("gone");
    struct wish kept = wish_put("kept", due, "new");
    world_change(&world, &later);
    world_change(&world, &gone);
    world_change(&world, &kept);
    world_turn(&world);
    world_pass(&world, 200);
    world_check(&world);
    assert_int_equal(world.fired_count + world.heads, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    world_settle(&world);
    assert_int_equal(world.fired_count, 1);
    assert_string_equal(world.fired[0].key, "kept");
    pass(5000);
    assert_int_equal(world.fired_count, 2);
    assert_string_equal(world.fired[1].key, "later");
    world_release(&world);
}

TEST(a_record_whose_change_was_rolled_back_comes_due_as_it_was)
{
    begin();
    make_in("a", 100);
    struct wish later = wish_put("a", STORE_NEVER, "");
    struct wish gone = wish_drop("a");
    world_change(&world, &later);
    world_turn(&world);
    world_change(&world, &gone);
    world_pass(&world, 200);
    assert_int_equal(world.fired_count, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    world_settle(&world);
    assert_int_equal(world.fired_count, 1);
    world_release(&world);
}

static enum tocsin_status every_second(struct world *in, struct change *change,
                                       const struct engine_record *record)
{
    struct change_put put = {
        .kind = in->kind,
        .key = record->key,
        .home = record->home,
        .due_ms = record->due_ms + 1000,
        .doc = record->doc,
    };
    return change_put(change, &put, NULL);
}

TEST(a_due_that_arms_itself_anew_has_no_drift_and_survives_restarts)
{
    begin();
    world.on_due = every_second;
    int64_t first = now_ms() + 1000;
    make_by("a", first, STORE_ELAPSED);
    for (int i = 0; i < 30; i++) {
        pass(i % 7 == 0 ? 2300 : 700);
        if (i % 5 == 0)
            restart();
    }
    assert_true(world.fired_count > 20);
    for (size_t i = 0; i < world.fired_count; i++) {
        assert_int_equal(world.fired[i].due_ms, first + (int64_t)i * 1000);
        assert_true(world.fired[i].line_ms >= world.fired[i].due_ms);
    }
    world_release(&world);
}

TEST(a_due_whose_commit_failed_is_tried_again)
{
    begin();
    make_in("a", 10);
    world_pass(&world, 10);
    assert_int_equal(world.fired_count, 1);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    world_settle(&world);
    assert_int_equal(world.fired_count, 1);
    pass(1000);
    assert_int_equal(world.fired_count, 2);
    struct engine_stats stats;
    world_stats(&world, &stats);
    assert_int_equal(stats.records, 0);
    pass(5000);
    assert_int_equal(world.fired_count, 2);
    world_release(&world);
}

/* What the head was enough for is in somebody's hands, and not fired again. */
TEST(a_due_taken_by_its_head_reads_no_doc_and_comes_once)
{
    begin();
    world.head_takes = true;
    world.limits.ahead_ms = 0;
    make_in("a", 10);
    pass(10000);
    assert_int_equal(world.heads, 1);
    assert_int_equal(world.fired_count, 0);
    step_wall(-3600000);
    pass(10000);
    assert_int_equal(world.heads, 1);
    restart();
    world_settle(&world);
    assert_int_equal(world.heads, 2);
    world_release(&world);
}

/* W-08, W-18 */
TEST(after_a_restart_the_overdue_comes_at_once_and_the_done_never)
{
    begin();
    make_in("done", 10);
    pass(10);
    assert_int_equal(world.fired_count, 1);
    make_in("overdue", 1000);
    make_by("wall", engine_wall_ms(world.engine) + 1000, STORE_WALL);
    make_in("future", 100000);
    world_stop(&world);
    world.clock.elapsed.ns = 5; /* another boot */
    world.clock.wall.ns += 2000 * WORLD_MS;
    world.loaded = 0;
    world_start(&world);
    assert_int_equal(world.loaded, 3);
    world_settle(&world);
    assert_int_equal(world.fired_count, 3);
    comes_after(98000, 4);
    world_release(&world);
}

/* ---- two clocks */

TEST(a_step_of_the_wall_moves_wall_dues_and_no_others)
{
    begin();
    make_in("elapsed", 10000);
    make_by("wall", engine_wall_ms(world.engine) + 7200000, STORE_WALL);
    step_wall(7199000);
    assert_int_equal(world.fired_count, 0);
    comes_after(1000, 1);
    assert_string_equal(world.fired[0].key, "wall");
    step_wall(7200000);
    assert_int_equal(world.fired_count, 1);
    pass(9000);
    assert_int_equal(world.fired_count, 2);
    world_release(&world);
}

TEST(a_step_back_makes_nothing_early_also_when_nobody_told)
{
    begin();
    int64_t due = engine_wall_ms(world.engine) + 1000;
    make_by("told", due, STORE_WALL);
    make_by("untold", due, STORE_WALL);
    world.clock.wall.ns -= 400 * WORLD_MS; /* less than what is taken for a step */
    comes_after(1400, 2);
    make_by("again", engine_wall_ms(world.engine) + 1000, STORE_WALL);
    step_wall(-3600000);
    comes_after(3601000, 3);
    world_release(&world);
}

TEST(a_wall_clock_that_drifts_is_followed)
{
    begin();
    int64_t due = engine_wall_ms(world.engine) + 10000000;
    make_by("fast", due, STORE_WALL);
    /* Half a millisecond more in every second: 5 s in all, and no step. */
    for (int i = 0; i < 10000 && world.fired_count == 0; i++) {
        world.clock.wall.ns += WORLD_MS / 2;
        pass(1000);
    }
    assert_int_equal(world.fired_count, 1);
    assert_true(world.fired[0].wall_ms >= due && world.fired[0].wall_ms < due + 2000);
    world_release(&world);
}

TEST(a_due_that_waits_for_its_doc_is_not_early_after_a_step_back)
{
    world_init(&world);
    world.limits.ahead_ms = 0;
    world_start(&world);
    int64_t due = engine_wall_ms(world.engine) + 1000;
    make_by("a", due, STORE_WALL);
    clock_manual_advance(&world.clock, 1000 * WORLD_MS);
    world_turn(&world);
    assert_int_equal(world.heads, 1); /* it is due, and its doc is being read */
    step_wall(-5000);
    assert_int_equal(world.fired_count, 0);
    comes_after(5000, 1);
    world_release(&world);
}

/* One change at a time: a commit flies, another fills the next one, then "a" is replaced, and
 * behind all that waits the due of its older version. */
struct jam {
    struct wish flies;
    struct wish fills;
    struct wish newer;
};

static void jam_make(struct jam *jam, int64_t newer_in_ms)
{
    world_init(&world);
    world.limits.commit_changes = 1;
    world_start(&world);
    make_in("a", 100);
    jam->flies = wish_put("x", STORE_NEVER, "");
    jam->fills = wish_put("y", STORE_NEVER, "");
    jam->newer = wish_put("a", now_ms() + newer_in_ms, "");
    world_change(&world, &jam->flies);
    world_turn(&world);
    world_change(&world, &jam->fills);
    world_change(&world, &jam->newer);
    world_pass(&world, 100);
    assert_int_equal(world.heads, 1);
}

static void jam_clear(struct jam *jam)
{
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    world_turn(&world);
    assert_int_equal(jam->newer.runs, 1);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_true(jam->newer.done);
}

TEST(a_due_that_waits_for_its_turn_does_not_fire_another_version)
{
    struct jam jam;
    jam_make(&jam, 60000);
    jam_clear(&jam);
    world_settle(&world);
    assert_int_equal(world.fired_count, 0);
    pass(60000);
    assert_int_equal(world.fired_count, 1);
    world_release(&world);
}

/* … and arms none that has come due by itself and is in somebody's hands. */
TEST(a_due_left_over_from_an_older_version_makes_nothing_fire_twice)
{
    struct jam jam;
    jam_make(&jam, 50);
    world.head_takes = true;
    jam_clear(&jam);
    for (int i = 0; i < 5; i++)
        pass(1000);
    assert_int_equal(world.heads, 2);
    assert_int_equal(world.fired_count, 0);
    world_release(&world);
}

/* ---- the elapsed line across restarts */

TEST(across_a_restart_the_line_goes_on_by_the_wall_and_never_back)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "");
    int64_t line = now_ms();
    world_stop(&world);
    world.clock.elapsed.ns = 0;
    world.clock.wall.ns += 5000 * WORLD_MS;
    world_start(&world);
    assert_int_equal(now_ms(), line + 5000);
    world_make(&world, "a", STORE_NEVER, "");
    world_stop(&world);
    world.clock.wall.ns -= 3600000 * WORLD_MS;
    world_start(&world);
    assert_int_equal(now_ms(), line + 5000);
    world_make(&world, "a", STORE_NEVER, "");
    pass(10);
    restart();
    assert_int_equal(now_ms(), line + 5010);
    world_release(&world);
}

TEST(a_restart_brings_the_line_not_a_fraction_of_a_millisecond_forward)
{
    begin();
    world.clock.wall.ns += 900000; /* the wall gains 0.9 ms on the line */
    int64_t began = world.clock.elapsed.ns;
    make_by("a", engine_now_up_ms(world.engine) + 100, STORE_ELAPSED);
    restart();
    clock_manual_advance(&world.clock, 100 * WORLD_MS - 1);
    world_settle(&world);
    assert_true(world.clock.elapsed.ns - began < 100 * WORLD_MS);
    assert_int_equal(world.fired_count, 0);
    pass(2);
    assert_int_equal(world.fired_count, 1);
    world_release(&world);
}

TEST(a_step_that_no_change_followed_is_not_taken_for_time_by_a_restart)
{
    begin();
    make_in("a", 600000);
    step_wall(3600000);
    restart();
    world_settle(&world);
    assert_int_equal(world.fired_count, 0);
    comes_after(600000, 1);
    world_release(&world);
}

/* W-04 */
TEST(no_due_time_is_too_far_or_too_long_past)
{
    begin();
    const int64_t dues[] = {STORE_NEVER - 1, STORE_NEVER / 2, INT64_C(1) << 43, INT64_C(1) << 60};
    const char *keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (size_t i = 0; i < 8; i++)
        make_by(keys[i], dues[i / 2], i % 2 == 0 ? STORE_ELAPSED : STORE_WALL);
    struct elapsed_time wake;
    engine_turn(world.engine, &wake);
    assert_true(wake.ns > world.clock.elapsed.ns);
    step_wall(-86400000);
    step_wall(2 * 86400000);
    pass(86400000);
    assert_int_equal(world.fired_count, 0);
    make_by("p", INT64_MIN, STORE_ELAPSED);
    make_by("q", INT64_MIN, STORE_WALL);
    make_by("r", -1, STORE_ELAPSED);
    pass(1);
    assert_int_equal(world.fired_count, 3);
    restart();
    pass(1000);
    assert_int_equal(world.fired_count, 3);
    world_release(&world);
}

/* ---- volatile timers */

struct bell {
    struct engine_timer timer;
    int rung;
    bool again;
};

static void ring(void *arg)
{
    struct bell *bell = arg;
    bell->rung++;
    if (bell->again)
        (void)engine_timer_arm(world.engine, &bell->timer, now_ms() + 10);
}

static void arm(struct bell *bell, int64_t ms)
{
    assert_int_equal(engine_timer_arm(world.engine, &bell->timer, now_ms() + ms), TOCSIN_OK);
}

TEST(a_volatile_timer_rings_once_moves_and_can_be_cancelled)
{
    begin();
    struct bell bells[3] = {
        {.timer = {.fn = ring}}, {.timer = {.fn = ring}}, {.timer = {.fn = ring}}};
    for (size_t i = 0; i < 3; i++) {
        bells[i].timer.arg = &bells[i];
        arm(&bells[i], 50);
    }
    arm(&bells[1], 200);
    engine_timer_cancel(world.engine, &bells[2].timer);
    engine_timer_cancel(world.engine, &bells[2].timer);
    bells[0].again = true;
    struct engine_stats stats;
    world_stats(&world, &stats);
    assert_int_equal(stats.armed, 0); /* they are no records */
    pass(49);
    assert_int_equal(bells[0].rung, 0);
    for (int i = 0; i < 10; i++)
        pass(10);
    assert_true(bells[0].rung >= 9);
    assert_int_equal(bells[1].rung, 0);
    pass(100);
    assert_int_equal(bells[1].rung, 1);
    assert_int_equal(bells[2].rung, 0);
    world_release(&world);
}
