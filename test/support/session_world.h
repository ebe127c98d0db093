/* SPDX-License-Identifier: MIT */
/* session_world.h - how does a test talk to STOMP sessions without a network?
 *
 * Topics with a clock that a test moves, and clients whose link writes down what they are sent: a
 * line a frame, in which '|' is a line's end. What clients send is written that way too, with '^'
 * for the NUL:
 *
 *     client_says(client, "SUBSCRIBE|id:1|destination:/topic/a||^");
 *     client_heard(client, "RECEIPT|receipt-id:1||");
 *
 * The handler of sends writes down what came ("send /app/x body"), and besides:
 *
 *   /app/later   is not done; world_finish ends the oldest
 *   /app/tell    tells the sender its body on /user/queue/own
 *   /app/refuse  ends the session
 */
#ifndef TEST_SESSION_WORLD_H
#define TEST_SESSION_WORLD_H

#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "delivery/session.h"

enum { SESSION_WORLD_LATER_MAX = 64, SESSION_WORLD_BYTES_MAX = 64 << 20 };

struct session_world {
    struct topics *topics;
    uint64_t now_ms;
    unsigned woken;
    struct buffer events;
    struct {
        uint64_t session;
        uint64_t ticket;
    } later[SESSION_WORLD_LATER_MAX];
    size_t later_first;
    size_t later_count;
};

struct session_client {
    struct session_world *world;
    struct session *session;
    struct buffer heard;
    size_t unread;      /* bytes it was sent */
    size_t unread_max;  /* then it is too slow; 0: never */
    size_t messages;    /* MESSAGE frames */
    struct frame *tail; /* of the last message, shared; when kept is set */
    struct frame *head;
    bool keep;
    bool closed;
    bool quiet; /* only counts */
    enum websocket_code code;
    unsigned pings;
};

static inline void session_world_event(struct session_world *world, const char *what,
                                       struct bytes one, struct bytes other)
{
    buffer_append_text(&world->events, what);
    if (one.size > 0)
        buffer_append_byte(&world->events, ' ');
    buffer_append(&world->events, one.at, one.size);
    if (other.size > 0)
        buffer_append_byte(&world->events, ' ');
    buffer_append(&world->events, other.at, other.size);
    buffer_append_byte(&world->events, '\n');
}

static inline const char *session_world_on_connect(void *arg, struct session *session,
                                                   struct bytes login, struct bytes passcode)
{
    session_world_event(arg, "connect", login, passcode);
    assert_null(session_user(session));
    return bytes_are(passcode, "wrong") ? "passcode: wrong" : NULL;
}

static inline enum session_when session_world_on_send(void *arg, struct session *session,
                                                      const struct stomp_frame *frame,
                                                      uint64_t ticket)
{
    struct session_world *world = arg;
    struct bytes destination = stomp_frame_header(frame, "destination");
    session_world_event(world, "send", destination, frame->body);
    if (bytes_are(destination, "/app/later")) {
        assert_true(world->later_count < SESSION_WORLD_LATER_MAX);
        world->later[world->later_count].session = session_id(session);
        world->later[world->later_count++].ticket = ticket;
        return SESSION_LATER;
    }
    if (bytes_are(destination, "/app/tell"))
        (void)session_tell(session, bytes_of("/user/queue/own"), "text/plain", frame->body);
    if (bytes_are(destination, "/app/refuse"))
        session_refuse(session, "refused", "because");
    return SESSION_DONE;
}

static inline void session_world_on_end(void *arg, struct session *session)
{
    assert_null(session_find(((struct session_world *)arg)->topics, session_id(session)));
    session_world_event(arg, "end", (struct bytes){0}, (struct bytes){0});
}

static inline void session_world_wake(void *arg)
{
    ((struct session_world *)arg)->woken++;
}

static inline uint64_t session_world_now(void *arg)
{
    return ((struct session_world *)arg)->now_ms;
}

static inline struct topics_options session_world_options(struct session_world *world)
{
    return (struct topics_options){
        .limits = topics_limits_default,
        .hooks = {session_world_on_connect, session_world_on_send, session_world_on_end,
                  session_world_wake, session_world_now, world},
        .hash_key = {1, 2},
        .server = "test",
    };
}

/* limits: NULL for the default ones. */
static inline void session_world_start(struct session_world *world,
                                       const struct topics_limits *limits)
{
    *world = (struct session_world){.now_ms = 1000000};
    struct topics_options options = session_world_options(world);
    if (limits != NULL)
        options.limits = *limits;
    buffer_init(&world->events, SESSION_WORLD_BYTES_MAX);
    assert_int_equal(topics_create(&options, &world->topics), TOCSIN_OK);
}

