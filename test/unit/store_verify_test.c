/* SPDX-License-Identifier: MIT */
/* What `tocsin verify` and `tocsin dump` stand on. */
#include "store/sqlite_verify.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"
#include "store/sqlite_place.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

static const struct store_habits habits = {
    .puts_max = 8, .dead_max = 5, .doc_max = 12000, .living_max = 150};

static struct store_draft draft;

struct findings {
    char last[300];
    uint64_t damages;
    uint64_t records;
    uint64_t events;
    uint64_t doc_bytes;
};

static void see_damage(void *arg, const char *sentence)
{
    struct findings *findings = arg;
    findings->damages++;
    (void)snprintf(findings->last, sizeof findings->last, "%s", sentence);
}

static void see_first_damage(void *arg, const char *sentence)
{
    struct findings *findings = arg;
    if (findings->damages == 0)
        see_damage(arg, sentence);
}

static bool see_record(void *arg, const struct store_record *record)
{
    struct findings *findings = arg;
    findings->records++;
    findings->doc_bytes += record->doc.size;
    return true;
}

static bool see_event(void *arg, const struct store_event *event)
{
    struct findings *findings = arg;
    (void)event;
    findings->events++;
    return true;
}

static void make_store(const struct temp_dir *dir, struct store_model *model)
{
    struct test_random random = {test_seed()};
    struct store_sqlite_options options = {
        .dir = dir->path, .sweep_min = 30, .event_bytes_max = 20000};
    struct store *store;
    struct store_state state;
    assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
    store_model_init(model);
    for (int i = 0; i < 120; i++) {
        store_draft_make(&draft, model, &random, &habits);
        assert_int_equal(store->ops->commit(store, &draft.batch, NULL), TOCSIN_OK);
        store_model_apply(model, &draft.batch);
    }
    store->ops->close(store);
}

static enum tocsin_status inspect(const struct temp_dir *dir, struct findings *findings,
                                  struct store_report *report)
{
    *findings = (struct findings){0};
    struct store_inspection inspection = {
        .record = see_record,
        .event = see_event,
        .damage = see_damage,
        .arg = findings,
        .pages_too = true,
    };
    return store_sqlite_inspect(dir->path, &inspection, report, NULL);
}

TEST(a_sound_store_is_told_in_numbers)
{
    struct temp_dir dir;
    struct store_model model;
    struct findings findings;
    struct store_report report;
    temp_dir_init(&dir);
    make_store(&dir, &model);
    assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_OK);
    assert_int_equal(findings.damages, 0);
    assert_int_equal(report.living, model.count);
    assert_int_equal(findings.records, model.count);
    assert_int_equal(report.events, findings.events);
    assert_int_equal(report.events, model.high_seq + 1 - report.first_seq);
    assert_int_equal(report.high_rev, model.high_rev);
    assert_int_equal(report.commits, 120);
    assert_int_equal(report.epoch, 1);
    assert_true(report.file_bytes > 0 && report.doc_bytes >= findings.doc_bytes);
    store_model_release(&model);
    temp_dir_release(&dir);
}

TEST(what_is_damaged_is_named_and_the_rest_still_told)
{
    static const struct {
        const char *change;
        const char *said;
    } cases[] = {
        {"UPDATE record SET doc=x'00' WHERE rev=(SELECT max(rev) FROM record)", "its doc is not"},
        {"UPDATE record SET due=7 WHERE rev=(SELECT max(rev) FROM record)", "it is not what was"},
        {"DELETE FROM record WHERE rev=(SELECT max(rev) FROM record)", "were written"},
        {"DELETE FROM event WHERE seq=(SELECT max(seq) FROM event)", "is missing"},
        {"UPDATE dead SET living=living+1 WHERE n=(SELECT max(n) FROM dead)", "were written"},
        {"UPDATE meta SET epoch=9", "table meta"},
        {"DELETE FROM dead WHERE n=(SELECT max(n) FROM dead)", "missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct temp_dir dir;
        struct store_model model;
        struct findings findings;
        struct store_report report;
        char path[200];
        sqlite3 *handle = NULL;
        temp_dir_init(&dir);
        make_store(&dir, &model);
        (void)snprintf(path, sizeof path, "%s/tocsin.db", dir.path);
        assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
        assert_int_equal(sqlite3_exec(handle, cases[i].change, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(handle), SQLITE_OK);
        assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_DAMAGED);
        if (strstr(findings.last, cases[i].said) == NULL)
            fail_msg("%s: %s", cases[i].change, findings.last);
        assert_true(findings.records + 2 >= model.count);
        store_model_release(&model);
        temp_dir_release(&dir);
    }
}

TEST(a_damaged_page_is_named_by_its_byte)
{
    struct temp_dir dir;
    struct store_model model;
    struct findings findings;
    struct store_report report;
    char path[200];
    temp_dir_init(&dir);
    make_store(&dir, &model);
    (void)snprintf(path, sizeof path, "%s/tocsin.db", dir.path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 4096 + 3, SEEK_SET), 0);
    assert_int_equal(fwrite("\xff\xff\xff", 1, 3, file), 3);
    assert_int_equal(fclose(file), 0);
    struct tocsin_why why = {""};
    struct store_inspection inspection = {
        .damage = see_damage, .arg = &findings, .pages_too = true};
    findings = (struct findings){0};
    enum tocsin_status status = store_sqlite_inspect(dir.path, &inspection, &report, &why);
    assert_int_equal(status, TOCSIN_DAMAGED);
    assert_true(findings.damages > 0);
    store_model_release(&model);
    temp_dir_release(&dir);
}

