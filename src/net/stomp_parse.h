/* SPDX-License-Identifier: MIT */
/* stomp_parse.h - which frame does a STOMP client send, and what is wrong with it?
 *
 * A strict reader of STOMP 1.2 frames out of a stream of bytes: a WebSocket message may hold a
 * part of a frame, one, or several.
 *
 *     while (at < size) {
 *         end = stomp_parse(&parser, bytes + at, size - at, &used);
 *         at += used;
 *         if (end == STOMP_PARSE_FRAME)
 *             ... stomp_parser_frame(&parser)
 *     }
 *
 * Promise   what comes out does not depend on where the bytes were cut.
 * Refused   a command that no client may send; a header without a colon or a name, with a NUL, a
 *           CR inside, an escape other than \r \n \c \\, or not UTF-8; a content-length that is
 *           no number, or is not followed by a NUL; a body where none may be; what is over the
 *           limits.
 * Accepted  CR LF as a line's end; empty lines between frames, which are heart-beats; a colon in
 *           a header's value. In CONNECT and STOMP nothing is unescaped, as 1.2 wants it. Of two
 *           headers of one name the first counts.
 * Memory    none between frames; one frame, up to the limits, while it comes.
 */
#ifndef TOCSIN_NET_STOMP_PARSE_H
#define TOCSIN_NET_STOMP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum stomp_command {
    STOMP_CONNECT, /* or STOMP, which is the same */
    STOMP_SEND,
    STOMP_SUBSCRIBE,
    STOMP_UNSUBSCRIBE,
    STOMP_ACK,
    STOMP_NACK,
    STOMP_BEGIN,
    STOMP_COMMIT,
    STOMP_ABORT,
    STOMP_DISCONNECT,
    STOMP_COMMANDS,
};

struct stomp_limits {
    uint32_t headers;
    uint32_t head_bytes; /* command and headers */
    uint32_t body_bytes;
};

enum stomp_parse_end { STOMP_PARSE_MORE, STOMP_PARSE_FRAME, STOMP_PARSE_REFUSED };

struct stomp_header {
    struct bytes name;
    struct bytes value;
};

struct stomp_frame {
    enum stomp_command command;
    const struct stomp_header *headers;
    size_t header_count;
    struct bytes body;
};

/* The first of this name; at NULL: there is none. */
struct bytes stomp_frame_header(const struct stomp_frame *frame, const char *name);
const char *stomp_command_name(enum stomp_command command);

struct stomp_span {
    uint32_t name_at;
    uint32_t name_size;
    uint32_t value_at;
    uint32_t value_size;
};

struct stomp_parser {
    struct stomp_limits limits;
    struct buffer text;       /* the frame so far */
    struct stomp_span *spans; /* room for limits.headers, while a frame comes */
    struct stomp_header *headers;
    uint32_t line_at;
    uint32_t body_at;
    uint32_t header_count;
    uint64_t length; /* content-length */
    uint8_t state;
    uint8_t command;
    bool has_length;
    bool has_carriage_return; /* between frames: an LF must follow */
    const char *problem;      /* after REFUSED */
    struct stomp_frame frame;
};

void stomp_parser_init(struct stomp_parser *parser, const struct stomp_limits *limits);
void stomp_parser_release(struct stomp_parser *parser);
/* Not while a frame comes. */
void stomp_parser_set_limits(struct stomp_parser *parser, const struct stomp_limits *limits);

/* After REFUSED nothing more can be parsed. */
enum stomp_parse_end stomp_parse(struct stomp_parser *parser, const char *bytes, size_t size,
                                 size_t *ret_used);

/* After REFUSED: the receipt that the frame asked for before it went wrong; at NULL: none. */
struct bytes stomp_parser_receipt(const struct stomp_parser *parser);

/* After FRAME; until the next call. */
static inline const struct stomp_frame *stomp_parser_frame(const struct stomp_parser *parser)
{
    return &parser->frame;
}
/* It is done with, and its memory given back. */
void stomp_parser_let_go(struct stomp_parser *parser);

#endif
