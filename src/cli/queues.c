/* SPDX-License-Identifier: MIT */
/* tocsin queues, incidents, info: small looks at the server. */

#include <inttypes.h>
#include <string.h>

#include "cli/client.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/figure.h"
#include "cli/table.h"
#include "cli/when.h"

static int get(struct client *client, const struct command *command,
               const struct client_options *options, const char *path)
{
    int code = client_init(client, command, options);
    if (code == EXIT_DONE)
        code = client_ask(client, &(struct call_request){.method = "GET", .path = path});
    if (code == EXIT_DONE && client->json)
        client_print(client);
    return code;
}

/* ---- queues */

static void print_queues(struct bytes list)
{
    static const char *const heads[] = {"QUEUE",    ">READY",   ">RUNNING",
                                        ">DELAYED", ">WORKERS", ">OLDEST"};
    struct table table;
    struct bytes queue;
    int64_t now_ms = when_now_ms();
    size_t count = 0;
    table_init(&table, heads, sizeof heads / sizeof heads[0]);
    for (; fields_item(&list, &queue); count++) {
        char name[512] = "";
        int64_t depth = fields_number(queue, "depth");
        int64_t oldest;
        (void)fields_text(queue, "queue", name, sizeof name);
        table_put(&table, PAINT_BOLD, "%s", name);
        table_put(&table, depth > 0 ? PAINT_WARN : PAINT_PLAIN, "%" PRId64, depth);
        table_put(&table, PAINT_PLAIN, "%" PRId64, fields_number(queue, "leased"));
        table_put(&table, PAINT_PLAIN, "%" PRId64, fields_number(queue, "delayed"));
        table_put(&table, PAINT_PLAIN, "%" PRId64, fields_number(queue, "waiting"));
        if (fields_int64(queue, "oldest_ms", &oldest))
            table_put(&table, PAINT_PLAIN, "%s", when_relative(oldest, now_ms).text);
        else
            table_put(&table, PAINT_PLAIN, "-");
    }
    table_print(&table);
    table_release(&table);
    if (count == 0)
        (void)fputs("no queues\n", stderr);
}

static int queues_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct client client;
    struct bytes list;
    int code;
    if (!command_begin(&queues_command, &words, &options, &code))
        return code;
    code = get(&client, &queues_command, &options, "/v1/queues");
    if (code == EXIT_DONE && !client.json && fields_raw(call_body(client.call), "queues", &list))
        print_queues(list);
    client_release(&client);
    return code;
}

const struct command queues_command = {
    .name = "queues",
    .text = "what waits where, and for whom",
    .usage = "[OPTION...]",
    .about = "Lists the queues: runs that are ready for a worker, in the hands of one, not due\n"
             "yet, workers that wait, and how long the oldest ready run has waited.\n",
    .after = "example: tocsin queues\n",
    .client = true,
    .run = queues_run,
};

/* ---- incidents */

static void print_incidents(struct bytes list)
{
    static const char *const heads[] = {"ID", "QUEUE", ">TRIES", "ERROR"};
    struct table table;
    struct bytes item;
    size_t count = 0;
    table_init(&table, heads, sizeof heads / sizeof heads[0]);
    for (; fields_item(&list, &item); count++) {
        char text[512] = "";
        (void)fields_text(item, "task_id", text, sizeof text);
        table_put(&table, PAINT_BOLD, "%s", text);
        text[0] = '\0';
        (void)fields_text(item, "queue", text, sizeof text);
        table_put(&table, PAINT_PLAIN, "%s", text);
        table_put(&table, PAINT_PLAIN, "%" PRId64, fields_number(item, "attempt"));
        text[0] = '\0';
        (void)fields_text(item, "last_error", text, sizeof text);
        table_put(&table, PAINT_BAD, "%s", text);
    }
    table_print(&table);
    table_release(&table);
    if (count == 0)
        (void)fputs("no incidents\n", stderr);
}

