/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(!failed);
    (void)failed;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct elapsed_time system_elapsed(void *arg)
{
    (void)arg;
    return (struct elapsed_time){read_ns(CLOCK_BOOTTIME)};
}

static struct wall_time system_wall(void *arg)
{
    (void)arg;
    return (struct wall_time){read_ns(CLOCK_REALTIME)};
}

const struct clock clock_system = {system_elapsed, system_wall, NULL};

static struct elapsed_time manual_elapsed(void *arg)
{
    return ((const struct clock_manual *)arg)->elapsed;
}

static struct wall_time manual_wall(void *arg)
{
    return ((const struct clock_manual *)arg)->wall;
}

struct clock clock_of_manual(struct clock_manual *manual)
{
    return (struct clock){manual_elapsed, manual_wall, manual};
}

void clock_manual_advance(struct clock_manual *manual, int64_t ns)
{
    assert(ns >= 0);
    manual->elapsed.ns += ns;
    manual->wall.ns += ns;
}
