/* SPDX-License-Identifier: MIT */
#include "cluster/lease_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <hiredis/hiredis.h>

#include "base/json_read.h"

enum {
    TOKEN_BYTES = 16,
    VALUE_BYTES_MAX = 512,
    MARK_BYTES = 10 + 2 * TOKEN_BYTES + 1, /* {"token":"…" */
};

enum { NO_END = -1, NO_KEY = -2 }; /* as PTTL says it */

/* KEYS[1]: the lease. ARGV: the wish, how a value of ours begins, our value, the lease in ms.
 * The first write needs no memory, so that a Redis at its maxmemory takes it; after it Redis lets
 * the other through. */
static const char script[] =
    "local wish, mark, value, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4]\n"
    "local now = redis.call('TIME')\n"
    "local held = redis.call('GET', KEYS[1])\n"
    "local ours = held and string.sub(held, 1, #mark) == mark\n"
    "local mine = 0\n"
    "if wish == 'drop' then\n"
    "  if ours then redis.call('DEL', KEYS[1]); held = false; ours = false end\n"
    "elseif (wish == 'take' and not held) or (wish ~= 'look' and ours) then\n"
    "  redis.call('PEXPIRE', KEYS[1], lease)\n"
    "  if held ~= value then redis.call('SET', KEYS[1], value, 'PX', lease) end\n"
    "  held = value\n"
    "  mine = 1\n"
    "  ours = true\n"
    "end\n"
    "return {mine, held or '', redis.call('PTTL', KEYS[1]), now[1], now[2], ours and 1 or 0}\n";

struct lease_key {
    struct lease_key_options options;
    char host[256];
    char user[256];
    char *password; /* NULL: none */
    char mark[MARK_BYTES + 1];
    redisContext *context; /* NULL: not connected */
    bool spoke;            /* the last that was checked was an answer */
};

static enum tocsin_status fail(struct tocsin_why *why, enum tocsin_status status,
                               const struct lease_key *key, const char *text)
{
    (void)snprintf(why->text, sizeof why->text, "Redis at %.100s:%u: %.80s", key->host,
                   key->options.where.port, text);
    return status;
}

/* What Redis says when it may say something else soon. */
static bool is_passing(const char *error)
{
    static const char *const words[] = {"LOADING",  "BUSY",     "MASTERDOWN", "TRYAGAIN",
                                        "READONLY", "MISCONF ", "OOM ",       "NOREPLICAS"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(error, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

static const char *said(const redisContext *context)
{
    bool late = context->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
    return late ? "it does not answer" : context->errstr;
}

static void disconnect(struct lease_key *key)
{
    if (key->context != NULL)
        redisFree(key->context);
    key->context = NULL;
}

/* Takes the reply; NULL is the connection's failure. */
static enum tocsin_status check(struct lease_key *key, redisReply *reply, struct tocsin_why *why)
{
    enum tocsin_status status = TOCSIN_OK;
    key->spoke = reply != NULL;
    if (reply == NULL)
        status = fail(why, TOCSIN_UNAVAILABLE, key, said(key->context));
    else if (reply->type == REDIS_REPLY_ERROR)
        status = fail(why, is_passing(reply->str) ? TOCSIN_UNAVAILABLE : TOCSIN_INVALID, key,
                      reply->str);
    freeReplyObject(reply);
    return status;
}

static enum tocsin_status greet(struct lease_key *key, struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_OK;
    if (key->password != NULL && key->user[0] != '\0')
        status =
            check(key, redisCommand(key->context, "AUTH %s %s", key->user, key->password), ret_why);
    else if (key->password != NULL)
        status = check(key, redisCommand(key->context, "AUTH %s", key->password), ret_why);
    if (status == TOCSIN_OK && key->options.where.database != 0)
        status = check(key, redisCommand(key->context, "SELECT %u", key->options.where.database),
                       ret_why);
    return status;
}

static enum tocsin_status connect_to(struct lease_key *key, struct tocsin_why *ret_why)
{
    struct timeval patience = {.tv_sec = key->options.timeout_ms / 1000,
                               .tv_usec = key->options.timeout_ms % 1000 * 1000};
    if (key->context != NULL)
        return TOCSIN_OK;
    key->context = redisConnectWithTimeout(key->host, (int)key->options.where.port, patience);
    if (key->context == NULL)
        return fail(ret_why, TOCSIN_NO_MEMORY, key, "no memory for a connection");
    if (key->context->err != 0)
        return fail(ret_why, TOCSIN_UNAVAILABLE, key, key->context->errstr);
    (void)redisEnableKeepAlive(key->context);
    if (redisSetTimeout(key->context, patience) != REDIS_OK)
        return fail(ret_why, TOCSIN_UNAVAILABLE, key, key->context->errstr);
    return greet(key, ret_why);
}

/* ---- who holds it */

/* Our own form only; what another program has put there is held by "?". */
static void read_holder(const redisReply *value, struct lease_answer *answer)
{
    static const char *const names[] = {"token", "node", "address", "epoch"};
    struct json_keys keys = {names, 4, 0};
    struct json_reader reader;
    size_t which;
    size_t node = 0;
    size_t address = 0;
    uint64_t epoch = 0;
    json_reader_init(&reader, value->str, value->len, 2);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        if (which == 3 && json_read_expect(&reader, JSON_READ_NUMBER))
            (void)json_read_uint64(&reader, &epoch);
        else if (which == 1 && json_read_expect(&reader, JSON_READ_STRING))
            (void)json_read_string(&reader, answer->node, LEASE_NODE_BYTES - 1, &node);
        else if (which == 2 && json_read_expect(&reader, JSON_READ_STRING))
            (void)json_read_string(&reader, answer->address, LEASE_ADDRESS_BYTES - 1, &address);
        else if (which == 0)
            (void)json_read_raw(&reader, NULL);
    }
    bool whole = json_read_finish(&reader, NULL) == TOCSIN_OK && keys.seen == 0xf;
    answer->node[whole ? node : 0] = '\0';
    answer->address[whole ? address : 0] = '\0';
    answer->epoch = whole ? epoch : 0;
    answer->foreign = !whole || answer->left_ms == NO_END;
    if (!whole)
        (void)snprintf(answer->node, LEASE_NODE_BYTES, "?");
}

static bool read_answer(const redisReply *reply, struct lease_answer *answer)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 6)
        return false;
    redisReply *const *parts = reply->element;
    if (parts[0]->type != REDIS_REPLY_INTEGER || parts[1]->type != REDIS_REPLY_STRING ||
        parts[2]->type != REDIS_REPLY_INTEGER || parts[3]->type != REDIS_REPLY_STRING ||
        parts[4]->type != REDIS_REPLY_STRING || parts[5]->type != REDIS_REPLY_INTEGER)
        return false;
    answer->mine = parts[0]->integer == 1;
    answer->ours = parts[5]->integer == 1;
    answer->left_ms = parts[2]->integer;
    answer->held = answer->left_ms != NO_KEY; /* also by an empty text */
    answer->redis_us =
        strtoll(parts[3]->str, NULL, 10) * 1000000 + strtoll(parts[4]->str, NULL, 10);
    if (answer->held)
        read_holder(parts[1], answer);
    return true;
}

