/* SPDX-License-Identifier: MIT */
#include "swarm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "server/child.h"
#include "server/load.h"

enum { JOINING_MAX = 256, EVENTS_MAX = 256, IN_BYTES = 256 * 1024, PATIENCE_MS = 30000 };
enum { OPCODE_TEXT = 1, OPCODE_BINARY = 2, OPCODE_PING = 9, OPCODE_PONG = 10 };

void swarm_open(struct swarm *swarm, const struct swarm_hooks *hooks, uint32_t room)
{
    *swarm = (struct swarm){.epoll = epoll_create1(EPOLL_CLOEXEC), .hooks = *hooks, .room = room};
    if (swarm->epoll < 0)
        bench_die("epoll: %s", strerror(errno));
    swarm->clients = bench_alloc(room, sizeof *swarm->clients);
}

void swarm_close(struct swarm *swarm)
{
    for (uint32_t i = 0; i < swarm->count; i++) {
        close(swarm->clients[i].fd);
        free(swarm->clients[i].part);
    }
    free(swarm->clients);
    close(swarm->epoll);
}

/* ---- going out */

static void send_all(struct swarm_client *self, const char *bytes, size_t size)
{
    if (send(self->fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        bench_die("a server does not read what a client sends: %s", strerror(errno));
}

/* Masked, as a client must: with a key of zeros, which changes nothing. */
static void send_frame(struct swarm_client *self, int opcode, const char *bytes, size_t size)
{
    char frame[2048];
    size_t at = 0;
    frame[at++] = (char)(0x80 | opcode);
    if (size < 126) {
        frame[at++] = (char)(0x80 | size);
    } else {
        frame[at++] = (char)(0x80 | 126);
        frame[at++] = (char)(size >> 8);
        frame[at++] = (char)size;
    }
    memset(frame + at, 0, 4);
    at += 4;
    if (at + size > sizeof frame)
        bench_die("a client's frame of %zu bytes", size);
    memcpy(frame + at, bytes, size);
    send_all(self, frame, at + size);
}

void swarm_send(struct swarm *swarm, uint32_t client, const char *format, ...)
{
    char text[1500];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size < 0 || (size_t)size >= sizeof text)
        bench_die("a client's frame of %d bytes", size);
    send_frame(&swarm->clients[client], OPCODE_TEXT, text, (size_t)size + 1);
}

void swarm_subscribe(struct swarm *swarm, uint32_t client, unsigned id, const char *destination,
                     bool receipt)
{
    swarm_send(swarm, client, "SUBSCRIBE\nid:sub-%u\ndestination:%s\n%s\n", id, destination,
               receipt ? "receipt:in\n" : "");
}

/* ---- coming in */

static bool starts(const char *bytes, size_t size, const char *with)
{
    size_t wanted = strlen(with);
    return size >= wanted && memcmp(bytes, with, wanted) == 0;
}

static void take_stomp(struct swarm *swarm, uint32_t client, const char *frame, size_t size,
                       int64_t wall_ns)
{
    struct swarm_client *self = &swarm->clients[client];
    if (starts(frame, size, "MESSAGE\n")) {
        const char *head_end = memmem(frame, size, "\n\n", 2);
        if (head_end == NULL)
            bench_die("a MESSAGE without a body");
        const char *body = head_end + 2;
        swarm->messages++;
        swarm->hooks.message(swarm->hooks.arg, swarm, client, body,
                             size - (size_t)(body - frame) - 1, wall_ns);
    } else if (starts(frame, size, "CONNECTED\n")) {
        self->stage = SWARM_OPEN;
        swarm->hooks.connected(swarm->hooks.arg, swarm, client);
    } else if (starts(frame, size, "RECEIPT\n")) {
        swarm->waiting--;
    } else if (!starts(frame, size, "\n")) {
        bench_die("a client is told: %.*s", (int)size, frame);
    }
}

/* How many bytes the first frame takes, with its payload; 0: it has not come in full. */
static size_t frame_size(const unsigned char *in, size_t size, size_t *ret_head)
{
    if (size < 2)
        return 0;
    size_t head = 2, payload = in[1];
    if (payload == 126) {
        head = 4;
        payload = size < head ? 0 : (size_t)in[2] << 8 | in[3];
    } else if (payload > 126) {
        bench_die("a frame of more than 64 KiB, or masked");
    }
    *ret_head = head;
    return size < head + payload ? 0 : head + payload;
}

static size_t take_frames(struct swarm *swarm, uint32_t client, const char *in, size_t size,
                          int64_t wall_ns)
{
    size_t at = 0, head, whole;
    while ((whole = frame_size((const unsigned char *)in + at, size - at, &head)) > 0) {
        const char *payload = in + at + head;
        int opcode = in[at] & 15;
        if (opcode == OPCODE_TEXT || opcode == OPCODE_BINARY)
            take_stomp(swarm, client, payload, whole - head, wall_ns);
        else if (opcode == OPCODE_PING)
            send_frame(&swarm->clients[client], OPCODE_PONG, payload, whole - head);
        else
            bench_die("a server closes a client, opcode %d: %.*s", opcode, (int)(whole - head),
                      payload);
        at += whole;
    }
    return at;
}

static size_t take_handshake(struct swarm *swarm, uint32_t client, const char *in, size_t size)
{
    static const char connect[] = "CONNECT\naccept-version:1.2\nhost:bench\nheart-beat:0,0\n\n";
    const char *end = memmem(in, size, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    if (!starts(in, size, "HTTP/1.1 101 "))
        bench_die("no WebSocket: %.*s", (int)size, in);
    swarm->clients[client].stage = SWARM_CONNECT;
    send_frame(&swarm->clients[client], OPCODE_TEXT, connect, sizeof connect);
    return (size_t)(end + 4 - in);
}

static void receive(struct swarm *swarm, uint32_t client)
{
    static char in[IN_BYTES];
    struct swarm_client *self = &swarm->clients[client];
    size_t size = self->part_size;
    if (size > 0)
        memcpy(in, self->part, size);
    ssize_t got = recv(self->fd, in + size, sizeof in - size, 0);
    int64_t wall_ns = bench_wall_ns();
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0)
        bench_die("a server closed a client: %s", got == 0 ? "its end" : strerror(errno));
    size += (size_t)got;
    size_t taken = 0;
    if (self->stage == SWARM_HANDSHAKE)
        taken = take_handshake(swarm, client, in, size);
    if (self->stage != SWARM_HANDSHAKE)
        taken += take_frames(swarm, client, in + taken, size - taken, wall_ns);
    self->part_size = (uint32_t)(size - taken);
    free(self->part);
    self->part = NULL;
    if (self->part_size > 0) {
        self->part = bench_alloc(1, self->part_size);
        memcpy(self->part, in + taken, self->part_size);
    }
}

void swarm_turn(struct swarm *swarm, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(swarm->epoll, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++)
        receive(swarm, events[i].data.u32);
}

static void settle(struct swarm *swarm, uint32_t most)
{
    uint64_t until_ns = bench_now_ns() + PATIENCE_MS * UINT64_C(1000000);
    while (swarm->waiting > most) {
        swarm_turn(swarm, 100);
        if (bench_now_ns() > until_ns)
            bench_die("%u clients wait for their receipt", swarm->waiting);
    }
}

void swarm_settle(struct swarm *swarm)
{
    settle(swarm, 0);
}

uint32_t swarm_join(struct swarm *swarm, unsigned short port, bool greets)
{
    static const char hello[] = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                "Sec-WebSocket-Protocol: v12.stomp\r\n\r\n";
    if (swarm->count == swarm->room)
        bench_die("more than %u clients", swarm->room);
    settle(swarm, JOINING_MAX);
    uint32_t client = swarm->count++;
    struct swarm_client *self = &swarm->clients[client];
    *self = (struct swarm_client){.fd = port_connect(port), .stage = SWARM_OPEN};
    if (self->fd < 0)
        bench_die("a client is refused: %s", strerror(errno));
    fcntl(self->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = client};
    if (epoll_ctl(swarm->epoll, EPOLL_CTL_ADD, self->fd, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
    if (!greets)
        return client;
    self->stage = SWARM_HANDSHAKE;
    swarm->waiting++;
    send_all(self, hello, sizeof hello - 1);
    return client;
}

/* ---- bodies */

static const char *value_of(const char *body, size_t size, const char *name)
{
    char key[40];
    int length = snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = memmem(body, size, key, (size_t)length);
    return at == NULL ? NULL : at + length;
}

bool body_number(const char *body, size_t size, const char *name, int64_t *ret_number)
{
    const char *at = value_of(body, size, name), *end = body + size;
    int64_t number = 0;
    if (at == NULL || at == end || *at < '0' || *at > '9')
        return false;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    *ret_number = number;
    return true;
}

bool body_text(const char *body, size_t size, const char *name, char *ret_text, size_t room)
{
    const char *at = value_of(body, size, name), *end = body + size;
    size_t length = 0;
    if (at == NULL || at == end || *at++ != '"')
        return false;
    while (at + length < end && at[length] != '"' && length + 1 < room)
        length++;
    memcpy(ret_text, at, length);
    ret_text[length] = '\0';
    return true;
}
