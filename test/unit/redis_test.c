/* SPDX-License-Identifier: MIT */
/* The client of Redis: every way a connection can die, and what each call is told.. */
#include "support/redis_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void start(struct redis_world *world, struct peer *peer)
{
    redis_world_start(world);
    peer_greet(world, peer);
}

static void send_repeated(struct peer *peer, const char *text, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        peer_send(peer, text);
}

/* ---- as it should be */

TEST(answers_come_to_those_who_asked_in_order)
{
    struct redis_world world = {0};
    struct peer peer;
    char text[64];
    start(&world, &peer);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "PEXPIRE key%u %u", i, i);
        (void)redis_world_give(&world, text, LONG_MS);
    }
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "PEXPIRE key%u %u", i, i);
        peer_expect(&peer, text);
        (void)snprintf(text, sizeof text, ":%u\r\n", i);
        peer_send(&peer, text);
    }
    redis_world_until_done(&world, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        call_expect(&world.calls[i], REDIS_ANSWERED, "");
        assert_int_equal(world.calls[i].value, i);
        assert_int_equal(world.calls[i].place, i + 1);
    }
    assert_int_equal(redis_world_stats(&world).answered, 1000);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(what_is_given_in_one_turn_goes_out_together)
{
    struct redis_world world = {0};
    struct peer peer;
    char bytes[16];
    start(&world, &peer);
    for (unsigned i = 0; i < 50; i++)
        (void)redis_world_give(&world, "INCR a", LONG_MS);
    assert_int_equal(recv(peer.fd, bytes, sizeof bytes, 0), -1); /* not before the turn ends */
    assert_int_equal(redis_world_stats(&world).waiting, 50);
    (void)uv_run(&world.uv, UV_RUN_NOWAIT);
    assert_int_equal(redis_world_stats(&world).flying, 50);
    for (unsigned i = 0; i < 50; i++)
        peer_expect(&peer, "INCR a");
    send_repeated(&peer, ":1\r\n", 50);
    redis_world_until_done(&world, 50);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(replies_in_single_bytes_are_whole_replies)
{
    struct redis_world world = {0};
    struct peer peer;
    const char *replies = ":42\r\n$5\r\nhe\r\no\r\n-ERR no\r\n*2\r\n:1\r\n$-1\r\n+OK\r\n$-1\r\n";
    start(&world, &peer);
    for (unsigned i = 0; i < 6; i++)
        (void)redis_world_give(&world, "GET a", LONG_MS);
    WORLD_UNTIL(&world, redis_world_stats(&world).flying == 6);
    for (const char *at = replies; *at != '\0'; at++) {
        peer_send(&peer, (char[]){*at, '\0'});
        redis_world_turn(&world);
    }
    redis_world_until_done(&world, 6);
    assert_int_equal(world.calls[0].value, 42);
    call_expect(&world.calls[1], REDIS_ANSWERED, "he\r\no");
    call_expect(&world.calls[2], REDIS_REFUSED, "ERR no");
    call_expect(&world.calls[4], REDIS_ANSWERED, "OK");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

/* ---- it does not come to be */

static uint16_t unused_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    (void)close(fd); /* it never listened */
    return ntohs(at.sin_port);
}

TEST(refused_is_told_and_calls_fail_at_their_deadlines)
{
    struct redis_world world = {.options = {.port = unused_port()}};
    char text[100];
    redis_world_start(&world);
    (void)redis_world_give(&world, "GET a", 500);
    redis_world_until_done(&world, 1);
    (void)snprintf(text, sizeof text, "cannot connect to redis at 127.0.0.1:%u: connection refused",
                   (unsigned)world.port);
    call_expect(&world.calls[0], REDIS_FAILED, text);
    assert_string_equal(world.down_why, text);
    assert_int_equal(world.downs, 1); /* not for each attempt */
    redis_world_stop(&world);
}

TEST(a_server_that_accepts_and_says_nothing_is_none)
{
    struct redis_world world = {.options = {.connect_ms = 30}};
    struct peer peer;
    redis_world_start(&world);
    peer_accept(&world, &peer);
    (void)redis_world_give(&world, "GET a", 100);
    peer_expect(&peer, "PING");
    peer_expect_end(&peer);
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_FAILED, ": no answer in time");
    assert_non_null(strstr(world.down_why, "cannot connect to redis at 127.0.0.1:"));
    assert_int_equal(redis_world_stats(&world).connects, 0);
    redis_world_stop(&world);
}

