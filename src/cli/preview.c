/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/command_list.h"
#include "schedule/civil.h"
#include "schedule/cron.h"
#include "schedule/duration.h"
#include "schedule/instant.h"

enum { COUNT_MAX = 1000 };

struct preview {
    const char *zone;
    const char *after;
    uint64_t count;
    bool json;
};

struct times {
    size_t count;
    int64_t at_ms[COUNT_MAX];
};

static bool read_count(const char *value, void *into)
{
    struct preview *preview = into;
    return options_whole(value, 1, COUNT_MAX, &preview->count);
}

static const struct option_row rows[] = {
    {"--tz", "ZONE", "time zone (UTC)", "a time zone such as Europe/Berlin", options_read_text,
     offsetof(struct preview, zone)},
    {"-n", "N", "how many times (5)", "a whole number from 1 to 1000", read_count},
    {"--after", "TIME", "start after this instant (now)",
     "a time such as 2026-11-15T13:00:00+08:00, or epoch ms", options_read_text,
     offsetof(struct preview, after)},
    {"--json", NULL, "one JSON object: {\"times\":[...],\"times_ms\":[...]}", "", options_read_flag,
     offsetof(struct preview, json)},
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void format(int64_t at_ms, const struct zone *zone, char ret_text[INSTANT_TEXT_BYTES])
{
    int64_t second = at_ms >= 0 ? at_ms / 1000 : (at_ms - 999) / 1000;
    int32_t offset_s = zone_offset_at(zone, second);
    int64_t local_s = second + offset_s;
    /* At the very ends of the calendar local time may lie outside of it. */
    bool inside = local_s >= CIVIL_FIRST_S + 60 && local_s < CIVIL_END_S - 60;
    instant_format(at_ms, inside ? offset_s : 0, ret_text);
}

static void print_text(const struct times *times, const struct zone *zone)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < times->count; i++) {
        int64_t at_ms = times->at_ms[i];
        char text[INSTANT_TEXT_BYTES];
        char distance[DURATION_TEXT_BYTES];
        format(at_ms, zone, text);
        bool past = at_ms < now;
        uint64_t ms = (uint64_t)(past ? now - at_ms : at_ms - now);
        duration_format(ms < 1000 ? ms : ms / 1000 * 1000, distance);
        (void)printf(past ? "%s  %s ago\n" : "%s  in %s\n", text, distance);
    }
}

/* As GET /v1/schedules/preview answers. */
static void print_json(const struct times *times, const struct zone *zone)
{
    (void)fputs("{\"times\":[", stdout);
    for (size_t i = 0; i < times->count; i++) {
        char text[INSTANT_TEXT_BYTES];
        format(times->at_ms[i], zone, text);
        (void)printf("%s\"%s\"", i == 0 ? "" : ",", text);
    }
    (void)fputs("],\"times_ms\":[", stdout);
    for (size_t i = 0; i < times->count; i++)
        (void)printf("%s%" PRId64, i == 0 ? "" : ",", times->at_ms[i]);
    (void)fputs("]}\n", stdout);
}

static int print_times(const struct preview *preview, const struct cron *cron,
                       const struct zone *zone, int64_t after_ms)
{
    struct times times = {0};
    struct tocsin_why why;
    while (times.count < preview->count) {
        int64_t at_ms;
        if (cron_next(cron, zone, (struct cron_policy){0}, after_ms, &at_ms, &why) != TOCSIN_OK)
            break;
        times.at_ms[times.count++] = after_ms = at_ms;
    }
    if (times.count == 0)
        return command_fail(&preview_command, "%s", why.text);
    if (preview->json)
        print_json(&times, zone);
    else
        print_text(&times, zone);
    return EXIT_DONE;
}

static int preview_run(int argc, char **argv)
{
    struct preview preview = {.zone = "UTC", .count = 5};
    struct words words = {argc, argv};
    struct cron cron;
    struct zone *zone;
    struct tocsin_why why = {""};
    int64_t after_ms = now_ms();
    int code;
    if (!command_begin(&preview_command, &words, &preview, &code))
        return code;
    const char *text = words.at[0];
    if (cron_parse(text, strlen(text), &cron, &why) != TOCSIN_OK)
        return command_usage(&preview_command, "%s", why.text);
    if (preview.after != NULL &&
        instant_parse_either(preview.after, strlen(preview.after), &after_ms, &why) != TOCSIN_OK)
        return command_usage(&preview_command, "%s", why.text);
    if (zone_create(NULL, preview.zone, strlen(preview.zone), &zone, &why) != TOCSIN_OK)
        return command_usage(&preview_command, "%s", why.text);
    code = print_times(&preview, &cron, zone, after_ms);
    zone_destroy(zone);
    return code;
}

const struct command preview_command = {
    .name = "preview",
    .text = "when does a cron expression come due next?",
    .usage = "CRON [OPTION...]",
    .about = "Prints when a cron expression comes due next, in its time zone. It is computed\n"
             "here: no server is asked.\n"
             "\n"
             "CRON is one argument, so put it in quotes: five fields (minute, hour, day of\n"
             "month, month, day of week), six with a second first, or @daily and the like.\n"
             "Known are * ? 1-5 */10 1,15 JAN MON L 15W LW 5L 5#2.\n",
    .after = "example: tocsin preview '0 9 * * MON-FRI' --tz Europe/Berlin -n 3\n"
             "exit codes: 0 done, 1 it never comes due, 2 usage\n",
    COMMAND_ROWS(rows),
    .word_name = "a cron expression",
    .words_min = 1,
    .words_max = 1,
    .run = preview_run,
};
