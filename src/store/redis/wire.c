/* SPDX-License-Identifier: MIT */
#include "store/redis/wire.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "schedule/reason.h"

static char *copy(struct bytes text)
{
    char *kept = malloc(text.size + 1);
    if (kept != NULL) {
        if (text.size > 0)
            memcpy(kept, text.at, text.size);
        kept[text.size] = '\0';
    }
    return kept;
}

bool wire_init(struct wire *wire, const struct redis_url *where, uint32_t timeout_ms)
{
    *wire = (struct wire){
        .host = copy(where->host),
        .port = where->port,
        .database = where->database,
        .timeout_ms = timeout_ms,
    };
    if (where->user.size > 0)
        wire->user = copy(where->user);
    if (where->password.size > 0)
        wire->password = copy(where->password);
    if (wire->host != NULL && (wire->user != NULL || where->user.size == 0) &&
        (wire->password != NULL || where->password.size == 0))
        return true;
    wire_release(wire);
    return false;
}

void wire_drop(struct wire *wire)
{
    if (wire->context != NULL)
        redisFree(wire->context);
    wire->context = NULL;
}

void wire_release(struct wire *wire)
{
    wire_drop(wire);
    free(wire->host);
    free(wire->user);
    free(wire->password);
    *wire = (struct wire){0};
}

static void broke(struct wire *wire, const char *why, struct tocsin_why *ret_why)
{
    (void)reason_say(ret_why, TOCSIN_UNAVAILABLE, "Redis at %s:%u: %s", wire->host, wire->port,
                     why);
    wire_drop(wire);
}

static const char *words_of(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK ? "no answer in time" : strerror(error);
}

