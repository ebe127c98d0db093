/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "harness.h"

enum { IN_BYTES = 256 * 1024, OUT_BYTES = 16 * 1024 };

void load_open(struct load *load)
{
    *load = (struct load){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    if (load->epoll < 0)
        bench_die("epoll: %s", strerror(errno));
}

struct connection *load_connect(struct load *load, unsigned short port, answer_frame *frame,
                                answer_taken *taken, void *arg)
{
    if (load->count == CONNECTIONS_MAX)
        bench_die("more than %d connections", CONNECTIONS_MAX);
    struct connection *self = &load->connections[load->count++];
    *self = (struct connection){.load = load,
                                .fd = port_connect(port),
                                .units = 1,
                                .frame = frame,
                                .taken = taken,
                                .arg = arg,
                                .in = bench_alloc(1, IN_BYTES),
                                .in_room = IN_BYTES,
                                .out = bench_alloc(1, OUT_BYTES),
                                .out_room = OUT_BYTES};
    if (self->fd < 0)
        bench_die("a server refuses connections: %s", strerror(errno));
    fcntl(self->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = self};
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, self->fd, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
    return self;
}

static char *grow(char *old, size_t room)
{
    char *larger = realloc(old, room);
    if (larger == NULL)
        bench_die("no memory for %zu bytes", room);
    return larger;
}

char *load_room(struct connection *connection, size_t bytes)
{
    while (connection->out_size + bytes > connection->out_room) {
        connection->out_room *= 2;
        connection->out = grow(connection->out, connection->out_room);
    }
    return connection->out + connection->out_size;
}

void load_request(struct connection *connection, size_t bytes)
{
    struct load *load = connection->load;
    connection->out_size += bytes;
    connection->under_way++;
    load->under_way++;
    if (!connection->dirty) {
        connection->dirty = true;
        load->dirty[load->dirty_count++] = connection;
    }
}

/* Whether to be told when the socket has room again. */
static void watch(struct connection *self, bool blocked)
{
    if (self->blocked == blocked)
        return;
    self->blocked = blocked;
    struct epoll_event event = {.events = EPOLLIN | (blocked ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = self};
    epoll_ctl(self->load->epoll, EPOLL_CTL_MOD, self->fd, &event);
}

static void flush(struct connection *self)
{
    while (self->out_at < self->out_size) {
        ssize_t sent =
            send(self->fd, self->out + self->out_at, self->out_size - self->out_at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            watch(self, true);
            return;
        }
        if (sent < 0)
            bench_die("a server closed a connection: %s", strerror(errno));
        self->out_at += (size_t)sent;
    }
    self->out_at = self->out_size = 0;
    watch(self, false);
}

static void flush_dirty(struct load *load)
{
    for (unsigned i = 0; i < load->dirty_count; i++) {
        load->dirty[i]->dirty = false;
        flush(load->dirty[i]);
    }
    load->dirty_count = 0;
}

static void take_answers(struct connection *self)
{
    size_t at = 0;
    while (at < self->in_size) {
        struct answer answer = self->frame(self->in + at, self->in_size - at, self->units);
        if (answer.size == 0)
            break;
        if (!answer.good)
            bench_die("a failed answer, so the run is void: %.*s",
                      (int)(answer.size < 400 ? answer.size : 400), self->in + at);
        if (self->under_way == 0)
            bench_die("an answer that nobody asked for: %.*s", (int)answer.size, self->in + at);
        self->under_way--;
        self->load->under_way--;
        self->taken(self->arg, self, &answer);
        at += answer.size;
    }
    self->in_size -= at;
    if (at > 0 && self->in_size > 0)
        memmove(self->in, self->in + at, self->in_size);
}

static void receive(struct connection *self)
{
    ssize_t got;
    do
        got = recv(self->fd, self->in + self->in_size, self->in_room - self->in_size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        bench_die("a server closed a connection: %s", got == 0 ? "its end" : strerror(errno));
    self->load->wall_ns = bench_wall_ns();
    self->in_size += (size_t)got;
    take_answers(self);
    if (self->in_size == self->in_room) {
        self->in_room *= 2;
        self->in = grow(self->in, self->in_room);
    }
}

void load_turn(struct load *load, int timeout_ms)
{
    struct epoll_event events[CONNECTIONS_MAX];
    flush_dirty(load);
    int count = epoll_wait(load->epoll, events, CONNECTIONS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) {
        struct connection *connection = events[i].data.ptr;
        if ((events[i].events & EPOLLOUT) != 0)
            flush(connection);
        if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0)
            receive(connection);
    }
    flush_dirty(load);
}

void load_close(struct load *load)
{
    for (unsigned i = 0; i < load->count; i++) {
        close(load->connections[i].fd);
        free(load->connections[i].in);
        free(load->connections[i].out);
    }
    close(load->epoll);
    load->count = 0;
}
