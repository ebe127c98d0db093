/* SPDX-License-Identifier: MIT */
/* The life of a connection, as its flags tell it:
 *
 *   handshaking    TLS only: workers and the client talk; nothing is parsed
 *   (none)         requests are read, handed over and answered
 *   paused         not read: too many requests under way, too much unsent, or a worker has it
 *   no_more        what comes is thrown away; what is under way is still answered
 *   ended          the client has shut its side; what is under way is still answered, unless
 *                  somebody wants to know that it is gone
 *   said_goodbye   all is sent and our side is shut; we wait for the client's end, since
 *                  closing with unread bytes would reset the answer away
 *   upgraded       its bytes are somebody else's: http_upgrade.h
 *   closing        uv_close was called
 *   closed         its callback came; the exchanges are gone
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/http_inside.h"

enum { ROOM_MIN_BYTES = 2048 };

void http_connection_touch(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    if (connection->dirty)
        return;
    connection->dirty = true;
    connection->next_dirty = NULL;
    *server->dirty_end = connection;
    server->dirty_end = &connection->next_dirty;
    loop_defer(server->loop, &server->settle);
}

void http_connection_free(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    if (!connection->closed || connection->dirty || connection->working)
        return;
    http_server_forget(connection);
    http_server_unhold(server, connection->in_room);
    http_chain_clear(&connection->plain, &server->blocks);
    http_chain_clear(&connection->out, &server->blocks);
    tls_session_destroy(connection->tls);
    free(connection->in);
    free(connection);
}

static void on_closed(uv_handle_t *handle)
{
    struct http_connection *connection = handle->data;
    connection->closed = true;
    http_exchange_abandon_all(connection);
    if (connection->upgraded != NULL)
        http_upgraded_closed(connection->upgraded);
    http_connection_free(connection);
}

void http_connection_close(struct http_connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

static void release_input(struct http_connection *connection)
{
    http_server_unhold(connection->server, connection->in_room);
    free(connection->in);
    connection->in = NULL;
    connection->in_size = 0;
    connection->in_room = 0;
}

void http_connection_refuse(struct http_connection *connection, int status, const char *detail)
{
    struct http_exchange *exchange = http_exchange_create_empty(connection);
    connection->server->counters.refused++;
    connection->no_more = true;
    connection->continue_due = false;
    release_input(connection);
    if (exchange == NULL) {
        http_connection_close(connection);
        return;
    }
    http_exchange_push(connection, exchange);
    if (!http_answer_problem(exchange, status, detail)) {
        http_connection_close(connection);
        return;
    }
    if (connection->first == exchange)
        http_exchange_advance(connection);
    http_connection_touch(connection);
}

/* Reading. */

static bool may_take(const struct http_connection *connection)
{
    const struct http_limits *limits = &connection->server->options.limits;
    return connection->exchange_count < limits->pipelined &&
           connection->unsent < HTTP_PAUSE_BYTES && connection->unsent <= limits->answer_bytes / 2;
}

static bool keep(struct http_connection *connection, const char *bytes, size_t size)
{
    size_t needed = connection->in_size + size;
    if (needed > connection->in_room) {
        size_t room = connection->in_room > 0 ? connection->in_room : ROOM_MIN_BYTES;
        while (room < needed)
            room *= 2;
        if (!http_server_hold(connection->server, room - connection->in_room))
            return false;
        char *in = realloc(connection->in, room);
        if (in == NULL) {
            http_server_unhold(connection->server, room - connection->in_room);
            return false;
        }
        connection->in = in;
        connection->in_room = room;
    }
    memcpy(connection->in + connection->in_size, bytes, size);
    connection->in_size = needed;
    return true;
}

static void refuse_overload(struct http_connection *connection)
{
    http_connection_refuse(connection, 503,
                           "Too many bytes of requests are under way; try again a little later.");
}

