/* SPDX-License-Identifier: MIT */
#include "cli/keep_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/fields.h"
#include "cli/task_text.h"
#include "schedule/duration.h"

enum { TEXT_BYTES = 256, LINE_BYTES = 600 };

static const char *const good_results[] = {"renewed", "longer", "persistent", NULL};
static const char *const bad_results[] = {"missing", "foreign", "refused",
                                          "failed",  "unknown", NULL};

static struct bytes object_of(struct bytes json, const char *name)
{
    struct bytes raw = {"{}", 2};
    if (fields_raw(json, name, &raw) && raw.at[0] != '{')
        raw = (struct bytes){"{}", 2};
    return raw;
}

static enum paint paint_of(const char *status)
{
    static const struct {
        const char *status;
        enum paint paint;
    } paints[] = {
        {"ACTIVE", PAINT_GOOD}, {"PAUSED", PAINT_WARN}, {"FAILED", PAINT_BAD}, {"LOST", PAINT_BAD}};
    for (size_t i = 0; i < sizeof paints / sizeof paints[0]; i++) {
        if (strcmp(status, paints[i].status) == 0)
            return paints[i].paint;
    }
    return PAINT_DIM;
}

/* ---- which keys */

static void add(char text[LINE_BYTES], const char *more)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, LINE_BYTES - used, "%s%s", used > 0 ? ", " : "", more);
}

/* "a, b and 7 more" */
static void add_keys(struct bytes list, char text[LINE_BYTES])
{
    enum { SHOWN = 3 };
    struct bytes item;
    size_t count = 0;
    for (; fields_item(&list, &item); count++) {
        char object[LINE_BYTES];
        char key[TEXT_BYTES];
        int size = snprintf(object, sizeof object, "{\"key\":%.*s}", (int)item.size, item.at);
        if (count >= SHOWN)
            continue;
        fields_clean((struct bytes){object, (size_t)size}, "key", key, sizeof key);
        add(text, size < LINE_BYTES ? key : "(a long key)");
    }
    if (count > SHOWN) {
        char more[40];
        (void)snprintf(more, sizeof more, "%zu more", count - SHOWN);
        add(text, more);
    }
}

static void add_source(struct bytes object, char text[LINE_BYTES])
{
    struct bytes list;
    char word[TEXT_BYTES];
    char line[TEXT_BYTES + 16];
    if (fields_raw(object, "keys", &list))
        add_keys(list, text);
    fields_clean(object, "pattern", word, sizeof word);
    if (word[0] != '\0')
        add(text, word);
    fields_clean(object, "prefix", word, sizeof word);
    if (word[0] != '\0') {
        (void)snprintf(line, sizeof line, "%s... (prefix)", word);
        add(text, line);
    }
}

static void say_keys(struct bytes json, char text[LINE_BYTES])
{
    struct bytes list;
    struct bytes item;
    text[0] = '\0';
    add_source(json, text);
    if (fields_raw(json, "any", &list)) {
        while (fields_item(&list, &item))
            add_source(item, text);
    }
}

/* ---- how it went */

static void add_results(struct bytes last, const char *const *names, char text[LINE_BYTES])
{
    for (; *names != NULL; names++) {
        char word[64];
        int64_t count = fields_number(last, *names);
        (void)snprintf(word, sizeof word, "%" PRId64 " %s", count, *names);
        if (count > 0)
            add(text, word);
    }
}

bool keep_text_all_alive(struct bytes json)
{
    struct bytes last = object_of(json, "last");
    int64_t failures = fields_number(json, "failures");
    for (size_t i = 0; bad_results[i] != NULL; i++)
        failures += fields_number(last, bad_results[i]);
    return failures == 0;
}

static void say_last(struct bytes json, char text[LINE_BYTES])
{
    struct bytes last = object_of(json, "last");
    text[0] = '\0';
    add_results(last, good_results, text);
    add_results(last, bad_results, text);
    if (text[0] == '\0')
        add(text, last.size > 2 ? "no keys"
                  : fields_number(object_of(json, "metrics"), "total") > 0
                      ? "not kept after its end"
                      : "no round yet");
}

static void say_every(struct bytes json, char text[DURATION_TEXT_BYTES])
{
    duration_format((uint64_t)fields_number(json, "every"), text);
}

/* "97 %"; "-" before the first key */
static void say_rate(struct bytes metrics, char *text, size_t room)
{
    int64_t good = fields_number(metrics, "success");
    int64_t bad = fields_number(metrics, "failure");
    if (good + bad == 0)
        (void)snprintf(text, room, "-");
    else
        (void)snprintf(text, room, "%" PRId64 " %%", good * 100 / (good + bad));
}

