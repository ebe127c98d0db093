/* SPDX-License-Identifier: MIT */
/* One suite for every store (W-08): what store.h promises, against the obvious store. */
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"
#include "store/redis/redis_store.h"
#include "support/redis_server.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

struct subject {
    struct store *store;
    struct store_state state;
    struct temp_dir dir;
    struct redis_server redis; /* pid 0: none was wanted yet */
};

struct kind_of_store {
    const char *name;
    bool lasting; /* opened again, it has what it had */
    enum tocsin_status (*open)(struct subject *subject, struct tocsin_why *ret_why);
};

static enum tocsin_status open_memory(struct subject *subject, struct tocsin_why *ret_why)
{
    (void)ret_why;
    return store_memory_open(&subject->store, &subject->state);
}

static enum tocsin_status open_sqlite(struct subject *subject, struct tocsin_why *ret_why)
{
    struct store_sqlite_options options = {.dir = subject->dir.path};
    return store_sqlite_open(&options, &subject->store, &subject->state, ret_why);
}

/* Sweeps all the time and copies its log every few commits. */
static enum tocsin_status open_sqlite_restless(struct subject *subject, struct tocsin_why *ret_why)
{
    struct store_sqlite_options options = {
        .dir = subject->dir.path,
        .sweep_min = 20,
        .checkpoint_frames = 30,
        .event_bytes_max = 20000,
    };
    return store_sqlite_open(&options, &subject->store, &subject->state, ret_why);
}

static enum tocsin_status open_redis_with(struct subject *subject, uint64_t event_bytes_max,
                                          struct tocsin_why *ret_why)
{
    static const char *const no_more[] = {NULL};
    if (subject->redis.pid == 0)
        redis_server_start(&subject->redis, no_more);
    struct store_redis_options options = {
        .where = {.host = bytes_of("127.0.0.1"), .port = subject->redis.port},
        .node = "the tested one",
        .event_bytes_max = event_bytes_max,
    };
    return store_redis_open(&options, &subject->store, &subject->state, ret_why);
}

static enum tocsin_status open_redis(struct subject *subject, struct tocsin_why *ret_why)
{
    return open_redis_with(subject, 0, ret_why);
}

static enum tocsin_status open_redis_forgetful(struct subject *subject, struct tocsin_why *ret_why)
{
    return open_redis_with(subject, 20000, ret_why);
}

