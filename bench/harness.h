/* SPDX-License-Identifier: MIT */
/* harness.h - what does every benchmark need around its loops?
 *
 * A clock that nobody simulates, children to measure in, medians, a description
 * of the machine, targets that are met or missed, and build/bench/NAME.json.
 *
 * Order     bench_json_begin, rows, bench_json_end; a row is begin, fields, end.
 * Errors    what a benchmark cannot do without (a pipe, memory) ends the process
 *           with a sentence on stderr and code 1; there is nobody to recover.
 * Threads   the clocks, bench_pin and bench_random: any. The rest: one.
 */
#ifndef TOCSIN_BENCH_HARNESS_H
#define TOCSIN_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The kernel's monotonic clock by a bare system call: right even in a program
 * that puts a clock_gettime of its own in front of the C library's. */
uint64_t bench_now_ns(void);
/* What the calling thread has had of a processor: for loops that never wait, the
 * same as the time that passes, but for being pushed aside by somebody else. */
uint64_t bench_cpu_ns(void);
/* The same of all threads. */
uint64_t bench_process_cpu_ns(void);
/* The clock that due times are told in, as cheap as the C library's. */
int64_t bench_wall_ns(void);

/* Says what went wrong, and exits with 1. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *bench_alloc(size_t count, size_t size);
/* Straight from the system and back to it, so that what is freed here is not the
 * memory a child is then given, already resident. */
void *bench_map(size_t count, size_t size);
void bench_unmap(void *memory, size_t count, size_t size);

/* One line on stderr that overwrites itself on a terminal; the second wipes it. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_progress_end(void);

/* Run fn in a fresh child and bring back what it wrote to result: each measurement
 * starts with the same heap, the same page tables, and nobody's leftovers. */
void bench_in_child(void (*fn)(const void *arg, void *result), const void *arg, void *result,
                    size_t result_bytes);

/* Pages of this process that are in memory. Counted, not estimated: the kernel's
 * running counters lag by some hundred pages, which shows at 100 000 timers. */
size_t bench_rss_bytes(void);
/* The same of the process whose smaps_rollup this is. 0: it cannot be read. */
size_t bench_rss_read(const char *path);

/* Bind the calling thread to the n-th of the CPUs this process may use, counted
 * round. Where that is not allowed it stays unbound. */
void bench_pin(unsigned nth);

/* splitmix64 */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* [0, below) */
static inline uint32_t bench_random_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)(((bench_random(state) >> 32) * below) >> 32);
}

/* The samples of one figure, one per round. */
enum { BENCH_ROUNDS_MAX = 64 };

struct bench_samples {
    size_t count;
    double value[BENCH_ROUNDS_MAX];
};

void bench_sample(struct bench_samples *samples, double value);
/* 0 when there are none. */
double bench_median(const struct bench_samples *samples);
double bench_least(const struct bench_samples *samples);
double bench_most(const struct bench_samples *samples);

/* Of so many times, which are sorted for it; all 0 when there are none. */
struct bench_ranks {
    double p50_ms, p99_ms, most_ms;
};
struct bench_ranks bench_rank(float *times_ms, size_t count);

/* Digits behind the point, enough to tell a ratio of 0.013 from one of 0.014. */
int bench_digits_of(double value);

struct bench_machine {
    char cpu[96];
    char kernel[64];
    char compiler[64];
    char huge_pages[32]; /* the system's setting for transparent ones */
    char commit[48];     /* "unknown" outside git, "-dirty" behind it when it is */
    unsigned cores;
    uint64_t memory_bytes;
    uint64_t cache_bytes; /* of the last level; 0: the system does not tell */
};

void bench_machine_read(struct bench_machine *ret_machine);
void bench_machine_print(const struct bench_machine *machine, FILE *out);

/* What an issue asks for. Met when the value is at most the target, or at most
 * factor times a yardstick taken in the same run (factor 0: there is none); with at_least,
 * when it is at least the target. */
struct bench_target {
    char name[96];
    const char *unit; /* "ns", "x", "bytes" */
    double target;
    double value;
    double factor;
    double yardstick;
    bool at_least;
    char note[160];
};

enum { BENCH_TARGETS_MAX = 48 };

struct bench_targets {
    size_t count;
    struct bench_target at[BENCH_TARGETS_MAX];
};

/* The name is formatted; what else there is to it, the caller adds. */
struct bench_target *bench_target_add(struct bench_targets *targets, const char *unit,
                                      double target, double value, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void bench_target_note(struct bench_target *target, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool bench_target_met(const struct bench_target *target);
void bench_target_print(const struct bench_target *target, FILE *out);

struct bench_json {
    FILE *file;
    char path[256];
    bool first_row;
    bool first_field;
};

/* Folders on the way to path are made. */
void bench_json_begin(struct bench_json *json, const char *path,
                      const struct bench_machine *machine);
void bench_json_end(struct bench_json *json);
void bench_row_begin(struct bench_json *json);
void bench_row_end(struct bench_json *json);
void bench_row_text(struct bench_json *json, const char *key, const char *value);
void bench_row_number(struct bench_json *json, const char *key, double value);
void bench_row_count(struct bench_json *json, const char *key, uint64_t value);
void bench_row_truth(struct bench_json *json, const char *key, bool value);
void bench_row_target(struct bench_json *json, const struct bench_target *target);

/* Make the folders that lead to path; the last part is a file. */
void bench_make_folders(const char *path);

#endif
