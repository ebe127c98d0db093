/* SPDX-License-Identifier: MIT */
/* What a connected client may say. A receipt is sent after the frame was processed: at once, or,
 * when the handler of a SEND says LATER, when it is done. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/inside.h"
#include "net/stomp_write.h"

enum { TEXT_BYTES_MAX = 4096 };

static void refuse(struct session *session, const struct stomp_frame *frame, const char *message,
                   const char *detail)
{
    session_error(session, frame, WEBSOCKET_PROTOCOL_ERROR, message, detail);
}

/* Receipts. */

void command_receipt(struct session *session, struct bytes receipt)
{
    struct buffer text;
    if (receipt.size == 0)
        return;
    buffer_init(&text, TEXT_BYTES_MAX);
    stomp_write_command(&text, "RECEIPT");
    stomp_write_header(&text, "receipt-id", receipt);
    stomp_write_body(&text, (struct bytes){0});
    session_push_text(session, &text);
}

static struct unanswered *make_unanswered(uint64_t ticket, uint32_t left, struct bytes receipt)
{
    struct unanswered *made = malloc(sizeof *made + receipt.size);
    if (made == NULL)
        return NULL;
    *made =
        (struct unanswered){.ticket = ticket, .left = left, .receipt_size = (uint32_t)receipt.size};
    if (receipt.size > 0)
        memcpy(made->receipt, receipt.at, receipt.size);
    return made;
}

bool command_wait(struct session *session, uint64_t ticket, uint32_t left, struct bytes receipt)
{
    if (session->unanswered_count >= session->topics->limits.unanswered) {
        session_error(session, NULL, WEBSOCKET_POLICY, "too many sends under way",
                      "wait for receipts before sending more");
        return false;
    }
    struct unanswered *made = make_unanswered(ticket, left, receipt);
    if (made == NULL) {
        session_no_memory(session);
        return false;
    }
    made->next = session->unanswered;
    session->unanswered = made;
    session->unanswered_count++;
    return true;
}

/* All that was sent before DISCONNECT is done. */
static void leave(struct session *session)
{
    struct unanswered *leaving = session->leaving;
    command_receipt(session, (struct bytes){leaving->receipt, leaving->receipt_size});
    if (!session->ended) {
        session->ended = true;
        session->link.close(session->link.arg, WEBSOCKET_NORMAL, "");
    }
}

/* With the receipt of a send everything that it led to has been told. */
static void catch_up(struct session *session)
{
    for (struct subscription *at = session->subscriptions; at != NULL; at = at->next_own) {
        if (at->topic != NULL && !session->ended)
            topic_catch_up(at);
    }
}

void session_finish(struct topics *topics, uint64_t id, uint64_t ticket)
{
    struct session *session = session_find(topics, id);
    if (session == NULL)
        return;
    struct unanswered **at = &session->unanswered;
    while (*at != NULL && (*at)->ticket != ticket)
        at = &(*at)->next;
    struct unanswered *found = *at;
    if (found == NULL || --found->left > 0)
        return;
    *at = found->next;
    session->unanswered_count--;
    catch_up(session);
    command_receipt(session, (struct bytes){found->receipt, found->receipt_size});
    free(found);
    if (session->leaving != NULL && session->unanswered == NULL)
        leave(session);
}

/* Subscriptions. */

static struct subscription *find(struct session *session, struct bytes id)
{
    struct subscription *at = session->subscriptions;
    while (at != NULL && !bytes_equal(subscription_id(at), id))
        at = at->next_own;
    return at;
}

static bool starts_with(struct bytes text, const char *start)
{
    size_t size = strlen(start);
    return text.size > size && memcmp(text.at, start, size) == 0;
}

static bool read_ack(const struct stomp_frame *frame, enum ack_mode *ret_ack)
{
    struct bytes ack = stomp_frame_header(frame, "ack");
    if (ack.at == NULL || bytes_are(ack, "auto"))
        *ret_ack = ACK_AUTO;
    else if (bytes_are(ack, "client"))
        *ret_ack = ACK_CLIENT;
    else if (bytes_are(ack, "client-individual"))
        *ret_ack = ACK_INDIVIDUAL;
    else
        return false;
    return true;
}

