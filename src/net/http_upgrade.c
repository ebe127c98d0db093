/* SPDX-License-Identifier: MIT */
/* What is queued is a ring of frames; first_sent bytes of the first have left already. While
 * libuv waits to write (writing), the first write_frames of them must stay where they are. */
#include "net/http_upgrade.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "net/http_inside.h"

enum {
    HEAD_BYTES = 512,
    RING_MIN = 8,
    RING_KEPT_MAX = 64,
    PIECES_MAX = 64,
    ENCRYPT_BYTES = 64 * 1024,
    FRAME_COST = 64, /* beside its bytes: so that many small ones are bounded too */
};

/* A message goes out in one piece or two. */
struct piece {
    struct frame *frame;
    bool more; /* the next one belongs to it */
};

struct http_upgraded {
    struct http_connection *connection;
    struct http_upgrade upgrade;
    struct piece *ring;
    uint32_t room; /* a power of two, or 0 */
    uint32_t first;
    uint32_t count;
    size_t first_sent;
    bool first_is_rest; /* of a message whose first piece has gone */
    size_t queued;      /* bytes, less first_sent */
    uint64_t since_ms;  /* the last progress in sending; or finished since then */
    uint64_t moved;     /* bytes that have left the queue */
    uint64_t looked_moved;
    size_t looked_left;
    uv_write_t request;
    size_t write_bytes;
    uint32_t write_frames;
    bool writing;
    bool finishing;
    bool waiting; /* bytes were there at the last look */
};

const char *http_upgrade_problem(const struct http_exchange *exchange)
{
    const struct http_connection *connection = exchange->connection;
    if (exchange->version_1_0)
        return "an upgrade needs HTTP/1.1";
    if (exchange->close)
        return "Connection: an upgrade cannot go with 'close'";
    if (connection == NULL || http_connection_deaf(connection) || connection->no_more)
        return "this connection is being closed";
    if (connection->first != exchange)
        return "an upgrade must wait until all earlier requests of its connection are answered";
    return NULL;
}

struct http_upgraded *http_upgrade(struct http_exchange *exchange, const char *headers,
                                   const struct http_upgrade *upgrade)
{
    char head[HEAD_BYTES];
    struct http_connection *connection = exchange->connection;
    assert(http_upgrade_problem(exchange) == NULL && connection->last == exchange);
    int size = snprintf(head, sizeof head, "HTTP/1.1 101 Switching Protocols\r\n%s\r\n", headers);
    assert(size > 0 && size < HEAD_BYTES);
    struct http_upgraded *upgraded = calloc(1, sizeof *upgraded);
    if (upgraded == NULL)
        return NULL;
    if (!http_chain_append(http_connection_answers(connection), &connection->server->blocks, head,
                           (size_t)size)) {
        free(upgraded);
        return NULL;
    }
    connection->unsent += (size_t)size;
    upgraded->connection = connection;
    upgraded->upgrade = *upgrade;
    upgraded->since_ms = uv_now(connection->tcp.loop);
    connection->upgraded = upgraded;
    connection->wait = HTTP_WAIT_HANDLER;
    exchange->state = HTTP_ANSWERED;
    http_exchange_advance(connection);
    http_connection_touch(connection);
    return upgraded;
}

/* The queue. */

static struct piece *slot(struct http_upgraded *upgraded, uint32_t index)
{
    return &upgraded->ring[(upgraded->first + index) & (upgraded->room - 1)];
}

static bool grow(struct http_upgraded *upgraded)
{
    uint32_t room = upgraded->room == 0 ? RING_MIN : upgraded->room * 2;
    struct piece *ring = malloc(room * sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint32_t i = 0; i < upgraded->count; i++)
        ring[i] = *slot(upgraded, i);
    free(upgraded->ring);
    upgraded->ring = ring;
    upgraded->room = room;
    upgraded->first = 0;
    return true;
}

static void drop_first(struct http_upgraded *upgraded)
{
    upgraded->first_is_rest = slot(upgraded, 0)->more;
    frame_release(slot(upgraded, 0)->frame);
    upgraded->first = (upgraded->first + 1) & (upgraded->room - 1);
    upgraded->count--;
    upgraded->first_sent = 0;
    if (upgraded->count == 0 && upgraded->room > RING_KEPT_MAX) {
        free(upgraded->ring);
        upgraded->ring = NULL;
        upgraded->room = 0;
        upgraded->first = 0;
    }
}

