/* SPDX-License-Identifier: MIT */
/* tocsin completion SHELL: what a shell needs to complete our words, from the same tables that
 * the words are read by. */

#include <string.h>

#include "cli/command_list.h"

static bool is_path(const struct option_row *option)
{
    return option->argument != NULL &&
           (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "DIR") == 0);
}

static void print_names(const char *separator)
{
    const char *before = "";
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf("%s%s", before, commands[i]->name);
        before = separator;
    }
}

/* ---- bash, and zsh by way of it */

static void print_bash_command(const struct command *command)
{
    const struct option_row *option;
    (void)printf("    %s)\n        options='--help", command->name);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++)
        (void)printf(" %s", option->name);
    (void)fputs("'\n        files=' ", stdout);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        if (is_path(option))
            (void)printf("%s ", option->name);
    }
    (void)fputs("'\n        values=' ", stdout);
    for (size_t n = 0; (option = command_option(command, n)) != NULL; n++) {
        if (option->argument != NULL)
            (void)printf("%s ", option->name);
    }
    (void)fputs("'\n        ;;\n", stdout);
}

static void print_bash(void)
{
    (void)fputs("# Completion of tocsin for bash; made by tocsin completion bash.\n"
                "_tocsin() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local options= files= values=\n"
                "    COMPREPLY=()\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ] ||\n"
                "        { [ \"$COMP_CWORD\" -eq 2 ] && [ \"$last\" = help ]; }; then\n"
                "        COMPREPLY=($(compgen -W 'help ",
                stdout);
    print_names(" ");
    (void)fputs(" --help --version' -- \"$word\"))\n"
                "        return\n"
                "    fi\n"
                "    case ${COMP_WORDS[1]} in\n",
                stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        print_bash_command(commands[i]);
    }
    (void)fputs("    *) return ;;\n"
                "    esac\n"
                "    case $files in *\" $last \"*)\n"
                "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                "        return ;;\n"
                "    esac\n"
                "    case $values in *\" $last \"*) return ;; esac\n"
                "    case $word in\n"
                "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                "    esac\n"
                "}\n"
                "complete -o filenames -F _tocsin tocsin\n",
                stdout);
}

static void print_zsh(void)
{
    (void)fputs("#compdef tocsin\n"
                "autoload -U +X bashcompinit && bashcompinit\n",
                stdout);
    print_bash();
}

/* ---- fish */

/* Between single quotes. */
static void print_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            (void)putchar('\\');
        (void)putchar(*text);
    }
    (void)putchar('\'');
}

static void print_fish_option(const struct command *command, const struct option_row *option)
{
    bool word = option->name[1] == '-';
    (void)printf("complete -c tocsin -n '__fish_seen_subcommand_from %s' -%c %s%s -d ",
                 command->name, word ? 'l' : 's', option->name + 1 + word,
                 option->argument == NULL ? ""
                 : is_path(option)        ? " -r -F"
                                          : " -x");
    print_quoted(option->text);
    (void)putchar('\n');
}

static void print_fish(void)
{
    (void)fputs("# Completion of tocsin for fish; made by tocsin completion fish.\n", stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct option_row *option;
        (void)printf("complete -c tocsin -n __fish_use_subcommand -f -a %s -d ", commands[i]->name);
        print_quoted(commands[i]->text);
        (void)putchar('\n');
        for (size_t n = 0; (option = command_option(commands[i], n)) != NULL; n++)
            print_fish_option(commands[i], option);
    }
}

/* ---- for the test of the man page: every command and option, one a line */

static void print_list(void)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct option_row *option;
        (void)printf("%s\n", commands[i]->name);
        for (size_t n = 0; (option = command_option(commands[i], n)) != NULL; n++)
            (void)printf("%s %s\n", commands[i]->name, option->name);
    }
}

static int completion_run(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {
        {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}, {"list", print_list}};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&completion_command, &words, NULL, &code))
        return code;
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(words.at[0], shells[i].name) == 0) {
            shells[i].print();
            return EXIT_DONE;
        }
    }
    return command_usage(&completion_command, "'%.100s' is none of bash, zsh and fish",
                         words.at[0]);
}

const struct command completion_command = {
    .name = "completion",
    .text = "make a shell complete these words: bash, zsh or fish",
    .usage = "bash | zsh | fish",
    .about = "Prints the script that makes a shell complete the commands and options of tocsin.\n"
             "The installation has them already; list prints all commands and options.\n",
    .after = "example: tocsin completion bash >~/.local/share/bash-completion/completions/tocsin\n"
             "exit codes: 0 done, 2 usage\n",
    .word_name = "the shell",
    .words_min = 1,
    .words_max = 1,
    .run = completion_run,
};
