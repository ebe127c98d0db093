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

static void print_words(const struct command *const *list)
{
    for (; *list != NULL; list++)
        (void)printf("%s ", command_word(*list));
}

/* ---- bash, and zsh by way of it */

static void print_bash_command(const struct command *command)
{
    const struct option_row *option;
    bool verb = command_word(command) != command->name;
    (void)printf("    '%s%s)\n        options='--help", command->name, verb ? "'" : " '*");
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

static void print_bash_verbs(const struct command *command)
{
    (void)printf("    '2 %s '*|'3 help %s')\n        COMPREPLY=($(compgen -W '", command->name,
                 command->name);
    print_words(command->verbs);
    (void)fputs("--help' -- \"$word\"))\n        return ;;\n", stdout);
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
    print_words(commands);
    (void)fputs("--help --version' -- \"$word\"))\n"
                "        return\n"
                "    fi\n"
                "    case \"$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
                stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (commands[i]->verbs != NULL)
            print_bash_verbs(commands[i]);
    }
    (void)fputs("    esac\n"
                "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
                stdout);
    const struct command *command;
    for (size_t n = 0; (command = command_nth(n)) != NULL; n++) {
        if (command->verbs == NULL)
            print_bash_command(command);
    }
    for (size_t i = 0; commands[i] != NULL; i++) { /* behind its verbs: it takes any word */
        if (commands[i]->verbs != NULL && commands[i]->run != NULL)
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
    (void)printf("complete -c tocsin -n '__tocsin_after %s' -%c %s%s -d ", command->name,
                 word ? 'l' : 's', option->name + 1 + word,
                 option->argument == NULL ? ""
                 : is_path(option)        ? " -r -F"
                                          : " -x");
    print_quoted(option->text);
    (void)putchar('\n');
}

static void print_fish(void)
{
    const struct command *command;
    const struct option_row *option;
    (void)fputs("# Completion of tocsin for fish; made by tocsin completion fish.\n"
                "function __tocsin_after\n"
                "    set -l words (commandline -opc)\n"
                "    set -e words[1]\n"
                "    string match -q -- \"$argv *\" \"$words \"\n"
                "end\n"
                "function __tocsin_just_after\n"
                "    set -l words (commandline -opc)\n"
                "    set -e words[1]\n"
                "    test \"$argv\" = \"$words\"\n"
                "end\n",
                stdout);
    for (size_t n = 0; (command = command_nth(n)) != NULL; n++) {
        const char *word = command_word(command);
        (void)printf("complete -c tocsin -n '__tocsin_just_after %.*s' -f -a %s -d ",
                     (int)(word - command->name), command->name, word);
        print_quoted(command->text);
        (void)putchar('\n');
        for (size_t m = 0; (option = command_option(command, m)) != NULL; m++)
            print_fish_option(command, option);
    }
}

/* ---- for the test of the man page: every command and option, one a line */

static void print_list(void)
{
    const struct command *command;
    const struct option_row *option;
    for (size_t n = 0; (command = command_nth(n)) != NULL; n++) {
        (void)printf("%s\n", command->name);
        for (size_t m = 0; (option = command_option(command, m)) != NULL; m++)
            (void)printf("%s %s\n", command->name, option->name);
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
