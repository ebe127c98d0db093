/* SPDX-License-Identifier: MIT */
/* A disk that is really full: a small file system of the test's own, mounted in a name space of
 * its own by a child process. Where the system does not allow that, the test is skipped; the
 * crash test fills a disk that is only pretended. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"
#include "store/store.h"
#include "support/store_model.h"
#include "support/temp_dir.h"

enum { SKIPPED = 77, DISK_MIB = 12, BALLAST_BYTES = 2 << 20, DOC_BYTES = 8000 };
enum { CHECKPOINT_FRAMES = 100, SWEEP_MIN = 50, NO_SWEEP_MIN = 0 /* 100 000 */ };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct user {
    struct store *store;
    struct store_model model;
    char doc[DOC_BYTES];
};

static void open_store(struct user *user, const char *dir, uint64_t sweep_min)
{
    struct store_sqlite_options options = {.dir = dir,
                                           .ballast_bytes = BALLAST_BYTES,
                                           .sweep_min = sweep_min,
                                           .checkpoint_frames = CHECKPOINT_FRAMES};
    struct store_state state;
    struct tocsin_why why = {""};
    enum tocsin_status status = store_sqlite_open(&options, &user->store, &state, &why);
    if (status != TOCSIN_OK)
        (void)fprintf(stderr, "%s: %s\n", tocsin_status_name(status), why.text);
    REQUIRE(status == TOCSIN_OK);
}

/* Puts one, ends so many of the oldest. */
static enum tocsin_status change(struct user *user, size_t puts, size_t ends, bool urgent)
{
    uint64_t dead[64];
    uint64_t rev = user->model.high_rev + 1;
    struct store_record record = {
        .rev = rev,
        .kind = bytes_of("task"),
        .key = bytes_of("key"),
        .home = bytes_of("key"),
        .doc = {user->doc, sizeof user->doc},
    };
    for (size_t i = 0; i < ends; i++)
        dead[i] = user->model.living[i]->rev;
    struct store_batch batch = {.puts = &record,
                                .put_count = puts,
                                .dead = dead,
                                .dead_count = ends,
                                .high_rev = rev,
                                .urgent = urgent};
    enum tocsin_status status = user->store->ops->commit(user->store, &batch, NULL);
    if (status == TOCSIN_OK)
        store_model_apply(&user->model, &batch);
    return status;
}

static void judge(struct user *user)
{
    struct store_verdict verdict = {""};
    bool good = store_model_judge(&user->model, user->store, &verdict);
    if (!good)
        (void)fprintf(stderr, "%s\n", verdict.text);
    REQUIRE(good);
}

static void fill_up(struct user *user)
{
    enum tocsin_status status = TOCSIN_OK;
    for (int i = 0; i < 10000 && status == TOCSIN_OK; i++)
        status = change(user, 1, 0, false);
    REQUIRE(status == TOCSIN_NO_SPACE);
}

static void live_on_a_small_disk(const char *dir)
{
    static struct user user;
    char path[200];
    struct stat ballast;
    (void)snprintf(path, sizeof path, "%s/ballast", dir);
    store_model_init(&user.model);
    open_store(&user, dir, SWEEP_MIN);
    REQUIRE(stat(path, &ballast) == 0 && ballast.st_size == BALLAST_BYTES);
    fill_up(&user);
    judge(&user); /* reads go on */
    REQUIRE(change(&user, 1, 0, false) == TOCSIN_NO_SPACE);
    /* What ends work goes on, from the ballast. */
    size_t before = user.model.count;
    while (user.model.count > before / 4)
        REQUIRE(change(&user, 0, 8, true) == TOCSIN_OK);
    /* The dead are swept, so there is room again, for work and for the ballast. */
    for (int i = 0; i < 300; i++)
        REQUIRE(change(&user, 0, 0, true) == TOCSIN_OK);
    REQUIRE(change(&user, 1, 0, false) == TOCSIN_OK);
    judge(&user);
    user.store->ops->close(user.store);
    open_store(&user, dir, SWEEP_MIN);
    judge(&user);
    /* Full again and closed: it opens and reads on a full disk too. */
    fill_up(&user);
    user.store->ops->close(user.store);
    open_store(&user, dir, SWEEP_MIN);
    judge(&user);
    user.store->ops->close(user.store);
    store_model_release(&user.model);
}

static void end_some(struct user *user, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        REQUIRE(change(user, 0, 8, true) == TOCSIN_OK);
}

/* New work, tried as the engine does; how many tries it took, 0 when it was always refused. */
static int tries_of_new_work(struct user *user, int most)
{
    for (int i = 1; i <= most; i++) {
        enum tocsin_status status = change(user, 1, 0, false);
        REQUIRE(status == TOCSIN_OK || status == TOCSIN_NO_SPACE);
        if (status == TOCSIN_OK)
            return i;
    }
    return 0;
}

