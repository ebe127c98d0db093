/* SPDX-License-Identifier: MIT */
/* Three STOMP sessions and whatever happens to them: frames, raw bytes, publications, time, links
 * that break. Whatever comes, the books agree, nothing is said after the end, and nothing is left.
 *
 * A step is a byte that says what, and perhaps bytes of its own behind it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SESSIONS = 3, LATER_MAX = 64 };

struct peer {
    struct session *session; /* NULL: not there */
    bool closed;
    bool broken; /* takes nothing more */
};

struct world {
    struct topics *topics;
    struct peer peers[SESSIONS];
    uint64_t now_ms;
    uint64_t later[LATER_MAX][2];
    size_t later_count;
};

static const char *const frames[] = {
    "CONNECT\naccept-version:1.2\nheart-beat:1000,1000\n\n",
    "SUBSCRIBE\nid:0\ndestination:/topic/a\nreceipt:1\n\n",
    "SUBSCRIBE\nid:1\ndestination:/topic/a\nack:client\n\n",
    "SUBSCRIBE\nid:2\ndestination:/topic/b\nack:client-individual\n\n",
    "SUBSCRIBE\nid:3\ndestination:/user/queue/own\n\n",
    "UNSUBSCRIBE\nid:0\n\n",
    "UNSUBSCRIBE\nid:1\n\n",
    "UNSUBSCRIBE\nid:2\n\n",
    "SEND\ndestination:/app/later\nreceipt:2\n\nx",
    "SEND\ndestination:/app/tell\n\nx",
    "SEND\ndestination:/app/tell\ntransaction:t\n\nx",
    "SEND\ndestination:/app/later\ntransaction:t\n\nx",
    "BEGIN\ntransaction:t\n\n",
    "COMMIT\ntransaction:t\nreceipt:3\n\n",
    "ABORT\ntransaction:t\n\n",
    "ACK\nid:1.0\n\n",
    "ACK\nid:2.1\ntransaction:t\n\n",
    "NACK\nid:3.0\n\n",
    "DISCONNECT\nreceipt:9\n\n",
};

enum { FRAMES = sizeof frames / sizeof frames[0] };

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static bool link_send(void *arg, struct frame *head, struct frame *tail)
{
    struct peer *peer = arg;
    require(!peer->closed, "something was said after the end");
    require(head->size > 0 && (tail == NULL || tail->size > 0), "an empty frame");
    return !peer->broken;
}

static void link_ping(void *arg)
{
    require(!((struct peer *)arg)->closed, "pinged after the end");
}

static void link_close(void *arg, enum websocket_code code, const char *reason)
{
    struct peer *peer = arg;
    require(!peer->closed, "closed twice");
    require(websocket_code_may_be_sent((uint16_t)code) && reason != NULL, "a code that is none");
    peer->closed = true;
}

static enum session_when on_send(void *arg, struct session *session,
                                 const struct stomp_frame *frame, uint64_t ticket)
{
    struct world *world = arg;
    if (bytes_are(stomp_frame_header(frame, "destination"), "/app/later") &&
        world->later_count < LATER_MAX) {
        world->later[world->later_count][0] = session_id(session);
        world->later[world->later_count++][1] = ticket;
        return SESSION_LATER;
    }
    (void)session_tell(session, bytes_of("/user/queue/own"), "text/plain", frame->body);
    return SESSION_DONE;
}

static uint64_t now_ms(void *arg)
{
    return ((struct world *)arg)->now_ms;
}

static void come_or_go(struct world *world, struct peer *peer)
{
    if (peer->session != NULL) {
        session_destroy(peer->session);
        *peer = (struct peer){0};
        return;
    }
    struct session_link link = {link_send, link_ping, link_close, peer};
    require(session_create(world->topics, &link, &peer->session) == TOCSIN_OK, "no session");
    session_take(peer->session, (struct bytes){frames[0], strlen(frames[0]) + 1});
}

static void step(struct world *world, uint8_t what, const uint8_t **at, const uint8_t *end)
{
    struct peer *peer = &world->peers[what % SESSIONS];
    what /= SESSIONS;
    if (what < FRAMES) {
        if (peer->session != NULL)
            session_take(peer->session, (struct bytes){frames[what], strlen(frames[what]) + 1});
    } else if (what < 40) {
        size_t size = (size_t)(what - FRAMES) * 2;
        if (size > (size_t)(end - *at))
            size = (size_t)(end - *at);
        if (peer->session != NULL)
            session_take(peer->session, (struct bytes){(const char *)*at, size});
        *at += size;
    } else if (what < 50) {
        (void)topic_publish(world->topics, bytes_of(what % 2 == 0 ? "/topic/a" : "/topic/b"),
                            "text/plain", bytes_of("hello"));
    } else if (what < 60) {
        (void)topics_run(world->topics, what - 49u);
    } else if (what < 66) {
        come_or_go(world, peer);
    } else if (what < 70) {
        world->now_ms += 700;
        if (peer->session != NULL)
            session_look(peer->session);
    } else if (what < 72) {
        peer->broken = true;
    } else if (world->later_count > 0) {
        world->later_count--;
        session_finish(world->topics, world->later[world->later_count][0],
                       world->later[world->later_count][1]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {.now_ms = 1000};
    struct tocsin_why why = {""};
    struct topics_options options = {
        .limits = topics_limits_default,
        .hooks = {.on_send = on_send, .now_ms = now_ms, .arg = &world},
        .server = "fuzz",
    };
    options.limits.sessions = SESSIONS;
    options.limits.topics = 2;
    options.limits.subscriptions = 4;
    options.limits.unacknowledged = 3;
    options.limits.unanswered = 4;
    options.limits.transaction_bytes = 1000;
    options.limits.heart_beat_ms = 1000;
    options.limits.frame_bytes = 1000;
    options.limits.frame = (struct stomp_limits){8, 200, 100};
    if (topics_create(&options, &world.topics) != TOCSIN_OK)
        return 0;
    const uint8_t *end = data + size;
    unsigned steps = 0;
    for (const uint8_t *at = data; at < end;) {
        uint8_t what = *at++;
        step(&world, what, &at, end);
        if (++steps % 32 == 0 || at == end) /* a recount is slow */
            require(topics_check(world.topics, &why) == TOCSIN_OK, why.text);
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        if (world.peers[i].session != NULL)
            session_destroy(world.peers[i].session);
    }
    topics_destroy(world.topics);
    return 0;
}
