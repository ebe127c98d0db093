/* SPDX-License-Identifier: MIT */
/* Sweeping when the dead came one a commit, as from workers that acknowledge one by one: their
 * lists are many and small. (W-18: no index leaks, nothing that ended comes back.) */
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
