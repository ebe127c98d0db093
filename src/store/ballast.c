/* SPDX-License-Identifier: MIT */
#include "store/ballast.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SLICE_BYTES = 16 * 1024 * 1024, EASE_BYTES = 1024 * 1024 };

static const char file_name[] = "ballast";

void ballast_init(struct ballast *ballast, const struct store_dir *dir, uint64_t wanted_bytes)
{
    *ballast = (struct ballast){
        .dir = dir,
        .wanted_bytes = wanted_bytes,
        .held_bytes = store_dir_file_bytes(dir, file_name),
        .least_bytes = UINT64_MAX,
        .risen = true, /* nothing was thrown yet in this life */
    };
    if (ballast->held_bytes > wanted_bytes)
        (void)ballast_drop(ballast);
}

bool ballast_drop(struct ballast *ballast)
{
    if (ballast->held_bytes == 0)
        return false;
    ballast->held_bytes = 0;
    ballast->least_bytes = UINT64_MAX;
    ballast->risen = false;
    return unlinkat(ballast->dir->fd, file_name, 0) == 0;
}

static uint64_t free_bytes(const struct ballast *ballast)
{
    struct statvfs disk;
    return fstatvfs(ballast->dir->fd, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

bool ballast_whole(const struct ballast *ballast)
{
    return ballast->held_bytes >= ballast->wanted_bytes;
}

static uint64_t missing_bytes(const struct ballast *ballast)
{
    return ballast_whole(ballast) ? 0 : ballast->wanted_bytes - ballast->held_bytes;
}

bool ballast_spares(struct ballast *ballast, int64_t inside_bytes, uint64_t work_bytes)
{
    uint64_t missing = missing_bytes(ballast);
    int64_t both = (int64_t)free_bytes(ballast) + inside_bytes;
    uint64_t room = both > 0 ? (uint64_t)both : 0;
    if (ballast_whole(ballast) || room >= missing + work_bytes)
        return true;
    if (room < ballast->least_bytes)
        ballast->least_bytes = room;
    if (room - ballast->least_bytes >= missing / 4)
        ballast->risen = true;
    if (ballast->risen && room >= missing / 2 + work_bytes)
        return true;
    if (ballast->risen && room < missing / 2) {
        ballast->risen = false;
        ballast->least_bytes = room;
    }
    return false;
}

bool ballast_at_ease(const struct ballast *ballast)
{
    return ballast_whole(ballast) && free_bytes(ballast) >= ballast->wanted_bytes + EASE_BYTES;
}

void ballast_take_in(struct ballast *ballast)
{
    if (ballast_whole(ballast) ||
        free_bytes(ballast) < missing_bytes(ballast) + ballast->wanted_bytes)
        return;
    int fd = openat(ballast->dir->fd, file_name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    uint64_t slice = missing_bytes(ballast);
    slice = slice < SLICE_BYTES ? slice : SLICE_BYTES;
    /* Where the file system has no such call the C library writes a byte to every block. */
    if (posix_fallocate(fd, (off_t)ballast->held_bytes, (off_t)slice) == 0)
        ballast->held_bytes += slice;
    (void)close(fd);
}
