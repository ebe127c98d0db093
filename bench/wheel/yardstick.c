/* SPDX-License-Identifier: MIT */
#include "yardstick.h"

#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LINE_BYTES = 64,
    HUGE_PAGE_BYTES = 2 << 20,
    READS = 2000000,
    ADDS = 500000,
    ADD_TRIES = 10,
    TOUCHED = 1000000,
    TOUCHES = 2000000,
};

/* One cache line, which names the next one of a walk over all of them. */
struct line {
    uint32_t next;
    uint32_t unused[LINE_BYTES / sizeof(uint32_t) - 1];
};

/* One cycle through all lines in random order (Sattolo). */
static uint32_t *draw_cycle(uint32_t count)
{
    uint32_t *order = bench_alloc(count, sizeof order[0]);
    uint64_t random = 1;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = bench_random_below(&random, i);
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    return order;
}

static char *map_pages(size_t bytes, int advice)
{
    char *raw = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        bench_die("no memory for the yardstick: %zu bytes", bytes);
    raw += HUGE_PAGE_BYTES - (uintptr_t)raw % HUGE_PAGE_BYTES;
    madvise(raw, bytes, advice);
    return raw;
}

static struct line *map_lines(const uint32_t *cycle, uint32_t count, int advice)
{
    struct line *lines = (struct line *)map_pages((size_t)count * sizeof(struct line), advice);
    for (uint32_t i = 0; i < count; i++)
        lines[i].next = cycle[i];
    return lines;
}

/* Keeps the compiler from leaving a loop out whose result nobody wants. */
static volatile uint64_t sink;

static double walk(const struct line *lines)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < READS / 8; i++)
        at = lines[at].next;
    uint64_t from_ns = bench_cpu_ns();
    for (uint32_t i = 0; i < READS; i++)
        at = lines[at].next;
    double each = (double)(bench_cpu_ns() - from_ns) / READS;
    sink = at;
    return each;
}

static double read_at_random(const struct line *lines, uint32_t count)
{
    uint64_t random = 2, sum = 0;
    uint64_t from_ns = bench_cpu_ns();
    for (uint32_t i = 0; i < READS; i++)
        sum += lines[bench_random_below(&random, count)].next;
    double each = (double)(bench_cpu_ns() - from_ns) / READS;
    sink = sum;
    return each;
}

/* As much of a cancel and an arm as is left without a timer structure. Two calls, as those are. */
struct touched {
    uint64_t words[3];
    uint32_t pending;
    uint32_t generation;
};

__attribute__((noinline)) static bool touch_end(struct touched *all, uint64_t handle)
{
    struct touched *one = &all[(uint32_t)handle];
    if (one->generation != handle >> 32 || one->pending == 0)
        return false;
    one->pending = 0;
    one->generation++;
    return true;
}

__attribute__((noinline)) static void touch_begin(struct touched *all, uint64_t handle,
                                                  uint64_t due, uint64_t *ret_handle)
{
    struct touched *one = &all[(uint32_t)handle];
    one->words[1] = due;
    one->words[2] = handle;
    one->pending = 1;
    *ret_handle = handle;
}

static double touch(const uint32_t *chance)
{
    struct touched *all = (struct touched *)map_pages(TOUCHED * sizeof *all, MADV_HUGEPAGE);
    uint64_t *handles = bench_alloc(TOUCHED, sizeof handles[0]);
    uint64_t failed = 0;
    for (uint32_t i = 0; i < TOUCHED; i++) {
        all[i] = (struct touched){.pending = 1, .generation = 1};
        handles[i] = UINT64_C(1) << 32 | i;
    }
    uint64_t from_ns = bench_cpu_ns();
    for (uint32_t i = 0; i < TOUCHES; i++) {
        uint64_t *handle = &handles[chance[i] % TOUCHED];
        uint64_t before = *handle;
        failed += !touch_end(all, before);
        touch_begin(all, before + (UINT64_C(1) << 32), i, handle);
    }
    double each = (double)(bench_cpu_ns() - from_ns) / TOUCHES;
    sink = failed;
    return each;
}

struct adder {
    unsigned nth;
    double each_ns;
    double share; /* of the time that passed, in which it had its processor */
};

static _Alignas(LINE_BYTES) atomic_uint ready;
static _Alignas(LINE_BYTES) _Atomic uint64_t contended;

static void *add(void *arg)
{
    struct adder *adder = arg;
    bench_pin(adder->nth);
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 2)
        continue;
    uint64_t from_wall_ns = bench_now_ns(), from_ns = bench_cpu_ns();
    for (uint32_t i = 0; i < ADDS; i++)
        atomic_fetch_add(&contended, 1);
    uint64_t spent_ns = bench_cpu_ns() - from_ns;
    adder->each_ns = (double)spent_ns / ADDS;
    adder->share = (double)spent_ns / (double)(bench_now_ns() - from_wall_ns);
    return NULL;
}

static double contended_add_once(double *ret_share)
{
    pthread_t threads[2];
    struct adder adders[2] = {{.nth = 0}, {.nth = 1}};
    atomic_store(&ready, 0);
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, add, &adders[i]) != 0)
            bench_die("cannot start a thread");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    *ret_share = fmin(adders[0].share, adders[1].share);
    return (adders[0].each_ns + adders[1].each_ns) / 2;
}

/* Of several times the one in which both were disturbed least: while one stands, the other has no
 * contention. */
static double contended_add(void)
{
    double best_share = 0, best_ns = 0;
    for (int i = 0; i < ADD_TRIES; i++) {
        double share;
        double each_ns = contended_add_once(&share);
        if (share > best_share) {
            best_share = share;
            best_ns = each_ns;
        }
    }
    return best_ns;
}

static void child(const void *arg, void *result)
{
    struct yardsticks *yardsticks = result;
    uint32_t count = (uint32_t)(*(const size_t *)arg / sizeof(struct line));
    uint32_t *cycle = draw_cycle(count);
    struct line *small = map_lines(cycle, count, MADV_NOHUGEPAGE);
    struct line *huge = map_lines(cycle, count, MADV_HUGEPAGE);
    yardsticks->miss_small_ns = walk(small);
    yardsticks->miss_huge_ns = walk(huge);
    yardsticks->independent_ns = read_at_random(huge, count);
    yardsticks->touch_ns = touch(cycle); /* any order by chance will do */
    yardsticks->contended_add_ns = contended_add();
}

void yardstick_measure(size_t buffer_bytes, struct yardsticks *ret_yardsticks)
{
    bench_in_child(child, &buffer_bytes, ret_yardsticks, sizeof *ret_yardsticks);
}