static void consume(struct http_upgraded *upgraded, size_t bytes)
{
    assert(bytes <= upgraded->queued);
    upgraded->queued -= bytes;
    upgraded->moved += bytes;
    while (upgraded->count > 0) {
        size_t left = slot(upgraded, 0)->frame->size - upgraded->first_sent;
        if (bytes < left) {
            upgraded->first_sent += bytes;
            return;
        }
        bytes -= left;
        drop_first(upgraded);
    }
}

void http_upgraded_forget_unsent(struct http_upgraded *upgraded)
{
    bool begun = upgraded->first_sent > 0 || upgraded->first_is_rest;
    uint32_t kept = upgraded->writing ? upgraded->write_frames : begun;
    while (kept > 0 && kept < upgraded->count && slot(upgraded, kept - 1)->more)
        kept++;
    while (upgraded->count > kept) {
        struct frame *last = slot(upgraded, upgraded->count - 1)->frame;
        upgraded->queued -= last->size;
        upgraded->count--;
        frame_release(last);
    }
}

size_t http_upgraded_unsent(const struct http_upgraded *upgraded)
{
    return upgraded->queued + (size_t)upgraded->count * FRAME_COST + upgraded->connection->unsent;
}

uint64_t http_upgraded_now_ms(const struct http_upgraded *upgraded)
{
    return uv_now(upgraded->connection->tcp.loop);
}

/* Writing. */

static size_t list_pieces(struct http_upgraded *upgraded, uv_buf_t buffers[PIECES_MAX],
                          size_t *ret_bytes)
{
    size_t count = 0;
    *ret_bytes = 0;
    for (; count < PIECES_MAX && count < upgraded->count; count++) {
        struct frame *frame = slot(upgraded, (uint32_t)count)->frame;
        size_t sent = count == 0 ? upgraded->first_sent : 0;
        buffers[count] = uv_buf_init(frame->data + sent, (unsigned)(frame->size - sent));
        *ret_bytes += frame->size - sent;
    }
    return count;
}

static void sent(struct http_upgraded *upgraded, size_t bytes)
{
    consume(upgraded, bytes);
    upgraded->connection->server->counters.bytes_out += bytes;
}

static void on_written(uv_write_t *request, int status)
{
    struct http_upgraded *upgraded = request->data;
    upgraded->writing = false;
    if (status != 0) {
        http_connection_close(upgraded->connection);
        return;
    }
    sent(upgraded, upgraded->write_bytes);
    http_connection_touch(upgraded->connection);
}

static bool write_later(struct http_upgraded *upgraded)
{
    uv_buf_t buffers[PIECES_MAX];
    size_t count = list_pieces(upgraded, buffers, &upgraded->write_bytes);
    upgraded->write_frames = (uint32_t)count;
    upgraded->request.data = upgraded;
    upgraded->writing = true;
    return uv_write(&upgraded->request, (uv_stream_t *)&upgraded->connection->tcp, buffers,
                    (unsigned)count, on_written) == 0;
}

static bool write_plain(struct http_upgraded *upgraded)
{
    while (upgraded->count > 0) {
        uv_buf_t buffers[PIECES_MAX];
        size_t bytes;
        size_t count = list_pieces(upgraded, buffers, &bytes);
        int done =
            uv_try_write((uv_stream_t *)&upgraded->connection->tcp, buffers, (unsigned)count);
        if (done < 0 && done != UV_EAGAIN)
            return false;
        if (done > 0)
            sent(upgraded, (size_t)done);
        if (done < 0 || (size_t)done < bytes)
            return write_later(upgraded);
    }
    return true;
}

/* So much at a time that what is encrypted and not sent stays small. */
static bool write_encrypted(struct http_upgraded *upgraded)
{
    struct http_connection *connection = upgraded->connection;
    while (upgraded->count > 0 && connection->out.bytes == 0 && connection->writing == NULL) {
        while (upgraded->count > 0 && connection->out.bytes < ENCRYPT_BYTES) {
            struct frame *frame = slot(upgraded, 0)->frame;
            size_t size = frame->size - upgraded->first_sent;
            if (size > ENCRYPT_BYTES)
                size = ENCRYPT_BYTES;
            if (!tls_write(connection->tls, frame->data + upgraded->first_sent, size) ||
                !http_connection_take_tls(connection))
                return false;
            consume(upgraded, size);
        }
        if (!http_connection_flush(connection))
            return false;
    }
    return true;
}

