/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

int signals_open(const int *caught)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (; *caught != 0; caught++)
        (void)sigaddset(&set, *caught);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
