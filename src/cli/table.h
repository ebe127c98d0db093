/* SPDX-License-Identifier: MIT */
/* table.h - rows for a reader, aligned, with colours where there is a terminal.
 *
 * Cells are put one after the other; the end of a row comes by itself after the last column.
 * Printing gives each column the width of its widest cell so far.
 *
 * Promise   no byte of a cell reaches the terminal that could be taken for a command to it:
 *           control characters become '?'.
 * Limits    TABLE_ROWS_MAX rows between two prints; a cell is cut at TABLE_CELL_BYTES_MAX.
 */
#ifndef TOCSIN_CLI_TABLE_H
#define TOCSIN_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum { TABLE_COLUMNS_MAX = 10, TABLE_ROWS_MAX = 1000, TABLE_CELL_BYTES_MAX = 512 };

enum paint { PAINT_PLAIN, PAINT_DIM, PAINT_BOLD, PAINT_GOOD, PAINT_WARN, PAINT_BAD };

/* May stdout be coloured? Not without a terminal, not with NO_COLOR. */
bool paint_wanted(void);
/* The way into that style, and back; "" when no colours are wanted. */
const char *paint_on(enum paint paint);
const char *paint_off(void);
/* Of a task's status. */
enum paint paint_of_status(const char *status);

struct table {
    const char *const *heads; /* one starting with '>' is aligned to the right */
    size_t columns;
    size_t cells;
    bool headed;
    int widths[TABLE_COLUMNS_MAX];
    struct buffer text; /* of the cells, each ended by a zero */
    unsigned char paints[TABLE_COLUMNS_MAX * TABLE_ROWS_MAX];
};

void table_init(struct table *table, const char *const *heads, size_t columns);
void table_release(struct table *table);
void table_put(struct table *table, enum paint paint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What there is, under the heads the first time, and forgets it. */
void table_print(struct table *table);

/* A copy of text without control characters; text itself may become it. */
void table_clean(const char *text, char *ret_clean, size_t room);

/* One "name   value" line of a description. */
void table_line(const char *name, enum paint paint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
