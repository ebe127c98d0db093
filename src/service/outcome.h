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

#include "base/buffer.h"

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

/* What a call is told. */
struct reply {
    struct buffer answer; /* JSON; initialised by the caller */
    uint64_t rev;         /* 0: none */
    enum outcome outcome;
    bool replayed; /* an answer given before, from an Idempotency-Key */
    struct tocsin_why why;
};
/* Nothing has been said yet. */
void reply_begin(struct reply *reply);
/* Always OK: the reply says that it is refused, and why. */
__attribute__((format(printf, 3, 4))) enum tocsin_status
reply_refuse(struct reply *reply, enum outcome outcome, const char *format, ...);
/* Its change has ended so; CONFLICT: it was refused before. */
void reply_settle(struct reply *reply, enum tocsin_status status);

/* If-Match and If-None-Match. */
struct conditions {
    bool if_match;
    bool if_none_match;
    uint64_t rev; /* if_match: this one, or CONDITIONS_ANY_REV */
};
#define CONDITIONS_ANY_REV UINT64_MAX
/* False: it is refused as UNMATCHED. */
bool conditions_hold(const struct conditions *conditions, bool there, uint64_t rev,
                     struct reply *reply);

#endif
