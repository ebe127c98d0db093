/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM_MIN_BYTES = 256 };

void buffer_init(struct buffer *buffer, size_t max_bytes)
{
    *buffer = (struct buffer){.max_bytes = max_bytes, .resize = realloc};
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer, buffer->max_bytes);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->status = TOCSIN_OK;
}

/* The next power of two, but never past the maximum. */
static size_t room_for(const struct buffer *buffer, size_t needed)
{
    size_t room = buffer->room < ROOM_MIN_BYTES ? ROOM_MIN_BYTES : buffer->room;
    while (room < needed) {
        if (room > buffer->max_bytes / 2)
            return buffer->max_bytes;
        room *= 2;
    }
    return room < buffer->max_bytes ? room : buffer->max_bytes;
}

static enum tocsin_status grow(struct buffer *buffer, size_t bytes)
{
    if (bytes > buffer->max_bytes - buffer->size)
        return TOCSIN_FULL;
    size_t room = room_for(buffer, buffer->size + bytes);
    char *data = buffer->resize(buffer->data, room);
    if (data == NULL)
        return TOCSIN_NO_MEMORY;
    buffer->data = data;
    buffer->room = room;
    return TOCSIN_OK;
}

char *buffer_make_room(struct buffer *buffer, size_t bytes)
{
    if (buffer->status != TOCSIN_OK)
        return NULL;
    if (bytes > buffer->room - buffer->size) {
        buffer->status = grow(buffer, bytes);
        if (buffer->status != TOCSIN_OK)
            return NULL;
    }
    return buffer->data == NULL ? NULL : buffer->data + buffer->size;
}

char *buffer_take(struct buffer *buffer, size_t *ret_size)
{
    if (buffer->status != TOCSIN_OK || buffer->size == 0)
        return NULL;
    char *data = buffer->data;
    *ret_size = buffer->size;
    buffer->data = NULL;
    buffer->room = 0;
    buffer->size = 0;
    return data;
}
