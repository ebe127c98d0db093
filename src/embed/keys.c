/* SPDX-License-Identifier: MIT */
/* Keys by hand: a job for a store's client, from any thread of the program. */

#include <stdio.h>
#include <stdlib.h>

#include "embed/renewals.h"

enum { SCAN_PAGE = 1000, FOUND_BYTES_MAX = 64 * 1024 * 1024 };

struct keys_order {
    struct order order; /* first */
    struct tocsin_renewals *renewals;
    const struct key_client *client;
    struct key_job job;
    struct tocsin_key *keys;
    tocsin_keys_done done; /* NULL: somebody waits for the order */
    void *arg;
    struct key_item items[];
};

static struct keys_order *order_of(struct key_job *job)
{
    return (struct keys_order *)((char *)job - offsetof(struct keys_order, job));
}

static enum tocsin_status status_of(enum key_result whole)
{
    switch (whole) {
    case KEY_REFUSED:
        return TOCSIN_INVALID;
    case KEY_FAILED:
        return TOCSIN_UNAVAILABLE;
    case KEY_UNKNOWN:
        return TOCSIN_UNKNOWN;
    default:
        return TOCSIN_OK;
    }
}

static void take_results(struct keys_order *self)
{
    for (uint32_t i = 0; i < self->job.count && self->keys != NULL; i++) {
        enum key_result result = self->items[i].result;
        bool learned = self->job.verb == KEY_TTL && result < KEY_REFUSED;
        self->keys[i].result = learned ? TOCSIN_KEY_NO_RESULT : (enum tocsin_key_result)result;
        self->keys[i].ttl_ms = self->items[i].ttl_ms;
    }
}

/* On the engine's thread. */
static void job_done(struct key_job *job)
{
    struct keys_order *self = order_of(job);
    self->renewals->by_hand--;
    take_results(self);
    if (self->done == NULL) {
        embed_order_done(self->renewals->engine, &self->order);
        return;
    }
    struct tocsin_why why;
    (void)snprintf(why.text, sizeof why.text, "%s", job->why);
    self->done(self->arg, TOCSIN_OK, self->keys, job->count, &why);
    free(self);
}

static void give(struct tocsin_engine *engine, struct order *order)
{
    struct keys_order *self = (struct keys_order *)order;
    (void)engine;
    self->renewals->by_hand++;
    self->client->give(self->client->self, &self->job);
    self->client->flush(self->client->self);
}

const struct key_client *embed_renewals_store(const struct tocsin_renewals *renewals,
                                              const char *store)
{
    for (size_t i = 0; renewals->engine != NULL && i < renewals->wish_count; i++) {
        if (strcmp(renewals->wishes[i].store, store == NULL ? RENEWAL_REDIS_DEFAULT : store) == 0)
            return renewals->wishes[i].opened;
    }
    return NULL;
}

