/* SPDX-License-Identifier: MIT */
#include "support/temp_dir.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DESCRIPTORS = 8, LIVE_MAX = 64 };

/* Those of a test that failed are removed when the program ends. */
static struct temp_dir live[LIVE_MAX];
static size_t live_count;

static void remove_live(void)
{
    while (live_count > 0) {
        struct temp_dir dir = live[live_count - 1];
        temp_dir_release(&dir);
    }
}

static void forget(const struct temp_dir *dir)
{
    for (size_t i = live_count; i-- > 0;)
        if (strcmp(live[i].path, dir->path) == 0)
            live[i] = live[--live_count];
}

void temp_dir_init(struct temp_dir *dir)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    *dir = (struct temp_dir){""};
    (void)snprintf(dir->path, sizeof dir->path, "%s/tocsin-test-XXXXXX", base);
    if (mkdtemp(dir->path) == NULL || live_count == LIVE_MAX) {
        perror(dir->path);
        abort();
    }
    static bool watched;
    if (!watched)
        (void)atexit(remove_live);
    watched = true;
    live[live_count++] = *dir;
}

static int remove_below(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    return place->level == 0 ? 0 : remove(path);
}

void temp_dir_clear(const struct temp_dir *dir)
{
    (void)nftw(dir->path, remove_below, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

void temp_dir_release(struct temp_dir *dir)
{
    temp_dir_clear(dir);
    (void)rmdir(dir->path);
    forget(dir);
}
