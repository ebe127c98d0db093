/* SPDX-License-Identifier: MIT */
/* Who the owner is: not known, not reached, another one. */
#include "support/follower_world.h"

#include <uv.h>

static uint16_t port_of(const char *address)
{
    return (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

static void expect_unavailable(int fd, const char *detail)
{
    struct client_answer answer = client_answer(fd);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(answer.head, "\r\nContent-Type: application/problem+json\r\n"));
    assert_non_null(strstr(answer.head, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(answer.head, "\r\nConnection: close\r\n"));
    assert_non_null(strstr(answer.body, "\"status\":503,\"code\":\"UNAVAILABLE\""));
    if (strstr(answer.body, detail) == NULL)
        fail_msg("expected '%s' in '%s'", detail, answer.body);
    free(answer.body);
    client_expect_end(fd);
}

static void ask(const struct follow *follow, const char *detail)
{
    int fd = follow_client(follow);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nsome");
    expect_unavailable(fd, detail);
    (void)close(fd);
}

TEST(without_an_owner_it_is_503_after_the_wait)
{
    struct follow follow = {.options.wait_ms = 100};
    follow_start(&follow, NULL);
    ask(&follow, "nobody owns the records just now, as node n1 sees it: it has seen no owner");
    follow_set(&follow, "127.0.0.1:1");
    follow_set(&follow, NULL);
    ask(&follow, "the last owner was 127.0.0.1:1, until 0 s ago");
    int fd = follow_client(&follow);
    client_send(fd, "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(client_answer_without_body(fd).status, 503);
    client_expect_end(fd);
    (void)close(fd);
    const struct follower_stats *seen = follow_look(&follow);
    assert_int_equal(seen->refused, 3);
    assert_int_equal(seen->waited, 3);
    assert_int_equal(seen->forwarded, 0);
    assert_true(follow_until(&follow, follow_none_open));
    follow_stop(&follow);
}

TEST(who_waits_is_passed_on_when_an_owner_is_known)
{
    struct follow_pair pair = {.follow.options.wait_ms = 60000};
    world_start(&pair.owner);
    follow_start(&pair.follow, NULL);
    int fd = follow_client(&pair.follow);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
    assert_true(follow_until(&pair.follow, follow_one_waits));
    client_send(fd, "lo");
    follow_set(&pair.follow, http_server_address(pair.owner.server));
    client_expect(fd, 200, "2 /echo? hello");
    assert_int_equal(follow_look(&pair.follow)->waited, 1);
    (void)close(fd);
    pair_stop(&pair);
}

TEST(an_owner_that_refuses_is_tried_again)
{
    struct raw_owner owner = raw_start_at(0, -1); /* its port, and nobody listens */
    struct follow follow = {.options.wait_ms = 60000};
    follow_start(&follow, owner.address);
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    for (int i = 0; i < 20; i++) {
        (void)usleep(10000);
        assert_true(follow_one_waits(follow_look(&follow)));
    }
    assert_int_equal(listen(owner.fd, 16), 0);
    int far = raw_accept(&owner);
    raw_expect(far, "GET /echo HTTP/1.1\r\nHost: x\r\nTocsin-Forwarded: n1\r\n\r\n");
    (void)close(far);
    (void)close(fd);
    follow_stop(&follow);
    (void)close(owner.fd);
}

TEST(an_owner_that_refuses_all_the_time_is_named)
{
    struct raw_owner owner = raw_start_at(0, -1);
    struct follow follow = {.options.wait_ms = 150};
    char detail[200];
    follow_start(&follow, owner.address);
    (void)snprintf(detail, sizeof detail,
                   "the owner, %s since 0 s, cannot be reached from node n1: connection refused",
                   owner.address);
    ask(&follow, detail);
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* As if its machine were gone. */
TEST(an_owner_that_does_not_answer_is_given_up)
{
    enum { FILL = 4 };
    struct raw_owner owner = raw_start_at(0, 0); /* room for one, whom nobody accepts */
    struct follow follow = {.options = {.wait_ms = 100, .connect_ms = 100}};
    int fill[FILL];
    for (int i = 0; i < FILL; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port_of(owner.address))};
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fill[i], (struct sockaddr *)&to, sizeof to);
    }
    follow_start(&follow, owner.address);
    ask(&follow, "no answer in time to the attempt to connect");
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    assert_true(follow_until(&follow, follow_one_waits));
    follow_stop(&follow); /* in the middle of an attempt */
    client_expect_end(fd);
    (void)close(fd);
    for (int i = 0; i < FILL; i++)
        (void)close(fill[i]);
    (void)close(owner.fd);
}

TEST(with_tls_who_has_waited_is_closed_without_a_word)
{
    struct follow follow = {.options = {.wait_ms = 100, .tls = true}};
    follow_start(&follow, NULL);
    int fd = follow_client(&follow);
    client_expect_end(fd);
    (void)close(fd);
    assert_int_equal(follow_look(&follow)->refused, 1);
    follow_stop(&follow);
}

static bool two_wait(const struct follower_stats *seen)
{
    return seen->waiting == 2;
}

TEST(only_so_many_wait)
{
    struct follow follow = {.options = {.wait_ms = 60000, .waiting_max = 2}};
    int fds[2];
    follow_start(&follow, NULL);
    for (int i = 0; i < 2; i++) {
        fds[i] = follow_client(&follow);
        client_send(fds[i], REQUEST("/echo"));
    }
    assert_true(follow_until(&follow, two_wait));
    int fd = follow_client(&follow);
    client_send(fd, REQUEST("/echo"));
    client_expect_refusal(fd, 503, "OVERLOADED");
    (void)close(fd);
    for (int i = 0; i < 2; i++)
        (void)close(fds[i]);
    follow_stop(&follow);
}

/* ---- another one */

TEST(tunnels_to_an_owner_before_are_cut)
{
    struct follow_pair pair = {0};
    struct world next = {0};
    char head[2048];
    pair_start(&pair);
    world_start(&next);
    int stream = follow_client(&pair.follow);
    int idle = follow_client(&pair.follow);
    client_send(stream, REQUEST("/stream"));
    client_read_to(stream, "\r\n\r\n", head, sizeof head);
    client_send(idle, REQUEST("/echo"));
    client_expect(idle, 200, "0 /echo? ");
    follow_set(&pair.follow, http_server_address(pair.owner.server)); /* the same: nothing */
    client_send(idle, REQUEST("/echo"));
    client_expect(idle, 200, "0 /echo? ");
    assert_int_equal(follow_look(&pair.follow)->tunnels, 2);
    follow_set(&pair.follow, http_server_address(next.server));
    client_expect_end(stream);
    client_expect_end(idle);
    assert_true(follow_until(&pair.follow, follow_none_open));
    assert_int_equal(follow_look(&pair.follow)->cut, 2);
    (void)close(stream);
    (void)close(idle);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
    assert_int_equal(world_look(&next)->counters.requests, 1);
    follow_set(&pair.follow, NULL);
    client_expect_end(fd);
    (void)close(fd);
    pair_stop(&pair);
    world_stop(&next);
}

/* An attempt at an owner before is given up, and the next one gets the request. */
TEST(who_waits_for_an_owner_before_goes_to_the_next)
{
    struct raw_owner before = raw_start_at(0, -1);
    struct follow_pair pair = {.follow.options.wait_ms = 60000};
    world_start(&pair.owner);
    follow_start(&pair.follow, before.address);
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    assert_true(follow_until(&pair.follow, follow_one_waits));
    follow_set(&pair.follow, http_server_address(pair.owner.server));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    (void)close(before.fd);
    pair_stop(&pair);
}

TEST(an_owner_may_have_a_name)
{
    struct follow_pair pair = {.follow.options.wait_ms = 20000};
    char name[64];
    world_start(&pair.owner);
    follow_start(&pair.follow, NULL);
    (void)snprintf(name, sizeof name, "localhost:%u",
                   port_of(http_server_address(pair.owner.server)));
    int fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    follow_set(&pair.follow, name);
    assert_int_equal(pair.follow.owner_status, TOCSIN_OK);
    client_expect(fd, 200, "0 /echo? ");
    for (int i = 0; i < 6; i++) /* answers of lookups before are for nobody */
        follow_set(&pair.follow, i % 2 == 0 ? "localhost:1" : name);
    (void)close(fd);
    fd = follow_client(&pair.follow);
    client_send(fd, REQUEST("/echo"));
    client_expect(fd, 200, "0 /echo? ");
    (void)close(fd);
    follow_set(&pair.follow, "localhost:2");
    pair_stop(&pair); /* while it is looked up */
}

TEST(what_is_no_address_is_said_and_is_nobody)
{
    static const char *const wrong[] = {"here",    ":1",    "a:",          "a:0",
                                        "a:65536", "a:1x",  "::1:7400",    "[]:1",
                                        "a b:1",   "a/b:1", "h\xc3\xa4:1", "a:b:1"};
    struct follow follow = {.options.wait_ms = 50};
    char longest[400];
    follow_start(&follow, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        follow_set(&follow, wrong[i]);
        assert_int_equal(follow.owner_status, TOCSIN_INVALID);
        assert_non_null(strstr(follow.why.text, "address '"));
    }
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    follow_set(&follow, longest);
    assert_int_equal(follow.owner_status, TOCSIN_INVALID);
    ask(&follow, "nobody owns the records just now");
    follow_stop(&follow);
}

/* ---- where it listens */

TEST(it_listens_where_it_is_told_or_says_why_not)
{
    static const char *const two[] = {"127.0.0.1:0", "[::1]:0"};
    struct raw_owner taken = raw_start();
    const char *second_taken[] = {"127.0.0.1:0", taken.address};
    struct follow follow = {.options = {.listen = two, .listen_count = 2}};
    follow_start(&follow, NULL);
    assert_true(port_of(follower_address(follow.follower, 1)) > 0);
    follow_stop(&follow);

    struct tocsin_why why = {""};
    struct follower *none;
    struct loop_hooks hooks = {0};
    struct follower_options options = {
        .node = "n1", .listen = second_taken, .listen_count = 2, .limits = http_limits_default};
    assert_int_equal(loop_create(&hooks, &options.loop, &why), TOCSIN_OK);
    assert_int_equal(follower_create(&options, &none, &why), TOCSIN_BUSY);
    assert_non_null(strstr(why.text, "cannot listen on"));
    for (int i = 0; i < 4; i++)
        (void)uv_run(loop_uv(options.loop), UV_RUN_NOWAIT);
    options.listen = &second_taken[1];
    options.listen_count = 1;
    assert_int_equal(follower_create(&options, &none, &why), TOCSIN_BUSY);
    options.node = "n\r\nX: y";
    assert_int_equal(follower_create(&options, &none, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "node: "));
    loop_destroy(options.loop);
    (void)close(taken.fd);
}
