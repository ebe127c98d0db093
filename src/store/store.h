/* SPDX-License-Identifier: MIT */
/* store.h - what is written, and is it safe?
 *
 * The port behind which the engine keeps its records. A record has versions; each version
 * has a rev, a number that only rises and is never used again. The engine, the only writer,
 * gives the numbers; a commit names the versions that are new and the revs that died.
 *
 * Promise   commit is durable on return, and all or nothing. What it refused is not there
 *           after a restart either, unless it answered UNKNOWN. load gives each living
 *           version exactly once. The highest rev ever committed, the last seq and the
 *           epoch survive, also when everything was dropped.
 * Answers   OK; NO_SPACE (nothing changed, may be tried again after other commits made
 *           room); UNAVAILABLE (nothing changed); IO (a sync failed: what is on the disk is
 *           unknown; the store is closed for good, the caller must exit and recover);
 *           DAMAGED (a checksum does not agree: ret_why says where, and what to do).
 * Order     revs inside a batch ascend, and are above those of all batches before it.
 * Memory    what a visitor is given is borrowed until it returns.
 * Threads   one thread commits (the writer); another one may read at the same time
 *           (get, list, events). load and close come before and after all that.
 */
#ifndef TOCSIN_STORE_STORE_H
#define TOCSIN_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/bytes.h"

/* A due time that never comes. */
#define STORE_NEVER INT64_MAX

enum store_basis { STORE_ELAPSED = 0, STORE_WALL = 1 };

enum {
    STORE_KEY_BYTES_MAX = 1024,
    STORE_TAG_BYTES_MAX = 255,
    STORE_KIND_BYTES_MAX = 15,
    STORE_DOC_BYTES_MAX = 1 << 20,
};

/* One version of one record. The store looks at none of it but rev. */
struct store_record {
    uint64_t rev;
    struct bytes kind; /* "task" */
    struct bytes key;
    struct bytes home; /* decides the partition; often the same bytes as key */
    struct bytes tag;  /* a short word the kind wants back at load, such as a queue's name */
    int64_t due_ms;
    enum store_basis basis;
    uint8_t mark; /* of the kind's own, wanted back at load */
    bool damaged; /* its doc is not what was written, and left empty; when there is no key
                     either, nothing but rev is known */
    struct bytes doc;
};

struct store_event {
    uint64_t seq; /* rises by one, never used again */
    int64_t at_ms;
    struct bytes kind;
    struct bytes key;
    struct bytes type;
    struct bytes doc;
};

/* How the engine's elapsed time line stands against the wall, as of a commit. */
struct store_time {
    int64_t elapsed_ms; /* the engine's time line, never backwards */
    int64_t skew_ms;    /* wall minus that */
};

/* A name beside the records, for other programs that look into a shared store; a store without
 * such names leaves them out. In the order given, the last of a name counts. */
struct store_mirror {
    struct bytes name;
    struct bytes value; /* at == NULL: the name goes */
    int64_t expire_ms;  /* the name goes by itself after this long; 0: it stays */
};

struct store_batch {
    const struct store_record *puts; /* ascending revs */
    size_t put_count;
    const uint64_t *dead; /* revs of living versions that this commit ends, each once in the
                             life of the store; any order */
    size_t dead_count;
    const struct store_event *events;
    size_t event_count;
    const struct store_mirror *mirrors;
    size_t mirror_count;
    uint64_t high_rev; /* no rev up to this one will be used again */
    uint64_t epoch;    /* no epoch up to this one will be given out again; 0: as it is */
    struct store_time time;
    bool urgent; /* work that makes room or ends work: may use the ballast of a full disk */
};

/* What is known when a store is opened. */
struct store_state {
    uint64_t high_rev;
    uint64_t high_seq;
    uint64_t epoch; /* raised durably by this open: 1 at first */
    struct store_time time;
    uint64_t living;         /* an estimate, for a progress bar */
    uint64_t tail_bytes_cut; /* of a torn tail, at this open */
    uint64_t commits_lost;   /* acknowledged ones that are not there, or were given up as told */
};

