/* SPDX-License-Identifier: MIT */

#include "cli/screen.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum {
    GLYPH_BYTES = 4,
    CELL_OUT_BYTES = 16, /* a change of style and the glyph */
    OUT_BYTES = SCREEN_ROWS_MAX * (SCREEN_COLS_MAX * CELL_OUT_BYTES + 16) + 64,
    CLOSE_WAIT_MS = 1000,
};

struct cell {
    char glyph[GLYPH_BYTES]; /* not terminated when full */
    uint8_t style;
};

struct screen {
    int fd;
    bool color;
    bool key_mode; /* the keyboard's mode was changed and is in keyboard */
    bool wipe;     /* the next frame starts on a clean terminal */
    struct termios keyboard;
    const struct screen_glyphs *glyphs;
    int rows;
    int cols;
    int frame_rows;
    int shown_rows; /* of the frame that stands on the terminal */
    size_t out_count;
    size_t out_done;
    struct cell cells[SCREEN_ROWS_MAX][SCREEN_COLS_MAX];
    char out[OUT_BYTES];
};

static const struct screen_glyphs unicode = {
    .bar = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
    .hand = "┃",
    .rule = "─",
    .tick = "┴",
    .done = "━",
    .half = "╸",
    .rest = "─",
    .stones = {"●", "○"},
    .point = "·",
    .times = "×",
};

static const struct screen_glyphs ascii = {
    .bar = {" ", ".", ".", ":", ":", "=", "=", "#", "#"},
    .hand = "|",
    .rule = "-",
    .tick = "+",
    .done = "=",
    .half = "=",
    .rest = "-",
    .stones = {"X", "O"},
    .point = ".",
    .times = "x",
};

static const char *const sgr[SCREEN_STYLES] = {
    [SCREEN_PLAIN] = "\033[0m",       [SCREEN_DIM] = "\033[0;2m",    [SCREEN_BOLD] = "\033[0;1m",
    [SCREEN_TITLE] = "\033[0;1;36m",  [SCREEN_TIMER] = "\033[0;36m", [SCREEN_NOW] = "\033[0;1;33m",
    [SCREEN_GOOD] = "\033[0;32m",     [SCREEN_WARN] = "\033[0;33m",  [SCREEN_BAD] = "\033[0;1;31m",
    [SCREEN_RING] = "\033[0;1;7;33m",
};

/* A way to the terminal of our own, because O_NONBLOCK on the one we were given
 * would hold for the shell and everybody else who shares it. */
