/* SPDX-License-Identifier: MIT */
#include "server/config_table.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/word_distance.h"
#include "server/config_form.h"
#include "server/config_value.h"

static const struct config_form form_none = {0};
static const struct config_form form_any = {"a text without control characters", NULL, NULL};
static const struct config_form form_address = {"an address such as 127.0.0.1:7400 or [::1]:7400",
                                                config_form_address, NULL};
static const struct config_form form_name = {"letters, digits, dots, dashes and underscores",
                                             config_form_name, NULL};
static const struct config_form form_host = {"a name such as timers.example.org or "
                                             "timers.example.org:8443",
                                             config_form_host, NULL};
static const struct config_form form_origin = {"an origin such as https://app.example.org",
                                               config_form_origin, NULL};
static const struct config_form form_token = {"a token", config_form_token, NULL};
static const struct config_form form_store = {
    "sqlite, memory, or redis://[user:password@]host[:port][/database]", config_form_store, NULL,
    .url = true};
static const struct config_form form_reach = {
    "a name or an address with a port, such as 10.0.0.1:7400", config_form_reach, NULL};
static const struct config_form form_clock = {.words =
                                                  (const char *const[]){"system", "manual", NULL}};
static const struct config_form form_level = {
    .words = (const char *const[]){"error", "warn", "info", "debug", NULL}};
static const struct config_form form_format = {.words =
                                                   (const char *const[]){"logfmt", "json", NULL}};
static const struct config_form form_history = {
    .words = (const char *const[]){"failures", "all", "none", NULL}};
static const struct config_form form_renewal = {
    .words = (const char *const[]){"time-wheel", "scheduled", NULL}};
static const struct config_form form_secret = {"a password", config_form_secret, NULL, true};
static const struct config_form form_redis = {"such as cache=redis://user:password@10.0.0.7:6379/0",
                                              config_form_redis, NULL, true};
static const struct config_form form_truth = {.words =
                                                  (const char *const[]){"false", "true", NULL}};