static const struct kind_of_store kinds[] = {
    {"memory", false, open_memory},
    {"sqlite", true, open_sqlite},
    {"sqlite, restless", true, open_sqlite_restless},
    {"redis", true, open_redis},
    {"redis, forgetful", true, open_redis_forgetful},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void reopen(struct subject *subject, const struct kind_of_store *kind)
{
    struct tocsin_why why = {""};
    if (subject->store != NULL)
        subject->store->ops->close(subject->store);
    if (kind->open(subject, &why) != TOCSIN_OK)
        fail_msg("%s: %s", kind->name, why.text);
}

static struct subject begin(const struct kind_of_store *kind)
{
    struct subject subject = {0};
    temp_dir_init(&subject.dir);
    reopen(&subject, kind);
    return subject;
}

static void end(struct subject *subject)
{
    subject->store->ops->close(subject->store);
    if (subject->redis.pid != 0)
        redis_server_stop(&subject->redis);
    temp_dir_release(&subject->dir);
}

static void commit(struct subject *subject, const struct store_batch *batch)
{
    struct tocsin_why why = {""};
    if (subject->store->ops->commit(subject->store, batch, &why) != TOCSIN_OK)
        fail_msg("commit: %s", why.text);
}

static void must_agree(struct subject *subject, const struct store_model *model)
{
    struct store_verdict verdict = {""};
    if (!store_model_judge(model, subject->store, &verdict))
        fail_msg("%s", verdict.text);
}

static void must_know(struct subject *subject, const struct store_model *model)
{
    struct store_verdict verdict = {""};
    if (!store_model_judge_state(model, &subject->state, &verdict))
        fail_msg("%s", verdict.text);
}

static struct store_record record_of(uint64_t rev, const char *key, const char *doc)
{
    return (struct store_record){
        .rev = rev,
        .kind = bytes_of("task"),
        .key = bytes_of(key),
        .home = bytes_of(key),
        .tag = bytes_of("default"),
        .due_ms = 1000,
        .doc = bytes_of(doc),
    };
}

static void put_one(struct subject *subject, uint64_t rev, const char *key)
{
    struct store_record record = record_of(rev, key, "{}");
    commit(subject, &(struct store_batch){.puts = &record, .put_count = 1, .high_rev = rev});
}

static bool count_record(void *arg, const struct store_record *record)
{
    (void)record;
    ++*(uint64_t *)arg;
    return true;
}

static uint64_t loaded(struct subject *subject)
{
    uint64_t count = 0;
    struct tocsin_why why = {""};
    if (subject->store->ops->load(subject->store, count_record, &count, &why) != TOCSIN_OK)
        fail_msg("load: %s", why.text);
    return count;
}

static void ignore_record(void *arg, const struct store_record *record)
{
    (void)arg;
    (void)record;
}

static bool has(struct subject *subject, uint64_t rev)
{
    return subject->store->ops->get(subject->store, rev, ignore_record, NULL, NULL) == TOCSIN_OK;
}

TEST(a_new_store_is_empty_and_in_its_first_epoch)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        assert_int_equal(subject.state.epoch, 1);
        assert_int_equal(subject.state.high_rev, 0);
        assert_int_equal(subject.state.high_seq, 0);
        assert_int_equal(subject.state.living, 0);
        assert_int_equal(subject.state.tail_bytes_cut, 0);
        assert_int_equal(loaded(&subject), 0);
        assert_false(has(&subject, 1));
        end(&subject);
    }
}

/* W-17: what was put comes back, byte by byte, also what no text may hold. */
TEST(what_was_put_comes_back_byte_by_byte)
{
    static const char binary[] = "a\0b\xff\xfe\xc3\xa9\xf0\x9f\x94\x94";
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        struct store_model model;
        store_model_init(&model);
        char *large = calloc(1, STORE_DOC_BYTES_MAX);
        assert_non_null(large);
        large[STORE_DOC_BYTES_MAX - 1] = 'x';
        struct store_record records[] = {
            record_of(1, "plain", "{\"a\":1}"),
            record_of(5, "", ""),
            record_of(6, "binary", ""),
            record_of(1000, "large", ""),
            record_of(UINT64_C(1) << 52, "far", ""),
        };
        records[2].key = (struct bytes){binary, sizeof binary};
        records[2].home = (struct bytes){NULL, 0};
        records[2].tag = (struct bytes){binary, sizeof binary};
        records[2].doc = (struct bytes){binary, sizeof binary};
        records[2].kind = bytes_of("run");
        records[3].doc = (struct bytes){large, STORE_DOC_BYTES_MAX};
        records[4].due_ms = STORE_NEVER;
        records[4].basis = STORE_WALL;
        records[4].mark = 255;
        struct store_batch batch = {
            .puts = records, .put_count = 5, .high_rev = records[4].rev, .time = {-5, INT64_MIN}};
        commit(&subject, &batch);
        store_model_apply(&model, &batch);
        must_agree(&subject, &model);
        if (kinds[i].lasting) {
            reopen(&subject, &kinds[i]);
            must_know(&subject, &model);
            must_agree(&subject, &model);
        }
        store_model_release(&model);
        free(large);
        end(&subject);
    }
}

