/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "runner.h"
#include "support/json_cases.h"

static void init(struct json_reader *reader, const char *text)
{
    json_reader_init(reader, text, strlen(text), 0);
}

/* A reader that has just read the one token of this text. */
static struct json_reader at_token(const char *text, enum json_token token)
{
    struct json_reader reader;
    init(&reader, text);
    assert_true(json_read_expect(&reader, token));
    return reader;
}

static void assert_why(struct json_reader *reader, const char *expected)
{
    struct tocsin_why why = {""};
    assert_int_equal(json_read_finish(reader, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, expected);
}

/* In a copy of exactly the right size, so that a sanitizer sees a read past the end. */
static bool accepts(const char *text, size_t size)
{
    struct json_reader reader;
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    json_reader_init(&reader, copy, size, 0);
    enum json_token token;
    do {
        token = json_read_next(&reader);
    } while (token != JSON_READ_END && token != JSON_READ_BAD);
    bool by_tokens = json_read_finish(&reader, NULL) == TOCSIN_OK;
    assert_int_equal(by_tokens, token == JSON_READ_END);
    json_reader_init(&reader, copy, size, 0);
    bool skipped = json_read_raw(&reader, NULL);
    assert_int_equal(skipped && json_read_finish(&reader, NULL) == TOCSIN_OK, by_tokens);
    free(copy);
    return by_tokens;
}

TEST(json_read_accepts_what_is_json_and_refuses_what_is_not)
{
    for (size_t i = 0; i < JSON_CASE_COUNT; i++) {
        const struct json_case *given = &json_cases[i];
        bool wanted = given->name[0] == 'y' || strncmp(given->name, "i_accepted", 10) == 0;
        if (accepts(given->text, given->size) != wanted)
            fail_msg("%s", given->name);
    }
}

TEST(json_read_refuses_every_beginning_of_an_object)
{
    static const char text[] =
        "{\"a\":[1,-2.5e+3,\"\\ud83d\\ude00\\n\xc3\xa9\",true,null],\"b\":{}}";
    assert_true(accepts(text, sizeof text - 1));
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_false(accepts(text, size));
}

TEST(json_read_tells_a_tired_person_what_is_wrong_and_where)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"id\":\"a\",\"name\":\"b}", "byte 17: a string must end with a quote"},
        {"", "byte 0: the text ends where a value is expected"},
        {"[1,]", "byte 2: the last comma is one too many"},
        {"[1 2]", "byte 3: a comma or ] is expected"},
        {"{\"a\":1;", "byte 6: a comma or } is expected"},
        {"{\"a\" 1}", "byte 5: a colon must follow the field name"},
        {"{a:1}", "byte 1: a field name in quotes is expected"},
        {"[01]", "byte 1: a number must not start with a zero"},
        {"-x", "byte 1: a minus must be followed by a digit"},
        {"1.", "byte 2: a decimal point must be followed by a digit"},
        {"1e+", "byte 3: an exponent must have a digit"},
        {"1 2", "byte 2: nothing may follow the value"},
        {"nil", "byte 0: a value is expected; the only bare words are true, false and null"},
        {"[?]", "byte 1: a value is expected"},
        {"\"\t\"", "byte 1: a control character in a string must be written as an escape"},
        {"\"ab\xff\"", "byte 3: this is not valid UTF-8"},
        {"\"\\ud800\"", "byte 1: this is half of a surrogate pair, the other is missing"},
        {"\"\\u12\"", "byte 1: \\u must be followed by four hexadecimal digits"},
        {"\"\\x\"", "byte 1: after a backslash comes one of \" \\ / b f n r t, or u and four "
                    "hexadecimal digits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_reader reader;
        init(&reader, cases[i].text);
        (void)json_read_raw(&reader, NULL);
        assert_why(&reader, cases[i].why);
        assert_true(json_read_malformed(&reader));
    }
}

TEST(json_read_hands_out_tokens_in_the_order_of_the_text)
{
    static const enum json_token expected[] = {
        JSON_READ_OBJECT,     JSON_READ_KEY,  JSON_READ_ARRAY,  JSON_READ_NUMBER,
        JSON_READ_STRING,     JSON_READ_TRUE, JSON_READ_FALSE,  JSON_READ_NULL,
        JSON_READ_ARRAY_END,  JSON_READ_KEY,  JSON_READ_OBJECT, JSON_READ_OBJECT_END,
        JSON_READ_OBJECT_END, JSON_READ_END,  JSON_READ_END,
    };
    struct json_reader reader;
    init(&reader, " {\"a\": [1, \"x\", true, false, null], \"b\": {}} ");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(json_read_next(&reader), expected[i]);
    assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
}

