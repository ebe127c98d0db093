/* SPDX-License-Identifier: MIT */
#include "support/tasks_world.h"

#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static void count(void *arg, enum tasks_count what, uint64_t n)
{
    ((struct tasks_world *)arg)->counts[what] += n;
}

static uint64_t chance(void *arg)
{
    uint64_t *state = &((struct tasks_world *)arg)->chance;
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return *state;
}

static enum tocsin_status create(struct tasks_world *world)
{
    enum tocsin_status status =
        sim_create_engine(&world->sim, &world->clock, false, &world->engine, &world->idem);
    if (status == TOCSIN_OK)
        status = tasks_create(
            &(struct tasks_options){
                .engine = world->engine,
                .idem = world->idem,
                .limits = world->limits,
                .history = TASKS_HISTORY_FAILURES,
                .watch = {.count = count, .arg = world},
                .node = "n1",
                .chance = chance,
                .chance_arg = world,
            },
            &world->tasks);
    return status;
}

enum tocsin_status tasks_world_try_again(struct tasks_world *world)
{
    struct tocsin_why why = {""};
    enum tocsin_status status = create(world);
    if (status == TOCSIN_OK)
        status = engine_load(world->engine, &world->sim.store, &world->sim.state, &why);
    if (status == TOCSIN_OK)
        status = tasks_recover(world->tasks);
    return status;
}

void tasks_world_again(struct tasks_world *world)
{
    assert_int_equal(tasks_world_try_again(world), TOCSIN_OK);
    tasks_world_settle(world);
    assert_false(tasks_recovering(world->tasks));
}

void tasks_world_start(struct tasks_world *world)
{
    *world = (struct tasks_world){
        .clock = SIM_CLOCK,
        .limits = tasks_limits_default,
        .chance = 42,
    };
    world->limits.finished = 100;
    sim_init(&world->sim);
    tasks_world_again(world);
}

void tasks_world_crash(struct tasks_world *world)
{
    tasks_destroy(world->tasks);
    engine_destroy(world->engine);
    idem_destroy(world->idem);
    world->idem = NULL;
    world->tasks = NULL;
    world->engine = NULL;
    sim_crash(&world->sim);
}

static void held(void *arg, enum tocsin_status status)
{
    assert_int_equal(status, TOCSIN_OK);
    *(bool *)arg = true;
}

void tasks_world_stop(struct tasks_world *world)
{
    bool done = false;
    tasks_hold(world->tasks, held, &done);
    tasks_world_settle(world);
    assert_true(done);
    tasks_world_crash(world);
    tasks_world_again(world);
}

void tasks_world_release(struct tasks_world *world)
{
    tasks_world_crash(world);
    sim_release(&world->sim);
}

void tasks_world_turn(struct tasks_world *world)
{
    struct elapsed_time wake;
    engine_turn(world->engine, &wake);
}

void tasks_world_settle(struct tasks_world *world)
{
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    sim_check(world->engine);
}

void tasks_world_pass(struct tasks_world *world, int64_t ms)
{
    clock_manual_advance(&world->clock, ms * MS);
    tasks_world_settle(world);
}

/* ---- calls */

static void call_done(struct tasks_call *call)
{
    struct asked *asked = (struct asked *)call;
    assert_false(asked->done);
    asked->done = true;
    sim_take_answer(&call->reply, asked->text, sizeof asked->text);
}

void asked_init(struct asked *asked, enum tasks_verb verb, const char *id, const char *json)
{
    memset(asked, 0, sizeof *asked);
    asked->call.verb = verb;
    asked->call.id = bytes_of(id);
    asked->call.ttl_ms = 30000;
    asked->call.done = call_done;
    buffer_init(&asked->call.reply.answer, ASKED_TEXT_MAX);
    if (json == NULL)
        return;
    struct tocsin_why why;
    if (task_read(bytes_of(json), NULL, &asked->scratch, &asked->wish, NULL, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    asked->call.wish = &asked->wish;
}

void asked_begin(struct tasks_world *world, struct asked *asked)
{
    tasks_start(world->tasks, &asked->call);
}

enum outcome tasks_world_ask(struct tasks_world *world, enum tasks_verb verb, const char *id,
                             const char *json)
{
    struct asked *asked = malloc(sizeof *asked);
    assert_non_null(asked);
    asked_init(asked, verb, id, json);
    asked_begin(world, asked);
    tasks_world_settle(world);
    assert_true(asked->done);
    enum outcome outcome = asked->call.reply.outcome;
    free(asked);
    return outcome;
}

/* ---- leases */

static uint64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static void text_after(const char *text, const char *key, char *to, size_t room)
{
    const char *at = strstr(text, key);
    const char *start = at == NULL ? "" : at + strlen(key);
    sim_copy(to, room, (struct bytes){start, strcspn(start, "\"")});
}

static void lease_done(struct tasks_lease *lease)
{
    struct leased *leased = (struct leased *)lease;
    assert_false(leased->done);
    leased->done = true;
    sim_copy(leased->text, sizeof leased->text,
             (struct bytes){lease->answer.data, lease->answer.size});
    buffer_release(&lease->answer);
    leased->count = 0;
    for (const char *at = leased->text; (at = strstr(at, "\"run\":")) != NULL; at++)
        leased->count++;
    text_after(leased->text, "\"run\":\"", leased->run, sizeof leased->run);
    text_after(leased->text, "\"task_id\":\"", leased->task_id, sizeof leased->task_id);
    leased->attempt = number_after(leased->text, "\"attempt\":");
    leased->fence = number_after(leased->text, "\"fence\":");
}

void leased_begin(struct tasks_world *world, struct leased *leased, uint32_t max, int64_t wait_ms)
{
    memset(leased, 0, sizeof *leased);
    leased->lease = (struct tasks_lease){
        .queue = bytes_of("default"),
        .max = max,
        .wait_ms = wait_ms,
        .ttl_ms = 30000,
        .done = lease_done,
    };
    buffer_init(&leased->lease.answer, ASKED_TEXT_MAX);
    tasks_lease(world->tasks, &leased->lease);
}

struct leased tasks_world_lease(struct tasks_world *world)
{
    struct leased leased;
    leased_begin(world, &leased, 1, 0);
    tasks_world_settle(world);
    assert_true(leased.done);
    return leased;
}

/* ---- looking */

static char seen[ASKED_TEXT_MAX];
static char status_seen[32];

static void got(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)rev;
    *(bool *)arg = true;
    sim_copy(seen, sizeof seen, outcome == OUTCOME_OK ? json : (struct bytes){0});
}

const char *tasks_world_task(struct tasks_world *world, const char *id)
{
    bool done = false;
    tasks_get(world->tasks, bytes_of(id), got, &done);
    if (!done)
        tasks_world_turn(world); /* asks the disk */
    while (!done && world->sim.read_count > 0)
        sim_read_done(&world->sim, world->engine, 0);
    assert_true(done);
    return seen;
}

const char *tasks_world_status(struct tasks_world *world, const char *id)
{
    text_after(tasks_world_task(world, id), "\"status\":\"", status_seen, sizeof status_seen);
    return status_seen;
}
