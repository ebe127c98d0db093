/* SPDX-License-Identifier: MIT */
/* The provider `redis` of renewals: which commands a job becomes, and what is told of each key.
 * Redis is played where its words matter, and real where its
 * deeds do. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/redis_keys/redis_keys.h"
#include "support/redis_world.h"

enum { ITEMS = 8, TIMEOUT_MS = 20000 };

struct keys_world {
    struct redis_world net; /* its listener, for the peer */
    struct peer peer;
    struct redis_server server;
    struct redis_keys *keys;
    struct key_client client;
    atomic_int posts;
    unsigned ups;
    unsigned downs;
    char why[200];
};

struct kept_job {
    struct key_job job; /* first */
    struct key_item items[ITEMS];
    unsigned times;
};

static void post(void *arg)
{
    atomic_fetch_add(&((struct keys_world *)arg)->posts, 1);
}

static void told(void *arg, const char *name, bool connected, const char *why)
{
    struct keys_world *world = arg;
    assert_string_equal(name, "main");
    world->ups += connected;
    world->downs += !connected;
    (void)snprintf(world->why, sizeof world->why, "%s", why);
}

static void start_at(struct keys_world *world, uint16_t port)
{
    assert_int_equal(uv_loop_init(&world->net.uv), 0);
    world->server = (struct redis_server){
        .name = "main", .host = "127.0.0.1", .port = port, .user = "", .password = ""};
    assert_int_equal(redis_keys_create(
                         &(struct redis_keys_options){
                             .timeout_ms = TIMEOUT_MS, .seed = 1, .post = post, .arg = world},
                         &world->keys),
                     TOCSIN_OK);
    assert_int_equal(redis_keys_add(world->keys, &world->server, &world->client), TOCSIN_OK);
}

static void start(struct keys_world *world)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    world->net.listener = fd;
    start_at(world, ntohs(at.sin_port));
}

static void stop(struct keys_world *world)
{
    redis_keys_stop(world->keys, 0);
    redis_keys_join(world->keys);
    redis_keys_take(world->keys, NULL, NULL);
    redis_keys_destroy(world->keys);
    if (world->net.listener > 0)
        (void)close(world->net.listener);
    assert_int_equal(uv_loop_close(&world->net.uv), 0);
}

static void greet(struct keys_world *world)
{
    char words[2048] = "";
    peer_accept(&world->net, &world->peer);
    while (strcmp(words, "PING") != 0) {
        peer_read(&world->peer, words, sizeof words);
        peer_send(&world->peer, strcmp(words, "PING") == 0 ? "+PONG\r\n" : "+OK\r\n");
    }
}

static void done(struct key_job *job)
{
    ((struct kept_job *)job)->times++;
}

/* Keys by their names, split at blanks. */
static void give(struct keys_world *world, struct kept_job *kept, const char *names)
{
    kept->job.items = kept->items;
    kept->job.done = done;
    while (*names != '\0') {
        size_t size = strcspn(names, " ");
        kept->items[kept->job.count++].key = (struct bytes){names, size};
        names += size + (names[size] == ' ');
    }
    world->client.give(world->client.self, &kept->job);
    world->client.flush(world->client.self);
}

/* Until it has been counted so far; fails when it does not come. */
static void until(struct keys_world *world, const unsigned *count, unsigned wanted)
{
    uint64_t until_ns = uv_hrtime() + WORLD_WAIT_S * UINT64_C(1000000000);
    while (*count < wanted) {
        assert_true(uv_hrtime() < until_ns);
        redis_keys_take(world->keys, told, world);
        (void)usleep(200);
    }
    assert_int_equal(*count, wanted);
}

static void until_done(struct keys_world *world, const struct kept_job *kept)
{
    until(world, &kept->times, 1);
}

/* What Redis is told and says, a line each: "PEXPIRE k 5000 GT", ":1", … */
static void play(struct keys_world *world, const char *const *lines)
{
    for (; *lines != NULL; lines += 2) {
        char answer[256];
        peer_expect(&world->peer, lines[0]);
        (void)snprintf(answer, sizeof answer, "%s\r\n", lines[1]);
        peer_send(&world->peer, answer);
    }
}