TEST(a_server_that_closes_at_once_is_none)
{
    struct redis_world world = {0};
    struct peer peer;
    redis_world_start(&world);
    (void)redis_world_give(&world, "GET a", 100);
    peer_accept(&world, &peer);
    peer_close(&peer);
    WORLD_UNTIL(&world, world.downs > 0 && world.done == 1);
    call_expect(&world.calls[0], REDIS_FAILED, "cannot connect to redis at 127.0.0.1:");
    redis_world_stop(&world);
}

TEST(garbage_instead_of_a_hello_is_told)
{
    struct redis_world world = {0};
    struct peer peer;
    redis_world_start(&world);
    peer_accept(&world, &peer);
    peer_send(&peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
    WORLD_UNTIL(&world, world.downs > 0);
    assert_non_null(strstr(world.down_why, "Protocol error"));
    peer_expect_end(&peer);
    redis_world_stop(&world);
}

TEST(a_name_that_does_not_resolve_is_told)
{
    struct redis_world world = {.options = {.host = "no-such-host.invalid", .port = 1}};
    redis_world_start(&world);
    (void)redis_world_give(&world, "GET a", 200);
    WORLD_UNTIL(&world, world.downs > 0);
    assert_non_null(strstr(world.down_why, "cannot connect to redis at no-such-host.invalid:1: "));
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_FAILED, "cannot connect to redis at no-such-host.invalid:1");
    redis_world_stop(&world);
}

TEST(a_name_is_resolved_and_each_of_its_addresses_is_tried)
{
    struct redis_world world = {.options = {.host = "localhost"}}; /* ::1 often comes first */
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "GET a", LONG_MS);
    peer_expect(&peer, "GET a");
    peer_send(&peer, ":7\r\n");
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_client_can_be_closed_while_its_name_is_resolved)
{
    struct redis_world world = {.options = {.host = "no-such-host.invalid", .port = 1}};
    redis_world_start(&world);
    (void)redis_world_give(&world, "GET a", LONG_MS);
    (void)uv_run(&world.uv, UV_RUN_NOWAIT);
    redis_world_stop(&world);
}

/* A queue of connections that is full: whatever else is sent there is dropped in silence. */
TEST(a_black_hole_is_given_up_in_time)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int hole = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fill[4];
    assert_int_equal(bind(hole, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(hole, 0), 0);
    assert_int_equal(getsockname(hole, (struct sockaddr *)&at, &size), 0);
    for (unsigned i = 0; i < 4; i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fill[i], (struct sockaddr *)&at, size);
    }
    struct redis_world world = {.options = {.port = ntohs(at.sin_port), .connect_ms = 40}};
    redis_world_start(&world);
    (void)redis_world_give(&world, "GET a", 30);
    (void)redis_world_give(&world, "GET a", 150);
    redis_world_until_done(&world, 2);
    call_expect(&world.calls[0], REDIS_FAILED, "no answer yet");
    call_expect(&world.calls[1], REDIS_FAILED, "no answer in time");
    redis_world_stop(&world);
    for (unsigned i = 0; i < 4; i++)
        (void)close(fill[i]);
    (void)close(hole);
}

/* ---- it ends */

