/* SPDX-License-Identifier: MIT */
/* command.h - what is a subcommand of the binary?
 *
 * A row in main.c's table: a name, a line of help, and two functions. run gets
 * the arguments after its own name and answers with the exit code of the process.
 */
#ifndef TOCSIN_CLI_COMMAND_H
#define TOCSIN_CLI_COMMAND_H

#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

struct command {
    const char *name;
    const char *text;
    int (*run)(int argc, char **argv);
    void (*help)(FILE *out);
};

#endif
