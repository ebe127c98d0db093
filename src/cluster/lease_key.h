/* SPDX-License-Identifier: MIT */
/* lease_key.h - what does Redis say of the lease, and does it give it to us?
 *
 * One key that whoever owns the records holds, as a text people can read:
 *
 *     tocsin:{p0}:owner   {"token":"1f…","node":"n1","address":"10.0.0.1:7400","epoch":7}
 *
 * The token is drawn when this is opened; two nodes of one name differ by it. Every wish is one
 * script call, which looks first: a key with another token is never changed and never deleted.
 *
 * Promise   `mine` is only true when Redis has written our token, to live for the lease from some
 *           moment after `before`.
 * Answers   OK; UNAVAILABLE: no answer, or one that says "not now" (a lost answer may have done
 *           what was wished: wish again); INVALID: Redis refuses us (password, rights, a key of
 *           another kind). ret_why says it in Redis's words, without the password.
 * Time      blocks for up to timeout_ms to connect, and again for an answer; a name that must be
 *           looked up takes as long as that takes.
 * Threads   one at a time.
 */
#ifndef TOCSIN_CLUSTER_LEASE_KEY_H
#define TOCSIN_CLUSTER_LEASE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/clock.h"
#include "net/redis/redis_url.h"

#define LEASE_KEY_NAME "tocsin:{p0}:owner"

enum { LEASE_NODE_BYTES = 65, LEASE_ADDRESS_BYTES = 300 };

/* LOOK changes nothing. TAKE: when nobody holds it, or we do. KEEP: only when we do. DROP likewise,
 * and then nobody does. */
enum lease_wish { LEASE_LOOK, LEASE_TAKE, LEASE_KEEP, LEASE_DROP };

struct lease_key_options {
    struct redis_url where;
    const char *node;    /* fits config's form of a name */
    const char *address; /* host:port, without blanks and quotes */
    uint32_t lease_ms;
    uint32_t timeout_ms;
    const struct clock *clock;
};

struct lease_answer {
    bool spoke; /* Redis has answered, be it with a refusal; the rest is said with OK only */
    bool mine;
    bool ours;    /* our token stands there, be it mine by now or not */
    bool held;    /* by somebody, then by whom */
    bool foreign; /* … and that is no lease: another form, or one that never ends */
    char node[LEASE_NODE_BYTES];
    char address[LEASE_ADDRESS_BYTES];
    uint64_t epoch;             /* 0: the owner has not said it yet */
    int64_t left_ms;            /* of whoever holds it; -1: it never ends */
    struct elapsed_time before; /* when the call was about to be sent */
    struct elapsed_time after;  /* when the answer was there */
    int64_t redis_us;           /* TIME of Redis between the two */
};

struct lease_key;

enum tocsin_status lease_key_open(const struct lease_key_options *options,
                                  struct lease_key **ret_key);
void lease_key_close(struct lease_key *key);

/* The epoch is written into the key by TAKE and KEEP. */
enum tocsin_status lease_key_ask(struct lease_key *key, enum lease_wish wish, uint64_t epoch,
                                 struct lease_answer *ret_answer, struct tocsin_why *ret_why);

#endif
