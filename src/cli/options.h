/* SPDX-License-Identifier: MIT */
/* options.h - what did the user ask for on the command line?
 *
 * A subcommand states its options as a table; reading them, refusing what is
 * not allowed and printing the help all come from that one table. Both
 * "--name value" and "--name=value" are taken.
 */
#ifndef TOCSIN_CLI_OPTIONS_H
#define TOCSIN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option_row {
    const char *name;     /* "--seconds" */
    const char *argument; /* "N"; NULL: a flag, read is called with NULL */
    const char *text;
    const char *allowed; /* "a number from 1 to 9", for the message */
    bool (*read)(const char *value, void *into);
};

enum options_end { OPTIONS_READ, OPTIONS_HELP, OPTIONS_REFUSED };

/* HELP: --help or -h was there. REFUSED: a message is on stderr. */
enum options_end options_read(const char *command, const struct option_row *rows, size_t count,
                              int argc, char **argv, void *into);
void options_print(FILE *out, const struct option_row *rows, size_t count);

/* False, and ret_value untouched, unless text is just such a number in range. */
bool options_whole(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);
/* "12" or "0.25", in thousandths. */
bool options_thousandths(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

#endif
