/* SPDX-License-Identifier: MIT */
/* Calls: given, waiting, past their deadline, done. And the client's own beginning and end. */
#include "redis_inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/sha.h>

static void on_deadline(uv_timer_t *timer);
static void on_end_of_turn(uv_check_t *check);
static void on_idle(uv_idle_t *idle);
static void on_handle_closed(uv_handle_t *handle);

int64_t redis_now_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

/* ---- queues */

void redis_queue_append(struct redis_queue *queue, struct redis_call *call)
{
    call->next = NULL;
    call->previous = queue->last;
    if (queue->last == NULL) {
        queue->first = call;
        queue->unordered = false;
    } else {
        queue->last->next = call;
        queue->unordered |= call->deadline < queue->last->deadline;
    }
    queue->last = call;
}

void redis_queue_remove(struct redis_queue *queue, struct redis_call *call)
{
    if (call->previous == NULL)
        queue->first = call->next;
    else
        call->previous->next = call->next;
    if (call->next == NULL)
        queue->last = call->previous;
    else
        call->next->previous = call->previous;
}

struct redis_call *redis_queue_take(struct redis_queue *queue)
{
    struct redis_call *call = queue->first;
    if (call != NULL)
        redis_queue_remove(queue, call);
    return call;
}

/* ---- how a call ends */

static uint64_t *place_of(struct redis *redis, const struct redis_call *call)
{
    return call->sent ? &redis->stats.flying : &redis->stats.waiting;
}

void redis_end_call(struct redis *redis, struct redis_call *call, enum redis_outcome outcome,
                    const struct redisReply *reply, const char *why)
{
    redis_command_drop(&redis->chunks, call);
    if (!call->internal) {
        uint64_t *const counters[] = {
            [REDIS_ANSWERED] = &redis->stats.answered,
            [REDIS_REFUSED] = &redis->stats.refused,
            [REDIS_FAILED] = &redis->stats.failed,
            [REDIS_UNKNOWN] = &redis->stats.unknown,
        };
        ++*counters[outcome];
        --*place_of(redis, call);
    }
    call->redis = NULL;
    call->done(call, outcome, reply, why);
}

static void fail_at_once(struct redis *redis, struct redis_call *call, const char *why)
{
    redis->stats.given++;
    redis->stats.failed++;
    call->redis = NULL;
    call->done(call, REDIS_FAILED, NULL, why);
}

static void load_again(struct redis *redis, struct redis_script *script)
{
    if (script->loading)
        return;
    struct bytes words[] = {bytes_of("SCRIPT"), bytes_of("LOAD"), script->text};
    struct redis_words list = {words, 3};
    script->load.deadline = INT64_MAX;
    script->load.sent = false;
    if (redis_command_store(&redis->chunks, &script->load, &list, 1) != NULL)
        return; /* no memory: the call is refused the second time, and says NOSCRIPT */
    script->loading = true;
    redis_queue_append(&redis->waiting, &script->load);
}

/* Nothing was done: it waits again, behind the script. */
static void run_again(struct redis *redis, struct redis_call *call)
{
    load_again(redis, &redis->scripts[call->script - 1]);
    call->again = true;
    --*place_of(redis, call);
    call->sent = false;
    ++*place_of(redis, call);
    redis_queue_append(&redis->waiting, call);
    redis_at_end(redis);
}

static bool says_noscript(const struct redisReply *reply)
{
    return reply->len >= 8 && memcmp(reply->str, "NOSCRIPT", 8) == 0;
}

void redis_answer(struct redis *redis, const struct redisReply *reply)
{
    struct redis_call *call = redis_queue_take(&redis->flying);
    bool refused = reply->type == REDIS_REPLY_ERROR;
    if (!call->internal)
        redis->link->answered = true;
    if (refused && call->script != 0 && !call->again && says_noscript(reply))
        run_again(redis, call);
    else
        redis_end_call(redis, call, refused ? REDIS_REFUSED : REDIS_ANSWERED, reply, NULL);
}

