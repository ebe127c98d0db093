/* SPDX-License-Identifier: MIT */
/* websocket_world.h - how does a test talk to WebSockets of a real server?
 *
 * The server of http_world.h with /ws. What a message begins with says what is done, the rest of
 * it is sent back:
 *
 *   F   sends frames of 64 KiB until it may not any more: 1000, or as the number behind says
 *   T   the same with messages cut in two pieces, so many bytes each: T10,20
 *   C   closes with 1000
 *   P   pings
 */
#ifndef TEST_WEBSOCKET_WORLD_H
#define TEST_WEBSOCKET_WORLD_H

#include "net/websocket.h"
#include "support/http_world.h"

enum { WEBSOCKET_WORLD_FLOOD = 64 * 1024, WEBSOCKET_WORLD_SMALL = 700 };

struct websocket_world {
    struct world http;
    uint64_t queue_bytes;
    uint64_t message_bytes;
    /* the loop thread's */
    struct websocket_counters counters;
    unsigned gone;
    unsigned looks;
    unsigned heard;
    unsigned flooded; /* frames that were taken */
    /* as of the last look */
    struct websocket_counters seen;
    unsigned seen_gone;
    unsigned seen_looks;
    unsigned seen_flooded;
};

struct websocket_peer {
    struct websocket_world *world;
    struct websocket *websocket;
};

/* In two pieces, as messages of topics are: the first has the head and so many bytes. */
static inline bool websocket_world_send_cut(struct websocket_peer *peer, const char *bytes,
                                            size_t size, size_t cut)
{
    char head[WEBSOCKET_HEAD_BYTES_MAX];
    size_t head_size = websocket_head(WEBSOCKET_BINARY, size, head);
    struct frame *first = frame_create(head_size + cut);
    struct frame *second = frame_create(size - cut);
    if (first == NULL || second == NULL)
        abort();
    memcpy(first->data, head, head_size);
    memcpy(first->data + head_size, bytes, cut);
    memcpy(second->data, bytes + cut, size - cut);
    bool taken = websocket_send(peer->websocket, first, second);
    frame_release(first);
    frame_release(second);
    return taken;
}

static inline bool websocket_world_send(struct websocket_peer *peer, const char *bytes, size_t size)
{
    return websocket_world_send_cut(peer, bytes, size, 0);
}

static inline void websocket_world_flood_cut(struct websocket_peer *peer, const char *sizes)
{
    size_t first;
    size_t second;
    assert_int_equal(sscanf(sizes, "%zu,%zu", &first, &second), 2);
    char *bytes = malloc(first + second);
    assert_non_null(bytes);
    memset(bytes, 'T', first + second);
    while (websocket_world_send_cut(peer, bytes, first + second, first))
        continue;
    free(bytes);
}

static inline void websocket_world_flood(struct websocket_peer *peer, unsigned count, size_t size)
{
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (unsigned i = 0; i < count; i++) {
        memset(bytes, 'a' + (int)(i % 26), size);
        if (!websocket_world_send(peer, bytes, size))
            break;
        peer->world->flooded++;
    }
    free(bytes);
}

static inline void websocket_world_on_data(void *arg, struct bytes piece)
{
    struct websocket_peer *peer = arg;
    if (piece.size == 0)
        return;
    char text[32] = "";
    memcpy(text, piece.at + 1, piece.size - 1 < 31 ? piece.size - 1 : 31);
    if (piece.at[0] == 'T') {
        websocket_world_flood_cut(peer, text);
    } else if (piece.at[0] == 'F' || piece.at[0] == 'S') {
        unsigned count = (unsigned)strtoul(text, NULL, 10);
        websocket_world_flood(peer, count > 0 ? count : 1000,
                              piece.at[0] == 'F' ? WEBSOCKET_WORLD_FLOOD : WEBSOCKET_WORLD_SMALL);
    } else if (piece.at[0] == 'C') {
        websocket_close(peer->websocket, WEBSOCKET_NORMAL, "as you like");
        assert_false(websocket_is_open(peer->websocket));
    } else if (piece.at[0] == 'P') {
        websocket_ping(peer->websocket);
    } else {
        (void)websocket_world_send(peer, piece.at, piece.size);
    }
}

static inline void websocket_world_on_heard(void *arg)
{
    ((struct websocket_peer *)arg)->world->heard++;
}

static inline void websocket_world_on_look(void *arg, uint64_t now_ms)
{
    struct websocket_peer *peer = arg;
    peer->world->looks += websocket_now_ms(peer->websocket) == now_ms;
}

static inline void websocket_world_on_gone(void *arg)
{
    struct websocket_peer *peer = arg;
    assert_false(websocket_is_open(peer->websocket));
    peer->world->gone++;
    free(peer);
}

