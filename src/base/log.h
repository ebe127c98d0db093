/* SPDX-License-Identifier: MIT */
/* log.h - what happened, for whoever looks later?
 *
 * One line per event that matters, logfmt or JSON, with fields that have types:
 *
 *     log_event(log, LOG_INFO, "task fired", LOG_TEXT("id", id), LOG_INT("attempt", 2),
 *               LOG_DURATION("late_ms", late_ns), LOG_END);
 *
 *     ts=2026-11-15T13:00:00.004Z level=info msg="task fired" id=a attempt=2 late_ms=3.120
 *
 * Promise   a line is one write of at most LOG_LINE_BYTES_MAX bytes, so that lines of several
 *           writers do not mix in a pipe. It never waits: a line that cannot be written now
 *           (a pipe nobody reads, a full disk) is dropped and counted, and the next one that
 *           gets through tells how many were ("dropped"). Whatever a value holds, it stays one
 *           line and one field: blanks, quotes, control characters and bad UTF-8 are quoted.
 * Storms    of one message, `per_second` lines are written in a second; the rest are counted
 *           and told by one line ("suppressed") with the next event after that second, or by
 *           log_flush.
 * Cuts      a text longer than LOG_TEXT_BYTES_MAX ends in an ellipsis; fields that no longer
 *           fit into the line are left out, and it ends with "cut=true".
 * Cost      an event below the level is one comparison: its fields are not computed.
 * Memory    all of it in struct log; none from the heap after init.
 * Threads   one at a time per log. Another thread has a log of its own, on the same
 *           descriptor. The process must ignore SIGPIPE.
 */
#ifndef TOCSIN_BASE_LOG_H
#define TOCSIN_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/clock.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_LOGFMT, LOG_JSON };

enum {
    LOG_LINE_BYTES_MAX = 4096, /* what a pipe takes whole */
    LOG_TEXT_BYTES_MAX = 512,
    LOG_MESSAGES_MAX = 64, /* limited one by one; any further ones together */
    LOG_PER_SECOND = 50,
};

enum log_type {
    LOG_TYPE_END,
    LOG_TYPE_TEXT,
    LOG_TYPE_INT,
    LOG_TYPE_UINT,
    LOG_TYPE_BOOL,
    LOG_TYPE_DURATION,
    LOG_TYPE_TIME,
};

/* Made by the macros below. Names are ours: letters, digits and underscores. */
struct log_field {
    const char *name;
    enum log_type type;
    union {
        struct bytes text;
        int64_t number;
        uint64_t count;
        bool truth;
    } value;
};

#define LOG_TEXT(name, bytes) ((struct log_field){(name), LOG_TYPE_TEXT, {.text = (bytes)}})
/* A text that ends with a zero. */
#define LOG_WORD(name, word) LOG_TEXT(name, bytes_of(word))
#define LOG_INT(name, integer) ((struct log_field){(name), LOG_TYPE_INT, {.number = (integer)}})
#define LOG_UINT(name, whole) ((struct log_field){(name), LOG_TYPE_UINT, {.count = (whole)}})
#define LOG_BOOL(name, yes) ((struct log_field){(name), LOG_TYPE_BOOL, {.truth = (yes)}})
/* Nanoseconds, written in milliseconds to the microsecond: let the name end in _ms. */
#define LOG_DURATION(name, ns) ((struct log_field){(name), LOG_TYPE_DURATION, {.number = (ns)}})
/* Milliseconds since 1970, written as RFC 3339 in UTC. */
#define LOG_TIME(name, ms) ((struct log_field){(name), LOG_TYPE_TIME, {.number = (ms)}})
#define LOG_END ((struct log_field){NULL, LOG_TYPE_END, {.count = 0}})

struct log_options {
    enum log_level level; /* this and the more urgent ones are written */
    enum log_format format;
    const struct clock *clock; /* NULL: clock_system */
    unsigned per_second;       /* lines of one message; 0: LOG_PER_SECOND */
    int fd;                    /* 0: standard error */
    /* Instead of fd. Anything but OK: the line is lost. */
    enum tocsin_status (*write)(void *arg, struct bytes line);
    void *arg;
};

/* How often one message came in this second. */
struct log_rate {
    const char *message; /* NULL: free */
    enum log_level level;
    struct elapsed_time since;
    uint64_t written;
    uint64_t suppressed;
};

struct log {
    struct log_options options;
    bool is_socket;
    bool broken_line;    /* a line was written in part: a line break comes first */
    uint64_t written;    /* lines, since init */
    uint64_t dropped;    /* lines that could not be written, since init */
    uint64_t untold;     /* of these, not told by a line yet */
    uint64_t suppressed; /* by the limit per message, since init */
    struct log_rate rates[LOG_MESSAGES_MAX + 1]; /* the last one: all others together */
    struct buffer line;
};

/* NO_MEMORY: the one buffer could not be had. */
enum tocsin_status log_init(struct log *log, const struct log_options *options);
void log_release(struct log *log); /* flushes first */

/* Tells what was suppressed in the seconds that are over. Call it now and then, such as once a
 * second: after a storm nobody else would. */
void log_flush(struct log *log);

static inline bool log_wants(const struct log *log, enum log_level level)
{
    return level <= log->options.level;
}

/* The message is a literal: its address is what the limit goes by. The last field is LOG_END. */
#define log_event(log, level, message, ...)                                                        \
    (log_wants((log), (level))                                                                     \
         ? log_write((log), (level), (message), (const struct log_field[]){__VA_ARGS__})           \
         : (void)0)
void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields);

/* "info"; "logfmt". */
const char *log_level_name(enum log_level level);

#endif
