/* SPDX-License-Identifier: MIT */
/* renewal.h - keep keys alive from inside your own program, and know when they are lost.
 *
 * What the server does (docs/renewals.md), with strategies, generators and key stores of your
 * own: structures of functions, registered by name, since a renewal is stored and code is not.
 *
 *     tocsin_renewals_create(NULL, &renewals, &why);
 *     tocsin_renewals_add_strategy(renewals, &(struct tocsin_strategy){
 *         .name = "office-hours", .ttl_ms = office_hours});
 *     tocsin_redis_add(renewals, &why);                         (redis.h)
 *     tocsin_renewals_reach(renewals, "default", NULL, "redis://127.0.0.1:6379", &why);
 *     tocsin_engine_open(&(struct tocsin_engine_options){
 *         .dir = "data", .renewals = renewals}, &engine, &why);
 *     tocsin_renewal_add(renewals, &(struct tocsin_renewal){
 *         .id = "locks", .prefix = "lock:", .strategy = "office-hours", .ttl_ms = 60000}, &why);
 *
 * Promise   OK from add, pause, resume and cancel means it is on the disk. The first round is
 *           at once, then one every so often; kill the program and start it again, and it goes on.
 *           After pause and cancel have answered, no call of this renewal reaches the key store.
 *           One round at a time; a failure never stops the rhythm, too many in a row end it, and
 *           that is told.
 * Begins    when the engine is opened: tocsin_engine_start is for tasks.
 * Ends      tocsin_engine_close waits for rounds under way; what is sent to a Redis is given up after
 *           10 s, a function of yours that is running is waited for.
 * Why       ret_why must not be NULL, and says something only when the call did not end with OK.
 * Threads   until tocsin_engine_open one thread; then any thread may call anything below that
 *           takes an id or a store; calls wait. Not from a function of a strategy, a generator, a
 *           client, or told.
 */
#ifndef TOCSIN_RENEWAL_H
#define TOCSIN_RENEWAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/keys.h>
#include <tocsin/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tocsin_renewals;

/* ---- functions of yours */

/* What has been, for whoever decides what will be. */
struct tocsin_renewal_context {
    const char *id;
    uint64_t count;  /* rounds that have succeeded */
    int64_t last_ms; /* since 1970; 0: none yet */
    int64_t now_ms;
};

/* How long the keys live, and whether there is more to renew. */
struct tocsin_strategy {
    const char *name; /* not copied, as everything below */
    /* At least 1; 0: nothing more, and the renewal is COMPLETED. Called by the thread that keeps
     * the time, for each batch of keys: it must not wait. NULL: always the ttl_ms of the renewal. */
    int64_t (*ttl_ms)(void *arg, const struct tocsin_renewal_context *context);
    /* False: COMPLETED. Called before each round by a thread that may wait. NULL: always true. */
    bool (*goes_on)(void *arg, const struct tocsin_renewal_context *context);
    void *arg;
};

/* Which keys, anew for each round. Called by a thread that may wait. When found answers false
 * there are too many: return. Anything but OK: the round has failed, and ret_why says why. */
struct tocsin_generator {
    const char *name;
    enum tocsin_status (*keys)(void *arg, const struct tocsin_renewal_context *context,
                               tocsin_key_found found, void *found_arg, struct tocsin_why *ret_why);
    void *arg;
};

/* ---- set up, before tocsin_engine_open */

enum tocsin_renewal_status {
    TOCSIN_RENEWAL_ACTIVE = 1,
    TOCSIN_RENEWAL_PAUSED,
    TOCSIN_RENEWAL_COMPLETED,
    TOCSIN_RENEWAL_FAILED,
    TOCSIN_RENEWAL_CANCELLED,
    TOCSIN_RENEWAL_LOST
};
/* "ACTIVE"; never NULL. */
const char *tocsin_renewal_status_name(enum tocsin_renewal_status status);

/* All zero: as the server has it. */
struct tocsin_renewals_options {
    bool scheduled;           /* an ordered queue, to the millisecond, instead of a timing wheel */
    uint32_t tick_ms;         /* of the wheel; 0: 100 */
    uint32_t ticks_per_wheel; /* 0: 512 */
    /* It has FAILED or is LOST; ACTIVE: it does not reach all its keys, or its round does not end,
     * told once until it is well again. On the thread that keeps
     * the time: it must not wait. */
    void (*told)(void *arg, const char *id, enum tocsin_renewal_status status, const char *why);
    void *arg;
};

/* options may be NULL. Given to an engine it is the engine's, also when that cannot be opened;
 * otherwise tocsin_renewals_destroy. */
enum tocsin_status tocsin_renewals_create(const struct tocsin_renewals_options *options,
                                          struct tocsin_renewals **ret_renewals,
                                          struct tocsin_why *ret_why);
void tocsin_renewals_destroy(struct tocsin_renewals *renewals);

/* Each: INVALID: a function or the name is missing; CONFLICT: the name is taken; FULL: 32 of them
 * at most; BUSY: the engine is open. */
enum tocsin_status tocsin_renewals_add_strategy(struct tocsin_renewals *renewals,
                                                const struct tocsin_strategy *strategy);
enum tocsin_status tocsin_renewals_add_generator(struct tocsin_renewals *renewals,
                                                 const struct tocsin_generator *generator);
/* `mock` is always there, after yours: it has every key that is named. */
enum tocsin_status tocsin_renewals_add_provider(struct tocsin_renewals *renewals,
                                                const struct tocsin_key_provider *provider);
