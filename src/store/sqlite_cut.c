/* SPDX-License-Identifier: MIT */
/* The system's file, with one method exchanged. Its reads need none: behind the end they give
 * zeros and say so, and SQLite takes them. */
#include "store/sqlite_cut.h"

#include <pthread.h>
#include <sqlite3.h>

#include "store/sqlite_db.h"

enum { PAGES_AT = 28, TIMES_MAX = 64 };

static struct {
    pthread_once_t once;
    sqlite3_vfs *system;
    sqlite3_vfs vfs;
    const sqlite3_io_methods *file; /* the system's */
    sqlite3_io_methods methods;
    pthread_mutex_t lock; /* over the last two while they are set */
} cut = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static int told_size(sqlite3_file *file, sqlite3_int64 *ret_bytes)
{
    unsigned char pages[4];
    int code = cut.file->xFileSize(file, ret_bytes);
    if (code != SQLITE_OK || *ret_bytes < SQLITE_PAGE_BYTES ||
        cut.file->xRead(file, pages, sizeof pages, PAGES_AT) != SQLITE_OK)
        return code;
    sqlite3_int64 told =
        ((sqlite3_int64)pages[0] << 24 | pages[1] << 16 | pages[2] << 8 | pages[3]) *
        SQLITE_PAGE_BYTES;
    if (told > *ret_bytes && told / TIMES_MAX <= *ret_bytes)
        *ret_bytes = told;
    return SQLITE_OK;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    (void)vfs;
    int code = cut.system->xOpen(cut.system, name, file, flags, ret_flags);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0)
        return code;
    (void)pthread_mutex_lock(&cut.lock);
    if (cut.file == NULL) {
        cut.file = file->pMethods;
        cut.methods = *file->pMethods;
        cut.methods.iVersion = 2; /* without mapping, which would end at the true end */
        cut.methods.xFileSize = told_size;
    }
    if (cut.file == file->pMethods) /* else it is of another kind, and stays as it is */
        file->pMethods = &cut.methods;
    (void)pthread_mutex_unlock(&cut.lock);
    return SQLITE_OK;
}

static void make_vfs(void)
{
    cut.system = sqlite3_vfs_find(NULL);
    if (cut.system == NULL)
        return;
    cut.vfs = *cut.system;
    cut.vfs.zName = "tocsin-cut";
    cut.vfs.pNext = NULL;
    cut.vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&cut.vfs, 0) != SQLITE_OK)
        cut.system = NULL;
}

const char *sqlite_cut_vfs(void)
{
    (void)pthread_once(&cut.once, make_vfs);
    return cut.system != NULL ? cut.vfs.zName : NULL;
}
