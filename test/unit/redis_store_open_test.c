/* SPDX-License-Identifier: MIT */
/* Which Redis may be a store, and what is said of one that may not. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/redis_store_world.h"

static const char *const no_more[] = {NULL};

static void must_not_open(const struct store_redis_options *options, enum tocsin_status status,
                          const char *words)
{
    struct store_node node = {0};
    struct store_redis_options quick = *options;
    quick.outage_ms = 100;
    enum tocsin_status got = store_redis_open(&quick, &node.store, &node.state, &node.why);
    assert_says(&node, words);
    assert_int_equal(got, status);
    assert_null(node.store);
}

static void must_not_open_with(const char *const arguments[], const char *words)
{
    struct redis_server server;
    redis_server_start(&server, arguments);
    struct store_redis_options options = store_node_options(server.port, "one");
    must_not_open(&options, TOCSIN_INVALID, words);
    assert_true(redis_server_ask(&server, NULL, "EXISTS tocsin:{p0}:meta") <= 0);
    redis_server_stop(&server);
}

TEST(a_redis_that_would_throw_records_away_is_refused)
{
    static const char *const evicting[] = {"--maxmemory", "100mb", "--maxmemory-policy",
                                           "allkeys-lru", NULL};
    static const char *const keeping[] = {"--maxmemory", "100mb", "--maxmemory-policy",
                                          "noeviction", NULL};
    static const char *const unlimited[] = {"--maxmemory-policy", "allkeys-lru", NULL};
    must_not_open_with(evicting, "Redis may throw records away: set maxmemory-policy noeviction");
    for (int i = 0; i < 2; i++) {
        struct redis_server server;
        struct store_node node;
        redis_server_start(&server, i == 0 ? keeping : unlimited);
        store_node_open(&node, server.port, "one");
        store_node_close(&node);
        redis_server_stop(&server);
    }
}

static int listen_somewhere(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return listener;
}

TEST(a_cluster_and_a_replica_are_refused)
{
    uint16_t port;
    char bus[8];
    (void)close(listen_somewhere(&port));
    (void)snprintf(bus, sizeof bus, "%u", (unsigned)port);
    const char *const cluster[] = {"--cluster-enabled", "yes", "--cluster-port", bus, NULL};
    static const char *const replica[] = {"--replicaof", "127.0.0.1 1", NULL};
    must_not_open_with(cluster, "Redis Cluster");
    must_not_open_with(replica, "this Redis is a replica, which takes no writes: name its master, "
                                "127.0.0.1 port 1");
}

static void must_forbid(const char *rule, const char *words)
{
    struct redis_server server;
    char command[160];
    redis_server_start(&server, no_more);
    (void)snprintf(command, sizeof command, "ACL SETUSER clerk on >word ~* &* +@all %s", rule);
    (void)redis_server_ask(&server, NULL, command);
    struct store_redis_options options = store_node_options(server.port, "one");
    options.where.user = bytes_of("clerk");
    options.where.password = bytes_of("word");
    struct store_node node = {0};
    options.outage_ms = 100;
    enum tocsin_status status = store_redis_open(&options, &node.store, &node.state, &node.why);
    assert_true(status == TOCSIN_INVALID || status == TOCSIN_UNAVAILABLE);
    assert_says(&node, words);
    assert_int_equal(redis_server_ask(&server, NULL, "EXISTS tocsin:{p0}:meta"), 0);
    redis_server_stop(&server);
}

/* What a commit needs is tried before the first one, not found out half way. */
TEST(a_user_who_may_not_do_all_that_is_needed_is_refused_at_the_start)
{
    must_forbid("-info", "INFO");
    must_forbid("-xadd", "Redis refuses XADD");
    must_forbid("-zremrangebyscore", "Redis refuses ZREMRANGEBYSCORE");
    must_forbid("-hdel", "Redis refuses HDEL");
    must_forbid("-set", "Redis refuses SET");
    must_forbid("-zadd", "Redis refuses ZADD");
    must_forbid("-xtrim", "Redis refuses XTRIM");
    must_forbid("-eval", "EVAL");
    must_forbid("resetkeys ~countdown:*", "NOPERM");
}

/* Names beside the records are tried, too, and nothing is left of it; also in a Redis that is full. */
TEST(a_user_who_may_not_write_mirrors_is_refused_at_the_start)
{
    static const char *const full[] = {"--maxmemory", "1", "--maxmemory-policy", "noeviction",
                                       NULL};
    static const struct store_redis_probe probes[] = {{"seen:x:1", "seen:*"},
                                                      {"other:1", "other:*"}};
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, full);
    (void)redis_server_ask(&server, NULL,
                           "ACL SETUSER clerk on >word ~tocsin:{p0}:* ~seen:* +@all");
    struct store_redis_options options = store_node_options(server.port, "one");
    options.where.user = bytes_of("clerk");
    options.where.password = bytes_of("word");
    options.probes = probes;
    options.probe_count = 2;
    must_not_open(&options, TOCSIN_INVALID, "this Redis user may not write other:* (SET)");
    assert_int_equal(redis_server_ask(&server, NULL, "DBSIZE"), 0);
    (void)redis_server_ask(&server, NULL, "ACL SETUSER clerk ~other:*");
    store_node_open_with(&node, &options);
    assert_int_equal(redis_server_ask(&server, NULL, "DBSIZE"), 1); /* meta */
    store_node_close(&node);
    store_node_open_with(&node, &options); /* the books are as they were */
    assert_int_equal(node.state.epoch, 2);
    store_node_close(&node);
    redis_server_stop(&server);
}

