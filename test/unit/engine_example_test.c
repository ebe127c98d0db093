/* SPDX-License-Identifier: MIT */
/* Two kinds that need nothing but engine.h: a game whose timeout changes three records at once,
 * and a counter that a hundred clients change. The rest here is a loop for them to live on. */
#include "runner.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/threads.h"
#include "support/sim_backend.h"

/* ---- a game: its clock, its room, and a line in the book, by the room's id */

struct game {
    struct engine_kind clock;
    struct engine_kind room;
    struct engine_kind book;
    unsigned clock_kind;
    unsigned room_kind;
    unsigned book_kind;
};

static enum tocsin_status put(struct change *change, unsigned kind, struct bytes key,
                              int64_t due_ms, const char *doc)
{
    struct change_put wanted = {
        .kind = kind, .key = key, .home = key, .due_ms = due_ms, .doc = bytes_of(doc)};
    return change_put(change, &wanted, NULL);
}

static enum tocsin_status clock_due(void *service, struct change *change,
                                    const struct engine_record *record)
{
    struct game *game = service;
    struct engine_record room;
    enum tocsin_status status = change_get(change, game->room_kind, record->home, &room);
    if (status != TOCSIN_OK)
        return status;
    status = put(change, game->room_kind, record->home, STORE_NEVER, "over");
    if (status == TOCSIN_OK)
        status = put(change, game->book_kind, record->home, STORE_NEVER, "lost on time");
    if (status == TOCSIN_OK)
        status = change_drop(change, game->clock_kind, record->key);
    if (status == TOCSIN_OK)
        change_event(change, game->room_kind, record->home, "timeout", record->doc);
    return status;
}

static enum tocsin_status start_game(void *arg, struct change *change)
{
    struct game *game = arg;
    int64_t due = engine_now_up_ms(change_engine(change)) + 5000;
    struct bytes room = bytes_of("room 1");
    enum tocsin_status status = put(change, game->clock_kind, room, due, "black");
    return status != TOCSIN_OK ? status
                               : put(change, game->room_kind, room, STORE_NEVER, "playing");
}

static void add_game(struct game *game, struct engine *engine)
{
    *game = (struct game){
        .clock = {.name = "clock", .on_due = clock_due, .service = game},
        .room = {.name = "room"},
        .book = {.name = "book"},
    };
    game->clock_kind = engine_add_kind(engine, &game->clock);
    game->room_kind = engine_add_kind(engine, &game->room);
    game->book_kind = engine_add_kind(engine, &game->book);
}

/* ---- its test: a crash at every step there is */

struct table {
    struct clock_manual clock;
    struct sim_backend disk;
    struct engine *engine;
    struct game game;
    int steps_left; /* then it crashes; below 0: never */
    bool crashed;
    bool started;
};

static void fatal(void *arg, enum tocsin_status status, const char *why)
{
    (void)arg;
    fail_msg("%s: %s", tocsin_status_name(status), why);
}

static void table_start(struct table *table)
{
    struct engine_options options = {
        .limits = engine_limits_default,
        .clock = clock_of_manual(&table->clock),
        .backend = &table->disk.backend,
        .on_fatal = fatal,
    };
    options.limits.records = 100;
    struct tocsin_why why = {""};
    assert_int_equal(engine_create(&options, &table->engine, &why), TOCSIN_OK);
    add_game(&table->game, table->engine);
    assert_int_equal(engine_load(table->engine, &table->disk.store, &table->disk.state, &why),
                     TOCSIN_OK);
}

struct look {
    char docs[3][16]; /* clock, room, book */
};

static bool look_at(void *arg, const struct store_record *record)
{
    static const char *const kinds[] = {"clock", "room", "book"};
    struct look *look = arg;
    for (int i = 0; i < 3; i++) {
        if (bytes_are(record->kind, kinds[i]))
            memcpy(look->docs[i], record->doc.at, record->doc.size);
    }
    return true;
}

