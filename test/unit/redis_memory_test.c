/* SPDX-License-Identifier: MIT */
/* What if the n-th request for memory is refused? The build lets those of this binary come by here
 * (cmake/tests.cmake). The same script is run once for each n: every call is done once, with an
 * outcome that is true, the client comes back by itself, and nothing is left. */
#include "support/redis_world.h"
#include "support/scarce_memory.h"

#include <unistd.h>

enum { LARGE = 20000 };

static char large[LARGE + 32];

/* Answers whatever is asked on whatever connection comes. */
static void serve(struct redis_world *world, struct peer *peer)
{
    char words[256];
    struct peer next = {.fd = -1};
    if (peer_try_accept(world, &next)) {
        if (peer->fd >= 0)
            (void)close(peer->fd);
        peer->world = world;
        peer->fd = next.fd;
        peer->size = 0;
    }
    while (peer->fd >= 0 && peer_try_read(peer, words, sizeof words)) {
        if (strcmp(words, "PING") == 0)
            peer_send(peer, "+PONG\r\n");
        else if (strcmp(words, "GET large") == 0)
            peer_send(peer, large);
        else
            peer_send(peer, "*3\r\n:1\r\n$5\r\nhello\r\n*1\r\n+OK\r\n");
    }
}

static void act(struct redis_world *world, struct peer *peer)
{
    (void)redis_world_give(world, "GET small", LONG_MS);
    (void)redis_world_give(world, "GET large", LONG_MS);
    WORLD_UNTIL(world, (serve(world, peer), world->done == 2));
    if (peer->fd >= 0)
        (void)close(peer->fd); /* a new link, for the next */
    peer->fd = -1;
    (void)redis_world_give(world, "GET large", LONG_MS);
    WORLD_UNTIL(world, (serve(world, peer), world->done == 3));
}

static void look(const struct redis_world *world)
{
    unsigned answered = 0;
    for (unsigned i = 0; i < world->given; i++) {
        const struct kept_call *call = &world->calls[i];
        answered += call->outcome == REDIS_ANSWERED;
        if (call->outcome == REDIS_FAILED)
            call_expect(call, REDIS_FAILED, "no memory for a command");
        /* The last one may fly when the connection is closed. */
        if (call->outcome == REDIS_UNKNOWN && i < 2)
            call_expect(call, REDIS_UNKNOWN, "no memory for a reply");
    }
    assert_true(answered >= 1);
}

TEST(memory_that_is_refused_costs_no_call_its_end)
{
    (void)snprintf(large, sizeof large, "$%d\r\n", LARGE);
    size_t head = strlen(large);
    memset(large + head, 'x', LARGE);
    memcpy(large + head + LARGE, "\r\n", 3);
    uint64_t asked = 1;
    for (uint64_t n = 0; n <= asked; n++) { /* the first run counts */
        struct redis_world world = {0};
        struct peer peer = {.fd = -1};
        redis_world_start(&world);
        scarce = (struct scarcity){.on = true, .first = n, .count = 1};
        act(&world, &peer);
        asked = scarce.asked > asked ? scarce.asked : asked;
        scarce.on = false;
        look(&world);
        redis_world_stop(&world);
        (void)close(peer.fd);
    }
    assert_true(asked >= 4);
}

TEST(a_client_that_cannot_be_made_says_so)
{
    const char *const scripts[] = {"return 1"};
    const struct redis_options options = {
        .host = "127.0.0.1", .port = 1, .scripts = scripts, .script_count = 1};
    uv_loop_t uv;
    assert_int_equal(uv_loop_init(&uv), 0);
    for (uint64_t n = 1; n <= 4; n++) {
        struct redis *redis = NULL;
        scarce = (struct scarcity){.on = true, .first = n, .count = 1};
        enum tocsin_status status = redis_create(&uv, &options, &redis);
        scarce.on = false;
        assert_int_equal(status, TOCSIN_NO_MEMORY);
        assert_null(redis);
    }
    assert_int_equal(uv_loop_close(&uv), 0);
}
