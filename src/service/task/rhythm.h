/* SPDX-License-Identifier: MIT */
/* rhythm.h - when does this task come next, and what did it miss?
 *
 * The arithmetic of schedules as pure functions over struct task. Times are milliseconds of
 * the task's own clock: wall for `at`, cron, and every with an `at` anchor; elapsed for the
 * rest. A nominal time is one without jitter; jitter is added last, so the rhythm never
 * drifts: a fixed rate is nominal + k * every, whatever was late.
 *
 * Ends      nothing overflows: what would be past the end of time is STORE_NEVER.
 * Repeat    is the caller's: it counts occurrences as they end.
 * Fixed     (from_end) has no occurrence after the one under way until that has ended; the
 * delay     caller then asks rhythm_after with the time at which it ended.
 * Cost      of `every`, O(1) however much was missed. Of a cron, up to some eighty counts of
 *           what lies between (cron_count: by the month, not by the occurrence), and a
 *           cron_next for each occurrence that runs. Seen for a second's rhythm with 1 000
 *           runs: 0.2 ms after 30 days and after 10 years, 0.7 ms after a century.
 */
#ifndef TOCSIN_SERVICE_TASK_RHYTHM_H
#define TOCSIN_SERVICE_TASK_RHYTHM_H

#include "schedule/zone.h"
#include "service/task/task.h"
#include "store/store.h"

/* By which clock this task's dues are counted. */
enum store_basis rhythm_basis(const struct task *task);

/* The first nominal time of a task made now (by the clock of its basis). `zone` is used by
 * cron only. NONE: a cron that never comes. A `delay` too long ends at the end of time. An
 * `every` whose anchor is past begins with the newest time of its rhythm that is not after
 * now: at once, and in step with the anchor; what was before the task was made, it did not
 * miss. */
enum tocsin_status rhythm_first(const struct task *task, const struct zone *zone, int64_t now_ms,
                                int64_t *ret_nominal_ms, struct tocsin_why *ret_why);

/* The nominal time after this one; NONE when there is none. */
enum tocsin_status rhythm_after(const struct task *task, const struct zone *zone,
                                int64_t nominal_ms, int64_t *ret_nominal_ms);

/* nominal plus hash(id) mod jitter: the same for each occurrence of a task, on any machine. The
 * hash is SipHash-2-4 of the id's bytes under a key of zeros. */
int64_t rhythm_due(const struct task *task, int64_t nominal_ms);

/* A schedule has come due at `now`; its state names the occurrence (nominal_ms). Which
 * occurrences run, by its misfire policy, and what comes next. An occurrence is due when
 * rhythm_due of it is <= now; it is missed when a later one is due too.
 *
 *   once   one run, the newest due, stands for those that were missed
 *   skip   what was missed does not run; the newest due was not missed, and runs
 *   all    all that are due run, but at most the newest TASK_BACKLOG_MAX
 *
 * (So once and skip run the same here; they differ for a one-shot, which can be missed by
 * being late.) What is due and does not run is counted exactly. When not even nominal_ms is
 * due, nothing runs and nominal_ms is next. */
struct rhythm_due_set {
    int64_t run[TASK_BACKLOG_MAX]; /* nominal times, ascending; at most the newest 1 000 */
    size_t run_count;
    uint64_t skipped; /* due, and not run */
    int64_t next_ms;  /* nominal; STORE_NEVER: none, or from_end */
};
void rhythm_take_due(const struct task *task, const struct zone *zone, int64_t now_ms,
                     struct rhythm_due_set *ret_set);

/* A paused schedule goes on: the first occurrence that is due after now, and how many, from
 * nominal_ms on, fell into the pause. A fixed delay begins anew: one interval from now. A
 * one-shot keeps its time, also when it is past. STORE_NEVER: a cron that has ended. */
void rhythm_resume(const struct task *task, const struct zone *zone, int64_t now_ms,
                   int64_t *ret_nominal_ms, uint64_t *ret_skipped);

#endif
