/* SPDX-License-Identifier: MIT */
/* http_world.h - how does a test talk to a real HTTP server?
 *
 * A server with a small handler on a loop in a thread of its own, and blocking sockets that talk
 * to it. What the handler does is said by the path:
 *
 *   /echo        answers at once with method, path, query and body
 *   /size?n=N    answers with N bytes
 *   /close       answers at once, and wants the connection closed
 *   /hold        does not answer; /release?n=201 answers the held ones of numbers 2, 0, 1, each
 *                with its number, in that order
 *   /watch       the same, and wants to know when the client is gone; /gone says how many were
 *   /stream      begins a stream; /feed?n=N writes N bytes to each, /end ends them
 *
 * Whatever else must happen on the loop's thread is a function given to world_do. Every wait for
 * the server has a limit, so that a test fails and does not hang.
 */
#ifndef TEST_HTTP_WORLD_H
#define TEST_HTTP_WORLD_H

#include "runner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_server.h"
#include "net/http_target.h"
#include "net/loop.h"

enum { WORLD_HELD_MAX = 256, WORLD_WAIT_S = 20 };

struct world;

struct world_stream {
    struct world *world;
    struct http_exchange *exchange; /* NULL: ended or gone */
};

/* What a test may look at, as of the last world_look or the end. */
struct world_seen {
    size_t held_count;
    size_t stream_count;
    unsigned gone;
    unsigned drained;
    unsigned posts;
    enum tocsin_status last_write;
    struct http_counters counters;
};

struct world {
    struct world_seen seen;
    struct loop *loop;
    struct http_server *server;
    struct http_limits limits;
    const char *listen;
    const char *certificate;
    const char *key;
    /* Instead of the handler above, with user as its argument. */
    void (*on_request)(void *arg, struct http_exchange *exchange,
                       const struct http_request *request);
    void *user;
    pthread_t thread;
    sem_t done;
    void (*job)(struct world *world); /* for the loop's thread */
    atomic_bool has_job;
    bool server_closed;
    /* the loop thread's */
    struct http_exchange *held[WORLD_HELD_MAX];
    struct world_stream streams[WORLD_HELD_MAX];
    size_t held_count;
    size_t stream_count;
    unsigned gone;
    unsigned drained;
    unsigned posts; /* that were not for a job */
    enum tocsin_status last_write;
};

static inline void world_say(struct http_exchange *exchange, int status, struct bytes body)
{
    http_answer(exchange, &(struct http_answer){
                              .status = status, .content_type = "text/plain", .body = body});
}

static inline size_t world_number(const struct http_request *request)
{
    char text[32] = "";
    struct bytes n = http_query_find(request->query, "n");
    if (n.at != NULL && n.size < sizeof text)
        memcpy(text, n.at, n.size);
    return (size_t)strtoul(text, NULL, 10);
}

static inline void world_echo(struct http_exchange *exchange, const struct http_request *request)
{
    char *text = malloc(request->body.size + request->path.size + request->query.size + 64);
    assert_non_null(text);
    int size = sprintf(text, "%d %.*s?%.*s ", (int)request->method, (int)request->path.size,
                       request->path.at, (int)request->query.size,
                       request->query.at != NULL ? request->query.at : "");
    if (request->body.size > 0)
        memcpy(text + size, request->body.at, request->body.size);
    world_say(exchange, 200, (struct bytes){text, (size_t)size + request->body.size});
    free(text);
}

static inline void world_fill(struct http_exchange *exchange, size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    world_say(exchange, 200, (struct bytes){text, size});
    free(text);
}

static inline void world_release(struct world *world, struct bytes numbers)
{
    for (size_t i = 0; i < numbers.size; i++) {
        size_t which = (size_t)(numbers.at[i] - '0');
        char text[2] = {numbers.at[i], '\0'};
        assert_true(which < world->held_count && world->held[which] != NULL);
        world_say(world->held[which], 200, bytes_of(text));
        world->held[which] = NULL;
    }
}

static inline void world_feed(struct world *world, size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'y', size);
    for (size_t i = 0; i < world->stream_count; i++) {
        if (world->streams[i].exchange != NULL)
            world->last_write =
                http_stream_write(world->streams[i].exchange, (struct bytes){text, size});
    }
    free(text);
}

static inline void world_count_gone(void *arg)
{
    struct world *world = arg;
    world->gone++;
}

static inline void world_stream_gone(void *arg)
{
    struct world_stream *stream = arg;
    stream->world->gone++;
    stream->exchange = NULL;
}

