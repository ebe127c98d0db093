/* SPDX-License-Identifier: MIT */
/* What the command line shows to people, and how it reads what servers answer. */
#include "runner.h"

#include <string.h>

#include "base/word_distance.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "cli/when.h"

TEST(a_span_has_its_two_largest_units)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {{0, "0ms"},       {999, "999ms"},      {1000, "1s"},
                 {59999, "59s"},   {60000, "1m"},       {299000, "4m 59s"},
                 {3600000, "1h"},  {3660000, "1h 1m"},  {3601000, "1h"},
                 {86400000, "1d"}, {93600000, "1d 2h"}, {UINT64_MAX, "213503982334d 14h"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(when_span(cases[i].ms).text, cases[i].text);
}

TEST(a_time_is_told_from_now)
{
    assert_string_equal(when_relative(1000, 1000).text, "now");
    assert_string_equal(when_relative(300000, 1000).text, "in 4m 59s");
    assert_string_equal(when_relative(1000, 4000).text, "3s ago");
    assert_true(strlen(when_relative(INT64_MAX, INT64_MIN).text) < WHEN_BYTES);
    assert_true(strlen(when_relative(INT64_MIN, INT64_MAX).text) < WHEN_BYTES);
    assert_string_equal(when_local(INT64_MAX).text, "-");
}

TEST(nothing_in_a_cell_is_a_command_to_the_terminal)
{
    char clean[32];
    table_clean("a\033[2Jb\r\n\tc\x7f", clean, sizeof clean);
    assert_string_equal(clean, "a?[2Jb???c?");
    table_clean("gr\xc3\xbc\xc3\x9f \xc2\x9b"
                "31m",
                clean, sizeof clean);
    assert_string_equal(clean, "gr\xc3\xbc\xc3\x9f ?31m");
    table_clean("\xc2", clean, sizeof clean);
    assert_string_equal(clean, "?");
    table_clean("too long for this", clean, 4);
    assert_string_equal(clean, "too");
}

TEST(fields_are_found_by_name_and_type)
{
    struct bytes json = bytes_of("{\"a\":1,\"text\":\"x\\u00e9\\n\",\"list\":[1, {\"a\":2} ,3],"
                                 "\"null\":null,\"deep\":{\"a\":7}}");
    struct bytes value;
    struct bytes item;
    char text[16];
    int64_t number = -1;
    assert_true(fields_int64(json, "a", &number));
    assert_int_equal(number, 1);
    assert_true(fields_text(json, "text", text, sizeof text));
    assert_string_equal(text, "x\xc3\xa9\n");
    assert_false(fields_text(json, "a", text, sizeof text));
    assert_false(fields_int64(json, "text", &number));
    assert_false(fields_int64(json, "none", &number));
    assert_int_equal(number, 1);
    assert_true(fields_raw(json, "list", &value));
    size_t count = 0;
    for (; fields_item(&value, &item); count++)
        assert_true(bytes_are(item, count == 0 ? "1" : count == 1 ? "{\"a\":2}" : "3"));
    assert_int_equal(count, 3);
    value = bytes_of("[]");
    assert_false(fields_item(&value, &item));
}

TEST(a_text_is_cut_between_letters)
{
    char text[4];
    assert_true(fields_text(bytes_of("{\"a\":\"ab\xc3\xa9z\"}"), "a", text, sizeof text));
    assert_string_equal(text, "ab");
}

TEST(fields_of_what_is_no_object_are_not_there)
{
    static const char *const texts[] = {"", "[1]", "{\"a\"", "{\"a\":", "{\"a\":1", "nonsense"};
    struct bytes value;
    char text[8];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(fields_text(bytes_of(texts[i]), "a", text, sizeof text));
        assert_false(fields_raw(bytes_of(texts[i]), "b", &value));
    }
}

TEST(a_distance_counts_letters_but_not_case_and_dashes)
{
    assert_int_equal(word_distance(bytes_of("ls"), bytes_of("ls")), 0);
    assert_int_equal(word_distance(bytes_of("--If_Match"), bytes_of("--if-match")), 0);
    assert_int_equal(word_distance(bytes_of("canel"), bytes_of("cancel")), 1);
    assert_int_equal(word_distance(bytes_of("statsu"), bytes_of("status")), 2);
    assert_int_equal(word_distance(bytes_of(""), bytes_of("abc")), 3);
}

TEST(the_nearest_command_is_suggested_and_nothing_far_away)
{
    assert_string_equal(command_nearest(commands, "resum")->name, "resume");
    assert_string_equal(command_nearest(commands, "Verify")->name, "verify");
    assert_null(command_nearest(commands, "frobnicate"));
    assert_null(command_nearest(commands, ""));
    assert_string_equal(command_nearest(commands, "completio")->name, "completion");
}

TEST(the_nearest_verb_is_one_of_its_command)
{
    const struct command *countdown = command_find(commands, "countdown");
    assert_string_equal(command_nearest(countdown->verbs, "pasue")->name, "countdown pause");
    assert_null(command_nearest(countdown->verbs, "completio"));
    assert_null(command_find(commands, "countdown start"));
    assert_string_equal(command_word(command_find(countdown->verbs, "start")), "start");
}

static void check_command(const struct command *command)
{
    const struct option_row *option;
    assert_true(command->run != NULL || command->verbs != NULL); /* keep has both */
    assert_true(command->run != NULL || (command->rows == NULL && command->words_max == 0));
    assert_non_null(command->text);
    assert_non_null(strstr(command->after, "example: tocsin "));
    assert_true(command->words_max == 0 || command->word_name != NULL);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        assert_non_null(option->read);
        for (size_t m = 0; m < n; m++)
            assert_string_not_equal(option->name, command_option(command, m)->name);
    }
}

TEST(every_command_is_complete_and_no_option_comes_twice)
{
    const struct command *command;
    const struct command *of = commands[0];
    size_t verbs = 0;
    for (size_t n = 0; (command = command_nth(n)) != NULL; n++) {
        const char *word = command_word(command);
        check_command(command);
        if (word == command->name) {
            assert_ptr_equal(command_find(commands, word), command);
            of = command;
            continue;
        }
        assert_ptr_equal(command_find(of->verbs, word), command);
        assert_int_equal(strncmp(command->name, of->name, strlen(of->name)), 0);
        assert_int_equal(word - command->name, strlen(of->name) + 1);
        verbs++;
    }
    assert_true(verbs > 10);
}
