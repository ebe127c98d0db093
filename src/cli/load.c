/* SPDX-License-Identifier: MIT */

#include "cli/load.h"

#include <assert.h>
#include <stdlib.h>

enum {
    KEEP_ALIVE_EVERY = 4, /* one client in so many */
    DELAY_DOUBLINGS = 26, /* 1 ms to 2^26 ms */
    PICK_TRIES = 8,
    ARMED_A_BEAT = 5000, /* at most: nobody else is served meanwhile */
};

#define KEEP_ALIVE_US UINT64_C(30000000)
#define LIFE_US UINT64_C(10000000)       /* of a deadline until it is cancelled, on average */
#define HEARD_US UINT64_C(4000000)       /* between two signs of life, on average */
#define LONGEST_BEAT_US UINT64_C(100000) /* after a halt, do not make up for more */

struct client {
    struct tocsin_timer timer; /* id 0: none pending */
    uint64_t asked_us;
};

struct load {
    struct tocsin_wheel *wheel;
    struct tally *tally;
    uint64_t base_tick_ms;
    uint64_t chance;
    uint64_t beaten_us;
    uint64_t cancels_owed; /* in client-microseconds: one per LIFE_US of them */
    uint64_t moves_owed;
    uint32_t count;
    uint32_t idle_count;
    uint32_t newcomers; /* clients that never had a timer */
    uint32_t *idle;     /* the clients without a timer */
    struct client clients[];
};

