/* SPDX-License-Identifier: MIT */
#include "server/config_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "schedule/duration.h"
#include "server/config_form.h"

enum { QUOTED_MAX = 60 };

int config_quoted(struct bytes text)
{
    return text.size < QUOTED_MAX ? (int)text.size : QUOTED_MAX;
}

enum tocsin_status config_refuse(struct config_why *ret_why, const struct config_spot *spot,
                                 const char *format, ...)
{
    if (ret_why == NULL)
        return TOCSIN_INVALID;
    char *to = ret_why->text;
    char *end = to + sizeof ret_why->text;
    if (spot->source == CONFIG_FILE && spot->line > 0)
        to += snprintf(to, (size_t)(end - to), "%.200s:%zu:%zu: ", spot->file, spot->line,
                       spot->column);
    else if (spot->source == CONFIG_FILE)
        to += snprintf(to, (size_t)(end - to), "%.200s: ", spot->file);
    else if (spot->source == CONFIG_ENVIRONMENT)
        to += snprintf(to, (size_t)(end - to), "environment: ");
    else if (spot->source == CONFIG_FLAG)
        to += snprintf(to, (size_t)(end - to), "command line: ");
    if (spot->name != NULL)
        to += snprintf(to, (size_t)(end - to), "%.80s: ", spot->name);
    va_list words;
    va_start(words, format);
    (void)vsnprintf(to, (size_t)(end - to), format, words);
    va_end(words);
    for (char *at = ret_why->text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    }
    return TOCSIN_INVALID;
}

enum tocsin_status config_refuse_value(struct config_why *ret_why, const struct config_spot *spot,
                                       const struct config_row *row, struct bytes found)
{
    struct buffer allowed;
    buffer_init(&allowed, sizeof ret_why->text);
    config_row_allowed(row, &allowed);
    if (row->form->secret || (row->form->url && memchr(found.at, '@', found.size) != NULL))
        found = bytes_of("(hidden)");
    (void)config_refuse(ret_why, spot, "found '%.*s', allowed is %.*s", config_quoted(found),
                        found.at, (int)allowed.size, allowed.data);
    buffer_release(&allowed);
    return TOCSIN_INVALID;
}

enum tocsin_status config_refuse_name(struct config_why *ret_why, const struct config_spot *spot,
                                      struct bytes path)
{
    char section[64];
    struct config_spot unnamed = *spot;
    const char *nearest = config_row_nearest(path, section);
    unnamed.name = NULL;
    if (nearest == NULL)
        return config_refuse(ret_why, &unnamed, "%.*s is not known", config_quoted(path), path.at);
    return config_refuse(ret_why, &unnamed, "%.*s is not known; did you mean %s?",
                         config_quoted(path), path.at, nearest);
}

