/* SPDX-License-Identifier: MIT */
/*   (none)      only CONNECT is taken, and must come in time
 *   connected   all else is
 *   leaving     DISCONNECT came, and sends before it are not done: nothing more is taken
 *   ended       an ERROR or a close was sent, or nobody hears us: waits to be destroyed
 */
#include "delivery/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/inside.h"
#include "net/stomp_write.h"
#include "net/websocket.h"

enum { ERROR_BYTES_MAX = 8192, HEART_BEAT_MS_MAX = 24 * 3600 * 1000 };

static uint64_t now_of(const struct session *session)
{
    const struct topics_hooks *hooks = &session->topics->hooks;
    return hooks->now_ms(hooks->arg);
}

/* Coming and going. */

enum tocsin_status session_create(struct topics *topics, const struct session_link *link,
                                  struct session **ret_session)
{
    uint32_t slot = topics->free_slot;
    if (slot == topics->limits.sessions)
        return TOCSIN_FULL;
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return TOCSIN_NO_MEMORY;
    topics->free_slot = topics->slots[slot].next_free;
    topics->slots[slot].session = session;
    session->topics = topics;
    session->link = *link;
    session->id = (uint64_t)++topics->slots[slot].generation << 32 | slot;
    struct stomp_limits limits = topics->limits.frame;
    limits.body_bytes = 0; /* until it is connected, and may SEND */
    stomp_parser_init(&session->parser, &limits);
    session->heard_ms = now_of(session);
    session->said_ms = session->heard_ms;
    topics->counters.sessions++;
    *ret_session = session;
    return TOCSIN_OK;
}

void session_destroy(struct session *session)
{
    struct topics *topics = session->topics;
    uint32_t slot = (uint32_t)session->id;
    session->ended = true;
    while (session->subscriptions != NULL)
        command_forget(session, session->subscriptions);
    transaction_forget_all(session);
    while (session->unanswered != NULL) {
        struct unanswered *next = session->unanswered->next;
        free(session->unanswered);
        session->unanswered = next;
    }
    free(session->leaving);
    if (session->connected && topics->hooks.on_end != NULL)
        topics->hooks.on_end(topics->hooks.arg, session);
    topics->slots[slot].session = NULL;
    topics->slots[slot].next_free = topics->free_slot;
    topics->free_slot = slot;
    topics->counters.sessions--;
    topics->counters.frame_bytes -= session->held;
    stomp_parser_release(&session->parser);
    free(session);
}

uint64_t session_id(const struct session *session)
{
    return session->id;
}

int64_t session_round_trip_ms(const struct session *session)
{
    const struct session_link *link = &session->link;
    return link->round_trip_ms == NULL ? 0 : link->round_trip_ms(link->arg);
}

struct session *session_find(struct topics *topics, uint64_t id)
{
    uint32_t slot = (uint32_t)id;
    if (slot >= topics->limits.sessions)
        return NULL;
    struct session *session = topics->slots[slot].session;
    return session != NULL && session->id == id && !session->ended ? session : NULL;
}

void session_set_user(struct session *session, void *user)
{
    session->user = user;
}

void *session_user(const struct session *session)
{
    return session->user;
}

/* Saying. */

bool session_push(struct session *session, struct frame *head, struct frame *tail)
{
    if (session->ended)
        return false;
    if (!session->link.send(session->link.arg, head, tail)) {
        session->ended = true;
        return false;
    }
    session->said_ms = now_of(session);
    return true;
}

static void end(struct session *session, enum websocket_code code, const char *reason)
{
    session->ended = true;
    session->link.close(session->link.arg, code, reason);
}

void session_no_memory(struct session *session)
{
    end(session, WEBSOCKET_OVERLOADED, "no memory: try again a little later");
}

void session_push_text(struct session *session, struct buffer *text)
{
    struct frame *frame = NULL;
    if (session->ended) {
        buffer_release(text);
        return;
    }
    if (buffer_status(text) == TOCSIN_OK)
        frame = websocket_frame(WEBSOCKET_TEXT, (struct bytes){text->data, text->size});
    buffer_release(text);
    if (frame == NULL) {
        session_no_memory(session);
        return;
    }
    (void)session_push(session, frame, NULL);
    frame_release(frame);
}

static void write_error(struct buffer *text, const struct stomp_frame *frame, const char *message,
                        const char *detail)
{
    stomp_write_command(text, "ERROR");
    stomp_write_header(text, "message", bytes_of(message));
    stomp_write_header(text, "version", bytes_of("1.2"));
    if (frame != NULL) {
        struct bytes receipt = stomp_frame_header(frame, "receipt");
        if (receipt.at != NULL && receipt.size <= RECEIPT_BYTES_MAX)
            stomp_write_header(text, "receipt-id", receipt);
    }
    stomp_write_header(text, "content-type", bytes_of("text/plain"));
    stomp_write_number(text, "content-length", strlen(detail));
    stomp_write_body(text, bytes_of(detail));
}

