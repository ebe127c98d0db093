/* SPDX-License-Identifier: MIT */
#include "service/redis_keys/redis_work.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/redis/redis.h"

enum { TTL_TEXT = 24, GT_TRIES = 3 };

/* Returns 1 renewed, 0 missing, -1 for ever, -2 longer, -3 another's value; something else than
 * a text is another's, but a GET that was refused says nothing of whose it is. */
static const char script[] = "local left = redis.call('PTTL', KEYS[1]) "
                             "if left == -2 then return 0 end "
                             "if ARGV[4] == '1' then "
                             "local value = redis.pcall('GET', KEYS[1]) "
                             "if type(value) == 'table' and value.err and "
                             "not string.find(value.err, 'WRONGTYPE') then return value end "
                             "if value ~= ARGV[5] then return -3 end end "
                             "if left == -1 and ARGV[3] == '0' then return -1 end "
                             "if left > tonumber(ARGV[1]) and ARGV[2] == '0' then return -2 end "
                             "redis.call('PEXPIRE', KEYS[1], ARGV[1]) "
                             "return 1";
const char *const redis_work_scripts[REDIS_WORK_SCRIPTS] = {script};

/* A job on its way, with a call for each of its keys. */
struct work {
    struct redis_place *of;
    struct key_job *job;
    char ttl[TTL_TEXT];
    size_t ttl_size;
    uint32_t left;
    struct call {
        struct redis_call call; /* first */
        struct work *work;
        struct key_item *item;
        enum { PLAIN, BY_SCRIPT, ASK_TTL, LIMIT } step;
        unsigned tries;
    } calls[];
};

static void one_less(struct work *work)
{
    if (--work->left > 0)
        return;
    work->of->done(work->of, work->job);
    free(work);
}

static void note(struct work *work, const char *why)
{
    if (work->job->why[0] == '\0' && why != NULL)
        (void)snprintf(work->job->why, sizeof work->job->why, "%s: %s", work->of->name, why);
}

/* The result that an outcome other than ANSWERED means. */
static enum key_result result_of(enum redis_outcome outcome)
{
    switch (outcome) {
    case REDIS_ANSWERED:
        return KEY_RENEWED;
    case REDIS_REFUSED:
        return KEY_REFUSED;
    case REDIS_FAILED:
        return KEY_FAILED;
    case REDIS_UNKNOWN:
        break;
    }
    return KEY_UNKNOWN;
}

static const char *words_of(const redisReply *reply, const char *why)
{
    return reply != NULL && reply->type == REDIS_REPLY_ERROR ? reply->str : why;
}

static void ended(struct call *call, enum key_result result)
{
    call->item->result = result;
    one_less(call->work);
}

/* ---- renewing a key */

static void expire_done(struct redis_call *base, enum redis_outcome outcome,
                        const redisReply *reply, const char *why);

static void give_call(struct call *call, const struct bytes *words, size_t count)
{
    struct redis_place *of = call->work->of;
    if (of->redis == NULL) {
        note(call->work, "the server is stopping");
        ended(call, KEY_UNKNOWN);
        return;
    }
    call->call.done = expire_done;
    redis_give(of->redis, &call->call, words, count, of->timeout_ms);
}

/* PEXPIRE key ttl, with GT unless any TTL may be replaced; with XX when one that has none must
 * stay so. */
static void send_plain(struct call *call)
{
    const struct key_job *job = call->work->job;
    const char *flag = !job->may_shorten ? "GT" : !job->may_limit ? "XX" : NULL;
    struct bytes words[] = {
        bytes_of("PEXPIRE"), call->item->key, {call->work->ttl, call->work->ttl_size}, {flag, 2}};
    call->step = PLAIN;
    give_call(call, words, flag == NULL ? 3 : 4);
}

