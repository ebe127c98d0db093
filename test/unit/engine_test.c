/* SPDX-License-Identifier: MIT */
/* Changes and commits: laws 1, 3, 5 and 8; W-08, W-17, W-18, W-19, W-23. */
#include "support/engine_world.h"

#include <string.h>

static struct world world;

static void begin(void)
{
    world_init(&world);
    world_start(&world);
}

static struct engine_stats stats(void)
{
    struct engine_stats now;
    world_stats(&world, &now);
    return now;
}

/* Law 1, W-17 */
TEST(nothing_is_answered_or_seen_before_it_is_durable)
{
    begin();
    struct wish make = wish_put("a", STORE_NEVER, "one");
    make.event = "made";
    world_change(&world, &make);
    world_turn(&world);
    assert_non_null(world.sim.batch);
    assert_false(make.done);
    assert_string_equal(world.events, "");
    world_assert_is(&world, "a", TOCSIN_NONE, NULL);
    assert_int_equal(stats().records, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_true(make.done);
    assert_int_equal(make.status, TOCSIN_OK);
    assert_string_equal(world.events, "made ");
    world_assert_is(&world, "a", TOCSIN_OK, "one");
    world_release(&world);
}

TEST(a_change_runs_on_the_tip_and_a_get_sees_what_is_committed)
{
    begin();
    uint64_t first = world_make(&world, "a", STORE_NEVER, "one");
    struct wish two = wish_put("a", STORE_NEVER, "two");
    struct wish three = wish_put("a", STORE_NEVER, "three");
    world_change(&world, &two);
    world_settle(&world); /* it was cold: its doc is read first */
    world_assert_is(&world, "a", TOCSIN_OK, "two");
    assert_int_equal(two.rev_seen, first);
    world_make(&world, "a", engine_now_ms(world.engine) + 1000, "warm");
    world_change(&world, &three);
    struct wish four = wish_put("a", STORE_NEVER, "four");
    world_change(&world, &four);
    assert_int_equal(four.rev_seen, three.rev);
    world_assert_is(&world, "a", TOCSIN_OK, "warm");
    world_settle(&world);
    world_assert_is(&world, "a", TOCSIN_OK, "four");
    world_release(&world);
}

/* Law 3 */
TEST(of_changes_that_name_the_same_rev_the_first_to_arrive_wins)
{
    begin();
    uint64_t rev = world_make(&world, "a", STORE_NEVER, "");
    struct wish wishes[5];
    for (int i = 0; i < 5; i++) {
        wishes[i] = wish_put("a", STORE_NEVER, "new");
        wishes[i].when = WISH_IF_REV;
        wishes[i].rev_wanted = rev;
        world_change(&world, &wishes[i]);
    }
    world_settle(&world);
    assert_int_equal(wishes[0].status, TOCSIN_OK);
    for (int i = 1; i < 5; i++) {
        assert_true(wishes[i].done);
        assert_int_equal(wishes[i].status, TOCSIN_CONFLICT);
    }
    world_release(&world);
}

TEST(a_refused_change_is_answered_when_what_it_read_is_durable)
{
    begin();
    struct wish make = wish_put("a", STORE_NEVER, "");
    struct wish again = make;
    struct wish later = make;
    again.when = later.when = WISH_IF_NONE;
    world_change(&world, &make);
    world_change(&world, &again); /* saw the open commit */
    assert_false(again.done);
    world_turn(&world);
    world_change(&world, &later); /* saw the flying one */
    assert_false(again.done || later.done);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_true(again.done && later.done);
    assert_int_equal(again.status, TOCSIN_CONFLICT);
    assert_int_equal(later.status, TOCSIN_CONFLICT);
    assert_null(world.sim.batch);
    assert_int_equal(stats().changes, 1);
    world_release(&world);
}

/* Law 5 */
TEST(who_read_what_was_rolled_back_hears_UNAVAILABLE)
{
    begin();
    struct wish make = wish_put("a", STORE_NEVER, "");
    struct wish flying = make;
    struct wish open = wish_put("a", STORE_NEVER, "two");
    struct wish elsewhere = wish_put("b", STORE_NEVER, "");
    flying.when = WISH_IF_NONE;
    world_change(&world, &make);
    world_turn(&world);
    world_change(&world, &flying);
    world_change(&world, &open);
    world_change(&world, &elsewhere);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    const struct wish *all[] = {&make, &flying, &open, &elsewhere};
    for (size_t i = 0; i < 4; i++) {
        assert_true(all[i]->done);
        assert_int_equal(all[i]->status, TOCSIN_UNAVAILABLE);
    }
    world_settle(&world);
    world_assert_is(&world, "a", TOCSIN_NONE, NULL);
    world_assert_is(&world, "b", TOCSIN_NONE, NULL);
    world_make(&world, "a", STORE_NEVER, "again");
    assert_int_equal(stats().rolled_back, 4);
    world_release(&world);
}

TEST(a_rollback_brings_back_what_was_committed_in_both_commits)
{
    begin();
    int64_t due = engine_now_ms(world.engine) + 1000;
    uint64_t rev = world_make(&world, "a", due, "old");
    world_make(&world, "b", due, "old");
    world_make(&world, "c", due, "old");
    struct wish flying[] = {wish_put("a", STORE_NEVER, "new"), wish_drop("b")};
    struct wish open[] = {wish_drop("a"), wish_put("b", STORE_NEVER, "new"), wish_drop("c"),
                          wish_put("a", STORE_NEVER, "newer")};
    for (size_t i = 0; i < 2; i++)
        world_change(&world, &flying[i]);
    world_turn(&world);
    for (size_t i = 0; i < 4; i++)
        world_change(&world, &open[i]);
    world_check(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    world_check(&world);
    world_assert_is(&world, "a", TOCSIN_OK, "old");
    world_assert_is(&world, "b", TOCSIN_OK, "old");
    world_assert_is(&world, "c", TOCSIN_OK, "old");
    struct wish change = wish_put("a", STORE_NEVER, "next");
    world_change(&world, &change);
    assert_int_equal(change.rev_seen, rev);
    world_pass(&world, 1000);
    world_settle(&world);
    assert_int_equal(world.fired_count, 2); /* b and c; a has no due time any more */
    world_release(&world);
}

/* A full disk: what ends work goes on, the rest tries once a second. */
TEST(while_the_disk_is_full_only_urgent_changes_get_through)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "");
    struct wish first = wish_put("b", STORE_NEVER, "");
    world_change(&world, &first);
    world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_NO_SPACE);
    assert_int_equal(first.status, TOCSIN_NO_SPACE);
    struct wish refused = wish_put("b", STORE_NEVER, "");
    world_change(&world, &refused);
    assert_true(refused.done);
    assert_int_equal(refused.status, TOCSIN_NO_SPACE);
    struct wish ends = wish_drop("a");
    ends.urgent = true;
    world_change(&world, &ends);
    world_turn(&world);
    sim_read_done(&world.sim, world.engine, 0);
    world_turn(&world);
    assert_true(world.sim.batch->urgent);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_int_equal(ends.status, TOCSIN_OK);
    struct wish still = wish_put("b", STORE_NEVER, "");
    world_change(&world, &still); /* the ballast says nothing about room */
    assert_int_equal(still.status, TOCSIN_NO_SPACE);
    world_pass(&world, 1000);
    world_make(&world, "b", STORE_NEVER, "");
    world_make(&world, "c", STORE_NEVER, "");
    world_release(&world);
}

