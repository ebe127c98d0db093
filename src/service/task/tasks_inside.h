/* SPDX-License-Identifier: MIT */
/* tasks_inside.h - how the task service keeps what is under way. For this folder only.
 *
 * In memory, and only there: which records are ready (each queue's heap), who has leased what
 * (runs), and who waits. A record's attached number says where it stands:
 *
 *   0              it waits on the wheel, or for nothing
 *   ATTACHED_READY in its queue's heap. The heap may hold entries that are no longer true;
 *                  they are told by this number and the rev, and skipped.
 *   n              run n - 1 has it
 *
 * A run names its record and the origin (the rev under which the wish came in): when the
 * record is gone or has another origin, somebody has replaced it: the run is superseded.
 */
#ifndef TOCSIN_SERVICE_TASK_TASKS_INSIDE_H
#define TOCSIN_SERVICE_TASK_TASKS_INSIDE_H

#include "base/number_map.h"
#include "service/task/finished.h"
#include "service/task/rhythm.h"
#include "service/task/tasks.h"
#include "service/task/zones.h"

enum { RUN_NUMBER_MARK = 0x1f, ZONE_TAG_MARK = 0x1f, RUN_ID_BYTES = 24, ACKED_MAX = 65536 };

#define ATTACHED_READY UINT32_MAX

struct ready {
    int64_t due_ms; /* wall */
    uint64_t rev;
    struct engine_ref ref;
    int64_t fired_ms; /* wall */
};

struct queue {
    struct queue *next; /* of the same hash */
    uint64_t hash;
    struct ready *heap;
    size_t heap_count;
    size_t heap_room;
    uint64_t ready;
    uint64_t leased;
    struct tasks_lease *first_waiting;
    struct tasks_lease *last_waiting;
    uint32_t waiting;
    uint32_t pins; /* somebody is at work on it */
    bool to_pump;
    struct queue *pump_next;
    size_t name_size;
    char name[];
};

enum run_state { RUN_CLAIMING, RUN_LEASED, RUN_ENDING };

struct run {
    struct tasks *tasks;
    uint32_t index;
    enum run_state state;
    bool of_schedule; /* its record is a `run` */
    bool cancel_requested;
    bool written;       /* its claim is in the store */
    bool ending_well;   /* RUN_ENDING by an ack */
    bool end_when_free; /* its lease ended while something was under way */
    uint32_t attempt;
    struct engine_ref ref;
    uint64_t rev; /* when it was taken from the heap */
    uint64_t origin;
    uint64_t fence;
    int64_t due_ms;     /* wall */
    int64_t fired_ms;   /* wall */
    int64_t started_ms; /* elapsed line, and the next two */
    int64_t until_ms;
    int64_t end_ms; /* of the attempt, over all its extends */
    struct queue *queue;
    struct engine_timer timer;
    struct tasks_lease *lease; /* while claiming; NULL: nobody wants it any more */
    struct buffer row;         /* its JSON for the lease's answer */
    struct run *next_free;
};

struct incident {
    uint64_t rev;
    struct engine_ref ref;
    uint64_t schedule; /* of a schedule's run: incident_schedule() of its id; else 0 */
};

/* A claim that was there at the start: taken up, or ended. */
struct recovery {
    struct tasks *tasks;
    struct engine_ref ref;
    enum task_mark mark;
    bool counted; /* the ready line waits for it */
    struct engine_timer again;
};

/* A schedule in change: what it will be, with room for its lists. */
struct draft {
    struct task task;
    uint64_t open[TASK_BACKLOG_MAX];
    int64_t backlog[TASK_BACKLOG_MAX];
};

struct tasks {
    struct engine *engine;
    struct idem *idem;
    struct tasks_limits limits;
    uint64_t making; /* tasks that are not committed yet */
    enum tasks_history history;
    struct tasks_watch watch;
    const char *node;
    bool write_claims;
    uint64_t (*chance)(void *arg);
    void *chance_arg;

