/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool args_next(struct args *args)
{
    if (args->at + 1 >= args->argc)
        return false;
    args->name = args->argv[++args->at];
    if (args_flag(args, "--help")) {
        fputs(args->usage, stdout);
        exit(0);
    }
    return true;
}

bool args_flag(const struct args *args, const char *name)
{
    return strcmp(args->name, name) == 0;
}

bool args_value(struct args *args, const char *name)
{
    if (!args_flag(args, name) || args->at + 1 == args->argc)
        return false;
    args->value = args->argv[++args->at];
    return true;
}

bool args_text(struct args *args, const char *name, const char **ret_text)
{
    bool is = args_value(args, name);
    if (is)
        *ret_text = args->value;
    return is;
}

bool args_unsigned(struct args *args, const char *name, unsigned *ret_number)
{
    bool is = args_value(args, name);
    if (is)
        *ret_number = (unsigned)strtoul(args->value, NULL, 10);
    return is;
}

void args_refuse(const struct args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", args->program);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n%s", args->usage);
    va_end(list);
    exit(2);
}

void args_unknown(const struct args *args)
{
    args_refuse(args, args->at + 1 == args->argc ? "unknown option, or its value is missing"
                                                 : "unknown option");
}
