/* SPDX-License-Identifier: MIT */
/* libev: a 4-ary heap in an array that holds the due times too, watchers at the
 * caller's.
 *
 * Delays are seconds in doubles, counted from the loop's cached time. A turn is
 * ev_run(EVRUN_NOWAIT): epoll (which answers at once), the (simulated) clock, then
 * all due timers leave the heap and their callbacks run. libev fires what was due
 * before now, not at now, so a timer comes out 1 ms later than elsewhere here.
 */
#include "harness.h"
#include "simulated.h"
#include "structure.h"

#include <ev.h>

struct libev {
    struct ev_loop *loop;
    ev_timer *timers;
    uint32_t count;
    struct firing *firing;
};

static double seconds(uint32_t delay_ms)
{
    return delay_ms * 1e-3;
}

static void fire(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    struct firing *firing = ((struct libev *)ev_userdata(loop))->firing;
    firing->fired++;
    if (firing->again != NULL) {
        ev_timer_set(timer, seconds(firing_next_ms(firing)), 0.);
        ev_timer_start(loop, timer);
    }
}

static const char *version(void)
{
    static char text[16];
    snprintf(text, sizeof text, "%d.%d", ev_version_major(), ev_version_minor());
    return text;
}

static void *create(uint32_t timers, uint64_t now_ms, struct firing *firing)
{
    struct libev *self = bench_alloc(1, sizeof *self);
    simulated_set_ms(now_ms);
    self->loop = ev_loop_new(EVFLAG_NOENV | EVBACKEND_EPOLL);
    if (self->loop == NULL)
        bench_die("ev_loop_new failed");
    ev_set_userdata(self->loop, self);
    self->firing = firing;
    self->count = timers;
    self->timers = bench_alloc(timers, sizeof self->timers[0]);
    for (uint32_t i = 0; i < timers; i++)
        ev_timer_init(&self->timers[i], fire, 0., 0.);
    return self;
}

static void arm(void *data, const struct step *steps, size_t count)
{
    struct libev *self = data;
    for (size_t i = 0; i < count; i++) {
        ev_timer *timer = &self->timers[steps[i].index];
        ev_timer_set(timer, seconds(steps[i].delay_ms), 0.);
        ev_timer_start(self->loop, timer);
    }
}

static void pairs(void *data, const struct step *steps, size_t count)
{
    struct libev *self = data;
    for (size_t i = 0; i < count; i++) {
        ev_timer *timer = &self->timers[steps[i].index];
        ev_timer_stop(self->loop, timer);
        ev_timer_set(timer, seconds(steps[i].delay_ms), 0.);
        ev_timer_start(self->loop, timer);
    }
}

/* ev_timer_again moves the timer inside the heap. It takes the delay from
 * `repeat`, which is taken away again so that the timer fires once. */
static void rearms(void *data, const struct step *steps, size_t count)
{
    struct libev *self = data;
    for (size_t i = 0; i < count; i++) {
        ev_timer *timer = &self->timers[steps[i].index];
        timer->repeat = seconds(steps[i].delay_ms);
        ev_timer_again(self->loop, timer);
        timer->repeat = 0.;
    }
}

static void advance(void *data, uint64_t now_ms)
{
    struct libev *self = data;
    simulated_set_ms(now_ms);
    ev_run(self->loop, EVRUN_NOWAIT);
}

static bool idle(void *data)
{
    struct libev *self = data;
    for (uint32_t i = 0; i < self->count; i++) {
        if (ev_is_active(&self->timers[i]))
            return false;
    }
    return true;
}

const struct structure structure_libev = {
    .name = "libev",
    .caller_bytes = sizeof(ev_timer),
    .inner_bytes = sizeof(ev_tstamp) + sizeof(void *), /* a place in the heap */
    .version = version,
    .create = create,
    .arm = arm,
    .pairs = pairs,
    .rearms = rearms,
    .advance = advance,
    .idle = idle,
};
