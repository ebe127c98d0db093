/* SPDX-License-Identifier: MIT */
#include "base/log_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/json_write.h"
#include "base/utf8.h"

/* Kept free at the end of a line for ' cut=true' or ',"cut":true}' and the line break. */
enum { TAIL_BYTES = 24, NUMBER_BYTES = 40 };

struct line {
    struct buffer *out;
    enum log_format format;
    struct json_writer json;
};

/* A character of UTF-8 that can stand in a line without an escape; 0: it cannot. The C1
 * controls (U+0080 to U+009F) move a terminal's cursor as well as the others do. */
static size_t plain_length(const char *at, size_t size)
{
    unsigned char byte = (unsigned char)at[0];
    if (byte < 0x80)
        return byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f;
    size_t length = utf8_length(at, size);
    return byte == 0xc2 && length == 2 && (unsigned char)at[1] < 0xa0 ? 0 : length;
}

static bool needs_quotes(struct bytes text)
{
    size_t at = 0;
    while (at < text.size) {
        size_t length = plain_length(text.at + at, text.size - at);
        if (length == 0 || text.at[at] == ' ' || text.at[at] == '=')
            return true;
        at += length;
    }
    return text.size == 0;
}

/* One character, or one byte of what is none, as JSON escapes it. */
static size_t put_escape(struct buffer *out, const char *at, size_t size)
{
    unsigned char byte = (unsigned char)at[0];
    size_t length = utf8_length(at, size);
    unsigned code = length == 2 ? (unsigned char)at[1] : byte;
    char text[8];
    if (length == 0) {
        buffer_append_text(out, "\xef\xbf\xbd");
        return 1;
    }
    if (byte == '"' || byte == '\\')
        (void)snprintf(text, sizeof text, "\\%c", byte);
    else if (byte == '\n' || byte == '\r' || byte == '\t')
        (void)snprintf(text, sizeof text, "\\%c", byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
    else
        (void)snprintf(text, sizeof text, "\\u%04x", code);
    buffer_append_text(out, text);
    return length;
}

static void put_quoted(struct buffer *out, struct bytes text)
{
    buffer_append_byte(out, '"');
    for (size_t at = 0; at < text.size;) {
        size_t length = plain_length(text.at + at, text.size - at);
        if (length > 0)
            buffer_append(out, text.at + at, length);
        else
            length = put_escape(out, text.at + at, text.size - at);
        at += length;
    }
    buffer_append_byte(out, '"');
}

/* Not more than LOG_TEXT_BYTES_MAX, not in the middle of a character. */
static struct bytes cut_text(struct bytes text, char cut[LOG_TEXT_BYTES_MAX])
{
    if (text.size <= LOG_TEXT_BYTES_MAX)
        return text;
    static const char ellipsis[] = {'\xe2', '\x80', '\xa6'};
    size_t size = LOG_TEXT_BYTES_MAX - sizeof ellipsis;
    for (size_t back = 0; back < UTF8_BYTES_MAX; back++) {
        size_t start = size - back;
        if (((unsigned char)text.at[start] & 0xc0) != 0x80) {
            size = start;
            break;
        }
    }
    memcpy(cut, text.at, size);
    memcpy(cut + size, ellipsis, sizeof ellipsis);
    return (struct bytes){cut, size + sizeof ellipsis};
}

static void put_name(struct line *line, const char *name)
{
    if (line->format == LOG_JSON) {
        json_write_key(&line->json, name);
        return;
    }
    if (line->out->size > 0 && line->out->data[line->out->size - 1] != '\n')
        buffer_append_byte(line->out, ' ');
    buffer_append_text(line->out, name);
    buffer_append_byte(line->out, '=');
}

static void put_text(struct line *line, struct bytes text)
{
    char cut[LOG_TEXT_BYTES_MAX];
    text = cut_text(text, cut);
    if (line->format == LOG_JSON)
        json_write_string(&line->json, text.at, text.size);
    else if (needs_quotes(text))
        put_quoted(line->out, text);
    else
        buffer_append(line->out, text.at, text.size);
}

/* A number or a bare word: the same in both formats. */
static void put_bare(struct line *line, const char *text)
{
    if (line->format == LOG_JSON)
        json_write_raw(&line->json, text, strlen(text));
    else
        buffer_append_text(line->out, text);
}

static void put_time(struct line *line, int64_t wall_ms)
{
    char text[NUMBER_BYTES];
    int64_t ms = wall_ms % 1000 < 0 ? wall_ms % 1000 + 1000 : wall_ms % 1000;
    time_t seconds = (time_t)((wall_ms - ms) / 1000);
    struct tm day;
    if (gmtime_r(&seconds, &day) == NULL || day.tm_year > 9999 - 1900 || day.tm_year < -1900) {
        (void)snprintf(text, sizeof text, "%" PRId64, wall_ms);
        put_bare(line, text);
        return;
    }
    size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &day);
    (void)snprintf(text + size, sizeof text - size, ".%03dZ", (int)ms);
    put_text(line, bytes_of(text));
}

