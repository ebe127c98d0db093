/* SPDX-License-Identifier: MIT */
/* Random documents: what the writer wrote the reader reads, and jansson agrees with the
 * reader about them, also after bytes of them have been changed. */
#include "runner.h"

#define ORACLE_FAIL(text) fail_msg("%s", text)
#include "support/json_cases.h"
#include "support/json_oracle.h"

enum { STRING_MAX = 40, DEPTH = 6, DOCUMENT_MAX = 1 << 20 };

static size_t random_string(struct test_random *random, char to[STRING_MAX])
{
    static const char *const pieces[] = {"a",
                                         "bc",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\x01",
                                         "/",
                                         "\xc3\xa9",
                                         "u",
                                         "{",
                                         ":",
                                         " ",
                                         "\xf0\x9f\x98\x80"};
    size_t size = 0;
    size_t count = test_random_below(random, 10);
    for (size_t i = 0; i < count; i++) {
        const char *piece = pieces[test_random_below(random, sizeof pieces / sizeof pieces[0])];
        memcpy(to + size, piece, strlen(piece));
        size += strlen(piece);
    }
    if (test_random_one_in(random, 8))
        to[size++] = '\0';
    return size;
}

/* Any number of bits is as likely as any other. */
static uint64_t random_uint64(struct test_random *random)
{
    uint64_t bits = test_random_next(random);
    return bits >> test_random_below(random, 64);
}

static int64_t random_int64(struct test_random *random)
{
    uint64_t bits = random_uint64(random);
    return test_random_one_in(random, 2) ? (int64_t)~bits : (int64_t)bits;
}

static double random_double(struct test_random *random)
{
    double value = (double)random_int64(random);
    return value / (double)(random_uint64(random) | 1);
}

/* The two draw the same numbers: what one writes the other expects. */
static void write_random(struct test_random *random, struct json_writer *writer, unsigned depth)
{
    char bytes[STRING_MAX];
    uint64_t kind = test_random_below(random, depth < DEPTH ? 10 : 6);
    switch (kind) {
    case 0:
        json_write_null(writer);
        break;
    case 1:
        json_write_bool(writer, test_random_one_in(random, 2));
        break;
    case 2:
        json_write_int64(writer, random_int64(random));
        break;
    case 3:
        json_write_uint64(writer, random_uint64(random));
        break;
    case 4:
        json_write_double(writer, random_double(random));
        break;
    case 5:
        json_write_string(writer, bytes, random_string(random, bytes));
        break;
    default:
        if (kind % 2 == 0)
            json_write_array(writer);
        else
            json_write_object(writer);
        for (uint64_t i = test_random_below(random, 5); i > 0; i--) {
            if (kind % 2 != 0)
                json_write_key_bytes(writer, bytes, random_string(random, bytes));
            write_random(random, writer, depth + 1);
        }
        if (kind % 2 == 0)
            json_write_array_end(writer);
        else
            json_write_object_end(writer);
    }
}

static void verify_string(struct test_random *random, struct json_reader *reader,
                          enum json_token token)
{
    char expected[STRING_MAX];
    char bytes[STRING_MAX];
    size_t expected_size = random_string(random, expected);
    size_t size = 0;
    assert_true(json_read_expect(reader, token));
    assert_true(json_read_string(reader, bytes, sizeof bytes, &size));
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
}

static void verify_number(struct test_random *random, struct json_reader *reader, uint64_t kind)
{
    int64_t whole;
    uint64_t natural;
    double real;
    assert_true(json_read_expect(reader, JSON_READ_NUMBER));
    if (kind == 2) {
        assert_true(json_read_int64(reader, &whole));
        assert_true(whole == random_int64(random));
    } else if (kind == 3) {
        assert_true(json_read_uint64(reader, &natural));
        assert_true(natural == random_uint64(random));
    } else {
        assert_true(json_read_double(reader, &real));
        assert_true(real == random_double(random));
    }
}

