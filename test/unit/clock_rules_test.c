/* SPDX-License-Identifier: MIT */
/* Clocks as they are written for `tocsin room new --clock`, and as they are read. */
#include "runner.h"

#include "cli/clock_rules.h"

TEST(what_is_written_is_read_in_words)
{
    static const struct {
        const char *written, *mode;
        int64_t bank_ms, extra_ms, periods;
        const char *said;
    } rows[] = {
        {"turn:30s", "turn", 30000, 0, 0, "30s a move"},
        {"fischer:5m+3s", "fischer", 300000, 3000, 0, "5m + 3s a move"},
        {"Fischer:5m", "fischer", 300000, 0, 0, "5m a game"},
        {"bronstein:1h30m+500ms", "bronstein", 5400000, 500, 0, "1h30m, Bronstein 500ms"},
        {"delay:PT5M+3000", "delay", 300000, 3000, 0, "5m, delay 3s"},
        {"byoyomi:1m+3x10s", "byoyomi", 60000, 10000, 3, "1m + 3 x 10s"},
        {"byoyomi:0s+1x10s", "byoyomi", 0, 10000, 1, "0ms + 1 x 10s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct clock_rules rules;
        char text[CLOCK_RULES_TEXT_BYTES];
        assert_true(clock_rules_parse(rows[i].written, &rules));
        assert_string_equal(clock_rules_mode(&rules), rows[i].mode);
        assert_int_equal(rules.bank_ms, rows[i].bank_ms);
        assert_int_equal(rules.extra_ms, rows[i].extra_ms);
        assert_int_equal(rules.periods, rows[i].periods);
        clock_rules_say(&rules, "x", text);
        assert_string_equal(text, rows[i].said);
    }
}

TEST(what_is_no_clock_is_refused)
{
    static const char *const rows[] = {
        "",
        "30s",
        "fischer",
        "fischer:",
        "fischer:+3s",
        "fischer:5m+",
        "fischer:5m+3s+3s",
        "fischer:5m+3x10s",
        "fish:5m+3s",
        "turn:30s+3s",
        "another clock:5m",
        "byoyomi:1m",
        "byoyomi:1m+10s",
        "byoyomi:1m+0x10s",
        "byoyomi:1m+x10s",
        "byoyomi:1m+3x",
        "byoyomi:1m+123456789012345678901234567890x10s",
        "delay:18446744073709551615",
        " turn:30s",
        "turn: 30s",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct clock_rules rules = {.bank_ms = 7};
        assert_false(clock_rules_parse(rows[i], &rules));
        assert_int_equal(rules.bank_ms, 7);
    }
}

TEST(an_answer_without_rules_or_with_odd_ones_is_read)
{
    char text[CLOCK_RULES_TEXT_BYTES];
    struct clock_rules rules = clock_rules_read((struct bytes){0}, 45);
    clock_rules_say(&rules, "x", text);
    assert_string_equal(text, "45s a move");
    rules = clock_rules_read(bytes_of("{\"mode\":\"hourglass\",\"bankMs\":1}"), 45);
    clock_rules_say(&rules, "x", text);
    assert_string_equal(text, "another clock");
    rules = clock_rules_read(bytes_of("{\"mode\":\"byoyomi\",\"bankMs\":-9223372036854775808,"
                                      "\"extraMs\":9223372036854775807,"
                                      "\"periods\":9223372036854775807}"),
                             INT64_MIN);
    assert_true(rules.bank_ms == 0 && rules.periods * rules.extra_ms > 0);
}
