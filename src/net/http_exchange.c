/* SPDX-License-Identifier: MIT */
/* One allocation holds the exchange, its headers and its bytes:
 *
 *     struct http_exchange | struct http_header × n | head and body
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_inside.h"

bool http_server_hold(struct http_server *server, size_t bytes)
{
    if (bytes > server->options.limits.body_bytes_total - server->held_bytes)
        return false;
    server->held_bytes += bytes;
    return true;
}

void http_server_unhold(struct http_server *server, size_t bytes)
{
    assert(bytes <= server->held_bytes);
    server->held_bytes -= bytes;
}

static struct http_exchange *allocate(struct http_server *server, size_t bytes)
{
    struct http_exchange *exchange = server->exchange_pool;
    bool pooled = bytes <= HTTP_EXCHANGE_BYTES;
    if (pooled && exchange != NULL) {
        server->exchange_pool = exchange->next;
        server->exchange_pool_count--;
    } else {
        exchange = malloc(pooled ? HTTP_EXCHANGE_BYTES : bytes);
        if (exchange == NULL)
            return NULL;
    }
    *exchange = (struct http_exchange){.pooled = pooled};
    return exchange;
}

void http_exchange_free(struct http_server *server, struct http_exchange *exchange)
{
    http_server_unhold(server, exchange->held_bytes);
    http_chain_clear(&exchange->stash, &server->blocks);
    free(exchange->taken);
    if (!exchange->pooled || server->exchange_pool_count == HTTP_EXCHANGE_POOL_MAX) {
        free(exchange);
        return;
    }
    exchange->next = server->exchange_pool;
    server->exchange_pool = exchange;
    server->exchange_pool_count++;
}

struct http_exchange *http_exchange_create_empty(struct http_connection *connection)
{
    struct http_exchange *exchange = allocate(connection->server, sizeof *exchange);
    if (exchange != NULL)
        exchange->connection = connection;
    return exchange;
}

struct http_exchange *http_exchange_create(struct http_connection *connection, const char *data,
                                           char *own)
{
    struct http_server *server = connection->server;
    const struct http_parser *parser = &connection->parser;
    size_t kept = http_parser_kept(parser);
    size_t headers_bytes = parser->header_count * sizeof(struct http_header);
    size_t size = sizeof(struct http_exchange) + headers_bytes;
    bool take = own != NULL && size + kept > HTTP_EXCHANGE_BYTES;
    size_t held = take ? connection->in_room : parser->body_size;
    /* A buffer that is taken is counted already. */
    if (!take && !http_server_hold(server, held))
        return NULL;
    struct http_exchange *exchange = allocate(server, take ? size : size + kept);
    if (exchange == NULL) {
        if (!take)
            http_server_unhold(server, held);
        return NULL;
    }
    char *bytes = own;
    if (take) {
        exchange->taken = own;
        connection->in = NULL;
        connection->in_size = 0;
        connection->in_room = 0;
    } else {
        bytes = (char *)exchange + size;
        memcpy(bytes, data, kept);
    }
    exchange->connection = connection;
    exchange->held_bytes = held;
    exchange->version_1_0 = parser->version_1_0;
    exchange->close = parser->wants_close;
    http_parser_request(parser, bytes, (struct http_header *)(exchange + 1), &exchange->request);
    exchange->request.tls = connection->tls != NULL;
    return exchange;
}

const struct http_request *http_exchange_request(const struct http_exchange *exchange)
{
    return &exchange->request;
}

void http_exchange_push(struct http_connection *connection, struct http_exchange *exchange)
{
    if (connection->last == NULL)
        connection->first = exchange;
    else
        connection->last->next = exchange;
    connection->last = exchange;
    connection->exchange_count++;
}

void http_exchange_advance(struct http_connection *connection)
{
    for (struct http_exchange *first = connection->first; first != NULL;
         first = connection->first) {
        http_chain_splice(http_connection_answers(connection), &first->stash);
        if (first->state != HTTP_ANSWERED)
            break;
        connection->first = first->next;
        if (connection->first == NULL)
            connection->last = NULL;
        connection->exchange_count--;
        bool last = first->close;
        http_exchange_free(connection->server, first);
        if (last) {
            connection->no_more = true;
            connection->said_last = true;
            break;
        }
    }
}

void http_exchange_on_gone(struct http_exchange *exchange, void (*gone)(void *arg), void *arg)
{
    assert(exchange->state != HTTP_ANSWERED);
    exchange->gone = gone;
    exchange->gone_arg = arg;
    if (exchange->connection != NULL) {
        /* A client that has shut its side is gone for whoever wants to know. */
        if (exchange->connection->ended)
            http_connection_touch(exchange->connection);
        return;
    }
    free(exchange->taken);
    free(exchange);
    gone(arg);
}

void http_exchange_abandon_all(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct http_exchange *next = connection->first;
    connection->first = NULL;
    connection->last = NULL;
    connection->exchange_count = 0;
    while (next != NULL) {
        struct http_exchange *exchange = next;
        next = exchange->next;
        void (*gone)(void *arg) = exchange->gone;
        void *arg = exchange->gone_arg;
        if (exchange->state == HTTP_ANSWERED || gone != NULL) {
            bool tell = exchange->state != HTTP_ANSWERED;
            http_exchange_free(server, exchange);
            if (tell)
                gone(arg);
            continue;
        }
        /* Somebody will still answer it; it belongs to no server any more. */
        http_chain_clear(&exchange->stash, &server->blocks);
        http_server_unhold(server, exchange->held_bytes);
        exchange->held_bytes = 0;
        exchange->connection = NULL;
    }
}
