/* SPDX-License-Identifier: MIT */
/* The file: YAML, walked strictly by the table.
 *
 * libyaml gives events (scalar, sequence, mapping, …); a mapping's keys lead from path to path,
 * and what is not in the table ends the walk. So depth is bounded by the table, and nothing is
 * ever skipped. Of YAML only plain structure is allowed: anchors, aliases, tags and further
 * documents are refused, since none has a use here and each has a surprise. */
#include "server/config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "server/config_table.h"
#include "server/config_value.h"

enum { PATH_BYTES = 128, SECTIONS_MAX = 16 };

struct walk {
    yaml_parser_t parser;
    yaml_event_t event; /* the one looked at */
    bool has_event;
    const char *name;
    struct config *config;
    struct config beaten; /* takes values that another source beats: they must be right, too */
    struct config_why *why;
    char path[PATH_BYTES];
    size_t row_lines[CONFIG_ROWS_MAX]; /* where a row was set in this file; 0: not yet */
    struct {
        char path[PATH_BYTES];
        size_t line;
    } sections[SECTIONS_MAX];
    size_t section_count;
};

static size_t line_of(const struct walk *walk)
{
    return walk->event.start_mark.line + 1;
}

/* The event looked at; its path, too, once there is one. */
static struct config_spot spot_of(const struct walk *walk)
{
    return (struct config_spot){CONFIG_FILE, walk->name, line_of(walk),
                                walk->event.start_mark.column + 1,
                                walk->path[0] != '\0' ? walk->path : NULL};
}

static enum tocsin_status refuse(const struct walk *walk, const char *what)
{
    struct config_spot spot = spot_of(walk);
    return config_refuse(walk->why, &spot, "%s", what);
}

