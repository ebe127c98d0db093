/* SPDX-License-Identifier: MIT */
/* Two ends, each with what was not yet taken by its socket (held). While one holds something the
 * other is not read. An end is
 *
 *   ended   nothing more comes from it
 *   deaf    it takes nothing more: what is for it is thrown away
 *   shut    it was told that nothing more comes
 *
 * and when both have ended and nothing is held, the tunnel is closed. A tunnel that answers has no
 * far end: as if it had ended, and were deaf. */
#include "net/tunnel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
    LINGER_MS = 2000,
    LINGER_BYTES = 4 * 1024 * 1024,
    KEEPALIVE_S = 60,
};

struct end {
    uv_tcp_t tcp;
    uv_write_t write;
    uv_connect_t connect;
    struct tunnel *tunnel;
    struct tunnels *tunnels;
    char *held;
    size_t held_size;
    size_t looked_left; /* of held, at the last look */
    uint64_t since_ms;  /* of the last progress */
    bool given_up;      /* an attempt to connect: the tunnel only waits for its handle */
    bool reading;
    bool ended;
    bool deaf;
    bool shut;
};

struct tunnel {
    struct tunnels *tunnels;
    struct tunnel_hooks hooks;
    struct end *near;
    struct end *far; /* NULL: none yet, or none at all */
    char *first;
    size_t first_size;
    unsigned ends; /* whose handle is not closed, those given up with them */
    uint64_t lingers_since_ms;
    size_t discarded;
    bool connecting;
    bool answering;
    bool lingers; /* the far end is through, and the client knows */
    bool closing;
};

/* ---- what is held */

static bool hold(struct tunnels *tunnels, size_t size)
{
    if (tunnels->held_bytes + size > tunnels->bytes_max)
        return false;
    tunnels->held_bytes += size;
    if (tunnels->held_bytes > tunnels->held_bytes_most)
        tunnels->held_bytes_most = tunnels->held_bytes;
    return true;
}

static char *hold_copy(struct tunnels *tunnels, const char *bytes, size_t size)
{
    if (!hold(tunnels, size))
        return NULL;
    char *copy = malloc(size);
    if (copy == NULL) {
        tunnels->held_bytes -= size;
        return NULL;
    }
    memcpy(copy, bytes, size);
    return copy;
}

static void let_go(struct end *end)
{
    end->tunnels->held_bytes -= end->held_size;
    free(end->held);
    end->held = NULL;
    end->held_size = 0;
}

/* ---- ending */

static void free_tunnel(struct tunnel *tunnel)
{
    struct tunnel_hooks hooks = tunnel->hooks;
    if (tunnel->first != NULL)
        tunnel->tunnels->held_bytes -= tunnel->first_size;
    free(tunnel->first);
    free(tunnel);
    hooks.on_closed(hooks.arg);
}

static void on_end_closed(uv_handle_t *handle)
{
    struct end *end = handle->data;
    struct tunnel *tunnel = end->tunnel;
    let_go(end);
    free(end);
    if (--tunnel->ends == 0)
        free_tunnel(tunnel);
}

static void close_end(struct end *end)
{
    if (end != NULL)
        uv_close((uv_handle_t *)&end->tcp, on_end_closed);
}

void tunnel_cut(struct tunnel *tunnel)
{
    if (tunnel->closing)
        return;
    tunnel->closing = true;
    close_end(tunnel->near);
    close_end(tunnel->far);
}

static uint64_t now_of(const struct tunnel *tunnel)
{
    return uv_now(loop_uv(tunnel->tunnels->loop));
}

static struct end *other(const struct end *end)
{
    const struct tunnel *tunnel = end->tunnel;
    return end == tunnel->near ? tunnel->far : tunnel->near;
}

static bool has_ended(const struct end *end)
{
    return end == NULL || end->ended;
}

static bool is_deaf(const struct end *end)
{
    return end == NULL || end->deaf;
}