static void hand_over(struct http_connection *connection, struct http_exchange *exchange)
{
    struct http_server *server = connection->server;
    http_parser_init(&connection->parser);
    connection->wait = HTTP_WAIT_NEW;
    connection->continue_due = false;
    connection->looked = false;
    if (exchange->close || server->draining)
        connection->no_more = true;
    http_exchange_push(connection, exchange);
    server->counters.requests++;
    server->options.on_request(server->options.arg, exchange, &exchange->request);
    loop_breathe(server->loop);
}

/* The client waits with its body until we say that we want it. */
static void note_continue(struct http_connection *connection, size_t size)
{
    struct http_parser *parser = &connection->parser;
    if (!parser->wants_continue || !http_parser_has_head(parser))
        return;
    parser->wants_continue = false;
    connection->continue_due = size == parser->head_end;
}

/* Hands over each whole request at the start of these bytes; answers how many bytes are done
 * with. *size shrinks when chunks are closed up. own: they are the connection's buffer. */
static size_t take_requests(struct http_connection *connection, char *data, size_t *size, bool own)
{
    struct http_server *server = connection->server;
    size_t at = 0;
    while (at < *size && !connection->no_more && !connection->closing) {
        if (connection->upgraded != NULL) {
            http_upgraded_take(connection->upgraded, data + at, *size - at);
            break;
        }
        size_t left = *size - at;
        connection->paused = !may_take(connection);
        if (connection->paused)
            return at;
        enum http_parse_end end = http_take_look(connection, data + at, left);
        if (connection->wanted) {
            connection->paused = !http_take(connection, data + at, left);
            return connection->paused ? at : *size;
        }
        if (end == HTTP_PARSE_DONE)
            end = http_parse(&connection->parser, &server->parse_limits, data + at, &left);
        if (end == HTTP_PARSE_REFUSED) {
            http_connection_refuse(connection, connection->parser.status,
                                   connection->parser.detail);
            break;
        }
        if (end == HTTP_PARSE_MORE) {
            *size = at + left;
            note_continue(connection, left);
            return at;
        }
        size_t used = http_parser_used(&connection->parser);
        bool whole = own && at == 0 && used == *size;
        struct http_exchange *exchange =
            http_exchange_create(connection, data + at, whole ? data : NULL);
        if (exchange == NULL) {
            refuse_overload(connection);
            break;
        }
        at += used;
        hand_over(connection, exchange);
    }
    return *size;
}

static void take_own(struct http_connection *connection)
{
    size_t size = connection->in_size;
    size_t done = take_requests(connection, connection->in, &size, true);
    if (connection->in == NULL)
        return; /* an exchange took it */
    connection->in_size = size - done;
    if (connection->in_size == 0)
        release_input(connection);
    else if (done > 0)
        memmove(connection->in, connection->in + done, connection->in_size);
}

static void discard(struct http_connection *connection, size_t size)
{
    connection->discarded += size;
    if (connection->discarded <= HTTP_LINGER_BYTES)
        return;
    if (connection->said_goodbye)
        http_connection_close(connection);
    else
        connection->paused = true;
}

/* Plain bytes, in the server's buffer. */
static void take_bytes(struct http_connection *connection, char *data, size_t size)
{
    if (connection->upgraded != NULL) {
        http_upgraded_take(connection->upgraded, data, size);
        return;
    }
    if (connection->no_more) {
        discard(connection, size);
        return;
    }
    if (connection->in_size > 0) {
        if (keep(connection, data, size))
            take_own(connection);
        else
            refuse_overload(connection);
        return;
    }
    size_t done = take_requests(connection, data, &size, false);
    if (done < size && !keep(connection, data + done, size - done))
        refuse_overload(connection);
}

/* The client will send no more. */
static void take_end(struct http_connection *connection)
{
    connection->ended = true;
    connection->no_more = true;
    connection->continue_due = false;
    release_input(connection);
    http_connection_touch(connection);
}

