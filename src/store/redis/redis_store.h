/* SPDX-License-Identifier: MIT */
/* redis_store.h - how do several nodes have one store, in Redis?
 *
 * The store of store.h in a Redis server, for nodes of which one at a time is the owner. All names
 * begin with STORE_REDIS_PREFIX; besides there are the mirrors of a batch, under their own names.
 *
 * Promise   as in store.h; durable is what Redis calls so (store_redis_durability). A commit is one
 *           script: all of it or nothing, and nothing when another node has taken over since, or
 *           when Redis has not the commit before it. One whose answer was lost is sent again, with
 *           its number, so that it is done once.
 * Answers   of a commit, besides those of store.h: UNAVAILABLE when Redis refused it before anything
 *           was done, or could not be reached for outage_ms and not a byte was sent; NO_SPACE when
 *           Redis is at its maxmemory, and urgent ones are still done; IO, for good, when another
 *           node is the owner, the records or commits are gone, or an answer did not come.
 * Cost      a commit is a round trip and, in Redis, a few microseconds a record.
 * Memory    a commit is copied once.
 * Bounds    a commit of 256 MiB; revs below 2^53. Reading is in pages of about 1 MiB.
 * Threads   as in store.h: the writer and the reader have a connection each, and block on it, the
 *           writer for outage_ms at most.
 */
#ifndef TOCSIN_STORE_REDIS_REDIS_STORE_H
#define TOCSIN_STORE_REDIS_REDIS_STORE_H

#include "net/redis/redis_url.h"
#include "store/store.h"

#define STORE_REDIS_PREFIX "tocsin:{p0}:"

enum {
    STORE_REDIS_TIMEOUT_MS = 2000,
    STORE_REDIS_OUTAGE_MS = 5000,
    STORE_REDIS_EXPIRE_MS_MAX = INT32_MAX, /* of a mirror: longer ones are cut to it */
    STORE_REDIS_DURABILITY_BYTES = 120,
    STORE_REDIS_PROBES_MAX = 8,
};

/* A name that no mirror has, but might: whether this user may write such names is tried at open. */
struct store_redis_probe {
    const char *name;
    const char *pattern; /* as an ACL has it, for people */
};

struct store_redis_options {
    struct redis_url where;   /* copied, as all of them */
    const char *node;         /* who we are, for people; may be NULL */
    uint64_t event_bytes_max; /* older events are given up beyond this; 0: none are */
    uint64_t epoch_seen;      /* the highest this node has seen: below it, the records are gone */
    uint64_t commit_seen;     /* the last this node was answered: store_state.commits_lost */
    uint32_t timeout_ms;      /* of one command; 0: 2 000 */
    uint32_t outage_ms;       /* a commit that has no answer is tried again this long; 0: 5 000 */
    const struct store_redis_probe *probes; /* of the mirrors there will be; only used by open */
    size_t probe_count;                     /* at most STORE_REDIS_PROBES_MAX */
};

/* Takes over: raises the epoch, so that nothing of an owner before is committed any more.
 * INVALID: this Redis, or this user of it, cannot be a store, and ret_why says what to change;
 * UNAVAILABLE: not now; DAMAGED, also when the epoch is below epoch_seen: then nothing was changed,
 * so that every node that knows better finds the same. */
enum tocsin_status store_redis_open(const struct store_redis_options *options,
                                    struct store **ret_store, struct store_state *ret_state,
                                    struct tocsin_why *ret_why);

/* How many records there are, without taking over (a follower's ready line). */
enum tocsin_status store_redis_count(const struct store_redis_options *options,
                                     uint64_t *ret_records, struct tocsin_why *ret_why);

/* The number of the last commit that Redis has, and how many above it were answered and are lost, as
 * the last commit has found. Any thread. */
struct store_redis_commits {
    uint64_t last;
    uint64_t lost;
};
void store_redis_commits(const struct store *store, struct store_redis_commits *ret_commits);

/* What Redis does for the records when it or its machine fails, in words, as of open. Cut to the
 * size, STORE_REDIS_DURABILITY_BYTES is enough. Any thread. */
void store_redis_durability(const struct store *store, char *ret_text, size_t size);

#endif
