/* SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <string.h>

static enum options_end refuse(const char *command, const char *problem)
{
    (void)fprintf(stderr, "tocsin %s: %s (see tocsin %s --help)\n", command, problem, command);
    return OPTIONS_REFUSED;
}

static const struct option_row *find(const struct option_row *rows, size_t count, const char *word,
                                     size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, word, length) == 0)
            return &rows[i];
    }
    return NULL;
}

static enum options_end apply(const char *command, const struct option_row *row, const char *value,
                              void *into)
{
    char problem[400];
    if (row->argument == NULL && value != NULL) {
        (void)snprintf(problem, sizeof problem, "%s takes no value, but '%.100s' was given",
                       row->name, value);
        return refuse(command, problem);
    }
    if (row->argument != NULL && value == NULL) {
        (void)snprintf(problem, sizeof problem, "%s needs a value: %s", row->name, row->allowed);
        return refuse(command, problem);
    }
    if (!row->read(value, into)) {
        (void)snprintf(problem, sizeof problem, "%s '%.100s' is not allowed: it takes %s",
                       row->name, value, row->allowed);
        return refuse(command, problem);
    }
    return OPTIONS_READ;
}

enum options_end options_read(const char *command, const struct option_row *rows, size_t count,
                              int argc, char **argv, void *into)
{
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return OPTIONS_HELP;
        const char *equals = strchr(word, '=');
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const struct option_row *row
        = find(rows, count, word, length);
        if (row == NULL) {
            char problem[200];
            (void)snprintf(problem, sizeof problem, "unknown %s '%.100s'",
                           word[0] == '-' ? "option" : "argument", word);
            return refuse(command, problem);
        }
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (row->argument != NULL && value == NULL && i + 1 < argc)
            value = argv[++i];
        enum options_end end = apply(command, row, value, into);
        if (end != OPTIONS_READ)
            return end;
    }
    return OPTIONS_READ;
}

void options_print(FILE *out, const struct option_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char left[40];
        (void)snprintf(left, sizeof left, "%s %s", rows[i].name,
                       rows[i].argument != NULL ? rows[i].argument : "");
        (void)fprintf(out, "  %-18s %s\n", left, rows[i].text);
    }
    (void)fprintf(out, "  %-18s %s\n", "--help", "this text");
}

bool options_whole(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (const char *c = text; *c != '\0'; c++) {
        uint64_t digit = (uint64_t)(unsigned char)*c - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

bool options_thousandths(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    char whole[24];
    uint64_t units = 0;
    uint64_t value = 0;
    size_t length = strcspn(text, ".");
    if (length >= sizeof whole)
        return false;
    memcpy(whole, text, length);
    whole[length] = '\0';
    if (!options_whole(whole, 0, max / 1000, &units))
        return false;
    value = units * 1000;
    if (text[length] == '.') {
        char rest[4] = "000";
        uint64_t fraction = 0;
        size_t digits = strlen(text + length + 1);
        if (digits < 1 || digits > 3)
            return false;
        memcpy(rest, text + length + 1, digits);
        if (!options_whole(rest, 0, 999, &fraction))
            return false;
        value += fraction;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}
