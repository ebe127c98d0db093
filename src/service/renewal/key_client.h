/* SPDX-License-Identifier: MIT */
/* key_client.h - who can keep these keys alive, and what became of each?
 *
 * The port through which the renewal service reaches a key store. It gives jobs and goes on; a
 * client does them wherever it likes and hands each back, on the service's thread, through its
 * done. Jobs that are given in one go and then flushed leave together.
 *
 * Promise   of a client: every job comes back once; each key has a result of its own, and it is
 *           the truth (UNKNOWN when nobody can know). A key is never given a TTL of 0, and one
 *           whose value is not the owner's is never touched.
 * To add    one for another key store: key_provider.h, and docs/renewals.md.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_KEY_CLIENT_H
#define TOCSIN_SERVICE_RENEWAL_KEY_CLIENT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum key_result {
    KEY_NO_RESULT,
    KEY_RENEWED,    /* it lives for the TTL from now on */
    KEY_LONGER,     /* it lives longer than that, and was left as it is */
    KEY_PERSISTENT, /* it lives for ever, and was left as it is */
    KEY_MISSING,    /* there is no such key */
    KEY_FOREIGN,    /* its value is not the owner's */
    KEY_REFUSED,    /* the server said no; nothing was done */
    KEY_FAILED,     /* the server was not reached; nothing was done */
    KEY_UNKNOWN,    /* it may have been done */
    KEY_RESULTS
};
extern const char *const key_result_names[KEY_RESULTS];

/* It is alive, and will be when the next round comes. */
static inline bool key_result_good(enum key_result result)
{
    return result == KEY_RENEWED || result == KEY_LONGER || result == KEY_PERSISTENT;
}

enum key_verb {
    KEY_EXPIRE, /* each item gets the TTL, as the policy has it */
    KEY_SCAN,   /* keys that match the pattern, a page of them */
    KEY_TEST,   /* whether the first item is there, or has this value */
    KEY_TTL,    /* how long each item lives: ms, -1 for ever, -2 missing */
};

struct key_item {
    struct bytes key;
    enum key_result result;
    int64_t ttl_ms; /* TTL */
};

struct key_job {
    enum key_verb verb;
    struct key_item *items;
    uint32_t count;
    int64_t ttl_ms;       /* EXPIRE: at least 1 */
    bool may_shorten;     /* EXPIRE: also a key that lives longer */
    bool may_limit;       /* EXPIRE: also a key that lives for ever */
    struct bytes value;   /* EXPIRE: the owner's; TEST: what it must be. at NULL: any */
    bool holds;           /* TEST */
    struct bytes pattern; /* SCAN */
    uint64_t cursor;      /* SCAN: 0 at first; then where to go on, and 0 at the end */
    uint32_t page;        /* SCAN: about so many at once */
    struct buffer found;  /* SCAN: each key after its size, a uint32_t; initialised by the caller */
    enum key_result whole; /* SCAN, TEST: RENEWED stands for done, else REFUSED, FAILED, UNKNOWN */
    char why[160];         /* of the first key that was refused, failed or is unknown */
    void (*done)(struct key_job *job);
    void *arg;
    struct key_job *next; /* the client's */
    uint32_t left;        /* the client's */
};

/* A structure of functions. */
struct key_client {
    void (*give)(void *self, struct key_job *job);
    void (*flush)(void *self);
    /* Whether it is reached now. */
    bool (*reached)(void *self);
    /* Whatever is under way ends within wait_ms; all jobs have come back when it returns. */
    void (*close)(void *self, uint32_t wait_ms);
    void *self;
};

/* Jobs in the order in which they came. */
struct key_jobs {
    struct key_job *first;
    struct key_job **end;
};
void key_jobs_init(struct key_jobs *jobs);
void key_jobs_push(struct key_jobs *jobs, struct key_job *job);
/* All of them, by `next`; none is left. */
struct key_job *key_jobs_take(struct key_jobs *jobs);
/* It and each of its keys have come to this; `done` is not called. */
void key_job_fail(struct key_job *job, enum key_result result, const char *why);

/* A scan has found this one. When there is no room for it, the buffer says so at the end. */
void key_found(struct key_job *job, struct bytes key);
/* A key of a page that a scan has found. False: there are no more. */
struct key_walk {
    const char *at;
    const char *end;
};
bool key_walk_next(struct key_walk *walk, struct bytes *ret_key);

#endif
