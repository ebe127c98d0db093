/* SPDX-License-Identifier: MIT */
/* client.h - how does a subcommand ask the server?
 *
 * Where it is and who asks come from the options that all clients share, or from the
 * environment (TOCSIN_URL, TOCSIN_TOKEN). What the server or the network refuses becomes one
 * sentence on stderr and an exit code, so that most commands are a request and a table.
 */
#ifndef TOCSIN_CLI_CLIENT_H
#define TOCSIN_CLI_CLIENT_H

#include "cli/call.h"
#include "cli/command.h"

enum { CLIENT_TOKEN_BYTES_MAX = 4096, CLIENT_URL_BYTES_MAX = 1024, CLIENT_PATH_BYTES_MAX = 4096 };

/* The options of a client begin with this. */
struct client_options {
    const char *url;
    const char *token_file;
    const char *ca_file;
    uint64_t timeout_ms; /* of a request; 0: 30 s */
    bool json;
};

extern const struct option_row client_rows[];
extern const size_t client_row_count;

struct client {
    const struct command *command;
    uint64_t timeout_ms;
    bool json;
    const char *about; /* the id of the last path, for its errors; NULL: none */
    struct call_target target;
    struct call *call;
    char url[CLIENT_URL_BYTES_MAX];
    char token[CLIENT_TOKEN_BYTES_MAX];
};

/* EXIT_DONE, or a message is on stderr and the answer is the exit code. Then, too, release. */
int client_init(struct client *client, const struct command *command,
                const struct client_options *options);
void client_release(struct client *client);

/* EXIT_DONE: a 2xx, whose body is call_body(client->call). Else it has been said. A POST without a
 * body says {}. */
int client_ask(struct client *client, const struct call_request *request);
/* The same for a call that has ended. */
int client_judge(const struct client *client, const struct call *call, enum call_end end);
/* The problem as a sentence: "there is no such task (404 NOT_FOUND)". */
void client_problem(const struct call *call, char *ret_text, size_t room);

/* For what goes on when the server goes: one note when it does, one when it is back. */
void client_note_answer(const struct client *client, const struct call *call, enum call_end end,
                        bool *away);

/* The answer on stdout, with a line's end. */
void client_print(const struct client *client);
/* All of a command that shows the one whose id is its word, at before + id + after. Without
 * --json print does, whose answer is the exit code. */
int client_show(const struct command *command, int argc, char **argv, const char *before,
                const char *after, int (*print)(const struct client *client));

/* Asks for one word after the other. What is refused has been said by one, whose answer is an exit
 * code, and the others are done all the same. */
int client_each(const struct command *command, const struct client_options *options,
                const struct words *words,
                int (*one)(struct client *client, const void *arg, const char *word),
                const void *arg);

/* "/v1/tasks/" id "/pause", the middle coded for a path. False: too long, and said. */
bool client_path(struct client *client, const char *before, const char *id, const char *after,
                 char ret_path[CLIENT_PATH_BYTES_MAX]);
/* Adds "?name=value", or "&name=value". */
bool client_query(const struct client *client, const char *name, const char *value,
                  char path[CLIENT_PATH_BYTES_MAX]);

#endif
