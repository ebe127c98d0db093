/* SPDX-License-Identifier: MIT */
/* The table as text: the complete YAML of a configuration, and the help. */
#include <stdio.h>
#include <string.h>

#include "server/config.h"
#include "server/config_form.h"
#include "server/config_table.h"
#include "server/config_value.h"

enum { WIDTH = 96 };

static const char head[] =
    "# How a Tocsin server runs: every setting, with what it is for and what is allowed.\n"
    "#\n"
    "# What is left out has its default. An environment variable (named below) beats this file,\n"
    "# a flag beats both. `tocsin serve --print-config` prints what a server would run with, in\n"
    "# this form. Sizes: bytes, or with KiB, MiB, GiB. Times: 500ms, 30s, 1h30m, or "
    "milliseconds.\n";

static void put_blanks(struct buffer *out, size_t count)
{
    while (count-- > 0)
        buffer_append_byte(out, ' ');
}

/* Words in lines that fit, each begun with a mark. */
static void put_wrapped(struct buffer *out, size_t indent, const char *mark, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > WIDTH) {
            buffer_append_byte(out, '\n');
            column = 0;
        }
        if (column == 0) {
            put_blanks(out, indent);
            buffer_append_text(out, mark);
            column = indent + strlen(mark);
        } else {
            buffer_append_byte(out, ' ');
            column++;
        }
        buffer_append(out, text, word);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    buffer_append_byte(out, '\n');
}

/* Plain where YAML cannot take it for anything else, else in double quotes. */
static void put_text(struct buffer *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:-";
    static const char *const words[] = {"null", "Null", "NULL"};
    size_t size = strlen(text);
    bool quote = size == 0 || strspn(text, plain) != size || strchr("-:", text[0]) != NULL ||
                 text[size - 1] == ':' || strncmp(text, "...", 3) == 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        quote = quote || strcmp(text, words[i]) == 0;
    if (quote)
        buffer_append_byte(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            buffer_append_byte(out, '\\');
        buffer_append_byte(out, *text);
    }
    if (quote)
        buffer_append_byte(out, '"');
    buffer_append_byte(out, '\n');
}

/* An address without its password. */
static void put_hidden(struct buffer *out, const char *text)
{
    const char *at = strrchr(text, '@');
    const char *from = strstr(text, "://");
    char shown[1024];
    if (at == NULL || from == NULL) {
        put_text(out, text);
        return;
    }
    (void)snprintf(shown, sizeof shown, "%.*s://(hidden)%s", (int)(from - text), text, at);
    put_text(out, shown);
}

/* The same, with the user and stars. */
static void put_without_password(struct buffer *out, const char *text)
{
    char shown[CONFIG_STORE_SHOWN_BYTES];
    config_form_hide(text, shown, sizeof shown);
    put_text(out, shown);
}

static void put_list(const struct config_list *list, size_t indent, bool hide, struct buffer *out)
{
    buffer_append_text(out, list->count == 0 ? " []\n" : "\n");
    for (size_t i = 0; i < list->count; i++) {
        put_blanks(out, indent + 2);
        buffer_append_text(out, "- ");
        if (hide)
            put_hidden(out, list->items[i]);
        else
            put_text(out, list->items[i]);
    }
}

static void put_tokens(const struct config_tokens *tokens, size_t indent, bool secrets,
                       struct buffer *out)
{
    buffer_append_text(out, tokens->count == 0 ? " []\n" : "\n");
    for (size_t i = 0; i < tokens->count; i++) {
        const struct config_token *token = &tokens->items[i];
        put_blanks(out, indent + 2);
        buffer_append_text(out, "- name: ");
        put_text(out, token->name);
        put_blanks(out, indent + 4);
        buffer_append_text(out, token->file != NULL ? "token_file: " : "token: ");
        put_text(out, token->file != NULL ? token->file : secrets ? token->token : "(hidden)");
    }
}

