/* SPDX-License-Identifier: MIT */
/* A doc that is not what was written: found by loading when it stands beside its head, and when
 * it is read otherwise; lists go on behind it, and what has died is nobody's concern. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "store/store.h"
#include "support/temp_dir.h"

enum { DOC_BYTES_MAX = 20000, RECORDS = 5 };

struct scene {
    struct temp_dir dir;
    struct store *store;
    struct tocsin_why why;
};

static enum tocsin_status open_store(struct scene *scene)
{
    struct store_sqlite_options options = {.dir = scene->dir.path};
    struct store_state state;
    scene->why.text[0] = '\0';
    return store_sqlite_open(&options, &scene->store, &state, &scene->why);
}

static bool see_any(void *arg, const struct store_record *record)
{
    (void)arg;
    (void)record;
    return true;
}

static enum tocsin_status load(struct scene *scene)
{
    return scene->store->ops->load(scene->store, see_any, NULL, &scene->why);
}

/* Five records; the third has a word in its doc that is found in the file. */
static void begin(struct scene *scene, size_t doc_bytes, size_t key_bytes)
{
    static char doc[DOC_BYTES_MAX];
    static const char needle[] = {'n', 'e', 'e', 'd', 'l', 'e'};
    char keys[RECORDS][STORE_KEY_BYTES_MAX];
    struct store_record puts[RECORDS];
    temp_dir_init(&scene->dir);
    assert_int_equal(open_store(scene), TOCSIN_OK);
    memset(doc, '.', sizeof doc);
    memcpy(doc + doc_bytes - sizeof needle, needle, sizeof needle);
    for (size_t i = 0; i < RECORDS; i++) {
        memset(keys[i], 'k', sizeof keys[i]);
        keys[i][0] = (char)('a' + i);
        puts[i] = (struct store_record){.rev = i + 1,
                                        .kind = bytes_of("task"),
                                        .key = {keys[i], key_bytes},
                                        .home = {keys[i], key_bytes},
                                        .due_ms = STORE_NEVER,
                                        .tag = bytes_of("default"),
                                        .doc = {doc, i == 2 ? doc_bytes : 5}};
    }
    struct store_batch batch = {.puts = puts, .put_count = RECORDS, .high_rev = RECORDS};
    assert_int_equal(scene->store->ops->commit(scene->store, &batch, NULL), TOCSIN_OK);
}

static void stop(struct scene *scene)
{
    scene->store->ops->close(scene->store);
    scene->store = NULL;
}

static void end(struct scene *scene)
{
    if (scene->store != NULL)
        stop(scene);
    temp_dir_release(&scene->dir);
}

