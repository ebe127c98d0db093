/* SPDX-License-Identifier: MIT */
/* Who owns the records: the race for the lease, its end, and what a pause does to it. With a real
 * Redis; the clock of a node can be moved on, as it does while a process is stopped. */
#include "runner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "cluster/owner.h"
#include "support/redis_server.h"

#define PLAIN ((const char *const[]){NULL})
#define MS INT64_C(1000000)

enum { LEASE = 1500, RENEW = 200, PATIENCE_MS = 20000 };

struct node {
    struct owner *owner;
    struct clock clock;
    _Atomic int64_t ahead_ns; /* of the machine's boot-time clock */
    atomic_uint posts;
    atomic_uint samples;
    _Atomic int64_t redis_us;
    _Atomic int64_t before_ns; /* of the last answer */
};

static struct redis_server server;
static struct node one;

static struct elapsed_time node_elapsed(void *arg)
{
    struct node *node = arg;
    return (struct elapsed_time){clock_elapsed(&clock_system).ns + atomic_load(&node->ahead_ns)};
}

static void posted(void *arg)
{
    atomic_fetch_add(&((struct node *)arg)->posts, 1);
}

static void sampled(void *arg, struct elapsed_time before, struct elapsed_time after,
                    int64_t redis_us)
{
    struct node *node = arg;
    assert_true(before.ns <= after.ns);
    atomic_store(&node->redis_us, redis_us);
    atomic_store(&node->before_ns, before.ns);
    atomic_fetch_add(&node->samples, 1);
}

static void node_start(struct node *node, const char *name)
{
    struct tocsin_why why = {""};
    char address[32];
    *node = (struct node){.clock = {.elapsed = node_elapsed, .arg = node}};
    (void)snprintf(address, sizeof address, "10.0.0.1:%s", name + 1);
    enum tocsin_status status = owner_create(
        &(struct owner_options){.where = {.host = bytes_of("127.0.0.1"), .port = server.port},
                                .node = name,
                                .address = address,
                                .lease_ms = LEASE,
                                .renew_ms = RENEW,
                                .clock = &node->clock,
                                .post = posted,
                                .sample = sampled,
                                .arg = node},
        &node->owner, &why);
    assert_int_equal(status, TOCSIN_OK);
}

static struct owner_state look(struct node *node)
{
    struct owner_state state;
    owner_look(node->owner, &state);
    return state;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2 * MS}, NULL);
}

static int64_t elapsed_ms(void)
{
    return clock_elapsed(&clock_system).ns / MS;
}

/* Waits for it, bounded. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int64_t until_ms_ = elapsed_ms() + PATIENCE_MS;                                            \
        while (!(condition)) {                                                                     \
            if (elapsed_ms() > until_ms_)                                                          \
                fail_msg("in vain: %s", #condition);                                               \
            nap();                                                                                 \
        }                                                                                          \
    } while (0)

static void win(struct node *node)
{
    owner_race(node->owner, 0);
    UNTIL(owner_holds(node->owner));
}

static long long ask(const char *command)
{
    return redis_server_ask(&server, NULL, command);
}

/* One node, which holds the lease. */
static void begin(void)
{
    redis_server_start(&server, PLAIN);
    node_start(&one, "n1");
    win(&one);
}

static void end(void)
{
    owner_destroy(one.owner);
    redis_server_stop(&server);
}

/* ---- winning */

TEST(the_first_wins_and_the_second_sees_who_and_where)
{
    struct node two;
    redis_server_start(&server, PLAIN);
    node_start(&one, "n1");
    UNTIL(look(&one).reached);
    assert_false(look(&one).held);
    assert_int_equal(ask("EXISTS " LEASE_KEY_NAME), 0); /* who only looks takes nothing */
    win(&one);
    owner_tell_epoch(one.owner, 7);
    node_start(&two, "n2");
    owner_race(two.owner, 0);
    UNTIL(look(&two).held && look(&two).epoch == 7);
    struct owner_state state = look(&two);
    assert_false(state.mine);
    assert_false(owner_holds(two.owner));
    assert_string_equal(state.node, "n1");
    assert_string_equal(state.address, "10.0.0.1:1");
    assert_int_equal(look(&one).won, 1);
    assert_true(atomic_load(&one.posts) > 0 && atomic_load(&two.posts) > 0);
    assert_true(atomic_load(&one.samples) > 0);
    assert_true(atomic_load(&one.redis_us) / 1000000 - time(NULL) < 60);
    owner_destroy(two.owner);
    end();
}

