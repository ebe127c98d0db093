/* SPDX-License-Identifier: MIT */
/* args.h - what does the command line ask for?
 *
 * while (args_next(&args)), each option the program knows is tried, and what is none of them is
 * refused. --help is answered here. A refusal says why, prints the usage, and exits with 2.
 */
#ifndef TOCSIN_BENCH_ARGS_H
#define TOCSIN_BENCH_ARGS_H

#include <stdbool.h>

struct args {
    const char *program, *usage;
    int argc;
    char **argv;
    int at;
    const char *name;  /* of the option that is looked at */
    const char *value; /* of the last one that had one */
};

bool args_next(struct args *args);
/* Whether it is the option of this name; all but the first want a value behind it, and take it. */
bool args_flag(const struct args *args, const char *name);
bool args_value(struct args *args, const char *name);
bool args_text(struct args *args, const char *name, const char **ret_text);
bool args_unsigned(struct args *args, const char *name, unsigned *ret_number);

_Noreturn void args_refuse(const struct args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void args_unknown(const struct args *args);

#endif
