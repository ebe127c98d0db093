/* SPDX-License-Identifier: MIT */
/* When sweeping begins, and how much of it a commit does: many small lists of the dead, as from
 * workers that acknowledge one by one; and rows so large that a few of them are much. (W-18: no
 * index leaks, nothing that ended comes back; law 8: everything is bounded.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "store/store.h"
#include "support/temp_dir.h"

enum { RECORDS = 3000, SWEEP_MIN = 700, ENDED = 2500 };

static struct store *open_store(const char *dir, struct store_state *ret_state)
{
    struct store *store;
    struct tocsin_why why = {""};
    struct store_sqlite_options options = {
        .dir = dir, .sweep_min = SWEEP_MIN, .unsafe_no_sync = true};
    enum tocsin_status status = store_sqlite_open(&options, &store, ret_state, &why);
    if (status != TOCSIN_OK)
        fail_msg("%s", why.text);
    return store;
}

static void commit(struct store *store, struct store_record *put, const uint64_t *dead,
                   uint64_t *rev)
{
    struct tocsin_why why = {""};
    struct store_batch batch = {.high_rev = *rev, .time = {1, 0}};
    if (put != NULL) {
        put->rev = ++*rev;
        batch.puts = put;
        batch.put_count = 1;
        batch.high_rev = *rev;
    }
    if (dead != NULL) {
        batch.dead = dead;
        batch.dead_count = 1;
    }
    assert_int_equal(store->ops->commit(store, &batch, &why), TOCSIN_OK);
}

static bool count_one(void *arg, const struct store_record *record)
{
    bool *seen = arg;
    assert_true(record->rev > 0 && record->rev < 3 * RECORDS);
    assert_false(seen[record->rev]);
    seen[record->rev] = true;
    return true;
}

TEST(many_small_lists_of_the_dead_are_all_swept_and_none_forgotten)
{
    static bool seen[3 * RECORDS];
    struct temp_dir dir;
    struct store_state state;
    struct store_sizes sizes;
    struct tocsin_why why = {""};
    uint64_t rev = 0;
    temp_dir_init(&dir);
    struct store *store = open_store(dir.path, &state);
    struct store_record put = {.kind = bytes_of("task"),
                               .key = bytes_of("k"),
                               .home = bytes_of("k"),
                               .due_ms = STORE_NEVER,
                               .doc = bytes_of("doc")};
    for (int i = 0; i < RECORDS; i++)
        commit(store, &put, NULL, &rev);
    for (uint64_t dead = 1; dead <= ENDED; dead++)
        commit(store, NULL, &dead, &rev);
    for (int i = 0; i < 2000; i++) /* the sweep goes on inside these */
        commit(store, NULL, NULL, &rev);
    store->ops->sizes(store, &sizes);
    assert_int_equal(sizes.living, RECORDS - ENDED);
    assert_true(sizes.swept > SWEEP_MIN);
    store->ops->close(store);
    store = open_store(dir.path, &state);
    assert_int_equal(store->ops->load(store, count_one, seen, &why), TOCSIN_OK);
    for (uint64_t i = 1; i <= RECORDS; i++)
        assert_int_equal(seen[i], i > ENDED);
    store->ops->close(store);
    temp_dir_release(&dir);
}

/* ---- rows of many pages */

enum {
    LARGE_BYTES = 60000, /* 15 pages */
    SMALL_BYTES = 20,
    BYTES_MIN = 1 << 20,
    GROUP_MAX = 512,
};

struct scene {
    struct temp_dir dir;
    struct store *store;
    uint64_t rev;
    char doc[LARGE_BYTES];
};

