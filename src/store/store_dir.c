/* SPDX-License-Identifier: MIT */
#include "store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schedule/reason.h"

enum { PID_BYTES_MAX = 16 };

/* A directory that was made is only there after a power cut when its parent was synced. */
static bool sync_parent(const char *path)
{
    char *parent = NULL;
    if (asprintf(&parent, "%s/..", path) < 0)
        return false;
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(parent);
    if (fd < 0)
        return errno == EACCES; /* we may not read it: the one who made it must see to it */
    bool synced = fsync(fd) == 0;
    (void)close(fd);
    return synced;
}

static enum tocsin_status open_path(struct store_dir *dir, bool make, struct tocsin_why *ret_why)
{
    bool made = make && mkdir(dir->path, 0700) == 0;
    if (make && !made && errno != EEXIST) {
        return reason_say(ret_why, TOCSIN_UNAVAILABLE, "%s cannot be made: %s", dir->path,
                          strerror(errno));
    }
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0) {
        return reason_say(ret_why, TOCSIN_UNAVAILABLE,
                          "%s cannot be used as the store's directory: %s", dir->path,
                          errno == ENOTDIR ? "it is a file" : strerror(errno));
    }
    if (made && !sync_parent(dir->path)) {
        return reason_say(ret_why, TOCSIN_IO, "%s was made, but cannot be synced: %s", dir->path,
                          strerror(errno));
    }
    return TOCSIN_OK;
}

static enum tocsin_status say_who_has_it(const struct store_dir *dir, struct tocsin_why *ret_why)
{
    char pid[PID_BYTES_MAX] = "";
    ssize_t size = pread(dir->lock_fd, pid, sizeof pid - 1, 0);
    pid[size > 0 ? size : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    return reason_say(ret_why, TOCSIN_BUSY,
                      "%s is in use by process %s: stop it first, or take another directory",
                      dir->path, pid[0] != '\0' ? pid : "(unknown)");
}

static enum tocsin_status take_lock(struct store_dir *dir, struct tocsin_why *ret_why)
{
    dir->lock_fd = openat(dir->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (dir->lock_fd < 0)
        return reason_say(ret_why, errno == ENOSPC ? TOCSIN_NO_SPACE : TOCSIN_UNAVAILABLE,
                          "%s/lock cannot be written: %s", dir->path, strerror(errno));
    if (flock(dir->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return say_who_has_it(dir, ret_why);
        return reason_say(ret_why, TOCSIN_UNAVAILABLE, "%s/lock cannot be locked: %s", dir->path,
                          strerror(errno));
    }
    char pid[PID_BYTES_MAX];
    int size = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    /* Only for the sentence above: on a full disk it goes without. */
    if (ftruncate(dir->lock_fd, 0) != 0 || pwrite(dir->lock_fd, pid, (size_t)size, 0) != size)
        errno = 0;
    return TOCSIN_OK;
}

enum tocsin_status store_dir_open(struct store_dir *dir, const char *path, bool make,
                                  struct tocsin_why *ret_why)
{
    *dir = (struct store_dir){.path = strdup(path), .fd = -1, .lock_fd = -1};
    if (dir->path == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = open_path(dir, make, ret_why);
    if (status == TOCSIN_OK)
        status = take_lock(dir, ret_why);
    if (status != TOCSIN_OK)
        store_dir_close(dir);
    return status;
}

void store_dir_close(struct store_dir *dir)
{
    if (dir->lock_fd >= 0)
        (void)close(dir->lock_fd);
    if (dir->fd >= 0)
        (void)close(dir->fd);
    free(dir->path);
    *dir = (struct store_dir){.fd = -1, .lock_fd = -1};
}

enum tocsin_status store_dir_sync(const struct store_dir *dir, struct tocsin_why *ret_why)
{
    if (fsync(dir->fd) == 0)
        return TOCSIN_OK;
    return reason_say(ret_why, TOCSIN_IO, "%s cannot be synced: %s", dir->path, strerror(errno));
}

char *store_dir_file(const struct store_dir *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir->path, name) < 0 ? NULL : path;
}

uint64_t store_dir_file_bytes(const struct store_dir *dir, const char *name)
{
    struct stat status;
    return fstatat(dir->fd, name, &status, 0) == 0 ? (uint64_t)status.st_size : 0;
}