static enum tocsin_status refuse_syntax(const struct walk *walk)
{
    const yaml_parser_t *parser = &walk->parser;
    struct config_spot spot = {.source = CONFIG_FILE, .file = walk->name};
    if (parser->error == YAML_MEMORY_ERROR)
        return TOCSIN_NO_MEMORY;
    if (parser->error == YAML_READER_ERROR)
        return config_refuse(walk->why, &spot, "byte %zu: %s", parser->problem_offset,
                             parser->problem);
    spot.line = parser->problem_mark.line + 1;
    spot.column = parser->problem_mark.column + 1;
    return config_refuse(walk->why, &spot, "this is not YAML: %s",
                         parser->problem != NULL ? parser->problem : "it cannot be read");
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return event->data.alias.anchor;
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static bool has_tag(const yaml_event_t *event)
{
    return (event->type == YAML_SCALAR_EVENT && event->data.scalar.tag != NULL) ||
           (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.tag != NULL) ||
           (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.tag != NULL);
}

static enum tocsin_status next(struct walk *walk)
{
    if (walk->has_event)
        yaml_event_delete(&walk->event);
    walk->has_event = yaml_parser_parse(&walk->parser, &walk->event) != 0;
    if (!walk->has_event)
        return refuse_syntax(walk);
    if (anchor_of(&walk->event) != NULL)
        return refuse(walk, "anchors (&) and aliases (*) are not allowed");
    if (has_tag(&walk->event))
        return refuse(walk, "tags (!) are not allowed");
    return TOCSIN_OK;
}

static struct bytes scalar(const struct walk *walk)
{
    assert(walk->event.type == YAML_SCALAR_EVENT);
    return (struct bytes){(const char *)walk->event.data.scalar.value,
                          walk->event.data.scalar.length};
}

/* What YAML takes for no value at all. */
static bool is_null(const struct walk *walk)
{
    if (walk->event.type != YAML_SCALAR_EVENT ||
        walk->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    struct bytes text = scalar(walk);
    return text.size == 0 || bytes_are(text, "~") || bytes_are(text, "null") ||
           bytes_are(text, "Null") || bytes_are(text, "NULL");
}

static const char *kind_found(const struct walk *walk)
{
    if (is_null(walk))
        return "nothing";
    switch (walk->event.type) {
    case YAML_MAPPING_START_EVENT:
        return "a mapping";
    case YAML_SEQUENCE_START_EVENT:
        return "a list";
    default:
        return "a single value";
    }
}

static enum tocsin_status refuse_kind(const struct walk *walk, const struct config_row *row)
{
    struct config_spot spot = spot_of(walk);
    struct buffer allowed;
    buffer_init(&allowed, sizeof walk->why->text);
    config_row_allowed(row, &allowed);
    enum tocsin_status status = config_refuse(walk->why, &spot, "found %s, allowed is %.*s",
                                              kind_found(walk), (int)allowed.size, allowed.data);
    buffer_release(&allowed);
    return status;
}

static enum tocsin_status walk_list(struct walk *walk, const struct config_row *row,
                                    struct config *config)
{
    struct config_list list = {0};
    struct config_spot start = spot_of(walk);
    enum tocsin_status status;
    while ((status = next(walk)) == TOCSIN_OK && walk->event.type != YAML_SEQUENCE_END_EVENT) {
        struct config_spot spot = spot_of(walk);
        if (walk->event.type != YAML_SCALAR_EVENT || is_null(walk))
            status = refuse_kind(walk, row);
        else
            status = config_value_add_item(row, scalar(walk), &list, &spot, walk->why);
        if (status != TOCSIN_OK)
            break;
    }
    if (status == TOCSIN_OK)
        status = config_value_take_list(row, &list, config, &start, walk->why);
    config_list_release(&list);
    return status;
}

/* One key of a token and its value. */
static enum tocsin_status walk_token_key(struct walk *walk, struct config_token *token)
{
    static const char unknown[] = "a token has name and either token or token_file";
    char **field = NULL;
    if (walk->event.type == YAML_SCALAR_EVENT) {
        struct bytes key = scalar(walk);
        field = bytes_are(key, "name")         ? &token->name
                : bytes_are(key, "token")      ? &token->token
                : bytes_are(key, "token_file") ? &token->file
                                               : NULL;
    }
    if (field == NULL)
        return refuse(walk, unknown);
    if (*field != NULL)
        return refuse(walk, "the same key twice in one token");
    enum tocsin_status status = next(walk);
    if (status != TOCSIN_OK)
        return status;
    if (walk->event.type != YAML_SCALAR_EVENT || is_null(walk) || scalar(walk).size == 0 ||
        memchr(scalar(walk).at, 0, scalar(walk).size) != NULL)
        return refuse(walk, unknown);
    *field = config_copy(scalar(walk));
    return *field != NULL ? TOCSIN_OK : TOCSIN_NO_MEMORY;
}

static enum tocsin_status walk_token(struct walk *walk, struct config_tokens *tokens)
{
    struct config_token token = {0};
    struct config_spot spot = spot_of(walk);
    if (walk->event.type != YAML_MAPPING_START_EVENT)
        return refuse(walk, "a token is a mapping with name and either token or token_file");
    enum tocsin_status status;
    while ((status = next(walk)) == TOCSIN_OK && walk->event.type != YAML_MAPPING_END_EVENT) {
        status = walk_token_key(walk, &token);
        if (status != TOCSIN_OK)
            break;
    }
    if (status == TOCSIN_OK)
        status = config_value_take_token(&token, tokens, &spot, walk->why);
    config_token_release(&token);
    return status;
}

static enum tocsin_status walk_tokens(struct walk *walk, const struct config_row *row,
                                      struct config *config)
{
    struct config_tokens tokens = {0};
    struct config_spot start = spot_of(walk);
    enum tocsin_status status;
    while ((status = next(walk)) == TOCSIN_OK && walk->event.type != YAML_SEQUENCE_END_EVENT) {
        status = walk_token(walk, &tokens);
        if (status != TOCSIN_OK)
            break;
    }
    if (status == TOCSIN_OK)
        status = config_value_take_tokens(row, &tokens, config, &start, walk->why);
    config_tokens_release(&tokens);
    return status;
}

/* A list may be given as its only item. */
static enum tocsin_status walk_value(struct walk *walk, const struct config_row *row)
{
    bool wins = config_row_may_set(walk->config, row, CONFIG_FILE);
    struct config *config = wins ? walk->config : &walk->beaten;
    bool sequence = walk->event.type == YAML_SEQUENCE_START_EVENT;
    enum tocsin_status status;
    if (sequence && row->type == CONFIG_LIST) {
        status = walk_list(walk, row, config);
    } else if (sequence && row->type == CONFIG_TOKENS) {
        status = walk_tokens(walk, row, config);
    } else if (walk->event.type == YAML_SCALAR_EVENT && !is_null(walk) &&
               row->type != CONFIG_TOKENS) {
        struct config_spot spot = spot_of(walk);
        status = row->type == CONFIG_LIST && memchr(scalar(walk).at, ',', scalar(walk).size)
                     ? refuse_kind(walk, row)
                     : config_value_set(row, scalar(walk), config, &spot, walk->why);
    } else {
        status = refuse_kind(walk, row);
    }
    if (status == TOCSIN_OK && wins)
        config_row_was_set(walk->config, row, CONFIG_FILE);
    return status;
}

static enum tocsin_status refuse_twice(const struct walk *walk, size_t line)
{
    struct config_spot spot = spot_of(walk);
    return config_refuse(walk->why, &spot, "it is there already, in line %zu", line);
}

static enum tocsin_status enter_section(struct walk *walk)
{
    for (size_t i = 0; i < walk->section_count; i++) {
        if (strcmp(walk->sections[i].path, walk->path) == 0)
            return refuse_twice(walk, walk->sections[i].line);
    }
    assert(walk->section_count < SECTIONS_MAX);
    memcpy(walk->sections[walk->section_count].path, walk->path, PATH_BYTES);
    walk->sections[walk->section_count++].line = line_of(walk);
    enum tocsin_status status = next(walk);
    if (status == TOCSIN_OK && walk->event.type != YAML_MAPPING_START_EVENT)
        status =
            refuse(walk, is_null(walk) ? "nothing stands below it: give it keys, or take it out"
                                       : "found a value, allowed are keys below it");
    return status;
}

static enum tocsin_status walk_row(struct walk *walk, const struct config_row *row)
{
    size_t *line = &walk->row_lines[row - config_table];
    if (*line != 0)
        return refuse_twice(walk, *line);
    *line = line_of(walk);
    enum tocsin_status status = next(walk);
    return status == TOCSIN_OK ? walk_value(walk, row) : status;
}

/* Adds the key to the path; false when that is too long to be one of ours. */
static bool extend_path(struct walk *walk, size_t parent, struct bytes key)
{
    size_t size = parent + (parent > 0) + key.size;
    if (size >= PATH_BYTES || key.size == 0 || memchr(key.at, 0, key.size) != NULL ||
        memchr(key.at, '.', key.size) != NULL)
        return false;
    if (parent > 0)
        walk->path[parent++] = '.';
    memcpy(walk->path + parent, key.at, key.size);
    walk->path[size] = '\0';
    return true;
}

static enum tocsin_status refuse_key(const struct walk *walk, const struct config_spot *spot,
                                     struct bytes key)
{
    const struct config_row *row = config_row_find(key);
    if (row == NULL)
        return config_refuse_name(walk->why, spot, key);
    return config_refuse(walk->why, spot,
                         "%s: a key has no dots; what is below '%.*s:' is indented", row->path,
                         (int)strcspn(row->path, "."), row->path);
}

/* From the start of a mapping to its end; the table bounds how deep this goes. */
static enum tocsin_status walk_mapping(struct walk *walk) // NOLINT(misc-no-recursion)
{
    size_t parent = strlen(walk->path);
    for (;;) {
        enum tocsin_status status = next(walk);
        walk->path[parent] = '\0';
        if (status != TOCSIN_OK || walk->event.type == YAML_MAPPING_END_EVENT)
            return status;
        if (walk->event.type != YAML_SCALAR_EVENT)
            return refuse(walk, "a key must be a single word");
        struct config_spot spot = spot_of(walk);
        if (!extend_path(walk, parent, scalar(walk)))
            return refuse_key(walk, &spot, scalar(walk));
        struct bytes path = bytes_of(walk->path);
        const struct config_row *row = config_row_find(path);
        if (row != NULL) {
            status = walk_row(walk, row);
        } else if (config_row_is_section(path)) {
            status = enter_section(walk);
            if (status == TOCSIN_OK)
                status = walk_mapping(walk);
        } else {
            status = config_refuse_name(walk->why, &spot, path);
        }
        if (status != TOCSIN_OK)
            return status;
    }
}

static enum tocsin_status walk_stream(struct walk *walk)
{
    enum tocsin_status status = next(walk); /* the stream's start */
    if (status == TOCSIN_OK)
        status = next(walk);
    if (status != TOCSIN_OK || walk->event.type == YAML_STREAM_END_EVENT)
        return status;
    status = next(walk);
    if (status != TOCSIN_OK)
        return status;
    if (walk->event.type == YAML_MAPPING_START_EVENT)
        status = walk_mapping(walk);
    else if (!is_null(walk))
        status = refuse(walk, "the file must be a mapping: lines such as 'store: sqlite'");
    walk->path[0] = '\0';
    if (status == TOCSIN_OK)
        status = next(walk); /* the document's end */
    if (status == TOCSIN_OK)
        status = next(walk);
    if (status == TOCSIN_OK && walk->event.type != YAML_STREAM_END_EVENT)
        status = refuse(walk, "a second document (---) is not allowed");
    return status;
}

enum tocsin_status config_read_yaml(struct config *config, const char *name, struct bytes yaml,
                                    struct config_why *ret_why)
{
    struct config_why unwanted = {""};
    struct walk walk = {
        .name = name, .config = config, .why = ret_why != NULL ? ret_why : &unwanted};
    struct config_spot spot = {.source = CONFIG_FILE, .file = name};
    if (yaml.size > CONFIG_FILE_BYTES_MAX)
        return config_refuse(ret_why, &spot, "it is larger than 256KiB");
    enum tocsin_status status = config_init(&walk.beaten);
    if (status != TOCSIN_OK)
        return status;
    status = TOCSIN_NO_MEMORY;
    if (yaml_parser_initialize(&walk.parser) != 0) {
        yaml_parser_set_encoding(&walk.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&walk.parser, (const unsigned char *)yaml.at, yaml.size);
        status = walk_stream(&walk);
        if (walk.has_event)
            yaml_event_delete(&walk.event);
        yaml_parser_delete(&walk.parser);
    }
    config_release(&walk.beaten);
    return status;
}