#define ROW(field, type, initial, min, max, form, text)                                            \
    {#field, CONFIG_##type, offsetof(struct config, field), initial, min, max, &form_##form, text},

const struct config_row config_table[] = {CONFIG_TABLE(ROW)};
const size_t config_table_count = sizeof config_table / sizeof config_table[0];

_Static_assert(sizeof config_table / sizeof config_table[0] <= CONFIG_ROWS_MAX,
               "every row remembers its source");

/* redis.renewal.time-wheel is redis.renewal.time_wheel, too. */
static bool is_path(struct bytes path, const char *known)
{
    for (size_t i = 0; i < path.size; i++) {
        char letter = path.at[i] == '-' ? '_' : path.at[i];
        if (letter != known[i])
            return false; /* also where known ends */
    }
    return known[path.size] == '\0';
}

const struct config_row *config_row_find(struct bytes path)
{
    for (size_t i = 0; i < config_table_count; i++) {
        if (is_path(path, config_table[i].path))
            return &config_table[i];
    }
    return NULL;
}

bool config_row_is_section(struct bytes path)
{
    for (size_t i = 0; i < config_table_count; i++) {
        struct bytes section = bytes_of(config_table[i].path);
        if (path.size == 0 || section.size <= path.size || section.at[path.size] != '.')
            continue;
        char known[CONFIG_VARIABLE_BYTES];
        (void)snprintf(known, sizeof known, "%.*s", (int)path.size, section.at);
        if (is_path(path, known))
            return true;
    }
    return false;
}

static struct bytes last_part(struct bytes path)
{
    for (size_t at = path.size; at > 0; at--) {
        if (path.at[at - 1] == '.')
            return (struct bytes){path.at + at, path.size - at};
    }
    return path;
}

/* As the whole path, or as a row whose last part is meant and stands in another section. */
static size_t unlikeness(struct bytes path, struct bytes known)
{
    size_t whole = word_distance(path, known);
    size_t part = word_distance(last_part(path), last_part(known)) + 1;
    return whole < part ? whole : part;
}

const char *config_row_nearest(struct bytes path, char ret_section[64])
{
    const char *nearest = NULL;
    if (path.size > WORD_DISTANCE_BYTES_MAX)
        return NULL;
    size_t best = 2 + last_part(path).size / 4; /* further away is not like it */
    for (size_t i = 0; i < config_table_count; i++) {
        struct bytes known = bytes_of(config_table[i].path);
        size_t found = unlikeness(path, known);
        if (found < best) {
            best = found;
            nearest = config_table[i].path;
        }
        struct bytes last = last_part(known);
        if (last.size == known.size)
            continue;
        known.size -= last.size + 1;
        found = word_distance(path, known);
        if (found < best) {
            best = found;
            (void)snprintf(ret_section, 64, "%.*s", (int)known.size, known.at);
            nearest = ret_section;
        }
    }
    return nearest;
}

const struct config_row *config_row_nearest_variable(struct bytes name)
{
    const struct config_row *nearest = NULL;
    if (name.size > WORD_DISTANCE_BYTES_MAX)
        return NULL;
    size_t best = 2 + name.size / 4;
    for (size_t i = 0; i < config_table_count; i++) {
        char variable[CONFIG_VARIABLE_BYTES];
        config_row_variable(&config_table[i], variable);
        size_t found = word_distance(name, bytes_of(variable + strlen("TOCSIN_")));
        if (found < best) {
            best = found;
            nearest = &config_table[i];
        }
    }
    return nearest;
}

void config_row_variable(const struct config_row *row, char ret_name[CONFIG_VARIABLE_BYTES])
{
    int size = snprintf(ret_name, CONFIG_VARIABLE_BYTES, "TOCSIN_%s", row->path);
    assert(size < CONFIG_VARIABLE_BYTES);
    for (int i = 0; i < size; i++)
        ret_name[i] = ret_name[i] == '.' ? '_' : (char)toupper((unsigned char)ret_name[i]);
}

static void put_range(const struct config_row *row, const char *what, struct buffer *out)
{
    char text[CONFIG_NUMBER_BYTES];
    buffer_append_text(out, what);
    buffer_append_text(out, " from ");
    config_value_format_number(row->type, row->min, text);
    buffer_append_text(out, text);
    buffer_append_text(out, " to ");
    config_value_format_number(row->type, row->max, text);
    buffer_append_text(out, text);
}

static void put_count(const struct config_row *row, struct buffer *out)
{
    char text[CONFIG_NUMBER_BYTES];
    buffer_append_text(out, "a list of ");
    if (row->min > 0)
        (void)snprintf(text, sizeof text, "%" PRIu64 " to %" PRIu64, row->min, row->max);
    else
        (void)snprintf(text, sizeof text, "up to %" PRIu64, row->max);
    buffer_append_text(out, text);
}

void config_row_allowed(const struct config_row *row, struct buffer *out)
{
    switch (row->type) {
    case CONFIG_TEXT:
        buffer_append_text(out, row->form->allowed);
        if (row->min == 0)
            buffer_append_text(out, ", or nothing");
        return;
    case CONFIG_NUMBER:
        put_range(row, "a whole number", out);
        return;
    case CONFIG_SIZE:
        put_range(row, "a size", out);
        buffer_append_text(out, ", such as 64KiB");
        return;
    case CONFIG_TIME:
        put_range(row, "a time", out);
        buffer_append_text(out, ", such as 30s");
        return;
    case CONFIG_CHOICE:
        buffer_append_text(out, "one of ");
        for (size_t i = 0; row->form->words[i] != NULL; i++) {
            buffer_append_text(out, i > 0 ? ", " : "");
            buffer_append_text(out, row->form->words[i]);
        }
        return;
    case CONFIG_LIST:
        put_count(row, out);
        buffer_append_text(out, ", each ");
        buffer_append_text(out, row->form->allowed);
        return;
    case CONFIG_TOKENS:
        put_count(row, out);
        buffer_append_text(out, ", each {name, token} or {name, token_file}");
        return;
    }
}
