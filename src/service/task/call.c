/* SPDX-License-Identifier: MIT */
/* How a call runs: an answer that was given before is given again (Idempotency-Key), else its
 * verb runs as a change (command.c, finish.c); what must happen in memory happens when it has
 * been staged for good, and when it is durable or rolled back. */

#include <assert.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

/* ---- running a call */

/* Nothing of this has been, until it is staged for good. */
static void begin(struct tasks_call *call)
{
    call->cancels = call->makes = false;
    call->ended = CALL_NOT_ENDED;
    call->unready_count = 0;
    call->fence = 0;
}

static void staged(struct tasks_call *call)
{
    for (size_t i = 0; i < call->unready_count; i++)
        (void)queue_unready(call->tasks, call->unready[i]);
    call->makes = call->reply.outcome == OUTCOME_MADE && !call->reply.replayed;
    call->tasks->making += call->makes;
    finish_staged(call);
}

static enum tocsin_status run_verb(struct tasks_call *call, struct change *change)
{
    struct idem *idem = call->tasks->idem;
    enum tocsin_status status = idem_replay(idem, change, &call->idem, &call->reply);
    if (status != TOCSIN_NONE)
        return status;
    status = command_verb(call, change);
    if (status != TOCSIN_BUSY)
        call->wish = NULL; /* it will not run again */
    return status == TOCSIN_OK ? idem_keep(idem, change, &call->idem, call->id, &call->reply)
                               : status;
}

static enum tocsin_status run_call(void *arg, struct change *change)
{
    struct tasks_call *call = arg;
    begin(call);
    enum tocsin_status status = run_verb(call, change);
    if (status == TOCSIN_OK)
        staged(call);
    else
        call->unready_count = 0; /* nothing was taken out of a queue, so nothing goes back */
    return status;
}

static void count_call(struct tasks_call *call)
{
    struct tasks *tasks = call->tasks;
    if (call->reply.replayed)
        return; /* it was counted then; and the task may have ended since */
    if (call->reply.outcome == OUTCOME_MADE) {
        tasks_count(tasks, TASKS_ADDED, 1);
    } else if (call->reply.outcome == OUTCOME_OK && call->verb == TASKS_PUT) {
        tasks_count(tasks, TASKS_REPLACED, 1);
    } else if (call->reply.outcome == OUTCOME_CONFLICTING ||
               call->reply.outcome == OUTCOME_UNMATCHED) {
        tasks_count(tasks, TASKS_CONFLICT, 1);
    }
}

static void settled(void *arg, enum tocsin_status status)
{
    struct tasks_call *call = arg;
    struct tasks *tasks = call->tasks;
    bool ok = status == TOCSIN_OK;
    tasks->making -= call->makes;
    if (!ok && status != TOCSIN_CONFLICT) {
        (void)reply_refuse(
            &call->reply,
            status == TOCSIN_NONE ? OUTCOME_BROKEN : outcome_of_status(status), /* what must be */
            "%s", status == TOCSIN_DAMAGED ? TASKS_BROKEN_TEXT : tocsin_status_text(status));
        for (size_t i = 0; i < call->unready_count; i++) {
            struct engine_head head;
            if (engine_head(tasks->engine, call->unready[i], &head))
                queue_ready_again(tasks, call->unready[i], head.rev);
        }
    }
    free(call->unready);
    call->unready = NULL;
    call->unready_count = 0;
    if (ok && call->cancels) {
        struct run *run = run_of_record(tasks, call->ref);
        if (run != NULL)
            run->cancel_requested = true;
    }
    if (ok && call->verb == TASKS_PUT)
        run_supersede(tasks, call->ref);
    finish_done(call, ok);
    count_call(call);
    call->done(call);
}

static void zone_here(void *arg, enum tocsin_status status, const struct tocsin_why *why)
{
    struct tasks_call *call = arg;
    if (status == TOCSIN_OK) {
        engine_change(call->tasks->engine, false, run_call, settled, call);
        return;
    }
    (void)reply_refuse(&call->reply,
                       status == TOCSIN_INVALID ? OUTCOME_INVALID : OUTCOME_OVERLOADED,
                       "tz: %.190s", why->text);
    call->done(call);
}

void tasks_start(struct tasks *tasks, struct tasks_call *call)
{
    call->tasks = tasks;
    call->unready = NULL;
    reply_begin(&call->reply);
    begin(call);
    bool makes = call->verb == TASKS_CREATE || call->verb == TASKS_PUT;
    if (makes && call->wish->rhythm == TASK_CRON) {
        zones_want(&tasks->zones, tasks->engine, call->wish->zone, zone_here, call);
        return;
    }
    bool urgent = call->urgent || call->verb == TASKS_ACK || call->verb == TASKS_NACK ||
                  call->verb == TASKS_DELETE || call->verb == TASKS_FORGET;
    engine_change(tasks->engine, urgent, run_call, settled, call);
}

void tasks_expect(struct tasks *tasks, struct bytes id)
{
    engine_expect(tasks->engine, tasks->task_kind, id);
}
