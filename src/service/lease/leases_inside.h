/* SPDX-License-Identifier: MIT */
/* leases_inside.h - what the files of the lease service share. For them only. */
#ifndef TOCSIN_SERVICE_LEASE_LEASES_INSIDE_H
#define TOCSIN_SERVICE_LEASE_LEASES_INSIDE_H

#include "base/number_map.h"
#include "service/lease/leases.h"

enum { LEASE_HELD = 1 /* the mark of every record */, LEASE_ENDS_KEPT = 4096 };

/* One of them, borrowed until the call returns. */
struct lease {
    struct bytes name;
    struct bytes holder;
    uint64_t fence;
    int64_t ttl_ms;
    int64_t ends_ms;     /* elapsed line */
    int64_t acquired_ms; /* wall */
    uint64_t rev;
};

/* Who waits for a name. There as long as somebody does. */
struct lease_line {
    uint64_t number; /* of its name */
    struct lease_call *first;
    struct lease_call *last;
    uint32_t index;
    uint32_t count;
};

enum lease_end { LEASE_END_FORGOTTEN, LEASE_END_RELEASED, LEASE_END_EXPIRED };

struct leases {
    struct engine *engine;
    struct idem *idem;
    struct leases_limits limits;
    struct siphash_key hash_key;
    struct engine_kind kind_info;
    unsigned kind;
    struct buffer doc;
    uint64_t count;            /* records, with those that are not committed yet */
    struct lease_line **lines; /* as many as by_name has, without holes */
    uint32_t line_room;
    struct number_map by_name; /* number of a name → index of its line */
    uint64_t waiting;
    bool holding;
    /* How the last ones ended, so that who lost one is told: by its fence. */
    struct {
        uint64_t fence;
        enum lease_end how;
    } ends[LEASE_ENDS_KEPT];
    struct leases_stats stats;
};

/* ---- docs (doc.c) */

enum tocsin_status lease_decode(const struct engine_record *record,
                                char holder[LEASE_HOLDER_BYTES_MAX], struct lease *ret_lease);
enum tocsin_status lease_put(struct leases *all, struct change *change, struct lease *lease);
/* {"name":…,"holder":…,…} */
void lease_write(struct json_writer *writer, struct leases *all, const struct lease *lease);
/* Who has it, for one who was refused: {"holder":…,"fence":…,"expires_ms":…,"waiting":…}, with
 * nulls when nobody has. The reason may be NULL. */
void lease_write_refusal(struct buffer *out, struct leases *all, const struct lease *lease,
                         struct bytes name, const char *reason);

/* ---- changes (change.c): the record, the event, and what is counted once it is durable */

/* OK and a lease that has not ended; NONE: nobody has it. ret_over: a record is there that has
 * ended, and ret_lease is what it was. */
enum tocsin_status lease_find(struct leases *all, struct change *change, struct bytes name,
                              char holder[LEASE_HOLDER_BYTES_MAX], struct lease *ret_lease,
                              bool *ret_over);
/* To this call: a fence of its own, and the answer. `there`: in place of one that has ended.
 * FULL: as many as may. */
enum tocsin_status lease_grant(struct leases *all, struct change *change, struct lease_call *call,
                               bool there);
/* Later, never earlier. */
enum tocsin_status lease_renew(struct leases *all, struct change *change, struct lease_call *call,
                               struct lease *lease);
/* It ends, and this call has it next; NULL: nobody. */
enum tocsin_status lease_end(struct leases *all, struct change *change, const struct lease *lease,
                             enum lease_end how, struct lease_call *next);
enum lease_end lease_how_ended(const struct leases *all, uint64_t fence);

/* PUT: it is given, or renewed, or refused. */
enum tocsin_status lease_acquire(struct lease_call *call, struct change *change);

/* What a change of this call came to. */
void lease_refuse_held(struct lease_call *call, const struct lease *lease);
bool lease_matches(struct lease_call *call, const struct lease *lease);

/* ---- lines (line.c) */

void line_ask(struct leases *all, struct lease_call *call);
/* The first that may be served; NULL: none. */
struct lease_call *line_next(struct leases *all, struct bytes name);
/* This change serves it: when it is durable, it is answered and leaves the line. NO_MEMORY. */
enum tocsin_status line_promise(struct change *change, struct lease_call *call);
uint32_t line_count(const struct leases *all, struct bytes name);
void lines_release(struct leases *all);

#endif
