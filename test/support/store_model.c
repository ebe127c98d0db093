/* SPDX-License-Identifier: MIT */
#include "support/store_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static bool wrong(struct store_verdict *verdict, const char *what, uint64_t number)
{
    (void)snprintf(verdict->text, sizeof verdict->text, "%s (%" PRIu64 ")", what, number);
    return false;
}

/* What the store answered when it should have answered OK. */
static bool failed(struct store_verdict *verdict, const char *what, enum tocsin_status status,
                   const struct tocsin_why *why)
{
    (void)snprintf(verdict->text, sizeof verdict->text, "%s: %s, %s", what,
                   tocsin_status_name(status), why->text);
    verdict->refused = status == TOCSIN_DAMAGED;
    return false;
}

static struct bytes keep(char **at, struct bytes bytes)
{
    struct bytes kept = {*at, bytes.size};
    if (bytes.size > 0)
        memcpy(*at, bytes.at, bytes.size);
    *at += bytes.size;
    return kept;
}

static struct store_record *copy_record(const struct store_record *record)
{
    struct store_record *copy =
        must(malloc(sizeof *copy + record->kind.size + record->key.size + record->home.size +
                    record->tag.size + record->doc.size));
    char *at = (char *)(copy + 1);
    *copy = *record;
    copy->kind = keep(&at, record->kind);
    copy->key = keep(&at, record->key);
    copy->home = keep(&at, record->home);
    copy->tag = keep(&at, record->tag);
    copy->doc = keep(&at, record->doc);
    return copy;
}

static struct store_event *copy_event(const struct store_event *event)
{
    struct store_event *copy = must(malloc(sizeof *copy + event->kind.size + event->key.size +
                                           event->type.size + event->doc.size));
    char *at = (char *)(copy + 1);
    *copy = *event;
    copy->kind = keep(&at, event->kind);
    copy->key = keep(&at, event->key);
    copy->type = keep(&at, event->type);
    copy->doc = keep(&at, event->doc);
    return copy;
}

static bool same_record(const struct store_record *one, const struct store_record *other,
                        bool with_doc)
{
    return one->rev == other->rev && bytes_equal(one->kind, other->kind) &&
           bytes_equal(one->key, other->key) && bytes_equal(one->home, other->home) &&
           bytes_equal(one->tag, other->tag) && one->due_ms == other->due_ms &&
           one->basis == other->basis && one->mark == other->mark &&
           (with_doc ? bytes_equal(one->doc, other->doc) : other->doc.size == 0);
}

static bool same_event(const struct store_event *one, const struct store_event *other)
{
    return one->seq == other->seq && one->at_ms == other->at_ms &&
           bytes_equal(one->kind, other->kind) && bytes_equal(one->key, other->key) &&
           bytes_equal(one->type, other->type) && bytes_equal(one->doc, other->doc);
}

void store_model_init(struct store_model *model)
{
    *model = (struct store_model){0};
}

void store_model_release(struct store_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        free(model->living[i]);
    for (size_t i = 0; i < model->event_count; i++)
        free(model->events[i]);
    free(model->living);
    free(model->events);
    store_model_init(model);
}

static size_t place_of(const struct store_model *model, uint64_t rev)
{
    size_t low = 0;
    size_t high = model->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model->living[middle]->rev < rev)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void store_model_apply(struct store_model *model, const struct store_batch *batch)
{
    if (model->count + batch->put_count > model->room) {
        model->room = 2 * (model->count + batch->put_count);
        model->living = must(realloc(model->living, model->room * sizeof(void *)));
    }
    for (size_t i = 0; i < batch->put_count; i++)
        model->living[model->count++] = copy_record(&batch->puts[i]);
    for (size_t i = 0; i < batch->dead_count; i++) {
        size_t at = place_of(model, batch->dead[i]);
        free(model->living[at]);
        memmove(model->living + at, model->living + at + 1, (--model->count - at) * sizeof(void *));
    }
    if (model->event_count + batch->event_count > model->event_room) {
        model->event_room = 2 * (model->event_count + batch->event_count);
        model->events = must(realloc(model->events, model->event_room * sizeof(void *)));
    }
    for (size_t i = 0; i < batch->event_count; i++)
        model->events[model->event_count++] = copy_event(&batch->events[i]);
    model->high_rev = batch->high_rev;
    model->high_seq += batch->event_count;
    model->time = batch->time;
}

struct judging {
    const struct store_model *model;
    struct store_verdict *verdict;
    bool *seen;
    size_t count;
    uint64_t last;
    bool good;
};