/* Three calls; the first is answered, then Redis goes in some way. */
static void one_answered_then(void (*how)(struct peer *peer), const char *rest, const char *why)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    for (unsigned i = 0; i < 3; i++)
        (void)redis_world_give(&world, "INCR a", LONG_MS);
    for (unsigned i = 0; i < 3; i++)
        peer_expect(&peer, "INCR a");
    peer_send(&peer, ":1\r\n");
    peer_send(&peer, rest);
    redis_world_until_done(&world, 1);
    how(&peer);
    redis_world_until_done(&world, 3);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    call_expect(&world.calls[1], REDIS_UNKNOWN, why);
    call_expect(&world.calls[2], REDIS_UNKNOWN, why);
    assert_int_equal(world.calls[1].place, 2);
    assert_int_equal(world.downs, 1);
    assert_non_null(strstr(world.down_why, why));
    /* It comes back by itself, at once. */
    peer_greet(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_expect(&peer, "INCR a");
    peer_send(&peer, ":2\r\n");
    redis_world_until_done(&world, 4);
    call_expect(&world.calls[3], REDIS_ANSWERED, "");
    assert_int_equal(world.ups, 2);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(an_end_leaves_those_that_flew_unknown)
{
    one_answered_then(peer_close, "", "it closed the connection");
}

TEST(a_reset_leaves_those_that_flew_unknown)
{
    one_answered_then(peer_reset, "", "connection reset by peer");
}

TEST(an_end_in_the_middle_of_a_reply_is_no_reply)
{
    one_answered_then(peer_close, ":12345", "it closed the connection");
}

TEST(an_end_in_the_middle_of_an_array_is_no_reply)
{
    one_answered_then(peer_close, "*3\r\n:1\r\n$10\r\nabc", "it closed the connection");
}

TEST(garbage_instead_of_a_reply_ends_the_connection)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_expect(&peer, "INCR a");
    peer_send(&peer, ":1\r\n?what\r\n:2\r\n");
    redis_world_until_done(&world, 2);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    call_expect(&world.calls[1], REDIS_UNKNOWN, "Protocol error");
    peer_expect_end(&peer);
    redis_world_stop(&world);
}

TEST(an_answer_too_many_ends_the_connection)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_expect(&peer, "INCR a");
    peer_send(&peer, ":1\r\n:2\r\n");
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    assert_int_equal(world.calls[0].value, 1);
    peer_expect_end(&peer);
    WORLD_UNTIL(&world, world.downs == 1);
    assert_non_null(strstr(world.down_why, "an answer that nobody asked for"));
    redis_world_stop(&world);
}

/* Half of a command is with Redis, the next one is not: the first is unknown, the second waits. */
TEST(half_a_command_is_unknown_and_what_is_behind_it_goes_to_the_next_connection)
{
    enum { LARGE = 32 << 20 };
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    char *large = malloc(LARGE);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    struct bytes words[] = {bytes_of("SET"), bytes_of("a"), {large, LARGE}};
    (void)redis_world_give(&world, "PING", LONG_MS);
    WORLD_UNTIL(&world, redis_world_stats(&world).flying == 1);
    peer_expect(&peer, "PING");
    peer_send(&peer, "+PONG\r\n");
    redis_world_until_done(&world, 1);
    struct kept_call *half = &world.calls[world.given++];
    *half = world.calls[0];
    half->times = 0;
    half->call.arg = half;
    redis_give(world.redis, &half->call, words, 3, LONG_MS);
    free(large); /* it was copied */
    struct kept_call *behind = redis_world_give(&world, "GET b", LONG_MS);
    WORLD_UNTIL(&world, redis_world_stats(&world).flying == 1);
    assert_int_equal(redis_world_stats(&world).waiting, 1);
    peer_reset(&peer);
    redis_world_until_done(&world, 2);
    call_expect(half, REDIS_UNKNOWN, "redis at 127.0.0.1:");
    peer_greet(&world, &peer);
    peer_expect(&peer, "GET b");
    peer_send(&peer, ":5\r\n");
    redis_world_until_done(&world, 3);
    call_expect(behind, REDIS_ANSWERED, "");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

/* ---- deadlines */

TEST(a_hang_in_the_middle_of_a_pipeline_ends_all_of_it)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    (void)redis_world_give(&world, "INCR a", 300); /* the last one's deadline is the first */
    uint64_t from_ns = uv_hrtime();
    peer_expect(&peer, "INCR a");
    peer_send(&peer, ":1\r\n");
    redis_world_until_done(&world, 3);
    assert_true(uv_hrtime() - from_ns >= UINT64_C(299) * 1000000);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    call_expect(&world.calls[1], REDIS_UNKNOWN, "no answer in time");
    call_expect(&world.calls[2], REDIS_UNKNOWN, "no answer in time");
    assert_true(world.calls[1].place < world.calls[2].place);
    peer_expect_end(&peer);
    redis_world_stop(&world);
}

