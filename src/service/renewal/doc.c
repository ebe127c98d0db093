/* SPDX-License-Identifier: MIT */
/* What a renewal is on disk, and in an answer: JSON. */

#include "base/json_read.h"
#include "service/renewal/renewals_inside.h"

const char *const renewal_state_names[] = {
    [RENEWAL_ACTIVE] = "ACTIVE",       [RENEWAL_PAUSED] = "PAUSED",
    [RENEWAL_COMPLETED] = "COMPLETED", [RENEWAL_FAILED] = "FAILED",
    [RENEWAL_CANCELLED] = "CANCELLED", [RENEWAL_LOST] = "LOST",
};

/* ---- on disk: {"spec":{…},"created":…,"ended":…,"why":…,"counters":[…]} */

enum { COUNTERS = 7 };

static void list_counters(struct counters *counters, uint64_t *ret_list[COUNTERS - 1])
{
    ret_list[0] = &counters->rounds;
    ret_list[1] = &counters->count;
    ret_list[2] = &counters->success;
    ret_list[3] = &counters->failure;
    ret_list[4] = &counters->task_failures;
    ret_list[5] = &counters->skipped;
}

static void read_counters(struct json_reader *reader, struct counters *counters)
{
    uint64_t *list[COUNTERS - 1];
    list_counters(counters, list);
    (void)json_read_expect(reader, JSON_READ_ARRAY);
    for (size_t i = 0; i < COUNTERS - 1; i++) {
        if (json_read_expect(reader, JSON_READ_NUMBER))
            (void)json_read_uint64(reader, list[i]);
    }
    if (json_read_expect(reader, JSON_READ_NUMBER))
        (void)json_read_int64(reader, &counters->last_ms);
    (void)json_read_expect(reader, JSON_READ_ARRAY_END);
}

static void write_counters(struct json_writer *writer, const struct counters *counters)
{
    struct counters copy = *counters;
    uint64_t *list[COUNTERS - 1];
    list_counters(&copy, list);
    json_write_array(writer);
    for (size_t i = 0; i < COUNTERS - 1; i++)
        json_write_uint64(writer, *list[i]);
    json_write_int64(writer, counters->last_ms);
    json_write_array_end(writer);
}

static void read_raw(struct json_reader *reader, struct bytes *ret_raw)
{
    struct json_span span;
    if (json_read_raw(reader, &span))
        *ret_raw = (struct bytes){span.at, span.size};
}

static void read_number(struct json_reader *reader, int64_t *ret_number)
{
    if (json_read_expect(reader, JSON_READ_NUMBER))
        (void)json_read_int64(reader, ret_number);
}

