/* SPDX-License-Identifier: MIT */
/* WebSockets as a client on the wire sees them. */
#include "support/tls_client.h"
#include "support/websocket_world.h"

#include <netinet/tcp.h>

TEST(a_connection_becomes_a_websocket_and_talks)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = client_open(&world.http);
    client_send(fd, REQUEST("/echo")); /* an earlier request of the same connection */
    client_expect(fd, 200, "0 /echo? ");
    client_send(fd, WS_REQUEST);
    assert_int_equal(client_answer_without_body(fd).status, 101);
    for (int i = 0; i < 3; i++) {
        ws_text(fd, "hello");
        ws_expect(fd, WEBSOCKET_BINARY, "hello");
    }
    (void)close(fd);
    websocket_world_until_gone(&world, 1);
    assert_int_equal(world.seen.opened, 1);
    assert_int_equal(world.seen.open, 0);
    world_stop(&world.http);
}

TEST(bytes_may_come_one_by_one_and_frames_right_behind_the_request)
{
    struct websocket_world world = {0};
    char text[1000] = WS_REQUEST;
    size_t size = strlen(text);
    size += ws_frame(WEBSOCKET_TEXT, "hello", 5, text + size);
    websocket_world_start(&world);
    int fd = client_open(&world.http);
    client_send_bytes(fd, text, size);
    assert_int_equal(client_answer_without_body(fd).status, 101);
    ws_expect(fd, WEBSOCKET_BINARY, "hello");
    (void)close(fd);
    fd = client_open(&world.http);
    for (size_t i = 0; i < size; i++) {
        client_send_bytes(fd, text + i, 1);
        websocket_world_look(&world);
    }
    assert_int_equal(client_answer_without_body(fd).status, 101);
    for (size_t seen = 0; seen < 5;) {
        unsigned opcode;
        size_t more;
        char *payload = ws_receive(fd, &opcode, &more); /* a piece, of a byte or some */
        assert_true(more > 0 && seen + more <= 5);
        assert_memory_equal(payload, "hello" + seen, more);
        free(payload);
        seen += more;
    }
    (void)close(fd);
    world_stop(&world.http);
}

TEST(what_cannot_be_upgraded_is_refused_and_the_connection_kept)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = client_open(&world.http);
    client_send(fd, "GET /ws HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(fd, 400, "Upgrade: this is a WebSocket, which needs 'Upgrade: websocket'");
    client_send(fd, REQUEST("/hold") WS_REQUEST);
    while (world_look(&world.http)->counters.requests < 3)
        (void)usleep(1000);
    client_send(fd, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    client_expect(fd, 400,
                  "an upgrade must wait until all earlier requests of its connection are answered");
    client_expect(fd, 200, "released");
    client_send(fd, WS_REQUEST);
    assert_int_equal(client_answer_without_body(fd).status, 101);
    (void)close(fd);
    fd = client_open(&world.http);
    client_send(fd, "GET /ws HTTP/1.0\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    "Sec-WebSocket-Version: 13\r\n\r\n");
    client_expect(fd, 400, "an upgrade needs HTTP/1.1");
    (void)close(fd);
    world_stop(&world.http);
}

/* RFC 6455, 5.1 */
TEST(an_unmasked_frame_is_closed_with_1002)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    client_send_bytes(fd, "\x81\x05Hello", 7);
    ws_expect_close(fd, 1002);
    (void)close(fd);
    websocket_world_until_gone(&world, 1);
    assert_int_equal(world.seen.broken, 1);
    world_stop(&world.http);
}

TEST(text_that_is_none_is_closed_with_1007)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_text(fd, "\xff");
    ws_expect_close(fd, 1007);
    (void)close(fd);
    world_stop(&world.http);
}

TEST(a_message_over_the_limit_is_closed_with_1009_and_others_go_on)
{
    struct websocket_world world = {.message_bytes = 1000};
    char head[14];
    websocket_world_start(&world);
    int other = ws_open(&world);
    int fd = ws_open(&world);
    size_t size = websocket_head(WEBSOCKET_BINARY, 10 << 20, head);
    head[1] = (char)(head[1] | 0x80);
    client_send_bytes(fd, head, size);
    client_send_bytes(fd, "mask", 4);
    ws_expect_close(fd, 1009);
    (void)close(fd);
    ws_text(other, "still here");
    ws_expect(other, WEBSOCKET_BINARY, "still here");
    (void)close(other);
    websocket_world_until_gone(&world, 2);
    assert_int_equal(world.seen.too_large, 1);
    world_stop(&world.http);
}

