/* SPDX-License-Identifier: MIT */
#include "service/renewal/own.h"

#include <stdio.h>
#include <stdlib.h>

enum { ID_ROOM = 256, FOUND_BYTES_MAX = 64 * 1024 * 1024 };

const struct tocsin_strategy *own_strategy(const struct own_functions *own, struct bytes name)
{
    for (size_t i = 0; own != NULL && i < own->strategy_count; i++) {
        if (bytes_are(name, own->strategies[i].name))
            return &own->strategies[i];
    }
    return NULL;
}

const struct tocsin_generator *own_generator(const struct own_functions *own, struct bytes name)
{
    for (size_t i = 0; own != NULL && i < own->generator_count; i++) {
        if (bytes_are(name, own->generators[i].name))
            return &own->generators[i];
    }
    return NULL;
}

static bool say_missing(struct tocsin_why *ret_why, const char *what, struct bytes name)
{
    (void)snprintf(ret_why->text, sizeof ret_why->text,
                   "%s: this program has none of its own that is called %.*s", what,
                   name.size < 64 ? (int)name.size : 64, name.at);
    return true;
}

bool own_misses(const struct own_functions *own, const struct renewal_spec *spec,
                struct tocsin_why *ret_why)
{
    const struct renewal_strategy *strategy = &spec->strategy;
    if (strategy->type == STRATEGY_OWN && own_strategy(own, strategy->test->key) == NULL)
        return say_missing(ret_why, "strategy", strategy->test->key);
    for (uint32_t i = 0; spec->scans && i < spec->source_count; i++) {
        const struct key_source *source = &spec->sources[i];
        if (source->type == SOURCE_GENERATOR && own_generator(own, source->text) == NULL)
            return say_missing(ret_why, "generator", source->text);
    }
    return false;
}

static void put_id(char *to, size_t room, struct bytes id)
{
    (void)snprintf(to, room, "%.*s", (int)id.size, id.at);
}

static struct tocsin_renewal_context context_of(const char *id,
                                                const struct renewal_context *context)
{
    return (struct tocsin_renewal_context){
        .id = id, .count = context->count, .last_ms = context->last_ms, .now_ms = context->now_ms};
}

int64_t own_ttl_ms(const struct own_functions *own, const struct renewal_strategy *strategy,
                   struct bytes id, const struct renewal_context *context)
{
    const struct tocsin_strategy *own_one = own_strategy(own, strategy->test->key);
    char word[ID_ROOM];
    if (own_one == NULL || own_one->ttl_ms == NULL)
        return strategy->ttl_ms;
    put_id(word, sizeof word, id);
    struct tocsin_renewal_context given = context_of(word, context);
    int64_t ttl = own_one->ttl_ms(own_one->arg, &given);
    return ttl < RENEWAL_MS_MAX ? ttl : RENEWAL_MS_MAX;
}

/* ---- what may wait */

struct own_look *own_look_create(struct bytes id, const struct renewal_context *context)
{
    struct own_look *look = calloc(1, sizeof *look + id.size + 1);
    if (look == NULL)
        return NULL;
    put_id(look->id, id.size + 1, id);
    look->context = context_of(look->id, context);
    buffer_init(&look->job.found, FOUND_BYTES_MAX);
    return look;
}

void own_look_free(struct own_look *look)
{
    buffer_release(&look->job.found);
    free(look);
}

static bool found(void *arg, const char *key, size_t size)
{
    struct own_look *look = arg;
    if (size == 0 || size > RENEWAL_KEY_BYTES_MAX) {
        (void)snprintf(look->job.why, sizeof look->job.why,
                       "generator %.64s: a key must have 1 to %d bytes, not %zu",
                       look->generator->name, (int)RENEWAL_KEY_BYTES_MAX, size);
        look->refused = true;
        return false;
    }
    if (look->room == 0)
        return false;
    look->room--;
    key_found(&look->job, (struct bytes){key, size});
    return buffer_status(&look->job.found) == TOCSIN_OK;
}

static void generate(struct own_look *look)
{
    struct tocsin_why why = {""};
    enum tocsin_status status =
        look->generator->keys(look->generator->arg, &look->context, found, look, &why);
    look->job.whole = KEY_RENEWED;
    if (look->refused)
        look->job.whole = KEY_REFUSED;
    if (status == TOCSIN_OK || look->refused)
        return;
    look->job.whole = KEY_FAILED;
    (void)snprintf(look->job.why, sizeof look->job.why, "generator %.64s: %.80s",
                   look->generator->name,
                   why.text[0] != '\0' ? why.text : tocsin_status_text(status));
}

void own_work(void *self, struct key_job *job)
{
    struct own_look *look = (struct own_look *)job;
    (void)self;
    if (look->generator != NULL) {
        generate(look);
        return;
    }
    job->holds = look->strategy->goes_on(look->strategy->arg, &look->context);
    job->whole = KEY_RENEWED;
}
