/* SPDX-License-Identifier: MIT */
/* tocsin ls: which tasks are there? */

#include <string.h>

#include "cli/client.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "cli/task_text.h"
#include "cli/when.h"

enum { LIMIT_DEFAULT = 100, PAGE_MAX = 1000, LIMIT_MAX = 1000000 };

struct ls {
    struct client_options client; /* first */
    const char *status;
    const char *prefix;
    const char *queue;
    uint64_t limit;
    bool all;
};

static bool read_status(const char *value, void *into)
{
    ((struct ls *)into)->status = value;
    return value[0] != '\0';
}

static bool read_prefix(const char *value, void *into)
{
    ((struct ls *)into)->prefix = value;
    return true;
}

static bool read_queue(const char *value, void *into)
{
    ((struct ls *)into)->queue = value;
    return true;
}

static bool read_limit(const char *value, void *into)
{
    return options_whole(value, 1, LIMIT_MAX, &((struct ls *)into)->limit);
}

static bool read_all(const char *value, void *into)
{
    (void)value;
    ((struct ls *)into)->all = true;
    return true;
}

static const struct option_row rows[] = {
    {"--status", "STATUS", "pending, running, completed, failed, cancelled or paused",
     "pending, running, completed, failed, cancelled or paused", read_status},
    {"--prefix", "TEXT", "whose ids begin so", "the beginning of ids", read_prefix},
    {"--queue", "QUEUE", "of this queue", "a queue", read_queue},
    {"--limit", "N", "at most so many (100)", "a whole number from 1 to 1000000", read_limit},
    {"--all", NULL, "all there are", "", read_all},
};

static bool page_path(const struct ls *ls, const struct client *client, uint64_t limit,
                      const char *after, char path[CLIENT_PATH_BYTES_MAX])
{
    char number[24];
    (void)snprintf(path, CLIENT_PATH_BYTES_MAX, "/v1/tasks");
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)limit);
    return client_query(client, "limit", number, path) &&
           (ls->status == NULL || client_query(client, "status", ls->status, path)) &&
           (ls->prefix == NULL || client_query(client, "prefix", ls->prefix, path)) &&
           (ls->queue == NULL || client_query(client, "queue", ls->queue, path)) &&
           (after[0] == '\0' || client_query(client, "after", after, path));
}

/* How many there are; table may be NULL. */
static uint64_t add_rows(struct bytes list, struct table *table, int64_t now_ms)
{
    struct bytes task;
    uint64_t count = 0;
    for (; fields_item(&list, &task); count++) {
        if (table != NULL)
            task_text_row(task, now_ms, table);
    }
    return count;
}

/* Where to go on; empty: nowhere. */
static void next_of(struct bytes body, char ret_after[32])
{
    struct bytes next;
    ret_after[0] = '\0';
    if (!fields_raw(body, "next", &next) || bytes_are(next, "null") || next.size >= 31)
        return;
    size_t quotes = next.at[0] == '"';
    memcpy(ret_after, next.at + quotes, next.size - 2 * quotes);
    ret_after[next.size - 2 * quotes] = '\0';
}

/* A page may be empty although there are more: the server looks at so many tasks a call, however
 * few of them are wanted. */
static int list(const struct ls *ls, struct client *client, struct table *table)
{
    char path[CLIENT_PATH_BYTES_MAX];
    char after[32] = "";
    uint64_t left = ls->all ? UINT64_MAX : ls->limit;
    bool any = false;
    do {
        uint64_t limit = left < PAGE_MAX ? left : PAGE_MAX;
        struct bytes tasks;
        if (!page_path(ls, client, limit, after, path))
            return EXIT_USAGE;
        int code = client_ask(client, &(struct call_request){.method = "GET", .path = path});
        if (code != EXIT_DONE)
            return code;
        struct bytes body = call_body(client->call);
        next_of(body, after);
        if (!fields_raw(body, "tasks", &tasks))
            return command_fail(client->command, "the answer is not a list of tasks");
        uint64_t count = add_rows(tasks, client->json ? NULL : table, when_now_ms());
        if (client->json && (count > 0 || (!any && after[0] == '\0')))
            client_print(client);
        left = left > count ? left - count : 0;
        any = any || count > 0;
        table_print(table);
    } while (after[0] != '\0' && left > 0);
    if (!any && !client->json)
        (void)fputs("no tasks\n", stderr);
    else if (after[0] != '\0' && !client->json)
        (void)fputs("there are more: --all shows them\n", stderr);
    return EXIT_DONE;
}

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"ID", "STATUS", "DUE", "RHYTHM", "QUEUE", ">TRIES", "NAME"};
    struct ls ls = {.limit = LIMIT_DEFAULT};
    struct words words = {argc, argv};
    struct client client;
    struct table table;
    int code;
    if (!command_begin(&ls_command, &words, &ls, &code))
        return code;
    code = client_init(&client, &ls_command, &ls.client);
    table_init(&table, heads, sizeof heads / sizeof heads[0]);
    if (code == EXIT_DONE)
        code = list(&ls, &client, &table);
    table_release(&table);
    client_release(&client);
    return code;
}

const struct command ls_command = {
    .name = "ls",
    .text = "which tasks are there?",
    .usage = "[OPTION...]",
    .about = "Lists tasks, the oldest first. With --json: a page of the server's JSON a line.\n",
    .after = "example: tocsin ls --status pending --prefix invoice-\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .client = true,
    .run = ls_run,
};