static int list_incidents(const struct client_options *options)
{
    struct client client;
    struct bytes list;
    int code = get(&client, &incidents_command, options, "/v1/incidents?limit=1000");
    if (code == EXIT_DONE && !client.json && fields_raw(call_body(client.call), "incidents", &list))
        print_incidents(list);
    client_release(&client);
    return code;
}

static int settle_incident(struct client *client, const void *arg, const char *id)
{
    const bool *retry = arg;
    char path[CLIENT_PATH_BYTES_MAX];
    if (!client_path(client, "/v1/incidents/", id, *retry ? "/retry" : "", path))
        return EXIT_USAGE;
    int code = client_ask(
        client, &(struct call_request){.method = *retry ? "POST" : "DELETE", .path = path});
    if (code == EXIT_DONE && client->json)
        client_print(client);
    else if (code == EXIT_DONE)
        (void)printf("%s %s\n", id, *retry ? "is tried again" : "is dropped");
    return code;
}

static int incidents_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&incidents_command, &words, &options, &code))
        return code;
    if (words.count == 0)
        return list_incidents(&options);
    bool retry = strcmp(words.at[0], "retry") == 0;
    if (!retry && strcmp(words.at[0], "drop") != 0)
        return command_usage(&incidents_command, "'%.100s' is neither retry nor drop", words.at[0]);
    if (words.count == 1)
        return command_usage(&incidents_command, "the id of a task is missing");
    words = (struct words){words.count - 1, words.at + 1};
    return client_each(&incidents_command, &options, &words, settle_incident, &retry);
}

const struct command incidents_command = {
    .name = "incidents",
    .text = "tasks that failed for good: list, retry or drop them",
    .usage = "[retry ID... | drop ID...] [OPTION...]",
    .about = "Lists the tasks whose attempts are used up, with the last error. They stay until\n"
             "somebody has them tried again or drops them.\n",
    .after = "example: tocsin incidents retry notify-001\n",
    .word_name = "retry or drop",
    .words_max = COMMAND_WORDS_ANY,
    .client = true,
    .run = incidents_run,
};

/* ---- info */

static void print_info(struct bytes info)
{
    static const char *const counts[] = {"records", "ready", "running", "waiting_leases",
                                         "incidents"};
    char text[256];
    struct bytes group;
    static const char *const texts[] = {"version", "node", "store", "clock"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (fields_text(info, texts[i], text, sizeof text))
            table_line(texts[i], PAINT_PLAIN, "%s", text);
    }
    if (fields_raw(info, "cluster", &group)) {
        if (fields_text(group, "role", text, sizeof text))
            table_line("cluster", PAINT_PLAIN, "%s", text);
        struct bytes owner;
        if (fields_raw(group, "owner", &owner) && fields_text(owner, "node", text, sizeof text))
            table_line("owner", PAINT_PLAIN, "%s", text);
    }
    table_line("epoch", PAINT_PLAIN, "%" PRId64, fields_number(info, "epoch"));
    table_line("now", PAINT_PLAIN, "%s", when_local(fields_number(info, "now_ms")).text);
    if (!fields_raw(info, "counts", &group))
        return;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t value = (uint64_t)fields_number(group, counts[i]);
        table_line(i == 3 ? "workers" : counts[i], PAINT_PLAIN, "%s", figure_count(value).text);
    }
}

static int info_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct client client;
    int code;
    if (!command_begin(&info_command, &words, &options, &code))
        return code;
    code = get(&client, &info_command, &options, "/v1/info");
    if (code == EXIT_DONE && !client.json)
        print_info(call_body(client.call));
    client_release(&client);
    return code;
}

const struct command info_command = {
    .name = "info",
    .text = "which server is that?",
    .usage = "[OPTION...]",
    .about = "Shows the server's version, node, store and what it holds; with --json its\n"
             "limits too.\n",
    .after = "example: tocsin info --url http://timers.example.org:7400\n",
    .client = true,
    .run = info_run,
};
