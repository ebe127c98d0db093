/* SPDX-License-Identifier: MIT */
#include "net/stomp_write.h"

#include <inttypes.h>
#include <stdio.h>

void stomp_write_command(struct buffer *out, const char *command)
{
    buffer_append_text(out, command);
    buffer_append_byte(out, '\n');
}

static void write_escaped(struct buffer *out, struct bytes text)
{
    static const char from[] = "\r\n:\\";
    static const char to[] = "rnc\\";
    size_t run = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *found = text.at[i] != '\0' ? strchr(from, text.at[i]) : NULL;
        if (found == NULL)
            continue;
        buffer_append(out, text.at + run, i - run);
        buffer_append_byte(out, '\\');
        buffer_append_byte(out, to[found - from]);
        run = i + 1;
    }
    buffer_append(out, text.at + run, text.size - run);
}

void stomp_write_header(struct buffer *out, const char *name, struct bytes value)
{
    buffer_append_text(out, name);
    buffer_append_byte(out, ':');
    write_escaped(out, value);
    buffer_append_byte(out, '\n');
}

void stomp_write_number(struct buffer *out, const char *name, uint64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRIu64, value);
    stomp_write_header(out, name, (struct bytes){text, (size_t)size});
}

void stomp_write_body(struct buffer *out, struct bytes body)
{
    buffer_append_byte(out, '\n');
    buffer_append(out, body.at, body.size);
    buffer_append_byte(out, '\0');
}
