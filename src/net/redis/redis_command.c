/* SPDX-License-Identifier: MIT */
/* Commands lie one behind the other in chunks, so that all that were given in a turn are a few
 * spans of memory, and stay there until they are done, so that one can be sent again. */
#include "redis_inside.h"

#include <assert.h>
#include <stdlib.h>

enum { LENGTH_BYTES_MAX = 24, WORD_BYTES_BESIDE = LENGTH_BYTES_MAX + 2 };

static void close_chunk(struct redis_chunks *chunks, struct redis_chunk *chunk)
{
    if (chunk->room != REDIS_CHUNK_BYTES || chunks->spare_count == REDIS_CHUNKS_SPARE_MAX) {
        free(chunk);
        return;
    }
    chunk->next = chunks->spare;
    chunks->spare = chunk;
    chunks->spare_count++;
}

static struct redis_chunk *fresh_chunk(struct redis_chunks *chunks, size_t size)
{
    struct redis_chunk *chunk = chunks->spare;
    if (chunk != NULL && size <= REDIS_CHUNK_BYTES) {
        chunks->spare = chunk->next;
        chunks->spare_count--;
    } else {
        size_t room = size > REDIS_CHUNK_BYTES ? size : REDIS_CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return NULL;
        chunk->room = room;
    }
    chunk->used = chunk->calls = 0;
    chunk->next = NULL;
    return chunk;
}

static struct redis_chunk *chunk_with_room(struct redis_chunks *chunks, size_t size)
{
    struct redis_chunk *open = chunks->open;
    if (open != NULL && open->room - open->used >= size)
        return open;
    struct redis_chunk *chunk = fresh_chunk(chunks, size);
    if (chunk == NULL)
        return NULL;
    if (open != NULL && open->calls == 0)
        close_chunk(chunks, open);
    chunks->open = chunk;
    return chunk;
}

/* "$12\r\n" */
static char *write_length(char *at, char kind, size_t length)
{
    char digits[LENGTH_BYTES_MAX];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + length % 10);
        length /= 10;
    } while (length > 0);
    *at++ = kind;
    while (count > 0)
        *at++ = digits[--count];
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

static char *write_word(char *at, struct bytes word)
{
    at = write_length(at, '$', word.size);
    if (word.size > 0)
        memcpy(at, word.at, word.size);
    at += word.size;
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

/* More than enough; 0: more than may be. */
static size_t size_at_most(const struct redis_words *lists, size_t list_count, size_t *ret_words)
{
    size_t size = LENGTH_BYTES_MAX, words = 0;
    for (size_t i = 0; i < list_count; i++) {
        for (size_t j = 0; j < lists[i].count; j++) {
            if (lists[i].at[j].size > REDIS_COMMAND_BYTES_MAX)
                return 0;
            size += lists[i].at[j].size + WORD_BYTES_BESIDE;
            if (size > REDIS_COMMAND_BYTES_MAX)
                return 0;
        }
        words += lists[i].count;
    }
    *ret_words = words;
    return size;
}

const char *redis_command_store(struct redis_chunks *chunks, struct redis_call *call,
                                const struct redis_words *lists, size_t list_count)
{
    size_t words = 0;
    size_t most = size_at_most(lists, list_count, &words);
    if (most == 0)
        return "a command of more than 64 MiB";
    if (most > REDIS_QUEUED_BYTES_MAX - chunks->bytes)
        return "too many bytes wait for redis";
    struct redis_chunk *chunk = chunk_with_room(chunks, most);
    if (chunk == NULL)
        return "no memory for a command";
    char *from = chunk->data + chunk->used;
    char *at = write_length(from, '*', words);
    for (size_t i = 0; i < list_count; i++)
        for (size_t j = 0; j < lists[i].count; j++)
            at = write_word(at, lists[i].at[j]);
    call->command = from;
    call->size = (size_t)(at - from);
    call->chunk = chunk;
    chunk->used += call->size;
    chunk->calls++;
    chunks->bytes += call->size;
    return NULL;
}

void redis_command_drop(struct redis_chunks *chunks, struct redis_call *call)
{
    struct redis_chunk *chunk = call->chunk;
    assert(chunk->calls > 0);
    chunks->bytes -= call->size;
    call->chunk = NULL;
    call->command = NULL;
    if (--chunk->calls > 0)
        return;
    if (chunk == chunks->open && chunk->room == REDIS_CHUNK_BYTES) {
        chunk->used = 0;
        return;
    }
    if (chunk == chunks->open)
        chunks->open = NULL; /* a large one is not kept */
    close_chunk(chunks, chunk);
}

void redis_chunks_release(struct redis_chunks *chunks)
{
    assert(chunks->bytes == 0);
    free(chunks->open);
    while (chunks->spare != NULL) {
        struct redis_chunk *chunk = chunks->spare;
        chunks->spare = chunk->next;
        free(chunk);
    }
}
