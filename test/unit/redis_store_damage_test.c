/* SPDX-License-Identifier: MIT */
/* What is noticed when Redis loses something, somebody changes it, or Redis dies. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "store/redis/event_room.h"
#include "store/redis/packed.h"
#include "support/redis_store_world.h"
#include "support/store_model.h"

static const char *const no_more[] = {NULL};

struct world {
    struct redis_server server;
    struct store_node node;
    redisContext *context;
};

static void begin(struct world *world)
{
    redis_server_start(&world->server, no_more);
    store_node_open(&world->node, world->server.port, "one");
    for (uint64_t rev = 1; rev <= 5; rev++)
        assert_int_equal(store_node_put(&world->node, rev), TOCSIN_OK);
    world->context = redisConnect("127.0.0.1", world->server.port);
    assert_non_null(world->context);
}

static void end(struct world *world)
{
    redisFree(world->context);
    store_node_close(&world->node);
    redis_server_stop(&world->server);
}

static void reopen(struct world *world)
{
    store_node_close(&world->node);
    store_node_open(&world->node, world->server.port, "one");
}

static void run(struct world *world, redisReply *reply)
{
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    (void)world;
    freeReplyObject(reply);
}

/* One bit of the head of a rev. */
static void bend_head(struct world *world, int rev, size_t at)
{
    redisReply *reply =
        redisCommand(world->context, "ZRANGEBYSCORE tocsin:{p0}:revs %d %d", rev, rev);
    assert_int_equal(reply->elements, 1);
    char head[256];
    size_t size = (size_t)reply->element[0]->len;
    assert_in_range(size, at + 1, sizeof head);
    memcpy(head, reply->element[0]->str, size);
    run(world, redisCommand(world->context, "ZREM tocsin:{p0}:revs %b", head, size));
    head[at] = (char)(head[at] ^ 4);
    run(world, redisCommand(world->context, "ZADD tocsin:{p0}:revs %d %b", rev, head, size));
    freeReplyObject(reply);
}

struct seen {
    uint64_t whole;
    uint64_t damaged;
    uint64_t damaged_rev;
};

static bool see(void *arg, const struct store_record *record)
{
    struct seen *seen = arg;
    if (record->damaged) {
        seen->damaged++;
        seen->damaged_rev = record->rev;
    } else {
        seen->whole++;
    }
    return true;
}

static struct seen list(struct world *world)
{
    struct seen seen = {0};
    uint64_t next = 99;
    struct store *store = world->node.store;
    assert_int_equal(store->ops->list(store, bytes_of("task"), 0, 100, see, &seen, &next, NULL),
                     TOCSIN_OK);
    assert_int_equal(next, 0);
    return seen;
}

/* Law 6: any byte of a head. */
TEST(a_damaged_head_is_seen_by_all_who_read_it)
{
    struct world world;
    uint64_t count = 0;
    bool damaged = false;
    begin(&world);
    struct store_record record = store_node_record(3, "key", "a doc");
    size_t size = packed_head_size(&record);
    for (size_t at = 0; at < size; at++) {
        bend_head(&world, 3, at);
        assert_int_equal(store_node_load(&world.node, &count), TOCSIN_DAMAGED);
        assert_says(&world.node, "tocsin:{p0}:revs is damaged: the record with the rev 3");
        assert_int_equal(store_node_get(&world.node, 3, &damaged), TOCSIN_DAMAGED);
        assert_int_equal(store_node_get(&world.node, 4, NULL), TOCSIN_OK);
        struct seen seen = list(&world);
        assert_int_equal(seen.whole, 4);
        assert_int_equal(seen.damaged, 1);
        assert_int_equal(seen.damaged_rev, 3);
        bend_head(&world, 3, at); /* straight again */
    }
    assert_false(damaged); /* not visited: nothing of it is known */
    assert_int_equal(store_node_load(&world.node, &count), TOCSIN_OK);
    assert_int_equal(count, 5);
    end(&world);
}

