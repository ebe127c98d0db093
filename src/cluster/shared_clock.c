/* SPDX-License-Identifier: MIT */
/* Two straight lines over the machine's elapsed time, a lower one of slope 1 - drift and an upper
 * one of slope 1 + drift, each kept as where it stands at elapsed 0. All lower lines are parallel,
 * so the best of all samples is one number; the same holds for the upper ones.
 *
 * They are written under a turn number that is odd meanwhile, and read again when it has changed.
 * A reader whose turn held has looked at the elapsed clock before the next sample was written down;
 * the writer looks at it after the turn became odd. So what anybody was shown is at most what the
 * old line showed then, and that becomes the floor: no reader has to write anything, and the wall
 * does not go back for any two of them. */

#include "cluster/shared_clock.h"

#include <assert.h>
#include <sched.h>

#define US INT64_C(1000)
#define STEP_NS INT64_C(1000000000)
#define NONE INT64_MIN

enum { DRIFT_ONE_IN = 1000000 / SHARED_CLOCK_DRIFT_PPM };

struct lines {
    int64_t low_ns;
    int64_t high_ns;
    int64_t floor_ns;
};

/* Rounded so that a lower line is never too high, and an upper one never too low, by their ends. */
static int64_t low_at(int64_t low_ns, int64_t elapsed_ns)
{
    return low_ns + elapsed_ns - elapsed_ns / DRIFT_ONE_IN - 1;
}

static int64_t low_through(int64_t wall_ns, int64_t elapsed_ns)
{
    return wall_ns - elapsed_ns + elapsed_ns / DRIFT_ONE_IN;
}

static int64_t high_at(int64_t high_ns, int64_t elapsed_ns)
{
    return high_ns + elapsed_ns + elapsed_ns / DRIFT_ONE_IN + 1;
}

static int64_t high_through(int64_t wall_ns, int64_t elapsed_ns)
{
    return wall_ns - elapsed_ns - elapsed_ns / DRIFT_ONE_IN;
}

static int64_t shown_at(const struct lines *lines, int64_t elapsed_ns)
{
    int64_t low = low_at(lines->low_ns, elapsed_ns);
    return low > lines->floor_ns ? low : lines->floor_ns;
}

/* ---- reading */

static void load(struct shared_clock *clock, struct lines *ret_lines)
{
    ret_lines->low_ns = atomic_load(&clock->low_ns);
    ret_lines->high_ns = atomic_load(&clock->high_ns);
    ret_lines->floor_ns = atomic_load(&clock->floor_ns);
}

/* The lines, and a moment at which they held. */
static int64_t look(struct shared_clock *clock, struct lines *ret_lines)
{
    for (;;) {
        uint64_t turn = atomic_load(&clock->turn);
        load(clock, ret_lines);
        int64_t now = clock_elapsed(&clock->machine).ns;
        if (turn % 2 == 0 && atomic_load(&clock->turn) == turn)
            return now;
        if (turn % 2 != 0)
            (void)sched_yield(); /* the writer may have been put off in the middle */
    }
}

static struct elapsed_time elapsed(void *arg)
{
    struct shared_clock *clock = arg;
    return clock_elapsed(&clock->machine);
}

static struct wall_time wall(void *arg)
{
    struct lines lines;
    int64_t now = look(arg, &lines);
    return (struct wall_time){lines.low_ns == NONE ? 0 : shown_at(&lines, now)};
}

static int64_t wall_error_ns(void *arg)
{
    return shared_clock_error_ns(arg);
}

struct clock shared_clock_of(struct shared_clock *clock)
{
    return (struct clock){elapsed, wall, clock, wall_error_ns};
}

int64_t shared_clock_error_ns(struct shared_clock *clock)
{
    struct lines lines;
    int64_t now = look(clock, &lines);
    if (lines.low_ns == NONE)
        return INT64_MAX;
    int64_t error = high_at(lines.high_ns, now) - shown_at(&lines, now);
    return error > 0 ? error : 0; /* it stands still, and is ahead */
}

bool shared_clock_stepped(struct shared_clock *clock)
{
    return atomic_exchange(&clock->stepped, false);
}

/* ---- sampling */

/* What the lines become by a sample; they stay as they were when it tells nothing new. True: it was
 * a step, and what has been shown counts no more. */
static bool take(struct lines *lines, const struct lines *sample, int64_t after_ns)
{
    if (lines->low_ns == NONE) {
        *lines = *sample;
        return false;
    }
    int64_t ahead = shown_at(lines, after_ns) - high_at(sample->high_ns, after_ns);
    int64_t behind = low_at(sample->low_ns, after_ns) - high_at(lines->high_ns, after_ns);
    bool stepped = ahead > STEP_NS || behind > STEP_NS;
    bool agrees =
        low_at(lines->low_ns, after_ns) <= high_at(sample->high_ns, after_ns) && behind <= 0;
    if (stepped || !agrees || sample->low_ns > lines->low_ns)
        lines->low_ns = sample->low_ns;
    if (stepped || !agrees || sample->high_ns < lines->high_ns)
        lines->high_ns = sample->high_ns;
    return stepped;
}

void shared_clock_sample(struct shared_clock *clock, struct elapsed_time before,
                         struct elapsed_time after, int64_t redis_us)
{
    if (before.ns < 0 || after.ns < before.ns || redis_us < 0 || redis_us > INT64_MAX / 4 / US)
        return;
    struct lines sample = {
        .low_ns = low_through(redis_us * US, after.ns),
        /* It was rounded down to a microsecond. */
        .high_ns = high_through((redis_us + 1) * US, before.ns),
        .floor_ns = 0,
    };
    struct lines lines;
    (void)pthread_mutex_lock(&clock->sampling);
    (void)atomic_fetch_add(&clock->turn, 1);
    load(clock, &lines);
    int64_t shown = lines.low_ns == NONE ? 0 : shown_at(&lines, clock_elapsed(&clock->machine).ns);
    bool stepped = take(&lines, &sample, after.ns);
    atomic_store(&clock->low_ns, lines.low_ns);
    atomic_store(&clock->high_ns, lines.high_ns);
    atomic_store(&clock->floor_ns, stepped ? 0 : shown);
    (void)atomic_fetch_add(&clock->turn, 1);
    if (stepped)
        atomic_store(&clock->stepped, true);
    (void)pthread_mutex_unlock(&clock->sampling);
}

/* ---- life */

void shared_clock_init_on(struct shared_clock *clock, struct clock machine)
{
    clock->machine = machine;
    atomic_init(&clock->turn, 0);
    atomic_init(&clock->low_ns, NONE);
    atomic_init(&clock->high_ns, 0);
    atomic_init(&clock->floor_ns, 0);
    atomic_init(&clock->stepped, false);
    int failed = pthread_mutex_init(&clock->sampling, NULL);
    assert(failed == 0);
    (void)failed;
}

void shared_clock_init(struct shared_clock *clock)
{
    shared_clock_init_on(clock, clock_system);
}

void shared_clock_release(struct shared_clock *clock)
{
    (void)pthread_mutex_destroy(&clock->sampling);
}