/* */
TEST(a_key_is_renewed_and_what_says_no_is_told_apart)
{
    static const struct {
        bool may_shorten, may_limit;
        int64_t ttl_ms;
        const char *lines[9];
        enum key_result result;
    } cases[] = {
        {false, false, 5000, {"PEXPIRE k 5000 GT", ":1"}, KEY_RENEWED},
        {false, false, 5000, {"PEXPIRE k 5000 GT", ":0", "PTTL k", ":-2"}, KEY_MISSING},
        {false, false, 5000, {"PEXPIRE k 5000 GT", ":0", "PTTL k", ":-1"}, KEY_PERSISTENT},
        {false, false, 5000, {"PEXPIRE k 5000 GT", ":0", "PTTL k", ":6000"}, KEY_LONGER},
        {false,
         false,
         5000,
         {"PEXPIRE k 5000 GT", ":0", "PTTL k", ":4999", "PEXPIRE k 5000 GT", ":1"},
         KEY_RENEWED},
        {false,
         true,
         5000,
         {"PEXPIRE k 5000 GT", ":0", "PTTL k", ":-1", "PEXPIRE k 5000 NX", ":1"},
         KEY_RENEWED},
        {true, false, 5000, {"PEXPIRE k 5000 XX", ":1"}, KEY_RENEWED},
        {true, false, 5000, {"PEXPIRE k 5000 XX", ":0", "PTTL k", ":-1"}, KEY_PERSISTENT},
        {true, true, 5000, {"PEXPIRE k 5000", ":1"}, KEY_RENEWED},
        {true, true, 5000, {"PEXPIRE k 5000", ":0", "PTTL k", ":-2"}, KEY_MISSING},
        {true, true, 0, {"PEXPIRE k 1", ":1"}, KEY_RENEWED}, /* never 0: that would delete it */
        {false, false, 5000, {"PEXPIRE k 5000 GT", "-READONLY no"}, KEY_REFUSED},
        {false, false, 5000, {"PEXPIRE k 5000 GT", "+what"}, KEY_REFUSED},
        {false, false, 5000, {"PEXPIRE k 5000 GT", ":0", "PTTL k", "-NOAUTH no"}, KEY_REFUSED},
    };
    struct keys_world world = {0};
    start(&world);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kept_job kept = {.job = {.verb = KEY_EXPIRE,
                                        .ttl_ms = cases[i].ttl_ms,
                                        .may_shorten = cases[i].may_shorten,
                                        .may_limit = cases[i].may_limit}};
        give(&world, &kept, "k");
        if (i == 0)
            greet(&world);
        play(&world, cases[i].lines);
        until_done(&world, &kept);
        if (kept.items[0].result != cases[i].result)
            fail_msg("case %zu: %s", i, key_result_names[kept.items[0].result]);
        assert_int_equal(kept.job.why[0] != '\0', cases[i].result == KEY_REFUSED);
    }
    stop(&world);
}

/* */
TEST(each_key_of_a_job_has_its_own_result)
{
    struct keys_world world = {0};
    struct kept_job kept = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    struct kept_job after = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    start(&world);
    give(&world, &kept, "a b c d");
    greet(&world);
    play(&world, (const char *const[]){"PEXPIRE a 9 GT", ":1", "PEXPIRE b 9 GT", "-OOM full",
                                       "PEXPIRE c 9 GT", ":0", NULL});
    peer_expect(&world.peer, "PEXPIRE d 9 GT");
    peer_expect(&world.peer, "PTTL c");
    peer_close(&world.peer);
    until_done(&world, &kept);
    assert_int_equal(kept.items[0].result, KEY_RENEWED);
    assert_int_equal(kept.items[1].result, KEY_REFUSED);
    assert_int_equal(kept.items[2].result, KEY_UNKNOWN);
    assert_int_equal(kept.items[3].result, KEY_UNKNOWN);
    assert_string_equal(kept.job.why, "main: OOM full");
    give(&world, &after, "a");
    greet(&world); /* it comes back */
    play(&world, (const char *const[]){"PEXPIRE a 9 GT", ":1", NULL});
    until_done(&world, &after);
    assert_int_equal(after.items[0].result, KEY_RENEWED);
    stop(&world);
}