static void put_value(const struct config_row *row, const struct config *config, size_t indent,
                      bool secrets, struct buffer *out)
{
    const void *value = config_row_value(row, config);
    char number[CONFIG_NUMBER_BYTES];
    switch (row->type) {
    case CONFIG_LIST:
        put_list(value, indent, row->form->secret && !secrets, out);
        return;
    case CONFIG_TOKENS:
        put_tokens(value, indent, secrets, out);
        return;
    case CONFIG_TEXT:
        buffer_append_byte(out, ' ');
        if (row->form->secret && !secrets && (*(char *const *)value)[0] != '\0')
            put_text(out, "(hidden)");
        else if (row->form->url && !secrets)
            put_without_password(out, *(char *const *)value);
        else
            put_text(out, *(char *const *)value);
        return;
    case CONFIG_CHOICE:
        buffer_append_byte(out, ' ');
        put_text(out, row->form->words[*(const unsigned *)value]);
        return;
    case CONFIG_NUMBER:
    case CONFIG_SIZE:
    case CONFIG_TIME:
        buffer_append_byte(out, ' ');
        config_value_format_number(row->type, *(const uint64_t *)value, number);
        buffer_append_text(out, number);
        buffer_append_byte(out, '\n');
        return;
    }
}

/* "TOCSIN_LISTEN: a list of 1 to 16, …", as one text that ends with a zero. */
static void describe(const struct config_row *row, bool with_default, struct buffer *out)
{
    char variable[CONFIG_VARIABLE_BYTES];
    config_row_variable(row, variable);
    buffer_clear(out);
    buffer_append_text(out, variable);
    buffer_append_text(out, ": ");
    config_row_allowed(row, out);
    if (with_default) {
        buffer_append_text(out, "; unless told, ");
        buffer_append_text(out, row->initial[0] != '\0' ? row->initial : "none");
    }
    buffer_append_byte(out, '.');
    buffer_append_byte(out, '\0');
}

/* The lines of the sections that begin with this row. Answers what is left of its path, and how
 * far that is indented. */
static const char *put_sections(const struct config_row *row, size_t *ret_indent,
                                struct buffer *out)
{
    const char *name = row->path;
    size_t indent = 0;
    for (const char *dot; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
        size_t size = (size_t)(dot - row->path);
        if (row == config_table || strncmp(row[-1].path, row->path, size + 1) != 0) {
            buffer_append_byte(out, '\n');
            put_blanks(out, indent);
            buffer_append(out, name, (size_t)(dot - name));
            buffer_append_text(out, ":");
        }
        indent += 2;
    }
    *ret_indent = indent;
    return name;
}

void config_print(const struct config *config, bool secrets, struct buffer *out)
{
    struct buffer words;
    buffer_init(&words, sizeof(struct config_why));
    buffer_append_text(out, head);
    for (size_t i = 0; i < config_table_count; i++) {
        const struct config_row *row = &config_table[i];
        size_t indent;
        const char *name = put_sections(row, &indent, out);
        buffer_append_byte(out, '\n');
        put_wrapped(out, indent, "# ", row->text);
        describe(row, false, &words);
        if (buffer_status(&words) == TOCSIN_OK)
            put_wrapped(out, indent, "# ", words.data);
        put_blanks(out, indent);
        buffer_append_text(out, name);
        buffer_append_byte(out, ':');
        put_value(row, config, indent, secrets, out);
    }
    buffer_release(&words);
}

void config_help(struct buffer *out)
{
    struct buffer words;
    buffer_init(&words, sizeof(struct config_why));
    for (size_t i = 0; i < config_table_count; i++) {
        put_wrapped(out, 2, "", config_table[i].path);
        put_wrapped(out, 6, "", config_table[i].text);
        describe(&config_table[i], true, &words);
        if (buffer_status(&words) == TOCSIN_OK)
            put_wrapped(out, 6, "", words.data);
    }
    buffer_release(&words);
}