TEST(a_damaged_doc_is_seen_and_the_rest_of_its_record_is_given)
{
    static const char *const harms[] = {
        "HSET tocsin:{p0}:docs 3 A_doc", /* as long as it was */
        "HSET tocsin:{p0}:docs 3 longer_than_it_was",
        "HDEL tocsin:{p0}:docs 3",
    };
    for (size_t i = 0; i < sizeof harms / sizeof harms[0]; i++) {
        struct world world;
        bool damaged = false;
        uint64_t count = 0;
        begin(&world);
        run(&world, redisCommand(world.context, harms[i]));
        assert_int_equal(store_node_get(&world.node, 3, &damaged), TOCSIN_DAMAGED);
        assert_true(damaged);
        assert_says(&world.node, "tocsin:{p0}:docs is damaged: the doc with the rev 3");
        struct seen seen = list(&world);
        assert_int_equal(seen.whole, 4);
        assert_int_equal(seen.damaged_rev, 3);
        assert_int_equal(store_node_load(&world.node, &count), TOCSIN_OK);
        end(&world);
    }
}

TEST(a_head_cannot_change_its_place)
{
    struct world world;
    bool damaged = false;
    begin(&world);
    redisReply *reply = redisCommand(world.context, "ZRANGEBYSCORE tocsin:{p0}:revs 3 3");
    run(&world, redisCommand(world.context, "ZREM tocsin:{p0}:revs %b", reply->element[0]->str,
                             (size_t)reply->element[0]->len));
    run(&world, redisCommand(world.context, "ZADD tocsin:{p0}:revs 2.5 %b", reply->element[0]->str,
                             (size_t)reply->element[0]->len));
    freeReplyObject(reply);
    uint64_t count = 0;
    assert_int_equal(store_node_load(&world.node, &count), TOCSIN_DAMAGED);
    assert_int_equal(store_node_get(&world.node, 3, &damaged), TOCSIN_NONE);
    end(&world);
}

static bool pass_event(void *arg, const struct store_event *event)
{
    *(uint64_t *)arg = event->seq;
    return true;
}

TEST(a_damaged_or_missing_event_is_seen)
{
    static const char *const harms[] = {
        "XDEL tocsin:{p0}:events 3-0",
        "XDEL tocsin:{p0}:events 5-0",
        "DEL tocsin:{p0}:events",
    };
    static const uint64_t missing[] = {3, 5, 1};
    for (size_t i = 0; i < sizeof harms / sizeof harms[0]; i++) {
        struct world world;
        uint64_t last = 0;
        uint64_t first = 0;
        char words[60];
        begin(&world);
        run(&world, redisCommand(world.context, harms[i]));
        struct store *store = world.node.store;
        assert_int_equal(
            store->ops->events(store, 0, 100, pass_event, &last, &first, &world.node.why),
            TOCSIN_DAMAGED);
        (void)snprintf(words, sizeof words, "the event %d", (int)missing[i]);
        assert_says(&world.node, words);
        end(&world);
    }
}

TEST(records_that_somebody_took_away_are_missed_by_load_and_commit)
{
    struct world world;
    uint64_t count = 0;
    begin(&world);
    run(&world, redisCommand(world.context, "ZREMRANGEBYSCORE tocsin:{p0}:revs 3 3"));
    assert_int_equal(store_node_put(&world.node, 6), TOCSIN_IO);
    assert_says(&world.node, "somebody has changed tocsin:{p0}:revs: it has 4 records, not 5");
    reopen(&world);
    assert_int_equal(store_node_load(&world.node, &count), TOCSIN_DAMAGED);
    assert_says(&world.node, "4 records live, not 5");
    end(&world);
}

TEST(books_that_were_changed_are_refused_at_open)
{
    struct world world;
    begin(&world);
    struct store_redis_options options = store_node_options(world.server.port, "two");
    struct store *store = NULL;
    struct store_state state;
    run(&world, redisCommand(world.context, "HSET tocsin:{p0}:meta high_rev 4"));
    assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why), TOCSIN_DAMAGED);
    assert_says(&world.node, "tocsin:{p0}:meta is damaged");
    run(&world, redisCommand(world.context, "HSET tocsin:{p0}:meta high_rev 5"));
    run(&world, redisCommand(world.context, "HDEL tocsin:{p0}:meta skew"));
    assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why), TOCSIN_DAMAGED);
    run(&world, redisCommand(world.context, "DEL tocsin:{p0}:meta"));
    assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why), TOCSIN_DAMAGED);
    assert_says(&world.node, "there are records, but tocsin:{p0}:meta is gone");
    assert_int_equal(store_node_put(&world.node, 6), TOCSIN_IO);
    end(&world);
}

