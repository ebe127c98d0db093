/* SPDX-License-Identifier: MIT */
/* shim.c - a disk and a clock that fail as told, in front of the C library (LD_PRELOAD).
 *
 *   SHIM_CONTROL   a file of numbers, mapped: struct control below. The test reads and sets them
 *                  while the server runs.
 *   SHIM_DATA      the store's directory: only its files are meant.
 *   SHIM_DISK      another directory, which becomes what a disk would hold if power failed now:
 *                  bytes go there when their file is synced, and a new file's name only once its
 *                  directory was synced as well. After kill -9 the test puts it in the place of
 *                  SHIM_DATA. Writes through a map are not seen; SQLite makes them to its -shm
 *                  file only, which it makes anew.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic int64_t syncs;       /* so far, of files of the store */
    _Atomic int64_t fail_at;     /* the sync with this number fails with EIO; 0: none */
    _Atomic int64_t syncs_after; /* how many were tried after that */
    _Atomic int64_t swallow;     /* syncs say "done" and do nothing */
    _Atomic int64_t wall_offset_ns;
    _Atomic int64_t on; /* set by us: it was loaded */
};

enum { FILES = 4096, NAME_BYTES = 64 };

/* What was written to a file and not synced since. */
struct range {
    off_t from;
    off_t to;
};

struct dirty {
    char name[NAME_BYTES];
    struct range *ranges;
    size_t count;
    size_t room;
};

static struct control *control;
static const char *data;
static const char *disk;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dirty files[16];

static void die(const char *why)
{
    (void)dprintf(STDERR_FILENO, "shim: %s: %s\n", why, strerror(errno));
    _exit(99);
}

static void *next_of(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL)
        die(name);
    return symbol;
}

#define NEXT(name) ((__typeof__(&(name)))next_of(#name))

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SHIM_CONTROL");
    data = getenv("SHIM_DATA");
    disk = getenv("SHIM_DISK");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        die("SHIM_CONTROL");
    control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        die("map");
    (void)close(fd);
    atomic_store(&control->on, 1);
}

/* The name of a file of the store, or "." for its directory. False: not ours. */
static bool name_of(int fd, char name[NAME_BYTES])
{
    char link[64];
    char path[1024];
    if (data == NULL)
        return false;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0)
        return false;
    path[size] = '\0';
    size_t under = strlen(data);
    if (strncmp(path, data, under) != 0)
        return false;
    if (path[under] == '\0') {
        memcpy(name, ".", 2);
        return true;
    }
    if (path[under] != '/' || strlen(path + under + 1) >= NAME_BYTES)
        return false;
    memcpy(name, path + under + 1, strlen(path + under + 1) + 1);
    return true;
}

static struct dirty *dirty_of(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].name[0] == '\0')
            memcpy(files[i].name, name, strlen(name) + 1);
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    }
    die("too many files");
    return NULL;
}

static void wrote(int fd, off_t from, ssize_t size)
{
    char name[NAME_BYTES];
    int error = errno;
    if (disk != NULL && size > 0 && name_of(fd, name)) {
        (void)pthread_mutex_lock(&lock);
        struct dirty *dirty = dirty_of(name);
        if (dirty->count == dirty->room) {
            dirty->room = dirty->room == 0 ? 64 : dirty->room * 2;
            dirty->ranges = realloc(dirty->ranges, dirty->room * sizeof *dirty->ranges);
            if (dirty->ranges == NULL)
                die("memory");
        }
        dirty->ranges[dirty->count++] = (struct range){from, from + size};
        (void)pthread_mutex_unlock(&lock);
    }
    errno = error;
}

static void on_disk(char path[1200], const char *name, bool named)
{
    (void)snprintf(path, 1200, "%s/%s%s", disk, named ? "" : "unnamed-", name);
}

