/* SPDX-License-Identifier: MIT */
/* stomp_outcome.h - what does the parser make of these bytes, wherever they are cut?
 *
 * A line for each frame: its command, its headers and its body; and for a refusal, why.
 */
#ifndef TEST_STOMP_OUTCOME_H
#define TEST_STOMP_OUTCOME_H

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "net/stomp_parse.h"

static const struct stomp_limits stomp_outcome_limits = {4, 200, 100};

static inline void stomp_outcome_frame(const struct stomp_frame *frame, struct buffer *out)
{
    buffer_append_text(out, stomp_command_name(frame->command));
    for (size_t i = 0; i < frame->header_count; i++) {
        buffer_append_text(out, " [");
        buffer_append(out, frame->headers[i].name.at, frame->headers[i].name.size);
        buffer_append_byte(out, '=');
        buffer_append(out, frame->headers[i].value.at, frame->headers[i].value.size);
        buffer_append_byte(out, ']');
    }
    buffer_append_text(out, " '");
    buffer_append(out, frame->body.at, frame->body.size);
    buffer_append_text(out, "'\n");
}

/* The first piece has `first` bytes (0: as the others), each other one `step`. */
static inline void stomp_outcome(const char *bytes, size_t size, size_t first, size_t step,
                                 struct buffer *out)
{
    struct stomp_parser parser;
    enum stomp_parse_end end = STOMP_PARSE_MORE;
    stomp_parser_init(&parser, &stomp_outcome_limits);
    for (size_t at = 0; at < size && end != STOMP_PARSE_REFUSED;) {
        size_t piece = at == 0 && first > 0 ? first : step;
        if (piece > size - at)
            piece = size - at;
        /* On a heap block of its own size, so that a read past its end is seen. */
        char *own = malloc(piece);
        if (own == NULL)
            abort();
        memcpy(own, bytes + at, piece);
        for (size_t used = 0; used < piece && end != STOMP_PARSE_REFUSED;) {
            size_t here;
            end = stomp_parse(&parser, own + used, piece - used, &here);
            used += here;
            if (end == STOMP_PARSE_FRAME)
                stomp_outcome_frame(stomp_parser_frame(&parser), out);
        }
        free(own);
        at += piece;
    }
    if (end == STOMP_PARSE_REFUSED) {
        buffer_append_text(out, "refused: ");
        buffer_append_text(out, parser.problem);
        buffer_append_byte(out, '\n');
    }
    stomp_parser_release(&parser);
}

#endif