static inline void session_world_check(const struct session_world *world)
{
    struct tocsin_why why = {""};
    if (topics_check(world->topics, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

static inline void session_world_stop(struct session_world *world)
{
    struct topics_counters counters;
    session_world_check(world);
    topics_describe(world->topics, &counters);
    assert_int_equal(counters.sessions, 0);
    assert_int_equal(counters.subscriptions, 0);
    topics_destroy(world->topics);
    buffer_release(&world->events);
}

static inline void session_world_finish(struct session_world *world)
{
    assert_true(world->later_first < world->later_count);
    size_t at = world->later_first++;
    session_finish(world->topics, world->later[at].session, world->later[at].ticket);
}

static inline void session_world_run(struct session_world *world)
{
    while (topics_run(world->topics, 7))
        session_world_check(world);
}

static inline void session_world_saw(struct session_world *world, const char *events)
{
    buffer_append_byte(&world->events, '\0');
    assert_string_equal(world->events.data, events);
    buffer_clear(&world->events);
}

/* ---- clients */

/* The payload of one whole frame that is not masked. */
static inline struct bytes session_client_payload(const char *at, size_t size, char *ret_opcode)
{
    size_t head = 2;
    uint64_t length = (unsigned char)at[1];
    assert_true(size >= 2 && (at[0] & 0x80) != 0 && length < 128);
    if (length >= 126) {
        size_t more = length == 126 ? 2 : 8;
        length = 0;
        for (size_t i = 0; i < more; i++)
            length = length << 8 | (unsigned char)at[2 + i];
        head += more;
    }
    assert_int_equal(size, head + length);
    *ret_opcode = at[0] & 0x0f;
    return (struct bytes){at + head, (size_t)length};
}

static inline void session_client_note(struct session_client *client, struct bytes payload)
{
    for (size_t i = 0; i < payload.size; i++) {
        char byte = payload.at[i];
        if (byte == '\0')
            byte = i + 1 == payload.size ? '\n' : '^';
        else if (byte == '\n')
            byte = '|';
        buffer_append_byte(&client->heard, byte);
    }
    if (payload.size == 1)
        buffer_append_byte(&client->heard, '\n');
}

static inline bool session_client_send(void *arg, struct frame *head, struct frame *tail)
{
    struct session_client *client = arg;
    size_t size = head->size + (tail != NULL ? tail->size : 0);
    char opcode;
    if (client->closed)
        return false;
    if (client->unread_max > 0 && client->unread + size > client->unread_max) {
        client->closed = true;
        return false;
    }
    client->unread += size;
    client->messages += tail != NULL;
    if (client->quiet)
        return true;
    if (client->keep && tail != NULL) {
        frame_release(client->tail);
        frame_release(client->head);
        client->tail = frame_share(tail);
        client->head = frame_share(head);
    }
    char *all = malloc(size);
    assert_non_null(all);
    memcpy(all, head->data, head->size);
    if (tail != NULL)
        memcpy(all + head->size, tail->data, tail->size);
    session_client_note(client, session_client_payload(all, size, &opcode));
    assert_true(opcode == WEBSOCKET_TEXT || opcode == WEBSOCKET_BINARY);
    free(all);
    return true;
}

static inline void session_client_ping(void *arg)
{
    ((struct session_client *)arg)->pings++;
}

static inline void session_client_close(void *arg, enum websocket_code code, const char *reason)
{
    struct session_client *client = arg;
    assert_non_null(reason);
    assert_false(client->closed);
    client->closed = true;
    client->code = code;
}

static inline void session_client_open(struct session_client *client, struct session_world *world)
{
    *client = (struct session_client){.world = world};
    buffer_init(&client->heard, SESSION_WORLD_BYTES_MAX);
    struct session_link link = {session_client_send, session_client_ping, session_client_close,
                                client};
    assert_int_equal(session_create(world->topics, &link, &client->session), TOCSIN_OK);
}

static inline void session_client_leave(struct session_client *client)
{
    session_destroy(client->session);
    frame_release(client->tail);
    frame_release(client->head);
    buffer_release(&client->heard);
}

/* In pieces: the first of `first` bytes (0: as the others), the others of `step`. */
static inline void session_client_says_in(struct session_client *client, const char *text,
                                          size_t first, size_t step)
{
    size_t size = strlen(text);
    char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = text[i] == '|' ? '\n' : text[i] == '^' ? '\0' : text[i];
    for (size_t at = 0; at < size;) {
        size_t piece = at == 0 && first > 0 ? first : step;
        if (piece > size - at)
            piece = size - at;
        session_take(client->session, (struct bytes){bytes + at, piece});
        at += piece;
    }
    free(bytes);
}

static inline void session_client_says(struct session_client *client, const char *text)
{
    session_client_says_in(client, text, 0, SIZE_MAX / 2);
}

/* All since the last time. */
static inline void session_client_heard(struct session_client *client, const char *text)
{
    buffer_append_byte(&client->heard, '\0');
    assert_string_equal(client->heard.data, text);
    buffer_clear(&client->heard);
}

#define CONNECT "CONNECT|accept-version:1.2||^"

/* A client that is connected, and has forgotten that it was told so. */
static inline void session_client_connect(struct session_client *client,
                                          struct session_world *world)
{
    session_client_open(client, world);
    session_client_says(client, CONNECT);
    buffer_clear(&client->heard);
    buffer_clear(&world->events);
}

/* A world with one client that has connected; and the end of both. */
static inline void session_world_meet(struct session_world *world,
                                      const struct topics_limits *limits,
                                      struct session_client *client)
{
    session_world_start(world, limits);
    session_client_connect(client, world);
}

static inline void session_world_part(struct session_world *world, struct session_client *client)
{
    session_client_leave(client);
    session_world_stop(world);
}

#endif