void keep_text_row(struct bytes json, int64_t now_ms, struct table *table)
{
    char text[TEXT_BYTES];
    char line[LINE_BYTES];
    struct bytes metrics = object_of(json, "metrics");
    (void)now_ms;
    fields_clean(json, "id", text, sizeof text);
    table_put(table, PAINT_BOLD, "%s", text);
    fields_clean(json, "status", text, sizeof text);
    table_put(table, paint_of(text), "%s", text);
    fields_clean(json, "name", text, sizeof text);
    table_put(table, PAINT_PLAIN, "%s", text);
    say_keys(json, line);
    table_put(table, PAINT_PLAIN, "%.60s", line);
    fields_clean(json, "redis", text, sizeof text);
    table_put(table, PAINT_PLAIN, "%s", text);
    say_every(json, text);
    table_put(table, PAINT_PLAIN, "%s", text);
    table_put(table, PAINT_PLAIN, "%" PRId64, fields_number(metrics, "total"));
    say_rate(metrics, text, sizeof text);
    table_put(table, PAINT_PLAIN, "%s", text);
}

static void print_text(struct bytes json, const char *name, const char *label)
{
    char text[TEXT_BYTES];
    fields_clean(json, name, text, sizeof text);
    if (text[0] != '\0')
        table_line(label, PAINT_PLAIN, "%s", text);
}

static void print_time(const char *label, int64_t at_ms, int64_t now_ms)
{
    char text[160];
    if (at_ms <= 0)
        return;
    task_text_due(at_ms, now_ms, text, sizeof text);
    table_line(label, PAINT_PLAIN, "%s", text);
}

static void print_bad(struct bytes last)
{
    struct bytes list;
    struct bytes item;
    if (!fields_raw(last, "bad", &list))
        return;
    while (fields_item(&list, &item)) {
        char key[TEXT_BYTES];
        char result[TEXT_BYTES];
        fields_clean(item, "key", key, sizeof key);
        fields_clean(item, "result", result, sizeof result);
        table_line("", PAINT_WARN, "%s: %s", key, result);
    }
}

/* The usual one in words; the others as they were written. */
static void print_strategy(struct bytes strategy)
{
    char type[TEXT_BYTES];
    char ttl[DURATION_TEXT_BYTES];
    int64_t ms;
    fields_clean(strategy, "type", type, sizeof type);
    if (strcmp(type, "fixed") == 0 && fields_int64(strategy, "ttl", &ms) && ms >= 0) {
        duration_format((uint64_t)ms, ttl);
        table_line("ttl", PAINT_PLAIN, "%s", ttl);
    } else {
        table_line("strategy", PAINT_PLAIN, "%.*s", (int)strategy.size, strategy.at);
    }
}

void keep_text_print(struct bytes json, int64_t now_ms)
{
    char text[TEXT_BYTES];
    char line[LINE_BYTES];
    struct bytes metrics = object_of(json, "metrics");
    struct bytes strategy;
    print_text(json, "id", "id");
    print_text(json, "name", "name");
    fields_clean(json, "status", text, sizeof text);
    table_line("status", paint_of(text), "%s", text);
    print_text(json, "why", "why");
    say_keys(json, line);
    table_line("keys", PAINT_BOLD, "%s", line);
    print_text(json, "redis", "redis");
    if (fields_raw(json, "strategy", &strategy))
        print_strategy(strategy);
    say_every(json, text);
    table_line("every", PAINT_PLAIN, "%s", text);
    print_text(json, "owner", "owner");
    say_last(json, line);
    table_line("last round", PAINT_PLAIN, "%s", line);
    print_bad(object_of(json, "last"));
    print_text(object_of(json, "last"), "why", "because");
    say_rate(metrics, text, sizeof text);
    bool keys = strcmp(text, "-") != 0;
    table_line("rounds", PAINT_PLAIN, "%" PRId64 "%s%s%s", fields_number(metrics, "total"),
               keys ? ", " : "", keys ? text : "", keys ? " of the keys were alive" : "");
    print_time("renewed", fields_number(metrics, "last_ms"), now_ms);
    print_time("next", fields_number(json, "next_ms"), now_ms);
    print_time("created", fields_number(metrics, "created_ms"), now_ms);
    print_time("ended", fields_number(json, "ended_ms"), now_ms);
    table_line("rev", PAINT_PLAIN, "%" PRId64, fields_number(json, "rev"));
}

void keep_text_line(struct bytes json)
{
    char id[TEXT_BYTES];
    char status[TEXT_BYTES];
    char line[LINE_BYTES];
    fields_clean(json, "id", id, sizeof id);
    fields_clean(json, "status", status, sizeof status);
    say_last(json, line);
    (void)printf("%s%s%s %s%s%s: %s\n", paint_on(PAINT_BOLD), id, paint_off(),
                 paint_on(paint_of(status)), status, paint_off(), line);
}
