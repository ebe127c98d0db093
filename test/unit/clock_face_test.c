/* SPDX-License-Identifier: MIT */
/* The clock of `tocsin countdown watch`: its text, its digits and its bar. */
#include "runner.h"

#include <string.h>

#include "cli/clock_face.h"
#include "cli/countdown_text.h"

TEST(a_clock_is_rounded_up_and_has_tenths_at_the_end)
{
    static const struct {
        uint64_t ms;
        const char *text;
        const char *whole;
    } cases[] = {{0, "0:00", "0:00"},
                 {1, "0.1", "0:01"},
                 {100, "0.1", "0:01"},
                 {101, "0.2", "0:01"},
                 {9400, "9.4", "0:10"},
                 {9900, "9.9", "0:10"},
                 {9901, "0:10", "0:10"},
                 {10000, "0:10", "0:10"},
                 {10001, "0:11", "0:11"},
                 {59999, "1:00", "1:00"},
                 {3599000, "59:59", "59:59"},
                 {3600000, "1:00:00", "1:00:00"},
                 {86400000, "1d 00:00:00", "1d 00:00:00"},
                 {UINT64_MAX, "213503982334d 14:25:52", "213503982334d 14:25:52"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(clock_face_text(cases[i].ms).text, cases[i].text);
        assert_string_equal(clock_face_whole(cases[i].ms).text, cases[i].whole);
    }
}

TEST(digits_are_five_rows_high)
{
    static const char *const rows[CLOCK_FACE_ROWS] = {
        "  ##        ######", "####    ##      ##", "  ##        ######",
        "  ##    ##  ##    ", "######      ######",
    };
    char cells[CLOCK_FACE_COLS_MAX + 1];
    for (int row = 0; row < CLOCK_FACE_ROWS; row++) {
        assert_int_equal(clock_face_row("1:2", row, cells), 18);
        assert_string_equal(cells, rows[row]);
    }
}

TEST(every_row_of_every_letter_is_as_wide)
{
    char cells[CLOCK_FACE_COLS_MAX + 1];
    int cols = clock_face_row("0123456789d:. ", 0, cells);
    for (int row = 0; row < CLOCK_FACE_ROWS; row++) {
        assert_int_equal(clock_face_row("0123456789d:. ", row, cells), cols);
        assert_int_equal(strlen(cells), cols);
    }
}

TEST(digits_that_do_not_fit_are_not_drawn)
{
    char cells[CLOCK_FACE_COLS_MAX + 1];
    assert_true(clock_face_row("00000000000000000000000000000000", 0, cells) > CLOCK_FACE_COLS_MAX);
    assert_string_equal(cells, "");
}

TEST(a_bar_runs_down_by_halves_and_is_empty_only_at_the_end)
{
    static const struct {
        uint64_t left_ms;
        const char *cells;
    } cases[] = {{8000, "===="}, {9000, "===="}, {7999, "===-"}, {4000, "==.."}, {3999, "=-.."},
                 {1000, "-..."}, {999, "-..."},  {1, "-..."},    {0, "...."}};
    char cells[CLOCK_FACE_COLS_MAX + 1];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clock_face_bar(cases[i].left_ms, 8000, 4, cells);
        assert_string_equal(cells, cases[i].cells);
    }
    clock_face_bar(5, 0, 2, cells);
    assert_string_equal(cells, "==");
    clock_face_bar(0, 0, 2, cells);
    assert_string_equal(cells, "..");
    clock_face_bar(1, 2, -7, cells);
    assert_string_equal(cells, "");
    clock_face_bar(1, 1, 100000, cells);
    assert_int_equal(strlen(cells), CLOCK_FACE_COLS_MAX);
}

TEST(a_countdown_is_read_and_cannot_talk_to_the_terminal)
{
    struct countdown_text it;
    char text[COUNTDOWN_LINE_BYTES];
    assert_true(countdown_text_read(
        bytes_of("{\"key\":\"a\",\"owner\":\"a\\u001b[2Jda\",\"version\":\"7\",\"kind\":\"event\","
                 "\"state\":\"paused\",\"deadline_ms\":null,\"left_ms\":12300,\"left\":13,"
                 "\"started_ms\":1,\"expired_ms\":null,\"fence\":null,\"rev\":9}"),
        &it));
    assert_string_equal(it.owner, "a?[2Jda");
    assert_string_equal(it.version, "7");
    assert_int_equal(it.left_ms, 12300);
    assert_int_equal(it.deadline_ms, 0);
    assert_int_equal(it.rev, 9);
    countdown_text_say(&it, text);
    assert_string_equal(text, "a?[2Jda has 0:13 left");
    assert_false(countdown_text_over(&it));
    assert_true(countdown_text_read(
        bytes_of("{\"key\":\"a\",\"owner\":\"ada\",\"version\":\"7\",\"kind\":\"event\","
                 "\"state\":\"firing\",\"deadline_ms\":1700000000000,\"left_ms\":0,\"left\":0,"
                 "\"started_ms\":1,\"expired_ms\":null,\"fence\":4294967297,\"rev\":9}"),
        &it));
    assert_true(countdown_text_over(&it)); /* C-12 */
    countdown_text_say(&it, text);
    assert_non_null(strstr(text, "the time of ada is up since "));
    assert_false(countdown_text_read(bytes_of("{\"state\":\"running\"}"), &it));
    assert_false(countdown_text_read(bytes_of("{\"left_ms\":5}"), &it));
    assert_false(countdown_text_read(bytes_of("{\"state\":\"running\",\"left_ms\":-5}"), &it));
    assert_false(countdown_text_read(bytes_of("nonsense"), &it));
}
