/* SPDX-License-Identifier: MIT */
/* call.h - one HTTP request, its answer, and several of them at once.
 *
 * A call is made once and used for many requests; its connection is kept. It is run alone
 * (call_run waits), or among others in a struct calls, which tells each one's end.
 *
 * Promise   every run of a call ends within its time: ANSWERED, with a status and a body;
 *           UNREACHED, nobody was there to ask; LOST, the connection broke or the time was up
 *           after the request may have gone out, so that it may have been done.
 * Memory    the answer is bounded and borrowed until the call is run again.
 * Threads   one at a time.
 */
#ifndef TOCSIN_CLI_CALL_H
#define TOCSIN_CLI_CALL_H

#include <poll.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum { CALL_ANSWER_BYTES_MAX = 96 * 1024 * 1024 };

/* Where requests go. All borrowed by the calls. */
struct call_target {
    const char *url;     /* without a slash at its end */
    const char *token;   /* NULL: none */
    const char *ca_file; /* NULL: the system's */
};

struct call_request {
    const char *method;     /* "GET" */
    const char *path;       /* "/v1/tasks?limit=3" */
    struct bytes body;      /* at is NULL: none. Copied. */
    const char *type;       /* NULL: application/json */
    const char *headers[4]; /* whole lines, such as "If-Match: \"3\"" */
    uint64_t timeout_ms;    /* 0: none */
    /* A stream: the pieces as they come, instead of the answer's body, when it is a 2xx. False
     * ends it. */
    bool (*piece)(void *arg, struct bytes piece);
    void *piece_arg;
};

enum call_end { CALL_ANSWERED, CALL_UNREACHED, CALL_LOST };

struct call;
struct calls;

/* NULL: no memory. */
struct call *call_create(const struct call_target *target);
void call_destroy(struct call *call); /* NULL is fine; not while it is under way */

/* Waits for the end. */
enum call_end call_run(struct call *call, const struct call_request *request);

/* After ANSWERED. */
int call_status(const struct call *call);
struct bytes call_body(const struct call *call);
/* After the others: a sentence. */
const char *call_why(const struct call *call);

/* ---- several at once */

struct calls *calls_create(void);
void calls_destroy(struct calls *calls);
/* done is called from calls_wait, and may start the call again. */
void calls_start(struct calls *calls, struct call *call, const struct call_request *request,
                 void (*done)(void *arg, struct call *call, enum call_end end), void *arg);
bool call_under_way(const struct call *call);
/* It ends now, without done. */
void calls_cancel(struct calls *calls, struct call *call);
/* Moves all of them on, and returns when something happened to one, or to an fd (which are
 * given as to poll, without an answer), or after so long. */
void calls_wait(struct calls *calls, const struct pollfd *fds, size_t count, uint64_t timeout_ms);

#endif