char *config_copy(struct bytes text)
{
    char *copy = malloc(text.size + 1);
    if (copy != NULL) {
        if (text.size > 0)
            memcpy(copy, text.at, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

void config_list_release(struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){0};
}

void config_token_release(struct config_token *token)
{
    free(token->name);
    free(token->token);
    free(token->file);
    *token = (struct config_token){0};
}

void config_tokens_release(struct config_tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        config_token_release(&tokens->items[i]);
    free(tokens->items);
    *tokens = (struct config_tokens){0};
}

void config_value_release(const struct config_row *row, struct config *config)
{
    void *field = config_row_field(row, config);
    if (row->type == CONFIG_TEXT) {
        free(*(char **)field);
        *(char **)field = NULL;
    } else if (row->type == CONFIG_LIST) {
        config_list_release(field);
    } else if (row->type == CONFIG_TOKENS) {
        config_tokens_release(field);
    }
}

static const struct {
    const char *unit;
    uint64_t bytes;
} sizes[] = {
    {"TiB", 1024 * CONFIG_GIB},
    {"GiB", CONFIG_GIB},
    {"MiB", CONFIG_MIB},
    {"KiB", CONFIG_KIB},
    {"B", 1},
    {"", 1},
};

enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

void config_value_format_number(enum config_type type, uint64_t value,
                                char ret_text[CONFIG_NUMBER_BYTES])
{
    _Static_assert((int)DURATION_TEXT_BYTES <= (int)CONFIG_NUMBER_BYTES, "a duration fits");
    size_t unit = SIZE_COUNT - 1;
    if (type == CONFIG_TIME) {
        duration_format(value, ret_text);
        return;
    }
    if (type == CONFIG_SIZE && value > 0) {
        unit = 0;
        while (value % sizes[unit].bytes != 0)
            unit++;
        if (sizes[unit].bytes == 1)
            unit = SIZE_COUNT - 1;
    }
    (void)snprintf(ret_text, CONFIG_NUMBER_BYTES, "%" PRIu64 "%s", value / sizes[unit].bytes,
                   sizes[unit].unit);
}

/* Digits without a sign or leading zeros, then one of the units of a size. */
static bool read_size(struct bytes text, bool with_unit, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t at = 0;
    for (; at < text.size && text.at[at] >= '0' && text.at[at] <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.at[at] - '0'), &value))
            return false;
    }
    if (at == 0 || (at > 1 && text.at[0] == '0'))
        return false;
    struct bytes unit = {text.at + at, text.size - at};
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        if (bytes_are(unit, sizes[i].unit))
            return (with_unit || unit.size == 0) &&
                   !__builtin_mul_overflow(value, sizes[i].bytes, ret_value);
    }
    return false;
}

static bool read_number(const struct config_row *row, struct bytes text, uint64_t *ret_value)
{
    uint64_t value;
    if (row->type == CONFIG_TIME) {
        if (duration_parse(text.at, text.size, &value, NULL) != TOCSIN_OK)
            return false;
    } else if (!read_size(text, row->type == CONFIG_SIZE, &value)) {
        return false;
    }
    if (value < row->min || value > row->max)
        return false;
    *ret_value = value;
    return true;
}

/* Control characters, and what a YAML file cannot hold as it is: the line separators, the
 * byte order mark, and the two code points at the end of the first plane that are none. */
static bool is_unprintable(const char *at, size_t length)
{
    static const char *const others[] = {"\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf",
                                         "\xef\xbf\xbe", "\xef\xbf\xbf"};
    const unsigned char *byte = (const unsigned char *)at;
    if (length < 2)
        return byte[0] < ' ' || byte[0] == 0x7f;
    if (length == 2)
        return byte[0] == 0xc2 && byte[1] < 0xa0;
    for (size_t i = 0; length == 3 && i < sizeof others / sizeof others[0]; i++) {
        if (memcmp(at, others[i], 3) == 0)
            return true;
    }
    return false;
}

/* UTF-8 that can be printed and passed on. */
static bool is_clean(struct bytes text)
{
    for (size_t at = 0; at < text.size;) {
        size_t length = utf8_length(text.at + at, text.size - at);
        if (length == 0 || is_unprintable(text.at + at, length))
            return false;
        at += length;
    }
    return true;
}

static enum tocsin_status copy_fitting(const struct config_row *row, struct bytes text,
                                       const struct config_spot *spot, char **ret_copy,
                                       struct config_why *ret_why)
{
    if (!is_clean(text))
        return config_refuse_value(ret_why, spot, row, text);
    char *copy = config_copy(text);
    if (copy == NULL)
        return TOCSIN_NO_MEMORY;
    bool nothing = row->type == CONFIG_TEXT && row->min == 0 && text.size == 0;
    if (row->form->fits != NULL && !nothing && !row->form->fits(copy)) {
        free(copy);
        return config_refuse_value(ret_why, spot, row, text);
    }
    *ret_copy = copy;
    return TOCSIN_OK;
}

