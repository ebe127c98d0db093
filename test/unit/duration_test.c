/* SPDX-License-Identifier: MIT */
/* W-03: durations as people and ISO 8601 write them, and clear refusals. */
#include <string.h>

#include "runner.h"
#include "schedule/duration.h"

TEST(duration_is_read_in_three_ways)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } rows[] = {
        {"1h30m", 5400000},
        {"500ms", 500},
        {"2d", 172800000},
        {"1w", 604800000},
        {"0s", 0},
        {"0", 0},
        {"1500", 1500},
        {"90m", 5400000},
        {"1d2h3m4s5ms", 93784005},
        {"007s", 7000},
        {"PT5M", 300000},
        {"P1DT2H", 93600000},
        {"P2W", 1209600000},
        {"PT0.5S", 500},
        {"PT1.25S", 1250},
        {"PT1H0.007S", 3600007},
        {"P1W2DT3H4M5S", 788645000},
        {"PT36H", 129600000},
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551615ms", UINT64_MAX},
        {"18446744073709551s615ms", UINT64_MAX},
        {"PT18446744073709551.615S", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ms = 1;
        struct tocsin_why why = {""};
        if (duration_parse(rows[i].text, strlen(rows[i].text), &ms, &why) != TOCSIN_OK)
            fail_msg("%s: %s", rows[i].text, why.text);
        assert_true(ms == rows[i].ms);
    }
}

TEST(duration_that_is_not_exact_is_refused_with_the_place)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"", "it is empty"},
        {" 1s", "a digit is missing at character 1"},
        {"1s ", "a digit is missing at character 3"},
        {"1 s", "one of the units w, d, h, m, s, ms is missing at character 2"},
        {"-1s", "a digit is missing at character 1"},
        {"+1s", "a digit is missing"},
        {"1.5h", "one of the units"},
        {"1s1", "one of the units"},
        {"1m1h", "repeated or larger than the one before at character 4"},
        {"1m1m", "repeated or larger"},
        {"1H", "one of the units"},
        {"1hour", "one of the units"},
        {"s", "a digit is missing"},
        {"P", "a digit is missing at character 2"},
        {"PT", "a digit is missing at character 3"},
        {"P1DT", "a digit is missing at character 5"},
        {"P1Y", "months and years have no fixed length"},
        {"P1M", "months and years have no fixed length"},
        {"P1H", "one of the units W, D"},
        {"PT1D", "one of the units H, M, S"},
        {"PT1S1M", "repeated or larger"},
        {"PT1ST1S", "a digit is missing"},
        {"PT1.S", "a digit is missing"},
        {"PT1.2345S", "more than three decimals"},
        {"PT1.5M", "decimals of something else than seconds"},
        {"PT1.5", "decimals of something else"},
        {"pt1s", "a digit is missing"},
        {"18446744073709551616", "a number beyond 64 bits"},
        {"18446744073709552s", "more milliseconds than 64 bits hold"},
        {"18446744073709551s616ms", "more milliseconds than 64 bits hold"},
        {"PT18446744073709551.616S", "more milliseconds than 64 bits hold"},
        {"99999999999999999d", "more milliseconds"},
        {"1\x01s", "duration '1?s'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ms = 77;
        struct tocsin_why why = {""};
        assert_int_equal(duration_parse(rows[i].text, strlen(rows[i].text), &ms, &why),
                         TOCSIN_INVALID);
        if (strstr(why.text, rows[i].why) == NULL)
            fail_msg("'%s' said: %s", rows[i].text, why.text);
        assert_true(ms == 77);
    }
    uint64_t ms;
    assert_int_equal(duration_parse("1s\0", 3, &ms, NULL), TOCSIN_INVALID);
}

TEST(duration_written_is_read_again_as_the_same)
{
    struct test_random random = {test_seed()};
    char text[DURATION_TEXT_BYTES];
    duration_format(0, text);
    assert_string_equal(text, "0ms");
    duration_format(5400000, text);
    assert_string_equal(text, "1h30m");
    duration_format(UINT64_MAX, text);
    assert_string_equal(text, "213503982334d14h25m51s615ms");
    for (uint64_t i = test_effort(20000); i > 0; i--) {
        uint64_t ms = test_random_next(&random) >> test_random_below(&random, 64);
        uint64_t again = 0;
        duration_format(ms, text);
        assert_int_equal(duration_parse(text, strlen(text), &again, NULL), TOCSIN_OK);
        assert_true(ms == again);
    }
}