/* ---- deadlines */

static void arm_deadline(struct redis *redis)
{
    if (redis->earliest_ms == INT64_MAX || redis->finished)
        return;
    int64_t at_ms = redis->earliest_ms;
    if (at_ms < redis->looked_ms + REDIS_SCAN_MS)
        at_ms = redis->looked_ms + REDIS_SCAN_MS;
    int64_t delay_ms = at_ms - (int64_t)uv_now(redis->uv);
    (void)uv_timer_start(&redis->deadline, on_deadline, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

static void note_deadline(struct redis *redis, int64_t deadline_ms)
{
    if (deadline_ms >= redis->earliest_ms)
        return;
    redis->earliest_ms = deadline_ms;
    arm_deadline(redis);
}

/* Moves those that are past to the other queue, or with NULL only looks for one. */
static bool take_past(struct redis *redis, struct redis_queue *queue, int64_t now_ms,
                      struct redis_queue *past)
{
    struct redis_call *next = queue->first;
    while (next != NULL) {
        struct redis_call *call = next;
        next = call->next;
        if (call->deadline > now_ms) {
            if (call->deadline < redis->earliest_ms)
                redis->earliest_ms = call->deadline;
            if (!queue->unordered)
                break;
            continue;
        }
        if (past == NULL)
            return true;
        redis_queue_remove(queue, call);
        redis_queue_append(past, call);
    }
    return false;
}

static const char *why_not_sent(const struct redis *redis)
{
    return redis->state == REDIS_READY ? "redis does not take it in time" : redis->why;
}

void redis_expire(struct redis *redis, int64_t now_ms)
{
    struct redis_queue past = {0};
    redis->earliest_ms = INT64_MAX;
    redis->looked_ms = now_ms;
    if (take_past(redis, &redis->flying, now_ms, NULL))
        redis_link_lost(redis->link, "no answer in time");
    (void)take_past(redis, &redis->waiting, now_ms, &past);
    arm_deadline(redis);
    char why[REDIS_WHY_BYTES];
    (void)snprintf(why, sizeof why, "%s", why_not_sent(redis));
    struct redis_call *call;
    while ((call = redis_queue_take(&past)) != NULL)
        redis_end_call(redis, call, REDIS_FAILED, NULL, why);
}

static void on_deadline(uv_timer_t *timer)
{
    redis_expire(timer->data, redis_now_ms());
}

/* ---- giving */

static void give(struct redis *redis, struct redis_call *call, const struct redis_words *lists,
                 size_t list_count, uint32_t timeout_ms)
{
    if (redis->closing) {
        fail_at_once(redis, call, "the client of redis is closed");
        return;
    }
    if (redis->stats.waiting + redis->stats.flying >= redis->options.calls_max) {
        fail_at_once(redis, call, "too many calls wait for redis");
        return;
    }
    const char *why = redis_command_store(&redis->chunks, call, lists, list_count);
    if (why != NULL) {
        fail_at_once(redis, call, why);
        return;
    }
    call->redis = redis;
    call->deadline = redis_now_ms() + 1 + timeout_ms; /* now is rounded down */
    call->number = redis->stats.given++;
    call->sent = call->again = call->internal = false;
    redis->stats.waiting++;
    redis_queue_append(&redis->waiting, call);
    note_deadline(redis, call->deadline);
    redis_at_end(redis);
}

void redis_give(struct redis *redis, struct redis_call *call, const struct bytes *words,
                size_t count, uint32_t timeout_ms)
{
    struct redis_words list = {words, count};
    assert(count > 0);
    call->script = 0;
    give(redis, call, &list, 1, timeout_ms);
}

void redis_give_script(struct redis *redis, struct redis_call *call, size_t script,
                       const struct bytes *keys, size_t key_count, const struct bytes *words,
                       size_t count, uint32_t timeout_ms)
{
    assert(script < redis->options.script_count);
    char number[24];
    (void)snprintf(number, sizeof number, "%zu", key_count);
    struct bytes head[] = {bytes_of("EVALSHA"), bytes_of(redis->scripts[script].sha),
                           bytes_of(number)};
    struct redis_words lists[] = {{head, 3}, {keys, key_count}, {words, count}};
    call->script = script + 1;
    give(redis, call, lists, 3, timeout_ms);
}

bool redis_connected(const struct redis *redis)
{
    return redis->state == REDIS_READY;
}

void redis_describe(const struct redis *redis, struct redis_stats *ret_stats)
{
    *ret_stats = redis->stats;
}

/* ---- the end of a turn */

void redis_at_end(struct redis *redis)
{
    if (redis->at_end || redis->finished)
        return;
    redis->at_end = true;
    (void)uv_check_start(&redis->check, on_end_of_turn);
    (void)uv_idle_start(&redis->idle, on_idle);
}

static void finish(struct redis *redis)
{
    redis->finished = true;
    if (redis->link != NULL)
        redis_link_lost(redis->link, "the client was closed");
    uv_handle_t *handles[] = {(uv_handle_t *)&redis->timer, (uv_handle_t *)&redis->deadline,
                              (uv_handle_t *)&redis->check, (uv_handle_t *)&redis->idle};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
        uv_close(handles[i], on_handle_closed);
}

static void close_step(struct redis *redis)
{
    struct redis_call *call;
    while ((call = redis_queue_take(&redis->waiting)) != NULL)
        redis_end_call(redis, call, REDIS_FAILED, NULL, "the client of redis was closed");
    if (redis->stats.flying == 0 || redis_now_ms() >= redis->close_ms)
        finish(redis);
}

static void on_end_of_turn(uv_check_t *check)
{
    struct redis *redis = check->data;
    int64_t now_ms = redis_now_ms();
    redis->at_end = false;
    (void)uv_check_stop(&redis->check);
    (void)uv_idle_stop(&redis->idle);
    if (redis->earliest_ms <= now_ms)
        redis_expire(redis, now_ms); /* what is past is not sent */
    if (redis->closing && !redis->finished)
        close_step(redis);
    if (redis->link != NULL && redis->state >= REDIS_HELLO)
        redis_link_write(redis->link);
}

/* It is there so that the loop does not sleep before the end of the turn. */
static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

/* ---- the end of the client */

void redis_gone_if_closed(struct redis *redis)
{
    if (redis->handles > 0 || redis->links > 0)
        return;
    void (*closed)(void *) = redis->closed;
    void *arg = redis->closed_arg;
    redis_chunks_release(&redis->chunks);
    free(redis->scripts);
    free(redis->hellos);
    free(redis->texts);
    free(redis);
    if (closed != NULL)
        closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct redis *redis = handle->data;
    redis->handles--;
    redis_gone_if_closed(redis);
}

static void on_close_wait(uv_timer_t *timer)
{
    redis_at_end(timer->data);
}

void redis_close(struct redis *redis, uint32_t wait_ms, void (*closed)(void *arg), void *arg)
{
    assert(!redis->closing);
    redis->closing = true;
    redis->closed = closed;
    redis->closed_arg = arg;
    redis->close_ms = redis_now_ms() + wait_ms;
    redis->stats.retry_ms = 0;
    int64_t delay_ms = redis->close_ms - (int64_t)uv_now(redis->uv);
    (void)uv_timer_start(&redis->timer, on_close_wait, (uint64_t)delay_ms, 0);
    redis_at_end(redis);
}

/* ---- its beginning */

static char *copy_text(char **at, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return NULL;
    char *copy = *at;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static size_t text_size(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static bool copy_texts(struct redis *redis, const struct redis_options *options)
{
    size_t size =
        text_size(options->host) + text_size(options->user) + text_size(options->password);
    for (size_t i = 0; i < options->script_count; i++)
        size += text_size(options->scripts[i]);
    redis->texts = malloc(size);
    redis->scripts = calloc(options->script_count + 1, sizeof redis->scripts[0]);
    redis->hellos = calloc(options->script_count + 3, sizeof redis->hellos[0]);
    if (redis->texts == NULL || redis->scripts == NULL || redis->hellos == NULL)
        return false;
    char *at = redis->texts;
    redis->options.host = copy_text(&at, options->host);
    redis->options.user = copy_text(&at, options->user);
    redis->options.password = copy_text(&at, options->password);
    for (size_t i = 0; i < options->script_count; i++)
        redis->scripts[i].text = bytes_of(copy_text(&at, options->scripts[i]));
    return true;
}

static void on_loaded(struct redis_call *call, enum redis_outcome outcome,
                      const struct redisReply *reply, const char *why)
{
    struct redis_script *script = call->arg;
    (void)outcome; /* when it was not loaded, those behind it say so */
    (void)reply;
    (void)why;
    script->loading = false;
}

static void name_scripts(struct redis *redis)
{
    for (size_t i = 0; i < redis->options.script_count; i++) {
        struct redis_script *script = &redis->scripts[i];
        unsigned char digest[SHA_DIGEST_LENGTH];
        (void)SHA1((const unsigned char *)script->text.at, script->text.size, digest);
        for (size_t j = 0; j < sizeof digest; j++)
            (void)snprintf(script->sha + 2 * j, 3, "%02x", digest[j]);
        script->load = (struct redis_call){.done = on_loaded, .arg = script, .internal = true};
    }
}

static void fill_defaults(struct redis *redis)
{
    struct redis_options *options = &redis->options;
    const struct {
        uint32_t *value;
        uint32_t otherwise;
    } rows[] = {
        {&options->connect_ms, 5000},
        {&options->retry_ms, 100},
        {&options->retry_cap_ms, 5000},
        {&options->calls_max, 100000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (*rows[i].value == 0)
            *rows[i].value = rows[i].otherwise;
    redis->backoff = (struct backoff){
        .base_ms = options->retry_ms, .cap_ms = options->retry_cap_ms, .factor = 2, .jitter = 0.5};
    redis->chance = options->seed;
    bool bare = strchr(options->host, ':') == NULL;
    (void)snprintf(redis->where, sizeof redis->where, bare ? "%.255s:%u" : "[%.255s]:%u",
                   options->host, (unsigned)options->port);
    (void)snprintf(redis->why, sizeof redis->why, "cannot connect to redis at %s: no answer yet",
                   redis->where);
}

static void init_handles(struct redis *redis)
{
    /* libuv's init of these four cannot fail. */
    (void)uv_timer_init(redis->uv, &redis->timer);
    (void)uv_timer_init(redis->uv, &redis->deadline);
    (void)uv_check_init(redis->uv, &redis->check);
    (void)uv_idle_init(redis->uv, &redis->idle);
    redis->timer.data = redis->deadline.data = redis->check.data = redis->idle.data = redis;
    redis->handles = 4;
}

enum tocsin_status redis_create(struct uv_loop_s *uv, const struct redis_options *options,
                                struct redis **ret_redis)
{
    if (options->host == NULL || options->host[0] == '\0' || options->port == 0)
        return TOCSIN_INVALID;
    for (size_t i = 0; i < options->script_count; i++)
        if (options->scripts[i] == NULL || options->scripts[i][0] == '\0')
            return TOCSIN_INVALID;
    struct redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL)
        return TOCSIN_NO_MEMORY;
    redis->uv = uv;
    redis->options = *options;
    redis->options.scripts = NULL;
    redis->earliest_ms = INT64_MAX;
    if (!copy_texts(redis, options)) {
        free(redis->scripts);
        free(redis->hellos);
        free(redis->texts);
        free(redis);
        return TOCSIN_NO_MEMORY;
    }
    name_scripts(redis);
    fill_defaults(redis);
    init_handles(redis);
    redis_connect_later(redis, 0);
    *ret_redis = redis;
    return TOCSIN_OK;
}
