/* SPDX-License-Identifier: MIT */
/* tocsin top: a server at work, live in the terminal. Once a second its metrics are asked for;
 * what is shown is what happened over the last few. One thread: keys and signals are heard while
 * an answer is on its way. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/top_view.h"
#include "schedule/duration.h"

enum { SAMPLES = 6, ANSWER_MS = 3000 };

struct top {
    struct client_options options; /* first */
    uint64_t interval_ms;
    bool once;

    struct client client;
    struct calls *calls;
    struct screen *screen; /* NULL: lines */
    struct sample *samples;
    uint64_t taken;
    bool lost; /* the last one was not answered */
    char problem[300];
    uint64_t ask_us;
    int signals;
    bool keyboard;
    bool quit;
    int code;
};

static bool read_interval(const char *value, void *into)
{
    struct tocsin_why why;
    uint64_t ms;
    if (duration_parse(value, strlen(value), &ms, &why) != TOCSIN_OK || ms < 100 || ms > 60000)
        return false;
    ((struct top *)into)->interval_ms = ms;
    return true;
}

static bool read_once(const char *value, void *into)
{
    (void)value;
    ((struct top *)into)->once = true;
    return true;
}

static const struct option_row rows[] = {
    {"--interval", "TIME", "how often (1s)", "a duration from 100ms to 1m", read_interval},
    {"--once", NULL, "one frame, over one interval, and end", "", read_once},
};

/* ---- showing */

static struct top_scene scene_of(const struct top *top)
{
    uint64_t kept = top->taken < SAMPLES ? top->taken : SAMPLES;
    return (struct top_scene){
        .url = top->client.url,
        .problem = top->lost ? top->problem : NULL,
        .newer = &top->samples[(top->taken + SAMPLES - 1) % SAMPLES],
        .older = &top->samples[(top->taken + SAMPLES - (kept > 0 ? kept : 1)) % SAMPLES],
    };
}

static void show(struct top *top)
{
    struct top_scene scene = scene_of(top);
    if (top->screen != NULL) {
        if (!screen_busy(top->screen))
            top_view_draw(top->screen, &scene);
    } else if (top->once && top->taken < 2) {
        return;
    } else if (top->client.json) {
        top_view_print_json(stdout, &scene);
    } else if (top->once) {
        top_view_print(stdout, &scene);
    } else if (top->taken > 1) {
        top_view_print_line(stdout, &scene);
    }
    top->quit = top->quit || top->once || ferror(stdout) != 0;
}

/* ---- asking */

static void answered(void *arg, struct call *call, enum call_end end)
{
    struct top *top = arg;
    struct sample *next = &top->samples[top->taken % SAMPLES];
    bool good = end == CALL_ANSWERED && call_status(call) == 200;
    if (good && sample_read(call_body(call), clock_now_us(), next)) {
        top->taken++;
        top->lost = false;
    } else if (top->taken == 0 || top->once || (end == CALL_ANSWERED && !good)) {
        screen_close(top->screen); /* before anything is said below it */
        top->screen = NULL;
        top->keyboard = false;
        top->code = good ? command_fail(&top_command, "%s is no tocsin", top->client.url)
                         : client_judge(&top->client, call, end);
        top->quit = true;
        return;
    } else {
        top->lost = true;
        (void)snprintf(top->problem, sizeof top->problem, "%s", call_why(call));
    }
    show(top);
}

static void ask(struct top *top)
{
    calls_start(
        top->calls, top->client.call,
        &(struct call_request){.method = "GET", .path = "/metrics", .timeout_ms = ANSWER_MS},
        answered, top);
}

/* ---- keys and signals */

static void on_signal(struct top *top)
{
    struct signalfd_siginfo info;
    while (read(top->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGWINCH && top->screen != NULL) {
            screen_resize(top->screen);
            if (top->taken > 0)
                show(top);
        } else if (info.ssi_signo == SIGTSTP) {
            if (top->screen != NULL)
                screen_suspend(top->screen);
            (void)raise(SIGSTOP);
            if (top->screen != NULL)
                screen_resume(top->screen);
        } else if (info.ssi_signo != SIGWINCH) {
            top->quit = true;
        }
    }
}

static void on_key(struct top *top)
{
    char keys[16];
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0)
        return;
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0) {
        top->keyboard = count < 0 && (errno == EINTR || errno == EAGAIN);
        return;
    }
    if (memchr(keys, 'q', (size_t)count) != NULL || memchr(keys, 'Q', (size_t)count) != NULL)
        top->quit = true;
}

static int open_signals(struct top *top)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        (void)sigaddset(&set, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    top->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (top->signals < 0)
        return command_fail(&top_command, "cannot wait for signals: %s", strerror(errno));
    return EXIT_DONE;
}

static void loop(struct top *top)
{
    while (!top->quit) {
        struct pollfd fds[3];
        size_t count = 0;
        uint64_t now_us = clock_now_us();
        if (now_us >= top->ask_us && !call_under_way(top->client.call)) {
            ask(top);
            top->ask_us = now_us + top->interval_ms * 1000;
        }
        fds[count++] = (struct pollfd){.fd = top->signals, .events = POLLIN};
        if (top->keyboard)
            fds[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        if (top->screen != NULL && screen_busy(top->screen))
            fds[count++] = (struct pollfd){.fd = screen_fd(top->screen), .events = POLLOUT};
        uint64_t wait_us = top->ask_us > now_us ? top->ask_us - now_us : 0;
        calls_wait(top->calls, fds, count,
                   call_under_way(top->client.call) && wait_us == 0 ? ANSWER_MS
                                                                    : wait_us / 1000 + 1);
        on_signal(top);
        if (top->keyboard)
            on_key(top);
        if (top->screen != NULL)
            screen_push(top->screen);
    }
}

static int top_run(int argc, char **argv)
{
    struct top top = {.interval_ms = 1000, .signals = -1};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&top_command, &words, &top, &code))
        return code;
    top.code = client_init(&top.client, &top_command, &top.options);
    if (top.code == EXIT_DONE)
        top.code = open_signals(&top);
    top.calls = calls_create();
    top.samples = calloc(SAMPLES, sizeof *top.samples);
    if (top.code == EXIT_DONE && (top.calls == NULL || top.samples == NULL))
        top.code = command_fail(&top_command, "no memory");
    if (top.code == EXIT_DONE) {
        if (!top.once && !top.client.json)
            top.screen = screen_open();
        top.keyboard = top.screen != NULL && isatty(STDIN_FILENO);
        loop(&top);
        screen_close(top.screen);
    }
    if (top.calls != NULL)
        calls_cancel(top.calls, top.client.call);
    client_release(&top.client);
    calls_destroy(top.calls);
    free(top.samples);
    if (top.signals >= 0)
        (void)close(top.signals);
    return top.code;
}

const struct command top_command = {
    .name = "top",
    .text = "watch a server at work, live in the terminal",
    .usage = "[OPTION...]",
    .about = "Shows how late tasks fire, what is added, fired, acked and failed a second, what\n"
             "waits in the queues and on the wheel, and how the store keeps up; over the last\n"
             "five seconds. Without a terminal: a line a second.\n",
    .after = "example: tocsin top --url http://timers.example.org:7400\n"
             "keys: q or Ctrl-C ends it\n"
             "environment: NO_COLOR\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .client = true,
    .run = top_run,
};
