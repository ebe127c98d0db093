/* SPDX-License-Identifier: MIT */
#include "support/redis_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORDS_MAX = 16, NAP_US = 100 };

static void on_state(void *arg, bool connected, const char *why)
{
    struct redis_world *world = arg;
    assert_int_equal(connected, redis_connected(world->redis));
    if (connected) {
        world->ups++;
        return;
    }
    world->downs++;
    (void)snprintf(world->down_why, sizeof world->down_why, "%s", why);
}

static int listener_open(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

void redis_world_start(struct redis_world *world)
{
    assert_int_equal(uv_loop_init(&world->uv), 0);
    world->calls = calloc(WORLD_CALLS_MAX, sizeof world->calls[0]);
    assert_non_null(world->calls);
    world->listener = -1;
    world->port = world->options.port;
    if (world->port == 0)
        world->listener = listener_open(&world->port);
    world->options.port = world->port;
    if (world->options.host == NULL)
        world->options.host = "127.0.0.1";
    if (world->options.retry_ms == 0)
        world->options.retry_ms = 1;
    if (world->options.retry_cap_ms == 0)
        world->options.retry_cap_ms = 20;
    world->options.on_state = on_state;
    world->options.arg = world;
    assert_int_equal(redis_create(&world->uv, &world->options, &world->redis), TOCSIN_OK);
}

static void on_closed(void *arg)
{
    struct redis_world *world = arg;
    world->closed = true;
    world->redis = NULL;
}

void redis_world_close(struct redis_world *world, uint32_t wait_ms)
{
    redis_close(world->redis, wait_ms, on_closed, world);
    WORLD_UNTIL(world, world->closed);
}

void redis_world_stop(struct redis_world *world)
{
    if (!world->closed)
        redis_world_close(world, 0);
    assert_int_equal(world->done, world->given);
    for (unsigned i = 0; i < world->given; i++)
        assert_int_equal(world->calls[i].times, 1);
    assert_int_equal(uv_run(&world->uv, UV_RUN_NOWAIT), 0);
    assert_int_equal(uv_loop_close(&world->uv), 0);
    if (world->listener >= 0)
        (void)close(world->listener);
    free(world->calls);
}

void redis_world_turn(struct redis_world *world)
{
    (void)uv_run(&world->uv, UV_RUN_NOWAIT);
    (void)usleep(NAP_US);
}

/* ---- calls */

static void on_done(struct redis_call *call, enum redis_outcome outcome,
                    const struct redisReply *reply, const char *why)
{
    struct kept_call *kept = call->arg;
    bool said = outcome == REDIS_ANSWERED || outcome == REDIS_REFUSED;
    assert_true(said == (reply != NULL) && said == (why == NULL));
    kept->times++;
    kept->outcome = outcome;
    kept->place = ++kept->world->done;
    const char *text = why;
    if (said) {
        assert_int_equal(outcome == REDIS_REFUSED, reply->type == REDIS_REPLY_ERROR);
        kept->value = reply->integer;
        text = reply->str != NULL ? reply->str : "";
    }
    (void)snprintf(kept->text, sizeof kept->text, "%s", text);
    if (kept->world->on_done != NULL)
        kept->world->on_done(kept);
}

static struct kept_call *next_call(struct redis_world *world)
{
    assert_true(world->given < WORLD_CALLS_MAX);
    struct kept_call *kept = &world->calls[world->given++];
    *kept = (struct kept_call){.world = world};
    kept->call.done = on_done;
    kept->call.arg = kept;
    return kept;
}

struct kept_call *redis_world_give(struct redis_world *world, const char *words,
                                   uint32_t timeout_ms)
{
    struct bytes list[WORDS_MAX];
    size_t count = 0;
    while (*words != '\0') {
        size_t size = strcspn(words, " ");
        assert_true(count < WORDS_MAX);
        list[count++] = (struct bytes){words, size};
        words += size + (words[size] == ' ');
    }
    struct kept_call *kept = next_call(world);
    redis_give(world->redis, &kept->call, list, count, timeout_ms);
    return kept;
}

struct kept_call *redis_world_give_script(struct redis_world *world, size_t script,
                                          const char *word, uint32_t timeout_ms)
{
    struct bytes key = bytes_of("key"), words = bytes_of(word);
    struct kept_call *kept = next_call(world);
    redis_give_script(world->redis, &kept->call, script, &key, 1, &words, 1, timeout_ms);
    return kept;
}

void redis_world_until_done(struct redis_world *world, unsigned count)
{
    WORLD_UNTIL(world, world->done >= count);
    assert_int_equal(world->done, count);
}

void call_expect(const struct kept_call *call, enum redis_outcome outcome, const char *text)
{
    assert_int_equal(call->times, 1);
    if (call->outcome != outcome || strstr(call->text, text) == NULL)
        print_error("outcome %d, text: %s\n", (int)call->outcome, call->text);
    assert_int_equal(call->outcome, outcome);
    assert_non_null(strstr(call->text, text));
}

struct redis_stats redis_world_stats(struct redis_world *world)
{
    struct redis_stats stats;
    redis_describe(world->redis, &stats);
    return stats;
}

/* ---- Redis, played */

bool peer_try_accept(struct redis_world *world, struct peer *peer)
{
    redis_world_turn(world);
    int fd = accept4(world->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    peer->world = world;
    peer->fd = fd;
    peer->size = 0;
    return true;
}

void peer_accept(struct redis_world *world, struct peer *peer)
{
    WORLD_UNTIL(world, peer_try_accept(world, peer));
}

void peer_greet(struct redis_world *world, struct peer *peer)
{
    char words[512] = "";
    peer_accept(world, peer);
    while (strcmp(words, "PING") != 0) {
        peer_read(peer, words, sizeof words);
        peer_send(peer, strcmp(words, "PING") == 0 ? "+PONG\r\n" : "+OK\r\n");
    }
    WORLD_UNTIL(world, redis_connected(world->redis));
}

/* A whole command at the start of what came: its size, else 0. */
static size_t command_size(const struct peer *peer, char *ret_words, size_t room)
{
    const char *at = peer->in, *end = peer->in + peer->size;
    const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
    if (line == NULL)
        return 0;
    assert_int_equal(*at, '*');
    unsigned long count = strtoul(at + 1, NULL, 10);
    size_t used = 0;
    at = line + 2;
    for (unsigned long i = 0; i < count; i++) {
        line = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (line == NULL)
            return 0;
        assert_int_equal(*at, '$');
        size_t size = strtoul(at + 1, NULL, 10);
        if ((size_t)(end - line) < size + 4)
            return 0;
        int wrote = snprintf(ret_words + used, room - used, "%s%.*s", i > 0 ? " " : "", (int)size,
                             line + 2);
        used += wrote < (int)(room - used) ? (size_t)wrote : room - used - 1;
        assert_memory_equal(line + 2 + size, "\r\n", 2);
        at = line + 2 + size + 2;
    }
    return (size_t)(at - peer->in);
}

bool peer_try_read(struct peer *peer, char *ret_words, size_t room)
{
    size_t size = command_size(peer, ret_words, room);
    if (size == 0) {
        ssize_t more = recv(peer->fd, peer->in + peer->size, sizeof peer->in - peer->size, 0);
        if (more > 0)
            peer->size += (size_t)more;
        size = command_size(peer, ret_words, room);
    }
    if (size == 0)
        return false;
    peer->size -= size;
    memmove(peer->in, peer->in + size, peer->size);
    return true;
}

void peer_read(struct peer *peer, char *ret_words, size_t room)
{
    WORLD_UNTIL(peer->world, peer_try_read(peer, ret_words, room));
}

void peer_expect(struct peer *peer, const char *words)
{
    char got[512];
    peer_read(peer, got, sizeof got);
    assert_string_equal(got, words);
}

void peer_send(struct peer *peer, const char *bytes)
{
    size_t left = strlen(bytes);
    while (left > 0) {
        ssize_t sent = send(peer->fd, bytes, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            (void)uv_run(&peer->world->uv, UV_RUN_NOWAIT);
            continue;
        }
        if (sent < 0)
            return; /* the client has left */
        bytes += sent;
        left -= (size_t)sent;
    }
}

/* What came is read first, so that it is an end and no reset. */
void peer_close(struct peer *peer)
{
    char bytes[1024];
    while (recv(peer->fd, bytes, sizeof bytes, 0) > 0)
        continue;
    (void)close(peer->fd);
}

void peer_reset(struct peer *peer)
{
    struct linger linger = {.l_onoff = 1};
    (void)setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(peer->fd);
}

static bool ended(struct peer *peer)
{
    char bytes[1024];
    ssize_t got = recv(peer->fd, bytes, sizeof bytes, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

void peer_expect_end(struct peer *peer)
{
    WORLD_UNTIL(peer->world, ended(peer));
    (void)close(peer->fd);
}
