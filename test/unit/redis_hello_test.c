/* SPDX-License-Identifier: MIT */
/* What the client of Redis says on each connect, when it tries again, and what it does when Redis
 * has forgotten a script.. */
#include "support/redis_world.h"

#include <unistd.h>

static const char *const scripts[] = {"return 1", "return redis.call('GET', KEYS[1])"};
static const char sha_of_return_1[] = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";

static struct redis_options all_options(void)
{
    return (struct redis_options){
        .user = "ada", .password = "se cret", .database = 3, .scripts = scripts, .script_count = 2};
}

static void expect_hello(struct peer *peer)
{
    peer_expect(peer, "AUTH ada se cret");
    peer_expect(peer, "SELECT 3");
    peer_expect(peer, "SCRIPT LOAD return 1");
    peer_expect(peer, "SCRIPT LOAD return redis.call('GET', KEYS[1])");
    peer_expect(peer, "PING");
}

static void answer_hello(struct peer *peer)
{
    peer_send(peer, "+OK\r\n+OK\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n");
}

/* ---- hello */

TEST(no_call_is_sent_before_redis_has_said_yes_to_all)
{
    struct redis_world world = {.options = all_options()};
    struct peer peer;
    char words[64];
    redis_world_start(&world);
    (void)redis_world_give(&world, "INCR a", LONG_MS);
    peer_accept(&world, &peer);
    expect_hello(&peer);
    peer_send(&peer, "+OK\r\n+OK\r\n$1\r\na\r\n$1\r\nb\r\n");
    for (unsigned i = 0; i < 50; i++) {
        redis_world_turn(&world);
        assert_false(peer_try_read(&peer, words, sizeof words));
        assert_false(redis_connected(world.redis));
    }
    peer_send(&peer, "+PONG\r\n");
    peer_expect(&peer, "INCR a");
    assert_int_equal(world.ups, 1);
    assert_int_equal(redis_world_stats(&world).connects, 1);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(all_of_it_is_said_again_after_a_reconnect)
{
    struct redis_world world = {.options = all_options()};
    struct peer peer;
    redis_world_start(&world);
    for (unsigned i = 0; i < 3; i++) {
        peer_accept(&world, &peer);
        expect_hello(&peer);
        answer_hello(&peer);
        (void)redis_world_give(&world, "INCR a", LONG_MS);
        peer_expect(&peer, "INCR a");
        peer_send(&peer, ":1\r\n");
        redis_world_until_done(&world, i + 1);
        peer_close(&peer);
    }
    redis_world_stop(&world);
}

TEST(without_a_user_there_is_only_the_password)
{
    struct redis_world world = {.options = {.password = "secret"}};
    struct peer peer;
    redis_world_start(&world);
    peer_accept(&world, &peer);
    peer_expect(&peer, "AUTH secret");
    peer_expect(&peer, "PING");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

/* The answers to a hello, of which one is a no. */
static void hello_refused(const char *answers, const char *words)
{
    struct redis_world world = {.options = all_options()};
    struct peer peer;
    redis_world_start(&world);
    (void)redis_world_give(&world, "INCR a", 500);
    for (unsigned i = 0; i < 3; i++) { /* it is tried again */
        peer_accept(&world, &peer);
        expect_hello(&peer);
        peer_send(&peer, answers);
        peer_expect_end(&peer);
    }
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_FAILED, words);
    assert_non_null(strstr(world.down_why, words));
    assert_null(strstr(world.down_why, "se cret"));
    assert_int_equal(world.ups, 0);
    assert_int_equal(world.downs, 1);
    redis_world_stop(&world);
}

TEST(a_no_to_the_hello_is_told_in_the_words_of_redis)
{
    hello_refused(
        "-WRONGPASS invalid username-password pair\r\n-NOAUTH Authentication required.\r\n",
        "WRONGPASS invalid username-password pair");
    hello_refused("+OK\r\n-ERR DB index is out of range\r\n", "ERR DB index is out of range");
    hello_refused("+OK\r\n+OK\r\n-LOADING Redis is loading the dataset in memory\r\n",
                  "LOADING Redis is loading the dataset in memory");
    hello_refused("+OK\r\n+OK\r\n$1\r\na\r\n$1\r\nb\r\n-MASTERDOWN Link with MASTER is down\r\n",
                  "MASTERDOWN Link with MASTER is down");
}

/* ---- when it tries again */

TEST(delays_double_up_to_the_limit_with_jitter)
{
    enum { FIRST = 8, CAP = 64, TRIES = 24 };
    struct redis_world world = {
        .options = {.retry_ms = FIRST, .retry_cap_ms = CAP, .seed = test_seed()}};
    struct peer peer;
    uint64_t told[TRIES], at_cap = 0, differ = 0;
    uint64_t from_ns = 0;
    redis_world_start(&world);
    for (unsigned i = 0; i < TRIES; i++) {
        peer_accept(&world, &peer); /* the first time at once */
        if (i > 0)
            assert_true(uv_hrtime() - from_ns >= (told[i - 1] - 1) * 1000000);
        assert_int_equal(redis_world_stats(&world).retry_ms, 0);
        from_ns = uv_hrtime();
        peer_reset(&peer);
        WORLD_UNTIL(&world, redis_world_stats(&world).retry_ms != 0);
        told[i] = redis_world_stats(&world).retry_ms;
        uint64_t most = i < 3 ? (uint64_t)FIRST << i : CAP;
        assert_in_range(told[i], most / 2, most);
        at_cap += i >= 3;
        differ += i > 3 && told[i] != told[i - 1];
    }
    assert_true(at_cap > 0 && differ >= 3);
    redis_world_stop(&world);
}

TEST(two_clients_do_not_come_back_together)
{
    struct redis_world world[2] = {{.options = {.retry_ms = 1000, .seed = 1}},
                                   {.options = {.retry_ms = 1000, .seed = 2}}};
    uint64_t told[2];
    for (unsigned i = 0; i < 2; i++) {
        struct peer peer;
        world[i].options.retry_cap_ms = 1000;
        redis_world_start(&world[i]);
        peer_accept(&world[i], &peer);
        peer_reset(&peer);
        WORLD_UNTIL(&world[i], redis_world_stats(&world[i]).retry_ms != 0);
        told[i] = redis_world_stats(&world[i]).retry_ms;
        redis_world_stop(&world[i]);
    }
    assert_int_not_equal(told[0], told[1]);
}

/* It says hello nicely each time, and leaves. */
TEST(a_server_that_leaves_after_each_hello_is_asked_with_delays)
{
    struct redis_world world = {.options = {.retry_ms = 4, .retry_cap_ms = 60000}};
    struct peer peer;
    redis_world_start(&world);
    uint64_t last = 0;
    for (unsigned i = 0; i < 6; i++) {
        peer_greet(&world, &peer);
        peer_close(&peer);
        WORLD_UNTIL(&world, redis_world_stats(&world).retry_ms != 0);
        last = redis_world_stats(&world).retry_ms;
    }
    assert_true(last >= 64);
    redis_world_stop(&world);
}

TEST(after_a_connection_that_answered_the_next_comes_at_once)
{
    struct redis_world world = {.options = {.retry_ms = 60000, .retry_cap_ms = 60000}};
    struct peer peer;
    redis_world_start(&world);
    for (unsigned i = 0; i < 3; i++) {
        peer_greet(&world, &peer); /* or it would take a minute */
        (void)redis_world_give(&world, "INCR a", LONG_MS);
        peer_expect(&peer, "INCR a");
        peer_send(&peer, ":1\r\n");
        redis_world_until_done(&world, i + 1);
        peer_close(&peer);
    }
    redis_world_stop(&world);
}

/* ---- scripts */

static void start_with_scripts(struct redis_world *world, struct peer *peer)
{
    world->options.scripts = scripts;
    world->options.script_count = 2;
    redis_world_start(world);
    peer_greet(world, peer);
}

static void expect_script(struct peer *peer, const char *word)
{
    char text[128];
    (void)snprintf(text, sizeof text, "EVALSHA %s 1 key %s", sha_of_return_1, word);
    peer_expect(peer, text);
}

TEST(a_script_is_called_by_its_sum)
{
    struct redis_world world = {0};
    struct peer peer;
    start_with_scripts(&world, &peer);
    (void)redis_world_give_script(&world, 0, "word", LONG_MS);
    expect_script(&peer, "word");
    peer_send(&peer, ":1\r\n");
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_ANSWERED, "");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_forgotten_script_is_loaded_once_and_run_again)
{
    struct redis_world world = {0};
    struct peer peer;
    start_with_scripts(&world, &peer);
    for (unsigned i = 0; i < 3; i++)
        (void)redis_world_give_script(&world, 0, (const char *[]){"a", "b", "c"}[i], LONG_MS);
    for (unsigned i = 0; i < 3; i++)
        expect_script(&peer, (const char *[]){"a", "b", "c"}[i]);
    peer_send(&peer, "-NOSCRIPT No matching script.\r\n-NOSCRIPT No\r\n-NOSCRIPT No\r\n");
    peer_expect(&peer, "SCRIPT LOAD return 1");
    for (unsigned i = 0; i < 3; i++)
        expect_script(&peer, (const char *[]){"a", "b", "c"}[i]);
    peer_send(&peer, "$1\r\nx\r\n:1\r\n:2\r\n-NOSCRIPT again\r\n");
    redis_world_until_done(&world, 3);
    for (unsigned i = 0; i < 2; i++) {
        call_expect(&world.calls[i], REDIS_ANSWERED, "");
        assert_int_equal(world.calls[i].value, i + 1);
    }
    call_expect(&world.calls[2], REDIS_REFUSED, "NOSCRIPT again");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

/* Redis has said that it did nothing, and it was not sent again. */
TEST(a_forgotten_script_that_is_not_sent_again_has_failed)
{
    struct redis_world world = {0};
    struct peer peer;
    start_with_scripts(&world, &peer);
    (void)redis_world_give_script(&world, 0, "a", 1000);
    expect_script(&peer, "a");
    (void)close(world.listener); /* nobody will take it */
    world.listener = -1;
    peer_send(&peer, "-NOSCRIPT No matching script.\r\n*x\r\n");
    redis_world_until_done(&world, 1);
    call_expect(&world.calls[0], REDIS_FAILED, "connection refused");
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(options_that_make_no_sense_are_refused)
{
    uv_loop_t uv;
    struct redis *redis = NULL;
    const char *const none[] = {""};
    assert_int_equal(uv_loop_init(&uv), 0);
    const struct redis_options bad[] = {
        {.host = NULL, .port = 1},
        {.host = "", .port = 1},
        {.host = "127.0.0.1"},
        {.host = "127.0.0.1", .port = 1, .scripts = none, .script_count = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(redis_create(&uv, &bad[i], &redis), TOCSIN_INVALID);
    assert_null(redis);
    assert_int_equal(uv_loop_close(&uv), 0);
}