static void take_encrypted(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    enum tls_end end = TLS_DONE;
    while (end == TLS_DONE && !connection->paused && !connection->closing) {
        size_t size;
        end = tls_read(connection->tls, server->read_buffer, sizeof server->read_buffer, &size);
        if (end == TLS_DONE)
            take_bytes(connection, server->read_buffer, size);
    }
    if (connection->closing)
        return;
    if (end == TLS_FAILED || !http_connection_take_tls(connection))
        http_connection_close(connection);
    else if (end == TLS_CLOSED)
        take_end(connection);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct http_connection *connection = handle->data;
    struct http_server *server = connection->server;
    (void)suggested;
    *ret_buffer = uv_buf_init(server->read_buffer, sizeof server->read_buffer);
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void update_reading(struct http_connection *connection)
{
    bool wanted = !connection->paused && !connection->ended && !connection->closing;
    uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
    if (connection->closing || wanted == connection->reading)
        return;
    connection->reading = wanted;
    if (!wanted)
        (void)uv_read_stop(stream);
    else if (uv_read_start(stream, on_room, on_bytes) != 0)
        http_connection_close(connection);
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct http_connection *connection = stream->data;
    struct http_server *server = connection->server;
    loop_breathe(server->loop);
    if (size == 0 || connection->closing)
        return;
    if (size == UV_EOF) {
        take_end(connection);
    } else if (size < 0) {
        http_connection_close(connection);
    } else {
        server->counters.bytes_in += (uint64_t)size;
        http_connection_touch(connection);
        if (connection->tls == NULL)
            take_bytes(connection, buffer->base, (size_t)size);
        else if (!tls_feed(connection->tls, buffer->base, (size_t)size))
            http_connection_close(connection);
        else if (connection->handshaking)
            http_handshake_go_on(connection);
        else
            take_encrypted(connection);
    }
    update_reading(connection);
}

/* Settling, at the end of a turn. */

static void resume(struct http_connection *connection)
{
    if (!connection->paused || connection->working || connection->ended)
        return;
    if (connection->no_more) {
        connection->paused = connection->discarded > HTTP_LINGER_BYTES;
        return;
    }
    if (!may_take(connection))
        return;
    connection->paused = false;
    loop_post(connection->server->loop); /* whoever is asked now has had this turn: once more */
    if (connection->in_size > 0)
        take_own(connection);
    if (connection->tls != NULL && !connection->handshaking && !connection->paused)
        take_encrypted(connection);
    /* Whatever was answered just now is written in the next turn. */
}

static bool wants_to_know(const struct http_connection *connection)
{
    for (const struct http_exchange *at = connection->first; at != NULL; at = at->next) {
        if (at->gone != NULL && at->state != HTTP_ANSWERED)
            return true;
    }
    return false;
}

static enum http_wait what_it_waits_for(const struct http_connection *connection)
{
    if (connection->handshaking)
        return HTTP_WAIT_HANDSHAKE;
    if (connection->said_goodbye)
        return HTTP_WAIT_LINGER;
    if (connection->plain.bytes + connection->out.bytes > 0)
        return HTTP_WAIT_WRITE;
    if (connection->in_size > 0 && !connection->paused)
        return http_parser_has_head(&connection->parser) ? HTTP_WAIT_BODY : HTTP_WAIT_HEAD;
    if (connection->first != NULL)
        return HTTP_WAIT_HANDLER;
    return HTTP_WAIT_IDLE;
}

static bool idle(const struct http_connection *connection)
{
    return connection->first == NULL && connection->unsent == 0 && connection->in_size == 0;
}

/* Is there still something to do here? If not, the end begins. */
static void end_when_through(struct http_connection *connection)
{
    bool sent = connection->plain.bytes + connection->out.bytes == 0;
    bool answered = connection->said_last || connection->first == NULL;
    bool through = connection->no_more && answered && sent;
    bool left = connection->ended && (through || wants_to_know(connection));
    bool unwanted = connection->server->draining && idle(connection) && !connection->no_more;
    if (left || unwanted)
        http_connection_close(connection);
    else if (through)
        http_connection_say_goodbye(connection);
}

void http_connection_settle(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    if (connection->closing)
        return;
    if (connection->upgraded != NULL) {
        http_upgraded_settle(connection->upgraded);
        update_reading(connection);
        return;
    }
    if (connection->continue_due && connection->first == NULL) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        connection->continue_due = false;
        if (!http_chain_append(http_connection_answers(connection), &server->blocks, go_on,
                               sizeof go_on - 1)) {
            http_connection_close(connection);
            return;
        }
        connection->unsent += sizeof go_on - 1;
    }
    if (!http_connection_flush(connection)) {
        http_connection_close(connection);
        return;
    }
    resume(connection);
    end_when_through(connection);
    update_reading(connection);
    enum http_wait wait = what_it_waits_for(connection);
    if (wait != connection->wait) {
        connection->wait = (uint8_t)wait;
        connection->since_ms = uv_now(connection->tcp.loop);
    }
}

