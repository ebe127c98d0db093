/* SPDX-License-Identifier: MIT */
#include "server/metric_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WORD(name, word) word,
#define LABEL(title, list)                                                                         \
    {                                                                                              \
        (title), (const char *const[]){list(WORD)},                                                \
            sizeof(const char *const[]){list(WORD)} / sizeof(const char *)                         \
    }

static const struct metric_label skipped = LABEL("reason", METRIC_SKIPPED);
static const struct metric_label route = LABEL("route", METRIC_ROUTE);
static const struct metric_label status_class = LABEL("status", METRIC_CLASS);
static const struct metric_label refused = LABEL("reason", METRIC_REFUSED);
static const struct metric_label store_error = LABEL("reason", METRIC_STORE_ERROR);
static const struct metric_label ws_dropped = LABEL("reason", METRIC_WS_DROPPED);
static const struct metric_label phase = LABEL("phase", METRIC_PHASE);
static const struct metric_label queue = {"queue", NULL, METRIC_NAMES_MAX + 1};
static const struct metric_label level = {
    "level",
    (const char *const[METRIC_LEVELS]){"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11",
                                       "12", "13", "14", "15"},
    METRIC_LEVELS,
};

#define LABELS_NONE                                                                                \
    {                                                                                              \
        NULL                                                                                       \
    }
#define LABELS_SKIPPED                                                                             \
    {                                                                                              \
        &skipped                                                                                   \
    }
#define LABELS_ROUTE_AND_CLASS                                                                     \
    {                                                                                              \
        &route, &status_class                                                                      \
    }
#define LABELS_REFUSED                                                                             \
    {                                                                                              \
        &refused                                                                                   \
    }
#define LABELS_STORE_ERROR                                                                         \
    {                                                                                              \
        &store_error                                                                               \
    }
#define LABELS_WS_DROPPED                                                                          \
    {                                                                                              \
        &ws_dropped                                                                                \
    }
#define LABELS_PHASE                                                                               \
    {                                                                                              \
        &phase                                                                                     \
    }
#define LABELS_QUEUE                                                                               \
    {                                                                                              \
        &queue                                                                                     \
    }
#define LABELS_LEVEL                                                                               \
    {                                                                                              \
        &level                                                                                     \
    }

#define MICRO UINT64_C(1000)
#define MILLI (1000 * MICRO)
#define SECOND (1000 * MILLI)

static const struct metric_bounds lateness = {
    17,
    {100 * MICRO, 250 * MICRO, 500 * MICRO, 1 * MILLI, 2500 * MICRO, 5 * MILLI, 10 * MILLI,
     25 * MILLI, 50 * MILLI, 100 * MILLI, 250 * MILLI, 500 * MILLI, 1 * SECOND, 2500 * MILLI,
     5 * SECOND, 10 * SECOND, 60 * SECOND},
};
static const struct metric_bounds execution = {
    14,
    {1 * MILLI, 5 * MILLI, 10 * MILLI, 50 * MILLI, 100 * MILLI, 500 * MILLI, 1 * SECOND, 5 * SECOND,
     10 * SECOND, 30 * SECOND, 60 * SECOND, 300 * SECOND, 1800 * SECOND, 3600 * SECOND},
};

#define BOUNDS_NO NULL
#define BOUNDS_LATENESS &lateness
#define BOUNDS_EXECUTION &execution

#define ROW(id, type, unit, labels, bounds, name, help)                                            \
    {"tocsin_" name, METRIC_##type, METRIC_##unit, LABELS_##labels, BOUNDS_##bounds, help},

const struct metric_row metric_list[M_COUNT] = {METRIC_TABLE(ROW)};

/* The number at a place, counted from 0, of a file of one line in /proc. The second word of
 * /proc/self/stat is a name in brackets, without blanks in ours. */
static bool read_proc(const char *file, size_t place, int64_t *ret_number)
{
    char text[1024];
    FILE *from = fopen(file, "re");
    if (from == NULL)
        return false;
    size_t size = fread(text, 1, sizeof text - 1, from);
    (void)fclose(from);
    text[size] = '\0';
    const char *at = text;
    for (; place > 0 && at != NULL; place--) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL || *at < '0' || *at > '9')
        return false;
    *ret_number = strtoll(at, NULL, 10);
    return true;
}

static void read_fds(struct metrics *metrics)
{
    DIR *open_fds = opendir("/proc/self/fd");
    int64_t count = 0;
    if (open_fds != NULL) {
        while (readdir(open_fds) != NULL)
            count++;
        (void)closedir(open_fds);
        /* Without ".", ".." and the one it was read through. */
        metrics_set(metrics, M_PROCESS_FDS, 0, count - 3);
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metrics_set(metrics, M_PROCESS_FDS_LIMIT, 0, (int64_t)limit.rlim_cur);
}

/* Ticks since boot are told by /proc; the wall's time at boot is now less the time since. */
static void read_start(struct metrics *metrics)
{
    enum { START_PLACE = 21 };
    int64_t ticks;
    struct timespec wall;
    struct timespec boot;
    if (metrics_value(metrics, M_PROCESS_START, 0) != 0 ||
        !read_proc("/proc/self/stat", START_PLACE, &ticks) ||
        clock_gettime(CLOCK_REALTIME, &wall) != 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return;
    int64_t boot_ms =
        ((int64_t)wall.tv_sec - boot.tv_sec) * 1000 + (wall.tv_nsec - boot.tv_nsec) / 1000000;
    metrics_set(metrics, M_PROCESS_START, 0, boot_ms + ticks * 1000 / sysconf(_SC_CLK_TCK));
}

void metric_list_read_process(struct metrics *metrics)
{
    int64_t pages;
    if (read_proc("/proc/self/statm", 1, &pages))
        metrics_set(metrics, M_PROCESS_MEMORY, 0, pages * sysconf(_SC_PAGESIZE));
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        metrics_set(metrics, M_PROCESS_CPU, 0, (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec);
    read_fds(metrics);
    read_start(metrics);
}