/* Law 5: FLUSHALL is not an empty store for one who had records there, also when another begins anew. */
TEST(records_that_are_gone_stop_the_node)
{
    for (int again = 0; again < 2; again++) {
        struct world world;
        struct store_node other;
        begin(&world);
        run(&world, redisCommand(world.context, "FLUSHALL"));
        if (again) {
            store_node_open(&other, world.server.port, "two");
            assert_int_equal(other.state.epoch, 1);
            store_node_close(&other);
        }
        assert_int_equal(store_node_get(&world.node, 3, NULL), TOCSIN_IO);
        assert_says(&world.node, "the records are gone from Redis");
        assert_int_equal(store_node_put(&world.node, 6), TOCSIN_IO);
        assert_says(&world.node, "the records are gone from Redis");
        assert_says(&world.node, "this node stops");
        assert_int_equal(redis_server_ask(&world.server, NULL, "ZCARD tocsin:{p0}:revs"), 0);
        end(&world);
    }
}

/* However many there are and however often they try: nothing is begun anew by one who knows better. */
TEST(who_has_seen_records_does_not_begin_anew)
{
    struct world world;
    struct store *store = NULL;
    struct store_state state;
    begin(&world);
    struct store_redis_options options = store_node_options(world.server.port, "two");
    options.epoch_seen = world.node.state.epoch;
    run(&world, redisCommand(world.context, "FLUSHALL"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why),
                         TOCSIN_DAMAGED);
        assert_says(&world.node, "the records are gone from Redis, or an older copy was put there: "
                                 "it has epoch 0, and 1 has been");
        assert_null(store);
        assert_int_equal(redis_server_ask(&world.server, NULL, "DBSIZE"), 0);
    }
    options.epoch_seen = 0; /* a new process, started by somebody who has looked */
    assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why), TOCSIN_OK);
    store->ops->close(store);
    options.epoch_seen = 1; /* the highest there was is what it must find */
    assert_int_equal(store_redis_open(&options, &store, &state, &world.node.why), TOCSIN_OK);
    assert_int_equal(state.epoch, 2);
    store->ops->close(store);
    end(&world);
}

/* Law 6: a Redis that comes back as it was a while ago. */
TEST(commits_that_redis_forgot_stop_the_node)
{
    struct world world;
    struct store_redis_commits commits;
    begin(&world);
    run(&world, redisCommand(world.context, "SAVE"));
    assert_int_equal(store_node_put(&world.node, 6), TOCSIN_OK);
    redis_server_kill(&world.server);
    redis_server_again(&world.server, no_more);
    enum tocsin_status status;
    do {
        status = store_node_get(&world.node, 6, NULL);
    } while (status == TOCSIN_UNAVAILABLE);
    assert_int_equal(status, TOCSIN_IO); /* it is not damaged */
    assert_says(&world.node, "Redis has lost commits that it had answered");
    do {
        status = store_node_put(&world.node, 7);
    } while (status == TOCSIN_UNAVAILABLE);
    assert_int_equal(status, TOCSIN_IO);
    assert_says(&world.node, "Redis has lost commits that it had answered: the last it has is 5, "
                             "ours was 6");
    store_redis_commits(world.node.store, &commits);
    assert_true(commits.last == 5 && commits.lost == 1);
    reopen(&world);
    assert_int_equal(world.node.state.high_rev, 5);
    store_redis_commits(world.node.store, &commits);
    assert_true(commits.last == 5 && commits.lost == 0);
    store_node_close(&world.node);
    struct store_redis_options options = store_node_options(world.server.port, "one");
    for (options.commit_seen = 4; options.commit_seen < 9; options.commit_seen++) {
        store_node_open_with(&world.node, &options);
        assert_int_equal(world.node.state.commits_lost,
                         options.commit_seen > 5 ? options.commit_seen - 5 : 0);
        if (options.commit_seen < 8)
            store_node_close(&world.node);
    }
    end(&world);
}

struct committer {
    struct store_node *node;
    struct store_model model;
    uint64_t rounds;
    uint64_t seed;
    enum tocsin_status status; /* of the last commit */
    atomic_uint commits;
    atomic_bool ended;
};