static inline void websocket_world_on_request(void *arg, struct http_exchange *exchange,
                                              const struct http_request *request)
{
    static const char *const protocols[] = {"v12.stomp", NULL};
    struct websocket_world *world = arg;
    char headers[WEBSOCKET_HEADERS_BYTES];
    const char *problem = "";
    if (!bytes_are(request->path, "/ws")) {
        world_on_request(&world->http, exchange, request);
        return;
    }
    struct websocket_peer *peer = calloc(1, sizeof *peer);
    assert_non_null(peer);
    peer->world = world;
    struct websocket_options options = {
        .message_bytes = world->message_bytes,
        .queue_bytes = world->queue_bytes,
        .counters = &world->counters,
        .on_heard = websocket_world_on_heard,
        .on_data = websocket_world_on_data,
        .on_look = websocket_world_on_look,
        .on_gone = websocket_world_on_gone,
        .arg = peer,
    };
    int status = websocket_open(exchange, protocols, &options, &peer->websocket, headers, &problem);
    if (status == 101)
        return;
    free(peer);
    http_answer(exchange, &(struct http_answer){.status = status,
                                                .content_type = "text/plain",
                                                .body = bytes_of(problem),
                                                .headers = headers});
}

/* Limits as set in the world beforehand; 0: some that no test meets by chance. */
static inline void websocket_world_start(struct websocket_world *world)
{
    world->http.on_request = websocket_world_on_request;
    world->http.user = world;
    if (world->queue_bytes == 0)
        world->queue_bytes = 64 << 20;
    if (world->message_bytes == 0)
        world->message_bytes = 1 << 20;
    world_start(&world->http);
}

static inline void websocket_world_take_look(struct world *http)
{
    struct websocket_world *world = http->user;
    world_take_look(http);
    world->seen = world->counters;
    world->seen_gone = world->gone;
    world->seen_looks = world->looks;
    world->seen_flooded = world->flooded;
}

static inline void websocket_world_look(struct websocket_world *world)
{
    world_do(&world->http, websocket_world_take_look);
}

/* Until so many are gone. */
static inline void websocket_world_until_gone(struct websocket_world *world, unsigned gone)
{
    for (int i = 0; i < WORLD_WAIT_S * 1000; i++) {
        websocket_world_look(world);
        if (world->seen_gone == gone)
            return;
        (void)usleep(1000);
    }
    fail_msg("%u are gone, not %u", world->seen_gone, gone);
}

/* ---- clients */

#define WS_REQUEST                                                                                 \
    "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                 \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"                 \
    "Sec-WebSocket-Protocol: v12.stomp\r\n\r\n"

/* A whole masked frame into to, which has room for it; answers its size. */
static inline size_t ws_frame(unsigned char opcode, const char *payload, size_t size, char *to)
{
    static const char mask[4] = {0x12, 0x34, 0x56, 0x78};
    size_t head = websocket_head((enum websocket_opcode)opcode, size, to);
    to[1] = (char)(to[1] | 0x80);
    memcpy(to + head, mask, 4);
    for (size_t i = 0; i < size; i++)
        to[head + 4 + i] = (char)(payload[i] ^ mask[i % 4]);
    return head + 4 + size;
}

static inline void ws_send(int fd, unsigned char opcode, const char *payload, size_t size)
{
    char *bytes = malloc(size + 14);
    assert_non_null(bytes);
    client_send_bytes(fd, bytes, ws_frame(opcode, payload, size, bytes));
    free(bytes);
}

static inline void ws_text(int fd, const char *text)
{
    ws_send(fd, WEBSOCKET_TEXT, text, strlen(text));
}

static inline void ws_read(int fd, char *to, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = recv(fd, to + at, size - at, 0);
        if (got <= 0)
            fail_msg("the connection ended");
        at += (size_t)got;
    }
}

/* One frame; its payload, terminated, to be freed. */
static inline char *ws_receive(int fd, unsigned *ret_opcode, size_t *ret_size)
{
    unsigned char head[10];
    ws_read(fd, (char *)head, 2);
    uint64_t size = head[1];
    assert_true((head[0] & 0x80) != 0 && size < 128);
    size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
    ws_read(fd, (char *)head + 2, more);
    if (more > 0)
        size = 0;
    for (size_t i = 0; i < more; i++)
        size = size << 8 | head[2 + i];
    char *payload = calloc(1, size + 1);
    assert_non_null(payload);
    ws_read(fd, payload, size);
    *ret_opcode = head[0] & 0x0f;
    *ret_size = size;
    return payload;
}

static inline void ws_expect(int fd, unsigned opcode, const char *text)
{
    unsigned seen;
    size_t size;
    char *payload = ws_receive(fd, &seen, &size);
    assert_int_equal(seen, opcode);
    assert_string_equal(payload, text);
    free(payload);
}

/* A close frame with this code, and then the end. */
static inline void ws_expect_close(int fd, unsigned code)
{
    unsigned opcode;
    size_t size;
    char *payload = ws_receive(fd, &opcode, &size);
    assert_int_equal(opcode, WEBSOCKET_CLOSE);
    assert_true(size >= 2);
    assert_int_equal((unsigned char)payload[0] << 8 | (unsigned char)payload[1], code);
    free(payload);
    client_expect_end(fd);
}

static inline int ws_open(const struct websocket_world *world)
{
    int fd = client_open(&world->http);
    client_send(fd, WS_REQUEST);
    struct client_answer answer = client_answer_without_body(fd);
    assert_int_equal(answer.status, 101);
    assert_non_null(
        strstr(answer.head, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(answer.head, "\r\nSec-WebSocket-Protocol: v12.stomp\r\n"));
    return fd;
}

#endif
