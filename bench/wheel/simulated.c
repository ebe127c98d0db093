/* SPDX-License-Identifier: MIT */
#include "simulated.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec shown;
static int is_simulated;

void simulated_set_ms(uint64_t now_ms)
{
    shown.tv_sec = (time_t)(now_ms / 1000);
    shown.tv_nsec = (long)(now_ms % 1000) * 1000000;
    is_simulated = 1;
}

#define IN_FRONT __attribute__((visibility("default"), used))

IN_FRONT int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    if (!is_simulated)
        return (int)syscall(SYS_clock_gettime, clock, ret_now);
    *ret_now = shown;
    return 0;
}

IN_FRONT int epoll_wait(int fd, struct epoll_event *events, int room, int timeout_ms)
{
    (void)fd, (void)events, (void)room, (void)timeout_ms;
    return 0;
}

IN_FRONT int epoll_pwait(int fd, struct epoll_event *events, int room, int timeout_ms,
                         const sigset_t *mask)
{
    (void)mask;
    return epoll_wait(fd, events, room, timeout_ms);
}
