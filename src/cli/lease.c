/* SPDX-License-Identifier: MIT */
/* tocsin lease: who has a name, and who is next. All but run are here. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "cli/clock_face.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/list.h"
#include "cli/task_text.h"
#include "cli/when.h"

enum { TEXT_BYTES = 256, BODY_BYTES_MAX = 8192 };

static const struct command ls_verb;
static const struct command show_verb;
static const struct command acquire_command;
static const struct command keepalive_command;
static const struct command release_command;

static const char word_name[] = "the name of a lease";

/* ---- how one looks */

struct lease_text {
    char name[TEXT_BYTES];
    char holder[TEXT_BYTES];
    int64_t fence;
    int64_t left_ms;
    int64_t ttl_ms;
    int64_t expires_ms;
    int64_t acquired_ms;
    int64_t waiting;
};

static struct lease_text read_lease(struct bytes json)
{
    struct lease_text it = {.fence = 0};
    fields_clean(json, "name", it.name, sizeof it.name);
    fields_clean(json, "holder", it.holder, sizeof it.holder);
    (void)fields_int64(json, "fence", &it.fence);
    (void)fields_int64(json, "left_ms", &it.left_ms);
    (void)fields_int64(json, "ttl_ms", &it.ttl_ms);
    (void)fields_int64(json, "expires_ms", &it.expires_ms);
    (void)fields_int64(json, "acquired_ms", &it.acquired_ms);
    (void)fields_int64(json, "waiting", &it.waiting);
    return it;
}

static void write_row(struct bytes json, int64_t now_ms, struct table *table)
{
    struct lease_text it = read_lease(json);
    (void)now_ms; /* the server has counted already */
    table_put(table, PAINT_BOLD, "%s", it.name);
    table_put(table, PAINT_PLAIN, "%s", it.holder);
    table_put(table, PAINT_PLAIN, "%s", clock_face_whole((uint64_t)it.left_ms).text);
    table_put(table, PAINT_PLAIN, "%" PRId64, it.fence);
    table_put(table, it.waiting > 0 ? PAINT_WARN : PAINT_DIM, "%" PRId64, it.waiting);
}

static int print_lease(const struct client *client)
{
    struct lease_text it = read_lease(call_body(client->call));
    int64_t now_ms = when_now_ms();
    char text[160];
    table_line("name", PAINT_BOLD, "%s", it.name);
    table_line("holder", PAINT_GOOD, "%s", it.holder);
    table_line("fence", PAINT_PLAIN, "%" PRId64, it.fence);
    table_line("left", PAINT_BOLD, "%s of %s", clock_face_text((uint64_t)it.left_ms).text,
               when_span((uint64_t)it.ttl_ms).text);
    task_text_due(it.expires_ms, now_ms, text, sizeof text);
    table_line("ends", PAINT_PLAIN, "%s", text);
    task_text_due(it.acquired_ms, now_ms, text, sizeof text);
    table_line("since", PAINT_PLAIN, "%s", text);
    table_line("in line", it.waiting > 0 ? PAINT_WARN : PAINT_PLAIN, "%" PRId64, it.waiting);
    return EXIT_DONE;
}

/* "deploy held: ada has it with fence 4294967297, until 13:00:30.250" */
static void print_line(const struct client *client, const char *state)
{
    if (client->json) {
        client_print(client);
        return;
    }
    struct lease_text it = read_lease(call_body(client->call));
    (void)printf("%s%s%s %s%s%s: ", paint_on(PAINT_BOLD), it.name, paint_off(),
                 paint_on(PAINT_GOOD), state, paint_off());
    if (strcmp(state, "released") == 0)
        (void)printf("%s had it with fence %" PRId64 "\n", it.holder, it.fence);
    else
        (void)printf("%s has it with fence %" PRId64 ", until %s\n", it.holder, it.fence,
                     when_clock(it.expires_ms).text);
}

/* ---- options of those that change one */

struct change {
    struct client_options client; /* first */
    const char *holder;
    const char *ttl;
    const char *wait;
    uint64_t wait_ms;
    uint64_t fence;
    bool force;
};