TEST(a_redis_that_knows_no_gt_gets_the_script)
{
    struct keys_world world = {0};
    struct kept_job first = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    struct kept_job second = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9, .may_limit = true}};
    char words[256];
    start(&world);
    give(&world, &first, "k");
    greet(&world);
    play(&world,
         (const char *const[]){"PEXPIRE k 9 GT",
                               "-ERR wrong number of arguments for 'pexpire' command", NULL});
    peer_read(&world.peer, words, sizeof words);
    assert_memory_equal(words, "EVALSHA ", 8);
    assert_non_null(strstr(words, " 1 k 9 0 0 0 "));
    peer_send(&world.peer, ":-2\r\n");
    until_done(&world, &first);
    assert_int_equal(first.items[0].result, KEY_LONGER);
    give(&world, &second, "k");
    peer_read(&world.peer, words, sizeof words);
    assert_non_null(strstr(words, " 1 k 9 0 1 0 "));
    peer_send(&world.peer, ":1\r\n");
    until_done(&world, &second);
    assert_int_equal(second.items[0].result, KEY_RENEWED);
    stop(&world);
}

TEST(a_scan_a_test_and_a_look_at_lives)
{
    struct keys_world world = {0};
    struct kept_job scan = {.job = {.verb = KEY_SCAN, .pattern = bytes_of("a*"), .page = 10}};
    struct kept_job there = {.job = {.verb = KEY_TEST}};
    struct kept_job value = {.job = {.verb = KEY_TEST, .value = bytes_of("go")}};
    struct kept_job list = {.job = {.verb = KEY_TEST, .value = bytes_of("go")}};
    struct kept_job lives = {.job = {.verb = KEY_TTL}};
    start(&world);
    buffer_init(&scan.job.found, 1000);
    give(&world, &scan, "");
    greet(&world);
    play(&world, (const char *const[]){"SCAN 0 MATCH a* COUNT 10",
                                       "*2\r\n$2\r\n17\r\n*2\r\n$2\r\na1\r\n$2\r\na2", NULL});
    until_done(&world, &scan);
    struct key_walk walk = {scan.job.found.data, (char *)scan.job.found.data + scan.job.found.size};
    struct bytes key;
    assert_int_equal(scan.job.whole, KEY_RENEWED);
    assert_int_equal(scan.job.cursor, 17);
    assert_true(key_walk_next(&walk, &key) && bytes_are(key, "a1"));
    assert_true(key_walk_next(&walk, &key) && bytes_are(key, "a2"));
    assert_false(key_walk_next(&walk, &key));
    buffer_release(&scan.job.found);
    give(&world, &there, "k");
    play(&world, (const char *const[]){"EXISTS k", ":1", NULL});
    until_done(&world, &there);
    assert_true(there.job.whole == KEY_RENEWED && there.job.holds);
    give(&world, &value, "k");
    play(&world, (const char *const[]){"GET k", "$2\r\nno", NULL});
    until_done(&world, &value);
    assert_true(value.job.whole == KEY_RENEWED && !value.job.holds);
    give(&world, &list, "k");
    play(&world, (const char *const[]){"GET k", "-WRONGTYPE it is a list", NULL});
    until_done(&world, &list);
    assert_true(list.job.whole == KEY_RENEWED && !list.job.holds);
    give(&world, &lives, "a b");
    play(&world, (const char *const[]){"PTTL a", ":77", "PTTL b", ":-1", NULL});
    until_done(&world, &lives);
    assert_int_equal(lives.items[0].ttl_ms, 77);
    assert_int_equal(lives.items[1].ttl_ms, -1);
    stop(&world);
}

TEST(what_becomes_of_the_connection_is_told_once)
{
    struct keys_world world = {0};
    struct kept_job kept = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    struct kept_job again = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    start(&world);
    assert_false(world.client.reached(world.client.self));
    give(&world, &kept, "k");
    greet(&world);
    play(&world, (const char *const[]){"PEXPIRE k 9 GT", ":1", NULL});
    until_done(&world, &kept);
    assert_true(world.client.reached(world.client.self));
    assert_int_equal(world.ups, 1);
    assert_int_equal(world.downs, 0);
    assert_true(atomic_load(&world.posts) > 0);
    peer_close(&world.peer);
    until(&world, &world.downs, 1);
    assert_true(world.why[0] != '\0');
    give(&world, &again, "k");
    greet(&world);
    play(&world, (const char *const[]){"PEXPIRE k 9 GT", ":1", NULL});
    until_done(&world, &again);
    until(&world, &world.ups, 2);
    stop(&world);
}