TEST(a_ping_is_answered_with_what_it_said)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_send(fd, WEBSOCKET_PING, "are you there", 13);
    ws_expect(fd, WEBSOCKET_PONG, "are you there");
    ws_text(fd, "P");
    ws_expect(fd, WEBSOCKET_PING, "");
    ws_send(fd, WEBSOCKET_PONG, "", 0);
    ws_text(fd, "on");
    ws_expect(fd, WEBSOCKET_BINARY, "on");
    (void)close(fd);
    world_stop(&world.http);
}

TEST(a_close_is_answered_with_its_own_code)
{
    struct websocket_world world = {0};
    unsigned opcode;
    size_t size;
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_send(fd, WEBSOCKET_CLOSE, "\x0f\xa1why", 5);
    ws_expect_close(fd, 4001);
    (void)close(fd);
    fd = ws_open(&world);
    ws_send(fd, WEBSOCKET_CLOSE, "", 0);
    char *payload = ws_receive(fd, &opcode, &size);
    assert_true(opcode == WEBSOCKET_CLOSE && size == 0);
    free(payload);
    client_expect_end(fd);
    (void)close(fd);
    websocket_world_until_gone(&world, 2);
    assert_int_equal(world.seen.broken, 0);
    world_stop(&world.http);
}

TEST(nothing_is_looked_at_after_we_have_closed)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_text(fd, "C");
    ws_text(fd, "not heard");
    ws_expect_close(fd, 1000);
    (void)close(fd);
    websocket_world_until_gone(&world, 1);
    world_stop(&world.http);
}

TEST(the_rules_for_requests_do_not_hold_any_more)
{
    struct websocket_world world = {.http.limits = http_limits_default};
    world.http.limits.idle_timeout_ms = 50;
    world.http.limits.head_timeout_ms = 50;
    websocket_world_start(&world);
    int fd = ws_open(&world);
    for (int i = 0; i < 5000 && world.seen_looks < 2; i++) {
        websocket_world_look(&world); /* two looks: more than a second */
        (void)usleep(1000);
    }
    assert_true(world.seen_looks >= 2);
    assert_int_equal(world.seen_gone, 0);
    ws_text(fd, "still here");
    ws_expect(fd, WEBSOCKET_BINARY, "still here");
    (void)close(fd);
    world_stop(&world.http);
}

TEST(a_client_that_does_not_read_is_dropped_and_others_go_on)
{
    struct websocket_world world = {.queue_bytes = 1 << 20};
    websocket_world_start(&world);
    int other = ws_open(&world);
    int fd = ws_open(&world);
    int small = 4096;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    ws_text(fd, "F");
    ws_text(other, "still here");
    ws_expect(other, WEBSOCKET_BINARY, "still here");
    websocket_world_look(&world);
    assert_int_equal(world.seen.slow, 1);
    websocket_world_until_gone(&world, 1); /* 2 s later, though it took nothing */
    /* No more than the limit was ever kept for it, beside what the kernel took. */
    assert_true(world.seen_flooded < 10 * (1 << 20) / WEBSOCKET_WORLD_FLOOD);
    (void)close(fd);
    (void)close(other);
    world_stop(&world.http);
}

/* What had begun to leave is sent to its end, or the close frame could not be read. */
static void read_on_slowly(int window, bool small)
{
    struct websocket_world world = {.queue_bytes = 1 << 20};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    int on = 1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    for (int i = 0; i < 10000 && world.seen.slow == 0; i++) {
        ws_text(fd, small ? "S24" : "F3"); /* over many turns */
        websocket_world_look(&world);
    }
    assert_int_equal(world.seen.slow, 1);
    for (unsigned i = 0;; i++) {
        unsigned opcode;
        size_t size;
        char *payload = ws_receive(fd, &opcode, &size);
        bool closed = opcode == WEBSOCKET_CLOSE;
        if (closed) {
            assert_memory_equal(payload, "\x03\xf0too slow", 10);
        } else {
            assert_int_equal(size, small ? WEBSOCKET_WORLD_SMALL : WEBSOCKET_WORLD_FLOOD);
            for (size_t at = 0; at < size; at++)
                assert_int_equal(payload[at], 'a' + (int)(i % (small ? 24 : 3)));
        }
        free(payload);
        if (closed)
            break;
    }
    client_expect_end(fd);
    (void)close(fd);
    websocket_world_until_gone(&world, 1);
    assert_int_equal(world.seen.slow, 1);
    world_stop(&world.http);
}

