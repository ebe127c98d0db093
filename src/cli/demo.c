/* SPDX-License-Identifier: MIT */
/* One loop on the real clock:
 *
 *     read the clock          microseconds; the wheel gets whole milliseconds,
 *                             rounded down, and due times are rounded up, so a
 *                             timer that looks early by a microsecond is early
 *     advance the wheel       what is due comes out
 *     beat                    every 10 ms: the load arms, cancels, pushes back
 *     report                  ten frames or one line a second
 *     sleep                   on an absolute alarm, until the first of: the
 *                             wheel's wake, the next beat, the next report, the
 *                             end; or until a key or a signal
 */

#include "cli/demo.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/bells.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/lateness.h"
#include "cli/load.h"
#include "cli/screen.h"
#include "cli/summary.h"
#include "cli/tally.h"
#include "cli/view.h"

#define FRAME_US UINT64_C(100000)
#define LINE_US UINT64_C(1000000)

/* Steps of work between two looks at the clock. */
enum { ADVANCE_WORK = 4096 };

struct demo {
    struct demo_options options;
    struct tocsin_wheel *wheel;
    struct load *load;
    struct bells bells;
    struct lateness lateness;
    struct tally tally;
    struct tally_history history;
    struct screen *screen; /* NULL: lines, or nothing at all for JSON */
    struct view view;
    uint64_t base_tick_ms;
    uint64_t early;
    uint64_t unexpected;
    uint64_t started_us;
    uint64_t end_us;
    uint64_t now_us; /* as last given to the wheel */
    uint64_t beat_us;
    uint64_t report_us;
    int alarm;
    int signals;
    bool keyboard; /* worth listening to */
    bool quit;
    sigset_t signals_before;
};

static void on_due(void *arg, const struct tocsin_due *due)
{
    struct demo *demo = arg;
    uint64_t now_us = clock_now_us();
    uint64_t due_us = due->due * 1000;
    uint64_t late_us = now_us < due_us ? 0 : now_us - due_us;
    uint64_t asked_us = due_us;
    bool expected = bells_is_cookie(due->cookie) ? bells_fired(&demo->bells, due, now_us, late_us)
                                                 : load_fired(demo->load, due, &asked_us);
    lateness_add(&demo->lateness, late_us);
    demo->tally.fired++;
    /* By the time the wheel was told, not the later one of this moment. */
    demo->early += demo->now_us < due_us || demo->now_us < asked_us;
    demo->unexpected += !expected;
}

static int fail(const char *what, const char *why)
{
    return command_fail(&demo_command, "%s: %s", what, why);
}

/* Before the screen is opened: from then on no signal may end us but by the way
 * that gives the terminal back. */
static int open_events(struct demo *demo)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        (void)sigaddset(&set, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &set, &demo->signals_before);
    demo->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    demo->alarm = clock_alarm_open();
    if (demo->signals < 0 || demo->alarm < 0)
        return fail("cannot wait for events", strerror(errno));
    return EXIT_DONE;
}

static int open_wheel(struct demo *demo)
{
    struct tocsin_why why = {.text = ""};
    struct tocsin_wheel_level_stats base = {0};
    uint64_t now_us = clock_now_us();
    struct tocsin_wheel_config config = {.now = now_us / 1000};
    config.levels = tocsin_wheel_preset(demo->options.geometry, &config.level_count);
    enum tocsin_status status = tocsin_wheel_create(&config, &demo->wheel, &why);
    if (status != TOCSIN_OK)
        return fail("cannot make the wheel", why.text);
    (void)tocsin_wheel_describe_level(demo->wheel, 0, &base);
    demo->base_tick_ms = base.tick;
    demo->started_us = now_us;
    demo->end_us = now_us + demo->options.run_ms * 1000;
    demo->beat_us = now_us + LOAD_BEAT_US;
    demo->report_us = now_us + (demo->screen != NULL ? FRAME_US : LINE_US);

    status = load_create(demo->wheel, &demo->tally, (uint32_t)demo->options.timers,
                         demo->options.seed, now_us, &demo->load);
    if (status == TOCSIN_OK)
        status = bells_start(&demo->bells, demo->wheel, &demo->tally, load_due_ms(now_us),
                             demo->options.run_ms);
    if (status != TOCSIN_OK)
        return fail("cannot arm the first timers", tocsin_status_text(status));
    tally_record(&demo->history, now_us, &demo->tally);
    return EXIT_DONE;
}

