/* SPDX-License-Identifier: MIT */
/* signals.h - which signals have come, for who waits for other things too? */
#ifndef TOCSIN_CLI_SIGNALS_H
#define TOCSIN_CLI_SIGNALS_H

#include <signal.h>

/* These, ended by 0, are from now on read from a file descriptor that never waits, as struct
 * signalfd_siginfo; SIGPIPE is ignored. -1 and errno. */
int signals_open(const int *caught);

#endif
