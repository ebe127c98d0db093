/* SPDX-License-Identifier: MIT */
#include "support/embed_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WAIT_S = 60 };

const char *const two_keys[2] = {"a", "b"};

void shelf_init(struct shelf *shelf)
{
    memset(shelf, 0, sizeof *shelf);
    (void)pthread_mutex_init(&shelf->lock, NULL);
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&shelf->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void shelf_put(struct shelf *shelf, const char *key, const char *value, int64_t ttl_ms)
{
    (void)snprintf(shelf->keys[shelf->count].key, 32, "%s", key);
    (void)snprintf(shelf->keys[shelf->count].value, 32, "%s", value);
    shelf->keys[shelf->count++].ttl_ms = ttl_ms;
}

/* Until a number of it has come so far. */
void shelf_await(struct shelf *shelf, const unsigned *number, unsigned least)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&shelf->lock);
    while (*number < least &&
           pthread_cond_timedwait(&shelf->changed, &shelf->lock, &until) != ETIMEDOUT) {
    }
    unsigned seen = *number;
    (void)pthread_mutex_unlock(&shelf->lock);
    assert_true(seen >= least);
}

void shelf_set(struct shelf *shelf, bool *flag, bool value)
{
    (void)pthread_mutex_lock(&shelf->lock);
    *flag = value;
    (void)pthread_cond_broadcast(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* ---- the client */

static int find(const struct shelf *shelf, const char *at, size_t size)
{
    for (size_t i = 0; i < shelf->count; i++) {
        if (strlen(shelf->keys[i].key) == size && memcmp(shelf->keys[i].key, at, size) == 0 &&
            shelf->keys[i].ttl_ms != 0)
            return (int)i;
    }
    return -1;
}

static enum tocsin_key_result expire_one(struct shelf *shelf, const struct tocsin_expiry *expiry,
                                         const struct tocsin_key *key)
{
    int at = find(shelf, key->at, key->size);
    if (shelf->asked_count < SHELF_LOG) {
        shelf->ttls[shelf->asked_count] = expiry->ttl_ms;
        (void)snprintf(shelf->asked[shelf->asked_count], 32, "%.*s", (int)key->size, key->at);
    }
    shelf->asked_count++;
    if (shelf->trouble != NULL)
        return TOCSIN_KEY_FAILED;
    if (at < 0)
        return TOCSIN_KEY_MISSING;
    if (expiry->owner != NULL &&
        (strlen(shelf->keys[at].value) != expiry->owner_size ||
         memcmp(shelf->keys[at].value, expiry->owner, expiry->owner_size) != 0))
        return TOCSIN_KEY_FOREIGN;
    if (shelf->keys[at].ttl_ms == -1 && !expiry->may_limit)
        return TOCSIN_KEY_PERSISTENT;
    shelf->keys[at].ttl_ms = expiry->ttl_ms;
    return TOCSIN_KEY_RENEWED;
}

void shelf_expire(void *self, const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                  size_t count, struct tocsin_why *ret_why)
{
    struct shelf *shelf = self;
    (void)pthread_mutex_lock(&shelf->lock);
    while (shelf->hangs)
        (void)pthread_cond_wait(&shelf->changed, &shelf->lock);
    if (shelf->trouble != NULL)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", shelf->trouble);
    for (size_t i = 0; i < count; i++) {
        enum tocsin_key_result result = expire_one(shelf, expiry, &keys[i]);
        if (!shelf->mute)
            keys[i].result = result;
    }
    (void)pthread_cond_broadcast(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* Two keys a page; the pattern is a beginning and a star. */
static enum tocsin_status shelf_scan(void *self, const char *pattern, uint32_t page,
                                     uint64_t *cursor, tocsin_key_found found, void *arg,
                                     struct tocsin_why *ret_why)
{
    struct shelf *shelf = self;
    (void)page;
    if (strcmp(pattern, "broken*") == 0) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "the shelf fell down");
        return TOCSIN_UNAVAILABLE;
    }
    (void)pthread_mutex_lock(&shelf->lock);
    size_t end = *cursor + 2 < shelf->count ? *cursor + 2 : shelf->count;
    for (size_t i = *cursor; i < end; i++) {
        if (strncmp(shelf->keys[i].key, pattern, strlen(pattern) - 1) == 0)
            (void)found(arg, shelf->keys[i].key, strlen(shelf->keys[i].key));
    }
    *cursor = end == shelf->count ? 0 : end;
    (void)pthread_mutex_unlock(&shelf->lock);
    return TOCSIN_OK;
}

static enum tocsin_status shelf_holds(void *self, const struct tocsin_key *key, const char *value,
                                      size_t value_size, bool *ret_holds,
                                      struct tocsin_why *ret_why)
{
    struct shelf *shelf = self;
    (void)ret_why;
    (void)pthread_mutex_lock(&shelf->lock);
    int at = find(shelf, key->at, key->size);
    *ret_holds =
        at >= 0 && (value == NULL || (strlen(shelf->keys[at].value) == value_size &&
                                      memcmp(shelf->keys[at].value, value, value_size) == 0));
    (void)pthread_mutex_unlock(&shelf->lock);
    return TOCSIN_OK;
}

static void shelf_ttl(void *self, struct tocsin_key *keys, size_t count, struct tocsin_why *ret_why)
{
    struct shelf *shelf = self;
    (void)ret_why;
    (void)pthread_mutex_lock(&shelf->lock);
    for (size_t i = 0; i < count; i++) {
        int at = find(shelf, keys[i].at, keys[i].size);
        keys[i].ttl_ms = at < 0 ? -2 : shelf->keys[at].ttl_ms;
    }
    (void)pthread_mutex_unlock(&shelf->lock);
}

static void shelf_close(void *self)
{
    struct shelf *shelf = self;
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->closed++;
    (void)pthread_mutex_unlock(&shelf->lock);
}

struct tocsin_key_client shelf_client(struct shelf *shelf)
{
    return (struct tocsin_key_client){.expire = shelf_expire,
                                      .scan = shelf_scan,
                                      .holds = shelf_holds,
                                      .ttl = shelf_ttl,
                                      .close = shelf_close,
                                      .self = shelf};
}

enum tocsin_status shelf_create(void *arg, const char *where, struct tocsin_key_client *ret_client,
                                struct tocsin_why *ret_why)
{
    if (where != NULL && strcmp(where, "nowhere") == 0) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "there is no shelf at nowhere");
        return TOCSIN_INVALID;
    }
    *ret_client = shelf_client(arg);
    return TOCSIN_OK;
}

