/* SPDX-License-Identifier: MIT */
/* What was read is not what was written: bytes flip in the file and in the log, files are cut,
 * replaced, or not ours. The store refuses and says where, or nothing is lost: it is never
 * silently wrong (law 5). */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"
#include "store/store.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

static const struct store_habits habits = {
    .puts_max = 8, .dead_max = 5, .doc_max = 12000, .living_max = 150};

static struct store_draft draft;

struct content {
    char *bytes;
    size_t size;
};

/* A store as a process left it, and what is in it. */
struct scene {
    struct temp_dir dir;
    struct store_model model;
    struct content file;
    struct content log;
    struct content counter;
};

static void path_of(const struct temp_dir *dir, const char *name, char path[200])
{
    (void)snprintf(path, 200, "%s/%s", dir->path, name);
}

static struct content read_file(const struct temp_dir *dir, const char *name)
{
    struct content content = {0};
    struct stat status;
    char path[200];
    path_of(dir, name, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return content;
    assert_int_equal(fstat(fileno(file), &status), 0);
    content.size = (size_t)status.st_size;
    content.bytes = malloc(content.size + 1);
    assert_non_null(content.bytes);
    assert_int_equal(fread(content.bytes, 1, content.size, file), content.size);
    (void)fclose(file);
    return content;
}

static void write_file(const struct temp_dir *dir, const char *name, struct content content)
{
    char path[200];
    path_of(dir, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content.bytes, 1, content.size, file), content.size);
    assert_int_equal(fclose(file), 0);
}

static struct store_sqlite_options options_for(const struct temp_dir *dir)
{
    return (struct store_sqlite_options){
        .dir = dir->path, .sweep_min = 30, .checkpoint_frames = 150, .event_bytes_max = 20000};
}

static void commit_some(struct store *store, struct store_model *model, struct test_random *random,
                        uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        store_draft_make(&draft, model, random, &habits);
        assert_int_equal(store->ops->commit(store, &draft.batch, NULL), TOCSIN_OK);
        store_model_apply(model, &draft.batch);
    }
}

/* killed: the log is still there; otherwise all is in the file. */
static void scene_init(struct scene *scene, uint64_t commits, bool killed)
{
    struct test_random random = {test_seed()};
    struct store *store;
    struct store_state state;
    *scene = (struct scene){0};
    temp_dir_init(&scene->dir);
    store_model_init(&scene->model);
    struct store_sqlite_options options = options_for(&scene->dir);
    assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
    commit_some(store, &scene->model, &random, commits);
    if (!killed)
        store->ops->close(store);
    scene->file = read_file(&scene->dir, "tocsin.db");
    scene->log = read_file(&scene->dir, "tocsin.db-wal");
    scene->counter = read_file(&scene->dir, "commits");
    if (killed)
        store->ops->close(store);
}

static void scene_release(struct scene *scene)
{
    store_model_release(&scene->model);
    free(scene->file.bytes);
    free(scene->log.bytes);
    free(scene->counter.bytes);
    temp_dir_release(&scene->dir);
}

static void scene_set(const struct scene *scene)
{
    temp_dir_clear(&scene->dir);
    write_file(&scene->dir, "tocsin.db", scene->file);
    if (scene->log.size > 0)
        write_file(&scene->dir, "tocsin.db-wal", scene->log);
    if (scene->counter.size > 0)
        write_file(&scene->dir, "commits", scene->counter);
}

enum outcome { INTACT, REFUSED, WRONG };

/* Opens and reads everything, in every way. */
static enum outcome look(struct scene *scene, bool accept_loss, struct store_verdict *verdict)
{
    struct store_sqlite_options options = options_for(&scene->dir);
    struct store *store = NULL;
    struct store_state state;
    struct tocsin_why why = {""};
    options.accept_loss = accept_loss;
    *verdict = (struct store_verdict){""};
    enum tocsin_status status = store_sqlite_open(&options, &store, &state, &why);
    if (status != TOCSIN_OK) {
        (void)snprintf(verdict->text, sizeof verdict->text, "%s", why.text);
        bool told = status == TOCSIN_DAMAGED || status == TOCSIN_INVALID;
        return told && strstr(why.text, "tocsin.db") != NULL ? REFUSED : WRONG;
    }
    bool good = store_model_judge_state(&scene->model, &state, verdict) &&
                store_model_judge(&scene->model, store, verdict);
    store->ops->close(store);
    /* The engine knows what lives: to be told that it does not is to be told of the damage. */
    bool contradicted = strstr(verdict->text, "get: NONE") != NULL;
    return good ? INTACT : verdict->refused || contradicted ? REFUSED : WRONG;
}

