/* SPDX-License-Identifier: MIT */
/* runner.h - how do I write a test?
 *
 * A file test/unit/NAME_test.c becomes a program of its own; each test in it is
 *
 *     TEST(cancel_during_cascade_does_not_fire)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 * and nothing else: it registers itself, and the build finds the file. The tests
 * of a file run in the order in which they stand there. The asserts are cmocka's.
 *
 * Chance    comes from test_seed only, so that TOCSIN_SEED=<number> repeats a run.
 * Effort    a long test takes its number of rounds from test_effort.
 */
#ifndef TEST_RUNNER_H
#define TEST_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/random.h"

struct runner_test {
    const char *name;
    int line;
    void (*fn)(void);
    struct runner_test *next;
};

void runner_add(struct runner_test *test);

#define TEST(test_name)                                                                            \
    static void run_##test_name(void);                                                             \
    __attribute__((constructor)) static void runner_add_##test_name(void)                          \
    {                                                                                              \
        static struct runner_test test = {#test_name, __LINE__, run_##test_name, NULL};            \
        runner_add(&test);                                                                         \
    }                                                                                              \
    static void run_##test_name(void)

/* The seed of this run: TOCSIN_SEED when it is set, else a fresh one. Printed when
 * first asked for; the same for every caller. */
uint64_t test_seed(void);

/* How many rounds of a long test this build affords, of the count that suits a release
 * build: under a sanitizer a part of it, but at least one. TOCSIN_EFFORT=<number> makes it
 * that many times more, for a night. */
uint64_t test_effort(uint64_t count);

#endif
