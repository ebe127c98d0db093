/* SPDX-License-Identifier: MIT */
/* buffer.h - what has been written so far, and did all of it fit?
 *
 * Bytes that grow at the end, up to a stated maximum.
 *
 * Promise   an append is done whole or not at all. One that cannot be done is remembered:
 *           all later ones are ignored too, so a caller appends freely and asks
 *           buffer_status once, at the end. What was written before stays readable.
 * Cost      an append is a copy; the room doubles, so most appends do not allocate. A buffer
 *           that is cleared keeps its room, and soon does not allocate at all.
 * Memory    nothing before the first append. Growing may move the bytes: pointers into them
 *           hold until the next append.
 * Threads   one at a time per buffer.
 */
#ifndef TOCSIN_BASE_BUFFER_H
#define TOCSIN_BASE_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <tocsin/status.h>

struct buffer {
    char *data; /* not terminated; NULL while nothing was ever written */
    size_t size;
    size_t room;
    size_t max_bytes;
    enum tocsin_status status;
    void *(*resize)(void *at, size_t bytes); /* realloc; a test may refuse here */
};

void buffer_init(struct buffer *buffer, size_t max_bytes);
void buffer_release(struct buffer *buffer);

/* Empty again, failure forgotten, room kept. */
void buffer_clear(struct buffer *buffer);

/* OK; FULL when an append went past the maximum; NO_MEMORY when the system refused. */
static inline enum tocsin_status buffer_status(const struct buffer *buffer)
{
    return buffer->status;
}

/* Room for so many bytes at the end, to be filled by the caller, who then says with
 * buffer_advance how many there are. NULL when there is none: that is the failure that
 * buffer_status tells. */
char *buffer_make_room(struct buffer *buffer, size_t bytes); /* the long way of this: */
static inline char *buffer_reserve(struct buffer *buffer, size_t bytes)
{
    if (buffer->status == TOCSIN_OK && buffer->data != NULL && bytes <= buffer->room - buffer->size)
        return buffer->data + buffer->size;
    return buffer_make_room(buffer, bytes);
}

/* The same, asked beforehand: when there is none, the buffer is as it was, and has not failed. */
static inline bool buffer_has_room(struct buffer *buffer, size_t bytes)
{
    enum tocsin_status before = buffer->status;
    bool has = buffer_reserve(buffer, bytes) != NULL;
    buffer->status = before;
    return has;
}

static inline void buffer_advance(struct buffer *buffer, size_t bytes)
{
    assert(buffer->status == TOCSIN_OK && bytes <= buffer->room - buffer->size);
    buffer->size += bytes;
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    char *at = buffer_reserve(buffer, size);
    if (at != NULL && size > 0) {
        memcpy(at, bytes, size);
        buffer->size += size;
    }
}

static inline void buffer_append_byte(struct buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

static inline void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

/* The bytes become the caller's, to be freed with free(); the buffer is empty and usable.
 * NULL when nothing was written, or not all of it could be. */
char *buffer_take(struct buffer *buffer, size_t *ret_size);

#endif