    struct engine_kind task_kind_info;
    struct engine_kind run_kind_info;
    unsigned task_kind;
    unsigned run_kind;

    struct queue **queues;    /* by hash */
    struct queue *last_queue; /* the one most likely asked for again; NULL: none */
    uint32_t queue_mask;
    uint32_t queue_count;
    struct siphash_key hash_key;
    struct queue *pump;
    struct engine_timer pump_again; /* makes a turn, in which they are looked at */

    struct run **runs;
    uint32_t run_end;
    uint32_t run_room;
    struct run *free_runs;
    uint32_t *run_free;
    uint32_t run_free_count;
    uint32_t run_count;
    struct number_map by_fence;
    uint64_t *acked; /* fences that ended well, each at fence mod ACKED_MAX, for those who ask
                        twice */

    struct incident *incidents;           /* ascending revs; some may be gone, or not durable yet */
    struct number_map incident_schedules; /* how many of them a schedule has */
    size_t incident_count;
    size_t incident_room;

    struct finished finished;
    struct zones zones;
    uint64_t ready;
    uint64_t leased;
    uint64_t waiting;
    uint64_t recovering;
    struct recovery *recoveries; /* found while loading */
    size_t recovery_count;
    size_t recovery_room;
    size_t recoveries_left; /* that are not over */
    bool load_failed;       /* no memory to remember something */
    bool holding;

    /* Scratch of the change that runs now. */
    struct task_lists lists;
    struct task_lists other_lists;
    struct rhythm_due_set due_set;
    struct draft draft;
    struct buffer doc;
    struct buffer other_doc;
};

/* tasks.c */
void tasks_count(struct tasks *tasks, enum tasks_count what, uint64_t n);
/* A cron has come, and its zone is not here: its file was gone, or there was no memory for it. */
void tasks_want_zone(struct tasks *tasks, struct bytes zone);
/* A decoded record. DAMAGED: it is not one. */
enum tocsin_status tasks_decode(const struct engine_record *record, struct task_lists *lists,
                                struct task *ret_task);
struct bytes tasks_id_of(struct bytes key); /* of a task's or run's record */
uint64_t tasks_origin(const struct task *task, const struct engine_record *record);
enum tocsin_status tasks_put_doc(struct tasks *tasks, struct change *change, unsigned kind,
                                 struct bytes key, const struct task *task, enum task_mark mark,
                                 int64_t due_ms, enum store_basis basis, uint64_t *ret_rev);
struct task_view tasks_view(const struct tasks *tasks, const struct engine_record *record,
                            const struct task *task);
void tasks_event(struct tasks *tasks, struct change *change, struct bytes id, const char *type,
                 const struct task *task, bool failure);
/* Once the change is durable: counts; keeps how a task ended, to be read. A one-shot that was
 * acknowledged is kept with the doc it had: that it was executed goes without saying. */
void tasks_count_after(struct tasks *tasks, struct change *change, enum tasks_count what,
                       uint64_t count);
void tasks_acked_after(struct tasks *tasks, struct change *change,
                       const struct engine_record *record, const struct run *run,
                       struct bytes result);
void tasks_ended_after(struct tasks *tasks, struct change *change,
                       const struct engine_record *record, const struct task *task,
                       enum finished_how how);
void tasks_write_json(struct buffer *out, const struct task *task, const struct task_view *view);

/* command.c */
enum tocsin_status command_verb(struct tasks_call *call, struct change *change);

/* queue.c */
struct queue *queue_find(struct tasks *tasks, struct bytes name);
struct queue *queue_get(struct tasks *tasks, struct bytes name); /* made; NULL: no memory */
void queue_unuse(struct tasks *tasks, struct queue *queue);      /* freed when empty */
/* A record has come due: into its queue's heap. False: no memory. */
bool queue_push(struct tasks *tasks, const struct engine_head *head, int64_t fired_ms);
bool queue_pop(struct tasks *tasks, struct queue *queue, struct ready *ret_ready);
/* It is no longer ready; true when it was. */
bool queue_unready(struct tasks *tasks, struct engine_ref ref);
/* … but that was rolled back, or nobody wants it any more: back into its queue, unless it is
 * another version by now, which comes due by itself. */