enum tocsin_status renewal_decode(const struct engine_record *record,
                                  struct renewal_record *ret_record)
{
    static const char *const names[] = {"spec", "created", "ended", "why", "counters"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct renewal_record *it = ret_record;
    struct json_reader reader;
    size_t which;
    *it = (struct renewal_record){
        .id = record->key, .state = (enum renewal_state)record->mark, .rev = record->rev};
    json_reader_init(&reader, record->doc.at, record->doc.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        if (which == 0)
            read_raw(&reader, &it->spec);
        else if (which == 1)
            read_number(&reader, &it->created_ms);
        else if (which == 2)
            read_number(&reader, &it->ended_ms);
        else if (which == 3)
            read_raw(&reader, &it->why);
        else
            read_counters(&reader, &it->counters);
    }
    bool state_fits = it->state >= RENEWAL_ACTIVE && it->state <= RENEWAL_LOST;
    if (json_read_finish(&reader, NULL) != TOCSIN_OK || it->spec.size == 0 || !state_fits)
        return TOCSIN_DAMAGED;
    return TOCSIN_OK;
}

enum tocsin_status renewal_read_spec(const struct renewal_record *record,
                                     struct renewal_spec **ret_spec)
{
    /* The TTL is only one that steps do not need; the tick may have been another then. */
    static const struct renewal_defaults defaults = {.ttl_ms = RENEWAL_MS_MAX, .every_ms = 1};
    enum tocsin_status status = renewal_spec_read(record->spec, &defaults, ret_spec, NULL, NULL);
    return status == TOCSIN_INVALID ? TOCSIN_DAMAGED : status;
}

enum tocsin_status renewal_put(struct renewals *all, struct change *change,
                               const struct renewal *renewal, enum renewal_state state,
                               const char *why, uint64_t *ret_rev)
{
    const struct renewal_strategy *strategy = &renewal->spec->strategy;
    struct bytes id = renewal_id(renewal);
    bool ended = state >= RENEWAL_COMPLETED;
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    json_write_object(&writer);
    json_write_key(&writer, "spec");
    json_write_object(&writer);
    renewal_spec_write(&writer, renewal->spec, SPEC_BRIEF);
    json_write_object_end(&writer);
    json_field_int64(&writer, "created", renewal->created_ms);
    if (ended)
        json_field_int64(&writer, "ended", engine_wall_ms(all->engine));
    if (why[0] != '\0')
        json_field_text(&writer, "why", why);
    json_write_key(&writer, "counters");
    write_counters(&writer, &renewal->counters);
    json_write_object_end(&writer);
    if (buffer_status(&all->doc) != TOCSIN_OK)
        return buffer_status(&all->doc);
    struct change_put put = {
        .kind = all->kind,
        .key = id,
        .home = id,
        .due_ms = STORE_NEVER,
        .basis = STORE_ELAPSED,
        .mark = (uint8_t)state,
        .doc = {all->doc.data, all->doc.size},
    };
    if (ended) {
        put.due_ms = engine_now_up_ms(all->engine) + all->limits.grace_ms;
    } else if (strategy->type == STRATEGY_UNTIL) { /* also while it is paused */
        put.due_ms = strategy->until_ms;
        put.basis = STORE_WALL;
    }
    return change_put(change, &put, ret_rev);
}

void renewal_event(struct renewals *all, struct change *change, const struct renewal *renewal,
                   const char *what, const char *why)
{
    struct bytes id = renewal_id(renewal);
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    json_write_object(&writer);
    json_field_bytes(&writer, "id", id);
    struct bytes name = renewal->spec->more->name;
    if (name.size > 0)
        json_field_bytes(&writer, "name", name);
    if (why[0] != '\0') {
        json_field_text(&writer, "why", why);
    }
    json_write_object_end(&writer);
    if (buffer_status(&all->doc) == TOCSIN_OK)
        change_event(change, all->kind, id, what, (struct bytes){all->doc.data, all->doc.size});
    else
        change_event_lost(change, buffer_status(&all->doc));
}

/* ---- in an answer */

static void write_time(struct json_writer *writer, const char *name, int64_t ms)
{
    json_write_key(writer, name);
    if (ms == 0)
        json_write_null(writer);
    else
        json_write_int64(writer, ms);
}

static void write_metrics(struct json_writer *writer, const struct counters *counters,
                          int64_t created_ms)
{
    uint64_t keys = counters->success + counters->failure;
    json_write_key(writer, "metrics");
    json_write_object(writer);
    json_field_int64(writer, "total", (int64_t)counters->rounds);
    json_field_int64(writer, "success", (int64_t)counters->success);
    json_field_int64(writer, "failure", (int64_t)counters->failure);
    json_field_int64(writer, "task_failures", (int64_t)counters->task_failures);
    json_field_int64(writer, "skipped", (int64_t)counters->skipped);
    json_write_key(writer, "success_rate");
    if (keys == 0)
        json_write_null(writer);
    else
        json_write_double(writer, (double)counters->success * 100 / (double)keys);
    write_time(writer, "last_ms", counters->last_ms);
    write_time(writer, "created_ms", created_ms);
    json_write_object_end(writer);
}

/* {"renewed":2,"missing":1,"why":…,"keys":[{"key":…,"result":…}]} */
static void write_last(struct json_writer *writer, const struct tally *last)
{
    json_write_key(writer, "last");
    if (last == NULL) {
        json_write_null(writer);
        return;
    }
    json_write_object(writer);
    for (int i = KEY_RENEWED; i < KEY_RESULTS; i++)
        json_field_int64(writer, key_result_names[i], (int64_t)last->of[i]);
    json_write_key(writer, "why");
    if (trouble_why(last->trouble)[0] == '\0')
        json_write_null(writer);
    else
        json_write_text(writer, trouble_why(last->trouble));
    json_write_key(writer, "bad");
    json_write_array(writer);
    for (uint32_t i = 0; last->trouble != NULL && i < last->trouble->worst_count; i++) {
        const struct worst *worst = &last->trouble->worst[i];
        json_write_object(writer);
        json_write_key(writer, "key");
        json_write_string(writer, worst->key, worst->key_size);
        json_field_text(writer, "result", key_result_names[worst->result]);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
}

void renewal_write(struct json_writer *writer, const struct renewal_view *view)
{
    const struct renewal *live = view->live;
    json_write_object(writer);
    json_field_bytes(writer, "id", view->id);
    json_field_text(writer, "status", renewal_state_names[view->state]);
    renewal_spec_write(writer, view->spec, SPEC_WHOLE);
    write_time(writer, "ended_ms", view->ended_ms);
    json_write_key(writer, "why");
    if (view->why.size == 0)
        json_write_null(writer);
    else
        json_write_raw(writer, view->why.at, view->why.size);
    bool beats = live != NULL && view->state == RENEWAL_ACTIVE && live->state == RENEWAL_ACTIVE;
    write_time(writer, "next_ms",
               beats ? engine_wall_of(live->all->engine, live->next_ms, STORE_ELAPSED) : 0);
    json_field_int64(writer, "failures", live != NULL ? live->failures : 0);
    write_metrics(writer, live != NULL ? &live->counters : view->counters, view->created_ms);
    bool has_last = live != NULL && live->has_last;
    struct tally last = has_last ? renewal_last(live) : (struct tally){.trouble = NULL};
    write_last(writer, has_last ? &last : NULL);
    json_field_uint64(writer, "rev", view->rev);
    json_write_object_end(writer);
}