static void verify_random(struct test_random *random, struct json_reader *reader, unsigned depth)
{
    uint64_t kind = test_random_below(random, depth < DEPTH ? 10 : 6);
    bool object = kind % 2 != 0;
    if (kind == 0) {
        assert_true(json_read_expect(reader, JSON_READ_NULL));
    } else if (kind == 1) {
        bool value = test_random_one_in(random, 2);
        assert_true(json_read_expect(reader, value ? JSON_READ_TRUE : JSON_READ_FALSE));
    } else if (kind < 5) {
        verify_number(random, reader, kind);
    } else if (kind == 5) {
        verify_string(random, reader, JSON_READ_STRING);
    } else {
        assert_true(json_read_expect(reader, object ? JSON_READ_OBJECT : JSON_READ_ARRAY));
        for (uint64_t i = test_random_below(random, 5); i > 0; i--) {
            if (object)
                verify_string(random, reader, JSON_READ_KEY);
            verify_random(random, reader, depth + 1);
        }
        assert_true(json_read_expect(reader, object ? JSON_READ_OBJECT_END : JSON_READ_ARRAY_END));
    }
}

static void write_document(struct test_random *random, struct buffer *buffer)
{
    struct json_writer writer;
    buffer_clear(buffer);
    json_writer_init(&writer, buffer);
    write_random(random, &writer, 0);
    assert_true(json_write_done(&writer));
    assert_int_equal(buffer_status(buffer), TOCSIN_OK);
}

TEST(json_that_was_written_is_read_back_the_same)
{
    struct test_random random = {test_seed()};
    struct buffer buffer;
    buffer_init(&buffer, DOCUMENT_MAX);
    for (uint64_t round = test_effort(20000); round > 0; round--) {
        struct test_random again = random;
        struct json_reader reader;
        write_document(&random, &buffer);
        json_reader_init(&reader, buffer.data, buffer.size, 0);
        verify_random(&again, &reader, 0);
        assert_int_equal(json_read_finish(&reader, NULL), TOCSIN_OK);
        assert_true(random.state == again.state);
    }
    buffer_release(&buffer);
}

TEST(json_cases_are_judged_the_same_by_jansson)
{
    for (size_t i = 0; i < JSON_CASE_COUNT; i++)
        (void)oracle_compare(json_cases[i].text, json_cases[i].size);
}

/* Change, drop, repeat or put in a byte. */
static void mutate(struct test_random *random, struct buffer *buffer)
{
    static const char likely[] = "{}[],:\"\\u0123456789abcdefDd8.-+eE tn\n\x80\xc3\xed\xf4";
    char byte = test_random_one_in(random, 4)
                    ? (char)test_random_next(random)
                    : likely[test_random_below(random, sizeof likely - 1)];
    size_t at = test_random_below(random, buffer->size + 1);
    switch (test_random_below(random, 3)) {
    case 0:
        if (at < buffer->size)
            buffer->data[at] = byte;
        break;
    case 1:
        if (at < buffer->size) {
            memmove(buffer->data + at, buffer->data + at + 1, buffer->size - at - 1);
            buffer->size--;
        }
        break;
    default:
        buffer_append_byte(buffer, 0);
        memmove(buffer->data + at + 1, buffer->data + at, buffer->size - 1 - at);
        buffer->data[at] = byte;
    }
}

TEST(json_with_changed_bytes_is_judged_the_same_by_jansson)
{
    struct test_random random = {test_seed()};
    struct buffer buffer;
    uint64_t accepted = 0;
    uint64_t rounds = test_effort(20000);
    buffer_init(&buffer, DOCUMENT_MAX);
    for (uint64_t round = 0; round < rounds; round++) {
        write_document(&random, &buffer);
        for (int i = 0; i < 5; i++) {
            accepted += oracle_compare(buffer.data, buffer.size);
            mutate(&random, &buffer);
        }
    }
    /* The unchanged ones at least, but a change must be able to break one. */
    assert_true(accepted >= rounds && accepted < 5 * rounds);
    buffer_release(&buffer);
}
