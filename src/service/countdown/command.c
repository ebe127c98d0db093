/* SPDX-License-Identifier: MIT */
/* What is asked from outside, as changes. Each verb may run several times (engine.h) and has no
 * effect but what it stages and what it writes into its call. */

#include "service/countdown/countdowns_inside.h"

/* False: refused, by If-Match or If-None-Match. NULL: there is none. */
static bool matches(struct countdown_call *call, const struct engine_record *record)
{
    return conditions_hold(&call->conditions, record != NULL, record != NULL ? record->rev : 0,
                           &call->reply);
}

static void answer(struct countdown_call *call, const struct countdown *countdown)
{
    struct json_writer writer;
    json_writer_init(&writer, &call->reply.answer);
    countdown_write(&writer, call->countdowns->engine, countdown);
    call->reply.rev = countdown->rev;
}

/* Those of another service are its own business: its records must agree with them. */
static bool is_ours(struct countdown_call *call, struct bytes key, struct bytes kind)
{
    const struct countdowns *all = call->countdowns;
    for (size_t i = 0; i < all->kind_count; i++) {
        struct bytes name = bytes_of(all->kinds[i]->name);
        bool reserved = key.size > name.size && memcmp(key.at, name.at, name.size) == 0 &&
                        key.at[name.size] == ':';
        if (!reserved && !bytes_equal(kind, name))
            continue;
        (void)reply_refuse(&call->reply, OUTCOME_CONFLICTING,
                           "%s: such countdowns belong to %s, and change with it alone",
                           reserved ? "key" : "kind", all->kinds[i]->name);
        return false;
    }
    return true;
}

static enum tocsin_status start_new(struct countdown_call *call, struct change *change,
                                    enum outcome outcome)
{
    struct countdowns *all = call->countdowns;
    struct engine *engine = all->engine;
    struct countdown it = {
        .key = call->key,
        .home = call->key,
        .owner = call->owner,
        .version = call->version,
        .kind = call->kind,
        .state = COUNTDOWN_RUNNING,
        .deadline_ms = call->at_ms,
        .basis = STORE_WALL,
        .started_ms = engine_wall_ms(engine),
    };
    if (call->for_ms >= 0)
        countdown_run_for(engine, &it, call->for_ms);
    enum tocsin_status status = countdown_change(all, change, &it, "started");
    if (status != TOCSIN_OK)
        return status;
    call->reply.outcome = outcome;
    answer(call, &it);
    return TOCSIN_OK;
}

static bool full(const struct countdowns *all)
{
    uint64_t count = 0;
    for (int state = COUNTDOWN_RUNNING; state <= COUNTDOWN_FIRING; state++)
        count += engine_mark_count(all->engine, all->kind, (uint8_t)state);
    return count + all->live_staged >= all->limits.countdowns;
}

/* Also of one that runs, or is over: then it stays as it is. */
static enum tocsin_status resume(struct countdown_call *call, struct change *change,
                                 struct countdown *it)
{
    enum tocsin_status status = TOCSIN_OK;
    if (it->state == COUNTDOWN_PAUSED)
        status = countdown_run_on(call->countdowns, change, it);
    if (status == TOCSIN_OK)
        answer(call, it);
    return status;
}

enum { SHOWN_BYTES_MAX = 48 };

/* As much of it as a refusal has room for, in whole letters. */
static int shown_size(struct bytes word)
{
    size_t size = word.size < SHOWN_BYTES_MAX ? word.size : SHOWN_BYTES_MAX;
    while (size < word.size && size > 0 && ((unsigned char)word.at[size] & 0xC0) == 0x80)
        size--;
    return (int)size;
}

/* The same turn keeps what it has (C-18). But it is not another's all of a sudden. */
static enum tocsin_status start_same(struct countdown_call *call, struct change *change,
                                     struct countdown *it)
{
    if (bytes_equal(it->owner, call->owner) &&
        (call->any_kind || bytes_equal(it->kind, call->kind)))
        return resume(call, change, it);
    return reply_refuse(
        &call->reply, OUTCOME_CONFLICTING,
        "version: it is there with owner \"%.*s\" and kind \"%.*s\": with another owner "
        "or kind it needs another version",
        shown_size(it->owner), it->owner.at, shown_size(it->kind), it->kind.at);
}