/* W-18 */
TEST(a_rev_is_never_used_again)
{
    begin();
    uint64_t high = world_make(&world, "a", STORE_NEVER, "");
    struct wish lost = wish_put("b", STORE_NEVER, "");
    world_change(&world, &lost);
    world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    uint64_t next = world_make(&world, "b", STORE_NEVER, "");
    assert_true(next > lost.rev && lost.rev > high);
    struct wish drops[] = {wish_drop("a"), wish_drop("b")};
    world_change(&world, &drops[0]);
    world_change(&world, &drops[1]);
    world_settle(&world);
    assert_int_equal(stats().records, 0);
    world_stop(&world);
    world_start(&world);
    assert_true(world_make(&world, "a", STORE_NEVER, "") > next);
    world_release(&world);
}

TEST(one_commit_writes_the_last_version_only_and_all_events)
{
    begin();
    world_make(&world, "a", engine_now_ms(world.engine) + 1000, "");
    uint64_t puts = world.sim.puts;
    struct wish steps[] = {wish_put("a", STORE_NEVER, "1"), wish_put("a", STORE_NEVER, "2"),
                           wish_put("a", STORE_NEVER, "3")};
    const char *events[] = {"one", "two", "three"};
    for (size_t i = 0; i < 3; i++) {
        steps[i].event = events[i];
        world_change(&world, &steps[i]);
    }
    world_turn(&world);
    assert_int_equal(world.sim.batch->put_count, 1);
    assert_int_equal(world.sim.batch->dead_count, 1);
    assert_int_equal(world.sim.batch->event_count, 3);
    world_settle(&world);
    assert_int_equal(world.sim.puts, puts + 1);
    assert_string_equal(world.events, "one two three ");
    world_assert_is(&world, "a", TOCSIN_OK, "3");
    world_release(&world);
}

