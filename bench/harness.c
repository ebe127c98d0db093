/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (syscall(SYS_clock_gettime, clock, &now) != 0)
        bench_die("no clock: %s", strerror(errno));
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_process_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t bench_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "\nbench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        bench_die("no memory for %zu times %zu bytes", count, size);
    return memory;
}

void *bench_map(size_t count, size_t size)
{
    void *memory =
        mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_die("no memory for %zu times %zu bytes", count, size);
    return memory;
}

void bench_unmap(void *memory, size_t count, size_t size)
{
    munmap(memory, count * size);
}

void bench_progress(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bench_progress_end();
    vfprintf(stderr, format, args);
    if (!isatty(STDERR_FILENO))
        fprintf(stderr, "\n");
    fflush(stderr);
    va_end(args);
}

void bench_progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static void send_result(int fd, const void *result, size_t bytes)
{
    const char *at = result;
    while (bytes > 0) {
        ssize_t sent = write(fd, at, bytes);
        if (sent < 0 && errno != EINTR)
            _exit(1);
        if (sent > 0) {
            at += sent;
            bytes -= (size_t)sent;
        }
    }
}

static size_t receive_result(int fd, void *result, size_t bytes)
{
    char *at = result;
    size_t received = 0;
    while (received < bytes) {
        ssize_t got = read(fd, at + received, bytes - received);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got > 0)
            received += (size_t)got;
    }
    return received;
}

void bench_in_child(void (*fn)(const void *arg, void *result), const void *arg, void *result,
                    size_t result_bytes)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        bench_die("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        bench_die("fork: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        fn(arg, result);
        send_result(ends[1], result, result_bytes);
        _exit(0);
    }
    close(ends[1]);
    size_t received = receive_result(ends[0], result, result_bytes);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (received != result_bytes || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("a measurement failed (wait status %#x)", (unsigned)status);
}

size_t bench_rss_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    unsigned long kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Rss: %lu kB", &kib) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return (size_t)kib * 1024;
}

