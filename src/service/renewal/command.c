/* SPDX-License-Identifier: MIT */
/* What is asked from outside, as changes. Each verb may run several times (engine.h) and has no
 * effect but what it stages and what it writes into its call; what follows in memory is done when
 * the change is durable (take_effect). */

#include <stdlib.h>

#include "service/renewal/renewals_inside.h"

static bool matches(struct renewal_call *call, const struct engine_record *record)
{
    return conditions_hold(&call->conditions, record != NULL, record != NULL ? record->rev : 0,
                           &call->reply);
}

static void answer(struct renewal_call *call, const struct renewal *renewal,
                   enum renewal_state state)
{
    struct json_writer writer;
    bool ended = state >= RENEWAL_COMPLETED;
    json_writer_init(&writer, &call->reply.answer);
    renewal_write(&writer, &(struct renewal_view){
                               .id = call->id,
                               .state = state,
                               .spec = renewal->spec,
                               .counters = &renewal->counters,
                               .created_ms = renewal->created_ms,
                               .ended_ms = ended ? engine_wall_ms(call->renewals->engine) : 0,
                               .rev = call->reply.rev,
                               .live = renewal,
                           });
}

/* ---- the verbs */

static enum tocsin_status put(struct renewal_call *call, struct change *change,
                              const struct renewal *renewal, enum renewal_state state,
                              const char *event)
{
    struct renewals *all = call->renewals;
    enum tocsin_status status = renewal_put(all, change, renewal, state, "", &call->reply.rev);
    if (status != TOCSIN_OK)
        return status;
    renewal_event(all, change, renewal, event, "");
    call->changed = true;
    answer(call, renewal, state);
    return TOCSIN_OK;
}

/* Once for each call, however often its change runs. False: refused, or there is no memory. */
static bool make(struct renewal_call *call, enum tocsin_status *ret_status)
{
    struct renewals *all = call->renewals;
    uint64_t there = engine_mark_count(all->engine, all->kind, RENEWAL_ACTIVE) +
                     engine_mark_count(all->engine, all->kind, RENEWAL_PAUSED);
    *ret_status = TOCSIN_OK;
    if (!renewals_has_client(all, call->spec->more->redis)) {
        (void)reply_refuse(&call->reply, OUTCOME_INVALID,
                           "redis: there is no server of this name in the configuration");
        return false;
    }
    if (own_misses(all->own, call->spec, &call->reply.why)) {
        call->reply.outcome = OUTCOME_INVALID;
        return false;
    }
    if (there + all->staged >= all->limits.renewals) {
        (void)reply_refuse(&call->reply, OUTCOME_TOO_MANY,
                           "as many renewals as may (limits.renewals): try again later");
        return false;
    }
    if (renewals_make_room(all))
        call->made = renewal_create(all, call->id, call->spec);
    if (call->made == NULL) {
        *ret_status = TOCSIN_NO_MEMORY;
        return false;
    }
    call->spec = NULL; /* the renewal's now */
    all->staged++;
    return true;
}

static enum tocsin_status enroll(struct renewal_call *call, struct change *change)
{
    struct renewals *all = call->renewals;
    struct engine_record record;
    enum tocsin_status status = change_get(change, all->kind, call->id, &record);
    bool there = status == TOCSIN_OK && record.mark < RENEWAL_COMPLETED;
    if (there)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "there is a renewal of this id");
    if (status != TOCSIN_NONE && status != TOCSIN_OK)
        return status;
    if (!matches(call, NULL)) /* one that has ended makes room for another */
        return TOCSIN_OK;
    if (call->made == NULL && !make(call, &status))
        return status;
    call->reply.outcome = OUTCOME_MADE;
    return put(call, change, call->made, RENEWAL_ACTIVE, "registered");
}

static enum tocsin_status change_state(struct renewal_call *call, struct change *change,
                                       const struct renewal *renewal, enum renewal_state now)
{
    static const struct {
        enum renewal_state state;
        const char *event;
    } verbs[] = {
        [RENEWAL_CANCEL] = {RENEWAL_CANCELLED, "cancelled"},
        [RENEWAL_PAUSE] = {RENEWAL_PAUSED, "paused"},
        [RENEWAL_RESUME] = {RENEWAL_ACTIVE, "resumed"},
        [RENEWAL_RENEW] = {RENEWAL_ACTIVE, ""},
    };
    enum renewal_state state = verbs[call->verb].state;
    if (now != state)
        return call->verb == RENEWAL_RENEW
                   ? reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                                  "it is paused: resume it first")
                   : put(call, change, renewal, state, verbs[call->verb].event);
    answer(call, renewal, state); /* as it is */
    return TOCSIN_OK;
}

static enum tocsin_status change_one(struct renewal_call *call, struct change *change)
{
    struct renewals *all = call->renewals;
    struct engine_record record;
    enum tocsin_status status = change_get(change, all->kind, call->id, &record);
    if (status == TOCSIN_NONE)
        return matches(call, NULL)
                   ? reply_refuse(&call->reply, OUTCOME_MISSING, "there is no such renewal")
                   : TOCSIN_OK;
    if (status != TOCSIN_OK)
        return status;
    if (!matches(call, &record))
        return TOCSIN_OK;
    if (record.mark >= RENEWAL_COMPLETED)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "it has ended: %s",
                            renewal_state_names[record.mark]);
    const struct renewal *renewal = renewal_find(all, call->id);
    if (renewal == NULL)
        return TOCSIN_UNAVAILABLE; /* a restart is taking them up */
    call->reply.rev = record.rev;
    return change_state(call, change, renewal, (enum renewal_state)record.mark);
}

