/* SPDX-License-Identifier: MIT */
/* The client against a real Redis: what it refuses, how it dies, and that each outcome is true.
 * */
#include "support/redis_world.h"

#include <signal.h>

#include "support/redis_server.h"

#define PLAIN ((const char *const[]){NULL})

static void start(struct redis_world *world, struct redis_server *server,
                  const char *const arguments[])
{
    redis_server_start(server, arguments);
    world->options.port = server->port;
    redis_world_start(world);
}

static void stop(struct redis_world *world, struct redis_server *server)
{
    redis_world_stop(world);
    redis_server_stop(server);
}

/* The next call, done. */
static struct kept_call *ask(struct redis_world *world, const char *words)
{
    struct kept_call *call = redis_world_give(world, words, LONG_MS);
    WORLD_UNTIL(world, call->times > 0);
    return call;
}

/* ---- what Redis wants to hear first */

TEST(a_password_is_said_and_a_wrong_one_is_told)
{
    struct redis_world world = {.options = {.password = "open sesame"}};
    struct redis_world wrong = {.options = {.password = "close sesame"}};
    struct redis_world none = {0};
    struct redis_server server;
    start(&world, &server, (const char *const[]){"--requirepass", "open sesame", NULL});
    wrong.options.port = none.options.port = server.port;
    call_expect(ask(&world, "SET a 1"), REDIS_ANSWERED, "OK");
    redis_world_start(&wrong);
    WORLD_UNTIL(&wrong, wrong.downs > 0);
    assert_non_null(strstr(wrong.down_why, "WRONGPASS"));
    redis_world_start(&none);
    (void)redis_world_give(&none, "GET a", 1000);
    WORLD_UNTIL(&none, none.done == 1);
    call_expect(&none.calls[0], REDIS_FAILED, "NOAUTH Authentication required");
    assert_int_equal(redis_server_ask(&server, "open sesame", "GET a"), 1);
    redis_world_stop(&wrong);
    redis_world_stop(&none);
    stop(&world, &server);
}

TEST(a_user_has_a_name_and_a_password)
{
    struct redis_world world = {.options = {.user = "ada", .password = "pw"}};
    struct redis_server server;
    start(&world, &server,
          (const char *const[]){"--user", "ada", "on", ">pw", "~mine:*", "+@all", NULL});
    call_expect(ask(&world, "SET mine:a 1"), REDIS_ANSWERED, "OK");
    call_expect(ask(&world, "SET other 1"), REDIS_REFUSED, "NOPERM");
    stop(&world, &server);
}

TEST(the_database_is_chosen_again_after_each_connect)
{
    struct redis_world world = {.options = {.database = 3}};
    struct redis_world wrong = {.options = {.database = 99}};
    struct redis_server server;
    start(&world, &server, PLAIN);
    for (unsigned i = 1; i <= 3; i++) {
        call_expect(ask(&world, "INCR a"), REDIS_ANSWERED, "");
        assert_int_equal(world.calls[i - 1].value, i);
        unsigned downs = world.downs;
        (void)redis_server_ask(&server, NULL, "CLIENT KILL TYPE normal SKIPME yes");
        WORLD_UNTIL(&world, world.downs > downs);
    }
    assert_int_equal(redis_server_ask(&server, NULL, "EXISTS a"), 0); /* in database 0 */
    wrong.options.port = server.port;
    redis_world_start(&wrong);
    WORLD_UNTIL(&wrong, wrong.downs > 0);
    assert_non_null(strstr(wrong.down_why, "DB index is out of range"));
    redis_world_stop(&wrong);
    stop(&world, &server);
}

/* ---- what Redis refuses */

TEST(a_redis_that_is_loading_is_waited_for)
{
    struct redis_world world = {0};
    struct redis_server server;
    redis_server_start(&server, PLAIN);
    (void)redis_server_ask(&server, NULL, "DEBUG POPULATE 3000 key 100");
    (void)redis_server_ask(&server, NULL, "SAVE");
    redis_server_kill(&server);
    redis_server_again(&server, (const char *const[]){"--key-load-delay", "300", NULL});
    world.options.port = server.port;
    redis_world_start(&world);
    struct kept_call *call = redis_world_give(&world, "DBSIZE", LONG_MS);
    WORLD_UNTIL(&world, world.downs > 0);
    assert_non_null(strstr(world.down_why, "LOADING Redis is loading"));
    WORLD_UNTIL(&world, call->times > 0);
    call_expect(call, REDIS_ANSWERED, "");
    assert_int_equal(call->value, 3000);
    stop(&world, &server);
}

