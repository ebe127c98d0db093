/* SPDX-License-Identifier: MIT */
#include "support/crash_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 2, SECTOR_BYTES = 512 };

enum op_kind { OP_WRITE, OP_TRUNCATE, OP_SYNC };

struct op {
    enum op_kind kind;
    int file;
    uint64_t at;
    uint64_t size;
    unsigned char *bytes;
    uint64_t mark;
};

struct crash_disk {
    sqlite3_vfs vfs; /* first: what SQLite knows */
    sqlite3_vfs *real;
    struct op *ops;
    size_t count;
    size_t room;
    uint64_t mark;
    enum crash_fault fault;
    uint64_t fault_from;
    uint64_t fault_times;
    uint64_t met; /* ops that could have failed */
    uint64_t failed;
    uint64_t limit;
    uint64_t sizes[FILES];
};

struct crash_file {
    sqlite3_file base; /* first */
    struct crash_disk *disk;
    int index; /* -1: not written down */
    sqlite3_file *real;
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static struct crash_file *inside(sqlite3_file *file)
{
    return (struct crash_file *)(void *)file;
}

static void note(struct crash_file *file, enum op_kind kind, uint64_t at, const void *bytes,
                 uint64_t size)
{
    struct crash_disk *disk = file->disk;
    if (file->index < 0)
        return;
    if (disk->count == disk->room) {
        disk->room = disk->room == 0 ? 1024 : disk->room * 2;
        disk->ops = must(realloc(disk->ops, disk->room * sizeof *disk->ops));
    }
    struct op op = {kind, file->index, at, size, NULL, disk->mark};
    if (bytes != NULL && size > 0) {
        op.bytes = must(malloc(size));
        memcpy(op.bytes, bytes, size);
    }
    disk->ops[disk->count++] = op;
    if (kind == OP_WRITE && at + size > disk->sizes[file->index])
        disk->sizes[file->index] = at + size;
    if (kind == OP_TRUNCATE)
        disk->sizes[file->index] = at;
}

static bool fails_now(struct crash_disk *disk)
{
    uint64_t number = disk->met++;
    bool fails = disk->fault != CRASH_NO_FAULT && number >= disk->fault_from &&
                 number - disk->fault_from < disk->fault_times;
    disk->failed += fails;
    return fails;
}

static bool too_large(const struct crash_file *file, uint64_t end)
{
    const struct crash_disk *disk = file->disk;
    uint64_t sum = 0;
    for (int i = 0; i < FILES; i++)
        sum += disk->sizes[i];
    return disk->limit > 0 && file->index >= 0 && end > disk->sizes[file->index] &&
           sum + (end - disk->sizes[file->index]) > disk->limit;
}

static int file_close(sqlite3_file *file)
{
    return inside(file)->real->pMethods->xClose(inside(file)->real);
}

static int file_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    struct crash_disk *disk = inside(file)->disk;
    if (disk->fault == CRASH_EIO_READ && fails_now(disk))
        return SQLITE_IOERR_READ;
    return inside(file)->real->pMethods->xRead(inside(file)->real, to, size, at);
}

