/* SPDX-License-Identifier: MIT */
/* tocsin verify, tocsin dump: what is in a folder that no server has open, and is it whole? */

#include <inttypes.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/figure.h"
#include "cli/progress.h"
#include "service/task/task.h"
#include "store/sqlite_verify.h"

enum { DAMAGES_SAID = 100, LINE_BYTES_MAX = 8 * 1024 * 1024 };

struct inspect {
    const struct command *command;
    const char *done; /* about what is readable of a damaged folder */
    bool json;
    bool events;
    struct progress progress;
    uint64_t damages;
    struct buffer line;
    bool unwritten;
};

static void on_progress(void *arg, uint64_t done, uint64_t of)
{
    struct inspect *inspect = arg;
    progress_set(&inspect->progress, done, of);
}

static void on_damage(void *arg, const char *sentence)
{
    struct inspect *inspect = arg;
    progress_end(&inspect->progress);
    if (inspect->damages++ < DAMAGES_SAID)
        error_tell(&(struct cli_error){.command = inspect->command->name,
                                       .about = "damaged",
                                       .code = "DAMAGED",
                                       .detail = sentence});
}

/* What the store said, and what can be done about it. */
static int judge(struct inspect *inspect, const char *dir, enum tocsin_status status,
                 const struct tocsin_why *why)
{
    progress_end(&inspect->progress);
    if (inspect->damages > DAMAGES_SAID)
        error_note(inspect->command->name, "and %s more",
                   figure_count(inspect->damages - DAMAGES_SAID).text);
    switch (status) {
    case TOCSIN_OK:
        return EXIT_DONE;
    case TOCSIN_BUSY:
        return command_fail(inspect->command, "%s", why->text);
    case TOCSIN_DAMAGED:
        if (inspect->damages == 0)
            (void)command_fail(inspect->command, "damaged: %s", why->text);
        return command_fail(inspect->command,
                            "%.300s is damaged: keep a copy of it, %s, and go back to the last "
                            "good backup",
                            dir, inspect->done);
    default:
        return command_fail(inspect->command, "%s",
                            why->text[0] != '\0' ? why->text : tocsin_status_text(status));
    }
}

/* Through all of it, telling what is damaged. */
static enum tocsin_status look(struct inspect *inspect, const char *dir,
                               struct store_inspection how, struct store_report *ret_report,
                               int *ret_code)
{
    struct tocsin_why why = {""};
    how.damage = on_damage;
    how.progress = on_progress;
    how.arg = inspect;
    enum tocsin_status status = store_sqlite_inspect(dir, &how, ret_report, &why);
    *ret_code = judge(inspect, dir, status, &why);
    return status;
}

/* ---- verify */

static const struct option_row verify_rows[] = {
    {"--json", NULL, "the findings as one JSON object", "", options_read_flag,
     offsetof(struct inspect, json)},
};

static void print_report(const struct inspect *inspect, const struct store_report *report)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"living", report->living},       {"dead", report->dead},
        {"events", report->events},       {"first_seq", report->first_seq},
        {"high_rev", report->high_rev},   {"high_seq", report->high_seq},
        {"epoch", report->epoch},         {"commits", report->commits},
        {"doc_bytes", report->doc_bytes}, {"file_bytes", report->file_bytes},
        {"log_bytes", report->log_bytes}, {"tail_bytes", report->tail_bytes},
        {"damages", report->damages},
    };
    for (size_t i = 0; inspect->json && i < sizeof counts / sizeof counts[0]; i++)
        (void)printf("%s\"%s\":%" PRIu64, i == 0 ? "{" : ",", counts[i].name, counts[i].value);
    if (inspect->json) {
        (void)fputs("}\n", stdout);
        return;
    }
    (void)printf("%s records, %s events, %s of data in %s; %s damaged\n",
                 figure_count(report->living).text, figure_count(report->events).text,
                 figure_bytes(report->doc_bytes).text,
                 figure_bytes(report->file_bytes + report->log_bytes).text,
                 report->damages == 0 ? "nothing" : figure_count(report->damages).text);
    if (report->tail_bytes > 0)
        (void)printf(report->damages == 0
                         ? "a torn tail of %s bytes, never acknowledged: the next start cuts it\n"
                         : "the last %s bytes of the log cannot be read\n",
                     figure_count(report->tail_bytes).text);
}