/* All that came from the other side is on its way, and it has ended. */
static void shut_when_through(struct end *end)
{
    uv_os_fd_t fd;
    if (end == NULL || end->shut || end->deaf || end->held != NULL || !has_ended(other(end)) ||
        uv_fileno((uv_handle_t *)&end->tcp, &fd) != 0)
        return;
    end->shut = true;
    (void)shutdown(fd, SHUT_WR);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct end *end = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(end->tunnels->read_buffer, sizeof end->tunnels->read_buffer);
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static bool update_reading(struct end *end)
{
    if (end == NULL)
        return true;
    struct end *to = other(end);
    bool wanted = !end->ended && (is_deaf(to) || to->held == NULL);
    uv_stream_t *stream = (uv_stream_t *)&end->tcp;
    if (wanted == end->reading)
        return true;
    end->reading = wanted;
    if (wanted)
        return uv_read_start(stream, on_room, on_bytes) == 0;
    (void)uv_read_stop(stream);
    return true;
}

/* What follows from what has just happened? */
static void settle(struct tunnel *tunnel)
{
    struct end *near = tunnel->near;
    struct end *far = tunnel->far;
    if (tunnel->closing)
        return;
    assert(tunnel->answering || (far != NULL && !tunnel->connecting));
    shut_when_through(near);
    shut_when_through(far);
    bool near_holds = near->held != NULL;
    bool far_holds = far != NULL && far->held != NULL;
    if (near->ended && has_ended(far) && !near_holds && !far_holds) {
        tunnel_cut(tunnel);
        return;
    }
    if (near->shut && !tunnel->lingers) {
        tunnel->lingers = true;
        tunnel->lingers_since_ms = now_of(tunnel);
    }
    if (!update_reading(near) || !update_reading(far))
        tunnel_cut(tunnel);
}

/* ---- passing on */

/* The far end may still have said something before it broke, which the client gets. */
static void is_broken(struct end *end)
{
    struct tunnel *tunnel = end->tunnel;
    if (end == tunnel->near) {
        tunnel_cut(tunnel);
        return;
    }
    end->deaf = true;
    settle(tunnel);
}

static void on_written(uv_write_t *request, int status)
{
    struct end *end = request->data;
    struct tunnel *tunnel = end->tunnel;
    let_go(end);
    if (tunnel->closing)
        return;
    if (status != 0)
        is_broken(end);
    else
        settle(tunnel);
}

/* These bytes, which are held already, when its socket can take them. */
static void write_held(struct end *end, char *held, size_t size)
{
    uv_buf_t buffer = uv_buf_init(held, (unsigned)size);
    assert(end->held == NULL);
    end->held = held;
    end->held_size = size;
    end->looked_left = size;
    end->since_ms = now_of(end->tunnel);
    end->write.data = end;
    if (uv_write(&end->write, (uv_stream_t *)&end->tcp, &buffer, 1, on_written) != 0) {
        let_go(end);
        is_broken(end);
    }
}

static void pass(struct end *to, char *bytes, size_t size)
{
    struct tunnel *tunnel = to->tunnel;
    uv_buf_t buffer = uv_buf_init(bytes, (unsigned)size);
    int done = to->held == NULL ? uv_try_write((uv_stream_t *)&to->tcp, &buffer, 1) : 0;
    if (done < 0 && done != UV_EAGAIN) {
        is_broken(to);
        return;
    }
    size_t sent = done > 0 ? (size_t)done : 0;
    if (sent == size)
        return;
    char *held = hold_copy(tunnel->tunnels, bytes + sent, size - sent);
    if (held == NULL)
        tunnel_cut(tunnel);
    else
        write_held(to, held, size - sent);
}

static void discard(struct tunnel *tunnel, size_t size)
{
    tunnel->discarded += size;
    if (tunnel->discarded > LINGER_BYTES)
        tunnel_cut(tunnel);
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct end *end = stream->data;
    struct tunnel *tunnel = end->tunnel;
    loop_breathe(end->tunnels->loop);
    if (size == 0 || tunnel->closing)
        return;
    struct end *to = other(end);
    if (size > 0 && is_deaf(to)) {
        discard(tunnel, (size_t)size);
    } else if (size > 0) {
        uint64_t *count =
            to == tunnel->near ? &end->tunnels->bytes_to_client : &end->tunnels->bytes_to_far;
        *count += (uint64_t)size;
        pass(to, buffer->base, (size_t)size);
    } else {
        end->ended = true;
        if (size != UV_EOF)
            is_broken(end);
    }
    settle(tunnel);
}

/* ---- connecting */

static struct end *create_end(struct tunnel *tunnel)
{
    struct end *end = calloc(1, sizeof *end);
    if (end == NULL)
        return NULL;
    if (uv_tcp_init(loop_uv(tunnel->tunnels->loop), &end->tcp) != 0) {
        free(end);
        return NULL;
    }
    end->tcp.data = end;
    end->tunnel = tunnel;
    end->tunnels = tunnel->tunnels;
    tunnel->ends++;
    return end;
}

static void prepare(struct end *end)
{
    (void)uv_tcp_nodelay(&end->tcp, 1);
    (void)uv_tcp_keepalive(&end->tcp, 1, KEEPALIVE_S);
}

struct tunnel *tunnel_create(struct tunnels *tunnels, int fd, struct bytes first,
                             const struct tunnel_hooks *hooks)
{
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);
    if (tunnel != NULL) {
        tunnel->tunnels = tunnels;
        if (first.size > 0)
            tunnel->first = hold_copy(tunnels, first.at, first.size);
        tunnel->first_size = first.size;
        if (first.size == 0 || tunnel->first != NULL)
            tunnel->near = create_end(tunnel);
    }
    if (tunnel == NULL || tunnel->near == NULL) {
        if (tunnel != NULL && tunnel->first != NULL)
            tunnels->held_bytes -= first.size;
        free(tunnel != NULL ? tunnel->first : NULL);
        free(tunnel);
        (void)close(fd);
        return NULL;
    }
    tunnel->hooks = *hooks;
    if (uv_tcp_open(&tunnel->near->tcp, fd) != 0) {
        (void)close(fd);
        tunnel_cut(tunnel);
        return tunnel;
    }
    prepare(tunnel->near);
    return tunnel;
}