TEST(an_answer_after_the_deadline_reaches_nobody)
{
    struct redis_world world = {0};
    struct peer peer, next;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", 300);
    peer_expect(&peer, "INCR a");
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_UNKNOWN, "no answer in time");
    (void)redis_world_give(&world, "INCR b", LONG_MS);
    peer_send(&peer, ":1\r\n");
    peer_greet(&world, &next);
    peer_expect(&next, "INCR b");
    peer_send(&next, ":2\r\n");
    redis_world_until_done(&world, 2);
    call_expect(&world.calls[1], REDIS_ANSWERED, "");
    assert_int_equal(world.calls[1].value, 2);
    (void)close(peer.fd);
    redis_world_stop(&world);
    peer_expect_end(&next);
}

TEST(what_is_past_its_deadline_is_not_sent_any_more)
{
    struct redis_world world = {0};
    struct peer peer;
    char words[64];
    start(&world, &peer);
    /* Deadlines have just been looked at, so the timer rests for a while. */
    (void)redis_world_give(&world, "INCR first", 0);
    (void)usleep(3000);
    redis_world_until_done(&world, 1);
    (void)redis_world_give(&world, "INCR late", 0);
    (void)usleep(3000);
    (void)redis_world_give(&world, "INCR soon", LONG_MS);
    peer_read(&peer, words, sizeof words);
    assert_string_equal(words, "INCR soon");
    call_expect(&world.calls[0], REDIS_FAILED, "in time");
    call_expect(&world.calls[1], REDIS_FAILED, "in time");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

static uint64_t given_ns;

static uint32_t some_timeout_ms(unsigned number)
{
    return 20 + number * 37 % 100; /* in no order */
}

static void is_not_early(struct kept_call *call)
{
    unsigned number = (unsigned)(call - call->world->calls);
    assert_true(uv_hrtime() - given_ns >= some_timeout_ms(number) * UINT64_C(1000000));
}

TEST(those_that_wait_end_at_their_own_deadlines)
{
    struct redis_world world = {.options = {.port = unused_port()}, .on_done = is_not_early};
    redis_world_start(&world);
    given_ns = uv_hrtime();
    for (unsigned i = 0; i < 100; i++)
        (void)redis_world_give(&world, "GET a", some_timeout_ms(i));
    (void)redis_world_give(&world, "GET a", LONG_MS);
    redis_world_until_done(&world, 100); /* and not the last one */
    for (unsigned i = 0; i < 100; i++)
        call_expect(&world.calls[i], REDIS_FAILED, "cannot connect to redis");
    world.on_done = NULL;
    redis_world_stop(&world);
}

/* ---- bounds */

TEST(one_call_too_many_fails_at_once)
{
    struct redis_world world = {.options = {.calls_max = 3}};
    redis_world_start(&world);
    for (unsigned i = 0; i < 4; i++)
        (void)redis_world_give(&world, "GET a", LONG_MS);
    assert_int_equal(world.done, 1);
    call_expect(&world.calls[3], REDIS_FAILED, "too many calls wait for redis");
    struct peer peer;
    peer_greet(&world, &peer);
    for (unsigned i = 0; i < 3; i++)
        peer_expect(&peer, "GET a");
    send_repeated(&peer, ":1\r\n", 3);
    redis_world_until_done(&world, 4);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_command_that_is_too_large_fails_at_once)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    struct kept_call *call = &world.calls[0];
    *call = (struct kept_call){.world = &world};
    (void)redis_world_give(&world, "GET a", LONG_MS);
    peer_expect(&peer, "GET a");
    peer_send(&peer, ":1\r\n");
    redis_world_until_done(&world, 1);
    struct bytes words[] = {bytes_of("SET"), {"", (size_t)65 << 20}}; /* never looked at */
    struct kept_call *large = &world.calls[world.given++];
    *large = world.calls[0];
    large->times = 0;
    large->call.arg = large;
    redis_give(world.redis, &large->call, words, 2, LONG_MS);
    call_expect(large, REDIS_FAILED, "more than 64 MiB");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

static void reply_ends_it(const char *reply, unsigned times, const char *why)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "GET a", LONG_MS);
    (void)redis_world_give(&world, "GET b", LONG_MS);
    peer_expect(&peer, "GET a");
    for (unsigned i = 0; i < times && world.done == 0; i++)
        peer_send(&peer, reply);
    redis_world_until_done(&world, 2);
    call_expect(&world.calls[0], REDIS_UNKNOWN, why);
    call_expect(&world.calls[1], REDIS_UNKNOWN, why);
    peer_expect_end(&peer);
    redis_world_stop(&world);
}

