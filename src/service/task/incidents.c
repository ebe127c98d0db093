/* SPDX-License-Identifier: MIT */
/* What failed for good: a list in memory of records with the mark FAILED, by rev. An entry whose
 * record has another version by now is no incident any more; it is told by that, and taken out
 * when room is needed. Runs of a schedule are counted by the schedule's id, so that a new task
 * of that id is refused without looking at them all, also when the schedule itself has ended. */

#include <stdlib.h>

#include "base/siphash.h"
#include "service/task/tasks_inside.h"

bool incident_open(const struct tasks *tasks, const struct incident *incident)
{
    struct engine_head head;
    return engine_head(tasks->engine, incident->ref, &head) && head.rev == incident->rev &&
           head.mark == TASK_FAILED;
}

uint64_t incident_schedule(const struct tasks *tasks, struct bytes id)
{
    return siphash(tasks->hash_key, id.at, id.size) | 1;
}

/* False: no memory, for one more. */
static bool count(struct tasks *tasks, uint64_t schedule, bool one_more)
{
    uint32_t number = 0;
    if (schedule == 0)
        return true;
    (void)number_map_get(&tasks->incident_schedules, schedule, &number);
    if (one_more || number > 1)
        return number_map_put(&tasks->incident_schedules, schedule,
                              one_more ? number + 1 : number - 1);
    number_map_drop(&tasks->incident_schedules, schedule);
    return true;
}

void incidents_clean(struct tasks *tasks)
{
    size_t kept = 0;
    for (size_t i = 0; i < tasks->incident_count; i++) {
        const struct incident incident = tasks->incidents[i];
        if (incident_open(tasks, &incident) || engine_changing(tasks->engine, incident.ref))
            tasks->incidents[kept++] = incident;
        else
            (void)count(tasks, incident.schedule, false);
    }
    tasks->incident_count = kept;
}

bool incident_add(struct tasks *tasks, struct engine_ref ref, uint64_t rev, uint64_t schedule)
{
    if (tasks->incident_count == tasks->incident_room)
        incidents_clean(tasks);
    if (tasks->incident_count == tasks->incident_room) {
        size_t room = tasks->incident_room == 0 ? 64 : tasks->incident_room * 2;
        struct incident *list = realloc(tasks->incidents, room * sizeof *list);
        if (list == NULL)
            return false;
        tasks->incidents = list;
        tasks->incident_room = room;
    }
    size_t at = tasks->incident_count;
    while (at > 0 && tasks->incidents[at - 1].rev > rev)
        at--;
    if (!count(tasks, schedule, true))
        return false;
    struct incident *to = &tasks->incidents[at];
    if (at > 0 && to[-1].rev == rev)
        (void)count(tasks, (--to)->schedule, false);
    else
        memmove(to + 1, to, (tasks->incident_count++ - at) * sizeof *to);
    *to = (struct incident){rev, ref, schedule};
    return true;
}

enum tocsin_status incident_of_schedule(struct tasks *tasks, struct change *change, struct bytes id,
                                        size_t *at, struct engine_record *ret_record)
{
    uint32_t number;
    uint64_t schedule = tasks->incident_count > 0 ? incident_schedule(tasks, id) : 0;
    if (!number_map_get(&tasks->incident_schedules, schedule, &number))
        return TOCSIN_NONE;
    while (*at < tasks->incident_count) {
        const struct incident *incident = &tasks->incidents[(*at)++];
        if (incident->schedule != schedule)
            continue;
        enum tocsin_status status = change_get_ref(change, incident->ref, ret_record);
        if (status == TOCSIN_OK && ret_record->mark == TASK_FAILED &&
            bytes_equal(tasks_id_of(ret_record->key), id))
            return TOCSIN_OK;
        if (status != TOCSIN_OK && status != TOCSIN_NONE)
            return status;
    }
    return TOCSIN_NONE;
}
