/* SPDX-License-Identifier: MIT */
/* Ours. The caller holds a handle of 8 bytes for a timer it wants to cancel; the
 * cookie is the timer's index, so a timer that fires and is armed again stores its
 * new handle where the caller finds it.
 *
 * A pair is a real cancel and a real arm: the old handle goes stale and a new one
 * is stored. advance calls back for each timer, as the peers do.
 */
#include "harness.h"
#include "structure.h"

#include <tocsin/wheel.h>

struct tocsin {
    struct tocsin_wheel *wheel;
    struct tocsin_timer *handles;
    uint32_t count;
    uint64_t now_ms;
    struct firing *firing;
    struct tocsin_wheel_stats empty; /* before the first timer */
};

static const char *version(void)
{
    return "this";
}

static void fire(void *arg, const struct tocsin_due *due)
{
    struct tocsin *self = arg;
    struct firing *firing = self->firing;
    firing->fired++;
    if (firing->again != NULL)
        tocsin_wheel_arm(self->wheel, self->now_ms + firing_next_ms(firing), due->cookie,
                         &self->handles[due->cookie]);
}

static void *create(uint32_t timers, uint64_t now_ms, struct firing *firing)
{
    struct tocsin *self = bench_alloc(1, sizeof *self);
    struct tocsin_wheel_config config = {.now = now_ms};
    struct tocsin_why why;
    if (tocsin_wheel_create(&config, &self->wheel, &why) != TOCSIN_OK)
        bench_die("tocsin_wheel_create: %s", why.text);
    tocsin_wheel_describe(self->wheel, &self->empty);
    self->firing = firing;
    self->count = timers;
    self->now_ms = now_ms;
    self->handles = bench_alloc(timers, sizeof self->handles[0]);
    return self;
}

static void arm(void *data, const struct step *steps, size_t count)
{
    struct tocsin *self = data;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = steps[i].index;
        enum tocsin_status status = tocsin_wheel_arm(self->wheel, self->now_ms + steps[i].delay_ms,
                                                     index, &self->handles[index]);
        if (status != TOCSIN_OK)
            bench_die("tocsin_wheel_arm: %s", tocsin_status_text(status));
    }
}

static void pairs(void *data, const struct step *steps, size_t count)
{
    struct tocsin *self = data;
    for (size_t i = 0; i < count; i++) {
        struct tocsin_timer *handle = &self->handles[steps[i].index];
        tocsin_wheel_cancel(self->wheel, *handle, NULL);
        tocsin_wheel_arm(self->wheel, self->now_ms + steps[i].delay_ms, steps[i].index, handle);
    }
}

static void rearms(void *data, const struct step *steps, size_t count)
{
    struct tocsin *self = data;
    for (size_t i = 0; i < count; i++)
        tocsin_wheel_rearm(self->wheel, self->handles[steps[i].index],
                           self->now_ms + steps[i].delay_ms);
}

static void advance(void *data, uint64_t now_ms)
{
    struct tocsin *self = data;
    self->now_ms = now_ms;
    tocsin_wheel_advance(self->wheel, now_ms, 0, fire, self);
}

static bool idle(void *data)
{
    struct tocsin *self = data;
    struct tocsin_why why;
    if (tocsin_wheel_check(self->wheel, &why) != TOCSIN_OK)
        bench_die("tocsin_wheel_check: %s", why.text);
    for (uint32_t i = 0; i < self->count; i++) {
        if (tocsin_wheel_cancel(self->wheel, self->handles[i], NULL) != TOCSIN_STALE)
            return false;
    }
    return tocsin_wheel_count(self->wheel) == 0;
}

static size_t bytes(void *data)
{
    struct tocsin *self = data;
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(self->wheel, &stats);
    return stats.bytes;
}

static double timer_bytes(void *data)
{
    struct tocsin *self = data;
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(self->wheel, &stats);
    if (stats.room == self->empty.room)
        return 0;
    return (double)(stats.bytes - self->empty.bytes) / (double)(stats.room - self->empty.room);
}

const struct structure structure_tocsin = {
    .name = "tocsin",
    .handle_bytes = sizeof(struct tocsin_timer),
    .version = version,
    .create = create,
    .arm = arm,
    .pairs = pairs,
    .rearms = rearms,
    .advance = advance,
    .turns = true,
    .idle = idle,
    .bytes = bytes,
    .timer_bytes = timer_bytes,
};