TEST(a_reply_of_too_many_elements_ends_the_connection)
{
    reply_ends_it("*2000000000\r\n", 1, "more than a million elements");
}

TEST(a_reply_nested_too_deep_ends_the_connection)
{
    reply_ends_it("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", 1, "depth");
}

TEST(a_line_without_an_end_ends_the_connection)
{
    char line[4097];
    memset(line, '+', sizeof line);
    line[4096] = '\0';
    reply_ends_it(line, 100, "a line without an end");
}

TEST(a_reply_that_is_too_large_ends_the_connection)
{
    enum { SIZE = 1 << 20 };
    char *piece = malloc(SIZE + 1);
    assert_non_null(piece);
    memset(piece, 'x', SIZE);
    piece[SIZE] = '\0';
    const char *head = "*2\r\n$1\r\na\r\n$200000000\r\n";
    memcpy(piece, head, strlen(head));
    reply_ends_it(piece, 80, "more than 64 MiB");
    free(piece);
}

/* ---- close */

TEST(close_fails_what_waits_and_awaits_what_flies)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_expect(&peer, "INCR a");
    (void)redis_world_give(&world, "INCR b", LONG_MS);
    peer_send(&peer, ":1\r\n");
    redis_world_close(&world, LONG_MS);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    call_expect(&world.calls[1], REDIS_FAILED, "closed");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(close_does_not_wait_longer_than_told)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_expect(&peer, "INCR a");
    redis_world_close(&world, 20);
    call_expect(&world.calls[0], REDIS_UNKNOWN, "closed");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

static void close_it(struct kept_call *call)
{
    if (call->place == 1)
        redis_close(call->world->redis, 0, NULL, NULL);
}

TEST(it_may_be_closed_by_a_call_that_is_done)
{
    struct redis_world world = {.on_done = close_it};
    struct peer peer;
    start(&world, &peer);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    (void)redis_world_give(&world, "INCR b", LONG_MS);
    peer_expect(&peer, "INCR a");
    peer_send(&peer, ":1\r\n:2\r\n");
    WORLD_UNTIL(&world, uv_loop_alive(&world.uv) == 0);
    world.closed = true;
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    assert_int_equal(world.done, 2);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(whoever_gives_after_the_close_is_told_at_once)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world, &peer);
    redis_close(world.redis, 0, NULL, NULL);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    call_expect(&world.calls[0], REDIS_FAILED, "closed");
    WORLD_UNTIL(&world, uv_loop_alive(&world.uv) == 0);
    world.closed = true;
    redis_world_stop(&world);
    peer_expect_end(&peer);
}
