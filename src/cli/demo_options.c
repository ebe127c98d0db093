/* SPDX-License-Identifier: MIT */

#include "cli/demo_options.h"

#include <tocsin/wheel.h>

#include "cli/command_list.h"
#include "cli/demo.h"

static bool read_seconds(const char *value, void *into)
{
    struct demo_options *options = into;
    return options_thousandths(value, 100, 86400000, &options->run_ms);
}

static bool read_geometry(const char *value, void *into)
{
    struct demo_options *options = into;
    size_t count;
    options->geometry = value;
    return tocsin_wheel_preset(value, &count) != NULL;
}

static bool read_timers(const char *value, void *into)
{
    struct demo_options *options = into;
    return options_whole(value, 100, 1000000, &options->timers);
}

static bool read_seed(const char *value, void *into)
{
    struct demo_options *options = into;
    return options_whole(value, 0, UINT64_MAX, &options->seed);
}

static const struct option_row rows[] = {
    {"--seconds", "N", "how long to run (15)", "a number from 0.1 to 86400", read_seconds},
    {"--geometry", "NAME", "levels of the wheel: fine, default, game or order (fine)",
     "one of fine, default, game, order", read_geometry},
    {"--timers", "N", "how many are pending at a time (50000)",
     "a whole number from 100 to 1000000", read_timers},
    {"--seed", "N", "another random load (1)", "a whole number from 0 to 18446744073709551615",
     read_seed},
    {"--json", NULL, "no live view, and the summary as one JSON object", "", options_read_flag,
     offsetof(struct demo_options, json)},
};

const struct command demo_command = {
    .name = "demo",
    .text = "watch a timing wheel at work, live in the terminal",
    .usage = "[OPTION...]",
    .about = "Runs a timing wheel under the load of a busy server, on the real clock, and\n"
             "shows its levels, what is armed, cancelled and fired, and how late it fires.\n"
             "Without a terminal: a line a second. At the end: a summary.\n",
    .after = "example: tocsin demo --seconds 5 --geometry game\n"
             "keys: q or Ctrl-C ends it early, with the summary\n"
             "exit codes: 0 all well; 1 a timer came early, was lost, came when it should\n"
             "not, or the recount of the wheel failed; 2 usage\n"
             "environment: NO_COLOR\n",
    COMMAND_ROWS(rows),
    .run = demo_run,
};

const struct demo_options demo_options_default = {
    .run_ms = 15000, .geometry = "fine", .timers = 50000, .seed = 1};
