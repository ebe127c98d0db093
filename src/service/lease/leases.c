/* SPDX-License-Identifier: MIT */
/* The lease service: its kind on the engine, what happens at an end, and looking at leases. */

#include "service/lease/leases.h"

#include <stdlib.h>

#include "service/lease/leases_inside.h"
#include "service/reading.h"

enum { DOC_BYTES_MAX = 8192 };

const struct leases_limits leases_limits_default = {
    .leases = 100000,
    .waiting = 10000,
    .list_scan = 10000,
};

static enum tocsin_status on_due(void *service, struct change *change,
                                 const struct engine_record *record)
{
    struct leases *all = service;
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    enum tocsin_status status = lease_decode(record, holder, &lease);
    if (status != TOCSIN_OK)
        return status;
    return lease_end(all, change, &lease, LEASE_END_EXPIRED, line_next(all, lease.name));
}

static void on_load(void *service, const struct engine_head *head)
{
    (void)head;
    ((struct leases *)service)->count++;
}

/* ---- looking */

static enum tocsin_status write(void *service, struct json_writer *writer,
                                const struct engine_record *record)
{
    struct leases *all = service;
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    enum tocsin_status status = lease_decode(record, holder, &lease);
    if (status == TOCSIN_OK)
        lease_write(writer, all, &lease);
    return status;
}

static struct reading_kind kind_of(struct leases *all)
{
    return (struct reading_kind){
        .engine = all->engine,
        .kind = all->kind,
        .name = "leases",
        .scan = all->limits.list_scan,
        .write = write,
        .service = all,
    };
}

void leases_get(struct leases *leases, struct bytes name, lease_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(leases);
    reading_one(&kind, name, fn, arg);
}

void leases_list(struct leases *leases, uint64_t after, uint32_t limit, lease_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(leases);
    reading_page(&kind, after, limit, fn, arg);
}

void leases_describe(const struct leases *all, struct leases_stats *ret_stats)
{
    *ret_stats = all->stats;
    ret_stats->held = engine_mark_count(all->engine, all->kind, LEASE_HELD);
    ret_stats->waiting = all->waiting;
}

/* ---- life */

enum tocsin_status leases_create(struct engine *engine, struct idem *idem,
                                 const struct leases_limits *limits, struct siphash_key hash_key,
                                 struct leases **ret_leases)
{
    struct leases *all = calloc(1, sizeof *all);
    if (all == NULL)
        return TOCSIN_NO_MEMORY;
    all->engine = engine;
    all->idem = idem;
    all->limits = *limits;
    all->hash_key = hash_key;
    buffer_init(&all->doc, DOC_BYTES_MAX);
    all->kind_info =
        (struct engine_kind){.name = "lease", .on_due = on_due, .on_load = on_load, .service = all};
    all->kind = engine_add_kind(engine, &all->kind_info);
    *ret_leases = all;
    return TOCSIN_OK;
}

void leases_destroy(struct leases *all)
{
    if (all == NULL)
        return;
    lines_release(all);
    buffer_release(&all->doc);
    free(all);
}