void tunnel_disconnect(struct tunnel *tunnel)
{
    struct end *far = tunnel->far;
    if (!tunnel->connecting || tunnel->closing)
        return;
    tunnel->connecting = false;
    tunnel->far = NULL;
    far->given_up = true;
    close_end(far);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct end *far = request->data;
    struct tunnel *tunnel = far->tunnel;
    if (far->given_up || tunnel->closing)
        return;
    if (status != 0) {
        tunnel_disconnect(tunnel);
        tunnel->hooks.on_connected(tunnel->hooks.arg, status);
        return;
    }
    char *first = tunnel->first;
    tunnel->connecting = false;
    tunnel->first = NULL;
    prepare(far);
    if (first != NULL) {
        tunnel->tunnels->bytes_to_far += tunnel->first_size;
        write_held(far, first, tunnel->first_size);
    }
    tunnel->hooks.on_connected(tunnel->hooks.arg, 0);
    settle(tunnel);
}

int tunnel_connect(struct tunnel *tunnel, const struct sockaddr *address)
{
    assert(tunnel->far == NULL && !tunnel->answering);
    if (tunnel->closing)
        return 0;
    struct end *far = create_end(tunnel);
    if (far == NULL)
        return UV_ENOMEM;
    tunnel->far = far;
    tunnel->connecting = true;
    far->connect.data = far;
    int error = uv_tcp_connect(&far->connect, &far->tcp, address, on_connected);
    if (error != 0)
        tunnel_disconnect(tunnel);
    return error;
}

void tunnel_answer(struct tunnel *tunnel, struct bytes answer)
{
    assert(tunnel->far == NULL && !tunnel->answering);
    if (tunnel->closing)
        return;
    tunnel->answering = true;
    pass(tunnel->near, (char *)(uintptr_t)answer.at, answer.size);
    settle(tunnel);
}

/* ---- who waits too long */

static bool is_stuck(struct end *end, uint64_t now_ms)
{
    if (end == NULL || end->held == NULL)
        return false;
    size_t left = uv_stream_get_write_queue_size((uv_stream_t *)&end->tcp);
    if (left != end->looked_left)
        end->since_ms = now_ms;
    end->looked_left = left;
    return now_ms - end->since_ms >= end->tunnels->write_timeout_ms;
}

void tunnel_look(struct tunnel *tunnel, uint64_t now_ms)
{
    if (tunnel->closing || tunnel->connecting)
        return;
    bool over = tunnel->lingers && now_ms - tunnel->lingers_since_ms >= LINGER_MS;
    if (over || is_stuck(tunnel->near, now_ms) || is_stuck(tunnel->far, now_ms))
        tunnel_cut(tunnel);
}
