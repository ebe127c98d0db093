/* SPDX-License-Identifier: MIT */
/* preview.h - what does `tocsin preview` do? It says when a cron expression comes due
 * next, computed here and now, without a server. */
#ifndef TOCSIN_CLI_PREVIEW_H
#define TOCSIN_CLI_PREVIEW_H

#include <stdio.h>

int preview_run(int argc, char **argv);
void preview_help(FILE *out);

#endif
