/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner.h"

#define SECOND_NS INT64_C(1000000000)
#define HEAD "ts=2026-11-15T13:00:00.004Z level=info msg="

/* A log into memory, on a clock that stands at 2026-11-15T13:00:00.004Z. */
struct setting {
    struct clock_manual manual;
    struct clock clock;
    struct log log;
    struct buffer seen;
    size_t lines;
    bool refuses;
};

static enum tocsin_status keep(void *arg, struct bytes line)
{
    struct setting *setting = arg;
    if (setting->refuses)
        return TOCSIN_NO_SPACE;
    assert_true(line.size > 0 && line.size <= LOG_LINE_BYTES_MAX);
    assert_ptr_equal(memchr(line.at, '\n', line.size), line.at + line.size - 1);
    buffer_append(&setting->seen, line.at, line.size);
    setting->lines++;
    return TOCSIN_OK;
}

static void begin(struct setting *setting, enum log_format format)
{
    *setting = (struct setting){.manual = {{5}, {INT64_C(1794747600004) * 1000000}}};
    setting->clock = clock_of_manual(&setting->manual);
    buffer_init(&setting->seen, 1 << 20);
    struct log_options options = {.level = LOG_INFO,
                                  .format = format,
                                  .clock = &setting->clock,
                                  .per_second = 3,
                                  .write = keep,
                                  .arg = setting};
    assert_int_equal(log_init(&setting->log, &options), TOCSIN_OK);
}

static void end(struct setting *setting)
{
    log_release(&setting->log);
    buffer_release(&setting->seen);
}

/* What was written since the last look. */
static void assert_seen(struct setting *setting, const char *expected)
{
    buffer_append_byte(&setting->seen, '\0');
    assert_int_equal(buffer_status(&setting->seen), TOCSIN_OK);
    assert_string_equal(setting->seen.data, expected);
    buffer_clear(&setting->seen);
}

/* W-10 */
TEST(log_line_has_the_fields_of_a_task_that_fired)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    log_event(&setting.log, LOG_INFO, "task fired", LOG_WORD("id", "notify-001"),
              LOG_WORD("name", "Send notification"), LOG_TIME("due", INT64_C(1794747600000)),
              LOG_DURATION("late_ms", 3120999), LOG_INT("attempt", 2), LOG_UINT("rev", UINT64_MAX),
              LOG_BOOL("by_hand", false), LOG_END);
    assert_seen(&setting, HEAD "\"task fired\" id=notify-001 name=\"Send notification\" "
                               "due=2026-11-15T13:00:00.000Z late_ms=3.120 attempt=2 "
                               "rev=18446744073709551615 by_hand=false\n");
    end(&setting);
}

/* W-10 */
TEST(log_line_in_json_reads_back_as_what_was_given)
{
    struct setting setting;
    begin(&setting, LOG_JSON);
    static const char text[] = "a \"b\"\n\x01\xff\xc3\xa9";
    log_event(&setting.log, LOG_ERROR, "task failed",
              LOG_TEXT("id", ((struct bytes){text, sizeof text - 1})),
              LOG_DURATION("late_ms", -1500000), LOG_INT("n", INT64_MIN), LOG_BOOL("last", true),
              LOG_END);
    json_t *line = json_loadb(setting.seen.data, setting.seen.size, 0, NULL);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "ts")), "2026-11-15T13:00:00.004Z");
    assert_string_equal(json_string_value(json_object_get(line, "level")), "error");
    assert_string_equal(json_string_value(json_object_get(line, "msg")), "task failed");
    assert_string_equal(json_string_value(json_object_get(line, "id")),
                        "a \"b\"\n\x01\xef\xbf\xbd\xc3\xa9");
    assert_true(json_real_value(json_object_get(line, "late_ms")) == -1.5);
    assert_true(json_integer_value(json_object_get(line, "n")) == INT64_MIN);
    assert_true(json_is_true(json_object_get(line, "last")));
    json_decref(line);
    end(&setting);
}

TEST(log_line_below_the_level_is_not_written_and_its_fields_are_not_computed)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    int computed = 0;
    log_event(&setting.log, LOG_DEBUG, "turn", LOG_INT("n", ++computed), LOG_END);
    assert_int_equal(computed, 0);
    log_write(&setting.log, LOG_DEBUG, "turn", &LOG_END);
    log_event(&setting.log, LOG_WARN, "slow", LOG_END);
    assert_seen(&setting, "ts=2026-11-15T13:00:00.004Z level=warn msg=slow\n");
    end(&setting);
}

