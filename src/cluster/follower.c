/* SPDX-License-Identifier: MIT */
#include "cluster/follower.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "cluster/follower_inside.h"

enum {
    WAIT_MS = 3000,
    CONNECT_MS = 2000,
    WAITING_MAX = 1024,
};

#define FORWARDED "Tocsin-Forwarded"

static const uint64_t held_bytes_max = 256ULL * 1024 * 1024;

/* ---- ending */

void follower_end_when_through(struct follower *follower)
{
    if (!follower->closing || follower->parts > 0 || follower->open > 0 || follower->lookups > 0)
        return;
    void (*closed)(void *arg) = follower->closed;
    void *arg = follower->closed_arg;
    free(follower->servers);
    free(follower);
    if (closed != NULL)
        closed(arg);
}

static void on_server_closed(void *arg)
{
    struct follower *follower = arg;
    follower->parts--;
    follower_end_when_through(follower);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct follower *follower = handle->data;
    follower->parts--;
    follower_end_when_through(follower);
}

void follower_retire(struct follower *follower)
{
    if (follower->retired)
        return;
    follower->retired = true;
    follower->parts += (unsigned)follower->server_count;
    for (size_t i = 0; i < follower->server_count; i++)
        http_server_close(follower->servers[i], on_server_closed, follower);
}

static void close_servers(struct follower *follower)
{
    follower->closing = true;
    follower_retire(follower);
}

void follower_close(struct follower *follower, void (*closed)(void *arg), void *arg)
{
    assert(!follower->closing);
    follower->closed = closed;
    follower->closed_arg = arg;
    close_servers(follower);
    follower->parts += 2;
    uv_close((uv_handle_t *)&follower->timer, on_timer_closed);
    probe_close(follower, on_timer_closed);
    owner_release(follower);
    passages_cut(follower);
}

/* ---- time */

static void on_tick(uv_timer_t *timer)
{
    struct follower *follower = timer->data;
    owner_tick(follower);
    passages_tick(follower);
    if (follower->open > 0)
        return;
    follower->ticking = false;
    (void)uv_timer_stop(timer);
}

void follower_tick_on(struct follower *follower)
{
    if (follower->ticking)
        return;
    follower->ticking = true;
    (void)uv_timer_start(&follower->timer, on_tick, FOLLOWER_TICK_MS, FOLLOWER_TICK_MS);
}

/* ---- sorting requests */

static bool is_for_this_node(const struct http_request *request)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/metrics", "/v1/info"};
    if (request->method != HTTP_GET && request->method != HTTP_HEAD)
        return false;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (bytes_are(request->path, paths[i]))
            return true;
    }
    return false;
}

/* Another node has taken us for the owner. */
static bool is_forwarded(const struct http_request *request)
{
    return http_request_header(request, FORWARDED).at != NULL;
}

static bool wants(void *arg, const struct http_request *head)
{
    struct follower *follower = arg;
    bool full = follower->open >= follower->options.limits.connections;
    return !is_for_this_node(head) && !is_forwarded(head) && !full;
}

static void take(void *arg, int fd, struct bytes bytes, size_t head_bytes)
{
    passage_begin(arg, fd, bytes, head_bytes);
}

void follower_problem(struct buffer *out, const char *code, const char *detail)
{
    struct json_writer json;
    json_writer_init(&json, out);
    json_write_object(&json);
    json_write_key(&json, "status");
    json_write_int64(&json, 503);
    json_write_key(&json, "code");
    json_write_text(&json, code);
    json_write_key(&json, "title");
    json_write_text(&json, "Service Unavailable");
    json_write_key(&json, "detail");
    json_write_text(&json, detail);
    json_write_object_end(&json);
}

static void refuse(struct follower *follower, struct http_exchange *exchange, const char *code,
                   const char *detail)
{
    struct buffer body;
    follower->stats.refused++;
    buffer_init(&body, FOLLOWER_DETAIL_BYTES);
    follower_problem(&body, code, detail);
    bool whole = buffer_status(&body) == TOCSIN_OK;
    http_answer(exchange, &(struct http_answer){
                              .status = 503,
                              .content_type = whole ? "application/problem+json" : NULL,
                              .body = {body.data, whole ? body.size : 0},
                              .headers = "Retry-After: 1\r\n",
                              .close = true,
                          });
    buffer_release(&body);
}

