/* SPDX-License-Identifier: MIT */
/* A turn, as libuv runs it:
 *
 *   timers, pending
 *   before_sleep   posts, due work, on_turn_end, what was deferred; the timer is armed
 *   poll           sleeps; then sockets, the two timers, the alarm
 *   after_sleep    posts
 *   close callbacks
 *
 * The turn's end stands before the sleep and not after the sockets, since timers and close
 * callbacks come in between and may leave something to write out.
 *
 * Posts: a poster sets `posted`, then looks whether the loop is asleep; the loop sets
 * `asleep`, then looks whether there are posts. In whatever order these four happen, one of
 * the two sees the other. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"

enum {
    NS_PER_S = 1000000000,
    FAR_AHEAD_S = 1000000000, /* some 30 years: a timer that only notices a clock step */
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    uv_idle_t sleepless; /* active: the next poll does not sleep */
    uv_async_t alarm;
    uv_poll_t wake_poll;
    uv_poll_t step_poll;
    int wake_fd;
    int step_fd;
    int64_t wake_ns;  /* INT64_MAX: never */
    int64_t armed_ns; /* what wake_fd is set to */
    struct loop_deferred *deferred;
    struct loop_deferred **deferred_end;
    struct loop_hooks hooks;
    bool in_wake;
    int64_t looked_ns; /* when loop_busy_ns was last asked */
    uint64_t idle_ns;  /* … and how long it had slept by then */
    atomic_bool posted;
    atomic_bool asleep;
};

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_wake_at(struct loop *loop, int64_t elapsed_ns)
{
    loop->wake_ns = elapsed_ns;
}

int64_t loop_busy_ns(struct loop *loop)
{
    int64_t now = clock_elapsed(&clock_system).ns;
    uint64_t idle = uv_metrics_idle_time(&loop->uv);
    int64_t busy = now - loop->looked_ns - (int64_t)(idle - loop->idle_ns);
    bool first = loop->looked_ns == 0;
    loop->looked_ns = now;
    loop->idle_ns = idle;
    return first || busy < 0 ? 0 : busy;
}

void loop_breathe(struct loop *loop)
{
    /* Whoever calls this is awake; a post need not wake us. */
    if (atomic_load_explicit(&loop->asleep, memory_order_relaxed))
        atomic_store(&loop->asleep, false);
    if (loop->wake_ns == INT64_MAX || loop->in_wake)
        return;
    if (clock_elapsed(&clock_system).ns < loop->wake_ns)
        return;
    loop->wake_ns = INT64_MAX;
    loop->in_wake = true;
    if (loop->hooks.on_wake != NULL)
        loop->hooks.on_wake(loop->hooks.arg);
    loop->in_wake = false;
}

void loop_post(struct loop *loop)
{
    if (!atomic_exchange(&loop->posted, true) && atomic_load(&loop->asleep))
        (void)uv_async_send(&loop->alarm);
}

static void take_posts(struct loop *loop)
{
    if (atomic_exchange(&loop->posted, false) && loop->hooks.on_post != NULL)
        loop->hooks.on_post(loop->hooks.arg);
}

void loop_defer(struct loop *loop, struct loop_deferred *deferred)
{
    if (deferred->waiting)
        return;
    deferred->waiting = true;
    deferred->next = NULL;
    *loop->deferred_end = deferred;
    loop->deferred_end = &deferred->next;
}

static void run_deferred(struct loop *loop)
{
    struct loop_deferred *next = loop->deferred;
    loop->deferred = NULL;
    loop->deferred_end = &loop->deferred;
    while (next != NULL) {
        struct loop_deferred *now = next;
        next = now->next;
        now->waiting = false;
        now->run(now->arg);
    }
}

/* False: the wall clock was set since it was last read, and this is where that was told. The timer
 * is armed all the same. */
static bool set_timer(int fd, int flags, int64_t ns)
{
    struct itimerspec spec = {0}; /* all zero disarms */
    if (ns != INT64_MAX) {
        int64_t at_ns = ns > 0 ? ns : 1;
        spec.it_value.tv_sec = at_ns / NS_PER_S;
        spec.it_value.tv_nsec = at_ns % NS_PER_S;
    }
    bool set = timerfd_settime(fd, TFD_TIMER_ABSTIME | flags, &spec, NULL) == 0;
    assert(set || errno == ECANCELED);
    return set;
}

static void arm_wake(struct loop *loop)
{
    if (loop->armed_ns == loop->wake_ns)
        return;
    (void)set_timer(loop->wake_fd, 0, loop->wake_ns);
    loop->armed_ns = loop->wake_ns;
}

/* From its end on every step is told; those before it are the caller's to tell. */
static void arm_step(struct loop *loop)
{
    int64_t far_ns;
    do
        far_ns = clock_wall(&clock_system).ns + (int64_t)FAR_AHEAD_S * NS_PER_S;
    while (!set_timer(loop->step_fd, TFD_TIMER_CANCEL_ON_SET, far_ns));
}

static void on_idle(uv_idle_t *handle)
{
    (void)handle;
}