TEST(log_value_stays_one_field_whatever_it_holds)
{
    static const struct {
        const char *value, *written;
    } cases[] = {
        {"plain", "plain"},
        {"", "\"\""},
        {"a=b", "\"a=b\""},
        {"two words", "\"two words\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"line\nbreak\r\t", "\"line\\nbreak\\r\\t\""},
        {"\x1b[31mred", "\"\\u001b[31mred\""},
        {"del\x7f", "\"del\\u007f\""},
        {"c1\xc2\x9b", "\"c1\\u009b\""},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"bad\xff", "\"bad\xef\xbf\xbd\""},
        {"cut\xe2\x82", "\"cut\xef\xbf\xbd\xef\xbf\xbd\""},
        {"evil\nts=1 level=info msg=forged", "\"evil\\nts=1 level=info msg=forged\""},
    };
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[200];
        (void)snprintf(expected, sizeof expected, HEAD "seen v=%s after=1\n", cases[i].written);
        clock_manual_advance(&setting.manual, SECOND_NS);
        setting.manual.wall.ns = INT64_C(1794747600004) * 1000000;
        log_event(&setting.log, LOG_INFO, "seen", LOG_WORD("v", cases[i].value),
                  LOG_INT("after", 1), LOG_END);
        assert_seen(&setting, expected);
    }
    end(&setting);
}

TEST(log_time_outside_the_calendar_is_a_number)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    log_event(&setting.log, LOG_INFO, "x", LOG_TIME("a", -1), LOG_TIME("b", INT64_MAX), LOG_END);
    assert_seen(&setting, HEAD "x a=1969-12-31T23:59:59.999Z b=9223372036854775807\n");
    end(&setting);
}

TEST(log_text_that_is_too_long_ends_in_an_ellipsis_between_two_characters)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    char text[2 * LOG_TEXT_BYTES_MAX];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 == 0 ? '\xc3' : '\xa9';
    log_event(&setting.log, LOG_INFO, "x", LOG_TEXT("v", ((struct bytes){text, sizeof text})),
              LOG_END);
    size_t start = strlen(HEAD "x v=");
    size_t kept = LOG_TEXT_BYTES_MAX - 4; /* three for the ellipsis leave an odd number */
    assert_int_equal(setting.seen.size, start + kept + 3 + 1);
    assert_memory_equal(setting.seen.data + start + kept, "\xe2\x80\xa6\n", 4);
    end(&setting);
}

TEST(log_line_that_is_too_long_leaves_out_fields_and_says_so)
{
    char nuls[LOG_TEXT_BYTES_MAX];
    memset(nuls, 0, sizeof nuls);
    struct bytes text = {nuls, sizeof nuls};
    for (enum log_format format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        struct setting setting;
        begin(&setting, format);
        log_event(&setting.log, LOG_INFO, "x", LOG_TEXT("a", text), LOG_TEXT("b", text),
                  LOG_INT("c", 7), LOG_END);
        buffer_append_byte(&setting.seen, '\0');
        assert_null(strstr(setting.seen.data, format == LOG_JSON ? "\"b\"" : " b="));
        assert_non_null(strstr(setting.seen.data, format == LOG_JSON ? ",\"c\":7,\"cut\":true}\n"
                                                                     : " c=7 cut=true\n"));
        end(&setting);
    }
}

TEST(log_storm_of_one_message_is_told_by_its_count)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    for (int i = 0; i < 1203; i++)
        log_event(&setting.log, LOG_WARN, "storm", LOG_INT("i", i), LOG_END);
    assert_int_equal(setting.lines, 3);
    log_event(&setting.log, LOG_INFO, "calm", LOG_END);
    assert_int_equal(setting.lines, 4);
    buffer_clear(&setting.seen);
    log_flush(&setting.log); /* its second is not over */
    assert_seen(&setting, "");
    clock_manual_advance(&setting.manual, SECOND_NS);
    log_event(&setting.log, LOG_WARN, "storm", LOG_INT("i", 0), LOG_END);
    assert_seen(&setting, "ts=2026-11-15T13:00:01.004Z level=warn msg=storm suppressed=1200\n"
                          "ts=2026-11-15T13:00:01.004Z level=warn msg=storm i=0\n");
    assert_int_equal(setting.log.suppressed, 1200);
    end(&setting);
}

TEST(log_flush_tells_of_a_storm_that_nobody_follows)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    for (int i = 0; i < 5; i++)
        log_event(&setting.log, LOG_INFO, "storm", LOG_END);
    buffer_clear(&setting.seen);
    clock_manual_advance(&setting.manual, SECOND_NS);
    log_flush(&setting.log);
    assert_seen(&setting, "ts=2026-11-15T13:00:01.004Z level=info msg=storm suppressed=2\n");
    log_flush(&setting.log);
    assert_seen(&setting, "");
    end(&setting);
}

TEST(log_limits_more_messages_than_it_can_tell_apart_together)
{
    static char messages[LOG_MESSAGES_MAX + 40][8];
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    for (size_t i = 0; i < LOG_MESSAGES_MAX + 40; i++) {
        (void)snprintf(messages[i], sizeof messages[i], "m%zu", i);
        log_event(&setting.log, LOG_INFO, messages[i], LOG_END);
    }
    assert_int_equal(setting.lines, LOG_MESSAGES_MAX + 3);
    buffer_clear(&setting.seen);
    clock_manual_advance(&setting.manual, SECOND_NS);
    log_flush(&setting.log);
    assert_seen(&setting,
                "ts=2026-11-15T13:00:01.004Z level=info msg=\"other messages\" suppressed=37\n");
    end(&setting);
}

