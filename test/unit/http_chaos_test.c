/* SPDX-License-Identifier: MIT */
/* Many clients that do whatever comes to mind, and a handler that answers when it likes: each
 * request is answered once or gone once, and each client sees its answers in order. */
#include "support/http_world.h"

#include <fcntl.h>

enum { CLIENTS = 12, PENDING_MAX = 4096, BUFFER_BYTES = 1 << 16 };

enum fate { WAITING, ANSWERED, GONE };

struct pending {
    struct chaos *chaos;
    struct http_exchange *exchange;
    unsigned number;
    enum fate fate;
    bool watched;
};

struct chaos {
    struct test_random random; /* the loop's own */
    struct pending pending[PENDING_MAX];
    size_t count;
    size_t first_waiting;
};

struct client {
    int fd;
    unsigned sent;
    unsigned seen;
    char out[256]; /* the rest of a request that was sent in part */
    size_t out_size;
    char in[BUFFER_BYTES];
    size_t in_size;
};

static void on_gone(void *arg)
{
    struct pending *pending = arg;
    assert_int_equal(pending->fate, WAITING);
    assert_true(pending->watched);
    pending->fate = GONE;
}

static void answer(struct pending *pending)
{
    char body[3000];
    size_t padding = test_random_below(&pending->chaos->random, 2500);
    memset(body, 'x', sizeof body);
    int size = snprintf(body, sizeof body, "%u ", pending->number);
    assert_int_equal(pending->fate, WAITING);
    pending->fate = ANSWERED;
    body[size] = 'x';
    http_answer(pending->exchange, &(struct http_answer){.status = 200,
                                                         .content_type = "text/plain",
                                                         .body = {body, (size_t)size + padding}});
}

static void answer_some(struct chaos *chaos)
{
    for (size_t i = chaos->first_waiting; i < chaos->count; i++) {
        if (chaos->pending[i].fate == WAITING && test_random_one_in(&chaos->random, 3))
            answer(&chaos->pending[i]);
    }
    while (chaos->first_waiting < chaos->count &&
           chaos->pending[chaos->first_waiting].fate != WAITING)
        chaos->first_waiting++;
}

static void on_request(void *arg, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct chaos *chaos = arg;
    assert_true(chaos->count < PENDING_MAX);
    struct pending *pending = &chaos->pending[chaos->count++];
    *pending = (struct pending){chaos, exchange, (unsigned)world_number(request), WAITING, false};
    if (test_random_one_in(&chaos->random, 3)) {
        pending->watched = true;
        http_exchange_on_gone(exchange, on_gone, pending);
    }
    if (test_random_one_in(&chaos->random, 2))
        answer(pending);
    if (test_random_one_in(&chaos->random, 4))
        answer_some(chaos);
}

static void answer_some_of_world(struct world *world)
{
    answer_some(world->user);
}

/* The clients' side. */

static void client_begin(struct client *client, const struct world *world)
{
    client->fd = client_open(world);
    assert_int_equal(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
    client->sent = 0;
    client->seen = 0;
    client->out_size = 0;
    client->in_size = 0;
}

static void make_request(struct client *client, struct test_random *random)
{
    static const char *const forms[] = {
        "GET /?n=%u HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /?n=%u HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST /?n=%u HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    };
    const char *form = forms[test_random_below(random, 3)];
    /* The form is one of three above. */
    int size = snprintf(client->out, sizeof client->out, form, client->sent++); // NOLINT
    client->out_size = (size_t)size;
}

/* All of a request, or a part of it now and the rest another time. */
static void send_some(struct client *client, struct test_random *random)
{
    if (client->out_size == 0)
        make_request(client, random);
    size_t size = client->out_size;
    if (test_random_one_in(random, 3))
        size = 1 + test_random_below(random, size);
    ssize_t sent = send(client->fd, client->out, size, MSG_NOSIGNAL);
    if (sent <= 0)
        return;
    client->out_size -= (size_t)sent;
    memmove(client->out, client->out + sent, client->out_size);
}

/* Takes one answer off the front, if it is whole: it must be the next number. */
static bool take_answer(struct client *client)
{
    client->in[client->in_size] = '\0';
    const char *end = strstr(client->in, "\r\n\r\n");
    if (end == NULL)
        return false;
    const char *length = strstr(client->in, "Content-Length: ");
    assert_non_null(length);
    size_t head = (size_t)(end - client->in) + 4;
    size_t size = (size_t)strtoul(length + 16, NULL, 10);
    if (client->in_size < head + size)
        return false;
    assert_int_equal(strtoul(client->in + head, NULL, 10), client->seen);
    client->seen++;
    client->in_size -= head + size;
    memmove(client->in, client->in + head + size, client->in_size);
    return true;
}

static void receive_some(struct client *client, struct test_random *random)
{
    size_t room = sizeof client->in - 1 - client->in_size;
    size_t want = 1 + test_random_below(random, room);
    ssize_t got = recv(client->fd, client->in + client->in_size, want, 0);
    if (got > 0)
        client->in_size += (size_t)got;
    while (take_answer(client)) {
    }
    assert_true(client->seen <= client->sent);
}

static void leave(struct client *client, struct test_random *random)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (test_random_one_in(random, 2))
        (void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(client->fd);
}

static void live(struct world *world, struct client *clients, struct test_random *random)
{
    for (int step = 0; step < 3000; step++) {
        struct client *client = &clients[test_random_below(random, CLIENTS)];
        switch (test_random_below(random, 12)) {
        case 0:
            if (test_random_one_in(random, 8)) {
                leave(client, random);
                client_begin(client, world);
            }
            break;
        case 1:
            world_do(world, answer_some_of_world);
            break;
        case 2:
        case 3:
        case 4:
        case 5:
            receive_some(client, random);
            break;
        default:
            if (client->sent < 100)
                send_some(client, random);
            break;
        }
    }
}

static void check_fates(struct chaos *chaos)
{
    for (size_t i = 0; i < chaos->count; i++) {
        struct pending *pending = &chaos->pending[i];
        /* Who did not ask is not told, and may answer after the server's end. */
        if (pending->fate == WAITING) {
            assert_false(pending->watched);
            answer(pending);
        }
    }
}

TEST(whatever_clients_do_each_request_is_answered_or_gone)
{
    struct test_random random = {test_seed()};
    struct client *clients = calloc(CLIENTS, sizeof *clients);
    struct chaos *chaos = calloc(1, sizeof *chaos);
    assert_non_null(clients);
    assert_non_null(chaos);
    for (uint64_t round = test_effort(20); round > 0; round--) {
        struct world world = {.limits = http_limits_default};
        world.limits.pipelined = 1 + (uint32_t)test_random_below(&random, 8);
        world.on_request = on_request;
        world.user = chaos;
        *chaos = (struct chaos){.random = {test_random_next(&random)}};
        world_start(&world);
        for (int i = 0; i < CLIENTS; i++)
            client_begin(&clients[i], &world);
        live(&world, clients, &random);
        for (int i = 0; i < CLIENTS; i++)
            leave(&clients[i], &random);
        world_stop(&world);
        check_fates(chaos);
    }
    free(clients);
    free(chaos);
}