void http_connection_retire(struct http_connection *connection)
{
    if (connection->closing)
        return;
    if (connection->upgraded != NULL) {
        http_upgraded_drain(connection->upgraded);
        return;
    }
    if (idle(connection) || connection->handshaking) {
        http_connection_close(connection);
        return;
    }
    /* A request that has begun to come is still taken. */
    if (connection->in_size == 0)
        connection->no_more = true;
    http_connection_touch(connection);
}

void http_connection_check(struct http_connection *connection, uint64_t now_ms)
{
    const struct http_limits *limits = &connection->server->options.limits;
    if (connection->upgraded != NULL && !connection->closing) {
        http_upgraded_look(connection->upgraded, now_ms);
        return;
    }
    const uint32_t allowed_ms[] = {
        [HTTP_WAIT_NEW] = UINT32_MAX,
        [HTTP_WAIT_HANDSHAKE] = limits->head_timeout_ms,
        [HTTP_WAIT_IDLE] = limits->idle_timeout_ms,
        [HTTP_WAIT_HEAD] = limits->head_timeout_ms,
        [HTTP_WAIT_BODY] = limits->body_timeout_ms,
        [HTTP_WAIT_HANDLER] = UINT32_MAX,
        [HTTP_WAIT_WRITE] = limits->write_timeout_ms,
        [HTTP_WAIT_LINGER] = HTTP_LINGER_MS,
    };
    size_t left = uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
    if (connection->wait == HTTP_WAIT_WRITE && left != connection->write_left)
        connection->since_ms = now_ms;
    connection->write_left = left;
    if (connection->closing || allowed_ms[connection->wait] == UINT32_MAX ||
        now_ms - connection->since_ms < allowed_ms[connection->wait])
        return;
    if (connection->wait == HTTP_WAIT_HEAD)
        http_connection_refuse(connection, 408, "The head of the request took too long to come.");
    else if (connection->wait == HTTP_WAIT_BODY)
        http_connection_refuse(connection, 408, "The body of the request took too long to come.");
    else
        http_connection_close(connection);
    if (connection->wait == HTTP_WAIT_WRITE || connection->wait == HTTP_WAIT_HANDSHAKE)
        connection->server->counters.refused++;
    connection->wait = HTTP_WAIT_NEW;
}

bool http_connection_open(struct http_server *server, int fd, bool turned_away)
{
    struct http_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return false;
    if (server->tls != NULL) {
        connection->tls = tls_session_create(server->tls);
        connection->handshaking = true;
    }
    if ((server->tls != NULL && connection->tls == NULL) ||
        uv_tcp_init(loop_uv(server->loop), &connection->tcp) != 0) {
        tls_session_destroy(connection->tls);
        free(connection);
        return false;
    }
    connection->server = server;
    connection->tcp.data = connection;
    connection->turned_away = turned_away;
    http_parser_init(&connection->parser);
    if (server->ring == NULL) {
        connection->next = connection;
        connection->previous = connection;
        server->ring = connection;
    } else {
        connection->next = server->ring;
        connection->previous = server->ring->previous;
        connection->previous->next = connection;
        server->ring->previous = connection;
    }
    server->counters.open++;
    if (uv_tcp_open(&connection->tcp, fd) != 0) {
        (void)close(fd);
        http_connection_close(connection);
        return true;
    }
    (void)uv_tcp_nodelay(&connection->tcp, 1);
    http_connection_touch(connection);
    update_reading(connection);
    if (turned_away)
        http_connection_refuse(connection, 503,
                               "Too many connections are open; try again a little later.");
    return true;
}
