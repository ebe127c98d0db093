/* SPDX-License-Identifier: MIT */
#include "cli/top_view.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/figure.h"

enum { LINES_MAX = 64, GAUGE_COL = 24, FRAME_COLS = 78, QUEUES_SHOWN = 12 };

struct line {
    enum screen_style style;
    char text[SCREEN_COLS_MAX];
    double gauge; /* 0 to 1; negative: none */
};

struct frame {
    int count;
    struct line lines[LINES_MAX];
};

__attribute__((format(printf, 3, 4))) static struct line *
add(struct frame *frame, enum screen_style style, const char *format, ...)
{
    static struct line beyond;
    struct line *line = frame->count < LINES_MAX ? &frame->lines[frame->count++] : &beyond;
    va_list arguments;
    line->style = style;
    line->gauge = -1;
    va_start(arguments, format);
    (void)vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
    return line;
}

static struct figure count_of(double value)
{
    return figure_count(value > 0 ? (uint64_t)(value + 0.5) : 0);
}

static struct figure rate_of(const struct top_scene *scene, enum sample_id id)
{
    return count_of(sample_rate(scene->older, scene->newer, id));
}

static struct figure late_of(double ms)
{
    struct figure none = {"-"};
    return ms < 0 ? none : figure_late((uint64_t)(ms * 1000));
}

static double late_ms(const struct top_scene *scene, double part)
{
    return sample_percentile_ms(&scene->older->lateness, &scene->newer->lateness, part);
}

static double commit_ms(const struct top_scene *scene, double part)
{
    return sample_percentile_ms(&scene->older->commit, &scene->newer->commit, part);
}

static void add_rates(struct frame *frame, const struct top_scene *scene)
{
    static const struct {
        const char *name;
        enum sample_id id;
    } rates[] = {{"added", SAMPLE_ADDED},     {"fired", SAMPLE_FIRED},
                 {"acked", SAMPLE_ACKED},     {"failed", SAMPLE_FAILED},
                 {"retried", SAMPLE_RETRIED}, {"cancelled", SAMPLE_CANCELLED}};
    (void)add(frame, SCREEN_DIM, " %-12s %12s %14s", "tasks", "a second", "since start");
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        double total = scene->newer->values[rates[i].id];
        bool bad = rates[i].id == SAMPLE_FAILED &&
                   sample_rate(scene->older, scene->newer, SAMPLE_FAILED) > 0;
        (void)add(frame, bad ? SCREEN_BAD : SCREEN_PLAIN, " %-12s %12s %14s", rates[i].name,
                  rate_of(scene, rates[i].id).text, count_of(total).text);
    }
}

static void add_store(struct frame *frame, const struct top_scene *scene)
{
    const double *values = scene->newer->values;
    double cpu = sample_rate(scene->older, scene->newer, SAMPLE_CPU);
    (void)add(frame, SCREEN_PLAIN, " commits %s/s, p50 %s, p99 %s; %s on their way",
              rate_of(scene, SAMPLE_COMMITS).text, late_of(commit_ms(scene, 0.5)).text,
              late_of(commit_ms(scene, 0.99)).text, count_of(values[SAMPLE_COMMANDS]).text);
    (void)add(frame, SCREEN_PLAIN, " memory %s, CPU %.0f%%, store %s, %s connections",
              figure_bytes((uint64_t)values[SAMPLE_MEMORY]).text, cpu * 100,
              figure_bytes((uint64_t)(values[SAMPLE_FILE] + values[SAMPLE_LOG])).text,
              count_of(values[SAMPLE_CONNECTIONS]).text);
}

