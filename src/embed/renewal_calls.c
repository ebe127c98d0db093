/* SPDX-License-Identifier: MIT */
/* What the program asks of its renewals: an order for the engine's thread, and what it was. A
 * renewal becomes the JSON that HTTP takes, so that there is one reader who refuses. */

#include <stdio.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/utf8.h"
#include "embed/renewals.h"

#define CONTROLS                                                                                   \
    "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37\177"

enum { ANSWER_BYTES_MAX = 1024 * 1024, SPEC_BYTES_MAX = 4 * 1024 * 1024 };

static enum tocsin_status refuse(struct tocsin_why *ret_why, const char *why)
{
    (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", why);
    return TOCSIN_INVALID;
}

/* ---- a renewal as JSON */

static bool is_text(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t size = utf8_length(text, left);
        if (size == 0)
            return false;
        text += size;
        left -= size;
    }
    return true;
}

static enum tocsin_status check_texts(const struct tocsin_renewal *given,
                                      struct tocsin_why *ret_why)
{
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"name", given->name},         {"prefix", given->prefix},
                 {"pattern", given->pattern},   {"generator", given->generator},
                 {"strategy", given->strategy}, {"store", given->store},
                 {"owner", given->owner}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text != NULL && !is_text(texts[i].text)) {
            (void)snprintf(ret_why->text, sizeof ret_why->text, "%s: must be UTF-8", texts[i].name);
            return TOCSIN_INVALID;
        }
    }
    if (given->keys == NULL && given->key_count > 0)
        return refuse(ret_why, "keys: there are none, but key_count says so");
    for (size_t i = 0; i < given->key_count; i++) {
        if (given->keys[i] == NULL || !is_text(given->keys[i]))
            return refuse(ret_why, "keys: must be UTF-8");
    }
    return TOCSIN_OK;
}

static enum tocsin_status check(const struct tocsin_renewals *renewals,
                                const struct tocsin_renewal *given, struct tocsin_why *ret_why)
{
    int strategies = (given->strategy != NULL) + (given->step_count > 0) + (given->until_ms != 0);
    if (renewals->engine == NULL) {
        (void)refuse(ret_why, "the engine is not open yet");
        return TOCSIN_BUSY;
    }
    if (given->id == NULL || given->id[0] == '\0' || strlen(given->id) > RENEWAL_ID_BYTES_MAX ||
        !is_text(given->id) || strpbrk(given->id, CONTROLS) != NULL)
        return refuse(ret_why, "id: must have 1 to 64 bytes of UTF-8, without control characters");
    if (strategies > 1)
        return refuse(ret_why, "strategy, steps, until_ms: one of them, not several");
    if (embed_renewals_store(renewals, given->store) == NULL)
        return refuse(ret_why, "store: there is none of this name");
    return check_texts(given, ret_why);
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
    if (text == NULL)
        return;
    json_write_key(writer, name);
    json_write_text(writer, text);
}

static void write_number(struct json_writer *writer, const char *name, int64_t number)
{
    if (number == 0)
        return;
    json_write_key(writer, name);
    json_write_int64(writer, number);
}

static void write_keys(struct json_writer *writer, const struct tocsin_renewal *given)
{
    json_write_key(writer, "keys");
    json_write_array(writer);
    for (size_t i = 0; i < given->key_count; i++)
        json_write_text(writer, given->keys[i]);
    json_write_array_end(writer);
}

/* One of them as it is; several as "any", each an object. */
static void write_sources(struct json_writer *writer, const struct tocsin_renewal *given)
{
    const struct {
        const char *name;
        const char *text;
    } texts[] = {
        {"prefix", given->prefix}, {"pattern", given->pattern}, {"generator", given->generator}};
    bool many = (given->key_count > 0) + (given->prefix != NULL) + (given->pattern != NULL) +
                    (given->generator != NULL) >
                1;
    if (many) {
        json_write_key(writer, "any");
        json_write_array(writer);
    }
    if (given->key_count > 0) {
        if (many)
            json_write_object(writer);
        write_keys(writer, given);
        if (many)
            json_write_object_end(writer);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text == NULL)
            continue;
        if (many)
            json_write_object(writer);
        write_text(writer, texts[i].name, texts[i].text);
        if (many)
            json_write_object_end(writer);
    }
    if (many)
        json_write_array_end(writer);
}

