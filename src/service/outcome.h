/* SPDX-License-Identifier: MIT */
/* outcome.h - what did a call come to?
 *
 * The same words for every service; the server turns them into a status and a code. Their
 * numbers are kept on disk (idem.h): new ones go to the end of a group that has room, never
 * in between.
 */
#ifndef TOCSIN_SERVICE_OUTCOME_H
#define TOCSIN_SERVICE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

enum outcome {
    OUTCOME_OK,          /* 200 */
    OUTCOME_MADE,        /* 201 */
    OUTCOME_REQUESTED,   /* 202 */
    OUTCOME_INVALID,     /* 400: the first that is a refusal */
    OUTCOME_MISSING,     /* 404 */
    OUTCOME_CONFLICTING, /* 409 */
    OUTCOME_LOST,        /* 409 FENCED */
    OUTCOME_TO_CANCEL,   /* 409 CANCEL_REQUESTED */
    OUTCOME_UNMATCHED,   /* 412: If-Match, If-None-Match */
    OUTCOME_TOO_MANY,    /* 429 */
    OUTCOME_OVERLOADED,  /* 503 */
    OUTCOME_UNAVAILABLE, /* 503 */
    OUTCOME_NO_SPACE,    /* 507 */
    OUTCOME_BROKEN,      /* 500: a damaged record */
};

/* Of a change or a read that the engine could not do. */
enum outcome outcome_of_status(enum tocsin_status status);
/* A refusal by what was found, which could be another next time. */
bool outcome_stands(enum outcome outcome);

/* If-Match and If-None-Match. */
struct conditions {
    bool if_match;
    bool if_none_match;
    uint64_t rev; /* if_match: this one, or CONDITIONS_ANY_REV */
};
#define CONDITIONS_ANY_REV UINT64_MAX
/* OK or UNMATCHED. */
enum outcome conditions_hold(const struct conditions *conditions, bool there, uint64_t rev,
                             struct tocsin_why *ret_why);

#endif