/* What is on the disk: nothing, a game, or the end of one; never a part of either. */
static const char *outcome(struct table *table)
{
    struct look look = {{"", "", ""}};
    struct tocsin_why why;
    uint64_t next;
    const char *kinds[] = {"clock", "room", "book"};
    for (int i = 0; i < 3; i++)
        (void)table->disk.under->ops->list(table->disk.under, bytes_of(kinds[i]), 0, 100, look_at,
                                           &look, &next, &why);
    char all[64];
    (void)snprintf(all, sizeof all, "%s|%s|%s", look.docs[0], look.docs[1], look.docs[2]);
    if (strcmp(all, "||") == 0)
        return "nothing";
    if (strcmp(all, "black|playing|") == 0)
        return "game";
    if (strcmp(all, "|over|lost on time") == 0)
        return "end";
    fail_msg("half a group: %s", all);
    return NULL;
}

static void crash(struct table *table)
{
    engine_destroy(table->engine);
    sim_crash(&table->disk);
    (void)outcome(table);
    table->crashed = true;
    table_start(table);
}

/* True when the process is still the same. */
static bool step(struct table *table)
{
    if (table->crashed || table->steps_left-- != 0)
        return true;
    crash(table);
    return false;
}

static void work(struct table *table)
{
    struct elapsed_time wake;
    do {
        engine_turn(table->engine, &wake);
        (void)step(table);
        if (table->disk.read_count > 0) {
            sim_read_run(&table->disk, 0);
            if (step(table))
                sim_read_done(&table->disk, table->engine, 0);
        }
        if (table->disk.batch != NULL && step(table)) {
            sim_store(&table->disk);
            if (step(table))
                sim_commit(&table->disk, table->engine, TOCSIN_OK);
        }
        (void)step(table);
    } while (table->disk.batch != NULL || table->disk.read_count > 0);
}

/* Laws 1 and 3. */
TEST(a_timeout_changes_three_records_or_none_whenever_the_process_dies)
{
    int crashes = 0;
    for (int at = 0; at < 1000; at++) {
        struct table table = {.steps_left = at, .clock = {{0}, {1704067200000000000}}};
        sim_init(&table.disk);
        table_start(&table);
        for (int i = 0; i < 3 && !table.started; i++) {
            engine_change(table.engine, false, start_game, NULL, &table.game);
            work(&table);
            table.started = strcmp(outcome(&table), "nothing") != 0;
        }
        assert_string_equal(outcome(&table), "game");
        for (int i = 0; i < 10; i++) {
            clock_manual_advance(&table.clock, INT64_C(1000000000));
            work(&table);
        }
        assert_string_equal(outcome(&table), "end");
        struct tocsin_why why;
        assert_int_equal(engine_check(table.engine, &why), TOCSIN_OK);
        engine_destroy(table.engine);
        sim_release(&table.disk);
        if (!table.crashed)
            break;
        crashes++;
    }
    print_message("%d crashes\n", crashes);
    assert_true(crashes > 10 && crashes < 1000);
}

/* ---- a counter, changed by a hundred clients, on real threads */

enum { CLIENTS = 100 };

struct counter {
    struct engine_kind kind;
    unsigned number;
    struct engine *engine;
    uint64_t wanted; /* changes to start */
    uint64_t answered;
    uint64_t read; /* by gets */
    pthread_mutex_t lock;
    pthread_cond_t posted;
    bool post;
};

static uint64_t count_of(struct bytes doc)
{
    char text[24] = "";
    memcpy(text, doc.at, doc.size < 23 ? doc.size : 23);
    return strtoull(text, NULL, 10);
}

static enum tocsin_status count_up(void *arg, struct change *change)
{
    struct counter *counter = arg;
    struct engine_record record;
    enum tocsin_status status = change_get(change, counter->number, bytes_of("hot"), &record);
    if (status == TOCSIN_BUSY)
        return status;
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64,
                   status == TOCSIN_OK ? count_of(record.doc) + 1 : 1);
    return put(change, counter->number, bytes_of("hot"), STORE_NEVER, text);
}