static struct node *holder(struct node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (owner_holds(nodes[i].owner))
            return &nodes[i];
    }
    return NULL;
}

TEST(of_eight_that_race_one_wins_and_nobody_beside_it)
{
    struct node nodes[8];
    redis_server_start(&server, PLAIN);
    for (size_t i = 0; i < 8; i++)
        node_start(&nodes[i], "n1"); /* of one name: the token tells them apart */
    for (size_t i = 0; i < 8; i++)
        owner_race(nodes[i].owner, 0);
    for (unsigned round = 0; round < 4; round++) {
        struct node *winner = NULL;
        UNTIL((winner = holder(nodes, 8)) != NULL);
        for (unsigned i = 0; i < 50; i++) {
            unsigned holders = 0;
            for (size_t j = 0; j < 8; j++)
                holders += owner_holds(nodes[j].owner);
            assert_true(holders <= 1);
            nap();
        }
        owner_give_up(winner->owner);
        assert_false(owner_holds(winner->owner));
        UNTIL(!look(winner).mine);
        owner_race(winner->owner, LEASE);
    }
    for (size_t i = 0; i < 8; i++)
        owner_destroy(nodes[i].owner);
    assert_int_equal(ask("EXISTS " LEASE_KEY_NAME), 0);
    redis_server_stop(&server);
}

TEST(it_is_renewed_for_longer_than_a_lease)
{
    begin();
    int64_t first_ns = owner_until_ns(one.owner);
    UNTIL(owner_until_ns(one.owner) > first_ns + 2 * LEASE * MS);
    assert_int_equal(look(&one).won, 1);
    assert_int_equal(look(&one).lost, 0);
    end();
}

/* Whoever must make room is the owner. */
TEST(a_redis_that_is_full_gives_and_keeps_the_lease)
{
    static const char *const full[] = {"--maxmemory", "1", "--maxmemory-policy", "noeviction",
                                       NULL};
    struct node two;
    redis_server_start(&server, full);
    assert_int_equal(ask("SET a b"), -1); /* … and it is */
    assert_int_equal(ask("EXISTS a"), 0);
    node_start(&one, "n1");
    win(&one);
    owner_tell_epoch(one.owner, 7);
    UNTIL(look(&one).epoch == 7);
    int64_t first_ns = owner_until_ns(one.owner);
    UNTIL(owner_until_ns(one.owner) > first_ns + 2 * LEASE * MS);
    assert_int_equal(look(&one).lost + look(&one).renew_failures, 0);
    long long left_ms = ask("PTTL " LEASE_KEY_NAME);
    assert_true(left_ms > 0 && left_ms <= LEASE);
    node_start(&two, "n2");
    owner_give_up(one.owner);
    win(&two);
    owner_destroy(two.owner);
    end();
}

TEST(a_lease_counts_from_before_it_was_asked_for_and_a_tenth_is_left_over)
{
    begin();
    for (unsigned i = 0; i < 3; i++) {
        int64_t last_ns = owner_until_ns(one.owner);
        UNTIL(owner_until_ns(one.owner) > last_ns);
        UNTIL(owner_until_ns(one.owner) == atomic_load(&one.before_ns) + LEASE * MS / 10 * 9);
    }
    end();
}

/* ---- ending */

TEST(what_is_given_up_goes_to_the_next_at_once)
{
    struct node two;
    redis_server_start(&server, PLAIN);
    node_start(&one, "n1");
    node_start(&two, "n2");
    win(&one);
    owner_race(two.owner, 0);
    UNTIL(look(&two).held);
    int64_t from_ms = elapsed_ms();
    owner_give_up(one.owner);
    assert_false(owner_holds(one.owner));
    UNTIL(owner_holds(two.owner));
    assert_true(elapsed_ms() - from_ms < LEASE); /* it did not have to run out */
    assert_int_equal(look(&one).lost, 0);
    UNTIL(strcmp(look(&one).node, "n2") == 0);
    owner_destroy(two.owner);
    end();
}

