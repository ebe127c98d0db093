/* SPDX-License-Identifier: MIT */
/* What becomes of a lease inside a change: it is given, renewed, ended. Nothing here has an
 * effect of its own but what is staged and what is hung on the change's end. */

#include "service/lease/leases_inside.h"

/* ---- counted when it is durable */

static void count_acquired(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->stats.acquired += status == TOCSIN_OK;
}

static void count_renewed(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->stats.renewed += status == TOCSIN_OK;
}

static void count_released(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->stats.released += status == TOCSIN_OK;
}

static void count_expired(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->stats.expired += status == TOCSIN_OK;
}

/* One more was counted when it was staged. */
static void not_made(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->count -= status != TOCSIN_OK;
}

static void dropped(void *arg, enum tocsin_status status)
{
    ((struct leases *)arg)->count -= status == TOCSIN_OK;
}

static void tell(struct leases *all, struct change *change, const struct lease *lease,
                 const char *what)
{
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    lease_write(&writer, all, lease);
    if (buffer_status(&all->doc) == TOCSIN_OK)
        change_event(change, all->kind, lease->name, what,
                     (struct bytes){all->doc.data, all->doc.size});
    else
        change_event_lost(change, buffer_status(&all->doc));
}

/* ---- what a call is told */

void lease_refuse_held(struct lease_call *call, const struct lease *lease)
{
    lease_write_refusal(&call->reply.answer, call->leases, lease, call->name, NULL);
    (void)reply_refuse(&call->reply, OUTCOME_CONFLICTING, "somebody else has it; holder says who");
    call->told = true;
}

bool lease_matches(struct lease_call *call, const struct lease *lease)
{
    return conditions_hold(&call->conditions, lease != NULL, lease != NULL ? lease->rev : 0,
                           &call->reply);
}

static void answer(struct lease_call *call, const struct lease *lease, enum outcome outcome)
{
    struct json_writer writer;
    buffer_clear(&call->reply.answer);
    json_writer_init(&writer, &call->reply.answer);
    lease_write(&writer, call->leases, lease);
    call->reply.outcome = outcome;
    call->reply.rev = lease->rev;
    call->given_fence = lease->fence;
}

/* ---- */

enum tocsin_status lease_find(struct leases *all, struct change *change, struct bytes name,
                              char holder[LEASE_HOLDER_BYTES_MAX], struct lease *ret_lease,
                              bool *ret_over)
{
    struct engine_record record;
    enum tocsin_status status = change_get(change, all->kind, name, &record);
    *ret_over = false;
    if (status == TOCSIN_OK)
        status = lease_decode(&record, holder, ret_lease);
    if (status == TOCSIN_DAMAGED) /* somebody had it, nobody knows who: until its end */
        *ret_lease = (struct lease){
            .name = name, .holder = {"", 0}, .ends_ms = record.due_ms, .rev = record.rev};
    else if (status != TOCSIN_OK)
        return status;
    *ret_over = engine_now_ms(all->engine) >= ret_lease->ends_ms;
    return *ret_over ? TOCSIN_NONE : TOCSIN_OK;
}

static enum tocsin_status grant(struct leases *all, struct change *change, struct lease_call *call,
                                bool there)
{
    if (!there && all->count >= all->limits.leases)
        return TOCSIN_FULL;
    struct lease lease = {
        .name = call->name,
        .holder = call->holder,
        .fence = engine_next_fence(all->engine),
        .ttl_ms = call->ttl_ms,
        .ends_ms = engine_now_up_ms(all->engine) + call->ttl_ms,
        .acquired_ms = engine_wall_ms(all->engine),
    };
    enum tocsin_status status = lease_put(all, change, &lease);
    if (status == TOCSIN_OK)
        status = change_then(change, count_acquired, all);
    if (status == TOCSIN_OK && !there) {
        status = change_then(change, not_made, all);
        all->count += status == TOCSIN_OK; /* at once: those under way count too */
    }
    if (status != TOCSIN_OK)
        return status;
    tell(all, change, &lease, "acquired");
    answer(call, &lease, OUTCOME_MADE);
    return buffer_status(&call->reply.answer);
}

enum tocsin_status lease_grant(struct leases *all, struct change *change, struct lease_call *call,
                               bool there)
{
    enum tocsin_status status = grant(all, change, call, there);
    return status == TOCSIN_OK && call->line != NULL ? line_promise(change, call) : status;
}

enum tocsin_status lease_renew(struct leases *all, struct change *change, struct lease_call *call,
                               struct lease *lease)
{
    if (call->ttl_ms > 0)
        lease->ttl_ms = call->ttl_ms;
    /* Who was told an end, and may not have heard of a nearer one, counts on it. */
    int64_t ends_ms = engine_now_up_ms(all->engine) + lease->ttl_ms;
    lease->ends_ms = ends_ms > lease->ends_ms ? ends_ms : lease->ends_ms;
    enum tocsin_status status = lease_put(all, change, lease);
    if (status == TOCSIN_OK)
        status = change_then(change, count_renewed, all);
    if (status != TOCSIN_OK)
        return status;
    answer(call, lease, OUTCOME_OK);
    status = buffer_status(&call->reply.answer);
    return status == TOCSIN_OK && call->line != NULL ? line_promise(change, call) : status;
}

enum tocsin_status lease_end(struct leases *all, struct change *change, const struct lease *lease,
                             enum lease_end how, struct lease_call *next)
{
    bool expired = how == LEASE_END_EXPIRED;
    tell(all, change, lease, expired ? "expired" : "released");
    enum tocsin_status status = change_then(change, expired ? count_expired : count_released, all);
    if (status == TOCSIN_OK && next != NULL) {
        status = lease_grant(all, change, next, true);
    } else if (status == TOCSIN_OK) {
        status = change_drop(change, all->kind, lease->name);
        if (status == TOCSIN_OK)
            status = change_then(change, dropped, all);
    }
    if (status == TOCSIN_OK) {
        /* A hint for a message: no harm if this change is taken back. */
        size_t at = lease->fence % LEASE_ENDS_KEPT;
        all->ends[at].fence = lease->fence;
        all->ends[at].how = how;
    }
    return status;
}

enum lease_end lease_how_ended(const struct leases *all, uint64_t fence)
{
    size_t at = fence % LEASE_ENDS_KEPT;
    return all->ends[at].fence == fence ? all->ends[at].how : LEASE_END_FORGOTTEN;
}
