/* SPDX-License-Identifier: MIT */
/* The binary: finds the subcommand and hands over. */

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "cli/command.h"
#include "cli/error.h"
#include "cli/version.h"

static void print_help(FILE *out)
{
    (void)fputs("tocsin - timers that come when they are due, and never before\n"
                "\n"
                "usage: tocsin COMMAND [OPTION...]\n"
                "       tocsin help COMMAND [VERB]\n"
                "       tocsin --help | --version\n"
                "\n"
                "commands:\n",
                out);
    for (size_t i = 0; commands[i] != NULL; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->text);
    (void)fputs("\n"
                "example: tocsin add --delay 5m --payload '{\"to\":\"ada\"}'\n"
                "exit codes: 0 done, 1 refused or failed, 2 usage, 3 cannot reach the server\n"
                "With --json, errors are lines of JSON on stderr.\n",
                out);
}

static void list_commands(char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "the commands are:");
    for (size_t i = 0; commands[i] != NULL && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s %s", i == 0 ? "" : ",",
                                 commands[i]->name);
    if (used < room)
        (void)snprintf(text + used, room - used, " (see tocsin --help)");
}

static int refuse(const char *what, const char *word)
{
    char detail[160];
    char hint[400];
    const struct command *nearest = command_nearest(commands, word);
    (void)snprintf(detail, sizeof detail, "%s '%.100s'", what, word);
    if (nearest != NULL)
        (void)snprintf(hint, sizeof hint, "did you mean %s? (see tocsin --help)", nearest->name);
    else
        list_commands(hint, sizeof hint);
    error_tell(&(struct cli_error){.code = "USAGE", .detail = detail, .hint = hint});
    return EXIT_USAGE;
}

static int unexpected(const char *word)
{
    char detail[160];
    (void)snprintf(detail, sizeof detail, "unexpected '%.100s'", word);
    error_tell(&(struct cli_error){.code = "USAGE", .detail = detail, .hint = "see tocsin --help"});
    return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    const struct command *command = command_find(commands, argv[0]);
    if (command == NULL)
        return refuse("no help on", argv[0]);
    if (argc > 1 && command->verbs != NULL) {
        command = command_find(command->verbs, argv[1]);
        argc--;
        argv++;
    }
    if (command == NULL || argc > 1)
        return unexpected(argv[command != NULL]);
    command_help(command, stdout);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    if (argc == 0) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[0];
    bool version = strcmp(word, "--version") == 0;
    bool top_help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if ((version || top_help) && argc > 1)
        return unexpected(argv[1]);
    if (version) {
        (void)puts("tocsin " TOCSIN_VERSION);
        return EXIT_DONE;
    }
    if (top_help)
        return help(0, NULL);
    if (strcmp(word, "help") == 0)
        return help(argc - 1, argv + 1);
    if (word[0] == '-')
        return refuse("unknown option", word);
    const struct command *command = command_find(commands, word);
    if (command == NULL)
        return refuse("unknown command", word);
    return command_run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    error_choose(argc, argv);
    int code = dispatch(argc > 0 ? argc - 1 : 0, argv + 1);

    /* What could not be written was not said: a full disk is no success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        char detail[160];
        (void)snprintf(detail, sizeof detail, "cannot write the output: %s", strerror(errno));
        error_tell(&(struct cli_error){.code = "FAILED", .detail = detail});
        return code == EXIT_DONE ? EXIT_REFUSED : code;
    }
    return code;
}
