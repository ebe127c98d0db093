/* SPDX-License-Identifier: MIT */
/* What a follower passes on, and what it answers itself. */
#include "support/follower_world.h"
#include "support/tls_client.h"
#include "support/websocket_world.h"

TEST(a_request_reaches_the_owner_as_it_came_with_one_header_more)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {0};
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, "\r\nPOST /v1/tasks?a=%20b HTTP/1.1\r\nhOST:  x \r\nX-Odd:\tone,  two\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nTrailer: t\r\n\r\n"
                    "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    int far = raw_accept(&owner);
    raw_expect(far, "\r\nPOST /v1/tasks?a=%20b HTTP/1.1\r\nhOST:  x \r\nX-Odd:\tone,  two\r\n"
                    "Transfer-Encoding: chunked\r\nTocsin-Forwarded: n1\r\n\r\n"
                    "3;ext=1\r\nabc\r\n0\r\nTrailer: t\r\n\r\n"
                    "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    client_send(far, "whatever the owner says");
    raw_expect(fd, "whatever the owner says");
    client_send(fd, "and whatever the client says");
    raw_expect(far, "and whatever the client says");
    (void)close(far);
    (void)close(fd);
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* Where the head was cut makes no difference. */
TEST(a_head_may_come_byte_by_byte)
{
    static const char head[] = "GET /echo?x HTTP/1.1\r\nHost: x\r\n\r\n";
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    for (size_t i = 0; head[i] != '\0'; i++) {
        client_send_bytes(fd, head + i, 1);
        (void)follow_look(&pair.follow);
    }
    client_expect(fd, 200, "0 /echo?x ");
    (void)close(fd);
    pair_stop(&pair);
}

TEST(what_is_for_the_node_alone_is_answered_here)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/metrics", "/v1/info"};
    struct follow follow = {0};
    follow_start(&follow, NULL); /* without an owner, too */
    int fd = follow_client(&follow);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "GET %s?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        client_send(fd, text);
        (void)snprintf(text, sizeof text, "here %s", paths[i]);
        client_expect(fd, 200, text);
    }
    client_send(fd, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(client_answer_without_body(fd).status, 200);
    assert_int_equal(follow_look(&follow)->forwarded, 0);
    (void)close(fd);
    follow_stop(&follow);
}

TEST(all_that_follows_on_a_connection_goes_to_the_owner)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/healthz") REQUEST("/metrics") REQUEST("/echo?1") REQUEST("/healthz"));
    client_expect(fd, 200, "here /healthz");
    client_expect(fd, 200, "here /metrics");
    client_expect(fd, 200, "0 /echo?1 ");
    client_expect(fd, 200, "0 /healthz? "); /* by the owner */
    assert_int_equal(follow_look(&pair.follow)->forwarded, 1);
    client_send(fd, "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n!");
    client_expect(fd, 200, "2 /healthz? !");
    (void)close(fd);
    fd = follow_client(&pair.follow);
    client_send(fd, "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n!");
    client_expect(fd, 200, "2 /healthz? !"); /* only what is read is answered here */
    (void)close(fd);
    pair_stop(&pair);
}

TEST(a_large_body_goes_through)
{
    enum { SIZE = 1000 * 1000 };
    struct follow_pair pair = {0};
    pair_start(&pair);
    char *body = malloc(SIZE + 1);
    assert_non_null(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + i * 7 % 26);
    body[SIZE] = '\0';
    int fd = follow_client(&pair.follow);
    for (int i = 0; i < 3; i++) {
        client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
        client_send_bytes(fd, body, SIZE);
        struct client_answer answer = client_answer(fd);
        assert_int_equal(answer.status, 200);
        assert_memory_equal(answer.body, "2 /echo? ", 9);
        assert_string_equal(answer.body + 9, body);
        free(answer.body);
    }
    assert_true(follow_look(&pair.follow)->bytes_to_owner > 3 * SIZE);
    assert_true(follow_look(&pair.follow)->bytes_to_clients > 3 * SIZE);
    free(body);
    (void)close(fd);
    pair_stop(&pair);
}

