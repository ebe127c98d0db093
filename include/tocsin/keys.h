/* SPDX-License-Identifier: MIT */
/* keys.h - keys that live for a time, in a store of yours: how are they reached?
 *
 * A renewal (renewal.h) keeps keys alive wherever they are. Redis is known (redis.h), `mock` is
 * for tests; for anything else fill a tocsin_key_client with functions of your own. They may
 * wait: each client has a thread of its own, and nobody waits for it but its own renewals. So
 * every call is asynchronous to the one who keeps the time.
 *
 * A provider makes clients by a name and a text that says where ("redis://10.0.0.8:6379/2").
 *
 * Promise   that a client gives: each key has a result of its own, and it is the truth (UNKNOWN
 *           when nobody can know). A key that lives longer, or for ever, is left alone unless the
 *           expiry says otherwise, and so is one whose value is not the owner's.
 * Threads   the functions of one client are called one after another, by one thread.
 */
#ifndef TOCSIN_KEYS_H
#define TOCSIN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a key. */
enum tocsin_key_result {
    TOCSIN_KEY_NO_RESULT,
    TOCSIN_KEY_RENEWED,    /* it lives for the TTL from now on */
    TOCSIN_KEY_LONGER,     /* it lives longer than that, and was left as it is */
    TOCSIN_KEY_PERSISTENT, /* it lives for ever, and was left as it is */
    TOCSIN_KEY_MISSING,    /* there is no such key */
    TOCSIN_KEY_FOREIGN,    /* its value is not the owner's */
    TOCSIN_KEY_REFUSED,    /* the store said no; nothing was done */
    TOCSIN_KEY_FAILED,     /* the store was not reached; nothing was done */
    TOCSIN_KEY_UNKNOWN     /* it may have been done */
};
/* "renewed"; never NULL. */
const char *tocsin_key_result_name(enum tocsin_key_result result);

/* Bytes of any value, not ended by a zero. */
struct tocsin_key {
    const char *at;
    size_t size;
    enum tocsin_key_result result;
    int64_t ttl_ms; /* answered by ttl: -1 for ever, -2 missing */
};

struct tocsin_expiry {
    int64_t ttl_ms;    /* at least 1 */
    bool may_shorten;  /* also a key that lives longer */
    bool may_limit;    /* also a key that lives for ever */
    const char *owner; /* its value must be this; NULL: any */
    size_t owner_size;
};

/* Somebody takes the keys that were found. False: no more of them, please. */
typedef bool (*tocsin_key_found)(void *arg, const char *key, size_t size);

/* A key store: a structure of functions. All but expire may be NULL: then nothing can be searched,
 * or tested, or asked, and there is nothing to close. ret_why is empty before the call. */
struct tocsin_key_client {
    /* Each key gets its result. */
    void (*expire)(void *self, const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                   size_t count, struct tocsin_why *ret_why);
    /* About so many of the keys that match a glob (? * [a-z] \x), as SCAN does it: the cursor is 0
     * at first and says where to go on, 0 at the end. A key may come twice. The pattern ends
     * with a zero. OK; INVALID: refused; UNAVAILABLE: not reached. */
    enum tocsin_status (*scan)(void *self, const char *pattern, uint32_t page, uint64_t *cursor,
                               tocsin_key_found found, void *arg, struct tocsin_why *ret_why);
    /* Whether it is there (value NULL), or has this value. Status as above. */
    enum tocsin_status (*holds)(void *self, const struct tocsin_key *key, const char *value,
                                size_t value_size, bool *ret_holds, struct tocsin_why *ret_why);
    /* How long each of them lives. A key's result is set where that could not be learned. */
    void (*ttl)(void *self, struct tocsin_key *keys, size_t count, struct tocsin_why *ret_why);
    void (*close)(void *self);
    void *self;
};

struct tocsin_key_provider {
    const char *name; /* not copied */
    enum tocsin_status (*create)(void *arg, const char *where, struct tocsin_key_client *ret_client,
                                 struct tocsin_why *ret_why);
    void *arg;
};

#ifdef __cplusplus
}
#endif

#endif