/* an answer that comes in time counts; one that does not is given up; nothing is lost. */
TEST(a_stop_waits_for_answers_as_long_as_it_was_told)
{
    for (int answers = 0; answers < 2; answers++) {
        struct keys_world world = {0};
        struct kept_job kept = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
        struct kept_job late = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
        start(&world);
        give(&world, &kept, "k");
        greet(&world);
        peer_expect(&world.peer, "PEXPIRE k 9 GT");
        redis_keys_stop(world.keys, answers ? TIMEOUT_MS : 50);
        give(&world, &late, "k"); /* fails at once */
        for (int i = 0; answers && i < 200; i++) {
            char byte;
            redis_world_turn(&world.net);
            assert_int_equal(recv(world.peer.fd, &byte, 1, MSG_PEEK), -1); /* it is still there */
        }
        if (answers)
            peer_send(&world.peer, ":1\r\n");
        redis_keys_join(world.keys);
        redis_keys_take(world.keys, told, &world);
        assert_int_equal(kept.times, 1);
        assert_int_equal(late.times, 1);
        assert_int_equal(kept.items[0].result, answers ? KEY_RENEWED : KEY_UNKNOWN);
        assert_int_equal(late.items[0].result, KEY_FAILED);
        redis_keys_destroy(world.keys);
        (void)close(world.net.listener);
        (void)close(world.peer.fd);
        assert_int_equal(uv_loop_close(&world.net.uv), 0);
    }
}

/* whatever the thread is at when it is told to stop. */
TEST(no_job_is_lost_that_was_given_just_before_the_stop)
{
    enum { JOBS = 2, MOMENTS = 200 };
    uint64_t rounds = test_effort(2000);
    for (uint64_t round = 0; round < rounds; round++) {
        struct keys_world world = {0};
        struct kept_job kept[JOBS] = {0};
        start_at(&world, 1); /* nobody is there */
        for (unsigned i = 0; i < JOBS; i++) {
            /* The thread wakes up and connects meanwhile: each round finds it elsewhere. */
            uint64_t until_ns = uv_hrtime() + (i > 0 ? round % MOMENTS * 1000 : 0);
            while (uv_hrtime() < until_ns)
                ;
            kept[i].job.verb = KEY_EXPIRE;
            give(&world, &kept[i], "a");
        }
        redis_keys_stop(world.keys, 0);
        redis_keys_join(world.keys);
        redis_keys_take(world.keys, NULL, NULL);
        for (unsigned i = 0; i < JOBS; i++)
            assert_int_equal(kept[i].times, 1);
        redis_keys_destroy(world.keys);
        assert_int_equal(uv_loop_close(&world.net.uv), 0);
    }
}

/* R-09, law 7: a crowd's answers are told in slices, and the last take of all misses none. */
TEST(many_jobs_that_are_done_are_taken_in_slices)
{
    enum { JOBS = 1000, SLICE = 128 };
    static struct kept_job kept[JOBS];
    struct keys_world world = {0};
    unsigned taken = 0;
    bool more = true;
    start_at(&world, 1); /* nobody is there */
    for (unsigned i = 0; i < JOBS; i++) {
        kept[i] = (struct kept_job){.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
        give(&world, &kept[i], "a");
    }
    redis_keys_stop(world.keys, 0);
    redis_keys_join(world.keys);
    while (more) {
        unsigned before = taken;
        more = redis_keys_take(world.keys, NULL, NULL);
        taken = 0;
        for (unsigned i = 0; i < JOBS; i++)
            taken += kept[i].times;
        assert_in_range(taken - before, 1, SLICE);
    }
    assert_int_equal(taken, JOBS);
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(kept[i].times, 1);
    redis_keys_destroy(world.keys);
    assert_int_equal(uv_loop_close(&world.net.uv), 0);
}

TEST(a_redis_that_is_not_there_is_a_failure_of_every_key)
{
    struct keys_world world = {0};
    struct kept_job kept = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 9}};
    start(&world);
    uint16_t port = world.server.port;
    stop(&world); /* the port is free now */
    world = (struct keys_world){0};
    start_at(&world, port);
    give(&world, &kept, "a b");
    redis_keys_stop(world.keys, 0);
    until_done(&world, &kept);
    assert_int_equal(kept.items[0].result, KEY_FAILED);
    assert_int_equal(kept.items[1].result, KEY_FAILED);
    assert_memory_equal(kept.job.why, "main: ", 6);
    stop(&world);
}

/* ---- a real one */

struct real {
    pid_t pid;
    uint16_t port;
    redisContext *redis;
};