/* Where a write ends, inside a message or between its two pieces, is up to the window. */
TEST(a_slow_reader_that_reads_on_learns_why)
{
    read_on_slowly(65536, false);
    for (int i = 0; i < 6; i++)
        read_on_slowly(262144 + 1713 * i, true);
}

/* The kernel takes a part of the first piece; the second comes behind it all the same. */
TEST(a_message_of_which_half_a_piece_has_left_is_sent_to_its_end)
{
    enum { PIECE = 8 << 20 }; /* more than the kernel takes for one who does not read */
    struct websocket_world world = {.queue_bytes = 2 * PIECE + 1000};
    char text[32];
    unsigned opcode;
    size_t size;
    websocket_world_start(&world);
    int fd = ws_open(&world);
    (void)snprintf(text, sizeof text, "T%d,%d", PIECE, PIECE);
    ws_text(fd, text);
    while (world.seen.slow == 0)
        websocket_world_look(&world);
    char *payload = ws_receive(fd, &opcode, &size);
    assert_int_equal(opcode, WEBSOCKET_BINARY);
    assert_int_equal(size, 2 * PIECE);
    for (size_t at = 0; at < size; at++)
        assert_int_equal(payload[at], 'T');
    free(payload);
    ws_expect_close(fd, 1008);
    (void)close(fd);
    world_stop(&world.http);
}

TEST(a_full_queue_arrives_whole_and_in_order)
{
    enum { COUNT = 200 };
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_text(fd, "F200");
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned opcode;
        size_t size;
        char *payload = ws_receive(fd, &opcode, &size);
        assert_int_equal(size, WEBSOCKET_WORLD_FLOOD);
        for (size_t at = 0; at < size; at += 4095)
            assert_int_equal(payload[at], 'a' + (int)(i % 26));
        free(payload);
    }
    ws_text(fd, "and on");
    ws_expect(fd, WEBSOCKET_BINARY, "and on");
    (void)close(fd);
    world_stop(&world.http);
}

TEST(much_in_one_turn_does_not_make_a_slow_reader)
{
    struct websocket_world world = {.queue_bytes = 256 * 1024};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    ws_text(fd, "F15"); /* nearly a megabyte, which the kernel takes */
    for (int i = 0; i < 15; i++) {
        unsigned opcode;
        size_t size;
        free(ws_receive(fd, &opcode, &size));
        assert_int_equal(opcode, WEBSOCKET_BINARY);
    }
    (void)close(fd);
    world_stop(&world.http);
}

static void drain(struct world *http)
{
    http_server_drain(http->server, NULL, NULL);
}

TEST(a_drained_server_says_good_bye)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int fd = ws_open(&world);
    world_do(&world.http, drain);
    ws_expect_close(fd, 1001);
    (void)close(fd);
    websocket_world_until_gone(&world, 1);
    world_stop(&world.http);
}

TEST(a_server_that_closes_tells_that_they_are_gone)
{
    struct websocket_world world = {0};
    websocket_world_start(&world);
    int one = ws_open(&world);
    int other = ws_open(&world);
    ws_text(other, "F");
    world_stop(&world.http);
    assert_int_equal(world.gone, 2);
    assert_int_equal(world.counters.open, 0);
    (void)close(one);
    (void)close(other);
}

/* ---- TLS */

static void tls_take(struct tls_client *client, char *to, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t got;
        assert_int_equal(SSL_read_ex(client->ssl, to + at, size - at, &got), 1);
        at += got;
    }
}

static void tls_expect(struct tls_client *client, const char *bytes, size_t size)
{
    char *seen = malloc(size);
    assert_non_null(seen);
    tls_take(client, seen, size);
    assert_memory_equal(seen, bytes, size);
    free(seen);
}

