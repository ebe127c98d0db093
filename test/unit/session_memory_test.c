/* SPDX-License-Identifier: MIT */
/* What if the n-th request for memory is refused? The build lets malloc, calloc and realloc of this
 * binary come by here (cmake/tests.cmake). A script of all that a session does is run once for each
 * n: whoever was hit is ended, or the call says NO_MEMORY; nobody else notices; nothing is left. */
#include "support/scarce_memory.h"
#include "support/session_world.h"

enum { CLIENTS = 3 };

/* The test's own memory is never scarce. */
static bool send_outside(void *arg, struct frame *head, struct frame *tail)
{
    bool was = scarce_off();
    bool sent = session_client_send(arg, head, tail);
    scarce.on = was;
    return sent;
}

static void close_outside(void *arg, enum websocket_code code, const char *reason)
{
    session_client_close(arg, code, reason);
}

static void says(struct session_client *client, const char *text)
{
    size_t size = strlen(text);
    char bytes[1000];
    assert_true(size < sizeof bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = text[i] == '|' ? '\n' : text[i] == '^' ? '\0' : text[i];
    if (client->session == NULL)
        return;
    scarce.on = true;
    session_take(client->session, (struct bytes){bytes, size});
    scarce.on = false;
}

static void publish(struct session_world *world, uint64_t *lost)
{
    scarce.on = true;
    enum tocsin_status status =
        topic_publish(world->topics, bytes_of("/topic/a"), "text/plain", bytes_of("hello"));
    while (topics_run(world->topics, 1)) {
    }
    scarce.on = false;
    assert_true(status == TOCSIN_OK || status == TOCSIN_NO_MEMORY);
    *lost += status == TOCSIN_NO_MEMORY;
}

static void open_client(struct session_client *client, struct session_world *world)
{
    struct session_link link = {send_outside, session_client_ping, close_outside, client};
    *client = (struct session_client){.world = world};
    buffer_init(&client->heard, SESSION_WORLD_BYTES_MAX);
    scarce.on = true;
    enum tocsin_status status = session_create(world->topics, &link, &client->session);
    scarce.on = false;
    assert_true(status == TOCSIN_OK || status == TOCSIN_NO_MEMORY);
}

static enum session_when on_send(void *arg, struct session *session,
                                 const struct stomp_frame *frame, uint64_t ticket)
{
    struct session_world *world = arg;
    bool later = bytes_are(stomp_frame_header(frame, "destination"), "/app/later");
    if (later) {
        world->later[world->later_count].session = session_id(session);
        world->later[world->later_count++].ticket = ticket;
        return SESSION_LATER;
    }
    (void)session_tell(session, bytes_of("/user/queue/own"), "text/plain", frame->body);
    return SESSION_DONE;
}

static void act(struct session_world *world, struct session_client clients[CLIENTS], uint64_t *lost)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        open_client(&clients[i], world);
        says(&clients[i], "CONNECT|accept-version:1.2|heart-beat:0,1||^");
        says(&clients[i], "SUBSCRIBE|id:s|destination:/topic/a|receipt:1||^");
    }
    says(&clients[0], "SUBSCRIBE|id:i|destination:/topic/a|ack:client-individual||^");
    says(&clients[1], "SUBSCRIBE|id:u|destination:/user/queue/own|ack:client||^");
    publish(world, lost);
    if (clients[0].messages == 2) /* else it was lost, and to settle it would be an error */
        says(&clients[0], "ACK|id:2.0|receipt:2||^");
    says(&clients[1], "SEND|destination:/app/x|receipt:2||hello^");
    says(&clients[1], "BEGIN|transaction:t||^SEND|destination:/app/later|transaction:t||hello^"
                      "COMMIT|transaction:t|receipt:3||^");
    publish(world, lost);
    scarce.on = true;
    while (world->later_first < world->later_count) {
        size_t at = world->later_first++;
        session_finish(world->topics, world->later[at].session, world->later[at].ticket);
    }
    world->now_ms += 10000;
    for (size_t i = 0; i < CLIENTS; i++) {
        if (clients[i].session != NULL)
            session_look(clients[i].session);
    }
    scarce.on = false;
    says(&clients[1], "DISCONNECT|receipt:9||^");
    publish(world, lost);
}

/* How many requests were refused: 0 when n was past the last. */
static uint64_t run(uint64_t n)
{
    struct session_world world = {.now_ms = 1};
    struct session_client clients[CLIENTS];
    struct topics_options options = session_world_options(&world);
    uint64_t lost = 0;
    unsigned ended = 0;
    options.hooks.on_connect = NULL;
    options.hooks.on_end = NULL;
    options.hooks.on_send = on_send;
    scarce = (struct scarcity){.first = n, .count = 1, .on = true};
    enum tocsin_status status = topics_create(&options, &world.topics);
    scarce.on = false;
    if (status == TOCSIN_NO_MEMORY)
        return 1;
    act(&world, clients, &lost);
    session_world_check(&world);
    for (size_t i = 0; i < CLIENTS; i++) {
        ended += clients[i].session == NULL || (clients[i].closed && i != 1) ||
                 (i == 1 && clients[i].closed && clients[i].code != WEBSOCKET_NORMAL);
        /* The last one only listens: what was published and not lost, it heard. */
        if (i == 2 && !clients[i].closed && clients[i].session != NULL)
            assert_int_equal(clients[i].messages, 3 - lost);
        if (clients[i].session != NULL)
            session_destroy(clients[i].session);
        buffer_release(&clients[i].heard);
    }
    /* One refusal is felt once, or, of a heart-beat, not at all. */
    assert_true(ended + lost <= scarce.refused);
    if (n == 0)
        assert_int_equal(ended + lost, 0);
    session_world_check(&world);
    topics_destroy(world.topics);
    return scarce.refused;
}

TEST(a_refusal_of_memory_ends_one_session_or_one_call_and_nothing_else)
{
    assert_int_equal(run(0), 0);
    uint64_t n = 1;
    while (run(n) > 0)
        n++;
    assert_true(n > 50);
}
