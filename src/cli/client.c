/* SPDX-License-Identifier: MIT */
#include "cli/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/error.h"
#include "cli/fields.h"
#include "cli/table.h"

enum { TIMEOUT_DEFAULT_MS = 30000, PROBLEM_BYTES = 600, HOLDER_BYTES = 256 };

static const char url_default[] = "http://127.0.0.1:7400";

/* ---- options */

static bool read_url(const char *value, void *into)
{
    ((struct client_options *)into)->url = value;
    return strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0;
}

static bool read_timeout(const char *value, void *into)
{
    return options_time(value, 1, 3600000, &((struct client_options *)into)->timeout_ms);
}

const struct option_row client_rows[] = {
    {"--url", "URL", "where it is (TOCSIN_URL, or http://127.0.0.1:7400)",
     "a URL such as http://127.0.0.1:7400", read_url},
    {"--token-file", "FILE", "a file with the token (or TOCSIN_TOKEN)", "a file", options_read_text,
     offsetof(struct client_options, token_file)},
    {"--ca-file", "FILE", "whom to trust about an https server (the system's)",
     "a file of certificates", options_read_text, offsetof(struct client_options, ca_file)},
    {"--request-timeout", "TIME", "how long to wait for an answer (30s)",
     "a duration such as 30s, at most 1h", read_timeout},
    {"--json", NULL, "print the server's JSON as it is; errors too, on stderr", "",
     options_read_flag, offsetof(struct client_options, json)},
};

const size_t client_row_count = sizeof client_rows / sizeof client_rows[0];

/* ---- life */

static int set_url(struct client *client, const char *url)
{
    const char *from = url;
    if (url == NULL)
        url = from = getenv("TOCSIN_URL");
    if (url == NULL || url[0] == '\0')
        url = from = url_default;
    size_t size = strlen(url);
    while (size > 0 && from[size - 1] == '/')
        size--;
    bool known = strncmp(from, "http://", 7) == 0 || strncmp(from, "https://", 8) == 0;
    if (!known || size >= sizeof client->url)
        return command_usage(client->command, "TOCSIN_URL '%.100s' is not a URL such as %s", from,
                             url_default);
    memcpy(client->url, from, size);
    client->url[size] = '\0';
    client->target.url = client->url;
    return EXIT_DONE;
}

static int read_token(struct client *client, const char *file)
{
    FILE *in = fopen(file, "re");
    size_t size = in != NULL ? fread(client->token, 1, sizeof client->token - 1, in) : 0;
    bool failed = in == NULL || ferror(in) != 0;
    if (in != NULL)
        (void)fclose(in);
    if (failed)
        return command_usage(client->command, "cannot read the token file %.200s: %s", file,
                             strerror(errno));
    client->token[size] = '\0';
    client->token[strcspn(client->token, "\r\n")] = '\0';
    return EXIT_DONE;
}

static int set_token(struct client *client, const char *file)
{
    const char *token = getenv("TOCSIN_TOKEN");
    if (file != NULL) {
        int code = read_token(client, file);
        if (code != EXIT_DONE)
            return code;
    } else if (token != NULL) {
        (void)snprintf(client->token, sizeof client->token, "%s", token);
    }
    for (const char *at = client->token; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~')
            return command_usage(client->command, "the token has a character that none may have");
    }
    client->target.token = client->token[0] != '\0' ? client->token : NULL;
    return EXIT_DONE;
}

int client_init(struct client *client, const struct command *command,
                const struct client_options *options)
{
    *client = (struct client){.command = command, .json = options->json};
    client->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_DEFAULT_MS;
    client->target.ca_file = options->ca_file;
    int code = set_url(client, options->url);
    if (code == EXIT_DONE)
        code = set_token(client, options->token_file);
    if (code != EXIT_DONE)
        return code;
    client->call = call_create(&client->target);
    return client->call != NULL ? EXIT_DONE : command_fail(command, "no memory");
}

void client_release(struct client *client)
{
    call_destroy(client->call);
    client->call = NULL;
}

/* ---- asking */

struct problem {
    char code[40];
    char detail[PROBLEM_BYTES];
};

/* Of a lease: who has it is worth more than that somebody has. */
static void name_holder(struct bytes body, struct problem *problem)
{
    char holder[HOLDER_BYTES];
    if (!fields_text(body, "holder", holder, sizeof holder))
        return;
    table_clean(holder, holder, sizeof holder);
    (void)snprintf(problem->detail, sizeof problem->detail, "%s%s has it",
                   strcmp(problem->code, "FENCED") == 0 ? "it is not yours: " : "", holder);
}

static void read_problem(const struct call *call, struct problem *ret_problem)
{
    struct bytes body = call_body(call);
    *ret_problem = (struct problem){"", "the server refused, without a reason"};
    (void)fields_text(body, "code", ret_problem->code, sizeof ret_problem->code);
    if (!fields_text(body, "detail", ret_problem->detail, sizeof ret_problem->detail))
        (void)fields_text(body, "title", ret_problem->detail, sizeof ret_problem->detail);
    name_holder(body, ret_problem);
}

void client_problem(const struct call *call, char *ret_text, size_t room)
{
    struct problem problem;
    read_problem(call, &problem);
    (void)snprintf(ret_text, room, "%s (%d%s%s)", problem.detail, call_status(call),
                   problem.code[0] != '\0' ? " " : "", problem.code);
}

