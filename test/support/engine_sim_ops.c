/* SPDX-License-Identifier: MIT */
/* What the clients and the kind of a simulated life do. */
#include "support/engine_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_TAKES = 32 }; /* in the mark, beside the key's number */

static uint64_t draw(struct sim *sim, uint64_t limit)
{
    return test_random_below(&sim->random, limit);
}

static bool one_in(struct sim *sim, uint64_t n)
{
    return test_random_one_in(&sim->random, n);
}

/* ---- keys and docs: "h3:1", and "stamp behaviour period" */

struct text {
    char at[48];
    size_t size;
};

static struct text key_text(unsigned key)
{
    struct text text;
    text.size = (size_t)snprintf(text.at, sizeof text.at, "h%u:%u", key / 3, key % 3);
    return text;
}

static struct bytes bytes_of_text(const struct text *text)
{
    return (struct bytes){text->at, text->size};
}

static unsigned key_of(struct bytes key)
{
    char text[16] = "";
    memcpy(text, key.at, key.size < 15 ? key.size : 15);
    char *colon;
    unsigned long home = strtoul(text + 1, &colon, 10);
    return (unsigned)(home * 3 + strtoul(colon + 1, NULL, 10));
}

struct doc {
    uint64_t stamp;
    char behaviour; /* o: once, r: again, g: a group, e: fails at times, h: taken by its head */
    uint64_t period_ms;
};

static struct doc doc_of(struct bytes bytes)
{
    char text[48] = "";
    memcpy(text, bytes.at, bytes.size < 47 ? bytes.size : 47);
    struct doc doc;
    char *end;
    doc.stamp = strtoull(text, &end, 10);
    doc.behaviour = end[1];
    doc.period_ms = strtoull(end + 2, NULL, 10);
    return doc;
}

static struct judge_version version_of(const struct engine_record *record)
{
    return (struct judge_version){record->rev, doc_of(record->doc).stamp, record->due_ms,
                                  record->basis};
}

/* ---- what a change does to a key */

static int64_t some_due(struct sim *sim, enum store_basis basis)
{
    static const uint64_t spans[] = {1, 50, 2500, 60000, 86400000, UINT64_C(1) << 45};
    int64_t now =
        basis == STORE_WALL ? engine_wall_up_ms(sim->engine) : engine_now_up_ms(sim->engine);
    if (one_in(sim, 5))
        return STORE_NEVER; /* paused */
    if (one_in(sim, 20))
        return now - (int64_t)draw(sim, 5000);
    return now + (int64_t)draw(sim, spans[draw(sim, 6)]);
}

static enum tocsin_status put_key(struct sim *sim, struct change *change, unsigned key,
                                  int64_t due_ms, enum store_basis basis, const struct doc *like,
                                  struct judge_group *group)
{
    static const char behaviours[] = "oorrgeh";
    struct doc doc = {++sim->next_stamp, behaviours[draw(sim, 7)], 1 + draw(sim, 5000)};
    if (like != NULL)
        doc = (struct doc){doc.stamp, like->behaviour, like->period_ms};
    struct text key_bytes = key_text(key);
    struct text doc_bytes;
    doc_bytes.size = (size_t)snprintf(doc_bytes.at, sizeof doc_bytes.at, "%" PRIu64 " %c%" PRIu64,
                                      doc.stamp, doc.behaviour, doc.period_ms);
    static const char *const tags[] = {"", "red", "green", "blue"};
    struct change_put put = {
        .kind = sim->kind_number,
        .key = bytes_of_text(&key_bytes),
        .home = {key_bytes.at, 2},
        .tag = bytes_of(tags[draw(sim, 4)]),
        .due_ms = due_ms,
        .basis = basis,
        .mark = (uint8_t)(key | (doc.behaviour == 'h' ? HEAD_TAKES : 0u)),
        .doc = bytes_of_text(&doc_bytes),
    };
    uint64_t rev = 0;
    enum tocsin_status status = change_put(change, &put, &rev);
    if (status == TOCSIN_OK)
        group->effects[group->count++] =
            (struct judge_effect){key, {rev, doc.stamp, due_ms, basis}};
    return status;
}

static enum tocsin_status drop_key(struct sim *sim, struct change *change, unsigned key,
                                   struct judge_group *group)
{
    struct text text = key_text(key);
    enum tocsin_status status = change_drop(change, sim->kind_number, bytes_of_text(&text));
    if (status == TOCSIN_OK)
        group->effects[group->count++] = (struct judge_effect){.key = key};
    return status;
}

static enum tocsin_status put_some(struct sim *sim, struct change *change, unsigned key,
                                   struct judge_group *group)
{
    enum store_basis basis = one_in(sim, 3) ? STORE_WALL : STORE_ELAPSED;
    return put_key(sim, change, key, some_due(sim, basis), basis, NULL, group);
}

/* Its event tells that the group is durable. */
static enum tocsin_status finish_group(struct sim *sim, struct change *change,
                                       struct judge_group *group)
{
    struct text text;
    text.size = (size_t)snprintf(text.at, sizeof text.at, "%" PRIu64, group->id);
    change_event(change, sim->kind_number, bytes_of("x"), "did", bytes_of_text(&text));
    judge_applied(&sim->judge, group);
    return TOCSIN_OK;
}