/* Design: rev, seq and epoch only rise, also when everything was dropped (W-18). */
TEST(what_only_rises_survives_the_drop_of_everything)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!kinds[i].lasting)
            continue;
        struct subject subject = begin(&kinds[i]);
        struct store_event event = {.seq = 1, .kind = bytes_of("task"), .type = bytes_of("made")};
        struct store_record record = record_of(7, "a", "");
        commit(&subject, &(struct store_batch){.puts = &record,
                                               .put_count = 1,
                                               .high_rev = 7,
                                               .events = &event,
                                               .event_count = 1});
        uint64_t dead = 7;
        commit(&subject, &(struct store_batch){
                             .dead = &dead, .dead_count = 1, .high_rev = 9, .time = {77, -3}});
        for (uint64_t epoch = 2; epoch < 5; epoch++) {
            reopen(&subject, &kinds[i]);
            assert_int_equal(subject.state.epoch, epoch);
            assert_int_equal(subject.state.high_rev, 9);
            assert_int_equal(subject.state.high_seq, 1);
            assert_int_equal(subject.state.time.elapsed_ms, 77);
            assert_int_equal(subject.state.time.skew_ms, -3);
            assert_int_equal(loaded(&subject), 0);
        }
        end(&subject);
    }
}

TEST(a_commit_of_nothing_moves_the_time_line)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        put_one(&subject, 1, "a");
        for (int64_t ms = 1; ms <= 50; ms++)
            commit(&subject, &(struct store_batch){.high_rev = 1, .time = {ms, ms}});
        struct store_sizes sizes;
        subject.store->ops->sizes(subject.store, &sizes);
        assert_int_equal(sizes.commits, 51);
        assert_int_equal(sizes.living, 1);
        if (kinds[i].lasting) {
            reopen(&subject, &kinds[i]);
            assert_int_equal(subject.state.time.elapsed_ms, 50);
        }
        assert_int_equal(loaded(&subject), 1);
        end(&subject);
    }
}

static bool stop_at_three(void *arg, const struct store_record *record)
{
    (void)record;
    return ++*(uint64_t *)arg < 3;
}

TEST(visitors_may_stop_and_lists_go_on_where_they_stopped)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        for (uint64_t rev = 1; rev <= 10; rev++)
            put_one(&subject, rev, "a");
        struct store *store = subject.store;
        uint64_t count = 0;
        uint64_t next = 99;
        assert_int_equal(store->ops->load(store, stop_at_three, &count, NULL), TOCSIN_OK);
        assert_int_equal(count, 3);
        count = 0;
        assert_int_equal(
            store->ops->list(store, bytes_of("task"), 4, 100, stop_at_three, &count, &next, NULL),
            TOCSIN_OK);
        assert_int_equal(next, 7);
        count = 0;
        assert_int_equal(
            store->ops->list(store, bytes_of("task"), 7, 2, count_record, &count, &next, NULL),
            TOCSIN_OK);
        assert_int_equal(count, 2);
        assert_int_equal(next, 9);
        assert_int_equal(
            store->ops->list(store, bytes_of("task"), 9, 1, count_record, &count, &next, NULL),
            TOCSIN_OK);
        assert_int_equal(next, 0);
        assert_int_equal(
            store->ops->list(store, bytes_of("room"), 0, 5, count_record, &count, &next, NULL),
            TOCSIN_OK);
        assert_int_equal(count, 3);
        assert_int_equal(next, 5);
        end(&subject);
    }
}

/* Loading reads ahead of its visitor: far more here than it may. */
TEST(a_load_that_is_stopped_early_leaves_nothing_behind)
{
    enum { RECORDS = 20000, A_COMMIT = 1000 };
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        struct store *store = subject.store;
        struct store_record records[A_COMMIT];
        for (uint64_t rev = 1; rev <= RECORDS; rev += A_COMMIT) {
            for (uint64_t k = 0; k < A_COMMIT; k++)
                records[k] = record_of(rev + k, "a", "{}");
            commit(&subject, &(struct store_batch){.puts = records,
                                                   .put_count = A_COMMIT,
                                                   .high_rev = rev + A_COMMIT - 1});
        }
        uint64_t count = 0;
        assert_int_equal(store->ops->load(store, stop_at_three, &count, NULL), TOCSIN_OK);
        assert_int_equal(count, 3);
        assert_int_equal(loaded(&subject), RECORDS);
        put_one(&subject, RECORDS + 1, "b");
        assert_int_equal(loaded(&subject), RECORDS + 1);
        end(&subject);
    }
}