/* Who has lost a lease by time, and whose keys are not reached, is looked at first. */
static void add_keepers(struct frame *frame, const struct top_scene *scene)
{
    const double *values = scene->newer->values;
    bool expired = sample_rate(scene->older, scene->newer, SAMPLE_LEASES_EXPIRED) > 0;
    bool trouble = values[SAMPLE_RENEWALS_IN_TROUBLE] > 0;
    (void)add(frame, expired ? SCREEN_WARN : SCREEN_PLAIN,
              " leases: %s held, %s in line; %s/s renewed, %s/s expired",
              count_of(values[SAMPLE_LEASES]).text, count_of(values[SAMPLE_LEASES_IN_LINE]).text,
              rate_of(scene, SAMPLE_LEASES_RENEWED).text,
              rate_of(scene, SAMPLE_LEASES_EXPIRED).text);
    (void)add(
        frame, trouble ? SCREEN_WARN : SCREEN_PLAIN,
        " renewals: %s active, %s in trouble, %s paused; %s keys/s",
        count_of(values[SAMPLE_RENEWALS]).text, count_of(values[SAMPLE_RENEWALS_IN_TROUBLE]).text,
        count_of(values[SAMPLE_RENEWALS_PAUSED]).text, rate_of(scene, SAMPLE_KEYS_RENEWED).text);
}

static void add_wheel(struct frame *frame, const struct sample *sample)
{
    double most = 1;
    size_t used = 0;
    for (size_t i = 0; i < SAMPLE_LEVELS; i++) {
        most = sample->levels[i] > most ? sample->levels[i] : most;
        used = sample->levels[i] > 0 ? i + 1 : used;
    }
    (void)add(frame, SCREEN_DIM, " %-8s %12s", "wheel", "timers");
    for (size_t i = 0; i < used; i++) {
        struct line *line =
            add(frame, SCREEN_PLAIN, " level %-2zu %12s", i, count_of(sample->levels[i]).text);
        line->gauge = log1p(sample->levels[i]) / log1p(most);
    }
    if (used == 0)
        (void)add(frame, SCREEN_DIM, " empty");
}

static void add_queues(struct frame *frame, const struct sample *sample)
{
    (void)add(frame, SCREEN_DIM, " %-20s %10s %10s %10s %10s", "queue", "ready", "running",
              "delayed", "workers");
    for (size_t i = 0; i < sample->queue_count && i < QUEUES_SHOWN; i++) {
        const struct sample_queue *queue = &sample->queues[i];
        bool stuck = queue->depth > 0 && queue->leased + queue->waiting <= 0;
        (void)add(frame, stuck ? SCREEN_WARN : SCREEN_PLAIN, " %-20.20s %10s %10s %10s %10s",
                  queue->name, count_of(queue->depth).text, count_of(queue->leased).text,
                  count_of(queue->delayed).text, count_of(queue->waiting).text);
    }
    if (sample->queue_count == 0)
        (void)add(frame, SCREEN_DIM, " none");
    else if (sample->queue_count > QUEUES_SHOWN)
        (void)add(frame, SCREEN_DIM, " and %zu more", sample->queue_count - QUEUES_SHOWN);
}

static void fill(struct frame *frame, const struct top_scene *scene)
{
    const double *values = scene->newer->values;
    frame->count = 0;
    (void)add(frame, SCREEN_TITLE, "tocsin %s", scene->url);
    if (scene->problem != NULL)
        (void)add(frame, SCREEN_BAD, " no answer: %.160s", scene->problem);
    (void)add(frame, SCREEN_BOLD, " late  p50 %s  p99 %s", late_of(late_ms(scene, 0.5)).text,
              late_of(late_ms(scene, 0.99)).text);
    (void)add(frame, values[SAMPLE_INCIDENTS] > 0 ? SCREEN_WARN : SCREEN_PLAIN,
              " %s waiting for their time, %s running, %s incidents",
              count_of(values[SAMPLE_ACTIVE]).text, count_of(values[SAMPLE_RUNNING]).text,
              count_of(values[SAMPLE_INCIDENTS]).text);
    add_store(frame, scene);
    add_keepers(frame, scene);
    (void)add(frame, SCREEN_PLAIN, "%s", "");
    add_rates(frame, scene);
    (void)add(frame, SCREEN_PLAIN, "%s", "");
    add_queues(frame, scene->newer);
    (void)add(frame, SCREEN_PLAIN, "%s", "");
    add_wheel(frame, scene->newer);
}