size_t bench_rss_bytes(void)
{
    size_t bytes = bench_rss_read("/proc/self/smaps_rollup");
    if (bytes > 0)
        return bytes;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
        bench_die("cannot read /proc/self/statm");
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

void bench_pin(unsigned nth)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return;
    unsigned skip = nth % (unsigned)CPU_COUNT(&allowed);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || skip-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

void bench_sample(struct bench_samples *samples, double value)
{
    if (samples->count < BENCH_ROUNDS_MAX)
        samples->value[samples->count++] = value;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(const struct bench_samples *samples)
{
    double sorted[BENCH_ROUNDS_MAX];
    size_t count = samples->count;
    if (count == 0)
        return 0;
    memcpy(sorted, samples->value, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double bench_least(const struct bench_samples *samples)
{
    double least = samples->count > 0 ? samples->value[0] : 0;
    for (size_t i = 1; i < samples->count; i++)
        least = fmin(least, samples->value[i]);
    return least;
}

double bench_most(const struct bench_samples *samples)
{
    double most = 0;
    for (size_t i = 0; i < samples->count; i++)
        most = fmax(most, samples->value[i]);
    return most;
}

static int by_time(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

struct bench_ranks bench_rank(float *times_ms, size_t count)
{
    if (count == 0)
        return (struct bench_ranks){0};
    qsort(times_ms, count, sizeof *times_ms, by_time);
    return (struct bench_ranks){.p50_ms = (double)times_ms[count / 2],
                                .p99_ms = (double)times_ms[count * 99 / 100],
                                .most_ms = (double)times_ms[count - 1]};
}

/* The first line of a file or of a command's output that starts with key; what
 * follows a colon and blanks, or the whole line for an empty key. */
static bool first_line(FILE *from, const char *key, char *ret_text, size_t room)
{
    char line[512];
    while (fgets(line, sizeof line, from) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *text = line + strlen(key);
        while (key[0] != '\0' && (isspace((unsigned char)*text) || *text == ':'))
            text++;
        text[strcspn(text, "\n")] = '\0';
        snprintf(ret_text, room, "%s", text);
        return true;
    }
    return false;
}

static void line_of_file(const char *path, const char *key, char *ret_text, size_t room)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    first_line(file, key, ret_text, room);
    fclose(file);
}

static bool line_of_command(const char *command, char *ret_text, size_t room)
{
    FILE *pipe = popen(command, "r");
    bool any = pipe != NULL && first_line(pipe, "", ret_text, room);
    return pipe != NULL && pclose(pipe) == 0 && any;
}

static void read_commit(char *ret_commit, size_t room)
{
    char id[32], changed[8];
    if (!line_of_command("git rev-parse --short HEAD 2>/dev/null", id, sizeof id)) {
        snprintf(ret_commit, room, "unknown");
        return;
    }
    bool dirty = line_of_command("git --no-optional-locks status --porcelain 2>/dev/null", changed,
                                 sizeof changed);
    snprintf(ret_commit, room, "%s%s", id, dirty ? "-dirty" : "");
}

void bench_machine_read(struct bench_machine *ret_machine)
{
    struct bench_machine machine = {.cpu = "unknown", .huge_pages = "unknown"};
    line_of_file("/proc/cpuinfo", "model name", machine.cpu, sizeof machine.cpu);

    char pages[64] = "";
    line_of_file("/sys/kernel/mm/transparent_hugepage/enabled", "", pages, sizeof pages);
    char *chosen = strchr(pages, '[');
    if (chosen != NULL)
        snprintf(machine.huge_pages, sizeof machine.huge_pages, "%.*s",
                 (int)strcspn(chosen + 1, "]"), chosen + 1);

    struct utsname system;
    if (uname(&system) == 0)
        snprintf(machine.kernel, sizeof machine.kernel, "%.20s %.40s", system.sysname,
                 system.release);
#ifdef __clang__
    snprintf(machine.compiler, sizeof machine.compiler, "clang %s", __clang_version__);
#else
    snprintf(machine.compiler, sizeof machine.compiler, "gcc %s", __VERSION__);
#endif
    machine.cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    machine.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    machine.cache_bytes = cache > 0 ? (uint64_t)cache : 0;
    read_commit(machine.commit, sizeof machine.commit);
    *ret_machine = machine;
}

void bench_machine_print(const struct bench_machine *machine, FILE *out)
{
    fprintf(out, "%s, %u cores, %.0f GiB, last-level cache %.0f MiB\n", machine->cpu,
            machine->cores, (double)machine->memory_bytes / (1 << 30),
            (double)machine->cache_bytes / (1 << 20));
    fprintf(out, "%s, huge pages %s, %s, commit %s\n", machine->kernel, machine->huge_pages,
            machine->compiler, machine->commit);
}

struct bench_target *bench_target_add(struct bench_targets *targets, const char *unit,
                                      double target, double value, const char *format, ...)
{
    if (targets->count == BENCH_TARGETS_MAX)
        bench_die("more than %d targets", BENCH_TARGETS_MAX);
    struct bench_target *added = &targets->at[targets->count++];
    *added = (struct bench_target){.unit = unit, .target = target, .value = value};
    va_list args;
    va_start(args, format);
    vsnprintf(added->name, sizeof added->name, format, args);
    va_end(args);
    return added;
}

void bench_target_note(struct bench_target *target, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(target->note, sizeof target->note, format, args);
    va_end(args);
}

bool bench_target_met(const struct bench_target *target)
{
    if (target->at_least)
        return target->value >= target->target;
    return target->value <= target->target || target->value <= target->factor * target->yardstick;
}

int bench_digits_of(double value)
{
    return value < 1 ? 3 : value < 100 ? 2 : 0;
}

void bench_target_print(const struct bench_target *target, FILE *out)
{
    fprintf(out, "  %-6s  %-52s %8.*f %-5s  target %s%.*f",
            bench_target_met(target) ? "met" : "MISSED", target->name,
            bench_digits_of(target->value), target->value, target->unit,
            target->at_least ? "at least " : "", bench_digits_of(target->target), target->target);
    if (target->factor > 0)
        fprintf(out, ", or %.3g x yardstick %.*f = %.*f", target->factor,
                bench_digits_of(target->yardstick), target->yardstick,
                bench_digits_of(target->factor * target->yardstick),
                target->factor * target->yardstick);
    fprintf(out, "\n");
    if (target->note[0] != '\0')
        fprintf(out, "          %s\n", target->note);
}

void bench_make_folders(const char *path)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void field(struct bench_json *json, const char *key)
{
    fprintf(json->file, json->first_field ? "" : ",");
    json->first_field = false;
    write_text(json->file, key);
    fputc(':', json->file);
}

void bench_json_begin(struct bench_json *json, const char *path,
                      const struct bench_machine *machine)
{
    *json = (struct bench_json){.first_row = true, .first_field = true};
    snprintf(json->path, sizeof json->path, "%s", path);
    bench_make_folders(path);
    json->file = fopen(path, "w");
    if (json->file == NULL)
        bench_die("cannot write %s: %s", path, strerror(errno));
    fprintf(json->file, "{\"machine\":{");
    bench_row_text(json, "cpu", machine->cpu);
    bench_row_count(json, "cores", machine->cores);
    bench_row_count(json, "memory_bytes", machine->memory_bytes);
    bench_row_count(json, "cache_bytes", machine->cache_bytes);
    bench_row_text(json, "kernel", machine->kernel);
    bench_row_text(json, "huge_pages", machine->huge_pages);
    bench_row_text(json, "compiler", machine->compiler);
    fprintf(json->file, "},\n\"commit\":");
    write_text(json->file, machine->commit);
    fprintf(json->file, ",\n\"rows\":[");
}

void bench_json_end(struct bench_json *json)
{
    fprintf(json->file, "\n]}\n");
    if (ferror(json->file) || fclose(json->file) != 0)
        bench_die("cannot write %s", json->path);
}

void bench_row_begin(struct bench_json *json)
{
    fprintf(json->file, json->first_row ? "\n{" : ",\n{");
    json->first_row = false;
    json->first_field = true;
}

void bench_row_end(struct bench_json *json)
{
    fputc('}', json->file);
}

void bench_row_text(struct bench_json *json, const char *key, const char *value)
{
    field(json, key);
    write_text(json->file, value);
}

void bench_row_number(struct bench_json *json, const char *key, double value)
{
    field(json, key);
    if (isfinite(value))
        fprintf(json->file, "%.6g", value);
    else
        fprintf(json->file, "null");
}

void bench_row_count(struct bench_json *json, const char *key, uint64_t value)
{
    field(json, key);
    fprintf(json->file, "%llu", (unsigned long long)value);
}

void bench_row_truth(struct bench_json *json, const char *key, bool value)
{
    field(json, key);
    fprintf(json->file, value ? "true" : "false");
}

void bench_row_target(struct bench_json *json, const struct bench_target *target)
{
    bench_row_begin(json);
    bench_row_text(json, "name", target->name);
    bench_row_text(json, "unit", target->unit);
    bench_row_number(json, "target", target->target);
    bench_row_number(json, "value", target->value);
    bench_row_truth(json, "met", bench_target_met(target));
    if (target->at_least)
        bench_row_truth(json, "at_least", true);
    if (target->factor > 0) {
        bench_row_number(json, "yardstick", target->yardstick);
        bench_row_number(json, "yardstick_factor", target->factor);
    }
    if (target->note[0] != '\0')
        bench_row_text(json, "note", target->note);
    bench_row_end(json);
}
