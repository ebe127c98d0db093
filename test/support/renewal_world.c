/* SPDX-License-Identifier: MIT */
#include "support/renewal_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/renewal/renewals_inside.h"

static void told(void *arg, struct bytes id, enum renewal_state state, const char *why)
{
    struct renewal_world *world = arg;
    int size = snprintf(world->log + world->log_size, sizeof world->log - world->log_size,
                        "%s %.*s: %s\n", renewal_state_names[state], (int)id.size, id.at, why);
    assert_true(size > 0);
    if ((size_t)size < sizeof world->log - world->log_size)
        world->log_size += (size_t)size;
}

static void rounded(void *arg, uint64_t good, uint64_t bad, int64_t late_ns, int64_t took_ns)
{
    struct renewal_world *world = arg;
    (void)good;
    (void)bad;
    assert_true(late_ns >= 0 && took_ns >= late_ns);
    world->rounded++;
}

static uint64_t chance(void *arg)
{
    return test_random_next(arg);
}

/* ---- the spy */

static struct renewal_world *spied; /* jobs do not say whose they are */

static void spy_done(struct key_job *job)
{
    struct renewal_world *world = spied;
    size_t i = 0;
    while (i < world->job_count && world->jobs[i].job != job)
        i++;
    assert_true(i < world->job_count); /* once */
    job->done = world->jobs[i].done;
    world->job_count--;
    memmove(world->jobs + i, world->jobs + i + 1, (world->job_count - i) * sizeof *world->jobs);
    job->done(job);
}

static void spy_give(void *self, struct key_job *job)
{
    struct renewal_world *world = self;
    assert_true(world->job_count < SPY_JOBS_MAX);
    world->jobs[world->job_count++] = (struct spied_job){job, job->done, true};
    job->done = spy_done;
    if (world->job_count > world->most_jobs)
        world->most_jobs = world->job_count;
    world->given++;
    world->given_of[job->verb]++;
    if (job->verb != KEY_EXPIRE)
        return;
    assert_true(job->ttl_ms >= 1 && job->count >= 1);
    world->keys += job->count;
    if (job->count > world->largest)
        world->largest = job->count;
    if (job->ttl_ms < world->least_ttl_ms)
        world->least_ttl_ms = job->ttl_ms;
    world->last_ttl_ms = job->ttl_ms;
    if (world->on_expire != NULL)
        world->on_expire(world->on_expire_arg, job);
}

bool renewal_world_let(struct renewal_world *world, size_t count)
{
    for (; count > 0; count--) {
        size_t i = 0;
        while (i < world->job_count && !world->jobs[i].held)
            i++;
        if (i == world->job_count)
            return false;
        world->jobs[i].held = false;
        world->under.give(world->under.self, world->jobs[i].job);
        world->under.flush(world->under.self);
    }
    return true;
}

static void spy_flush(void *self)
{
    struct renewal_world *world = self;
    if (world->hold || world->letting_go)
        return;
    world->letting_go = true;
    while (renewal_world_let(world, 1))
        continue;
    world->letting_go = false;
}

void renewal_world_hold(struct renewal_world *world, bool hold)
{
    world->hold = hold;
    spy_flush(world);
}

static bool spy_reached(void *self)
{
    struct renewal_world *world = self;
    return world->under.reached(world->under.self);
}

static void spy_close(void *self, uint32_t wait_ms)
{
    struct renewal_world *world = self;
    world->hold = false;
    mock_client_mood(world->mock, MOCK_HANGS); /* nothing that is left is done */
    spy_flush(world);
    world->under.close(world->under.self, wait_ms);
    assert_int_equal(world->job_count, 0);
}

/* ---- life */

void renewal_world_again(struct renewal_world *world)
{
    struct tocsin_why why = {""};
    spied = world;
    assert_int_equal(
        sim_create_engine(&world->sim, &world->clock, false, &world->engine, &world->idem),
        TOCSIN_OK);
    struct renewals_options options = {
        .engine = world->engine,
        .idem = world->idem,
        .limits = world->limits,
        .defaults = world->defaults,
        .beats = {.type = world->beats, .tick_ms = world->tick_ms, .slots = 512},
        .watch = {told, rounded, world},
        .hash_key = {3, 4},
        .chance = chance,
        .chance_arg = &world->chance,
    };
    assert_int_equal(renewals_create(&options, &world->renewals, &why), TOCSIN_OK);
    if (world->mock == NULL)
        assert_int_equal(mock_client_create(world->engine, &world->mock), TOCSIN_OK);
    mock_client_move(world->mock, world->engine);
    world->under = mock_client_port(world->mock);
    world->spy = (struct key_client){spy_give, spy_flush, spy_reached, spy_close, world};
    if (!world->no_client)
        assert_int_equal(renewals_add_client(world->renewals, "default", &world->spy), TOCSIN_OK);
    assert_int_equal(engine_load(world->engine, &world->sim.store, &world->sim.state, &why),
                     TOCSIN_OK);
    assert_int_equal(renewals_recover(world->renewals), TOCSIN_OK);
}

void renewal_world_init(struct renewal_world *world, enum beats_type beats)
{
    *world = (struct renewal_world){
        .clock = SIM_CLOCK,
        .limits = renewals_limits_default,
        .defaults = {.ttl_ms = 300000, .every_ms = 30000, .least_every_ms = 100},
        .beats = beats,
        .tick_ms = 100,
        .least_ttl_ms = INT64_MAX,
    };
    sim_init(&world->sim);
}