void session_error(struct session *session, const struct stomp_frame *frame,
                   enum websocket_code code, const char *message, const char *detail)
{
    struct buffer text;
    if (session->ended)
        return;
    session->topics->counters.refused++;
    buffer_init(&text, ERROR_BYTES_MAX);
    write_error(&text, frame, message, detail);
    session_push_text(session, &text);
    if (!session->ended)
        end(session, code, message);
}

void session_refuse(struct session *session, const char *message, const char *detail)
{
    session_error(session, NULL, WEBSOCKET_POLICY, message, detail);
}

/* CONNECT. */

static bool speaks_1_2(struct bytes versions)
{
    while (versions.size > 0) {
        const char *comma = memchr(versions.at, ',', versions.size);
        size_t size = comma != NULL ? (size_t)(comma - versions.at) : versions.size;
        if (bytes_are((struct bytes){versions.at, size}, "1.2"))
            return true;
        size += comma != NULL;
        versions = (struct bytes){versions.at + size, versions.size - size};
    }
    return false;
}

static bool read_number(struct bytes text, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (text.size == 0 || text.size > 18)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    }
    *ret_number = number < HEART_BEAT_MS_MAX ? number : HEART_BEAT_MS_MAX;
    return true;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* "can,wants", in ms; each side's 0 means: not at all. */
static bool agree_on_heart_beats(struct session *session, struct bytes header)
{
    uint64_t ours = session->topics->limits.heart_beat_ms;
    uint64_t can = 0;
    uint64_t wants = 0;
    if (header.at != NULL) {
        const char *comma = memchr(header.at, ',', header.size);
        if (comma == NULL)
            return false;
        size_t size = (size_t)(comma - header.at);
        if (!read_number((struct bytes){header.at, size}, &can) ||
            !read_number((struct bytes){comma + 1, header.size - size - 1}, &wants))
            return false;
    }
    session->hear_ms = can > 0 && ours > 0 ? larger(can, ours) : 0;
    session->say_ms = wants > 0 && ours > 0 ? larger(wants, ours) : 0;
    return true;
}

static void say_connected(struct session *session)
{
    struct buffer text;
    char number[32];
    uint32_t ours = session->topics->limits.heart_beat_ms;
    buffer_init(&text, ERROR_BYTES_MAX);
    stomp_write_command(&text, "CONNECTED");
    stomp_write_header(&text, "version", bytes_of("1.2"));
    (void)snprintf(number, sizeof number, "%" PRIu32 ",%" PRIu32, ours, ours);
    stomp_write_header(&text, "heart-beat", bytes_of(number));
    stomp_write_header(&text, "server", bytes_of(session->topics->server));
    (void)snprintf(number, sizeof number, "%" PRIx64, session->id);
    stomp_write_header(&text, "session", bytes_of(number));
    stomp_write_body(&text, (struct bytes){0});
    session_push_text(session, &text);
}

static void take_connect(struct session *session, const struct stomp_frame *frame)
{
    const struct topics_hooks *hooks = &session->topics->hooks;
    if (frame->command != STOMP_CONNECT) {
        session_error(session, frame, WEBSOCKET_PROTOCOL_ERROR, "CONNECT comes first",
                      "nothing is taken before a CONNECT or STOMP frame");
        return;
    }
    if (!speaks_1_2(stomp_frame_header(frame, "accept-version"))) {
        session_error(session, frame, WEBSOCKET_PROTOCOL_ERROR, "no version in common",
                      "accept-version: only 1.2 is spoken here");
        return;
    }
    if (!agree_on_heart_beats(session, stomp_frame_header(frame, "heart-beat"))) {
        session_error(session, frame, WEBSOCKET_PROTOCOL_ERROR, "heart-beat is malformed",
                      "heart-beat: two numbers of milliseconds are needed, such as 10000,10000");
        return;
    }
    const char *problem =
        hooks->on_connect == NULL
            ? NULL
            : hooks->on_connect(hooks->arg, session, stomp_frame_header(frame, "login"),
                                stomp_frame_header(frame, "passcode"));
    if (problem != NULL) {
        session_error(session, frame, WEBSOCKET_POLICY, "not allowed", problem);
        return;
    }
    session->connected = true;
    stomp_parser_set_limits(&session->parser, &session->topics->limits.frame);
    session->topics->counters.connected++;
    say_connected(session);
}

