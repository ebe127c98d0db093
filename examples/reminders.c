/* SPDX-License-Identifier: MIT */
/* reminders.c - a wheel in a poll loop of your own.
 *
 * Reads lines "SECONDS TEXT" and prints each text when its time has come. Ends when
 * the input has ended and nothing is pending.
 *
 *     printf '2 the tea\n0.5 the toast\n' | reminders
 *
 * Build it against the installed library:
 *
 *     cc reminders.c $(pkg-config --cflags --libs tocsin) -o reminders
 */
#include <tocsin/wheel.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 1e9

/* The wheel counts in whatever you count in; here it is milliseconds since boot. */
static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void)
{
    return clock_ns() / 1000000u;
}

/* Rounded up: a reminder may ring a moment late, but never early. */
static uint64_t due_ms(double seconds)
{
    return (clock_ns() + (uint64_t)(seconds * 1e9) + 999999u) / 1000000u;
}

/* A line becomes a timer; the text travels along as the cookie. */
static void remind(struct tocsin_wheel *wheel, const char *line)
{
    char *text = NULL;
    double seconds = strtod(line, &text);
    if (text == line || !(seconds >= 0 && seconds <= SECONDS_MAX)) {
        fprintf(stderr, "reminders: \"%s\" is not SECONDS TEXT\n", line);
        return;
    }
    text = strdup(text + strspn(text, " \t"));
    struct tocsin_timer timer; /* keep it to cancel or move the reminder later */
    enum tocsin_status status = TOCSIN_NO_MEMORY;
    if (text != NULL)
        status = tocsin_wheel_arm(wheel, due_ms(seconds), tocsin_cookie(text), &timer);
    if (status != TOCSIN_OK) {
        fprintf(stderr, "reminders: %s\n", tocsin_status_text(status));
        free(text);
    }
}

/* The wheel calls this for each timer that has come due. */
static void ring(void *arg, const struct tocsin_due *due)
{
    (void)arg;
    char *text = tocsin_cookie_pointer(due->cookie);
    puts(text);
    fflush(stdout);
    free(text);
}

/* Sleep until the wheel wants to be looked at. An absolute time cannot drift. */
static void set_alarm(int alarm, const struct tocsin_wheel *wheel)
{
    struct itimerspec when = {0}; /* all zero: no alarm */
    uint64_t at = 0;
    if (tocsin_wheel_wake(wheel, &at)) {
        when.it_value.tv_sec = (time_t)(at / 1000);
        when.it_value.tv_nsec = (long)(at % 1000) * 1000000 + 1; /* zero would mean none */
    }
    timerfd_settime(alarm, TFD_TIMER_ABSTIME, &when, NULL);
}

struct input {
    char bytes[4096];
    size_t length;
    bool open;
};

/* Read what is there and hand on every whole line; a last line needs no newline. */
static void read_lines(struct input *input, struct tocsin_wheel *wheel)
{
    ssize_t got =
        read(STDIN_FILENO, input->bytes + input->length, sizeof input->bytes - 1 - input->length);
    if (got <= 0) {
        input->open = false;
        got = 0;
        if (input->length > 0)
            input->bytes[input->length++] = '\n';
    }
    input->length += (size_t)got;
    char *line = input->bytes, *end;
    while ((end = memchr(line, '\n', input->length - (size_t)(line - input->bytes))) != NULL) {
        *end = '\0';
        if (*line != '\0')
            remind(wheel, line);
        line = end + 1;
    }
    input->length -= (size_t)(line - input->bytes);
    memmove(input->bytes, line, input->length);
    if (input->length == sizeof input->bytes - 1) {
        fprintf(stderr, "reminders: a line is longer than %zu bytes\n", sizeof input->bytes - 2);
        input->length = 0;
    }
}

int main(void)
{
    struct tocsin_wheel_config config = {.now = now_ms()};
    struct tocsin_wheel *wheel = NULL;
    struct tocsin_why why;
    if (tocsin_wheel_create(&config, &wheel, &why) != TOCSIN_OK) {
        fprintf(stderr, "reminders: %s\n", why.text);
        return 1;
    }
    int alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (alarm < 0) {
        perror("reminders: timerfd_create");
        tocsin_wheel_destroy(wheel);
        return 1;
    }

    struct input input = {.open = true};
    while (input.open || tocsin_wheel_count(wheel) > 0) {
        set_alarm(alarm, wheel);
        struct pollfd files[] = {
            {.fd = alarm, .events = POLLIN},
            {.fd = input.open ? STDIN_FILENO : -1, .events = POLLIN}, /* poll skips -1 */
        };
        poll(files, 2, -1);
        if (files[1].revents != 0)
            read_lines(&input, wheel);
        /* 0: no work limit. A server gives one and calls again while it answers MORE. */
        tocsin_wheel_advance(wheel, now_ms(), 0, ring, NULL);
    }
    close(alarm);
    tocsin_wheel_destroy(wheel);
    return 0;
}
