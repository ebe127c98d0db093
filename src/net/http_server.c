/* SPDX-License-Identifier: MIT */
#include "net/http_server.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/http_inside.h"
#include "net/listener.h"

enum {
    ACCEPT_PER_TURN = 64,
    BACKOFF_MS = 100,
    HEADERS_MAX = 1000,
    BODY_BYTES_MAX = 1 << 30, /* offsets into a request have 32 bits */
};

const struct http_limits http_limits_default = {
    .connections = 20000,
    .pipelined = 128,
    .head_bytes = 16 * 1024,
    .headers = 64,
    .body_bytes = 1024 * 1024,
    .body_bytes_total = 256 * 1024 * 1024,
    .answer_bytes = 16 * 1024 * 1024,
    .head_timeout_ms = 10000,
    .body_timeout_ms = 30000,
    .idle_timeout_ms = 75000,
    .write_timeout_ms = 30000,
};

static void free_server(struct http_server *server)
{
    while (server->exchange_pool != NULL) {
        struct http_exchange *exchange = server->exchange_pool;
        server->exchange_pool = exchange->next;
        free(exchange);
    }
    http_block_pool_release(&server->blocks);
    tls_context_destroy(server->tls);
    free(server->look_headers);
    if (server->fd >= 0)
        (void)close(server->fd);
    free(server);
}

/* The end of a turn. */

static void settle_all(struct http_server *server)
{
    struct http_connection *next = server->dirty;
    server->dirty = NULL;
    server->dirty_end = &server->dirty;
    while (next != NULL) {
        struct http_connection *connection = next;
        next = connection->next_dirty;
        connection->dirty = false;
        if (connection->closed)
            http_connection_free(connection);
        else
            http_connection_settle(connection);
        loop_breathe(server->loop);
    }
}

static void on_settle(void *arg)
{
    struct http_server *server = arg;
    settle_all(server);
    if (server->counters.open > 0 || server->settle.waiting)
        return; /* once more, in the next turn */
    if (server->closing && server->handles == 0) {
        void (*on_closed)(void *arg) = server->on_closed;
        void *closed_arg = server->closed_arg;
        free_server(server);
        if (on_closed != NULL)
            on_closed(closed_arg);
    } else if (server->draining && server->on_drained != NULL && !server->closing) {
        void (*on_drained)(void *arg) = server->on_drained;
        server->on_drained = NULL;
        on_drained(server->drained_arg);
    }
}

void http_server_forget(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    connection->previous->next = connection->next;
    connection->next->previous = connection->previous;
    if (server->ring == connection)
        server->ring = connection->next != connection ? connection->next : NULL;
    server->counters.open--;
    if (connection->turned_away)
        server->turned_away--;
    if (server->counters.open == 0) {
        if (!server->closing)
            (void)uv_timer_stop(&server->sweep);
        loop_defer(server->loop, &server->settle);
    }
}

/* Who has waited too long? A part of the connections at a time, so that a sweep is short. */
static void on_sweep(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    uint64_t count = (server->counters.open + HTTP_SWEEP_PARTS - 1) / HTTP_SWEEP_PARTS;
    for (; count > 0 && server->ring != NULL; count--) {
        struct http_connection *connection = server->ring;
        server->ring = connection->next;
        http_connection_check(connection, now_ms);
        loop_breathe(server->loop);
    }
}

/* Accepting. */

static void accept_one(struct http_server *server, int fd)
{
    uint64_t served = server->counters.open - server->turned_away;
    bool full = served >= server->options.limits.connections;
    const struct http_taker *taker = &server->options.taker;
    server->counters.accepted++;
    if (taker->take != NULL && taker->wants == NULL) {
        taker->take(taker->arg, fd, (struct bytes){NULL, 0}, 0);
        return;
    }
    if (full && (server->tls != NULL || server->turned_away >= HTTP_TURNED_AWAY_MAX)) {
        server->counters.refused++;
        (void)close(fd);
        return;
    }
    if (server->counters.open == 0)
        (void)uv_timer_start(&server->sweep, on_sweep, HTTP_SWEEP_MS, HTTP_SWEEP_MS);
    if (full)
        server->turned_away++;
    if (!http_connection_open(server, fd, full)) {
        (void)close(fd);
        if (full)
            server->turned_away--;
    }
}

static void on_connection(uv_poll_t *poll, int status, int events);

static void on_backoff(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    if (!server->draining)
        (void)uv_poll_start(&server->listener, UV_READABLE, on_connection);
}

/* Descriptors have run out: the connections wait in the kernel until some are free again. */
static void back_off(struct http_server *server)
{
    (void)uv_poll_stop(&server->listener);
    (void)uv_timer_start(&server->backoff, on_backoff, BACKOFF_MS, 0);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct http_server *server = poll->data;
    (void)status;
    (void)events;
    loop_breathe(server->loop);
    for (int i = 0; i < ACCEPT_PER_TURN && !server->draining; i++) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accept_one(server, fd);
            loop_breathe(server->loop);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            back_off(server);
            return;
        }
        /* Whatever else: that one client has left already. */
    }
}

