/* SPDX-License-Identifier: MIT */
#include "support/lease_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t lease_number(const char *json, const char *field)
{
    const char *value = sim_field(json, field);
    return value[0] == '\0' || value[0] == 'n' ? -1 : strtoll(value, NULL, 10);
}

static void on_event(void *arg, const struct store_event *event)
{
    struct lease_world *world = arg;
    char doc[1024];
    const char *holder;
    (void)snprintf(doc, sizeof doc, "%.*s", (int)event->doc.size, event->doc.at);
    holder = strstr(doc, "\"holder\":\"");
    assert_non_null(holder);
    holder += strlen("\"holder\":\"");
    if (world->log_size > sizeof world->log / 2)
        world->log_size = 0; /* nobody reads it */
    world->log_size +=
        (size_t)snprintf(world->log + world->log_size, sizeof world->log - world->log_size,
                         "%.*s %.*s %.*s\n", (int)event->type.size, event->type.at,
                         (int)event->key.size, event->key.at, (int)strcspn(holder, "\""), holder);
}

void lease_world_again(struct lease_world *world)
{
    struct tocsin_why why = {""};
    assert_int_equal(
        sim_create_engine(&world->sim, &world->clock, false, &world->engine, &world->idem),
        TOCSIN_OK);
    assert_int_equal(leases_create(world->engine, world->idem, &world->limits,
                                   (struct siphash_key){3, 4}, &world->leases),
                     TOCSIN_OK);
    engine_on_event(world->engine, on_event, world);
    assert_int_equal(engine_load(world->engine, &world->sim.store, &world->sim.state, &why),
                     TOCSIN_OK);
    world->dead = false;
    lease_world_settle(world);
}

void lease_world_start(struct lease_world *world)
{
    *world = (struct lease_world){
        .clock = SIM_CLOCK,
        .limits = leases_limits_default,
    };
    sim_init(&world->sim);
    lease_world_again(world);
}

void lease_world_crash(struct lease_world *world)
{
    world->dead = true;
    leases_close_lines(world->leases); /* so that nobody asks a dying engine */
    engine_destroy(world->engine);
    leases_destroy(world->leases);
    idem_destroy(world->idem);
    world->leases = NULL;
    world->engine = NULL;
    for (size_t i = 0; i < LEASE_SLOTS; i++) {
        if (world->slots[i].used)
            buffer_release(&world->slots[i].call.reply.answer);
        world->slots[i].used = false;
    }
    sim_crash(&world->sim);
}

void lease_world_release(struct lease_world *world)
{
    lease_world_crash(world);
    sim_release(&world->sim);
}

void lease_world_turn(struct lease_world *world)
{
    struct elapsed_time wake;
    engine_turn(world->engine, &wake);
}

void lease_world_settle(struct lease_world *world)
{
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    sim_check(world->engine);
}

void lease_world_pass(struct lease_world *world, int64_t ms)
{
    sim_pass(&world->sim, world->engine, &world->clock, ms);
}

void lease_world_told(struct lease_world *world, const char *wanted)
{
    sim_told(world->log, &world->log_size, wanted);
}

/* ---- calls */

static void call_done(struct lease_call *call)
{
    struct lease_asked *asked = (struct lease_asked *)call;
    struct lease_world *world = asked->world;
    if (world->dead)
        return; /* nobody hears it */
    assert_true(asked->used && !asked->done);
    asked->done = true;
    asked->used = false;
    sim_take_answer(&call->reply, asked->text, sizeof asked->text);
    asked->fence = (uint64_t)lease_number(asked->text, "fence");
    asked->expires_ms = lease_number(asked->text, "expires_ms");
    asked->acquired_ms = lease_number(asked->text, "acquired_ms");
    if (!asked->gone && world->on_answer != NULL)
        world->on_answer(world, asked);
}

static struct lease_asked *begin(struct lease_world *world, enum lease_verb verb, const char *name,
                                 const char *holder)
{
    /* In turn, so that an answer can be read for a while. */
    for (size_t i = 0; i < LEASE_SLOTS; i++) {
        struct lease_asked *asked = &world->slots[(world->asked + i) % LEASE_SLOTS];
        if (asked->used)
            continue;
        *asked = (struct lease_asked){.world = world, .used = true, .order = ++world->asked};
        (void)snprintf(asked->name, sizeof asked->name, "%s", name);
        (void)snprintf(asked->holder, sizeof asked->holder, "%s", holder != NULL ? holder : "");
        asked->call.verb = verb;
        asked->call.name = bytes_of(asked->name);
        asked->call.holder = bytes_of(asked->holder);
        asked->call.done = call_done;
        buffer_init(&asked->call.reply.answer, sizeof asked->text);
        return asked;
    }
    return NULL;
}

struct lease_asked *lease_acquire_begin(struct lease_world *world, const char *name,
                                        const char *holder, int64_t ttl_ms, int64_t wait_ms)
{
    struct lease_asked *asked = begin(world, LEASE_ACQUIRE, name, holder);
    if (asked == NULL)
        return NULL;
    asked->call.ttl_ms = ttl_ms;
    asked->call.wait_ms = wait_ms;
    leases_ask(world->leases, &asked->call);
    return asked;
}

struct lease_asked *lease_keep_begin(struct lease_world *world, const char *name,
                                     const char *holder, uint64_t fence, int64_t ttl_ms)
{
    struct lease_asked *asked = begin(world, LEASE_KEEPALIVE, name, holder);
    if (asked == NULL)
        return NULL;
    asked->call.fence = fence;
    asked->call.ttl_ms = ttl_ms;
    leases_ask(world->leases, &asked->call);
    return asked;
}

struct lease_asked *lease_release_begin(struct lease_world *world, const char *name,
                                        const char *holder, uint64_t fence)
{
    struct lease_asked *asked = begin(world, LEASE_RELEASE, name, holder);
    if (asked == NULL)
        return NULL;
    asked->call.fence = fence;
    leases_ask(world->leases, &asked->call);
    return asked;
}

void lease_asked_gone(struct lease_asked *asked)
{
    if (!asked->used || asked->gone)
        return;
    asked->gone = true;
    if (!leases_gone(asked->world->leases, &asked->call))
        return;
    asked->used = false;
    buffer_release(&asked->call.reply.answer);
}
