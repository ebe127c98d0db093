/* SPDX-License-Identifier: MIT */
/* libuv: a binary heap of nodes linked by pointers, inside the caller's handles.
 *
 * uv_timer_start counts from the loop's cached time. A turn is uv_run(NOWAIT): it
 * reads the (simulated) clock, runs the due timers one by one, and looks at its
 * (empty) queues and at epoll (which answers at once).
 */
#include "harness.h"
#include "simulated.h"
#include "structure.h"

#include <uv.h>

struct libuv {
    uv_loop_t loop;
    uv_timer_t *timers;
    uint32_t count;
    struct firing *firing;
};

static void fire(uv_timer_t *timer)
{
    struct firing *firing = ((struct libuv *)timer->loop->data)->firing;
    firing->fired++;
    if (firing->again != NULL)
        uv_timer_start(timer, fire, firing_next_ms(firing), 0);
}

static void *create(uint32_t timers, uint64_t now_ms, struct firing *firing)
{
    struct libuv *self = bench_alloc(1, sizeof *self);
    simulated_set_ms(now_ms);
    if (uv_loop_init(&self->loop) != 0)
        bench_die("uv_loop_init failed");
    self->loop.data = self;
    self->firing = firing;
    self->count = timers;
    self->timers = bench_alloc(timers, sizeof self->timers[0]);
    for (uint32_t i = 0; i < timers; i++)
        uv_timer_init(&self->loop, &self->timers[i]);
    return self;
}

static void arm(void *data, const struct step *steps, size_t count)
{
    struct libuv *self = data;
    for (size_t i = 0; i < count; i++)
        uv_timer_start(&self->timers[steps[i].index], fire, steps[i].delay_ms, 0);
}

static void pairs(void *data, const struct step *steps, size_t count)
{
    struct libuv *self = data;
    for (size_t i = 0; i < count; i++) {
        uv_timer_t *timer = &self->timers[steps[i].index];
        uv_timer_stop(timer);
        uv_timer_start(timer, fire, steps[i].delay_ms, 0);
    }
}

static void advance(void *data, uint64_t now_ms)
{
    struct libuv *self = data;
    simulated_set_ms(now_ms);
    uv_run(&self->loop, UV_RUN_NOWAIT);
}

static bool idle(void *data)
{
    struct libuv *self = data;
    for (uint32_t i = 0; i < self->count; i++) {
        if (uv_is_active((uv_handle_t *)&self->timers[i]))
            return false;
    }
    return true;
}

const struct structure structure_libuv = {
    .name = "libuv",
    .caller_bytes = sizeof(uv_timer_t),
    .inner_bytes = 0,
    .version = uv_version_string,
    .create = create,
    .arm = arm,
    .pairs = pairs,
    .rearms = arm, /* uv_timer_start on an active timer stops it first */
    .advance = advance,
    .idle = idle,
};