static void on_request(void *arg, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct follower *follower = arg;
    if (is_forwarded(request))
        refuse(follower, exchange, "UNAVAILABLE",
               FOLLOWER_NOT_OWNER ": the owner is changing; try again a little later");
    else if (is_for_this_node(request))
        follower->options.on_request(follower->options.arg, exchange, request);
    else
        refuse(follower, exchange, "OVERLOADED",
               "too many connections are passed on to the owner; try again a little later");
}

/* ---- beginning */

static enum tocsin_status check(const struct follower_options *options, struct tocsin_why *ret_why)
{
    size_t size = strlen(options->node);
    bool fine = size > 0 && size <= FOLLOWER_NODE_BYTES_MAX;
    for (size_t i = 0; i < size && fine; i++)
        fine = options->node[i] >= ' ' && options->node[i] <= '~';
    if (fine)
        return TOCSIN_OK;
    (void)snprintf(ret_why->text, sizeof ret_why->text,
                   "node: its name goes into a header, so it must be 1 to %d printable ASCII "
                   "characters",
                   (int)FOLLOWER_NODE_BYTES_MAX);
    return TOCSIN_INVALID;
}

static void fill_options(struct follower *follower, const struct follower_options *given)
{
    struct follower_options *options = &follower->options;
    *options = *given;
    (void)snprintf(follower->node, sizeof follower->node, "%s", given->node);
    (void)snprintf(follower->header, sizeof follower->header, FORWARDED ": %s\r\n", given->node);
    options->node = follower->node;
    options->listen = NULL;
    options->listen_fds = NULL;
    if (options->wait_ms == 0)
        options->wait_ms = WAIT_MS;
    if (options->connect_ms == 0)
        options->connect_ms = CONNECT_MS;
    if (options->waiting_max == 0)
        options->waiting_max = WAITING_MAX;
    if (options->held_bytes_max == 0)
        options->held_bytes_max = held_bytes_max;
    follower->tunnels.loop = given->loop;
    follower->tunnels.bytes_max = options->held_bytes_max;
    follower->tunnels.write_timeout_ms = options->limits.write_timeout_ms;
}

static enum tocsin_status listen_on(struct follower *follower, const char *address, int listen_fd,
                                    struct tocsin_why *ret_why)
{
    struct http_server_options options = {
        .loop = follower->loop,
        .address = address,
        .listen_fd = listen_fd,
        .limits = follower->options.limits,
        .on_request = on_request,
        .arg = follower,
        .taker = {follower->options.tls ? NULL : wants, take, follower},
    };
    enum tocsin_status status =
        http_server_create(&options, &follower->servers[follower->server_count], ret_why);
    follower->server_count += status == TOCSIN_OK;
    return status;
}

enum tocsin_status follower_create(const struct follower_options *options,
                                   struct follower **ret_follower, struct tocsin_why *ret_why)
{
    enum tocsin_status status = check(options, ret_why);
    if (status != TOCSIN_OK)
        return status;
    struct follower *follower = calloc(1, sizeof *follower);
    struct http_server **servers = calloc(options->listen_count, sizeof(struct http_server *));
    if (follower == NULL || servers == NULL) {
        free(follower);
        free(servers);
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory to listen");
        return TOCSIN_NO_MEMORY;
    }
    follower->loop = options->loop;
    follower->servers = servers;
    fill_options(follower, options);
    for (size_t i = 0; i < options->listen_count && status == TOCSIN_OK; i++)
        status = listen_on(follower, options->listen[i],
                           options->listen_fds != NULL ? options->listen_fds[i] : 0, ret_why);
    if (status != TOCSIN_OK) {
        close_servers(follower);
        follower_end_when_through(follower);
        return status;
    }
    (void)uv_timer_init(loop_uv(follower->loop), &follower->timer);
    follower->timer.data = follower;
    probe_init(follower);
    owner_init(follower);
    *ret_follower = follower;
    return TOCSIN_OK;
}

const char *follower_address(const struct follower *follower, size_t index)
{
    assert(index < follower->server_count);
    return http_server_address(follower->servers[index]);
}

void follower_stats(const struct follower *follower, struct follower_stats *ret_stats)
{
    const struct tunnels *tunnels = &follower->tunnels;
    *ret_stats = follower->stats;
    ret_stats->tunnels = follower->open;
    ret_stats->waiting = follower->pending_count;
    ret_stats->bytes_to_owner = tunnels->bytes_to_far;
    ret_stats->bytes_to_clients = tunnels->bytes_to_client;
    ret_stats->held_bytes = tunnels->held_bytes;
    ret_stats->held_bytes_most = tunnels->held_bytes_most;
}
