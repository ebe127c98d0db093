/* SPDX-License-Identifier: MIT */
/* How tunnels end, and what they hold while one side is slow. */
#include "support/follower_world.h"

enum { PIECE = 64 * 1024 };

/* A little for what the kernel does not take at once, in each direction, and the first bytes. */
enum { HELD_MAX = 2 * PIECE + 32 * 1024 };

TEST(who_shuts_its_sending_side_still_gets_its_answer)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    int other = client_open(&pair.owner);
    client_send(fd, REQUEST("/hold"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_true(follow_until(&pair.follow, follow_one_forwarded));
    while (world_look(&pair.owner)->held_count == 0)
        (void)usleep(1000);
    client_send(other, REQUEST("/release?n=0"));
    client_expect(other, 200, "released");
    client_expect(fd, 200, "0");
    client_expect_end(fd);
    (void)close(fd);
    (void)close(other);
    assert_true(follow_until(&pair.follow, follow_none_open));
    pair_stop(&pair);
}

TEST(an_owner_that_shuts_its_side_still_hears_the_client)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {0};
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    int far = raw_accept(&owner);
    raw_expect(far, "GET /echo HTTP/1.1\r\nHost: x\r\nTocsin-Forwarded: n1\r\n\r\n");
    client_send(far, "last words");
    assert_int_equal(shutdown(far, SHUT_WR), 0);
    raw_expect(fd, "last words");
    client_expect_end(fd);
    client_send(fd, "too late");
    raw_expect(far, "too late");
    (void)close(fd);
    client_expect_end(far);
    (void)close(far);
    assert_true(follow_until(&follow, follow_none_open));
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* The client keeps its side open for ever: 2 s are enough. */
TEST(when_the_owner_is_through_a_client_that_stays_is_closed)
{
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/close"));
    assert_int_equal(client_answer_without_body(fd).status, 204);
    client_expect_end(fd);
    assert_true(follow_until(&pair.follow, follow_none_open));
    (void)close(fd);
    pair_stop(&pair);
}

TEST(an_owner_that_dies_in_the_middle_is_an_end_after_what_it_said)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct raw_owner owner = raw_start();
    struct follow follow = {0};
    follow_start(&follow, owner.address);
    for (int reset = 0; reset < 2; reset++) {
        int fd = follow_client(&follow);
        client_send(fd, REQUEST("/echo"));
        int far = raw_accept(&owner);
        raw_expect(far, "GET /echo HTTP/1.1\r\nHost: x\r\nTocsin-Forwarded: n1\r\n\r\n");
        client_send(far, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        raw_expect(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        if (reset)
            assert_int_equal(setsockopt(far, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
        (void)close(far);
        client_expect_end(fd);
        (void)close(fd);
        assert_true(follow_until(&follow, follow_none_open));
    }
    follow_stop(&follow);
    (void)close(owner.fd);
}

static bool one_open(const struct follower_stats *seen)
{
    return seen->tunnels == 1;
}

TEST(a_client_that_dies_is_an_end_for_the_owner)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct follow_pair pair = {0};
    char head[2048];
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/stream"));
    client_read_to(fd, "\r\n\r\n", head, sizeof head);
    assert_true(follow_until(&pair.follow, one_open));
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    (void)close(fd);
    assert_true(follow_until(&pair.follow, follow_none_open));
    while (world_look(&pair.owner)->gone == 0)
        (void)usleep(1000);
    pair_stop(&pair);
}

/* ---- slow ones */

/* Until the kernel takes no more, nor does the other side. */
static size_t send_until_it_stands(int fd)
{
    static const char piece[PIECE];
    size_t total = 0;
    int quiet = 0;
    while (quiet < 50) {
        ssize_t sent = send(fd, piece, sizeof piece, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            total += (size_t)sent;
            quiet = 0;
        } else {
            assert_int_equal(errno, EAGAIN);
            quiet++;
            (void)usleep(2000);
        }
        assert_true(total < 256u << 20); /* somebody keeps it all */
    }
    return total;
}

static void receive_all(int fd, size_t total)
{
    char bytes[PIECE];
    while (total > 0) {
        ssize_t got = recv(fd, bytes, total < sizeof bytes ? total : sizeof bytes, 0);
        assert_true(got > 0);
        total -= (size_t)got;
    }
}

TEST(a_side_is_not_read_while_the_other_does_not_take)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {0};
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    int far = raw_accept(&owner);
    raw_expect(far, "GET /echo HTTP/1.1\r\nHost: x\r\nTocsin-Forwarded: n1\r\n\r\n");
    for (int turn = 0; turn < 2; turn++) {
        size_t up = send_until_it_stands(fd);
        size_t down = send_until_it_stands(far);
        const struct follower_stats *seen = follow_look(&follow);
        assert_true(seen->held_bytes > 0 && seen->held_bytes_most <= HELD_MAX);
        receive_all(far, up); /* not a byte is missing, and it goes on */
        receive_all(fd, down);
    }
    client_send(fd, "up");
    raw_expect(far, "up");
    client_send(far, "down");
    raw_expect(fd, "down");
    assert_int_equal(follow_look(&follow)->held_bytes, 0);
    (void)close(fd);
    (void)close(far);
    assert_true(follow_until(&follow, follow_none_open));
    follow_stop(&follow);
    (void)close(owner.fd);
}

TEST(a_large_answer_waits_for_a_slow_reader)
{
    enum { SIZE = 15000000 };
    struct follow_pair pair = {0};
    pair_start(&pair);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/size?n=15000000"));
    (void)usleep(300000);
    assert_true(follow_look(&pair.follow)->held_bytes_most <= HELD_MAX);
    struct client_answer answer = client_answer(fd);
    assert_int_equal(answer.size, SIZE);
    for (size_t i = 0; i < SIZE; i += 997)
        assert_int_equal(answer.body[i], 'x');
    free(answer.body);
    (void)close(fd);
    pair_stop(&pair);
}

TEST(who_takes_nothing_for_long_is_cut)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {.options.limits = http_limits_default};
    follow.options.limits.write_timeout_ms = 300;
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    int far = raw_accept(&owner);
    (void)send_until_it_stands(far);
    assert_true(follow_until(&follow, follow_none_open));
    (void)close(fd);
    (void)close(far);
    follow_stop(&follow);
    (void)close(owner.fd);
}

TEST(all_tunnels_together_hold_only_so_much)
{
    struct raw_owner owner = raw_start();
    struct follow follow = {.options.held_bytes_max = 100};
    static char rest[PIECE];
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    int far = raw_accept(&owner);
    raw_expect(far, "GET /echo HTTP/1.1\r\nHost: x\r\nTocsin-Forwarded: n1\r\n\r\n");
    static const char piece[PIECE];
    while (send(far, piece, sizeof piece, MSG_NOSIGNAL) > 0)
        continue;
    assert_true(follow_until(&follow, follow_none_open));
    while (recv(fd, rest, sizeof rest, 0) > 0)
        continue;
    (void)close(fd);
    fd = follow_client(&follow); /* not even its head */
    memset(rest, 'a', 200);
    rest[200] = '\0';
    client_send(fd, "GET / HTTP/1.1\r\nHost: x\r\nLong: ");
    client_send(fd, rest);
    client_send(fd, "\r\n\r\n");
    client_expect_end(fd);
    (void)close(fd);
    assert_int_equal(follow_look(&follow)->refused, 1);
    assert_true(follow_look(&follow)->held_bytes_most <= 100);
    (void)close(far);
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* ---- many */

TEST(more_tunnels_than_the_limit_are_refused)
{
    struct follow_pair pair = {.follow.options.limits = http_limits_default};
    pair.follow.options.limits.connections = 2;
    pair_start(&pair);
    int fds[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = follow_client(&pair.follow);
        client_send(fds[i], REQUEST("/echo"));
        client_expect(fds[i], 200, "0 /echo? ");
    }
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/healthz"));
    client_expect(fd, 200, "here /healthz"); /* that is still seen */
    client_send(fd, REQUEST("/echo"));
    client_expect_refusal(fd, 503, "OVERLOADED");
    (void)close(fd);
    (void)close(fds[0]);
    (void)close(fds[1]);
    assert_true(follow_until(&pair.follow, follow_none_open));
    fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    pair_stop(&pair);
}

static bool owner_has_none(const struct world_seen *seen)
{
    return seen->counters.open == 0;
}

TEST(a_thousand_that_come_and_go_leave_nothing)
{
    enum { ROUNDS = 10, AT_ONCE = 100 };
    struct follow_pair pair = {0};
    int fds[AT_ONCE];
    pair_start(&pair);
    fds[0] = follow_client(&pair.follow); /* libuv opens a file with the first stream of a loop */
    client_send(fds[0], REQUEST("/echo"));
    client_expect(fds[0], 200, "0 /echo? ");
    (void)close(fds[0]);
    assert_true(follow_until(&pair.follow, follow_none_open));
    assert_true(world_until(&pair.owner, owner_has_none));
    unsigned before = count_descriptors();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            fds[i] = follow_client(&pair.follow);
            client_send(fds[i], i % 3 == 0 ? REQUEST("/hold_not") : REQUEST("/stream_not"));
        }
        for (int i = 0; i < AT_ONCE; i++) {
            if (i % 2 == 0)
                client_expect(fds[i], 200, i % 3 == 0 ? "0 /hold_not? " : "0 /stream_not? ");
            (void)close(fds[i]); /* the others without waiting for the answer */
        }
    }
    /* The last ones may still be in the kernel, not accepted. */
    for (int i = 0; i < WORLD_WAIT_S * 1000 && count_descriptors() != before; i++)
        (void)usleep(1000);
    assert_int_equal(count_descriptors(), before);
    assert_true(world_until(&pair.owner, owner_has_none));
    assert_true(follow_until(&pair.follow, follow_none_open));
    assert_int_equal(follow_look(&pair.follow)->held_bytes, 0);
    assert_int_equal(follow_look(&pair.follow)->refused, 0);
    pair_stop(&pair);
}

TEST(all_is_closed_while_much_is_under_way)
{
    enum { COUNT = 30 };
    struct follow_pair pair = {0};
    char head[2048];
    int fds[COUNT];
    unsigned before = count_descriptors();
    pair_start(&pair);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = follow_client(&pair.follow);
        client_send(fds[i], i % 3 == 0   ? REQUEST("/stream")
                            : i % 3 == 1 ? "GET /half HTTP/1.1\r\n"
                                         : REQUEST("/size?n=8000000"));
        if (i % 3 == 0)
            client_read_to(fds[i], "\r\n\r\n", head, sizeof head);
    }
    follow_stop(&pair.follow);
    world_stop(&pair.owner);
    for (int i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    assert_int_equal(count_descriptors(), before);
}