static bool first_seq(void *arg, const struct store_event *event)
{
    *(uint64_t *)arg = event->seq;
    return false;
}

static void must_give_up_the_oldest(const struct kind_of_store *restless)
{
    struct subject subject = begin(restless);
    char doc[500] = "";
    for (uint64_t seq = 1; seq <= 300; seq++) {
        struct store_event event = {.seq = seq,
                                    .kind = bytes_of("task"),
                                    .type = bytes_of("fired"),
                                    .doc = {doc, sizeof doc}};
        commit(&subject, &(struct store_batch){.events = &event, .event_count = 1});
    }
    reopen(&subject, restless);
    uint64_t first = 0;
    uint64_t seen = 0;
    struct store *store = subject.store;
    assert_int_equal(store->ops->events(store, 0, 10, first_seq, &seen, &first, NULL), TOCSIN_OK);
    assert_in_range(first, 255, 270);
    assert_int_equal(seen, first);
    assert_int_equal(store->ops->events(store, 290, 10, first_seq, &seen, &first, NULL), TOCSIN_OK);
    assert_int_equal(seen, 291);
    seen = 0;
    assert_int_equal(store->ops->events(store, 300, 10, first_seq, &seen, &first, NULL), TOCSIN_OK);
    assert_int_equal(seen, 0);
    end(&subject);
}

TEST(the_oldest_events_are_given_up_and_it_shows)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].open == open_sqlite_restless || kinds[i].open == open_redis_forgetful)
            must_give_up_the_oldest(&kinds[i]);
}

/* Everything at once against the obvious store, closed and opened again at random (W-08, W-18). */
TEST(a_random_life_is_as_in_the_obvious_store)
{
    static const struct store_habits habits = {
        .puts_max = 12, .dead_max = 6, .doc_max = 9000, .living_max = 400};
    static struct store_draft draft;
    for (size_t i = 0; i < KINDS; i++) {
        struct test_random random = {test_seed() + i};
        struct subject subject = begin(&kinds[i]);
        struct store_model model;
        store_model_init(&model);
        uint64_t rounds = test_effort(1500);
        for (uint64_t round = 0; round < rounds; round++) {
            store_draft_make(&draft, &model, &random, &habits);
            commit(&subject, &draft.batch);
            store_model_apply(&model, &draft.batch);
            if (test_random_one_in(&random, 100))
                must_agree(&subject, &model);
            if (kinds[i].lasting && test_random_one_in(&random, 60)) {
                reopen(&subject, &kinds[i]);
                must_know(&subject, &model);
                must_agree(&subject, &model);
            }
        }
        must_agree(&subject, &model);
        store_model_release(&model);
        end(&subject);
    }
}

/* Law 8: the dead go, and with them their lists; the file does not grow with the history. */
TEST(sweeping_keeps_the_file_small_and_the_living_there)
{
    enum { LIVING = 50, ROUNDS = 4000 };
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].open != open_sqlite_restless)
            continue;
        struct subject subject = begin(&kinds[i]);
        uint64_t rounds = LIVING + test_effort(ROUNDS);
        for (uint64_t rev = 1; rev <= rounds; rev++) {
            struct store_record record = record_of(rev, "a key", "{\"some\":\"document\"}");
            uint64_t dead = rev - LIVING;
            commit(&subject, &(struct store_batch){.puts = &record,
                                                   .put_count = 1,
                                                   .dead = &dead,
                                                   .dead_count = rev > LIVING,
                                                   .high_rev = rev});
        }
        struct store_sizes sizes;
        subject.store->ops->sizes(subject.store, &sizes);
        assert_int_equal(sizes.living, LIVING);
        assert_in_range(sizes.dead, 0, 100);
        assert_int_equal(sizes.dead + sizes.swept, rounds - LIVING);
        assert_in_range(sizes.file_bytes, 1, 150000);
        reopen(&subject, &kinds[i]);
        assert_int_equal(loaded(&subject), LIVING);
        for (uint64_t rev = rounds - LIVING + 1; rev <= rounds; rev++)
            assert_true(has(&subject, rev));
        end(&subject);
    }
}

