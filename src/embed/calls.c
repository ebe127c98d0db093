/* SPDX-License-Identifier: MIT */
/* What the program asks: an order for the engine's thread, and the outcome as a status. */

#include <stdio.h>
#include <stdlib.h>

#include "base/json_read.h"
#include "embed/inside.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 };

struct call_order {
    struct order order; /* first */
    struct tasks_call call;
    struct tocsin_engine *engine;
};

static void call_done(struct tasks_call *call)
{
    struct call_order *self = call->arg;
    embed_order_done(self->engine, &self->order);
}

static void call_run(struct tocsin_engine *engine, struct order *order)
{
    struct call_order *self = (struct call_order *)order;
    tasks_start(engine->tasks, &self->call);
}

enum tocsin_status embed_status_of(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_OK:
    case OUTCOME_MADE:
        return TOCSIN_OK;
    case OUTCOME_REQUESTED:
        return TOCSIN_BUSY;
    case OUTCOME_INVALID:
        return TOCSIN_INVALID;
    case OUTCOME_MISSING:
        return TOCSIN_NONE;
    case OUTCOME_CONFLICTING:
    case OUTCOME_UNMATCHED:
        return TOCSIN_CONFLICT;
    case OUTCOME_LOST:
    case OUTCOME_TO_CANCEL:
        return TOCSIN_FENCED;
    case OUTCOME_TOO_MANY:
        return TOCSIN_FULL;
    case OUTCOME_OVERLOADED:
        return TOCSIN_OVERLOADED;
    case OUTCOME_NO_SPACE:
        return TOCSIN_NO_SPACE;
    case OUTCOME_BROKEN:
        return TOCSIN_DAMAGED;
    case OUTCOME_UNAVAILABLE:
        break;
    }
    return TOCSIN_UNAVAILABLE;
}

static enum tocsin_status ask(struct tocsin_engine *engine, struct call_order *self,
                              struct tocsin_why *ret_why)
{
    self->order = (struct order){.run = call_run};
    self->engine = engine;
    self->call.done = call_done;
    self->call.arg = self;
    buffer_init(&self->call.reply.answer, ANSWER_BYTES_MAX);
    embed_order(engine, &self->order);
    if (ret_why != NULL && self->call.reply.outcome == OUTCOME_CONFLICTING)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "id: there is such a task already");
    else if (ret_why != NULL)
        *ret_why = self->call.reply.why;
    buffer_release(&self->call.reply.answer);
    return embed_status_of(self->call.reply.outcome);
}

/* ---- tasks */

static struct bytes text(const char *given)
{
    struct bytes none = {0};
    return given == NULL ? none : bytes_of(given);
}

