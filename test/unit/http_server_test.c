/* SPDX-License-Identifier: MIT */
/* The server as a client on the wire sees it. */
#include "support/http_world.h"

#include <sys/resource.h>

TEST(a_request_is_answered_and_the_connection_kept)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    for (int i = 0; i < 3; i++) {
        client_send(fd, "POST /echo?q=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
        client_expect(fd, 200, "2 /echo?q=1 hello");
    }
    (void)close(fd);
    world_stop(&world);
}

TEST(an_answer_has_the_head_that_is_expected)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, REQUEST("/echo"));
    struct client_answer answer = client_answer(fd);
    assert_non_null(strstr(answer.head, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(answer.head, "\r\nContent-Type: text/plain\r\n"));
    assert_non_null(strstr(answer.head, " GMT\r\n"));
    assert_null(strstr(answer.head, "Connection:"));
    free(answer.body);
    (void)close(fd);
    world_stop(&world);
}

TEST(bytes_may_come_one_by_one)
{
    static const char text[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\n";
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        client_send_bytes(fd, text + i, 1);
        (void)world_look(&world); /* a turn of the loop in between */
    }
    client_expect(fd, 200, "2 /echo? abcde");
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    world_stop(&world);
}

TEST(a_body_of_the_limit_arrives_whole)
{
    enum { SIZE = 1024 * 1024 };
    struct world world = {0};
    char head[100];
    char *body = malloc(SIZE);
    assert_non_null(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + i % 26);
    world_start(&world);
    int fd = client_open(&world);
    (void)snprintf(head, sizeof head, "PUT /e HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                   SIZE);
    client_send(fd, head);
    client_send_bytes(fd, body, SIZE);
    struct client_answer answer = client_answer(fd);
    assert_int_equal(answer.size, SIZE + 6);
    assert_memory_equal(answer.body + 6, body, SIZE);
    free(answer.body);
    free(body);
    (void)close(fd);
    world_stop(&world);
}

/* Pipelining. */

TEST(answers_leave_in_the_order_of_the_requests)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") REQUEST("/hold") REQUEST("/echo") REQUEST("/hold"));
    client_send(fd, REQUEST("/echo?last"));
    /* The echo of the last shows nothing yet; that all five are there is asked elsewhere. */
    while (world_look(&world)->counters.requests < 5) {
    }
    client_send(other, REQUEST("/release?n=201"));
    client_expect(other, 200, "released");
    client_expect(fd, 200, "0");
    client_expect(fd, 200, "1");
    client_expect(fd, 200, "0 /echo? ");
    client_expect(fd, 200, "2");
    client_expect(fd, 200, "0 /echo?last ");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

TEST(a_thousand_pipelined_requests_are_answered_in_order)
{
    enum { COUNT = 1000 };
    struct world world = {0};
    char text[100];
    world_start(&world);
    int fd = client_open(&world);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(text, sizeof text, "GET /echo?%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
        client_send(fd, text);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(text, sizeof text, "0 /echo?%d ", i);
        client_expect(fd, 200, text);
    }
    (void)close(fd);
    world_stop(&world);
}

/* True: whoever gathers work until the end of a turn was called again, since the requests that had
 * to wait came behind it. That call is not seen when it falls together with a look of ours. */
static bool wait_for_their_turn(void)
{
    struct world world = {.limits = http_limits_default};
    world.limits.pipelined = 2;
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") REQUEST("/hold") REQUEST("/hold") REQUEST("/echo"));
    while (world_look(&world)->counters.requests < 2) {
    }
    for (int i = 0; i < 10; i++)
        (void)world_look(&world);
    assert_int_equal(world.seen.counters.requests, 2);
    client_send(other, REQUEST("/release?n=1"));
    client_expect(other, 200, "released");
    assert_int_equal(world.seen.held_count, 2);
    client_send(other, REQUEST("/release?n=0"));
    client_expect(other, 200, "released");
    client_expect(fd, 200, "0");
    client_expect(fd, 200, "1");
    while (world_look(&world)->held_count < 3)
        (void)usleep(1000);
    bool called = world_look(&world)->posts > 0;
    client_send(other, REQUEST("/release?n=2"));
    client_expect(fd, 200, "2");
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
    return called;
}

TEST(past_the_limit_of_requests_under_way_it_is_not_read)
{
    bool called = false;
    for (int i = 0; i < 30 && !called; i++)
        called = wait_for_their_turn();
    assert_true(called);
}

/* Many large answers to a client that reads late: reading stops, nothing is lost. */
TEST(a_late_reader_gets_all_of_many_large_answers)
{
    enum { COUNT = 200, SIZE = 50000 };
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    for (int i = 0; i < COUNT; i++)
        client_send(fd, REQUEST("/size?n=50000"));
    for (int i = 0; i < COUNT; i++) {
        struct client_answer answer = client_answer(fd);
        assert_int_equal(answer.size, SIZE);
        free(answer.body);
    }
    (void)world_look(&world);
    assert_int_equal(world.seen.counters.open, 1);
    (void)close(fd);
    world_stop(&world);
}

/* What the protocol asks for. */

TEST(head_counts_the_body_and_leaves_it_out)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, "HEAD /size?n=7 HTTP/1.1\r\nHost: x\r\n\r\n" REQUEST("/echo"));
    struct client_answer answer = client_answer_without_body(fd);
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(answer.head, "Content-Length: 7\r\n"));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    world_stop(&world);
}

TEST(no_content_has_no_length)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, REQUEST("/close"));
    struct client_answer answer = client_answer_without_body(fd);
    assert_int_equal(answer.status, 204);
    assert_null(strstr(answer.head, "Content-Length"));
    assert_non_null(strstr(answer.head, "Connection: close\r\n"));
    client_expect_end(fd);
    (void)close(fd);
    world_stop(&world);
}