static void scene_open(struct scene *scene)
{
    struct store_state state;
    struct tocsin_why why = {""};
    struct store_sqlite_options options = {
        .dir = scene->dir.path, .sweep_bytes_min = BYTES_MIN, .unsafe_no_sync = true};
    if (store_sqlite_open(&options, &scene->store, &state, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    temp_dir_init(&scene->dir);
    scene_open(scene);
}

static void scene_release(struct scene *scene)
{
    scene->store->ops->close(scene->store);
    temp_dir_release(&scene->dir);
}

/* Puts so many in one commit; the first one's rev. */
static uint64_t put_group(struct scene *scene, size_t count, size_t doc_bytes)
{
    static struct store_record puts[GROUP_MAX];
    uint64_t first = scene->rev + 1;
    for (size_t i = 0; i < count; i++)
        puts[i] = (struct store_record){.rev = ++scene->rev,
                                        .kind = bytes_of("task"),
                                        .key = bytes_of("k"),
                                        .home = bytes_of("k"),
                                        .due_ms = STORE_NEVER,
                                        .doc = {scene->doc, doc_bytes}};
    struct store_batch batch = {
        .puts = puts, .put_count = count, .high_rev = scene->rev, .time = {1, 0}};
    assert_int_equal(scene->store->ops->commit(scene->store, &batch, NULL), TOCSIN_OK);
    return first;
}

static void end_group(struct scene *scene, uint64_t first, size_t count)
{
    uint64_t dead[GROUP_MAX];
    for (size_t i = 0; i < count; i++)
        dead[i] = first + i;
    struct store_batch batch = {
        .dead = dead, .dead_count = count, .high_rev = scene->rev, .time = {1, 0}};
    assert_int_equal(scene->store->ops->commit(scene->store, &batch, NULL), TOCSIN_OK);
}

/* Empty commits, in which a sweep goes on; the most that one of them swept. */
static uint64_t pass(struct scene *scene, int commits)
{
    struct store_sizes sizes;
    uint64_t most = 0;
    scene->store->ops->sizes(scene->store, &sizes);
    for (int i = 0; i < commits; i++) {
        uint64_t before = sizes.swept;
        commit(scene->store, NULL, NULL, &scene->rev);
        scene->store->ops->sizes(scene->store, &sizes);
        most = sizes.swept - before > most ? sizes.swept - before : most;
    }
    return most;
}

static uint64_t swept(struct scene *scene)
{
    struct store_sizes sizes;
    scene->store->ops->sizes(scene->store, &sizes);
    return sizes.swept;
}

/* 400 large ones among 4000 small ones: a tenth by their number, nearly all by their bytes. */
TEST(large_dead_rows_are_swept_by_their_bytes)
{
    static struct scene scene;
    scene_init(&scene);
    for (int i = 0; i < 10; i++)
        (void)put_group(&scene, 400, SMALL_BYTES);
    uint64_t large = put_group(&scene, 400, LARGE_BYTES);
    end_group(&scene, large, 400);
    (void)pass(&scene, 200);
    assert_int_equal(swept(&scene), 400);
    scene_release(&scene);
}

/* The control: as many small ones are left alone. */
TEST(a_few_small_dead_rows_are_not_swept)
{
    static struct scene scene;
    scene_init(&scene);
    (void)put_group(&scene, 400, SMALL_BYTES);
    uint64_t ended = put_group(&scene, 400, SMALL_BYTES);
    end_group(&scene, ended, 400);
    (void)pass(&scene, 200);
    assert_int_equal(swept(&scene), 0);
    scene_release(&scene);
}

/* Rows are worth a sweep when they are many beside the living, by their bytes too. */
TEST(large_dead_rows_wait_while_far_more_bytes_live)
{
    static struct scene scene;
    scene_init(&scene);
    uint64_t large = put_group(&scene, 512, LARGE_BYTES);
    end_group(&scene, large, 64);
    (void)pass(&scene, 200);
    assert_int_equal(swept(&scene), 0);
    end_group(&scene, large + 64, 400);
    (void)pass(&scene, 200);
    assert_int_equal(swept(&scene), 464);
    scene_release(&scene);
}

TEST(large_dead_rows_of_an_earlier_life_are_swept)
{
    static struct scene scene;
    scene_init(&scene);
    uint64_t large = put_group(&scene, 400, LARGE_BYTES);
    end_group(&scene, large, 400);
    assert_int_equal(swept(&scene), 0);
    scene.store->ops->close(scene.store);
    scene_open(&scene);
    (void)pass(&scene, 200);
    assert_int_equal(swept(&scene), 400);
    scene_release(&scene);
}

/* A commit that sweeps reads some 250 pages for it and the chains of one more statement, whatever
 * the size of rows; small ones go by their number. */
TEST(a_slice_of_large_rows_is_bounded_by_pages)
{
    enum { PAGES_EACH = 15, PAGES_MAX = 256, RUN = 16 };
    static struct scene scene;
    scene_init(&scene);
    uint64_t large = put_group(&scene, 500, LARGE_BYTES);
    end_group(&scene, large, 500);
    uint64_t most = pass(&scene, 200);
    assert_int_equal(swept(&scene), 500);
    assert_true(most >= RUN && most <= PAGES_MAX / PAGES_EACH + RUN);
    scene_release(&scene);
}
