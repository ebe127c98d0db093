/* SPDX-License-Identifier: MIT */
/* work.h - what the files of `tocsin work` share.
 *
 * A slot is room for one run at a time:
 *
 *   state      is                                     goes to
 *   FREE       nothing                                RUNNING  when leased and started
 *   RUNNING    the command runs; extended at ttl/3    SETTLING when the command has ended
 *   SETTLING   acked or nacked until that is answered FREE     when answered, or the lease was
 *                                                              lost before
 */
#ifndef TOCSIN_CLI_WORK_H
#define TOCSIN_CLI_WORK_H

#include <signal.h>

#include "cli/client.h"
#include "cli/job.h"

enum { WORK_SLOTS_MAX = 256, WORK_RUN_BYTES = 64, WORK_ID_BYTES = 256 };

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_SETTLING };

struct slot {
    struct work *work;
    enum slot_state state;
    struct job job;
    char run[WORK_RUN_BYTES];
    char task_id[WORK_ID_BYTES];
    struct call *extend;
    struct call *settle;
    uint64_t extend_us; /* when next */
    uint64_t settle_us;
    uint32_t failures; /* of settling */
    bool lost;         /* somebody newer has it: there is nothing to settle */
    bool cancelled;
    bool without_result; /* it is none, or the server did not want it */
};

struct work {
    struct client_options options; /* first */
    uint64_t max;
    uint64_t ttl_ms;
    uint64_t wait_ms;
    bool once;
    bool waits; /* --wait was given: also with --once */
    bool met;   /* the server has answered at least once */
    bool wants_result;

    char *const *command;
    const char *queue;
    struct client client;
    struct calls *calls;
    struct call *lease;
    uint64_t lease_us; /* when next */
    uint64_t asked_us;
    uint32_t lease_failures;
    bool empty;  /* the last lease gave nothing */
    bool away;   /* the server is not there, and that was said */
    int signals; /* fd */
    int stops;   /* signals that asked us to stop */
    uint64_t give_up_us;
    int code;
    bool failed; /* code is how we end */
    uint64_t done;
    uint64_t failed_runs;
    struct slot *slots;
};

/* work_slot.c */
bool slot_init(struct slot *slot, struct work *work);
void slot_release(struct slot *slot);
/* Starts the command for this run, as the lease answered it. */
void slot_take(struct slot *slot, struct bytes run);
/* Whatever it is time for. */
void slot_step(struct slot *slot, uint64_t now_us);
/* When it wants to be stepped next; UINT64_MAX: when something happens. */
uint64_t slot_wake_us(const struct slot *slot);

/* work.c */
uint64_t work_backoff_us(uint32_t failures);

#endif