/* ---- asking */

static enum tocsin_status call(struct lease_key *key, enum lease_wish wish, const char *value,
                               struct lease_answer *answer, struct tocsin_why *ret_why)
{
    static const char *const wishes[] = {
        [LEASE_LOOK] = "look", [LEASE_TAKE] = "take", [LEASE_KEEP] = "keep", [LEASE_DROP] = "drop"};
    answer->before = clock_elapsed(key->options.clock);
    redisReply *reply =
        redisCommand(key->context, "EVAL %s 1 %s %s %s %s %u", script, LEASE_KEY_NAME, wishes[wish],
                     key->mark, value, (unsigned)key->options.lease_ms);
    answer->after = clock_elapsed(key->options.clock);
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "WRONGTYPE", strlen("WRONGTYPE")) == 0) {
        freeReplyObject(reply);
        return fail(ret_why, TOCSIN_INVALID, key,
                    LEASE_KEY_NAME " holds something that is not a lease: delete it");
    }
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        return check(key, reply, ret_why);
    bool whole = read_answer(reply, answer);
    freeReplyObject(reply);
    return whole ? TOCSIN_OK
                 : fail(ret_why, TOCSIN_UNAVAILABLE, key, "an answer that is none of Redis's");
}

enum tocsin_status lease_key_ask(struct lease_key *key, enum lease_wish wish, uint64_t epoch,
                                 struct lease_answer *ret_answer, struct tocsin_why *ret_why)
{
    char value[VALUE_BYTES_MAX];
    struct lease_answer answer = {.left_ms = -1};
    (void)snprintf(value, sizeof value,
                   "%s,\"node\":\"%s\",\"address\":\"%s\",\"epoch\":%" PRIu64 "}", key->mark,
                   key->options.node, key->options.address, epoch);
    key->spoke = false;
    enum tocsin_status status = connect_to(key, ret_why);
    if (status == TOCSIN_OK)
        status = call(key, wish, value, &answer, ret_why);
    answer.spoke = status == TOCSIN_OK || key->spoke;
    *ret_answer = answer;
    if (status != TOCSIN_OK)
        disconnect(key); /* a late answer must not be taken for the next one's */
    return status;
}

/* ---- life */

static bool copy(char *room, size_t size, struct bytes text)
{
    if (text.size >= size)
        return false;
    if (text.size > 0)
        memcpy(room, text.at, text.size);
    room[text.size] = '\0';
    return true;
}

static bool draw_token(struct lease_key *key)
{
    unsigned char token[TOKEN_BYTES];
    if (getrandom(token, sizeof token, 0) != (ssize_t)sizeof token)
        return false;
    size_t at = (size_t)snprintf(key->mark, sizeof key->mark, "{\"token\":\"");
    for (size_t i = 0; i < sizeof token; i++)
        at += (size_t)snprintf(key->mark + at, sizeof key->mark - at, "%02x", token[i]);
    (void)snprintf(key->mark + at, sizeof key->mark - at, "\"");
    return true;
}

enum tocsin_status lease_key_open(const struct lease_key_options *options,
                                  struct lease_key **ret_key)
{
    const struct redis_url *where = &options->where;
    struct lease_key *key = calloc(1, sizeof *key);
    if (key == NULL)
        return TOCSIN_NO_MEMORY;
    key->options = *options;
    if (where->password.size > 0)
        key->password = strndup(where->password.at, where->password.size);
    bool made = (where->password.size == 0 || key->password != NULL) && draw_token(key);
    if (made && copy(key->host, sizeof key->host, where->host) &&
        copy(key->user, sizeof key->user, where->user)) {
        *ret_key = key;
        return TOCSIN_OK;
    }
    lease_key_close(key);
    return made ? TOCSIN_INVALID : TOCSIN_NO_MEMORY;
}

void lease_key_close(struct lease_key *key)
{
    if (key == NULL)
        return;
    disconnect(key);
    free(key->password);
    free(key);
}