static bool flush(struct http_upgraded *upgraded)
{
    struct http_connection *connection = upgraded->connection;
    if (upgraded->writing)
        return true;
    if (!http_connection_flush(connection))
        return false;
    if (connection->plain.bytes + connection->out.bytes > 0)
        return true;
    return connection->tls != NULL ? write_encrypted(upgraded) : write_plain(upgraded);
}

bool http_upgraded_send(struct http_upgraded *upgraded, struct frame *frame, bool more)
{
    struct http_connection *connection = upgraded->connection;
    if (connection->closing || upgraded->finishing)
        return true;
    if (upgraded->count == upgraded->room && !grow(upgraded)) {
        http_connection_close(connection);
        return false;
    }
    *slot(upgraded, upgraded->count) = (struct piece){frame_share(frame), more};
    upgraded->count++;
    upgraded->queued += frame->size;
    /* Much in one turn: who reads must not be taken for slow because we have not written yet. */
    if (upgraded->queued > HTTP_FLUSH_BYTES && !flush(upgraded)) {
        http_connection_close(connection);
        return false;
    }
    http_connection_touch(connection);
    return true;
}

/* What the connection calls. */

void http_upgraded_take(struct http_upgraded *upgraded, char *bytes, size_t size)
{
    struct http_connection *connection = upgraded->connection;
    if (!upgraded->finishing) {
        upgraded->upgrade.on_bytes(upgraded->upgrade.arg, bytes, size);
        loop_breathe(connection->server->loop);
        return;
    }
    connection->discarded += size;
    if (connection->discarded > HTTP_LINGER_BYTES)
        http_connection_close(connection);
}

void http_upgraded_settle(struct http_upgraded *upgraded)
{
    struct http_connection *connection = upgraded->connection;
    if (!flush(upgraded) || connection->ended) {
        http_connection_close(connection);
        return;
    }
    if (upgraded->finishing && http_upgraded_unsent(upgraded) == 0)
        http_connection_say_goodbye(connection);
}

void http_upgraded_look(struct http_upgraded *upgraded, uint64_t now_ms)
{
    struct http_connection *connection = upgraded->connection;
    const struct http_limits *limits = &connection->server->options.limits;
    size_t left =
        connection->out.bytes + uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
    bool waiting = left + upgraded->queued > 0;
    bool stuck = upgraded->waiting && waiting && upgraded->moved == upgraded->looked_moved &&
                 left >= upgraded->looked_left;
    if (!stuck && !upgraded->finishing)
        upgraded->since_ms = now_ms;
    upgraded->waiting = waiting;
    upgraded->looked_moved = upgraded->moved;
    upgraded->looked_left = left;
    uint64_t allowed_ms = upgraded->finishing ? HTTP_LINGER_MS : limits->write_timeout_ms;
    if (now_ms - upgraded->since_ms >= allowed_ms)
        http_connection_close(connection);
    else if (!upgraded->finishing)
        upgraded->upgrade.on_look(upgraded->upgrade.arg, now_ms);
}

void http_upgraded_drain(struct http_upgraded *upgraded)
{
    if (!upgraded->finishing)
        upgraded->upgrade.on_drain(upgraded->upgrade.arg);
}

void http_upgraded_closed(struct http_upgraded *upgraded)
{
    while (upgraded->count > 0)
        drop_first(upgraded);
    void (*on_closed)(void *arg) = upgraded->upgrade.on_closed;
    void *arg = upgraded->upgrade.arg;
    upgraded->connection->upgraded = NULL;
    free(upgraded->ring);
    free(upgraded);
    on_closed(arg);
}

void http_upgraded_finish(struct http_upgraded *upgraded)
{
    struct http_connection *connection = upgraded->connection;
    if (upgraded->finishing || connection->closing)
        return;
    upgraded->finishing = true;
    upgraded->since_ms = uv_now(connection->tcp.loop);
    http_connection_touch(connection);
}

void http_upgraded_cut(struct http_upgraded *upgraded)
{
    http_connection_close(upgraded->connection);
}

int64_t http_upgraded_round_trip_ms(const struct http_upgraded *upgraded)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&upgraded->connection->tcp, &fd) != 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    return info.tcpi_rtt / 1000;
}
