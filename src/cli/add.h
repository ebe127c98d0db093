/* SPDX-License-Identifier: MIT */
/* add.h - what the two files of `tocsin add` share. */
#ifndef TOCSIN_CLI_ADD_H
#define TOCSIN_CLI_ADD_H

#include "cli/client.h"

/* What was asked for; NULL: not given. */
struct add {
    struct client_options client; /* first */
    const char *id;
    const char *name;
    const char *delay;
    const char *at;
    const char *every;
    const char *cron;
    const char *tz;
    const char *from;
    const char *repeat;
    const char *misfire;
    const char *overlap;
    const char *jitter;
    const char *dst_gap;
    const char *dst_overlap;
    const char *queue;
    const char *payload;
    const char *payload_file;
    const char *retry_max;
    const char *retry_base;
    const char *retry_factor;
    const char *retry_cap;
    const char *retry_jitter;
    const char *timeout;
    const char *if_match;
    const char *idempotency_key;
    const char *batch;
    bool replace;
};

/* tocsin add --batch: a task a line, posted in pieces. */
int add_batch(const struct add *add, struct client *client);

#endif
