/* SPDX-License-Identifier: MIT */
/* libevent: a binary heap of pointers to the caller's events.
 *
 * event_add outside a callback reads the clock (simulated, so it costs a call).
 * A turn is event_base_loop(ONCE | NONBLOCK): epoll (which answers at once), the
 * clock, then all due events leave the heap for the active queue and are called.
 * No locks: threads are not enabled.
 *
 * libev's shared library brings functions of the same names as libevent's, so
 * libevent must come first where the program is linked; create checks it.
 *
 * For many timers of one delay libevent offers a queue beside the heap
 * (event_base_init_common_timeout): the second structure here, for the constant
 * distribution only.
 */
#include "harness.h"
#include "simulated.h"
#include "structure.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <string.h>

struct libevent {
    struct event_base *base;
    struct event *timers;
    uint32_t count;
    struct firing *firing;
    struct timeval common; /* zero: none, use the heap */
};

static struct timeval delay(const struct libevent *self, uint32_t delay_ms)
{
    if (self->common.tv_usec != 0)
        return self->common;
    return (struct timeval){delay_ms / 1000, (suseconds_t)(delay_ms % 1000) * 1000};
}

static struct libevent *the_one; /* an event has no way back to its owner but its argument */

static void fire(evutil_socket_t fd, short what, void *timer)
{
    (void)fd, (void)what;
    struct firing *firing = the_one->firing;
    firing->fired++;
    if (firing->again != NULL) {
        struct timeval wait = delay(the_one, firing_next_ms(firing));
        event_add(timer, &wait);
    }
}

static void *create(uint32_t timers, uint64_t now_ms, struct firing *firing)
{
    struct libevent *self = bench_alloc(1, sizeof *self);
    if (strncmp(event_get_version(), "2.", 2) != 0)
        bench_die("linked with libev's imitation of libevent: name libevent first");
    simulated_set_ms(now_ms);
    self->base = event_base_new();
    if (self->base == NULL)
        bench_die("event_base_new failed");
    self->firing = firing;
    self->count = timers;
    self->timers = bench_alloc(timers, sizeof self->timers[0]);
    for (uint32_t i = 0; i < timers; i++)
        evtimer_assign(&self->timers[i], self->base, fire, &self->timers[i]);
    the_one = self;
    return self;
}

static void *create_common(uint32_t timers, uint64_t now_ms, struct firing *firing)
{
    struct libevent *self = create(timers, now_ms, firing);
    const struct timeval wait = {CONSTANT_MS / 1000, CONSTANT_MS % 1000 * 1000};
    const struct timeval *common = event_base_init_common_timeout(self->base, &wait);
    if (common == NULL)
        bench_die("event_base_init_common_timeout failed");
    self->common = *common; /* its microseconds carry a mark and are not zero */
    return self;
}

static void arm(void *data, const struct step *steps, size_t count)
{
    struct libevent *self = data;
    for (size_t i = 0; i < count; i++) {
        struct timeval wait = delay(self, steps[i].delay_ms);
        event_add(&self->timers[steps[i].index], &wait);
    }
}

static void pairs(void *data, const struct step *steps, size_t count)
{
    struct libevent *self = data;
    for (size_t i = 0; i < count; i++) {
        struct timeval wait = delay(self, steps[i].delay_ms);
        struct event *timer = &self->timers[steps[i].index];
        event_del(timer);
        event_add(timer, &wait);
    }
}

static void advance(void *data, uint64_t now_ms)
{
    struct libevent *self = data;
    simulated_set_ms(now_ms);
    event_base_loop(self->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static bool idle(void *data)
{
    struct libevent *self = data;
    for (uint32_t i = 0; i < self->count; i++) {
        if (event_pending(&self->timers[i], EV_TIMEOUT, NULL))
            return false;
    }
    return true;
}

const struct structure structure_libevent = {
    .name = "libevent",
    .caller_bytes = sizeof(struct event),
    .inner_bytes = sizeof(struct event *), /* a place in the heap */
    .version = event_get_version,
    .create = create,
    .arm = arm,
    .pairs = pairs,
    .rearms = arm, /* event_add on a pending event moves it inside the heap */
    .advance = advance,
    .idle = idle,
};

const struct structure structure_libevent_common = {
    .name = "libevent-common",
    .caller_bytes = sizeof(struct event),
    .inner_bytes = 0,
    .version = event_get_version,
    .create = create_common,
    .arm = arm,
    .pairs = pairs,
    .rearms = arm,
    .advance = advance,
    .idle = idle,
};
