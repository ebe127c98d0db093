/* SPDX-License-Identifier: MIT */
/* How a call runs: an answer that was given before is given again (Idempotency-Key), else its
 * verb runs as a change (command.c, finish.c); what must happen in memory happens when it has
 * been staged for good, and when it is durable or rolled back. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/task/tasks_inside.h"

/* ---- Idempotency-Key */

static enum tocsin_status keep_answer(struct tasks_call *call, struct change *change)
{
    struct idem_said said = {call->outcome, call->rev, {call->answer.data, call->answer.size}};
    if (call->outcome >= OUTCOME_INVALID)
        said.text = bytes_of(call->why.text);
    return idem_keep(call->tasks->idem, change, &call->idem, call->id, &said);
}

/* ---- running a call */

/* Nothing of this has been, until it is staged for good. */
static void begin(struct tasks_call *call)
{
    buffer_clear(&call->answer);
    call->outcome = OUTCOME_OK;
    call->rev = 0;
    call->why.text[0] = '\0';
    call->replayed = call->cancels = call->makes = false;
    call->ended = CALL_NOT_ENDED;
    call->unready_count = 0;
    call->fence = 0;
}

static void staged(struct tasks_call *call)
{
    for (size_t i = 0; i < call->unready_count; i++)
        (void)queue_unready(call->tasks, call->unready[i]);
    call->makes = call->outcome == OUTCOME_MADE && !call->replayed;
    call->tasks->making += call->makes;
    finish_staged(call);
}

static enum tocsin_status run_verb(struct tasks_call *call, struct change *change)
{
    struct idem_said said;
    enum tocsin_status found = idem_find(call->tasks->idem, change, &call->idem, &said);
    call->replayed = found == TOCSIN_OK;
    if (found == TOCSIN_OK || found == TOCSIN_CONFLICT || found == TOCSIN_FULL) {
        call->rev = said.rev;
        call->outcome = said.outcome;
        return idem_say(&said, &call->answer, &call->why);
    }
    if (found != TOCSIN_NONE)
        return found;
    enum tocsin_status status = command_verb(call, change);
    if (status != TOCSIN_BUSY)
        call->wish = NULL; /* it will not run again */
    if (status == TOCSIN_OK && buffer_status(&call->answer) != TOCSIN_OK)
        status = buffer_status(&call->answer);
    if (status != TOCSIN_OK)
        return status;
    bool done = call->outcome < OUTCOME_INVALID;
    if (call->idem.key.size > 0 && (done || outcome_stands(call->outcome)))
        return keep_answer(call, change);
    return done ? TOCSIN_OK : TOCSIN_CONFLICT; /* nothing is written */
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
    if (call->replayed)
        return; /* it was counted then; and the task may have ended since */
    if (call->outcome == OUTCOME_MADE) {
        tasks_count(tasks, TASKS_ADDED, 1);
    } else if (call->outcome == OUTCOME_OK && call->verb == TASKS_PUT) {
        tasks_count(tasks, TASKS_REPLACED, 1);
    } else if (call->outcome == OUTCOME_CONFLICTING || call->outcome == OUTCOME_UNMATCHED) {
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
        call->outcome =
            status == TOCSIN_NONE ? OUTCOME_BROKEN : outcome_of_status(status); /* what must be */
        (void)snprintf(call->why.text, sizeof call->why.text, "%s",
                       status == TOCSIN_DAMAGED ? TASKS_BROKEN_TEXT : tocsin_status_text(status));
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
    call->outcome = status == TOCSIN_INVALID ? OUTCOME_INVALID : OUTCOME_OVERLOADED;
    (void)snprintf(call->why.text, sizeof call->why.text, "tz: %.190s", why->text);
    call->done(call);
}

void tasks_start(struct tasks *tasks, struct tasks_call *call)
{
    call->tasks = tasks;
    call->unready = NULL;
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