static enum tocsin_status set_text(const struct config_row *row, struct bytes text, char **field,
                                   const struct config_spot *spot, struct config_why *ret_why)
{
    char *copy;
    if (text.size < row->min || text.size > row->max)
        return config_refuse_value(ret_why, spot, row, text);
    enum tocsin_status status = copy_fitting(row, text, spot, &copy, ret_why);
    if (status != TOCSIN_OK)
        return status;
    free(*field);
    *field = copy;
    return TOCSIN_OK;
}

enum tocsin_status config_value_add_item(const struct config_row *row, struct bytes text,
                                         struct config_list *list, const struct config_spot *spot,
                                         struct config_why *ret_why)
{
    char *copy;
    if (list->count == row->max)
        return config_refuse(ret_why, spot, "more than %" PRIu64 " of them", row->max);
    enum tocsin_status status = copy_fitting(row, text, spot, &copy, ret_why);
    if (status != TOCSIN_OK)
        return status;
    char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items == NULL) {
        free(copy);
        return TOCSIN_NO_MEMORY;
    }
    list->items = items;
    list->items[list->count++] = copy;
    return TOCSIN_OK;
}

enum tocsin_status config_value_take_list(const struct config_row *row, struct config_list *list,
                                          struct config *config, const struct config_spot *spot,
                                          struct config_why *ret_why)
{
    assert(row->type == CONFIG_LIST);
    if (list->count < row->min) {
        config_list_release(list);
        return config_refuse_value(ret_why, spot, row, bytes_of(""));
    }
    config_value_release(row, config);
    *(struct config_list *)config_row_field(row, config) = *list;
    *list = (struct config_list){0};
    return TOCSIN_OK;
}

enum tocsin_status config_value_take_token(struct config_token *token, struct config_tokens *tokens,
                                           const struct config_spot *spot,
                                           struct config_why *ret_why)
{
    if (token->name == NULL)
        return config_refuse(ret_why, spot, "a token without a name");
    if (!config_form_name(token->name))
        return config_refuse(ret_why, spot,
                             "found the name '%.60s', allowed are letters, digits, dots, dashes "
                             "and underscores, 64 at most",
                             token->name);
    if ((token->token == NULL) == (token->file == NULL))
        return config_refuse(ret_why, spot, "token %s: one of token and token_file is needed",
                             token->name);
    if (token->token != NULL && !config_form_token(token->token))
        return config_refuse(ret_why, spot,
                             "token %s: found %zu characters; a token has %d to %d letters, digits "
                             "and -._~+/=",
                             token->name, strlen(token->token), CONFIG_TOKEN_BYTES_MIN,
                             CONFIG_TOKEN_BYTES_MAX);
    if (token->file != NULL && (token->file[0] == '\0' || !is_clean(bytes_of(token->file))))
        return config_refuse(ret_why, spot, "token %s: '%.60s' is not the name of a file",
                             token->name, token->file);
    struct config_token *items = realloc(tokens->items, (tokens->count + 1) * sizeof *items);
    if (items == NULL)
        return TOCSIN_NO_MEMORY;
    tokens->items = items;
    tokens->items[tokens->count++] = *token;
    *token = (struct config_token){0};
    return TOCSIN_OK;
}

enum tocsin_status config_value_take_tokens(const struct config_row *row,
                                            struct config_tokens *tokens, struct config *config,
                                            const struct config_spot *spot,
                                            struct config_why *ret_why)
{
    assert(row->type == CONFIG_TOKENS);
    if (tokens->count > row->max)
        return config_refuse(ret_why, spot, "found %zu tokens, allowed are %" PRIu64, tokens->count,
                             row->max);
    config_value_release(row, config);
    *(struct config_tokens *)config_row_field(row, config) = *tokens;
    *tokens = (struct config_tokens){0};
    return TOCSIN_OK;
}

/* The text up to the next comma; false when there is nothing left. */
static bool next_item(struct bytes *rest, struct bytes *ret_item)
{
    if (rest->at == NULL)
        return false;
    const char *comma = rest->size > 0 ? memchr(rest->at, ',', rest->size) : NULL;
    *ret_item = (struct bytes){rest->at, comma != NULL ? (size_t)(comma - rest->at) : rest->size};
    *rest = comma != NULL ? (struct bytes){comma + 1, rest->size - ret_item->size - 1}
                          : (struct bytes){NULL, 0};
    return true;
}

