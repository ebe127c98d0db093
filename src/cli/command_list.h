/* SPDX-License-Identifier: MIT */
/* command_list.h - which subcommands are there? Each is defined in the file of its name. */
#ifndef TOCSIN_CLI_COMMAND_LIST_H
#define TOCSIN_CLI_COMMAND_LIST_H

#include "cli/command.h"

/* Where the server is and what it keeps. */
extern const struct command serve_command;
extern const struct command verify_command;
extern const struct command dump_command;

/* Tasks. */
extern const struct command add_command;
extern const struct command ls_command;
extern const struct command show_command;
extern const struct command why_command;
extern const struct command cancel_command;
extern const struct command pause_command;
extern const struct command resume_command;
extern const struct command fire_command;
extern const struct command preview_command;

/* Work. */
extern const struct command work_command;
extern const struct command queues_command;
extern const struct command incidents_command;

/* Countdowns and games; the others of their verbs are only in verbs. */
extern const struct command countdown_command;
extern const struct command countdown_watch_command;
extern const struct command room_new_command;
extern const struct command room_command;

/* Leases; the others of its verbs are only in verbs. */
extern const struct command lease_command;
extern const struct command lease_run_command;

/* Keys of a Redis; its verbs are only in verbs. */
extern const struct command keep_command;

/* Looking on. */
extern const struct command events_command;
extern const struct command info_command;
extern const struct command top_command;
extern const struct command bench_command;
extern const struct command demo_command;

extern const struct command completion_command;

#endif