static int verify_run(int argc, char **argv)
{
    struct inspect inspect = {.command = &verify_command,
                              .done = "get what is readable with tocsin dump"};
    struct words words = {argc, argv};
    struct store_report report = {0};
    int code;
    if (!command_begin(&verify_command, &words, &inspect, &code))
        return code;
    progress_init(&inspect.progress, "verifying");
    enum tocsin_status status =
        look(&inspect, words.at[0], (struct store_inspection){.pages_too = true}, &report, &code);
    if (status == TOCSIN_DAMAGED && report.damages == 0)
        report.damages = 1; /* it cannot even be opened */
    if (status == TOCSIN_OK || status == TOCSIN_DAMAGED)
        print_report(&inspect, &report);
    return code;
}

const struct command verify_command = {
    .name = "verify",
    .text = "is everything in a data folder whole?",
    .usage = "DIR [OPTION...]",
    .about = "Reads every page, record and event in the folder of a server that is not running,\n"
             "and says what is damaged and where. Changes nothing.\n",
    .after = "example: tocsin verify /var/lib/tocsin\n"
             "exit codes: 0 whole, 1 damaged or not readable, 2 usage\n",
    COMMAND_ROWS(verify_rows),
    .word_name = "the folder",
    .words_min = 1,
    .words_max = 1,
    .run = verify_run,
};

/* ---- dump */

static const struct option_row dump_rows[] = {
    {"--events", NULL, "the events too, after the records", "", options_read_flag,
     offsetof(struct inspect, events)},
    {"--json", NULL, "one JSON object a line, which it is anyway", "", options_read_flag,
     offsetof(struct inspect, json)},
};

static void write_bytes(struct json_writer *writer, const char *key, struct bytes value)
{
    json_write_key(writer, key);
    json_write_string(writer, value.at, value.size);
}

static bool is_json(struct bytes text)
{
    struct json_reader reader;
    json_reader_init(&reader, text.at, text.size, JSON_DEPTH_MAX);
    return text.size > 0 && json_read_raw(&reader, NULL) &&
           json_read_finish(&reader, NULL) == TOCSIN_OK;
}

/* JSON as it is, other bytes as hexadecimal digits. */
static void write_doc(struct json_writer *writer, struct bytes doc, struct buffer *hex)
{
    static const char digits[] = "0123456789abcdef";
    if (is_json(doc)) {
        json_write_key(writer, "doc");
        json_write_raw_on_a_line(writer, doc.at, doc.size);
        return;
    }
    buffer_clear(hex);
    for (size_t i = 0; i < doc.size; i++) {
        buffer_append_byte(hex, digits[(unsigned char)doc.at[i] >> 4]);
        buffer_append_byte(hex, digits[(unsigned char)doc.at[i] & 15]);
    }
    write_bytes(writer, "doc_hex", (struct bytes){hex->data != NULL ? hex->data : "", hex->size});
}

static const char *status_of(uint8_t mark)
{
    return mark == TASK_PAUSED ? "paused" : mark == TASK_FAILED ? "failed" : "pending";
}

/* A task as the server would answer it, as far as it is known without one. */
static bool write_task(struct json_writer *writer, const struct store_record *record)
{
    static struct task_lists lists;
    struct task task;
    bool run = bytes_are(record->kind, "run");
    if ((!run && !bytes_are(record->kind, "task")) ||
        task_decode(record->doc, &lists, &task) != TOCSIN_OK)
        return false;
    bool wall = record->basis == STORE_WALL && record->due_ms != STORE_NEVER;
    task.id = record->key;
    json_write_key(writer, "doc");
    task_write(writer, &task,
               &(struct task_view){.status = status_of(record->mark),
                                   .rev = record->rev,
                                   .due_ms = wall ? record->due_ms : -1,
                                   .attempt = task.attempt,
                                   .on_a_line = true});
    return true;
}