TEST(json_read_gives_a_value_back_byte_for_byte)
{
    static const char *const payloads[] = {
        "18446744073709551616", "1e400",        "{\"z\":1, \"a\" : 2,\n\"z\":1.0}",
        "\"\\u0041\\/\"",       "[ [ ] , -0 ]", "null",
    };
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "[ 1, \n%s , 2]", payloads[i]);
        struct json_reader reader = at_token(text, JSON_READ_ARRAY);
        struct json_span span;
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_raw(&reader, &span));
        assert_int_equal(span.size, strlen(payloads[i]));
        assert_memory_equal(span.at, payloads[i], span.size);
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_expect(&reader, JSON_READ_ARRAY_END));
        assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
    }
    struct json_span untouched = {"as it was", 9};
    struct json_reader reader = at_token("[[1,\"\xff\"]]", JSON_READ_ARRAY);
    assert_false(json_read_raw(&reader, &untouched));
    assert_int_equal(untouched.size, 9);
    reader = at_token("[]", JSON_READ_ARRAY);
    assert_false(json_read_raw(&reader, &untouched));
    assert_why(&reader, "byte 1: a value is expected");
}

TEST(json_read_nests_as_deep_as_it_was_told)
{
    char text[2 * JSON_DEPTH_MAX + 2];
    for (unsigned limit = 1; limit <= JSON_DEPTH_MAX; limit++) {
        for (unsigned depth = limit; depth <= limit + 1; depth++) {
            struct json_reader reader;
            memset(text, '[', depth);
            memset(text + depth, ']', depth);
            json_reader_init(&reader, text, 2 * (size_t)depth, limit);
            assert_int_equal(json_read_raw(&reader, NULL), depth == limit);
        }
    }
    struct json_reader reader;
    json_reader_init(&reader, "[{\"a\":[1]}]", 11, 2);
    assert_false(json_read_raw(&reader, NULL));
    assert_why(&reader, "byte 6: \"a\": nested too deep, at most 2 levels");
    /* A container that was left does not count, and its kind is forgotten. */
    assert_true(accepts("[[{}],{\"a\":[]},[[]]]", 20));
    assert_false(accepts("[{\"a\":{}},[\"a\":1]]", 18));
}

static void assert_string(const char *text, const char *expected, size_t expected_size)
{
    struct json_reader reader = at_token(text, JSON_READ_STRING);
    struct json_reader again = reader;
    char to[64];
    size_t size = 77;
    assert_true(json_read_string(&reader, to, sizeof to, &size));
    assert_int_equal(size, expected_size);
    assert_memory_equal(to, expected, size);
    reader = again;
    assert_true(json_read_string(&reader, to, expected_size, &size));
    if (expected_size == 0)
        return;
    size = 77;
    assert_false(json_read_string(&again, to, expected_size - 1, &size));
    assert_int_equal(size, 77);
    assert_false(json_read_malformed(&again));
}

