/* SPDX-License-Identifier: MIT */
/* What a link writes and reads. Bytes go to the kernel here, by sendmsg, which says how many it
 * took: that is what tells FAILED from UNKNOWN. */
#include "redis_inside.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SPANS_MAX = 64, WRITE_BYTES_MAX = 256 << 10, FEED_BYTES = 16 << 10, READS_MAX = 4 };

void redis_link_watch(struct redis_link *link, int events)
{
    if (link->events == events)
        return;
    link->events = events;
    (void)uv_poll_start(&link->poll, events, redis_link_on_event); /* it cannot fail here */
}

/* ---- writing */

struct spans {
    struct iovec at[SPANS_MAX];
    size_t count;
    size_t bytes;
};

/* False when there is no room. Commands that lie one behind the other are one span. */
static bool add_span(struct spans *spans, const char *at, size_t size)
{
    struct iovec *last = spans->count > 0 ? &spans->at[spans->count - 1] : NULL;
    if (spans->bytes >= WRITE_BYTES_MAX)
        return false;
    if (last != NULL && (const char *)last->iov_base + last->iov_len == at) {
        last->iov_len += size;
    } else {
        if (spans->count == SPANS_MAX)
            return false;
        spans->at[spans->count++] = (struct iovec){(void *)(uintptr_t)at, size};
    }
    spans->bytes += size;
    return true;
}

static struct redis_queue *to_send(struct redis *redis)
{
    return redis->state == REDIS_READY ? &redis->waiting : &redis->hello;
}

static void gather(struct redis *redis, struct spans *spans)
{
    struct redis_call *call = redis->partial;
    if (call != NULL)
        (void)add_span(spans, call->command + redis->partial_bytes,
                       call->size - redis->partial_bytes);
    for (call = to_send(redis)->first; call != NULL; call = call->next)
        if (!add_span(spans, call->command, call->size))
            return;
}

static void flies(struct redis *redis, struct redis_call *call)
{
    redis_queue_remove(to_send(redis), call);
    redis_queue_append(&redis->flying, call);
    call->sent = true;
    if (!call->internal) {
        redis->stats.waiting--;
        redis->stats.flying++;
    }
}

/* The kernel has so many more bytes. */
static void taken(struct redis *redis, size_t bytes)
{
    if (redis->partial != NULL) {
        size_t left = redis->partial->size - redis->partial_bytes;
        if (bytes < left) {
            redis->partial_bytes += bytes;
            return;
        }
        bytes -= left;
        redis->partial = NULL;
    }
    while (bytes > 0) {
        struct redis_call *call = to_send(redis)->first;
        flies(redis, call);
        if (bytes < call->size) {
            redis->partial = call;
            redis->partial_bytes = bytes;
            return;
        }
        bytes -= call->size;
    }
}

void redis_link_write(struct redis_link *link)
{
    for (;;) {
        struct spans spans = {.count = 0};
        gather(link->redis, &spans);
        if (spans.count == 0) {
            redis_link_watch(link, UV_READABLE);
            return;
        }
        struct msghdr message = {.msg_iov = spans.at, .msg_iovlen = spans.count};
        ssize_t bytes = sendmsg(link->fd, &message, MSG_NOSIGNAL);
        if (bytes >= 0) {
            taken(link->redis, (size_t)bytes);
        } else if (errno == EAGAIN) {
            redis_link_watch(link, UV_READABLE | UV_WRITABLE);
            return;
        } else if (errno != EINTR) {
            redis_link_lost(link, uv_strerror(-errno));
            return;
        }
    }
}

/* ---- reading */

/* All replies that are whole. False when the link is gone. */
static bool take_replies(struct redis_link *link)
{
    struct redis *redis = link->redis;
    for (;;) {
        const struct redisReply *reply = NULL;
        const char *why = NULL;
        if (!redis_reader_next(&link->reader, &reply, &why)) {
            redis_link_lost(link, why);
            return false;
        }
        if (reply == NULL)
            return true;
        /* An answer to what is not whole yet is none either. */
        if (redis->flying.first == NULL || redis->flying.first == redis->partial) {
            redis_link_lost(link, "an answer that nobody asked for");
            return false;
        }
        redis_answer(redis, reply);
        if (redis->link != link)
            return false;
        redis_reader_forget(&link->reader);
    }
}

/* In pieces: the parser moves what is left of its buffer whenever it has read some of it. */
static bool take_bytes(struct redis_link *link, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t piece = size < FEED_BYTES ? size : FEED_BYTES;
        const char *why = NULL;
        if (!redis_reader_feed(&link->reader, bytes, piece, &why)) {
            redis_link_lost(link, why);
            return false;
        }
        if (!take_replies(link))
            return false;
        bytes += piece;
        size -= piece;
    }
    return true;
}

/* After an error libuv does not watch the socket any more: what came before it is read now, up to
 * the end that must be there. */
static void link_read(struct redis_link *link, int error)
{
    char bytes[REDIS_READ_BYTES];
    for (unsigned i = 0; i < READS_MAX || error != 0; i++) {
        ssize_t size = read(link->fd, bytes, sizeof bytes);
        if (size > 0) {
            if (!take_bytes(link, bytes, (size_t)size))
                return;
            if ((size_t)size < sizeof bytes && error == 0)
                break;
        } else if (size == 0) {
            redis_link_lost(link, "it closed the connection");
            return;
        } else if (errno == EAGAIN && error == 0) {
            break;
        } else if (errno != EINTR) {
            redis_link_lost(link, uv_strerror(errno == EAGAIN ? error : -errno));
            return;
        }
    }
    if (link->redis->closing)
        redis_at_end(link->redis);
}

void redis_link_on_event(uv_poll_t *poll, int status, int events)
{
    struct redis_link *link = poll->data;
    struct redis *redis = link->redis;
    if (redis->state == REDIS_CONNECTING) {
        redis_link_connected(link); /* whatever status says: the socket knows better */
        return;
    }
    if (status != 0 || (events & UV_READABLE) != 0)
        link_read(link, status);
    if (redis->link == link && (events & UV_WRITABLE) != 0)
        redis_link_write(link);
}
