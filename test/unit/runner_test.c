/* SPDX-License-Identifier: MIT */
/* The runner judges everything else, so it is judged first: on a program whose tests
 * fail on purpose. */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct outcome {
    int status; /* of the exit; -1 when it did not exit by itself */
    char text[16384];
};

/* Runs the fixture with environment and arguments as a shell would read them. */
static struct outcome run(const char *environment, const char *arguments)
{
    char command[1024];
    int size = snprintf(command, sizeof command, "TOCSIN_SEED= TOCSIN_EFFORT= %s '%s' %s 2>&1",
                        environment, RUNNER_FIXTURE, arguments);
    assert_true(size > 0 && (size_t)size < sizeof command);
    FILE *pipe = popen(command, "r"); /* NOLINT: the command is ours */
    assert_non_null(pipe);
    struct outcome outcome = {.status = -1};
    size_t length = fread(outcome.text, 1, sizeof outcome.text - 1, pipe);
    outcome.text[length] = '\0';
    int status = pclose(pipe);
    if (WIFEXITED(status) && WEXITSTATUS(status) < 128)
        outcome.status = WEXITSTATUS(status);
    return outcome;
}

static bool says(const struct outcome *outcome, const char *text)
{
    return strstr(outcome->text, text) != NULL;
}

TEST(a_failing_test_makes_the_exit_1_and_is_counted)
{
    struct outcome outcome = run("", "");
    assert_int_equal(outcome.status, 1);
    assert_true(says(&outcome, "runner_fixture: 5 passed, 1 failed\n"));
    assert_true(says(&outcome, "alpha_fails"));
}

TEST(passing_tests_alone_make_the_exit_0)
{
    struct outcome outcome = run("", "passes");
    assert_int_equal(outcome.status, 0);
    assert_true(says(&outcome, "runner_fixture: 2 passed, 0 failed\n"));
    assert_false(says(&outcome, "alpha_fails"));
}

TEST(tests_are_listed_in_the_order_of_the_file)
{
    struct outcome outcome = run("", "--list");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.text, "zulu_passes_and_stands_first\n"
                                      "alpha_fails\n"
                                      "mike_skips\n"
                                      "bravo_passes_after_a_failure\n"
                                      "seed_is_printed\n"
                                      "effort_is_printed\n"
                                      "yankee_dies_when_told_to\n");
}

TEST(a_run_without_a_passing_test_is_not_a_success)
{
    struct outcome skipped = run("", "mike_skips");
    assert_int_equal(skipped.status, 1);
    struct outcome none = run("", "no_such_name");
    assert_int_equal(none.status, 2);
    assert_true(says(&none, "no test whose name contains no_such_name"));
}

TEST(an_unknown_option_is_refused)
{
    struct outcome outcome = run("", "--fast");
    assert_int_equal(outcome.status, 2);
    assert_true(says(&outcome, "usage: runner_fixture"));
}

TEST(a_crash_is_a_failure_and_names_the_test_that_ran)
{
    struct outcome outcome = run("RUNNER_FIXTURE_DIES=1", "yankee");
    assert_int_not_equal(outcome.status, 0);
    assert_true(says(&outcome, "yankee_dies_when_told_to"));
    assert_false(says(&outcome, " passed, "));
}

TEST(a_given_seed_is_used_and_a_fresh_one_is_told)
{
    struct outcome given = run("TOCSIN_SEED=0x10", "seed_is_printed");
    assert_int_equal(given.status, 0);
    assert_true(says(&given, "TOCSIN_SEED=16, as given.\n"));
    assert_true(says(&given, "seed is 16\n"));

    struct outcome fresh = run("", "seed_is_printed");
    assert_int_equal(fresh.status, 0);
    unsigned long long told = 0, used = 0;
    const char *at_told = strstr(fresh.text, "TOCSIN_SEED=");
    const char *at_used = strstr(fresh.text, "seed is ");
    assert_non_null(at_told);
    assert_non_null(at_used);
    told = strtoull(at_told + strlen("TOCSIN_SEED="), NULL, 10);
    used = strtoull(at_used + strlen("seed is "), NULL, 10);
    assert_true(told == used);

    struct outcome wrong = run("TOCSIN_SEED=soon", "seed_is_printed");
    assert_int_equal(wrong.status, 2);
    assert_true(says(&wrong, "TOCSIN_SEED=soon is not a number"));
}

TEST(effort_is_what_the_build_affords_times_what_was_asked)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "effort is %llu\n",
                   (unsigned long long)test_effort(20) * 3);
    if (getenv("TOCSIN_EFFORT") != NULL)
        skip();
    struct outcome outcome = run("TOCSIN_EFFORT=3", "effort_is_printed");
    assert_int_equal(outcome.status, 0);
    assert_true(says(&outcome, wanted));
}

TEST(random_numbers_are_even_and_repeat_from_their_seed)
{
    struct test_random one = {test_seed()}, two = {test_seed()};
    unsigned counts[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint64_t value = test_random_below(&one, 3);
        assert_true(value == test_random_below(&two, 3));
        assert_true(value < 3);
        counts[value]++;
    }
    /* 10000 each expected; 500 is six standard deviations. */
    for (int i = 0; i < 3; i++)
        assert_in_range(counts[i], 9500, 10500);
    struct test_random known = {0};
    assert_true(test_random_next(&known) == 0xe220a8397b1dcdafu);
}
