/* SPDX-License-Identifier: MIT */
#include "service/outcome.h"

#include <stdarg.h>
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

void reply_begin(struct reply *reply)
{
    buffer_clear(&reply->answer);
    reply->rev = 0;
    reply->outcome = OUTCOME_OK;
    reply->replayed = false;
    reply->why.text[0] = '\0';
}

enum tocsin_status reply_refuse(struct reply *reply, enum outcome outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reply->why.text, sizeof reply->why.text, format, args);
    va_end(args);
    reply->outcome = outcome;
    return TOCSIN_OK;
}

void reply_settle(struct reply *reply, enum tocsin_status status)
{
    if (status != TOCSIN_OK && status != TOCSIN_CONFLICT)
        (void)reply_refuse(reply, outcome_of_status(status), "%s", tocsin_status_text(status));
}

bool conditions_hold(const struct conditions *conditions, bool there, uint64_t rev,
                     struct reply *reply)
{
    reply->outcome = OUTCOME_OK;
    if (conditions->if_none_match && there)
        (void)reply_refuse(reply, OUTCOME_UNMATCHED, "If-None-Match: there is one already");
    else if (conditions->if_match && !there)
        (void)reply_refuse(reply, OUTCOME_UNMATCHED, "If-Match: there is no such record");
    else if (conditions->if_match && conditions->rev != CONDITIONS_ANY_REV &&
             conditions->rev != rev)
        (void)reply_refuse(reply, OUTCOME_UNMATCHED,
                           "If-Match: its rev is \"%llu\" now, not \"%llu\"",
                           (unsigned long long)rev, (unsigned long long)conditions->rev);
    return reply->outcome == OUTCOME_OK;
}