static int open_terminal(void)
{
    char name[64];
    if (ttyname_r(STDOUT_FILENO, name, sizeof name) == 0) {
        int fd = open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
}

static void out_add(struct screen *screen, const char *bytes, size_t count)
{
    assert(count <= OUT_BYTES - screen->out_count);
    memcpy(screen->out + screen->out_count, bytes, count);
    screen->out_count += count;
}

static void out_string(struct screen *screen, const char *text)
{
    out_add(screen, text, strlen(text));
}

/* Only for the few bytes of opening and closing; a frame never waits. */
static void push_all(struct screen *screen)
{
    screen_push(screen);
    while (screen_busy(screen)) {
        struct pollfd ready = {.fd = screen->fd, .events = POLLOUT};
        if (poll(&ready, 1, CLOSE_WAIT_MS) <= 0 || (ready.revents & (POLLERR | POLLHUP)) != 0)
            break;
        screen_push(screen);
    }
    screen->out_count = 0;
    screen->out_done = 0;
}

static void enter(struct screen *screen)
{
    struct termios quiet;
    screen->key_mode = tcgetattr(STDIN_FILENO, &screen->keyboard) == 0;
    if (screen->key_mode) {
        quiet = screen->keyboard;
        quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        quiet.c_lflag |= NOFLSH; /* or Ctrl-Z drops what is half written of a frame */
        quiet.c_cc[VMIN] = 0;
        quiet.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    out_string(screen, "\033[?25l");
    push_all(screen);
}

static void leave(struct screen *screen)
{
    push_all(screen); /* half a frame would leave half an escape sequence */
    out_string(screen, "\033[0m\033[?25h");
    push_all(screen);
    if (screen->key_mode)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->keyboard);
}

static void measure(struct screen *screen)
{
    struct winsize size = {.ws_row = 0, .ws_col = 0};
    (void)ioctl(screen->fd, TIOCGWINSZ, &size);
    int rows = (size.ws_row == 0 ? 24 : size.ws_row) - 1;
    int cols = (size.ws_col == 0 ? 80 : size.ws_col) - 1;
    screen->rows = rows < 1 ? 1 : rows > SCREEN_ROWS_MAX ? SCREEN_ROWS_MAX : rows;
    screen->cols = cols < 1 ? 1 : cols > SCREEN_COLS_MAX ? SCREEN_COLS_MAX : cols;
}

const struct screen_glyphs *screen_glyphs_of_locale(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? &unicode : &ascii;
}

struct screen *screen_open(void)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    if (!isatty(STDOUT_FILENO) || term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
        return NULL;
    struct screen *screen = calloc(1, sizeof *screen);
    if (screen == NULL)
        return NULL;
    screen->fd = open_terminal();
    if (screen->fd < 0) {
        free(screen);
        return NULL;
    }
    screen->color = no_color == NULL || *no_color == '\0';
    screen->glyphs = screen_glyphs_of_locale();
    measure(screen);
    enter(screen);
    return screen;
}

void screen_close(struct screen *screen)
{
    if (screen == NULL)
        return;
    leave(screen);
    (void)close(screen->fd);
    free(screen);
}

void screen_suspend(struct screen *screen)
{
    leave(screen);
}

void screen_resume(struct screen *screen)
{
    enter(screen);
    screen_resize(screen);
}

void screen_resize(struct screen *screen)
{
    measure(screen);
    screen->wipe = true;
}

int screen_rows(const struct screen *screen)
{
    return screen->rows;
}

int screen_cols(const struct screen *screen)
{
    return screen->cols;
}

const struct screen_glyphs *screen_glyphs(const struct screen *screen)
{
    return screen->glyphs;
}

void screen_begin(struct screen *screen, int rows)
{
    screen->frame_rows = rows > screen->rows ? screen->rows : rows;
    for (int row = 0; row < screen->frame_rows; row++) {
        for (int col = 0; col < screen->cols; col++)
            screen->cells[row][col] = (struct cell){.glyph = " ", .style = SCREEN_PLAIN};
    }
}

int screen_glyph(struct screen *screen, int row, int col, enum screen_style style,
                 const char *glyph)
{
    if (row >= 0 && row < screen->frame_rows && col >= 0 && col < screen->cols) {
        struct cell *cell = &screen->cells[row][col];
        memset(cell->glyph, 0, sizeof cell->glyph);
        memcpy(cell->glyph, glyph, strnlen(glyph, GLYPH_BYTES));
        cell->style = (uint8_t)style;
    }
    return col + 1;
}

/* The next letter of a text, its columns and its bytes; what cannot be shown is a '?'. */
static int next_letter(const char *text, char ret_glyph[GLYPH_BYTES + 1], size_t *ret_size)
{
    mbstate_t state = {0};
    wchar_t letter = 0;
    size_t size = mbrtowc(&letter, text, GLYPH_BYTES, &state);
    int cols = size >= 1 && size <= GLYPH_BYTES ? wcwidth(letter) : 0;
    *ret_size = size >= 1 && size <= GLYPH_BYTES ? size : 1;
    if (cols < 1) {
        memcpy(ret_glyph, "?", 2);
        return 1;
    }
    memcpy(ret_glyph, text, size);
    ret_glyph[size] = '\0';
    return cols;
}

static int put_text(struct screen *screen, int row, int col, enum screen_style style,
                    const char *text)
{
    char glyph[GLYPH_BYTES + 1];
    size_t size;
    for (; *text != '\0'; text += size) {
        int cols = next_letter(text, glyph, &size);
        bool cut = cols > 1 && col + 1 >= screen->cols;
        col = screen_glyph(screen, row, col, style, cut ? "?" : glyph);
        if (cols > 1)
            col = screen_glyph(screen, row, col, style, ""); /* the letter has it already */
    }
    return col;
}

static int cols_of(const char *text)
{
    char glyph[GLYPH_BYTES + 1];
    size_t size;
    int cols = 0;
    for (; *text != '\0'; text += size)
        cols += next_letter(text, glyph, &size);
    return cols;
}

int screen_text(struct screen *screen, int row, int col, enum screen_style style,
                const char *format, ...)
{
    char text[SCREEN_COLS_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return put_text(screen, row, col, style, text);
}

int screen_text_right(struct screen *screen, int row, int col_end, enum screen_style style,
                      const char *format, ...)
{
    char text[SCREEN_COLS_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return put_text(screen, row, col_end - cols_of(text), style, text);
}

static void out_row(struct screen *screen, const struct cell *cells)
{
    int end = screen->cols;
    while (end > 0 && cells[end - 1].glyph[0] == ' ' && cells[end - 1].style != SCREEN_RING)
        end--;
    uint8_t style = SCREEN_PLAIN;
    for (int col = 0; col < end; col++) {
        if (screen->color && cells[col].style != style) {
            style = cells[col].style;
            out_string(screen, sgr[style]);
        }
        out_add(screen, cells[col].glyph, strnlen(cells[col].glyph, GLYPH_BYTES));
    }
    if (style != SCREEN_PLAIN)
        out_string(screen, sgr[SCREEN_PLAIN]);
    out_string(screen, "\033[K\r\n");
}

void screen_show(struct screen *screen)
{
    assert(!screen_busy(screen));
    screen->out_count = 0;
    screen->out_done = 0;
    if (screen->wipe) {
        out_string(screen, "\033[H\033[2J");
    } else if (screen->shown_rows > 0) {
        char up[24];
        (void)snprintf(up, sizeof up, "\033[%dA\r", screen->shown_rows);
        out_string(screen, up);
    }
    for (int row = 0; row < screen->frame_rows; row++)
        out_row(screen, screen->cells[row]);
    out_string(screen, "\033[J");
    screen->wipe = false;
    screen->shown_rows = screen->frame_rows;
    screen_push(screen);
}

bool screen_busy(const struct screen *screen)
{
    return screen->out_done < screen->out_count;
}

void screen_push(struct screen *screen)
{
    while (screen_busy(screen)) {
        ssize_t wrote =
            write(screen->fd, screen->out + screen->out_done, screen->out_count - screen->out_done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && errno == EAGAIN)
            return;
        if (wrote <= 0) { /* the terminal is gone: there is nobody to show it to */
            screen->out_done = screen->out_count;
            return;
        }
        screen->out_done += (size_t)wrote;
    }
}

int screen_fd(const struct screen *screen)
{
    return screen->fd;
}
