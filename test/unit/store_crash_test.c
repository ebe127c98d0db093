/* SPDX-License-Identifier: MIT */
/* Power fails, the disk fails: at every single write and sync of a life with sweeps and
 * checkpoints. Afterwards every commit that was answered OK is there, the one under way is there
 * whole or not at all, and nothing else is (laws 1, 3 and 10; W-17, W-18). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"
#include "store/commit_counter.h"
#include "store/store.h"
#include "support/crash_vfs.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

static const struct store_habits habits = {
    .puts_max = 6, .dead_max = 4, .doc_max = 6000, .living_max = 60};

static struct store_draft draft;

/* Commit number i is the same in every run: a model and a number make it. */
static const struct store_batch *commit_of(const struct store_model *model, uint64_t number)
{
    struct test_random random = {test_seed() * 31 + number};
    store_draft_make(&draft, model, &random, &habits);
    draft.batch.urgent = number % 2 == 0;
    return &draft.batch;
}

static struct store_sqlite_options options_for(const struct temp_dir *dir)
{
    return (struct store_sqlite_options){
        .dir = dir->path, .sweep_min = 15, .checkpoint_frames = 25, .event_bytes_max = 6000};
}

/* Does it hold what the model says? Opens it as a restart would, and closes it again. */
static bool holds(const struct temp_dir *dir, const struct store_model *model, uint64_t epoch_min,
                  struct store_verdict *ret_verdict)
{
    struct store_sqlite_options options = options_for(dir);
    struct tocsin_why why = {""};
    struct store *store = NULL;
    struct store_state state;
    enum tocsin_status status = store_sqlite_open(&options, &store, &state, &why);
    if (status != TOCSIN_OK) {
        (void)snprintf(ret_verdict->text, sizeof ret_verdict->text, "open: %s, %s",
                       tocsin_status_name(status), why.text);
        return false;
    }
    bool good = store_model_judge_state(model, &state, ret_verdict) &&
                store_model_judge(model, store, ret_verdict);
    if (good && state.epoch < epoch_min) {
        (void)snprintf(ret_verdict->text, sizeof ret_verdict->text, "epoch %llu comes again",
                       (unsigned long long)state.epoch);
        good = false;
    }
    store->ops->close(store);
    return good;
}

/* The counter is not synced: after a power cut it is gone, or says any commit up to the last
 * that was answered. */
static void leave_counter(const struct temp_dir *dir, uint64_t incarnation, uint64_t commit)
{
    struct store_dir store_dir;
    struct commit_counter counter;
    assert_int_equal(store_dir_open(&store_dir, dir->path, false, NULL), TOCSIN_OK);
    assert_int_equal(commit_counter_open(&counter, &store_dir, incarnation, NULL), TOCSIN_OK);
    commit_counter_write(&counter, commit);
    commit_counter_close(&counter);
    store_dir_close(&store_dir);
}

static uint64_t incarnation_in(const struct temp_dir *dir)
{
    char path[200];
    uint64_t words[2] = {0, 0};
    (void)snprintf(path, sizeof path, "%s/commits", dir->path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(words, sizeof words, 1, file), 1);
    (void)fclose(file);
    return words[1];
}

/* What was written down of a life: marks are 0 while it is opened, then 1 + commits answered. */
struct life {
    struct crash_disk *disk;
    struct crash_cut *cut;
    uint64_t incarnation;
};

static struct life live(uint64_t commits, bool unsafe_no_sync)
{
    struct temp_dir dir;
    struct store_model model;
    struct store_state state;
    struct life life = {.disk = crash_disk_create()};
    temp_dir_init(&dir);
    store_model_init(&model);
    struct store_sqlite_options options = options_for(&dir);
    struct store *store = NULL;
    options.vfs = "crash";
    options.unsafe_no_sync = unsafe_no_sync;
    assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
    life.incarnation = incarnation_in(&dir);
    for (uint64_t i = 0; i < commits; i++) {
        crash_disk_mark(life.disk, 1 + i);
        const struct store_batch *batch = commit_of(&model, i);
        assert_int_equal(store->ops->commit(store, batch, NULL), TOCSIN_OK);
        store_model_apply(&model, batch);
    }
    struct store_sizes sizes;
    store->ops->sizes(store, &sizes);
    assert_true(commits < 100 || sizes.swept > 0);
    life.cut = crash_cut_create(life.disk);
    store->ops->close(store);
    store_model_release(&model);
    temp_dir_release(&dir);
    return life;
}