static enum tocsin_status refuse(struct tocsin_why *ret_why, const char *why)
{
    (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", why);
    return TOCSIN_INVALID;
}

static enum tocsin_status check_payload(struct bytes payload, struct tocsin_why *ret_why)
{
    struct json_reader reader;
    struct tocsin_why why;
    if (payload.size == 0)
        return TOCSIN_OK;
    if (payload.size > TASK_PAYLOAD_BYTES_MAX)
        return refuse(ret_why, "payload: at most 64 KiB are allowed");
    json_reader_init(&reader, payload.at, payload.size, JSON_DEPTH_MAX);
    (void)json_read_raw(&reader, NULL);
    if (json_read_finish(&reader, &why) == TOCSIN_OK)
        return TOCSIN_OK;
    (void)snprintf(ret_why->text, sizeof ret_why->text, "payload: %.180s", why.text);
    return TOCSIN_INVALID;
}

static enum tocsin_status wish_of(const struct tocsin_task *given, struct task *ret_task,
                                  struct tocsin_why *ret_why)
{
    struct task task;
    task_init(&task);
    task.id = text(given->id);
    task.name = text(given->handler);
    task.queue = bytes_of(EMBED_QUEUE);
    task.payload = text(given->payload);
    task.has_delay = given->delay_ms != 0;
    task.delay_ms = given->delay_ms;
    task.has_at = given->at_ms != 0;
    task.at_ms = given->at_ms;
    task.every_ms = given->every_ms;
    task.rhythm = given->every_ms != 0 ? TASK_EVERY : given->cron != NULL ? TASK_CRON : TASK_ONCE;
    task.cron = text(given->cron);
    if (given->zone != NULL)
        task.zone = text(given->zone);
    task.repeat = task.left = given->repeat > 0 ? given->repeat : -1;
    task.retries_max = given->no_retries ? 0 : given->retries > 0 ? given->retries : 3;
    if (given->timeout_ms != 0)
        task.timeout_ms = given->timeout_ms;
    if (task_id_valid(task.id, "id", ret_why) != TOCSIN_OK ||
        task_id_valid(task.name, "handler", ret_why) != TOCSIN_OK ||
        check_payload(task.payload, ret_why) != TOCSIN_OK)
        return TOCSIN_INVALID;
    bool scheduled = given->every_ms != 0 || given->cron != NULL;
    if (given->every_ms != 0 && given->cron != NULL)
        return refuse(ret_why, "every_ms: not together with a cron");
    if (given->zone != NULL && given->cron == NULL)
        return refuse(ret_why, "zone: only a cron has one");
    if (given->repeat < 0 || (given->repeat != 0 && !scheduled))
        return refuse(ret_why, "repeat: 0 for ever, or more, and only with every_ms or cron");
    if (given->delay_ms < 0 || given->delay_ms > TASK_DELAY_MAX_MS)
        return refuse(ret_why, "delay_ms: from 0 to 2^53");
    if (given->every_ms < 0 || given->every_ms > TASK_DELAY_MAX_MS)
        return refuse(ret_why, "every_ms: from 0 to 2^53");
    if (given->timeout_ms < 0 || given->timeout_ms > TASK_DELAY_MAX_MS)
        return refuse(ret_why, "timeout_ms: from 0 to 2^53");
    if (given->delay_ms != 0 && given->at_ms != 0)
        return refuse(ret_why, "delay_ms: not together with at_ms");
    if (given->cron != NULL && (given->delay_ms != 0 || given->at_ms != 0))
        return refuse(ret_why, "cron: not together with delay_ms or at_ms");
    if (given->cron != NULL) {
        struct cron cron;
        if (cron_parse(task.cron.at, task.cron.size, &cron, ret_why) != TOCSIN_OK)
            return TOCSIN_INVALID;
    }
    if (!task_check(&task))
        return refuse(ret_why, "at_ms, retries, zone: one is out of range");
    *ret_task = task;
    return TOCSIN_OK;
}

static enum tocsin_status put(struct tocsin_engine *engine, const struct tocsin_task *given,
                              enum tasks_verb verb, struct tocsin_why *ret_why)
{
    struct tocsin_why unwanted;
    struct task task;
    enum tocsin_status status = wish_of(given, &task, ret_why != NULL ? ret_why : &unwanted);
    if (status != TOCSIN_OK)
        return status;
    struct call_order *self = calloc(1, sizeof *self);
    if (self == NULL)
        return TOCSIN_NO_MEMORY;
    self->call.verb = verb;
    self->call.id = task.id;
    self->call.wish = &task;
    self->call.brief = true;
    status = ask(engine, self, ret_why);
    free(self);
    return status;
}

enum tocsin_status tocsin_engine_add(struct tocsin_engine *engine, const struct tocsin_task *task,
                                     struct tocsin_why *ret_why)
{
    return put(engine, task, TASKS_CREATE, ret_why);
}

enum tocsin_status tocsin_engine_replace(struct tocsin_engine *engine,
                                         const struct tocsin_task *task, struct tocsin_why *ret_why)
{
    return put(engine, task, TASKS_PUT, ret_why);
}

enum tocsin_status tocsin_engine_cancel(struct tocsin_engine *engine, const char *id)
{
    struct call_order *self = calloc(1, sizeof *self);
    if (self == NULL)
        return TOCSIN_NO_MEMORY;
    self->call.verb = TASKS_DELETE;
    self->call.id = bytes_of(id);
    enum tocsin_status status = ask(engine, self, NULL);
    free(self);
    return status;
}

/* ---- runs */

enum tocsin_status embed_finish(struct tocsin_engine *engine, uint64_t fence,
                                enum tocsin_status status, const char *error)
{
    char run[32];
    struct call_order *self = calloc(1, sizeof *self);
    if (self == NULL)
        return TOCSIN_NO_MEMORY;
    (void)snprintf(run, sizeof run, "r%llx", (unsigned long long)fence);
    self->call.verb = status == TOCSIN_OK ? TASKS_ACK : TASKS_NACK;
    self->call.id = bytes_of(run);
    self->call.error = text(error);
    enum tocsin_status ended = ask(engine, self, NULL);
    free(self);
    (void)pthread_mutex_lock(&engine->lock);
    engine->executed += ended == TOCSIN_OK && status == TOCSIN_OK;
    engine->attempts_failed += status != TOCSIN_OK;
    (void)pthread_mutex_unlock(&engine->lock);
    return ended;
}

enum tocsin_status tocsin_engine_finish(struct tocsin_engine *engine, uint64_t fence,
                                        enum tocsin_status status, const char *error)
{
    return embed_finish(engine, fence, status, error);
}

/* ---- looking */

struct describe_order {
    struct order order; /* first */
    struct tocsin_engine_stats *stats;
};

static void describe(struct tocsin_engine *engine, struct order *order)
{
    struct describe_order *self = (struct describe_order *)order;
    struct engine_stats stats;
    struct tasks_stats tasks;
    engine_describe(engine->engine, &stats);
    tasks_describe(engine->tasks, &tasks);
    self->stats->tasks = stats.records;
    self->stats->running = tasks.leased;
    self->stats->incidents = tasks.incidents;
    embed_order_done(engine, order);
}

void tocsin_engine_describe(struct tocsin_engine *engine, struct tocsin_engine_stats *ret_stats)
{
    struct describe_order self = {{.run = describe}, ret_stats};
    embed_order(engine, &self.order);
    (void)pthread_mutex_lock(&engine->lock);
    ret_stats->executed = engine->executed;
    ret_stats->failed = engine->attempts_failed;
    (void)pthread_mutex_unlock(&engine->lock);
}
