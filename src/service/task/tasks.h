/* SPDX-License-Identifier: MIT */
/* tasks.h - do this later, hand it to a worker, and see to it that it gets done.
 *
 * The task service on the engine. Records: `task` (key: its id) and `run` (one occurrence of a
 * schedule, key: id, 0x1f and its number).
 *
 *              create/put                due               lease
 *   (nothing) ------------> waiting ------------> ready ------------> leased
 *                             ^                                          |
 *                             +-------- nack, expiry: retry -------------+
 *                                                                        | ack
 *   failed (incident) <------- no attempts left -------------------------+----> completed
 *
 * A one-shot is its own run. A schedule makes a run record and sets its own next time in one
 * group, so its rhythm, its retries and its overlaps do not get in each other's way.
 *
 * Answers   a call ends with an outcome; its JSON (the task, or what api.md says) is in the
 *           call's buffer. `done` is called once, maybe before the call returns.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_TASK_TASKS_H
#define TOCSIN_SERVICE_TASK_TASKS_H

#include "base/buffer.h"
#include "engine/engine.h"
#include "service/idem/idem.h"
#include "service/outcome.h"
#include "service/task/task.h"

struct tasks;

/* What happened, for counting: see struct tasks_watch. */
enum tasks_count {
    TASKS_ADDED,
    TASKS_REPLACED,
    TASKS_EXECUTED,
    TASKS_FAILED, /* for good */
    TASKS_CANCELLED,
    TASKS_RETRIED,
    TASKS_EXPIRED, /* leases that ended unacknowledged */
    TASKS_FENCED,
    TASKS_SUPERSEDED,
    TASKS_CONFLICT,
    TASKS_SKIPPED_OVERLAP,
    TASKS_SKIPPED_MISFIRE,
    TASKS_SKIPPED_PAUSE,
    TASKS_LEASED,
    TASKS_COUNTS,
};

/* Who looks on: metrics and logs. Any may be NULL. */
struct tasks_watch {
    void (*count)(void *arg, enum tasks_count what, uint64_t n);
    void (*late)(void *arg, int64_t late_ns); /* a run came due: actual - due */
    void (*took)(void *arg, int64_t ms);      /* an attempt ended well: lease to ack */
    void (*failed)(void *arg, struct bytes id, uint32_t attempt, struct bytes error, bool for_good);
    void *arg;
};

struct tasks_limits {
    uint64_t tasks;         /* that wait, with the runs of schedules */
    uint32_t lease_runs;    /* runs one lease call may ask for */
    uint32_t lease_waiting; /* calls that wait */
    uint32_t queues;
    uint32_t finished; /* tasks that can be read after their end */
    uint64_t finished_bytes;
    int64_t misfire_grace_ms;
    uint32_t list_scan; /* records one list call looks at */
};

extern const struct tasks_limits tasks_limits_default;

enum tasks_history { TASKS_HISTORY_NONE, TASKS_HISTORY_FAILURES, TASKS_HISTORY_ALL };

struct tasks_options {
    struct engine *engine;
    struct idem *idem;
    struct tasks_limits limits;
    enum tasks_history history;
    struct tasks_watch watch;
    const char *node;
    bool write_claims; /* also those of first attempts: for workers that can take us along */
    uint64_t (*chance)(void *arg); /* 64 random bits */
    void *chance_arg;
};

/* Registers its kinds: call it before engine_load. */
enum tocsin_status tasks_create(const struct tasks_options *options, struct tasks **ret_tasks);
void tasks_destroy(struct tasks *tasks);

/* After engine_load: takes up what was under way. tasks_recovering is true until that is
 * done. NO_MEMORY: not all of it could be remembered while loading; start again. */
enum tocsin_status tasks_recover(struct tasks *tasks);
bool tasks_recovering(const struct tasks *tasks);

/* Before an orderly stop: all live claims are written, so that they stay good; waiting lease
 * calls are answered empty. `done` when it is durable. No new leases after. */
void tasks_hold(struct tasks *tasks, void (*done)(void *arg, enum tocsin_status status), void *arg);

/* ---- calls */

/* Of a BROKEN one. */
#define TASKS_BROKEN_TEXT                                                                          \
    "the record is damaged: DELETE removes it, PUT replaces it; the log says more"

enum tasks_verb {
    TASKS_CREATE,
    TASKS_PUT,
    TASKS_DELETE,
    TASKS_PAUSE,
    TASKS_RESUME,
    TASKS_FIRE,
    TASKS_RETRY,  /* an incident */
    TASKS_FORGET, /* an incident */
    TASKS_ACK,
    TASKS_NACK,
    TASKS_EXTEND,
    TASKS_KEY, /* nothing but its Idempotency-Key: that of many calls which are one request */
};

