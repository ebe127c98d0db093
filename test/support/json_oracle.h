/* SPDX-License-Identifier: MIT */
/* json_oracle.h - does our JSON reader agree with jansson about this text?
 *
 * About whether it is JSON, and about every value in it. What we accept is also written
 * anew by our writer, and jansson must find the two equal. ORACLE_FAIL(text) says what
 * happens when they do not agree; whoever includes this defines it.
 *
 * Where the two differ on purpose, nothing is compared:
 *   - numbers past int64 or double: jansson refuses the text, for us they are text until
 *     somebody asks for the value;
 *   - a NUL in a field name (\u0000): jansson refuses it;
 *   - a NUL byte in the text: jansson overlooks one that follows a number or a word; we
 *     must refuse the text in any case;
 *   - nesting: ours ends at JSON_DEPTH_MAX, jansson's at 2048;
 *   - a field that comes twice: both accept it, but jansson keeps only the last, so the
 *     values of such a text are not compared.
 */
#ifndef TEST_JSON_ORACLE_H
#define TEST_JSON_ORACLE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/json_write.h"

#define ORACLE_CHECK(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ORACLE_FAIL("does not hold: " #condition);                                             \
    } while (0)

/* The last token without escapes, to be freed. */
static inline char *oracle_string(struct json_reader *reader, size_t *ret_size)
{
    size_t room = reader->span.size;
    char *bytes = malloc(room + 1);
    ORACLE_CHECK(bytes != NULL);
    ORACLE_CHECK(json_read_string(reader, bytes, room, ret_size));
    return bytes;
}

static inline void oracle_number(struct json_reader *reader, const json_t *value)
{
    double real;
    int64_t whole;
    ORACLE_CHECK(json_read_double(reader, &real));
    ORACLE_CHECK(real == json_number_value(value));
    if (json_is_integer(value)) {
        ORACLE_CHECK(json_read_int64(reader, &whole));
        ORACLE_CHECK(whole == json_integer_value(value));
    }
}

/* The value that starts with this token, against jansson's. */
static inline void oracle_value(struct json_reader *reader, enum json_token token,
                                const json_t *value)
{
    size_t size;
    size_t count = 0;
    char *bytes;
    switch (token) {
    case JSON_READ_OBJECT:
        ORACLE_CHECK(json_is_object(value));
        for (; (token = json_read_next(reader)) == JSON_READ_KEY; count++) {
            bytes = oracle_string(reader, &size);
            const json_t *item = json_object_getn(value, bytes, size);
            free(bytes);
            ORACLE_CHECK(item != NULL);
            oracle_value(reader, json_read_next(reader), item);
        }
        ORACLE_CHECK(token == JSON_READ_OBJECT_END && count == json_object_size(value));
        break;
    case JSON_READ_ARRAY:
        ORACLE_CHECK(json_is_array(value));
        for (; (token = json_read_next(reader)) != JSON_READ_ARRAY_END; count++) {
            ORACLE_CHECK(count < json_array_size(value));
            oracle_value(reader, token, json_array_get(value, count));
        }
        ORACLE_CHECK(count == json_array_size(value));
        break;
    case JSON_READ_STRING:
        bytes = oracle_string(reader, &size);
        ORACLE_CHECK(json_is_string(value) && json_string_length(value) == size);
        ORACLE_CHECK(memcmp(json_string_value(value), bytes, size) == 0);
        free(bytes);
        break;
    case JSON_READ_NUMBER:
        ORACLE_CHECK(json_is_number(value));
        oracle_number(reader, value);
        break;
    default:
        ORACLE_CHECK((token == JSON_READ_TRUE && json_is_true(value)) ||
                     (token == JSON_READ_FALSE && json_is_false(value)) ||
                     (token == JSON_READ_NULL && json_is_null(value)));
    }
}

