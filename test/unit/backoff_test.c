/* SPDX-License-Identifier: MIT */
/* W-06, W-15: backoff is really exponential, capped and spread. */
#include <math.h>
#include <string.h>

#include "runner.h"
#include "schedule/backoff.h"

/* W-15 */
TEST(backoff_doubles_until_the_cap)
{
    struct backoff backoff = {.base_ms = 1000, .cap_ms = 60000, .factor = 2};
    static const uint64_t expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (uint32_t n = 0; n < sizeof expected / sizeof expected[0]; n++)
        assert_true(backoff_delay_ms(&backoff, n, UINT64_MAX) == expected[n]);
    assert_true(backoff_delay_ms(&backoff, UINT32_MAX, 0) == 60000);
    backoff.factor = 1.5;
    assert_true(backoff_delay_ms(&backoff, 3, 0) == 3375);
    backoff.factor = 1;
    assert_true(backoff_delay_ms(&backoff, 1000000, 0) == 1000);
    backoff.base_ms = 90000;
    assert_true(backoff_delay_ms(&backoff, 0, 0) == 60000);
    backoff.base_ms = 0;
    backoff.factor = 1000;
    assert_true(backoff_delay_ms(&backoff, UINT32_MAX, 0) == 0);
}

/* W-06 */
TEST(backoff_is_spread_below_the_delay_and_never_above_the_cap)
{
    struct test_random random = {test_seed()};
    struct backoff backoff = {.base_ms = 1000, .cap_ms = 60000, .factor = 2, .jitter = 0.2};
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t delay = backoff_delay_ms(&backoff, 20, test_random_next(&random));
        lowest = delay < lowest ? delay : lowest;
        highest = delay > highest ? delay : highest;
    }
    assert_true(lowest >= 48000 && lowest < 48300);
    assert_true(highest <= 60000 && highest > 59700);
    assert_true(backoff_delay_ms(&backoff, 20, 0) == 60000);
    backoff.jitter = 1;
    assert_true(backoff_delay_ms(&backoff, 0, UINT64_MAX) <= 1);
}

TEST(backoff_never_overflows)
{
    struct test_random random = {test_seed()};
    for (uint64_t i = test_effort(100000); i > 0; i--) {
        struct backoff backoff = {
            .base_ms = (test_random_next(&random) >> 10) >> test_random_below(&random, 54),
            .cap_ms = (test_random_next(&random) >> 10) >> test_random_below(&random, 54),
            .factor = 1 + (double)test_random_below(&random, 999000) / 1000,
            .jitter = (double)test_random_below(&random, 1001) / 1000,
        };
        if (backoff_valid(&backoff, NULL) != TOCSIN_OK)
            continue;
        uint32_t n = (uint32_t)(test_random_next(&random) >> (32 + test_random_below(&random, 32)));
        uint64_t delay = backoff_delay_ms(&backoff, n, test_random_next(&random));
        assert_true(delay <= backoff.cap_ms);
    }
}

TEST(backoff_that_makes_no_sense_is_refused_with_the_field)
{
    static const struct {
        struct backoff backoff;
        const char *why;
    } rows[] = {
        {{(UINT64_C(1) << 53) + 1, 1, 2, 0}, "base: 9007199254740993 ms"},
        {{1, UINT64_MAX, 2, 0}, "cap: "},
        {{1, 1, 0.5, 0}, "factor: 0.5, allowed is 1 to 1000"},
        {{1, 1, 1001, 0}, "factor: "},
        {{1, 1, -2, 0}, "factor: "},
        {{1, 1, 2, 1.5}, "jitter: 1.5, allowed is 0 to 1"},
        {{1, 1, 2, -0.1}, "jitter: "},
        {{1, 1, NAN, 0}, "factor: "},
        {{1, 1, 2, NAN}, "jitter: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tocsin_why why = {""};
        assert_int_equal(backoff_valid(&rows[i].backoff, &why), TOCSIN_INVALID);
        assert_non_null(strstr(why.text, rows[i].why));
    }
}
