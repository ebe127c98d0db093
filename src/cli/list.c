/* SPDX-License-Identifier: MIT */
#include "cli/list.h"

#include <string.h>

#include "cli/fields.h"
#include "cli/when.h"

enum { PAGE_MAX = 1000, LIMIT_MAX = 1000000, AFTER_BYTES = 300 };

bool list_read_limit(const char *value, void *into)
{
    return options_whole(value, 1, LIMIT_MAX, &((struct list_options *)into)->limit);
}

static bool page_path(const struct client *client, const char *path, uint64_t limit,
                      const char *after, char ret_path[CLIENT_PATH_BYTES_MAX])
{
    char number[24];
    (void)snprintf(ret_path, CLIENT_PATH_BYTES_MAX, "%s", path);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)limit);
    return client_query(client, "limit", number, ret_path) &&
           (after[0] == '\0' || client_query(client, "after", after, ret_path));
}

/* How many there are; table may be NULL. */
static uint64_t add_rows(const struct list *list, struct bytes items, struct table *table)
{
    struct bytes item;
    int64_t now_ms = when_now_ms();
    uint64_t count = 0;
    for (; fields_item(&items, &item); count++) {
        if (table != NULL)
            list->row(item, now_ms, table);
    }
    return count;
}

/* Where to go on; empty: nowhere. */
static void next_of(struct bytes body, char ret_after[AFTER_BYTES])
{
    struct bytes next;
    ret_after[0] = '\0';
    if (!fields_raw(body, "next", &next) || bytes_are(next, "null") || next.size >= AFTER_BYTES)
        return;
    size_t quotes = next.at[0] == '"';
    memcpy(ret_after, next.at + quotes, next.size - 2 * quotes);
    ret_after[next.size - 2 * quotes] = '\0';
}

/* A page may be empty although there are more: the server looks at so many records a call, however
 * few of them are wanted. */
static int print_pages(struct client *client, const struct list_options *options,
                       const struct list *list, const char *base, struct table *table)
{
    char path[CLIENT_PATH_BYTES_MAX];
    char after[AFTER_BYTES] = "";
    uint64_t left = options->all ? UINT64_MAX : options->limit;
    bool any = false;
    do {
        uint64_t limit = left < PAGE_MAX ? left : PAGE_MAX;
        struct bytes items;
        if (!page_path(client, base, limit, after, path))
            return EXIT_USAGE;
        int code = client_ask(client, &(struct call_request){.method = "GET", .path = path});
        if (code != EXIT_DONE)
            return code;
        struct bytes body = call_body(client->call);
        next_of(body, after);
        if (!fields_raw(body, list->name, &items))
            return command_fail(client->command, "the answer is not a list of %s", list->name);
        uint64_t count = add_rows(list, items, client->json ? NULL : table);
        if (client->json && (count > 0 || (!any && after[0] == '\0')))
            client_print(client);
        left = left > count ? left - count : 0;
        any = any || count > 0;
        table_print(table);
    } while (after[0] != '\0' && left > 0);
    if (!any && !client->json)
        (void)fprintf(stderr, "no %s\n", list->name);
    else if (after[0] != '\0' && !client->json)
        (void)fputs("there are more: --all shows them\n", stderr);
    return EXIT_DONE;
}

int list_print(const struct command *command, const struct list_options *options,
               const struct list *list, const char *path, const struct list_filter *filters)
{
    struct client client;
    struct table table;
    char filtered[CLIENT_PATH_BYTES_MAX];
    (void)snprintf(filtered, sizeof filtered, "%s", path);
    int code = client_init(&client, command, &options->client);
    for (; code == EXIT_DONE && filters->name != NULL; filters++) {
        if (filters->value != NULL &&
            !client_query(&client, filters->name, filters->value, filtered))
            code = EXIT_USAGE;
    }
    if (code == EXIT_DONE) {
        table_init(&table, list->heads, list->columns);
        code = print_pages(&client, options, list, filtered, &table);
        table_release(&table);
    }
    client_release(&client);
    return code;
}

int list_run(const struct command *command, int argc, char **argv, const struct list *list,
             const char *path)
{
    struct list_options options = {.limit = LIST_LIMIT_DEFAULT};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(command, &words, &options, &code))
        return code;
    return list_print(command, &options, list, path, &(struct list_filter){NULL});
}
