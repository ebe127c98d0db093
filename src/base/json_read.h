/* SPDX-License-Identifier: MIT */
/* json_read.h - what does this JSON text say, and where does it go wrong?
 *
 * A strict pull reader (RFC 8259) over a whole text in memory. The caller asks for one
 * token after the other, takes the values it wants, and skips or keeps the rest as it
 * was written:
 *
 *     static const char *const names[] = {"id", "payload"};
 *     struct json_keys keys = {names, 2};
 *     size_t which;
 *     json_reader_init(&reader, body, size, 0);
 *     (void)json_read_expect(&reader, JSON_READ_OBJECT);
 *     while (json_read_field(&reader, &keys, &which)) {
 *         if (which == 0 && json_read_expect(&reader, JSON_READ_STRING))
 *             (void)json_read_string(&reader, id, sizeof id, &id_size);
 *         else if (which == 1)
 *             (void)json_read_raw(&reader, &payload);
 *     }
 *     return json_read_finish(&reader, ret_why);
 *
 * Promise   whatever was handed out or skipped was valid up to there, and json_read_finish
 *           is OK only when all of the text was. The first failure stays: from then on every
 *           call fails and writes nothing, so a caller may look once, at the end.
 * Refused   a byte order mark, comments, trailing commas, leading zeros, NaN, control
 *           characters in strings, UTF-8 that is not well formed, escaped surrogates that
 *           are no pair, anything but blanks after the value, nesting past the limit.
 * Numbers   are text until they are asked for: a value that fits no C type is still valid
 *           JSON, and a raw span gives it back byte for byte.
 * Why       "byte 17: a string must end with a quote", counted from 0.
 * Cost      one pass over the text, strings eight bytes at a time.
 * Memory    none. The text must outlive the reader and every span.
 * Threads   one at a time per reader. A reader may be copied to try something.
 */
#ifndef TOCSIN_BASE_JSON_READ_H
#define TOCSIN_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

enum {
    JSON_DEPTH_DEFAULT = 32,
    JSON_DEPTH_MAX = 64,
    JSON_KEYS_MAX = 64, /* names in one struct json_keys */
    JSON_NAME_BYTES_MAX = 64,
};

enum json_token {
    JSON_READ_BAD, /* the text is wrong here: see json_read_finish */
    JSON_READ_END, /* the text has been read to its end */
    JSON_READ_OBJECT,
    JSON_READ_OBJECT_END,
    JSON_READ_ARRAY,
    JSON_READ_ARRAY_END,
    JSON_READ_KEY,
    JSON_READ_STRING,
    JSON_READ_NUMBER,
    JSON_READ_TRUE,
    JSON_READ_FALSE,
    JSON_READ_NULL,
};

/* A piece of the text. */
struct json_span {
    const char *at;
    size_t size;
};

/* What the next token has to be. */
enum json_state { JSON_WANT_VALUE, JSON_WANT_FIRST, JSON_WANT_MORE };

struct json_reader {
    const char *text;
    const char *at;
    const char *end;
    const char *token_at;
    struct json_span span; /* of a string or key without its quotes; of a number */
    struct json_span key;  /* the field that a complaint about a value names */
    uint64_t objects;      /* bit n: the container at depth n + 1 is an object */
    unsigned depth;
    unsigned max_depth;
    enum json_state state;
    enum json_token token;
    bool escaped; /* the string or key has a backslash */
    bool failed;
    bool malformed;
    struct tocsin_why why;
};

/* A depth of 0 stands for JSON_DEPTH_DEFAULT; at most JSON_DEPTH_MAX. */
void json_reader_init(struct json_reader *reader, const char *text, size_t size,
                      unsigned max_depth);

/* The next token. Its text is in reader->span when it is a string, key or number. */
enum json_token json_read_next(struct json_reader *reader);

/* The next token, which must be this one. */
bool json_read_expect(struct json_reader *reader, enum json_token wanted);

/* Instead of json_read_next, where a value stands: all of it, checked and passed over.
 * The span has no blanks around it. ret_span may be NULL. */
bool json_read_raw(struct json_reader *reader, struct json_span *ret_span);

/* The last token as a value. The string (or key) comes without escapes, and without a
 * terminator, since it may hold NUL; one that does not fit is refused. Whole numbers are
 * written without fraction and exponent, and none is bent to fit. A double is the nearest
 * one; too large is refused, too small is 0. */
bool json_read_string(struct json_reader *reader, char *to, size_t room, size_t *ret_size);
/* The same, but copied only when it has escapes: else it is borrowed from the text. */
bool json_read_borrowed(struct json_reader *reader, char *to, size_t room,
                        struct json_span *ret_text);
bool json_read_int64(struct json_reader *reader, int64_t *ret_value);
bool json_read_uint64(struct json_reader *reader, uint64_t *ret_value);
bool json_read_double(struct json_reader *reader, double *ret_value);

/* Fails with a complaint of the caller's own about the last token:
 * "byte 30: \"max\": must be at least 1". */
void json_read_refuse(struct json_reader *reader, const char *complaint);

/* An object whose fields are known. After JSON_READ_OBJECT, once a field: its index among
 * the names, with its value up next. False after the last one, and on failure; a field that
 * is not among the names, or comes twice, is a failure that names it. */
struct json_keys {
    const char *const *names; /* none empty, none longer than JSON_NAME_BYTES_MAX */
    size_t count;
    uint64_t seen; /* bit n: names[n] was there */
};
bool json_read_field(struct json_reader *reader, struct json_keys *keys, size_t *ret_index);

/* OK when all went well and nothing is left; else INVALID and why. ret_why may be NULL. */
enum tocsin_status json_read_finish(struct json_reader *reader, struct tocsin_why *ret_why);

/* After a failure: true when the text is not JSON, false when it is, as far as it was read, but
 * nested too deep or not what was asked for. */
static inline bool json_read_malformed(const struct json_reader *reader)
{
    return reader->malformed;
}

#endif
