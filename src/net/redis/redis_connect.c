/* SPDX-License-Identifier: MIT */
/* A link: name, address, hello, loss, and when to try again. */
#include "redis_inside.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_EVERY_S = 5, KEEPALIVE_PROBES = 3 };

static void connect_next(struct redis_link *link);

/* ---- a link comes and goes */

static struct redis_link *link_create(struct redis *redis)
{
    struct redis_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    link->redis = redis;
    link->fd = -1;
    redis->links++;
    return link;
}

static void link_free(struct redis_link *link)
{
    struct redis *redis = link->redis;
    if (link->addresses != NULL)
        uv_freeaddrinfo(link->addresses);
    free(link);
    redis->links--;
    redis_gone_if_closed(redis);
}

static void on_poll_closed(uv_handle_t *handle)
{
    link_free(handle->data);
}

/* Its memory goes when libuv has let go of it. */
void redis_link_discard(struct redis_link *link)
{
    if (link->redis->link == link)
        link->redis->link = NULL;
    if (link->reading)
        redis_reader_release(&link->reader);
    link->reading = false;
    if (link->polling) {
        uv_close((uv_handle_t *)&link->poll, on_poll_closed);
        (void)close(link->fd); /* at once: the other side shall know */
    } else if (link->resolving) {
        (void)uv_cancel((uv_req_t *)&link->resolve); /* on_resolved comes in any case */
    } else {
        if (link->fd >= 0)
            (void)close(link->fd);
        link_free(link);
    }
}

/* ---- loss, and the next attempt */

static uint64_t draw(struct redis *redis) /* splitmix64 */
{
    uint64_t z = redis->chance += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void rest(struct redis *redis, bool was_good)
{
    uint64_t delay_ms = 0;
    if (was_good)
        redis->failures = 0;
    else
        delay_ms = backoff_delay_ms(&redis->backoff, redis->failures++, draw(redis));
    redis->stats.retry_ms = delay_ms;
    redis_connect_later(redis, delay_ms);
}

static void tell_state(struct redis *redis, bool connected)
{
    const char *why = connected ? NULL : redis->why;
    if (!connected && strcmp(redis->told, redis->why) == 0)
        return;
    memcpy(redis->told, connected ? "" : redis->why, connected ? 1 : sizeof redis->told);
    if (redis->options.on_state != NULL)
        redis->options.on_state(redis->options.arg, connected, why);
}

void redis_link_lost(struct redis_link *link, const char *why)
{
    struct redis *redis = link->redis;
    bool was_ready = redis->state == REDIS_READY;
    /* One that answered, or lasted: the next may come at once. Else a server that takes
     * connections and closes them would be asked without end. */
    bool was_good = was_ready && (link->answered || redis_now_ms() - link->since_ms >=
                                                        (int64_t)redis->options.retry_cap_ms);
    (void)snprintf(redis->why, sizeof redis->why, "%sredis at %s: %s",
                   was_ready ? "" : "cannot connect to ", redis->where, why);
    redis_link_discard(link); /* why may have been the link's */
    redis->state = REDIS_RESTING;
    redis->partial = NULL;
    if (redis->closing)
        redis_at_end(redis);
    else
        rest(redis, was_good);
    /* Only those of now: what is given meanwhile waits for the next link. */
    struct redis_queue ended = redis->flying;
    redis->flying = (struct redis_queue){0};
    struct redis_call *call;
    while ((call = redis_queue_take(&redis->hello)) != NULL)
        redis_end_call(redis, call, REDIS_FAILED, NULL, redis->why);
    while ((call = redis_queue_take(&ended)) != NULL)
        redis_end_call(redis, call, REDIS_UNKNOWN, NULL, redis->why);
    if (!redis->closing)
        tell_state(redis, false);
}

/* ---- hello */

static void on_hello(struct redis_call *call, enum redis_outcome outcome,
                     const struct redisReply *reply, const char *why)
{
    struct redis *redis = call->arg;
    (void)why; /* the link is lost already */
    if (outcome == REDIS_REFUSED) {
        redis_link_lost(redis->link, reply->str);
        return;
    }
    if (outcome != REDIS_ANSWERED || redis->flying.first != NULL || redis->hello.first != NULL)
        return;
    redis->state = REDIS_READY;
    redis->link->since_ms = redis_now_ms();
    redis->stats.connects++;
    redis->stats.retry_ms = 0;
    if (!redis->closing)
        (void)uv_timer_stop(&redis->timer);
    redis_at_end(redis);
    tell_state(redis, true);
}

static const char *say(struct redis *redis, size_t *number, const struct bytes *words, size_t count)
{
    struct redis_call *call = &redis->hellos[(*number)++];
    struct redis_words list = {words, count};
    *call = (struct redis_call){
        .done = on_hello, .arg = redis, .internal = true, .deadline = INT64_MAX};
    const char *why = redis_command_store(&redis->chunks, call, &list, 1);
    if (why == NULL)
        redis_queue_append(&redis->hello, call);
    return why;
}

/* AUTH, SELECT, the scripts. PING is last: it says whether Redis is there (not LOADING, not a
 * replica without data, not stopped), also when there was nothing else to say. */
static const char *say_hello(struct redis *redis)
{
    const struct redis_options *options = &redis->options;
    const char *why = NULL;
    size_t number = 0;
    if (options->password != NULL) {
        struct bytes words[3] = {bytes_of("AUTH")};
        size_t count = 1;
        if (options->user != NULL)
            words[count++] = bytes_of(options->user);
        words[count++] = bytes_of(options->password);
        why = say(redis, &number, words, count);
    }
    if (options->database != 0 && why == NULL) {
        char text[16];
        (void)snprintf(text, sizeof text, "%u", options->database);
        why = say(redis, &number, (struct bytes[]){bytes_of("SELECT"), bytes_of(text)}, 2);
    }
    for (size_t i = 0; i < options->script_count && why == NULL; i++) {
        struct bytes words[] = {bytes_of("SCRIPT"), bytes_of("LOAD"), redis->scripts[i].text};
        why = say(redis, &number, words, 3);
    }
    return why != NULL ? why : say(redis, &number, (struct bytes[]){bytes_of("PING")}, 1);
}

static void begin_hello(struct redis_link *link)
{
    struct redis *redis = link->redis;
    redis->state = REDIS_HELLO;
    link->reading = redis_reader_init(&link->reader);
    const char *why = link->reading ? say_hello(redis) : "no memory";
    if (why != NULL) {
        redis_link_lost(link, why);
        return;
    }
    redis_link_watch(link, UV_READABLE);
    redis_link_write(link);
}

/* ---- address */

static int open_socket(const struct sockaddr *address, socklen_t size, int *ret_fd)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    const struct {
        int level;
        int name;
        int value;
    } rows[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        (void)setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof rows[i].value);
    int failed = 0;
    if (connect(fd, address, size) != 0 && errno != EINPROGRESS)
        failed = -errno;
    if (failed != 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return failed;
}

/* 0, or the error of libuv. */
static int connect_to(struct redis_link *link, const struct sockaddr *address, socklen_t size)
{
    int failed = open_socket(address, size, &link->fd);
    if (failed != 0)
        return failed;
    failed = uv_poll_init_socket(link->redis->uv, &link->poll, link->fd);
    if (failed != 0) {
        (void)close(link->fd);
        link->fd = -1;
        return failed;
    }
    link->poll.data = link;
    link->polling = true;
    redis_link_watch(link, UV_WRITABLE);
    return 0;
}

/* A handle of libuv cannot be used twice at once: the next address has a link of its own. */
static void connect_other(struct redis_link *link)
{
    struct redis *redis = link->redis;
    struct redis_link *other = link_create(redis);
    if (other == NULL) {
        redis_link_lost(link, "no memory");
        return;
    }
    other->addresses = link->addresses;
    other->next = link->next;
    link->addresses = NULL;
    redis_link_discard(link);
    redis->link = other;
    connect_next(other);
}

static void connect_next(struct redis_link *link)
{
    int failed = UV_EAI_NODATA;
    while (link->next != NULL) {
        const struct addrinfo *now = link->next;
        link->next = now->ai_next;
        failed = connect_to(link, now->ai_addr, now->ai_addrlen);
        if (failed == 0)
            return;
    }
    redis_link_lost(link, uv_strerror(failed));
}

void redis_link_connected(struct redis_link *link)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error == 0)
        begin_hello(link);
    else if (link->next != NULL)
        connect_other(link);
    else
        redis_link_lost(link, uv_strerror(-error));
}

