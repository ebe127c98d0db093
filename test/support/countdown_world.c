/* SPDX-License-Identifier: MIT */
#include "support/countdown_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell(struct countdown_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size =
        vsnprintf(world->log + world->log_size, sizeof world->log - world->log_size, format, args);
    va_end(args);
    assert_true(size >= 0 && (size_t)size + 1 < sizeof world->log - world->log_size);
    world->log_size += (size_t)size;
    world->log[world->log_size++] = '\n';
    world->log[world->log_size] = '\0';
}

#define WORD(bytes) (int)(bytes).size, (bytes).at

static void on_tick(void *arg, const struct countdown *countdown, int64_t left_ms)
{
    struct countdown_world *world = arg;
    world->early += left_ms <= 0;
    tell(world, "tick %.*s %lld", WORD(countdown->key), (long long)countdown_seconds(left_ms));
}

static void on_changed(void *arg, const struct countdown *countdown, const char *what)
{
    struct countdown_world *world = arg;
    if (strcmp(what, "timeout") == 0)
        world->early += engine_wall_ms(world->engine) < countdown->deadline_ms;
    tell(world, "%s %.*s %.*s", what, WORD(countdown->key), WORD(countdown->version));
}

static enum tocsin_status next_turn(struct countdown_world *world, struct change *change,
                                    const struct countdown *countdown)
{
    char version[300];
    (void)snprintf(version, sizeof version, "%.*s'", WORD(countdown->version));
    return countdown_start(world->countdowns, change,
                           &(struct countdown_wish){
                               .key = countdown->key,
                               .home = countdown->home,
                               .owner = bytes_of("other"),
                               .version = bytes_of(version),
                               .kind = bytes_of("game"),
                               .deadline_ms = engine_now_up_ms(world->engine) + 5000,
                               .basis = STORE_ELAPSED,
                           });
}

static enum tocsin_status game_over(void *arg, struct change *change,
                                    const struct countdown *countdown)
{
    struct countdown_world *world = arg;
    char key[600];
    if (world->game_fails != TOCSIN_OK)
        return world->game_fails;
    (void)snprintf(key, sizeof key, "%.*s %.*s", WORD(countdown->key), WORD(countdown->version));
    struct engine_record record;
    enum tocsin_status status = change_get(change, world->book, bytes_of(key), &record);
    assert_true(status == TOCSIN_NONE || status == TOCSIN_BUSY); /* once for each version */
    if (status == TOCSIN_BUSY)
        return status;
    struct change_put put = {.kind = world->book,
                             .key = bytes_of(key),
                             .home = countdown->home,
                             .due_ms = STORE_NEVER,
                             .doc = bytes_of("x")};
    status = change_put(change, &put, NULL);
    return status == TOCSIN_OK && world->next_turn ? next_turn(world, change, countdown) : status;
}

void countdown_world_load(struct countdown_world *world)
{
    struct tocsin_why why = {""};
    assert_int_equal(
        sim_create_engine(&world->sim, &world->clock, world->shared, &world->engine, &world->idem),
        TOCSIN_OK);
    assert_int_equal(countdowns_create(
                         &(struct countdowns_options){
                             .engine = world->engine,
                             .idem = world->idem,
                             .limits = world->limits,
                             .hash_key = {3, 4},
                             .node = world->node,
                             .holder_ttl_ms = 10000,
                         },
                         &world->countdowns),
                     TOCSIN_OK);
    world->plain =
        (struct countdown_kind){.on_tick = on_tick, .on_changed = on_changed, .service = world};
    world->game = world->plain;
    world->game.name = "game";
    world->game.on_timeout = game_over;
    countdowns_add_kind(world->countdowns, &world->plain);
    countdowns_add_kind(world->countdowns, &world->game);
    world->book_info = (struct engine_kind){.name = "book"};
    world->book = engine_add_kind(world->engine, &world->book_info);
    assert_int_equal(engine_load(world->engine, &world->sim.store, &world->sim.state, &why),
                     TOCSIN_OK);
    assert_int_equal(countdowns_recover(world->countdowns), TOCSIN_OK);
}

void countdown_world_again(struct countdown_world *world)
{
    countdown_world_load(world);
    countdown_world_settle(world);
    assert_false(countdowns_recovering(world->countdowns));
}

static void on_store(void *arg, const struct store_batch *batch)
{
    struct countdown_world *world = arg;
    mirror_book_take(&world->book_of_names, batch, world->clock.elapsed.ns);
    for (size_t i = 0; i < batch->event_count; i++)
        world->timeout_events += bytes_are(batch->events[i].type, "timeout");
}