TEST(a_replica_refuses_to_write)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server, (const char *const[]){"--replicaof", "127.0.0.1 1", NULL});
    call_expect(ask(&world, "SET a 1"), REDIS_REFUSED, "READONLY");
    call_expect(ask(&world, "GET a"), REDIS_ANSWERED, "");
    stop(&world, &server);
}

TEST(a_replica_without_data_is_no_redis)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server,
          (const char *const[]){"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no",
                                NULL});
    WORLD_UNTIL(&world, world.downs > 0);
    assert_non_null(strstr(world.down_why, "MASTERDOWN"));
    stop(&world, &server);
}

TEST(a_redis_without_memory_refuses_to_write)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server, (const char *const[]){"--maxmemory", "1", NULL});
    call_expect(ask(&world, "SET a 1"), REDIS_REFUSED, "OOM");
    call_expect(ask(&world, "GET a"), REDIS_ANSWERED, "");
    stop(&world, &server);
}

TEST(a_wrong_type_is_refused_and_the_connection_stays)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server, PLAIN);
    call_expect(ask(&world, "SET a text"), REDIS_ANSWERED, "OK");
    call_expect(ask(&world, "LPUSH a 1"), REDIS_REFUSED, "WRONGTYPE");
    call_expect(ask(&world, "INCR a"), REDIS_REFUSED, "not an integer");
    assert_int_equal(world.downs, 0);
    stop(&world, &server);
}

TEST(a_script_that_was_flushed_is_loaded_again)
{
    const char *const scripts[] = {"return redis.call('INCRBY', KEYS[1], ARGV[1])"};
    struct redis_world world = {.options = {.scripts = scripts, .script_count = 1}};
    struct redis_server server;
    start(&world, &server, PLAIN);
    for (unsigned i = 1; i <= 3; i++) {
        struct kept_call *call = redis_world_give_script(&world, 0, "5", LONG_MS);
        redis_world_until_done(&world, i);
        call_expect(call, REDIS_ANSWERED, "");
        assert_int_equal(call->value, 5 * i);
        (void)redis_server_ask(&server, NULL, "SCRIPT FLUSH");
    }
    stop(&world, &server);
}

/* ---- how it goes away */

TEST(a_redis_that_is_killed_leaves_what_flew_unknown_and_comes_back)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server, PLAIN);
    call_expect(ask(&world, "SET a 1"), REDIS_ANSWERED, "OK");
    struct kept_call *blocked = redis_world_give(&world, "BLPOP list 0", LONG_MS);
    struct kept_call *behind = redis_world_give(&world, "INCR a", LONG_MS);
    WORLD_UNTIL(&world, redis_world_stats(&world).flying == 2);
    redis_server_kill(&server);
    redis_world_until_done(&world, 3);
    call_expect(blocked, REDIS_UNKNOWN, "redis at 127.0.0.1:");
    call_expect(behind, REDIS_UNKNOWN, "redis at 127.0.0.1:");
    struct kept_call *failed = redis_world_give(&world, "INCR a", 500);
    struct kept_call *waits = redis_world_give(&world, "INCR a", LONG_MS);
    redis_world_until_done(&world, 4);
    call_expect(failed, REDIS_FAILED, "connection refused");
    redis_server_again(&server, PLAIN);
    redis_world_until_done(&world, 5);
    call_expect(waits, REDIS_ANSWERED, "");
    assert_int_equal(waits->value, 1); /* nothing was saved, and nothing came twice */
    stop(&world, &server);
}

