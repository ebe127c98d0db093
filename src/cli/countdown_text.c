/* SPDX-License-Identifier: MIT */
#include "cli/countdown_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/clock_face.h"
#include "cli/fields.h"
#include "cli/task_text.h"
#include "cli/when.h"

bool countdown_text_read(struct bytes json, struct countdown_text *ret_it)
{
    struct countdown_text it = {.rev = 0};
    int64_t left_ms;
    if (!fields_text(json, "state", it.state, sizeof it.state) ||
        !fields_int64(json, "left_ms", &left_ms) || left_ms < 0)
        return false;
    it.left_ms = (uint64_t)left_ms;
    fields_clean(json, "key", it.key, sizeof it.key);
    fields_clean(json, "owner", it.owner, sizeof it.owner);
    fields_clean(json, "version", it.version, sizeof it.version);
    fields_clean(json, "kind", it.kind, sizeof it.kind);
    (void)fields_int64(json, "deadline_ms", &it.deadline_ms);
    (void)fields_int64(json, "started_ms", &it.started_ms);
    (void)fields_int64(json, "expired_ms", &it.expired_ms);
    (void)fields_int64(json, "rev", &it.rev);
    *ret_it = it;
    return true;
}

static bool is_firing(const struct countdown_text *it)
{
    return strcmp(it->state, "firing") == 0;
}

bool countdown_text_over(const struct countdown_text *it)
{
    return is_firing(it) || strcmp(it->state, "expired") == 0;
}

enum paint countdown_text_paint(const struct countdown_text *it)
{
    return strcmp(it->state, "running") == 0                   ? PAINT_GOOD
           : strcmp(it->state, "paused") == 0 || is_firing(it) ? PAINT_WARN
                                                               : PAINT_DIM;
}

void countdown_text_row(struct bytes json, int64_t now_ms, struct table *table)
{
    struct countdown_text it;
    (void)now_ms; /* the server has counted already */
    if (!countdown_text_read(json, &it))
        return;
    table_put(table, PAINT_BOLD, "%s", it.key);
    table_put(table, countdown_text_paint(&it), "%s", it.state);
    table_put(table, PAINT_PLAIN, "%s", clock_face_whole(it.left_ms).text);
    table_put(table, PAINT_PLAIN, "%s", it.owner);
    table_put(table, PAINT_PLAIN, "%s", it.version);
    table_put(table, PAINT_PLAIN, "%s", it.kind);
}

static void print_time(const char *label, int64_t at_ms, int64_t now_ms)
{
    char text[160];
    task_text_due(at_ms, now_ms, text, sizeof text);
    table_line(label, PAINT_PLAIN, "%s", text);
}

void countdown_text_print(struct bytes json, int64_t now_ms)
{
    struct countdown_text it;
    int64_t fence;
    if (!countdown_text_read(json, &it))
        return;
    table_line("key", PAINT_BOLD, "%s", it.key);
    table_line("owner", PAINT_PLAIN, "%s", it.owner);
    table_line("state", countdown_text_paint(&it), "%s", it.state);
    table_line("left", PAINT_BOLD, "%s", clock_face_text(it.left_ms).text);
    if (it.deadline_ms > 0 && it.expired_ms == 0)
        print_time("ends", it.deadline_ms, now_ms);
    if (it.expired_ms > 0)
        print_time("expired", it.expired_ms, now_ms);
    print_time("started", it.started_ms, now_ms);
    table_line("version", PAINT_PLAIN, "%s", it.version);
    table_line("kind", PAINT_PLAIN, "%s", it.kind);
    if (fields_int64(json, "fence", &fence))
        table_line("fence", PAINT_PLAIN, "%" PRId64, fence);
    table_line("rev", PAINT_PLAIN, "%" PRId64, it.rev);
}

void countdown_text_say(const struct countdown_text *it, char ret_text[COUNTDOWN_LINE_BYTES])
{
    if (it->expired_ms > 0 || strcmp(it->state, "expired") == 0)
        (void)snprintf(ret_text, COUNTDOWN_LINE_BYTES, "the time of %s was up at %s", it->owner,
                       when_clock(it->expired_ms).text);
    else if (is_firing(it))
        (void)snprintf(ret_text, COUNTDOWN_LINE_BYTES,
                       "the time of %s is up since %s, and is being dealt with", it->owner,
                       when_clock(it->deadline_ms).text);
    else if (it->deadline_ms > 0)
        (void)snprintf(ret_text, COUNTDOWN_LINE_BYTES, "%s has %s left, until %s", it->owner,
                       clock_face_whole(it->left_ms).text, when_clock(it->deadline_ms).text);
    else
        (void)snprintf(ret_text, COUNTDOWN_LINE_BYTES, "%s has %s left", it->owner,
                       clock_face_whole(it->left_ms).text);
}