/* A store under this name, which renewals use: a client of the provider (NULL: of the first), made
 * when the engine is opened. `where` is for the provider; may be NULL. Both are copied. NONE:
 * there is no such provider. */
enum tocsin_status tocsin_renewals_reach(struct tocsin_renewals *renewals, const char *store,
                                         const char *provider, const char *where,
                                         struct tocsin_why *ret_why);
/* The same with a client that is there already. */
enum tocsin_status tocsin_renewals_add_client(struct tocsin_renewals *renewals, const char *store,
                                              const struct tocsin_key_client *client);

/* ---- renewals, while the engine is open */

struct tocsin_renewal_step {
    int64_t ttl_ms;
    uint64_t count; /* of rounds; 0: all that follow */
};

/* All zero but id, some keys and a TTL: renewed at once and every third of the TTL. */
struct tocsin_renewal {
    const char *id;   /* at most 64 bytes */
    const char *name; /* for people; NULL: none */

    /* Which keys: all of these together, each key once. NULL: not given. */
    const char *const *keys;
    size_t key_count;
    const char *prefix;
    const char *pattern;
    const char *generator; /* its name */

    /* How long: a strategy of yours, or steps, or until, or always ttl_ms. */
    int64_t ttl_ms;       /* 0: 5 minutes. The usual one, if there is a strategy of yours */
    const char *strategy; /* its name */
    const struct tocsin_renewal_step *steps;
    size_t step_count;
    int64_t until_ms; /* since 1970; no TTL goes beyond */

    int64_t every_ms; /* below every TTL; 0: a third of it */
    bool no_retries;
    uint32_t max_retries; /* beats in a row that may fail; 0: 3 */
    const char *store;    /* NULL: "default" */
    const char *owner;    /* the value that the keys must have; NULL: any */
    bool may_shorten;
    bool may_limit;
};

/* CONFLICT: there is one of this id that has not ended. INVALID: ret_why names the field. */
enum tocsin_status tocsin_renewal_add(struct tocsin_renewals *renewals,
                                      const struct tocsin_renewal *renewal,
                                      struct tocsin_why *ret_why);
/* NONE: there is none. CONFLICT: it has ended. */
enum tocsin_status tocsin_renewal_cancel(struct tocsin_renewals *renewals, const char *id);
enum tocsin_status tocsin_renewal_pause(struct tocsin_renewals *renewals, const char *id);
enum tocsin_status tocsin_renewal_resume(struct tocsin_renewals *renewals, const char *id);
/* One round now, beside the rhythm; waits until it is over. */
enum tocsin_status tocsin_renewal_renew(struct tocsin_renewals *renewals, const char *id);

struct tocsin_renewal_metrics {
    enum tocsin_renewal_status status;
    uint64_t total;         /* rounds */
    uint64_t success;       /* keys that lived after a round */
    uint64_t failure;       /* keys that did not */
    uint64_t task_failures; /* rounds in which no key was renewed */
    uint64_t skipped;       /* beats that found a round under way */
    int64_t last_ms;        /* since 1970; 0: none yet */
    int64_t created_ms;
    char why[160]; /* of the last trouble; empty: none */
};
/* NONE: there is none. One that has ended can be asked for an hour. */
enum tocsin_status tocsin_renewal_describe(struct tocsin_renewals *renewals, const char *id,
                                           struct tocsin_renewal_metrics *ret_metrics);

/* Those that have not ended, as they were when it was called; until fn answers false. */
typedef bool (*tocsin_renewal_each)(void *arg, const char *id,
                                    const struct tocsin_renewal_metrics *metrics);
enum tocsin_status tocsin_renewals_each(struct tocsin_renewals *renewals, tocsin_renewal_each fn,
                                        void *arg);

/* ---- keys, by hand: what a store's client does, from any thread
 *
 * NONE: there is no such store. INVALID, UNAVAILABLE, UNKNOWN as the client answered. OK of those
 * with several keys: each has its result. */

enum tocsin_status tocsin_keys_expire(struct tocsin_renewals *renewals, const char *store,
                                      const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                                      size_t count, struct tocsin_why *ret_why);
/* Returns at once; done is called once, by another thread, and must not wait. What it is given
 * stays the caller's until then. */
typedef void (*tocsin_keys_done)(void *arg, enum tocsin_status status, struct tocsin_key *keys,
                                 size_t count, const struct tocsin_why *why);
enum tocsin_status tocsin_keys_expire_async(struct tocsin_renewals *renewals, const char *store,
                                            const struct tocsin_expiry *expiry,
                                            struct tocsin_key *keys, size_t count,
                                            tocsin_keys_done done, void *arg);
enum tocsin_status tocsin_keys_ttl(struct tocsin_renewals *renewals, const char *store,
                                   struct tocsin_key *keys, size_t count,
                                   struct tocsin_why *ret_why);
enum tocsin_status tocsin_keys_holds(struct tocsin_renewals *renewals, const char *store,
                                     const char *key, size_t key_size, const char *value,
                                     size_t value_size, bool *ret_holds,
                                     struct tocsin_why *ret_why);
/* All pages. found is called by the caller's thread. */
enum tocsin_status tocsin_keys_scan(struct tocsin_renewals *renewals, const char *store,
                                    const char *pattern, tocsin_key_found found, void *arg,
                                    struct tocsin_why *ret_why);

#ifdef __cplusplus
}
#endif

#endif
