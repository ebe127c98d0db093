/* SPDX-License-Identifier: MIT */
/* What a commit to Redis promises while others take over, answers are lost, and Redis refuses. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/redis_proxy.h"
#include "support/redis_store_world.h"
#include "support/store_model.h"

static const char *const no_more[] = {NULL};

/* W-11, C-15: a node that is not the owner any more changes nothing. */
TEST(what_an_owner_of_before_commits_is_refused_and_not_to_be_seen)
{
    struct redis_server server;
    struct store_node first;
    struct store_node second;
    uint64_t count = 0;
    redis_server_start(&server, no_more);
    store_node_open(&first, server.port, "one");
    assert_int_equal(store_node_put(&first, 1), TOCSIN_OK);
    store_node_open(&second, server.port, "two");
    assert_int_equal(second.state.epoch, first.state.epoch + 1);
    assert_int_equal(second.state.high_rev, 1);
    struct store_mirror mirror = {.name = bytes_of("mirror"), .value = bytes_of("of one")};
    struct store_record record = store_node_record(2, "late", "late");
    uint64_t dead = 1;
    struct store_batch batch = {.puts = &record,
                                .put_count = 1,
                                .dead = &dead,
                                .dead_count = 1,
                                .mirrors = &mirror,
                                .mirror_count = 1,
                                .high_rev = 2,
                                .urgent = true};
    assert_int_equal(store_node_commit(&first, &batch), TOCSIN_IO);
    assert_says(&first, "this node is not the owner any more: two has taken over");
    assert_int_equal(store_node_commit(&first, &batch), TOCSIN_IO);
    assert_says(&first, "not the owner");
    assert_int_equal(store_node_get(&first, 1, NULL), TOCSIN_IO);
    assert_int_equal(redis_server_ask(&server, NULL, "EXISTS mirror"), 0);
    assert_int_equal(store_node_load(&second, &count), TOCSIN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(store_node_get(&second, 1, NULL), TOCSIN_OK);
    assert_int_equal(store_node_get(&second, 2, NULL), TOCSIN_NONE);
    assert_int_equal(store_node_put(&second, 2), TOCSIN_OK);
    store_node_close(&first);
    store_node_close(&second);
    redis_server_stop(&server);
}

/* An owner of before that only reads sees that something is amiss, and not that a record died. */
TEST(a_reader_of_before_is_told_when_what_it_seeks_is_gone)
{
    struct redis_server server;
    struct store_node first;
    struct store_node second;
    redis_server_start(&server, no_more);
    store_node_open(&first, server.port, "one");
    assert_int_equal(store_node_put(&first, 1), TOCSIN_OK);
    store_node_open(&second, server.port, "two");
    uint64_t dead = 1;
    struct store_batch drop = {.dead = &dead, .dead_count = 1, .high_rev = 1};
    assert_int_equal(store_node_commit(&second, &drop), TOCSIN_OK);
    assert_int_equal(store_node_get(&second, 1, NULL), TOCSIN_NONE);
    assert_int_equal(store_node_get(&first, 1, NULL), TOCSIN_IO);
    assert_says(&first, "not the owner");
    store_node_close(&first);
    store_node_close(&second);
    redis_server_stop(&server);
}

/* Law 3: the same commit again, by its number. */
TEST(a_commit_whose_answer_is_lost_is_done_once)
{
    static const struct store_habits habits = {
        .puts_max = 12, .dead_max = 6, .doc_max = 9000, .living_max = 100};
    static struct store_draft draft;
    struct redis_server server;
    struct redis_proxy proxy;
    struct store_node node;
    struct store_model model;
    struct store_verdict verdict = {""};
    struct test_random random = {test_seed()};
    redis_server_start(&server, no_more);
    redis_proxy_start(&proxy, server.port);
    store_node_open(&node, proxy.port, "one");
    store_model_init(&model);
    uint64_t rounds = test_effort(200);
    for (uint64_t round = 1; round <= rounds; round++) {
        store_draft_make(&draft, &model, &random, &habits);
        int cuts = (int)test_random_below(&random, 3);
        atomic_store(&proxy.cuts, cuts);
        if (store_node_commit(&node, &draft.batch) != TOCSIN_OK)
            fail_msg("%s", node.why.text);
        assert_int_equal(atomic_load(&proxy.cuts), 0);
        store_model_apply(&model, &draft.batch);
        assert_int_equal(redis_server_ask(&server, NULL, "HGET tocsin:{p0}:meta commit"), round);
    }
    if (!store_model_judge(&model, node.store, &verdict))
        fail_msg("%s", verdict.text);
    store_model_release(&model);
    store_node_close(&node);
    redis_proxy_stop(&proxy);
    redis_server_stop(&server);
}

/* Two nodes, one behind a proxy that loses answers. */
struct rivals {
    struct redis_server server;
    struct redis_proxy proxy;
    struct store_node nodes[2];
    unsigned owner;
};

static void take_over(struct rivals *rivals, uint16_t port)
{
    rivals->owner = 1 - rivals->owner;
    store_node_open(&rivals->nodes[rivals->owner], port, "a rival");
}

/* On the proxy's thread, so past it. */
static void take_over_now(void *arg)
{
    struct rivals *rivals = arg;
    take_over(rivals, rivals->server.port);
}

/* Who owns it changes before a commit, or between its being done and its being sent again. OK: it
 * is there, once. IO: it may be, and the number that Redis has tells. Nothing else is. */
TEST(what_was_answered_stays_while_owners_change_and_answers_are_lost)
{
    static const struct store_habits habits = {
        .puts_max = 6, .dead_max = 3, .doc_max = 2000, .living_max = 50};
    static struct store_draft draft;
    struct rivals rivals = {.owner = 0};
    struct store_model model;
    struct store_verdict verdict = {""};
    struct test_random random = {test_seed()};
    uint64_t commits = 0;
    unsigned told[2] = {0};
    redis_server_start(&rivals.server, no_more);
    redis_proxy_start(&rivals.proxy, rivals.server.port);
    rivals.proxy.arg = &rivals;
    store_node_open(&rivals.nodes[0], rivals.proxy.port, "the first");
    store_model_init(&model);
    uint64_t rounds = test_effort(300);
    for (uint64_t round = 0; round < rounds; round++) {
        unsigned before = rivals.owner;
        uint64_t chance = round == 0 ? 1 : test_random_below(&random, 6);
        if (chance == 0)
            take_over(&rivals, rivals.proxy.port);
        rivals.proxy.on_cut = chance == 1 ? take_over_now : NULL;
        atomic_store(&rivals.proxy.cuts, chance < 3 ? 1 : 0);
        store_draft_make(&draft, &model, &random, &habits);
        enum tocsin_status status = store_node_commit(&rivals.nodes[before], &draft.batch);
        atomic_store(&rivals.proxy.cuts, 0);
        assert_true(atomic_load(&rivals.proxy.cut) >= 0); /* what on_cut did is to be seen */
        bool lost = rivals.owner != before;
        assert_int_equal(status, lost ? TOCSIN_IO : TOCSIN_OK);
        long long number = redis_server_ask(&rivals.server, NULL, "HGET tocsin:{p0}:meta commit");
        bool there = number == (long long)commits + 1;
        assert_true(there || (lost && number == (long long)commits));
        told[there && lost]++;
        if (there) {
            store_model_apply(&model, &draft.batch);
            commits++;
        }
        if (lost)
            store_node_close(&rivals.nodes[before]);
        if (!store_model_judge(&model, rivals.nodes[rivals.owner].store, &verdict))
            fail_msg("%s", verdict.text);
    }
    assert_true(told[0] > 0 && told[1] > 0);
    store_model_release(&model);
    store_node_close(&rivals.nodes[rivals.owner]);
    redis_proxy_stop(&rivals.proxy);
    redis_server_stop(&rivals.server);
}

static void stop_answering(void *arg)
{
    const struct redis_server *server = arg;
    (void)redis_server_ask(server, NULL, "CONFIG SET replica-serve-stale-data no");
    (void)redis_server_ask(server, NULL, "REPLICAOF 127.0.0.1 1");
}

/* Law 10: after a lost answer a refusal does not mean that nothing was changed. */
TEST(a_refusal_after_a_lost_answer_is_not_taken_for_an_answer)
{
    struct redis_server server;
    struct redis_proxy proxy;
    struct store_node node;
    redis_server_start(&server, no_more);
    redis_proxy_start(&proxy, server.port);
    struct store_redis_options options = store_node_options(proxy.port, "one");
    options.outage_ms = 300;
    store_node_open_with(&node, &options);
    stop_answering(&server);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_UNAVAILABLE);
    assert_says(&node, "MASTERDOWN");
    (void)redis_server_ask(&server, NULL, "REPLICAOF NO ONE");
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    proxy.on_cut = stop_answering;
    proxy.arg = &server;
    atomic_store(&proxy.cuts, 1);
    assert_int_equal(store_node_put(&node, 2), TOCSIN_IO);
    assert_says(&node, "whether a commit was done is unknown");
    assert_says(&node, "MASTERDOWN");
    (void)redis_server_ask(&server, NULL, "REPLICAOF NO ONE");
    assert_int_equal(redis_server_ask(&server, NULL, "ZCARD tocsin:{p0}:revs"), 2);
    assert_int_equal(store_node_put(&node, 2), TOCSIN_IO); /* for good */
    store_node_close(&node);
    redis_proxy_stop(&proxy);
    redis_server_stop(&server);
}