static void start(struct countdown_world *world, bool shared)
{
    *world = (struct countdown_world){
        .shared = shared,
        .node = "n1",
        .clock = SIM_CLOCK,
        .limits = countdowns_limits_default,
    };
    sim_init(&world->sim);
    world->sim.on_store = on_store;
    world->sim.arg = world;
    countdown_world_again(world);
}

void countdown_world_start(struct countdown_world *world)
{
    start(world, false);
}

void countdown_world_start_shared(struct countdown_world *world)
{
    start(world, true);
}

void countdown_world_crash(struct countdown_world *world)
{
    engine_destroy(world->engine);
    countdowns_destroy(world->countdowns);
    idem_destroy(world->idem);
    world->countdowns = NULL;
    world->engine = NULL;
    sim_crash(&world->sim);
}

void countdown_world_release(struct countdown_world *world)
{
    countdown_world_crash(world);
    sim_release(&world->sim);
}

void countdown_world_turn(struct countdown_world *world)
{
    struct elapsed_time wake;
    engine_turn(world->engine, &wake);
}

void countdown_world_settle(struct countdown_world *world)
{
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    sim_check(world->engine);
}

void countdown_world_pass(struct countdown_world *world, int64_t ms)
{
    sim_pass(&world->sim, world->engine, &world->clock, ms);
}

void countdown_world_told(struct countdown_world *world, const char *wanted)
{
    sim_told(world->log, &world->log_size, wanted);
}

/* ---- calls */

static void call_done(struct countdown_call *call)
{
    struct countdown_asked *asked = (struct countdown_asked *)call;
    assert_false(asked->done);
    asked->done = true;
    sim_take_answer(&call->reply, asked->text, sizeof asked->text);
}

void countdown_ask(struct countdown_world *world, struct countdown_asked *asked,
                   enum countdown_verb verb, const char *key)
{
    asked->done = false;
    asked->call.verb = verb;
    asked->call.key = bytes_of(key);
    asked->call.done = call_done;
    buffer_init(&asked->call.reply.answer, sizeof asked->text);
    countdowns_ask(world->countdowns, &asked->call);
}

enum outcome countdown_world_ask(struct countdown_world *world, enum countdown_verb verb,
                                 const char *key)
{
    struct countdown_asked asked = {.call = {.give_ms = 5000}};
    countdown_ask(world, &asked, verb, key);
    countdown_world_settle(world);
    assert_true(asked.done);
    return asked.call.reply.outcome;
}

enum outcome countdown_world_run(struct countdown_world *world, const char *key,
                                 const char *version, int64_t for_ms)
{
    struct countdown_asked asked = {.call = {.owner = bytes_of("me"),
                                             .version = bytes_of(version),
                                             .kind = bytes_of("event"),
                                             .for_ms = for_ms}};
    countdown_ask(world, &asked, COUNTDOWN_START, key);
    countdown_world_settle(world);
    assert_true(asked.done);
    return asked.call.reply.outcome;
}

struct game_wish {
    struct countdown_world *world;
    struct countdown_wish wish;
};

static enum tocsin_status start_game(void *arg, struct change *change)
{
    struct game_wish *game = arg;
    return countdown_start(game->world->countdowns, change, &game->wish);
}

void countdown_world_game(struct countdown_world *world, const char *key, const char *version,
                          int64_t for_ms)
{
    struct game_wish game = {
        world,
        {
            .key = bytes_of(key),
            .home = bytes_of(key),
            .owner = bytes_of("X"),
            .version = bytes_of(version),
            .kind = bytes_of("game"),
            .deadline_ms = engine_now_up_ms(world->engine) + for_ms,
            .basis = STORE_ELAPSED,
        },
    };
    engine_change(world->engine, false, start_game, NULL, &game);
    countdown_world_settle(world);
}

/* ---- looking */

static char seen[4096];

static void got(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)rev;
    *(bool *)arg = true;
    sim_copy(seen, sizeof seen, outcome == OUTCOME_OK ? json : (struct bytes){0});
}

const char *countdown_world_field(struct countdown_world *world, const char *key, const char *field)
{
    bool done = false;
    countdowns_get(world->countdowns, bytes_of(key), got, &done);
    countdown_world_settle(world);
    assert_true(done);
    return sim_field(seen, field);
}

const char *countdown_world_name(const struct countdown_world *world, const char *name)
{
    return mirror_book_find(&world->book_of_names, name, world->clock.elapsed.ns);
}

static bool count_line(void *arg, const struct store_record *record)
{
    (void)record;
    ++*(size_t *)arg;
    return true;
}

size_t countdown_world_book(struct countdown_world *world)
{
    size_t count = 0;
    uint64_t next;
    struct tocsin_why why;
    (void)world->sim.under->ops->list(world->sim.under, bytes_of("book"), 0, 10000, count_line,
                                      &count, &next, &why);
    return count;
}
