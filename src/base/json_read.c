/* SPDX-License-Identifier: MIT */
/* What may follow what. A value at depth 0 is the document.
 *
 *   state   what is next                                  then
 *   VALUE   a value                                       MORE, or FIRST in a container
 *   FIRST   the closing bracket, or a field or value      MORE after the bracket
 *   MORE    depth 0: the end of the text                  MORE
 *           else a comma and a field or value, or the     MORE after the bracket
 *           closing bracket
 *
 * A field is a name and a colon, after which comes VALUE.
 */
#include "base/json_read.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json_scan.h"

void json_reader_init(struct json_reader *reader, const char *text, size_t size, unsigned max_depth)
{
    assert(max_depth <= JSON_DEPTH_MAX);
    assert(text != NULL || size == 0);
    const char *start = text != NULL ? text : "";
    reader->text = start;
    reader->at = start;
    reader->end = start + size;
    reader->token_at = start;
    reader->span = (struct json_span){start, 0};
    reader->key = (struct json_span){NULL, 0};
    reader->objects = 0;
    reader->depth = 0;
    reader->max_depth = max_depth != 0 ? max_depth : JSON_DEPTH_DEFAULT;
    reader->state = JSON_WANT_VALUE;
    reader->token = JSON_READ_BAD;
    reader->escaped = false;
    reader->failed = false;
    reader->malformed = false;
    reader->why.text[0] = '\0';
}

bool json_malformed(struct json_reader *reader, const char *at, const char *complaint)
{
    if (reader->failed)
        return false;
    reader->failed = true;
    reader->malformed = true;
    (void)snprintf(reader->why.text, sizeof reader->why.text, "byte %zu: %s",
                   (size_t)(at - reader->text), complaint);
    return false;
}

/* How much of a name to show, so that a long one does not push the complaint out. Its text
 * is as in the body: valid UTF-8, escapes left as they are. */
static int shown_bytes(struct json_span name)
{
    size_t size = name.size;
    if (size <= JSON_NAME_BYTES_MAX)
        return (int)size;
    size = JSON_NAME_BYTES_MAX;
    while (size > 0 && ((unsigned char)name.at[size] & 0xc0) == 0x80)
        size--;
    return (int)size;
}

static const char *cut_mark(struct json_span name)
{
    return name.size > JSON_NAME_BYTES_MAX ? "..." : "";
}

bool json_unwanted(struct json_reader *reader, const char *complaint)
{
    if (reader->failed)
        return false;
    struct json_span key = reader->key;
    size_t offset = (size_t)(reader->token_at - reader->text);
    reader->failed = true;
    if (key.at == NULL)
        (void)snprintf(reader->why.text, sizeof reader->why.text, "byte %zu: %s", offset,
                       complaint);
    else
        (void)snprintf(reader->why.text, sizeof reader->why.text, "byte %zu: \"%.*s%s\": %s",
                       offset, shown_bytes(key), key.at, cut_mark(key), complaint);
    return false;
}

void json_read_refuse(struct json_reader *reader, const char *complaint)
{
    (void)json_unwanted(reader, complaint);
}

static bool in_object(const struct json_reader *reader)
{
    return reader->depth > 0 && (reader->objects >> (reader->depth - 1) & 1) != 0;
}

static void skip_blanks(struct json_reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    reader->at = at;
}

static enum json_token open_container(struct json_reader *reader, bool object)
{
    if (reader->depth == reader->max_depth) {
        char complaint[64];
        (void)snprintf(complaint, sizeof complaint, "nested too deep, at most %u levels",
                       reader->max_depth);
        reader->token_at = reader->at;
        (void)json_unwanted(reader, complaint);
        return JSON_READ_BAD;
    }
    uint64_t bit = UINT64_C(1) << reader->depth;
    reader->objects = object ? reader->objects | bit : reader->objects & ~bit;
    reader->depth++;
    reader->at++;
    reader->state = JSON_WANT_FIRST;
    return object ? JSON_READ_OBJECT : JSON_READ_ARRAY;
}

