/* SPDX-License-Identifier: MIT */
/* address.h - which socket address does this text mean?
 *
 * "127.0.0.1:7400" and "[::1]:0": literal addresses only, since looking up a name may block.
 */
#ifndef TOCSIN_NET_ADDRESS_H
#define TOCSIN_NET_ADDRESS_H

#include <sys/socket.h>

#include <tocsin/status.h>

enum { ADDRESS_TEXT_BYTES = 64 };

/* INVALID, and why. */
enum tocsin_status address_parse(const char *text, struct sockaddr_storage *ret_address,
                                 socklen_t *ret_size, struct tocsin_why *ret_why);
void address_format(const struct sockaddr_storage *address, char text[ADDRESS_TEXT_BYTES]);

#endif
