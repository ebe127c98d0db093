/* SPDX-License-Identifier: MIT */
#include "net/http_chain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct http_block {
    struct http_block *next;
    size_t start;
    size_t end;
    size_t room;
    char data[];
};

enum {
    BLOCK_BYTES = 4096,
    BLOCK_ROOM = BLOCK_BYTES - sizeof(struct http_block),
    POOL_MAX = 1024,
};

static struct http_block *block_new(struct http_block_pool *pool, size_t room)
{
    struct http_block *block = pool->free;
    if (room <= BLOCK_ROOM && block != NULL) {
        pool->free = block->next;
        pool->count--;
    } else {
        size_t usual = room > BLOCK_ROOM ? room : BLOCK_ROOM;
        block = malloc(sizeof *block + usual);
        if (block == NULL)
            return NULL;
        block->room = usual;
    }
    block->next = NULL;
    block->start = 0;
    block->end = 0;
    return block;
}

static void block_free(struct http_block_pool *pool, struct http_block *block)
{
    if (block->room != BLOCK_ROOM || pool->count == POOL_MAX) {
        free(block);
        return;
    }
    block->next = pool->free;
    pool->free = block;
    pool->count++;
}

void http_block_pool_release(struct http_block_pool *pool)
{
    while (pool->free != NULL) {
        struct http_block *block = pool->free;
        pool->free = block->next;
        free(block);
    }
    pool->count = 0;
}

char *http_chain_reserve(struct http_chain *chain, struct http_block_pool *pool, size_t bytes)
{
    struct http_block *last = chain->last;
    if (last == NULL || last->room - last->end < bytes) {
        struct http_block *block = block_new(pool, bytes);
        if (block == NULL)
            return NULL;
        if (last == NULL)
            chain->first = block;
        else
            last->next = block;
        chain->last = block;
        last = block;
    }
    return last->data + last->end;
}

void http_chain_advance(struct http_chain *chain, size_t bytes)
{
    assert(chain->last != NULL && bytes <= chain->last->room - chain->last->end);
    chain->last->end += bytes;
    chain->bytes += bytes;
}

bool http_chain_append(struct http_chain *chain, struct http_block_pool *pool, const void *bytes,
                       size_t size)
{
    if (size == 0)
        return true;
    char *to = http_chain_reserve(chain, pool, size);
    if (to == NULL)
        return false;
    memcpy(to, bytes, size);
    http_chain_advance(chain, size);
    return true;
}

void http_chain_splice(struct http_chain *to, struct http_chain *from)
{
    if (from->first == NULL)
        return;
    if (to->last == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
    to->bytes += from->bytes;
    *from = (struct http_chain){NULL, NULL, 0};
}

void http_chain_consume(struct http_chain *chain, struct http_block_pool *pool, size_t bytes)
{
    assert(bytes <= chain->bytes);
    chain->bytes -= bytes;
    for (struct http_block *block = chain->first; block != NULL; block = chain->first) {
        size_t here = block->end - block->start;
        if (here > bytes) {
            block->start += bytes;
            return;
        }
        bytes -= here;
        chain->first = block->next;
        if (chain->first == NULL)
            chain->last = NULL;
        block_free(pool, block);
    }
}

void http_chain_clear(struct http_chain *chain, struct http_block_pool *pool)
{
    http_chain_consume(chain, pool, chain->bytes);
}

size_t http_chain_pieces(const struct http_chain *chain, struct http_piece *pieces, size_t max)
{
    size_t count = 0;
    for (struct http_block *block = chain->first; block != NULL && count < max;
         block = block->next) {
        if (block->end > block->start)
            pieces[count++] =
                (struct http_piece){block->data + block->start, block->end - block->start};
    }
    return count;
}
