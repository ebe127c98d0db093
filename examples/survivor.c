/* SPDX-License-Identifier: MIT */
/* survivor - tasks that outlive their program.
 *
 *     survivor DIR N
 *
 * Plans N tasks, due over the next second, in the engine in DIR, and waits until all have run. The
 * planning is a task itself, so that it is finished whatever happens. Each id is printed as "task
 * ID" when it was added and "done ID" when it has run. Kill it with -9 as often as you like and
 * start it again: it goes on, and every id appears as done. (One may appear twice: when the
 * program died between the work and its acknowledgement. Whoever needs the effect just once
 * passes the fence on.) */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tocsin/engine.h>

static enum tocsin_status work(void *arg, const struct tocsin_run *run)
{
    (void)arg;
    char line[300];
    int size = snprintf(line, sizeof line, "done %s\n", run->task_id);
    return write(STDOUT_FILENO, line, (size_t)size) == size ? TOCSIN_OK : TOCSIN_IO;
}

struct plan {
    struct tocsin_engine *engine;
    int count;
};

/* May be called again after a crash: what is there already is a conflict, and fine. */
static enum tocsin_status plan_all(void *arg, const struct tocsin_run *run)
{
    const struct plan *plan = arg;
    (void)run;
    for (int i = 0; i < plan->count; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "task-%d", i);
        struct tocsin_task task = {
            .id = id, .handler = "work", .delay_ms = 1 + i % 1000, .payload = "{\"n\":1}"};
        enum tocsin_status status = tocsin_engine_add(plan->engine, &task, NULL);
        if (status != TOCSIN_OK && status != TOCSIN_CONFLICT)
            return status;
        if (status == TOCSIN_OK)
            (void)dprintf(STDOUT_FILENO, "task %s\n", id);
    }
    return TOCSIN_OK;
}

int main(int argc, char **argv)
{
    struct plan plan = {NULL, 0};
    struct tocsin_why why;
    struct tocsin_engine_stats stats;
    enum tocsin_status status = TOCSIN_OK;
    if (argc != 3) {
        (void)fputs("usage: survivor DIR N\n", stderr);
        return 2;
    }
    plan.count = atoi(argv[2]);
    if (tocsin_engine_open(&(struct tocsin_engine_options){.dir = argv[1]}, &plan.engine, &why) !=
        TOCSIN_OK) {
        (void)fprintf(stderr, "survivor: %s\n", why.text);
        return 1;
    }
    (void)tocsin_engine_handle(plan.engine, "work", work, NULL);
    (void)tocsin_engine_handle(plan.engine, "plan", plan_all, &plan);
    tocsin_engine_describe(plan.engine, &stats);
    if (stats.tasks == 0) /* else it goes on with what is there */
        status = tocsin_engine_add(
            plan.engine, &(struct tocsin_task){.id = "plan", .handler = "plan", .retries = 1000},
            &why);
    if (status == TOCSIN_OK)
        status = tocsin_engine_start(plan.engine);
    while (status == TOCSIN_OK) {
        (void)usleep(10000);
        tocsin_engine_describe(plan.engine, &stats);
        if (stats.tasks == 0)
            break;
    }
    tocsin_engine_close(plan.engine);
    return status == TOCSIN_OK ? 0 : 1;
}
