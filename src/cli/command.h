/* SPDX-License-Identifier: MIT */
/* command.h - what is a subcommand of the binary?
 *
 * A constant that says everything about it: help, shell completion, the reading of its words
 * and options all come from there. run gets the arguments after its own name and answers with
 * the exit code of the process:
 *
 *     struct words words = {argc, argv};
 *     struct show show = {0};
 *     int code;
 *     if (!command_begin(&show_command, &words, &show, &code))
 *         return code;
 *
 * One with verbs, such as countdown, names them: each is a command of its own, whose name is both
 * words, "countdown start". It may have a run of its own, too, for what begins with another word.
 */
#ifndef TOCSIN_CLI_COMMAND_H
#define TOCSIN_CLI_COMMAND_H

#include "cli/options.h"

enum {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1,
    EXIT_USAGE = 2,
    EXIT_UNREACHED = 3,
    EXIT_LOOK = 4, /* of serve: starting it again would hide what a person must see first */
};

struct command {
    const char *name;
    const char *text;  /* one line for the list of commands */
    const char *usage; /* what stands after the name: "ID... [OPTION...]" */
    const char *about; /* lines */
    const char *after; /* lines below the options: an example, keys, exit codes */
    const struct option_row *rows;
    size_t row_count;
    const char *word_name; /* of the words that are no options: "ID"; for the message */
    int words_min;
    int words_max;
    bool client; /* asks a server: has the options of client.h too, and fills into with them,
                    which begins with a struct client_options */
    const struct command *const *verbs; /* NULL: none, and then there is run. NULL ends them. */
    int (*run)(int argc, char **argv);  /* beside verbs: of words that are none */
};

/* Its options, in the constant: COMMAND_ROWS(ls_rows). */
#define COMMAND_ROWS(table) .rows = (table), .row_count = sizeof(table) / sizeof(table)[0]

enum { COMMAND_WORDS_ANY = 1 << 30 };

/* The words that are no options, taken to the front of the arguments. */
struct words {
    int count;
    char **at;
};

/* All of them, in the order of the help; NULL ends the list. In main's table. */
extern const struct command *const commands[];
/* The verbs after their command, too; NULL after the last. */
const struct command *command_nth(size_t n);
/* One of these by the last word of its name. */
const struct command *command_find(const struct command *const *among, const char *word);
/* What somebody may have meant by that; NULL: nothing is like it. */
const struct command *command_nearest(const struct command *const *among, const char *word);
/* "start" of "countdown start". */
const char *command_word(const struct command *command);

/* Runs it, or the verb that is the first argument. Answers with the exit code. */
int command_run(const struct command *command, int argc, char **argv);

/* Reads all the arguments. False: there is nothing to run, ret_code says how to exit. */
bool command_begin(const struct command *command, struct words *words, void *into, int *ret_code);
void command_help(const struct command *command, FILE *out);
/* The nth option of the command, its own and then the client's; NULL after the last. */
const struct option_row *command_option(const struct command *command, size_t n);

/* "tocsin add: PROBLEM; see tocsin add --help" on stderr (error.h); answers EXIT_USAGE. */
int command_usage(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "tocsin add: PROBLEM" on stderr; answers EXIT_REFUSED. */
int command_fail(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