TEST(log_line_that_could_not_be_written_is_told_by_the_next_that_is)
{
    struct setting setting;
    begin(&setting, LOG_LOGFMT);
    setting.refuses = true;
    log_event(&setting.log, LOG_INFO, "lost", LOG_END);
    log_event(&setting.log, LOG_INFO, "lost", LOG_END);
    setting.refuses = false;
    log_event(&setting.log, LOG_INFO, "back", LOG_INT("n", 1), LOG_END);
    log_event(&setting.log, LOG_INFO, "again", LOG_END);
    assert_seen(&setting, HEAD "back dropped=2 n=1\n" HEAD "again\n");
    assert_int_equal(setting.log.dropped, 2);
    assert_int_equal(setting.log.written, 2);
    end(&setting);
}

static size_t read_some(int fd, char *text, size_t size)
{
    ssize_t got = read(fd, text, size - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    return (size_t)got;
}

/* The reader sleeps, the pipe is full: the writer goes on, and tells later. Should it wait
 * instead, the alarm ends it. */
TEST(log_does_not_wait_for_a_pipe_that_nobody_reads)
{
    int ends[2];
    struct log log;
    static char text[1 << 20];
    assert_int_equal(pipe(ends), 0);
    (void)alarm(8);
    assert_int_equal(
        log_init(&log,
                 &(struct log_options){.level = LOG_INFO, .fd = ends[1], .per_second = 100000}),
        TOCSIN_OK);
    for (int i = 0; i < 5000; i++)
        log_event(&log, LOG_INFO, "noise", LOG_WORD("v", "some bytes that fill the pipe up"),
                  LOG_END);
    assert_true(log.dropped > 0 && log.written > 0);
    assert_int_equal(log.dropped + log.written, 5000);
    uint64_t dropped = log.dropped;
    (void)read_some(ends[0], text, sizeof text);
    log_event(&log, LOG_INFO, "read at last", LOG_END);
    (void)read_some(ends[0], text, sizeof text);
    char expected[80];
    (void)snprintf(expected, sizeof expected, "msg=\"read at last\" dropped=%llu\n",
                   (unsigned long long)dropped);
    assert_non_null(strstr(text, expected));
    (void)alarm(0);
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    log_event(&log, LOG_INFO, "nobody is there", LOG_END);
    assert_int_equal(log.dropped, dropped + 1);
    (void)close(ends[1]);
    log_release(&log);
}

/* As journald gives it: a stream socket. */
TEST(log_does_not_wait_for_a_socket_that_nobody_reads)
{
    int ends[2];
    struct log log;
    static char text[1 << 22];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(log_init(&log, &(struct log_options){.level = LOG_INFO,
                                                          .format = LOG_JSON,
                                                          .fd = ends[1],
                                                          .per_second = 1000000}),
                     TOCSIN_OK);
    for (int i = 0; i < 20000; i++)
        log_event(&log, LOG_INFO, "noise", LOG_END);
    assert_true(log.dropped > 0 && log.written > 0);
    (void)read_some(ends[0], text, sizeof text);
    log_event(&log, LOG_INFO, "after", LOG_END);
    assert_int_equal(log.untold, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    log_release(&log);
}

/* A small socket takes the first half of a line and no more. */
TEST(log_line_written_in_part_does_not_spoil_the_next)
{
    int ends[2];
    int small = 1;
    struct log log;
    static char text[1 << 16];
    char filler[LOG_TEXT_BYTES_MAX];
    memset(filler, 'x', sizeof filler);
    struct bytes filled = {filler, sizeof filler};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    assert_int_equal(log_init(&log, &(struct log_options){.level = LOG_INFO, .fd = ends[1]}),
                     TOCSIN_OK);
    log_event(&log, LOG_INFO, "short", LOG_END);
    for (int i = 0; i < 3; i++)
        log_event(&log, LOG_INFO, "long", LOG_TEXT("a", filled), LOG_TEXT("b", filled),
                  LOG_TEXT("c", filled), LOG_TEXT("d", filled), LOG_TEXT("e", filled),
                  LOG_TEXT("f", filled), LOG_TEXT("g", filled), LOG_END);
    assert_true(log.broken_line);
    size_t size = read_some(ends[0], text, sizeof text);
    assert_int_not_equal(text[size - 1], '\n');
    log_event(&log, LOG_INFO, "after", LOG_END);
    assert_false(log.broken_line);
    (void)read_some(ends[0], text, sizeof text);
    assert_int_equal(strncmp(text, "\nts=", 4), 0);
    assert_non_null(strstr(text, " level=info msg=after dropped="));
    (void)close(ends[0]);
    (void)close(ends[1]);
    log_release(&log);
}

TEST(log_on_a_full_disk_drops_and_counts)
{
    struct log log;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd > 0);
    assert_int_equal(log_init(&log, &(struct log_options){.level = LOG_INFO, .fd = fd}), TOCSIN_OK);
    log_event(&log, LOG_INFO, "x", LOG_END);
    assert_int_equal(log.dropped, 1);
    assert_int_equal(log.untold, 1);
    (void)close(fd);
    log_release(&log);
}