TEST(a_wrong_password_is_told_at_once_in_the_words_of_redis)
{
    static const char *const guarded[] = {"--requirepass", "right", NULL};
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, guarded);
    struct store_redis_options options = store_node_options(server.port, "one");
    must_not_open(&options, TOCSIN_INVALID, "NOAUTH");
    options.where.password = bytes_of("wrong");
    must_not_open(&options, TOCSIN_INVALID, "WRONGPASS");
    options.where.password = bytes_of("right");
    options.where.database = 3;
    store_node_open_with(&node, &options);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    store_node_close(&node);
    redis_server_kill(&server);
    must_not_open(&options, TOCSIN_UNAVAILABLE, "cannot reach Redis at 127.0.0.1");
    redis_server_again(&server, guarded);
    redis_server_stop(&server);
}

/* Says yes to what comes first, and then that it is an old Redis. */
static void *play_an_old_redis(void *arg)
{
    static const char info[] = "# Server\r\nredis_version:5.0.14\r\nredis_mode:standalone\r\n";
    char text[512];
    char piece[512];
    int client = accept(*(int *)arg, NULL, NULL);
    int size = snprintf(text, sizeof text, "$%zu\r\n%s\r\n", sizeof info - 1, info);
    for (ssize_t got; (got = recv(client, piece, sizeof piece, 0)) > 0;) {
        bool asks = memmem(piece, (size_t)got, "INFO", 4) != NULL;
        const char *answer = asks ? text : "+OK\r\n";
        (void)!send(client, answer, asks ? (size_t)size : 5, MSG_NOSIGNAL);
    }
    (void)close(client);
    return NULL;
}

TEST(a_redis_that_is_too_old_is_refused)
{
    uint16_t port;
    int listener = listen_somewhere(&port);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play_an_old_redis, &listener), 0);
    struct store_redis_options options = store_node_options(port, "one");
    must_not_open(&options, TOCSIN_INVALID, "too old: it is 5.0.14, 6.0 is needed");
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(listener);
}

static void must_promise(const char *const arguments[], const char *rule, const char *words)
{
    struct redis_server server;
    struct store_node node;
    char text[STORE_REDIS_DURABILITY_BYTES];
    redis_server_start(&server, arguments);
    struct store_redis_options options = store_node_options(server.port, "one");
    if (rule != NULL) {
        (void)redis_server_ask(&server, NULL, rule);
        options.where.user = bytes_of("clerk");
        options.where.password = bytes_of("word");
    }
    store_node_open_with(&node, &options);
    store_redis_durability(node.store, text, sizeof text);
    if (strncmp(text, words, strlen(words)) != 0)
        fail_msg("it says \"%s\", not \"%s\"", text, words);
    store_node_close(&node);
    redis_server_stop(&server);
}

TEST(it_is_said_what_redis_does_for_the_records)
{
    static const char *const always[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    static const char *const second[] = {"--appendonly", "yes", "--appendfsync", "everysec", NULL};
    static const char *const never[] = {"--appendonly", "yes", "--appendfsync", "no", NULL};
    static const char *const saved[] = {"--save", "3600 1", NULL};
    static const char rule[] = "ACL SETUSER clerk on >word ~* &* +@all -config";
    must_promise(always, NULL, "every commit is synced");
    must_promise(second, NULL, "up to a second may be lost when Redis's machine fails");
    must_promise(never, NULL, "half a minute may be lost");
    must_promise(no_more, NULL, "nothing is kept when Redis stops: no appendonly file");
    must_promise(saved, NULL, "what came after the last save is lost when Redis stops");
    must_promise(always, rule, "not known");
    must_promise(no_more, rule, "not known");
}

/* A follower looks, and the owner stays the owner. */
TEST(records_are_counted_without_taking_over)
{
    struct redis_server server;
    struct store_node node;
    uint64_t count = 99;
    struct tocsin_why why = {""};
    redis_server_start(&server, no_more);
    struct store_redis_options options = store_node_options(server.port, "two");
    assert_int_equal(store_redis_count(&options, &count, &why), TOCSIN_OK);
    assert_int_equal(count, 0);
    store_node_open(&node, server.port, "one");
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    assert_int_equal(store_redis_count(&options, &count, &why), TOCSIN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(store_node_put(&node, 2), TOCSIN_OK);
    store_node_close(&node);
    redis_server_kill(&server);
    assert_int_equal(store_redis_count(&options, &count, &why), TOCSIN_UNAVAILABLE);
    assert_int_equal(count, 1);
    assert_non_null(strstr(why.text, "cannot reach Redis"));
    redis_server_again(&server, no_more);
    redis_server_stop(&server);
}

TEST(a_form_of_another_version_is_left_alone)
{
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, no_more);
    struct store_redis_options options = store_node_options(server.port, "one");
    store_node_open_with(&node, &options);
    (void)redis_server_ask(&server, NULL, "HSET tocsin:{p0}:meta version 2");
    must_not_open(&options, TOCSIN_INVALID, "a form that this tocsin does not know (2)");
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK); /* nobody took over */
    store_node_close(&node);
    redis_server_stop(&server);
}
