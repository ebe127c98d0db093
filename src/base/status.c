/* SPDX-License-Identifier: MIT */
#include <tocsin/status.h>

static const struct {
    const char *name;
    const char *text;
    bool retryable;
} table[] = {
#define ROW(name, retryable, text) [TOCSIN_##name] = {#name, text, retryable},
    TOCSIN_STATUS_TABLE(ROW)
#undef ROW
};

static bool known(enum tocsin_status status)
{
    return (unsigned)status < sizeof table / sizeof table[0];
}

const char *tocsin_status_name(enum tocsin_status status)
{
    return known(status) ? table[status].name : "UNKNOWN";
}

const char *tocsin_status_text(enum tocsin_status status)
{
    return known(status) ? table[status].text : "no such status";
}

bool tocsin_status_retryable(enum tocsin_status status)
{
    return known(status) && table[status].retryable;
}