static void end(struct life *life)
{
    crash_cut_destroy(life->cut);
    crash_disk_destroy(life->disk);
}

/* The model as of the commits answered, and as of one more. */
struct two_models {
    struct store_model answered;
    struct store_model next;
    uint64_t commits;
};

static void two_init(struct two_models *two)
{
    *two = (struct two_models){.commits = 0};
    store_model_init(&two->answered);
    store_model_init(&two->next);
    store_model_apply(&two->next, commit_of(&two->next, 0));
}

static void two_release(struct two_models *two)
{
    store_model_release(&two->answered);
    store_model_release(&two->next);
}

static void two_advance(struct two_models *two, uint64_t commits)
{
    for (; two->commits < commits; two->commits++) {
        store_model_apply(&two->answered, commit_of(&two->answered, two->commits));
        store_model_apply(&two->next, commit_of(&two->next, two->commits + 1));
    }
}

static void judge_cut(struct life *life, struct two_models *two, enum crash_variant variant,
                      struct test_random *random, const struct temp_dir *dir)
{
    struct store_verdict verdict = {""};
    struct store_verdict second = {""};
    uint64_t mark = crash_cut_mark(life->cut);
    temp_dir_clear(dir);
    crash_cut_write(life->cut, variant, random, dir->path);
    if (mark > 0 && variant == CRASH_ALL)
        leave_counter(dir, life->incarnation, two->commits);
    else if (mark > 0 && test_random_one_in(random, 2))
        leave_counter(dir, life->incarnation, test_random_below(random, two->commits + 1));
    if (holds(dir, &two->answered, mark > 0 ? 2 : 1, &verdict))
        return;
    /* It opened, so the epoch has risen again, whatever it holds. */
    if (mark > 0 && holds(dir, &two->next, 2, &second))
        return;
    fail_msg("after %llu ops and %llu commits, variant %d: %s",
             (unsigned long long)crash_cut_ops(life->cut), (unsigned long long)two->commits,
             (int)variant, verdict.text);
}

TEST(power_may_fail_after_any_write_or_sync)
{
    struct test_random random = {test_seed()};
    struct life life = live(250, false);
    struct two_models two;
    struct temp_dir dir;
    temp_dir_init(&dir);
    two_init(&two);
    uint64_t skip = 1 + 10 / test_effort(10);
    while (crash_cut_next(life.cut)) {
        uint64_t mark = crash_cut_mark(life.cut);
        two_advance(&two, mark > 0 ? mark - 1 : 0);
        if (skip > 2 && !test_random_one_in(&random, skip))
            continue;
        enum crash_variant variant = (enum crash_variant)test_random_below(&random, CRASH_VARIANTS);
        judge_cut(&life, &two, variant, &random, &dir);
    }
    two_release(&two);
    temp_dir_release(&dir);
    end(&life);
}

/* Nothing was answered yet, so whatever is left of the making of a store becomes a new one. */
TEST(power_may_fail_while_the_store_is_made)
{
    struct test_random random = {test_seed()};
    struct life life = live(0, false);
    struct two_models two;
    struct temp_dir dir;
    temp_dir_init(&dir);
    two_init(&two);
    while (crash_cut_next(life.cut)) {
        for (uint64_t i = 0; i < test_effort(60); i++)
            judge_cut(&life, &two, CRASH_SOME, &random, &dir);
    }
    two_release(&two);
    temp_dir_release(&dir);
    end(&life);
}