static bool see_loaded(void *arg, const struct store_record *record)
{
    struct judging *judging = arg;
    size_t at = place_of(judging->model, record->rev);
    judging->count++;
    if (at == judging->model->count || judging->model->living[at]->rev != record->rev)
        judging->good = wrong(judging->verdict, "load gives a version that died", record->rev);
    else if (judging->seen[at])
        judging->good = wrong(judging->verdict, "load gives a version twice", record->rev);
    else if (!same_record(judging->model->living[at], record, false))
        judging->good = wrong(judging->verdict, "load gives another record", record->rev);
    else
        judging->seen[at] = true;
    return true; /* a load is judged by its end: the store may still refuse it */
}

static bool judge_load(struct judging *judging, struct store *store)
{
    struct tocsin_why why = {""};
    judging->seen = must(calloc(judging->model->count + 1, sizeof(bool)));
    enum tocsin_status status = store->ops->load(store, see_loaded, judging, &why);
    free(judging->seen);
    if (status != TOCSIN_OK)
        return failed(judging->verdict, "load", status, &why);
    if (judging->good && judging->count != judging->model->count)
        return wrong(judging->verdict, "load gives fewer versions than live", judging->count);
    return judging->good;
}

static void see_got(void *arg, const struct store_record *record)
{
    struct judging *judging = arg;
    const struct store_record *wanted = judging->model->living[judging->count];
    if (!same_record(wanted, record, true))
        judging->good = wrong(judging->verdict, "get gives another record", wanted->rev);
}

static bool judge_get(struct judging *judging, struct store *store)
{
    for (size_t i = 0; i < judging->model->count && judging->good; i++) {
        judging->count = i;
        uint64_t rev = judging->model->living[i]->rev;
        struct tocsin_why why = {"a living version"};
        enum tocsin_status status = store->ops->get(store, rev, see_got, judging, &why);
        if (status != TOCSIN_OK)
            return failed(judging->verdict, "get", status, &why);
    }
    return judging->good;
}

/* The dead may be among them, so only the living are compared. */
static bool see_listed(void *arg, const struct store_record *record)
{
    struct judging *judging = arg;
    size_t at = place_of(judging->model, record->rev);
    if (record->rev <= judging->last)
        judging->good = wrong(judging->verdict, "list does not ascend", record->rev);
    judging->last = record->rev;
    if (at == judging->model->count || judging->model->living[at]->rev != record->rev)
        return judging->good;
    judging->count++;
    if (!same_record(judging->model->living[at], record, true))
        judging->good = wrong(judging->verdict, "list gives another record", record->rev);
    return judging->good;
}

static bool judge_list(struct judging *judging, struct store *store, const char *kind)
{
    enum { SCAN = 37 };
    size_t wanted = 0;
    for (size_t i = 0; i < judging->model->count; i++)
        wanted += bytes_are(judging->model->living[i]->kind, kind);
    uint64_t next = 0;
    judging->count = 0;
    judging->last = 0;
    do {
        struct tocsin_why why = {""};
        enum tocsin_status status =
            store->ops->list(store, bytes_of(kind), next, SCAN, see_listed, judging, &next, &why);
        if (status != TOCSIN_OK)
            return failed(judging->verdict, "list", status, &why);
    } while (next != 0 && judging->good);
    if (judging->good && judging->count != wanted)
        return wrong(judging->verdict, "list gives fewer than live", judging->count);
    return judging->good;
}

static bool see_event(void *arg, const struct store_event *event)
{
    struct judging *judging = arg;
    if (event->seq != judging->last + 1 || event->seq > judging->model->event_count ||
        !same_event(judging->model->events[event->seq - 1], event))
        judging->good = wrong(judging->verdict, "another event", event->seq);
    judging->last = event->seq;
    return judging->good;
}

static bool judge_events(struct judging *judging, struct store *store)
{
    enum { SCAN = 100 };
    uint64_t first = 0;
    struct tocsin_why why = {""};
    judging->last = 0;
    enum tocsin_status status = store->ops->events(store, 0, 0, see_event, judging, &first, &why);
    if (status != TOCSIN_OK)
        return failed(judging->verdict, "events", status, &why);
    judging->last = first == 0 ? judging->model->event_count : first - 1;
    if (first == 0 && judging->model->event_count > 0)
        return wrong(judging->verdict, "no events left", judging->model->event_count);
    while (judging->good && judging->last < judging->model->event_count) {
        uint64_t before = judging->last;
        status = store->ops->events(store, before, SCAN, see_event, judging, &first, &why);
        if (status != TOCSIN_OK)
            return failed(judging->verdict, "events", status, &why);
        if (judging->last == before)
            return wrong(judging->verdict, "events ends too early", before);
    }
    return judging->good;
}

bool store_model_judge(const struct store_model *model, struct store *store,
                       struct store_verdict *ret_verdict)
{
    struct judging judging = {.model = model, .verdict = ret_verdict, .good = true};
    *ret_verdict = (struct store_verdict){""};
    return judge_load(&judging, store) && judge_get(&judging, store) &&
           judge_list(&judging, store, "task") && judge_list(&judging, store, "run") &&
           judge_events(&judging, store);
}

