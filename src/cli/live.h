/* SPDX-License-Identifier: MIT */
/* live.h - how is a server watched from a terminal?
 *
 * One question, asked again and again; what is made of the answers is the caller's, and so are
 * the frames. One thread: keys and signals are heard while an answer is on its way.
 *
 * Promise   however it ends, the terminal is as it was: by q, Ctrl-C, SIGTERM, SIGHUP or
 *           live_end. Ctrl-Z gives it to the shell for a while. A server that is away is asked
 *           again at each interval, unless the caller ends it.
 * Memory    all borrowed, from live_run on to its end.
 */
#ifndef TOCSIN_CLI_LIVE_H
#define TOCSIN_CLI_LIVE_H

#include "cli/client.h"
#include "cli/screen.h"

struct live {
    struct client *client;
    const char *path;
    uint64_t interval_ms; /* from one question to the next */
    uint64_t frame_ms;    /* from one frame to the next; 0: only answers make one */
    bool lines;           /* no screen, although there is a terminal */
    int seen_code;        /* the exit code when the user has seen enough */
    /* An answer, or that there was none. */
    void (*take)(struct live *live, const struct call *call, enum call_end end);
    /* Draws what has been taken, and shows it. */
    void (*draw)(const struct live *live, struct screen *screen);
    void *arg; /* for both */

    /* To be read: */
    struct screen *screen; /* NULL: say it in lines */
    uint64_t asked_us;     /* when the question went out that was answered last */

    /* Its own: */
    struct calls *calls;
    uint64_t ask_us;
    uint64_t frame_us;
    int signals;
    bool keyboard;
    bool taken;
    bool quit;
    int code;
};

/* Until the end; the exit code. */
int live_run(struct live *live);
/* All of a command that watches the one whose id is its word, at before + id; with --json in
 * lines. Fills live->client, path and lines. */
int live_watch(struct live *live, const struct command *command, int argc, char **argv,
               const char *before);

/* From take: that was the last one. Unless it was the first, too, it is drawn; then the screen is
 * closed, and what is said from now on is below it. */
void live_end(struct live *live, int code);
/* From take: ask then, and not only after the interval. */
void live_ask_at(struct live *live, uint64_t at_us);
/* No answer, or one that says that the server cannot answer now. */
bool live_is_away(const struct call *call, enum call_end end);

#endif