/* Without hiredis: it would copy all of it once more, and die of a connection that was closed. */
static bool send_all(struct wire *wire, const char *at, size_t size, struct tocsin_why *ret_why)
{
    while (size > 0) {
        ssize_t sent = send(wire->context->fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {
            broke(wire, words_of(errno), ret_why);
            return false;
        }
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static redisReply *take_reply(struct wire *wire, struct tocsin_why *ret_why)
{
    void *reply = NULL;
    errno = 0;
    if (redisGetReply(wire->context, &reply) == REDIS_OK && reply != NULL)
        return reply;
    bool failed = wire->context->err == REDIS_ERR_IO && errno != 0;
    broke(wire, failed ? words_of(errno) : wire->context->errstr, ret_why);
    return NULL;
}

redisReply *wire_ask_formatted(struct wire *wire, const char *command, size_t size,
                               struct tocsin_why *ret_why)
{
    return send_all(wire, command, size, ret_why) ? take_reply(wire, ret_why) : NULL;
}

enum { WORDS_MAX = 160 };

static bool send_words(struct wire *wire, const struct bytes *words, size_t count,
                       struct tocsin_why *ret_why)
{
    const char *at[WORDS_MAX];
    size_t sizes[WORDS_MAX];
    char *command = NULL;
    assert(count <= WORDS_MAX);
    for (size_t i = 0; i < count; i++) {
        at[i] = words[i].at;
        sizes[i] = words[i].size;
    }
    int size = redisFormatCommandArgv(&command, (int)count, at, sizes);
    if (size < 0) {
        broke(wire, "no memory for a command", ret_why);
        return false;
    }
    bool sent = send_all(wire, command, (size_t)size, ret_why);
    redisFreeCommand(command);
    return sent;
}

redisReply *wire_ask(struct wire *wire, const struct bytes *words, size_t count,
                     struct tocsin_why *ret_why)
{
    return send_words(wire, words, count, ret_why) ? take_reply(wire, ret_why) : NULL;
}

/* Redis closes a connection that was idle for long, or has been started again: then it has not
 * to be found out by a command whose fate is unknown. */
static bool is_open(const struct wire *wire)
{
    char byte;
    if (wire->context == NULL)
        return false;
    ssize_t got = recv(wire->context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static enum tocsin_status say_hello(struct wire *wire, const struct bytes *words, size_t count,
                                    struct tocsin_why *ret_why)
{
    redisReply *reply = wire_ask(wire, words, count, ret_why);
    if (reply == NULL)
        return TOCSIN_UNAVAILABLE;
    enum tocsin_status status = TOCSIN_OK;
    if (reply->type == REDIS_REPLY_ERROR) {
        bool never = wire_error_has(reply->str, "NOAUTH") || wire_error_has(reply->str, "NOPERM") ||
                     !wire_error_passes(reply->str);
        status = never ? TOCSIN_INVALID : TOCSIN_UNAVAILABLE;
        (void)reason_say(ret_why, status, "Redis at %s:%u does not let us in: %s", wire->host,
                         wire->port, reply->str);
        wire_drop(wire);
    }
    freeReplyObject(reply);
    return status;
}

enum tocsin_status wire_connect(struct wire *wire, struct tocsin_why *ret_why)
{
    if (is_open(wire))
        return TOCSIN_OK;
    wire_drop(wire);
    struct timeval patience = {.tv_sec = wire->timeout_ms / 1000,
                               .tv_usec = (suseconds_t)(wire->timeout_ms % 1000) * 1000};
    redisContext *context = redisConnectWithTimeout(wire->host, (int)wire->port, patience);
    if (context == NULL || context->err != 0 || redisSetTimeout(context, patience) != REDIS_OK) {
        (void)reason_say(ret_why, TOCSIN_UNAVAILABLE, "cannot reach Redis at %s:%u: %s", wire->host,
                         wire->port, context == NULL ? "no memory" : context->errstr);
        if (context != NULL)
            redisFree(context);
        return TOCSIN_UNAVAILABLE;
    }
    wire->context = context;
    enum tocsin_status status = TOCSIN_OK;
    if (wire->password != NULL) {
        struct bytes words[] = {bytes_of("AUTH"), bytes_of(wire->user != NULL ? wire->user : ""),
                                bytes_of(wire->password)};
        if (wire->user == NULL)
            words[1] = words[2];
        status = say_hello(wire, words, wire->user != NULL ? 3 : 2, ret_why);
    }
    char database[12];
    (void)snprintf(database, sizeof database, "%u", wire->database);
    struct bytes words[] = {bytes_of("SELECT"), bytes_of(database)};
    if (status == TOCSIN_OK)
        status = say_hello(wire, words, 2, ret_why);
    return status;
}

/* OK: it is no error. */
static enum tocsin_status judge(const struct wire *wire, const redisReply *reply,
                                const struct wire_command *command, struct tocsin_why *ret_why)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return TOCSIN_OK;
    return reason_say(ret_why, wire_error_passes(reply->str) ? TOCSIN_UNAVAILABLE : TOCSIN_INVALID,
                      "Redis at %s:%u: %.*s: %s", wire->host, wire->port,
                      (int)command->words[0].size, command->words[0].at, reply->str);
}

/* All are sent before the first answer is waited for. False: the connection broke. */
static bool ask_all(struct wire *wire, const struct wire_command *commands, size_t count,
                    redisReply **ret_replies, struct tocsin_why *ret_why)
{
    for (size_t i = 0; i < count; i++)
        if (!send_words(wire, commands[i].words, commands[i].count, ret_why))
            return false;
    for (size_t i = 0; i < count; i++) {
        ret_replies[i] = take_reply(wire, ret_why);
        if (ret_replies[i] == NULL) {
            wire_free(ret_replies, i);
            return false;
        }
    }
    return true;
}

enum tocsin_status wire_read_all(struct wire *wire, const struct wire_command *commands,
                                 size_t count, redisReply **ret_replies, struct tocsin_why *ret_why)
{
    bool answered = false;
    for (int tries = 0; !answered && tries < 2; tries++) {
        enum tocsin_status status = wire_connect(wire, ret_why);
        if (status != TOCSIN_OK)
            return status;
        answered = ask_all(wire, commands, count, ret_replies, ret_why);
    }
    enum tocsin_status status = answered ? TOCSIN_OK : TOCSIN_UNAVAILABLE;
    for (size_t i = 0; i < count && status == TOCSIN_OK; i++)
        status = judge(wire, ret_replies[i], &commands[i], ret_why);
    if (answered && status != TOCSIN_OK)
        wire_free(ret_replies, count);
    return status;
}

enum tocsin_status wire_read(struct wire *wire, const struct bytes *words, size_t count,
                             redisReply **ret_reply, struct tocsin_why *ret_why)
{
    struct wire_command command = {words, count};
    redisReply *reply = NULL;
    enum tocsin_status status = wire_read_all(wire, &command, 1, &reply, ret_why);
    if (status == TOCSIN_OK)
        *ret_reply = reply;
    return status;
}

void wire_free(redisReply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (replies[i] != NULL)
            freeReplyObject(replies[i]);
        replies[i] = NULL;
    }
}

bool wire_error_has(const char *error, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = strstr(error, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == error || !isalnum((unsigned char)at[-1]);
        if (begins && !isalnum((unsigned char)at[size]))
            return true;
    }
    return false;
}

bool wire_error_passes(const char *error)
{
    static const char *const words[] = {"LOADING",    "BUSY",        "READONLY", "MISCONF",
                                        "MASTERDOWN", "CLUSTERDOWN", "NOAUTH",   "NOPERM",
                                        "NOREPLICAS", "OOM",         "TRYAGAIN"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (wire_error_has(error, words[i]))
            return true;
    return false;
}

struct bytes wire_text(const redisReply *reply)
{
    if (reply != NULL && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS))
        return (struct bytes){reply->str, (size_t)reply->len};
    return (struct bytes){"", 0};
}

bool wire_number(const redisReply *reply, uint64_t *ret_number)
{
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) {
        *ret_number = (uint64_t)reply->integer;
        return reply->integer >= 0;
    }
    struct bytes text = wire_text(reply);
    if (text.size == 0 || text.size > 20 || text.at[0] == '+')
        return false;
    char *end = NULL;
    errno = 0;
    *ret_number =
        text.at[0] == '-' ? (uint64_t)strtoll(text.at, &end, 10) : strtoull(text.at, &end, 10);
    return errno == 0 && end == text.at + text.size;
}
