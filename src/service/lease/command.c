/* SPDX-License-Identifier: MIT */
/* What is asked from outside, as changes. Each verb may run several times (engine.h) and has no
 * effect but what it stages and what it writes into its call. */

#include <stdio.h>

#include "service/lease/leases_inside.h"

/* ---- acquire */

static enum tocsin_status acquire_free(struct lease_call *call, struct change *change,
                                       const struct lease *ended)
{
    struct leases *all = call->leases;
    struct lease_call *next = line_next(all, call->name);
    enum tocsin_status status;
    if (call->line == NULL && next != NULL) {
        /* It has just ended, and those in line come first. */
        lease_refuse_held(call, ended);
        return TOCSIN_OK;
    }
    if (next == NULL)
        next = call;
    if (ended != NULL)
        status = lease_end(all, change, ended, LEASE_END_EXPIRED, next);
    else
        status = lease_grant(all, change, next, false);
    return status == TOCSIN_FULL
               ? lease_refuse(call, OUTCOME_TOO_MANY,
                              "as many leases are held as may (limits.leases): try again later")
               : status;
}

enum tocsin_status lease_acquire(struct lease_call *call, struct change *change)
{
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    bool over;
    enum tocsin_status status = lease_find(call->leases, change, call->name, holder, &lease, &over);
    if (status != TOCSIN_OK && status != TOCSIN_NONE)
        return status;
    if (!lease_matches(call, status == TOCSIN_OK ? &lease : NULL))
        return TOCSIN_OK;
    if (status == TOCSIN_NONE)
        return acquire_free(call, change, over ? &lease : NULL);
    if (bytes_equal(lease.holder, call->holder))
        return lease_renew(call->leases, change, call, &lease);
    lease_refuse_held(call, &lease);
    return TOCSIN_OK;
}

/* ---- keepalive, release */

/* It is not theirs any more; NULL: nobody has it. */
static enum tocsin_status refuse_lost(struct lease_call *call, const struct lease *lease,
                                      enum lease_end how)
{
    static const struct {
        const char *reason;
        const char *why;
    } hows[] = {
        [LEASE_END_FORGOTTEN] = {"ended", "it is not yours any more: that lease has ended"},
        [LEASE_END_RELEASED] = {"released", "it is not yours any more: it was released"},
        [LEASE_END_EXPIRED] = {"expired", "it is not yours any more: its time was over"},
    };
    bool taken = lease != NULL && how == LEASE_END_FORGOTTEN;
    lease_write_refusal(&call->answer, call->leases, lease, call->name,
                        taken ? "taken" : hows[how].reason);
    return lease_refuse(call, OUTCOME_LOST,
                        taken ? "it is not yours: somebody else has it" : hows[how].why);
}

static enum tocsin_status keepalive(struct lease_call *call, struct change *change)
{
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    bool over;
    enum tocsin_status status = lease_find(call->leases, change, call->name, holder, &lease, &over);
    enum lease_end how = lease_how_ended(call->leases, call->fence);
    if (status == TOCSIN_NONE) /* also when its end is not written yet: it does not come back */
        return refuse_lost(call, NULL,
                           over && lease.fence == call->fence ? LEASE_END_EXPIRED : how);
    if (status != TOCSIN_OK)
        return status;
    if (lease.fence != call->fence || !bytes_equal(lease.holder, call->holder))
        return refuse_lost(call, &lease, how);
    if (!lease_matches(call, &lease))
        return TOCSIN_OK;
    return lease_renew(call->leases, change, call, &lease);
}

static enum tocsin_status release(struct lease_call *call, struct change *change)
{
    struct leases *all = call->leases;
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    bool over;
    enum tocsin_status status = lease_find(all, change, call->name, holder, &lease, &over);
    if (status == TOCSIN_NONE) /* when it is over, its end comes by itself */
        return lease_matches(call, NULL)
                   ? lease_refuse(call, OUTCOME_MISSING, "nobody has this lease")
                   : TOCSIN_OK;
    if (status != TOCSIN_OK)
        return status;
    if ((call->fence != 0 && lease.fence != call->fence) ||
        (call->holder.size > 0 && !bytes_equal(lease.holder, call->holder)))
        return refuse_lost(call, &lease, lease_how_ended(all, call->fence));
    if (!lease_matches(call, &lease))
        return TOCSIN_OK;
    struct json_writer writer;
    json_writer_init(&writer, &call->answer);
    lease_write(&writer, all, &lease);
    call->rev = lease.rev;
    return lease_end(all, change, &lease, LEASE_END_RELEASED, line_next(all, call->name));
}

/* ---- running a call */

static enum tocsin_status run_verb(struct lease_call *call, struct change *change)
{
    static enum tocsin_status (*const verbs[])(struct lease_call *, struct change *) = {
        [LEASE_ACQUIRE] = lease_acquire,
        [LEASE_KEEPALIVE] = keepalive,
        [LEASE_RELEASE] = release,
    };
    enum tocsin_status status = verbs[call->verb](call, change);
    return status == TOCSIN_OK ? buffer_status(&call->answer) : status;
}

static enum tocsin_status run(void *arg, struct change *change)
{
    struct lease_call *call = arg;
    struct idem *idem = call->leases->idem;
    struct idem_said said;
    buffer_clear(&call->answer);
    call->outcome = OUTCOME_OK;
    call->rev = 0;
    call->why.text[0] = '\0';
    enum tocsin_status status = idem_find(idem, change, &call->idem, &said);
    call->replayed = status == TOCSIN_OK;
    if (status == TOCSIN_OK || status == TOCSIN_CONFLICT || status == TOCSIN_FULL) {
        call->rev = said.rev;
        call->outcome = said.outcome;
        return idem_say(&said, &call->answer, &call->why);
    }
    if (status == TOCSIN_NONE)
        status = run_verb(call, change);
    if (status != TOCSIN_OK)
        return status;
    bool done = call->outcome < OUTCOME_INVALID;
    if (!done && (call->idem.key.size == 0 || !outcome_stands(call->outcome)))
        return TOCSIN_CONFLICT; /* nothing is written */
    said = (struct idem_said){call->outcome, call->rev, {call->answer.data, call->answer.size}};
    if (!done)
        said.text = bytes_of(call->why.text);
    return idem_keep(idem, change, &call->idem, call->name, &said);
}

static void settled(void *arg, enum tocsin_status status)
{
    struct lease_call *call = arg;
    if (status != TOCSIN_OK && status != TOCSIN_CONFLICT) {
        call->outcome = outcome_of_status(status);
        buffer_clear(&call->answer);
        (void)snprintf(call->why.text, sizeof call->why.text, "%s", tocsin_status_text(status));
    }
    call->leases->stats.fenced += call->outcome == OUTCOME_LOST;
    call->done(call);
}

void leases_ask(struct leases *leases, struct lease_call *call)
{
    call->leases = leases;
    if (call->verb == LEASE_ACQUIRE && call->wait_ms > 0)
        line_ask(leases, call);
    else
        engine_change(leases->engine, call->verb != LEASE_ACQUIRE, run, settled, call);
}