static int file_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
    struct crash_file *crash = inside(file);
    struct crash_disk *disk = crash->disk;
    if (too_large(crash, (uint64_t)at + (uint64_t)size))
        return SQLITE_FULL;
    if (disk->fault != CRASH_EIO_READ && fails_now(disk)) {
        if (disk->fault == CRASH_SHORT && size > 1) {
            note(crash, OP_WRITE, (uint64_t)at, from, (uint64_t)size / 2);
            (void)crash->real->pMethods->xWrite(crash->real, from, size / 2, at);
        }
        return disk->fault == CRASH_EIO ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    note(crash, OP_WRITE, (uint64_t)at, from, (uint64_t)size);
    return crash->real->pMethods->xWrite(crash->real, from, size, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct crash_file *crash = inside(file);
    if (crash->disk->fault == CRASH_EIO && fails_now(crash->disk))
        return SQLITE_IOERR_TRUNCATE;
    note(crash, OP_TRUNCATE, (uint64_t)size, NULL, 0);
    return crash->real->pMethods->xTruncate(crash->real, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct crash_file *crash = inside(file);
    if (crash->disk->fault == CRASH_EIO && fails_now(crash->disk))
        return SQLITE_IOERR_FSYNC;
    note(crash, OP_SYNC, 0, NULL, 0);
    return crash->real->pMethods->xSync(crash->real, flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    return inside(file)->real->pMethods->xFileSize(inside(file)->real, ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return inside(file)->real->pMethods->xLock(inside(file)->real, level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return inside(file)->real->pMethods->xUnlock(inside(file)->real, level);
}

static int file_check_lock(sqlite3_file *file, int *ret_held)
{
    return inside(file)->real->pMethods->xCheckReservedLock(inside(file)->real, ret_held);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return inside(file)->real->pMethods->xFileControl(inside(file)->real, op, arg);
}

static int file_sector_size(sqlite3_file *file)
{
    return inside(file)->real->pMethods->xSectorSize(inside(file)->real);
}

static int file_device(sqlite3_file *file)
{
    return inside(file)->real->pMethods->xDeviceCharacteristics(inside(file)->real);
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return inside(file)->real->pMethods->xShmMap(inside(file)->real, page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return inside(file)->real->pMethods->xShmLock(inside(file)->real, offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    inside(file)->real->pMethods->xShmBarrier(inside(file)->real);
}

static int file_shm_unmap(sqlite3_file *file, int delete_it)
{
    return inside(file)->real->pMethods->xShmUnmap(inside(file)->real, delete_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct crash_disk *disk = (struct crash_disk *)(void *)vfs;
    struct crash_file *crash = inside(file);
    *crash = (struct crash_file){.disk = disk, .index = -1};
    crash->real = (sqlite3_file *)(void *)(crash + 1);
    if (flags & SQLITE_OPEN_MAIN_DB)
        crash->index = 0;
    if (flags & SQLITE_OPEN_WAL)
        crash->index = 1;
    int code = disk->real->xOpen(disk->real, name, crash->real, flags, ret_flags);
    if (code == SQLITE_OK)
        crash->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct crash_disk *disk = (struct crash_disk *)(void *)vfs;
    return disk->real->xDelete(disk->real, name, sync);
}

struct crash_disk *crash_disk_create(void)
{
    struct crash_disk *disk = must(calloc(1, sizeof *disk));
    disk->real = must(sqlite3_vfs_find("unix"));
    disk->vfs = *disk->real;
    disk->vfs.pNext = NULL;
    disk->vfs.zName = "crash";
    disk->vfs.szOsFile = disk->real->szOsFile + (int)sizeof(struct crash_file);
    disk->vfs.xOpen = vfs_open;
    disk->vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&disk->vfs, 0) != SQLITE_OK)
        abort();
    return disk;
}

void crash_disk_destroy(struct crash_disk *disk)
{
    (void)sqlite3_vfs_unregister(&disk->vfs);
    for (size_t i = 0; i < disk->count; i++)
        free(disk->ops[i].bytes);
    free(disk->ops);
    free(disk);
}

void crash_disk_fail(struct crash_disk *disk, enum crash_fault fault, uint64_t from, uint64_t times)
{
    disk->fault = fault;
    disk->fault_from = from;
    disk->fault_times = times;
    disk->met = 0;
    disk->failed = 0;
}

uint64_t crash_disk_failed(const struct crash_disk *disk)
{
    return disk->failed;
}

void crash_disk_limit(struct crash_disk *disk, uint64_t bytes)
{
    disk->limit = bytes;
}

void crash_disk_mark(struct crash_disk *disk, uint64_t mark)
{
    disk->mark = mark;
}

/* A file's bytes, growing. */
struct content {
    unsigned char *bytes;
    uint64_t size;
    uint64_t room;
};

struct crash_cut {
    const struct crash_disk *disk;
    size_t end;
    size_t next;
    size_t synced[FILES]; /* ops of the file up to this one are in its content */
    struct content content[FILES];
};

static void content_resize(struct content *content, uint64_t size)
{
    if (size > content->room) {
        content->room = 2 * size;
        content->bytes = must(realloc(content->bytes, content->room));
    }
    if (size > content->size)
        memset(content->bytes + content->size, 0, size - content->size);
    content->size = size;
}

static void content_write(struct content *content, uint64_t at, const unsigned char *bytes,
                          uint64_t size)
{
    if (size == 0)
        return;
    if (at + size > content->size)
        content_resize(content, at + size);
    memcpy((unsigned char *)must(content->bytes) + at, bytes, size);
}

/* Sectors of a write reach the disk each for itself. */
static void write_some(struct content *content, const struct op *op, struct test_random *random)
{
    for (uint64_t done = 0; done < op->size;) {
        uint64_t sector_end = ((op->at + done) / SECTOR_BYTES + 1) * SECTOR_BYTES;
        uint64_t size = sector_end - (op->at + done);
        size = size < op->size - done ? size : op->size - done;
        if (test_random_one_in(random, 2))
            content_write(content, op->at + done, op->bytes + done, size);
        done += size;
    }
}

static void apply(struct content *content, const struct op *op)
{
    if (op->kind == OP_WRITE)
        content_write(content, op->at, op->bytes, op->size);
    else if (op->kind == OP_TRUNCATE)
        content_resize(content, op->at);
}

struct crash_cut *crash_cut_create(const struct crash_disk *disk)
{
    struct crash_cut *cut = must(calloc(1, sizeof *cut));
    cut->disk = disk;
    cut->end = disk->count;
    return cut;
}

void crash_cut_destroy(struct crash_cut *cut)
{
    for (int i = 0; i < FILES; i++)
        free(cut->content[i].bytes);
    free(cut);
}

bool crash_cut_next(struct crash_cut *cut)
{
    if (cut->next == cut->end)
        return false;
    const struct op *op = &cut->disk->ops[cut->next++];
    if (op->kind != OP_SYNC)
        return true;
    for (size_t i = cut->synced[op->file]; i < cut->next; i++)
        if (cut->disk->ops[i].file == op->file)
            apply(&cut->content[op->file], &cut->disk->ops[i]);
    cut->synced[op->file] = cut->next;
    return true;
}

uint64_t crash_cut_mark(const struct crash_cut *cut)
{
    return cut->next == 0 ? 0 : cut->disk->ops[cut->next - 1].mark;
}

uint64_t crash_cut_ops(const struct crash_cut *cut)
{
    return cut->next;
}

static void save(const struct content *content, const char *directory, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = must(fopen(path, "wb"));
    if (content->size > 0 && fwrite(content->bytes, content->size, 1, file) != 1)
        abort();
    if (fclose(file) != 0)
        abort();
}

void crash_cut_write(const struct crash_cut *cut, enum crash_variant variant,
                     struct test_random *random, const char *directory)
{
    static const char *const names[FILES] = {"tocsin.db", "tocsin.db-wal"};
    for (int file = 0; file < FILES; file++) {
        struct content content = {0};
        content_resize(&content, cut->content[file].size);
        if (content.size > 0)
            memcpy(content.bytes, cut->content[file].bytes, content.size);
        for (size_t i = cut->synced[file]; i < cut->next && variant != CRASH_NONE; i++) {
            const struct op *op = &cut->disk->ops[i];
            if (op->file != file)
                continue;
            if (variant == CRASH_SOME && op->kind == OP_WRITE)
                write_some(&content, op, random);
            else if (variant == CRASH_ALL || test_random_one_in(random, 2))
                apply(&content, op);
        }
        save(&content, directory, names[file]);
        free(content.bytes);
    }
}
