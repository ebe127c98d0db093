/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/command_list.h"
#include "server/server.h"

enum { SETTINGS_MAX = 64, PRINT_BYTES_MAX = 256 * 1024 };

/* Flags come before the file is read, and win all the same: config.h. */
struct serve {
    struct config config;
    const char *file;
    bool print;
    bool refused; /* a flag, and why says it */
    struct config_why why;
};

static bool set(struct serve *serve, const char *path, const char *value)
{
    if (serve->refused)
        return true;
    serve->refused = config_set(&serve->config, path, value, CONFIG_FLAG, &serve->why) != TOCSIN_OK;
    return true;
}

static bool read_listen(const char *value, void *into)
{
    return set(into, "listen", value);
}

static bool read_data(const char *value, void *into)
{
    return set(into, "data", value);
}

static bool read_store(const char *value, void *into)
{
    return set(into, "store", value);
}

static bool read_clock(const char *value, void *into)
{
    return set(into, "clock", value);
}

static bool read_level(const char *value, void *into)
{
    return set(into, "log.level", value);
}

static bool read_setting(const char *value, void *into)
{
    char path[128];
    const char *equals = strchr(value, '=');
    if (equals == NULL || (size_t)(equals - value) >= sizeof path)
        return false;
    memcpy(path, value, (size_t)(equals - value));
    path[equals - value] = '\0';
    return set(into, path, equals + 1);
}

static const struct option_row rows[] = {
    {"--config", "FILE", "read this YAML file", "a file", options_read_text,
     offsetof(struct serve, file)},
    {"--listen", "ADDRESS", "where to listen (127.0.0.1:7400); port 0 takes a free one",
     "an address such as 127.0.0.1:7400", read_listen},
    {"--data", "DIR", "the folder of the store (tocsin-data)", "a folder", read_data},
    {"--store", "STORE", "sqlite, memory, or redis://HOST:PORT that several nodes share (sqlite)",
     "sqlite, memory or redis://HOST:PORT", read_store},
    {"--clock", "CLOCK", "system, or manual for tests", "system or manual", read_clock},
    {"--log-level", "LEVEL", "error, warn, info or debug (info)", "error, warn, info or debug",
     read_level},
    {"--set", "KEY=VALUE", "any setting of the file, such as limits.body_bytes=2MiB",
     "a setting such as node=n2", read_setting},
    {"--print-config", NULL, "print the configuration with all its values, and end", "",
     options_read_flag, offsetof(struct serve, print)},
    {"--accept-loss", NULL, "start although acknowledged commits are missing from a damaged log",
     "", options_read_flag, offsetof(struct serve, config.accept_loss)},
};

static int print_config(const struct config *config)
{
    struct buffer out;
    buffer_init(&out, PRINT_BYTES_MAX);
    config_print(config, false, &out);
    (void)fwrite(out.data, 1, out.size, stdout);
    buffer_release(&out);
    return EXIT_DONE;
}

static enum tocsin_status read_rest(struct serve *serve)
{
    extern char **environ;
    if (serve->file == NULL)
        serve->file = getenv("TOCSIN_CONFIG");
    enum tocsin_status status = TOCSIN_OK;
    if (serve->file != NULL && serve->file[0] != '\0')
        status = config_read_file(&serve->config, serve->file, &serve->why);
    if (status == TOCSIN_OK)
        status = config_read_environment(&serve->config, environ, &serve->why);
    if (status == TOCSIN_OK)
        status = config_finish(&serve->config, &serve->why);
    return status;
}

static int serve_with(struct serve *serve, int argc, char **argv)
{
    struct tocsin_why why = {""};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&serve_command, &words, serve, &code))
        return code;
    if (serve->refused || read_rest(serve) != TOCSIN_OK)
        return command_usage(&serve_command, "%s", serve->why.text);
    if (serve->print)
        return print_config(&serve->config);
    enum tocsin_status status = server_run(&serve->config, &why);
    if (status == TOCSIN_OK)
        return EXIT_DONE;
    code = command_fail(&serve_command, "%s",
                        why.text[0] != '\0' ? why.text : tocsin_status_text(status));
    /* A folder that is damaged is refused by the next start, too; of a shared store that was emptied
     * only a process that has seen it before knows. */
    bool shared = config_store_kind(&serve->config) == CONFIG_REDIS;
    return shared && status == TOCSIN_DAMAGED ? EXIT_LOOK : code;
}

static int serve_run(int argc, char **argv)
{
    struct serve *serve = calloc(1, sizeof *serve);
    if (serve == NULL || config_init(&serve->config) != TOCSIN_OK) {
        free(serve);
        return command_fail(&serve_command, "no memory");
    }
    int code = serve_with(serve, argc, argv);
    config_release(&serve->config);
    free(serve);
    return code;
}

const struct command serve_command = {
    .name = "serve",
    .text = "run the server",
    .usage = "[OPTION...]",
    .about = "Runs the server until SIGTERM or SIGINT. When it can take requests it prints one\n"
             "line on stdout: tocsin ready on http://... ; its log goes to stderr.\n",
    .after = "Every setting may also be given in the environment (TOCSIN_LISTEN,\n"
             "TOCSIN_LIMITS_BODY_BYTES, ...); flags beat the environment, which beats the file.\n"
             "tocsin serve --print-config lists them all with what each is for.\n"
             "\n"
             "example: tocsin serve --data /var/lib/tocsin --listen 127.0.0.1:7400\n"
             "exit codes: 0 stopped in order, 1 it could not go on, 2 usage, 4 the records that\n"
             "several nodes share are gone or damaged: look before it is started again\n",
    COMMAND_ROWS(rows),
    .run = serve_run,
};