static void write_strategy(struct json_writer *writer, const struct tocsin_renewal *given)
{
    json_write_key(writer, "strategy");
    json_write_object(writer);
    write_text(writer, "type",
               given->strategy != NULL ? "own"
               : given->step_count > 0 ? "steps"
               : given->until_ms != 0  ? "until"
                                       : "fixed");
    write_text(writer, "name", given->strategy);
    if (given->step_count == 0)
        write_number(writer, "ttl", given->ttl_ms);
    write_number(writer, "at", given->until_ms);
    if (given->step_count > 0) {
        json_write_key(writer, "steps");
        json_write_array(writer);
        for (size_t i = 0; i < given->step_count; i++) {
            json_write_object(writer);
            write_number(writer, "ttl", given->steps[i].ttl_ms);
            write_number(writer, "count", (int64_t)given->steps[i].count);
            json_write_object_end(writer);
        }
        json_write_array_end(writer);
    }
    json_write_object_end(writer);
}

static enum tocsin_status spec_of(const struct tocsin_renewals *renewals,
                                  const struct tocsin_renewal *given,
                                  struct renewal_spec **ret_spec, struct tocsin_why *ret_why)
{
    struct buffer json;
    struct json_writer writer;
    buffer_init(&json, SPEC_BYTES_MAX);
    json_writer_init(&writer, &json);
    json_write_object(&writer);
    write_text(&writer, "name", given->name);
    write_sources(&writer, given);
    write_strategy(&writer, given);
    write_number(&writer, "every", given->every_ms);
    if (given->no_retries || given->max_retries > 0) {
        json_write_key(&writer, "max_retries");
        json_write_int64(&writer, given->no_retries ? 0 : given->max_retries);
    }
    write_text(&writer, "redis", given->store);
    write_text(&writer, "owner", given->owner);
    json_write_key(&writer, "shorten");
    json_write_bool(&writer, given->may_shorten);
    json_write_key(&writer, "persistent");
    json_write_bool(&writer, given->may_limit);
    json_write_object_end(&writer);
    enum tocsin_status status = buffer_status(&json);
    if (status == TOCSIN_FULL)
        status = refuse(ret_why, "keys: are too many bytes");
    if (status == TOCSIN_OK)
        status = renewal_spec_read((struct bytes){json.data, json.size}, &renewals->defaults,
                                   ret_spec, NULL, ret_why);
    buffer_release(&json);
    return status;
}

/* ---- calls */

struct renewal_order {
    struct order order; /* first */
    struct tocsin_renewals *renewals;
    struct renewal_call call;
};

static struct renewal_order *order_of(struct renewal_call *call)
{
    return (struct renewal_order *)((char *)call - offsetof(struct renewal_order, call));
}

static void call_done(struct renewal_call *call)
{
    struct renewal_order *self = order_of(call);
    embed_order_done(self->renewals->engine, &self->order);
}

static void call_run(struct tocsin_engine *engine, struct order *order)
{
    struct renewal_order *self = (struct renewal_order *)order;
    (void)engine;
    renewals_ask(self->renewals->service, &self->call);
}

static enum tocsin_status ask(struct tocsin_renewals *renewals, enum renewal_verb verb,
                              const char *id, struct renewal_spec *spec, struct tocsin_why *ret_why)
{
    struct renewal_order self = {
        .order = {.run = call_run},
        .renewals = renewals,
        .call = {.verb = verb, .id = bytes_of(id), .spec = spec, .done = call_done}};
    if (renewals->engine == NULL) {
        free(spec);
        return TOCSIN_BUSY;
    }
    buffer_init(&self.call.reply.answer, ANSWER_BYTES_MAX);
    embed_order(renewals->engine, &self.order);
    buffer_release(&self.call.reply.answer);
    if (ret_why != NULL)
        *ret_why = self.call.reply.why;
    return embed_status_of(self.call.reply.outcome);
}

enum tocsin_status tocsin_renewal_add(struct tocsin_renewals *renewals,
                                      const struct tocsin_renewal *renewal,
                                      struct tocsin_why *ret_why)
{
    struct renewal_spec *spec;
    enum tocsin_status status = check(renewals, renewal, ret_why);
    if (status == TOCSIN_OK)
        status = spec_of(renewals, renewal, &spec, ret_why);
    if (status == TOCSIN_OK)
        status = ask(renewals, RENEWAL_REGISTER, renewal->id, spec, ret_why);
    return status;
}