static struct subscription *make(struct session *session, struct bytes id, struct bytes destination,
                                 enum ack_mode ack)
{
    uint32_t window = session->topics->limits.unacknowledged;
    struct subscription *made = NULL;
    struct buffer prefix;
    buffer_init(&prefix, TEXT_BYTES_MAX);
    stomp_write_command(&prefix, "MESSAGE");
    stomp_write_header(&prefix, "subscription", id);
    if (buffer_status(&prefix) == TOCSIN_OK)
        made = calloc(1, sizeof *made + id.size + destination.size + prefix.size);
    if (made != NULL && ack == ACK_INDIVIDUAL) {
        made->unsettled = calloc((window + 63) / 64, sizeof *made->unsettled);
        if (made->unsettled == NULL) {
            free(made);
            made = NULL;
        }
    }
    if (made != NULL) {
        made->session = session;
        made->ack = ack;
        made->id_size = (uint32_t)id.size;
        made->destination_size = (uint32_t)destination.size;
        made->prefix_size = (uint32_t)prefix.size;
        memcpy(made->text, id.at, id.size);
        memcpy(made->text + id.size, destination.at, destination.size);
        memcpy(made->text + id.size + destination.size, prefix.data, prefix.size);
    }
    buffer_release(&prefix);
    return made;
}

static void release(struct subscription *subscription)
{
    free(subscription->unsettled);
    free(subscription);
}

/* What is wrong with it; NULL: nothing. */
static const char *wrong_subscribe(struct session *session, const struct stomp_frame *frame,
                                   enum ack_mode *ret_ack)
{
    struct bytes id = stomp_frame_header(frame, "id");
    struct bytes destination = stomp_frame_header(frame, "destination");
    if (id.at == NULL || id.size > SUBSCRIPTION_ID_BYTES_MAX)
        return "id: a name of at most 128 bytes is needed";
    if (find(session, id) != NULL)
        return "id: another subscription of this connection has it";
    if (destination.at == NULL || destination.size > DESTINATION_BYTES_MAX)
        return "destination: a name of at most 256 bytes is needed";
    if (!starts_with(destination, "/topic/") && !starts_with(destination, "/user/queue/"))
        return "destination: only /topic/... and /user/queue/... can be subscribed to";
    if (!read_ack(frame, ret_ack))
        return "ack: one of auto, client, client-individual";
    if (session->subscription_count >= session->topics->limits.subscriptions)
        return "this connection has as many subscriptions as it may have";
    return NULL;
}

static bool take_subscribe(struct session *session, const struct stomp_frame *frame)
{
    struct topics *topics = session->topics;
    struct bytes destination = stomp_frame_header(frame, "destination");
    enum ack_mode ack = ACK_AUTO;
    const char *wrong = wrong_subscribe(session, frame, &ack);
    if (wrong != NULL) {
        refuse(session, frame, "SUBSCRIBE is refused", wrong);
        return false;
    }
    struct subscription *made = make(session, stomp_frame_header(frame, "id"), destination, ack);
    enum tocsin_status status = made == NULL ? TOCSIN_NO_MEMORY : TOCSIN_OK;
    if (status == TOCSIN_OK && starts_with(destination, "/topic/"))
        status = topic_join(topics, made);
    if (status != TOCSIN_OK) {
        if (made != NULL)
            release(made);
        if (status == TOCSIN_FULL)
            session_error(session, frame, WEBSOCKET_OVERLOADED, "SUBSCRIBE is refused",
                          "there are as many topics as there may be; try again later");
        else
            session_no_memory(session);
        return false;
    }
    made->number = ++session->numbers;
    made->next_own = session->subscriptions;
    session->subscriptions = made;
    session->subscription_count++;
    topics->counters.subscriptions++;
    return true;
}

void command_forget(struct session *session, struct subscription *subscription)
{
    struct subscription **at = &session->subscriptions;
    while (*at != subscription)
        at = &(*at)->next_own;
    *at = subscription->next_own;
    session->subscription_count--;
    session->topics->counters.subscriptions--;
    if (subscription->topic != NULL)
        topic_leave(session->topics, subscription);
    release(subscription);
}

static bool take_unsubscribe(struct session *session, const struct stomp_frame *frame)
{
    struct bytes id = stomp_frame_header(frame, "id");
    struct subscription *found = id.at != NULL ? find(session, id) : NULL;
    if (found == NULL) {
        refuse(session, frame, "UNSUBSCRIBE is refused", "id: there is no such subscription");
        return false;
    }
    command_forget(session, found);
    return true;
}

/* Acknowledgements. */

/* "3.17": message 17 of subscription 3, as own_head in message.c wrote it. */
static bool read_ack_id(struct bytes id, uint64_t *ret_number, uint64_t *ret_message)
{
    uint64_t parts[2] = {0, 0};
    size_t part = 0;
    size_t digits = 0;
    for (size_t i = 0; i < id.size; i++) {
        if (id.at[i] == '.' && part == 0 && digits > 0) {
            part = 1;
            digits = 0;
        } else if (id.at[i] >= '0' && id.at[i] <= '9' && digits < 18) {
            parts[part] = parts[part] * 10 + (uint64_t)(id.at[i] - '0');
            digits++;
        } else {
            return false;
        }
    }
    *ret_number = parts[0];
    *ret_message = parts[1];
    return part == 1 && digits > 0;
}