/* The keys stay the caller's. NONE: no such store. */
static enum tocsin_status order_create(struct tocsin_renewals *renewals, const char *store,
                                       enum key_verb verb, struct tocsin_key *keys, size_t count,
                                       struct keys_order **ret_order)
{
    const struct key_client *client = embed_renewals_store(renewals, store);
    if (client == NULL)
        return TOCSIN_NONE;
    if (count > UINT32_MAX)
        return TOCSIN_TOO_LARGE;
    struct keys_order *self = calloc(1, sizeof *self + count * sizeof self->items[0]);
    if (self == NULL)
        return TOCSIN_NO_MEMORY;
    self->order.run = give;
    self->renewals = renewals;
    self->client = client;
    self->keys = keys;
    self->job.verb = verb;
    self->job.items = self->items;
    self->job.count = (uint32_t)count;
    self->job.done = job_done;
    buffer_init(&self->job.found, FOUND_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        self->items[i].key = (struct bytes){keys[i].at, keys[i].size};
    *ret_order = self;
    return TOCSIN_OK;
}

static void wait_for(struct keys_order *self, struct tocsin_why *ret_why)
{
    embed_order(self->renewals->engine, &self->order);
    if (ret_why != NULL)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", self->job.why);
}

static enum tocsin_status expire_order(struct tocsin_renewals *renewals, const char *store,
                                       const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                                       size_t count, struct keys_order **ret_order)
{
    if (expiry->ttl_ms < 1) /* it would delete the key */
        return TOCSIN_INVALID;
    enum tocsin_status status = order_create(renewals, store, KEY_EXPIRE, keys, count, ret_order);
    if (status != TOCSIN_OK)
        return status;
    struct key_job *job = &(*ret_order)->job;
    job->ttl_ms = expiry->ttl_ms;
    job->may_shorten = expiry->may_shorten;
    job->may_limit = expiry->may_limit;
    job->value = (struct bytes){expiry->owner, expiry->owner_size};
    return TOCSIN_OK;
}

enum tocsin_status tocsin_keys_expire(struct tocsin_renewals *renewals, const char *store,
                                      const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                                      size_t count, struct tocsin_why *ret_why)
{
    struct keys_order *self;
    enum tocsin_status status = expire_order(renewals, store, expiry, keys, count, &self);
    if (status != TOCSIN_OK || count == 0) {
        if (status == TOCSIN_OK)
            free(self);
        return status;
    }
    wait_for(self, ret_why);
    free(self);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_keys_expire_async(struct tocsin_renewals *renewals, const char *store,
                                            const struct tocsin_expiry *expiry,
                                            struct tocsin_key *keys, size_t count,
                                            tocsin_keys_done done, void *arg)
{
    struct keys_order *self;
    if (count == 0)
        return TOCSIN_INVALID;
    enum tocsin_status status = expire_order(renewals, store, expiry, keys, count, &self);
    if (status != TOCSIN_OK)
        return status;
    self->done = done;
    self->arg = arg;
    embed_order_leave(renewals->engine, &self->order);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_keys_ttl(struct tocsin_renewals *renewals, const char *store,
                                   struct tocsin_key *keys, size_t count,
                                   struct tocsin_why *ret_why)
{
    struct keys_order *self;
    enum tocsin_status status = order_create(renewals, store, KEY_TTL, keys, count, &self);
    if (status != TOCSIN_OK)
        return status;
    if (count > 0)
        wait_for(self, ret_why);
    free(self);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_keys_holds(struct tocsin_renewals *renewals, const char *store,
                                     const char *key, size_t key_size, const char *value,
                                     size_t value_size, bool *ret_holds, struct tocsin_why *ret_why)
{
    struct keys_order *self;
    struct tocsin_key one = {.at = key, .size = key_size};
    enum tocsin_status status = order_create(renewals, store, KEY_TEST, &one, 1, &self);
    if (status != TOCSIN_OK)
        return status;
    self->job.value = (struct bytes){value, value_size};
    wait_for(self, ret_why);
    *ret_holds = self->job.holds;
    status = status_of(self->job.whole);
    free(self);
    return status;
}

static enum tocsin_status take_page(struct keys_order *self, tocsin_key_found found, void *arg)
{
    struct key_walk walk = {self->job.found.data, self->job.found.data + self->job.found.size};
    struct bytes key;
    enum tocsin_status status = status_of(self->job.whole);
    if (status == TOCSIN_OK)
        status = buffer_status(&self->job.found);
    while (status == TOCSIN_OK && key_walk_next(&walk, &key)) {
        if (!found(arg, key.at, key.size))
            status = TOCSIN_MORE;
    }
    return status;
}

enum tocsin_status tocsin_keys_scan(struct tocsin_renewals *renewals, const char *store,
                                    const char *pattern, tocsin_key_found found, void *arg,
                                    struct tocsin_why *ret_why)
{
    struct keys_order *self;
    enum tocsin_status status = order_create(renewals, store, KEY_SCAN, NULL, 0, &self);
    if (status != TOCSIN_OK)
        return status;
    self->job.pattern = bytes_of(pattern);
    self->job.page = SCAN_PAGE;
    do {
        self->order.done = false;
        buffer_clear(&self->job.found);
        wait_for(self, ret_why);
        status = take_page(self, found, arg);
    } while (status == TOCSIN_OK && self->job.cursor != 0);
    buffer_release(&self->job.found);
    free(self);
    return status == TOCSIN_MORE ? TOCSIN_OK : status;
}
