/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <stdarg.h>
#include <string.h>

#include "base/word_distance.h"
#include "cli/client.h"
#include "cli/error.h"

enum { LEFT_COLS = 24 };

/* ---- names */

const char *command_word(const struct command *command)
{
    const char *blank = strrchr(command->name, ' ');
    return blank != NULL ? blank + 1 : command->name;
}

const struct command *command_nth(size_t n)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (n-- == 0)
            return commands[i];
        const struct command *const *verb = commands[i]->verbs;
        for (; verb != NULL && *verb != NULL; verb++) {
            if (n-- == 0)
                return *verb;
        }
    }
    return NULL;
}

const struct command *command_find(const struct command *const *among, const char *word)
{
    for (; *among != NULL; among++) {
        if (strcmp(word, command_word(*among)) == 0)
            return *among;
    }
    return NULL;
}

/* The distance, or a large number when it is too far away to be meant. */
static size_t unlikeness(const char *word, const char *known)
{
    struct bytes one = bytes_of(word);
    struct bytes other = bytes_of(known);
    if (one.size == 0 || one.size > WORD_DISTANCE_BYTES_MAX)
        return SIZE_MAX;
    size_t found = word_distance(one, other);
    return found < 2 + other.size / 4 && found < other.size ? found : SIZE_MAX;
}

const struct command *command_nearest(const struct command *const *among, const char *word)
{
    const struct command *nearest = NULL;
    size_t best = SIZE_MAX;
    for (; *among != NULL; among++) {
        size_t found = unlikeness(word, command_word(*among));
        if (found < best) {
            best = found;
            nearest = *among;
        }
    }
    return nearest;
}

const struct option_row *command_option(const struct command *command, size_t n)
{
    if (n < command->row_count)
        return &command->rows[n];
    n -= command->row_count;
    return command->client && n < client_row_count ? &client_rows[n] : NULL;
}

static const struct option_row *find_option(const struct command *command, const char *word,
                                            size_t length)
{
    const struct option_row *option;
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        if (strlen(option->name) == length && memcmp(option->name, word, length) == 0)
            return option;
    }
    return NULL;
}

/* ---- messages */

int command_usage(const struct command *command, const char *format, ...)
{
    char problem[600];
    char hint[60];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    (void)snprintf(hint, sizeof hint, "see tocsin %s --help", command->name);
    error_tell(&(struct cli_error){
        .command = command->name, .code = "USAGE", .detail = problem, .hint = hint});
    return EXIT_USAGE;
}

int command_fail(const struct command *command, const char *format, ...)
{
    char problem[1200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    error_tell(&(struct cli_error){.command = command->name, .code = "FAILED", .detail = problem});
    return EXIT_REFUSED;
}

static int unknown_option(const struct command *command, const char *word)
{
    const struct option_row *nearest = NULL;
    const struct option_row *option;
    char name[64];
    size_t best = SIZE_MAX;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        size_t found = unlikeness(name, option->name);
        if (found < best && option->name[1] == '-') {
            best = found;
            nearest = option;
        }
    }
    if (nearest == NULL)
        return command_usage(command, "unknown option '%.100s'", word);
    return command_usage(command, "unknown option '%.100s' (did you mean %s?)", word,
                         nearest->name);
}

/* ---- reading */

static int apply(const struct command *command, const struct option_row *option, const char *value,
                 void *into)
{
    if (option->argument == NULL && value != NULL)
        return command_usage(command, "%s takes no value, but '%.100s' was given", option->name,
                             value);
    if (option->argument != NULL && value == NULL)
        return command_usage(command, "%s needs a value: %s", option->name, option->allowed);
    if (!option->read(value, (char *)into + option->at))
        return command_usage(command, "%s '%.100s' is not allowed: it takes %s", option->name,
                             value, option->allowed);
    return EXIT_DONE;
}

static int check_words(const struct command *command, const struct words *words)
{
    if (words->count < command->words_min)
        return command_usage(command, "%s is missing", command->word_name);
    if (words->count > command->words_max)
        return command_usage(command, "unknown argument '%.100s'", words->at[command->words_max]);
    return EXIT_DONE;
}