TEST(a_chunked_body_goes_through)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe");
    (void)follow_look(&pair.follow);
    client_send(fd, "llo\r\n6\r\n world\r\n0\r\n\r\n");
    client_expect(fd, 200, "3 /echo? hello world");
    (void)close(fd);
    pair_stop(&pair);
}

TEST(who_waits_for_100_continue_hears_it_from_the_owner)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                    "Expect: 100-continue\r\n\r\n");
    assert_int_equal(client_answer_without_body(fd).status, 100);
    client_send(fd, "hello");
    client_expect(fd, 200, "2 /echo? hello");
    (void)close(fd);
    pair_stop(&pair);
}

TEST(a_websocket_goes_through)
{
    struct websocket_world owner = {0};
    struct follow follow = {0};
    websocket_world_start(&owner);
    follow_start(&follow, http_server_address(owner.http.server));
    int fd = follow_client(&follow);
    char text[1000] = WS_REQUEST;
    size_t size = strlen(text);
    size += ws_frame(WEBSOCKET_TEXT, "hello", 5, text + size); /* right behind the request */
    client_send_bytes(fd, text, size);
    assert_int_equal(client_answer_without_body(fd).status, 101);
    ws_expect(fd, WEBSOCKET_BINARY, "hello");
    for (int i = 0; i < 3; i++) {
        ws_text(fd, "again");
        ws_expect(fd, WEBSOCKET_BINARY, "again");
    }
    (void)close(fd);
    websocket_world_until_gone(&owner, 1);
    follow_stop(&follow);
    world_stop(&owner.http);
}

static bool one_gone(const struct world_seen *seen)
{
    return seen->gone == 1;
}

TEST(a_stream_lasts_and_its_end_is_passed_on)
{
    struct follow_pair pair = {.follow.options.limits = http_limits_default};
    pair.follow.options.limits.idle_timeout_ms = 50; /* which is no rule for tunnels */
    pair_start(&pair);
    char head[2048];
    int stream = follow_client(&pair.follow);
    int other = client_open(&pair.owner);
    client_send(stream, REQUEST("/stream"));
    client_read_to(stream, "\r\n\r\n", head, sizeof head);
    for (int i = 0; i < 5; i++) {
        client_send(other, REQUEST("/feed?n=3"));
        client_expect(other, 200, "fed");
        raw_expect(stream, "3\r\nyyy\r\n");
        (void)usleep(50000);
    }
    client_send(other, REQUEST("/end"));
    client_expect(other, 200, "ended");
    raw_expect(stream, "0\r\n\r\n");
    client_send(stream, REQUEST("/stream"));
    client_read_to(stream, "\r\n\r\n", head, sizeof head);
    (void)close(stream); /* and so is the client's */
    assert_true(world_until(&pair.owner, one_gone));
    assert_true(follow_until(&pair.follow, follow_none_open));
    (void)close(other);
    pair_stop(&pair);
}

/* No loops. */
TEST(what_was_passed_on_once_is_never_passed_on_again)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\ntocsin-FORWARDED: n2\r\n"
                    "Content-Length: 1\r\n\r\n!");
    struct client_answer answer = client_answer(fd);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(answer.head, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(answer.body, "\"code\":\"UNAVAILABLE\""));
    assert_non_null(strstr(answer.body, "this node is not the owner either"));
    free(answer.body);
    client_expect_end(fd);
    (void)close(fd);
    assert_int_equal(follow_look(&pair.follow)->forwarded, 0);
    assert_int_equal(follow_look(&pair.follow)->refused, 1);
    pair_stop(&pair);
}

