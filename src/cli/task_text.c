/* SPDX-License-Identifier: MIT */
#include "cli/task_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/fields.h"
#include "cli/when.h"

enum { SHORT_BYTES = 64, RHYTHM_BYTES = 400, SHOWN_BYTES = 4000, ID_BYTES = 256 * 2 };

/* "" when it has none. */
static void rhythm_of(struct bytes task, char *ret_text, size_t room)
{
    char what[SHORT_BYTES * 4];
    char zone[SHORT_BYTES];
    ret_text[0] = '\0';
    if (fields_text(task, "every", what, sizeof what))
        (void)snprintf(ret_text, room, "every %s", what);
    else if (fields_text(task, "cron", what, sizeof what))
        (void)snprintf(ret_text, room, "%s%s%s", what,
                       fields_text(task, "tz", zone, sizeof zone) ? " " : "", zone);
}

static void queue_of(struct bytes task, char *ret_text, size_t room)
{
    struct bytes target;
    ret_text[0] = '\0';
    if (fields_raw(task, "target", &target))
        (void)fields_text(target, "queue", ret_text, room);
}

void task_text_row(struct bytes task, int64_t now_ms, struct table *table)
{
    char id[ID_BYTES] = "";
    char status[SHORT_BYTES] = "";
    char rhythm[RHYTHM_BYTES];
    char queue[ID_BYTES];
    char name[ID_BYTES] = "";
    int64_t due_ms = 0;
    int64_t attempt = 0;
    (void)fields_text(task, "id", id, sizeof id);
    (void)fields_text(task, "status", status, sizeof status);
    (void)fields_text(task, "name", name, sizeof name);
    (void)fields_int64(task, "attempt", &attempt);
    rhythm_of(task, rhythm, sizeof rhythm);
    queue_of(task, queue, sizeof queue);
    table_put(table, PAINT_BOLD, "%s", id);
    table_put(table, paint_of_status(status), "%s", status);
    if (fields_int64(task, "due_ms", &due_ms))
        table_put(table, PAINT_PLAIN, "%s", when_relative(due_ms, now_ms).text);
    else
        table_put(table, PAINT_PLAIN, "-");
    table_put(table, PAINT_PLAIN, "%s", rhythm[0] != '\0' ? rhythm : "once");
    table_put(table, PAINT_PLAIN, "%s", queue);
    table_put(table, PAINT_PLAIN, "%" PRId64, attempt);
    table_put(table, PAINT_PLAIN, "%s", name);
}

void task_text_due(int64_t due_ms, int64_t now_ms, char *ret_text, size_t room)
{
    (void)snprintf(ret_text, room, "%s (%s)", when_relative(due_ms, now_ms).text,
                   when_local(due_ms).text);
}

static void line_of_text(struct bytes task, const char *name, enum paint paint)
{
    char text[2048];
    if (fields_text(task, name, text, sizeof text))
        table_line(name, paint, "%s", text);
}

static void line_of_number(struct bytes task, const char *name, bool also_zero)
{
    int64_t value;
    if (fields_int64(task, name, &value) && (also_zero || value != 0))
        table_line(name, PAINT_PLAIN, "%" PRId64, value);
}

static void line_of_raw(struct bytes task, const char *name)
{
    struct bytes value;
    if (!fields_raw(task, name, &value) || bytes_are(value, "null"))
        return;
    if (value.size <= SHOWN_BYTES) {
        table_line(name, PAINT_PLAIN, "%.*s", (int)value.size, value.at);
        return;
    }
    size_t size = SHOWN_BYTES;
    while (size > 0 && ((unsigned char)value.at[size] & 0xc0) == 0x80)
        size--;
    table_line(name, PAINT_PLAIN, "%.*s ... (%zu bytes: --json shows them all)", (int)size,
               value.at, value.size);
}

static void line_of_time(struct bytes task, const char *name, const char *label, int64_t now_ms)
{
    char text[160];
    int64_t at_ms;
    if (!fields_int64(task, name, &at_ms))
        return;
    task_text_due(at_ms, now_ms, text, sizeof text);
    table_line(label, PAINT_PLAIN, "%s", text);
}

void task_text_print(struct bytes task, int64_t now_ms)
{
    char status[SHORT_BYTES] = "";
    char rhythm[RHYTHM_BYTES];
    char queue[ID_BYTES];
    int64_t remaining;
    line_of_text(task, "id", PAINT_BOLD);
    line_of_text(task, "name", PAINT_PLAIN);
    (void)fields_text(task, "status", status, sizeof status);
    bool requested = fields_true(task, "cancel_requested");
    table_line("status", paint_of_status(status), "%s%s", status,
               requested ? ", told to stop" : "");
    line_of_time(task, "due_ms", "due", now_ms);
    rhythm_of(task, rhythm, sizeof rhythm);
    if (rhythm[0] != '\0')
        table_line("rhythm", PAINT_PLAIN, "%s", rhythm);
    if (fields_int64(task, "remaining", &remaining) && remaining >= 0)
        table_line("remaining", PAINT_PLAIN, "%" PRId64, remaining);
    queue_of(task, queue, sizeof queue);
    if (queue[0] != '\0')
        table_line("queue", PAINT_PLAIN, "%s", queue);
    line_of_number(task, "attempt", true);
    line_of_number(task, "executed", false);
    line_of_number(task, "skipped", false);
    line_of_number(task, "failed", false);
    line_of_text(task, "last_error", PAINT_BAD);
    line_of_raw(task, "retry");
    line_of_text(task, "timeout", PAINT_PLAIN);
    line_of_time(task, "created_ms", "created", now_ms);
    line_of_number(task, "rev", true);
    line_of_raw(task, "payload");
    line_of_raw(task, "result");
}

void task_text_line(struct bytes task, int64_t now_ms)
{
    char id[ID_BYTES];
    char status[SHORT_BYTES] = "";
    char due[160] = "";
    int64_t due_ms;
    bool wants_due;
    fields_clean(task, "id", id, sizeof id);
    (void)fields_text(task, "status", status, sizeof status);
    wants_due = bytes_are(bytes_of(status), "pending");
    if (wants_due && fields_int64(task, "due_ms", &due_ms))
        task_text_due(due_ms, now_ms, due, sizeof due);
    bool requested = fields_true(task, "cancel_requested");
    (void)printf("%s%s%s %s%s%s%s%s%s\n", paint_on(PAINT_BOLD), id, paint_off(),
                 paint_on(paint_of_status(status)), status, paint_off(),
                 requested ? ", told to stop" : "", due[0] != '\0' ? ", due " : "", due);
}