/* Hearing. */

void session_heard(struct session *session)
{
    session->heard_ms = now_of(session);
    session->pinged = false;
}

/* All sessions together hold no more than the limit for frames that are not whole. */
static void bound_frames(struct session *session)
{
    struct topics *topics = session->topics;
    size_t held = session->parser.text.room;
    topics->counters.frame_bytes += held;
    topics->counters.frame_bytes -= session->held;
    session->held = held;
    if (topics->counters.frame_bytes > topics->limits.frame_bytes)
        session_error(session, NULL, WEBSOCKET_OVERLOADED, "too much is under way",
                      "too many bytes of frames that are not whole; try again a little later");
    if (!session->ended)
        return;
    /* It takes no more, and need not wait for its client to leave. */
    topics->counters.frame_bytes -= session->held;
    session->held = 0;
    stomp_parser_release(&session->parser);
}

void session_take(struct session *session, struct bytes bytes)
{
    session_heard(session);
    for (size_t at = 0; at < bytes.size && !session->ended && session->leaving == NULL;) {
        size_t used;
        enum stomp_parse_end end =
            stomp_parse(&session->parser, bytes.at + at, bytes.size - at, &used);
        at += used;
        if (end == STOMP_PARSE_REFUSED) {
            struct stomp_header receipt = {bytes_of("receipt"),
                                           stomp_parser_receipt(&session->parser)};
            const struct stomp_frame frame = {.headers = &receipt, .header_count = 1};
            session_error(session, &frame, WEBSOCKET_PROTOCOL_ERROR, "malformed frame",
                          session->parser.problem);
        } else if (end == STOMP_PARSE_FRAME) {
            const struct stomp_frame *frame = stomp_parser_frame(&session->parser);
            session->topics->counters.received++;
            if (session->connected)
                command_take(session, frame);
            else
                take_connect(session, frame);
            stomp_parser_let_go(&session->parser);
        }
    }
    bound_frames(session);
}

/* Heart-beats. */

static void beat(struct session *session)
{
    struct frame *frame = websocket_frame(WEBSOCKET_TEXT, bytes_of("\n"));
    if (frame == NULL)
        return; /* the next look tries again */
    (void)session_push(session, frame, NULL);
    frame_release(frame);
}

static void cut_silent(struct session *session, const char *reason)
{
    session->topics->counters.silent++;
    end(session, WEBSOCKET_POLICY, reason);
}

/* It promised nothing; but a WebSocket answers a ping. */
static void look_whether_it_lives(struct session *session, uint64_t silent_ms)
{
    uint64_t patience_ms = (uint64_t)session->topics->limits.heart_beat_ms * SESSION_PATIENCE;
    if (patience_ms == 0)
        return;
    if (silent_ms > 2 * patience_ms) {
        cut_silent(session, "no answer to a ping");
    } else if (silent_ms > patience_ms && !session->pinged) {
        session->pinged = true;
        session->link.ping(session->link.arg);
    }
}

void session_look(struct session *session)
{
    uint64_t now_ms = now_of(session);
    uint64_t silent_ms = now_ms - session->heard_ms;
    if (session->ended)
        return;
    if (!session->connected) {
        /* Nothing was said to it yet: said_ms is when it came. */
        if (now_ms - session->said_ms > session->topics->limits.connect_ms)
            cut_silent(session, "no CONNECT in time");
        return;
    }
    if (session->hear_ms > 0 && silent_ms > 2 * session->hear_ms) {
        cut_silent(session, "silent for twice the heart-beat that was promised");
        return;
    }
    if (session->hear_ms == 0)
        look_whether_it_lives(session, silent_ms);
    /* Late by no more than one look. */
    uint64_t due_ms = session->say_ms > 2 * SESSION_LOOK_MS ? session->say_ms - SESSION_LOOK_MS
                                                            : session->say_ms / 2;
    if (session->say_ms > 0 && now_ms - session->said_ms >= due_ms)
        beat(session);
}

/* Messages to this one alone. */

uint32_t session_tell(struct session *session, struct bytes destination, const char *content_type,
                      struct bytes body)
{
    struct message message;
    uint32_t told = 0;
    bool made = false;
    for (struct subscription *at = session->subscriptions; at != NULL; at = at->next_own) {
        if (!bytes_equal(subscription_destination(at), destination) || session->ended)
            continue;
        if (!made && message_init(&message, destination, content_type, ++session->topics->numbers,
                                  body) != TOCSIN_OK) {
            session_no_memory(session);
            return told;
        }
        made = true;
        message_deliver(&message, at);
        told++;
    }
    if (made)
        message_release(&message);
    else
        session->topics->counters.untold++;
    return told;
}
