/* SPDX-License-Identifier: MIT */
/* task.h - what was asked for, and how far has it come?
 *
 * A task as its user wrote it (the wish) and what the service must remember of it (the
 * state), in one plain struct. Four ways in and out, all pure functions:
 *
 *   task_read     from the JSON of a request: strict, names the field it refuses
 *   task_write    to the JSON of an answer
 *   task_encode   to the bytes of a stored record: compact, versioned, what is default costs
 *                 nothing
 *   task_decode   from them: trusts nothing
 *
 * and task_check, which says whether a struct task is one at all.
 *
 * Memory    a struct task borrows every byte it shows, from the request or the record it was
 *           read from. Nothing here allocates but the buffers it appends to.
 * Clock     none.
 */
#ifndef TOCSIN_SERVICE_TASK_TASK_H
#define TOCSIN_SERVICE_TASK_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "schedule/backoff.h"
#include "schedule/cron.h"

enum {
    TASK_ID_BYTES_MAX = 255,
    TASK_NAME_BYTES_MAX = 255,
    TASK_QUEUE_BYTES_MAX = 255,
    TASK_PAYLOAD_BYTES_MAX = 64 * 1024,
    TASK_ERROR_BYTES_MAX = 1024,
    TASK_RESULT_BYTES_MAX = 16 * 1024,
    TASK_BACKLOG_MAX = 1000, /* occurrences that wait for their turn, and runs that are open */
    TASK_RETRIES_MAX = 1000,
};

#define TASK_TIMEOUT_DEFAULT_MS INT64_C(300000)
#define TASK_DELAY_MAX_MS (INT64_C(1) << 53) /* also of every, jitter, timeout */

enum task_rhythm { TASK_ONCE, TASK_EVERY, TASK_CRON };
enum task_misfire { TASK_MISFIRE_ONCE, TASK_MISFIRE_SKIP, TASK_MISFIRE_ALL };
enum task_overlap { TASK_OVERLAP_SKIP, TASK_OVERLAP_QUEUE, TASK_OVERLAP_ALLOW };

/* How a record stands; stored beside its doc (the mark), so that loading needs no doc. */
enum task_mark {
    TASK_WAITING = 1, /* a one-shot or a run before its first attempt, or in it: the claim of a
                         first attempt is not written */
    TASK_RETRYING,    /* an attempt failed; due at the next */
    TASK_CLAIMED,     /* an attempt above the first is under way */
    TASK_HELD,        /* under way as the server was stopped in order: the claim stays good */
    TASK_CANCELLING,  /* under way, and somebody asked to cancel it */
    TASK_PAUSED,
    TASK_FAILED,  /* for good: an incident */
    TASK_RESTING, /* a schedule that waits for its run to end (fixed delay, or repeat used up) */
    TASK_WAITING_SKIP, /* as TASK_WAITING, a one-shot that is not to run when it was missed */
    TASK_SCHEDULED,    /* a schedule before its next occurrence */
    TASK_MARKS,
};

/* One attempt in somebody's hands. */
struct task_claim {
    uint64_t fence;
    int64_t started_ms; /* elapsed time line, like all of these */
    int64_t until_ms;
};

struct task {
    /* The wish. */
    struct bytes id;      /* size 0: none was given; never in a doc, it is in the record's key */
    struct bytes name;    /* size 0: none */
    struct bytes payload; /* JSON as sent, byte for byte; size 0: none was given */
    struct bytes queue;
    enum task_rhythm rhythm;
    bool has_delay;
    bool has_at;
    int64_t delay_ms;
    int64_t at_ms; /* wall */
    int64_t every_ms;
    bool from_end;     /* fixed delay */
    struct bytes cron; /* as sent */
    struct bytes zone; /* "UTC" when none was given */
    struct cron_policy dst;
    int64_t repeat; /* -1: for ever */
    enum task_misfire misfire;
    enum task_overlap overlap;
    int64_t jitter_ms;
    uint32_t retries_max;
    struct backoff backoff;
    int64_t timeout_ms;

