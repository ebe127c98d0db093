/* SPDX-License-Identifier: MIT */
/* Whether the owner is reached, while nobody asks for anything. */
#include "support/follower_world.h"

struct told {
    atomic_uint lost; /* times */
    atomic_uint found;
    char why[256]; /* read when lost has risen */
};

static struct told told;

static void on_reach(void *arg, const char *why)
{
    (void)arg;
    if (why != NULL)
        (void)snprintf(told.why, sizeof told.why, "%s", why);
    atomic_fetch_add(why != NULL ? &told.lost : &told.found, 1);
}

static struct follow watching(void)
{
    memset(&told, 0, sizeof told);
    return (struct follow){.options = {.probe_ms = 50, .on_reach = on_reach}};
}

static void until_one(atomic_uint *count)
{
    for (int i = 0; i < WORLD_WAIT_S * 1000 && atomic_load(count) == 0; i++)
        (void)usleep(1000);
    assert_int_equal(atomic_load(count), 1);
}

static const char *unreached;

static void unreached_job(struct follow *follow)
{
    unreached = follower_unreached(follow->follower);
}

static bool is_unreached(struct follow *follow)
{
    follow_do(follow, unreached_job);
    return unreached != NULL;
}

static void expect_why(const char *address, const char *why)
{
    char text[256];
    (void)snprintf(text, sizeof text, "the owner at %s cannot be reached: %s", address, why);
    assert_string_equal(told.why, text);
}

TEST(an_owner_that_refuses_is_told_and_that_it_is_over)
{
    struct raw_owner owner = raw_start_at(0, -1);
    struct follow follow = watching();
    follow_start(&follow, owner.address);
    assert_false(is_unreached(&follow)); /* it may be changing */
    until_one(&told.lost);
    assert_true(is_unreached(&follow));
    expect_why(owner.address, "connection refused");
    assert_int_equal(listen(owner.fd, 16), 0);
    int far = raw_accept(&owner);
    raw_expect(far, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTocsin-Forwarded: n1\r\n"
                    "Connection: close\r\n\r\n");
    assert_true(is_unreached(&follow)); /* a connection is no answer */
    client_send(far, "HTTP/1.1 200 OK\r\n\r\n");
    until_one(&told.found);
    assert_false(is_unreached(&follow));
    assert_int_equal(atomic_load(&told.lost), 1);
    (void)close(far);
    follow_stop(&follow);
    (void)close(owner.fd);
}

TEST(an_owner_that_says_nothing_is_not_reached)
{
    struct raw_owner owner = raw_start(); /* the kernel accepts, and that is all */
    struct follow follow = watching();
    follow.options.connect_ms = 100;
    follow_start(&follow, owner.address);
    until_one(&told.lost);
    expect_why(owner.address, "it does not answer in time");
    follow_set(&follow, NULL); /* nothing is known of the next one */
    assert_false(is_unreached(&follow));
    assert_int_equal(atomic_load(&told.found), 0);
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* As when all nodes announce 127.0.0.1:7400. */
TEST(an_owner_that_is_none_is_not_reached)
{
    struct follow other = {0};
    struct follow follow = watching();
    follow_start(&other, NULL);
    follow_start(&follow, other.address);
    until_one(&told.lost);
    expect_why(other.address, "the node there does not own the records either; is its "
                              "cluster.address right?");
    follow_set(&follow, follow.address); /* nor is itself */
    assert_false(is_unreached(&follow));
    follow_stop(&follow);
    follow_stop(&other);
}

/* Also one that is not well: it says so itself. */
TEST(an_owner_that_answers_is_reached)
{
    static const char *const answers[] = {"200 OK", "503 Service Unavailable", "403 Forbidden"};
    struct raw_owner owner = raw_start();
    struct follow follow = watching();
    follow_start(&follow, owner.address);
    for (size_t i = 0; i < 6; i++) {
        int far = raw_accept(&owner);
        client_send(far, "HTTP/1.1 ");
        client_send(far, answers[i % 3]);
        client_send(far, "\r\n\r\n");
        (void)shutdown(far, SHUT_WR);
        (void)close(raw_accept(&owner)); /* once without an answer: not for long enough */
        (void)close(far);
    }
    assert_false(is_unreached(&follow));
    assert_int_equal(atomic_load(&told.lost) + atomic_load(&told.found), 0);
    follow_stop(&follow);
    (void)close(owner.fd);
}

/* It cannot be looked into; a connection must do. */
TEST(with_tls_a_connection_is_enough)
{
    struct raw_owner owner = raw_start();
    struct follow follow = watching();
    follow.options.tls = true;
    follow_start(&follow, owner.address);
    int far = raw_accept(&owner);
    char byte;
    assert_int_equal(recv(far, &byte, 1, 0), 0);
    (void)close(raw_accept(&owner));
    assert_false(is_unreached(&follow));
    (void)close(far);
    follow_stop(&follow);
    (void)close(owner.fd);
}