/* Takes the options out of the words; -1: help is wanted. What stands after -- is no option. */
static int read_words(const struct command *command, struct words *words, void *into)
{
    int kept = 0;
    for (int i = 0; i < words->count; i++) {
        const char *word = words->at[i];
        if (strcmp(word, "--") == 0) {
            while (++i < words->count)
                words->at[kept++] = words->at[i];
            break;
        }
        if (word[0] != '-' || word[1] == '\0') {
            words->at[kept++] = words->at[i];
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return -1;
        const char *equals = strchr(word, '=');
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const struct option_row *option = find_option(command, word, length);
        if (option == NULL)
            return unknown_option(command, word);
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (option->argument != NULL && value == NULL && i + 1 < words->count)
            value = words->at[++i];
        int code = apply(command, option, value, into);
        if (code != EXIT_DONE)
            return code;
    }
    words->count = kept;
    return check_words(command, words);
}

bool command_begin(const struct command *command, struct words *words, void *into, int *ret_code)
{
    int code = read_words(command, words, into);
    if (code == EXIT_DONE)
        return true;
    if (code < 0)
        command_help(command, stdout);
    *ret_code = code < 0 ? EXIT_DONE : code;
    return false;
}

/* ---- running */

/* "start, show, ls" */
static void list_verbs(const struct command *command, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; command->verbs[i] != NULL && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i == 0 ? "" : ", ",
                                 command_word(command->verbs[i]));
}

static int refuse_verb(const struct command *command, const char *word)
{
    char verbs[200];
    const struct command *nearest = command_nearest(command->verbs, word);
    if (nearest != NULL)
        return command_usage(command, "unknown verb '%.100s' (did you mean %s?)", word,
                             command_word(nearest));
    list_verbs(command, verbs, sizeof verbs);
    if (word[0] == '\0' || word[0] == '-')
        return command_usage(command, "the verb is missing, one of %s", verbs);
    return command_usage(command, "'%.100s' is none of %s", word, verbs);
}

int command_run(const struct command *command, int argc, char **argv)
{
    if (command->verbs == NULL)
        return command->run(argc, argv);
    const char *word = argc > 0 ? argv[0] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        command_help(command, stdout);
        return EXIT_DONE;
    }
    const struct command *verb = command_find(command->verbs, word);
    if (verb != NULL)
        return verb->run(argc - 1, argv + 1);
    bool misspelt = word[0] != '-' && command_nearest(command->verbs, word) != NULL;
    return command->run != NULL && !misspelt ? command->run(argc, argv)
                                             : refuse_verb(command, word);
}

/* ---- help */

static void print_row(FILE *out, const char *name, const char *argument, const char *text)
{
    char left[64];
    (void)snprintf(left, sizeof left, "%s%s%s", name, argument != NULL ? " " : "",
                   argument != NULL ? argument : "");
    (void)fprintf(out, "  %-*s %s\n", LEFT_COLS, left, text);
}

void command_help(const struct command *command, FILE *out)
{
    const struct option_row *option;
    (void)fprintf(out, "usage: tocsin %s %s\n\n%s\n", command->name, command->usage,
                  command->about);
    for (size_t i = 0; command->verbs != NULL && command->verbs[i] != NULL; i++)
        print_row(out, command_word(command->verbs[i]), NULL, command->verbs[i]->text);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        if (n == command->row_count)
            (void)fputs(n > 0 ? "\nthe server:\n" : "the server:\n", out);
        print_row(out, option->name, option->argument, option->text);
    }
    print_row(out, "--help", NULL, "this text");
    if (command->after != NULL)
        (void)fprintf(out, "\n%s", command->after);
    if (command->client)
        (void)fputs("exit codes: 0 done, 1 refused, 2 usage, 3 cannot reach the server\n"
                    "With --json, an error is a line of JSON on stderr too.\n",
                    out);
}
