/* SPDX-License-Identifier: MIT */
/* Which docs are in memory, gets and lists: laws 6, 7 and 8. */
#include "support/engine_world.h"

#include <stdio.h>
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

static int64_t in_ms(int64_t ms)
{
    return engine_now_ms(world.engine) + ms;
}

TEST(a_waiting_record_has_no_doc_in_memory_and_it_is_read_ahead)
{
    begin();
    world_make(&world, "far", in_ms(60000), "far");
    world_make(&world, "never", STORE_NEVER, "never");
    assert_int_equal(stats().docs, 0);
    assert_int_equal(stats().doc_bytes, 0);
    world_make(&world, "near", in_ms(1000), "near");
    assert_int_equal(stats().docs, 1);
    assert_true(stats().doc_bytes > 0);
    world_pass(&world, 1000);
    world_settle(&world);
    assert_int_equal(stats().docs, 0);
    world_pass(&world, 57000); /* two seconds before */
    assert_int_equal(world.sim.read_count, 1);
    world_settle(&world);
    assert_int_equal(stats().docs, 1);
    assert_int_equal(stats().fetched, 1);
    world_pass(&world, 2000);
    assert_int_equal(world.sim.read_count, 0);
    assert_int_equal(world.fired_count, 2);
    world_release(&world);
}

TEST(docs_in_memory_stay_within_their_limit)
{
    world_init(&world);
    world.limits.doc_bytes = 1000;
    world_start(&world);
    char keys[100][8];
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%zu", i);
        world_make(&world, keys[i], in_ms(1000), "a doc of thirty bytes, about so");
        assert_true(stats().doc_bytes <= 1000);
    }
    assert_true(stats().docs > 5);
    world_pass(&world, 1000);
    world_settle(&world);
    assert_int_equal(world.fired_count, 100);
    assert_int_equal(stats().docs, 0);
    world_release(&world);
}

TEST(a_change_of_a_cold_record_is_run_again_and_has_one_effect)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "old");
    struct wish change = wish_put("a", STORE_NEVER, "new");
    change.event = "changed";
    world_change(&world, &change);
    assert_int_equal(change.runs, 1);
    world_settle(&world);
    assert_int_equal(change.runs, 2);
    assert_int_equal(change.status, TOCSIN_OK);
    assert_string_equal(world.events, "changed ");
    assert_int_equal(stats().docs, 0);
    world_release(&world);
}

TEST(those_who_wait_for_one_doc_share_a_read_and_keep_their_order)
{
    begin();
    uint64_t rev = world_make(&world, "a", STORE_NEVER, "old");
    struct wish got[2];
    struct wish changes[3];
    world_get(&world, "a", &got[0]);
    for (size_t i = 0; i < 3; i++) {
        changes[i] = wish_put("a", STORE_NEVER, "new");
        world_change(&world, &changes[i]);
    }
    world_get(&world, "a", &got[1]);
    world_turn(&world);
    assert_int_equal(world.sim.read_count, 1);
    assert_int_equal(stats().waiting, 5);
    sim_read_done(&world.sim, world.engine, 0);
    assert_int_equal(changes[0].rev_seen, rev);
    assert_int_equal(changes[1].rev_seen, changes[0].rev);
    assert_int_equal(changes[2].rev_seen, changes[1].rev);
    assert_string_equal(got[0].doc, "old");
    assert_string_equal(got[1].doc, "old"); /* nothing is durable yet */
    assert_int_equal(stats().fetched, 1);
    world_settle(&world);
    world_release(&world);
}

static enum tocsin_status touch_three(void *arg, struct change *change)
{
    int *done = arg;
    for (const char *key = "abc"; *key != '\0'; key++) {
        struct change_put put = {
            .kind = world.kind, .key = {key, 1}, .home = bytes_of("h"), .due_ms = STORE_NEVER};
        enum tocsin_status status = change_put(change, &put, NULL);
        if (status != TOCSIN_OK)
            return status;
    }
    *done = 1;
    return TOCSIN_OK;
}