/* The control: without syncs the judge must see the loss, or it sees nothing at all. */
TEST(control_without_syncs_a_power_cut_loses_commits)
{
    struct test_random random = {test_seed()};
    struct store_verdict verdict = {""};
    struct life life = live(30, true);
    struct two_models two;
    struct temp_dir dir;
    temp_dir_init(&dir);
    two_init(&two);
    two_advance(&two, 30);
    while (crash_cut_next(life.cut))
        continue;
    crash_cut_write(life.cut, CRASH_NONE, &random, dir.path);
    assert_false(holds(&dir, &two.answered, 1, &verdict));
    temp_dir_clear(&dir);
    crash_cut_write(life.cut, CRASH_ALL, &random, dir.path);
    assert_true(holds(&dir, &two.answered, 1, &verdict));
    /* And the counter, which here did lead, accuses. */
    temp_dir_clear(&dir);
    crash_cut_write(life.cut, CRASH_NONE, &random, dir.path);
    leave_counter(&dir, life.incarnation, 30);
    assert_false(holds(&dir, &two.answered, 1, &verdict));
    assert_non_null(strstr(verdict.text, "DAMAGED"));
    two_release(&two);
    temp_dir_release(&dir);
    end(&life);
}

/* "A torn tail: cut, counted, reported." */
TEST(a_torn_tail_is_cut_and_counted)
{
    struct test_random random = {test_seed()};
    struct life life = live(12, false);
    struct two_models two;
    struct temp_dir dir;
    uint64_t torn = 0;
    temp_dir_init(&dir);
    two_init(&two);
    while (crash_cut_next(life.cut)) {
        uint64_t mark = crash_cut_mark(life.cut);
        if (mark < 5)
            continue;
        struct store_sqlite_options options = options_for(&dir);
        struct store_state state;
        struct store *store;
        temp_dir_clear(&dir);
        crash_cut_write(life.cut, CRASH_ALL, &random, dir.path);
        assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
        two_advance(&two, mark - 1);
        bool tells = two.next.high_rev != two.answered.high_rev || /* it had more than drops */
                     two.next.high_seq != two.answered.high_seq;
        bool whole =
            tells && state.high_rev == two.next.high_rev && state.high_seq == two.next.high_seq;
        assert_true(!whole || state.tail_bytes_cut == 0);
        torn += state.tail_bytes_cut > 0;
        store->ops->close(store);
        assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
        assert_int_equal(state.tail_bytes_cut, 0);
        store->ops->close(store);
    }
    assert_true(torn >= 8);
    two_release(&two);
    temp_dir_release(&dir);
    end(&life);
}

/* As kill -9 would leave them: the files of a store that is open, under another directory. */
static void copy_files(const struct temp_dir *from, const struct temp_dir *to)
{
    static const char *const names[] = {"tocsin.db", "tocsin.db-wal", "commits"};
    static char bytes[1 << 16];
    temp_dir_clear(to);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", from->path, names[i]);
        FILE *in = fopen(path, "rb");
        if (in == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", to->path, names[i]);
        FILE *out = fopen(path, "wb");
        assert_non_null(out);
        size_t size;
        while ((size = fread(bytes, 1, sizeof bytes, in)) > 0)
            assert_int_equal(fwrite(bytes, 1, size, out), size);
        (void)fclose(in);
        assert_int_equal(fclose(out), 0);
    }
}

struct trial {
    struct temp_dir dir;
    struct temp_dir killed;
    enum crash_fault fault;
    uint64_t from;
    uint64_t times;
    uint64_t commits;
    bool stopped;
};

static void must_hold(struct trial *trial, const struct store_model *model, const char *when)
{
    struct store_verdict verdict = {""};
    copy_files(&trial->dir, &trial->killed);
    if (!holds(&trial->killed, model, 1, &verdict))
        fail_msg("fault %d at op %llu, %llu times, %s: %s", (int)trial->fault,
                 (unsigned long long)trial->from, (unsigned long long)trial->times, when,
                 verdict.text);
}

