/* SPDX-License-Identifier: MIT */
#include "schedule/reason.h"

#include <stdarg.h>
#include <stdio.h>

enum { QUOTED_MAX = 60 };

__attribute__((format(printf, 2, 0))) static void write_reason(struct tocsin_why *why,
                                                               const char *format, va_list words)
{
    if (why == NULL)
        return;
    (void)vsnprintf(why->text, sizeof why->text, format, words);
    for (char *c = why->text; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
}

enum tocsin_status reason_refuse(struct tocsin_why *ret_why, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    write_reason(ret_why, format, words);
    va_end(words);
    return TOCSIN_INVALID;
}

enum tocsin_status reason_say(struct tocsin_why *ret_why, enum tocsin_status status,
                              const char *format, ...)
{
    va_list words;
    va_start(words, format);
    write_reason(ret_why, format, words);
    va_end(words);
    return status;
}

int reason_quoted(size_t length)
{
    return length < QUOTED_MAX ? (int)length : QUOTED_MAX;
}
