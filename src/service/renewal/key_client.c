/* SPDX-License-Identifier: MIT */
#include "service/renewal/key_client.h"

#include <stdio.h>

const char *const key_result_names[KEY_RESULTS] = {
    [KEY_NO_RESULT] = "none",        [KEY_RENEWED] = "renewed", [KEY_LONGER] = "longer",
    [KEY_PERSISTENT] = "persistent", [KEY_MISSING] = "missing", [KEY_FOREIGN] = "foreign",
    [KEY_REFUSED] = "refused",       [KEY_FAILED] = "failed",   [KEY_UNKNOWN] = "unknown",
};

void key_jobs_init(struct key_jobs *jobs)
{
    *jobs = (struct key_jobs){NULL, NULL};
    jobs->end = &jobs->first;
}

void key_jobs_push(struct key_jobs *jobs, struct key_job *job)
{
    job->next = NULL;
    *jobs->end = job;
    jobs->end = &job->next;
}

struct key_job *key_jobs_take(struct key_jobs *jobs)
{
    struct key_job *first = jobs->first;
    key_jobs_init(jobs);
    return first;
}

void key_job_fail(struct key_job *job, enum key_result result, const char *why)
{
    for (uint32_t i = 0; i < job->count; i++)
        job->items[i].result = result;
    job->whole = result;
    (void)snprintf(job->why, sizeof job->why, "%s", why);
}

void key_found(struct key_job *job, struct bytes key)
{
    uint32_t size = (uint32_t)key.size;
    if (buffer_reserve(&job->found, sizeof size + key.size) == NULL)
        return; /* never a part of one; whoever reads them asks buffer_status */
    buffer_append(&job->found, &size, sizeof size);
    buffer_append(&job->found, key.at, key.size);
}

bool key_walk_next(struct key_walk *walk, struct bytes *ret_key)
{
    uint32_t size;
    if (walk->at == walk->end)
        return false;
    memcpy(&size, walk->at, sizeof size);
    *ret_key = (struct bytes){walk->at + sizeof size, size};
    walk->at += sizeof size + size;
    return true;
}