/* What was written since the last time goes to the disk, and so does its size. */
static void settle_file(int fd, const char *name)
{
    char path[1200];
    struct stat status;
    on_disk(path, name, true);
    int to = open(path, O_RDWR | O_CLOEXEC);
    if (to < 0) { /* nobody has synced its directory yet */
        on_disk(path, name, false);
        to = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    }
    if (to < 0 || fstat(fd, &status) != 0 || NEXT(ftruncate)(to, status.st_size) != 0)
        die(path);
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int from = open(link, O_RDONLY | O_CLOEXEC); /* ours may be open for writing only */
    struct dirty *dirty = dirty_of(name);
    for (size_t i = 0; i < dirty->count; i++) {
        char block[65536];
        for (off_t at = dirty->ranges[i].from; at < dirty->ranges[i].to;) {
            size_t size = (size_t)(dirty->ranges[i].to - at);
            ssize_t got = pread(from, block, size < sizeof block ? size : sizeof block, at);
            if (got <= 0)
                break; /* cut off since */
            if (NEXT(pwrite)(to, block, (size_t)got, at) != got)
                die(path);
            at += got;
        }
    }
    dirty->count = 0;
    (void)close(from);
    (void)close(to);
}

/* The directory was synced: who is there, and who is not any more. */
static void settle_names(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0] && files[i].name[0] != '\0'; i++) {
        char unnamed[1200];
        char named[1200];
        on_disk(unnamed, files[i].name, false);
        on_disk(named, files[i].name, true);
        (void)rename(unnamed, named);
        char now[4096];
        (void)snprintf(now, sizeof now, "%s/%s", data, files[i].name);
        if (access(now, F_OK) != 0)
            (void)unlink(named);
    }
}

static void settle(int fd, const char *name)
{
    if (disk == NULL)
        return;
    (void)pthread_mutex_lock(&lock);
    if (strcmp(name, ".") == 0)
        settle_names();
    else
        settle_file(fd, name);
    (void)pthread_mutex_unlock(&lock);
}

static int sync_file(int fd, int (*next)(int))
{
    char name[NAME_BYTES];
    if (!name_of(fd, name))
        return next(fd);
    int64_t number = atomic_fetch_add(&control->syncs, 1) + 1;
    int64_t fail_at = atomic_load(&control->fail_at);
    if (fail_at != 0 && number > fail_at)
        (void)atomic_fetch_add(&control->syncs_after, 1);
    if (number == fail_at) {
        errno = EIO;
        return -1;
    }
    if (atomic_load(&control->swallow) != 0)
        return 0;
    /* A real sync would only be slow: what a disk would hold is what stands in SHIM_DISK. */
    int result = disk == NULL ? next(fd) : 0;
    if (result == 0)
        settle(fd, name);
    return result;
}

int fsync(int fd)
{
    return sync_file(fd, NEXT(fsync));
}

int fdatasync(int fd)
{
    return sync_file(fd, NEXT(fdatasync));
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t done = NEXT(pwrite)(fd, bytes, size, at);
    wrote(fd, at, done);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    ssize_t done = NEXT(pwrite64)(fd, bytes, size, at);
    wrote(fd, at, done);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    off_t at = disk == NULL ? 0 : lseek(fd, 0, SEEK_CUR);
    ssize_t done = NEXT(write)(fd, bytes, size);
    if (at >= 0)
        wrote(fd, at, done);
    return done;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    static __typeof__(&clock_gettime) next;
    if (next == NULL)
        next = NEXT(clock_gettime);
    int result = next(id, time);
    if (id == CLOCK_REALTIME && control != NULL && result == 0) {
        int64_t offset = atomic_load(&control->wall_offset_ns);
        int64_t ns = (int64_t)time->tv_sec * INT64_C(1000000000) + time->tv_nsec + offset;
        time->tv_sec = (time_t)(ns / INT64_C(1000000000));
        time->tv_nsec = (long)(ns % INT64_C(1000000000));
    }
    return result;
}
