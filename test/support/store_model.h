/* SPDX-License-Identifier: MIT */
/* store_model.h - does a store hold what the obvious one would?
 *
 * The obvious store is an array of copies. store_model_apply changes it as a commit changes a
 * store; store_model_judge reads everything a store has, in every way it can be read, and
 * compares. store_draft makes up the next commit from random numbers.
 *
 * Threads   one at a time.
 */
#ifndef TEST_SUPPORT_STORE_MODEL_H
#define TEST_SUPPORT_STORE_MODEL_H

#include "store/store.h"
#include "support/random.h"

struct store_model {
    struct store_record **living; /* ascending revs, one block each */
    size_t count;
    size_t room;
    struct store_event **events; /* all that ever were */
    size_t event_count;
    size_t event_room;
    uint64_t high_rev;
    uint64_t high_seq;
    struct store_time time;
};

void store_model_init(struct store_model *model);
void store_model_release(struct store_model *model);
void store_model_apply(struct store_model *model, const struct store_batch *batch);

struct store_verdict {
    char text[300]; /* what is wrong; empty: nothing */
    bool refused;   /* the store itself said that it is damaged */
};

/* True when the store loads, gets and lists exactly what the model has. Of events the oldest may
 * be gone. */
bool store_model_judge(const struct store_model *model, struct store *store,
                       struct store_verdict *ret_verdict);
/* And when what was said at open is right too. */
bool store_model_judge_state(const struct store_model *model, const struct store_state *state,
                             struct store_verdict *ret_verdict);

enum {
    STORE_DRAFT_PUTS_MAX = 64,
    STORE_DRAFT_EVENTS_MAX = 8,
    STORE_DRAFT_BYTES = 1 << 20,
};

/* A commit made up: some records put, some of the model's replaced, some dropped. */
struct store_draft {
    struct store_batch batch;
    struct store_record puts[STORE_DRAFT_PUTS_MAX];
    uint64_t dead[STORE_DRAFT_PUTS_MAX];
    struct store_event events[STORE_DRAFT_EVENTS_MAX];
    char bytes[STORE_DRAFT_BYTES];
    size_t used;
};

struct store_habits {
    size_t puts_max;
    size_t dead_max;   /* drops besides what is replaced */
    size_t doc_max;    /* most docs are small, some up to this */
    size_t living_max; /* above it more dies than comes */
};

void store_draft_make(struct store_draft *draft, const struct store_model *model,
                      struct test_random *random, const struct store_habits *habits);

#endif