/* ---- a program with an engine */

static void told(void *arg, const char *id, enum tocsin_renewal_status status, const char *why)
{
    struct shelf *shelf = arg;
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->told++;
    shelf->told_status = status;
    (void)snprintf(shelf->told_id, sizeof shelf->told_id, "%s", id);
    (void)snprintf(shelf->told_why, sizeof shelf->told_why, "%s", why);
    (void)pthread_cond_broadcast(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
}

void program_prepare(struct program *program)
{
    struct tocsin_why why = {""};
    assert_int_equal(tocsin_renewals_create(
                         &(struct tocsin_renewals_options){
                             .scheduled = true, .told = told, .arg = &program->shelf},
                         &program->renewals, &why),
                     TOCSIN_OK);
    struct tocsin_key_client client = shelf_client(&program->shelf);
    assert_int_equal(tocsin_renewals_add_client(program->renewals, "shelf", &client), TOCSIN_OK);
}

void program_begin(struct program *program, const char *dir)
{
    struct tocsin_why why = {""};
    enum tocsin_status status = tocsin_engine_open(
        &(struct tocsin_engine_options){.dir = dir, .renewals = program->renewals},
        &program->engine, &why);
    if (status != TOCSIN_OK)
        fail_msg("%s", why.text);
}

void program_start(struct program *program)
{
    shelf_init(&program->shelf);
    program_prepare(program);
    program_begin(program, NULL);
}

void program_add(struct program *program, const struct tocsin_renewal *renewal)
{
    struct tocsin_why why = {""};
    if (tocsin_renewal_add(program->renewals, renewal, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

struct tocsin_renewal_metrics program_describe(struct program *program, const char *id)
{
    struct tocsin_renewal_metrics metrics;
    assert_int_equal(tocsin_renewal_describe(program->renewals, id, &metrics), TOCSIN_OK);
    return metrics;
}

void program_await(struct program *program, const char *id, enum tocsin_renewal_status wanted)
{
    struct timespec pause = {.tv_nsec = 2000000};
    for (int i = 0; i < WAIT_S * 500; i++) {
        if (program_describe(program, id).status == wanted)
            return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("%s is %s", id, tocsin_renewal_status_name(program_describe(program, id).status));
}

enum tocsin_status shelf_work(void *arg, const struct tocsin_run *run)
{
    struct shelf *shelf = arg;
    (void)run;
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->worked++;
    (void)pthread_cond_broadcast(&shelf->changed);
    (void)pthread_mutex_unlock(&shelf->lock);
    return TOCSIN_OK;
}
