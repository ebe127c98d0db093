/* SPDX-License-Identifier: MIT */
/* job.h - a command at work: what goes in, what comes out, how did it end?
 *
 * The command gets a process group of its own, so that all of it can be ended; and it does not
 * get the Ctrl-C that was meant for us.
 *
 * Promise   no call waits: a command that reads nothing of a large payload, or writes without
 *           end, holds nobody up. Both are bounded here. No descriptor but 0, 1 and 2 is left to
 *           it, and none of ours stays open after release.
 * Threads   one at a time.
 */
#ifndef TOCSIN_CLI_JOB_H
#define TOCSIN_CLI_JOB_H

#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum {
    JOB_RESULT_BYTES_MAX = 16 * 1024,
    JOB_TAIL_BYTES = 1024, /* of what it says on stderr, the end */
    JOB_FDS = 3,
    JOB_KILL_AFTER_MS = 5000,
};

struct job {
    pid_t pid; /* 0: none */
    int in;    /* our ends; -1: closed */
    int out;
    int err;
    struct buffer payload;
    size_t written;
    struct buffer result; /* its stdout, when that is wanted */
    bool result_cut;
    size_t tail_size;
    char tail[JOB_TAIL_BYTES];
    bool ended;
    int wait_status;
    uint64_t kill_us; /* it was asked to end: then it is killed; 0: it was not */
};

void job_init(struct job *job);
void job_release(struct job *job); /* kills what still runs */

/* 0, or what the system said. payload is copied. The environment ends with NULL. */
int job_start(struct job *job, char *const *command, char *const *environment, struct bytes payload,
              bool wants_result);

/* Only starts one, in a process group of its own, with signals as usual and no descriptor above 2,
 * after these actions, which it releases. 0, or what the system said. */
int job_spawn(posix_spawn_file_actions_t *actions, char *const *command, char *const *environment,
              pid_t *ret_pid);

/* Ours, with these variables ("NAME=value") in it, or instead of ours. Ended by NULL, to be freed;
 * NULL: no memory. */
char **job_environment(char *const *variables, size_t count);

/* What to poll for; answers how many. */
size_t job_fds(const struct job *job, struct pollfd ret_fds[JOB_FDS]);
/* Moves what can be moved, and sees whether it has ended. */
void job_pump(struct job *job);
/* All of its group: SIGTERM now, SIGKILL in a while. */
void job_end(struct job *job, uint64_t now_us);

bool job_succeeded(const struct job *job);
/* "exit 3: the last line of stderr" */
void job_error(const struct job *job, char *ret_text, size_t room);

#endif