static void *commit_all(void *arg)
{
    static const struct store_habits habits = {
        .puts_max = 12, .dead_max = 6, .doc_max = 9000, .living_max = 200};
    static struct store_draft draft;
    struct committer *committer = arg;
    struct test_random random = {committer->seed};
    committer->status = TOCSIN_OK;
    for (uint64_t i = 0; i < committer->rounds && committer->status == TOCSIN_OK; i++) {
        store_draft_make(&draft, &committer->model, &random, &habits);
        do {
            committer->status = store_node_commit(committer->node, &draft.batch);
        } while (committer->status == TOCSIN_UNAVAILABLE);
        if (committer->status == TOCSIN_OK)
            store_model_apply(&committer->model, &draft.batch);
        atomic_fetch_add(&committer->commits, 1);
    }
    atomic_store(&committer->ended, true);
    return NULL;
}

/* W-17, law 1: what was answered is there, with an appendonly file that is synced, whenever Redis is killed:
 * every so many commits, at no particular moment of one. */
TEST(what_was_answered_survives_redis)
{
    static const char *const synced[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    struct redis_server server;
    struct store_node node;
    struct store_verdict verdict = {""};
    struct test_random random = {test_seed()};
    pthread_t thread;
    unsigned kills = 0;
    redis_server_start(&server, synced);
    struct store_redis_options options = store_node_options(server.port, "one");
    options.outage_ms = 60000;
    store_node_open_with(&node, &options);
    struct committer committer = {
        .node = &node, .rounds = test_effort(500), .seed = random.state + 1};
    store_model_init(&committer.model);
    assert_int_equal(pthread_create(&thread, NULL, commit_all, &committer), 0);
    for (; !atomic_load(&committer.ended); kills++) {
        unsigned until = atomic_load(&committer.commits) + 20;
        while (!atomic_load(&committer.ended) && atomic_load(&committer.commits) < until)
            (void)sched_yield();
        struct timespec moment = {.tv_nsec = (long)test_random_below(&random, 2000000)};
        (void)nanosleep(&moment, NULL);
        redis_server_kill(&server);
        redis_server_again(&server, synced);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (committer.status != TOCSIN_OK)
        fail_msg("%s", node.why.text);
    assert_true(kills > 0);
    store_node_close(&node);
    store_node_open_with(&node, &options);
    if (!store_model_judge_state(&committer.model, &node.state, &verdict) ||
        !store_model_judge(&committer.model, node.store, &verdict))
        fail_msg("%s", verdict.text);
    store_model_release(&committer.model);
    store_node_close(&node);
    redis_server_stop(&server);
}

/* The clever against the obvious: bytes of each event. */
TEST(the_room_of_events_keeps_within_its_bytes_and_gives_up_little)
{
    enum { EVENTS = 1000 };
    static uint64_t sizes[EVENTS + 1];
    struct test_random random = {test_seed()};
    for (int round = 0; round < 20; round++) {
        uint64_t max = 2000 + test_random_below(&random, 200000);
        struct event_room room;
        event_room_init(&room, max, 1, 0, 0);
        for (uint64_t seq = 1; seq <= EVENTS; seq++) {
            sizes[seq] = 32 + test_random_below(&random, max / 64);
            event_room_add(&room, sizes[seq]);
            uint64_t kept = 0;
            for (uint64_t i = event_room_first(&room); i <= seq; i++)
                kept += sizes[i];
            assert_int_equal(kept, room.bytes);
            assert_true(kept <= max);
            bool some_gone = event_room_first(&room) > 1;
            assert_true(!some_gone || kept >= max - max / 10);
        }
    }
}

TEST(the_room_of_events_goes_on_where_it_was)
{
    struct event_room room;
    event_room_init(&room, 6400, 11, 110, 6000); /* 100 events of 60 bytes */
    assert_int_equal(event_room_first(&room), 11);
    assert_int_equal(room.bytes, 6000);
    for (uint64_t seq = 111; seq <= 300; seq++) {
        event_room_add(&room, 60);
        assert_in_range(room.bytes, 5500, 6400);
        assert_in_range(event_room_first(&room), seq - 106, seq - 90);
    }
    event_room_init(&room, 0, 1, 100, 6000); /* none are given up */
    for (int i = 0; i < 10000; i++)
        event_room_add(&room, 1 << 20);
    assert_int_equal(event_room_first(&room), 1);
    event_room_init(&room, 640, 1, 100, 6000); /* far too many at first */
    event_room_add(&room, 60);
    assert_true(room.bytes <= 640);
    event_room_init(&room, 10, 1, 1, 60); /* the last one stays, whatever its size */
    event_room_add(&room, 60);
    assert_int_equal(event_room_first(&room), 2);
}
