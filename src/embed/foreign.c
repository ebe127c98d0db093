/* SPDX-License-Identifier: MIT */
/* Key stores of the program's own: jobs become calls of its functions, each store on a thread. */

#include <stdio.h>
#include <stdlib.h>

#include "embed/renewals.h"

enum { KEYS_AT_ONCE = 256, PATTERN_BYTES_MAX = 2 * RENEWAL_KEY_BYTES_MAX + 1 };

/* The results are the same ones under two names. */
_Static_assert((int)TOCSIN_KEY_RENEWED == (int)KEY_RENEWED, "results");
_Static_assert((int)TOCSIN_KEY_FOREIGN == (int)KEY_FOREIGN, "results");
_Static_assert((int)TOCSIN_KEY_UNKNOWN == (int)KEY_UNKNOWN, "results");
_Static_assert((int)TOCSIN_KEY_UNKNOWN + 1 == (int)KEY_RESULTS, "results");

const char *tocsin_key_result_name(enum tocsin_key_result result)
{
    return (unsigned)result < KEY_RESULTS ? key_result_names[result] : "no result";
}

struct foreign_store {
    struct tocsin_key_client client;
    struct key_thread *thread;
    struct foreign_store *next;
};

struct foreign {
    struct tocsin_key_provider provider;
    struct tocsin_renewals *renewals;
    struct foreign_store *stores;
};

/* ---- on the thread of a store */

static void note(struct key_job *job, const char *why)
{
    if (job->why[0] == '\0')
        (void)snprintf(job->why, sizeof job->why, "%.*s", (int)sizeof job->why - 1, why);
}

/* What a client said of a key; a client that says nothing, or nonsense, has told us nothing. */
static enum key_result result_of(struct key_job *job, enum tocsin_key_result said)
{
    if (said > TOCSIN_KEY_NO_RESULT && said <= TOCSIN_KEY_UNKNOWN)
        return (enum key_result)said;
    note(job, "the client gave no result");
    return KEY_UNKNOWN;
}

static enum key_result result_of_status(enum tocsin_status status)
{
    switch (status) {
    case TOCSIN_OK:
        return KEY_RENEWED;
    case TOCSIN_INVALID:
        return KEY_REFUSED;
    case TOCSIN_UNKNOWN:
        return KEY_UNKNOWN;
    default:
        return KEY_FAILED;
    }
}

static void end_whole(struct key_job *job, enum tocsin_status status, const struct tocsin_why *why)
{
    job->whole = result_of_status(status);
    if (status != TOCSIN_OK)
        note(job, why->text[0] != '\0' ? why->text : tocsin_status_text(status));
}

/* A few of the keys: EXPIRE or TTL. */
static void do_some(const struct tocsin_key_client *client, struct key_job *job, uint32_t from,
                    uint32_t count)
{
    struct tocsin_key keys[KEYS_AT_ONCE];
    struct tocsin_why why = {""};
    struct tocsin_expiry expiry = {.ttl_ms = job->ttl_ms,
                                   .may_shorten = job->may_shorten,
                                   .may_limit = job->may_limit,
                                   .owner = job->value.at,
                                   .owner_size = job->value.size};
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (struct tocsin_key){.at = job->items[from + i].key.at,
                                      .size = job->items[from + i].key.size};
    if (job->verb == KEY_EXPIRE)
        client->expire(client->self, &expiry, keys, count, &why);
    else
        client->ttl(client->self, keys, count, &why);
    if (why.text[0] != '\0')
        note(job, why.text);
    for (uint32_t i = 0; i < count; i++) {
        struct key_item *item = &job->items[from + i];
        item->ttl_ms = keys[i].ttl_ms;
        item->result = job->verb == KEY_EXPIRE ? result_of(job, keys[i].result)
                                               : (enum key_result)keys[i].result;
    }
}

static void do_keys(const struct tocsin_key_client *client, struct key_job *job)
{
    if (job->verb == KEY_TTL && client->ttl == NULL) {
        key_job_fail(job, KEY_REFUSED, "this key store cannot tell how long a key lives");
        return;
    }
    for (uint32_t i = 0; i < job->count; i += KEYS_AT_ONCE)
        do_some(client, job, i, job->count - i < KEYS_AT_ONCE ? job->count - i : KEYS_AT_ONCE);
}

static bool found(void *arg, const char *key, size_t size)
{
    struct key_job *job = arg;
    if (size > 0 && size <= RENEWAL_KEY_BYTES_MAX)
        key_found(job, (struct bytes){key, size});
    else
        note(job, "a key that is empty or longer than 4096 bytes was left out");
    return buffer_status(&job->found) == TOCSIN_OK;
}