static void must_refuse(struct store_node *node, const struct redis_server *server, uint64_t rev,
                        enum tocsin_status status, const char *words)
{
    struct store_record record = store_node_record(rev, "key", "a doc");
    uint64_t dead = 1;
    struct store_batch plain = {.puts = &record, .put_count = 1, .high_rev = rev};
    struct store_batch drop = {.dead = &dead, .dead_count = 1, .high_rev = rev};
    assert_int_equal(store_node_put(node, rev), status);
    assert_says(node, words);
    assert_int_equal(store_node_commit(node, &plain), status);
    assert_int_equal(store_node_commit(node, &drop), status);
    assert_says(node, words);
    assert_int_equal(redis_server_ask(server, NULL, "ZCARD tocsin:{p0}:revs"), rev - 1);
    assert_int_equal(redis_server_ask(server, NULL, "HLEN tocsin:{p0}:docs"), rev - 1);
    assert_int_equal(redis_server_ask(server, NULL, "XLEN tocsin:{p0}:events"), rev - 1);
    assert_int_equal(redis_server_ask(server, NULL, "HGET tocsin:{p0}:meta commit"), rev - 1);
}

/* Law 5: nothing changed, with Redis's own words. */
TEST(what_redis_refuses_changed_nothing_and_is_done_later)
{
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    (void)redis_server_ask(&server, NULL, "CONFIG SET maxmemory 1");
    must_refuse(&node, &server, 2, TOCSIN_NO_SPACE, "OOM");
    (void)redis_server_ask(&server, NULL, "CONFIG SET maxmemory 0");
    assert_int_equal(store_node_put(&node, 2), TOCSIN_OK);
    (void)redis_server_ask(&server, NULL, "CONFIG SET min-replicas-to-write 1");
    must_refuse(&node, &server, 3, TOCSIN_UNAVAILABLE, "NOREPLICAS");
    (void)redis_server_ask(&server, NULL, "CONFIG SET min-replicas-to-write 0");
    assert_int_equal(store_node_put(&node, 3), TOCSIN_OK);
    (void)redis_server_ask(&server, NULL, "REPLICAOF 127.0.0.1 1");
    must_refuse(&node, &server, 4, TOCSIN_UNAVAILABLE, "READONLY");
    (void)redis_server_ask(&server, NULL, "REPLICAOF NO ONE");
    assert_int_equal(store_node_put(&node, 4), TOCSIN_OK);
    store_node_close(&node);
    redis_server_stop(&server);
}