static void put_duration(struct line *line, int64_t ns)
{
    char text[NUMBER_BYTES];
    uint64_t us = (ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) / 1000;
    (void)snprintf(text, sizeof text, "%s%" PRIu64 ".%03" PRIu64, ns < 0 && us > 0 ? "-" : "",
                   us / 1000, us % 1000);
    put_bare(line, text);
}

static void put_field(struct line *line, const struct log_field *field)
{
    char text[NUMBER_BYTES];
    put_name(line, field->name);
    switch (field->type) {
    case LOG_TYPE_TEXT:
        put_text(line, field->value.text);
        return;
    case LOG_TYPE_INT:
        (void)snprintf(text, sizeof text, "%" PRId64, field->value.number);
        put_bare(line, text);
        return;
    case LOG_TYPE_UINT:
        (void)snprintf(text, sizeof text, "%" PRIu64, field->value.count);
        put_bare(line, text);
        return;
    case LOG_TYPE_BOOL:
        put_bare(line, field->value.truth ? "true" : "false");
        return;
    case LOG_TYPE_DURATION:
        put_duration(line, field->value.number);
        return;
    case LOG_TYPE_TIME:
        put_time(line, field->value.number);
        return;
    case LOG_TYPE_END:
        break;
    }
    assert(field->type != LOG_TYPE_END); /* that one ends them */
}

/* False, and the line as before, when it does not fit. */
static bool put_field_if_it_fits(struct line *line, const struct log_field *field)
{
    struct line before = *line;
    size_t size = line->out->size;
    put_field(line, field);
    if (buffer_status(line->out) == TOCSIN_OK && line->out->size <= LOG_LINE_BYTES_MAX - TAIL_BYTES)
        return true;
    line->out->status = TOCSIN_OK;
    line->out->size = size;
    *line = before;
    return false;
}

void log_line_make(struct buffer *out, enum log_format format, const struct log_head *head,
                   const struct log_field *fields)
{
    struct line line = {.out = out, .format = format};
    assert(out->size == 0);
    if (head->after_broken_line)
        buffer_append_byte(out, '\n');
    json_writer_init(&line.json, out);
    if (format == LOG_JSON)
        json_write_object(&line.json);
    put_name(&line, "ts");
    put_time(&line, head->wall_ms);
    put_name(&line, "level");
    put_text(&line, bytes_of(head->level));
    put_name(&line, "msg");
    put_text(&line, bytes_of(head->message));
    bool all = true;
    if (head->dropped > 0)
        all = put_field_if_it_fits(&line, &LOG_UINT("dropped", head->dropped));
    for (; fields->type != LOG_TYPE_END; fields++)
        all = put_field_if_it_fits(&line, fields) && all;
    if (!all)
        put_field(&line, &LOG_BOOL("cut", true));
    if (format == LOG_JSON)
        json_write_object_end(&line.json);
    buffer_append_byte(out, '\n');
    assert(buffer_status(out) == TOCSIN_OK && out->size <= LOG_LINE_BYTES_MAX);
}
