/* SPDX-License-Identifier: MIT */
#include "bare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "server/load.h"

enum { BACKLOG = 4096, LIFE_S = 3600, FRAME_BYTES_MAX = 1024 };

static size_t write_frame(char *out, int64_t left, int64_t deadline_ms)
{
    char body[512], text[768];
    int body_size =
        snprintf(body, sizeof body,
                 "{\"key\":\"bench\",\"version\":\"1\",\"type\":\"TICK\",\"seq\":4294967297,"
                 "\"payload\":{\"left\":%lld,\"leftMs\":%lld,\"owner\":\"me\","
                 "\"deadlineEpochMs\":%lld}}",
                 (long long)left, (long long)left * 1000, (long long)deadline_ms);
    int size = snprintf(text, sizeof text,
                        "MESSAGE\nsubscription:sub-0\ndestination:/topic/countdown.bench\n"
                        "content-type:application/json\nmessage-id:%lld\ncontent-length:%d\n\n%s",
                        (long long)left, body_size, body);
    size++; /* with the 0 */
    out[0] = (char)0x81;
    out[1] = 126;
    out[2] = (char)(size >> 8);
    out[3] = (char)size;
    memcpy(out + 4, text, (size_t)size);
    return 4 + (size_t)size;
}

static _Noreturn void serve(int listener, unsigned clients)
{
    int *fds = bench_alloc(clients, sizeof *fds), on = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < clients; i++) {
        fds[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fds[i] < 0)
            _exit(1);
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    int64_t first_s = bench_wall_ns() / 1000000000 + 1;
    for (int64_t s = 0; s < LIFE_S; s++) {
        char frame[FRAME_BYTES_MAX];
        struct timespec due = {.tv_sec = first_s + s};
        size_t size = write_frame(frame, LIFE_S - s, (first_s + LIFE_S) * 1000);
        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL) == EINTR)
            continue;
        for (unsigned i = 0; i < clients; i++) {
            if (send(fds[i], frame, size, MSG_NOSIGNAL) < 0)
                _exit(0);
        }
    }
    _exit(0);
}

void bare_start(struct child *child, unsigned clients, unsigned short *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        bench_die("no port to listen on: %s", strerror(errno));
    *child = (struct child){.out = -1};
    fflush(NULL);
    child->pid = fork();
    if (child->pid < 0)
        bench_die("fork: %s", strerror(errno));
    if (child->pid == 0)
        serve(listener, clients);
    close(listener);
    *ret_port = ntohs(address.sin_port);
}
