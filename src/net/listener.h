/* SPDX-License-Identifier: MIT */
/* listener.h - where do connections come in, whoever answers them?
 *
 * A listening socket that outlives the servers on it: while one is closed and the next is made,
 * connections wait in the kernel, and a port that was chosen by the system stays ours.
 *
 * Threads   any.
 */
#ifndef TOCSIN_NET_LISTENER_H
#define TOCSIN_NET_LISTENER_H

#include <tocsin/status.h>

#include "net/address.h"

/* "127.0.0.1:7400", "[::1]:0". BUSY: somebody listens there; INVALID; and why. The socket does not
 * block, and is closed in programs that are started. */
enum tocsin_status listener_open(const char *address, int *ret_fd,
                                 char ret_address[ADDRESS_TEXT_BYTES], struct tocsin_why *ret_why);
/* Another descriptor of the same socket; -1 and errno. */
int listener_again(int fd, char ret_address[ADDRESS_TEXT_BYTES]);

#endif