static void must_not_be_wrong(struct scene *scene, size_t at, const char *what, uint64_t *counts)
{
    struct store_verdict verdict = {""};
    enum outcome outcome = look(scene, false, &verdict);
    if (outcome == WRONG)
        fail_msg("%s, byte %zu: %s", what, at, verdict.text);
    counts[outcome]++;
}

/* Each bit that decides about structure, and many of the others. */
TEST(a_flipped_bit_in_the_file_is_noticed_or_harmless)
{
    struct scene scene;
    struct test_random random = {test_seed()};
    uint64_t counts[3] = {0};
    scene_init(&scene, 150, false);
    for (uint64_t round = 0; round < test_effort(2500); round++) {
        size_t at = test_random_below(&random, scene.file.size);
        if (test_random_one_in(&random, 2)) /* the first bytes of pages hold their structure */
            at = at / 4096 * 4096 + test_random_below(&random, 60);
        if (round < 100)
            at = round;
        char bit = (char)(1 << test_random_below(&random, 8));
        scene.file.bytes[at] ^= bit;
        scene_set(&scene);
        must_not_be_wrong(&scene, at, "file", counts);
        scene.file.bytes[at] ^= bit;
    }
    print_message("%llu harmless, %llu refused\n", (unsigned long long)counts[INTACT],
                  (unsigned long long)counts[REFUSED]);
    assert_true(counts[REFUSED] > 0);
    scene_release(&scene);
}

TEST(a_flipped_bit_in_the_log_is_noticed_or_harmless)
{
    struct scene scene;
    struct test_random random = {test_seed()};
    uint64_t counts[3] = {0};
    scene_init(&scene, 40, true);
    assert_true(scene.log.size > 0);
    for (uint64_t round = 0; round < test_effort(1000); round++) {
        size_t at = round < 32 ? round : test_random_below(&random, scene.log.size);
        char bit = (char)(1 << test_random_below(&random, 8));
        scene.log.bytes[at] ^= bit;
        scene_set(&scene);
        must_not_be_wrong(&scene, at, "log", counts);
        scene.log.bytes[at] ^= bit;
    }
    assert_true(counts[REFUSED] > 0);
    scene_release(&scene);
}

/* The log alone tells too, when more than one commit lies behind what does not verify. */
TEST(a_hole_in_the_log_is_noticed_without_the_counter)
{
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 20, true);
    scene.counter.size = 0;
    scene.log.bytes[scene.log.size / 2] ^= 1;
    scene_set(&scene);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    assert_non_null(strstr(verdict.text, "commits after number"));
    scene_release(&scene);
}

TEST(a_log_that_is_gone_is_noticed_and_its_loss_can_be_accepted)
{
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 20, true);
    scene.log.size = 0;
    scene_set(&scene);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    assert_non_null(strstr(verdict.text, "20 acknowledged commits after number 0 are missing"));
    assert_non_null(strstr(verdict.text, "--accept-loss"));
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    /* Accepted, it is what it was before these, and goes on from there without being asked. */
    store_model_release(&scene.model);
    assert_int_equal(look(&scene, true, &verdict), INTACT);
    assert_int_equal(look(&scene, false, &verdict), INTACT);
    scene_release(&scene);
}

TEST(a_file_that_is_gone_cut_or_something_else_is_refused)
{
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 60, false);
    size_t whole = scene.file.size;
    for (size_t size = 0; size + 4096 <= whole; size += whole / 7) {
        scene.file.size = size;
        scene_set(&scene);
        if (look(&scene, false, &verdict) != REFUSED)
            fail_msg("cut to %zu bytes: %s", size, verdict.text);
    }
    scene.file.size = whole;
    memcpy(scene.file.bytes, "%PDF-1.7", 8);
    scene_set(&scene);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    assert_non_null(strstr(verdict.text, "at byte 0"));
    scene.counter.size = 0;
    scene_set(&scene);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    scene_release(&scene);
}