/* ---- name */

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct redis_link *link = request->data;
    link->resolving = false;
    link->redis->resolving = false;
    link->addresses = addresses;
    link->next = addresses;
    if (link->redis->link != link)
        link_free(link); /* it was discarded meanwhile */
    else if (status != 0)
        redis_link_lost(link, uv_strerror(status));
    else
        connect_next(link);
}

/* One at a time, also when the last attempt has been given up: a resolver that hangs holds one
 * thread of libuv's pool, not all of them. */
static int resolve_name(struct redis_link *link)
{
    const struct redis_options *options = &link->redis->options;
    if (link->redis->resolving)
        return UV_EALREADY;
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)options->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    link->resolve.data = link;
    int failed =
        uv_getaddrinfo(link->redis->uv, &link->resolve, on_resolved, options->host, port, &hints);
    link->resolving = link->redis->resolving = failed == 0;
    return failed;
}

static void resolve(struct redis_link *link)
{
    const struct redis_options *options = &link->redis->options;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    int failed;
    if (uv_ip4_addr(options->host, options->port, &address.v4) == 0) {
        failed = connect_to(link, &address.any, sizeof address.v4);
    } else if (uv_ip6_addr(options->host, options->port, &address.v6) == 0) {
        failed = connect_to(link, &address.any, sizeof address.v6);
    } else {
        failed = resolve_name(link);
    }
    if (failed == UV_EALREADY)
        redis_link_lost(link, "its name is still being resolved");
    else if (failed != 0)
        redis_link_lost(link, uv_strerror(failed));
}

static void on_attempt_over(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    redis_link_lost(redis->link, "no answer in time");
}

static void on_connect(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    struct redis_link *link = link_create(redis);
    redis->stats.retry_ms = 0;
    if (link == NULL) {
        rest(redis, false);
        return;
    }
    redis->link = link;
    redis->state = REDIS_CONNECTING;
    (void)uv_timer_start(&redis->timer, on_attempt_over, redis->options.connect_ms, 0);
    resolve(link);
}

void redis_connect_later(struct redis *redis, uint64_t delay_ms)
{
    uv_update_time(redis->uv);
    (void)uv_timer_start(&redis->timer, on_connect, delay_ms, 0);
}
