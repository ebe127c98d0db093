/* SPDX-License-Identifier: MIT */

#include "cli/clock.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <time.h>

static uint64_t read_us(clockid_t clock)
{
    struct timespec now;
    int failed = clock_gettime(clock, &now);
    assert(failed == 0);
    (void)failed;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

int clock_boot_alarm_open(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

int clock_alarm_open(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

void clock_alarm_set(int alarm, uint64_t at_us)
{
    /* All zero would switch the alarm off instead of ringing at once. */
    struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(at_us / 1000000),
                                           .tv_nsec = (long)(at_us % 1000000) * 1000 + 1}};
    int failed = timerfd_settime(alarm, TFD_TIMER_ABSTIME, &spec, NULL);
    assert(failed == 0);
    (void)failed;
}
