/* SPDX-License-Identifier: MIT */
/* tocsin top: a server at work, live in the terminal. Once a second its metrics are asked for;
 * what is shown is what happened over the last few. */

#include <stdlib.h>

#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/live.h"
#include "cli/top_view.h"

enum { SAMPLES = 6 };

struct top {
    struct client_options options; /* first */
    uint64_t interval_ms;
    bool once;

    struct client client;
    struct sample *samples;
    uint64_t taken;
    bool lost; /* the last one was not answered */
    char problem[300];
};

static bool read_interval(const char *value, void *into)
{
    return options_time(value, 100, 60000, &((struct top *)into)->interval_ms);
}

static const struct option_row rows[] = {
    {"--interval", "TIME", "how often (1s)", "a duration from 100ms to 1m", read_interval},
    {"--once", NULL, "one frame, over one interval, and end", "", options_read_flag,
     offsetof(struct top, once)},
};

/* ---- showing */

static struct top_scene scene_of(const struct top *top)
{
    uint64_t kept = top->taken < SAMPLES ? top->taken : SAMPLES;
    return (struct top_scene){
        .url = top->client.url,
        .problem = top->lost ? top->problem : NULL,
        .newer = &top->samples[(top->taken + SAMPLES - 1) % SAMPLES],
        .older = &top->samples[(top->taken + SAMPLES - (kept > 0 ? kept : 1)) % SAMPLES],
    };
}

static void draw(const struct live *live, struct screen *screen)
{
    struct top_scene scene = scene_of(live->arg);
    top_view_draw(screen, &scene);
}

static void print(const struct top *top)
{
    struct top_scene scene = scene_of(top);
    if (top->once && top->taken < 2)
        return;
    if (top->client.json)
        top_view_print_json(stdout, &scene);
    else if (top->once)
        top_view_print(stdout, &scene);
    else if (top->taken > 1)
        top_view_print_line(stdout, &scene);
}

/* ---- asking */

static void take(struct live *live, const struct call *call, enum call_end end)
{
    struct top *top = live->arg;
    struct sample *next = &top->samples[top->taken % SAMPLES];
    bool good = end == CALL_ANSWERED && call_status(call) == 200;
    top->lost = !good || !sample_read(call_body(call), clock_now_us(), next);
    if (!top->lost) {
        top->taken++;
    } else if (top->taken == 0 || top->once || end == CALL_ANSWERED) {
        live_end(live, EXIT_REFUSED); /* before anything is said below it */
        live->code = good ? command_fail(&top_command, "%s is no tocsin", top->client.url)
                          : client_judge(&top->client, call, end);
        return;
    } else {
        (void)snprintf(top->problem, sizeof top->problem, "%s", call_why(call));
    }
    if (live->screen == NULL)
        print(top);
    if (top->once && top->taken > 1)
        live_end(live, EXIT_DONE);
}

static int watch(struct top *top)
{
    top->samples = calloc(SAMPLES, sizeof *top->samples);
    if (top->samples == NULL)
        return command_fail(&top_command, "no memory");
    return live_run(&(struct live){.client = &top->client,
                                   .path = "/metrics",
                                   .interval_ms = top->interval_ms,
                                   .lines = top->once || top->client.json,
                                   .take = take,
                                   .draw = draw,
                                   .arg = top});
}

static int top_run(int argc, char **argv)
{
    struct top top = {.interval_ms = 1000};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&top_command, &words, &top, &code))
        return code;
    code = client_init(&top.client, &top_command, &top.options);
    if (code == EXIT_DONE)
        code = watch(&top);
    client_release(&top.client);
    free(top.samples);
    return code;
}

const struct command top_command = {
    .name = "top",
    .text = "watch a server at work, live in the terminal",
    .usage = "[OPTION...]",
    .about = "Shows how late tasks fire, what is added, fired, acked and failed a second, what\n"
             "waits in the queues and on the wheel, how the store keeps up, how many leases are "
             "held and\n"
             "how renewals do; over the last five seconds. Without a terminal: a line a second.\n",
    .after = "example: tocsin top --url http://timers.example.org:7400\n"
             "keys: q or Ctrl-C ends it\n"
             "environment: NO_COLOR\n",
    COMMAND_ROWS(rows),
    .client = true,
    .run = top_run,
};
