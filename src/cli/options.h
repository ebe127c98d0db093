/* SPDX-License-Identifier: MIT */
/* options.h - what did the user ask for on the command line?
 *
 * A subcommand states its options as a table; reading them, refusing what is not allowed,
 * printing the help and completing words in a shell all come from that one table. Both
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
    const char *argument; /* "N"; "FILE" and "DIR" are completed; NULL: a flag */
    const char *text;
    const char *allowed;                         /* "a number from 1 to 9", for the message */
    bool (*read)(const char *value, void *into); /* value is NULL for a flag */
    size_t at; /* of the field that read fills, in what the command reads into; 0: all of that */
};

/* What most rows read with. The first four fill a const char *, with what was written. */
bool options_read_text(const char *value, void *into);
bool options_read_filled(const char *value, void *into); /* not empty */
bool options_read_duration(const char *value, void *into);
bool options_read_whole(const char *value, void *into); /* 0 or more */
bool options_read_flag(const char *value, void *into);  /* fills a bool */

/* False, and ret_value untouched, unless text is just such a number in range. */
bool options_whole(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);
/* "12" or "0.25", in thousandths. */
bool options_thousandths(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);
/* "1h30m", as duration.h has it. */
bool options_duration(const char *text, uint64_t *ret_ms);
bool options_time(const char *text, uint64_t min_ms, uint64_t max_ms, uint64_t *ret_ms);
/* The one of the words that it is, in small or large letters; NULL ends them. */
bool options_word(const char *text, const char *const *words, const char **ret_word);

#endif