    /* The state. */
    int64_t created_ms;     /* wall */
    int64_t nominal_ms;     /* the occurrence that comes next (or is under way), without jitter, by
                           the rhythm's own clock; 0: none */
    int64_t pause_until_ms; /* wall; 0: until resumed */
    enum task_mark paused_from; /* what a paused record was before; 0: it is not paused */
    int64_t retry_due_ms;       /* … and when its next attempt was due; elapsed; 0: none was */
    uint32_t attempt;           /* attempts begun and written; of a one-shot or a run */
    uint64_t executed;          /* occurrences that ended well */
    uint64_t failed;            /* … for good */
    uint64_t skipped;           /* by overlap, misfire or pause */
    int64_t left;               /* of repeat, 0 to repeat; -1: for ever */
    bool by_hand;               /* a run made by fire: does not count for repeat */
    bool cancel_requested;
    struct bytes last_error;
    struct task_claim claim; /* fence 0: none written */
    uint64_t occurrence;     /* of a run: its number, never used again */
    uint64_t origin;         /* the rev under which this wish came in; 0: this very version's */
    /* A schedule's open runs (their numbers) and the occurrences that wait behind them (their
     * nominal times), each ascending. */
    const uint64_t *open;
    size_t open_count;
    const int64_t *backlog;
    size_t backlog_count;
};

/* Every field at its default: what an empty object {} asks for. */
extern const struct task task_usual;
static inline void task_init(struct task *task)
{
    *task = task_usual;
}

/* What must hold of any task, whoever made it, so that it can be encoded: enums are of their
 * enums, sizes and numbers within the limits above, texts UTF-8 without control characters, a
 * cron that parses, exactly the fields of its rhythm, a jitter below the interval, `left`
 * within `repeat`, lists strictly ascending. Not looked at: whether the payload is JSON
 * (task_read and task_decode look) and whether the zone exists. */
bool task_check(const struct task *task);

/* An `id` may be in the body (POST, batch). PUT: the path has it, and a body that repeats it
 * must say the same. */
struct task_read_options {
    struct bytes path_id; /* at NULL: none */
};

/* Room for what has to be unescaped: the task borrows from it. */
struct task_scratch {
    char id[TASK_ID_BYTES_MAX];
    char name[TASK_NAME_BYTES_MAX];
    char queue[TASK_QUEUE_BYTES_MAX];
    char cron[CRON_TEXT_MAX];
    char zone[ZONE_NAME_MAX];
};

/* INVALID: ret_why begins with the field ("delay: …", "retry.max: …"), or tells where the JSON
 * ends to be JSON (then ret_malformed). What the fields mean together is checked too (the
 * table is at the top of task_read.c); that the zone exists is not, since that needs a file.
 * options may be NULL, and ret_malformed too. What is read passes task_check; what was refused
 * left something in ret_task that is not a task. */
enum tocsin_status task_read(struct bytes json, const struct task_read_options *options,
                             struct task_scratch *scratch, struct task *ret_task,
                             bool *ret_malformed, struct tocsin_why *ret_why);
/* The id rule: 1 to 255 bytes of UTF-8 without control characters. */
enum tocsin_status task_id_valid(struct bytes id, const char *field, struct tocsin_why *ret_why);

/* What only the service knows at the time of the answer. */
struct task_view {
    const char *status; /* "pending" */
    uint64_t rev;
    int64_t due_ms; /* wall; negative: left out (null) */
    uint32_t attempt;
    uint64_t fence;      /* 0: null */
    struct bytes result; /* JSON; size 0: left out */
    bool cancel_requested;
    bool on_a_line; /* a line of NDJSON: line breaks in payload and result become blanks */
};
/* One object: the wish with its defaults filled in, as far as it applies (and so that it may
 * be sent again as it stands), then the state and the view. The payload comes byte for byte. */
void task_write(struct json_writer *writer, const struct task *task, const struct task_view *view);

/* The task must pass task_check. The same task always gives the same bytes; its id is not
 * among them. How a buffer ended tells buffer_status. */
void task_encode(const struct task *task, struct buffer *out);

/* open and backlog are decoded into the lists, the rest is borrowed from the doc. The id stays
 * empty: the caller fills it in from the record's key. DAMAGED: these are not bytes that
 * task_encode writes; ret_task is untouched. What is decoded passes task_check, its payload is
 * JSON, and encoded again it is the same bytes. */
struct task_lists {
    uint64_t open[TASK_BACKLOG_MAX];
    int64_t backlog[TASK_BACKLOG_MAX];
};
enum tocsin_status task_decode(struct bytes doc, struct task_lists *lists, struct task *ret_task);
/* The same, at a third of the cost, for bytes that task_encode of this process wrote and that
 * have been in its memory ever since. */
void task_decode_own(struct bytes doc, struct task_lists *lists, struct task *ret_task);

#endif
