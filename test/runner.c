/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TESTS_MAX = 1000, EXIT_USAGE = 2 };

static struct runner_test *tests; /* in the order of their lines */
static size_t passed;

/* The sanitizers ask these for their options; built in here, so that a test run by
 * hand behaves as one run by CTest. ASan must see a crash before cmocka does, or its
 * report is lost. The names are theirs. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "handle_segv=2:handle_abort=2:detect_stack_use_after_return=1:strict_string_checks=1";
}

const char *__tsan_default_options(void)
{
    return "halt_on_error=1:second_deadlock_stack=1";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1";
}

/* Constructors of one file may run in any order, so the line decides. */
void runner_add(struct runner_test *test)
{
    struct runner_test **at = &tests;
    while (*at != NULL && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

/* False: not set. A value that is no number ends the program: a seed that is not
 * used would repeat nothing. */
static bool number_given(const char *name, uint64_t *ret_number)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0')
        return false;
    char *end = NULL;
    errno = 0;
    uint64_t number = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0' || text[0] == '-') {
        (void)fprintf(stderr, "%s=%s is not a number from 0 to 2^64 - 1.\n", name, text);
        exit(EXIT_USAGE);
    }
    *ret_number = number;
    return true;
}

uint64_t test_seed(void)
{
    static bool known;
    static uint64_t seed;
    if (!known) {
        bool given = number_given("TOCSIN_SEED", &seed);
        if (!given && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
            perror("getrandom");
            abort();
        }
        known = true;
        if (!given)
            (void)printf("TOCSIN_SEED=%llu repeats this run.\n", (unsigned long long)seed);
    }
    return seed;
}

uint64_t test_effort(uint64_t count)
{
#if defined(__SANITIZE_THREAD__)
    uint64_t slower = 20;
#elif defined(__SANITIZE_ADDRESS__)
    uint64_t slower = 5;
#else
    uint64_t slower = 1;
#endif
    uint64_t times = 1;
    (void)number_given("TOCSIN_EFFORT", &times);
    uint64_t effort = count / slower * times;
    return effort > 0 ? effort : 1;
}

/* A failed assert jumps out of here, so only a test that returns is counted. */
static void run_one(void **state)
{
    const struct runner_test *test = *state;
    test->fn();
    passed++;
}

static int usage(const char *program)
{
    (void)fprintf(stderr,
                  "usage: %s [--list | PART]\n"
                  "Runs the tests whose names contain PART, or all. TOCSIN_SEED=<number> sets\n"
                  "the seed of what is random.\n",
                  program);
    return EXIT_USAGE;
}

static int list(void)
{
    for (const struct runner_test *test = tests; test != NULL; test = test->next)
        (void)printf("%s\n", test->name);
    return 0;
}

/* Returns how many there are; more than TESTS_MAX in one file is a mistake. */
static size_t choose(const char *part, struct CMUnitTest *chosen)
{
    size_t count = 0;
    for (struct runner_test *test = tests; test != NULL; test = test->next) {
        if (part != NULL && strstr(test->name, part) == NULL)
            continue;
        if (count == TESTS_MAX) {
            (void)fprintf(stderr, "More than %d tests in one file: split it.\n", TESTS_MAX);
            exit(EXIT_USAGE);
        }
        chosen[count++] = (struct CMUnitTest){
            .name = test->name,
            .test_func = run_one,
            .initial_state = test,
        };
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest chosen[TESTS_MAX];
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash != NULL ? slash + 1 : argv[0];
    const char *part = argc > 1 ? argv[1] : NULL;
    uint64_t seed = 0;

    /* What was printed before a crash must not be lost in a buffer. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2)
        return usage(program);
    if (part != NULL && strcmp(part, "--list") == 0)
        return list();
    if (part != NULL && part[0] == '-')
        return usage(program);
    if (number_given("TOCSIN_SEED", &seed))
        (void)printf("TOCSIN_SEED=%llu, as given.\n", (unsigned long long)seed);

    size_t count = choose(part, chosen);
    if (count == 0) {
        (void)fprintf(stderr, "%s: no test %s%s; --list shows them.\n", program,
                      part != NULL ? "whose name contains " : "in this file",
                      part != NULL ? part : "");
        return EXIT_USAGE;
    }
    int failed = _cmocka_run_group_tests(program, chosen, count, NULL, NULL);
    /* scripts/test adds these lines up. */
    (void)printf("%s: %zu passed, %d failed\n", program, passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