static void tell_no_answer(const struct client *client, const struct call *call, enum call_end end)
{
    char detail[PROBLEM_BYTES + CLIENT_URL_BYTES_MAX];
    bool lost = end == CALL_LOST;
    (void)snprintf(detail, sizeof detail, "%s %s%s: %s", lost ? "no answer from" : "cannot reach",
                   client->url, lost ? ", it may have been done or not" : "", call_why(call));
    error_tell(&(struct cli_error){
        .command = client->command->name,
        .code = lost ? "OUTCOME_UNKNOWN" : "UNREACHABLE",
        .detail = detail,
        .hint = lost ? "look before you ask again"
                     : "is it running? tocsin serve starts one, --url names another",
    });
}

int client_judge(const struct client *client, const struct call *call, enum call_end end)
{
    struct problem problem;
    if (end == CALL_UNREACHED || end == CALL_LOST) {
        tell_no_answer(client, call, end);
        return EXIT_UNREACHED;
    }
    if (call_status(call) < 300)
        return EXIT_DONE;
    read_problem(call, &problem);
    error_tell(&(struct cli_error){
        .command = client->command->name,
        .about = client->about,
        .status = call_status(call),
        .code = problem.code,
        .detail = problem.detail,
    });
    return EXIT_REFUSED;
}

int client_ask(struct client *client, const struct call_request *request)
{
    struct call_request timed = *request;
    if (timed.timeout_ms == 0)
        timed.timeout_ms = client->timeout_ms;
    if (timed.body.at == NULL && strcmp(timed.method, "POST") == 0)
        timed.body = bytes_of("{}");
    return client_judge(client, client->call, call_run(client->call, &timed));
}

void client_note_answer(const struct client *client, const struct call *call, enum call_end end,
                        bool *away)
{
    bool here = end == CALL_ANSWERED;
    if (here && *away)
        error_note(client->command->name, "the server is back");
    else if (!here && !*away)
        error_note(client->command->name, "no answer from %s: %s; trying again", client->url,
                   call_why(call));
    *away = !here;
}

void client_print(const struct client *client)
{
    struct bytes body = call_body(client->call);
    (void)fwrite(body.at, 1, body.size, stdout);
    if (body.size == 0 || body.at[body.size - 1] != '\n')
        (void)putchar('\n');
}

/* ---- paths */

static bool encode(const char *text, char *to, size_t room)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    size_t used = 0;
    for (; *text != '\0'; text++) {
        if (used + 4 > room)
            return false;
        if (strchr(kept, *text) != NULL)
            to[used++] = *text;
        else
            used += (size_t)snprintf(to + used, 4, "%%%02X", (unsigned)(unsigned char)*text);
    }
    to[used] = '\0';
    return true;
}

bool client_path(struct client *client, const char *before, const char *id, const char *after,
                 char ret_path[CLIENT_PATH_BYTES_MAX])
{
    char coded[CLIENT_PATH_BYTES_MAX - 100];
    /* One dot or two would be taken for a way through the path, also when they are coded. */
    bool dots = strcmp(id, ".") == 0 || strcmp(id, "..") == 0;
    if (id[0] == '\0' || dots || !encode(id, coded, sizeof coded)) {
        (void)command_usage(client->command, "'%.100s' is no id", id);
        return false;
    }
    client->about = id;
    (void)snprintf(ret_path, CLIENT_PATH_BYTES_MAX, "%s%s%s", before, coded, after);
    return true;
}

bool client_query(const struct client *client, const char *name, const char *value,
                  char path[CLIENT_PATH_BYTES_MAX])
{
    char coded[CLIENT_PATH_BYTES_MAX];
    size_t size = strlen(path);
    if (!encode(value, coded, sizeof coded) ||
        size + strlen(name) + strlen(coded) + 3 > CLIENT_PATH_BYTES_MAX) {
        (void)command_usage(client->command, "%s is too long", name);
        return false;
    }
    (void)snprintf(path + size, CLIENT_PATH_BYTES_MAX - size, "%s%s=%s",
                   strchr(path, '?') == NULL ? "?" : "&", name, coded);
    return true;
}

int client_show(const struct command *command, int argc, char **argv, const char *before,
                const char *after, int (*print)(const struct client *client))
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct client client;
    char path[CLIENT_PATH_BYTES_MAX];
    int code;
    if (!command_begin(command, &words, &options, &code))
        return code;
    code = client_init(&client, command, &options);
    if (code == EXIT_DONE && !client_path(&client, before, words.at[0], after, path))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = client_ask(&client, &(struct call_request){.method = "GET", .path = path});
    if (code == EXIT_DONE && client.json)
        client_print(&client);
    else if (code == EXIT_DONE)
        code = print(&client);
    client_release(&client);
    return code;
}

int client_each(const struct command *command, const struct client_options *options,
                const struct words *words,
                int (*one)(struct client *client, const void *arg, const char *word),
                const void *arg)
{
    struct client client;
    int worst = client_init(&client, command, options);
    for (int i = 0; i < words->count && (worst == EXIT_DONE || worst == EXIT_REFUSED); i++) {
        int code = one(&client, arg, words->at[i]);
        worst = code > worst ? code : worst;
    }
    client_release(&client);
    return worst;
}