static enum tocsin_status set_list(const struct config_row *row, struct bytes text,
                                   struct config *config, const struct config_spot *spot,
                                   struct config_why *ret_why)
{
    struct config_list list = {0};
    struct bytes rest = text.size > 0 ? text : (struct bytes){NULL, 0};
    struct bytes item;
    enum tocsin_status status = TOCSIN_OK;
    while (status == TOCSIN_OK && next_item(&rest, &item))
        status = config_value_add_item(row, item, &list, spot, ret_why);
    if (status == TOCSIN_OK)
        status = config_value_take_list(row, &list, config, spot, ret_why);
    config_list_release(&list);
    return status;
}

/* name=token or name=@file */
static enum tocsin_status read_token(struct bytes text, struct config_token *token,
                                     const struct config_spot *spot, struct config_why *ret_why)
{
    const char *sign = text.size > 0 ? memchr(text.at, '=', text.size) : NULL;
    if (sign == NULL)
        return config_refuse(ret_why, spot, "allowed is name=token or name=@file, with commas");
    struct bytes name = {text.at, (size_t)(sign - text.at)};
    struct bytes value = {sign + 1, text.size - name.size - 1};
    bool file = value.size > 0 && value.at[0] == '@';
    value.at += file;
    value.size -= file;
    if (!is_clean(text))
        return config_refuse(ret_why, spot, "it holds control characters or bad UTF-8");
    char *copy = config_copy(value);
    token->name = config_copy(name);
    *(file ? &token->file : &token->token) = copy;
    return copy == NULL || token->name == NULL ? TOCSIN_NO_MEMORY : TOCSIN_OK;
}

static enum tocsin_status set_tokens(const struct config_row *row, struct bytes text,
                                     struct config *config, const struct config_spot *spot,
                                     struct config_why *ret_why)
{
    struct config_tokens tokens = {0};
    struct bytes rest = text.size > 0 ? text : (struct bytes){NULL, 0};
    struct bytes item;
    enum tocsin_status status = TOCSIN_OK;
    while (status == TOCSIN_OK && next_item(&rest, &item)) {
        struct config_token token = {0};
        status = read_token(item, &token, spot, ret_why);
        if (status == TOCSIN_OK)
            status = config_value_take_token(&token, &tokens, spot, ret_why);
        config_token_release(&token);
    }
    if (status == TOCSIN_OK)
        status = config_value_take_tokens(row, &tokens, config, spot, ret_why);
    config_tokens_release(&tokens);
    return status;
}

static enum tocsin_status set_choice(const struct config_row *row, struct bytes text,
                                     unsigned *field, const struct config_spot *spot,
                                     struct config_why *ret_why)
{
    for (unsigned i = 0; row->form->words[i] != NULL; i++) {
        if (bytes_are(text, row->form->words[i])) {
            *field = i;
            return TOCSIN_OK;
        }
    }
    return config_refuse_value(ret_why, spot, row, text);
}

enum tocsin_status config_value_set(const struct config_row *row, struct bytes text,
                                    struct config *config, const struct config_spot *spot,
                                    struct config_why *ret_why)
{
    void *field = config_row_field(row, config);
    switch (row->type) {
    case CONFIG_TEXT:
        return set_text(row, text, field, spot, ret_why);
    case CONFIG_NUMBER:
    case CONFIG_SIZE:
    case CONFIG_TIME:
        return read_number(row, text, field) ? TOCSIN_OK
                                             : config_refuse_value(ret_why, spot, row, text);
    case CONFIG_CHOICE:
        return set_choice(row, text, field, spot, ret_why);
    case CONFIG_LIST:
        return set_list(row, text, config, spot, ret_why);
    case CONFIG_TOKENS:
        return set_tokens(row, text, config, spot, ret_why);
    }
    return TOCSIN_INVALID;
}