/* A Redis that cannot save any more takes no writes: a folder stands where its file should be. */
TEST(a_redis_that_cannot_save_refuses_and_takes_up_again)
{
    static const char *const saving[] = {"--save", "3600 1", "--dbfilename", "taken", NULL};
    struct redis_server server;
    struct store_node node;
    char path[300];
    uint64_t rev = 0;
    enum tocsin_status status;
    redis_server_start(&server, saving);
    (void)snprintf(path, sizeof path, "%s/taken", server.dir.path);
    store_node_open(&node, server.port, "one");
    assert_int_equal(mkdir(path, 0700), 0);
    (void)redis_server_ask(&server, NULL, "BGSAVE");
    do {
        status = store_node_put(&node, ++rev);
    } while (status == TOCSIN_OK); /* until it has failed */
    assert_int_equal(status, TOCSIN_UNAVAILABLE);
    must_refuse(&node, &server, rev, TOCSIN_UNAVAILABLE, "MISCONF");
    assert_int_equal(rmdir(path), 0);
    (void)redis_server_ask(&server, NULL, "SAVE");
    assert_int_equal(store_node_put(&node, rev), TOCSIN_OK);
    store_node_close(&node);
    redis_server_stop(&server);
}

/* Law 8: at the limit of the memory, what makes room is done, and a node can take over. */
TEST(at_the_limit_of_memory_urgent_commits_and_take_overs_go_through)
{
    struct redis_server server;
    struct store_node node;
    uint64_t dead = 1;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    (void)redis_server_ask(&server, NULL, "CONFIG SET maxmemory 1");
    store_node_close(&node);
    store_node_open(&node, server.port, "two");
    struct store_event event = {.seq = 2, .kind = bytes_of("task"), .type = bytes_of("ended")};
    struct store_batch drop = {.dead = &dead,
                               .dead_count = 1,
                               .events = &event,
                               .event_count = 1,
                               .high_rev = 1,
                               .urgent = true};
    assert_int_equal(store_node_commit(&node, &drop), TOCSIN_OK);
    assert_int_equal(store_node_put(&node, 3), TOCSIN_NO_SPACE);
    store_node_close(&node);
    redis_server_stop(&server);
}