static void seen(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct counter *counter = arg;
    assert_int_equal(status, TOCSIN_OK);
    uint64_t count = count_of(record->doc);
    assert_true(count >= counter->read); /* what was seen once stays */
    counter->read = count;
}

static bool seen_in_list(void *arg, enum tocsin_status status, const struct engine_record *record,
                         uint64_t next)
{
    (void)next;
    if (record != NULL)
        seen(arg, status, record);
    return true;
}

static void counted(void *arg, enum tocsin_status status)
{
    struct counter *counter = arg;
    assert_int_equal(status, TOCSIN_OK);
    counter->answered++;
    if (counter->wanted > 0) {
        counter->wanted--;
        engine_change(counter->engine, false, count_up, counted, counter);
    }
    if (counter->answered % 101 == 0)
        engine_get(counter->engine, counter->number, bytes_of("hot"), seen, counter);
    if (counter->answered % 997 == 0)
        engine_list(counter->engine, counter->number, 0, 10, seen_in_list, counter);
}

static void post(void *arg)
{
    struct counter *counter = arg;
    (void)pthread_mutex_lock(&counter->lock);
    counter->post = true;
    (void)pthread_cond_signal(&counter->posted);
    (void)pthread_mutex_unlock(&counter->lock);
}

static void wait_for_post(struct counter *counter)
{
    (void)pthread_mutex_lock(&counter->lock);
    while (!counter->post)
        (void)pthread_cond_wait(&counter->posted, &counter->lock);
    counter->post = false;
    (void)pthread_mutex_unlock(&counter->lock);
}

static bool count_on_disk(void *arg, const struct store_record *record)
{
    uint64_t *count = arg;
    *count += count_of(record->doc); /* there is one */
    return true;
}

TEST(a_hot_record_counts_each_of_the_changes_of_a_hundred_clients)
{
    struct counter counter = {.kind = {.name = "counter"},
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .posted = PTHREAD_COND_INITIALIZER};
    struct store *store;
    struct store_state state;
    struct engine_threads *threads;
    struct tocsin_why why = {""};
    assert_int_equal(store_memory_open(&store, &state), TOCSIN_OK);
    assert_int_equal(threads_create(store, post, &counter, &threads, &why), TOCSIN_OK);
    struct engine_options options = {.limits = engine_limits_default,
                                     .clock = clock_system,
                                     .backend = threads_backend(threads),
                                     .on_fatal = fatal};
    options.limits.records = 1000;
    assert_int_equal(engine_create(&options, &counter.engine, &why), TOCSIN_OK);
    counter.number = engine_add_kind(counter.engine, &counter.kind);
    assert_int_equal(engine_load(counter.engine, store, &state, &why), TOCSIN_OK);
    uint64_t total = test_effort(100000) + CLIENTS;
    counter.wanted = total - CLIENTS;
    int64_t began = clock_elapsed(&clock_system).ns;
    for (int i = 0; i < CLIENTS; i++)
        engine_change(counter.engine, false, count_up, counted, &counter);
    struct elapsed_time wake;
    engine_turn(counter.engine, &wake);
    while (counter.answered < total) {
        wait_for_post(&counter);
        threads_take(threads, counter.engine);
        engine_turn(counter.engine, &wake);
    }
    double seconds = (double)(clock_elapsed(&clock_system).ns - began) / 1e9;
    print_message("%" PRIu64 " changes, %.0f a second\n", total, (double)total / seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true((double)total / seconds > 20000);
#endif
    threads_destroy(threads);
    struct engine_stats stats;
    engine_describe(counter.engine, &stats);
    assert_int_equal(stats.changes, total);
    assert_true(stats.commits < total);
    assert_int_equal(engine_check(counter.engine, &why), TOCSIN_OK);
    engine_destroy(counter.engine);
    uint64_t next;
    uint64_t count = 0;
    assert_int_equal(store->ops->list(store, bytes_of("counter"), 0, SIZE_MAX, count_on_disk,
                                      &count, &next, &why),
                     TOCSIN_OK);
    assert_int_equal(count, total);
    store->ops->close(store);
}
