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
#include "store/sqlite_place.h"
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
static void scene_init_from(struct scene *scene, uint64_t seed, uint64_t commits, bool killed)
{
    struct test_random random = {seed};
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

static void scene_init(struct scene *scene, uint64_t commits, bool killed)
{
    scene_init_from(scene, test_seed(), commits, killed);
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

/* Where the newest row of a table begins: how long it is, its number, what its columns are. */
static size_t newest_row_at(const struct scene *scene, const char *table, const char *number)
{
    struct sqlite_db db = {.path = NULL};
    char text[SQLITE_PLACE_BYTES];
    char path[200];
    char sql[80];
    int64_t row = 0;
    unsigned long long at = 0;
    path_of(&scene->dir, "tocsin.db", path);
    (void)snprintf(sql, sizeof sql, "SELECT max(%s) FROM %s", number, table);
    assert_int_equal(sqlite3_open_v2(path, &db.handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite_db_number(&db, sql, &row, NULL), TOCSIN_OK);
    sqlite_place_row(&db, table, (uint64_t)row, text);
    assert_int_equal(sscanf(text, " at byte %llu", &at), 1);
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    return (size_t)at;
}

TEST(a_flipped_bit_in_the_head_of_a_row_is_noticed_or_harmless)
{
    static const struct {
        const char *table;
        const char *number;
    } tables[] = {{"record", "rev"}, {"dead", "n"}, {"event", "seq"}, {"meta", "id"}};
    enum { HEAD_BYTES = 22 };
    struct scene scene;
    uint64_t counts[3] = {0};
    scene_init(&scene, 60, false);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        scene_set(&scene);
        size_t start = newest_row_at(&scene, tables[i].table, tables[i].number);
        for (size_t bit = 0; bit < 8 * (size_t)HEAD_BYTES; bit++) {
            size_t at = start + bit / 8;
            scene.file.bytes[at] ^= (char)(1 << bit % 8);
            scene_set(&scene);
            must_not_be_wrong(&scene, at, tables[i].table, counts);
            scene.file.bytes[at] ^= (char)(1 << bit % 8);
        }
    }
    assert_true(counts[REFUSED] > 300);
    scene_release(&scene);
}

enum { LISTED_MAX = 4000 };

struct listed {
    uint64_t revs[LISTED_MAX];
    size_t count;
};

static bool see_listed(void *arg, const struct store_record *record)
{
    struct listed *listed = arg;
    assert_true(listed->count < LISTED_MAX);
    listed->revs[listed->count++] = record->rev;
    return true;
}

/* In small pages, so that there are many lookups. */
static enum tocsin_status list_all(const struct scene *scene, struct listed *ret_listed)
{
    struct store_sqlite_options options = options_for(&scene->dir);
    struct store *store = NULL;
    struct store_state state;
    uint64_t next = 0;
    ret_listed->count = 0;
    enum tocsin_status status = store_sqlite_open(&options, &store, &state, NULL);
    if (status != TOCSIN_OK)
        return status;
    do
        status =
            store->ops->list(store, bytes_of("task"), next, 3, see_listed, ret_listed, &next, NULL);
    while (status == TOCSIN_OK && next != 0 && ret_listed->count < LISTED_MAX - 3);
    store->ops->close(store);
    return status;
}

/* What an inner page says of its children is in no checksum, and loading does not need it: it
 * only sends later lookups the wrong way. A list is refused, or it is the same as before. */
TEST(a_flipped_bit_in_an_inner_page_is_noticed_or_harmless)
{
    static struct listed before;
    static struct listed after;
    struct scene scene;
    struct sqlite_db db = {.path = NULL};
    char path[200];
    int64_t root = 0;
    uint64_t refused = 0;
    scene_init(&scene, 150, false);
    assert_int_equal(list_all(&scene, &before), TOCSIN_OK);
    path_of(&scene.dir, "tocsin.db", path);
    assert_int_equal(sqlite3_open_v2(path, &db.handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite_db_number(&db, "SELECT rootpage FROM sqlite_master WHERE name='record'",
                                      &root, NULL),
                     TOCSIN_OK);
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    size_t start = (size_t)(root - 1) * 4096;
    const unsigned char *page = (const unsigned char *)scene.file.bytes + start;
    size_t cells = (size_t)page[3] << 8 | page[4];
    assert_int_equal(page[0], 5);
    assert_true(cells > 5);
    for (size_t i = 0; i < cells; i++) {
        size_t cell = (size_t)page[12 + 2 * i] << 8 | page[13 + 2 * i];
        for (size_t bit = 0; bit < 16; bit++) {
            size_t at = start + cell + 4 + bit / 8;
            scene.file.bytes[at] ^= (char)(1 << bit % 8);
            scene_set(&scene);
            enum tocsin_status status = list_all(&scene, &after);
            refused += status == TOCSIN_DAMAGED;
            bool same = status == TOCSIN_OK && after.count == before.count &&
                        memcmp(after.revs, before.revs, after.count * sizeof after.revs[0]) == 0;
            if (!same && status != TOCSIN_DAMAGED)
                fail_msg("byte %zu: %s, %zu instead of %zu", at, tocsin_status_name(status),
                         after.count, before.count);
            scene.file.bytes[at] ^= (char)(1 << bit % 8);
        }
    }
    assert_true(refused > 0);
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

/* Only what a power cut leaves of a store that was never used is made anew (store_crash_test). */
TEST(a_small_file_is_made_anew_only_when_it_is_the_rest_of_a_new_store)
{
    struct scene scene;
    struct store_verdict verdict = {""};
    char foreign[] = "SQLite fan fiction, by somebody";
    char zeros[4096] = {0};
    scene_init(&scene, 3, true);
    struct scene left = scene; /* of it */
    left.counter.size = left.log.size = 0;
    left.file = (struct content){foreign, sizeof foreign};
    scene_set(&left);
    assert_int_equal(look(&left, false, &verdict), REFUSED);
    struct content kept = read_file(&left.dir, "tocsin.db");
    assert_int_equal(kept.size, sizeof foreign);
    free(kept.bytes);
    left.file = (struct content){zeros, sizeof zeros};
    left.log = scene.log; /* it has been used */
    scene_set(&left);
    assert_int_equal(look(&left, false, &verdict), REFUSED);
    left.log.size = 0;
    left.counter = scene.counter;
    scene_set(&left);
    assert_int_equal(look(&left, false, &verdict), REFUSED);
    left.counter.size = 0;
    scene_set(&left);
    store_model_release(&scene.model); /* nothing */
    left.model = scene.model;
    assert_int_equal(look(&left, false, &verdict), INTACT);
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

/* A flipped bit among the numbers of a page can make a row of a gigabyte out of nothing. */
TEST(a_row_that_is_too_long_is_damage_and_is_not_read)
{
    static const char *const changes[] = {
        "UPDATE record SET doc=zeroblob(76000000) WHERE rev=?1",
        "UPDATE record SET tag=zeroblob(76000000) WHERE rev=?1",
        "UPDATE event SET doc=zeroblob(76000000) WHERE seq=(SELECT max(seq) FROM event)",
        "UPDATE dead SET revs=zeroblob(76000000) WHERE n=(SELECT max(n) FROM dead)",
    };
    struct scene scene;
    struct store_verdict verdict = {""};
    scene_init(&scene, 20, false);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        scene_set(&scene);
        run_sql(&scene.dir, changes[i], scene.model.living[scene.model.count / 2]->rev);
        if (look(&scene, false, &verdict) != REFUSED || strstr(verdict.text, "too big") == NULL)
            fail_msg("%s: %s", changes[i], verdict.text);
    }
    scene_release(&scene);
}

/* Seen once, with SQLite 3.40: a flipped bit here made a length for which there is no memory. */
TEST(a_length_that_asks_for_all_memory_is_damage)
{
    struct scene scene;
    uint64_t counts[3] = {0};
    size_t at = 61453;
    scene_init_from(&scene, UINT64_C(13857255674250030687), 150, false);
    assert_true(at < scene.file.size);
    for (int bit = 0; bit < 8; bit++) {
        scene.file.bytes[at] ^= (char)(1 << bit);
        scene_set(&scene);
        must_not_be_wrong(&scene, at, "file", counts);
        scene.file.bytes[at] ^= (char)(1 << bit);
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