/* No ABA, law 3. */
static void drop_and_remake(int turns_between, bool settled_between)
{
    begin();
    uint64_t rev = world_make(&world, "a", STORE_NEVER, "old");
    struct wish got;
    world_get(&world, "a", &got);
    world_settle(&world);
    engine_attach(world.engine, got.ref, 7);
    struct wish warm = wish_put("a", engine_now_ms(world.engine) + 1000, "old");
    world_change(&world, &warm);
    world_settle(&world);
    assert_int_equal(engine_attached(world.engine, got.ref), 7);
    struct wish drop = wish_drop("a");
    struct wish make = wish_put("a", STORE_NEVER, "new");
    world_change(&world, &drop);
    for (int i = 0; i < turns_between; i++)
        world_turn(&world);
    if (settled_between)
        world_settle(&world);
    world_change(&world, &make);
    assert_int_equal(make.rev_seen, 0);
    struct wish stale = wish_put("a", STORE_NEVER, "stale");
    stale.when = WISH_IF_REV;
    stale.rev_wanted = rev;
    world_change(&world, &stale);
    assert_int_equal(stale.ref.index, settled_between ? stale.ref.index : 0);
    world_settle(&world);
    assert_int_equal(stale.status, TOCSIN_CONFLICT);
    assert_true(make.rev > rev);
    assert_int_equal(engine_attached(world.engine, got.ref), 0);
    struct engine_head head;
    assert_false(engine_head(world.engine, got.ref, &head));
    struct wish now;
    world_get(&world, "a", &now);
    world_settle(&world);
    assert_int_equal(now.rev, make.rev);
    assert_int_equal(engine_attached(world.engine, now.ref), 0);
    assert_true(engine_head(world.engine, now.ref, &head));
    assert_int_equal(stats().records, 1);
    world_release(&world);
}

TEST(a_record_made_again_after_its_drop_is_another_one)
{
    drop_and_remake(0, true);
}

TEST(a_record_made_again_while_its_drop_flies_is_another_one)
{
    drop_and_remake(1, false);
}

TEST(a_record_made_again_inside_the_commit_of_its_drop_is_another_one)
{
    drop_and_remake(0, false);
}

static enum tocsin_status get_by_ref(void *arg, struct change *change)
{
    struct engine_record record;
    const struct wish *wish = arg;
    return change_get_ref(change, wish->ref, &record);
}

static void keep_status(void *arg, enum tocsin_status status)
{
    struct wish *wish = arg;
    wish->done = true;
    wish->status = status;
}

TEST(a_change_is_not_given_the_new_record_by_the_old_ref)
{
    begin();
    world_make(&world, "a", engine_now_ms(world.engine) + 1000, "old");
    struct wish got;
    world_get(&world, "a", &got);
    assert_true(got.done);
    struct wish drop = wish_drop("a");
    struct wish make = wish_put("a", STORE_NEVER, "new");
    world_change(&world, &drop);
    world_turn(&world);
    world_change(&world, &make);
    engine_change(world.engine, false, get_by_ref, keep_status, &got);
    world_settle(&world);
    assert_int_equal(got.status, TOCSIN_NONE);
    world_release(&world);
}

TEST(a_record_made_and_dropped_inside_one_commit_never_was)
{
    begin();
    struct wish make = wish_put("a", 0, "");
    struct wish drop = wish_drop("a");
    world_change(&world, &make);
    world_change(&world, &drop);
    world_turn(&world);
    assert_int_equal(world.sim.batch->put_count, 0);
    assert_int_equal(world.sim.batch->dead_count, 0);
    world_settle(&world);
    world_pass(&world, 10);
    world_settle(&world);
    assert_int_equal(world.fired_count, 0);
    assert_int_equal(stats().records, 0);
    world_release(&world);
}