TEST(json_read_strings_come_without_escapes_and_with_their_length)
{
    assert_string("\"\"", "", 0);
    assert_string("\"plain\"", "plain", 5);
    assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    assert_string("\"a\\u0000b\"", "a\0b", 3);
    assert_string("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6);
    assert_string("\"<\\ud83d\\ude00>\"", "<\xf0\x9f\x98\x80>", 6);
    assert_string("\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8);
    struct json_reader reader = at_token("\"abc\"", JSON_READ_STRING);
    char to[2];
    size_t size;
    assert_false(json_read_string(&reader, to, 2, &size));
    assert_why(&reader, "byte 0: a string may have at most 2 bytes here");
}

TEST(json_read_whole_numbers_are_never_bent_to_fit)
{
    static const struct {
        const char *text;
        bool is_int, is_uint;
        int64_t as_int;
        uint64_t as_uint;
    } cases[] = {
        {"0", true, true, 0, 0},
        {"-0", true, true, 0, 0},
        {"-1", true, false, -1, 0},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"9223372036854775808", false, true, 0, UINT64_C(1) << 63},
        {"-9223372036854775808", true, false, INT64_MIN, 0},
        {"-9223372036854775809", false, false, 0, 0},
        {"18446744073709551615", false, true, 0, UINT64_MAX},
        {"18446744073709551616", false, false, 0, 0},
        {"-18446744073709551616", false, false, 0, 0},
        {"100000000000000000000000000000000000000", false, false, 0, 0},
        {"1.0", false, false, 0, 0},
        {"1e2", false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_reader reader = at_token(cases[i].text, JSON_READ_NUMBER);
        int64_t as_int = 77;
        assert_int_equal(json_read_int64(&reader, &as_int), cases[i].is_int);
        assert_true(as_int == (cases[i].is_int ? cases[i].as_int : 77));
        reader = at_token(cases[i].text, JSON_READ_NUMBER);
        uint64_t as_uint = 77;
        assert_int_equal(json_read_uint64(&reader, &as_uint), cases[i].is_uint);
        assert_true(as_uint == (cases[i].is_uint ? cases[i].as_uint : 77));
    }
    struct json_reader reader = at_token("1e2", JSON_READ_NUMBER);
    int64_t value;
    assert_false(json_read_int64(&reader, &value));
    assert_why(&reader, "byte 0: a whole number is expected, without fraction and exponent");
}

TEST(json_read_doubles_are_the_nearest_ones)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"0.2", 0.2},
        {"-12.5e-1", -1.25},
        {"1E+2", 100},
        {"100000000000000000000000", 1e23},
        {"0.000000000000000000000001", 1e-24},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
        {"1.7976931348623158e308", 0x1.fffffffffffffp1023},
        {"4.9e-324", 0x1p-1074},
        {"1e-400", 0},
        {"0e999999999999999999999999", 0},
        {"0.00000000000000000001e20", 1},
        {"9007199254740993", 9007199254740992},
        {"9007199254740993.0000000000000000000000000000000001", 9007199254740994},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_reader reader = at_token(cases[i].text, JSON_READ_NUMBER);
        double value = 77;
        assert_true(json_read_double(&reader, &value));
        if (value != cases[i].value)
            fail_msg("%s is read as %.17g", cases[i].text, value);
    }
    struct json_reader reader = at_token("-0.0", JSON_READ_NUMBER);
    double value = 77;
    assert_true(json_read_double(&reader, &value));
    assert_true(value == 0 && signbit(value));
}

TEST(json_read_refuses_a_double_that_is_too_large)
{
    static const char *const cases[] = {"1e400", "-1e400", "1.7976931348623159e308",
                                        "1e99999999999999999999"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_reader reader = at_token(cases[i], JSON_READ_NUMBER);
        double value = 77;
        assert_false(json_read_double(&reader, &value));
        assert_true(value == 77);
        assert_why(&reader, "byte 0: this number is too large");
    }
}

/* However long the digits are: the last of them may decide which way to round. */
TEST(json_read_doubles_of_any_length_are_rounded_right)
{
    enum { ZEROS = 5000 };
    static char text[2 * ZEROS];
    for (int more = 0; more < 2; more++) {
        /* 2^53 + 1 lies halfway between two doubles; a 1 far behind tips it. */
        int size = snprintf(text, sizeof text, "9007199254740993.%0*d", ZEROS, more);
        struct json_reader reader;
        double value;
        json_reader_init(&reader, text, (size_t)size, 0);
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_double(&reader, &value));
        assert_true(value == (more ? 9007199254740994.0 : 9007199254740992.0));

        size = snprintf(text, sizeof text, "0.%0*de%d", ZEROS, 25 + more, ZEROS);
        json_reader_init(&reader, text, (size_t)size, 0);
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_double(&reader, &value));
        assert_true(value == 25 + more);

        memset(text, '0', sizeof text);
        text[0] = (char)('1' + more);
        size = snprintf(text + ZEROS, ZEROS, "e-%d", ZEROS - 1);
        json_reader_init(&reader, text, ZEROS + (size_t)size, 0);
        assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
        assert_true(json_read_double(&reader, &value));
        assert_true(value == 1 + more);
    }
}

static const char *const task_names[] = {"id", "name", "payload"};

static void read_task(const char *text, struct json_reader *reader, struct json_keys *keys)
{
    size_t which;
    *keys = (struct json_keys){task_names, 3, 0};
    init(reader, text);
    (void)json_read_expect(reader, JSON_READ_OBJECT);
    while (json_read_field(reader, keys, &which)) {
        if (which == 2)
            (void)json_read_raw(reader, NULL);
        else
            (void)json_read_expect(reader, JSON_READ_STRING);
    }
}

TEST(json_read_knows_the_fields_of_an_object_in_any_order)
{
    struct json_reader reader;
    struct json_keys keys;
    read_task("{\"payload\":{\"id\":1,\"id\":2},\"id\":\"a\"}", &reader, &keys);
    assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
    assert_int_equal(keys.seen, 1 << 2 | 1 << 0);
    read_task("{\"\\u0069d\":\"a\"}", &reader, &keys);
    assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
    assert_int_equal(keys.seen, 1 << 0);
    read_task("{}", &reader, &keys);
    assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
    assert_int_equal(keys.seen, 0);
}

