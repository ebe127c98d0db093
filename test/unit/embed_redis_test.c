/* SPDX-License-Identifier: MIT */
/* A Redis in a program of one's own (tocsin/redis.h), real ones.. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tocsin/engine.h>
#include <tocsin/redis.h>

#include "runner.h"
#include "support/redis_server.h"

static const char *const plain[] = {NULL};

struct world {
    struct tocsin_renewals *renewals;
    struct tocsin_engine *engine;
    struct tocsin_why why;
};

static void prepare(struct world *world)
{
    assert_int_equal(tocsin_renewals_create(NULL, &world->renewals, &world->why), TOCSIN_OK);
    assert_int_equal(tocsin_redis_add(world->renewals, &world->why), TOCSIN_OK);
}

static void reach(struct world *world, const char *store, const struct redis_server *server,
                  unsigned database)
{
    char where[64];
    (void)snprintf(where, sizeof where, "redis://127.0.0.1:%u/%u", server->port, database);
    assert_int_equal(tocsin_renewals_reach(world->renewals, store, "redis", where, &world->why),
                     TOCSIN_OK);
}

static void begin(struct world *world)
{
    if (tocsin_engine_open(&(struct tocsin_engine_options){.renewals = world->renewals},
                           &world->engine, &world->why) != TOCSIN_OK)
        fail_msg("%s", world->why.text);
}

static void keep(struct world *world, const struct tocsin_renewal *renewal)
{
    if (tocsin_renewal_add(world->renewals, renewal, &world->why) != TOCSIN_OK)
        fail_msg("%s", world->why.text);
    assert_int_equal(tocsin_renewal_renew(world->renewals, renewal->id), TOCSIN_OK);
}

static void assert_lives(const struct redis_server *server, const char *command, long long about)
{
    long long left = redis_server_ask(server, NULL, command);
    if (left <= about - 30000 || left > about)
        fail_msg("%s: %lld ms", command, left);
}

TEST(a_program_keeps_keys_of_two_redis_servers_alive)
{
    struct world world;
    struct redis_server one;
    struct redis_server other;
    struct tocsin_renewal_metrics metrics;
    redis_server_start(&one, plain);
    redis_server_start(&other, plain);
    (void)redis_server_ask(&one, NULL, "MSET lock:1 me lock:2 me stay x");
    (void)redis_server_ask(&one, NULL, "PEXPIRE lock:1 60000");
    (void)redis_server_ask(&one, NULL, "PEXPIRE lock:2 60000");
    (void)redis_server_ask(&other, NULL, "SET a x PX 60000");
    prepare(&world);
    reach(&world, "default", &one, 0);
    reach(&world, "other", &other, 0);
    begin(&world);
    keep(&world, &(struct tocsin_renewal){.id = "locks", .prefix = "lock:", .ttl_ms = 600000});
    const char *const keys[] = {"a", "gone"};
    keep(&world, &(struct tocsin_renewal){
                     .id = "a", .keys = keys, .key_count = 2, .ttl_ms = 300000, .store = "other"});
    const char *const stay[] = {"stay"};
    keep(&world, &(struct tocsin_renewal){.id = "stay", .keys = stay, .key_count = 1});
    assert_lives(&one, "PTTL lock:1", 600000);
    assert_lives(&one, "PTTL lock:2", 600000);
    assert_lives(&other, "PTTL a", 300000);
    assert_int_equal(redis_server_ask(&one, NULL, "PTTL stay"), -1); /* */
    assert_int_equal(tocsin_renewal_describe(world.renewals, "a", &metrics), TOCSIN_OK);
    assert_int_equal(metrics.success, metrics.failure);
    assert_string_equal(metrics.why, "gone: missing");
    tocsin_engine_close(world.engine);
    redis_server_stop(&one);
    redis_server_stop(&other);
}

static bool count_key(void *arg, const char *key, size_t size)
{
    (void)key;
    (void)size;
    return ++*(unsigned *)arg > 0;
}