static enum tocsin_status put_get_drop(void *arg, struct change *change)
{
    struct wish *wish = arg;
    struct engine_record first;
    struct engine_record second;
    struct change_put *put = &wish->put;
    put->kind = wish->world->kind;
    assert_int_equal(change_get(change, put->kind, put->key, &first), TOCSIN_NONE);
    assert_int_equal(change_put(change, put, NULL), TOCSIN_OK);
    assert_int_equal(change_get(change, put->kind, put->key, &first), TOCSIN_OK);
    put->doc = bytes_of("second");
    assert_int_equal(change_put(change, put, NULL), TOCSIN_OK);
    assert_int_equal(change_get(change, put->kind, put->key, &second), TOCSIN_OK);
    assert_true(bytes_are(first.doc, "first") && bytes_are(second.doc, "second"));
    assert_true(second.rev > first.rev);
    assert_int_equal(change_drop(change, put->kind, put->key), TOCSIN_OK);
    assert_int_equal(change_drop(change, put->kind, put->key), TOCSIN_NONE);
    assert_int_equal(change_get(change, put->kind, put->key, &second), TOCSIN_NONE);
    put->doc = bytes_of("third");
    return wish->drops ? TOCSIN_OK : change_put(change, put, NULL);
}

TEST(a_change_sees_what_it_has_put_and_dropped_itself)
{
    begin();
    struct wish kept = wish_put("a", STORE_NEVER, "first");
    struct wish gone = wish_put("b", STORE_NEVER, "first");
    kept.world = gone.world = &world;
    gone.drops = true;
    engine_change(world.engine, false, put_get_drop, keep_status, &kept);
    engine_change(world.engine, false, put_get_drop, keep_status, &gone);
    world_settle(&world);
    assert_true(kept.done && gone.done);
    world_assert_is(&world, "a", TOCSIN_OK, "third");
    world_assert_is(&world, "b", TOCSIN_NONE, NULL);
    world_release(&world);
}

static void start_another(void *arg, enum tocsin_status status)
{
    struct wish *next = arg;
    assert_int_equal(status, TOCSIN_OK);
    world_change(&world, next);
}

static enum tocsin_status put_p(void *arg, struct change *change)
{
    struct change_put put = {.kind = world.kind, .key = bytes_of("p"), .due_ms = STORE_NEVER};
    (void)arg;
    return change_put(change, &put, NULL);
}

static enum tocsin_status put_p_and_start(void *arg, struct change *change)
{
    struct wish *inner = arg;
    world_change(&world, inner);
    assert_int_equal(inner->runs, 0);
    return put_p(NULL, change);
}

TEST(changes_may_be_started_inside_a_change_and_when_one_is_done)
{
    begin();
    struct wish inner = wish_put("p", STORE_NEVER, "inner");
    struct wish after = wish_put("p", STORE_NEVER, "after");
    engine_change(world.engine, false, put_p_and_start, NULL, &inner);
    engine_change(world.engine, false, put_p, start_another, &after);
    world_settle(&world);
    assert_true(inner.done && after.done && inner.rev_seen > 0);
    assert_true(after.rev > inner.rev);
    world_assert_is(&world, "p", TOCSIN_OK, "after");
    world_release(&world);
}

static enum tocsin_status refuse(void *arg, struct change *change)
{
    (void)arg;
    (void)change;
    return TOCSIN_INVALID;
}

TEST(a_refused_change_that_read_nothing_is_answered_at_once)
{
    begin();
    struct wish wish = {0};
    engine_change(world.engine, false, refuse, keep_status, &wish);
    assert_int_equal(wish.status, TOCSIN_INVALID);
    assert_int_equal(stats().refused, 1);
    assert_int_equal(stats().commits, 0);
    world_release(&world);
}

