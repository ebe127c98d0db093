/* SPDX-License-Identifier: MIT */
/* tocsin lease run, while it has the lease: the command, and what keeps it inside its time. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/job.h"
#include "cli/lease_run.h"

enum { VARIABLES = 3, VARIABLE_BYTES = 320, MARGIN_MAX_MS = 500, MARGIN_MIN_MS = 20 };

static const char too_late[] = "%s could not be renewed in time: the command is killed";

/* ---- times */

static uint64_t margin_us(const struct lease_run *run)
{
    uint64_t ms = run->ttl_ms / 20;
    ms = ms < MARGIN_MIN_MS ? MARGIN_MIN_MS : ms > MARGIN_MAX_MS ? MARGIN_MAX_MS : ms;
    return ms * 1000;
}

/* When all of it must be over. */
static uint64_t kill_us(const struct lease_run *run)
{
    uint64_t at_us = run->until_us - margin_us(run);
    uint64_t asked_us = run->term_us + run->grace_ms * 1000;
    return run->term_us != 0 && asked_us < at_us ? asked_us : at_us;
}

/* When it is asked to end, unless a beat is answered before. A third of the time at most is for
 * that: the rest is for beats. */
static uint64_t term_us(const struct lease_run *run)
{
    uint64_t third_us = (run->ttl_ms * 1000 - margin_us(run)) / 3;
    uint64_t grace_us = run->grace_ms * 1000;
    return kill_us(run) - (grace_us < third_us ? grace_us : third_us);
}

/* ---- the command */

static int spawn(struct lease_run *run, char *const *environment)
{
    posix_spawn_file_actions_t files;
    (void)posix_spawn_file_actions_init(&files);
    /* A group of its own may only read from a terminal that is its own. */
    run->tty = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (run->tty)
        (void)posix_spawn_file_actions_addtcsetpgrp_np(&files, STDIN_FILENO);
    int problem = job_spawn(&files, run->command, environment, &run->pid);
    if (problem != 0)
        run->pid = 0;
    return problem;
}

static int start(struct lease_run *run)
{
    char variables[VARIABLES][VARIABLE_BYTES];
    char *pointers[VARIABLES] = {variables[0], variables[1], variables[2]};
    (void)snprintf(variables[0], VARIABLE_BYTES, "TOCSIN_LEASE=%s", run->name);
    (void)snprintf(variables[1], VARIABLE_BYTES, "TOCSIN_LEASE_HOLDER=%s", run->holder);
    (void)snprintf(variables[2], VARIABLE_BYTES, "TOCSIN_FENCE=%" PRId64, run->fence);
    if (!guard_start(&run->guard))
        return command_fail(&lease_run_command, "cannot start a guard: %s", strerror(errno));
    char **environment = job_environment(pointers, VARIABLES);
    int problem = environment == NULL ? ENOMEM : spawn(run, environment);
    free(environment);
    if (problem == 0) {
        guard_until(&run->guard, run->pid, kill_us(run));
        return EXIT_DONE;
    }
    (void)command_fail(&lease_run_command, "cannot start '%.200s': %s", run->command[0],
                       strerror(problem));
    return problem == ENOENT ? 127 : 126; /* as shells have it */
}

/* Whatever it has left behind in its group ends with it: the lease is no longer theirs either. */
static void see_whether_it_ended(struct lease_run *run)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)run->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return;
    if (info.si_code == CLD_STOPPED) {
        if (run->tty) /* by Ctrl-Z: nobody could wake it up again */
            (void)kill(-run->pid, SIGCONT);
        else /* by somebody's will; its time runs on */
            (void)waitid(P_PID, (id_t)run->pid, &info, WSTOPPED | WNOHANG);
        return;
    }
    (void)kill(-run->pid, SIGKILL); /* while its number is still taken */
    (void)waitid(P_PID, (id_t)run->pid, &info, WEXITED);
    run->ended = true;
    run->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    /* Its guard was quicker: we were stopped, or slow. */
    bool killed = info.si_code == CLD_KILLED && info.si_status == SIGKILL;
    if (killed && !run->lost && run->fence != 0 && clock_boot_us() >= kill_us(run)) {
        error_note("lease run", too_late, run->name);
        run->lost = true;
    }
}

static void lose(struct lease_run *run)
{
    run->lost = true;
    (void)kill(-run->pid, SIGKILL);
}

/* The clock first: we may have been stopped for any time. */
static void keep_in_time(struct lease_run *run, uint64_t now_us)
{
    if (now_us >= kill_us(run)) {
        if (!run->lost)
            error_note("lease run", too_late, run->name);
        lose(run);
    } else if (now_us >= term_us(run) && run->term_us == 0) {
        error_note("lease run", "%s cannot be renewed: the command is asked to end", run->name);
        run->lost = true;
        run->term_us = now_us;
        (void)kill(-run->pid, SIGTERM);
        guard_until(&run->guard, run->pid, kill_us(run));
    }
}

/* ---- beats */

static void take_beat(struct lease_run *run)
{
    char text[600];
    int status = lease_run_status(run);
    run->answered = false;
    client_note_answer(&run->client, run->call, run->end, &run->away);
    if (status == 200) {
        lease_run_take(run);
        guard_until(&run->guard, run->pid, kill_us(run));
    } else if (status == 409) {
        client_problem(run->call, text, sizeof text);
        error_note("lease run", "%s was lost: %s: the command is killed", run->name, text);
        lose(run);
        run->fence = 0;
        run->beat_us = UINT64_MAX;
    } else {
        run->beat_us = clock_boot_us() + lease_run_pause_us(run);
    }
}

static void beat(struct lease_run *run, uint64_t now_us)
{
    uint64_t left_us = kill_us(run) - now_us;
    uint64_t third_us = run->ttl_ms * 1000 / 3;
    /* One that hangs must leave time for another. */
    lease_run_beat(run, (left_us < third_us ? left_us : third_us) / 1000 + 1);
}

static void pass_on_signals(struct lease_run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            (void)kill(-run->pid, (int)info.ssi_signo);
    }
}

static uint64_t wake_us(const struct lease_run *run)
{
    uint64_t at_us = run->term_us == 0 ? term_us(run) : kill_us(run);
    return !call_under_way(run->call) && run->beat_us < at_us ? run->beat_us : at_us;
}

int lease_run_hold(struct lease_run *run)
{
    int code = start(run);
    while (code == EXIT_DONE && !run->ended) {
        uint64_t now_us = clock_boot_us();
        if (run->answered)
            take_beat(run);
        if (run->fence != 0)
            keep_in_time(run, now_us);
        if (run->fence != 0 && now_us < kill_us(run) && now_us >= run->beat_us &&
            !call_under_way(run->call))
            beat(run, now_us);
        /* Killed, it ends by itself; that is told by a signal. */
        lease_run_sleep(run, run->fence == 0 || now_us >= kill_us(run) ? UINT64_MAX : wake_us(run));
        pass_on_signals(run);
        see_whether_it_ended(run);
    }
    calls_cancel(run->calls, run->call);
    guard_end(&run->guard);
    if (run->tty) {
        (void)signal(SIGTTOU, SIG_IGN);
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
    }
    return code;
}
