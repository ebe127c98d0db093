/* SPDX-License-Identifier: MIT */
/* Damage is told by the byte: where a row stands in the file, also when the file lies. */
#include "store/sqlite_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner.h"
#include "store/sqlite_verify.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

enum { PAGE_BYTES = 4096 };

static const struct store_habits habits = {
    .puts_max = 30, .dead_max = 5, .doc_max = 20000, .living_max = 1500};

static struct store_draft draft;

struct scene {
    struct temp_dir dir;
    char path[200];
    struct store_model model;
    char *bytes; /* of the file */
    size_t size;
};

static void write_bytes(const struct scene *scene)
{
    FILE *file = fopen(scene->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(scene->bytes, 1, scene->size, file), scene->size);
    assert_int_equal(fclose(file), 0);
}

static void scene_init(struct scene *scene)
{
    struct test_random random = {test_seed()};
    struct store *store;
    struct store_state state;
    struct stat status;
    *scene = (struct scene){.bytes = NULL};
    temp_dir_init(&scene->dir);
    (void)snprintf(scene->path, sizeof scene->path, "%s/tocsin.db", scene->dir.path);
    struct store_sqlite_options options = {.dir = scene->dir.path, .event_bytes_max = 200000};
    assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
    store_model_init(&scene->model);
    for (int i = 0; i < 120; i++) {
        store_draft_make(&draft, &scene->model, &random, &habits);
        assert_int_equal(store->ops->commit(store, &draft.batch, NULL), TOCSIN_OK);
        store_model_apply(&scene->model, &draft.batch);
    }
    store->ops->close(store);
    FILE *file = fopen(scene->path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    scene->size = (size_t)status.st_size;
    scene->bytes = malloc(scene->size);
    assert_non_null(scene->bytes);
    assert_int_equal(fread(scene->bytes, 1, scene->size, file), scene->size);
    (void)fclose(file);
}

static void scene_release(struct scene *scene)
{
    store_model_release(&scene->model);
    free(scene->bytes);
    temp_dir_release(&scene->dir);
}

/* Where these bytes stand in the file. They are random; but SQLite leaves old copies in pages
 * that it has split: 0 when there is more than one. */
static size_t place_of(const struct scene *scene, const char *bytes, size_t size)
{
    const char *at = memmem(scene->bytes, scene->size, bytes, size);
    assert_non_null(at);
    size_t rest = scene->size - (size_t)(at + 1 - scene->bytes);
    return memmem(at + 1, rest, bytes, size) == NULL ? (size_t)(at - scene->bytes) : 0;
}

static void open_db(const struct scene *scene, struct sqlite_db *db)
{
    *db = (struct sqlite_db){.path = NULL};
    assert_int_equal(sqlite3_open_v2(scene->path, &db->handle, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
}

static bool names_page(const char *text, size_t byte)
{
    char one[3][32];
    unsigned page = (unsigned)(byte / PAGE_BYTES + 1);
    (void)snprintf(one[0], sizeof one[0], "(page %u)", page);
    (void)snprintf(one[1], sizeof one[1], "(pages %u,", page);
    (void)snprintf(one[2], sizeof one[2], ", %u", page);
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(text, one[i]);
        if (at != NULL && (i < 2 || strchr(",) ", at[strlen(one[2])]) != NULL))
            return true;
    }
    return false;
}

TEST(every_row_is_found_where_it_stands)
{
    struct scene scene;
    struct sqlite_db db;
    char text[SQLITE_PLACE_BYTES];
    size_t looked_at = 0;
    scene_init(&scene);
    open_db(&scene, &db);
    for (size_t i = 0; i < scene.model.count; i++) {
        const struct store_record *record = scene.model.living[i];
        size_t at = 0;
        if (record->key.size >= 12)
            at = place_of(&scene, record->key.at, record->key.size);
        if (at == 0)
            continue;
        sqlite_place_row(&db, "record", record->rev, text);
        unsigned long long byte = 0;
        assert_int_equal(sscanf(text, " at byte %llu ", &byte), 1);
        if (byte > at || at - byte > 64 || !names_page(text, at))
            fail_msg("row %llu is at byte %zu, not%s", (unsigned long long)record->rev, at, text);
        looked_at++;
    }
    assert_true(looked_at > 200);
    sqlite_place_row(&db, "record", scene.model.high_rev + 1000, text);
    assert_string_equal(text, "");
    sqlite_place_row(&db, "no such table", 1, text);
    assert_string_equal(text, "");
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    scene_release(&scene);
}

/* One with a long key, or a doc of several pages, that stands in the file once: and where the key
 * begins, or the last bytes of the doc. */
static const struct store_record *some_record(const struct scene *scene, bool of_pages,
                                              size_t *ret_at)
{
    for (size_t i = scene->model.count / 2; i < scene->model.count; i++) {
        const struct store_record *record = scene->model.living[i];
        *ret_at = 0;
        if (of_pages && record->doc.size >= 5000)
            *ret_at = place_of(scene, record->doc.at + record->doc.size - 16, 16);
        else if (!of_pages && record->key.size >= 12)
            *ret_at = place_of(scene, record->key.at, record->key.size);
        if (*ret_at != 0)
            return record;
    }
    fail_msg("there is no such record");
    return NULL;
}

/* "A damaged file: refused with the offset and what to do." */
TEST(a_store_with_a_flipped_byte_is_refused_with_its_page)
{
    struct scene scene;
    struct tocsin_why why = {""};
    struct store *store;
    struct store_state state;
    struct store_verdict verdict;
    scene_init(&scene);
    size_t at;
    (void)some_record(&scene, false, &at);
    scene.bytes[at] ^= 4;
    write_bytes(&scene);
    struct store_sqlite_options options = {.dir = scene.dir.path};
    assert_int_equal(store_sqlite_open(&options, &store, &state, &why), TOCSIN_OK);
    assert_false(store_model_judge(&scene.model, store, &verdict));
    store->ops->close(store);
    if (!names_page(verdict.text, at) || strstr(verdict.text, "Restore a backup") == NULL)
        fail_msg("byte %zu (page %zu): %s", at, at / PAGE_BYTES + 1, verdict.text);
    scene_release(&scene);
}

static void keep_last(void *arg, const char *sentence)
{
    (void)snprintf(arg, 300, "%s", sentence);
}

TEST(a_finding_in_a_doc_names_the_pages_it_goes_on_in)
{
    struct scene scene;
    char said[300] = "";
    struct store_report report;
    struct store_inspection inspection = {.damage = keep_last, .arg = said};
    scene_init(&scene);
    size_t at;
    (void)some_record(&scene, true, &at);
    scene.bytes[at] ^= 1;
    write_bytes(&scene);
    assert_int_equal(store_sqlite_inspect(scene.dir.path, &inspection, &report, NULL),
                     TOCSIN_DAMAGED);
    if (!names_page(said, at) || strstr(said, "its doc is not what was written") == NULL)
        fail_msg("byte %zu (page %zu): %s", at, at / PAGE_BYTES + 1, said);
    scene_release(&scene);
}

/* A row whose number is damaged is not where it should be, but it is somewhere. */
TEST(a_row_that_is_out_of_place_is_found_all_the_same)
{
    struct scene scene;
    struct sqlite_db db;
    char text[SQLITE_PLACE_BYTES];
    scene_init(&scene);
    open_db(&scene, &db);
    size_t at;
    const struct store_record *record = some_record(&scene, false, &at);
    sqlite_place_row(&db, "record", record->rev, text);
    unsigned long long byte = 0;
    assert_int_equal(sscanf(text, " at byte %llu ", &byte), 1);
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    unsigned char *number = (unsigned char *)scene.bytes + byte;
    while (*number++ >= 0x80) /* the size before it */
        continue;
    uint64_t rev = record->rev;
    assert_true(*number >= 0x80); /* it has two bytes, of which the first is the upper one */
    *number ^= 0x40;
    rev ^= UINT64_C(0x40) << 7;
    write_bytes(&scene);
    open_db(&scene, &db);
    sqlite_place_row(&db, "record", rev, text);
    if (!names_page(text, (size_t)byte))
        fail_msg("byte %llu: %s", byte, text);
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    scene_release(&scene);
}

TEST(hostile_bytes_are_walked_to_an_end)
{
    static const char *const tables[] = {"record", "dead", "event", "meta"};
    struct scene scene;
    struct test_random random = {test_seed()};
    scene_init(&scene);
    char *whole = malloc(scene.size);
    assert_non_null(whole);
    memcpy(whole, scene.bytes, scene.size);
    for (uint64_t round = 0; round < test_effort(200); round++) {
        memcpy(scene.bytes, whole, scene.size);
        for (uint64_t i = test_random_below(&random, 2000); i > 0; i--) {
            size_t at = test_random_below(&random, scene.size - PAGE_BYTES) + PAGE_BYTES;
            if (test_random_one_in(&random, 2)) /* where pages have their structure */
                at = at / PAGE_BYTES * PAGE_BYTES + test_random_below(&random, 40);
            scene.bytes[at] = (char)test_random_next(&random);
        }
        write_bytes(&scene);
        struct sqlite_db db;
        char text[SQLITE_PLACE_BYTES];
        open_db(&scene, &db);
        for (int i = 0; i < 40; i++) {
            unsigned long long byte = 0;
            uint64_t row = test_random_below(&random, scene.model.high_rev + 2);
            sqlite_place_row(&db, tables[test_random_below(&random, 4)], row, text);
            bool told = sscanf(text, " at byte %llu (page", &byte) == 1;
            assert_true(told ? byte < scene.size && text[strlen(text) - 1] == ')'
                             : text[0] == '\0');
        }
        (void)sqlite3_close(db.handle);
    }
    free(whole);
    scene_release(&scene);
}