/* One change asked for from outside. The caller fills the upper part and keeps all of it,
 * and every byte it points to, until done. */
struct tasks_call {
    enum tasks_verb verb;
    bool has_until;          /* PAUSE: resumes by itself */
    bool has_delay;          /* NACK */
    bool on_a_line;          /* the answer is a line of NDJSON */
    bool brief;              /* of a task made: only its id, rev and due_ms */
    bool urgent;             /* KEY: of calls that go before new work, as acks do */
    struct bytes id;         /* of the task; of a run for ack, nack, extend */
    const struct task *wish; /* CREATE, PUT; NULL again when it is no longer needed */
    int64_t until_ms;        /* wall */
    struct bytes result;     /* ACK: JSON; size 0: none */
    struct bytes error;      /* NACK */
    int64_t delay_ms;        /* NACK */
    int64_t ttl_ms;          /* EXTEND */
    struct conditions conditions;
    struct idem_ask idem; /* the key has whoever asks and the route in it */
    void (*done)(struct tasks_call *call);
    void *arg; /* the caller's */

    /* The service's own. */
    bool cancels; /* somebody is working on it: asked to stop, once this is durable */
    bool makes;   /* counted in tasks->making, until it is settled */
    enum { CALL_NOT_ENDED, CALL_ENDED_WELL, CALL_ENDED_BADLY, CALL_SUPERSEDED } ended;
    struct engine_ref ref;
    struct tasks *tasks;
    uint64_t fence;
    struct engine_ref *unready; /* taken out of their queues, until this is settled */
    size_t unready_count;
    uint64_t skipped;

    struct reply reply;
};
void tasks_start(struct tasks *tasks, struct tasks_call *call);
/* A call about this task will start in a moment, after a few others. No more than a hint. */
void tasks_expect(struct tasks *tasks, struct bytes id);

/* ---- reading. fn is called once, with the JSON to answer with. */

typedef void (*tasks_read_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);
void tasks_get(struct tasks *tasks, struct bytes id, tasks_read_fn fn, void *arg);
void tasks_why(struct tasks *tasks, struct bytes id, tasks_read_fn fn, void *arg);
void tasks_incidents(struct tasks *tasks, uint64_t after_rev, size_t limit, tasks_read_fn fn,
                     void *arg);

struct tasks_filter {
    struct bytes status; /* size 0: any */
    struct bytes prefix;
    struct bytes queue;
    uint64_t after;
    size_t limit;
};
/* Copied. */
void tasks_list(struct tasks *tasks, const struct tasks_filter *filter, tasks_read_fn fn,
                void *arg);
void tasks_queues(struct tasks *tasks, struct buffer *out);

/* ---- leases */

struct tasks_lease {
    struct bytes queue; /* kept by the caller until done */
    uint32_t max;
    int64_t wait_ms;
    int64_t ttl_ms;
    void (*done)(struct tasks_lease *lease);
    void *arg; /* the caller's */
    enum outcome outcome;
    struct buffer answer; /* initialised by the caller */

    /* The service's own. */
    struct tasks *tasks;
    struct queue *in;
    struct tasks_lease *before;
    struct tasks_lease *after;
    struct engine_timer timer;
    uint32_t *runs;
    uint32_t run_count;
    uint32_t pending;
    bool waiting;
    bool gone;
};
void tasks_lease(struct tasks *tasks, struct tasks_lease *lease);
/* The client went away: done is not called, and what was taken for it goes back. When it
 * returns true the lease is the caller's again; else done is called all the same, soon. */
bool tasks_lease_gone(struct tasks *tasks, struct tasks_lease *lease);

struct tasks_queue_stats {
    struct bytes name;
    uint64_t ready;
    uint64_t leased;
    uint64_t delayed;
    uint64_t waiting;  /* lease calls */
    int64_t oldest_ms; /* wall: due time of the oldest ready run; 0: none */
};
void tasks_each_queue(struct tasks *tasks,
                      void (*fn)(void *arg, const struct tasks_queue_stats *stats), void *arg);

struct tasks_stats {
    uint64_t waiting_tasks; /* for their time, a retry, or a worker; schedules included */
    uint64_t paused;
    uint64_t ready;
    uint64_t leased;
    uint64_t waiting;
    uint64_t incidents;
    uint64_t finished;
    uint64_t finished_bytes;
    uint64_t queues;
};
void tasks_describe(const struct tasks *tasks, struct tasks_stats *ret_stats);

#endif