static enum tocsin_status start(struct countdown_call *call, struct change *change)
{
    struct countdowns *all = call->countdowns;
    struct engine_record record;
    struct countdown_words words;
    struct countdown it;
    if (!is_ours(call, call->key, call->kind))
        return TOCSIN_OK;
    enum tocsin_status status = change_get(change, all->kind, call->key, &record);
    if (status == TOCSIN_NONE) {
        if (!matches(call, NULL))
            return TOCSIN_OK;
        if (full(all))
            return reply_refuse(&call->reply, OUTCOME_TOO_MANY,
                                "as many countdowns as may (limits.countdowns): try again later");
        return start_new(call, change, OUTCOME_MADE);
    }
    if (status == TOCSIN_OK)
        status = countdown_decode(&record, &words, &it);
    if (status != TOCSIN_OK)
        return status;
    if (!matches(call, &record))
        return TOCSIN_OK;
    if (!bytes_equal(it.version, call->version))
        return start_new(call, change, OUTCOME_OK);
    return start_same(call, change, &it);
}

static enum tocsin_status stop(struct countdown_call *call, struct change *change,
                               struct countdown *it)
{
    enum tocsin_status status = countdown_end(call->countdowns, change, it);
    if (status == TOCSIN_OK)
        answer(call, it);
    return status;
}

static enum tocsin_status pause(struct countdown_call *call, struct change *change,
                                struct countdown *it)
{
    if (it->state == COUNTDOWN_PAUSED) {
        answer(call, it);
        return TOCSIN_OK;
    }
    it->left_ms = countdown_left_ms(call->countdowns->engine, it);
    if (it->left_ms == 0)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "its time is over");
    it->state = COUNTDOWN_PAUSED;
    it->deadline_ms = STORE_NEVER;
    enum tocsin_status status = countdown_change(call->countdowns, change, it, "paused");
    if (status == TOCSIN_OK)
        answer(call, it);
    return status;
}

static enum tocsin_status give(struct countdown_call *call, struct change *change,
                               struct countdown *it)
{
    struct engine *engine = call->countdowns->engine;
    int64_t left = countdown_left_ms(engine, it);
    if (left == 0)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "its time is over");
    if (left > COUNTDOWN_MS_MAX - call->give_ms)
        return reply_refuse(&call->reply, OUTCOME_INVALID,
                            "ms: with this it would have more than 100 years");
    if (it->state == COUNTDOWN_PAUSED) {
        it->left_ms += call->give_ms;
    } else {
        it->deadline_ms += call->give_ms;
        it->told_ms += call->give_ms;
    }
    enum tocsin_status status = countdown_change(call->countdowns, change, it, "given");
    if (status == TOCSIN_OK)
        answer(call, it);
    return status;
}

/* Those that need one. */
static enum tocsin_status change_one(struct countdown_call *call, struct change *change)
{
    static enum tocsin_status (*const verbs[])(struct countdown_call *, struct change *,
                                               struct countdown *) = {
        [COUNTDOWN_STOP] = stop,
        [COUNTDOWN_PAUSE] = pause,
        [COUNTDOWN_RESUME] = resume,
        [COUNTDOWN_GIVE] = give,
    };
    struct engine_record record;
    struct countdown_words words;
    struct countdown it;
    enum tocsin_status status = change_get(change, call->countdowns->kind, call->key, &record);
    if (status == TOCSIN_NONE) {
        return matches(call, NULL)
                   ? reply_refuse(&call->reply, OUTCOME_MISSING, "there is no such countdown")
                   : TOCSIN_OK;
    }
    if (status == TOCSIN_OK)
        status = countdown_decode(&record, &words, &it);
    if (status != TOCSIN_OK)
        return status;
    if (!matches(call, &record) || !is_ours(call, it.key, it.kind))
        return TOCSIN_OK;
    if (countdown_over(&it) && call->verb != COUNTDOWN_STOP)
        return reply_refuse(&call->reply, OUTCOME_CONFLICTING, "its time is over");
    return verbs[call->verb](call, change, &it);
}

/* ---- running a call */

static enum tocsin_status run(void *arg, struct change *change)
{
    struct countdown_call *call = arg;
    struct idem *idem = call->countdowns->idem;
    enum tocsin_status status = idem_replay(idem, change, &call->idem, &call->reply);
    if (status != TOCSIN_NONE)
        return status;
    status = call->verb == COUNTDOWN_START ? start(call, change) : change_one(call, change);
    return status == TOCSIN_OK ? idem_keep(idem, change, &call->idem, call->key, &call->reply)
                               : status;
}

static void settled(void *arg, enum tocsin_status status)
{
    struct countdown_call *call = arg;
    reply_settle(&call->reply, status);
    call->done(call);
}

void countdowns_ask(struct countdowns *countdowns, struct countdown_call *call)
{
    call->countdowns = countdowns;
    engine_change(countdowns->engine, call->verb == COUNTDOWN_STOP, run, settled, call);
}
