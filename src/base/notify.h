/* SPDX-License-Identifier: MIT */
/* notify.h - how does the service manager learn how far we are?
 *
 * systemd's notification protocol (sd_notify(3)) without its library: one datagram of lines
 * NAME=value to the socket that $NOTIFY_SOCKET names, with Type=notify in the unit.
 *
 *     notify_send(getenv("NOTIFY_SOCKET"), "READY=1\nSTATUS=412 tasks are waiting");
 *     notify_send(getenv("NOTIFY_SOCKET"), "STOPPING=1");
 *
 * Cost      three system calls; never waits.
 */
#ifndef TOCSIN_BASE_NOTIFY_H
#define TOCSIN_BASE_NOTIFY_H

#include <tocsin/status.h>

/* OK; NONE when there is no such socket (NULL or empty: nobody asked); INVALID when the name is
 * no socket's name ("/path", or "@name" for an abstract one); UNAVAILABLE when it could not be
 * sent. Nobody needs to stop for any of these. */
enum tocsin_status notify_send(const char *socket_name, const char *lines);

#endif
