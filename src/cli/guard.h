/* SPDX-License-Identifier: MIT */
/* guard.h - who ends a command in time, when we cannot?
 *
 * A small process beside us. It is told until when a process group may run, and kills it then,
 * unless it is told a later time before. We may be stopped, swapped out or killed meanwhile: it is
 * not, and when we are gone it kills the group at once.
 *
 * Promise   the group gets SIGKILL at the time last told, by the clock that counts sleep too.
 * Threads   one at a time.
 */
#ifndef TOCSIN_CLI_GUARD_H
#define TOCSIN_CLI_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard {
    pid_t pid; /* 0: none */
    int to;    /* fd */
};

/* Before the command is started. False, and errno. */
bool guard_start(struct guard *guard);
/* This group may run until then, by clock_boot_us. */
void guard_until(struct guard *guard, pid_t group, uint64_t until_us);
/* There is nothing to guard any more. */
void guard_end(struct guard *guard);

#endif