TEST(a_killed_connection_is_unknown_and_comes_back_at_once)
{
    struct redis_world world = {.options = {.retry_ms = 60000, .retry_cap_ms = 60000}};
    struct redis_server server;
    start(&world, &server, PLAIN);
    call_expect(ask(&world, "SET a 1"), REDIS_ANSWERED, "OK");
    struct kept_call *blocked = redis_world_give(&world, "BLPOP list 0", LONG_MS);
    WORLD_UNTIL(&world, redis_world_stats(&world).flying == 1);
    (void)redis_server_ask(&server, NULL, "CLIENT KILL TYPE normal SKIPME yes");
    redis_world_until_done(&world, 2);
    call_expect(blocked, REDIS_UNKNOWN, "it closed the connection");
    call_expect(ask(&world, "GET a"), REDIS_ANSWERED, "1");
    stop(&world, &server);
}

/* The deadline passed, the outcome is unknown; and indeed it was done, later. */
TEST(what_is_unknown_may_be_done_yet)
{
    struct redis_world world = {0};
    struct redis_server server;
    start(&world, &server, PLAIN);
    call_expect(ask(&world, "SET a 1"), REDIS_ANSWERED, "OK");
    struct kept_call *sleeps = redis_world_give(&world, "DEBUG SLEEP 1.5", 500);
    struct kept_call *behind = redis_world_give(&world, "INCR a", LONG_MS);
    redis_world_until_done(&world, 3);
    call_expect(sleeps, REDIS_UNKNOWN, "no answer in time");
    call_expect(behind, REDIS_UNKNOWN, "no answer in time");
    call_expect(ask(&world, "GET a"), REDIS_ANSWERED, "2");
    stop(&world, &server);
}

TEST(a_stopped_redis_leaves_what_flew_unknown_and_the_rest_unsent)
{
    struct redis_world world = {.options = {.connect_ms = 200}};
    struct redis_server server;
    start(&world, &server, PLAIN);
    call_expect(ask(&world, "SET a 0"), REDIS_ANSWERED, "OK");
    redis_server_signal(&server, SIGSTOP);
    struct kept_call *flew = redis_world_give(&world, "GET a", 500);
    redis_world_until_done(&world, 2);
    call_expect(flew, REDIS_UNKNOWN, "no answer in time");
    /* The kernel takes connections for it, but nobody says hello. */
    struct kept_call *failed = redis_world_give(&world, "INCR a", 300);
    redis_world_until_done(&world, 3);
    call_expect(failed, REDIS_FAILED, "no answer in time");
    struct kept_call *waits = redis_world_give(&world, "INCR a", LONG_MS);
    redis_server_signal(&server, SIGCONT);
    redis_world_until_done(&world, 4);
    call_expect(waits, REDIS_ANSWERED, "");
    assert_int_equal(waits->value, 1); /* the failed one never came */
    stop(&world, &server);
}

/* Whatever is killed: Redis has counted all that were answered, and nothing that failed. */
TEST(redis_agrees_with_the_outcomes)
{
    struct redis_world world = {.options = {.calls_max = 400}};
    struct redis_server server;
    struct test_random random = {test_seed()};
    start(&world, &server, PLAIN);
    uint64_t rounds = test_effort(100) + 20;
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned count = (unsigned)test_random_below(&random, 150);
        bool kill = test_random_below(&random, 3) == 0;
        redisContext *sleeper = kill ? redis_server_tell(&server, "DEBUG SLEEP 0.01") : NULL;
        for (unsigned j = 0; j < count; j++)
            (void)redis_world_give(&world, "INCR a", LONG_MS);
        for (uint64_t turns = test_random_below(&random, 4); turns > 0; turns--)
            (void)uv_run(&world.uv, UV_RUN_NOWAIT);
        if (!kill)
            continue;
        (void)redis_server_ask(&server, NULL, "CLIENT KILL TYPE normal SKIPME yes");
        redisFree(sleeper);
    }
    WORLD_UNTIL(&world, world.done == world.given);
    struct redis_stats stats = redis_world_stats(&world);
    long long value = redis_server_ask(&server, NULL, "GET a");
    print_message("answered %u, failed %u, unknown %u; redis has counted %lld\n",
                  (unsigned)stats.answered, (unsigned)stats.failed, (unsigned)stats.unknown, value);
    assert_true(stats.answered > 0);
    assert_true(value >= (long long)stats.answered);
    assert_true(value <= (long long)(stats.answered + stats.unknown));
    stop(&world, &server);
}