/* It has to have all of them at once: what it waited for stays. */
TEST(a_change_of_three_cold_records_is_run_once_for_each_and_ends)
{
    world_init(&world);
    world.limits.doc_bytes = 0;
    world_start(&world);
    world_make(&world, "a", STORE_NEVER, "");
    world_make(&world, "b", STORE_NEVER, "");
    world_make(&world, "c", STORE_NEVER, "");
    int done = 0;
    engine_change(world.engine, false, touch_three, NULL, &done);
    for (int i = 0; i < 3; i++) {
        world_turn(&world);
        assert_int_equal(world.sim.read_count, 1);
        sim_read_done(&world.sim, world.engine, 0);
        world_check(&world);
    }
    assert_true(done);
    world_settle(&world);
    assert_int_equal(stats().docs, 0);
    world_release(&world);
}

/* One of them is dropped, and made anew, while the change waits for the next. */
TEST(a_record_dropped_while_a_change_keeps_its_doc_is_gone)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "");
    world_make(&world, "b", STORE_NEVER, "");
    int done = 0;
    engine_change(world.engine, false, touch_three, NULL, &done);
    world_turn(&world);
    sim_read_done(&world.sim, world.engine, 0); /* a is there, b is asked for */
    struct wish drop = wish_drop("a");
    world_change(&world, &drop);
    world_turn(&world);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    world_check(&world);
    struct wish gone;
    world_get(&world, "a", &gone);
    assert_int_equal(gone.status, TOCSIN_NONE);
    struct wish make = wish_put("a", STORE_NEVER, "new");
    world_change(&world, &make);
    assert_int_equal(make.rev_seen, 0);
    world_settle(&world);
    assert_true(done && make.done);
    world_release(&world);
}

/* Its doc is in memory when it is woken, and may not be later. */
TEST(a_change_that_waited_for_its_doc_runs_also_when_the_commit_is_full)
{
    world_init(&world);
    world.limits.commit_changes = 1;
    world_start(&world);
    world_make(&world, "cold", STORE_NEVER, "");
    struct wish cold = wish_put("cold", STORE_NEVER, "new");
    world_change(&world, &cold);
    world_turn(&world);
    struct wish flying = wish_put("a", STORE_NEVER, "");
    struct wish open = wish_put("b", STORE_NEVER, "");
    world_change(&world, &flying);
    world_turn(&world);
    world_change(&world, &open);
    sim_read_done(&world.sim, world.engine, 0);
    assert_int_equal(cold.runs, 2);
    world_settle(&world);
    assert_int_equal(cold.status, TOCSIN_OK);
    world_release(&world);
}

TEST(too_many_who_wait_for_docs_are_refused)
{
    world_init(&world);
    world.limits.waiting = 2;
    world_start(&world);
    world_make(&world, "a", STORE_NEVER, "");
    world_make(&world, "b", STORE_NEVER, "");
    struct wish gets[3];
    for (size_t i = 0; i < 3; i++)
        world_get(&world, i == 0 ? "a" : "b", &gets[i]);
    assert_int_equal(gets[2].status, TOCSIN_OVERLOADED);
    struct wish change = wish_put("a", STORE_NEVER, "");
    world_change(&world, &change);
    world_settle(&world);
    assert_true(gets[0].done && gets[1].done && change.done);
    assert_int_equal(gets[1].status, TOCSIN_OK);
    world_release(&world);
}

/* ---- damage */

static void get_again(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    int *left = arg;
    (void)record;
    assert_int_equal(status, TOCSIN_DAMAGED);
    if (--*left > 0)
        engine_get(world.engine, world.kind, bytes_of("a"), get_again, left);
}

/* Law 6 */
TEST(a_damaged_doc_is_told_to_all_who_asked_also_to_those_who_ask_again)
{
    begin();
    world.sim.damaged_rev = world_make(&world, "a", in_ms(60000), "");
    struct wish change = wish_put("a", STORE_NEVER, "");
    world_change(&world, &change);
    int left = 3;
    engine_get(world.engine, world.kind, bytes_of("a"), get_again, &left);
    world_settle(&world);
    assert_int_equal(change.status, TOCSIN_DAMAGED);
    assert_int_equal(left, 0);
    assert_int_equal(stats().damaged, 1); /* once, however often it is read */
    assert_int_equal(stats().waiting, 0);
    world_pass(&world, 60000);
    world_settle(&world);
    assert_int_equal(world.fired_count, 0);
    assert_int_equal(stats().records, 1);
    world_make(&world, "b", STORE_NEVER, ""); /* the rest goes on */
    world_release(&world);
}

