/* SPDX-License-Identifier: MIT */
/* demo_options.h - what demonstration was asked for? */
#ifndef TOCSIN_CLI_DEMO_OPTIONS_H
#define TOCSIN_CLI_DEMO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct demo_options {
    uint64_t run_ms;
    const char *geometry;
    uint64_t timers;
    uint64_t seed;
    bool json;
};

extern const struct demo_options demo_options_default;

#endif