static void close_all(struct demo *demo)
{
    load_destroy(demo->load);
    tocsin_wheel_destroy(demo->wheel);
    if (demo->alarm >= 0)
        (void)close(demo->alarm);
    if (demo->signals >= 0)
        (void)close(demo->signals);
}

static struct summary summarize(const struct demo *demo)
{
    return (struct summary){.geometry = demo->options.geometry,
                            .wheel = demo->wheel,
                            .lateness = &demo->lateness,
                            .tally = &demo->tally,
                            .seed = demo->options.seed,
                            .elapsed_us = clock_now_us() - demo->started_us,
                            .early = demo->early,
                            .unexpected = demo->unexpected};
}

static void draw(struct demo *demo)
{
    struct tally rates = tally_rates(&demo->history);
    struct view_scene scene = {.wheel = demo->wheel,
                               .lateness = &demo->lateness,
                               .bells = &demo->bells,
                               .tally = &demo->tally,
                               .rates = &rates,
                               .geometry = demo->options.geometry,
                               .base_tick_ms = demo->base_tick_ms,
                               .early = demo->early,
                               .now_us = demo->now_us,
                               .elapsed_us = demo->now_us - demo->started_us,
                               .run_us = demo->options.run_ms * 1000};
    view_draw(&demo->view, demo->screen, &scene);
}

/* The next of a rhythm that lies ahead; what was missed is not made up for. */
static uint64_t next_of(uint64_t last_us, uint64_t every_us, uint64_t now_us)
{
    return last_us + every_us * ((now_us - last_us) / every_us + 1);
}

static void count_moved(struct demo *demo)
{
    struct tocsin_wheel_stats stats;
    tocsin_wheel_describe(demo->wheel, &stats);
    demo->tally.moved = stats.moved;
}

static void report(struct demo *demo)
{
    count_moved(demo);
    tally_record(&demo->history, demo->now_us, &demo->tally);
    if (demo->screen != NULL) {
        if (!screen_busy(demo->screen))
            draw(demo);
    } else if (!demo->options.json) {
        struct summary summary = summarize(demo);
        struct tally rates = tally_rates(&demo->history);
        summary_print_line(stdout, &summary, &rates);
    }
}

static enum tocsin_status beat(struct demo *demo)
{
    enum tocsin_status status = load_beat(demo->load, demo->now_us);
    if (status == TOCSIN_OK)
        status = bells_step(&demo->bells, load_due_ms(demo->now_us));
    return status;
}

static void on_signal(struct demo *demo)
{
    struct signalfd_siginfo info;
    while (read(demo->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGWINCH:
            if (demo->screen != NULL)
                screen_resize(demo->screen);
            break;
        case SIGTSTP:
            if (demo->screen != NULL)
                screen_suspend(demo->screen);
            (void)raise(SIGSTOP);
            if (demo->screen != NULL)
                screen_resume(demo->screen);
            break;
        default:
            demo->quit = true;
        }
    }
}

static void on_key(struct demo *demo)
{
    char keys[16];
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0) {
        demo->keyboard = count < 0 && (errno == EINTR || errno == EAGAIN);
        return;
    }
    if (memchr(keys, 'q', (size_t)count) != NULL || memchr(keys, 'Q', (size_t)count) != NULL)
        demo->quit = true;
}

static uint64_t wake_us(const struct demo *demo)
{
    uint64_t at_us = demo->end_us;
    uint64_t wheel_ms;
    if (demo->beat_us < at_us)
        at_us = demo->beat_us;
    if (demo->report_us < at_us)
        at_us = demo->report_us;
    if (tocsin_wheel_wake(demo->wheel, &wheel_ms) && wheel_ms <= at_us / 1000)
        at_us = wheel_ms * 1000;
    return at_us;
}