bool store_model_judge_state(const struct store_model *model, const struct store_state *state,
                             struct store_verdict *ret_verdict)
{
    if (state->high_rev != model->high_rev)
        return wrong(ret_verdict, "high_rev is another", state->high_rev);
    if (state->high_seq != model->high_seq)
        return wrong(ret_verdict, "high_seq is another", state->high_seq);
    if (state->time.elapsed_ms != model->time.elapsed_ms ||
        state->time.skew_ms != model->time.skew_ms)
        return wrong(ret_verdict, "the time line is another", (uint64_t)state->time.elapsed_ms);
    if (state->living != model->count)
        return wrong(ret_verdict, "living is another", state->living);
    return true;
}

/* Any bytes, NUL and broken UTF-8 among them. */
static struct bytes draw_bytes(struct store_draft *draft, struct test_random *random, size_t size)
{
    size_t room = STORE_DRAFT_BYTES - draft->used;
    size = size < room ? size : room;
    char *at = draft->bytes + draft->used;
    for (size_t i = 0; i < size; i++)
        at[i] = (char)test_random_next(random);
    draft->used += size;
    return (struct bytes){at, size};
}

static void draw_record(struct store_draft *draft, struct test_random *random,
                        const struct store_habits *habits, struct store_record *record)
{
    static const char *const kinds[] = {"task", "run", "idem"};
    static const char *const tags[] = {"", "default", "a queue with a longer name"};
    bool large = test_random_one_in(random, 12);
    size_t doc_max = large ? habits->doc_max : habits->doc_max / 20;
    *record = (struct store_record){
        .rev = record->rev,
        .kind = bytes_of(kinds[test_random_below(random, 3)]),
        .key = draw_bytes(draft, random, 1 + test_random_below(random, 40)),
        .tag = bytes_of(tags[test_random_below(random, 3)]),
        .due_ms = test_random_one_in(random, 5) ? STORE_NEVER : (int64_t)test_random_next(random),
        .basis = test_random_one_in(random, 2) ? STORE_WALL : STORE_ELAPSED,
        .mark = (uint8_t)test_random_next(random),
        .doc = draw_bytes(draft, random, test_random_below(random, doc_max + 1)),
    };
    record->home = test_random_one_in(random, 3) ? draw_bytes(draft, random, 12) : record->key;
}

/* Takes distinct revs of living versions, from all over. */
static size_t draw_dead(struct store_draft *draft, const struct store_model *model,
                        struct test_random *random, size_t wanted)
{
    size_t count = 0;
    wanted = wanted < model->count ? wanted : model->count;
    for (size_t tries = 0; count < wanted && tries < 4 * wanted; tries++) {
        uint64_t rev = model->living[test_random_below(random, model->count)]->rev;
        bool again = false;
        for (size_t i = 0; i < count; i++)
            again = again || draft->dead[i] == rev;
        if (!again)
            draft->dead[count++] = rev;
    }
    return count;
}

void store_draft_make(struct store_draft *draft, const struct store_model *model,
                      struct test_random *random, const struct store_habits *habits)
{
    bool crowded = model->count > habits->living_max;
    size_t puts = (size_t)test_random_below(random, habits->puts_max + 1);
    size_t dead = (size_t)test_random_below(random, habits->dead_max + 1);
    puts = crowded ? puts / 2 : puts;
    dead = crowded ? habits->dead_max : dead;
    size_t events = (size_t)test_random_below(random, STORE_DRAFT_EVENTS_MAX + 1);
    uint64_t rev = model->high_rev;
    draft->used = 0;
    for (size_t i = 0; i < puts; i++) {
        rev += 1 + (test_random_one_in(random, 10) ? test_random_below(random, 100) : 0);
        draft->puts[i].rev = rev;
        draw_record(draft, random, habits, &draft->puts[i]);
    }
    for (size_t i = 0; i < events; i++)
        draft->events[i] = (struct store_event){
            .seq = model->high_seq + 1 + i,
            .at_ms = (int64_t)test_random_next(random),
            .kind = bytes_of("task"),
            .key = draw_bytes(draft, random, 1 + test_random_below(random, 20)),
            .type = bytes_of("fired"),
            .doc = draw_bytes(draft, random, test_random_below(random, 100)),
        };
    draft->batch = (struct store_batch){
        .puts = draft->puts,
        .put_count = puts,
        .dead = draft->dead,
        .dead_count = draw_dead(draft, model, random, dead),
        .events = draft->events,
        .event_count = events,
        .high_rev = rev + (test_random_one_in(random, 10) ? 3 : 0),
        .time = {model->time.elapsed_ms + (int64_t)test_random_below(random, 100),
                 (int64_t)test_random_next(random)},
    };
}
