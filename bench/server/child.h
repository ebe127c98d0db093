/* SPDX-License-Identifier: MIT */
/* child.h - which servers run for this benchmark, and who ends them?
 *
 * The benchmark works in a child of its own process: whatever ends it (a failed
 * answer, Ctrl-C, a kill), the kernel ends the servers with it, and the process that
 * is left over removes the folder they wrote to.
 *
 * Order     scratch_open, supervise, then any number of children.
 */
#ifndef TOCSIN_BENCH_SERVER_CHILD_H
#define TOCSIN_BENCH_SERVER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PATH_BYTES_MAX = 256, CHILD_ARGS_MAX = 48 };

/* A folder of our own below $TMPDIR or /tmp; where that is held in memory, below
 * build/bench, because a disk is what is measured. */
void scratch_open(void);
const char *scratch_path(void);
/* "ext4 (/tmp)" */
const char *scratch_filesystem(void);
/* A new folder in it. */
void scratch_folder(const char *name, char ret_path[PATH_BYTES_MAX]);
void scratch_remove(const char *path);
void scratch_copy(const char *from, const char *to);

/* Returns in the process that shall measure; the other one waits for its end. */
void supervise(void);

struct child {
    pid_t pid;
    int out; /* what it says on stdout; -1: goes to the log */
    char log[PATH_BYTES_MAX];
};

void child_start(struct child *child, const char *const argv[], const char *folder, bool read_out);
bool child_lives(struct child *child);
/* Kill -9, and wait for it. */
void child_kill(struct child *child);
/* Prints the end of its log and dies with the sentence. */
_Noreturn void child_failed(const struct child *child, const char *what);
size_t child_rss_bytes(const struct child *child);
/* What all its threads have had of the processors. */
uint64_t child_cpu_ns(const struct child *child);

unsigned short port_free(void);
/* Blocking, without Nagle's delay; -1 when refused. */
int port_connect(unsigned short port);

#endif