TEST(a_client_that_waits_for_100_gets_it)
{
    struct world world = {0};
    char text[100];
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                    "Expect: 100-continue\r\n\r\n");
    client_read_to(fd, "\r\n\r\n", text, sizeof text);
    assert_string_equal(text, "HTTP/1.1 100 Continue\r\n\r\n");
    client_send(fd, "hi");
    client_expect(fd, 200, "2 /echo? hi");
    /* Who does not wait is not told. */
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                    "Expect: 100-continue\r\n\r\nho");
    client_expect(fd, 200, "2 /echo? ho");
    (void)close(fd);
    world_stop(&world);
}

TEST(a_hundred_continue_comes_after_the_answers_before_it)
{
    struct world world = {0};
    char text[100];
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                                     "Expect: 100-continue\r\n\r\n");
    while (world_look(&world)->held_count < 1) {
    }
    client_send(other, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    client_read_to(fd, "\r\n\r\n", text, sizeof text);
    assert_string_equal(text, "HTTP/1.1 100 Continue\r\n\r\n");
    client_send(fd, "hi");
    client_expect(fd, 200, "2 /echo? hi");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

TEST(who_wants_to_close_is_answered_first)
{
    static const char *const last[] = {
        "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" REQUEST("/echo"),
        "GET /echo HTTP/1.0\r\n\r\n",
        "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    };
    struct world world = {0};
    world_start(&world);
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        int fd = client_open(&world);
        client_send(fd, last[i]);
        struct client_answer answer = client_answer(fd);
        assert_int_equal(answer.status, 200);
        assert_non_null(strstr(answer.head, "Connection: close\r\n"));
        free(answer.body);
        client_expect_end(fd);
        (void)close(fd);
    }
    world_stop(&world);
}

TEST(what_cannot_be_understood_is_refused_and_closed)
{
    static const struct {
        const char *text;
        int status;
        const char *code;
    } cases[] = {
        {"GET / HTTP/1.1\nHost: x\n\n", 400, "BAD_REQUEST"},
        {"GET / HTTP/1.1\r\n\r\n", 400, "BAD_REQUEST"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
         "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
         400, "BAD_REQUEST"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413, "TOO_LARGE"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n", 417,
         "BAD_REQUEST"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "BAD_REQUEST"},
    };
    struct world world = {0};
    world_start(&world);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = client_open(&world);
        client_send(fd, cases[i].text);
        client_expect_refusal(fd, cases[i].status, cases[i].code);
        (void)close(fd);
    }
    (void)world_look(&world);
    assert_int_equal(world.seen.counters.refused, sizeof cases / sizeof cases[0]);
    assert_int_equal(world.seen.counters.requests, 0);
    world_stop(&world);
}

/* The client goes on sending: without a lingering close it would be reset, and never see why. */
TEST(a_refused_client_that_sends_on_still_sees_the_answer)
{
    enum { SIZE = 2 * 1024 * 1024 };
    struct world world = {0};
    char *body = calloc(1, SIZE);
    assert_non_null(body);
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n");
    client_send_bytes(fd, body, SIZE);
    client_expect_refusal(fd, 413, "TOO_LARGE");
    (void)close(fd);
    free(body);
    world_stop(&world);
}

TEST(a_refusal_waits_for_the_answers_before_it)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") "BAD\r\n\r\n");
    while (world_look(&world)->counters.refused < 1) {
    }
    client_send(other, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    client_expect_refusal(fd, 400, "BAD_REQUEST");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

/* Streams. */

TEST(a_stream_comes_in_chunks_and_the_connection_goes_on)
{
    struct world world = {0};
    char text[512];
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/stream") REQUEST("/echo"));
    client_read_to(fd, "\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "Transfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(text, "Content-Type: text/event-stream\r\n"));
    client_send(other, REQUEST("/feed?n=3"));
    client_expect(other, 200, "fed");
    client_read_to(fd, "yyy\r\n", text, sizeof text);
    assert_string_equal(text, "3\r\nyyy\r\n");
    client_send(other, REQUEST("/feed?n=16") REQUEST("/end"));
    client_read_to(fd, "0\r\n\r\n", text, sizeof text);
    assert_string_equal(text, "10\r\nyyyyyyyyyyyyyyyy\r\n0\r\n\r\n");
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
    assert_int_equal(world.seen.gone, 0);
}

TEST(a_stream_to_http_1_0_ends_with_the_connection)
{
    struct world world = {0};
    char text[512];
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, "GET /stream HTTP/1.0\r\n\r\n");
    client_read_to(fd, "\r\n\r\n", text, sizeof text);
    assert_null(strstr(text, "chunked"));
    client_send(other, REQUEST("/feed?n=3") REQUEST("/end"));
    client_read_to(fd, "yyy", text, sizeof text);
    assert_string_equal(text, "yyy");
    client_expect_end(fd);
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

TEST(a_stream_whose_turn_has_not_come_is_kept)
{
    struct world world = {0};
    char text[512];
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") REQUEST("/stream"));
    while (world_look(&world)->stream_count < 1) {
    }
    client_send(other, REQUEST("/feed?n=2") REQUEST("/release?n=0") REQUEST("/feed?n=1"));
    client_send(other, REQUEST("/end"));
    client_expect(fd, 200, "0");
    client_read_to(fd, "\r\n\r\n", text, sizeof text);
    client_read_to(fd, "0\r\n\r\n", text, sizeof text);
    assert_string_equal(text, "2\r\nyy\r\n1\r\ny\r\n0\r\n\r\n");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}