static void settle(struct subscription *subscription, uint64_t message)
{
    uint32_t window = subscription->session->topics->limits.unacknowledged;
    if (message < subscription->settled)
        return; /* it was already */
    if (subscription->ack == ACK_CLIENT) {
        subscription->settled = message + 1;
        return;
    }
    uint64_t bit = message % window;
    subscription->unsettled[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    while (subscription->settled < subscription->sent) {
        bit = subscription->settled % window;
        if ((subscription->unsettled[bit / 64] >> bit % 64 & 1) != 0)
            return;
        subscription->settled++;
    }
}

static bool take_ack(struct session *session, const struct stomp_frame *frame)
{
    uint64_t number;
    uint64_t message;
    struct bytes id = stomp_frame_header(frame, "id");
    if (id.at == NULL || !read_ack_id(id, &number, &message) || number > session->numbers) {
        refuse(session, frame, "ACK or NACK of nothing",
               "id: this is not the `ack` header of a message that was sent");
        return false;
    }
    struct subscription *at = session->subscriptions;
    while (at != NULL && at->number != number)
        at = at->next_own;
    if (frame->command == STOMP_NACK)
        session->topics->counters.nacked++;
    if (at == NULL)
        return true; /* unsubscribed meanwhile */
    if (at->ack == ACK_AUTO || message >= at->sent) {
        refuse(session, frame, "ACK or NACK of nothing",
               "id: no message of this subscription waits for it");
        return false;
    }
    settle(at, message);
    return true;
}

/* Sending. */

static bool send_fits(struct session *session, const struct stomp_frame *frame)
{
    struct bytes destination = stomp_frame_header(frame, "destination");
    if (destination.size > 0 && destination.size <= DESTINATION_BYTES_MAX)
        return true;
    refuse(session, frame, "SEND is refused", "destination: a name of at most 256 bytes is needed");
    return false;
}

static enum session_when hand_over(struct session *session, const struct stomp_frame *frame,
                                   uint64_t ticket)
{
    const struct topics_hooks *hooks = &session->topics->hooks;
    return hooks->on_send(hooks->arg, session, frame, ticket);
}

uint32_t command_replay(struct session *session, const struct stomp_frame *frame, uint64_t ticket)
{
    if (frame->command != STOMP_SEND) {
        (void)take_ack(session, frame);
        return 0;
    }
    return hand_over(session, frame, ticket) == SESSION_LATER;
}

/* False: the receipt is not to be sent now. */
static bool take_send(struct session *session, const struct stomp_frame *frame)
{
    if (!send_fits(session, frame))
        return false;
    uint64_t ticket = ++session->tickets;
    if (hand_over(session, frame, ticket) == SESSION_DONE)
        return true;
    (void)command_wait(session, ticket, 1, stomp_frame_header(frame, "receipt"));
    return false;
}

static void take_disconnect(struct session *session, const struct stomp_frame *frame)
{
    struct unanswered *leaving = make_unanswered(0, 0, stomp_frame_header(frame, "receipt"));
    if (leaving == NULL) {
        session_no_memory(session);
        return;
    }
    session->leaving = leaving;
    if (session->unanswered == NULL)
        leave(session);
}

void command_take(struct session *session, const struct stomp_frame *frame)
{
    struct bytes receipt = stomp_frame_header(frame, "receipt");
    bool done = false;
    if (receipt.size > RECEIPT_BYTES_MAX) {
        refuse(session, NULL, "receipt is too long", "receipt: at most 256 bytes");
        return;
    }
    switch (frame->command) {
    case STOMP_CONNECT:
        refuse(session, frame, "connected already", "CONNECT comes once");
        break;
    case STOMP_SUBSCRIBE:
        done = take_subscribe(session, frame);
        break;
    case STOMP_UNSUBSCRIBE:
        done = take_unsubscribe(session, frame);
        break;
    case STOMP_SEND:
        done = transaction_takes(session, frame) || take_send(session, frame);
        break;
    case STOMP_ACK:
    case STOMP_NACK:
        done = transaction_takes(session, frame) || take_ack(session, frame);
        break;
    case STOMP_BEGIN:
        transaction_begin(session, frame);
        done = true;
        break;
    case STOMP_COMMIT:
        done = transaction_end(session, frame, true);
        break;
    case STOMP_ABORT:
        done = transaction_end(session, frame, false);
        break;
    case STOMP_DISCONNECT:
        take_disconnect(session, frame);
        break;
    case STOMP_COMMANDS:
        break;
    }
    if (done && !session->ended)
        command_receipt(session, receipt);
}
