/* SPDX-License-Identifier: MIT */

#include "cli/summary.h"

#include <inttypes.h>

#include "cli/figure.h"
#include "cli/version.h"

static uint64_t base_tick_ms(const struct tocsin_wheel *wheel)
{
    struct tocsin_wheel_level_stats base = {0};
    (void)tocsin_wheel_describe_level(wheel, 0, &base);
    return base.tick;
}

static double bytes_per_timer(const struct tocsin_wheel_stats *stats)
{
    return stats->pending == 0 ? 0 : (double)stats->bytes / (double)stats->pending;
}

bool summary_good(const struct summary *summary)
{
    const struct tally *tally = summary->tally;
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(summary->wheel, &stats);
    return summary->early == 0 && summary->unexpected == 0 && summary->lost == 0 &&
           summary->check == TOCSIN_OK &&
           tally->armed == tally->fired + tally->cancelled + stats.pending &&
           tally->fired == stats.fired;
}

static void print_count(FILE *out, const char *name, uint64_t count, const char *text)
{
    (void)fprintf(out, "  %-12s %11s   %s\n", name, figure_count(count).text, text);
}

static void print_lateness(FILE *out, const struct summary *summary)
{
    const struct lateness *lateness = summary->lateness;
    uint64_t tick_ms = base_tick_ms(summary->wheel);
    if (lateness->count == 0) {
        (void)fputs("\nNothing was due yet.\n", out);
        return;
    }
    (void)fprintf(out, "\nLateness: half within %s, 99 of 100 within %s, the latest %s.\n",
                  figure_late(lateness_percentile_us(lateness, 500)).text,
                  figure_late(lateness_percentile_us(lateness, 990)).text,
                  figure_late(lateness->max_us).text);
    if (tick_ms > 1)
        (void)fprintf(out, "          Up to %s of it is the tick of this geometry.\n",
                      figure_span(tick_ms).text);
}

void summary_print(FILE *out, const struct summary *summary)
{
    const struct tally *tally = summary->tally;
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(summary->wheel, &stats);
    (void)fprintf(out, "\n%.1f s of a timing wheel, geometry \"%s\", seed %" PRIu64 ":\n\n",
                  (double)summary->elapsed_us / 1e6, summary->geometry, summary->seed);
    print_count(out, "armed", tally->armed, "timers set");
    print_count(out, "fired", tally->fired, "came out when due");
    print_count(out, "cancelled", tally->cancelled, "taken back before they were due");
    print_count(out, "pending", stats.pending, "left for later");
    print_count(out, "pushed back", tally->rearmed, "given another due time while pending");
    print_count(out, "moved down", tally->moved,
                "steps from slot to slot, mostly to a finer level");
    print_lateness(out, summary);
    (void)fprintf(out, "Early:    %s. Lost: %s. Unexpected: %s.\n",
                  figure_count(summary->early).text, figure_count(summary->lost).text,
                  figure_count(summary->unexpected).text);
    (void)fprintf(out, "Memory:   %s for %s pending timers, %.1f bytes each, all told.\n",
                  figure_bytes(stats.bytes).text, figure_count(stats.pending).text,
                  bytes_per_timer(&stats));
    if (summary->check == TOCSIN_OK)
        (void)fputs("Check:    OK, a recount the slow way agrees.\n", out);
    else
        (void)fprintf(out, "Check:    %s: %s\n", tocsin_status_name(summary->check),
                      summary->why.text);
    if (!summary_good(summary))
        (void)fputs("\nThat is not as promised: please report it, with this summary.\n", out);
    (void)fputs(
        "\nRead next: README.md for the tour, examples/ for the wheel in a program of your\n"
        "own, include/tocsin/wheel.h for all it can do.\n",
        out);
}

static void print_json_lateness(FILE *out, const struct lateness *lateness)
{
    (void)fprintf(out,
                  "\"lateness_us\":{\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64
                  ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64 ",\"mean\":%.1f,\"histogram\":[",
                  lateness_percentile_us(lateness, 500), lateness_percentile_us(lateness, 900),
                  lateness_percentile_us(lateness, 990), lateness_percentile_us(lateness, 999),
                  lateness->max_us,
                  lateness->count == 0 ? 0 : (double)lateness->sum_us / (double)lateness->count);
    uint64_t from_us = 0;
    for (uint64_t to_us = 16; from_us <= lateness->max_us; from_us = to_us, to_us *= 2)
        (void)fprintf(out, "%s{\"below\":%" PRIu64 ",\"count\":%" PRIu64 "}",
                      from_us == 0 ? "" : ",", to_us, lateness_between(lateness, from_us, to_us));
    (void)fputs("]}", out);
}

static void print_json_levels(FILE *out, const struct tocsin_wheel *wheel)
{
    struct tocsin_wheel_level_stats level;
    (void)fputs("\"levels\":[", out);
    for (size_t i = 0; tocsin_wheel_describe_level(wheel, i, &level); i++)
        (void)fprintf(out,
                      "%s{\"tick_ms\":%" PRIu64 ",\"slots\":%" PRIu32 ",\"occupied\":%" PRIu32
                      ",\"pending\":%zu,\"overflow\":%s}",
                      i == 0 ? "" : ",", level.tick, level.slots, level.occupied, level.pending,
                      level.overflow ? "true" : "false");
    (void)fputs("]", out);
}

void summary_print_json(FILE *out, const struct summary *summary)
{
    const struct tally *tally = summary->tally;
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(summary->wheel, &stats);
    (void)fprintf(
        out,
        "{\"version\":\"%s\",\"geometry\":\"%s\",\"seed\":%" PRIu64
        ",\"seconds\":%.3f,\"armed\":%" PRIu64 ",\"fired\":%" PRIu64 ",\"cancelled\":%" PRIu64
        ",\"pending\":%zu,\"rearmed\":%" PRIu64 ",\"moved\":%" PRIu64 ",",
        TOCSIN_VERSION, summary->geometry, summary->seed, (double)summary->elapsed_us / 1e6,
        tally->armed, tally->fired, tally->cancelled, stats.pending, tally->rearmed, tally->moved);
    (void)fprintf(out, "\"early\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"unexpected\":%" PRIu64 ",",
                  summary->early, summary->lost, summary->unexpected);
    print_json_lateness(out, summary->lateness);
    (void)fprintf(out, ",\"bytes\":%zu,\"bytes_per_timer\":%.1f,", stats.bytes,
                  bytes_per_timer(&stats));
    print_json_levels(out, summary->wheel);
    (void)fprintf(out, ",\"check\":\"%s\",\"good\":%s}\n", tocsin_status_name(summary->check),
                  summary_good(summary) ? "true" : "false");
}

void summary_print_line(FILE *out, const struct summary *summary, const struct tally *rates)
{
    (void)fprintf(out, "%5.1f s  %s pending; a second: %s armed, %s cancelled, %s fired; ",
                  (double)summary->elapsed_us / 1e6,
                  figure_count(tocsin_wheel_count(summary->wheel)).text,
                  figure_count(rates->armed).text, figure_count(rates->cancelled).text,
                  figure_count(rates->fired).text);
    (void)fprintf(out, "late p99 %s, max %s; early %s\n",
                  figure_late(lateness_percentile_us(summary->lateness, 990)).text,
                  figure_late(summary->lateness->max_us).text, figure_count(summary->early).text);
    (void)fflush(out);
}
