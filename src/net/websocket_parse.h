/* SPDX-License-Identifier: MIT */
/* websocket_parse.h - what do these bytes of a WebSocket client say?
 *
 * A strict reader of the frames a client sends (RFC 6455, section 5), without I/O and without
 * memory: payload is unmasked where it lies and handed on in pieces, as it comes. A message is
 * never put together here, so a large one costs nothing.
 *
 *     while (at < size) {
 *         end = websocket_parse(&parser, bytes + at, size - at, &event);
 *         at += event.used;
 *         ...
 *     }
 *
 * Promise   what comes out does not depend on where the bytes were cut, but for how the payload
 *           of a message is cut into pieces.
 * Refused   with the code to close with. 1002: a frame that is not masked, a reserved bit or
 *           opcode, a control frame that is fragmented or over 125 bytes, a length not in its
 *           shortest form, a continuation of nothing, a message inside a message, a close frame
 *           with one byte or a code that may not be sent. 1007: text, or the reason of a close,
 *           that is not UTF-8. 1009: a message over the limit, as soon as a frame's head says so.
 * Cost      each byte is looked at once or twice.
 */
#ifndef TOCSIN_NET_WEBSOCKET_PARSE_H
#define TOCSIN_NET_WEBSOCKET_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_NO_CODE = 1005, /* a close frame without one; never sent */
    WEBSOCKET_NOT_UTF8 = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_LARGE = 1009,
    WEBSOCKET_OVERLOADED = 1013,
};

enum {
    WEBSOCKET_HEAD_BYTES_MAX = 10, /* of what we send, which is not masked */
    WEBSOCKET_CONTROL_BYTES_MAX = 125,
};

struct websocket_parser {
    uint64_t message_bytes_max;
    uint64_t message_bytes; /* of the message under way, with the frame under way */
    uint64_t left;          /* of the payload of the frame under way */
    uint8_t head[14];
    uint8_t head_size; /* so many of them have come */
    uint8_t mask_at;
    uint8_t opcode;  /* of the frame under way */
    uint8_t message; /* its opcode; 0: none is under way */
    bool in_payload;
    bool final;
    uint8_t control_size;
    uint8_t tail_size; /* of a character that is not whole yet */
    char tail[4];
    char control[WEBSOCKET_CONTROL_BYTES_MAX];
};

void websocket_parser_init(struct websocket_parser *parser, uint64_t message_bytes_max);

enum websocket_end {
    WEBSOCKET_MORE,    /* all bytes are used, and nothing is to be told */
    WEBSOCKET_DATA,    /* a piece of a message, perhaps empty when it is the last */
    WEBSOCKET_CONTROL, /* a whole control frame */
    WEBSOCKET_REFUSED, /* nothing more can be parsed */
};

struct websocket_event {
    size_t used;         /* of the bytes that were given */
    uint8_t opcode;      /* of the message or the control frame */
    bool last;           /* DATA: the message ends with this piece */
    struct bytes bytes;  /* the piece, or the payload; until the next call */
    uint16_t code;       /* REFUSED: to close with. Of a close frame: what it said */
    const char *problem; /* REFUSED: in words */
};

/* The bytes are changed where they lie. */
enum websocket_end websocket_parse(struct websocket_parser *parser, char *bytes, size_t size,
                                   struct websocket_event *ret_event);

/* May this code stand in a close frame? */
bool websocket_code_may_be_sent(uint16_t code);

/* The head of a whole frame that is not masked; answers how many bytes. */
size_t websocket_head(enum websocket_opcode opcode, uint64_t payload_bytes,
                      char to[WEBSOCKET_HEAD_BYTES_MAX]);

#endif