struct told {
    int count;
    uint64_t rev;
    char why[100];
};

static void on_damage(void *arg, const struct engine_damage *damage)
{
    struct told *told = arg;
    told->count++;
    told->rev = damage->rev;
    (void)snprintf(told->why, sizeof told->why, "%s", damage->why);
}

TEST(a_damaged_record_that_comes_due_is_told)
{
    begin();
    struct told told = {0};
    engine_on_damage(world.engine, on_damage, &told);
    world.sim.damaged_rev = world_make(&world, "a", in_ms(60000), "");
    world_pass(&world, 61000);
    world_settle(&world);
    world_pass(&world, 10000);
    world_settle(&world);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.rev, world.sim.damaged_rev);
    assert_string_equal(told.why, "as the test said");
    world_release(&world);
}

TEST(a_damaged_record_can_be_replaced_and_dropped)
{
    begin();
    for (int drops = 0; drops < 2; drops++) {
        uint64_t rev = world_make(&world, "a", in_ms(60000), "");
        world.sim.damaged_rev = rev;
        struct wish other = wish_put("a", STORE_NEVER, "not this");
        world_change(&world, &other);
        struct wish wish = drops == 1 ? wish_drop("a") : wish_put("a", in_ms(1000), "new");
        wish.mends = true;
        world_change(&world, &wish);
        world_settle(&world);
        assert_int_equal(other.status, TOCSIN_DAMAGED);
        assert_int_equal(wish.status, TOCSIN_OK);
        assert_int_equal(wish.rev_seen, rev);
        world_check(&world);
        world_assert_is(&world, "a", drops == 1 ? TOCSIN_NONE : TOCSIN_OK, "new");
        world_pass(&world, 2000);
        world_settle(&world);
        assert_int_equal(world.fired_count, 1);
    }
    assert_int_equal(stats().records, 0);
    world_stop(&world); /* and nothing of it comes back */
    world_start(&world);
    world_assert_is(&world, "a", TOCSIN_NONE, "");
    world_release(&world);
}

static enum tocsin_status drop_both(void *arg, struct change *change)
{
    (void)arg;
    for (const char *key = "ab"; *key != '\0'; key++) {
        enum tocsin_status status = change_drop(change, world.kind, (struct bytes){key, 1});
        if (status != TOCSIN_OK)
            return status;
    }
    return TOCSIN_OK;
}

static void drop_done(void *arg, enum tocsin_status status)
{
    *(enum tocsin_status *)arg = status;
}

TEST(a_drop_of_a_damaged_record_that_fails_leaves_it_there)
{
    begin();
    enum tocsin_status status = TOCSIN_OK;
    world.sim.damaged_rev = world_make(&world, "a", in_ms(60000), "");
    world_make(&world, "b", in_ms(60000), "b's");
    engine_change(world.engine, false, drop_both, drop_done, &status);
    world_turn(&world);
    while (world.sim.batch == NULL) {
        sim_read_done(&world.sim, world.engine, 0);
        world_turn(&world);
    }
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    world_settle(&world);
    assert_int_equal(status, TOCSIN_UNAVAILABLE);
    world_check(&world);
    world_assert_is(&world, "a", TOCSIN_DAMAGED, "");
    world_assert_is(&world, "b", TOCSIN_OK, "b's");
    world_release(&world);
}

struct names {
    char text[20];
    enum tocsin_status status;
};

static bool name_it(void *arg, enum tocsin_status status, const struct engine_record *record,
                    uint64_t next)
{
    struct names *names = arg;
    (void)next;
    names->status = status;
    if (record != NULL)
        (void)strncat(names->text, record->key.at, record->key.size);
    return true;
}

