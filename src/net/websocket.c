/* SPDX-License-Identifier: MIT */
/* Open until a close frame was sent, whoever began; then nothing that comes is looked at any
 * more, and http_upgrade.c waits for the end. */
#include "net/websocket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "net/http_upgrade.h"

struct websocket {
    struct http_upgraded *under;
    struct websocket_options options;
    struct websocket_parser parser;
    bool open;
};

struct frame *websocket_frame(enum websocket_opcode opcode, struct bytes payload)
{
    char head[WEBSOCKET_HEAD_BYTES_MAX];
    size_t size = websocket_head(opcode, payload.size, head);
    struct frame *frame = frame_create(size + payload.size);
    if (frame == NULL)
        return NULL;
    memcpy(frame->data, head, size);
    if (payload.size > 0)
        memcpy(frame->data + size, payload.at, payload.size);
    return frame;
}

static bool send_control(struct websocket *websocket, enum websocket_opcode opcode,
                         struct bytes payload)
{
    assert(payload.size <= WEBSOCKET_CONTROL_BYTES_MAX);
    struct frame *frame = websocket_frame(opcode, payload);
    if (frame == NULL) {
        http_upgraded_cut(websocket->under);
        return false;
    }
    bool sent = http_upgraded_send(websocket->under, frame, false);
    frame_release(frame);
    return sent;
}

static void close_with(struct websocket *websocket, struct bytes payload)
{
    websocket->open = false;
    if (send_control(websocket, WEBSOCKET_CLOSE, payload))
        http_upgraded_finish(websocket->under);
}

void websocket_close(struct websocket *websocket, enum websocket_code code, const char *reason)
{
    char payload[WEBSOCKET_CONTROL_BYTES_MAX];
    size_t size = 2;
    if (!websocket->open)
        return;
    assert(websocket_code_may_be_sent((uint16_t)code));
    payload[0] = (char)(code >> 8);
    payload[1] = (char)(code & 0xff);
    size_t left = strlen(reason);
    for (size_t length = utf8_length(reason, left); length > 0 && size + length <= sizeof payload;
         length = utf8_length(reason, left)) {
        memcpy(payload + size, reason, length);
        size += length;
        reason += length;
        left -= length;
    }
    close_with(websocket, (struct bytes){payload, size});
}

static bool too_much(struct websocket *websocket, size_t bytes)
{
    if (http_upgraded_unsent(websocket->under) + bytes <= websocket->options.queue_bytes)
        return false;
    websocket->options.counters->slow++;
    http_upgraded_forget_unsent(websocket->under);
    websocket_close(websocket, WEBSOCKET_POLICY, "too slow: more is waiting to be read than kept");
    return true;
}

bool websocket_send(struct websocket *websocket, struct frame *head, struct frame *tail)
{
    if (!websocket->open || too_much(websocket, head->size + (tail != NULL ? tail->size : 0)))
        return false;
    if (http_upgraded_send(websocket->under, head, tail != NULL) &&
        (tail == NULL || http_upgraded_send(websocket->under, tail, false)))
        return true;
    websocket->open = false; /* no memory: it is being closed */
    return false;
}

bool websocket_is_open(const struct websocket *websocket)
{
    return websocket->open;
}

void websocket_ping(struct websocket *websocket)
{
    if (websocket->open && !too_much(websocket, 2))
        (void)send_control(websocket, WEBSOCKET_PING, (struct bytes){0});
}

int64_t websocket_round_trip_ms(const struct websocket *websocket)
{
    return websocket->open ? http_upgraded_round_trip_ms(websocket->under) : 0;
}

uint64_t websocket_now_ms(const struct websocket *websocket)
{
    return http_upgraded_now_ms(websocket->under);
}

/* What comes. */

static void take_control(struct websocket *websocket, const struct websocket_event *event)
{
    if (event->opcode == WEBSOCKET_PING) {
        if (!too_much(websocket, 2 + event->bytes.size))
            (void)send_control(websocket, WEBSOCKET_PONG, event->bytes);
    } else if (event->opcode == WEBSOCKET_CLOSE) {
        /* Its own code back, as is the custom. */
        close_with(websocket,
                   (struct bytes){event->bytes.at, event->code == WEBSOCKET_NO_CODE ? 0 : 2});
    }
}

static void refuse(struct websocket *websocket, const struct websocket_event *event)
{
    if (event->code == WEBSOCKET_TOO_LARGE)
        websocket->options.counters->too_large++;
    else
        websocket->options.counters->broken++;
    websocket_close(websocket, (enum websocket_code)event->code, event->problem);
}

static void on_bytes(void *arg, char *bytes, size_t size)
{
    struct websocket *websocket = arg;
    if (websocket->open)
        websocket->options.on_heard(websocket->options.arg);
    for (size_t at = 0; at < size && websocket->open;) {
        struct websocket_event event;
        enum websocket_end end = websocket_parse(&websocket->parser, bytes + at, size - at, &event);
        at += event.used;
        if (end == WEBSOCKET_DATA)
            websocket->options.on_data(websocket->options.arg, event.bytes);
        else if (end == WEBSOCKET_CONTROL)
            take_control(websocket, &event);
        else if (end == WEBSOCKET_REFUSED)
            refuse(websocket, &event);
    }
}

static void on_look(void *arg, uint64_t now_ms)
{
    struct websocket *websocket = arg;
    if (websocket->open)
        websocket->options.on_look(websocket->options.arg, now_ms);
}

static void on_drain(void *arg)
{
    websocket_close(arg, WEBSOCKET_GOING_AWAY, "the server stops");
}

static void on_closed(void *arg)
{
    struct websocket *websocket = arg;
    websocket->open = false;
    websocket->options.counters->open--;
    websocket->options.on_gone(websocket->options.arg);
    free(websocket);
}

int websocket_open(struct http_exchange *exchange, const char *const *protocols,
                   const struct websocket_options *options, struct websocket **ret_websocket,
                   char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem)
{
    int status =
        websocket_handshake(http_exchange_request(exchange), protocols, ret_headers, ret_problem);
    if (status != 101)
        return status;
    *ret_problem = http_upgrade_problem(exchange);
    if (*ret_problem != NULL) {
        ret_headers[0] = '\0';
        return 400;
    }
    struct websocket *websocket = calloc(1, sizeof *websocket);
    struct http_upgrade upgrade = {on_bytes, on_look, on_drain, on_closed, websocket};
    if (websocket != NULL)
        websocket->under = http_upgrade(exchange, ret_headers, &upgrade);
    if (websocket == NULL || websocket->under == NULL) {
        free(websocket);
        ret_headers[0] = '\0';
        *ret_problem = "no memory for a WebSocket now: try again";
        return 503;
    }
    websocket->options = *options;
    websocket->open = true;
    websocket_parser_init(&websocket->parser, options->message_bytes);
    options->counters->opened++;
    options->counters->open++;
    *ret_websocket = websocket;
    return 101;
}
