/* SPDX-License-Identifier: MIT */
#include "service/outcome.h"

#include <stdio.h>

enum outcome outcome_of_status(enum tocsin_status status)
{
    switch (status) {
    case TOCSIN_OK:
        return OUTCOME_OK;
    case TOCSIN_NONE:
        return OUTCOME_MISSING;
    case TOCSIN_NO_SPACE:
        return OUTCOME_NO_SPACE;
    case TOCSIN_OVERLOADED:
    case TOCSIN_NO_MEMORY:
        return OUTCOME_OVERLOADED;
    case TOCSIN_FULL:
        return OUTCOME_TOO_MANY;
    case TOCSIN_DAMAGED:
    case TOCSIN_CORRUPT:
        return OUTCOME_BROKEN;
    default:
        return OUTCOME_UNAVAILABLE;
    }
}

bool outcome_stands(enum outcome outcome)
{
    return outcome == OUTCOME_MISSING || outcome == OUTCOME_CONFLICTING ||
           outcome == OUTCOME_LOST || outcome == OUTCOME_TO_CANCEL || outcome == OUTCOME_UNMATCHED;
}

enum outcome conditions_hold(const struct conditions *conditions, bool there, uint64_t rev,
                             struct tocsin_why *ret_why)
{
    const char *why = NULL;
    if (conditions->if_none_match && there)
        why = "If-None-Match: there is one already";
    else if (conditions->if_match && !there)
        why = "If-Match: there is no such record";
    if (why != NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", why);
        return OUTCOME_UNMATCHED;
    }
    if (!conditions->if_match || conditions->rev == CONDITIONS_ANY_REV || conditions->rev == rev)
        return OUTCOME_OK;
    (void)snprintf(ret_why->text, sizeof ret_why->text,
                   "If-Match: its rev is \"%llu\" now, not \"%llu\"", (unsigned long long)rev,
                   (unsigned long long)conditions->rev);
    return OUTCOME_UNMATCHED;
}