/* From the reader to the writer until the text ends; numbers stay as they are written. */
static inline void oracle_copy(struct json_reader *reader, struct json_writer *writer)
{
    enum json_token token;
    while ((token = json_read_next(reader)) != JSON_READ_END) {
        size_t size = 0;
        char *bytes = NULL;
        if (token == JSON_READ_KEY || token == JSON_READ_STRING)
            bytes = oracle_string(reader, &size);
        switch (token) {
        case JSON_READ_OBJECT:
            json_write_object(writer);
            break;
        case JSON_READ_OBJECT_END:
            json_write_object_end(writer);
            break;
        case JSON_READ_ARRAY:
            json_write_array(writer);
            break;
        case JSON_READ_ARRAY_END:
            json_write_array_end(writer);
            break;
        case JSON_READ_KEY:
            json_write_key_bytes(writer, bytes, size);
            break;
        case JSON_READ_STRING:
            json_write_string(writer, bytes, size);
            break;
        case JSON_READ_NUMBER:
            json_write_raw(writer, reader->span.at, reader->span.size);
            break;
        case JSON_READ_NULL:
            json_write_null(writer);
            break;
        default:
            ORACLE_CHECK(token == JSON_READ_TRUE || token == JSON_READ_FALSE);
            json_write_bool(writer, token == JSON_READ_TRUE);
        }
        free(bytes);
    }
}

/* Read as raw it is the text itself; read and written anew it is still the same to jansson. */
static inline void oracle_accepted(const char *text, size_t size, const json_t *value)
{
    struct json_reader reader;
    struct json_span span = {NULL, 0};
    json_reader_init(&reader, text, size, JSON_DEPTH_MAX);
    ORACLE_CHECK(json_read_raw(&reader, &span));
    ORACLE_CHECK(json_read_finish(&reader, NULL) == TOCSIN_OK);
    ORACLE_CHECK(span.size > 0 && span.at >= text && span.at + span.size <= text + size);

    struct buffer buffer;
    struct json_writer writer;
    buffer_init(&buffer, 16 * size + 64);
    json_writer_init(&writer, &buffer);
    json_reader_init(&reader, text, size, JSON_DEPTH_MAX);
    oracle_copy(&reader, &writer);
    ORACLE_CHECK(json_write_done(&writer) && buffer_status(&buffer) == TOCSIN_OK);
    if (value != NULL) {
        json_t *anew = json_loadb(buffer.data, buffer.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        ORACLE_CHECK(anew != NULL && json_equal(anew, value));
        json_decref(anew);
    }
    buffer_release(&buffer);
}

static inline bool oracle_differs_on_purpose(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

/* Answers whether we accept the text. */
static inline bool oracle_compare(const char *text, size_t size)
{
    struct json_reader reader;
    struct tocsin_why why = {""};
    json_reader_init(&reader, text, size, JSON_DEPTH_MAX);
    (void)json_read_raw(&reader, NULL);
    bool accepted = json_read_finish(&reader, &why) == TOCSIN_OK;
    ORACLE_CHECK(accepted == (why.text[0] == '\0'));
    bool too_deep = strstr(why.text, "nested too deep") != NULL;
    if (!accepted) {
        ORACLE_CHECK(strncmp(why.text, "byte ", 5) == 0);
        ORACLE_CHECK(strtoul(why.text + 5, NULL, 10) <= size);
        ORACLE_CHECK(json_read_malformed(&reader) != too_deep);
    }
    if (size > 0 && memchr(text, '\0', size) != NULL) {
        ORACLE_CHECK(!accepted);
        return false;
    }

    json_error_t error;
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *value = json_loadb(text, size, flags | JSON_REJECT_DUPLICATES, &error);
    bool twice = value == NULL && json_error_code(&error) == json_error_duplicate_key;
    if (twice)
        value = json_loadb(text, size, flags, &error);
    if (!too_deep && (value != NULL || !oracle_differs_on_purpose(&error)))
        ORACLE_CHECK(accepted == (value != NULL));
    if (accepted) {
        if (value != NULL && !twice) {
            json_reader_init(&reader, text, size, JSON_DEPTH_MAX);
            oracle_value(&reader, json_read_next(&reader), value);
            ORACLE_CHECK(json_read_finish(&reader, NULL) == TOCSIN_OK);
        }
        oracle_accepted(text, size, value);
    }
    json_decref(value);
    return accepted;
}

#endif
