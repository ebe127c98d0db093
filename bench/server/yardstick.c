/* SPDX-License-Identifier: MIT */
#include "yardstick.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

enum { SAMPLES_MAX = 200000 };

double yardstick_fdatasync_ms(double seconds)
{
    enum { WRITE_BYTES = 512 };
    char folder[PATH_BYTES_MAX], path[PATH_BYTES_MAX + 8], bytes[WRITE_BYTES] = {1};
    scratch_folder("yardstick", folder);
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    float *times = bench_alloc(SAMPLES_MAX, sizeof *times);
    size_t count = 0;
    uint64_t from_ns = bench_now_ns(), end_ns = from_ns + (uint64_t)(seconds * 1e9);
    while (from_ns < end_ns && count < SAMPLES_MAX) {
        if (write(fd, bytes, sizeof bytes) != sizeof bytes || fdatasync(fd) != 0)
            bench_die("cannot write and sync %s: %s", path, strerror(errno));
        uint64_t now_ns = bench_now_ns();
        times[count++] = (float)((double)(now_ns - from_ns) / 1e6);
        from_ns = now_ns;
    }
    close(fd);
    scratch_remove(folder);
    double median = bench_rank(times, count).p50_ms;
    free(times);
    return median;
}

/* ---- timerfd, thread, socket, thread */

struct ticker {
    int timer, socket;
    size_t ticks;
    int64_t first_ns;
};

static void *tick(void *arg)
{
    struct ticker *self = arg;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, self->timer, &event) != 0)
        bench_die("epoll: %s", strerror(errno));
    for (size_t i = 0; i < self->ticks; i++) {
        int64_t due_ns = self->first_ns + (int64_t)i * 1000000;
        uint64_t count;
        struct itimerspec at = {
            .it_value = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000}};
        if (timerfd_settime(self->timer, TFD_TIMER_ABSTIME, &at, NULL) != 0 ||
            epoll_wait(epoll, &event, 1, -1) != 1 ||
            read(self->timer, &count, sizeof count) != sizeof count ||
            send(self->socket, "", 1, 0) != 1)
            bench_die("a timer or a socket fails: %s", strerror(errno));
    }
    close(epoll);
    return NULL;
}

struct bench_ranks yardstick_wakeups(double seconds)
{
    int ends[2];
    pthread_t thread;
    struct ticker ticker = {.timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                            .ticks = (size_t)(seconds * 1000),
                            .first_ns = bench_wall_ns() + 10000000};
    if (ticker.timer < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        bench_die("no timer or socket: %s", strerror(errno));
    ticker.socket = ends[1];
    float *late = bench_alloc(ticker.ticks, sizeof *late);
    if (pthread_create(&thread, NULL, tick, &ticker) != 0)
        bench_die("no thread");
    for (size_t i = 0; i < ticker.ticks; i++) {
        char byte;
        if (recv(ends[0], &byte, 1, 0) != 1)
            bench_die("recv: %s", strerror(errno));
        late[i] = (float)((double)(bench_wall_ns() - ticker.first_ns - (int64_t)i * 1000000) / 1e6);
    }
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
    close(ticker.timer);
    struct bench_ranks wakeups = bench_rank(late, ticker.ticks);
    free(late);
    return wakeups;
}

/* ---- memory */

double yardstick_miss_ns(void)
{
    enum { LINE_BYTES = 64, LINES = 4 * 1024 * 1024, STEPS = 2 * 1024 * 1024 };
    struct line {
        uint32_t next;
        char rest[LINE_BYTES - sizeof(uint32_t)];
    } *lines = bench_alloc(LINES, sizeof *lines);
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < LINES; i++)
        lines[i].next = i;
    for (uint32_t i = LINES - 1; i > 0; i--) { /* one ring through all of them (Sattolo) */
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t other = (uint32_t)((random >> 33) % i);
        uint32_t next = lines[i].next;
        lines[i].next = lines[other].next;
        lines[other].next = next;
    }
    uint32_t at = 0;
    uint64_t from_ns = bench_now_ns();
    for (uint32_t i = 0; i < STEPS; i++)
        at = lines[at].next;
    double ns = (double)(bench_now_ns() - from_ns) / STEPS;
    if (lines[at].next >= LINES) /* so that the way there is taken */
        bench_die("a ring is broken");
    free(lines);
    return ns;
}