static void before_sleep(uv_prepare_t *handle)
{
    struct loop *loop = handle->data;
    take_posts(loop);
    loop_breathe(loop);
    if (loop->hooks.on_turn_end != NULL)
        loop->hooks.on_turn_end(loop->hooks.arg);
    run_deferred(loop);
    arm_wake(loop);
    atomic_store(&loop->asleep, true);
    if (loop->deferred != NULL || atomic_load(&loop->posted))
        (void)uv_idle_start(&loop->sleepless, on_idle);
    else
        (void)uv_idle_stop(&loop->sleepless);
}

static void after_sleep(uv_check_t *handle)
{
    struct loop *loop = handle->data;
    atomic_store(&loop->asleep, false);
    take_posts(loop);
}

/* Its only use is that the poll returns. */
static void on_alarm(uv_async_t *handle)
{
    (void)handle;
}

static void on_wake_timer(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    if (read(loop->wake_fd, &ticks, sizeof ticks) == (ssize_t)sizeof ticks)
        loop->armed_ns = INT64_MAX;
    loop_breathe(loop);
}

static void on_step_timer(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    /* ECANCELED says that the clock was set; that the far future is here says so too. */
    if (read(loop->step_fd, &ticks, sizeof ticks) < 0 && errno != ECANCELED)
        return;
    arm_step(loop);
    if (loop->hooks.on_clock_step != NULL)
        loop->hooks.on_clock_step(loop->hooks.arg);
}

static enum tocsin_status refuse(struct tocsin_why *why, const char *what, int error)
{
    (void)snprintf(why->text, sizeof why->text, "%s: %s", what, strerror(error));
    return error == ENOMEM ? TOCSIN_NO_MEMORY : TOCSIN_FULL;
}

static enum tocsin_status open_timers(struct loop *loop, struct tocsin_why *ret_why)
{
    loop->wake_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->wake_fd < 0)
        return refuse(ret_why, "no timer of the boot-time clock", errno);
    loop->step_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->step_fd < 0)
        return refuse(ret_why, "no timer of the wall clock", errno);
    return TOCSIN_OK;
}

static void start_handles(struct loop *loop)
{
    uv_loop_t *uv = &loop->uv;
    uv_poll_t *wake = &loop->wake_poll;
    uv_poll_t *step = &loop->step_poll;
    int failed = uv_prepare_init(uv, &loop->before_sleep);
    failed |= uv_prepare_start(&loop->before_sleep, before_sleep);
    failed |= uv_check_init(uv, &loop->after_sleep);
    failed |= uv_check_start(&loop->after_sleep, after_sleep);
    failed |= uv_idle_init(uv, &loop->sleepless);
    failed |= uv_poll_init(uv, wake, loop->wake_fd);
    failed |= uv_poll_start(wake, UV_READABLE, on_wake_timer);
    failed |= uv_poll_init(uv, step, loop->step_fd);
    failed |= uv_poll_start(step, UV_READABLE, on_step_timer);
    assert(!failed);
    loop->before_sleep.data = loop;
    loop->after_sleep.data = loop;
    wake->data = loop;
    step->data = loop;
}

static void close_timers(struct loop *loop)
{
    if (loop->wake_fd >= 0)
        (void)close(loop->wake_fd);
    if (loop->step_fd >= 0)
        (void)close(loop->step_fd);
}

enum tocsin_status loop_create(const struct loop_hooks *hooks, struct loop **ret_loop,
                               struct tocsin_why *ret_why)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return refuse(ret_why, "no loop", ENOMEM);
    loop->hooks = *hooks;
    loop->wake_ns = INT64_MAX;
    loop->armed_ns = INT64_MAX;
    loop->wake_fd = -1;
    loop->step_fd = -1;
    loop->deferred_end = &loop->deferred;
    enum tocsin_status status = open_timers(loop, ret_why);
    if (status != TOCSIN_OK)
        goto out;
    int error = uv_loop_init(&loop->uv);
    if (error != 0) {
        status = refuse(ret_why, "no loop", -error);
        goto out;
    }
    (void)uv_loop_configure(&loop->uv, UV_METRICS_IDLE_TIME);
    error = uv_async_init(&loop->uv, &loop->alarm, on_alarm);
    if (error != 0) {
        status = refuse(ret_why, "no alarm for the loop", -error);
        (void)uv_loop_close(&loop->uv);
        goto out;
    }
    start_handles(loop);
    arm_step(loop);
    *ret_loop = loop;
    return TOCSIN_OK;
out:
    close_timers(loop);
    free(loop);
    return status;
}

void loop_destroy(struct loop *loop)
{
    if (loop == NULL)
        return;
    uv_close((uv_handle_t *)&loop->before_sleep, NULL);
    uv_close((uv_handle_t *)&loop->after_sleep, NULL);
    uv_close((uv_handle_t *)&loop->sleepless, NULL);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    uv_close((uv_handle_t *)&loop->wake_poll, NULL);
    uv_close((uv_handle_t *)&loop->step_poll, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    int failed = uv_loop_close(&loop->uv);
    assert(!failed);
    (void)failed;
    close_timers(loop);
    free(loop);
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}