void queue_ready_again(struct tasks *tasks, struct engine_ref ref, uint64_t rev);
void queue_pump_all(void *tasks);
void queue_pump_later(struct tasks *tasks, struct queue *queue);
void queues_release(struct tasks *tasks);

/* lease.c */
void lease_serve(struct tasks *tasks, struct queue *queue, struct tasks_lease *lease);
struct run *run_create(struct tasks *tasks);
void run_destroy(struct run *run);
/* Its record was replaced: whoever has it is told so, and it counts no more. */
void run_supersede(struct tasks *tasks, struct engine_ref ref);
struct run *run_of_fence(struct tasks *tasks, uint64_t fence);
struct run *run_of_record(const struct tasks *tasks, struct engine_ref ref);
void run_id_write(uint64_t fence, char ret_id[RUN_ID_BYTES]);
bool run_id_read(struct bytes id, uint64_t *ret_fence);
void run_start_lease(struct run *run); /* timer and tables */
void leases_hold(struct tasks *tasks);

/* finish.c: how an attempt ends */
void run_timer_fired(void *run);
enum tocsin_status finish_verb(struct tasks_call *call, struct change *change);
void finish_staged(struct tasks_call *call);
void finish_done(struct tasks_call *call, bool ok);
/* Incidents. One may be added before it is durable: should that be rolled back, nothing has its
 * rev, or whoever has it takes its place. False: no memory. */
bool incident_add(struct tasks *tasks, struct engine_ref ref, uint64_t rev, uint64_t schedule);
bool incident_open(const struct tasks *tasks, const struct incident *incident);
void incidents_clean(struct tasks *tasks);
uint64_t incident_schedule(const struct tasks *tasks, struct bytes id); /* never 0 */
/* The next failed run of this schedule at or after *at, which is moved behind it; also when the
 * schedule itself has ended. NONE: there are no more. BUSY as change_get. */
enum tocsin_status incident_of_schedule(struct tasks *tasks, struct change *change, struct bytes id,
                                        size_t *at, struct engine_record *ret_record);
/* An attempt has failed: stages the retry, the incident or the end. */
struct failure {
    uint32_t attempt;
    struct bytes error;
    bool has_delay;
    int64_t delay_ms;
};
enum tocsin_status finish_failed(struct tasks *tasks, struct change *change, unsigned kind,
                                 const struct engine_record *record, struct task *task,
                                 const struct failure *failure, enum tasks_count *ret_what);

/* schedule.c */
enum tocsin_status schedule_due(struct tasks *tasks, struct change *change,
                                const struct engine_record *record);
enum tocsin_status schedule_fire(struct tasks *tasks, struct change *change,
                                 const struct engine_record *record, struct task *task,
                                 uint64_t *ret_rev);
/* What was paused, a one-shot or a schedule, goes on; the pause ended late_ms ago. task becomes
 * what was put. */
enum tocsin_status schedule_resume(struct tasks *tasks, struct change *change,
                                   const struct engine_record *record, struct task *task,
                                   int64_t late_ms, uint64_t *ret_skipped);
/* A run of it has ended, as its last error tells when not well; or begins anew, after it had
 * failed for good. The schedule may be gone: then what is remembered of it changes. */
enum tocsin_status schedule_run_ended(struct tasks *tasks, struct change *change,
                                      const struct task *run, bool well);
enum tocsin_status schedule_run_reopened(struct tasks *tasks, struct change *change,
                                         const struct task *run);
size_t schedule_run_key(struct bytes id, uint64_t number, char ret_key[TASK_ID_BYTES_MAX + 24]);
int64_t schedule_now(const struct tasks *tasks, enum store_basis basis);

#endif
