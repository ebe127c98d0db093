/* SPDX-License-Identifier: MIT */
/* Names beside the records of a shared store: they commit with their change, or not at all. */
#include "support/engine_world.h"
#include "support/mirror_book.h"

#include <stdio.h>
#include <string.h>

static struct world world;
static struct mirror_book book;

static void on_store(void *arg, const struct store_batch *batch)
{
    (void)arg;
    mirror_book_take(&book, batch, world.clock.elapsed.ns);
}

static void begin(bool shared)
{
    book = (struct mirror_book){0};
    world_init(&world);
    world.shared = shared;
    world.sim.on_store = on_store;
    world_start(&world);
    assert_int_equal(engine_shared(world.engine), shared);
}

static void name_is(const char *name, const char *wanted)
{
    assert_string_equal(mirror_book_find(&book, name, world.clock.elapsed.ns), wanted);
}

struct mirrored {
    const char *name;
    const char *value; /* NULL: it goes */
    int64_t expire_ms;
    enum tocsin_status answer;
    bool alone; /* without a record */
    bool done;
    enum tocsin_status status;
};

static enum tocsin_status mirror(void *arg, struct change *change)
{
    struct mirrored *wish = arg;
    char name[64];
    char value[64];
    (void)snprintf(name, sizeof name, "%s", wish->name);
    (void)snprintf(value, sizeof value, "%s", wish->value != NULL ? wish->value : "");
    change_mirror(change, bytes_of(name),
                  wish->value != NULL ? bytes_of(value) : (struct bytes){NULL, 0}, wish->expire_ms);
    memset(name, 'x', sizeof name); /* it was copied */
    memset(value, 'x', sizeof value);
    if (wish->answer != TOCSIN_OK || wish->alone)
        return wish->answer;
    return change_put(
        change,
        &(struct change_put){
            .kind = world.kind, .key = bytes_of("r"), .home = bytes_of("r"), .due_ms = STORE_NEVER},
        NULL);
}

static void ended(void *arg, enum tocsin_status status)
{
    struct mirrored *wish = arg;
    wish->done = true;
    wish->status = status;
}

static void change(struct mirrored *wish)
{
    engine_change(world.engine, false, mirror, ended, wish);
}

TEST(a_name_is_there_with_its_change_and_not_before)
{
    begin(true);
    struct mirrored wish = {.name = "n", .value = "one"};
    change(&wish);
    world_turn(&world);
    assert_int_equal(world.sim.batch->mirror_count, 1);
    name_is("n", "");
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    name_is("n", "one");
    struct mirrored gone = {.name = "n"};
    change(&gone);
    world_settle(&world);
    name_is("n", "");
    assert_int_equal(gone.status, TOCSIN_OK);
    struct mirrored brief = {.name = "n", .value = "", .expire_ms = 10, .alone = true};
    struct mirrored after = {.name = "m", .value = "two", .alone = true};
    change(&brief);
    change(&after);
    world_turn(&world);
    assert_int_equal(world.sim.batch->mirror_count, 2);
    assert_non_null(world.sim.batch->mirrors[0].value.at); /* empty, but there */
    assert_int_equal(world.sim.batch->mirrors[0].expire_ms, 10);
    world_settle(&world);
    assert_true(after.done);
    name_is("m", "two");
    assert_int_equal(world.sim.puts, 2); /* those alone put none */
    world_release(&world);
}

TEST(the_last_of_a_name_counts_over_the_changes_of_a_commit)
{
    begin(true);
    struct mirrored first = {.name = "a", .value = "0"};
    struct mirrored wishes[] = {
        {.name = "n", .value = "one"}, {.name = "n"}, {.name = "n", .value = "three"}};
    change(&first);
    world_turn(&world); /* under way: the others gather */
    for (size_t i = 0; i < 3; i++)
        change(&wishes[i]);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_int_equal(world.sim.batch->mirror_count, 3);
    world_settle(&world);
    name_is("n", "three");
    name_is("a", "0");
    world_release(&world);
}

TEST(what_is_refused_or_rolled_back_leaves_no_name)
{
    begin(true);
    struct mirrored refused = {.name = "n", .value = "one", .answer = TOCSIN_CONFLICT};
    change(&refused);
    assert_int_equal(refused.status, TOCSIN_CONFLICT);
    struct mirrored next = {.name = "x", .value = "", .alone = true};
    change(&next);
    world_settle(&world);
    assert_int_equal(book.taken, 1);
    struct mirrored flying = {.name = "n", .value = "two"};
    struct mirrored open = {.name = "m", .value = "three"};
    change(&flying);
    world_turn(&world);
    change(&open);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    assert_int_equal(flying.status, TOCSIN_UNAVAILABLE);
    assert_int_equal(open.status, TOCSIN_UNAVAILABLE);
    struct mirrored after = {.name = "k", .value = "four"};
    change(&after);
    world_settle(&world);
    assert_int_equal(book.taken, 2);
    name_is("k", "four");
    world_release(&world);
}

TEST(a_store_of_ones_own_is_given_no_names)
{
    begin(false);
    struct mirrored wish = {.name = "n", .value = "one"};
    struct mirrored alone = {.name = "n", .value = "one", .alone = true};
    change(&wish);
    world_turn(&world);
    assert_int_equal(world.sim.batch->mirror_count, 0);
    world_settle(&world);
    change(&alone);
    assert_true(alone.done); /* there is nothing to write */
    world_settle(&world);
    assert_int_equal(book.taken, 0);
    world_release(&world);
}

static enum tocsin_status too_many(void *arg, struct change *change)
{
    static char value[1 << 20];
    for (int i = 0; i < 20; i++)
        change_mirror(change, bytes_of("n"), (struct bytes){value, sizeof value}, 0);
    return mirror(arg, change);
}

/* Law 3: a change is not written without its names. */
TEST(a_change_whose_names_have_no_room_is_refused_whole)
{
    begin(true);
    struct mirrored wish = {.name = "n", .value = "one"};
    engine_change(world.engine, false, too_many, ended, &wish);
    world_settle(&world);
    assert_int_equal(wish.status, TOCSIN_TOO_LARGE);
    world_assert_is(&world, "r", TOCSIN_NONE, NULL);
    assert_int_equal(book.taken, 0);
    wish.done = false;
    change(&wish); /* the next is as any other */
    world_settle(&world);
    assert_int_equal(wish.status, TOCSIN_OK);
    name_is("n", "one");
    world_release(&world);
}