/* As kill -9 leaves it: a lease that nobody renews. */
TEST(a_lease_that_nobody_renews_is_taken_when_it_ends)
{
    redis_server_start(&server, PLAIN);
    (void)ask("SET " LEASE_KEY_NAME
              " {\"token\":\"00\",\"node\":\"n9\",\"address\":\"10.0.0.9:1\",\"epoch\":3}"
              " PX 700");
    int64_t from_ms = elapsed_ms();
    node_start(&one, "n1");
    owner_race(one.owner, 0);
    UNTIL(strcmp(look(&one).node, "n9") == 0);
    assert_int_equal(look(&one).epoch, 3);
    UNTIL(owner_holds(one.owner));
    assert_true(elapsed_ms() - from_ms >= 690);
    end();
}

/* The process was stopped: its clock has gone on, and Redis's too. */
TEST(a_pause_longer_than_the_lease_ends_it_before_anything_is_asked)
{
    begin();
    redis_server_signal(&server, SIGSTOP); /* no renewal gets an answer any more */
    atomic_fetch_add(&one.ahead_ns, LEASE * MS);
    assert_false(owner_holds(one.owner));
    UNTIL(!look(&one).mine);
    redis_server_signal(&server, SIGCONT);
    assert_int_equal(look(&one).lost, 1);
    UNTIL(look(&one).reached);
    assert_false(owner_holds(one.owner)); /* not raced for again by itself */
    win(&one);
    assert_int_equal(look(&one).won, 2);
    end();
}

TEST(a_redis_that_does_not_answer_for_a_lease_ends_it)
{
    begin();
    int64_t from_ms = elapsed_ms();
    redis_server_signal(&server, SIGSTOP);
    UNTIL(!owner_holds(one.owner));
    assert_true(elapsed_ms() - from_ms <= LEASE + 100); /* … before its end in Redis */
    UNTIL(look(&one).lost == 1);
    assert_false(look(&one).reached);
    assert_false(look(&one).spoke);
    assert_true(look(&one).renew_failures > 0);
    redis_server_signal(&server, SIGCONT);
    end();
}

TEST(a_redis_that_comes_back_empty_has_no_owner_until_somebody_races)
{
    begin();
    redis_server_kill(&server);
    UNTIL(!look(&one).reached);
    assert_non_null(strstr(look(&one).why.text, "127.0.0.1:"));
    redis_server_again(&server, PLAIN);
    UNTIL(look(&one).lost == 1);
    UNTIL(look(&one).reached);
    assert_int_equal(ask("EXISTS " LEASE_KEY_NAME), 0);
    win(&one);
    end();
}

/* ---- another's */

TEST(another_s_lease_is_never_deleted_and_never_renewed)
{
    begin();
    (void)ask("SET " LEASE_KEY_NAME
              " {\"token\":\"00\",\"node\":\"n9\",\"address\":\"10.0.0.9:1\",\"epoch\":3}"
              " PX 60000");
    UNTIL(look(&one).lost == 1);
    assert_false(owner_holds(one.owner));
    assert_non_null(strstr(look(&one).why.text, "n9 at 10.0.0.9:1"));
    owner_race(one.owner, 0);
    owner_give_up(one.owner);
    UNTIL(look(&one).reached);
    owner_destroy(one.owner); /* gives up what it holds, which is nothing */
    assert_int_equal(ask("EXISTS " LEASE_KEY_NAME), 1);
    assert_true(ask("PTTL " LEASE_KEY_NAME) > 30000);
    redis_server_stop(&server);
}

