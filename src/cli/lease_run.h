/* SPDX-License-Identifier: MIT */
/* lease_run.h - what the files of `tocsin lease run` share.
 *
 * Times are by clock_boot_us, which counts the sleep of the machine too. A lease is counted from
 * before the request was sent that got or renewed it:
 *
 *   asked                        term               kill    until
 *     |---- beats, every ttl/3 ----|----- grace ------|margin-|
 *
 * At `term` the command is asked to end, at `kill` its whole group is killed: so that it is over
 * before anybody else can have the lease. Each beat that is answered moves all of them on.
 */
#ifndef TOCSIN_CLI_LEASE_RUN_H
#define TOCSIN_CLI_LEASE_RUN_H

#include <sys/types.h>

#include "cli/client.h"
#include "cli/guard.h"

enum { LEASE_TEXT_BYTES = 256 };

struct lease_run {
    struct client_options options; /* first */
    uint64_t ttl_ms;
    uint64_t wait_ms;
    uint64_t grace_ms;
    bool forever;
    const char *holder;

    const char *name;
    char *const *command;
    char own_holder[LEASE_TEXT_BYTES];
    struct client client;
    struct calls *calls;
    struct call *call;
    int signals; /* fd */
    int alarm;   /* fd */

    /* the last call */
    bool answered;
    enum call_end end;
    uint64_t asked_us;
    uint32_t failures;
    bool away;  /* the server is not there, and that was said */
    bool maybe; /* a request may have got us the lease, and we do not know */

    /* the lease */
    int64_t fence; /* 0: not ours */
    uint64_t until_us;
    uint64_t beat_us;
    bool lost;

    /* the command */
    struct guard guard;
    pid_t pid;        /* 0: none */
    uint64_t term_us; /* it was asked to end; 0: it was not */
    bool tty;         /* it has the terminal */
    bool ended;
    int exit_code;
    int stopped_by; /* a signal while we waited */
};

/* ---- lease_run.c */

/* Until something happens, or that time comes. */
void lease_run_sleep(struct lease_run *run, uint64_t until_us);
/* Begins a request; `answered` says when it has ended. */
void lease_run_ask(struct lease_run *run, const char *method, const char *path, struct bytes body,
                   uint64_t timeout_ms);
/* How long to wait after one more failure. */
uint64_t lease_run_pause_us(struct lease_run *run);
/* A refusal that asking again will not change. */
bool lease_run_is_final(const struct lease_run *run);
int lease_run_status(const struct lease_run *run);
/* POST …/keepalive */
void lease_run_beat(struct lease_run *run, uint64_t timeout_ms);
/* The answer gave or renewed the lease. */
void lease_run_take(struct lease_run *run);

/* ---- lease_hold.c: while the command runs */

/* EXIT_DONE: the command has been started and has ended, exit_code and lost say how. */
int lease_run_hold(struct lease_run *run);

#endif