/* Each commit takes its size twice more while it is done. So the last one that was begun below the
 * limit has gone past it, and must be whole all the same. */
TEST(a_commit_that_goes_past_the_limit_of_memory_is_whole)
{
    enum { RECORDS = 16, DOC = 64 * 1024 };
    static char doc[DOC];
    struct store_record records[RECORDS];
    struct redis_server server;
    struct store_node node;
    uint64_t rev = 0;
    uint64_t count = 0;
    enum tocsin_status status;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    (void)redis_server_ask(&server, NULL, "CONFIG SET maxmemory 16777216");
    do {
        for (uint64_t i = 0; i < RECORDS; i++) {
            records[i] = store_node_record(rev + i + 1, "key", "");
            records[i].doc = (struct bytes){doc, DOC};
        }
        struct store_batch batch = {
            .puts = records, .put_count = RECORDS, .high_rev = rev + RECORDS};
        status = store_node_commit(&node, &batch);
        rev += status == TOCSIN_OK ? RECORDS : 0;
        assert_int_equal(redis_server_ask(&server, NULL, "HLEN tocsin:{p0}:docs"), rev);
        assert_int_equal(redis_server_ask(&server, NULL, "ZCARD tocsin:{p0}:revs"), rev);
    } while (status == TOCSIN_OK);
    assert_int_equal(status, TOCSIN_NO_SPACE);
    assert_in_range(rev, RECORDS, 256);
    assert_int_equal(store_node_load(&node, &count), TOCSIN_OK);
    assert_int_equal(count, rev);
    store_node_close(&node);
    redis_server_stop(&server);
}

TEST(out_of_reach_is_unavailable_when_nothing_was_sent)
{
    static const char *const synced[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, synced);
    struct store_redis_options options = store_node_options(server.port, "one");
    options.outage_ms = 200;
    store_node_open_with(&node, &options);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    redis_server_kill(&server);
    assert_int_equal(store_node_put(&node, 2), TOCSIN_UNAVAILABLE);
    assert_says(&node, "cannot reach Redis");
    assert_int_equal(store_node_get(&node, 1, NULL), TOCSIN_UNAVAILABLE);
    redis_server_again(&server, synced);
    enum tocsin_status status;
    do {
        status = store_node_put(&node, 2);
    } while (status == TOCSIN_UNAVAILABLE); /* while it loads */
    assert_int_equal(status, TOCSIN_OK);
    assert_int_equal(store_node_get(&node, 1, NULL), TOCSIN_OK);
    store_node_close(&node);
    redis_server_stop(&server);
}

TEST(a_redis_that_does_not_answer_ends_the_store)
{
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, no_more);
    struct store_redis_options options = store_node_options(server.port, "one");
    options.timeout_ms = 50;
    options.outage_ms = 200;
    store_node_open_with(&node, &options);
    redis_server_signal(&server, SIGSTOP);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_IO);
    assert_says(&node, "this node stops");
    redis_server_signal(&server, SIGCONT);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_IO);
    store_node_close(&node);
    redis_server_stop(&server);
}

struct waker {
    struct redis_server *server;
    struct redis_proxy *proxy;
};

static void *wake_after_some_tries(void *arg)
{
    const struct waker *waker = arg;
    while (atomic_load(&waker->proxy->accepted) < 4)
        (void)sched_yield();
    redis_server_signal(waker->server, SIGCONT);
    return NULL;
}

/* The same commit waits in Redis several times over: it is done once. */
TEST(a_commit_that_redis_finds_several_times_is_done_once)
{
    struct redis_server server;
    struct redis_proxy proxy;
    struct store_node node;
    pthread_t thread;
    redis_server_start(&server, no_more);
    redis_proxy_start(&proxy, server.port);
    struct store_redis_options options = store_node_options(proxy.port, "one");
    options.timeout_ms = 50;
    options.outage_ms = 60000;
    store_node_open_with(&node, &options);
    struct waker waker = {&server, &proxy};
    redis_server_signal(&server, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, wake_after_some_tries, &waker), 0);
    assert_int_equal(store_node_put(&node, 1), TOCSIN_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(store_node_put(&node, 2), TOCSIN_OK);
    assert_int_equal(redis_server_ask(&server, NULL, "HGET tocsin:{p0}:meta commit"), 2);
    assert_int_equal(redis_server_ask(&server, NULL, "XLEN tocsin:{p0}:events"), 2);
    assert_int_equal(redis_server_ask(&server, NULL, "ZCARD tocsin:{p0}:revs"), 2);
    store_node_close(&node);
    redis_proxy_stop(&proxy);
    redis_server_stop(&server);
}