static enum tocsin_status ask_simply(struct tocsin_renewals *renewals, enum renewal_verb verb,
                                     const char *id)
{
    return strlen(id) > RENEWAL_ID_BYTES_MAX ? TOCSIN_NONE : ask(renewals, verb, id, NULL, NULL);
}

enum tocsin_status tocsin_renewal_cancel(struct tocsin_renewals *renewals, const char *id)
{
    return ask_simply(renewals, RENEWAL_CANCEL, id);
}

enum tocsin_status tocsin_renewal_pause(struct tocsin_renewals *renewals, const char *id)
{
    return ask_simply(renewals, RENEWAL_PAUSE, id);
}

enum tocsin_status tocsin_renewal_resume(struct tocsin_renewals *renewals, const char *id)
{
    return ask_simply(renewals, RENEWAL_RESUME, id);
}

enum tocsin_status tocsin_renewal_renew(struct tocsin_renewals *renewals, const char *id)
{
    return ask_simply(renewals, RENEWAL_RENEW, id);
}

/* ---- looking */

struct look_order {
    struct order order; /* first */
    struct tocsin_renewals *renewals;
    struct bytes id;
    struct tocsin_renewal_metrics *metrics;
    enum tocsin_status status;
};

static void looked(void *arg, enum tocsin_status status,
                   const struct tocsin_renewal_metrics *metrics)
{
    struct look_order *self = arg;
    self->status = status;
    if (status == TOCSIN_OK)
        *self->metrics = *metrics;
    embed_order_done(self->renewals->engine, &self->order);
}

static void look_run(struct tocsin_engine *engine, struct order *order)
{
    struct look_order *self = (struct look_order *)order;
    (void)engine;
    renewals_look(self->renewals->service, self->id, looked, self);
}

enum tocsin_status tocsin_renewal_describe(struct tocsin_renewals *renewals, const char *id,
                                           struct tocsin_renewal_metrics *ret_metrics)
{
    struct look_order self = {.order = {.run = look_run},
                              .renewals = renewals,
                              .id = bytes_of(id),
                              .metrics = ret_metrics};
    if (renewals->engine == NULL || self.id.size > RENEWAL_ID_BYTES_MAX)
        return renewals->engine == NULL ? TOCSIN_BUSY : TOCSIN_NONE;
    embed_order(renewals->engine, &self.order);
    return self.status;
}

struct list_order {
    struct order order; /* first */
    struct tocsin_renewals *renewals;
    struct buffer found; /* struct listed */
};
struct listed {
    char id[RENEWAL_ID_BYTES_MAX + 1];
    struct tocsin_renewal_metrics metrics;
};

static bool list_one(void *arg, struct bytes id, const struct tocsin_renewal_metrics *metrics)
{
    struct list_order *self = arg;
    struct listed listed = {.metrics = *metrics};
    memcpy(listed.id, id.at, id.size);
    buffer_append(&self->found, &listed, sizeof listed);
    return buffer_status(&self->found) == TOCSIN_OK;
}

static void list_run(struct tocsin_engine *engine, struct order *order)
{
    struct list_order *self = (struct list_order *)order;
    renewals_each(self->renewals->service, list_one, self);
    embed_order_done(engine, order);
}

enum tocsin_status tocsin_renewals_each(struct tocsin_renewals *renewals, tocsin_renewal_each fn,
                                        void *arg)
{
    struct list_order self = {.order = {.run = list_run}, .renewals = renewals};
    if (renewals->engine == NULL)
        return TOCSIN_BUSY;
    buffer_init(&self.found, SIZE_MAX / 2);
    embed_order(renewals->engine, &self.order);
    enum tocsin_status status = buffer_status(&self.found);
    const struct listed *listed = (const void *)self.found.data;
    size_t count = status == TOCSIN_OK ? self.found.size / sizeof *listed : 0;
    for (size_t i = 0; i < count && fn(arg, listed[i].id, &listed[i].metrics); i++) {
    }
    buffer_release(&self.found);
    return status;
}