static void sleep_until(struct demo *demo, uint64_t at_us)
{
    enum { ALARM, SIGNALS, KEYBOARD, TERMINAL, FDS };
    struct pollfd fds[FDS] = {
        [ALARM] = {.fd = demo->alarm, .events = POLLIN},
        [SIGNALS] = {.fd = demo->signals, .events = POLLIN},
        [KEYBOARD] = {.fd = demo->keyboard ? STDIN_FILENO : -1, .events = POLLIN},
        [TERMINAL] = {.fd = -1, .events = POLLOUT},
    };
    if (demo->screen != NULL && screen_busy(demo->screen))
        fds[TERMINAL].fd = screen_fd(demo->screen);
    clock_alarm_set(demo->alarm, at_us);
    if (poll(fds, FDS, -1) < 0) {
        assert(errno == EINTR);
        return;
    }
    if (fds[SIGNALS].revents != 0)
        on_signal(demo);
    if (fds[KEYBOARD].revents != 0)
        on_key(demo);
    if (fds[TERMINAL].revents != 0)
        screen_push(demo->screen);
}

static enum tocsin_status turn(struct demo *demo)
{
    demo->now_us = clock_now_us();
    enum tocsin_status status =
        tocsin_wheel_advance(demo->wheel, demo->now_us / 1000, ADVANCE_WORK, on_due, demo);
    if (status != TOCSIN_OK)
        return status;
    if (demo->now_us >= demo->beat_us && demo->now_us < demo->end_us) {
        status = beat(demo);
        demo->beat_us = next_of(demo->beat_us, LOAD_BEAT_US, demo->now_us);
    }
    if (demo->now_us >= demo->report_us) {
        report(demo);
        demo->report_us =
            next_of(demo->report_us, demo->screen != NULL ? FRAME_US : LINE_US, demo->now_us);
    }
    return status;
}

static enum tocsin_status run(struct demo *demo)
{
    while (!demo->quit) {
        enum tocsin_status status = turn(demo);
        if (status == TOCSIN_MORE)
            continue;
        if (status != TOCSIN_OK || demo->now_us >= demo->end_us)
            return status;
        sleep_until(demo, wake_us(demo));
    }
    return TOCSIN_OK;
}

/* What stands there at the end is how it ended. */
static void close_screen(struct demo *demo)
{
    if (demo->screen == NULL)
        return;
    if (demo->wheel != NULL && !screen_busy(demo->screen))
        draw(demo);
    screen_close(demo->screen);
    demo->screen = NULL;
}

static int finish(struct demo *demo)
{
    count_moved(demo);
    struct summary summary = summarize(demo);
    summary.lost = load_lost(demo->load);
    summary.check = tocsin_wheel_check(demo->wheel, &summary.why);
    if (demo->options.json)
        summary_print_json(stdout, &summary);
    else
        summary_print(stdout, &summary);
    return summary_good(&summary) ? EXIT_DONE : EXIT_REFUSED;
}

int demo_run(int argc, char **argv)
{
    struct demo demo = {.options = demo_options_default, .alarm = -1, .signals = -1};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&demo_command, &words, &demo.options, &code))
        return code;

    code = open_events(&demo);
    if (code == EXIT_DONE && !demo.options.json)
        demo.screen = screen_open();
    demo.keyboard = demo.screen != NULL && isatty(STDIN_FILENO);
    if (code == EXIT_DONE)
        code = open_wheel(&demo);
    enum tocsin_status status = code == EXIT_DONE ? run(&demo) : TOCSIN_OK;
    close_screen(&demo);
    (void)sigprocmask(SIG_SETMASK, &demo.signals_before, NULL);
    if (status != TOCSIN_OK)
        code = fail("the wheel refused", tocsin_status_text(status));
    else if (code == EXIT_DONE)
        code = finish(&demo);
    close_all(&demo);
    return code;
}