static bool read_wait(const char *value, void *into)
{
    struct change *change = into;
    change->wait = value;
    return options_duration(value, &change->wait_ms);
}

static bool read_fence(const char *value, void *into)
{
    return options_whole(value, 1, INT64_C(1) << 53, &((struct change *)into)->fence);
}

#define HOLDER_ROW                                                                                 \
    {                                                                                              \
        "--holder", "WHO", "who has it, or is to have it; needed", "a name", options_read_filled,  \
            offsetof(struct change, holder)                                                        \
    }
#define TTL_ROW(default_)                                                                          \
    {                                                                                              \
        "--ttl", "TIME", "how long, from 100ms to 24h (" default_ ")", "a duration such as 30s",   \
            options_read_duration, offsetof(struct change, ttl)                                    \
    }
#define FENCE_ROW                                                                                  \
    {                                                                                              \
        "--fence", "N", "as acquire told it", "a fence, a whole number", read_fence                \
    }

static void write_body(const struct change *change, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    fields_write_text(&writer, "holder", change->holder);
    if (change->fence != 0) {
        json_write_key(&writer, "fence");
        json_write_uint64(&writer, change->fence);
    }
    fields_write_text(&writer, "ttl", change->ttl);
    fields_write_text(&writer, "wait", change->wait);
    json_write_object_end(&writer);
}

/* PUT or POST with what the options say. */
static int ask(const struct command *command, const struct change *change, const char *method,
               const char *after, const char *name)
{
    struct client client;
    struct buffer body;
    char path[CLIENT_PATH_BYTES_MAX];
    buffer_init(&body, BODY_BYTES_MAX);
    write_body(change, &body);
    int code = client_init(&client, command, &change->client);
    if (code == EXIT_DONE && buffer_status(&body) != TOCSIN_OK)
        code = command_usage(command, "that is too long");
    if (code == EXIT_DONE && !client_path(&client, "/v1/leases/", name, after, path))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = client_ask(
            &client, &(struct call_request){.method = method,
                                            .path = path,
                                            .body = {body.data, body.size},
                                            .timeout_ms = change->wait_ms + client.timeout_ms});
    if (code == EXIT_DONE)
        print_line(&client, "held");
    client_release(&client);
    buffer_release(&body);
    return code;
}

/* ---- acquire, keepalive, release */

static const struct option_row acquire_rows[] = {
    HOLDER_ROW,
    TTL_ROW("30s"),
    {"--wait", "TIME", "stand in line so long, at most 24h (0s)", "a duration such as 1m",
     read_wait},
};

static int acquire_run(int argc, char **argv)
{
    struct change change = {.holder = NULL};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&acquire_command, &words, &change, &code))
        return code;
    if (change.holder == NULL)
        return command_usage(&acquire_command, "--holder is missing");
    return ask(&acquire_command, &change, "PUT", "", words.at[0]);
}

static const struct command acquire_command = {
    .name = "lease acquire",
    .text = "have it, if nobody else has; or stand in line",
    .usage = "NAME --holder WHO [OPTION...]",
    .about = "Gets a lease. The same holder again keeps its fence and has its time anew. Whoever\n"
             "acts under the lease carries the fence, so that what comes late can be refused.\n",
    .after = "example: tocsin lease acquire deploy --holder ada --ttl 5m --wait 1m\n",
    COMMAND_ROWS(acquire_rows),
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = acquire_run,
};

static const struct option_row keepalive_rows[] = {HOLDER_ROW, FENCE_ROW, TTL_ROW("as before")};

static int keepalive_run(int argc, char **argv)
{
    struct change change = {.holder = NULL};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&keepalive_command, &words, &change, &code))
        return code;
    if (change.holder == NULL || change.fence == 0)
        return command_usage(&keepalive_command, "--holder and --fence are needed");
    return ask(&keepalive_command, &change, "POST", "/keepalive", words.at[0]);
}

