/* SPDX-License-Identifier: MIT */
/* tocsin countdown watch: a clock in the terminal. The server is asked every second and when the
 * time must be up; in between it is our own monotonic clock that runs, so that the digits go
 * smoothly and go on while the server is away. */

#include <string.h>

#include "cli/clock.h"
#include "cli/clock_face.h"
#include "cli/command_list.h"
#include "cli/countdown_text.h"
#include "cli/error.h"
#include "cli/live.h"
#include "cli/when.h"

enum {
    ASK_MS = 1000,
    FRAME_MS = 100,
    SOON_US = 50000, /* after the end, before we ask whether it is one */
    HURRY_MS = 10000,
    LAST_MS = 5000,
    MARGIN = 3,
    BAR_COLS_MAX = 72,
    TEXT_ROWS = 3, /* the title, the bar, and what is said below */
};

struct watch {
    struct client client;
    struct countdown_text it;
    bool met;          /* it is what the server said last */
    bool away;         /* the last question was not answered */
    uint64_t end_us;   /* when it is up, by our clock, while it runs */
    uint64_t whole_ms; /* what the full bar is */
};

static bool is(const struct watch *watch, const char *state)
{
    return strcmp(watch->it.state, state) == 0;
}

static uint64_t left_ms(const struct watch *watch)
{
    uint64_t now_us = clock_now_us();
    if (!is(watch, "running"))
        return watch->it.left_ms;
    return watch->end_us > now_us ? (watch->end_us - now_us + 999) / 1000 : 0;
}

/* ---- the screen */

static enum screen_style style_of(const struct watch *watch, uint64_t ms)
{
    if (is(watch, "paused"))
        return SCREEN_DIM;
    return ms < LAST_MS ? SCREEN_BAD : ms < HURRY_MS ? SCREEN_WARN : SCREEN_BOLD;
}

/* The digits, or where they do not fit the text; answers with the row after them. */
static int draw_digits(struct screen *screen, const struct watch *watch, int row, uint64_t ms)
{
    char cells[CLOCK_FACE_COLS_MAX + 1];
    struct clock_face_text face = clock_face_text(ms);
    enum screen_style style = style_of(watch, ms);
    bool fits = clock_face_row(face.text, 0, cells) + MARGIN <= screen_cols(screen) &&
                screen_rows(screen) >= CLOCK_FACE_ROWS + TEXT_ROWS;
    if (!fits) {
        (void)screen_text(screen, row, MARGIN, style, "%s", face.text);
        return row + 1;
    }
    for (int i = 0; i < CLOCK_FACE_ROWS; i++, row++) {
        (void)clock_face_row(face.text, i, cells);
        for (int col = 0; cells[col] != '\0'; col++) {
            if (cells[col] == '#')
                (void)screen_glyph(screen, row, MARGIN + col, style, screen_glyphs(screen)->bar[8]);
        }
    }
    return row;
}

static void draw_bar(struct screen *screen, const struct watch *watch, int row, uint64_t ms)
{
    char cells[CLOCK_FACE_COLS_MAX + 1];
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    int room = screen_cols(screen) - 2 * MARGIN;
    enum screen_style style = style_of(watch, ms);
    clock_face_bar(ms, watch->whole_ms, room < BAR_COLS_MAX ? room : BAR_COLS_MAX, cells);
    for (int i = 0; cells[i] != '\0'; i++) {
        bool rest = cells[i] == '.';
        (void)screen_glyph(screen, row, MARGIN + i,
                           rest                   ? SCREEN_DIM
                           : style == SCREEN_BOLD ? SCREEN_TIMER
                                                  : style,
                           rest              ? glyphs->rest
                           : cells[i] == '-' ? glyphs->half
                                             : glyphs->done);
    }
}

static void draw_words(struct screen *screen, const struct watch *watch, int row)
{
    const struct countdown_text *it = &watch->it;
    enum screen_style style = is(watch, "running")  ? SCREEN_GOOD
                              : is(watch, "paused") ? SCREEN_WARN
                                                    : SCREEN_BAD;
    int col = screen_text(screen, row, MARGIN, style, "%s", it->state);
    if (is(watch, "running"))
        col = screen_text(screen, row, col, SCREEN_DIM, " until %.8s",
                          when_clock(it->deadline_ms).text);
    col = screen_text(screen, row, col, SCREEN_DIM, "   owner ");
    col = screen_text(screen, row, col, SCREEN_BOLD, "%s", it->owner);
    col = screen_text(screen, row, col, SCREEN_DIM, "   version ");
    (void)screen_text(screen, row, col, SCREEN_PLAIN, "%s", it->version);
}

static void draw(const struct live *live, struct screen *screen)
{
    const struct watch *watch = live->arg;
    uint64_t ms = left_ms(watch);
    int spare = screen_rows(screen) - CLOCK_FACE_ROWS - TEXT_ROWS;
    int gap = spare >= 3; /* blank rows between the parts */
    screen_begin(screen, (spare >= 0 ? CLOCK_FACE_ROWS : 1) + TEXT_ROWS + 3 * gap);
    (void)screen_text(screen, 0, 1, SCREEN_TITLE, "%s", watch->it.key);
    (void)screen_text_right(screen, 0, screen_cols(screen), watch->away ? SCREEN_WARN : SCREEN_DIM,
                            watch->away ? " reconnecting" : " q quits");
    int row = draw_digits(screen, watch, 1 + gap, ms) + gap;
    draw_bar(screen, watch, row, ms);
    draw_words(screen, watch, row + 1 + gap);
    screen_show(screen);
}