static enum json_token close_container(struct json_reader *reader)
{
    bool object = in_object(reader);
    reader->depth--;
    reader->at++;
    reader->state = JSON_WANT_MORE;
    reader->key.at = NULL;
    return object ? JSON_READ_OBJECT_END : JSON_READ_ARRAY_END;
}

static enum json_token read_word(struct json_reader *reader, const char *word,
                                 enum json_token token)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0) {
        (void)json_malformed(reader, reader->at,
                             "a value is expected; the only bare words are true, false and null");
        return JSON_READ_BAD;
    }
    reader->at += size;
    reader->state = JSON_WANT_MORE;
    return token;
}

static enum json_token read_value(struct json_reader *reader)
{
    if (reader->at == reader->end) {
        (void)json_malformed(reader, reader->at, "the text ends where a value is expected");
        return JSON_READ_BAD;
    }
    switch (*reader->at) {
    case '{':
        return open_container(reader, true);
    case '[':
        return open_container(reader, false);
    case '"':
        reader->at++;
        reader->state = JSON_WANT_MORE;
        return json_scan_string(reader) ? JSON_READ_STRING : JSON_READ_BAD;
    case 't':
        return read_word(reader, "true", JSON_READ_TRUE);
    case 'f':
        return read_word(reader, "false", JSON_READ_FALSE);
    case 'n':
        return read_word(reader, "null", JSON_READ_NULL);
    default:
        if (*reader->at != '-' && (*reader->at < '0' || *reader->at > '9')) {
            (void)json_malformed(reader, reader->at, "a value is expected");
            return JSON_READ_BAD;
        }
        reader->state = JSON_WANT_MORE;
        return json_scan_number(reader) ? JSON_READ_NUMBER : JSON_READ_BAD;
    }
}

static enum json_token read_key(struct json_reader *reader)
{
    if (reader->at == reader->end || *reader->at != '"') {
        (void)json_malformed(reader, reader->at, "a field name in quotes is expected");
        return JSON_READ_BAD;
    }
    reader->at++;
    if (!json_scan_string(reader))
        return JSON_READ_BAD;
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != ':') {
        (void)json_malformed(reader, reader->at, "a colon must follow the field name");
        return JSON_READ_BAD;
    }
    reader->at++;
    reader->key = reader->span;
    reader->state = JSON_WANT_VALUE;
    return JSON_READ_KEY;
}

static bool at_bracket(const struct json_reader *reader)
{
    return reader->at < reader->end && *reader->at == (in_object(reader) ? '}' : ']');
}

/* After a value. */
static enum json_token read_more(struct json_reader *reader)
{
    if (reader->depth == 0) {
        if (reader->at == reader->end)
            return JSON_READ_END;
        (void)json_malformed(reader, reader->at, "nothing may follow the value");
        return JSON_READ_BAD;
    }
    if (at_bracket(reader))
        return close_container(reader);
    bool object = in_object(reader);
    if (reader->at == reader->end || *reader->at != ',') {
        (void)json_malformed(reader, reader->at,
                             object ? "a comma or } is expected" : "a comma or ] is expected");
        return JSON_READ_BAD;
    }
    const char *comma = reader->at++;
    skip_blanks(reader);
    if (at_bracket(reader)) {
        (void)json_malformed(reader, comma, "the last comma is one too many");
        return JSON_READ_BAD;
    }
    reader->token_at = reader->at;
    return object ? read_key(reader) : read_value(reader);
}

enum json_token json_read_next(struct json_reader *reader)
{
    if (reader->failed)
        return JSON_READ_BAD;
    skip_blanks(reader);
    reader->token_at = reader->at;
    enum json_token token;
    switch (reader->state) {
    case JSON_WANT_VALUE:
        token = read_value(reader);
        break;
    case JSON_WANT_FIRST:
        if (at_bracket(reader))
            token = close_container(reader);
        else
            token = in_object(reader) ? read_key(reader) : read_value(reader);
        break;
    case JSON_WANT_MORE:
    default:
        token = read_more(reader);
        break;
    }
    reader->token = token;
    return token;
}

