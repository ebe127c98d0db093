/* SPDX-License-Identifier: MIT */
/* demo.h - what does `tocsin demo` do? It shows a timing wheel at work, on the
 * real clock, and checks all the while that it keeps its promises. */
#ifndef TOCSIN_CLI_DEMO_H
#define TOCSIN_CLI_DEMO_H

#include "cli/demo_options.h"

int demo_run(int argc, char **argv);

#endif