/* Creating. */

static enum tocsin_status listen_on(struct http_server *server,
                                    const struct http_server_options *options,
                                    struct tocsin_why *ret_why)
{
    if (options->listen_fd == 0)
        return listener_open(options->address, &server->fd, server->address, ret_why);
    server->fd = listener_again(options->listen_fd, server->address);
    if (server->fd >= 0)
        return TOCSIN_OK;
    (void)snprintf(ret_why->text, sizeof ret_why->text, "cannot go on listening on %s: %s",
                   options->address, strerror(errno));
    return TOCSIN_FULL;
}

static enum tocsin_status check_limits(const struct http_limits *limits, struct tocsin_why *ret_why)
{
    const char *wrong = NULL;
    if (limits->connections == 0 || limits->pipelined == 0)
        wrong = "connections and pipelined must be at least 1";
    else if (limits->head_bytes < 64 || limits->head_bytes > BODY_BYTES_MAX)
        wrong = "head_bytes must be from 64 to 2^30";
    else if (limits->headers == 0 || limits->headers > HEADERS_MAX)
        wrong = "headers must be from 1 to 1000";
    else if (limits->body_bytes > BODY_BYTES_MAX)
        wrong = "body_bytes must be at most 2^30";
    if (wrong == NULL)
        return TOCSIN_OK;
    (void)snprintf(ret_why->text, sizeof ret_why->text, "HTTP limits: %s", wrong);
    return TOCSIN_INVALID;
}

/* A write to a client that has left must be a status, not the end of the process. */
static void ignore_sigpipe(void)
{
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

static void start_handles(struct http_server *server)
{
    uv_loop_t *uv = loop_uv(server->loop);
    int failed = uv_poll_init(uv, &server->listener, server->fd);
    failed |= uv_poll_start(&server->listener, UV_READABLE, on_connection);
    failed |= uv_timer_init(uv, &server->sweep);
    failed |= uv_timer_init(uv, &server->backoff);
    assert(!failed);
    server->listener.data = server;
    server->sweep.data = server;
    server->backoff.data = server;
    server->handles = 3;
}

enum tocsin_status http_server_create(const struct http_server_options *options,
                                      struct http_server **ret_server, struct tocsin_why *ret_why)
{
    assert((options->tls_certificate != NULL) == (options->tls_key != NULL));
    assert(options->taker.take == NULL || options->tls_certificate == NULL);
    enum tocsin_status status = check_limits(&options->limits, ret_why);
    if (status != TOCSIN_OK)
        return status;
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return TOCSIN_NO_MEMORY;
    server->loop = options->loop;
    server->options = *options;
    server->parse_limits = (struct http_parse_limits){
        options->limits.head_bytes,
        options->limits.headers,
        options->limits.body_bytes,
    };
    server->fd = -1;
    server->dirty_end = &server->dirty;
    server->settle = (struct loop_deferred){.run = on_settle, .arg = server};
    if (options->taker.wants != NULL) {
        server->look_headers = calloc(options->limits.headers, sizeof *server->look_headers);
        if (server->look_headers == NULL)
            status = TOCSIN_NO_MEMORY;
    }
    if (status == TOCSIN_OK && options->tls_certificate != NULL)
        status =
            tls_context_create(options->tls_certificate, options->tls_key, &server->tls, ret_why);
    if (status == TOCSIN_OK)
        status = listen_on(server, options, ret_why);
    if (status != TOCSIN_OK) {
        free_server(server);
        return status;
    }
    ignore_sigpipe();
    start_handles(server);
    *ret_server = server;
    return TOCSIN_OK;
}

const char *http_server_address(const struct http_server *server)
{
    return server->address;
}

void http_server_counters(const struct http_server *server, struct http_counters *ret_counters)
{
    *ret_counters = server->counters;
}

/* Ending. */

static void for_each(struct http_server *server, void (*call)(struct http_connection *connection))
{
    /* Closing is not forgetting: the ring stays as it is until the loop goes on. */
    struct http_connection *connection = server->ring;
    for (uint64_t count = server->counters.open; count > 0; count--) {
        call(connection);
        connection = connection->next;
    }
}

static void stop_listening(struct http_server *server)
{
    server->draining = true;
    (void)uv_poll_stop(&server->listener);
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
}

void http_server_drain(struct http_server *server, void (*on_drained)(void *arg), void *arg)
{
    if (server->closing)
        return;
    server->on_drained = on_drained;
    server->drained_arg = arg;
    stop_listening(server);
    for_each(server, http_connection_retire);
    loop_defer(server->loop, &server->settle);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct http_server *server = handle->data;
    server->handles--;
    loop_defer(server->loop, &server->settle);
}

void http_server_close(struct http_server *server, void (*on_closed)(void *arg), void *arg)
{
    assert(!server->closing);
    server->on_closed = on_closed;
    server->closed_arg = arg;
    stop_listening(server);
    server->closing = true;
    uv_close((uv_handle_t *)&server->listener, on_handle_closed);
    uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
    uv_close((uv_handle_t *)&server->backoff, on_handle_closed);
    for_each(server, http_connection_close);
}
