/* SPDX-License-Identifier: MIT */
#include "inbox.h"

#include "harness.h"

#include <tocsin/inbox.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    PRODUCERS = 2,
    BURSTS = 500,
    BURST_PUSHES = 2048, /* by each producer */
    BURST_WARM_UP = 4,   /* the first bursts touch the memory for the first time */
    DRAINED_PUSHES = 1000000,
    CAPACITY = 4096, /* as an inbox has when nothing is said */
    DELAY_MAX_MS = 1000,
};

struct stage {
    struct tocsin_wheel *wheel;
    struct tocsin_inbox *inbox;
    uint64_t now_ms;
    pthread_barrier_t phase;
    atomic_uint at_the_line; /* producers ready to go, over all bursts */
    atomic_uint through;
};

/* What a producer spent on a burst, and what passed meanwhile. */
struct burst {
    uint64_t cpu_ns;
    uint64_t wall_ns;
};

struct producer {
    struct stage *stage;
    unsigned nth;
    uint64_t random;
    double push_ns;
    double wall_ns;
    uint64_t full;
    struct burst bursts[BURSTS];
};

_Static_assert(PRODUCERS *BURST_PUSHES <= CAPACITY, "a burst has room");

static void stage_init(struct stage *stage)
{
    struct tocsin_inbox_config config = {.capacity = CAPACITY};
    struct tocsin_why why;
    if (tocsin_wheel_create(NULL, &stage->wheel, &why) != TOCSIN_OK ||
        tocsin_inbox_create(stage->wheel, &config, &stage->inbox, &why) != TOCSIN_OK)
        bench_die("inbox: %s", why.text);
}

static void count_one(void *arg, const struct tocsin_due *due)
{
    (void)due;
    ++*(uint64_t *)arg;
}

static uint64_t draw_due(struct producer *producer, uint64_t now_ms)
{
    return now_ms + 1 + bench_random_below(&producer->random, DELAY_MAX_MS);
}

/* Both start within nanoseconds of each other, or there would be no contention. */
static void line_up(struct stage *stage, unsigned expected)
{
    atomic_fetch_add(&stage->at_the_line, 1);
    for (unsigned spins = 0; atomic_load(&stage->at_the_line) < expected; spins++) {
        if (spins > 100000)
            sched_yield();
    }
}

static void *produce_bursts(void *arg)
{
    struct producer *producer = arg;
    struct stage *stage = producer->stage;
    bench_pin(producer->nth);
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        pthread_barrier_wait(&stage->phase);
        line_up(stage, (burst + 1) * PRODUCERS);
        uint64_t from_wall_ns = bench_now_ns(), from_ns = bench_cpu_ns();
        for (unsigned i = 0; i < BURST_PUSHES; i++) {
            struct tocsin_timer ticket;
            uint64_t due = draw_due(producer, stage->now_ms);
            if (tocsin_inbox_arm(stage->inbox, due, i, &ticket) != TOCSIN_OK)
                producer->full++;
        }
        producer->bursts[burst] =
            (struct burst){bench_cpu_ns() - from_ns, bench_now_ns() - from_wall_ns};
        pthread_barrier_wait(&stage->phase);
    }
    return NULL;
}

/* Both had their processor all the while: else one pushed while the other stood, which shows no contention,
 * or stood in the middle of a push, which shows too much. */
static bool burst_is_fair(const struct producer *producers, unsigned burst)
{
    for (unsigned i = 0; i < PRODUCERS; i++) {
        struct burst spent = producers[i].bursts[burst];
        if (spent.wall_ns > spent.cpu_ns + spent.cpu_ns / 4)
            return false;
    }
    return true;
}

/* Over all bursts that were fair; over all if none was. */
static double burst_push_ns(const struct producer *producers, double *ret_fair)
{
    uint64_t fair_ns = 0, all_ns = 0;
    unsigned fair = 0;
    for (unsigned burst = BURST_WARM_UP; burst < BURSTS; burst++) {
        uint64_t spent_ns = 0;
        for (unsigned i = 0; i < PRODUCERS; i++)
            spent_ns += producers[i].bursts[burst].cpu_ns;
        all_ns += spent_ns;
        if (burst_is_fair(producers, burst)) {
            fair++;
            fair_ns += spent_ns;
        }
    }
    *ret_fair = (double)fair / (BURSTS - BURST_WARM_UP);
    double pushes = (double)BURST_PUSHES * PRODUCERS;
    return fair > 0 ? (double)fair_ns / (fair * pushes)
                    : (double)all_ns / ((BURSTS - BURST_WARM_UP) * pushes);
}