/* The page of the file in which a row begins. */
static unsigned page_of(const struct temp_dir *dir, const char *table, uint64_t row)
{
    struct sqlite_db db = {.path = NULL};
    char path[200];
    char text[SQLITE_PLACE_BYTES];
    unsigned page = 0;
    (void)snprintf(path, sizeof path, "%s/tocsin.db", dir->path);
    assert_int_equal(sqlite3_open_v2(path, &db.handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite_place_page(&db, table, row, text);
    assert_int_equal(sscanf(text, " at byte %*u (page %u", &page), 1);
    assert_int_equal(sqlite3_close(db.handle), SQLITE_OK);
    return page;
}

static void spoil_page(const struct temp_dir *dir, unsigned page)
{
    char path[200];
    char bytes[4096];
    memset(bytes, 0x5a, sizeof bytes);
    (void)snprintf(path, sizeof path, "%s/tocsin.db", dir->path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(page - 1) * 4096, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    assert_int_equal(fclose(file), 0);
}

/* All records but those in the spoiled pages come, from before, between and behind. */
TEST(what_lies_behind_pages_that_cannot_be_read_is_still_told)
{
    struct temp_dir dir;
    struct store_model model;
    struct findings findings;
    struct store_report report;
    temp_dir_init(&dir);
    make_store(&dir, &model);
    uint64_t last_rev = model.living[model.count - 1]->rev;
    unsigned spoiled[] = {
        page_of(&dir, "record", model.living[model.count / 3]->rev),
        page_of(&dir, "record", model.living[2 * model.count / 3]->rev),
        page_of(&dir, "record", last_rev),
    };
    for (size_t pages = 1; pages <= 3; pages++) {
        uint64_t whole = 0;
        for (size_t i = 0; i < model.count; i++) {
            unsigned page = page_of(&dir, "record", model.living[i]->rev);
            whole += page != spoiled[0] && (pages < 2 || page != spoiled[1]) &&
                     (pages < 3 || page != spoiled[2]);
        }
        spoil_page(&dir, spoiled[pages - 1]);
        assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_DAMAGED);
        assert_int_equal(findings.records, whole);
        assert_true(whole < model.count && findings.events == report.events);
    }
    assert_true(findings.events > 0);
    store_model_release(&model);
    temp_dir_release(&dir);
}

TEST(a_page_that_cannot_be_read_is_told_with_its_rows)
{
    static const char *const tables[] = {"record", "event"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct temp_dir dir;
        struct store_model model;
        struct findings findings;
        struct store_report report;
        char wanted[60];
        char where[60];
        temp_dir_init(&dir);
        make_store(&dir, &model);
        unsigned page = page_of(&dir, tables[i], 0);
        spoil_page(&dir, page);
        findings = (struct findings){0};
        struct store_inspection inspection = {.damage = see_first_damage, .arg = &findings};
        assert_int_equal(store_sqlite_inspect(dir.path, &inspection, &report, NULL),
                         TOCSIN_DAMAGED);
        (void)snprintf(wanted, sizeof wanted, "table %s, rows 0 to ", tables[i]);
        (void)snprintf(where, sizeof where, "(page %u) are skipped: ", page);
        if (strstr(findings.last, wanted) == NULL || strstr(findings.last, where) == NULL)
            fail_msg("%s", findings.last);
        store_model_release(&model);
        temp_dir_release(&dir);
    }
}

TEST(no_store_and_a_store_in_use_are_told_apart)
{
    struct temp_dir dir;
    struct findings findings;
    struct store_report report;
    struct store *store;
    struct store_state state;
    temp_dir_init(&dir);
    assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_NONE);
    struct store_sqlite_options options = {.dir = dir.path};
    assert_int_equal(store_sqlite_open(&options, &store, &state, NULL), TOCSIN_OK);
    assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_BUSY);
    store->ops->close(store);
    assert_int_equal(inspect(&dir, &findings, &report), TOCSIN_OK);
    temp_dir_release(&dir);
}

/* Law 6. SQLite alone gives nothing of it. */
TEST(a_cut_file_is_read_up_to_the_cut)
{
    struct temp_dir dir;
    struct store_model model;
    struct findings findings;
    struct store_report report;
    struct stat before;
    struct stat after;
    char path[200];
    char end[40];
    temp_dir_init(&dir);
    make_store(&dir, &model);
    (void)snprintf(path, sizeof path, "%s/tocsin.db", dir.path);
    assert_int_equal(stat(path, &before), 0);
    for (int i = 0; i < 3; i++) {
        off_t size = before.st_size - (i == 0 ? 4096 : i == 1 ? 5000 : before.st_size / 2);
        assert_int_equal(truncate(path, size), 0);
        findings = (struct findings){0};
        struct store_inspection inspection = {
            .record = see_record, .damage = see_first_damage, .arg = &findings};
        assert_int_equal(store_sqlite_inspect(dir.path, &inspection, &report, NULL),
                         TOCSIN_DAMAGED);
        (void)snprintf(end, sizeof end, "byte %lld (page %lld): ", (long long)size,
                       (long long)size / 4096 + 1);
        assert_non_null(strstr(findings.last, end));
        assert_true(findings.records > 0);
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(after.st_size, size);
    }
    store_model_release(&model);
    temp_dir_release(&dir);
}
