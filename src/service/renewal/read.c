/* SPDX-License-Identifier: MIT */
/* Looking at renewals: one, many. What is counted is in memory while they live. */

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

void renewals_list(struct renewals *renewals, uint64_t after, uint32_t limit, renewal_read_fn fn,
                   void *arg)
{
    struct reading_kind kind = kind_of(renewals);
    reading_page(&kind, after, limit, fn, arg);
}
