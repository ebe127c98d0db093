/* SPDX-License-Identifier: MIT */
/* What is asked from outside, as changes. Each verb may run several times (engine.h) and has no
 * effect but what it stages and what it writes into its call. */

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
               ? reply_refuse(&call->reply, OUTCOME_TOO_MANY,
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
    lease_write_refusal(&call->reply.answer, call->leases, lease, call->name,
                        taken ? "taken" : hows[how].reason);
    return reply_refuse(&call->reply, OUTCOME_LOST, "%s",
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
                   ? reply_refuse(&call->reply, OUTCOME_MISSING, "nobody has this lease")
                   : TOCSIN_OK;
    if (status != TOCSIN_OK)
        return status;
    if ((call->fence != 0 && lease.fence != call->fence) ||
        (call->holder.size > 0 && !bytes_equal(lease.holder, call->holder)))
        return refuse_lost(call, &lease, lease_how_ended(all, call->fence));
    if (!lease_matches(call, &lease))
        return TOCSIN_OK;
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    lease_write(&writer, all, &lease);
    call->reply.rev = lease.rev;
    return lease_end(all, change, &lease, LEASE_END_RELEASED, line_next(all, call->name));
}

/* ---- running a call */

static enum tocsin_status run(void *arg, struct change *change)
{
    static enum tocsin_status (*const verbs[])(struct lease_call *, struct change *) = {
        [LEASE_ACQUIRE] = lease_acquire,
        [LEASE_KEEPALIVE] = keepalive,
        [LEASE_RELEASE] = release,
    };
    struct lease_call *call = arg;
    struct idem *idem = call->leases->idem;
    enum tocsin_status status = idem_replay(idem, change, &call->idem, &call->reply);
    if (status != TOCSIN_NONE)
        return status;
    status = verbs[call->verb](call, change);
    return status == TOCSIN_OK ? idem_keep(idem, change, &call->idem, call->name, &call->reply)
                               : status;
}

static void settled(void *arg, enum tocsin_status status)
{
    struct lease_call *call = arg;
    if (status != TOCSIN_OK && status != TOCSIN_CONFLICT)
        buffer_clear(&call->reply.answer);
    reply_settle(&call->reply, status);
    call->leases->stats.fenced += call->reply.outcome == OUTCOME_LOST;
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