struct store_sizes {
    uint64_t file_bytes;
    uint64_t log_bytes; /* of the write-ahead log */
    uint64_t living;
    uint64_t dead;        /* rows not swept yet */
    uint64_t swept;       /* since open */
    uint64_t commits;     /* since open */
    uint64_t sync_ns_sum; /* time spent in commits */
};

struct store;

struct store_ops {
    const char *name; /* "sqlite" */

    /* Every living version, in any order, its doc left empty. The visitor may stop it. Some
     * damage is only seen at the end: what was visited counts once this has answered OK. Docs
     * that would take long to read are not looked at. */
    enum tocsin_status (*load)(struct store *store,
                               bool (*visit)(void *arg, const struct store_record *record),
                               void *arg, struct tocsin_why *ret_why);

    enum tocsin_status (*commit)(struct store *store, const struct store_batch *batch,
                                 struct tocsin_why *ret_why);

    /* The version with this rev, doc and all. NONE: there is none: it has died. When the caller
     * knows that it lives, NONE is damage. DAMAGED: visited all the same, as damaged, when all
     * but its doc is whole. */
    enum tocsin_status (*get)(struct store *store, uint64_t rev,
                              void (*visit)(void *arg, const struct store_record *record),
                              void *arg, struct tocsin_why *ret_why);

    /* Several gets in a row: true before them, false after. May be NULL. */
    void (*together)(struct store *store, bool begin);

    /* Versions with after_rev < rev, ascending, at most `scan` rows looked at, those of `kind`
     * only, docs included. Versions that have died may still be among them: the caller knows.
     * One that is damaged is visited as such, of whatever kind it may be, and left behind;
     * DAMAGED: it cannot be read on.
     * ret_next: where to go on; 0: that was all. The visitor may stop it. */
    enum tocsin_status (*list)(struct store *store, struct bytes kind, uint64_t after_rev,
                               size_t scan, bool (*visit)(void *arg, const struct store_record *),
                               void *arg, uint64_t *ret_next, struct tocsin_why *ret_why);

    /* Events with after_seq < seq, ascending, at most `scan`. ret_first: the oldest seq still
     * kept, or 0 when there are none. */
    enum tocsin_status (*events)(struct store *store, uint64_t after_seq, size_t scan,
                                 bool (*visit)(void *arg, const struct store_event *), void *arg,
                                 uint64_t *ret_first, struct tocsin_why *ret_why);

    void (*sizes)(struct store *store, struct store_sizes *ret_sizes); /* any thread */
    void (*close)(struct store *store);
};

/* Every store begins with this. */
struct store {
    const struct store_ops *ops;
};

/* In memory, gone with the process. */
enum tocsin_status store_memory_open(struct store **ret_store, struct store_state *ret_state);

struct store_sqlite_options {
    const char *dir;            /* made when it is not there */
    uint64_t ballast_bytes;     /* 0: none */
    uint64_t event_bytes_max;   /* older events are given up beyond this; 0: none are */
    uint64_t sweep_min;         /* dead rows before sweeping begins; 0: 100 000 */
    uint64_t sweep_bytes_min;   /* dead bytes, about, before it begins; 0: 64 MiB */
    uint64_t checkpoint_frames; /* of the log, before it is copied into the file; 0: 1000 */
    const char *vfs;            /* NULL: the system's; tests name theirs */
    bool accept_loss;           /* open although acknowledged commits are missing */
    bool unsafe_no_sync;        /* the control of the power-cut test: never otherwise */
    void (*progress)(void *arg, uint64_t done, uint64_t of); /* while recovering; may be NULL */
    void *progress_arg;
};

enum tocsin_status store_sqlite_open(const struct store_sqlite_options *options,
                                     struct store **ret_store, struct store_state *ret_state,
                                     struct tocsin_why *ret_why);

#endif