static void send_script(struct call *call)
{
    const struct key_job *job = call->work->job;
    struct redis_place *of = call->work->of;
    bool owned = job->value.at != NULL;
    if (of->redis == NULL) {
        note(call->work, "the server is stopping");
        ended(call, KEY_UNKNOWN);
        return;
    }
    struct bytes words[] = {
        {call->work->ttl, call->work->ttl_size}, bytes_of(job->may_shorten ? "1" : "0"),
        bytes_of(job->may_limit ? "1" : "0"),    bytes_of(owned ? "1" : "0"),
        owned ? job->value : bytes_of(""),
    };
    call->step = BY_SCRIPT;
    call->call.done = expire_done;
    redis_give_script(of->redis, &call->call, 0, &call->item->key, 1, words, 5, of->timeout_ms);
}

static void send_key(struct call *call)
{
    if (call->work->job->value.at != NULL || call->work->of->old)
        send_script(call);
    else
        send_plain(call);
}

static void ask_ttl(struct call *call)
{
    struct bytes words[] = {bytes_of("PTTL"), call->item->key};
    call->step = ASK_TTL;
    give_call(call, words, 2);
}

/* One that lives for ever, and may be given an end. */
static void limit(struct call *call)
{
    struct bytes words[] = {bytes_of("PEXPIRE"),
                            call->item->key,
                            {call->work->ttl, call->work->ttl_size},
                            bytes_of("NX")};
    call->step = LIMIT;
    give_call(call, words, 4);
}

/* Why PEXPIRE … said 0. */
static void told_apart(struct call *call, int64_t left_ms)
{
    const struct key_job *job = call->work->job;
    if (left_ms == -2)
        ended(call, KEY_MISSING);
    else if (left_ms == -1 && !job->may_limit)
        ended(call, KEY_PERSISTENT);
    else if (left_ms >= job->ttl_ms || call->tries++ == GT_TRIES)
        ended(call, KEY_LONGER); /* or it changes under our hands, and lives */
    else if (left_ms == -1)
        limit(call);
    else
        send_plain(call); /* it has changed since */
}

static void answered(struct call *call, int64_t number)
{
    static const enum key_result by_script[] = {KEY_FOREIGN, KEY_LONGER, KEY_PERSISTENT,
                                                KEY_MISSING, KEY_RENEWED};
    if (call->step == ASK_TTL)
        told_apart(call, number);
    else if (call->step == BY_SCRIPT && number >= -3 && number <= 1)
        ended(call, by_script[number + 3]);
    else if (number == 1)
        ended(call, KEY_RENEWED);
    else
        ask_ttl(call);
}

static void expire_done(struct redis_call *base, enum redis_outcome outcome,
                        const redisReply *reply, const char *why)
{
    struct call *call = (struct call *)base;
    bool too_old = outcome == REDIS_REFUSED && call->step == PLAIN && reply != NULL &&
                   strstr(reply->str, "wrong number of arguments") != NULL;
    if (too_old) {
        call->work->of->old = true;
        send_script(call);
        return;
    }
    if (outcome == REDIS_ANSWERED && reply->type == REDIS_REPLY_INTEGER) {
        answered(call, reply->integer);
        return;
    }
    note(call->work,
         outcome == REDIS_ANSWERED ? "an answer that makes no sense" : words_of(reply, why));
    ended(call, outcome == REDIS_ANSWERED ? KEY_REFUSED : result_of(outcome));
}

/* ---- looking */

static void ttl_done(struct redis_call *base, enum redis_outcome outcome, const redisReply *reply,
                     const char *why)
{
    struct call *call = (struct call *)base;
    bool fine = outcome == REDIS_ANSWERED && reply->type == REDIS_REPLY_INTEGER;
    call->item->ttl_ms = fine ? reply->integer : -2;
    if (!fine)
        note(call->work, words_of(reply, why));
    ended(call, result_of(outcome));
}

static void take_page(struct key_job *job, const redisReply *reply)
{
    bool fits = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                reply->element[0]->type == REDIS_REPLY_STRING &&
                reply->element[1]->type == REDIS_REPLY_ARRAY;
    job->whole = fits ? KEY_RENEWED : KEY_REFUSED;
    if (!fits)
        return;
    job->cursor = strtoull(reply->element[0]->str, NULL, 10);
    const redisReply *list = reply->element[1];
    for (size_t i = 0; i < list->elements; i++) {
        if (list->element[i]->type == REDIS_REPLY_STRING)
            key_found(job, (struct bytes){list->element[i]->str, (size_t)list->element[i]->len});
    }
    if (buffer_status(&job->found) != TOCSIN_OK)
        job->whole = KEY_FAILED;
}

