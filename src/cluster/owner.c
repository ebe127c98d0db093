/* SPDX-License-Identifier: MIT */
/*  wanted  held by us   what is wished next, and when
 *  ------  ----------   -------------------------------------------------------------
 *  no      no           LOOK, every POLL_MS
 *  yes     no           TAKE, every POLL_MS, and when the other's lease ends
 *  -       yes          KEEP, every renew_ms; after a failure soon, until the end by our clock
 *  -       given up     DROP, until Redis has heard it or the lease has ended
 */
#include "cluster/owner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS INT64_C(1000000)

enum {
    LEASE_MS = 5000,
    RENEW_MS = 1500,
    POLL_MS = 250,     /* a lease that was given up is seen within this */
    JITTER_MS = 50,    /* so that not all ask in the same moment */
    AGAIN_MS = 100,    /* after a renewal that failed */
    TIMEOUT_MS = 1000, /* of one call, at most */
    WHY_BYTES = LEASE_NODE_BYTES + LEASE_ADDRESS_BYTES + 64,
};

struct owner {
    struct owner_options options; /* its texts are ours */
    struct lease_key *key;
    const struct clock *clock;
    pthread_t thread;
    _Atomic int64_t until_ns; /* 0: not held */

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t wake;
    struct owner_state state;
    uint64_t epoch; /* to tell */
    bool wanted;
    bool dropping; /* given up, and Redis has not heard it */
    bool hurry;    /* something was asked for: no waiting */
    bool stop;
    int64_t race_ns;  /* not before */
    int64_t taken_ns; /* when what is dropped was last renewed */
    uint64_t chance;
};

static int64_t now_ns(const struct owner *owner)
{
    return clock_elapsed(owner->clock).ns;
}

static uint64_t draw(struct owner *owner)
{
    owner->chance ^= owner->chance << 13;
    owner->chance ^= owner->chance >> 7;
    owner->chance ^= owner->chance << 17;
    return owner->chance;
}

/* ---- what an answer means; under the lock */

static void lose(struct owner *owner, const char *why)
{
    atomic_store(&owner->until_ns, 0);
    owner->state.mine = false;
    owner->state.lost++;
    (void)snprintf(owner->state.why.text, sizeof owner->state.why.text, "%.*s",
                   (int)sizeof owner->state.why.text - 1, why);
}

/* The lease, less a tenth: the turn that has just begun ends inside of it. */
static bool extend(struct owner *owner, struct elapsed_time before)
{
    int64_t until = before.ns + (int64_t)owner->options.lease_ms * MS / 10 * 9;
    if (until <= now_ns(owner))
        return false;
    owner->state.until.ns = until;
    owner->taken_ns = before.ns;
    atomic_store(&owner->until_ns, until);
    return true;
}

static void note_holder(struct owner *owner, const struct lease_answer *answer)
{
    struct owner_state *state = &owner->state;
    state->reached = state->spoke = true;
    state->refused = false;
    state->answered = answer->after;
    state->held = answer->held && (!answer->ours || state->mine || answer->mine);
    state->foreign = state->held && answer->foreign;
    state->epoch = answer->epoch;
    (void)snprintf(state->node, sizeof state->node, "%s", answer->node);
    (void)snprintf(state->address, sizeof state->address, "%s", answer->address);
}

static void take_answer(struct owner *owner, enum lease_wish wish,
                        const struct lease_answer *answer)
{
    char why[WHY_BYTES];
    note_holder(owner, answer);
    if (wish == LEASE_DROP) {
        owner->dropping = false;
    } else if (wish == LEASE_TAKE && answer->mine && owner->wanted && !owner->dropping) {
        /* An answer that took longer than the lease has won nothing. */
        if (extend(owner, answer->before)) {
            owner->state.mine = true;
            owner->state.won++;
            owner->wanted = false;
        }
    } else if (wish == LEASE_TAKE && answer->mine) {
        owner->dropping = true; /* nobody wants it any more */
        owner->taken_ns = answer->before.ns;
    } else if (wish == LEASE_KEEP && owner->state.mine) {
        if (answer->mine && extend(owner, answer->before))
            return;
        if (answer->mine)
            (void)snprintf(why, sizeof why, "the renewal took longer than the lease");
        else if (answer->held)
            (void)snprintf(why, sizeof why, "%s at %s holds the lease", answer->node,
                           answer->address);
        else
            (void)snprintf(why, sizeof why, "the lease has run out in Redis, or was deleted there");
        lose(owner, why);
    }
}

