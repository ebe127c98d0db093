/* SPDX-License-Identifier: MIT */
/* Opening and closing the SQLite store. What it keeps, and how, is in sqlite_inside.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "schedule/reason.h"
#include "store/sqlite_log.h"
#include "store/sqlite_place.h"
#include "store/sqlite_row.h"

enum { LIST_BYTES_MAX = 64 * 1024 * 1024 };

static const char create_sql[] =
    "CREATE TABLE record(rev INTEGER PRIMARY KEY,kind,key,home,due,basis,mark,tag,crc,doc);"
    "CREATE TABLE dead(n INTEGER PRIMARY KEY,living,dead,high_rev,high_seq,first_seq,event_bytes,"
    "elapsed,skew,crc,revs);"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY,at,kind,key,type,crc,doc);"
    "CREATE TABLE meta(id INTEGER PRIMARY KEY,incarnation,epoch,crc);";

static int log_grew(void *arg, sqlite3 *handle, const char *name, int frames)
{
    struct sqlite_store *store = arg;
    (void)handle;
    (void)name;
    if (frames < store->frames) /* it began anew */
        store->checkpoint_at = store->checkpoint_frames;
    store->frames = frames;
    return SQLITE_OK;
}

/* What the first bytes of the file must be; SQLite is less strict, or calls it something else. */
static const struct head_part {
    size_t at;
    const char *bytes;
    size_t size;
} head_parts[] = {
    {0, "SQLite format 3", 16},
    {16, "\x10\0", 2},                                    /* pages of 4096 bytes */
    {18, "\2\2", 2},                                      /* written through a log */
    {20, "\0\x40\x20\x20", 4},                            /* SQLite's constants */
    {52, "\0\0\0\0", 4},                                  /* no vacuuming */
    {64, "\0\0\0\0", 4},                                  /* nor in part */
    {72, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20}, /* for later versions */
};

enum { HEAD_BYTES = 100, PAGE_BYTES = 4096 };

/* Where it does not begin as it must, or its size when it does. */
static size_t head_wrong_at(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < sizeof head_parts / sizeof head_parts[0]; i++) {
        const struct head_part *part = &head_parts[i];
        if (part->at + part->size > size || memcmp(head + part->at, part->bytes, part->size) != 0)
            return part->at;
    }
    return size;
}

/* The first page can be torn when power fails while a store is made: parts of it are zero. Such a
 * file holds nothing; it has no log yet, and the counter, which is made before the store is
 * first used, is not there. Anything else may be somebody's. */
static bool never_finished(const struct sqlite_store *store, const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < sizeof head_parts / sizeof head_parts[0]; i++) {
        const struct head_part *part = &head_parts[i];
        for (size_t k = 0; k < part->size && part->at + k < size; k++)
            if (head[part->at + k] != 0 && head[part->at + k] != (unsigned char)part->bytes[k])
                return false;
    }
    return store_dir_file_bytes(&store->dir, SQLITE_STORE_FILE) <= PAGE_BYTES &&
           store_dir_file_bytes(&store->dir, SQLITE_STORE_LOG) == 0 &&
           !commit_counter_exists(&store->dir);
}

/* Before SQLite looks at it: a file that is something else is said to be so. */
static enum tocsin_status check_file(const struct sqlite_store *store, const char *path,
                                     struct tocsin_why *ret_why)
{
    unsigned char head[HEAD_BYTES];
    int fd = openat(store->dir.fd, SQLITE_STORE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return TOCSIN_OK;
    ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof head);
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    if (size < 0)
        return reason_say(ret_why, TOCSIN_UNAVAILABLE, "%s cannot be read: %s", path,
                          strerror(error));
    size_t wrong_at = head_wrong_at(head, (size_t)size);
    if (size == 0 || wrong_at == (size_t)size)
        return TOCSIN_OK;
    if (never_finished(store, head, (size_t)size) &&
        unlinkat(store->dir.fd, SQLITE_STORE_FILE, 0) == 0)
        return TOCSIN_OK;
    return reason_say(
        ret_why, TOCSIN_DAMAGED,
        "%s is damaged at byte %zu (page 1), or is not a store: it does not begin as one. "
        "Restore a backup",
        path, wrong_at);
}