/* Nobody takes it, and it does not go by itself: a person must be told. */
TEST(what_is_no_lease_is_told_apart)
{
    static const char *const others[] = {
        "SET " LEASE_KEY_NAME " {} PX 60000",
        "SET " LEASE_KEY_NAME " {\"token\":\"00\"} PX 60000",
        "SET " LEASE_KEY_NAME " no",
    };
    redis_server_start(&server, PLAIN);
    (void)ask("EVAL return(redis.call('SET',KEYS[1],'')) 1 " LEASE_KEY_NAME);
    node_start(&one, "n1");
    owner_race(one.owner, 0);
    UNTIL(look(&one).foreign);
    assert_true(look(&one).held);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)ask("SET " LEASE_KEY_NAME " {\"token\":\"00\",\"node\":\"n9\",\"address\":"
                  "\"10.0.0.9:1\",\"epoch\":3} PX 60000");
        UNTIL(!look(&one).foreign);
        assert_string_equal(look(&one).node, "n9");
        (void)ask(others[i]);
        UNTIL(look(&one).foreign);
    }
    (void)ask("SET " LEASE_KEY_NAME " {\"token\":\"00\",\"node\":\"n9\",\"address\":"
              "\"10.0.0.9:1\",\"epoch\":3}");
    UNTIL(strcmp(look(&one).node, "n9") == 0);
    assert_true(look(&one).foreign); /* it never ends */
    (void)ask("DEL " LEASE_KEY_NAME);
    (void)ask("LPUSH " LEASE_KEY_NAME " a");
    UNTIL(look(&one).refused);
    assert_non_null(strstr(look(&one).why.text, LEASE_KEY_NAME " holds something that is not"));
    (void)ask("DEL " LEASE_KEY_NAME);
    UNTIL(look(&one).mine);
    assert_false(look(&one).foreign);
    end();
}

/* The token is compared by the script: a node that still believes it holds the lease, and gives it
 * up, leaves the next one's alone. */
TEST(who_gives_up_too_late_deletes_nothing)
{
    struct lease_key *late;
    struct lease_answer answer;
    struct tocsin_why why;
    redis_server_start(&server, PLAIN);
    struct lease_key_options options = {
        .where = {.host = bytes_of("127.0.0.1"), .port = server.port},
        .node = "n1",
        .address = "10.0.0.1:1",
        .lease_ms = LEASE,
        .timeout_ms = PATIENCE_MS,
        .clock = &clock_system};
    assert_int_equal(lease_key_open(&options, &late), TOCSIN_OK);
    assert_int_equal(lease_key_ask(late, LEASE_TAKE, 1, &answer, &why), TOCSIN_OK);
    assert_true(answer.mine);
    (void)ask("SET " LEASE_KEY_NAME " {\"token\":\"00\"} PX 60000");
    assert_int_equal(lease_key_ask(late, LEASE_DROP, 1, &answer, &why), TOCSIN_OK);
    assert_true(answer.held);
    assert_string_equal(answer.node, "?"); /* a form that is not ours */
    assert_int_equal(lease_key_ask(late, LEASE_KEEP, 1, &answer, &why), TOCSIN_OK);
    assert_false(answer.mine);
    assert_int_equal(lease_key_ask(late, LEASE_TAKE, 1, &answer, &why), TOCSIN_OK);
    assert_false(answer.mine);
    assert_int_equal(ask("EXISTS " LEASE_KEY_NAME), 1);
    (void)ask("DEL " LEASE_KEY_NAME);
    assert_int_equal(lease_key_ask(late, LEASE_KEEP, 1, &answer, &why), TOCSIN_OK);
    assert_false(answer.mine); /* what is gone is not kept: it is raced for */
    assert_false(answer.held);
    lease_key_close(late);
    redis_server_stop(&server);
}

/* ---- refused */

TEST(a_wrong_password_is_a_refusal_and_is_not_told)
{
    struct owner *owner;
    struct owner_state state;
    struct tocsin_why why = {""};
    struct node node = {.posts = 0};
    redis_server_start(&server, (const char *const[]){"--requirepass", "open sesame", NULL});
    struct owner_options options = {.where = {.host = bytes_of("127.0.0.1"),
                                              .password = bytes_of("close sesame"),
                                              .port = server.port},
                                    .node = "n1",
                                    .address = "10.0.0.1:1",
                                    .post = posted,
                                    .arg = &node};
    assert_int_equal(owner_create(&options, &owner, &why), TOCSIN_OK);
    UNTIL((owner_look(owner, &state), state.refused));
    assert_non_null(strstr(state.why.text, "WRONGPASS"));
    assert_true(state.spoke && !state.reached);
    assert_null(strstr(state.why.text, "sesame"));
    owner_destroy(owner);
    options.where.password = bytes_of("open sesame");
    assert_int_equal(owner_create(&options, &owner, &why), TOCSIN_OK);
    owner_race(owner, 0);
    UNTIL(owner_holds(owner));
    owner_destroy(owner);
    redis_server_stop(&server);
}