static bool spawn(struct real *real)
{
    char text[8];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    (void)close(fd);
    real->port = ntohs(at.sin_port);
    (void)snprintf(text, sizeof text, "%u", real->port);
    real->pid = fork();
    assert_true(real->pid >= 0);
    if (real->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a test fails */
        (void)execlp("redis-server", "redis-server", "--port", text, "--bind", "127.0.0.1",
                     "--save", "", "--appendonly", "no", "--dir", "/tmp", "--logfile", "/dev/null",
                     (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 3000; i++) {
        if (waitpid(real->pid, NULL, WNOHANG) == real->pid)
            return false; /* the port was taken, or there is none */
        real->redis = redisConnect("127.0.0.1", real->port);
        if (real->redis != NULL && real->redis->err == 0)
            return true;
        redisFree(real->redis);
        (void)usleep(10000);
    }
    return false;
}

static void real_start(struct real *real)
{
    for (int i = 0; i < 5; i++) {
        if (spawn(real))
            return;
    }
    fail_msg("redis-server does not start");
}

static void real_stop(struct real *real)
{
    redisFree(real->redis);
    (void)kill(real->pid, SIGKILL);
    (void)waitpid(real->pid, NULL, 0);
}

static long long say(struct real *real, const char *words)
{
    redisReply *reply = redisCommand(real->redis, words);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return number;
}

/* with an owner and without one, by each policy, the same; and nothing is touched that
 * must not be. */
TEST(a_real_redis_does_the_same_by_script_and_by_command)
{
    static const char *const made[ITEMS] = {
        "SET short me PX 100000",   "SET long me PX 900000", "SET ever me",
        "SET theirs you PX 100000", "LPUSH list me",         "SET empty  PX 100000"};
    static const char names[] = "short long ever theirs list gone";
    struct real real = {0};
    struct keys_world world = {0};
    real_start(&real);
    start_at(&world, real.port);
    for (int policy = 0; policy < 8; policy++) {
        bool owned = (policy & 1) != 0;
        bool may_shorten = (policy & 2) != 0;
        bool may_limit = (policy & 4) != 0;
        struct kept_job kept = {.job = {.verb = KEY_EXPIRE,
                                        .ttl_ms = 500000,
                                        .may_shorten = may_shorten,
                                        .may_limit = may_limit,
                                        .value = owned ? bytes_of("me") : (struct bytes){NULL, 0}}};
        const enum key_result foreign = owned ? KEY_FOREIGN : KEY_RENEWED;
        const enum key_result ever = may_limit ? KEY_RENEWED : KEY_PERSISTENT;
        const enum key_result wanted[] = {KEY_RENEWED,
                                          may_shorten ? KEY_RENEWED : KEY_LONGER,
                                          ever,
                                          foreign,
                                          owned ? KEY_FOREIGN : ever,
                                          KEY_MISSING};
        (void)say(&real, "FLUSHALL");
        for (int i = 0; i < 5; i++)
            (void)say(&real, made[i]);
        give(&world, &kept, names);
        until_done(&world, &kept);
        for (int i = 0; i < 6; i++) {
            if (kept.items[i].result != wanted[i])
                fail_msg("policy %d, key %d: %s", policy, i,
                         key_result_names[kept.items[i].result]);
        }
        assert_true(say(&real, "PTTL short") > 400000);
        assert_true(say(&real, "PTTL long") > (may_shorten ? 400000 : 800000));
        assert_int_equal(say(&real, "PTTL ever") == -1, !may_limit);
        assert_int_equal(say(&real, "PTTL theirs") <= 100000, owned);
        assert_int_equal(say(&real, "PTTL list") == -1, owned || !may_limit);
        assert_int_equal(say(&real, "PTTL gone"), -2);
    }
    stop(&world);
    real_stop(&real);
}

/* whose it is was not to be seen; nobody may say that it is another's. */
TEST(a_look_at_the_owner_that_is_refused_is_no_foreign_key)
{
    struct real real = {0};
    struct keys_world world = {0};
    struct kept_job kept = {.job = {.verb = KEY_EXPIRE, .ttl_ms = 500000, .value = bytes_of("me")}};
    real_start(&real);
    start_at(&world, real.port);
    (void)say(&real, "SET mine me PX 100000");
    (void)say(&real, "ACL SETUSER default -get");
    give(&world, &kept, "mine");
    until_done(&world, &kept);
    assert_int_equal(kept.items[0].result, KEY_REFUSED);
    assert_true(say(&real, "PTTL mine") <= 100000);
    stop(&world);
    real_stop(&real);
}
