/* SPDX-License-Identifier: MIT */
#include "support/engine_world.h"

#include <stdio.h>
#include <string.h>

static void copy_text(char *to, struct bytes from)
{
    assert_true(from.size < WORLD_TEXT_MAX);
    if (from.size > 0)
        memcpy(to, from.at, from.size);
    to[from.size] = '\0';
}

/* ---- the kind */

static bool thing_head(void *service, const struct engine_head *head)
{
    struct world *world = service;
    (void)head;
    world->heads++;
    return world->head_takes;
}

static enum tocsin_status thing_due(void *service, struct change *change,
                                    const struct engine_record *record)
{
    struct world *world = service;
    assert_true(world->fired_count < WORLD_LOG_MAX);
    struct world_fired *fired = &world->fired[world->fired_count++];
    copy_text(fired->key, record->key);
    fired->rev = record->rev;
    fired->due_ms = record->due_ms;
    fired->line_ms = engine_now_ms(world->engine);
    fired->wall_ms = engine_wall_ms(world->engine);
    if (world->on_due != NULL)
        return world->on_due(world, change, record);
    return change_drop(change, world->kind, record->key);
}

static void thing_load(void *service, const struct engine_head *head)
{
    struct world *world = service;
    (void)head;
    world->loaded++;
}

static void on_event(void *arg, const struct store_event *event)
{
    struct world *world = arg;
    size_t at = strlen(world->events);
    assert_true(at + event->type.size + 2 < sizeof world->events);
    memcpy(world->events + at, event->type.at, event->type.size);
    memcpy(world->events + at + event->type.size, " ", 2);
}

static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    struct world *world = arg;
    (void)why;
    world->fatal = status;
}

/* ---- life */

void world_init(struct world *world)
{
    *world = (struct world){
        .clock = {.elapsed = {7200 * INT64_C(1000000000)},
                  .wall = {1704067200 * INT64_C(1000000000)}},
        .limits = engine_limits_default,
        .thing = {"thing", thing_head, thing_due, thing_load, world},
        .other = {"other", NULL, NULL, NULL, world},
    };
    world->limits.records = 10000;
    sim_init(&world->sim);
}

void world_start(struct world *world)
{
    struct engine_options options = {
        .limits = world->limits,
        .clock = clock_of_manual(&world->clock),
        .backend = &world->sim.backend,
        .hash_key = {1, 2},
        .shared = world->shared,
        .on_fatal = on_fatal,
        .arg = world,
    };
    options.clock.wall_error_ns = world->wall_error_ns;
    struct tocsin_why why = {""};
    assert_int_equal(engine_create(&options, &world->engine, &why), TOCSIN_OK);
    world->kind = engine_add_kind(world->engine, &world->thing);
    world->other_kind = engine_add_kind(world->engine, &world->other);
    engine_on_event(world->engine, on_event, world);
    if (engine_load(world->engine, &world->sim.store, &world->sim.state, &why) != TOCSIN_OK)
        fail_msg("load: %s", why.text);
}

void world_stop(struct world *world)
{
    engine_destroy(world->engine);
    world->engine = NULL;
    sim_crash(&world->sim);
}

void world_release(struct world *world)
{
    engine_destroy(world->engine);
    sim_release(&world->sim);
}

void world_turn(struct world *world)
{
    struct elapsed_time wake;
    engine_turn(world->engine, &wake);
}

void world_pass(struct world *world, int64_t ms)
{
    clock_manual_advance(&world->clock, ms * WORLD_MS);
    world_turn(world);
}

void world_check(struct world *world)
{
    struct tocsin_why why = {""};
    if (engine_check(world->engine, &why) != TOCSIN_OK)
        fail_msg("the engine: %s", why.text);
}

void world_settle(struct world *world)
{
    sim_finish(&world->sim, world->engine);
    world_check(world);
}

/* ---- wishes */

struct wish wish_put(const char *key, int64_t due_ms, const char *doc)
{
    return (struct wish){
        .put = {
            .key = bytes_of(key), .home = bytes_of(key), .due_ms = due_ms, .doc = bytes_of(doc)}};
}

struct wish wish_drop(const char *key)
{
    return (struct wish){.put = {.key = bytes_of(key)}, .drops = true};
}

static enum tocsin_status run_wish(void *arg, struct change *change)
{
    struct wish *wish = arg;
    struct engine_record record = {0};
    wish->runs++;
    wish->put.kind = wish->world->kind;
    enum tocsin_status status = change_get(change, wish->put.kind, wish->put.key, &record);
    if (status == TOCSIN_BUSY || (status == TOCSIN_DAMAGED && !wish->mends))
        return status;
    wish->rev_seen = status == TOCSIN_NONE ? 0 : record.rev;
    wish->ref = record.ref;
    if (wish->when == WISH_IF_NONE && status == TOCSIN_OK)
        return TOCSIN_CONFLICT;
    if (wish->when == WISH_IF_REV && (status != TOCSIN_OK || record.rev != wish->rev_wanted))
        return TOCSIN_CONFLICT;
    if (wish->event != NULL)
        change_event(change, wish->put.kind, wish->put.key, wish->event, (struct bytes){0});
    if (wish->drops)
        return change_drop(change, wish->put.kind, wish->put.key);
    return change_put(change, &wish->put, &wish->rev);
}

static void wish_done(void *arg, enum tocsin_status status)
{
    struct wish *wish = arg;
    assert_false(wish->done);
    wish->done = true;
    wish->status = status;
}

void world_change(struct world *world, struct wish *wish)
{
    wish->world = world;
    engine_change(world->engine, wish->urgent, run_wish, wish_done, wish);
}

static void wish_got(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct wish *wish = arg;
    wish_done(wish, status);
    if (status != TOCSIN_OK)
        return;
    wish->rev = record->rev;
    wish->ref = record->ref;
    wish->due_ms = record->due_ms;
    copy_text(wish->doc, record->doc);
    copy_text(wish->tag, record->tag);
}

void world_get(struct world *world, const char *key, struct wish *wish)
{
    *wish = (struct wish){.world = world};
    engine_get(world->engine, world->kind, bytes_of(key), wish_got, wish);
}

uint64_t world_make(struct world *world, const char *key, int64_t due_ms, const char *doc)
{
    struct wish wish = wish_put(key, due_ms, doc);
    world_change(world, &wish);
    world_settle(world);
    assert_true(wish.done);
    assert_int_equal(wish.status, TOCSIN_OK);
    return wish.rev;
}

void world_assert_is(struct world *world, const char *key, enum tocsin_status status,
                     const char *doc)
{
    struct wish wish;
    world_get(world, key, &wish);
    struct elapsed_time wake;
    engine_turn(world->engine, &wake);
    while (world->sim.read_count > 0)
        sim_read_done(&world->sim, world->engine, 0);
    assert_true(wish.done);
    assert_int_equal(wish.status, status);
    if (status == TOCSIN_OK)
        assert_string_equal(wish.doc, doc);
}

void world_stats(struct world *world, struct engine_stats *ret_stats)
{
    engine_describe(world->engine, ret_stats);
}
