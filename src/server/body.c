/* SPDX-License-Identifier: MIT */
/* Small JSON objects of requests, read by a table of fields. */

#include <assert.h>
#include <stdio.h>

#include "schedule/duration.h"
#include "schedule/instant.h"
#include "server/inside.h"

enum { TEXT_MAX = 64 };

static bool complain(struct json_reader *reader, const char *complaint)
{
    json_read_refuse(reader, complaint);
    return false;
}

static bool read_duration(struct json_reader *reader, int64_t *into)
{
    char text[TEXT_MAX];
    size_t size;
    uint64_t ms;
    struct tocsin_why why;
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_NUMBER) {
        if (!json_read_int64(reader, into))
            return false;
        return *into >= 0 || complain(reader, "must not be negative");
    }
    if (token != JSON_READ_STRING)
        return token != JSON_READ_BAD &&
               complain(reader, "must be a duration such as \"30s\", or milliseconds");
    if (!json_read_string(reader, text, sizeof text, &size))
        return false;
    if (duration_parse(text, size, &ms, &why) != TOCSIN_OK)
        return complain(reader, why.text);
    if (ms > (uint64_t)TASK_DELAY_MAX_MS)
        return complain(reader, "is too long");
    *into = (int64_t)ms;
    return true;
}

static bool read_instant(struct json_reader *reader, int64_t *into)
{
    char text[TEXT_MAX];
    size_t size;
    struct tocsin_why why;
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_NUMBER)
        return json_read_int64(reader, into);
    if (token != JSON_READ_STRING)
        return token != JSON_READ_BAD &&
               complain(reader, "must be a time such as \"2026-11-15T13:00:00Z\", or epoch "
                                "milliseconds");
    if (!json_read_string(reader, text, sizeof text, &size))
        return false;
    return instant_parse(text, size, into, &why) == TOCSIN_OK || complain(reader, why.text);
}

static bool in_range(struct json_reader *reader, const struct body_field *field, int64_t value)
{
    char complaint[96];
    if (value >= field->min && value <= field->max)
        return true;
    (void)snprintf(complaint, sizeof complaint, "must be from %lld to %lld%s",
                   (long long)field->min, (long long)field->max,
                   field->type == BODY_DURATION ? " ms" : "");
    return complain(reader, complaint);
}

static bool read_text(struct json_reader *reader, const struct body_field *field)
{
    struct bytes *into = field->into;
    size_t size;
    if (!json_read_expect(reader, JSON_READ_STRING) ||
        !json_read_string(reader, field->room, (size_t)field->max, &size))
        return false;
    *into = (struct bytes){field->room, size};
    return true;
}

static bool read_raw(struct json_reader *reader, const struct body_field *field)
{
    struct bytes *into = field->into;
    struct json_span span;
    if (!json_read_raw(reader, &span))
        return false;
    if (span.size > (size_t)field->max) {
        char complaint[80];
        (void)snprintf(complaint, sizeof complaint, "has %zu bytes, at most %zu are allowed",
                       span.size, (size_t)field->max);
        return complain(reader, complaint);
    }
    *into = (struct bytes){span.at, span.size};
    return true;
}

static bool read_bool(struct json_reader *reader, bool *into)
{
    enum json_token token = json_read_next(reader);
    if (token != JSON_READ_TRUE && token != JSON_READ_FALSE)
        return token != JSON_READ_BAD && complain(reader, "must be true or false");
    *into = token == JSON_READ_TRUE;
    return true;
}

bool body_plain(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f)
            return false;
    }
    return true;
}

bool body_read_value(struct json_reader *reader, const struct body_field *field)
{
    switch (field->type) {
    case BODY_DURATION:
        return read_duration(reader, field->into) &&
               in_range(reader, field, *(int64_t *)field->into);
    case BODY_INSTANT:
        return read_instant(reader, field->into);
    case BODY_WHOLE:
        return json_read_expect(reader, JSON_READ_NUMBER) && json_read_int64(reader, field->into) &&
               in_range(reader, field, *(int64_t *)field->into);
    case BODY_TEXT:
        return read_text(reader, field);
    case BODY_RAW:
        return read_raw(reader, field);
    case BODY_BOOL:
        return read_bool(reader, field->into);
    }
    return false;
}

bool body_read(const struct route_request *request, const struct body_field *fields, size_t count)
{
    const char *names[JSON_KEYS_MAX];
    assert(count <= JSON_KEYS_MAX);
    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    struct bytes body = request->http->body;
    if (body.size == 0)
        return true;
    struct json_keys keys = {names, count, 0};
    struct json_reader reader;
    size_t which;
    json_reader_init(&reader, body.at, body.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        if (body_read_value(&reader, &fields[which]) && fields[which].ret_given != NULL)
            *fields[which].ret_given = true;
    }
    struct tocsin_why why;
    if (json_read_finish(&reader, &why) == TOCSIN_OK)
        return true;
    answer_bad_json(request, json_read_malformed(&reader), why.text);
    return false;
}