TEST(two_followers_that_take_each_other_for_the_owner_refuse)
{
    struct follow one = {0};
    struct follow two = {.options.node = "n2"};
    follow_start(&one, NULL);
    follow_start(&two, one.address);
    follow_set(&one, two.address);
    int fd = follow_client(&one);
    client_send(fd, REQUEST("/echo") REQUEST("/echo"));
    client_expect_refusal(fd, 503, "UNAVAILABLE");
    (void)close(fd);
    assert_int_equal(follow_look(&one)->forwarded, 1);
    assert_int_equal(follow_look(&two)->forwarded, 0);
    fd = follow_client(&one);
    client_send(fd, REQUEST("/healthz"));
    client_expect(fd, 200, "here /healthz");
    (void)close(fd);
    follow_stop(&one);
    follow_stop(&two);
}

TEST(tls_is_passed_through_unread)
{
    struct files files = make_files();
    struct follow_pair pair = {.owner = {.certificate = files.certificate, .key = files.key},
                               .follow.options.tls = true};
    char text[2048];
    pair_start(&pair);
    struct tls_client client = tls_open_fd(follow_client(&pair.follow), TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    tls_send(&client, REQUEST("/healthz"), strlen(REQUEST("/healthz")));
    tls_read_to(&client, "0 /healthz? ", text, sizeof text); /* by the owner */
    tls_close(&client);
    assert_true(follow_until(&pair.follow, follow_none_open));
    pair_stop(&pair);
    remove_files(&files);
}

TEST(with_tls_not_a_byte_is_added)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {.options.tls = true};
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    int far = raw_accept(&owner);
    raw_expect(far, REQUEST("/echo"));
    (void)close(fd);
    client_expect_end(far);
    (void)close(far);
    assert_true(follow_until(&follow, follow_none_open));
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* ---- hostile bytes */

TEST(what_is_no_request_is_refused_here)
{
    static const struct {
        const char *bytes;
        int status;
        const char *code;
    } cases[] = {
        {"\x16\x03\x01\x02", 400, "BAD_REQUEST"},
        {"GET / HTTP/1.1\n\n", 400, "BAD_REQUEST"},
        {"GET / HTTP/1.1\r\n\r\n", 400, "BAD_REQUEST"},
        {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, "BAD_REQUEST"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400, "BAD_REQUEST"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413, "TOO_LARGE"},
    };
    struct follow_pair pair = {0};
    pair_start(&pair);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = follow_client(&pair.follow);
        client_send(fd, cases[i].bytes);
        client_expect_refusal(fd, cases[i].status, cases[i].code);
        (void)close(fd);
    }
    assert_int_equal(follow_look(&pair.follow)->forwarded, 0);
    pair_stop(&pair);
}

TEST(a_slow_head_is_cut_off)
{
    struct follow_pair pair = {.follow.options.limits = http_limits_default};
    pair.follow.options.limits.head_timeout_ms = 100;
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, "GET /echo HTTP/1.1\r\nHos");
    client_expect_refusal(fd, 408, "BAD_REQUEST");
    (void)close(fd);
    pair_stop(&pair);
}

static void send_what_goes(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* Whatever comes, in whatever pieces: nobody dies, nothing is left. */
TEST(chance_does_no_harm)
{
    static const char *const starts[] = {"", "GET ", REQUEST("/echo"), REQUEST("/healthz"),
                                         "POST /echo HTTP/1.1\r\nHost: x\r\n"};
    struct test_random random = {test_seed()};
    struct follow_pair pair = {0};
    pair_start(&pair);
    for (uint64_t round = test_effort(400); round > 0; round--) {
        char bytes[300];
        int fd = follow_client(&pair.follow);
        const char *start = starts[test_random_below(&random, 5)];
        size_t size = test_random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)test_random_below(&random, 256);
        send_what_goes(fd, start, strlen(start));
        send_what_goes(fd, bytes, size);
        if (test_random_below(&random, 2) == 0)
            (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    assert_true(follow_until(&pair.follow, follow_none_open));
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    pair_stop(&pair);
}