static inline void world_stream(struct world *world, struct http_exchange *exchange)
{
    assert_true(world->stream_count < WORLD_HELD_MAX);
    struct world_stream *stream = &world->streams[world->stream_count++];
    *stream = (struct world_stream){world, exchange};
    http_exchange_on_gone(exchange, world_stream_gone, stream);
    http_stream_begin(exchange, "text/event-stream");
}

static inline void world_end_streams(struct world *world)
{
    for (size_t i = 0; i < world->stream_count; i++) {
        if (world->streams[i].exchange != NULL)
            http_stream_end(world->streams[i].exchange);
        world->streams[i].exchange = NULL;
    }
}

static inline void world_on_request(void *arg, struct http_exchange *exchange,
                                    const struct http_request *request)
{
    struct world *world = arg;
    assert_ptr_equal(http_exchange_request(exchange), request);
    if (bytes_are(request->path, "/hold") || bytes_are(request->path, "/watch")) {
        assert_true(world->held_count < WORLD_HELD_MAX);
        world->held[world->held_count++] = exchange;
        if (bytes_are(request->path, "/watch"))
            http_exchange_on_gone(exchange, world_count_gone, world);
    } else if (bytes_are(request->path, "/release")) {
        world_release(world, http_query_find(request->query, "n"));
        world_say(exchange, 200, bytes_of("released"));
    } else if (bytes_are(request->path, "/size")) {
        world_fill(exchange, world_number(request));
    } else if (bytes_are(request->path, "/close")) {
        http_answer(exchange, &(struct http_answer){.status = 204, .close = true});
    } else if (bytes_are(request->path, "/stream")) {
        world_stream(world, exchange);
    } else if (bytes_are(request->path, "/feed")) {
        world_feed(world, world_number(request));
        world_say(exchange, 200, bytes_of("fed"));
    } else if (bytes_are(request->path, "/end")) {
        world_end_streams(world);
        world_say(exchange, 200, bytes_of("ended"));
    } else {
        world_echo(exchange, request);
    }
}

static inline void world_on_post(void *arg)
{
    struct world *world = arg;
    if (!atomic_exchange(&world->has_job, false)) {
        world->posts++;
        return;
    }
    world->job(world);
    (void)sem_post(&world->done);
}

static inline void *world_thread(void *arg)
{
    struct world *world = arg;
    loop_run(world->loop);
    return NULL;
}

static inline void world_wait(struct world *world)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WORLD_WAIT_S;
    while (sem_timedwait(&world->done, &until) != 0)
        assert_int_equal(errno, EINTR);
}

/* On the loop's thread, and through when this returns. */
static inline void world_do(struct world *world, void (*job)(struct world *world))
{
    world->job = job;
    atomic_store(&world->has_job, true);
    loop_post(world->loop);
    world_wait(world);
}

/* Limits and TLS files as set in the world beforehand; all zero: the defaults. */
static inline void world_start(struct world *world)
{
    struct tocsin_why why = {""};
    struct loop_hooks hooks = {.on_post = world_on_post, .arg = world};
    if (world->limits.connections == 0)
        world->limits = http_limits_default;
    assert_int_equal(loop_create(&hooks, &world->loop, &why), TOCSIN_OK);
    struct http_server_options options = {
        .loop = world->loop,
        .address = world->listen != NULL ? world->listen : "127.0.0.1:0",
        .tls_certificate = world->certificate,
        .tls_key = world->key,
        .limits = world->limits,
        .on_request = world->on_request != NULL ? world->on_request : world_on_request,
        .arg = world->on_request != NULL ? world->user : world,
    };
    enum tocsin_status status = http_server_create(&options, &world->server, &why);
    if (status != TOCSIN_OK)
        fail_msg("%s", why.text);
    assert_int_equal(sem_init(&world->done, 0, 0), 0);
    assert_int_equal(pthread_create(&world->thread, NULL, world_thread, world), 0);
}

static inline void world_fill_seen(struct world *world)
{
    world->seen.held_count = world->held_count;
    world->seen.stream_count = world->stream_count;
    world->seen.gone = world->gone;
    world->seen.drained = world->drained;
    world->seen.posts = world->posts;
    world->seen.last_write = world->last_write;
}

static inline void world_on_closed(void *arg)
{
    struct world *world = arg;
    world->server_closed = true;
    world_fill_seen(world);
    loop_stop(world->loop);
}

static inline void world_close_server(struct world *world)
{
    http_server_close(world->server, world_on_closed, world);
}

