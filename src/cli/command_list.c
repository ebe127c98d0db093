/* SPDX-License-Identifier: MIT */
#include "cli/command_list.h"

const struct command *const commands[] = {
    &serve_command,      &add_command,
    &ls_command,         &show_command,
    &why_command,        &cancel_command,
    &pause_command,      &resume_command,
    &fire_command,       &preview_command,
    &work_command,       &queues_command,
    &incidents_command,  &countdown_command,
    &room_command,       &lease_command,
    &keep_command,       &events_command,
    &info_command,       &top_command,
    &verify_command,     &dump_command,
    &bench_command,      &demo_command,
    &completion_command, NULL,
};
