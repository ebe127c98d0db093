/* SPDX-License-Identifier: MIT */
/* How connections end: by a limit, by a client that leaves, by a drain, by a close. Law 8. */
#include "support/http_world.h"

static const char half_a_request[] =
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell";

static void echo(int fd)
{
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
}

/* Limits. */

static struct http_limits quick_limits(void)
{
    struct http_limits limits = http_limits_default;
    limits.head_timeout_ms = 100;
    limits.body_timeout_ms = 100;
    limits.idle_timeout_ms = 100;
    limits.write_timeout_ms = 100;
    return limits;
}

static void slow_is_cut_off(struct http_limits limits, const char *sent)
{
    struct world world = {.limits = limits};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, sent);
    client_expect_refusal(fd, 408, "BAD_REQUEST");
    (void)close(fd);
    world_stop(&world);
}

TEST(a_head_that_is_slow_is_cut_off)
{
    struct http_limits limits = quick_limits();
    limits.idle_timeout_ms = 60000;
    slow_is_cut_off(limits, "GET / HTTP/1.1\r\nHost:");
}

/* The time runs from the first byte: a byte now and then does not help. */
TEST(a_head_that_trickles_is_cut_off)
{
    struct world world = {.limits = quick_limits()};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, "GET /");
    ssize_t sent = 1;
    char byte;
    int got = -1;
    for (int i = 0; i < 600 && sent == 1 && got != 1; i++) {
        sent = send(fd, "a", 1, MSG_NOSIGNAL);
        got = (int)recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        (void)usleep(5000);
    }
    assert_int_equal(got, 1); /* while it still sent */
    client_expect_refusal(fd, 408, "BAD_REQUEST");
    (void)close(fd);
    world_stop(&world);
}

TEST(a_body_that_is_slow_is_cut_off)
{
    struct http_limits limits = quick_limits();
    limits.idle_timeout_ms = 60000;
    limits.head_timeout_ms = 60000;
    slow_is_cut_off(limits, half_a_request);
}

TEST(an_idle_connection_is_closed_without_a_word)
{
    struct world world = {.limits = quick_limits()};
    world_start(&world);
    int fresh = client_open(&world);
    int used = client_open(&world);
    echo(used);
    client_expect_end(fresh);
    client_expect_end(used);
    (void)close(fresh);
    (void)close(used);
    world_stop(&world);
}

TEST(a_connection_that_waits_for_its_answer_is_not_idle)
{
    struct world world = {.limits = quick_limits()};
    world_start(&world);
    int fd = client_open(&world);
    int idle = client_open(&world);
    client_send(fd, REQUEST("/hold"));
    client_expect_end(idle); /* by then an idle one is closed */
    (void)close(idle);
    idle = client_open(&world);
    client_expect_end(idle);
    (void)close(idle);
    int other = client_open(&world);
    client_send(other, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

static bool none_open(const struct world_seen *seen)
{
    return seen->counters.open == 0;
}

static bool one_open(const struct world_seen *seen)
{
    return seen->counters.open == 1;
}

static bool one_gone(const struct world_seen *seen)
{
    return seen->gone == 1;
}

static bool two_held(const struct world_seen *seen)
{
    return seen->held_count == 2;
}

TEST(who_does_not_take_its_answer_is_cut_off)
{
    struct world world = {.limits = quick_limits()};
    world.limits.idle_timeout_ms = 60000;
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, REQUEST("/size?n=15000000"));
    assert_true(world_until(&world, one_open));
    assert_true(world_until(&world, none_open));
    (void)close(fd);
    world_stop(&world);
}

TEST(a_stream_to_a_slow_reader_is_cut_off)
{
    struct world world = {.limits = http_limits_default};
    world.limits.answer_bytes = 1024 * 1024;
    world_start(&world);
    int slow = client_open(&world);
    int other = client_open(&world);
    client_send(slow, REQUEST("/stream"));
    for (int i = 0; i < 200 && !one_gone(world_look(&world)); i++) {
        client_send(other, REQUEST("/feed?n=100000"));
        client_expect(other, 200, "fed");
    }
    assert_true(world_until(&world, one_gone));
    assert_int_equal(world.seen.last_write, TOCSIN_OVERLOADED);
    (void)close(slow);
    (void)close(other);
    world_stop(&world);
    assert_int_equal(world.seen.gone, 1);
}

TEST(one_connection_too_many_is_turned_away)
{
    struct world world = {.limits = http_limits_default};
    world.limits.connections = 2;
    world_start(&world);
    int one = client_open(&world);
    int two = client_open(&world);
    echo(one);
    echo(two);
    int three = client_open(&world);
    client_send(three, REQUEST("/echo"));
    client_expect_refusal(three, 503, "OVERLOADED");
    (void)close(three);
    (void)close(two);
    assert_true(world_until(&world, one_open));
    two = client_open(&world);
    echo(two);
    (void)close(one);
    (void)close(two);
    world_stop(&world);
}

static void send_large(int fd, const char *target, const char *body)
{
    char head[100];
    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                   target, strlen(body));
    client_send(fd, head);
    client_send(fd, body);
}

