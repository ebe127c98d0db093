/* SPDX-License-Identifier: MIT */
/* owner.h - who owns the records, and until when is it us?
 *
 * Takes part in the race for the lease (lease_key.h), keeps it while it is ours, and gives it up;
 * on a thread of its own, so that nothing waits for Redis.
 *
 *     owner_create(&options, &owner, &why)     looks; does not take part yet
 *     owner_race(owner, 0)                     … now it does; owner_look says when it was won
 *     owner_holds(owner)                       before everything an owner does
 *     owner_give_up(owner)                     … and the next node has it at once
 *
 * Promise   owner_holds is true only while Redis cannot have given the lease to anybody else: from
 *           before the call that got or renewed it was sent, for the lease less a tenth, by the
 *           boot-time clock, which goes on while the process is stopped or the machine sleeps.
 *           A lease that was lost is not raced for again before owner_race: the caller
 *           first ends what it did as owner. Another's lease is never deleted.
 * Bound     a node that races takes a lease that has ended within 300 ms of its end, and one that
 *           was given up within 300 ms; as long as Redis answers.
 * Safety    is not this: a lease says who tries. Whether a commit counts, the epoch in the store
 *           decides.
 * Threads   any for owner_holds; the others from one thread, the loop's. post, sample are called
 *           from the thread of the owner.
 */
#ifndef TOCSIN_CLUSTER_OWNER_H
#define TOCSIN_CLUSTER_OWNER_H

#include "cluster/lease_key.h"

struct owner;

struct owner_options {
    struct redis_url where;
    const char *node;          /* copied, as the address */
    const char *address;       /* where other nodes reach us: host:port */
    uint32_t lease_ms;         /* 0: 5 000 */
    uint32_t renew_ms;         /* 0: 1 500; at most a third of the lease is sensible */
    const struct clock *clock; /* NULL: clock_system */
    void (*post)(void *arg);   /* something has changed: owner_look */
    /* Each answer of Redis tells its time. May be NULL. */
    void (*sample)(void *arg, struct elapsed_time before, struct elapsed_time after,
                   int64_t redis_us);
    void *arg;
};

struct owner_state {
    bool mine;
    struct elapsed_time until; /* when it is mine; later with each renewal */
    bool held;                 /* somebody holds it: node, address and epoch say who. What we
                                  have lost and Redis still has in our name is nobody's */
    bool foreign;              /* what stands in the key is no lease: nobody can ever take it */
    char node[LEASE_NODE_BYTES];
    char address[LEASE_ADDRESS_BYTES];
    uint64_t epoch;               /* 0: not known */
    bool asked;                   /* once at least */
    bool reached;                 /* Redis has answered the last call; else why */
    bool spoke;                   /* … not as was wished, but it has said something: why */
    bool refused;                 /* … a refusal that does not pass by itself */
    struct elapsed_time answered; /* when it last did; 0: never */
    struct tocsin_why why;        /* of what is not reached, or of the last loss */
    uint64_t won;                 /* since create */
    uint64_t lost;                /* … of these, not given up by ourselves */
    uint64_t renew_failures;
};

enum tocsin_status owner_create(const struct owner_options *options, struct owner **ret_owner,
                                struct tocsin_why *ret_why);
/* Gives up what it holds, and waits for that: for the time of one call. */
void owner_destroy(struct owner *owner);

/* From now on, or after a while: who loses a race by its own fault lets others go first. */
void owner_race(struct owner *owner, uint32_t after_ms);
/* Nothing is held when this returns, and Redis is told soon. Not raced for any more. */
void owner_give_up(struct owner *owner);
/* For the others to see, with the next renewal, which comes at once. */
void owner_tell_epoch(struct owner *owner, uint64_t epoch);

void owner_look(struct owner *owner, struct owner_state *ret_state);
/* Cheap: two loads and the clock. */
bool owner_holds(const struct owner *owner);
/* The end of what is held, in ns of the boot-time clock; 0: nothing is. */
int64_t owner_until_ns(const struct owner *owner);

#endif
