/* SPDX-License-Identifier: MIT */
/* sqlite_cut.h - what can still be read of a file that was cut?
 *
 * SQLite refuses a file that is shorter than its first page says, although all pages before the
 * cut are there. This is the system's VFS, but for the length of the database: it is what the
 * first page says. What lies behind the end reads as zeros, which no page of a table begins with.
 *
 * Promise   nothing is made longer on the disk. A length that is absurd is not believed.
 * Threads   any.
 */
#ifndef TOCSIN_STORE_SQLITE_CUT_H
#define TOCSIN_STORE_SQLITE_CUT_H

/* The VFS's name, for opening read-only. NULL: there is none, and the system's will do. */
const char *sqlite_cut_vfs(void);

#endif
