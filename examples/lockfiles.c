/* SPDX-License-Identifier: MIT */
/* lockfiles - a key store of one's own.
 *
 *     lockfiles DIR
 *
 * Redis is not the only place where something lives on borrowed time. Here the keys are files: a
 * lock file is good until its time of modification, which lies in the future, and what is written
 * in it is its owner. Four functions make that a key store; a provider makes such stores by the
 * name of a folder. Two locks are kept alive in DIR; then somebody else takes one of them, and
 * this program is told that it has lost it. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tocsin/engine.h>
#include <tocsin/renewal.h>

enum { NAME_BYTES_MAX = 200, OWNER_BYTES_MAX = 64 };

struct folder {
    int fd;
};

/* ---- the key store: called one after another, by a thread that may wait */

static int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How long this file is good; -2: there is none, or not any more. */
static int64_t lives_ms(const struct folder *folder, const char *name)
{
    struct stat file;
    if (fstatat(folder->fd, name, &file, 0) != 0)
        return -2;
    int64_t left = (int64_t)file.st_mtim.tv_sec * 1000 + file.st_mtim.tv_nsec / 1000000 - wall_ms();
    return left > 0 ? left : -2;
}

static bool is_written(const struct folder *folder, const char *name, const char *text, size_t size)
{
    char found[OWNER_BYTES_MAX + 1];
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, found, sizeof found);
    (void)close(fd);
    return got >= 0 && (size_t)got == size && memcmp(found, text, size) == 0;
}

static enum tocsin_key_result expire_one(const struct folder *folder, const char *name,
                                         const struct tocsin_expiry *expiry)
{
    int64_t left = lives_ms(folder, name);
    int64_t until = wall_ms() + expiry->ttl_ms;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000}};
    if (left == -2)
        return TOCSIN_KEY_MISSING;
    if (expiry->owner != NULL && !is_written(folder, name, expiry->owner, expiry->owner_size))
        return TOCSIN_KEY_FOREIGN;
    if (left > expiry->ttl_ms && !expiry->may_shorten)
        return TOCSIN_KEY_LONGER;
    return utimensat(folder->fd, name, times, 0) == 0 ? TOCSIN_KEY_RENEWED : TOCSIN_KEY_REFUSED;
}

/* Keys are bytes of any kind; names of files end with a zero. */
static const char *name_of(const struct tocsin_key *key, char name[NAME_BYTES_MAX + 1])
{
    if (key->size > NAME_BYTES_MAX || memchr(key->at, '/', key->size) != NULL)
        return NULL;
    memcpy(name, key->at, key->size);
    name[key->size] = '\0';
    return name;
}

static void expire(void *self, const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                   size_t count, struct tocsin_why *ret_why)
{
    char room[NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < count; i++) {
        const char *name = name_of(&keys[i], room);
        keys[i].result = name == NULL ? TOCSIN_KEY_MISSING : expire_one(self, name, expiry);
        if (keys[i].result == TOCSIN_KEY_REFUSED)
            (void)snprintf(ret_why->text, sizeof ret_why->text, "%.100s: %s", name,
                           strerror(errno));
    }
}

static void ttl(void *self, struct tocsin_key *keys, size_t count, struct tocsin_why *ret_why)
{
    char room[NAME_BYTES_MAX + 1];
    (void)ret_why;
    for (size_t i = 0; i < count; i++) {
        const char *name = name_of(&keys[i], room);
        keys[i].ttl_ms = name == NULL ? -2 : lives_ms(self, name);
    }
}

/* All of them as one page. */
static enum tocsin_status scan(void *self, const char *pattern, uint32_t page, uint64_t *cursor,
                               tocsin_key_found found, void *arg, struct tocsin_why *ret_why)
{
    const struct folder *folder = self;
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    (void)page;
    if (listing == NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", strerror(errno));
        return TOCSIN_UNAVAILABLE;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        bool fits = entry->d_type == DT_REG && fnmatch(pattern, entry->d_name, 0) == 0;
        if (fits && !found(arg, entry->d_name, strlen(entry->d_name)))
            break;
    }
    (void)closedir(listing);
    *cursor = 0;
    return TOCSIN_OK;
}

static void close_folder(void *self)
{
    struct folder *folder = self;
    (void)close(folder->fd);
    free(folder);
}

