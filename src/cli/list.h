/* SPDX-License-Identifier: MIT */
/* list.h - how is a list of the server printed, page after page?
 *
 * The commands that list have --limit and --all, from the rows here; their options begin with a
 * struct list_options.
 */
#ifndef TOCSIN_CLI_LIST_H
#define TOCSIN_CLI_LIST_H

#include "cli/client.h"
#include "cli/table.h"

enum { LIST_LIMIT_DEFAULT = 100 };

struct list_options {
    struct client_options client; /* first */
    uint64_t limit;
    bool all;
};

#define LIST_LIMIT_ROW                                                                             \
    {                                                                                              \
        "--limit", "N", "at most so many (100)", "a whole number from 1 to 1000000",               \
            list_read_limit                                                                        \
    }
#define LIST_ALL_ROW                                                                               \
    {                                                                                              \
        "--all", NULL, "all there are", "", options_read_flag, offsetof(struct list_options, all)  \
    }
bool list_read_limit(const char *value, void *into);

struct list {
    const char *name; /* of the field, and for people: "tasks" */
    const char *const *heads;
    size_t columns;
    void (*row)(struct bytes item, int64_t now_ms, struct table *table);
};

/* What is asked for of all there are: "?name=value"; value NULL: whatever it is. */
struct list_filter {
    const char *name;
    const char *value;
};

/* A NULL name ends the filters. With --json: a page a line. */
int list_print(const struct command *command, const struct list_options *options,
               const struct list *list, const char *path, const struct list_filter *filters);
/* All of a command that lists, with nothing to filter by. */
int list_run(const struct command *command, int argc, char **argv, const struct list *list,
             const char *path);

#endif