/* Answers nobody was given are given now: their clients are gone. */
static inline void world_stop(struct world *world)
{
    if (!world->server_closed)
        world_do(world, world_close_server);
    assert_int_equal(pthread_join(world->thread, NULL), 0);
    assert_true(world->server_closed);
    world_end_streams(world);
    loop_destroy(world->loop);
    (void)sem_destroy(&world->done);
}

static inline void world_take_look(struct world *world)
{
    world_fill_seen(world);
    http_server_counters(world->server, &world->seen.counters);
}

/* At least one turn of the loop, and what is seen after it. */
static inline const struct world_seen *world_look(struct world *world)
{
    world_do(world, world_take_look);
    return &world->seen;
}

/* Until what is seen is so; the loop turns meanwhile. */
static inline bool world_until(struct world *world, bool (*so)(const struct world_seen *seen))
{
    struct timespec start;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (so(world_look(world)))
            return true;
        (void)usleep(1000);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < WORLD_WAIT_S);
    return false;
}

/* Clients. */

static inline int client_open_at(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct timeval limit = {.tv_sec = WORLD_WAIT_S};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline int client_open(const struct world *world)
{
    return client_open_at(http_server_address(world->server));
}

static inline void client_send_bytes(int fd, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t sent = send(fd, bytes + at, size - at, MSG_NOSIGNAL);
        assert_true(sent > 0);
        at += (size_t)sent;
    }
}

static inline void client_send(int fd, const char *text)
{
    client_send_bytes(fd, text, strlen(text));
}

/* The next bytes, up to and with this text. What comes behind it is left. */
static inline void client_read_to(int fd, const char *end, char *to, size_t room)
{
    size_t size = 0;
    size_t end_size = strlen(end);
    for (;;) {
        assert_true(size + 1 < room);
        ssize_t got = recv(fd, to + size, 1, 0);
        if (got != 1)
            fail_msg("instead of '%s' the connection ended after '%.*s'", end, (int)size, to);
        size++;
        to[size] = '\0';
        if (size >= end_size && strcmp(to + size - end_size, end) == 0)
            return;
    }
}

struct client_answer {
    int status;
    char head[2048];
    char *body; /* terminated; to be freed */
    size_t size;
};

static inline struct client_answer client_answer_without_body(int fd)
{
    struct client_answer answer = {0};
    client_read_to(fd, "\r\n\r\n", answer.head, sizeof answer.head);
    assert_memory_equal(answer.head, "HTTP/1.1 ", 9);
    answer.status = (int)strtol(answer.head + 9, NULL, 10);
    return answer;
}

/* One with a Content-Length. */
static inline struct client_answer client_answer(int fd)
{
    struct client_answer answer = client_answer_without_body(fd);
    const char *length = strstr(answer.head, "Content-Length: ");
    assert_non_null(length);
    answer.size = (size_t)strtoul(length + 16, NULL, 10);
    answer.body = calloc(1, answer.size + 1);
    assert_non_null(answer.body);
    for (size_t at = 0; at < answer.size;) {
        ssize_t got = recv(fd, answer.body + at, answer.size - at, 0);
        assert_true(got > 0);
        at += (size_t)got;
    }
    return answer;
}

static inline void client_expect(int fd, int status, const char *body)
{
    struct client_answer answer = client_answer(fd);
    if (answer.status != status || strcmp(answer.body, body) != 0)
        fail_msg("expected %d '%s', but it is %d '%s'", status, body, answer.status, answer.body);
    free(answer.body);
}

/* A problem+json, and the connection ends in order, not by a reset. */
static inline void client_expect_refusal(int fd, int status, const char *code)
{
    char start[64];
    char byte;
    struct client_answer answer = client_answer(fd);
    (void)snprintf(start, sizeof start, "{\"status\":%d,\"code\":\"%s\",\"title\":\"", status,
                   code);
    if (answer.status != status || strncmp(answer.body, start, strlen(start)) != 0)
        fail_msg("expected %s, but it is %s", start, answer.body);
    assert_non_null(strstr(answer.head, "Content-Type: application/problem+json\r\n"));
    assert_non_null(strstr(answer.head, "Connection: close\r\n"));
    assert_non_null(strstr(answer.body, "\"detail\":\""));
    free(answer.body);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static inline void client_expect_end(int fd)
{
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

#define REQUEST(target) "GET " target " HTTP/1.1\r\nHost: x\r\n\r\n"

#endif