/* Changes a byte of the word, wherever it stands: a page that was split has an old copy too. */
static void damage(const struct scene *scene)
{
    static char bytes[1 << 20];
    char path[200];
    (void)snprintf(path, sizeof path, "%s/tocsin.db", scene->dir.path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    char *at = memmem(bytes, size, "needle", 6);
    assert_non_null(at);
    for (; at != NULL; at = memmem(bytes, size, "needle", 6)) {
        *at = 'N';
        assert_int_equal(fseek(file, at - bytes, SEEK_SET), 0);
        assert_int_equal(fputc('N', file), 'N');
    }
    assert_int_equal(fclose(file), 0);
}

/* Law 6 */
TEST(a_damaged_doc_beside_its_head_is_found_by_loading)
{
    static const size_t sizes[][2] = {{6, 3}, {100, 3}, {1680, 3}, {3900, 3}, {3000, 900}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct scene scene = {.store = NULL};
        begin(&scene, sizes[i][0], sizes[i][1]);
        stop(&scene);
        damage(&scene);
        assert_int_equal(open_store(&scene), TOCSIN_OK);
        assert_int_equal(load(&scene), TOCSIN_DAMAGED);
        assert_non_null(strstr(scene.why.text, " at byte "));
        assert_non_null(strstr(scene.why.text, "(page "));
        assert_non_null(strstr(scene.why.text, "table record, row 3."));
        end(&scene);
    }
}

struct seen {
    size_t count;
    uint64_t damaged_rev;
    size_t key_size;
    size_t doc_size;
};

static bool see(void *arg, const struct store_record *record)
{
    struct seen *seen = arg;
    seen->count++;
    if (record->damaged) {
        seen->damaged_rev = record->rev;
        seen->key_size = record->key.size;
        seen->doc_size = record->doc.size;
    }
    return true;
}

static void see_one(void *arg, const struct store_record *record)
{
    (void)see(arg, record);
}

static void assert_met(struct scene *scene, size_t key_size)
{
    struct seen seen = {0};
    uint64_t next = 1;
    assert_int_equal(scene->store->ops->get(scene->store, 3, see_one, &seen, &scene->why),
                     TOCSIN_DAMAGED);
    assert_non_null(strstr(scene->why.text, "table record, row 3."));
    assert_int_equal(seen.count, key_size > 0 ? 1 : 0);
    assert_int_equal(seen.key_size, key_size);
    seen = (struct seen){0};
    assert_int_equal(scene->store->ops->list(scene->store, bytes_of("task"), 0, 100, see, &seen,
                                             &next, &scene->why),
                     TOCSIN_OK);
    assert_int_equal(next, 0);
    assert_int_equal(seen.count, RECORDS);
    assert_int_equal(seen.damaged_rev, 3);
    assert_int_equal(seen.key_size, key_size);
    assert_int_equal(seen.doc_size, 0);
}

TEST(a_damaged_doc_in_pages_of_its_own_is_met_when_it_is_read_and_lists_go_on)
{
    static const size_t sizes[][2] = {{20000, 3}, {3500, 900}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct scene scene = {.store = NULL};
        begin(&scene, sizes[i][0], sizes[i][1]);
        stop(&scene);
        damage(&scene);
        assert_int_equal(open_store(&scene), TOCSIN_OK);
        assert_int_equal(load(&scene), TOCSIN_OK);
        assert_met(&scene, sizes[i][1]);
        end(&scene);
    }
}

/* While it runs: another program writes into the file. */
TEST(a_damaged_head_is_met_without_its_key_and_lists_go_on)
{
    struct scene scene = {.store = NULL};
    begin(&scene, 100, 3);
    stop(&scene);
    assert_int_equal(open_store(&scene), TOCSIN_OK);
    assert_int_equal(load(&scene), TOCSIN_OK);
    char path[200];
    (void)snprintf(path, sizeof path, "%s/tocsin.db", scene.dir.path);
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, "UPDATE record SET due=7 WHERE rev=3", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    assert_met(&scene, 0);
    end(&scene);
}

TEST(a_damaged_doc_of_a_version_that_has_died_does_not_matter)
{
    struct scene scene = {.store = NULL};
    const uint64_t dead = 3;
    begin(&scene, 100, 3);
    struct store_batch batch = {.dead = &dead, .dead_count = 1, .high_rev = RECORDS};
    assert_int_equal(scene.store->ops->commit(scene.store, &batch, NULL), TOCSIN_OK);
    stop(&scene);
    damage(&scene);
    assert_int_equal(open_store(&scene), TOCSIN_OK);
    assert_int_equal(load(&scene), TOCSIN_OK);
    end(&scene);
}

struct content {
    char bytes[1 << 20];
    size_t size;
};

/* Opens it with one byte changed; it says where, or it is whole. True: refused. */
static bool refused_with_a_place(struct scene *scene, const struct content *content, size_t at,
                                 char changed)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/tocsin.db", scene->dir.path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content->bytes, 1, content->size, file), content->size);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc((unsigned char)changed, file), (unsigned char)changed);
    assert_int_equal(fclose(file), 0);
    enum tocsin_status status = open_store(scene);
    if (status == TOCSIN_OK)
        status = load(scene);
    if (status != TOCSIN_OK &&
        (strstr(scene->why.text, " at byte ") == NULL || strstr(scene->why.text, "(page") == NULL))
        fail_msg("byte %zu: %s", at, scene->why.text);
    if (scene->store != NULL)
        stop(scene);
    temp_dir_clear(&scene->dir);
    return status == TOCSIN_DAMAGED;
}

/* Law 6: heads of pages and the names of the tables have no row to be told by. */
TEST(each_refusal_names_the_byte_and_the_page)
{
    static const size_t heads[] = {0, 3, 5, 8, 9};
    static struct content content;
    struct scene scene = {.store = NULL};
    char path[200];
    size_t refused = 0;
    begin(&scene, 3000, 900);
    stop(&scene);
    (void)snprintf(path, sizeof path, "%s/tocsin.db", scene.dir.path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    content.size = fread(content.bytes, 1, sizeof content.bytes, file);
    (void)fclose(file);
    for (size_t i = 0; i < 5 * (content.size / 4096); i++) {
        size_t at = i / 5 * 4096 + heads[i % 5] + (i < 5 ? 100 : 0);
        refused += refused_with_a_place(&scene, &content, at, (char)~content.bytes[at]);
    }
    assert_true(refused > 10);
    const char *table = memmem(content.bytes, content.size, "CREATE TABLE record", 19);
    assert_non_null(table);
    const char *column = strstr(table, "tag");
    assert_non_null(column);
    assert_true(refused_with_a_place(&scene, &content, (size_t)(table - content.bytes), 'D'));
    assert_true(refused_with_a_place(&scene, &content, (size_t)(column - content.bytes), 'u'));
    end(&scene);
}
