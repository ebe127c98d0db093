/* SPDX-License-Identifier: MIT */
#include "cli/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"

enum { LINE_BYTES_MAX = 64 * 1024, NOTE_BYTES_MAX = 1200 };

static bool as_json; /* set once, before anything can go wrong */

void error_choose(int count, char **words)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        as_json = as_json || strcmp(words[i], "--json") == 0;
}

static void write_line(const struct cli_error *error, const char *note)
{
    struct buffer line;
    struct json_writer writer;
    buffer_init(&line, LINE_BYTES_MAX);
    json_writer_init(&writer, &line);
    json_write_object(&writer);
    fields_write_text(&writer, "command", error->command);
    fields_write_text(&writer, "about", error->about);
    if (error->status != 0) {
        json_write_key(&writer, "status");
        json_write_int64(&writer, error->status);
    }
    fields_write_text(&writer, "code", error->code);
    fields_write_text(&writer, "detail", error->detail);
    fields_write_text(&writer, "hint", error->hint);
    fields_write_text(&writer, "note", note);
    json_write_object_end(&writer);
    (void)fprintf(stderr, "%.*s\n", (int)line.size, line.data);
    buffer_release(&line);
}

static void say_who(const char *command)
{
    (void)fprintf(stderr, "tocsin%s%s: ", command != NULL ? " " : "",
                  command != NULL ? command : "");
}

void error_tell(const struct cli_error *error)
{
    if (as_json) {
        write_line(error, NULL);
        return;
    }
    say_who(error->command);
    if (error->about != NULL)
        (void)fprintf(stderr, "%.255s: ", error->about);
    (void)fputs(error->detail, stderr);
    if (error->status != 0)
        (void)fprintf(stderr, " (%d%s%s)", error->status, error->code[0] != '\0' ? " " : "",
                      error->code);
    (void)fprintf(stderr, "%s%s\n", error->hint != NULL ? "; " : "",
                  error->hint != NULL ? error->hint : "");
}

void error_note(const char *command, const char *format, ...)
{
    char text[NOTE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (as_json) {
        write_line(&(struct cli_error){.command = command}, text);
        return;
    }
    say_who(command);
    (void)fprintf(stderr, "%s\n", text);
}