TEST(a_list_leaves_a_damaged_record_out_and_tells_it_once)
{
    begin();
    struct told told = {0};
    engine_on_damage(world.engine, on_damage, &told);
    world_make(&world, "a", in_ms(60000), "");
    world.sim.damaged_rev = world_make(&world, "b", in_ms(60000), "");
    world_make(&world, "c", in_ms(60000), "");
    for (int i = 0; i < 3; i++) {
        struct names names = {.status = TOCSIN_BUSY};
        engine_list(world.engine, world.kind, 0, 100, name_it, &names);
        world_settle(&world);
        assert_int_equal(names.status, TOCSIN_OK);
        assert_string_equal(names.text, "ac");
        assert_int_equal(told.count, 1);
    }
    world_release(&world);
}

/* ---- reading inside a change */

struct reader {
    struct wish got;
    char doc[WORLD_TEXT_MAX];
};

static void ignore_get(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    (void)arg;
    (void)record;
    assert_int_equal(status, TOCSIN_OK);
}

static enum tocsin_status read_and_get(void *arg, struct change *change)
{
    struct reader *reader = arg;
    struct engine_record record;
    enum tocsin_status status = change_get(change, world.kind, bytes_of("a"), &record);
    if (status != TOCSIN_OK)
        return status;
    for (const char *key = "ab"; *key != '\0'; key++)
        engine_get(world.engine, world.kind, (struct bytes){key, 1}, ignore_get, NULL);
    memcpy(reader->doc, record.doc.at, record.doc.size);
    return TOCSIN_OK;
}

TEST(what_a_change_has_read_stays_while_it_gets_others)
{
    world_init(&world);
    world.limits.doc_bytes = 100; /* for one of the two */
    world_start(&world);
    world_make(&world, "b", in_ms(1000), "the doc of b, which must make room");
    world_make(&world, "a", in_ms(1000), "the doc of a, which is looked at");
    struct reader reader = {0};
    engine_change(world.engine, false, read_and_get, NULL, &reader);
    assert_string_equal(reader.doc, "the doc of a, which is looked at");
    world_settle(&world);
    world_release(&world);
}

/* ---- tags */

TEST(tags_come_back_with_their_records_and_are_given_back)
{
    begin();
    char key[8];
    char tag[16];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(key, sizeof key, "k%d", i % 40);
        (void)snprintf(tag, sizeof tag, "queue-%d", i % 13);
        struct wish wish = wish_put(key, i % 3 == 0 ? in_ms(500) : STORE_NEVER, "");
        wish.put.tag = bytes_of(tag);
        wish.drops = i % 7 == 6;
        world_change(&world, &wish);
        if (i % 4 == 0)
            world_turn(&world);
        if (i % 4 == 2 && world.sim.batch != NULL)
            sim_commit(&world.sim, world.engine, i % 8 == 2 ? TOCSIN_OK : TOCSIN_UNAVAILABLE);
        world_settle(&world); /* recounts them */
    }
    struct wish tagged = wish_put("t", STORE_NEVER, "");
    tagged.put.tag = bytes_of("mine");
    world_change(&world, &tagged);
    world_settle(&world);
    world_stop(&world);
    world_start(&world);
    struct wish got;
    world_get(&world, "t", &got);
    world_settle(&world);
    assert_string_equal(got.tag, "mine");
    world_release(&world);
}

/* ---- lists */

struct listing {
    char keys[256];
    size_t stop_after;
    size_t count;
    bool done;
    uint64_t next;
};

static bool list_one(void *arg, enum tocsin_status status, const struct engine_record *record,
                     uint64_t next)
{
    struct listing *listing = arg;
    assert_int_equal(status, TOCSIN_OK);
    if (record == NULL) {
        listing->done = true;
        listing->next = next;
        return false;
    }
    size_t at = strlen(listing->keys);
    memcpy(listing->keys + at, record->key.at, record->key.size);
    return ++listing->count != listing->stop_after;
}

static void list_all(struct listing *listing, size_t scan)
{
    listing->next = 0;
    do {
        listing->done = false;
        engine_list(world.engine, world.kind, listing->next, scan, list_one, listing);
        while (!listing->done)
            sim_read_done(&world.sim, world.engine, 0);
    } while (listing->next != 0);
}

