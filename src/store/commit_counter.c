/* SPDX-License-Identifier: MIT */
#include "store/commit_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "schedule/reason.h"

struct image {
    char magic[8];
    uint64_t incarnation;
    uint64_t commit;
    uint32_t crc;
    uint32_t zero;
};

_Static_assert(sizeof(struct image) == 32, "as the header says");

static const char file_name[] = "commits";
static const char magic[8] = {'t', 'o', 'c', 's', 'i', 'n', '-', 'n'};

static uint32_t checksum(const struct image *image)
{
    return crc32c(0, image, offsetof(struct image, crc));
}

uint64_t commit_counter_read(const struct store_dir *dir, uint64_t incarnation)
{
    int fd = openat(dir->fd, file_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    struct image image;
    ssize_t size = pread(fd, &image, sizeof image, 0);
    (void)close(fd);
    if (size != (ssize_t)sizeof image || memcmp(image.magic, magic, sizeof magic) != 0 ||
        image.crc != checksum(&image))
        return 0;
    return incarnation == 0 || image.incarnation == incarnation ? image.commit : 0;
}

bool commit_counter_exists(const struct store_dir *dir)
{
    return faccessat(dir->fd, file_name, F_OK, 0) == 0;
}

enum tocsin_status commit_counter_open(struct commit_counter *counter, const struct store_dir *dir,
                                       uint64_t incarnation, struct tocsin_why *ret_why)
{
    counter->incarnation = incarnation;
    counter->fd = openat(dir->fd, file_name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (counter->fd >= 0)
        return TOCSIN_OK;
    return reason_say(ret_why, errno == ENOSPC ? TOCSIN_NO_SPACE : TOCSIN_UNAVAILABLE,
                      "%s/%s cannot be written: %s", dir->path, file_name, strerror(errno));
}

void commit_counter_close(struct commit_counter *counter)
{
    if (counter->fd >= 0)
        (void)close(counter->fd);
    counter->fd = -1;
}

void commit_counter_write(struct commit_counter *counter, uint64_t commit)
{
    struct image image = {.incarnation = counter->incarnation, .commit = commit};
    memcpy(image.magic, magic, sizeof magic);
    image.crc = checksum(&image);
    if (pwrite(counter->fd, &image, sizeof image, 0) != (ssize_t)sizeof image)
        errno = 0;
}
