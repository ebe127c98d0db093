/* SPDX-License-Identifier: MIT */
#include "cli/fields.h"

#include "base/json_read.h"
#include "cli/options.h"
#include "cli/table.h"

bool fields_raw(struct bytes object, const char *name, struct bytes *ret_value)
{
    struct json_reader reader;
    struct json_span span;
    json_reader_init(&reader, object.at, object.size, JSON_DEPTH_MAX);
    if (object.size == 0 || !json_read_expect(&reader, JSON_READ_OBJECT))
        return false;
    while (json_read_next(&reader) == JSON_READ_KEY) {
        bool found = bytes_are((struct bytes){reader.span.at, reader.span.size}, name);
        if (!json_read_raw(&reader, &span))
            return false;
        if (found) {
            *ret_value = (struct bytes){span.at, span.size};
            return true;
        }
    }
    return false;
}

bool fields_text(struct bytes object, const char *name, char *ret_text, size_t room)
{
    struct bytes value;
    char whole[8192]; /* the longest that a server answers with is an error of some KiB */
    struct json_reader reader;
    size_t size;
    if (!fields_raw(object, name, &value))
        return false;
    json_reader_init(&reader, value.at, value.size, 0);
    if (!json_read_expect(&reader, JSON_READ_STRING) ||
        !json_read_string(&reader, whole, sizeof whole, &size))
        return false;
    if (size >= room) {
        size = room - 1;
        while (size > 0 && ((unsigned char)whole[size] & 0xc0) == 0x80)
            size--;
    }
    memcpy(ret_text, whole, size);
    ret_text[size] = '\0';
    return true;
}

bool fields_int64(struct bytes object, const char *name, int64_t *ret_value)
{
    struct bytes value;
    struct json_reader reader;
    if (!fields_raw(object, name, &value))
        return false;
    json_reader_init(&reader, value.at, value.size, 0);
    return json_read_expect(&reader, JSON_READ_NUMBER) && json_read_int64(&reader, ret_value);
}

void fields_clean(struct bytes object, const char *name, char *ret_text, size_t room)
{
    ret_text[0] = '\0';
    (void)fields_text(object, name, ret_text, room);
    table_clean(ret_text, ret_text, room);
}

int64_t fields_number(struct bytes object, const char *name)
{
    int64_t value = 0;
    (void)fields_int64(object, name, &value);
    return value;
}

bool fields_true(struct bytes object, const char *name)
{
    struct bytes value;
    return fields_raw(object, name, &value) && bytes_are(value, "true");
}

bool fields_item(struct bytes *left, struct bytes *ret_item)
{
    struct json_reader reader;
    struct json_span span;
    size_t skipped = 0;
    if (left->size < 2)
        return false;
    while (skipped < left->size && strchr("[, \t\r\n", left->at[skipped]) != NULL)
        skipped++;
    if (skipped == left->size || left->at[skipped] == ']')
        return false;
    json_reader_init(&reader, left->at + skipped, left->size - skipped, JSON_DEPTH_MAX);
    if (!json_read_raw(&reader, &span))
        return false;
    *ret_item = (struct bytes){span.at, span.size};
    const char *next = span.at + span.size;
    *left = (struct bytes){next, (size_t)(left->at + left->size - next)};
    return true;
}

void fields_write_text(struct json_writer *writer, const char *name, const char *text)
{
    if (text == NULL)
        return;
    json_write_key(writer, name);
    json_write_text(writer, text);
}

void fields_write_instant(struct json_writer *writer, const char *name, const char *text)
{
    uint64_t ms;
    if (text == NULL || !options_whole(text, 0, INT64_MAX, &ms)) {
        fields_write_text(writer, name, text);
        return;
    }
    json_write_key(writer, name);
    json_write_uint64(writer, ms);
}
