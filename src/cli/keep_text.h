/* SPDX-License-Identifier: MIT */
/* keep_text.h - how does a renewal look to a reader? From the JSON that the server answers. */
#ifndef TOCSIN_CLI_KEEP_TEXT_H
#define TOCSIN_CLI_KEEP_TEXT_H

#include <stdint.h>

#include "base/bytes.h"
#include "cli/table.h"

/* ID STATUS NAME KEYS REDIS EVERY ROUNDS GOOD */
void keep_text_row(struct bytes json, int64_t now_ms, struct table *table);
/* Everything worth knowing, a line each. */
void keep_text_print(struct bytes json, int64_t now_ms);
/* "0198… ACTIVE: 2 renewed, 1 missing" */
void keep_text_line(struct bytes json);
/* Of the last round: every key is alive. */
bool keep_text_all_alive(struct bytes json);

#endif
