/* SPDX-License-Identifier: MIT */
/* Looking at renewals: one, many. What is counted is in memory while they live. */

#include <stdio.h>
#include <stdlib.h>

#include "service/reading.h"
#include "service/renewal/renewals_inside.h"

static enum tocsin_status write(void *service, struct json_writer *writer,
                                const struct engine_record *record)
{
    struct renewals *all = service;
    struct renewal_record it;
    struct renewal_spec *read = NULL;
    enum tocsin_status status = renewal_decode(record, &it);
    if (status != TOCSIN_OK)
        return status;
    const struct renewal *live = renewal_find(all, it.id);
    if (live == NULL)
        status = renewal_read_spec(&it, &read);
    if (status != TOCSIN_OK)
        return status;
    renewal_write(writer, &(struct renewal_view){
                              .id = it.id,
                              .state = it.state,
                              .spec = live != NULL ? live->spec : read,
                              .counters = &it.counters,
                              .created_ms = it.created_ms,
                              .ended_ms = it.ended_ms,
                              .why = it.why,
                              .rev = it.rev,
                              .live = live,
                          });
    free(read);
    return TOCSIN_OK;
}

static struct reading_kind kind_of(struct renewals *all)
{
    return (struct reading_kind){
        .engine = all->engine,
        .kind = all->kind,
        .name = "renewals",
        .scan = all->limits.list_scan,
        .write = write,
        .service = all,
    };
}

void renewals_get(struct renewals *renewals, struct bytes id, renewal_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(renewals);
    reading_one(&kind, id, fn, arg);
}

void renewals_list(struct renewals *renewals, enum renewal_state state, uint64_t after,
                   uint32_t limit, renewal_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(renewals);
    kind.marks = state == 0 ? 0 : UINT64_C(1) << state;
    reading_page(&kind, after, limit, fn, arg);
}

/* ---- in numbers */

static void set_numbers(struct tocsin_renewal_metrics *metrics, const struct counters *counters)
{
    metrics->total = counters->rounds;
    metrics->success = counters->success;
    metrics->failure = counters->failure;
    metrics->task_failures = counters->task_failures;
    metrics->skipped = counters->skipped;
    metrics->last_ms = counters->last_ms;
}

static void describe_live(const struct renewal *live, struct tocsin_renewal_metrics *ret_metrics)
{
    *ret_metrics = (struct tocsin_renewal_metrics){
        .status = (enum tocsin_renewal_status)live->state, .created_ms = live->created_ms};
    set_numbers(ret_metrics, &live->counters);
    (void)snprintf(ret_metrics->why, sizeof ret_metrics->why, "%s", trouble_why(live->trouble));
}

static enum tocsin_status describe_record(const struct engine_record *record,
                                          struct tocsin_renewal_metrics *ret_metrics)
{
    struct renewal_record it;
    struct json_reader reader;
    size_t size = 0;
    enum tocsin_status status = renewal_decode(record, &it);
    if (status != TOCSIN_OK)
        return status;
    *ret_metrics = (struct tocsin_renewal_metrics){.status = (enum tocsin_renewal_status)it.state,
                                                   .created_ms = it.created_ms};
    set_numbers(ret_metrics, &it.counters);
    json_reader_init(&reader, it.why.at, it.why.size, 0);
    if (it.why.size > 0 && json_read_next(&reader) == JSON_READ_STRING)
        (void)json_read_string(&reader, ret_metrics->why, sizeof ret_metrics->why - 1, &size);
    return TOCSIN_OK;
}

struct look {
    struct renewals *all;
    renewal_look_fn fn;
    void *arg;
};

static void looked_up(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct look *look = arg;
    struct tocsin_renewal_metrics metrics;
    if (status == TOCSIN_OK) {
        const struct renewal *live = renewal_find(look->all, record->key);
        if (live != NULL)
            describe_live(live, &metrics);
        else
            status = describe_record(record, &metrics);
    }
    look->fn(look->arg, status, status == TOCSIN_OK ? &metrics : NULL);
    free(look);
}

void renewals_look(struct renewals *renewals, struct bytes id, renewal_look_fn fn, void *arg)
{
    struct look *look = malloc(sizeof *look);
    if (look == NULL) {
        fn(arg, TOCSIN_NO_MEMORY, NULL);
        return;
    }
    *look = (struct look){renewals, fn, arg};
    engine_get(renewals->engine, renewals->kind, id, looked_up, look);
}

void renewals_each(const struct renewals *renewals,
                   bool (*fn)(void *arg, struct bytes id,
                              const struct tocsin_renewal_metrics *metrics),
                   void *arg)
{
    for (uint32_t i = 0; i < renewals->by_id.count; i++) {
        const struct renewal *live = renewals->list[i];
        struct tocsin_renewal_metrics metrics;
        describe_live(live, &metrics);
        if (!fn(arg, renewal_id(live), &metrics))
            return;
    }
}
