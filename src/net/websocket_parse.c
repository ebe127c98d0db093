/* SPDX-License-Identifier: MIT */
/* A frame, as a client sends it:
 *
 *   byte 0   FIN, three reserved bits, four bits of opcode
 *   byte 1   MASK, seven bits of length; 126: two more bytes of it, 127: eight, the highest first
 *   then     four bytes of mask, then the payload, each byte of it changed by the mask's next
 */
#include "net/websocket_parse.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

enum {
    FIN = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0f,
    CONTROL = 0x08,
    MASK = 0x80,
    LENGTH = 0x7f,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    MASK_BYTES = 4,
};

void websocket_parser_init(struct websocket_parser *parser, uint64_t message_bytes_max)
{
    *parser = (struct websocket_parser){.message_bytes_max = message_bytes_max};
}

static enum websocket_end refuse(struct websocket_event *event, uint16_t code, const char *problem)
{
    event->code = code;
    event->problem = problem;
    return WEBSOCKET_REFUSED;
}

static bool is_control(uint8_t opcode)
{
    return (opcode & CONTROL) != 0;
}

static size_t length_bytes(const struct websocket_parser *parser)
{
    uint8_t length = parser->head[1] & LENGTH;
    return length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0;
}

/* What the first two bytes can be refused for; NULL: nothing. */
static const char *wrong_start(const struct websocket_parser *parser)
{
    uint8_t first = parser->head[0];
    uint8_t opcode = first & OPCODE;
    if ((first & RESERVED) != 0)
        return "a reserved bit is set, and no extension was agreed on";
    if ((opcode > WEBSOCKET_BINARY && opcode < WEBSOCKET_CLOSE) || opcode > WEBSOCKET_PONG)
        return "this opcode is reserved";
    if ((parser->head[1] & MASK) == 0)
        return "frames of a client must be masked";
    if (is_control(opcode))
        return (first & FIN) == 0 ? "a control frame is fragmented"
               : (parser->head[1] & LENGTH) > WEBSOCKET_CONTROL_BYTES_MAX
                   ? "a control frame is over 125 bytes"
                   : NULL;
    if (opcode == WEBSOCKET_CONTINUATION && parser->message == 0)
        return "a continuation, but of no message";
    if (opcode != WEBSOCKET_CONTINUATION && parser->message != 0)
        return "a message begins inside another";
    return NULL;
}

static uint64_t payload_length(const struct websocket_parser *parser)
{
    size_t bytes = length_bytes(parser);
    uint64_t length = bytes == 0 ? parser->head[1] & LENGTH : 0;
    for (size_t i = 0; i < bytes; i++)
        length = length << 8 | parser->head[2 + i];
    return length;
}

/* The head is whole. */
static enum websocket_end begin_payload(struct websocket_parser *parser,
                                        struct websocket_event *event)
{
    size_t bytes = length_bytes(parser);
    uint64_t length = payload_length(parser);
    if ((bytes == 2 && length < LENGTH_16) || (bytes == 8 && length <= UINT16_MAX))
        return refuse(event, WEBSOCKET_PROTOCOL_ERROR, "a length is not in its shortest form");
    if (length > INT64_MAX)
        return refuse(event, WEBSOCKET_PROTOCOL_ERROR, "the highest bit of a length is set");
    parser->opcode = parser->head[0] & OPCODE;
    parser->final = (parser->head[0] & FIN) != 0;
    parser->left = length;
    parser->mask_at = 0;
    parser->in_payload = true;
    parser->control_size = 0;
    if (is_control(parser->opcode))
        return WEBSOCKET_MORE;
    if (parser->opcode != WEBSOCKET_CONTINUATION) {
        parser->message = parser->opcode;
        parser->message_bytes = 0;
        parser->tail_size = 0;
    }
    if (length > parser->message_bytes_max - parser->message_bytes)
        return refuse(event, WEBSOCKET_TOO_LARGE, "the message is larger than the limit");
    parser->message_bytes += length;
    return WEBSOCKET_MORE;
}

static enum websocket_end take_head(struct websocket_parser *parser, const char *bytes, size_t size,
                                    struct websocket_event *event)
{
    while (event->used < size && !parser->in_payload) {
        parser->head[parser->head_size++] = (uint8_t)bytes[event->used++];
        if (parser->head_size < 2)
            continue;
        const char *wrong = parser->head_size == 2 ? wrong_start(parser) : NULL;
        if (wrong != NULL)
            return refuse(event, WEBSOCKET_PROTOCOL_ERROR, wrong);
        if (parser->head_size == 2 + length_bytes(parser) + MASK_BYTES)
            return begin_payload(parser, event);
    }
    return WEBSOCKET_MORE;
}

static void unmask(struct websocket_parser *parser, char *bytes, size_t size)
{
    const uint8_t *mask = parser->head + parser->head_size - MASK_BYTES;
    uint8_t turned[8];
    for (size_t i = 0; i < sizeof turned; i++)
        turned[i] = mask[(parser->mask_at + i) % MASK_BYTES];
    uint64_t wide;
    memcpy(&wide, turned, sizeof wide);
    size_t at = 0;
    for (; at + sizeof wide <= size; at += sizeof wide) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        word ^= wide;
        memcpy(bytes + at, &word, sizeof word);
    }
    for (size_t i = 0; at < size; i++, at++)
        bytes[at] = (char)((uint8_t)bytes[at] ^ turned[i]);
    parser->mask_at = (uint8_t)((parser->mask_at + size) % MASK_BYTES);
}

