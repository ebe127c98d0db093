/* SPDX-License-Identifier: MIT */
/*   BETWEEN   line ends are heart-beats; any other byte begins a frame
 *   HEAD      lines are gathered; each is looked at when its LF has come; the empty one ends it
 *   BODY      content-length bytes and a NUL, or all up to the first NUL
 *   WHOLE     the frame was handed out; it is forgotten with the next call
 *   BROKEN    refused
 */
#include "net/stomp_parse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum state { BETWEEN, HEAD, BODY, WHOLE, BROKEN };

static const struct {
    const char *name;
    enum stomp_command command;
} commands[] = {
    {"CONNECT", STOMP_CONNECT},
    {"STOMP", STOMP_CONNECT},
    {"SEND", STOMP_SEND},
    {"SUBSCRIBE", STOMP_SUBSCRIBE},
    {"UNSUBSCRIBE", STOMP_UNSUBSCRIBE},
    {"ACK", STOMP_ACK},
    {"NACK", STOMP_NACK},
    {"BEGIN", STOMP_BEGIN},
    {"COMMIT", STOMP_COMMIT},
    {"ABORT", STOMP_ABORT},
    {"DISCONNECT", STOMP_DISCONNECT},
};

enum { COMMAND_NAMES = sizeof commands / sizeof commands[0], NO_COMMAND = 255 };

const char *stomp_command_name(enum stomp_command command)
{
    size_t i = 0;
    while (commands[i].command != command)
        i++;
    return commands[i].name;
}

struct bytes stomp_frame_header(const struct stomp_frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->header_count; i++) {
        if (bytes_are(frame->headers[i].name, name))
            return frame->headers[i].value;
    }
    return (struct bytes){0};
}

void stomp_parser_init(struct stomp_parser *parser, const struct stomp_limits *limits)
{
    assert(limits->head_bytes <= 1 << 30 && limits->body_bytes <= 1 << 30);
    *parser = (struct stomp_parser){.limits = *limits, .state = BETWEEN};
    buffer_init(&parser->text, (size_t)limits->head_bytes + limits->body_bytes + 1);
}

/* Between two frames nothing is kept. */
static void forget(struct stomp_parser *parser)
{
    buffer_release(&parser->text);
    free(parser->spans);
    free(parser->headers);
    parser->spans = NULL;
    parser->headers = NULL;
    parser->frame = (struct stomp_frame){0};
}

void stomp_parser_release(struct stomp_parser *parser)
{
    forget(parser);
}

void stomp_parser_set_limits(struct stomp_parser *parser, const struct stomp_limits *limits)
{
    assert(parser->state == BETWEEN || parser->state == WHOLE);
    parser->limits = *limits;
    parser->text.max_bytes = (size_t)limits->head_bytes + limits->body_bytes + 1;
}

void stomp_parser_let_go(struct stomp_parser *parser)
{
    if (parser->state != WHOLE)
        return;
    forget(parser);
    parser->state = BETWEEN;
}

static bool refuse(struct stomp_parser *parser, const char *problem)
{
    parser->state = BROKEN;
    parser->problem = problem;
    return false;
}

static bool append(struct stomp_parser *parser, const char *bytes, size_t size)
{
    buffer_append(&parser->text, bytes, size);
    if (buffer_status(&parser->text) == TOCSIN_OK)
        return true;
    return refuse(parser, "no memory for this frame now");
}

/* The head. */

static bool begin(struct stomp_parser *parser)
{
    parser->spans = malloc(parser->limits.headers * sizeof *parser->spans);
    if (parser->spans == NULL)
        return refuse(parser, "no memory for this frame now");
    parser->state = HEAD;
    parser->command = NO_COMMAND;
    parser->line_at = 0;
    parser->header_count = 0;
    parser->has_length = false;
    parser->length = 0;
    return true;
}

static const char *const no_command = "this is no command of a STOMP 1.2 client";

/* It could be a command of another version; else whoever sends it does not speak STOMP. */
static bool is_word(struct bytes line)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] < 'A' || line.at[i] > 'Z')
            return false;
    }
    return line.size > 0;
}

