/* SPDX-License-Identifier: MIT */
/* http_chain.h - which bytes are still to be sent?
 *
 * Bytes in blocks, appended at the end and consumed at the start. Small pieces are gathered in
 * one block, so that the answers of a turn leave in one write.
 *
 * Memory    blocks of the usual size come from a pool and go back to it; larger pieces get a
 *           block of their own size.
 */
#ifndef TOCSIN_NET_HTTP_CHAIN_H
#define TOCSIN_NET_HTTP_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

struct http_block;

struct http_block_pool {
    struct http_block *free;
    size_t count;
};

void http_block_pool_release(struct http_block_pool *pool);

struct http_chain {
    struct http_block *first;
    struct http_block *last;
    size_t bytes;
};

/* Room for so many bytes in one piece at the end, to be filled by the caller, who then says
 * with http_chain_advance how many there are. NULL: the system gave no memory. */
char *http_chain_reserve(struct http_chain *chain, struct http_block_pool *pool, size_t bytes);
void http_chain_advance(struct http_chain *chain, size_t bytes);

/* All of it or nothing. */
bool http_chain_append(struct http_chain *chain, struct http_block_pool *pool, const void *bytes,
                       size_t size);
/* All of `from` goes to the end of `to`; nothing is copied. */
void http_chain_splice(struct http_chain *to, struct http_chain *from);
void http_chain_consume(struct http_chain *chain, struct http_block_pool *pool, size_t bytes);
void http_chain_clear(struct http_chain *chain, struct http_block_pool *pool);

/* The first pieces, at most so many; the bytes stay the chain's. */
struct http_piece {
    char *at;
    size_t size;
};
size_t http_chain_pieces(const struct http_chain *chain, struct http_piece *pieces, size_t max);

#endif
