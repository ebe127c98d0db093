/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "net/http_inside.h"

static const struct {
    int status;
    const char *reason;
    const char *code; /* of the refusals this layer makes itself */
} statuses[] = {
    {200, "OK", NULL},
    {201, "Created", NULL},
    {202, "Accepted", NULL},
    {204, "No Content", NULL},
    {304, "Not Modified", NULL},
    {400, "Bad Request", "BAD_REQUEST"},
    {401, "Unauthorized", NULL},
    {403, "Forbidden", NULL},
    {404, "Not Found", NULL},
    {405, "Method Not Allowed", NULL},
    {408, "Request Timeout", "BAD_REQUEST"},
    {409, "Conflict", NULL},
    {412, "Precondition Failed", NULL},
    {413, "Content Too Large", "TOO_LARGE"},
    {414, "URI Too Long", "TOO_LARGE"},
    {415, "Unsupported Media Type", NULL},
    {417, "Expectation Failed", "BAD_REQUEST"},
    {422, "Unprocessable Content", NULL},
    {426, "Upgrade Required", NULL},
    {428, "Precondition Required", NULL},
    {429, "Too Many Requests", NULL},
    {431, "Request Header Fields Too Large", "TOO_LARGE"},
    {500, "Internal Server Error", NULL},
    {503, "Service Unavailable", "OVERLOADED"},
    {505, "HTTP Version Not Supported", "BAD_REQUEST"},
};

enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

static size_t find_status(int status)
{
    size_t i = 0;
    while (i < STATUS_COUNT && statuses[i].status != status)
        i++;
    return i;
}

