/* SPDX-License-Identifier: MIT */
/* What comes with a `transaction` header is copied and kept until COMMIT, which then does all of
 * it in the order it came, or ABORT, which forgets it. A SEND that is malformed is refused when it
 * comes, not later. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/inside.h"

struct kept {
    struct kept *next;
    size_t bytes;
    struct stomp_frame frame; /* its headers and bytes are behind it */
};

struct transaction {
    struct transaction *next;
    struct kept *first;
    struct kept **end;
    uint32_t name_size;
    char name[];
};

static void refuse(struct session *session, const struct stomp_frame *frame, const char *detail)
{
    session_error(session, frame, WEBSOCKET_PROTOCOL_ERROR, "transaction is refused", detail);
}

static struct transaction **find(struct session *session, struct bytes name)
{
    struct transaction **at = &session->transactions;
    while (*at != NULL && !bytes_equal((struct bytes){(*at)->name, (*at)->name_size}, name))
        at = &(*at)->next;
    return at;
}

void transaction_begin(struct session *session, const struct stomp_frame *frame)
{
    struct bytes name = stomp_frame_header(frame, "transaction");
    if (name.size == 0) {
        refuse(session, frame, "transaction: a name is needed");
        return;
    }
    if (*find(session, name) != NULL) {
        refuse(session, frame, "transaction: it was begun already");
        return;
    }
    if (session->transaction_count >= session->topics->limits.transactions ||
        name.size > session->topics->limits.transaction_bytes - session->transaction_bytes) {
        refuse(session, frame, "this connection has as many transactions as it may have");
        return;
    }
    struct transaction *made = malloc(sizeof *made + name.size);
    if (made == NULL) {
        session_no_memory(session);
        return;
    }
    *made = (struct transaction){
        .next = session->transactions, .end = &made->first, .name_size = (uint32_t)name.size};
    made->first = NULL;
    memcpy(made->name, name.at, name.size);
    session->transactions = made;
    session->transaction_count++;
    session->transaction_bytes += (uint32_t)name.size;
}

/* One allocation: struct kept | headers | their bytes | body */
static struct kept *copy(const struct stomp_frame *frame)
{
    size_t bytes = frame->header_count * sizeof(struct stomp_header) + frame->body.size;
    for (size_t i = 0; i < frame->header_count; i++)
        bytes += frame->headers[i].name.size + frame->headers[i].value.size;
    struct kept *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL)
        return NULL;
    struct stomp_header *headers = (struct stomp_header *)(kept + 1);
    char *to = (char *)(headers + frame->header_count);
    for (size_t i = 0; i < frame->header_count; i++) {
        struct bytes parts[2] = {frame->headers[i].name, frame->headers[i].value};
        for (size_t j = 0; j < 2; j++) {
            memcpy(to, parts[j].at, parts[j].size);
            parts[j].at = to;
            to += parts[j].size;
        }
        headers[i] = (struct stomp_header){parts[0], parts[1]};
    }
    memcpy(to, frame->body.at, frame->body.size);
    *kept = (struct kept){
        .bytes = bytes,
        .frame = {frame->command, headers, frame->header_count, {to, frame->body.size}},
    };
    return kept;
}

bool transaction_takes(struct session *session, const struct stomp_frame *frame)
{
    struct bytes name = stomp_frame_header(frame, "transaction");
    if (name.at == NULL)
        return false;
    struct transaction *transaction = *find(session, name);
    if (transaction == NULL) {
        refuse(session, frame, "transaction: none of this name was begun");
        return true;
    }
    if (frame->command == STOMP_SEND &&
        (stomp_frame_header(frame, "destination").size == 0 ||
         stomp_frame_header(frame, "destination").size > DESTINATION_BYTES_MAX)) {
        refuse(session, frame, "destination: a name of at most 256 bytes is needed");
        return true;
    }
    struct kept *kept = copy(frame);
    if (kept == NULL) {
        session_no_memory(session);
        return true;
    }
    if (kept->bytes > session->topics->limits.transaction_bytes - session->transaction_bytes) {
        free(kept);
        session_error(session, frame, WEBSOCKET_POLICY, "transaction is too large",
                      "the transactions of this connection hold as much as they may");
        return true;
    }
    session->transaction_bytes += (uint32_t)kept->bytes;
    *transaction->end = kept;
    transaction->end = &kept->next;
    return true;
}

static void forget(struct session *session, struct transaction *transaction)
{
    session->transaction_count--;
    session->transaction_bytes -= transaction->name_size;
    while (transaction->first != NULL) {
        struct kept *next = transaction->first->next;
        session->transaction_bytes -= (uint32_t)transaction->first->bytes;
        free(transaction->first);
        transaction->first = next;
    }
    free(transaction);
}

void transaction_forget_all(struct session *session)
{
    while (session->transactions != NULL) {
        struct transaction *transaction = session->transactions;
        session->transactions = transaction->next;
        forget(session, transaction);
    }
}

bool transaction_end(struct session *session, const struct stomp_frame *frame, bool commit)
{
    struct bytes name = stomp_frame_header(frame, "transaction");
    struct transaction **at = find(session, name);
    struct transaction *transaction = *at;
    if (name.size == 0 || transaction == NULL) {
        refuse(session, frame, "transaction: none of this name was begun");
        return false;
    }
    *at = transaction->next;
    uint64_t ticket = ++session->tickets;
    uint32_t later = 0;
    if (commit) {
        for (struct kept *kept = transaction->first; kept != NULL && !session->ended;
             kept = kept->next)
            later += command_replay(session, &kept->frame, ticket);
    }
    forget(session, transaction);
    if (later == 0 || session->ended)
        return true;
    (void)command_wait(session, ticket, later, stomp_frame_header(frame, "receipt"));
    return false;
}
