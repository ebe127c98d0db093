/* SPDX-License-Identifier: MIT */
/* follower_world.h - how does a test talk to an owner through a follower?
 *
 * A follower on a loop in a thread of its own. The owner is a server of http_world.h, or a raw one:
 * a socket that listens, of which the test does both ends by hand. What is for the follower alone
 * is answered "here PATH".
 */
#ifndef TEST_FOLLOWER_WORLD_H
#define TEST_FOLLOWER_WORLD_H

#include <fcntl.h>

#include "cluster/follower.h"
#include "support/http_world.h"

struct follow {
    struct follower_options options; /* what is zero is filled in */
    struct follower *follower;
    struct follower_stats seen;
    struct loop *loop;
    const char *address;
    pthread_t thread;
    sem_t done;
    void (*job)(struct follow *follow);
    atomic_bool has_job;
    const char *owner; /* to be set, by the job */
    enum tocsin_status owner_status;
    struct tocsin_why why;
    bool closed;
};

static inline void follow_on_request(void *arg, struct http_exchange *exchange,
                                     const struct http_request *request)
{
    char text[100];
    (void)arg;
    (void)snprintf(text, sizeof text, "here %.*s", (int)request->path.size, request->path.at);
    world_say(exchange, 200, bytes_of(text));
}

static inline void follow_on_post(void *arg)
{
    struct follow *follow = arg;
    if (!atomic_exchange(&follow->has_job, false))
        return;
    follow->job(follow);
    (void)sem_post(&follow->done);
}

static inline void *follow_thread(void *arg)
{
    loop_run(((struct follow *)arg)->loop);
    return NULL;
}

static inline void follow_do(struct follow *follow, void (*job)(struct follow *follow))
{
    struct timespec until;
    follow->job = job;
    atomic_store(&follow->has_job, true);
    loop_post(follow->loop);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WORLD_WAIT_S;
    while (sem_timedwait(&follow->done, &until) != 0)
        assert_int_equal(errno, EINTR);
}

static inline void follow_set_job(struct follow *follow)
{
    follow->owner_status = follower_set_owner(follow->follower, follow->owner, &follow->why);
}

static inline void follow_set(struct follow *follow, const char *owner)
{
    follow->owner = owner;
    follow_do(follow, follow_set_job);
}

/* Without an owner when it is NULL. */
static inline void follow_start(struct follow *follow, const char *owner)
{
    static const char *const listen_on[] = {"127.0.0.1:0"};
    struct loop_hooks hooks = {.on_post = follow_on_post, .arg = follow};
    struct follower_options *options = &follow->options;
    assert_int_equal(loop_create(&hooks, &follow->loop, &follow->why), TOCSIN_OK);
    options->loop = follow->loop;
    if (options->listen == NULL) {
        options->listen = listen_on;
        options->listen_count = 1;
    }
    if (options->node == NULL)
        options->node = "n1";
    if (options->limits.connections == 0)
        options->limits = http_limits_default;
    options->on_request = follow_on_request;
    enum tocsin_status status = follower_create(options, &follow->follower, &follow->why);
    if (status != TOCSIN_OK)
        fail_msg("%s", follow->why.text);
    follow->address = follower_address(follow->follower, 0);
    assert_int_equal(sem_init(&follow->done, 0, 0), 0);
    assert_int_equal(pthread_create(&follow->thread, NULL, follow_thread, follow), 0);
    if (owner != NULL)
        follow_set(follow, owner);
}

static inline void follow_on_closed(void *arg)
{
    struct follow *follow = arg;
    follow->closed = true;
    loop_stop(follow->loop);
}

static inline void follow_close_job(struct follow *follow)
{
    follower_close(follow->follower, follow_on_closed, follow);
}

static inline void follow_stop(struct follow *follow)
{
    follow_do(follow, follow_close_job);
    assert_int_equal(pthread_join(follow->thread, NULL), 0);
    assert_true(follow->closed);
    loop_destroy(follow->loop);
    (void)sem_destroy(&follow->done);
}

static inline void follow_look_job(struct follow *follow)
{
    follower_stats(follow->follower, &follow->seen);
}

static inline const struct follower_stats *follow_look(struct follow *follow)
{
    follow_do(follow, follow_look_job);
    return &follow->seen;
}

static inline bool follow_until(struct follow *follow,
                                bool (*so)(const struct follower_stats *seen))
{
    for (int i = 0; i < WORLD_WAIT_S * 1000; i++) {
        if (so(follow_look(follow)))
            return true;
        (void)usleep(1000);
    }
    return false;
}

static inline bool follow_none_open(const struct follower_stats *seen)
{
    return seen->tunnels == 0;
}

static inline bool follow_one_waits(const struct follower_stats *seen)
{
    return seen->waiting == 1;
}

static inline bool follow_one_forwarded(const struct follower_stats *seen)
{
    return seen->forwarded == 1;
}

static inline int follow_client(const struct follow *follow)
{
    return client_open_at(follow->address);
}

/* A follower, and an owner of http_world.h. */
struct follow_pair {
    struct world owner;
    struct follow follow;
};

static inline void pair_start(struct follow_pair *pair)
{
    world_start(&pair->owner);
    follow_start(&pair->follow, http_server_address(pair->owner.server));
}

static inline void pair_stop(struct follow_pair *pair)
{
    follow_stop(&pair->follow);
    world_stop(&pair->owner);
}

/* ---- a raw owner */

struct raw_owner {
    int fd;
    char address[32];
};

/* At this port; 0: any. */
static inline struct raw_owner raw_start_at(uint16_t port, int backlog)
{
    struct raw_owner owner = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval limit = {.tv_sec = WORLD_WAIT_S};
    socklen_t size = sizeof at;
    int on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(owner.fd >= 0);
    assert_int_equal(setsockopt(owner.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(setsockopt(owner.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(bind(owner.fd, (struct sockaddr *)&at, sizeof at), 0);
    if (backlog >= 0)
        assert_int_equal(listen(owner.fd, backlog), 0);
    assert_int_equal(getsockname(owner.fd, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(owner.address, sizeof owner.address, "127.0.0.1:%u",
                   (unsigned)ntohs(at.sin_port));
    return owner;
}

static inline struct raw_owner raw_start(void)
{
    return raw_start_at(0, 16);
}

static inline int raw_accept(const struct raw_owner *owner)
{
    struct timeval limit = {.tv_sec = WORLD_WAIT_S};
    int fd = accept(owner->fd, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    return fd;
}

/* Exactly these bytes come next. */
static inline void raw_expect(int fd, const char *text)
{
    char got[4096] = "";
    size_t size = strlen(text);
    assert_true(size < sizeof got);
    for (size_t at = 0; at < size;) {
        ssize_t more = recv(fd, got + at, size - at, 0);
        if (more <= 0)
            fail_msg("the connection ended after '%s'", got);
        at += (size_t)more;
    }
    assert_string_equal(got, text);
}

/* How many descriptors this process has open; none is opened to find out, while other threads open
 * and close theirs. */
static inline unsigned count_descriptors(void)
{
    enum { MORE_THAN_ANY_TEST_HAS = 4096 };
    unsigned count = 0;
    for (int fd = 0; fd < MORE_THAN_ANY_TEST_HAS; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#endif