TEST(a_hundred_thousand_records_come_back)
{
    enum { EACH = 500 };
    static struct store_record records[EACH];
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        uint64_t count = test_effort(100000);
        for (uint64_t rev = 1; rev <= count;) {
            size_t puts = 0;
            for (; puts < EACH && rev <= count; rev++)
                records[puts++] = record_of(rev, "key", "a document");
            commit(&subject,
                   &(struct store_batch){.puts = records, .put_count = puts, .high_rev = rev - 1});
        }
        if (kinds[i].lasting)
            reopen(&subject, &kinds[i]);
        assert_int_equal(loaded(&subject), count);
        end(&subject);
    }
}

struct reading {
    struct store *store;
    atomic_bool ended;
    uint64_t rounds;
    bool good;
};

static void see_key(void *arg, const struct store_record *record)
{
    struct reading *reading = arg;
    reading->good = reading->good && bytes_are(record->key, "key") && record->doc.size == 300;
}

static bool see_any_event(void *arg, const struct store_event *event)
{
    struct reading *reading = arg;
    reading->good = reading->good && event->doc.size == 10;
    return true;
}

static bool see_any_record(void *arg, const struct store_record *record)
{
    see_key(arg, record);
    return true;
}

static void *read_all_the_time(void *arg)
{
    struct reading *reading = arg;
    const struct store_ops *ops = reading->store->ops;
    struct store_sizes sizes;
    uint64_t next = 0;
    uint64_t first = 0;
    do {
        uint64_t rev = 1 + reading->rounds++ % 500;
        enum tocsin_status status = ops->get(reading->store, rev, see_key, reading, NULL);
        bool good = status == TOCSIN_OK || status == TOCSIN_NONE;
        good = good && ops->list(reading->store, bytes_of("task"), next, 20, see_any_record,
                                 reading, &next, NULL) == TOCSIN_OK;
        good = good && ops->events(reading->store, first, 20, see_any_event, reading, &first,
                                   NULL) == TOCSIN_OK;
        ops->sizes(reading->store, &sizes);
        reading->good = reading->good && good;
    } while (!atomic_load(&reading->ended));
    return NULL;
}

/* Threads: one commits, another reads, neither waits for the other for long. */
TEST(one_thread_reads_while_another_commits)
{
    enum { LIVING = 100 };
    for (size_t i = 0; i < KINDS; i++) {
        struct subject subject = begin(&kinds[i]);
        struct reading reading = {.store = subject.store, .good = true};
        pthread_t reader;
        char doc[300] = "";
        assert_int_equal(pthread_create(&reader, NULL, read_all_the_time, &reading), 0);
        for (uint64_t rev = 1; rev <= LIVING + test_effort(3000); rev++) {
            struct store_record record = record_of(rev, "key", "");
            struct store_event event = {.seq = rev, .kind = bytes_of("task"), .doc = {doc, 10}};
            uint64_t dead = rev - LIVING;
            record.doc = (struct bytes){doc, sizeof doc};
            commit(&subject, &(struct store_batch){.puts = &record,
                                                   .put_count = 1,
                                                   .dead = &dead,
                                                   .dead_count = rev > LIVING,
                                                   .high_rev = rev,
                                                   .events = &event,
                                                   .event_count = 1});
        }
        atomic_store(&reading.ended, true);
        assert_int_equal(pthread_join(reader, NULL), 0);
        assert_true(reading.good);
        assert_true(reading.rounds > 0);
        end(&subject);
    }
}