TEST(a_script_that_redis_forgot_is_taught_again)
{
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    for (uint64_t rev = 1; rev <= 3; rev++) {
        (void)redis_server_ask(&server, NULL, "SCRIPT FLUSH");
        assert_int_equal(store_node_put(&node, rev), TOCSIN_OK);
    }
    store_node_close(&node);
    redis_server_stop(&server);
}

/* C-04: names that other programs look at. */
TEST(mirrors_are_written_with_the_commit_in_the_order_given)
{
    struct redis_server server;
    struct store_node node;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    (void)redis_server_ask(&server, NULL, "SET going 1");
    (void)redis_server_ask(&server, NULL, "LPUSH other-kind 1");
    struct store_mirror mirrors[] = {
        {.name = bytes_of("stays"), .value = bytes_of("7")},
        {.name = bytes_of("passes"), .value = bytes_of("8"), .expire_ms = 60000},
        {.name = bytes_of("going")},
        {.name = bytes_of("other-kind"), .value = bytes_of("9")},
        {.name = bytes_of("empty"), .value = bytes_of("")},
        {.name = bytes_of("long"), .value = bytes_of("1"), .expire_ms = INT64_MAX},
        {.name = bytes_of("twice"), .value = bytes_of("1")},
        {.name = bytes_of("twice"), .value = bytes_of("2"), .expire_ms = 60000},
    };
    struct store_batch batch = {.mirrors = mirrors, .mirror_count = 8};
    assert_int_equal(store_node_commit(&node, &batch), TOCSIN_OK);
    assert_int_equal(redis_server_ask(&server, NULL, "GET stays"), 7);
    assert_int_equal(redis_server_ask(&server, NULL, "PTTL stays"), -1);
    assert_in_range(redis_server_ask(&server, NULL, "PTTL passes"), 1000, 60000);
    assert_int_equal(redis_server_ask(&server, NULL, "EXISTS going"), 0);
    assert_int_equal(redis_server_ask(&server, NULL, "GET other-kind"), 9);
    assert_int_equal(redis_server_ask(&server, NULL, "STRLEN empty"), 0);
    assert_int_equal(redis_server_ask(&server, NULL, "EXISTS empty long"), 2);
    assert_int_equal(redis_server_ask(&server, NULL, "GET twice"), 2);
    assert_in_range(redis_server_ask(&server, NULL, "PTTL twice"), 1000, 60000);
    store_node_close(&node);
    redis_server_stop(&server);
}

/* More words than Lua can unpack at once, and all sections of a commit. */
TEST(a_commit_may_be_as_large_as_the_engine_makes_it)
{
    enum { MANY = 20000 };
    static struct store_record records[MANY];
    static struct store_event events[MANY];
    static struct store_mirror mirrors[MANY];
    static uint64_t dead[MANY];
    struct redis_server server;
    struct store_node node;
    uint64_t count = 0;
    redis_server_start(&server, no_more);
    store_node_open(&node, server.port, "one");
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < MANY; i++) {
            uint64_t rev = round * MANY + i + 1;
            records[i] = store_node_record(rev, "key", "a doc");
            events[i] = (struct store_event){.seq = rev, .kind = bytes_of("task")};
            mirrors[i] = (struct store_mirror){.name = bytes_of("m"), .value = bytes_of("v")};
            dead[i] = i + 1;
        }
        struct store_batch batch = {.puts = records,
                                    .put_count = MANY,
                                    .dead = dead,
                                    .dead_count = round == 0 ? 0 : MANY,
                                    .events = events,
                                    .event_count = MANY,
                                    .mirrors = mirrors,
                                    .mirror_count = MANY,
                                    .high_rev = (round + 1) * MANY};
        if (store_node_commit(&node, &batch) != TOCSIN_OK)
            fail_msg("%s", node.why.text);
    }
    assert_int_equal(store_node_load(&node, &count), TOCSIN_OK);
    assert_int_equal(count, MANY);
    assert_int_equal(redis_server_ask(&server, NULL, "XLEN tocsin:{p0}:events"), 2 * MANY);
    assert_int_equal(redis_server_ask(&server, NULL, "HLEN tocsin:{p0}:docs"), MANY);
    store_node_close(&node);
    redis_server_stop(&server);
}
