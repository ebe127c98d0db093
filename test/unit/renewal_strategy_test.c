/* SPDX-License-Identifier: MIT */
/* Strategies are pure functions: what they say, as tables. */
#include <fnmatch.h>
#include <stdio.h>

#include "runner.h"
#include "service/renewal/spec.h"

static const struct renewal_step open_steps[] = {{300000, 10}, {600000, 5}, {60000, 0}};
static const struct renewal_step closed_steps[] = {{1000, 1}, {2000, 2}};

static const struct renewal_strategy fixed = {.type = STRATEGY_FIXED, .ttl_ms = 5000};
static const struct renewal_strategy open_end = {
    .type = STRATEGY_STEPS, .ttl_ms = 7, .steps = open_steps, .step_count = 3};
static const struct renewal_strategy closed = {
    .type = STRATEGY_STEPS, .ttl_ms = 7, .steps = closed_steps, .step_count = 2};
static const struct renewal_strategy until = {
    .type = STRATEGY_UNTIL, .ttl_ms = 5000, .until_ms = 100000};
static const struct renewal_strategy condition = {.type = STRATEGY_WHILE, .ttl_ms = 4000};

static const struct {
    const struct renewal_strategy *strategy;
    uint64_t count;
    int64_t now_ms;
    int64_t ttl_ms; /* 0: it has ended */
} table[] = {
    {&fixed, 0, 0, 5000},        {&fixed, UINT64_MAX, INT64_MAX, 5000},
    {&open_end, 0, 0, 300000},   {&open_end, 9, 0, 300000},
    {&open_end, 10, 0, 600000},  {&open_end, 14, 0, 600000},
    {&open_end, 15, 0, 60000},   {&open_end, UINT64_MAX, 0, 60000},
    {&closed, 0, 0, 1000},       {&closed, 1, 0, 2000},
    {&closed, 2, 0, 2000},       {&closed, 3, 0, 0},
    {&closed, UINT64_MAX, 0, 0}, {&until, 0, 0, 5000},
    {&until, 0, 95000, 5000},    {&until, 0, 95001, 4999}, /* never beyond what remains */
    {&until, 0, 99999, 1},                                 /* and never 0 */
    {&until, 0, 100000, 0},      {&until, 0, 200000, 0},
    {&condition, 3, 0, 4000},
};

TEST(R_02_what_strategies_say)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct renewal_context context = {table[i].count, 0, table[i].now_ms};
        int64_t ttl = strategy_ttl_ms(table[i].strategy, &context);
        if (ttl != table[i].ttl_ms)
            fail_msg("row %zu: %lld", i, (long long)ttl);
        assert_int_equal(strategy_goes_on(table[i].strategy, &context), ttl > 0);
    }
}

TEST(R_13_the_least_ttl_is_what_an_interval_is_measured_by)
{
    assert_int_equal(strategy_least_ttl_ms(&fixed), 5000);
    assert_int_equal(strategy_least_ttl_ms(&open_end), 60000);
    assert_int_equal(strategy_least_ttl_ms(&closed), 1000);
    assert_int_equal(strategy_least_ttl_ms(&until), 5000);
}

TEST(R_03_a_prefix_matches_what_begins_with_it_and_nothing_else)
{
    static const char *const prefixes[] = {"a", "x:", "a*b", "[x]", "q?", "b\\", "a-z^", "]"};
    char pattern[64];
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char key[64];
        struct bytes prefix = bytes_of(prefixes[i]);
        size_t size = prefix_to_pattern(prefix, pattern);
        assert_true(size <= prefix.size * 2 + 1);
        pattern[size] = '\0';
        (void)snprintf(key, sizeof key, "%s", prefixes[i]);
        assert_int_equal(fnmatch(pattern, key, 0), 0);
        (void)snprintf(key, sizeof key, "%srest*", prefixes[i]);
        assert_int_equal(fnmatch(pattern, key, 0), 0);
        assert_int_not_equal(fnmatch(pattern, "no", 0), 0);
        key[prefix.size - 1] = '!';
        assert_int_not_equal(fnmatch(pattern, key, 0), 0);
    }
    /* a byte that is zero has nothing to be kept from */
    assert_int_equal(prefix_to_pattern((struct bytes){"a\0*", 3}, pattern), 5);
    assert_memory_equal(pattern, "a\0\\**", 5);
}
