/* SPDX-License-Identifier: MIT */
/* log_line.h - how does an event look as one line?
 *
 * A pure function behind log.h: the same event is always the same bytes.
 */
#ifndef TOCSIN_BASE_LOG_LINE_H
#define TOCSIN_BASE_LOG_LINE_H

#include "base/log.h"

struct log_head {
    int64_t wall_ms;
    const char *level;
    const char *message;
    uint64_t dropped;       /* told when it is not 0 */
    bool after_broken_line; /* a line break comes first */
};

/* Appends the line with its line break, LOG_LINE_BYTES_MAX bytes at most. The buffer is empty
 * and has room for twice as much. */
void log_line_make(struct buffer *out, enum log_format format, const struct log_head *head,
                   const struct log_field *fields);

#endif
