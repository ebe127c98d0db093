/* SPDX-License-Identifier: MIT */
/* demo_options.h - what demonstration was asked for? */
#ifndef TOCSIN_CLI_DEMO_OPTIONS_H
#define TOCSIN_CLI_DEMO_OPTIONS_H

#include "cli/options.h"

struct demo_options {
    uint64_t run_ms;
    const char *geometry;
    uint64_t timers;
    uint64_t seed;
    bool json;
};

enum options_end demo_options_read(int argc, char **argv, struct demo_options *ret_options);
void demo_help(FILE *out);

#endif