/* ---- lines */

static void print_line(const struct watch *watch)
{
    bool ends = is(watch, "firing") || (is(watch, "running") && left_ms(watch) == 0);
    bool settled = !ends; /* else the end comes at once */
    if (watch->client.json && !watch->away && settled)
        client_print(&watch->client);
    else if (!watch->client.json && (watch->away || settled))
        (void)printf("%s %s %s, owner %s, version %s%s\n", watch->it.key,
                     clock_face_whole(left_ms(watch)).text, watch->it.state, watch->it.owner,
                     watch->it.version, watch->away ? ", reconnecting" : "");
    (void)fflush(stdout);
}

/* ---- answers */

/* It was answered somewhere between our asking and now. What we show moves only when it cannot be
 * right, so that the digits do not tremble with the network. */
static void set_end(struct watch *watch, uint64_t asked_us, uint64_t now_us)
{
    uint64_t first_us = asked_us + watch->it.left_ms * 1000;
    uint64_t last_us = now_us + watch->it.left_ms * 1000;
    if (watch->end_us < first_us || watch->end_us > last_us)
        watch->end_us = first_us + (last_us - first_us) / 2;
}

/* A new turn has a new bar; time that is given makes it longer. */
static void set_whole(struct watch *watch, const struct countdown_text *before)
{
    const struct countdown_text *it = &watch->it;
    bool same = watch->met && strcmp(before->version, it->version) == 0;
    if (!same && it->deadline_ms > it->started_ms)
        watch->whole_ms = (uint64_t)(it->deadline_ms - it->started_ms);
    else if (!same)
        watch->whole_ms = it->left_ms;
    if (it->left_ms > watch->whole_ms)
        watch->whole_ms = it->left_ms;
}

static void say_away(struct watch *watch, bool away, const struct call *call)
{
    if (watch->away == away)
        return;
    watch->away = away;
    if (!watch->client.json)
        return;
    if (away)
        error_note(watch->client.command->name, "reconnecting: %.300s", call_why(call));
    else
        error_note(watch->client.command->name, "the server is back");
}

static void end_expired(struct live *live)
{
    struct watch *watch = live->arg;
    char text[COUNTDOWN_LINE_BYTES];
    live_end(live, EXIT_DONE);
    if (watch->client.json)
        return;
    countdown_text_say(&watch->it, text);
    (void)printf("%s expired: %s\n", watch->it.key, text);
}

static void end_refused(struct live *live, const struct call *call, enum call_end end)
{
    struct watch *watch = live->arg;
    bool stopped = watch->met && call_status(call) == 404;
    live_end(live, EXIT_REFUSED);
    if (stopped)
        error_tell(&(struct cli_error){.command = watch->client.command->name,
                                       .about = watch->client.about,
                                       .status = 404,
                                       .code = "NOT_FOUND",
                                       .detail = "it was stopped"});
    else
        live->code = client_judge(&watch->client, call, end);
}

static void take(struct live *live, const struct call *call, enum call_end end)
{
    struct watch *watch = live->arg;
    struct countdown_text before = watch->it;
    uint64_t now_us = clock_now_us();
    bool away = live_is_away(call, end);
    if ((away && !watch->met) || (!away && call_status(call) >= 300)) {
        end_refused(live, call, end);
        return;
    }
    say_away(watch, away, call);
    if (!away) {
        if (!countdown_text_read(call_body(call), &watch->it)) {
            live_end(live, EXIT_REFUSED);
            live->code = command_fail(watch->client.command, "%s is no tocsin", watch->client.url);
            return;
        }
        set_end(watch, live->asked_us, now_us);
        set_whole(watch, &before);
        watch->met = true;
        if (is(watch, "running") && watch->end_us + SOON_US < now_us + ASK_MS * 1000)
            live_ask_at(live, (watch->end_us > now_us ? watch->end_us : now_us) + SOON_US);
    }
    if (!away && is(watch, "firing"))
        live_ask_at(live, now_us + SOON_US); /* its end comes at once */
    if (live->screen == NULL)
        print_line(watch);
    if (!away && is(watch, "expired"))
        end_expired(live);
}

static int watch_run(int argc, char **argv)
{
    struct watch watch = {.met = false};
    struct live live = {.client = &watch.client,
                        .interval_ms = ASK_MS,
                        .frame_ms = FRAME_MS,
                        .seen_code = EXIT_REFUSED,
                        .take = take,
                        .draw = draw,
                        .arg = &watch};
    return live_watch(&live, &countdown_watch_command, argc, argv, "/v1/countdowns/");
}

const struct command countdown_watch_command = {
    .name = "countdown watch",
    .text = "a live clock in the terminal, until the time is up",
    .usage = "KEY [OPTION...]",
    .about = "Shows the time run out, in big digits. It goes on while the server is away, and\n"
             "says so. Without a terminal: a line a second; with --json the server's JSON.\n"
             "Ends with 0 when the time is up, with 1 when it was stopped, or is not there, or\n"
             "when you leave before.\n",
    .after = "example: tocsin countdown watch table-1 && echo 'time is up'\n"
             "keys: q or Ctrl-C ends it\n"
             "environment: NO_COLOR\n",
    .word_name = "the key of a countdown",
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = watch_run,
};