static void take_failure(struct owner *owner, enum lease_wish wish, enum tocsin_status status,
                         bool spoke, const struct tocsin_why *why)
{
    owner->state.reached = false;
    owner->state.spoke = spoke;
    owner->state.refused = status == TOCSIN_INVALID;
    owner->state.why = *why;
    if (wish == LEASE_KEEP)
        owner->state.renew_failures++;
}

/* By our own clock, whatever Redis says. */
static void look_at_the_clock(struct owner *owner)
{
    int64_t now = now_ns(owner);
    char why[WHY_BYTES];
    if (owner->state.mine && now >= owner->state.until.ns) {
        (void)snprintf(why, sizeof why, "the lease has ended: %s",
                       owner->state.reached ? "it was not renewed in time" : owner->state.why.text);
        lose(owner, why);
        owner->state.held = false;
    }
    if (owner->dropping && now >= owner->taken_ns + (int64_t)owner->options.lease_ms * MS)
        owner->dropping = false; /* it has ended in Redis, too */
}

static bool differs(const struct owner_state *one, const struct owner_state *other)
{
    return one->mine != other->mine || one->held != other->held || one->epoch != other->epoch ||
           one->foreign != other->foreign || one->asked != other->asked ||
           one->reached != other->reached || one->refused != other->refused ||
           one->spoke != other->spoke || one->won != other->won ||
           strcmp(one->node, other->node) != 0 || strcmp(one->address, other->address) != 0;
}

/* ---- the thread */

static enum lease_wish next_wish(const struct owner *owner)
{
    if (owner->dropping)
        return LEASE_DROP;
    if (owner->state.mine)
        return LEASE_KEEP;
    return owner->wanted && now_ns(owner) >= owner->race_ns ? LEASE_TAKE : LEASE_LOOK;
}

/* How long nothing need be asked. */
static int64_t pause_ms(struct owner *owner, const struct lease_answer *answer, bool reached)
{
    int64_t jitter = (int64_t)(draw(owner) % JITTER_MS);
    int64_t again = owner->options.renew_ms < AGAIN_MS ? owner->options.renew_ms : AGAIN_MS;
    if (owner->dropping || (owner->state.mine && !reached))
        return again;
    if (owner->state.mine)
        return owner->options.renew_ms;
    /* Not in the moment in which it ends, and not all at once. */
    if (owner->wanted && reached && answer->held && answer->left_ms >= 0 &&
        answer->left_ms < POLL_MS)
        return answer->left_ms + 1 + jitter;
    return owner->options.lease_ms / 4 < POLL_MS ? owner->options.lease_ms / 4 + jitter
                                                 : POLL_MS - JITTER_MS / 2 + jitter;
}

static void sleep_for(struct owner *owner, int64_t ms)
{
    struct timespec at;
    if (owner->hurry || owner->stop)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * MS;
    if (at.tv_nsec >= 1000 * MS) {
        at.tv_nsec -= 1000 * MS;
        at.tv_sec++;
    }
    while (!owner->hurry && !owner->stop) {
        if (pthread_cond_timedwait(&owner->wake, &owner->lock, &at) != 0)
            return;
    }
}

static void ask(struct owner *owner)
{
    struct lease_answer answer = {0};
    struct tocsin_why why = {""};
    struct owner_state before = owner->state;
    enum lease_wish wish = next_wish(owner);
    uint64_t epoch = owner->epoch;
    owner->hurry = false;
    (void)pthread_mutex_unlock(&owner->lock);
    enum tocsin_status status = lease_key_ask(owner->key, wish, epoch, &answer, &why);
    if (status == TOCSIN_OK && owner->options.sample != NULL)
        owner->options.sample(owner->options.arg, answer.before, answer.after, answer.redis_us);
    (void)pthread_mutex_lock(&owner->lock);
    owner->state.asked = true;
    if (status == TOCSIN_OK)
        take_answer(owner, wish, &answer);
    else
        take_failure(owner, wish, status, answer.spoke, &why);
    look_at_the_clock(owner);
    if (differs(&before, &owner->state) && !owner->stop)
        owner->options.post(owner->options.arg);
    sleep_for(owner, pause_ms(owner, &answer, status == TOCSIN_OK));
}

static void *work(void *arg)
{
    struct owner *owner = arg;
    (void)pthread_mutex_lock(&owner->lock);
    while (!owner->stop)
        ask(owner);
    bool held = owner->state.mine || owner->dropping;
    owner->state.mine = false;
    (void)pthread_mutex_unlock(&owner->lock);
    struct lease_answer answer;
    struct tocsin_why why;
    /* Once: when Redis does not hear it, the lease ends by itself. */
    if (held)
        (void)lease_key_ask(owner->key, LEASE_DROP, 0, &answer, &why);
    return NULL;
}

/* ---- what the loop asks for */

