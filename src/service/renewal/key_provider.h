/* SPDX-License-Identifier: MIT */
/* key_provider.h - who makes clients of key stores?
 *
 * A provider has a name and makes clients of one sort: `redis` (service/redis_keys), `mock`, or
 * what a program brings along (src/embed). They are asked by name, or the first of them.
 *
 * To add    one, fill a struct key_provider and hand it to key_providers_add: docs/renewals.md.
 * Threads   the service's, but for what a provider has inside.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_KEY_PROVIDER_H
#define TOCSIN_SERVICE_RENEWAL_KEY_PROVIDER_H

#include <tocsin/status.h>

#include "service/renewal/key_client.h"

/* A structure of functions; all but open may be NULL. */
struct key_provider {
    const char *name;
    /* A client for the store of this name. where: as the provider reads it; NULL: its default.
     * The texts are not copied. INVALID and why, NO_MEMORY. */
    enum tocsin_status (*open)(void *self, const char *store, const char *where,
                               struct key_client *ret_client, struct tocsin_why *ret_why);
    /* Jobs that are done get their done called here, so many at once; true: there are more. */
    bool (*take)(void *self);
    /* From now on jobs fail. Returns at once: what is under way ends within wait_ms. Again:
     * nothing. */
    void (*stop)(void *self, uint32_t wait_ms);
    /* After stop: waits for that; then all jobs can be taken. */
    void (*join)(void *self);
    /* After join and a last take. */
    void (*destroy)(void *self);
    void *self;
};

enum { KEY_PROVIDERS_MAX = 34, KEY_STORES_MAX = 32 };

/* All zero at first. */
struct key_providers {
    struct key_provider items[KEY_PROVIDERS_MAX];
    size_t count;
    struct key_client clients[KEY_STORES_MAX];
    size_t client_count;
};

/* FULL, CONFLICT: there is one of this name. Not taken then. */
enum tocsin_status key_providers_add(struct key_providers *providers,
                                     const struct key_provider *provider);
/* By its name; NULL: the first. NULL: there is none. */
const struct key_provider *key_providers_find(const struct key_providers *providers,
                                              const char *name);
/* A client that lives as long as the providers. NONE: no such provider; FULL. */
enum tocsin_status key_providers_open(struct key_providers *providers, const char *provider,
                                      const char *store, const char *where,
                                      const struct key_client **ret_client,
                                      struct tocsin_why *ret_why);

/* Of all of them. */
bool key_providers_take(struct key_providers *providers);
void key_providers_stop(struct key_providers *providers, uint32_t wait_ms);
void key_providers_join(struct key_providers *providers);
void key_providers_destroy(struct key_providers *providers);

#endif
