/* SPDX-License-Identifier: MIT */
/* store_dir.h - is the directory ours, and alone ours?
 *
 * Promise   while it is open no other process opens the same directory. What the system
 *           refuses is said in a sentence that names the path.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_STORE_DIR_H
#define TOCSIN_STORE_STORE_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

struct store_dir {
    char *path;
    int fd;
    int lock_fd;
};

/* Makes the directory when `make` and it is not there. BUSY: another process has it, named by
 * its pid. UNAVAILABLE: it cannot be had. */
enum tocsin_status store_dir_open(struct store_dir *dir, const char *path, bool make,
                                  struct tocsin_why *ret_why);
void store_dir_close(struct store_dir *dir);

/* Files made, renamed or removed in it are so after a power cut too. */
enum tocsin_status store_dir_sync(const struct store_dir *dir, struct tocsin_why *ret_why);

/* path/name, to be freed; NULL without memory. */
char *store_dir_file(const struct store_dir *dir, const char *name);
/* 0 when it is not there. */
uint64_t store_dir_file_bytes(const struct store_dir *dir, const char *name);

#endif