TEST(too_many_bytes_of_all_together_are_refused)
{
    struct world world = {.limits = http_limits_default};
    world.limits.body_bytes_total = 100 * 1024;
    char *body = calloc(1, 60 * 1024);
    assert_non_null(body);
    memset(body, 'a', 60 * 1024 - 1);
    world_start(&world);
    int one = client_open(&world);
    int two = client_open(&world);
    send_large(one, "/hold", body);
    while (world_look(&world)->held_count < 1) {
    }
    send_large(two, "/echo", body);
    struct client_answer answer = client_answer(two);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(answer.head, "Retry-After: 1\r\n"));
    free(answer.body);
    (void)close(two);
    /* What is given back can be used again. */
    two = client_open(&world);
    client_send(two, REQUEST("/release?n=0"));
    client_expect(two, 200, "released");
    client_expect(one, 200, "0");
    send_large(two, "/hold", body);
    while (world_look(&world)->held_count < 2) {
    }
    client_send(one, REQUEST("/release?n=1"));
    client_expect(two, 200, "1");
    free(body);
    (void)close(one);
    (void)close(two);
    world_stop(&world);
}

/* Clients that leave. */

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(fd);
}

TEST(who_asked_is_told_once_that_the_client_is_gone)
{
    struct world world = {0};
    world_start(&world);
    for (unsigned i = 0; i < 4; i++) {
        int fd = client_open(&world);
        client_send(fd, REQUEST("/watch"));
        while (world_look(&world)->held_count <= i) {
        }
        if (i % 2 == 0)
            (void)close(fd);
        else
            reset(fd);
        while (world_look(&world)->gone <= i) {
        }
    }
    world_stop(&world);
    assert_int_equal(world.seen.gone, 4);
}

static void answer_all(struct world *world)
{
    for (size_t i = 0; i < world->held_count; i++) {
        if (world->held[i] != NULL)
            world_say(world->held[i], 200, bytes_of("late"));
        world->held[i] = NULL;
    }
}

/* Two requests wait for their answers, and the client is gone. */
static void leave_two(struct world *world)
{
    int fd = client_open(world);
    client_send(fd, REQUEST("/hold") REQUEST("/hold"));
    assert_true(world_until(world, two_held));
    reset(fd);
    assert_true(world_until(world, none_open));
}

TEST(who_did_not_ask_may_answer_a_client_that_is_gone)
{
    struct world world = {0};
    world_start(&world);
    leave_two(&world);
    world_do(&world, answer_all);
    world_stop(&world);
    assert_int_equal(world.seen.gone, 0);
}

/* Its answer waits behind another one: it is answered, and so it is not gone. */
TEST(what_is_answered_is_never_gone)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    int other = client_open(&world);
    client_send(fd, REQUEST("/hold") REQUEST("/watch"));
    assert_true(world_until(&world, two_held));
    client_send(other, REQUEST("/release?n=1"));
    client_expect(other, 200, "released");
    reset(fd);
    assert_true(world_until(&world, one_open));
    world_do(&world, answer_all);
    (void)close(other);
    world_stop(&world);
    assert_int_equal(world.seen.gone, 0);
}

static void watch_all(struct world *world)
{
    for (size_t i = 0; i < world->held_count; i++)
        http_exchange_on_gone(world->held[i], world_count_gone, world);
}

TEST(who_asks_too_late_is_told_at_once)
{
    struct world world = {0};
    world_start(&world);
    leave_two(&world);
    world_do(&world, watch_all);
    assert_int_equal(world_look(&world)->gone, 2);
    world_stop(&world);
}