void owner_race(struct owner *owner, uint32_t after_ms)
{
    (void)pthread_mutex_lock(&owner->lock);
    owner->wanted = true;
    owner->epoch = 0;
    owner->race_ns = now_ns(owner) + (int64_t)after_ms * MS;
    owner->hurry = true;
    (void)pthread_cond_signal(&owner->wake);
    (void)pthread_mutex_unlock(&owner->lock);
}

void owner_give_up(struct owner *owner)
{
    (void)pthread_mutex_lock(&owner->lock);
    owner->wanted = false;
    owner->dropping = owner->dropping || owner->state.mine;
    look_at_the_clock(owner); /* what has ended was lost, and is not given up */
    owner->state.held = owner->state.held && !owner->state.mine;
    owner->state.mine = false;
    atomic_store(&owner->until_ns, 0);
    owner->hurry = true;
    (void)pthread_cond_signal(&owner->wake);
    (void)pthread_mutex_unlock(&owner->lock);
}

void owner_tell_epoch(struct owner *owner, uint64_t epoch)
{
    (void)pthread_mutex_lock(&owner->lock);
    owner->epoch = epoch;
    owner->hurry = true;
    (void)pthread_cond_signal(&owner->wake);
    (void)pthread_mutex_unlock(&owner->lock);
}

void owner_look(struct owner *owner, struct owner_state *ret_state)
{
    (void)pthread_mutex_lock(&owner->lock);
    *ret_state = owner->state;
    (void)pthread_mutex_unlock(&owner->lock);
}

int64_t owner_until_ns(const struct owner *owner)
{
    return atomic_load(&owner->until_ns);
}

bool owner_holds(const struct owner *owner)
{
    return now_ns(owner) < atomic_load(&owner->until_ns);
}

/* ---- life */

static bool start(struct owner *owner)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all); /* signals are the loop's business */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&owner->thread, NULL, work, owner) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_setname_np(owner->thread, "tocsin-owner");
    return started;
}

static void release(struct owner *owner)
{
    (void)pthread_mutex_destroy(&owner->lock);
    (void)pthread_cond_destroy(&owner->wake);
    lease_key_close(owner->key);
    free((char *)(uintptr_t)owner->options.node);
    free((char *)(uintptr_t)owner->options.address);
    free(owner);
}

static enum tocsin_status open_key(struct owner *owner)
{
    uint32_t quarter = owner->options.lease_ms / 4;
    if (owner->options.node == NULL || owner->options.address == NULL)
        return TOCSIN_NO_MEMORY;
    return lease_key_open(
        &(struct lease_key_options){
            .where = owner->options.where,
            .node = owner->options.node,
            .address = owner->options.address,
            .lease_ms = owner->options.lease_ms,
            .timeout_ms = quarter < TIMEOUT_MS ? quarter : TIMEOUT_MS,
            .clock = owner->clock,
        },
        &owner->key);
}

enum tocsin_status owner_create(const struct owner_options *options, struct owner **ret_owner,
                                struct tocsin_why *ret_why)
{
    pthread_condattr_t attributes;
    struct owner *owner = calloc(1, sizeof *owner);
    (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory, or no thread, for the lease");
    if (owner == NULL)
        return TOCSIN_NO_MEMORY;
    owner->options = *options;
    owner->options.node = strdup(options->node);
    owner->options.address = strdup(options->address);
    owner->options.lease_ms = options->lease_ms != 0 ? options->lease_ms : LEASE_MS;
    owner->options.renew_ms = options->renew_ms != 0 ? options->renew_ms : RENEW_MS;
    owner->clock = options->clock != NULL ? options->clock : &clock_system;
    (void)snprintf(owner->state.why.text, sizeof owner->state.why.text,
                   "Redis has not been asked yet");
    (void)pthread_mutex_init(&owner->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&owner->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    owner->chance =
        (uint64_t)now_ns(owner) ^ (uint64_t)(uintptr_t)owner ^ UINT64_C(0x9e3779b97f4a7c15);
    enum tocsin_status status = open_key(owner);
    if (status == TOCSIN_OK && !start(owner))
        status = TOCSIN_NO_MEMORY;
    if (status != TOCSIN_OK) {
        release(owner);
        return status;
    }
    *ret_owner = owner;
    return TOCSIN_OK;
}

void owner_destroy(struct owner *owner)
{
    if (owner == NULL)
        return;
    (void)pthread_mutex_lock(&owner->lock);
    owner->stop = true;
    atomic_store(&owner->until_ns, 0);
    (void)pthread_cond_signal(&owner->wake);
    (void)pthread_mutex_unlock(&owner->lock);
    (void)pthread_join(owner->thread, NULL);
    release(owner);
}