static const char *token_name(enum json_token token)
{
    static const char *const names[] = {
        [JSON_READ_BAD] = "nothing",      [JSON_READ_END] = "the end of the text",
        [JSON_READ_OBJECT] = "an object", [JSON_READ_OBJECT_END] = "the end of the object",
        [JSON_READ_ARRAY] = "an array",   [JSON_READ_ARRAY_END] = "the end of the array",
        [JSON_READ_KEY] = "a field",      [JSON_READ_STRING] = "a string",
        [JSON_READ_NUMBER] = "a number",  [JSON_READ_TRUE] = "true",
        [JSON_READ_FALSE] = "false",      [JSON_READ_NULL] = "null",
    };
    return names[token];
}

bool json_read_expect(struct json_reader *reader, enum json_token wanted)
{
    enum json_token token = json_read_next(reader);
    if (token == wanted)
        return token != JSON_READ_BAD;
    char complaint[80];
    (void)snprintf(complaint, sizeof complaint, "%s is expected, not %s", token_name(wanted),
                   token_name(token));
    return json_unwanted(reader, complaint);
}

bool json_read_raw(struct json_reader *reader, struct json_span *ret_span)
{
    struct json_span key = reader->key;
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_BAD)
        return false;
    if (token == JSON_READ_OBJECT_END || token == JSON_READ_ARRAY_END || token == JSON_READ_KEY ||
        token == JSON_READ_END)
        return json_unwanted(reader, "a value is expected");
    const char *start = reader->token_at;
    if (token == JSON_READ_OBJECT || token == JSON_READ_ARRAY) {
        unsigned outside = reader->depth - 1;
        while (reader->depth > outside) {
            if (json_read_next(reader) == JSON_READ_BAD)
                return false;
        }
    }
    /* A complaint by the caller is about the whole value. */
    reader->token_at = start;
    reader->key = key;
    if (ret_span != NULL)
        *ret_span = (struct json_span){start, (size_t)(reader->at - start)};
    return true;
}

/* Which of the names this key is, or their count. */
static size_t find_name(const struct json_reader *reader, const struct json_keys *keys)
{
    char room[JSON_NAME_BYTES_MAX];
    struct json_span key = reader->span;
    if (reader->escaped) {
        key.size = json_unescape(key, room, sizeof room);
        key.at = room;
        if (key.size == SIZE_MAX)
            return keys->count;
    }
    for (size_t i = 0; i < keys->count; i++) {
        const char *name = keys->names[i];
        if (key.size > 0 && key.at[0] == name[0] && strlen(name) == key.size &&
            memcmp(name, key.at, key.size) == 0)
            return i;
    }
    return keys->count;
}

bool json_read_field(struct json_reader *reader, struct json_keys *keys, size_t *ret_index)
{
    assert(keys->count <= JSON_KEYS_MAX);
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_BAD || token == JSON_READ_OBJECT_END)
        return false;
    if (token != JSON_READ_KEY)
        return json_unwanted(reader, "a field is expected");
    size_t index = find_name(reader, keys);
    if (index == keys->count)
        return json_unwanted(reader, "there is no such field");
    if ((keys->seen >> index & 1) != 0)
        return json_unwanted(reader, "this field is given twice");
    keys->seen |= UINT64_C(1) << index;
    *ret_index = index;
    return true;
}

enum tocsin_status json_read_finish(struct json_reader *reader, struct tocsin_why *ret_why)
{
    (void)json_read_expect(reader, JSON_READ_END);
    if (!reader->failed)
        return TOCSIN_OK;
    if (ret_why != NULL)
        *ret_why = reader->why;
    return TOCSIN_INVALID;
}