TEST(a_list_gives_living_records_in_rev_order_page_by_page)
{
    begin();
    for (const char *key = "abcdefgh"; *key != '\0'; key++)
        world_make(&world, (char[]){*key, '\0'}, STORE_NEVER, "");
    world_make(&world, "c", STORE_NEVER, "again");
    struct wish drop = wish_drop("e");
    struct wish open = wish_put("x", STORE_NEVER, "");
    world_change(&world, &drop);
    world_settle(&world);
    world_change(&world, &open);
    for (size_t scan = 1; scan < 12; scan++) {
        struct listing listing = {""};
        list_all(&listing, scan);
        assert_string_equal(listing.keys, "abdfghc");
    }
    struct listing first = {"", .stop_after = 2};
    engine_list(world.engine, world.kind, 0, 100, list_one, &first);
    sim_read_done(&world.sim, world.engine, 0);
    assert_string_equal(first.keys, "ab");
    assert_int_not_equal(first.next, 0);
    struct listing none = {""};
    engine_list(world.engine, world.other_kind, 0, 100, list_one, &none);
    sim_read_done(&world.sim, world.engine, 0);
    assert_true(none.done && none.count == 0);
    world_release(&world);
}

/* b is replaced while the list is on its way: it must be there, under one rev or the other. */
static void list_meanwhile(bool stored_before, bool settled_before)
{
    begin();
    world_make(&world, "a", STORE_NEVER, "");
    world_make(&world, "b", in_ms(1000), "");
    struct listing listing = {""};
    engine_list(world.engine, world.kind, 0, 100, list_one, &listing);
    struct wish change = wish_put("b", STORE_NEVER, "new");
    world_change(&world, &change);
    world_turn(&world);
    if (stored_before)
        sim_store(&world.sim);
    sim_read_run(&world.sim, 0);
    if (settled_before)
        sim_commit(&world.sim, world.engine, TOCSIN_OK);
    sim_read_done(&world.sim, world.engine, 0);
    world_check(&world);
    if (!settled_before)
        sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_true(listing.done);
    if (listing.next != 0) {
        listing.done = false;
        engine_list(world.engine, world.kind, listing.next, 100, list_one, &listing);
        sim_read_done(&world.sim, world.engine, 0);
        assert_true(listing.done && listing.next == 0);
    }
    assert_string_equal(listing.keys, "ab");
    world_release(&world);
}

TEST(a_list_misses_no_record_that_changes_meanwhile)
{
    list_meanwhile(false, false);
    list_meanwhile(false, true);
    list_meanwhile(true, false);
    list_meanwhile(true, true);
}

/* ---- the end of an engine in a process that goes on */

TEST(who_waits_is_told_when_the_engine_is_abandoned)
{
    world_init(&world);
    world.limits.commit_changes = 2;
    world_start(&world);
    world_make(&world, "cold", STORE_NEVER, "cold");
    struct wish wishes[6] = {wish_put("a", STORE_NEVER, "flies"),
                             wish_put("b", STORE_NEVER, "is gathered"),
                             wish_put("cold", STORE_NEVER, "waits for a doc"),
                             wish_put("c", STORE_NEVER, "c"),
                             wish_put("d", STORE_NEVER, "waits"),
                             wish_put("e", STORE_NEVER, "waits")};
    struct wish get = {0};
    struct wish late = wish_put("f", STORE_NEVER, "too late");
    world_change(&world, &wishes[0]);
    world_turn(&world);
    assert_non_null(world.sim.batch);
    for (size_t i = 1; i < 6; i++)
        world_change(&world, &wishes[i]);
    world_get(&world, "cold", &get);
    for (size_t i = 0; i < 6; i++)
        assert_false(wishes[i].done);
    assert_false(get.done);
    engine_abandon(world.engine);
    for (size_t i = 0; i < 6; i++) {
        assert_true(wishes[i].done);
        assert_int_equal(wishes[i].status, TOCSIN_UNAVAILABLE);
    }
    assert_true(get.done);
    assert_int_equal(get.status, TOCSIN_UNAVAILABLE);
    world_change(&world, &late);
    assert_true(late.done);
    assert_int_equal(late.status, TOCSIN_UNAVAILABLE);
    assert_int_equal(world.fatal, TOCSIN_OK);
    world_stop(&world);
    world_start(&world);
    world_assert_is(&world, "cold", TOCSIN_OK, "cold");
    world_assert_is(&world, "d", TOCSIN_NONE, "");
    world_release(&world);
}