static const struct command keepalive_command = {
    .name = "lease keepalive",
    .text = "its time anew; refused when it was lost",
    .usage = "NAME --holder WHO --fence N [OPTION...]",
    .about = "Keeps a lease alive. One that has ended does not come back.\n",
    .after = "example: tocsin lease keepalive deploy --holder ada --fence 4294967297\n",
    COMMAND_ROWS(keepalive_rows),
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = keepalive_run,
};

static const struct option_row release_rows[] = {
    {"--holder", "WHO", "only if it is this one's", "a name", options_read_filled,
     offsetof(struct change, holder)},
    FENCE_ROW,
    {"--force", NULL, "whoever has it", "", options_read_flag, offsetof(struct change, force)},
};

static int release_run(int argc, char **argv)
{
    struct change change = {.holder = NULL};
    struct words words = {argc, argv};
    struct client client;
    char path[CLIENT_PATH_BYTES_MAX];
    char fence[32];
    int code;
    if (!command_begin(&release_command, &words, &change, &code))
        return code;
    if (change.holder == NULL && change.fence == 0 && !change.force)
        return command_usage(&release_command, "--holder or --fence is needed; --force takes it "
                                               "from whoever has it");
    (void)snprintf(fence, sizeof fence, "%" PRIu64, change.fence);
    code = client_init(&client, &release_command, &change.client);
    if (code == EXIT_DONE &&
        (!client_path(&client, "/v1/leases/", words.at[0], "", path) ||
         (change.holder != NULL && !client_query(&client, "holder", change.holder, path)) ||
         (change.fence != 0 && !client_query(&client, "fence", fence, path))))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = client_ask(&client, &(struct call_request){.method = "DELETE", .path = path});
    if (code == EXIT_DONE)
        print_line(&client, "released");
    client_release(&client);
    return code;
}

static const struct command release_command = {
    .name = "lease release",
    .text = "let it go; the next in line has it at once",
    .usage = "NAME (--holder WHO | --fence N | --force) [OPTION...]",
    .about =
        "Releases a lease: one's own, or with --force that of whoever has it. Then its holder\n"
        "may still act, until it notices.\n",
    .after = "example: tocsin lease release deploy --holder ada\n",
    COMMAND_ROWS(release_rows),
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = release_run,
};

/* ---- show and ls */

static int show_run(int argc, char **argv)
{
    return client_show(&show_verb, argc, argv, "/v1/leases/", "", print_lease);
}

static const struct command show_verb = {
    .name = "lease show",
    .text = "who has it, and until when",
    .usage = "NAME [OPTION...]",
    .about = "Shows a lease that is held.\n",
    .after = "example: tocsin lease show deploy\n",
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = show_run,
};

static const struct option_row ls_rows[] = {LIST_LIMIT_ROW, LIST_ALL_ROW};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"NAME", "HOLDER", ">LEFT", ">FENCE", ">IN LINE"};
    static const struct list leases = {"leases", heads, sizeof heads / sizeof heads[0], write_row};
    return list_run(&ls_verb, argc, argv, &leases, "/v1/leases");
}

static const struct command ls_verb = {
    .name = "lease ls",
    .text = "which are held, and by whom?",
    .usage = "[OPTION...]",
    .about =
        "Lists the leases that are held, what changed last at the end. With --json: a page of\n"
        "the server's JSON a line.\n",
    .after = "example: tocsin lease ls\n",
    COMMAND_ROWS(ls_rows),
    .client = true,
    .run = ls_run,
};

/* ---- all of them */

static const struct command *const verbs[] = {
    &lease_run_command, &ls_verb,         &show_verb, &acquire_command,
    &keepalive_command, &release_command, NULL,
};

const struct command lease_command = {
    .name = "lease",
    .text = "one holder at a time: run a command while the lease is held",
    .usage = "VERB [OPTION...]",
    .about =
        "A lease is a name that one holder has at a time, until it lets it go or does not keep\n"
        "it alive. The server keeps it, also over a restart.\n",
    .after = "example: tocsin lease run nightly-backup -- ./backup.sh\n"
             "         tocsin lease ls\n"
             "exit codes: 0 done, 1 refused, 2 usage, 3 cannot reach the server\n"
             "tocsin lease VERB --help tells more.\n",
    .verbs = verbs,
};
