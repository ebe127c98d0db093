/* SPDX-License-Identifier: MIT */
#include "service/recall.h"

#include <stdlib.h>

enum { READ_AT_ONCE = 256 };

void recall_note(struct recall *recall, struct engine_ref ref)
{
    if (recall->count == recall->room) {
        size_t room = recall->room == 0 ? 64 : recall->room * 2;
        struct engine_ref *refs = realloc(recall->refs, room * sizeof *refs);
        recall->failed = recall->failed || refs == NULL;
        if (refs == NULL)
            return;
        recall->refs = refs;
        recall->room = room;
    }
    recall->refs[recall->count++] = ref;
}

static void read_on(struct recall *recall);

static void read_one(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct recall *recall = arg;
    recall->open--;
    recall->fn(recall->arg, status, record);
    if (!recall->reading_on)
        read_on(recall);
}

static void read_on(struct recall *recall)
{
    recall->reading_on = true; /* what is in memory is read at once */
    while (recall->next < recall->count && recall->open < READ_AT_ONCE) {
        recall->open++;
        engine_get_ref(recall->engine, recall->refs[recall->next++], read_one, recall);
    }
    recall->reading_on = false;
    if (recall->open == 0)
        recall_release(recall);
}

enum tocsin_status recall_read(struct recall *recall, struct engine *engine, engine_get_fn fn,
                               void *arg)
{
    if (recall->failed)
        return TOCSIN_NO_MEMORY;
    recall->engine = engine;
    recall->fn = fn;
    recall->arg = arg;
    read_on(recall);
    return TOCSIN_OK;
}

void recall_release(struct recall *recall)
{
    free(recall->refs);
    recall->refs = NULL;
    recall->count = recall->room = recall->next = 0;
}