/* A client may shut its sending side and still want its answer. */
TEST(a_client_that_only_stops_sending_is_answered)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, REQUEST("/echo") REQUEST("/hold"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    client_expect(fd, 200, "0 /echo? ");
    int other = client_open(&world);
    client_send(other, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    client_expect_end(fd);
    (void)close(fd);
    (void)close(other);
    world_stop(&world);
}

TEST(a_client_that_stops_inside_a_request_is_closed)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, half_a_request);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    client_expect_end(fd);
    (void)close(fd);
    (void)world_look(&world);
    assert_int_equal(world.seen.counters.requests, 0);
    world_stop(&world);
}

/* The answer after which the handler closes takes those behind it along. */
TEST(requests_behind_a_closing_answer_are_gone)
{
    struct world world = {0};
    world_start(&world);
    int fd = client_open(&world);
    client_send(fd, REQUEST("/hold") REQUEST("/close") REQUEST("/watch") REQUEST("/hold"));
    while (world_look(&world)->held_count < 3) {
    }
    int other = client_open(&world);
    client_send(other, REQUEST("/release?n=0"));
    client_expect(fd, 200, "0");
    struct client_answer answer = client_answer_without_body(fd);
    assert_int_equal(answer.status, 204);
    client_expect_end(fd);
    (void)close(fd);
    (void)close(other);
    assert_true(world_until(&world, none_open));
    assert_int_equal(world.seen.gone, 1);
    world.held[1] = NULL; /* which asked, and was told */
    world_do(&world, answer_all);
    world_stop(&world);
}

/* Drain and close. */

static void on_drained(void *arg)
{
    struct world *world = arg;
    world->drained++;
}

static void drain(struct world *world)
{
    http_server_drain(world->server, on_drained, world);
}

static bool drained(const struct world_seen *seen)
{
    return seen->drained == 1;
}

TEST(a_drain_lets_each_request_end)
{
    struct world world = {0};
    world_start(&world);
    int idle = client_open(&world);
    int busy = client_open(&world);
    int partial = client_open(&world);
    echo(idle);
    client_send(busy, REQUEST("/hold") REQUEST("/hold"));
    client_send(partial, half_a_request);
    assert_true(world_until(&world, two_held));
    echo(idle); /* a turn later than partial's bytes */
    world_do(&world, drain);
    client_expect_end(idle);
    assert_int_equal(world.seen.drained, 0);
    client_send(partial, "o" REQUEST("/echo"));
    struct client_answer answer = client_answer(partial);
    assert_non_null(strstr(answer.head, "Connection: close\r\n"));
    assert_string_equal(answer.body, "2 /echo? hello");
    free(answer.body);
    client_expect_end(partial);
    world_do(&world, answer_all);
    answer = client_answer(busy);
    assert_null(strstr(answer.head, "Connection: close\r\n"));
    free(answer.body);
    answer = client_answer(busy);
    assert_non_null(strstr(answer.head, "Connection: close\r\n"));
    free(answer.body);
    client_expect_end(busy);
    (void)close(idle);
    (void)close(busy);
    (void)close(partial);
    assert_true(world_until(&world, drained));
    world_stop(&world);
    assert_int_equal(world.seen.drained, 1);
}

TEST(a_drained_server_takes_no_connections)
{
    struct world world = {0};
    world_start(&world);
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *port = strrchr(http_server_address(world.server), ':') + 1;
    to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    world_do(&world, drain);
    assert_true(world_until(&world, drained));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), -1);
    (void)close(fd);
    world_stop(&world);
}

TEST(a_close_tells_all_who_asked_and_frees_the_rest)
{
    struct world world = {0};
    world_start(&world);
    int one = client_open(&world);
    int two = client_open(&world);
    int three = client_open(&world);
    client_send(one, REQUEST("/watch") REQUEST("/hold"));
    client_send(two, REQUEST("/stream"));
    client_send(three, half_a_request);
    while (world_look(&world)->held_count < 2 || world.seen.stream_count < 1) {
    }
    world_do(&world, world_close_server);
    assert_int_equal(pthread_join(world.thread, NULL), 0);
    assert_int_equal(world.seen.gone, 2);
    world.held[0] = NULL;
    answer_all(&world); /* the server is freed, its exchange is not */
    loop_destroy(world.loop);
    (void)sem_destroy(&world.done);
    (void)close(one);
    (void)close(two);
    (void)close(three);
}