/* Law 8 */
TEST(past_the_limit_changes_are_refused_as_OVERLOADED)
{
    world_init(&world);
    world.limits.commit_changes = 2;
    world.limits.waiting = 3;
    world_start(&world);
    const char *keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct wish wishes[8];
    for (size_t i = 0; i < 8; i++) {
        wishes[i] = wish_put(keys[i], STORE_NEVER, "");
        world_change(&world, &wishes[i]);
    }
    struct wish urgent = wish_put("u", STORE_NEVER, "");
    urgent.urgent = true;
    world_change(&world, &urgent);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(wishes[i].done, i >= 5);
    assert_int_equal(wishes[7].status, TOCSIN_OVERLOADED);
    world_settle(&world);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(wishes[i].status, TOCSIN_OK);
    assert_int_equal(urgent.status, TOCSIN_OK);
    world_release(&world);
}

TEST(past_the_limit_of_records_a_put_is_FULL)
{
    world_init(&world);
    world.limits.records = 2;
    world_start(&world);
    world_make(&world, "a", STORE_NEVER, "");
    world_make(&world, "b", STORE_NEVER, "");
    struct wish more = wish_put("c", STORE_NEVER, "");
    world_change(&world, &more);
    assert_int_equal(more.status, TOCSIN_FULL);
    world_make(&world, "a", STORE_NEVER, "again");
    struct wish drop = wish_drop("a");
    world_change(&world, &drop);
    world_settle(&world);
    world_make(&world, "c", STORE_NEVER, "");
    world_release(&world);
}

/* Law 10 */
TEST(after_a_failed_sync_nobody_is_answered_and_nothing_comes_due)
{
    begin();
    world_make(&world, "a", engine_now_ms(world.engine) + 10, "");
    struct wish make = wish_put("b", STORE_NEVER, "");
    world_change(&world, &make);
    world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_IO);
    assert_int_equal(world.fatal, TOCSIN_IO);
    assert_false(make.done);
    struct wish late = wish_put("c", STORE_NEVER, "");
    world_change(&world, &late);
    assert_int_equal(late.status, TOCSIN_UNAVAILABLE);
    world_pass(&world, 100);
    assert_int_equal(world.fired_count + world.heads, 0);
    assert_null(world.sim.batch);
    world_release(&world);
}

static enum tocsin_status too_many_events(void *arg, struct change *change)
{
    static char doc[1 << 20];
    for (int i = 0; i < 20; i++)
        change_event(change, world.kind, bytes_of("p"), "big", (struct bytes){doc, sizeof doc});
    return put_p(arg, change);
}

/* Law 3: the events of a change commit with it. */
TEST(a_change_whose_events_have_no_room_is_refused_whole)
{
    begin();
    struct wish wish = {0};
    engine_change(world.engine, false, too_many_events, keep_status, &wish);
    world_settle(&world);
    assert_int_equal(wish.status, TOCSIN_TOO_LARGE);
    world_assert_is(&world, "p", TOCSIN_NONE, NULL);
    assert_int_equal(stats().events, 0);
    world_release(&world);
}

/* W-19: recovery finishes before anything is served, and knows all kinds. */
TEST(a_record_of_an_unknown_kind_stops_the_load)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "");
    world_stop(&world);
    struct engine_options options = {
        .limits = world.limits,
        .clock = clock_of_manual(&world.clock),
        .backend = &world.sim.backend,
    };
    struct tocsin_why why;
    assert_int_equal(engine_create(&options, &world.engine, &why), TOCSIN_OK);
    assert_int_equal(engine_load(world.engine, &world.sim.store, &world.sim.state, &why),
                     TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "'thing'"));
    world_release(&world);
}

TEST(an_engine_can_be_destroyed_in_any_state)
{
    begin();
    world_make(&world, "cold", STORE_NEVER, "");
    world_make(&world, "due", engine_now_ms(world.engine) + 60000, "");
    struct wish flying = wish_put("a", STORE_NEVER, "");
    struct wish open = wish_put("a", STORE_NEVER, "");
    struct wish waits = wish_put("cold", STORE_NEVER, "");
    struct wish gets;
    world_change(&world, &flying);
    world_turn(&world);
    world_change(&world, &open);
    world_change(&world, &waits);
    world_get(&world, "cold", &gets);
    engine_list(world.engine, world.kind, 0, 10, NULL, NULL);
    world_pass(&world, 60000); /* its doc is wanted, too */
    assert_true(world.sim.read_count >= 2);
    sim_read_run(&world.sim, 0);
    sim_read_run(&world.sim, 1);
    world_check(&world);
    world_release(&world);
}
