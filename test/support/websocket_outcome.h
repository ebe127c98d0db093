/* SPDX-License-Identifier: MIT */
/* websocket_outcome.h - what does the parser make of these bytes, wherever they are cut?
 *
 * A line for each thing that comes out; the pieces of a message are put together.
 */
#ifndef TEST_WEBSOCKET_OUTCOME_H
#define TEST_WEBSOCKET_OUTCOME_H

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "net/websocket_parse.h"

enum { WEBSOCKET_OUTCOME_LIMIT = 1000 };

static inline void websocket_outcome_number(struct buffer *out, const char *name, unsigned number)
{
    char digits[12];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buffer_append_text(out, name);
    buffer_append(out, digits + at, sizeof digits - at);
}

struct websocket_outcome {
    struct websocket_parser parser;
    struct buffer *out;
    struct buffer message;
    bool refused;
};

static inline void websocket_outcome_line(struct buffer *out, const char *at, size_t size)
{
    buffer_append_text(out, " '");
    buffer_append(out, at, size);
    buffer_append_text(out, "'\n");
}

static inline void websocket_outcome_event(struct websocket_outcome *outcome,
                                           enum websocket_end end,
                                           const struct websocket_event *event)
{
    struct buffer *out = outcome->out;
    if (end == WEBSOCKET_DATA) {
        buffer_append(&outcome->message, event->bytes.at, event->bytes.size);
        if (!event->last)
            return;
        websocket_outcome_number(out, "message ", event->opcode);
        websocket_outcome_line(out, outcome->message.data, outcome->message.size);
        buffer_clear(&outcome->message);
    } else if (end == WEBSOCKET_CONTROL) {
        size_t skipped = event->opcode == WEBSOCKET_CLOSE && event->bytes.size >= 2 ? 2 : 0;
        websocket_outcome_number(out, "control ", event->opcode);
        if (event->opcode == WEBSOCKET_CLOSE)
            websocket_outcome_number(out, " ", event->code);
        websocket_outcome_line(out, event->bytes.at + skipped, event->bytes.size - skipped);
    } else if (end == WEBSOCKET_REFUSED) {
        websocket_outcome_number(out, "refused ", event->code);
        buffer_append_text(out, event->problem[0] != '\0' ? "\n" : " without a word\n");
        outcome->refused = true;
    }
}

/* The first piece has `first` bytes (0: as the others), each other one `step`. */
static inline void websocket_outcome(const char *bytes, size_t size, size_t first, size_t step,
                                     struct buffer *out)
{
    struct websocket_outcome outcome = {.out = out};
    buffer_init(&outcome.message, WEBSOCKET_OUTCOME_LIMIT);
    websocket_parser_init(&outcome.parser, WEBSOCKET_OUTCOME_LIMIT);
    for (size_t at = 0; at < size && !outcome.refused;) {
        size_t piece = at == 0 && first > 0 ? first : step;
        if (piece > size - at)
            piece = size - at;
        /* On a heap block of its own size, so that a read past its end is seen. */
        char *own = malloc(piece);
        if (own == NULL)
            abort();
        memcpy(own, bytes + at, piece);
        for (size_t used = 0; used < piece && !outcome.refused;) {
            struct websocket_event event;
            enum websocket_end end =
                websocket_parse(&outcome.parser, own + used, piece - used, &event);
            used += event.used;
            websocket_outcome_event(&outcome, end, &event);
        }
        free(own);
        at += piece;
    }
    if (buffer_status(&outcome.message) != TOCSIN_OK)
        abort(); /* more than the limit came out */
    buffer_release(&outcome.message);
}

#endif