TEST(websockets_talk_over_tls_too)
{
    enum { COUNT = 50 };
    struct files files = make_files();
    struct websocket_world world = {.http = {.certificate = files.certificate, .key = files.key}};
    char text[1024];
    websocket_world_start(&world);
    struct tls_client client = tls_open(&world.http, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    tls_send(&client, WS_REQUEST, strlen(WS_REQUEST));
    tls_read_to(&client, "\r\n\r\n", text, sizeof text);
    assert_memory_equal(text, "HTTP/1.1 101 ", 13);
    tls_send(&client, text, ws_frame(WEBSOCKET_TEXT, "hello", 5, text));
    tls_expect(&client, "\x82\x05hello", 7);
    tls_send(&client, text, ws_frame(WEBSOCKET_TEXT, "F50", 3, text));
    for (unsigned i = 0; i < COUNT; i++) {
        char frame[10 + WEBSOCKET_WORLD_FLOOD];
        size_t size = websocket_head(WEBSOCKET_BINARY, WEBSOCKET_WORLD_FLOOD, frame);
        memset(frame + size, 'a' + (int)(i % 26), WEBSOCKET_WORLD_FLOOD);
        tls_expect(&client, frame, size + WEBSOCKET_WORLD_FLOOD);
    }
    tls_send(&client, text, ws_frame(WEBSOCKET_CLOSE, "\x03\xe8", 2, text));
    tls_expect(&client, "\x88\x02\x03\xe8", 4);
    size_t got;
    int result = SSL_read_ex(client.ssl, text, 1, &got);
    assert_int_equal(SSL_get_error(client.ssl, result), SSL_ERROR_ZERO_RETURN);
    tls_close(&client);
    websocket_world_until_gone(&world, 1);
    world_stop(&world.http);
    remove_files(&files);
}

TEST(a_client_that_does_not_read_is_dropped_over_tls_too)
{
    struct files files = make_files();
    struct websocket_world world = {.http = {.certificate = files.certificate, .key = files.key},
                                    .queue_bytes = 1 << 20};
    char text[1024];
    websocket_world_start(&world);
    struct tls_client client = tls_open(&world.http, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    tls_send(&client, WS_REQUEST, strlen(WS_REQUEST));
    tls_read_to(&client, "\r\n\r\n", text, sizeof text);
    tls_send(&client, text, ws_frame(WEBSOCKET_TEXT, "F", 1, text));
    websocket_world_until_gone(&world, 1);
    assert_int_equal(world.seen.slow, 1);
    tls_close(&client);
    world_stop(&world.http);
    remove_files(&files);
}

/* What is encrypted has left the queue: where that ended, the first piece has gone in part, or
 * is gone and the second waits. */
static void read_on_over_tls(unsigned first, unsigned second, unsigned queued)
{
    struct files files = make_files();
    struct websocket_world world = {.http = {.certificate = files.certificate, .key = files.key},
                                    .queue_bytes = queued};
    char text[1024];
    char head[2];
    websocket_world_start(&world);
    struct tls_client client = tls_open(&world.http, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    tls_send(&client, WS_REQUEST, strlen(WS_REQUEST));
    tls_read_to(&client, "\r\n\r\n", text, sizeof text);
    char order[32];
    (void)snprintf(order, sizeof order, "T%u,%u", first, second);
    tls_send(&client, text, ws_frame(WEBSOCKET_TEXT, order, strlen(order), text));
    while (world.seen.slow == 0)
        websocket_world_look(&world);
    char *message = malloc(10 + first + second);
    assert_non_null(message);
    size_t size = websocket_head(WEBSOCKET_BINARY, first + second, message);
    memset(message + size, 'T', first + second);
    size += first + second;
    for (tls_take(&client, head, 2); head[0] == message[0]; tls_take(&client, head, 2)) {
        assert_int_equal(head[1], message[1]);
        tls_expect(&client, message + 2, size - 2);
    }
    assert_int_equal(head[0] & 0xff, 0x88);
    tls_expect(&client, "\x03\xf0too slow", 10);
    free(message);
    tls_close(&client);
    world_stop(&world.http);
    remove_files(&files);
}

TEST(a_message_that_is_encrypted_in_part_is_sent_to_its_end)
{
    read_on_over_tls(8 << 20, 1, (8 << 20) + 1000);
    for (unsigned i = 0; i < 3; i++)
        read_on_over_tls(64 * 1024 - 6, 1, 1 << 20); /* as much as is encrypted at a time */
}
