/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log_line.h"

#define SECOND_NS INT64_C(1000000000)

/* Lines of at most this many bytes; one more is kept for a line break before it. */
enum { LINE_ROOM_BYTES = 2 * LOG_LINE_BYTES_MAX };

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    assert(level <= LOG_DEBUG);
    return names[level];
}

enum tocsin_status log_init(struct log *log, const struct log_options *options)
{
    *log = (struct log){.options = *options};
    if (log->options.clock == NULL)
        log->options.clock = &clock_system;
    if (log->options.per_second == 0)
        log->options.per_second = LOG_PER_SECOND;
    if (log->options.fd == 0)
        log->options.fd = STDERR_FILENO;
    struct stat about;
    log->is_socket =
        options->write == NULL && fstat(log->options.fd, &about) == 0 && S_ISSOCK(about.st_mode);
    buffer_init(&log->line, LINE_ROOM_BYTES);
    if (buffer_reserve(&log->line, LINE_ROOM_BYTES) == NULL)
        return TOCSIN_NO_MEMORY;
    return TOCSIN_OK;
}

/* A descriptor may be shared with others, so it is not made non-blocking. A socket can be
 * asked not to wait; a pipe that polls writable takes LOG_LINE_BYTES_MAX whole. */
static ssize_t write_once(const struct log *log, struct bytes line)
{
    ssize_t wrote;
    do {
        if (log->is_socket) {
            wrote = send(log->options.fd, line.at, line.size, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else {
            struct pollfd ready = {.fd = log->options.fd, .events = POLLOUT};
            if (poll(&ready, 1, 0) == 0)
                return -1;
            wrote = write(log->options.fd, line.at, line.size);
        }
    } while (wrote < 0 && errno == EINTR);
    return wrote;
}

static bool put_out(struct log *log, struct bytes line)
{
    if (log->options.write != NULL)
        return log->options.write(log->options.arg, line) == TOCSIN_OK;
    ssize_t wrote = write_once(log, line);
    if (wrote > 0)
        log->broken_line = (size_t)wrote < line.size;
    return wrote > 0 && (size_t)wrote == line.size;
}

static void write_line(struct log *log, enum log_level level, const char *message,
                       const struct log_field *fields)
{
    struct log_head head = {
        .wall_ms = clock_wall(log->options.clock).ns / 1000000,
        .level = log_level_name(level),
        .message = message,
        .dropped = log->untold,
        .after_broken_line = log->broken_line,
    };
    buffer_clear(&log->line);
    log_line_make(&log->line, log->options.format, &head, fields);
    if (put_out(log, (struct bytes){log->line.data, log->line.size})) {
        log->untold = 0;
        log->written++;
    } else {
        log->untold++;
        log->dropped++;
    }
}

static void tell_suppressed(struct log *log, struct log_rate *rate)
{
    const struct log_field fields[] = {LOG_UINT("suppressed", rate->suppressed), LOG_END};
    rate->suppressed = 0;
    write_line(log, rate->level, rate->message, fields);
}

/* True when its second is over; what was suppressed in it has then been told. */
static bool rate_over(struct log *log, struct log_rate *rate, struct elapsed_time now)
{
    if (now.ns - rate->since.ns < SECOND_NS)
        return false;
    if (rate->suppressed > 0)
        tell_suppressed(log, rate);
    return true;
}

void log_flush(struct log *log)
{
    struct elapsed_time now = clock_elapsed(log->options.clock);
    for (size_t i = 0; i <= LOG_MESSAGES_MAX; i++) {
        if (log->rates[i].message != NULL && rate_over(log, &log->rates[i], now))
            log->rates[i].message = NULL;
    }
}

void log_release(struct log *log)
{
    for (size_t i = 0; i <= LOG_MESSAGES_MAX; i++) {
        if (log->rates[i].suppressed > 0)
            tell_suppressed(log, &log->rates[i]);
    }
    buffer_release(&log->line);
}

/* The one of this message; else a free one; else the one that all others share. A message's
 * own may stand behind a free one, so all are looked at: there are few, and a line costs a
 * system call anyway. */
static struct log_rate *find_rate(struct log *log, const char *message)
{
    struct log_rate *found = &log->rates[LOG_MESSAGES_MAX];
    for (size_t i = LOG_MESSAGES_MAX; i-- > 0;) {
        if (log->rates[i].message == message)
            return &log->rates[i];
        if (log->rates[i].message == NULL)
            found = &log->rates[i];
    }
    return found;
}

static bool may_write(struct log *log, enum log_level level, const char *message)
{
    struct elapsed_time now = clock_elapsed(log->options.clock);
    struct log_rate *rate = find_rate(log, message);
    if (rate == &log->rates[LOG_MESSAGES_MAX]) {
        log_flush(log); /* frees those that are not in use now */
        rate = find_rate(log, message);
    }
    if (rate->message == NULL || rate_over(log, rate, now))
        *rate = (struct log_rate){.since = now};
    rate->message = rate == &log->rates[LOG_MESSAGES_MAX] ? "other messages" : message;
    if (rate->written == 0 || level < rate->level)
        rate->level = level;
    if (rate->written < log->options.per_second) {
        rate->written++;
        return true;
    }
    rate->suppressed++;
    log->suppressed++;
    return false;
}

void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields)
{
    if (log_wants(log, level) && may_write(log, level, message))
        write_line(log, level, message, fields);
}