void renewal_world_start(struct renewal_world *world, enum beats_type beats)
{
    renewal_world_init(world, beats);
    renewal_world_again(world);
    renewal_world_settle(world);
}

void renewal_both(struct renewal_world *world, uint32_t batch, void (*fn)(void))
{
    for (enum beats_type type = BEATS_TIME_WHEEL; type <= BEATS_SCHEDULED; type++) {
        renewal_world_init(world, type);
        world->limits.batch = batch;
        renewal_world_again(world);
        renewal_world_settle(world);
        fn();
        renewal_world_release(world);
    }
}

static void forget_calls(struct renewal_world *world)
{
    for (size_t i = 0; i < world->asked_count; i++) {
        struct renewal_call *call = &world->asked[i]->call;
        buffer_release(&call->reply.answer);
        free(call->spec);
        if (call->made != NULL)
            renewal_release(call->made);
    }
    world->asked_count = 0;
}

void renewal_world_crash(struct renewal_world *world)
{
    renewals_stop(world->renewals);
    for (size_t i = 0; i < world->asked_count; i++)
        world->asked[i]->on_done = NULL; /* nobody hears of it */
    spy_close(world, 0);
    engine_destroy(world->engine);
    renewals_destroy(world->renewals);
    idem_destroy(world->idem);
    forget_calls(world);
    mock_client_mood(world->mock, MOCK_WELL);
    world->engine = NULL;
    world->renewals = NULL;
    sim_crash(&world->sim);
}

void renewal_world_release(struct renewal_world *world)
{
    renewal_world_crash(world);
    mock_client_destroy(world->mock);
    world->mock = NULL;
    sim_release(&world->sim);
}

void renewal_world_settle(struct renewal_world *world)
{
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    assert_false(renewals_recovering(world->renewals));
    sim_check(world->engine);
}

void renewal_world_pass(struct renewal_world *world, int64_t ms)
{
    sim_pass(&world->sim, world->engine, &world->clock, ms);
}

void renewal_world_told(struct renewal_world *world, const char *wanted)
{
    sim_told(world->log, &world->log_size, wanted);
}

/* ---- calls */

struct renewal_asked renewal_said;

static void call_done(struct renewal_call *call)
{
    struct renewal_asked *asked = (struct renewal_asked *)call;
    struct renewal_world *world = asked->world;
    size_t i = 0;
    while (i < world->asked_count && world->asked[i] != asked)
        i++;
    assert_true(i < world->asked_count); /* once */
    world->asked[i] = world->asked[--world->asked_count];
    asked->done = true;
    sim_take_answer(&call->reply, asked->text, sizeof asked->text);
    if (asked->on_done != NULL)
        asked->on_done(asked);
}

void renewal_begin(struct renewal_world *world, struct renewal_asked *asked, enum renewal_verb verb,
                   const char *id, const char *spec)
{
    struct tocsin_why why = {""};
    assert_true(world->asked_count < WORLD_CALLS_MAX);
    world->asked[world->asked_count++] = asked;
    asked->world = world;
    asked->done = false;
    (void)snprintf(asked->id, sizeof asked->id, "%s", id);
    asked->call.verb = verb;
    asked->call.id = bytes_of(asked->id);
    asked->call.done = call_done;
    if (spec != NULL && renewal_spec_read(bytes_of(spec), &world->defaults, &asked->call.spec, NULL,
                                          &why) != TOCSIN_OK)
        fail_msg("%s: %s", spec, why.text);
    buffer_init(&asked->call.reply.answer, sizeof asked->text);
    renewals_ask(world->renewals, &asked->call);
}

static enum outcome ask(struct renewal_world *world, enum renewal_verb verb, const char *id,
                        const char *spec)
{
    renewal_said = (struct renewal_asked){.done = false};
    renewal_begin(world, &renewal_said, verb, id, spec);
    renewal_world_settle(world);
    assert_true(renewal_said.done);
    return renewal_said.call.reply.outcome;
}

enum outcome renewal_ask(struct renewal_world *world, enum renewal_verb verb, const char *id)
{
    return ask(world, verb, id, NULL);
}

enum outcome renewal_register(struct renewal_world *world, const char *id, const char *spec)
{
    return ask(world, RENEWAL_REGISTER, id, spec);
}

/* ---- looking */

void renewal_set(struct renewal_world *world, const char *key, const char *value, int64_t ttl_ms)
{
    assert_true(mock_client_set(world->mock, bytes_of(key), bytes_of(value), ttl_ms));
}

void renewal_set_many(struct renewal_world *world, const char *prefix, int count, int64_t ttl_ms)
{
    for (int i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%s%d", prefix, i);
        renewal_set(world, key, "v", ttl_ms);
    }
}

int64_t renewal_ttl(struct renewal_world *world, const char *key)
{
    return mock_client_ttl_ms(world->mock, bytes_of(key));
}

static char seen[RENEWAL_TEXT_BYTES * 4];

static void got(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)rev;
    *(bool *)arg = true;
    sim_copy(seen, sizeof seen, outcome == OUTCOME_OK ? json : (struct bytes){0});
}

const char *renewal_json(struct renewal_world *world, const char *id)
{
    bool done = false;
    renewals_get(world->renewals, bytes_of(id), got, &done);
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    assert_true(done);
    return seen;
}

const char *renewal_field(struct renewal_world *world, const char *id, const char *field)
{
    return sim_field(renewal_json(world, id), field);
}

struct renewals_stats renewal_stats(const struct renewal_world *world)
{
    struct renewals_stats stats;
    renewals_describe(world->renewals, &stats);
    return stats;
}