/* splitmix64 */
static uint64_t draw(struct load *load)
{
    uint64_t z = load->chance += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static bool is_keep_alive(uint32_t client)
{
    return client % KEEP_ALIVE_EVERY == 0;
}

static uint64_t draw_delay_us(struct load *load, uint32_t client)
{
    if (is_keep_alive(client))
        return KEEP_ALIVE_US;
    uint64_t octave_us = UINT64_C(1000) << (draw(load) % DELAY_DOUBLINGS);
    return octave_us + draw(load) % octave_us;
}

/* What is left of a delay that began before the demonstration did: the crowd is
 * to look from its first moment as it does after hours. */
static uint64_t draw_rest_us(struct load *load, uint32_t client)
{
    for (;;) {
        uint64_t delay_us = draw_delay_us(load, client);
        uint64_t age_us = draw(load) % (is_keep_alive(client) ? 2 * HEARD_US : 2 * LIFE_US);
        if (delay_us > age_us)
            return delay_us - age_us;
    }
}

static enum tocsin_status arm_one(struct load *load, uint64_t now_us)
{
    assert(load->idle_count > 0);
    uint32_t index = load->idle[load->idle_count - 1];
    struct client *client = &load->clients[index];
    uint64_t delay_us =
        load->newcomers > 0 ? draw_rest_us(load, index) : draw_delay_us(load, index);
    uint64_t due_us = now_us + delay_us;
    enum tocsin_status status =
        tocsin_wheel_arm(load->wheel, load_due_ms(due_us), index, &client->timer);
    if (status != TOCSIN_OK)
        return status;
    client->asked_us = due_us;
    load->idle_count--;
    load->newcomers -= load->newcomers > 0;
    load->tally->armed++;
    return TOCSIN_OK;
}

static void set_idle(struct load *load, uint32_t index)
{
    load->clients[index].timer.id = 0;
    load->idle[load->idle_count++] = index;
}

enum tocsin_status load_create(struct tocsin_wheel *wheel, struct tally *tally, uint32_t timers,
                               uint64_t seed, uint64_t now_us, struct load **ret_load)
{
    struct tocsin_wheel_level_stats base;
    struct load *load = calloc(1, sizeof *load + timers * sizeof load->clients[0]);
    uint32_t *idle = calloc(timers, sizeof *idle);
    if (load == NULL || idle == NULL) {
        free(load);
        free(idle);
        return TOCSIN_NO_MEMORY;
    }
    (void)tocsin_wheel_describe_level(wheel, 0, &base);
    load->wheel = wheel;
    load->tally = tally;
    load->base_tick_ms = base.tick;
    load->chance = seed;
    load->beaten_us = now_us;
    load->count = timers;
    load->newcomers = timers;
    load->idle = idle;
    for (uint32_t i = 0; i < timers; i++)
        set_idle(load, timers - 1 - i);
    *ret_load = load;
    return TOCSIN_OK;
}

void load_destroy(struct load *load)
{
    if (load == NULL)
        return;
    free(load->idle);
    free(load);
}

/* Some client of the kind with a timer pending; count when chance finds none. */
static uint32_t pick(struct load *load, bool keep_alive)
{
    for (int i = 0; i < PICK_TRIES; i++) {
        uint32_t index = (uint32_t)(draw(load) % load->count);
        if (keep_alive)
            index -= index % KEEP_ALIVE_EVERY;
        if (is_keep_alive(index) == keep_alive && load->clients[index].timer.id != 0)
            return index;
    }
    return load->count;
}

static enum tocsin_status cancel_some(struct load *load)
{
    for (; load->cancels_owed >= LIFE_US; load->cancels_owed -= LIFE_US) {
        uint32_t index = pick(load, false);
        if (index == load->count)
            continue;
        enum tocsin_status status =
            tocsin_wheel_cancel(load->wheel, load->clients[index].timer, NULL);
        if (status != TOCSIN_OK)
            return status;
        set_idle(load, index);
        load->tally->cancelled++;
    }
    return TOCSIN_OK;
}

static enum tocsin_status move_some(struct load *load, uint64_t now_us)
{
    for (; load->moves_owed >= HEARD_US; load->moves_owed -= HEARD_US) {
        uint32_t index = pick(load, true);
        if (index == load->count)
            continue;
        struct client *client = &load->clients[index];
        client->asked_us = now_us + KEEP_ALIVE_US;
        enum tocsin_status status =
            tocsin_wheel_rearm(load->wheel, client->timer, load_due_ms(client->asked_us));
        if (status != TOCSIN_OK)
            return status;
        load->tally->rearmed++;
    }
    return TOCSIN_OK;
}

enum tocsin_status load_beat(struct load *load, uint64_t now_us)
{
    uint64_t passed_us = now_us - load->beaten_us;
    uint64_t keep_alives = (load->count + KEEP_ALIVE_EVERY - 1) / KEEP_ALIVE_EVERY;
    if (passed_us > LONGEST_BEAT_US)
        passed_us = LONGEST_BEAT_US;
    load->beaten_us = now_us;
    load->cancels_owed += passed_us * (load->count - keep_alives);
    load->moves_owed += passed_us * keep_alives;

    enum tocsin_status status = cancel_some(load);
    if (status == TOCSIN_OK)
        status = move_some(load, now_us);
    for (int i = 0; i < ARMED_A_BEAT && status == TOCSIN_OK && load->idle_count > 0; i++)
        status = arm_one(load, now_us);
    return status;
}

bool load_fired(struct load *load, const struct tocsin_due *due, uint64_t *ret_asked_us)
{
    if (due->cookie >= load->count)
        return false;
    struct client *client = &load->clients[due->cookie];
    if (client->timer.id == 0 || client->timer.id != due->timer.id ||
        load_due_ms(client->asked_us) != due->due)
        return false;
    *ret_asked_us = client->asked_us;
    set_idle(load, (uint32_t)due->cookie);
    return true;
}

uint64_t load_lost(const struct load *load)
{
    uint64_t now_ms = tocsin_wheel_now(load->wheel);
    uint64_t lost = 0;
    for (uint32_t i = 0; i < load->count; i++) {
        const struct client *client = &load->clients[i];
        uint64_t due_ms = load_due_ms(client->asked_us);
        uint64_t over_ms = due_ms % load->base_tick_ms;
        uint64_t tick_ms = over_ms == 0 ? due_ms : due_ms - over_ms + load->base_tick_ms;
        lost += client->timer.id != 0 && tick_ms <= now_ms;
    }
    return lost;
}
