/* SPDX-License-Identifier: MIT */
/* redis_keys.h - the keys of our Redis servers, reached from a thread of its own.
 *
 * The provider `redis` of the renewal service (service/renewal/key_client.h): one thread with a
 * loop, on it a client (net/redis/redis.h) for each server it was told of. Jobs go over in the
 * order in which they were given; those that go over together leave as one pipeline for
 * each server. The thread of the service does no I/O, formats nothing and waits for nothing.
 *
 * A job      becomes commands, and their answers results, in redis_work.h.
 * Connected  with the first job, not before: a server without renewals has no Redis.
 * Threads    give, flush, take and stop from one thread, the service's.
 */
#ifndef TOCSIN_SERVICE_REDIS_KEYS_H
#define TOCSIN_SERVICE_REDIS_KEYS_H

#include "service/renewal/key_client.h"

#include <tocsin/status.h>

struct redis_keys;

struct redis_server {
    const char *name;
    const char *host;
    uint16_t port;
    const char *user;
    const char *password;
    unsigned database;
};

struct redis_keys_options {
    uint32_t timeout_ms; /* of a command */
    uint64_t seed;
    void (*post)(void *arg); /* from its thread: there is something to take */
    void *arg;
};

enum tocsin_status redis_keys_create(const struct redis_keys_options *options,
                                     struct redis_keys **ret_keys);
/* A server more for this thread; its texts are not copied. NO_MEMORY. */
enum tocsin_status redis_keys_add(struct redis_keys *keys, const struct redis_server *server,
                                  struct key_client *ret_client);

/* Jobs that are done get their done called here, so many that nobody else waits for long (law 7):
 * true when there are more, and nobody will post for them. And what has become of the connections
 * is told: connected, or why not. told may be NULL. */
bool redis_keys_take(struct redis_keys *keys,
                     void (*told)(void *arg, const char *name, bool connected, const char *why),
                     void *arg);

/* From now on jobs fail. Returns at once: what is under way is answered, or given up after wait_ms,
 * and can be taken as ever. Again: nothing. */
void redis_keys_stop(struct redis_keys *keys, uint32_t wait_ms);
/* After redis_keys_stop: waits for that; all jobs can be taken then. */
void redis_keys_join(struct redis_keys *keys);
/* After redis_keys_join and a last take. */
void redis_keys_destroy(struct redis_keys *keys);

#endif