static bool print_line(struct inspect *inspect)
{
    buffer_append_byte(&inspect->line, '\n');
    if (buffer_status(&inspect->line) != TOCSIN_OK ||
        fwrite(inspect->line.data, 1, inspect->line.size, stdout) != inspect->line.size)
        inspect->unwritten = true;
    buffer_clear(&inspect->line);
    return !inspect->unwritten;
}

static bool on_record(void *arg, const struct store_record *record)
{
    struct inspect *inspect = arg;
    struct json_writer writer;
    struct buffer hex;
    buffer_init(&hex, LINE_BYTES_MAX);
    json_writer_init(&writer, &inspect->line);
    json_write_object(&writer);
    write_bytes(&writer, "kind", record->kind);
    write_bytes(&writer, "key", record->key);
    json_write_key(&writer, "rev");
    json_write_uint64(&writer, record->rev);
    json_write_key(&writer, "due_ms");
    if (record->due_ms == STORE_NEVER)
        json_write_null(&writer);
    else
        json_write_int64(&writer, record->due_ms);
    json_write_key(&writer, "basis");
    json_write_text(&writer, record->basis == STORE_WALL ? "wall" : "elapsed");
    json_write_key(&writer, "mark");
    json_write_uint64(&writer, record->mark);
    write_bytes(&writer, "tag", record->tag);
    if (!bytes_equal(record->home, record->key))
        write_bytes(&writer, "home", record->home);
    if (!write_task(&writer, record))
        write_doc(&writer, record->doc, &hex);
    json_write_object_end(&writer);
    buffer_release(&hex);
    return print_line(inspect);
}

static bool on_event(void *arg, const struct store_event *event)
{
    struct inspect *inspect = arg;
    struct json_writer writer;
    struct buffer hex;
    buffer_init(&hex, LINE_BYTES_MAX);
    json_writer_init(&writer, &inspect->line);
    json_write_object(&writer);
    json_write_key(&writer, "seq");
    json_write_uint64(&writer, event->seq);
    json_write_key(&writer, "at_ms");
    json_write_int64(&writer, event->at_ms);
    write_bytes(&writer, "kind", event->kind);
    write_bytes(&writer, "key", event->key);
    write_bytes(&writer, "type", event->type);
    write_doc(&writer, event->doc, &hex);
    json_write_object_end(&writer);
    buffer_release(&hex);
    return print_line(inspect);
}

static int dump_run(int argc, char **argv)
{
    struct inspect inspect = {.command = &dump_command, .done = "use what was readable"};
    struct words words = {argc, argv};
    struct store_report report = {0};
    int code;
    if (!command_begin(&dump_command, &words, &inspect, &code))
        return code;
    buffer_init(&inspect.line, LINE_BYTES_MAX);
    progress_init(&inspect.progress, "dumping");
    struct store_inspection how = {.record = on_record, .event = inspect.events ? on_event : NULL};
    (void)look(&inspect, words.at[0], how, &report, &code);
    buffer_release(&inspect.line);
    if (code == EXIT_DONE && inspect.unwritten)
        code = EXIT_REFUSED; /* main says why */
    return code;
}

const struct command dump_command = {
    .name = "dump",
    .text = "the records in a data folder, as lines of JSON",
    .usage = "DIR [OPTION...]",
    .about = "Prints every living record in the folder of a server that is not running, one JSON\n"
             "object a line: kind, key, rev, due_ms, and doc (doc_hex when it is not known how to\n"
             "read it). What is damaged is said on stderr and left out: a record, or the rows of\n"
             "a page that cannot be read.\n",
    .after = "example: tocsin dump /var/lib/tocsin --events > everything.ndjson\n"
             "exit codes: 0 all of it, 1 damaged or not readable, 2 usage\n",
    COMMAND_ROWS(dump_rows),
    .word_name = "the folder",
    .words_min = 1,
    .words_max = 1,
    .run = dump_run,
};
