/* SPDX-License-Identifier: MIT */
/* json_write.h - how do I say this in JSON?
 *
 * Writes one value, usually an object, to the end of a buffer. Commas, colons, quotes and
 * escapes are the writer's business:
 *
 *     json_writer_init(&writer, &buffer);
 *     json_write_object(&writer);
 *     json_write_key(&writer, "id");
 *     json_write_string(&writer, id, id_size);
 *     json_write_object_end(&writer);
 *     assert(json_write_done(&writer));
 *
 * Promise   when json_write_done says so and the buffer did not fail, what was written is
 *           one valid JSON value in UTF-8, on one line unless a raw span has line breaks.
 * Strings   hold any bytes. Each byte that is not part of valid UTF-8 becomes U+FFFD: what
 *           we write is often somebody else's error message, and the answer that tells it
 *           must not fail because of it. Who must refuse such bytes does so on the way in.
 * Doubles   the fewest digits that read back as the same double. NaN and infinity are not
 *           JSON: giving one is a mistake of the caller.
 * Misuse    (a value without its key, an end without its beginning, a second value) is an
 *           assert. A full buffer is not: buffer_status tells, at the end.
 * Cost      as buffer_append; strings are copied in runs between escapes.
 * Threads   one at a time per writer.
 */
#ifndef TOCSIN_BASE_JSON_WRITE_H
#define TOCSIN_BASE_JSON_WRITE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum { JSON_WRITE_DEPTH_MAX = 64 };

struct json_writer {
    struct buffer *out;
    uint64_t objects;   /* bit n: the container at depth n + 1 is an object */
    uint64_t has_items; /* bit n: the next item at depth n needs a comma */
    unsigned depth;
    bool has_key; /* its value is next */
    bool done;
};

/* The buffer is the caller's; it may hold something already. */
void json_writer_init(struct json_writer *writer, struct buffer *out);

/* True when a whole value has been written. */
static inline bool json_write_done(const struct json_writer *writer)
{
    return writer->done;
}

void json_write_object(struct json_writer *writer);
void json_write_object_end(struct json_writer *writer);
void json_write_array(struct json_writer *writer);
void json_write_array_end(struct json_writer *writer);

/* The name of a field, as the program has it: its bytes need no escape. The third takes any.
 * Inline, since a name is nearly always a constant, and then this is two or three stores. */
static inline void json_write_plain_key(struct json_writer *writer, const char *name, size_t size)
{
    assert(writer->depth > 0);
    uint64_t bit = UINT64_C(1) << (writer->depth - 1);
    assert((writer->objects & bit) != 0 && !writer->has_key);
    char *at = buffer_reserve(writer->out, size + 4);
    bool more = (writer->has_items & bit) != 0;
    writer->has_items |= bit;
    writer->has_key = true;
    if (at == NULL)
        return;
    at[0] = ',';
    at += more;
    at[0] = '"';
    memcpy(at + 1, name, size);
    at[size + 1] = '"';
    at[size + 2] = ':';
    writer->out->size += size + 3 + more;
}
static inline void json_write_key(struct json_writer *writer, const char *name)
{
    json_write_plain_key(writer, name, strlen(name));
}
void json_write_key_bytes(struct json_writer *writer, const char *name, size_t size);

/* Fields that are JSON already, with commas between them. */
void json_write_fields(struct json_writer *writer, const char *fields, size_t size);
#define JSON_WRITE_FIELDS(writer, fields) json_write_fields(writer, fields, sizeof(fields) - 1)

void json_write_string(struct json_writer *writer, const char *bytes, size_t size);
void json_write_text(struct json_writer *writer, const char *text);
void json_write_int64(struct json_writer *writer, int64_t value);
void json_write_uint64(struct json_writer *writer, uint64_t value);
void json_write_double(struct json_writer *writer, double value);
void json_write_bool(struct json_writer *writer, bool value);
void json_write_null(struct json_writer *writer);

/* A whole field: its name as for json_write_key, and its value. */
static inline void json_field_bytes(struct json_writer *writer, const char *name,
                                    struct bytes bytes)
{
    json_write_key(writer, name);
    json_write_string(writer, bytes.at, bytes.size);
}
static inline void json_field_text(struct json_writer *writer, const char *name, const char *text)
{
    json_write_key(writer, name);
    json_write_text(writer, text);
}
static inline void json_field_int64(struct json_writer *writer, const char *name, int64_t value)
{
    json_write_key(writer, name);
    json_write_int64(writer, value);
}
static inline void json_field_uint64(struct json_writer *writer, const char *name, uint64_t value)
{
    json_write_key(writer, name);
    json_write_uint64(writer, value);
}
static inline void json_field_bool(struct json_writer *writer, const char *name, bool value)
{
    json_write_key(writer, name);
    json_write_bool(writer, value);
}

/* A value that is JSON already, such as a span that json_read_raw gave. The first writes it
 * byte for byte; the second turns its line breaks, which are never inside a string, into
 * blanks: a line of NDJSON must stay one. */
void json_write_raw(struct json_writer *writer, const char *json, size_t size);
void json_write_raw_on_a_line(struct json_writer *writer, const char *json, size_t size);

#endif
