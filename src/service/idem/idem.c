/* SPDX-License-Identifier: MIT */
#include "service/idem/idem.h"

#include <stdlib.h>

/* A doc: body hash, rev (8 bytes each, lowest first), outcome, text. */
enum { HEAD_BYTES = 17, DOC_BYTES_MAX = STORE_DOC_BYTES_MAX };

struct idem {
    struct engine *engine;
    struct idem_limits limits;
    struct engine_kind kind_info;
    unsigned kind;
    uint64_t count;
    struct buffer doc;
};

const struct idem_limits idem_limits_default = {
    .entries = 1000000,
    .keep_ms = INT64_C(24) * 3600 * 1000,
};

static void put_u64(char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (char)(value >> (8 * i));
}

static uint64_t get_u64(const char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)(unsigned char)from[i] << (8 * i);
    return value;
}

static enum tocsin_status say_again(struct bytes doc, struct reply *reply)
{
    struct bytes text = {doc.at + HEAD_BYTES, doc.size - HEAD_BYTES};
    reply->outcome = (enum outcome)(unsigned char)doc.at[16];
    reply->rev = get_u64(doc.at + 8);
    reply->replayed = true;
    if (reply->outcome >= OUTCOME_INVALID)
        return reply_refuse(reply, reply->outcome, "%.*s", (int)text.size, text.at);
    buffer_append(&reply->answer, text.at, text.size);
    return buffer_status(&reply->answer);
}

enum tocsin_status idem_replay(struct idem *idem, struct change *change, const struct idem_ask *ask,
                               struct reply *reply)
{
    struct engine_record record;
    reply_begin(reply);
    if (ask->key.size == 0)
        return TOCSIN_NONE;
    enum tocsin_status status = change_get(change, idem->kind, ask->key, &record);
    if (status == TOCSIN_NONE && idem->count >= idem->limits.entries)
        return reply_refuse(reply, OUTCOME_TOO_MANY,
                            "Idempotency-Key: too many of the last 24 hours");
    if (status != TOCSIN_OK)
        return status;
    if (record.doc.size < HEAD_BYTES || (unsigned char)record.doc.at[16] > OUTCOME_BROKEN)
        return TOCSIN_DAMAGED;
    if (get_u64(record.doc.at) != ask->body)
        return reply_refuse(reply, OUTCOME_CONFLICTING,
                            "Idempotency-Key: it was used with another body in the last 24 hours");
    return say_again(record.doc, reply);
}

static void settled(void *arg, enum tocsin_status status)
{
    struct idem *idem = arg;
    idem->count -= status != TOCSIN_OK;
}

enum tocsin_status idem_keep(struct idem *idem, struct change *change, const struct idem_ask *ask,
                             struct bytes home, const struct reply *reply)
{
    char head[HEAD_BYTES];
    bool done = reply->outcome < OUTCOME_INVALID;
    struct bytes text =
        done ? (struct bytes){reply->answer.data, reply->answer.size} : bytes_of(reply->why.text);
    if (buffer_status(&reply->answer) != TOCSIN_OK)
        return buffer_status(&reply->answer);
    if (!done && (ask->key.size == 0 || !outcome_stands(reply->outcome)))
        return TOCSIN_CONFLICT;
    if (ask->key.size == 0)
        return TOCSIN_OK;
    put_u64(head, ask->body);
    put_u64(head + 8, reply->rev);
    head[16] = (char)reply->outcome;
    buffer_clear(&idem->doc);
    buffer_append(&idem->doc, head, sizeof head);
    buffer_append(&idem->doc, text.at, text.size);
    if (buffer_status(&idem->doc) != TOCSIN_OK)
        return buffer_status(&idem->doc);
    struct change_put put = {
        .kind = idem->kind,
        .key = ask->key,
        .home = home,
        .due_ms = engine_now_up_ms(idem->engine) + idem->limits.keep_ms,
        .basis = STORE_ELAPSED,
        .doc = {idem->doc.data, idem->doc.size},
    };
    enum tocsin_status status = change_put(change, &put, NULL);
    if (status == TOCSIN_OK)
        status = change_then(change, settled, idem);
    idem->count += status == TOCSIN_OK; /* at once: those under way count too */
    return status;
}

uint64_t idem_count(const struct idem *idem)
{
    return idem->count;
}

/* ---- the kind */

static void dropped(void *arg, enum tocsin_status status)
{
    struct idem *idem = arg;
    idem->count -= status == TOCSIN_OK;
}

static enum tocsin_status on_due(void *service, struct change *change,
                                 const struct engine_record *record)
{
    struct idem *idem = service;
    enum tocsin_status status = change_drop(change, idem->kind, record->key);
    return status == TOCSIN_OK ? change_then(change, dropped, idem) : status;
}

static void on_load(void *service, const struct engine_head *head)
{
    (void)head;
    ((struct idem *)service)->count++;
}

enum tocsin_status idem_create(struct engine *engine, const struct idem_limits *limits,
                               struct idem **ret_idem)
{
    struct idem *idem = calloc(1, sizeof *idem);
    if (idem == NULL)
        return TOCSIN_NO_MEMORY;
    idem->engine = engine;
    idem->limits = *limits;
    buffer_init(&idem->doc, DOC_BYTES_MAX);
    idem->kind_info =
        (struct engine_kind){.name = "idem", .on_due = on_due, .on_load = on_load, .service = idem};
    idem->kind = engine_add_kind(engine, &idem->kind_info);
    *ret_idem = idem;
    return TOCSIN_OK;
}

void idem_destroy(struct idem *idem)
{
    if (idem == NULL)
        return;
    buffer_release(&idem->doc);
    free(idem);
}