void top_view_draw(struct screen *screen, const struct top_scene *scene)
{
    struct frame frame;
    fill(&frame, scene);
    screen_begin(screen, frame.count);
    for (int i = 0; i < frame.count; i++) {
        const struct line *line = &frame.lines[i];
        int room = screen_cols(screen) - GAUGE_COL;
        (void)screen_text(screen, i, 0, line->style, "%s", line->text);
        for (int col = 0; col < (int)(line->gauge * room + 0.5); col++)
            (void)screen_glyph(screen, i, GAUGE_COL + col, SCREEN_TIMER,
                               screen_glyphs(screen)->bar[4]);
    }
    (void)screen_text_right(screen, 0, screen_cols(screen), SCREEN_DIM, " q quits");
    screen_show(screen);
}

void top_view_print(FILE *out, const struct top_scene *scene)
{
    struct frame frame;
    fill(&frame, scene);
    for (int i = 0; i < frame.count; i++) {
        const struct line *line = &frame.lines[i];
        int gauge = (int)(line->gauge * (FRAME_COLS - GAUGE_COL) + 0.5);
        (void)fprintf(out, line->gauge > 0 ? "%-*s" : "%.*s",
                      line->gauge > 0 ? GAUGE_COL : SCREEN_COLS_MAX, line->text);
        for (int col = 0; col < gauge; col++)
            (void)fputc('#', out);
        (void)fputc('\n', out);
    }
}

void top_view_print_line(FILE *out, const struct top_scene *scene)
{
    if (scene->problem != NULL)
        (void)fprintf(out, "no answer: %s\n", scene->problem);
    else
        (void)fprintf(out,
                      "a second: %s added, %s fired, %s acked, %s failed; late p50 %s p99 %s\n",
                      rate_of(scene, SAMPLE_ADDED).text, rate_of(scene, SAMPLE_FIRED).text,
                      rate_of(scene, SAMPLE_ACKED).text, rate_of(scene, SAMPLE_FAILED).text,
                      late_of(late_ms(scene, 0.5)).text, late_of(late_ms(scene, 0.99)).text);
    (void)fflush(out);
}

static void print_figure(FILE *out, const char *name, double value)
{
    if (value < 0)
        (void)fprintf(out, ",\"%s\":null", name);
    else
        (void)fprintf(out, ",\"%s\":%.3f", name, value);
}

void top_view_print_json(FILE *out, const struct top_scene *scene)
{
    static const struct {
        const char *name;
        enum sample_id id;
        bool rate;
    } figures[] = {
        {"added_per_s", SAMPLE_ADDED, true},
        {"fired_per_s", SAMPLE_FIRED, true},
        {"acked_per_s", SAMPLE_ACKED, true},
        {"failed_per_s", SAMPLE_FAILED, true},
        {"commits_per_s", SAMPLE_COMMITS, true},
        {"active", SAMPLE_ACTIVE, false},
        {"running", SAMPLE_RUNNING, false},
        {"incidents", SAMPLE_INCIDENTS, false},
        {"memory_bytes", SAMPLE_MEMORY, false},
        {"connections", SAMPLE_CONNECTIONS, false},
        {"leases", SAMPLE_LEASES, false},
        {"leases_in_line", SAMPLE_LEASES_IN_LINE, false},
        {"renewals", SAMPLE_RENEWALS, false},
        {"renewals_in_trouble", SAMPLE_RENEWALS_IN_TROUBLE, false},
        {"lease_renewals_per_s", SAMPLE_LEASES_RENEWED, true},
        {"leases_expired_per_s", SAMPLE_LEASES_EXPIRED, true},
        {"keys_renewed_per_s", SAMPLE_KEYS_RENEWED, true},
    };
    (void)fprintf(out, "{\"answers\":%s", scene->problem == NULL ? "true" : "false");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        print_figure(out, figures[i].name,
                     figures[i].rate ? sample_rate(scene->older, scene->newer, figures[i].id)
                                     : scene->newer->values[figures[i].id]);
    print_figure(out, "late_p50_ms", late_ms(scene, 0.5));
    print_figure(out, "late_p99_ms", late_ms(scene, 0.99));
    print_figure(out, "commit_p50_ms", commit_ms(scene, 0.5));
    print_figure(out, "commit_p99_ms", commit_ms(scene, 0.99));
    (void)fputs("}\n", out);
    (void)fflush(out);
}
