/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/socket.h>

#include "net/http_inside.h"

enum { PIECES_MAX = 64, TLS_TAKE_BYTES = 17 * 1024 };

struct http_write {
    uv_write_t request;
    struct http_connection *connection;
    size_t bytes;
};

static size_t total(const uv_buf_t *buffers, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += buffers[i].len;
    return bytes;
}

static size_t list_buffers(const struct http_chain *chain, uv_buf_t buffers[PIECES_MAX])
{
    struct http_piece pieces[PIECES_MAX];
    size_t count = http_chain_pieces(chain, pieces, PIECES_MAX);
    for (size_t i = 0; i < count; i++)
        buffers[i] = uv_buf_init(pieces[i].at, (unsigned)pieces[i].size);
    return count;
}

static void sent(struct http_connection *connection, size_t bytes)
{
    struct http_server *server = connection->server;
    http_chain_consume(&connection->out, &server->blocks, bytes);
    connection->unsent -= bytes;
    server->counters.bytes_out += bytes;
    if (connection->wait == HTTP_WAIT_WRITE)
        connection->wait = HTTP_WAIT_NEW;
}

static void on_written(uv_write_t *request, int status)
{
    struct http_write *write = request->data;
    struct http_connection *connection = write->connection;
    connection->writing = NULL;
    if (status == 0) {
        sent(connection, write->bytes);
        http_connection_touch(connection);
    } else {
        http_connection_close(connection);
    }
    free(write);
}

/* The rest of out, as far as it fits one call, when the kernel can take it. */
static bool write_later(struct http_connection *connection)
{
    uv_buf_t buffers[PIECES_MAX];
    size_t count = list_buffers(&connection->out, buffers);
    struct http_write *write = malloc(sizeof *write);
    if (write == NULL)
        return false;
    write->connection = connection;
    write->bytes = total(buffers, count);
    write->request.data = write;
    if (uv_write(&write->request, (uv_stream_t *)&connection->tcp, buffers, (unsigned)count,
                 on_written) != 0) {
        free(write);
        return false;
    }
    connection->writing = write;
    return true;
}

bool http_connection_take_tls(struct http_connection *connection)
{
    struct http_block_pool *blocks = &connection->server->blocks;
    size_t before = connection->out.bytes;
    while (tls_outgoing(connection->tls) > 0) {
        size_t want = tls_outgoing(connection->tls);
        if (want > TLS_TAKE_BYTES)
            want = TLS_TAKE_BYTES;
        char *room = http_chain_reserve(&connection->out, blocks, want);
        if (room == NULL)
            return false;
        http_chain_advance(&connection->out, tls_take(connection->tls, room, want));
    }
    connection->unsent += connection->out.bytes - before;
    return true;
}

static bool encrypt(struct http_connection *connection)
{
    struct http_block_pool *blocks = &connection->server->blocks;
    struct http_piece piece;
    while (http_chain_pieces(&connection->plain, &piece, 1) > 0) {
        if (!tls_write(connection->tls, piece.at, piece.size))
            return false;
        connection->unsent -= piece.size;
        http_chain_consume(&connection->plain, blocks, piece.size);
        if (!http_connection_take_tls(connection))
            return false;
    }
    return true;
}

bool http_connection_flush(struct http_connection *connection)
{
    if (connection->closing || connection->writing != NULL || connection->working)
        return true;
    if (connection->plain.bytes > 0 && !encrypt(connection))
        return false;
    while (connection->out.bytes > 0) {
        uv_buf_t buffers[PIECES_MAX];
        size_t count = list_buffers(&connection->out, buffers);
        size_t bytes = total(buffers, count);
        int done = uv_try_write((uv_stream_t *)&connection->tcp, buffers, (unsigned)count);
        if (done < 0 && done != UV_EAGAIN)
            return false;
        if (done > 0)
            sent(connection, (size_t)done);
        if (done < 0 || (size_t)done < bytes)
            return write_later(connection);
    }
    return true;
}

void http_connection_say_goodbye(struct http_connection *connection)
{
    if (!connection->said_goodbye) {
        connection->said_goodbye = true;
        if (connection->tls != NULL && !connection->handshaking) {
            tls_finish(connection->tls);
            if (!http_connection_take_tls(connection) || !http_connection_flush(connection)) {
                http_connection_close(connection);
                return;
            }
        }
    }
    uv_os_fd_t fd;
    if (connection->unsent > 0 || connection->shut ||
        uv_fileno((uv_handle_t *)&connection->tcp, &fd) != 0)
        return;
    (void)shutdown(fd, SHUT_WR);
    connection->shut = true;
}
