/* SPDX-License-Identifier: MIT */
/* A MESSAGE on the wire, in two frames that are written one behind the other:
 *
 *   head   WebSocket head | MESSAGE\n subscription:ID\n [ack:N.M\n]
 *   tail   destination:…\n content-type:…\n message-id:N\n content-length:N\n \n body \0
 *
 * The tail is the same for all. The head is the same for all whose subscription has one id, which
 * are most: clients number their subscriptions from sub-0 on. So a few are kept with the message.
 * With ACK every message has a head of its own. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "delivery/inside.h"
#include "net/stomp_write.h"

enum { ACK_BYTES = 64 };

static bool is_utf8(struct bytes text)
{
    for (size_t at = 0; at < text.size;) {
        at += utf8_plain(text.at + at, text.size - at);
        if (at == text.size)
            return true;
        size_t length = utf8_length(text.at + at, text.size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

enum tocsin_status message_init(struct message *message, struct bytes destination,
                                const char *content_type, uint64_t number, struct bytes body)
{
    struct buffer head;
    buffer_init(&head, 4096);
    stomp_write_header(&head, "destination", destination);
    stomp_write_header(&head, "content-type", bytes_of(content_type));
    stomp_write_number(&head, "message-id", number);
    stomp_write_number(&head, "content-length", body.size);
    buffer_append_byte(&head, '\n');
    enum tocsin_status status = buffer_status(&head);
    struct frame *tail = NULL;
    if (status == TOCSIN_OK) {
        tail = frame_create(head.size + body.size + 1);
        status = tail != NULL ? TOCSIN_OK : TOCSIN_NO_MEMORY;
    }
    if (status == TOCSIN_OK) {
        memcpy(tail->data, head.data, head.size);
        if (body.size > 0)
            memcpy(tail->data + head.size, body.at, body.size);
        tail->data[head.size + body.size] = '\0';
        *message = (struct message){
            .tail = tail,
            .opcode = is_utf8(body) ? WEBSOCKET_TEXT : WEBSOCKET_BINARY,
        };
    }
    buffer_release(&head);
    return status;
}

void message_release(struct message *message)
{
    frame_release(message->tail);
    for (size_t i = 0; i < MESSAGE_HEADS; i++)
        frame_release(message->heads[i]);
}

static struct frame *make_head(const struct message *message, struct bytes prefix, struct bytes ack)
{
    char head[WEBSOCKET_HEAD_BYTES_MAX];
    size_t size =
        websocket_head(message->opcode, prefix.size + ack.size + message->tail->size, head);
    struct frame *frame = frame_create(size + prefix.size + ack.size);
    if (frame == NULL)
        return NULL;
    memcpy(frame->data, head, size);
    memcpy(frame->data + size, prefix.at, prefix.size);
    if (ack.size > 0)
        memcpy(frame->data + size + prefix.size, ack.at, ack.size);
    return frame;
}

static bool has_prefix(const struct frame *head, struct bytes prefix)
{
    if (head == NULL || head->size < prefix.size)
        return false;
    size_t before = head->size - prefix.size; /* the WebSocket head, 2, 4 or 10 bytes */
    return (before == 2 || before == 4 || before == 10) &&
           memcmp(head->data + before, prefix.at, prefix.size) == 0;
}

/* With a reference for the caller. */
static struct frame *shared_head(struct message *message, const struct subscription *subscription)
{
    struct bytes prefix = subscription_prefix(subscription);
    for (size_t i = 0; i < MESSAGE_HEADS; i++) {
        if (has_prefix(message->heads[i], prefix))
            return frame_share(message->heads[i]);
    }
    struct frame *head = make_head(message, prefix, (struct bytes){0});
    if (head == NULL)
        return NULL;
    struct frame **kept = &message->heads[message->next_head++ % MESSAGE_HEADS];
    frame_release(*kept);
    *kept = frame_share(head);
    return head;
}

/* One that wants an ACK. NULL: the session has ended. */
static struct frame *own_head(struct message *message, struct subscription *subscription)
{
    struct session *session = subscription->session;
    uint32_t window = session->topics->limits.unacknowledged;
    char ack[ACK_BYTES];
    if (subscription->sent - subscription->settled >= window) {
        session_error(session, NULL, WEBSOCKET_POLICY, "too many messages without ACK",
                      "a subscription has as many messages without ACK or NACK as it may have");
        return NULL;
    }
    int size = snprintf(ack, sizeof ack, "ack:%" PRIu64 ".%" PRIu64 "\n", subscription->number,
                        subscription->sent);
    struct frame *head =
        make_head(message, subscription_prefix(subscription), (struct bytes){ack, (size_t)size});
    if (head == NULL)
        return NULL;
    if (subscription->unsettled != NULL) {
        uint64_t bit = subscription->sent % window;
        subscription->unsettled[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    subscription->sent++;
    return head;
}

void message_deliver(struct message *message, struct subscription *subscription)
{
    struct session *session = subscription->session;
    if (session->ended)
        return;
    struct frame *head = subscription->ack == ACK_AUTO ? shared_head(message, subscription)
                                                       : own_head(message, subscription);
    if (head == NULL) {
        if (!session->ended)
            session_no_memory(session);
        return;
    }
    if (session_push(session, head, message->tail))
        session->topics->counters.delivered++;
    frame_release(head);
}