TEST(keys_of_a_redis_are_asked_by_hand)
{
    struct world world;
    struct redis_server server;
    unsigned found = 0;
    bool holds = false;
    redis_server_start(&server, plain);
    (void)redis_server_ask(&server, NULL, "MSET k1 one k2 two k3 three");
    (void)redis_server_ask(&server, NULL, "PEXPIRE k1 60000");
    prepare(&world);
    reach(&world, "default", &server, 0);
    begin(&world);
    struct tocsin_key keys[] = {
        {.at = "k1", .size = 2}, {.at = "k2", .size = 2}, {.at = "no", .size = 2}};
    assert_int_equal(tocsin_keys_ttl(world.renewals, NULL, keys, 3, &world.why), TOCSIN_OK);
    assert_true(keys[0].ttl_ms > 30000 && keys[0].ttl_ms <= 60000);
    assert_int_equal(keys[1].ttl_ms, -1);
    assert_int_equal(keys[2].ttl_ms, -2);
    struct tocsin_expiry expiry = {.ttl_ms = 500000, .owner = "one", .owner_size = 3};
    assert_int_equal(tocsin_keys_expire(world.renewals, NULL, &expiry, keys, 3, &world.why),
                     TOCSIN_OK);
    assert_int_equal(keys[0].result, TOCSIN_KEY_RENEWED);
    assert_int_equal(keys[1].result, TOCSIN_KEY_FOREIGN); /* */
    assert_int_equal(keys[2].result, TOCSIN_KEY_MISSING);
    assert_int_equal(tocsin_keys_holds(world.renewals, NULL, "k2", 2, "two", 3, &holds, &world.why),
                     TOCSIN_OK);
    assert_true(holds);
    assert_int_equal(tocsin_keys_scan(world.renewals, NULL, "k*", count_key, &found, &world.why),
                     TOCSIN_OK);
    assert_int_equal(found, 3);
    redis_server_kill(&server);
    assert_int_equal(tocsin_keys_expire(world.renewals, NULL, &expiry, keys, 1, &world.why),
                     TOCSIN_OK);
    assert_true(keys[0].result == TOCSIN_KEY_FAILED || keys[0].result == TOCSIN_KEY_UNKNOWN);
    assert_true(strlen(world.why.text) > 0);
    tocsin_engine_close(world.engine);
    redis_server_stop(&server);
}

/* */
TEST(a_place_that_nobody_says_is_the_one_of_the_environment)
{
    struct world world;
    struct redis_server server;
    char port[8];
    const char *const locked[] = {"--requirepass", "secret", NULL};
    redis_server_start(&server, locked);
    (void)redis_server_ask(&server, "secret", "SET a x PX 60000");
    (void)snprintf(port, sizeof port, "%u", server.port);
    (void)setenv("REDIS_HOST", "127.0.0.1", 1);
    (void)setenv("REDIS_PORT", port, 1);
    (void)setenv("REDIS_PASSWORD", "secret", 1);
    prepare(&world);
    (void)setenv("REDIS_PORT", "no port", 1);
    assert_int_equal(tocsin_redis_add(world.renewals, &world.why), TOCSIN_INVALID);
    assert_string_equal(world.why.text, "REDIS_PORT: no port is not a port");
    (void)unsetenv("REDIS_HOST");
    (void)unsetenv("REDIS_PORT");
    (void)unsetenv("REDIS_PASSWORD");
    assert_int_equal(tocsin_redis_add(world.renewals, &world.why), TOCSIN_CONFLICT);
    assert_int_equal(tocsin_renewals_reach(world.renewals, "default", NULL, NULL, &world.why),
                     TOCSIN_OK); /* the first provider is the one that was added */
    begin(&world);
    struct tocsin_key key = {.at = "a", .size = 1};
    assert_int_equal(tocsin_keys_expire(world.renewals, NULL,
                                        &(struct tocsin_expiry){.ttl_ms = 600000}, &key, 1,
                                        &world.why),
                     TOCSIN_OK);
    assert_int_equal(key.result, TOCSIN_KEY_RENEWED);
    tocsin_engine_close(world.engine);
    redis_server_stop(&server);
}

TEST(a_place_that_is_none_is_refused_when_the_engine_is_opened)
{
    struct world world;
    prepare(&world);
    assert_int_equal(
        tocsin_renewals_reach(world.renewals, "default", "redis", "localhost:6379", &world.why),
        TOCSIN_OK);
    assert_int_equal(tocsin_engine_open(&(struct tocsin_engine_options){.renewals = world.renewals},
                                        &world.engine, &world.why),
                     TOCSIN_INVALID);
    assert_string_equal(world.why.text,
                        "store default: must be redis://[[user]:password@]host[:port][/database]");
}