static void look_done(struct redis_call *base, enum redis_outcome outcome, const redisReply *reply,
                      const char *why)
{
    struct call *call = (struct call *)base;
    struct key_job *job = call->work->job;
    job->whole = result_of(outcome);
    if (outcome == REDIS_ANSWERED && job->verb == KEY_SCAN) {
        take_page(job, reply);
    } else if (outcome == REDIS_ANSWERED) {
        job->holds =
            reply->type == REDIS_REPLY_INTEGER
                ? reply->integer == 1
                : reply->type == REDIS_REPLY_STRING &&
                      bytes_equal((struct bytes){reply->str, (size_t)reply->len}, job->value);
    } else if (outcome == REDIS_REFUSED && job->verb == KEY_TEST &&
               strncmp(reply->str, "WRONGTYPE", 9) == 0) {
        job->whole = KEY_RENEWED; /* it is something else than a text: not this value */
        job->holds = false;
    }
    if (job->whole != KEY_RENEWED)
        note(call->work, words_of(reply, why));
    one_less(call->work);
}

static void send_look(struct call *call)
{
    const struct key_job *job = call->work->job;
    struct redis_place *of = call->work->of;
    char cursor[TTL_TEXT];
    char page[TTL_TEXT];
    call->call.done = look_done;
    if (job->verb == KEY_TEST) {
        struct bytes words[] = {bytes_of(job->value.at == NULL ? "EXISTS" : "GET"),
                                job->items[0].key};
        redis_give(of->redis, &call->call, words, 2, of->timeout_ms);
        return;
    }
    (void)snprintf(cursor, sizeof cursor, "%llu", (unsigned long long)job->cursor);
    (void)snprintf(page, sizeof page, "%u", job->page);
    struct bytes words[] = {bytes_of("SCAN"), bytes_of(cursor),  bytes_of("MATCH"),
                            job->pattern,     bytes_of("COUNT"), bytes_of(page)};
    redis_give(of->redis, &call->call, words, 6, of->timeout_ms);
}

/* ---- a job has come */

void redis_work_fail(struct redis_place *of, struct key_job *job, const char *why)
{
    for (uint32_t i = 0; i < job->count; i++)
        job->items[i].result = KEY_FAILED;
    job->whole = KEY_FAILED;
    (void)snprintf(job->why, sizeof job->why, "%s: %s", of->name, why);
    of->done(of, job);
}

void redis_work_begin(struct redis_place *of, struct key_job *job)
{
    bool looks = job->verb == KEY_SCAN || job->verb == KEY_TEST;
    uint32_t count = looks ? 1 : job->count;
    struct work *work = calloc(1, sizeof *work + count * sizeof work->calls[0]);
    job->why[0] = '\0';
    if (work == NULL || count == 0) {
        free(work);
        redis_work_fail(of, job, "there was no memory");
        return;
    }
    work->of = of;
    work->job = job;
    work->left = count + 1; /* until all have been given */
    work->ttl_size = (size_t)snprintf(work->ttl, sizeof work->ttl, "%lld",
                                      (long long)(job->ttl_ms > 0 ? job->ttl_ms : 1));
    for (uint32_t i = 0; i < count; i++) {
        struct call *call = &work->calls[i];
        call->work = work; /* left keeps it: NOLINT(clang-analyzer-unix.Malloc) */
        call->item = looks ? NULL : &job->items[i];
        if (looks) {
            send_look(call);
        } else if (job->verb == KEY_TTL) {
            struct bytes words[] = {bytes_of("PTTL"), call->item->key};
            call->call.done = ttl_done;
            redis_give(of->redis, &call->call, words, 2, of->timeout_ms);
        } else {
            send_key(call);
        }
    }
    one_less(work); /* NOLINT(clang-analyzer-unix.Malloc) */
}
