/* SPDX-License-Identifier: MIT */
#include "cli/live.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/signals.h"

enum { ANSWER_MS = 3000 };

static void draw(struct live *live)
{
    if (live->screen == NULL || !live->taken || screen_busy(live->screen))
        return;
    live->draw(live, live->screen);
    live->frame_us = clock_now_us() + live->frame_ms * 1000;
}

/* ---- asking */

static void answered(void *arg, struct call *call, enum call_end end)
{
    struct live *live = arg;
    live->take(live, call, end);
    live->taken = true;
    draw(live);
    live->quit = live->quit || ferror(stdout) != 0;
}

static void ask(struct live *live, uint64_t now_us)
{
    uint64_t limit_ms = live->client->timeout_ms;
    live->asked_us = now_us;
    live->ask_us = now_us + live->interval_ms * 1000;
    calls_start(live->calls, live->client->call,
                &(struct call_request){.method = "GET",
                                       .path = live->path,
                                       .timeout_ms = limit_ms < ANSWER_MS ? limit_ms : ANSWER_MS},
                answered, live);
}

void live_ask_at(struct live *live, uint64_t at_us)
{
    live->ask_us = at_us;
}

bool live_is_away(const struct call *call, enum call_end end)
{
    return end != CALL_ANSWERED || call_status(call) >= 500;
}

void live_end(struct live *live, int code)
{
    while (live->screen != NULL && screen_busy(live->screen)) {
        struct pollfd ready = {.fd = screen_fd(live->screen), .events = POLLOUT};
        if (poll(&ready, 1, ANSWER_MS) <= 0)
            break;
        screen_push(live->screen);
    }
    draw(live);
    screen_close(live->screen);
    live->screen = NULL;
    live->keyboard = false;
    live->quit = true;
    live->code = code;
}

/* ---- keys and signals */

static void on_signal(struct live *live)
{
    struct signalfd_siginfo info;
    while (read(live->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGWINCH && live->screen != NULL) {
            screen_resize(live->screen);
            draw(live);
        } else if (info.ssi_signo == SIGTSTP) {
            if (live->screen != NULL)
                screen_suspend(live->screen);
            (void)raise(SIGSTOP);
            if (live->screen != NULL)
                screen_resume(live->screen);
        } else if (info.ssi_signo != SIGWINCH) {
            live->quit = true;
        }
    }
}

static void on_key(struct live *live)
{
    char keys[16];
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0)
        return;
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0) {
        live->keyboard = count < 0 && (errno == EINTR || errno == EAGAIN);
        return;
    }
    if (memchr(keys, 'q', (size_t)count) != NULL || memchr(keys, 'Q', (size_t)count) != NULL)
        live->quit = true;
}

/* ---- the loop */

static uint64_t wait_ms(const struct live *live, uint64_t now_us)
{
    uint64_t wake_us =
        call_under_way(live->client->call) ? now_us + ANSWER_MS * 1000 : live->ask_us;
    bool frames = live->screen != NULL && live->frame_ms > 0 && live->taken;
    if (frames && live->frame_us < wake_us)
        wake_us = live->frame_us;
    return wake_us > now_us ? (wake_us - now_us) / 1000 + 1 : 0;
}

static void loop(struct live *live)
{
    while (!live->quit) {
        struct pollfd fds[3];
        size_t count = 0;
        uint64_t now_us = clock_now_us();
        if (now_us >= live->ask_us && !call_under_way(live->client->call))
            ask(live, now_us);
        fds[count++] = (struct pollfd){.fd = live->signals, .events = POLLIN};
        if (live->keyboard)
            fds[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        if (live->screen != NULL && screen_busy(live->screen))
            fds[count++] = (struct pollfd){.fd = screen_fd(live->screen), .events = POLLOUT};
        calls_wait(live->calls, fds, count, wait_ms(live, now_us));
        on_signal(live);
        if (live->keyboard)
            on_key(live);
        if (live->screen != NULL)
            screen_push(live->screen);
        if (live->frame_ms > 0 && clock_now_us() >= live->frame_us)
            draw(live);
    }
}

int live_run(struct live *live)
{
    live->code = live->seen_code;
    live->signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH, 0});
    if (live->signals < 0)
        return command_fail(live->client->command, "cannot wait for signals: %s", strerror(errno));
    live->calls = calls_create();
    if (live->calls != NULL) {
        live->screen = live->lines ? NULL : screen_open();
        live->keyboard = live->screen != NULL && isatty(STDIN_FILENO);
        loop(live);
        screen_close(live->screen);
        calls_cancel(live->calls, live->client->call);
        calls_destroy(live->calls);
    } else {
        live->code = command_fail(live->client->command, "no memory");
    }
    (void)close(live->signals);
    return live->code;
}

int live_watch(struct live *live, const struct command *command, int argc, char **argv,
               const char *before)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    char path[CLIENT_PATH_BYTES_MAX];
    int code;
    if (!command_begin(command, &words, &options, &code))
        return code;
    code = client_init(live->client, command, &options);
    if (code == EXIT_DONE && !client_path(live->client, before, words.at[0], "", path))
        code = EXIT_USAGE;
    live->path = path;
    live->lines = live->client->json;
    if (code == EXIT_DONE)
        code = live_run(live);
    client_release(live->client);
    return code;
}