static void start(pthread_t *threads, struct producer *producers, struct stage *stage,
                  void *(*fn)(void *arg))
{
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.stage = stage, .nth = i, .random = i};
        if (pthread_create(&threads[i], NULL, fn, &producers[i]) != 0)
            bench_die("cannot start a thread");
    }
}

static void measure_bursts(struct inbox_figures *figures)
{
    struct stage stage = {0};
    pthread_t threads[PRODUCERS];
    static struct producer producers[PRODUCERS];
    uint64_t drained_ns = 0, fired = 0;
    stage_init(&stage);
    pthread_barrier_init(&stage.phase, NULL, PRODUCERS + 1);
    start(threads, producers, &stage, produce_bursts);
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        pthread_barrier_wait(&stage.phase);
        pthread_barrier_wait(&stage.phase);
        uint64_t from_ns = bench_cpu_ns();
        tocsin_inbox_drain(stage.inbox, 0, NULL);
        if (burst >= BURST_WARM_UP)
            drained_ns += bench_cpu_ns() - from_ns;
        stage.now_ms += DELAY_MAX_MS + 1;
        tocsin_wheel_advance(stage.wheel, stage.now_ms, 0, count_one, &fired);
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    if (fired != (uint64_t)PRODUCERS * BURSTS * BURST_PUSHES)
        bench_die("inbox: %llu timers fired of what was pushed in bursts",
                  (unsigned long long)fired);
    figures->burst_push_ns = burst_push_ns(producers, &figures->burst_fair);
    figures->burst_drain_ns =
        (double)drained_ns / ((BURSTS - BURST_WARM_UP) * (double)BURST_PUSHES * PRODUCERS);
}

static void *produce_all(void *arg)
{
    struct producer *producer = arg;
    struct stage *stage = producer->stage;
    uint64_t waited_cpu_ns = 0;
    line_up(stage, PRODUCERS);
    uint64_t from_ns = bench_now_ns(), from_cpu_ns = bench_cpu_ns();
    for (unsigned i = 0; i < DRAINED_PUSHES; i++) {
        struct tocsin_timer ticket;
        uint64_t due = draw_due(producer, 0);
        if (tocsin_inbox_arm(stage->inbox, due, i, &ticket) == TOCSIN_OK)
            continue;
        uint64_t wait_from_ns = bench_cpu_ns();
        do {
            producer->full++;
            sched_yield();
        } while (tocsin_inbox_arm(stage->inbox, due, i, &ticket) != TOCSIN_OK);
        waited_cpu_ns += bench_cpu_ns() - wait_from_ns;
    }
    producer->push_ns = (double)(bench_cpu_ns() - from_cpu_ns - waited_cpu_ns) / DRAINED_PUSHES;
    producer->wall_ns = (double)(bench_now_ns() - from_ns) / DRAINED_PUSHES;
    atomic_fetch_add(&stage->through, 1);
    return NULL;
}

static void measure_drained(struct inbox_figures *figures)
{
    struct stage stage = {0};
    pthread_t threads[PRODUCERS];
    static struct producer producers[PRODUCERS];
    uint64_t fired = 0;
    stage_init(&stage);
    start(threads, producers, &stage, produce_all);
    for (bool last = false; !last;) {
        last = atomic_load(&stage.through) == PRODUCERS;
        struct tocsin_inbox_report report;
        tocsin_inbox_drain(stage.inbox, 0, &report);
        if (report.armed == 0)
            sched_yield();
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    tocsin_wheel_advance(stage.wheel, DELAY_MAX_MS + 1, 0, count_one, &fired);
    if (fired != (uint64_t)PRODUCERS * DRAINED_PUSHES)
        bench_die("inbox: %llu timers fired of what was pushed and drained",
                  (unsigned long long)fired);
    figures->drained_push_ns = (producers[0].push_ns + producers[1].push_ns) / 2;
    figures->drained_wall_ns = (producers[0].wall_ns + producers[1].wall_ns) / 2;
    figures->drained_full =
        (double)(producers[0].full + producers[1].full) / (PRODUCERS * (double)DRAINED_PUSHES);
}

static void child(const void *arg, void *result)
{
    (void)arg;
    struct inbox_figures *figures = result;
    measure_bursts(figures);
    measure_drained(figures);
}

void inbox_measure(struct inbox_figures *ret_figures)
{
    bench_in_child(child, NULL, ret_figures, sizeof *ret_figures);
}