/* How long the character is that begins with this byte; 0: none does. */
static size_t character_size(char first)
{
    unsigned char byte = (unsigned char)first;
    return byte < 0x80 ? 1 : byte < 0xc2 || byte > 0xf4 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* The character that the last piece has cut. Answers how many bytes complete it. */
static bool complete_tail(struct websocket_parser *parser, struct bytes piece, size_t *ret_used)
{
    size_t used = 0;
    while (parser->tail_size > 0 && used < piece.size) {
        parser->tail[parser->tail_size++] = piece.at[used++];
        size_t wanted = character_size(parser->tail[0]);
        if (parser->tail_size < wanted)
            continue;
        if (utf8_length(parser->tail, parser->tail_size) == 0)
            return false;
        parser->tail_size = 0;
    }
    *ret_used = used;
    return true;
}

/* Is the text so far the beginning of UTF-8, and when it is the end, all of it? */
static bool check_text(struct websocket_parser *parser, struct bytes piece, bool last)
{
    size_t at;
    if (!complete_tail(parser, piece, &at))
        return false;
    while (at < piece.size) {
        at += utf8_plain(piece.at + at, piece.size - at);
        if (at == piece.size)
            break;
        size_t length = utf8_length(piece.at + at, piece.size - at);
        if (length == 0) {
            size_t left = piece.size - at;
            if (left >= character_size(piece.at[at]))
                return false;
            memcpy(parser->tail, piece.at + at, left);
            parser->tail_size = (uint8_t)left;
            break;
        }
        at += length;
    }
    return !last || parser->tail_size == 0;
}

bool websocket_code_may_be_sent(uint16_t code)
{
    if (code >= 3000)
        return code <= 4999;
    return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

static enum websocket_end end_of_control(struct websocket_parser *parser,
                                         struct websocket_event *event)
{
    const uint8_t *said = (const uint8_t *)parser->control;
    event->opcode = parser->opcode;
    event->bytes = (struct bytes){parser->control, parser->control_size};
    if (parser->opcode != WEBSOCKET_CLOSE)
        return WEBSOCKET_CONTROL;
    event->code = WEBSOCKET_NO_CODE;
    if (parser->control_size == 0)
        return WEBSOCKET_CONTROL;
    if (parser->control_size == 1)
        return refuse(event, WEBSOCKET_PROTOCOL_ERROR, "a close frame with half a code");
    uint16_t code = (uint16_t)(said[0] << 8 | said[1]);
    if (!websocket_code_may_be_sent(code))
        return refuse(event, WEBSOCKET_PROTOCOL_ERROR, "a close frame with a code that is none");
    for (size_t at = 2; at < parser->control_size;) {
        size_t length = utf8_length(parser->control + at, parser->control_size - at);
        if (length == 0)
            return refuse(event, WEBSOCKET_NOT_UTF8, "the reason of a close frame is not UTF-8");
        at += length;
    }
    event->code = code;
    return WEBSOCKET_CONTROL;
}

static enum websocket_end take_payload(struct websocket_parser *parser, char *bytes, size_t size,
                                       struct websocket_event *event)
{
    char *at = bytes + event->used;
    size_t here = size - event->used;
    if (here > parser->left)
        here = (size_t)parser->left;
    unmask(parser, at, here);
    event->used += here;
    parser->left -= here;
    bool ended = parser->left == 0;
    if (ended) {
        parser->in_payload = false;
        parser->head_size = 0;
    }
    if (is_control(parser->opcode)) {
        if (here > 0)
            memcpy(parser->control + parser->control_size, at, here);
        parser->control_size = (uint8_t)(parser->control_size + here);
        return ended ? end_of_control(parser, event) : WEBSOCKET_MORE;
    }
    event->opcode = parser->message;
    event->bytes = (struct bytes){at, here};
    event->last = ended && parser->final;
    if (parser->message == WEBSOCKET_TEXT && !check_text(parser, event->bytes, event->last))
        return refuse(event, WEBSOCKET_NOT_UTF8, "text is not UTF-8");
    if (event->last)
        parser->message = 0;
    return here > 0 || event->last ? WEBSOCKET_DATA : WEBSOCKET_MORE;
}

enum websocket_end websocket_parse(struct websocket_parser *parser, char *bytes, size_t size,
                                   struct websocket_event *ret_event)
{
    *ret_event = (struct websocket_event){0};
    if (!parser->in_payload) {
        enum websocket_end end = take_head(parser, bytes, size, ret_event);
        if (end != WEBSOCKET_MORE || !parser->in_payload)
            return end;
    }
    /* A frame without payload ends with its head; another waits for its bytes. */
    if (parser->left > 0 && ret_event->used == size)
        return WEBSOCKET_MORE;
    return take_payload(parser, bytes, size, ret_event);
}

size_t websocket_head(enum websocket_opcode opcode, uint64_t payload_bytes,
                      char to[WEBSOCKET_HEAD_BYTES_MAX])
{
    size_t more = payload_bytes < LENGTH_16 ? 0 : payload_bytes <= UINT16_MAX ? 2 : 8;
    to[0] = (char)(FIN | opcode);
    to[1] = (char)(more == 0 ? payload_bytes : more == 2 ? LENGTH_16 : LENGTH_64);
    for (size_t i = 0; i < more; i++)
        to[2 + i] = (char)(payload_bytes >> 8 * (more - 1 - i));
    return 2 + more;
}