TEST(json_read_names_the_field_that_is_wrong)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"id\":\"a\",\"nam\":\"b\"}", "byte 10: \"nam\": there is no such field"},
        {"{\"ids\":\"a\"}", "byte 1: \"ids\": there is no such field"},
        {"{\"i\":\"a\"}", "byte 1: \"i\": there is no such field"},
        {"{\"\":\"a\"}", "byte 1: \"\": there is no such field"},
        {"{\"id\\u0000\":\"a\"}", "byte 1: \"id\\u0000\": there is no such field"},
        {"{\"id\":\"a\",\"id\":\"b\"}", "byte 10: \"id\": this field is given twice"},
        {"{\"id\":\"a\",\"\\u0069d\":\"b\"}", "byte 10: \"\\u0069d\": this field is given twice"},
        {"{\"id\":5}", "byte 6: \"id\": a string is expected, not a number"},
        {"{\"payload\":{\"x\":1},\"name\":null}",
         "byte 26: \"name\": a string is expected, not null"},
        {"[]", "byte 0: an object is expected, not an array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_reader reader;
        struct json_keys keys;
        read_task(cases[i].text, &reader, &keys);
        assert_why(&reader, cases[i].why);
        assert_false(json_read_malformed(&reader));
    }
}

TEST(json_read_cuts_a_long_name_between_two_characters)
{
    char text[100];
    char expected[120];
    char accents[80];
    for (size_t i = 0; i < sizeof accents; i++)
        accents[i] = i % 2 == 0 ? '\xc3' : '\xa9';
    (void)snprintf(text, sizeof text, "{\"x%.80s\":1}", accents);
    (void)snprintf(expected, sizeof expected, "byte 1: \"x%.62s...\": there is no such field",
                   accents);
    struct json_reader reader;
    struct json_keys keys;
    read_task(text, &reader, &keys);
    assert_why(&reader, expected);
}

TEST(json_read_says_what_a_caller_refuses)
{
    struct json_reader reader = at_token("{\"max\": 0}", JSON_READ_OBJECT);
    assert_true(json_read_expect(&reader, JSON_READ_KEY));
    assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
    json_read_refuse(&reader, "must be at least 1");
    json_read_refuse(&reader, "and something else");
    assert_int_equal(json_read_next(&reader), JSON_READ_BAD);
    assert_why(&reader, "byte 8: \"max\": must be at least 1");
    reader = at_token("[{\"a\":1},5]", JSON_READ_ARRAY);
    assert_true(json_read_raw(&reader, NULL));
    assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
    json_read_refuse(&reader, "too many"); /* the 5 is not the field "a" */
    assert_why(&reader, "byte 9: too many");
}

TEST(json_read_after_a_failure_every_call_fails_and_writes_nothing)
{
    struct json_reader reader = at_token("[1 x]", JSON_READ_ARRAY);
    assert_true(json_read_expect(&reader, JSON_READ_NUMBER));
    assert_int_equal(json_read_next(&reader), JSON_READ_BAD);
    int64_t whole = 77;
    uint64_t natural = 77;
    double real = 77;
    size_t size = 77;
    char to[8] = "as was";
    struct json_span span = {to, 77};
    struct json_keys keys = {task_names, 3, 0};
    assert_false(json_read_int64(&reader, &whole) || json_read_uint64(&reader, &natural));
    assert_false(json_read_double(&reader, &real) || json_read_string(&reader, to, 8, &size));
    assert_false(json_read_raw(&reader, &span) || json_read_field(&reader, &keys, &size));
    assert_false(json_read_expect(&reader, JSON_READ_BAD));
    assert_true(whole == 77 && natural == 77 && real == 77 && size == 77 && span.size == 77);
    assert_string_equal(to, "as was");
    assert_why(&reader, "byte 3: a comma or ] is expected");
}

TEST(json_read_a_text_that_is_not_read_to_its_end_is_not_done)
{
    struct json_reader reader = at_token("[1,2]", JSON_READ_ARRAY);
    assert_why(&reader, "byte 1: the end of the text is expected, not a number");
    json_reader_init(&reader, NULL, 0, 0);
    assert_why(&reader, "byte 0: the text ends where a value is expected");
}

TEST(utf8_writes_every_code_point_as_it_reads_it)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[UTF8_BYTES_MAX];
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        size_t length = utf8_encode(code, bytes);
        if (utf8_length(bytes, length) != length)
            fail_msg("U+%04X", (unsigned)code);
        assert_int_equal(utf8_length(bytes, length - 1), 0);
    }
}
