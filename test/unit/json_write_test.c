/* SPDX-License-Identifier: MIT */
#include "base/json_write.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_read.h"
#include "runner.h"

static struct buffer buffer;
static struct json_writer writer;

static void start(void)
{
    buffer_init(&buffer, 10000);
    json_writer_init(&writer, &buffer);
}

static void assert_written(const char *expected)
{
    assert_true(json_write_done(&writer));
    assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
    buffer_append_byte(&buffer, '\0');
    assert_string_equal(buffer.data, expected);
    buffer_release(&buffer);
}

TEST(json_write_puts_commas_and_colons_where_they_belong)
{
    start();
    json_write_object(&writer);
    json_write_key(&writer, "a");
    json_write_array(&writer);
    json_write_int64(&writer, 1);
    json_write_array(&writer);
    json_write_array_end(&writer);
    json_write_object(&writer);
    json_write_object_end(&writer);
    json_write_text(&writer, "x");
    json_write_array_end(&writer);
    json_write_key(&writer, "b");
    json_write_object(&writer);
    json_write_key(&writer, "");
    json_write_null(&writer);
    json_write_object_end(&writer);
    json_write_key(&writer, "c");
    json_write_bool(&writer, true);
    json_write_key(&writer, "d");
    json_write_bool(&writer, false);
    assert_false(json_write_done(&writer));
    json_write_object_end(&writer);
    assert_written("{\"a\":[1,[],{},\"x\"],\"b\":{\"\":null},\"c\":true,\"d\":false}");
}

TEST(json_write_nests_to_the_limit)
{
    start();
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++)
        json_write_array(&writer);
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++)
        json_write_array_end(&writer);
    assert_true(json_write_done(&writer));
    assert_int_equal(buffer.size, 2 * JSON_WRITE_DEPTH_MAX);
    buffer_release(&buffer);
}

static void assert_string(const char *bytes, size_t size, const char *expected)
{
    start();
    json_write_string(&writer, bytes, size);
    assert_written(expected);
}

TEST(json_write_escapes_what_json_does_not_allow)
{
    assert_string("", 0, "\"\"");
    assert_string(NULL, 0, "\"\"");
    assert_string("\"\\/", 3, "\"\\\"\\\\/\"");
    assert_string("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    assert_string("a\0b\x1f\x7f", 5, "\"a\\u0000b\\u001f\x7f\"");
    assert_string("h\xc3\xa9 \xf0\x9f\x98\x80", 8, "\"h\xc3\xa9 \xf0\x9f\x98\x80\"");
}

#define REPLACED "\xef\xbf\xbd"

TEST(json_write_replaces_bytes_that_are_not_utf8)
{
    assert_string("caf\xe9", 4, "\"caf" REPLACED "\"");
    assert_string("\xc3", 1, "\"" REPLACED "\"");
    assert_string("\xed\xa0\x80!", 4, "\"" REPLACED REPLACED REPLACED "!\"");
    assert_string("\xf0\x9f\x98\xc3\xa9", 5, "\"" REPLACED REPLACED REPLACED "\xc3\xa9\"");
    start();
    json_write_object(&writer);
    json_write_key_bytes(&writer, "\xff\n", 2);
    json_write_null(&writer);
    json_write_object_end(&writer);
    assert_written("{\"" REPLACED "\\n\":null}");
}

TEST(json_write_integers_to_their_limits)
{
    start();
    json_write_array(&writer);
    json_write_int64(&writer, 0);
    json_write_int64(&writer, -1);
    json_write_int64(&writer, INT64_MAX);
    json_write_int64(&writer, INT64_MIN);
    json_write_uint64(&writer, UINT64_MAX);
    json_write_array_end(&writer);
    assert_written("[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615]");
}

TEST(json_write_doubles_with_the_fewest_digits_that_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1500, "-1500"},
        {0.2, "0.2"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {123.456, "123.456"},
        {0.000001, "0.000001"},
        {0.00000012, "1.2e-7"},
        {9007199254740992.0, "9007199254740992"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MIN, "-2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start();
        json_write_double(&writer, cases[i].value);
        assert_written(cases[i].text);
    }
}

TEST(json_write_doubles_read_back_as_themselves)
{
    struct test_random random = {test_seed()};
    buffer_init(&buffer, 100);
    for (uint64_t round = test_effort(20000); round > 0; round--) {
        union {
            uint64_t bits;
            double value;
        } given = {test_random_next(&random)};
        if (!isfinite(given.value))
            continue;
        buffer_clear(&buffer);
        json_writer_init(&writer, &buffer);
        json_write_double(&writer, given.value);
        struct json_reader reader;
        double value;
        json_reader_init(&reader, buffer.data, buffer.size, 0);
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_double(&reader, &value));
        assert_memory_equal(&value, &given.value, sizeof value);
    }
    buffer_release(&buffer);
}

TEST(json_write_raw_is_byte_for_byte_or_on_one_line)
{
    static const char raw[] = "{\"a\":\r\n\t[1e400, \"\\n\"]\n}";
    start();
    json_write_array(&writer);
    json_write_raw(&writer, raw, sizeof raw - 1);
    json_write_raw_on_a_line(&writer, raw, sizeof raw - 1);
    json_write_array_end(&writer);
    assert_written("[{\"a\":\r\n\t[1e400, \"\\n\"]\n},{\"a\":  \t[1e400, \"\\n\"] }]");
}

TEST(json_write_to_a_full_buffer_is_seen_at_the_end)
{
    for (size_t max_bytes = 0; max_bytes <= 25; max_bytes++) {
        buffer_init(&buffer, max_bytes);
        json_writer_init(&writer, &buffer);
        json_write_object(&writer);
        json_write_key(&writer, "name");
        json_write_text(&writer, "a\nb");
        json_write_key(&writer, "raw");
        json_write_raw_on_a_line(&writer, "1", 1);
        json_write_object_end(&writer);
        assert_true(json_write_done(&writer));
        /* {"name":"a\nb","raw":1} */
        assert_int_equal(buffer_status(&buffer), max_bytes < 23 ? TOCSIN_FULL : TOCSIN_OK);
        buffer_release(&buffer);
    }
}

static void value_without_key(void)
{
    json_write_object(&writer);
    json_write_null(&writer);
}

static void key_in_array(void)
{
    json_write_array(&writer);
    json_write_key(&writer, "a");
}

static void key_without_value(void)
{
    json_write_object(&writer);
    json_write_key(&writer, "a");
    json_write_object_end(&writer);
}

static void end_of_the_other(void)
{
    json_write_object(&writer);
    json_write_array_end(&writer);
}

static void end_without_beginning(void)
{
    json_write_array_end(&writer);
}

static void second_value(void)
{
    json_write_null(&writer);
    json_write_null(&writer);
}

static void too_deep(void)
{
    for (int i = 0; i <= JSON_WRITE_DEPTH_MAX; i++)
        json_write_array(&writer);
}

static void not_a_number(void)
{
    json_write_double(&writer, NAN);
}

static void infinity_either_way(void)
{
    json_write_double(&writer, -INFINITY);
}

TEST(json_write_stops_at_a_mistake_of_its_caller)
{
    static void (*const mistakes[])(void) = {
        value_without_key, key_in_array,          key_without_value,
        end_of_the_other,  end_without_beginning, second_value,
        too_deep,          not_a_number,          infinity_either_way};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)close(STDERR_FILENO);
            start();
            mistakes[i]();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        /* A sanitizer may make an exit code of the abort. */
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            fail_msg("mistake %zu went through", i);
    }
}
