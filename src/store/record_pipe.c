/* SPDX-License-Identifier: MIT */
#include "store/record_pipe.h"

#include <stdlib.h>

enum { HALF = RECORD_PIPE_BLOCKS / 2 };

static struct record_block *block_at(const struct record_pipe *pipe, uint64_t number)
{
    return &pipe->blocks[number % RECORD_PIPE_BLOCKS];
}

bool record_pipe_init(struct record_pipe *pipe)
{
    *pipe = (struct record_pipe){.blocks = calloc(RECORD_PIPE_BLOCKS, sizeof *pipe->blocks)};
    if (pipe->blocks == NULL)
        return false;
    (void)pthread_mutex_init(&pipe->lock, NULL);
    (void)pthread_cond_init(&pipe->changed, NULL);
    return true;
}

void record_pipe_release(struct record_pipe *pipe)
{
    free(pipe->blocks);
    (void)pthread_mutex_destroy(&pipe->lock);
    (void)pthread_cond_destroy(&pipe->changed);
}

/* Under the lock. */
static uint64_t full_blocks(const struct record_pipe *pipe)
{
    return pipe->put - pipe->taken;
}

/* ---- putting */

/* The block is full: the taker's from now on. OK when the next one is empty. */
static enum tocsin_status hand_over(struct record_pipe *pipe)
{
    (void)pthread_mutex_lock(&pipe->lock);
    pipe->put++;
    if (full_blocks(pipe) == HALF)
        (void)pthread_cond_signal(&pipe->changed);
    if (full_blocks(pipe) == RECORD_PIPE_BLOCKS)
        while (full_blocks(pipe) > HALF && !pipe->closed)
            (void)pthread_cond_wait(&pipe->changed, &pipe->lock);
    bool closed = pipe->closed;
    (void)pthread_mutex_unlock(&pipe->lock);
    return closed ? TOCSIN_BUSY : TOCSIN_OK;
}

static struct bytes copy(struct record_block *block, struct bytes from)
{
    char *to = block->bytes + block->used;
    if (from.size > 0)
        memcpy(to, from.at, from.size);
    block->used += from.size;
    return (struct bytes){to, from.size};
}

enum tocsin_status record_pipe_put(struct record_pipe *pipe, const struct store_record *record)
{
    bool same = record->home.at == record->key.at && record->home.size == record->key.size;
    size_t bytes =
        record->kind.size + record->key.size + record->tag.size + (same ? 0 : record->home.size);
    if (bytes > RECORD_BLOCK_BYTES)
        return TOCSIN_TOO_LARGE;
    /* Only who puts changes `put`, so it may look at it without the lock. */
    struct record_block *block = block_at(pipe, pipe->put);
    if (block->count == RECORD_BLOCK_RECORDS || bytes > RECORD_BLOCK_BYTES - block->used) {
        enum tocsin_status status = hand_over(pipe);
        if (status != TOCSIN_OK)
            return status;
        block = block_at(pipe, pipe->put);
        block->count = block->used = 0;
    }
    struct store_record *to = &block->records[block->count++];
    *to = *record;
    to->kind = copy(block, record->kind);
    to->key = copy(block, record->key);
    to->home = same ? to->key : copy(block, record->home);
    to->tag = copy(block, record->tag);
    to->doc = (struct bytes){"", 0};
    return TOCSIN_OK;
}

void record_pipe_end(struct record_pipe *pipe)
{
    (void)pthread_mutex_lock(&pipe->lock);
    if (!pipe->closed && block_at(pipe, pipe->put)->count > 0)
        pipe->put++;
    pipe->ended = true;
    (void)pthread_cond_signal(&pipe->changed);
    (void)pthread_mutex_unlock(&pipe->lock);
}

/* ---- taking */

const struct record_block *record_pipe_take(struct record_pipe *pipe)
{
    (void)pthread_mutex_lock(&pipe->lock);
    if (pipe->holding) {
        pipe->taken++;
        if (full_blocks(pipe) == HALF)
            (void)pthread_cond_signal(&pipe->changed);
    }
    if (full_blocks(pipe) == 0)
        while (full_blocks(pipe) < HALF && !pipe->ended)
            (void)pthread_cond_wait(&pipe->changed, &pipe->lock);
    pipe->holding = full_blocks(pipe) > 0;
    const struct record_block *block = pipe->holding ? block_at(pipe, pipe->taken) : NULL;
    (void)pthread_mutex_unlock(&pipe->lock);
    return block;
}

void record_pipe_close(struct record_pipe *pipe)
{
    (void)pthread_mutex_lock(&pipe->lock);
    pipe->closed = true;
    (void)pthread_cond_signal(&pipe->changed);
    (void)pthread_mutex_unlock(&pipe->lock);
}
