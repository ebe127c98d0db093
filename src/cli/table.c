/* SPDX-License-Identifier: MIT */
#include "cli/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_BYTES_MAX = TABLE_COLUMNS_MAX * TABLE_ROWS_MAX * 64, NAME_COLS = 12 };

bool paint_wanted(void)
{
    const char *term = getenv("TERM");
    const char *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0 &&
           (none == NULL || none[0] == '\0');
}

const char *paint_on(enum paint paint)
{
    static const char *const codes[] = {"",         "\033[2m",  "\033[1m",
                                        "\033[32m", "\033[33m", "\033[1;31m"};
    return paint != PAINT_PLAIN && paint_wanted() ? codes[paint] : "";
}

const char *paint_off(void)
{
    return paint_wanted() ? "\033[0m" : "";
}

enum paint paint_of_status(const char *status)
{
    return strcmp(status, "failed") == 0    ? PAINT_BAD
           : strcmp(status, "running") == 0 ? PAINT_GOOD
           : strcmp(status, "paused") == 0  ? PAINT_WARN
           : strcmp(status, "pending") == 0 ? PAINT_PLAIN
                                            : PAINT_DIM;
}

void table_clean(const char *text, char *ret_clean, size_t room)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < room; text++) {
        unsigned char byte = (unsigned char)*text;
        /* The C1 controls are U+0080 to U+009F: 0xC2 and a byte below 0xA0. */
        bool c1 = byte == 0xc2 && (unsigned char)text[1] < 0xa0;
        bool control = byte < ' ' || byte == 0x7f || c1;
        ret_clean[used++] = control ? '?' : *text;
        if (c1 && text[1] != '\0')
            text++;
    }
    ret_clean[used] = '\0';
}

/* Letters, not bytes. Wide ones count as one: the table is then a little crooked. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

static const char *head_text(const char *head)
{
    return head[0] == '>' ? head + 1 : head;
}

void table_init(struct table *table, const char *const *heads, size_t columns)
{
    assert(columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.heads = heads, .columns = columns};
    buffer_init(&table->text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < columns; i++)
        table->widths[i] = columns_of(head_text(heads[i]));
}

void table_release(struct table *table)
{
    buffer_release(&table->text);
}

void table_put(struct table *table, enum paint paint, const char *format, ...)
{
    char text[TABLE_CELL_BYTES_MAX];
    char clean[TABLE_CELL_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (table->cells == table->columns * TABLE_ROWS_MAX)
        table_print(table);
    table_clean(text, clean, sizeof clean);
    int *width = &table->widths[table->cells % table->columns];
    if (columns_of(clean) > *width)
        *width = columns_of(clean);
    table->paints[table->cells++] = (unsigned char)paint;
    buffer_append(&table->text, clean, strlen(clean) + 1);
}

static void print_cell(const struct table *table, size_t column, enum paint paint, const char *text)
{
    int pad = table->widths[column] - columns_of(text);
    bool right = table->heads[column][0] == '>';
    bool last = column + 1 == table->columns;
    (void)printf("%*s%s%s%s%*s%s", right && pad > 0 ? pad : 0, "", paint_on(paint), text,
                 paint != PAINT_PLAIN ? paint_off() : "", !right && !last && pad > 0 ? pad : 0, "",
                 last ? "\n" : "  ");
}

void table_print(struct table *table)
{
    const char *at = table->text.data;
    if (table->cells == 0 || buffer_status(&table->text) != TOCSIN_OK)
        return;
    for (size_t i = 0; i < table->columns && !table->headed; i++)
        print_cell(table, i, PAINT_DIM, head_text(table->heads[i]));
    table->headed = true;
    for (size_t i = 0; i < table->cells; i++) {
        print_cell(table, i % table->columns, (enum paint)table->paints[i], at);
        at += strlen(at) + 1;
    }
    table->cells = 0;
    buffer_clear(&table->text);
}

void table_line(const char *name, enum paint paint, const char *format, ...)
{
    char text[8192];
    char clean[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_clean(text, clean, sizeof clean);
    (void)printf("%s%-*s%s %s%s%s\n", paint_on(PAINT_DIM), NAME_COLS, name, paint_off(),
                 paint_on(paint), clean, paint != PAINT_PLAIN ? paint_off() : "");
}