static enum tocsin_status create(void *arg, const char *where, struct tocsin_key_client *ret_client,
                                 struct tocsin_why *ret_why)
{
    struct folder *folder = malloc(sizeof *folder);
    (void)arg;
    if (folder == NULL)
        return TOCSIN_NO_MEMORY;
    folder->fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%.150s: %s", where, strerror(errno));
        free(folder);
        return TOCSIN_INVALID;
    }
    *ret_client = (struct tocsin_key_client){
        .expire = expire, .scan = scan, .ttl = ttl, .close = close_folder, .self = folder};
    return TOCSIN_OK;
}

/* ---- the program */

struct news {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool lost;
};

static void told(void *arg, const char *id, enum tocsin_renewal_status status, const char *why)
{
    struct news *news = arg;
    (void)pthread_mutex_lock(&news->lock);
    printf("%s: %s (%s)\n", id, tocsin_renewal_status_name(status), why);
    news->lost = status == TOCSIN_RENEWAL_LOST;
    (void)pthread_cond_signal(&news->changed);
    (void)pthread_mutex_unlock(&news->lock);
}

/* A lock that is good for ten seconds, unless somebody renews it. */
static bool take_lock(const char *dir, const char *name, const char *owner)
{
    char path[300];
    char draft[304]; /* nobody sees a lock that is half written */
    struct timespec now;
    (void)snprintf(path, sizeof path, "%.200s/%s", dir, name);
    (void)snprintf(draft, sizeof draft, "%s.new", path);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct timespec times[2] = {now, {.tv_sec = now.tv_sec + 10, .tv_nsec = now.tv_nsec}};
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, owner, strlen(owner)) == (ssize_t)strlen(owner) &&
                   futimens(fd, times) == 0;
    if (fd >= 0)
        (void)close(fd);
    return written && rename(draft, path) == 0;
}

static enum tocsin_status keep_both(struct tocsin_renewals *renewals, struct tocsin_why *ret_why)
{
    static const char *const names[] = {"a.lock", "b.lock"};
    struct tocsin_key keys[] = {{.at = "a.lock", .size = 6}, {.at = "b.lock", .size = 6}};
    enum tocsin_status status = TOCSIN_OK;
    for (size_t i = 0; status == TOCSIN_OK && i < 2; i++) {
        status = tocsin_renewal_add(renewals,
                                    &(struct tocsin_renewal){.id = names[i],
                                                             .keys = &names[i],
                                                             .key_count = 1,
                                                             .ttl_ms = 60000,
                                                             .every_ms = 100,
                                                             .owner = "me",
                                                             .store = "locks"},
                                    ret_why);
        if (status == TOCSIN_OK)
            status = tocsin_renewal_renew(renewals, names[i]);
    }
    if (status == TOCSIN_OK)
        status = tocsin_keys_ttl(renewals, "locks", keys, 2, ret_why);
    for (size_t i = 0; status == TOCSIN_OK && i < 2; i++)
        printf("%s: kept, for %s\n", names[i],
               keys[i].ttl_ms > 30000 ? "more than 30 s" : "less than 30 s");
    return status;
}

int main(int argc, char **argv)
{
    struct news news = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    struct tocsin_renewals *renewals = NULL;
    struct tocsin_engine *engine;
    struct tocsin_why why = {"the lock could not be taken, or there is no memory"};
    if (argc != 2 || (mkdir(argv[1], 0700) != 0 && errno != EEXIST)) {
        (void)fputs("usage: lockfiles DIR\n", stderr);
        return 2;
    }
    if (!take_lock(argv[1], "a.lock", "me") || !take_lock(argv[1], "b.lock", "me") ||
        tocsin_renewals_create(&(struct tocsin_renewals_options){.told = told, .arg = &news},
                               &renewals, &why) != TOCSIN_OK)
        goto failed;
    struct tocsin_key_provider provider = {.name = "folder", .create = create};
    if (tocsin_renewals_add_provider(renewals, &provider) != TOCSIN_OK ||
        tocsin_renewals_reach(renewals, "locks", "folder", argv[1], &why) != TOCSIN_OK) {
        tocsin_renewals_destroy(renewals);
        goto failed;
    }
    if (tocsin_engine_open(&(struct tocsin_engine_options){.renewals = renewals}, &engine, &why) !=
        TOCSIN_OK)
        goto failed;
    bool well = keep_both(renewals, &why) == TOCSIN_OK && take_lock(argv[1], "b.lock", "them");
    (void)pthread_mutex_lock(&news.lock);
    while (well && !news.lost)
        (void)pthread_cond_wait(&news.changed, &news.lock);
    (void)pthread_mutex_unlock(&news.lock);
    tocsin_engine_close(engine);
    if (well)
        return 0;
failed:
    (void)fprintf(stderr, "lockfiles: %s\n", why.text);
    return 1;
}