static uint64_t free_bytes(const char *dir)
{
    struct statvfs disk;
    REQUIRE(statvfs(dir, &disk) == 0);
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* The disk stays full. What ended is far less than starts a sweep, and no other commit comes. */
static void end_work_on_a_disk_that_stays_full(const char *dir)
{
    static struct user user;
    store_model_init(&user.model);
    open_store(&user, dir, NO_SWEEP_MIN);
    fill_up(&user);
    end_some(&user, 8);
    REQUIRE(tries_of_new_work(&user, 20) == 0); /* the control: too little has ended */
    size_t full = user.model.count;
    end_some(&user, full / 2);
    REQUIRE(tries_of_new_work(&user, 20) > 0);
    judge(&user);
    fill_up(&user); /* in the pages of what ended; and what ends work still goes on */
    REQUIRE(user.model.count > full / 2 + full / 4);
    for (int i = 0; i < 100; i++)
        REQUIRE(change(&user, 0, 1, true) == TOCSIN_OK);
    judge(&user);
    user.store->ops->close(user.store);
    open_store(&user, dir, NO_SWEEP_MIN);
    judge(&user);
    user.store->ops->close(user.store);
    store_model_release(&user.model);
}

/* What ended before the disk was full: nobody has to end more. */
static void fill_what_the_dead_hold(const char *dir)
{
    static struct user user;
    store_model_init(&user.model);
    open_store(&user, dir, NO_SWEEP_MIN);
    for (int i = 0; i < 600; i++)
        REQUIRE(change(&user, 1, 0, false) == TOCSIN_OK);
    end_some(&user, 592);
    fill_up(&user);
    REQUIRE(user.model.count > 800); /* some 600 fit beside the dead */
    judge(&user);
    user.store->ops->close(user.store);
    store_model_release(&user.model);
}

/* Other files go, but not so many that all of the ballast has room again. */
static void get_some_room_back(const char *dir)
{
    static struct user user;
    char path[200];
    char other[BALLAST_BYTES * 3 / 8] = {0};
    (void)snprintf(path, sizeof path, "%s/other", dir);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL && fwrite(other, sizeof other, 1, file) == 1 && fclose(file) == 0);
    store_model_init(&user.model);
    open_store(&user, dir, NO_SWEEP_MIN);
    fill_up(&user);
    for (int i = 0; i < 1000 && free_bytes(dir) == 0; i++) /* till the ballast is thrown */
        REQUIRE(change(&user, 1, 0, true) == TOCSIN_OK);
    for (int i = 0; i < 1000 && free_bytes(dir) > BALLAST_BYTES / 2; i++) /* and then some */
        REQUIRE(change(&user, 1, 0, true) == TOCSIN_OK);
    REQUIRE(free_bytes(dir) > 0 && free_bytes(dir) <= BALLAST_BYTES / 2);
    REQUIRE(tries_of_new_work(&user, 20) == 0); /* the control: this is for what ends work */
    REQUIRE(unlink(path) == 0);
    REQUIRE(free_bytes(dir) < BALLAST_BYTES);
    REQUIRE(tries_of_new_work(&user, 1) == 1);
    fill_up(&user);
    REQUIRE(free_bytes(dir) >= BALLAST_BYTES / 2 - DOC_BYTES); /* half of it is left alone */
    judge(&user);
    user.store->ops->close(user.store);
    store_model_release(&user.model);
}

static void on_a_small_disk(void (*live)(const char *dir))
{
    struct temp_dir dir;
    temp_dir_init(&dir);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char size[32];
        (void)snprintf(size, sizeof size, "size=%dm", DISK_MIB);
        if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", dir.path, "tmpfs", 0, size) != 0)
            _exit(SKIPPED);
        live(dir.path);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    temp_dir_release(&dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("no file system of one's own here: skipped\n");
        return;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Law 8, "Disk full": refused, read on, ended from the ballast, and well again by itself. */
TEST(a_full_disk_refuses_reads_on_ends_work_and_recovers)
{
    on_a_small_disk(live_on_a_small_disk);
}

TEST(what_ends_on_a_full_disk_makes_room_for_new_work)
{
    on_a_small_disk(end_work_on_a_disk_that_stays_full);
}

TEST(what_ended_before_the_disk_was_full_makes_room_too)
{
    on_a_small_disk(fill_what_the_dead_hold);
}

TEST(room_for_half_of_the_ballast_is_enough_and_left_alone)
{
    on_a_small_disk(get_some_room_back);
}
