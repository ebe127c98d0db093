/* SPDX-License-Identifier: MIT */
/* engine_judge.h - did an engine keep its promises? Judged by what was seen from outside.
 *
 * The judge has a history of its own: what each change did to the tip, in order (pending), and
 * what has been acknowledged (committed). From these, and from what the disk really holds:
 *
 *   a change reads the tip              that is: committed and all that is pending
 *   a get, list or due sees             committed and some first part of what is pending, and
 *                                       nothing that the disk does not have
 *   after a crash the disk holds        committed and some first part of what was pending, in
 *                                       whole groups
 *   a due                               not before its time by its own clock, not while the
 *                                       record is being changed, and none is left out
 *   revs, fences, events                only rise; each event once and in order
 *
 * The first violation is the verdict; an empty one is an acquittal.
 */
#ifndef TEST_ENGINE_JUDGE_H
#define TEST_ENGINE_JUDGE_H

#include "base/clock.h"
#include "store/store.h"

enum { JUDGE_KEYS = 24, JUDGE_GROUP_MAX = 3, JUDGE_PENDING_MAX = 8192 };

struct judge_version {
    uint64_t rev; /* 0: there is none */
    uint64_t stamp;
    int64_t due_ms;
    enum store_basis basis;
};

struct judge_effect {
    unsigned key;
    struct judge_version version;
};

struct judge_group {
    uint64_t id;
    size_t count;
    struct judge_effect effects[JUDGE_GROUP_MAX];
};

struct judge {
    char verdict[256];
    struct judge_version committed[JUDGE_KEYS];
    struct judge_group pending[JUDGE_PENDING_MAX];
    size_t pending_count;
    uint64_t last_acknowledged; /* id of a group */
    uint64_t high_rev;          /* given in this life, or stored */
    uint64_t stored_rev;
    uint64_t high_fence;
    /* The elapsed line: how far it is from the elapsed clock now, and what the disk knows. */
    const struct clock_manual *clock;
    int64_t line_base_ns;
    int64_t taken_line_ns;
    int64_t taken_wall_ns;
    int64_t stored_line_ns;
    int64_t stored_wall_ns;
    bool time_stored;
    uint64_t crashes;
    uint64_t dues;
    uint64_t acknowledged;
};

void judge_init(struct judge *judge, const struct clock_manual *clock);
bool judge_fine(const struct judge *judge);
__attribute__((format(printf, 2, 3))) void judge_accuse(struct judge *judge, const char *format,
                                                        ...);

/* A change read the tip: a rev, or 0. The id of the pending group that made it so, or 0. */
uint64_t judge_read_tip(struct judge *judge, unsigned key, uint64_t rev);
/* A change's function returned OK. */
void judge_applied(struct judge *judge, const struct judge_group *group);
/* A change that wrote nothing, because of what this group had done, was answered. */
void judge_refused(struct judge *judge, uint64_t id);
/* The event of a group came: it is acknowledged. */
void judge_acknowledged(struct judge *judge, uint64_t id);
/* A commit failed: nothing of what was pending will be. */
void judge_rolled_back(struct judge *judge);
/* Somebody outside was shown this (rev 0: none). */
void judge_seen(struct judge *judge, const char *by, unsigned key,
                const struct judge_version *version);
/* Something is pending on it. */
bool judge_in_change(const struct judge *judge, unsigned key);
void judge_due(struct judge *judge, unsigned key, const struct judge_version *version,
               uint64_t fence);

/* A batch was handed over; it reached the disk. */
void judge_taken(struct judge *judge);
void judge_stored(struct judge *judge, const struct store_batch *batch);
/* The process ended; a new one finds this on the disk. */
void judge_crashed(struct judge *judge, const struct judge_version found[JUDGE_KEYS]);
/* All is settled and time enough has passed: nothing may be overdue, and the disk agrees. */
void judge_quiet(struct judge *judge, int64_t late_ms,
                 const struct judge_version found[JUDGE_KEYS]);

#endif
