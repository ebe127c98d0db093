/* SPDX-License-Identifier: MIT */
#include "cli/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"

struct order {
    pid_t group; /* 0: it is over */
    uint64_t until_us;
};

/* Only what is safe after a fork of a process that may have threads. */
static void watch(int from, int alarm)
{
    struct order order = {0, 0};
    for (;;) {
        struct pollfd fds[] = {{.fd = from, .events = POLLIN}, {.fd = alarm, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        struct order next;
        ssize_t got = read(from, &next, sizeof next);
        if (got == (ssize_t)sizeof next) {
            order = next;
            if (order.group == 0)
                _exit(0);
            clock_alarm_set(alarm, order.until_us);
        } else if (got == 0) {
            break; /* whoever kept the lease is gone */
        }
        if (order.group != 0 && clock_boot_us() >= order.until_us)
            break;
    }
    if (order.group != 0)
        (void)kill(-order.group, SIGKILL);
    _exit(0);
}

static void become_guard(int from, int alarm)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)setpgid(0, 0); /* what stops or ends our group is not meant for it */
    (void)prctl(PR_SET_NAME, "tocsin guard");
    (void)dup2(from, STDIN_FILENO);
    (void)dup2(alarm, STDOUT_FILENO);
    (void)close_range(STDERR_FILENO, ~0U, 0);
    watch(STDIN_FILENO, STDOUT_FILENO);
}

bool guard_start(struct guard *guard)
{
    int ends[2]; /* a socket: one order is one message, and reading does not wait */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return false;
    int alarm = clock_boot_alarm_open();
    pid_t pid = alarm < 0 ? -1 : fork();
    if (pid == 0)
        become_guard(ends[0], alarm);
    int problem = errno;
    (void)close(ends[0]);
    if (alarm >= 0)
        (void)close(alarm);
    if (pid < 0) {
        (void)close(ends[1]);
        errno = problem;
        return false;
    }
    *guard = (struct guard){pid, ends[1]};
    return true;
}

void guard_until(struct guard *guard, pid_t group, uint64_t until_us)
{
    struct order order = {group, until_us};
    if (guard->pid != 0) /* if it does not fit, an earlier time stays: that is safe */
        (void)!send(guard->to, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_end(struct guard *guard)
{
    if (guard->pid == 0)
        return;
    guard_until(guard, 0, 0);
    (void)close(guard->to);
    (void)waitpid(guard->pid, NULL, 0);
    *guard = (struct guard){0};
}
