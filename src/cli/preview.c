/* SPDX-License-Identifier: MIT */
#include "cli/preview.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/options.h"
#include "schedule/civil.h"
#include "schedule/cron.h"
#include "schedule/duration.h"
#include "schedule/instant.h"

enum { COUNT_MAX = 1000 };

struct preview {
    const char *cron;
    const char *zone;
    const char *after;
    uint64_t count;
    bool json;
};

struct times {
    size_t count;
    int64_t at_ms[COUNT_MAX];
};

static bool read_zone(const char *value, void *into)
{
    struct preview *preview = into;
    preview->zone = value;
    return true;
}

static bool read_count(const char *value, void *into)
{
    struct preview *preview = into;
    return options_whole(value, 1, COUNT_MAX, &preview->count);
}

static bool read_after(const char *value, void *into)
{
    struct preview *preview = into;
    preview->after = value;
    return true;
}

static bool read_json(const char *value, void *into)
{
    struct preview *preview = into;
    (void)value;
    preview->json = true;
    return true;
}

static const struct option_row rows[] = {
    {"--tz", "ZONE", "time zone (UTC)", "a time zone such as Europe/Berlin", read_zone},
    {"-n", "N", "how many times (5)", "a whole number from 1 to 1000", read_count},
    {"--after", "TIME", "start after this instant (now)",
     "a time such as 2026-11-15T13:00:00+08:00", read_after},
    {"--json", NULL, "one JSON object, {\"times\":[epoch ms, ...]}", "", read_json},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

void preview_help(FILE *out)
{
    (void)fputs("usage: tocsin preview CRON [OPTION...]\n"
                "\n"
                "Prints when a cron expression comes due next, in its time zone. It is computed\n"
                "here: no server is asked.\n"
                "\n"
                "CRON is one argument, so put it in quotes: five fields (minute, hour, day of\n"
                "month, month, day of week), six with a second first, or @daily and the like.\n"
                "Known are * ? 1-5 */10 1,15 JAN MON L 15W LW 5L 5#2.\n"
                "\n",
                out);
    options_print(out, rows, ROW_COUNT);
    (void)fputs("\n"
                "example: tocsin preview '0 9 * * MON-FRI' --tz Europe/Berlin -n 3\n"
                "exit codes: 0 done, 1 it never comes due, 2 usage\n",
                out);
}

static int refuse(const char *problem)
{
    (void)fprintf(stderr, "tocsin preview: %s (see tocsin preview --help)\n", problem);
    return EXIT_USAGE;
}

static bool takes_value(const char *word)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].argument != NULL && strcmp(rows[i].name, word) == 0)
            return true;
    }
    return false;
}

/* Takes the expression out of the words, wherever it stands among the options: the first
 * word that is neither an option nor the value of one. NULL when there is none. */
static const char *take_cron(int *argc, char **argv)
{
    for (int i = 0; i < *argc; i++) {
        const char *word = argv[i];
        if (takes_value(word)) {
            i++;
        } else if (word[0] != '-') {
            memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i - 1) * sizeof argv[0]);
            (*argc)--;
            return word;
        }
    }
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_text(const struct times *times, const struct zone *zone)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < times->count; i++) {
        int64_t at_ms = times->at_ms[i];
        int32_t offset_s = zone_offset_at(zone, at_ms / 1000);
        int64_t local_s = at_ms / 1000 + offset_s;
        char text[INSTANT_TEXT_BYTES];
        char distance[DURATION_TEXT_BYTES];
        /* At the very ends of the calendar local time may lie outside of it. */
        bool inside = local_s >= CIVIL_FIRST_S + 60 && local_s < CIVIL_END_S - 60;
        instant_format(at_ms, inside ? offset_s : 0, text);
        bool past = at_ms < now;
        uint64_t ms = (uint64_t)(past ? now - at_ms : at_ms - now);
        duration_format(ms < 1000 ? ms : ms / 1000 * 1000, distance);
        (void)printf(past ? "%s  %s ago\n" : "%s  in %s\n", text, distance);
    }
}

static void print_json(const struct times *times)
{
    (void)fputs("{\"times\":[", stdout);
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
    if (times.count == 0) {
        (void)fprintf(stderr, "tocsin preview: %s\n", why.text);
        return EXIT_REFUSED;
    }
    if (preview->json)
        print_json(&times);
    else
        print_text(&times, zone);
    return EXIT_DONE;
}

int preview_run(int argc, char **argv)
{
    struct preview preview = {.zone = "UTC", .count = 5};
    struct cron cron;
    struct zone *zone;
    struct tocsin_why why;
    int64_t after_ms = now_ms();
    preview.cron = take_cron(&argc, argv);
    enum options_end end = options_read("preview", rows, ROW_COUNT, argc, argv, &preview);
    if (end == OPTIONS_HELP) {
        preview_help(stdout);
        return EXIT_DONE;
    }
    if (end == OPTIONS_REFUSED)
        return EXIT_USAGE;
    if (preview.cron == NULL)
        return refuse("a cron expression is missing, such as '0 9 * * MON-FRI'");
    if (cron_parse(preview.cron, strlen(preview.cron), &cron, &why) != TOCSIN_OK)
        return refuse(why.text);
    if (preview.after != NULL &&
        instant_parse(preview.after, strlen(preview.after), &after_ms, &why) != TOCSIN_OK)
        return refuse(why.text);
    if (zone_create(NULL, preview.zone, strlen(preview.zone), &zone, &why) != TOCSIN_OK)
        return refuse(why.text);
    int code = print_times(&preview, &cron, zone, after_ms);
    zone_destroy(zone);
    return code;
}