void sim_on_event(void *arg, const struct store_event *event)
{
    struct sim *sim = arg;
    char text[24] = "";
    memcpy(text, event->doc.at, event->doc.size < 23 ? event->doc.size : 23);
    judge_acknowledged(&sim->judge, strtoull(text, NULL, 10));
}

/* ---- commands */

static struct sim_op *new_op(struct sim *sim)
{
    for (size_t i = 0; i < SIM_OPS_MAX; i++) {
        struct sim_op *op = &sim->ops[i];
        if (!op->used) {
            *op = (struct sim_op){.sim = sim, .used = true, .id = ++sim->next_id};
            return op;
        }
    }
    return NULL;
}

static enum tocsin_status op_run(void *arg, struct change *change)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    struct judge_group group = {.id = op->id};
    struct engine_record record = {0};
    struct text text = key_text(op->keys[0]);
    enum tocsin_status status = change_get(change, sim->kind_number, bytes_of_text(&text), &record);
    if (status == TOCSIN_BUSY)
        return status;
    op->rev_seen = status == TOCSIN_OK ? record.rev : 0;
    op->seen_group = judge_read_tip(&sim->judge, op->keys[0], op->rev_seen);
    if ((op->only_if_none && op->rev_seen != 0) ||
        (op->only_if_rev && op->rev_seen != op->rev_wanted))
        return TOCSIN_CONFLICT;
    for (size_t i = 0; i < op->count; i++) {
        status = op->drops[i] ? drop_key(sim, change, op->keys[i], &group)
                              : put_some(sim, change, op->keys[i], &group);
        if (status != TOCSIN_OK && status != TOCSIN_NONE)
            return status;
    }
    if (group.count == 0)
        return TOCSIN_NONE;
    op->id = group.id = ++sim->next_id;
    op->wrote = true;
    return finish_group(sim, change, &group);
}

static void op_done(void *arg, enum tocsin_status status)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    op->used = false;
    if (status == TOCSIN_OK && (!op->wrote || op->id > sim->judge.last_acknowledged))
        judge_accuse(&sim->judge, "change %" PRIu64 " was answered before its event", op->id);
    if (status == TOCSIN_CONFLICT || status == TOCSIN_NONE)
        judge_refused(&sim->judge, op->seen_group);
    if (status == TOCSIN_OK || status == TOCSIN_CONFLICT)
        sim->known[op->keys[0]] = op->rev_seen;
    if (one_in(sim, 8))
        sim_start_change(sim); /* as a client does that waited for this answer */
}

void sim_start_change(struct sim *sim)
{
    struct sim_op *op = new_op(sim);
    if (op == NULL)
        return;
    sim->commands++;
    unsigned key = (unsigned)draw(sim, JUDGE_KEYS);
    op->keys[0] = key;
    op->count = one_in(sim, 4) ? 3 : 1;
    for (unsigned i = 1; i < op->count; i++)
        op->keys[i] = key / 3 * 3 + (key + i) % 3; /* of one home */
    for (size_t i = 0; i < op->count; i++)
        op->drops[i] = one_in(sim, 4);
    op->only_if_none = one_in(sim, 4);
    op->only_if_rev = !op->only_if_none && one_in(sim, 4);
    op->rev_wanted = sim->known[key];
    engine_change(sim->engine, one_in(sim, 10), op_run, op_done, op);
}

static void got(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    struct judge_version version = {0};
    op->used = false;
    if (status != TOCSIN_OK && status != TOCSIN_NONE) {
        if (status != TOCSIN_OVERLOADED)
            judge_accuse(&sim->judge, "a get was told %s", tocsin_status_name(status));
        return;
    }
    if (status == TOCSIN_OK)
        version = version_of(record);
    judge_seen(&sim->judge, "a get", op->keys[0], &version);
    sim->known[op->keys[0]] = version.rev;
}

void sim_start_get(struct sim *sim)
{
    struct sim_op *op = new_op(sim);
    if (op == NULL)
        return;
    sim->commands++;
    op->keys[0] = (unsigned)draw(sim, JUDGE_KEYS);
    struct text text = key_text(op->keys[0]);
    engine_get(sim->engine, sim->kind_number, bytes_of_text(&text), got, op);
}

static bool listed(void *arg, enum tocsin_status status, const struct engine_record *record,
                   uint64_t next)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    if (status != TOCSIN_OK)
        judge_accuse(&sim->judge, "a list was told %s", tocsin_status_name(status));
    if (record != NULL) {
        unsigned key = key_of(record->key);
        struct judge_version version = version_of(record);
        judge_seen(&sim->judge, "a list", key, &version);
        op->there[key] = 0;
        return true;
    }
    if (next != 0 && status == TOCSIN_OK) {
        engine_list(sim->engine, sim->kind_number, next, 1 + draw(sim, 40), listed, op);
        return true;
    }
    op->used = false;
    for (unsigned key = 0; key < JUDGE_KEYS; key++) {
        /* A drop may be on the disk already, and not acknowledged. */
        if (op->there[key] != 0 && op->there[key] == sim->judge.committed[key].rev &&
            !judge_in_change(&sim->judge, key))
            judge_accuse(&sim->judge, "a list left out key %u", key);
    }
    return true;
}