static void do_scan(const struct tocsin_key_client *client, struct key_job *job)
{
    char pattern[PATTERN_BYTES_MAX + 1];
    struct tocsin_why why = {""};
    if (client->scan == NULL || job->pattern.size > PATTERN_BYTES_MAX) {
        key_job_fail(job, KEY_REFUSED, "this key store cannot be searched");
        return;
    }
    memcpy(pattern, job->pattern.at, job->pattern.size);
    pattern[job->pattern.size] = '\0';
    end_whole(job, client->scan(client->self, pattern, job->page, &job->cursor, found, job, &why),
              &why);
}

static void do_test(const struct tocsin_key_client *client, struct key_job *job)
{
    struct tocsin_key key = {.at = job->items[0].key.at, .size = job->items[0].key.size};
    struct tocsin_why why = {""};
    if (client->holds == NULL) {
        key_job_fail(job, KEY_REFUSED, "this key store cannot tell whether a key is there");
        return;
    }
    end_whole(job,
              client->holds(client->self, &key, job->value.at, job->value.size, &job->holds, &why),
              &why);
}

static void work(void *self, struct key_job *job)
{
    const struct foreign_store *store = self;
    job->why[0] = '\0';
    if (job->verb == KEY_SCAN)
        do_scan(&store->client, job);
    else if (job->verb == KEY_TEST)
        do_test(&store->client, job);
    else
        do_keys(&store->client, job);
}

static void close_store(void *self)
{
    const struct foreign_store *store = self;
    if (store->client.close != NULL)
        store->client.close(store->client.self);
}

/* ---- the provider, on the engine's thread */

static enum tocsin_status make_client(struct foreign *foreign, const char *where,
                                      struct tocsin_key_client *ret_client,
                                      struct tocsin_why *ret_why)
{
    ret_why->text[0] = '\0';
    enum tocsin_status status =
        foreign->provider.create(foreign->provider.arg, where, ret_client, ret_why);
    if (status == TOCSIN_OK && ret_client->expire == NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "its client has no function expire");
        status = TOCSIN_INVALID;
    }
    if (status != TOCSIN_OK && ret_why->text[0] == '\0')
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", tocsin_status_text(status));
    return status;
}

static enum tocsin_status open(void *self, const char *store, const char *where,
                               struct key_client *ret_client, struct tocsin_why *ret_why)
{
    struct foreign *foreign = self;
    struct foreign_store *made = calloc(1, sizeof *made);
    (void)store;
    if (made == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = make_client(foreign, where, &made->client, ret_why);
    if (status != TOCSIN_OK) {
        free(made);
        return status;
    }
    status = key_thread_create(&(struct key_thread_options){.work = work,
                                                            .close = close_store,
                                                            .self = made,
                                                            .post = embed_renewals_post,
                                                            .arg = foreign->renewals},
                               &made->thread);
    if (status != TOCSIN_OK) {
        close_store(made);
        free(made);
        return status;
    }
    made->next = foreign->stores;
    foreign->stores = made;
    *ret_client = key_thread_client(made->thread);
    return TOCSIN_OK;
}

static bool take(void *self)
{
    const struct foreign *foreign = self;
    for (struct foreign_store *it = foreign->stores; it != NULL; it = it->next)
        key_thread_take(it->thread);
    return false;
}

static void stop(void *self, uint32_t wait_ms)
{
    const struct foreign *foreign = self;
    (void)wait_ms; /* a function that runs is waited for */
    for (struct foreign_store *it = foreign->stores; it != NULL; it = it->next)
        key_thread_stop(it->thread);
}

static void join(void *self)
{
    const struct foreign *foreign = self;
    for (struct foreign_store *it = foreign->stores; it != NULL; it = it->next)
        key_thread_join(it->thread);
}

static void destroy(void *self)
{
    struct foreign *foreign = self;
    while (foreign->stores != NULL) {
        struct foreign_store *it = foreign->stores;
        foreign->stores = it->next;
        key_thread_destroy(it->thread);
        free(it);
    }
    free(foreign);
}

enum tocsin_status foreign_create(const struct tocsin_key_provider *provider,
                                  struct tocsin_renewals *renewals,
                                  struct key_provider *ret_provider)
{
    struct foreign *foreign = calloc(1, sizeof *foreign);
    if (foreign == NULL)
        return TOCSIN_NO_MEMORY;
    foreign->provider = *provider;
    foreign->renewals = renewals;
    *ret_provider = (struct key_provider){.name = provider->name,
                                          .open = open,
                                          .take = take,
                                          .stop = stop,
                                          .join = join,
                                          .destroy = destroy,
                                          .self = foreign};
    return TOCSIN_OK;
}
