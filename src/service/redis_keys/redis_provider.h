/* SPDX-License-Identifier: MIT */
/* redis_provider.h - the provider `redis`: clients for Redis servers, on a few threads.
 *
 * A store is on one thread (redis_keys.h) for ever, the next store on the next, so that no more
 * threads are begun than there are stores.
 *
 * Threads   the service's.
 */
#ifndef TOCSIN_SERVICE_REDIS_PROVIDER_H
#define TOCSIN_SERVICE_REDIS_PROVIDER_H

#include "service/redis_keys/redis_keys.h"
#include "service/renewal/key_provider.h"

enum { REDIS_THREADS_MAX = KEY_STORES_MAX };

struct redis_provider_options {
    size_t threads;               /* at most; more than REDIS_THREADS_MAX are never needed */
    struct redis_server standard; /* for a store that nobody says the place of */
    uint32_t timeout_ms;          /* of a command */
    uint64_t seed;
    void (*post)(void *arg); /* from a thread of ours: there is something to take */
    /* What has become of a connection. May be NULL. */
    void (*told)(void *arg, const char *store, bool connected, const char *why);
    void *arg;
};

/* Where a store is: redis_url.h. */
enum tocsin_status redis_provider_create(const struct redis_provider_options *options,
                                         struct key_provider *ret_provider);

#endif