static bool take_command(struct stomp_parser *parser, struct bytes line)
{
    for (size_t i = 0; i < COMMAND_NAMES; i++) {
        if (bytes_are(line, commands[i].name)) {
            parser->command = (uint8_t)commands[i].command;
            return true;
        }
    }
    if (!is_word(line))
        return refuse(parser, no_command);
    parser->command = STOMP_COMMANDS; /* refused when its receipt is known */
    return true;
}

/* Where it lies; answers the new size, or SIZE_MAX. */
static size_t unescape(char *text, size_t size)
{
    size_t to = 0;
    for (size_t from = 0; from < size; from++) {
        if (text[from] != '\\') {
            text[to++] = text[from];
            continue;
        }
        if (++from == size)
            return SIZE_MAX;
        static const char codes[] = "rnc\\";
        static const char meant[] = "\r\n:\\";
        const char *code = text[from] != '\0' ? strchr(codes, text[from]) : NULL;
        if (code == NULL)
            return SIZE_MAX;
        text[to++] = meant[code - codes];
    }
    return to;
}

static bool is_utf8(struct bytes text)
{
    for (size_t at = 0; at < text.size;) {
        size_t length = utf8_length(text.at + at, text.size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static bool read_length(struct stomp_parser *parser, struct bytes value)
{
    uint64_t length = 0;
    if (parser->has_length)
        return true; /* the first counts */
    if (value.size == 0)
        return refuse(parser, "content-length: a number is needed");
    for (size_t i = 0; i < value.size; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return refuse(parser, "content-length: a number is needed");
        length = length * 10 + (uint64_t)(value.at[i] - '0');
        if (length > parser->limits.body_bytes)
            return refuse(parser, "content-length: the body is larger than the limit");
    }
    parser->length = length;
    parser->has_length = true;
    return true;
}

static bool take_header(struct stomp_parser *parser, char *line, size_t size)
{
    char *colon = memchr(line, ':', size);
    if (colon == NULL || colon == line)
        return refuse(parser, "a header without a name or a colon");
    if (memchr(line, '\0', size) != NULL || memchr(line, '\r', size) != NULL)
        return refuse(parser, "a header with a NUL or a carriage return in it");
    if (!is_utf8((struct bytes){line, size}))
        return refuse(parser, "a header that is not UTF-8");
    if (parser->header_count == parser->limits.headers)
        return refuse(parser, "too many headers");
    size_t name_size = (size_t)(colon - line);
    size_t value_size = size - name_size - 1;
    if (parser->command != STOMP_CONNECT) {
        name_size = unescape(line, name_size);
        value_size = unescape(colon + 1, value_size);
        if (name_size == SIZE_MAX || value_size == SIZE_MAX)
            return refuse(parser, "a header with an escape other than \\r \\n \\c \\\\");
    }
    parser->spans[parser->header_count++] = (struct stomp_span){
        .name_at = (uint32_t)(line - parser->text.data),
        .name_size = (uint32_t)name_size,
        .value_at = (uint32_t)(colon + 1 - parser->text.data),
        .value_size = (uint32_t)value_size,
    };
    if (bytes_are((struct bytes){line, name_size}, "content-length"))
        return read_length(parser, (struct bytes){colon + 1, value_size});
    return true;
}

/* A line is whole, with its LF, at the end of the text. */
static bool take_line(struct stomp_parser *parser)
{
    char *line = parser->text.data + parser->line_at;
    size_t size = parser->text.size - parser->line_at - 1;
    parser->line_at = (uint32_t)parser->text.size;
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (parser->command == NO_COMMAND)
        return take_command(parser, (struct bytes){line, size});
    if (size > 0)
        return take_header(parser, line, size);
    if (parser->command == STOMP_COMMANDS)
        return refuse(parser, no_command);
    parser->state = BODY;
    parser->body_at = (uint32_t)parser->text.size;
    return true;
}

static bool take_head(struct stomp_parser *parser, const char *bytes, size_t size, size_t *ret_used)
{
    const char *end = memchr(bytes, '\n', size);
    size_t here = end != NULL ? (size_t)(end - bytes) + 1 : size;
    *ret_used = here;
    if (here > parser->limits.head_bytes - parser->text.size)
        return refuse(parser, "the headers are larger than the limit");
    return append(parser, bytes, here) && (end == NULL || take_line(parser));
}

struct bytes stomp_parser_receipt(const struct stomp_parser *parser)
{
    const char *text = parser->text.data;
    for (size_t i = 0; parser->spans != NULL && i < parser->header_count; i++) {
        const struct stomp_span *span = &parser->spans[i];
        if (bytes_are((struct bytes){text + span->name_at, span->name_size}, "receipt"))
            return (struct bytes){text + span->value_at, span->value_size};
    }
    return (struct bytes){0};
}

/* The body. */

static bool finish(struct stomp_parser *parser)
{
    size_t count = parser->header_count;
    char *text = parser->text.data;
    size_t body_size = parser->text.size - parser->body_at;
    if (body_size > 0 && parser->command != STOMP_SEND)
        return refuse(parser, "only SEND may have a body");
    parser->headers = malloc((count > 0 ? count : 1) * sizeof *parser->headers);
    if (parser->headers == NULL)
        return refuse(parser, "no memory for this frame now");
    for (size_t i = 0; i < count; i++) {
        const struct stomp_span *span = &parser->spans[i];
        parser->headers[i].name = (struct bytes){text + span->name_at, span->name_size};
        parser->headers[i].value = (struct bytes){text + span->value_at, span->value_size};
    }
    parser->frame = (struct stomp_frame){
        .command = (enum stomp_command)parser->command,
        .headers = parser->headers,
        .header_count = count,
        .body = {text + parser->body_at, body_size},
    };
    parser->state = WHOLE;
    return true;
}

static bool take_body(struct stomp_parser *parser, const char *bytes, size_t size, size_t *ret_used)
{
    size_t have = parser->text.size - parser->body_at;
    size_t here;
    bool ended;
    if (parser->has_length) {
        size_t left = (size_t)parser->length - have;
        ended = size > left;
        here = ended ? left : size;
        if (ended && bytes[here] != '\0')
            return refuse(parser, "content-length: no NUL follows so many bytes");
    } else {
        const char *end = memchr(bytes, '\0', size);
        ended = end != NULL;
        here = ended ? (size_t)(end - bytes) : size;
        if (here > parser->limits.body_bytes - have)
            return refuse(parser, "the body is larger than the limit");
    }
    *ret_used = here + ended;
    return append(parser, bytes, here) && (!ended || finish(parser));
}

static bool take_between(struct stomp_parser *parser, const char *bytes, size_t *ret_used)
{
    if (bytes[0] == '\n' || (bytes[0] == '\r' && !parser->has_carriage_return)) {
        parser->has_carriage_return = bytes[0] == '\r';
        *ret_used = 1;
        return true;
    }
    if (parser->has_carriage_return)
        return refuse(parser, "a carriage return without a line feed");
    return begin(parser);
}

enum stomp_parse_end stomp_parse(struct stomp_parser *parser, const char *bytes, size_t size,
                                 size_t *ret_used)
{
    size_t at = 0;
    bool fine = parser->state != BROKEN;
    stomp_parser_let_go(parser);
    while (fine && at < size && parser->state != WHOLE) {
        size_t used = 0;
        if (parser->state == BETWEEN)
            fine = take_between(parser, bytes + at, &used);
        else if (parser->state == HEAD)
            fine = take_head(parser, bytes + at, size - at, &used);
        else
            fine = take_body(parser, bytes + at, size - at, &used);
        at += used;
    }
    *ret_used = at;
    return !fine                    ? STOMP_PARSE_REFUSED
           : parser->state == WHOLE ? STOMP_PARSE_FRAME
                                    : STOMP_PARSE_MORE;
}
