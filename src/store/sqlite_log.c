/* SPDX-License-Identifier: MIT */
#include "store/sqlite_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schedule/reason.h"

enum { HEAD_BYTES = 32, FRAME_HEAD_BYTES = 24, PAGE_BYTES_MIN = 512, PAGE_BYTES_MAX = 65536 };

static const uint32_t magic_low_first = 0x377f0682;
static const uint32_t magic_high_first = 0x377f0683;

struct sum {
    uint32_t one;
    uint32_t two;
    bool low_first;
};

static uint32_t high_first(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t low_first(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void sum_add(struct sum *sum, const unsigned char *at, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint32_t first = sum->low_first ? low_first(at + i) : high_first(at + i);
        uint32_t second = sum->low_first ? low_first(at + i + 4) : high_first(at + i + 4);
        sum->one += first + sum->two;
        sum->two += second + sum->one;
    }
}

static bool sum_is(const struct sum *sum, const unsigned char *at)
{
    return sum->one == high_first(at) && sum->two == high_first(at + 4);
}

/* The salt and the page size, when the head verifies. */
static bool read_head(int fd, struct sum *sum, unsigned char salt[8], size_t *ret_page_bytes)
{
    unsigned char head[HEAD_BYTES];
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return false;
    uint32_t magic = high_first(head);
    size_t page_bytes = high_first(head + 8);
    if ((magic != magic_low_first && magic != magic_high_first) || page_bytes < PAGE_BYTES_MIN ||
        page_bytes > PAGE_BYTES_MAX)
        return false;
    *sum = (struct sum){.low_first = magic == magic_low_first};
    sum_add(sum, head, 24);
    memcpy(salt, head + 16, 8);
    *ret_page_bytes = page_bytes;
    return sum_is(sum, head + 24);
}

static void read_frames(int fd, struct sqlite_log *log, struct sum *sum,
                        const unsigned char salt[8], unsigned char *frame, size_t frame_bytes)
{
    uint64_t at = HEAD_BYTES;
    bool sound = true;
    for (;; at += frame_bytes) {
        ssize_t size = pread(fd, frame, frame_bytes, (off_t)at);
        if (size < FRAME_HEAD_BYTES || memcmp(frame + 8, salt, 8) != 0)
            break;
        bool whole = size == (ssize_t)frame_bytes;
        if (sound && whole) {
            sum_add(sum, frame, 8);
            sum_add(sum, frame + FRAME_HEAD_BYTES, frame_bytes - FRAME_HEAD_BYTES);
        }
        if (sound && !(whole && sum_is(sum, frame + 16))) {
            sound = false;
            log->tail_at_bytes = at;
        }
        bool ends_commit = high_first(frame + 4) != 0;
        if (sound && ends_commit) {
            log->commits++;
            log->end_bytes = at + frame_bytes;
        } else if (ends_commit) {
            log->tail_commits++;
        }
        log->tail_bytes = at + (uint64_t)size - log->end_bytes;
        if (!whole)
            break;
    }
}

enum tocsin_status sqlite_log_read(const struct store_dir *dir, const char *name,
                                   struct sqlite_log *ret_log, struct tocsin_why *ret_why)
{
    int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return reason_say(ret_why, TOCSIN_UNAVAILABLE, "%s/%s cannot be read: %s", dir->path, name,
                          strerror(errno));
    *ret_log = (struct sqlite_log){.end_bytes = HEAD_BYTES};
    if (fd < 0)
        return TOCSIN_OK;
    struct sum sum;
    unsigned char salt[8];
    size_t page_bytes;
    if (read_head(fd, &sum, salt, &page_bytes)) {
        size_t frame_bytes = FRAME_HEAD_BYTES + page_bytes;
        unsigned char *frame = malloc(frame_bytes);
        if (frame != NULL)
            read_frames(fd, ret_log, &sum, salt, frame, frame_bytes);
        free(frame);
    }
    (void)close(fd);
    return TOCSIN_OK;
}