/* ---- running a call */

static enum tocsin_status run(void *arg, struct change *change)
{
    struct renewal_call *call = arg;
    struct idem *idem = call->renewals->idem;
    call->changed = false;
    enum tocsin_status status = idem_replay(idem, change, &call->idem, &call->reply);
    if (status != TOCSIN_NONE)
        return status;
    status = call->verb == RENEWAL_REGISTER ? enroll(call, change) : change_one(call, change);
    return status == TOCSIN_OK ? idem_keep(idem, change, &call->idem, call->id, &call->reply)
                               : status;
}

/* ---- once it is durable */

/* The call ends with the round that is under way. */
static void wait_for_round(struct renewal_call *call, struct renewal *renewal)
{
    call->next = renewal->waiting;
    renewal->waiting = call;
}

/* Whoever wanted a round that has ended it all is answered when that is durable. */
void renewal_answer_waiting(struct renewal *renewal)
{
    struct renewal_call *call = renewal->waiting;
    bool ending = renewal->ending != 0 && !renewal->gone;
    renewal->waiting = NULL;
    while (call != NULL) {
        struct renewal_call *next = call->next;
        if (call->verb == RENEWAL_RENEW && ending) {
            wait_for_round(call, renewal);
        } else {
            if (call->verb == RENEWAL_RENEW) {
                buffer_clear(&call->reply.answer);
                answer(call, renewal, renewal->state);
            }
            call->done(call);
        }
        call = next;
    }
}

void renewal_refuse_waiting(struct renewal *renewal)
{
    struct renewal_call *call = renewal->waiting;
    renewal->waiting = NULL;
    while (call != NULL) {
        struct renewal_call *next = call->next;
        (void)reply_refuse(&call->reply, OUTCOME_UNAVAILABLE,
                           "its end could not be written yet: ask again");
        call->done(call);
        call = next;
    }
}

static void wait_until_quiet(struct renewal_call *call, struct renewal *renewal)
{
    wait_for_round(call, renewal);
    if (renewal->round == NULL)
        renewal_answer_waiting(renewal);
}

static void begin(struct renewal_call *call)
{
    struct renewal *renewal = call->made;
    call->made = NULL;
    call->renewals->staged--;
    renewal_install(call->renewals, renewal);
    call->done(call);
    renewal_start_beats(renewal, renewal_second_ms(renewal));
}

static void renew(struct renewal_call *call, struct renewal *renewal)
{
    struct renewals *all = call->renewals;
    wait_for_round(call, renewal); /* and the call may be over from here on */
    renewal_round(renewal, engine_now_ms(all->engine));
    renewals_flush(all);
    if (renewal->round == NULL)
        renewal_answer_waiting(renewal); /* nothing could be begun */
}

static void pause(struct renewal_call *call, struct renewal *renewal)
{
    renewal_count_health(renewal, -1);
    renewal->window_count = 0; /* how it did before says nothing later */
    renewal->window = renewal->window_alive = 0;
    renewal->state = RENEWAL_PAUSED;
    renewal->wanted = false;
    renewal_stop_beats(renewal);
    wait_until_quiet(call, renewal);
}

static void resume(struct renewal_call *call, struct renewal *renewal)
{
    renewal->state = RENEWAL_ACTIVE;
    call->done(call);
    renewal_start_beats(renewal, renewal_second_ms(renewal));
}

static void cancel(struct renewal_call *call, struct renewal *renewal)
{
    wait_for_round(call, renewal);
    renewal_remove(renewal, RENEWAL_CANCELLED);
}

static void take_effect(struct renewal_call *call)
{
    static void (*const effects[])(struct renewal_call *, struct renewal *) = {
        [RENEWAL_CANCEL] = cancel,
        [RENEWAL_PAUSE] = pause,
        [RENEWAL_RESUME] = resume,
        [RENEWAL_RENEW] = renew,
    };
    struct renewal *renewal = renewal_find(call->renewals, call->id);
    bool acts = call->changed || (call->verb == RENEWAL_RENEW && !call->reply.replayed);
    bool granted = renewal != NULL && call->reply.outcome < OUTCOME_INVALID;
    if (granted && acts)
        effects[call->verb](call, renewal);
    else if (granted && call->verb == RENEWAL_PAUSE && renewal->state == RENEWAL_PAUSED)
        wait_until_quiet(call, renewal); /* it was paused before: its last round may go on */
    else
        call->done(call);
}

static void settled(void *arg, enum tocsin_status status)
{
    struct renewal_call *call = arg;
    reply_settle(&call->reply, status);
    free(call->spec);
    call->spec = NULL;
    if (status == TOCSIN_OK && call->changed && call->made != NULL) {
        begin(call);
        return;
    }
    if (call->made != NULL) {
        call->renewals->staged--;
        renewal_release(call->made);
        call->made = NULL;
    }
    if (status == TOCSIN_OK)
        take_effect(call);
    else
        call->done(call);
}

void renewals_ask(struct renewals *renewals, struct renewal_call *call)
{
    call->renewals = renewals;
    engine_change(renewals->engine, call->verb == RENEWAL_CANCEL, run, settled, call);
}