/* ?1 in it is the rev. */
static void run_sql(const struct temp_dir *dir, const char *sql, uint64_t rev)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    char path[200];
    path_of(dir, "tocsin.db", path);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_bind_parameter_count(statement) > 0)
        assert_int_equal(sqlite3_bind_int64(statement, 1, (sqlite3_int64)rev), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

TEST(a_format_of_another_version_is_refused_with_a_sentence)
{
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 3, false);
    run_sql(&scene.dir, "PRAGMA user_version=2", 0);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    assert_non_null(strstr(verdict.text, "has format 2, this Tocsin knows format 1"));
    run_sql(&scene.dir, "PRAGMA application_id=0", 0);
    assert_int_equal(look(&scene, false, &verdict), REFUSED);
    assert_non_null(strstr(verdict.text, "no Tocsin store"));
    scene_release(&scene);
}

/* Each promise about a row by itself, changed as a careless hand would. */
TEST(rows_changed_by_hand_are_noticed)
{
    static const char *const changes[] = {
        "UPDATE record SET due=12345 WHERE rev=?1",
        "UPDATE record SET doc=x'0001' WHERE rev=?1",
        "UPDATE record SET rev=rev+100000 WHERE rev=?1",
        "DELETE FROM record WHERE rev=?1",
        "UPDATE dead SET revs=x'' WHERE n=(SELECT max(n) FROM dead WHERE length(revs)>0)",
        "DELETE FROM dead WHERE n=(SELECT max(n) FROM dead WHERE length(revs)>0)",
        "UPDATE dead SET high_rev=high_rev-1 WHERE n=(SELECT max(n) FROM dead)",
        "DELETE FROM dead",
        "UPDATE meta SET epoch=7",
        "DELETE FROM meta",
        "UPDATE event SET doc=x'00' WHERE seq=(SELECT max(seq) FROM event)",
        "DROP TABLE event",
    };
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 60, false);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        scene_set(&scene);
        run_sql(&scene.dir, changes[i], scene.model.living[scene.model.count / 2]->rev);
        if (look(&scene, false, &verdict) != REFUSED)
            fail_msg("%s: %s", changes[i], verdict.text);
    }
    scene_release(&scene);
}

static enum tocsin_status open_path(const char *path, struct tocsin_why *why)
{
    struct store_sqlite_options options = {.dir = path};
    struct store *store = NULL;
    struct store_state state;
    enum tocsin_status status = store_sqlite_open(&options, &store, &state, why);
    if (status == TOCSIN_OK)
        store->ops->close(store);
    return status;
}

TEST(a_directory_that_cannot_be_had_is_named)
{
    struct temp_dir dir;
    struct tocsin_why why = {""};
    char path[200];
    temp_dir_init(&dir);
    char byte = 'x';
    write_file(&dir, "file", (struct content){&byte, 1});
    path_of(&dir, "file", path);
    assert_int_equal(open_path(path, &why), TOCSIN_UNAVAILABLE);
    assert_non_null(strstr(why.text, "it is a file"));
    path_of(&dir, "no/such", path);
    assert_int_equal(open_path(path, &why), TOCSIN_UNAVAILABLE);
    assert_non_null(strstr(why.text, path));
    path_of(&dir, "made", path);
    assert_int_equal(open_path(path, &why), TOCSIN_OK);
    assert_int_equal(open_path("/proc/tocsin", &why), TOCSIN_UNAVAILABLE);
    temp_dir_release(&dir);
}

TEST(a_second_process_is_told_who_has_the_directory)
{
    struct temp_dir dir;
    struct tocsin_why why = {""};
    char pid[32];
    temp_dir_init(&dir);
    struct store_sqlite_options options = {.dir = dir.path};
    struct store *store = NULL;
    struct store_state state;
    assert_int_equal(store_sqlite_open(&options, &store, &state, &why), TOCSIN_OK);
    (void)snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    assert_int_equal(open_path(dir.path, &why), TOCSIN_BUSY);
    assert_non_null(strstr(why.text, pid));
    store->ops->close(store);
    assert_int_equal(open_path(dir.path, &why), TOCSIN_OK);
    temp_dir_release(&dir);
}