enum tocsin_status sqlite_write_meta(struct sqlite_store *store, uint64_t epoch,
                                     struct tocsin_why *ret_why)
{
    char *text =
        sqlite3_mprintf("REPLACE INTO meta VALUES(1,%lld,%lld,%u)", (long long)store->incarnation,
                        (long long)epoch, sqlite_meta_checksum(store->incarnation, epoch));
    if (text == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = sqlite_db_run(&store->writer, text, ret_why);
    sqlite3_free(text);
    return status;
}

static enum tocsin_status create_tables(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    while (store->incarnation == 0)
        if (getrandom(&store->incarnation, sizeof store->incarnation, 0) !=
            (ssize_t)sizeof store->incarnation)
            return reason_say(ret_why, TOCSIN_UNAVAILABLE, "the system gave no random number");
    store->incarnation &= INT64_MAX;
    char *numbers = sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%d",
                                    SQLITE_STORE_APPLICATION, SQLITE_STORE_VERSION);
    if (numbers == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = sqlite_db_run(&store->writer, "BEGIN IMMEDIATE", ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_run(&store->writer, create_sql, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_run(&store->writer, numbers, ret_why);
    sqlite3_free(numbers);
    if (status == TOCSIN_OK)
        status = sqlite_db_prepare(&store->writer, SQLITE_WRITER, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_write_meta(store, store->epoch, ret_why);
    if (status == TOCSIN_OK) {
        sqlite3_stmt *add = store->writer.statements[SQLITE_ADD_LEDGER_STATEMENT];
        sqlite_bind_ledger(add, &store->ledger, (struct bytes){"", 0});
        status = sqlite_db_status(&store->writer, sqlite_run(add), "create", ret_why);
    }
    if (status == TOCSIN_OK)
        status = sqlite_db_run(&store->writer, "COMMIT", ret_why);
    return status;
}

/* Ours, and of a version we know? An empty file is neither: ret_new. */
static enum tocsin_status check_version(struct sqlite_store *store, bool *ret_new,
                                        struct tocsin_why *ret_why)
{
    struct sqlite_db *db = &store->writer;
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    enum tocsin_status status =
        sqlite_db_number(db, "SELECT count(*) FROM sqlite_master", &tables, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_number(db, "PRAGMA application_id", &application, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_number(db, "PRAGMA user_version", &version, ret_why);
    if (status != TOCSIN_OK)
        return status;
    *ret_new = tables == 0 && application == 0 && version == 0;
    if (*ret_new)
        return TOCSIN_OK;
    if (application != SQLITE_STORE_APPLICATION)
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "%s is no Tocsin store: byte 68 (page 1) says %lld", db->path,
                          (long long)application);
    if (version != SQLITE_STORE_VERSION)
        return reason_say(ret_why, TOCSIN_INVALID,
                          "%s has format %lld, this Tocsin knows format %d: use the version that "
                          "wrote it",
                          db->path, (long long)version, SQLITE_STORE_VERSION);
    return TOCSIN_OK;
}

static enum tocsin_status read_meta(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    struct sqlite_db *db = &store->writer;
    int64_t incarnation = 0;
    int64_t epoch = 0;
    int64_t crc = -1;
    enum tocsin_status status =
        sqlite_db_number(db, "SELECT incarnation FROM meta WHERE id=1", &incarnation, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_number(db, "SELECT epoch FROM meta WHERE id=1", &epoch, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_number(db, "SELECT crc FROM meta WHERE id=1", &crc, ret_why);
    if (status != TOCSIN_OK)
        return status;
    store->incarnation = (uint64_t)incarnation;
    store->epoch = (uint64_t)epoch;
    if (crc != sqlite_meta_checksum(store->incarnation, store->epoch))
        return sqlite_damaged_row(db, "meta", 1, ret_why);
    return TOCSIN_OK;
}

static enum tocsin_status read_ledger(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    sqlite3_stmt *last = store->writer.statements[SQLITE_LAST_LEDGER_STATEMENT];
    struct bytes list;
    int code = sqlite3_step(last);
    enum tocsin_status status = sqlite_db_status(&store->writer, code, "read the books", ret_why);
    if (status == TOCSIN_OK && code != SQLITE_ROW)
        status = sqlite_db_damaged(&store->writer, "table dead is empty", ret_why);
    else if (status == TOCSIN_OK && !sqlite_read_ledger(last, &store->ledger, &list))
        status = sqlite_damaged_row(&store->writer, "dead", store->ledger.commit, ret_why);
    else if (status == TOCSIN_OK)
        store->ledger_bare = list.size == 0;
    (void)sqlite3_reset(last);
    return status;
}

/* Acknowledged commits are synced, so none is missing after any crash. If the counter knows of
 * more, or more than the one commit under way lies behind a bad frame, the log has decayed. */
static enum tocsin_status check_loss(struct sqlite_store *store, const struct sqlite_log *log,
                                     struct tocsin_why *ret_why)
{
    uint64_t counted = commit_counter_read(&store->dir, store->incarnation);
    uint64_t known = store->ledger.commit;
    uint64_t missing = counted > known ? counted - known : 0;
    if (missing == 0 && log->tail_commits > 1)
        missing = log->tail_commits - 1;
    store->commits_lost = missing;
    if (missing == 0 || store->accept_loss)
        return TOCSIN_OK;
    return reason_say(
        ret_why, TOCSIN_DAMAGED,
        "%s-wal is damaged at byte %llu: %llu acknowledged commits after number %llu "
        "are missing. Restore a backup, or accept the loss (--accept-loss)",
        store->writer.path,
        (unsigned long long)(log->tail_at_bytes != 0 ? log->tail_at_bytes : log->end_bytes),
        (unsigned long long)missing, (unsigned long long)known);
}

/* After this, the file alone holds everything, whatever becomes of the log. */
static enum tocsin_status settle(struct sqlite_store *store, bool unsafe_no_sync,
                                 struct tocsin_why *ret_why)
{
    struct sqlite_db *db = &store->writer;
    int code = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    enum tocsin_status status = sqlite_db_status(db, code, "copy the log into the file", ret_why);
    if (status != TOCSIN_OK || unsafe_no_sync)
        return status;
    sqlite3_file *file = NULL;
    code = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK)
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    if (code != SQLITE_OK)
        return reason_say(ret_why, TOCSIN_IO, "%s cannot be synced: %s", db->path, strerror(errno));
    return store_dir_sync(&store->dir, ret_why);
}

static enum tocsin_status open_tables(struct sqlite_store *store, struct tocsin_why *ret_why)
{
    bool is_new = false;
    enum tocsin_status status = check_version(store, &is_new, ret_why);
    if (status != TOCSIN_OK)
        return status;
    uint64_t commits = is_new ? commit_counter_read(&store->dir, 0) : 0;
    if (commits > 0 && !store->accept_loss)
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "%s is gone or empty, but had %llu commits. Restore a backup, or accept "
                          "the loss (--accept-loss)",
                          store->writer.path, (unsigned long long)commits);
    if (is_new)
        return create_tables(store, ret_why);
    status = sqlite_db_prepare(&store->writer, SQLITE_WRITER, ret_why);
    if (status == TOCSIN_OK)
        status = read_meta(store, ret_why);
    if (status == TOCSIN_OK)
        status = read_ledger(store, ret_why);
    return status;
}

static enum tocsin_status open_files(struct sqlite_store *store,
                                     const struct store_sqlite_options *options,
                                     struct sqlite_log *log, struct tocsin_why *ret_why)
{
    store->epoch = 0;
    char *path = store_dir_file(&store->dir, SQLITE_STORE_FILE);
    if (path == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = check_file(store, path, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_log_read(&store->dir, SQLITE_STORE_LOG, log, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_open(&store->writer, path, SQLITE_WRITER, options->vfs,
                                options->unsafe_no_sync, ret_why);
    if (status == TOCSIN_OK)
        status = open_tables(store, ret_why);
    if (status == TOCSIN_OK)
        status = check_loss(store, log, ret_why);
    if (status == TOCSIN_OK) {
        (void)sqlite3_wal_hook(store->writer.handle, log_grew, store);
        store->epoch++;
        status = sqlite_write_meta(store, store->epoch, ret_why);
    }
    if (status == TOCSIN_OK)
        status = commit_counter_open(&store->counter, &store->dir, store->incarnation, ret_why);
    if (status == TOCSIN_OK)
        status = settle(store, options->unsafe_no_sync, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_open(&store->reader, path, SQLITE_READER, options->vfs,
                                options->unsafe_no_sync, ret_why);
    if (status == TOCSIN_OK)
        status = sqlite_db_prepare(&store->reader, SQLITE_READER, ret_why);
    free(path);
    return status;
}

static void close_files(struct sqlite_store *store)
{
    /* After a failed sync nothing is written or synced again (law 10): the last one to close
     * would copy the log into the file. */
    if (store->writer.handle != NULL && sqlite_running(store, NULL) != TOCSIN_OK)
        (void)sqlite3_db_config(store->writer.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite_db_close(&store->reader);
    sqlite_db_close(&store->writer);
    commit_counter_close(&store->counter);
}

/* Opening writes a little, for which a full disk may need the ballast. */
static enum tocsin_status open_all(struct sqlite_store *store,
                                   const struct store_sqlite_options *options,
                                   struct sqlite_log *log, struct tocsin_why *ret_why)
{
    enum tocsin_status status = store_dir_open(&store->dir, options->dir, true, ret_why);
    if (status != TOCSIN_OK)
        return status;
    ballast_init(&store->ballast, &store->dir, options->ballast_bytes);
    status = open_files(store, options, log, ret_why);
    if (status == TOCSIN_NO_SPACE && ballast_drop(&store->ballast)) {
        close_files(store);
        status = open_files(store, options, log, ret_why);
    }
    return status;
}

static void sqlite_sizes(struct store *handle, struct store_sizes *ret_sizes)
{
    struct sqlite_store *store = sqlite_inside(handle);
    *ret_sizes = (struct store_sizes){
        .file_bytes = store_dir_file_bytes(&store->dir, SQLITE_STORE_FILE),
        .log_bytes = store_dir_file_bytes(&store->dir, SQLITE_STORE_LOG),
        .living = atomic_load_explicit(&store->living, memory_order_relaxed),
        .dead = atomic_load_explicit(&store->dead, memory_order_relaxed),
        .swept = atomic_load_explicit(&store->swept, memory_order_relaxed),
        .commits = atomic_load_explicit(&store->commits, memory_order_relaxed),
        .sync_ns_sum = atomic_load_explicit(&store->commit_ns, memory_order_relaxed),
    };
}

static void sqlite_close(struct store *handle)
{
    struct sqlite_store *store = sqlite_inside(handle);
    close_files(store);
    store_dir_close(&store->dir);
    dead_set_release(&store->sweep.set);
    buffer_release(&store->list);
    free(store->sorted);
    free(store);
}

static struct sqlite_store *make(const struct store_sqlite_options *options)
{
    static const struct store_ops ops = {
        .name = "sqlite",
        .load = sqlite_load,
        .commit = sqlite_commit,
        .get = sqlite_get,
        .together = sqlite_together,
        .list = sqlite_list,
        .events = sqlite_events,
        .sizes = sqlite_sizes,
        .close = sqlite_close,
    };
    struct sqlite_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->store.ops = &ops;
    store->dir = (struct store_dir){.fd = -1, .lock_fd = -1};
    store->counter.fd = -1;
    store->ledger.first_seq = 1;
    store->checkpoint_frames =
        options->checkpoint_frames > 0 ? (int)options->checkpoint_frames : SQLITE_CHECKPOINT_FRAMES;
    store->checkpoint_at = store->checkpoint_frames;
    store->event_bytes_max = options->event_bytes_max;
    store->sweep_min = options->sweep_min > 0 ? options->sweep_min : SQLITE_SWEEP_MIN;
    store->sweep_bytes_min =
        options->sweep_bytes_min > 0 ? options->sweep_bytes_min : SQLITE_SWEEP_BYTES_MIN;
    store->accept_loss = options->accept_loss;
    store->progress = options->progress;
    store->progress_arg = options->progress_arg;
    dead_set_init(&store->sweep.set);
    buffer_init(&store->list, LIST_BYTES_MAX);
    return store;
}

enum tocsin_status store_sqlite_open(const struct store_sqlite_options *options,
                                     struct store **ret_store, struct store_state *ret_state,
                                     struct tocsin_why *ret_why)
{
    struct sqlite_log log = {0};
    struct tocsin_why why = {""};
    struct sqlite_store *store = make(options);
    if (store == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = open_all(store, options, &log, &why);
    if (status != TOCSIN_OK) {
        (void)sqlite_stop(store, status, &why); /* what was refused is left as it is */
        sqlite_close(&store->store);
        if (ret_why != NULL)
            *ret_why = why;
        return status;
    }
    commit_counter_write(&store->counter, store->ledger.commit);
    ballast_take_in(&store->ballast);
    sweep_guess_bytes(store);
    atomic_store_explicit(&store->living, store->ledger.living, memory_order_relaxed);
    atomic_store_explicit(&store->dead, store->ledger.dead, memory_order_relaxed);
    *ret_store = &store->store;
    *ret_state = (struct store_state){
        .high_rev = store->ledger.high_rev,
        .high_seq = store->ledger.high_seq,
        .epoch = store->epoch,
        .time = store->ledger.time,
        .living = store->ledger.living,
        .tail_bytes_cut = log.tail_bytes,
        .commits_lost = store->commits_lost,
    };
    return TOCSIN_OK;
}
