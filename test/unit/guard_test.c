/* SPDX-License-Identifier: MIT */
/* The guard of `tocsin lease run`: a group does not run longer than it may, whatever becomes
 * of whoever started it. */
#include "cli/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "runner.h"

/* A process in a group of its own that waits for ever. */
static pid_t start_group(const struct guard *guard)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(guard->to); /* a command does not get it */
        (void)setpgid(0, 0);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    return pid;
}

static void is_killed(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(R_30_a_group_is_killed_at_its_time_and_not_before)
{
    struct guard guard;
    assert_true(guard_start(&guard));
    pid_t pid = start_group(&guard);
    uint64_t until_us = clock_boot_us() + 200000;
    guard_until(&guard, pid, until_us);
    is_killed(pid);
    assert_true(clock_boot_us() >= until_us);
    guard_end(&guard);
}

TEST(R_30_the_last_time_told_counts)
{
    struct guard guard;
    assert_true(guard_start(&guard));
    pid_t pid = start_group(&guard);
    uint64_t until_us = clock_boot_us() + 400000;
    guard_until(&guard, pid, clock_boot_us() + 100000000);
    for (uint64_t at_us = clock_boot_us() + 50000; at_us < until_us; at_us += 50000)
        guard_until(&guard, pid, at_us);
    guard_until(&guard, pid, until_us);
    is_killed(pid);
    assert_true(clock_boot_us() >= until_us);
    guard_end(&guard);
}

TEST(R_30_it_is_killed_at_once_when_nobody_keeps_it)
{
    struct guard guard;
    assert_true(guard_start(&guard));
    pid_t pid = start_group(&guard);
    guard_until(&guard, pid, clock_boot_us() + UINT64_C(3600) * 1000000);
    (void)close(guard.to); /* as if we had died */
    is_killed(pid);
    assert_int_equal(waitpid(guard.pid, NULL, 0), guard.pid);
}

TEST(R_30_what_has_ended_is_left_alone)
{
    struct guard guard;
    assert_true(guard_start(&guard));
    pid_t pid = start_group(&guard);
    guard_until(&guard, pid, clock_boot_us() + UINT64_C(3600) * 1000000);
    guard_end(&guard);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, 0), 0);
    (void)kill(pid, SIGKILL);
    is_killed(pid);
}
