/* SPDX-License-Identifier: MIT */
/* Names, with a resolver of the test's own in front of the C library's: it may hang, and it may
 * give addresses at which nobody listens. */
#include "support/redis_world.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* who holds it makes the resolver hang */
static atomic_uint asked;
static atomic_int result; /* what the resolver says; 0: the addresses */
static atomic_uint port;

static struct addrinfo *make_address(const char *text)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in at;
    } *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    (void)inet_pton(AF_INET, text, &made->at.sin_addr);
    made->info = (struct addrinfo){.ai_family = AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_addrlen = sizeof made->at,
                                   .ai_addr = (struct sockaddr *)&made->at};
    return &made->info;
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict ret_list)
{
    (void)node;
    (void)service;
    (void)hints;
    asked++;
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    if (result != 0)
        return result;
    *ret_list = make_address("127.0.0.9"); /* nobody is there */
    (*ret_list)->ai_next = make_address("127.0.0.8");
    (*ret_list)->ai_next->ai_next = make_address("127.0.0.1");
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

static void start(struct redis_world *world)
{
    asked = 0;
    result = 0;
    world->options.host = "redis.example";
    redis_world_start(world);
    port = world->port;
}

TEST(each_address_of_a_name_is_tried)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world);
    peer_greet(&world, &peer);
    assert_int_equal(world.downs, 0);
    assert_int_equal(asked, 1);
    (void)redis_world_give(&world, "GET a", LONG_MS);
    peer_expect(&peer, "GET a");
    peer_send(&peer, ":1\r\n");
    redis_world_until_done(&world, 1);
    /* The name is resolved anew for the next connection. */
    peer_close(&peer);
    peer_greet(&world, &peer);
    assert_int_equal(asked, 2);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_name_that_cannot_be_resolved_is_told_and_asked_for_again)
{
    struct redis_world world = {0};
    struct peer peer;
    start(&world);
    result = EAI_AGAIN;
    WORLD_UNTIL(&world, asked >= 3);
    assert_non_null(strstr(world.down_why, "redis.example"));
    assert_non_null(strstr(world.down_why, "temporary failure"));
    result = 0;
    peer_greet(&world, &peer);
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_resolver_that_hangs_holds_one_thread_and_no_call)
{
    struct redis_world world = {.options = {.connect_ms = 5, .retry_cap_ms = 2}};
    struct peer peer;
    (void)pthread_mutex_lock(&gate);
    start(&world);
    (void)redis_world_give(&world, "GET a", 200);
    redis_world_until_done(&world, 1); /* many attempts later */
    call_expect(&world.calls[0], REDIS_FAILED, "cannot connect to redis at redis.example:");
    assert_int_equal(asked, 1);
    (void)pthread_mutex_unlock(&gate);
    peer_accept(&world, &peer); /* and then it goes on */
    redis_world_stop(&world);
    peer_expect_end(&peer);
}

TEST(a_client_is_closed_once_the_resolver_lets_go)
{
    struct redis_world world = {0};
    (void)pthread_mutex_lock(&gate);
    start(&world);
    (void)redis_world_give(&world, "GET a", LONG_MS);
    WORLD_UNTIL(&world, asked == 1);
    redis_close(world.redis, 0, NULL, NULL);
    redis_world_until_done(&world, 1);
    assert_true(uv_loop_alive(&world.uv) != 0);
    (void)pthread_mutex_unlock(&gate);
    WORLD_UNTIL(&world, uv_loop_alive(&world.uv) == 0);
    world.closed = true;
    redis_world_stop(&world);
}
