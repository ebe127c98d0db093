/* SPDX-License-Identifier: MIT */
/* temp_dir.h - where may a test write?
 *
 * A directory of its own, in memory where the system has such a file system (a sync there costs
 * nothing, and what is synced is decided by the test), and gone with the test.
 */
#ifndef TEST_SUPPORT_TEMP_DIR_H
#define TEST_SUPPORT_TEMP_DIR_H

struct temp_dir {
    char path[100];
};

void temp_dir_init(struct temp_dir *dir);
void temp_dir_release(struct temp_dir *dir);

/* Removes the files in it, at whatever depth, and keeps the directory. */
void temp_dir_clear(const struct temp_dir *dir);

#endif
