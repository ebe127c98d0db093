/* SPDX-License-Identifier: MIT */
/* hiredis parses; the objects it makes are ours, in memory that is given back with the reply: an
 * integer or a status costs no allocation. hiredis itself knows no limit but that of depth. */
#include "redis_inside.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 16 << 10, SPARE_BYTES = 1 << 20 };

struct reply_block {
    struct reply_block *next;
    size_t used;
    size_t room;
    _Alignas(max_align_t) char data[];
};

static size_t rounded(size_t size)
{
    return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void *refuse(struct redis_replies *replies, const char *why)
{
    replies->why = why;
    return NULL;
}

static void *take(struct redis_replies *replies, size_t wanted)
{
    size_t size = rounded(wanted);
    if (size > REDIS_REPLY_BYTES_MAX + (size_t)BLOCK_BYTES - replies->total)
        return refuse(replies, "a reply of more than 64 MiB");
    replies->total += size;
    struct reply_block *block = replies->blocks;
    if (block == NULL && size <= sizeof replies->here - replies->used) {
        void *at = replies->here + replies->used;
        replies->used += size;
        return at;
    }
    if (block == NULL || size > block->room - block->used) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct reply_block *fresh = malloc(sizeof *fresh + room);
        if (fresh == NULL)
            return refuse(replies, "no memory for a reply");
        *fresh = (struct reply_block){.next = block, .room = room};
        replies->blocks = block = fresh;
    }
    void *at = block->data + block->used;
    block->used += size;
    return at;
}

static void forget(struct redis_replies *replies)
{
    while (replies->blocks != NULL) {
        struct reply_block *block = replies->blocks;
        replies->blocks = block->next;
        free(block);
    }
    replies->used = replies->total = 0;
}

/* ---- what hiredis calls */

static redisReply *make(const redisReadTask *task)
{
    redisReply *reply = take(task->privdata, sizeof *reply);
    if (reply == NULL)
        return NULL;
    *reply = (redisReply){.type = task->type};
    if (task->parent != NULL) {
        redisReply *parent = task->parent->obj;
        parent->element[task->idx] = reply;
    }
    return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t size)
{
    redisReply *reply = make(task);
    if (reply == NULL)
        return NULL;
    char *copy = take(task->privdata, size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    reply->str = copy;
    reply->len = size;
    return reply;
}

static void *make_array(const redisReadTask *task, int count)
{
    if (count > REDIS_REPLY_ELEMENTS_MAX)
        return refuse(task->privdata, "a reply of more than a million elements");
    redisReply *reply = make(task);
    if (reply == NULL || count <= 0)
        return reply;
    size_t size = (size_t)count * sizeof(redisReply *);
    reply->element = take(task->privdata, size);
    if (reply->element == NULL)
        return NULL;
    memset(reply->element, 0, size);
    reply->elements = (size_t)count;
    return reply;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    redisReply *reply = make(task);
    if (reply != NULL)
        reply->integer = value;
    return reply;
}

static void *make_nil(const redisReadTask *task)
{
    return make(task);
}

/* All of it goes at once, by forget. */
static void keep(void *reply)
{
    (void)reply;
}

static redisReplyObjectFunctions makers = {
    .createString = make_string,
    .createArray = make_array,
    .createInteger = make_integer,
    .createNil = make_nil,
    .freeObject = keep,
};

/* ---- the reader */

bool redis_reader_init(struct redis_reader *reader)
{
    *reader = (struct redis_reader){.parser = redisReaderCreateWithFunctions(&makers)};
    if (reader->parser == NULL)
        return false;
    reader->parser->privdata = &reader->replies;
    reader->parser->maxbuf = SPARE_BYTES; /* less, and it would be made anew for each read */
    return true;
}

void redis_reader_release(struct redis_reader *reader)
{
    redisReaderFree(reader->parser);
    forget(&reader->replies);
}

static bool broken(struct redis_reader *reader, const char **ret_why)
{
    const char *why = reader->replies.why;
    *ret_why = why != NULL ? why : reader->parser->errstr;
    return false;
}

bool redis_reader_feed(struct redis_reader *reader, const char *bytes, size_t size,
                       const char **ret_why)
{
    return redisReaderFeed(reader->parser, bytes, size) == REDIS_OK || broken(reader, ret_why);
}

/* What is not a whole reply yet stays in the parser's buffer, and of a line without an end the
 * parser would look for the end from its start each time. */
static bool within_bounds(struct redis_reader *reader)
{
    const redisReader *parser = reader->parser;
    size_t left = parser->len - parser->pos;
    if (left <= REDIS_LINE_BYTES_MAX)
        return true;
    if (memmem(parser->buf + parser->pos, REDIS_LINE_BYTES_MAX, "\r\n", 2) == NULL)
        return refuse(&reader->replies, "a line without an end"), false;
    if (left > REDIS_REPLY_BYTES_MAX + (size_t)REDIS_LINE_BYTES_MAX)
        return refuse(&reader->replies, "a reply of more than 64 MiB"), false;
    return true;
}

bool redis_reader_next(struct redis_reader *reader, const struct redisReply **ret_reply,
                       const char **ret_why)
{
    void *reply = NULL;
    if (redisReaderGetReply(reader->parser, &reply) != REDIS_OK)
        return broken(reader, ret_why);
    if (reply == NULL && !within_bounds(reader))
        return broken(reader, ret_why);
    *ret_reply = reply;
    return true;
}

void redis_reader_forget(struct redis_reader *reader)
{
    forget(&reader->replies);
}