void sim_start_list(struct sim *sim)
{
    struct sim_op *op = new_op(sim);
    if (op == NULL)
        return;
    sim->commands++;
    for (unsigned key = 0; key < JUDGE_KEYS; key++)
        op->there[key] = sim->judge.committed[key].rev;
    engine_list(sim->engine, sim->kind_number, 0, 1 + draw(sim, 40), listed, op);
}

/* ---- dues */

enum tocsin_status sim_on_due(void *service, struct change *change,
                              const struct engine_record *record)
{
    struct sim *sim = service;
    unsigned key = key_of(record->key);
    struct judge_version version = version_of(record);
    struct doc doc = doc_of(record->doc);
    judge_due(&sim->judge, key, &version, engine_next_fence(sim->engine));
    struct judge_group group = {.id = 0};
    if (doc.behaviour == 'e' && !sim->calm && one_in(sim, 2))
        return TOCSIN_CONFLICT;
    enum tocsin_status status;
    if (doc.behaviour == 'r' || doc.behaviour == 'g') {
        int64_t now = version.basis == STORE_WALL ? engine_wall_up_ms(sim->engine)
                                                  : engine_now_up_ms(sim->engine);
        status =
            put_key(sim, change, key, now + (int64_t)doc.period_ms, version.basis, &doc, &group);
    } else {
        status = drop_key(sim, change, key, &group);
    }
    for (unsigned i = 1; doc.behaviour == 'g' && i < 3 && status == TOCSIN_OK; i++)
        status = put_some(sim, change, key / 3 * 3 + (key + i) % 3, &group);
    if (status != TOCSIN_OK)
        return status;
    group.id = ++sim->next_id;
    return finish_group(sim, change, &group);
}

/* ---- dues taken by their head: a worker has it in hand until its end is durable */

bool sim_on_head(void *service, const struct engine_head *head)
{
    struct sim *sim = service;
    if ((head->mark & HEAD_TAKES) == 0)
        return false;
    unsigned key = head->mark & (HEAD_TAKES - 1u);
    struct sim_hand *hand = &sim->hands[key];
    struct judge_version version = sim->judge.committed[key];
    if (version.rev != head->rev)
        judge_accuse(&sim->judge, "key %u came due with rev %" PRIu64 ", committed is %" PRIu64,
                     key, head->rev, version.rev);
    if (hand->rev == head->rev)
        judge_accuse(&sim->judge, "rev %" PRIu64 " of key %u came due twice", head->rev, key);
    judge_due(&sim->judge, key, &version, engine_next_fence(sim->engine));
    *hand = (struct sim_hand){head->ref, head->rev, true};
    return true;
}

/* By its ref, as a worker that never saw the key. */
static enum tocsin_status end_run(void *arg, struct change *change)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    struct engine_record record;
    struct judge_group group = {.id = 0};
    enum tocsin_status status = change_get_ref(change, sim->hands[op->keys[0]].ref, &record);
    if (status != TOCSIN_OK)
        return status;
    if (key_of(record.key) != op->keys[0])
        judge_accuse(&sim->judge, "the ref of key %u is another's", op->keys[0]);
    op->seen_group = judge_read_tip(&sim->judge, op->keys[0], record.rev);
    if (record.rev != op->rev_wanted)
        return TOCSIN_CONFLICT;
    status = drop_key(sim, change, op->keys[0], &group);
    if (status != TOCSIN_OK)
        return status;
    op->id = group.id = ++sim->next_id;
    op->wrote = true;
    return finish_group(sim, change, &group);
}

static void run_ended(void *arg, enum tocsin_status status)
{
    struct sim_op *op = arg;
    struct sim *sim = op->sim;
    struct sim_hand *hand = &sim->hands[op->keys[0]];
    op->used = false;
    if (hand->rev != op->rev_wanted)
        return; /* another one is in hand by now */
    if (status == TOCSIN_OK || status == TOCSIN_CONFLICT || status == TOCSIN_NONE)
        hand->full = false;
    if (status == TOCSIN_OK && op->id > sim->judge.last_acknowledged)
        judge_accuse(&sim->judge, "run %" PRIu64 " was answered before its event", op->id);
}

bool sim_end_run(struct sim *sim, unsigned key)
{
    struct sim_op *op = sim->hands[key].full ? new_op(sim) : NULL;
    if (op == NULL)
        return false;
    sim->commands++;
    op->keys[0] = key;
    op->rev_wanted = sim->hands[key].rev;
    engine_change(sim->engine, true, end_run, run_ended, op);
    return true;
}

void sim_find_one(void *arg, const struct store_record *record)
{
    struct judge_version *found = arg;
    struct judge_version *version = &found[key_of(record->key)];
    if (version->rev < record->rev)
        *version = (struct judge_version){record->rev, doc_of(record->doc).stamp, record->due_ms,
                                          record->basis};
}