/* Unknown is unknown: it is there whole, or not at all. */
static void must_hold_either(struct trial *trial, struct store_model *model,
                             const struct store_batch *batch)
{
    struct store_verdict verdict = {""};
    copy_files(&trial->dir, &trial->killed);
    if (holds(&trial->killed, model, 1, &verdict))
        return;
    store_model_apply(model, batch);
    must_hold(trial, model, "after the store has stopped");
}

/* A full disk is never the end of the store, a failing one always is. */
static void one_commit(struct trial *trial, struct store *store, struct store_model *model,
                       uint64_t number)
{
    struct tocsin_why why = {""};
    const struct store_batch *batch = commit_of(model, number);
    enum tocsin_status status = store->ops->commit(store, batch, &why);
    switch (status) {
    case TOCSIN_OK:
        store_model_apply(model, batch);
        break;
    case TOCSIN_NO_SPACE:
        assert_true(trial->fault == CRASH_NO_SPACE || trial->fault == CRASH_SHORT);
        if (trial->times == 1 || number % 8 == 0)
            must_hold(trial, model, "after NO_SPACE");
        break;
    case TOCSIN_IO:
        if (trial->fault != CRASH_EIO && trial->fault != CRASH_EIO_READ)
            fail_msg("a full disk became: %s", why.text);
        assert_int_equal(store->ops->commit(store, batch, &why), TOCSIN_IO);
        must_hold_either(trial, model, batch);
        trial->stopped = true;
        break;
    default:
        fail_msg("%s: %s", tocsin_status_name(status), why.text);
    }
}

/* A short life with the fault in it. False when it was over before the fault came. */
static bool try_fault(struct trial *trial, struct crash_disk *disk)
{
    struct store_model model;
    struct store_state state;
    struct store *store = NULL;
    struct store_sqlite_options options = options_for(&trial->dir);
    temp_dir_clear(&trial->dir);
    store_model_init(&model);
    trial->stopped = false;
    bool came = true;
    options.vfs = "crash";
    crash_disk_fail(disk, trial->fault, trial->from, trial->times);
    if (store_sqlite_open(&options, &store, &state, NULL) == TOCSIN_OK) {
        for (uint64_t i = 0; i < trial->commits && !trial->stopped; i++)
            one_commit(trial, store, &model, i);
        came = crash_disk_failed(disk) > 0;
        assert_true(trial->stopped == (came && trial->fault == CRASH_EIO) ||
                    trial->fault == CRASH_EIO_READ);
        crash_disk_fail(disk, CRASH_NO_FAULT, 0, 0);
        store->ops->close(store);
    }
    if (!trial->stopped)
        must_hold(trial, &model, "at the end");
    store_model_release(&model);
    return came;
}

static void try_everywhere(enum crash_fault fault, uint64_t times)
{
    struct trial trial = {.fault = fault, .times = times, .commits = 35};
    uint64_t step = 12 / test_effort(12);
    struct test_random random = {test_seed()};
    temp_dir_init(&trial.dir);
    temp_dir_init(&trial.killed);
    bool came = true;
    while (came) {
        struct crash_disk *disk = crash_disk_create();
        came = try_fault(&trial, disk);
        crash_disk_destroy(disk);
        trial.from += 1 + (step > 1 ? test_random_below(&random, 2 * step) : 0);
    }
    assert_true(trial.from > 20);
    temp_dir_release(&trial.dir);
    temp_dir_release(&trial.killed);
}

/* Law 10: no acknowledgement after a failed write or sync, and what was acknowledged is there. */
TEST(any_write_or_sync_may_fail)
{
    try_everywhere(CRASH_EIO, 1);
}

TEST(any_read_may_fail)
{
    try_everywhere(CRASH_EIO_READ, 1);
}

TEST(the_disk_may_be_full_at_any_write)
{
    try_everywhere(CRASH_NO_SPACE, 1);
}

TEST(the_disk_may_be_full_for_a_while)
{
    try_everywhere(CRASH_NO_SPACE, 40);
}

TEST(any_write_may_be_cut_short)
{
    try_everywhere(CRASH_SHORT, 1);
}
