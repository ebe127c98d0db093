/* SPDX-License-Identifier: MIT */
/* Ours, over HTTP as any client would. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

static const char *program = "build/bench/tocsin";

void tocsin_program(const char *path)
{
    program = path;
}

static uint64_t launched_ns;

static void launch(struct server *server, bool lax)
{
    (void)lax; /* it has no such thing */
    const char *argv[] = {program,        "serve",       "--listen", "127.0.0.1:0", "--data",
                          server->folder, "--log-level", "warn",     NULL};
    server->port = 0;
    launched_ns = bench_now_ns();
    child_start(&server->child, argv, server->folder, true);
}

/* The ready line names the port. */
static bool read_port(struct server *server)
{
    char line[256];
    size_t size = 0;
    struct pollfd until = {.fd = server->child.out, .events = POLLIN};
    while (size + 1 < sizeof line && poll(&until, 1, 100) > 0) {
        if (read(server->child.out, line + size, 1) != 1)
            return false;
        if (line[size++] == '\n')
            break;
    }
    line[size] = '\0';
    if (size == 0)
        return false;
    server->ready_s = (double)(bench_now_ns() - launched_ns) / 1e9;
    if (sscanf(line, "tocsin ready on http://127.0.0.1:%hu ", &server->port) != 1)
        child_failed(&server->child, "tocsin says something else than its ready line");
    return true;
}

static bool probe(struct server *server)
{
    char answer[2048];
    if (server->port == 0 && !read_port(server))
        return false;
    return ask(server->port,
               "GET /v1/tasks/kkkkkkkk000000000000 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
               "Connection: close\r\n\r\n",
               sizeof answer, answer, sizeof answer) &&
           (strncmp(answer, "HTTP/1.1 200", 12) == 0 || strncmp(answer, "HTTP/1.1 404", 12) == 0);
}

static void harden(struct server *server)
{
    (void)server;
}

struct answer http_frame(const char *in, size_t size, unsigned units)
{
    static const char length[] = "\r\nContent-Length: ";
    (void)units;
    struct answer answer = {0};
    const char *end = memmem(in, size, "\r\n\r\n", 4);
    if (end == NULL)
        return answer;
    const char *at = memmem(in, (size_t)(end - in), length, sizeof length - 1);
    if (at == NULL)
        bench_die("an answer without a length: %.*s", (int)(end - in), in);
    for (at += sizeof length - 1; *at >= '0' && *at <= '9'; at++)
        answer.body_size = answer.body_size * 10 + (size_t)(*at - '0');
    answer.body = end + 4;
    size_t whole = (size_t)(answer.body - in) + answer.body_size;
    if (whole > size)
        return answer;
    answer.size = whole;
    answer.good = memcmp(in, "HTTP/1.1 20", 11) == 0;
    return answer;
}

/* 201: it is there now. */
static struct answer frame_one(const char *in, size_t size, unsigned units)
{
    struct answer answer = http_frame(in, size, units);
    answer.good = answer.good && in[11] == '1';
    return answer;
}

/* A line each, and none of them a problem. */
static struct answer frame_many(const char *in, size_t size, unsigned units)
{
    struct answer answer = http_frame(in, size, units);
    if (answer.size == 0 || !answer.good)
        return answer;
    const char *at = answer.body, *end = answer.body + answer.body_size;
    unsigned lines = 0;
    while (at < end && end - at > 6 && memcmp(at, "{\"id\":", 6) == 0) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL)
            break;
        at++;
        lines++;
    }
    answer.good = at == end && lines == units;
    return answer;
}

static void recipe(const struct server *server, enum wish wish, unsigned units, size_t id_bytes,
                   struct recipe *ret_recipe)
{
    *ret_recipe = (struct recipe){.units = units, .id_bytes = id_bytes, .due_digits = 13};
    struct recipe *self = ret_recipe;
    char payload[PAYLOAD_BYTES - 1];
    memset(payload, 'p', sizeof payload - 1);
    payload[sizeof payload - 1] = '\0';
    int at = snprintf(self->unit, sizeof self->unit, "{\"id\":\"");
    self->id_at = (size_t)at;
    at += snprintf(self->unit + at, sizeof self->unit - (size_t)at, "%*s\",\"at\":", (int)id_bytes,
                   "");
    self->due_at = (size_t)at;
    at += snprintf(self->unit + at, sizeof self->unit - (size_t)at, "%13s,\"payload\":\"%s\"}\n",
                   "", payload);
    self->unit_size = (size_t)at;
    self->frame = wish == WISH_ONE ? frame_one : frame_many;
    self->head_size = (size_t)snprintf(
        self->head, sizeof self->head,
        "POST /v1/tasks%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/%s\r\n%s"
        "Content-Length: %zu\r\n\r\n",
        wish == WISH_ONE ? "" : "/batch", (unsigned)server->port,
        wish == WISH_ONE ? "json" : "x-ndjson",
        wish == WISH_SHORT ? "Prefer: return=minimal\r\n" : "", units * self->unit_size);
}

const struct peer peer_tocsin = {"tocsin", launch, probe, harden, recipe};