static const char *reason_of(int status)
{
    size_t i = find_status(status);
    return i < STATUS_COUNT ? statuses[i].reason : "Other";
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", anew when the second has changed. */
static const char *date_now(struct http_server *server)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct timespec now;
    struct tm tm;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != server->date_s && gmtime_r(&now.tv_sec, &tm) != NULL) {
        (void)snprintf(server->date, sizeof server->date, "%s, %02u %s %04u %02u:%02u:%02u GMT",
                       days[tm.tm_wday], (unsigned)tm.tm_mday % 100, months[tm.tm_mon],
                       (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
                       (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
        server->date_s = now.tv_sec;
    }
    return server->date;
}

/* Writes into room that was reserved for it. */
struct text {
    char *at;
};

static void put(struct text *text, const char *bytes, size_t size)
{
    memcpy(text->at, bytes, size);
    text->at += size;
}

static void put_text(struct text *text, const char *more)
{
    put(text, more, strlen(more));
}

static void put_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(text, digits + at, sizeof digits - at);
}

enum { HEAD_BYTES = 256 }; /* all that is not given by the caller, and more */

/* Where the exchange's bytes go: straight out when it is its turn. */
static struct http_chain *place(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    return connection->first == exchange ? http_connection_answers(connection) : &exchange->stash;
}

static void put_head(struct text *text, struct http_server *server, int status,
                     const char *content_type, const char *headers)
{
    put_text(text, "HTTP/1.1 ");
    put_number(text, (unsigned)status);
    put_text(text, " ");
    put_text(text, reason_of(status));
    put_text(text, "\r\nDate: ");
    put_text(text, date_now(server));
    if (content_type != NULL) {
        put_text(text, "\r\nContent-Type: ");
        put_text(text, content_type);
    }
    put_text(text, "\r\n");
    if (headers != NULL)
        put_text(text, headers);
}

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

/* Does the connection end with this answer? Only the last one in the order may say so. */
static bool is_last(const struct http_exchange *exchange, bool wanted)
{
    return exchange->close || wanted || (exchange->connection->no_more && exchange->next == NULL);
}

static bool has_length(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static bool put_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    struct http_connection *connection = exchange->connection;
    struct http_server *server = connection->server;
    struct http_chain *chain = place(exchange);
    bool bodied = has_length(answer->status);
    size_t body_size = bodied && exchange->request.method != HTTP_HEAD ? answer->body.size : 0;
    size_t head_size = HEAD_BYTES + text_size(answer->content_type) + text_size(answer->headers);
    size_t before = chain->bytes;
    char *room = http_chain_reserve(chain, &server->blocks, head_size);
    if (room == NULL)
        return false;
    struct text text = {room};
    put_head(&text, server, answer->status, answer->content_type, answer->headers);
    if (bodied) {
        put_text(&text, "Content-Length: ");
        put_number(&text, answer->body.size);
        put_text(&text, "\r\n");
    }
    exchange->close = is_last(exchange, answer->close);
    if (exchange->close)
        put_text(&text, "Connection: close\r\n");
    put_text(&text, "\r\n");
    assert((size_t)(text.at - room) <= head_size);
    http_chain_advance(chain, (size_t)(text.at - room));
    bool fine = http_chain_append(chain, &server->blocks, answer->body.at, body_size);
    connection->unsent += chain->bytes - before;
    return fine;
}

static void after_write(struct http_connection *connection, bool fine)
{
    if (fine && connection->unsent > HTTP_FLUSH_BYTES)
        fine = http_connection_flush(connection);
    if (!fine || connection->unsent > connection->server->options.limits.answer_bytes)
        http_connection_close(connection);
    else
        http_connection_touch(connection);
}

/* Answered, and its client had left: nobody else has it any more. */
static void free_orphan(struct http_exchange *exchange)
{
    free(exchange->taken);
    free(exchange);
}

static void finish(struct http_exchange *exchange, bool fine)
{
    struct http_connection *connection = exchange->connection;
    exchange->state = HTTP_ANSWERED;
    if (http_connection_deaf(connection))
        return; /* freed with the connection, and not told */
    if (connection->first == exchange)
        http_exchange_advance(connection);
    after_write(connection, fine);
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    assert(exchange->state == HTTP_WAITING);
    assert(answer->status >= 200 && answer->status <= 599);
    if (exchange->connection == NULL) {
        free_orphan(exchange);
        return;
    }
    bool fine = http_connection_deaf(exchange->connection) || put_answer(exchange, answer);
    finish(exchange, fine);
}

bool http_answer_problem(struct http_exchange *exchange, int status, const char *detail)
{
    char room[512];
    struct buffer body;
    struct json_writer json;
    size_t row = find_status(status);
    assert(row < STATUS_COUNT && statuses[row].code != NULL);
    buffer_init(&body, sizeof room);
    json_writer_init(&json, &body);
    json_write_object(&json);
    json_write_key(&json, "status");
    json_write_int64(&json, status);
    json_write_key(&json, "code");
    json_write_text(&json, statuses[row].code);
    json_write_key(&json, "title");
    json_write_text(&json, statuses[row].reason);
    json_write_key(&json, "detail");
    json_write_text(&json, detail);
    json_write_object_end(&json);
    struct http_answer answer = {
        .status = status,
        .content_type = "application/problem+json",
        .body = {body.data, body.size},
        .headers = status == 503 ? "Retry-After: 1\r\n" : NULL,
        .close = true,
    };
    bool fine = buffer_status(&body) == TOCSIN_OK && put_answer(exchange, &answer);
    buffer_release(&body);
    exchange->state = HTTP_ANSWERED;
    return fine;
}

/* Streams. */

void http_stream_begin(struct http_exchange *exchange, const char *content_type)
{
    struct http_connection *connection = exchange->connection;
    assert(exchange->state == HTTP_WAITING);
    exchange->state = HTTP_STREAMING;
    if (connection == NULL || http_connection_deaf(connection))
        return;
    struct http_chain *chain = place(exchange);
    size_t before = chain->bytes;
    size_t head_size = HEAD_BYTES + strlen(content_type);
    char *room = http_chain_reserve(chain, &connection->server->blocks, head_size);
    if (room == NULL) {
        http_connection_close(connection);
        return;
    }
    struct text text = {room};
    put_head(&text, connection->server, 200, content_type, "Cache-Control: no-store\r\n");
    exchange->raw_stream = exchange->version_1_0;
    if (!exchange->raw_stream)
        put_text(&text, "Transfer-Encoding: chunked\r\n");
    exchange->close = is_last(exchange, exchange->raw_stream);
    put_text(&text, exchange->close ? "Connection: close\r\n\r\n" : "\r\n");
    assert((size_t)(text.at - room) <= head_size);
    http_chain_advance(chain, (size_t)(text.at - room));
    connection->unsent += chain->bytes - before;
    after_write(connection, true);
}

static bool put_chunk(struct http_exchange *exchange, struct bytes bytes)
{
    struct http_block_pool *blocks = &exchange->connection->server->blocks;
    struct http_chain *chain = place(exchange);
    size_t before = chain->bytes;
    bool fine;
    if (exchange->raw_stream) {
        fine = http_chain_append(chain, blocks, bytes.at, bytes.size);
    } else {
        char size[24];
        int length = snprintf(size, sizeof size, "%zx\r\n", bytes.size);
        fine = http_chain_append(chain, blocks, size, (size_t)length) &&
               http_chain_append(chain, blocks, bytes.at, bytes.size) &&
               http_chain_append(chain, blocks, "\r\n", 2);
    }
    exchange->connection->unsent += chain->bytes - before;
    return fine;
}

enum tocsin_status http_stream_write(struct http_exchange *exchange, struct bytes bytes)
{
    struct http_connection *connection = exchange->connection;
    assert(exchange->state == HTTP_STREAMING);
    if (connection == NULL || http_connection_deaf(connection))
        return TOCSIN_UNAVAILABLE;
    if (bytes.size == 0 || exchange->request.method == HTTP_HEAD)
        return TOCSIN_OK;
    after_write(connection, put_chunk(exchange, bytes));
    return connection->closing ? TOCSIN_OVERLOADED : TOCSIN_OK;
}

void http_stream_end(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    assert(exchange->state == HTTP_STREAMING);
    if (connection == NULL) {
        free_orphan(exchange);
        return;
    }
    bool fine = true;
    if (!http_connection_deaf(connection) && !exchange->raw_stream &&
        exchange->request.method != HTTP_HEAD) {
        struct http_chain *chain = place(exchange);
        fine = http_chain_append(chain, &connection->server->blocks, "0\r\n\r\n", 5);
        connection->unsent += fine ? 5 : 0;
    }
    finish(exchange, fine);
}
