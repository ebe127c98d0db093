/* SPDX-License-Identifier: MIT */
#include "server/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config_table.h"
#include "server/config_value.h"

#define PREFIX "TOCSIN_"

enum tocsin_status config_init(struct config *config)
{
    struct config_why why = {""};
    *config = (struct config){0};
    for (size_t i = 0; i < config_table_count; i++) {
        const struct config_row *row = &config_table[i];
        struct config_spot spot = {.source = CONFIG_DEFAULT, .name = row->path};
        enum tocsin_status status =
            config_value_set(row, bytes_of(row->initial), config, &spot, &why);
        assert(status != TOCSIN_INVALID);
        if (status != TOCSIN_OK) {
            config_release(config);
            return status;
        }
    }
    return TOCSIN_OK;
}

void config_release(struct config *config)
{
    for (size_t i = 0; i < config_table_count; i++)
        config_value_release(&config_table[i], config);
    *config = (struct config){0};
}

bool config_row_may_set(const struct config *config, const struct config_row *row,
                        enum config_source source)
{
    return source >= config->sources[row - config_table];
}

void config_row_was_set(struct config *config, const struct config_row *row,
                        enum config_source source)
{
    config->sources[row - config_table] = (uint8_t)source;
}

/* A value that is beaten by another source must be right all the same: it is tried on a
 * configuration of its own. */
static enum tocsin_status try_only(const struct config_row *row, const char *value,
                                   const struct config_spot *spot, struct config_why *ret_why)
{
    struct config other;
    enum tocsin_status status = config_init(&other);
    if (status != TOCSIN_OK)
        return status;
    status = config_value_set(row, bytes_of(value), &other, spot, ret_why);
    config_release(&other);
    return status;
}

static enum tocsin_status set_row(struct config *config, const struct config_row *row,
                                  const char *value, const struct config_spot *spot,
                                  struct config_why *ret_why)
{
    if (!config_row_may_set(config, row, spot->source))
        return try_only(row, value, spot, ret_why);
    enum tocsin_status status = config_value_set(row, bytes_of(value), config, spot, ret_why);
    if (status == TOCSIN_OK)
        config_row_was_set(config, row, spot->source);
    return status;
}

enum tocsin_status config_set(struct config *config, const char *path, const char *value,
                              enum config_source source, struct config_why *ret_why)
{
    const struct config_row *row = config_row_find(bytes_of(path));
    struct config_spot spot = {.source = source, .name = path};
    if (row == NULL)
        return config_refuse_name(ret_why, &spot, bytes_of(path));
    return set_row(config, row, value, &spot, ret_why);
}

/* Those that others read: clients, what a worker runs, the tests, and who looks for the file.
 * Kubernetes makes some for each service it knows; one named tocsin must not stop us. */
static bool is_passed_over(struct bytes name)
{
    static const char *const made[] = {"TOCSIN_SERVICE_", "TOCSIN_PORT"};
    static const char *const names[] = {
        "TOCSIN_CONFIG", "TOCSIN_URL",     "TOCSIN_TOKEN",   "TOCSIN_SEED",  "TOCSIN_EFFORT",
        "TOCSIN_RUN",    "TOCSIN_TASK_ID", "TOCSIN_ATTEMPT", "TOCSIN_FENCE", "TOCSIN_DUE_MS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (bytes_are(name, names[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        if (strncmp(name.at, made[i], strlen(made[i])) == 0)
            return true;
    }
    return false;
}

static enum tocsin_status refuse_variable(struct bytes name, struct config_why *ret_why)
{
    struct config_spot spot = {.source = CONFIG_ENVIRONMENT};
    struct bytes path = {name.at + strlen(PREFIX), name.size - strlen(PREFIX)};
    const struct config_row *nearest = config_row_nearest_variable(path);
    char variable[CONFIG_VARIABLE_BYTES];
    if (nearest == NULL)
        return config_refuse(ret_why, &spot, "%.*s is not known", config_quoted(name), name.at);
    config_row_variable(nearest, variable);
    return config_refuse(ret_why, &spot, "%.*s is not known; did you mean %s?", config_quoted(name),
                         name.at, variable);
}

static enum tocsin_status read_variable(struct config *config, struct bytes name, const char *value,
                                        struct config_why *ret_why)
{
    char variable[CONFIG_VARIABLE_BYTES];
    for (size_t i = 0; i < config_table_count; i++) {
        config_row_variable(&config_table[i], variable);
        if (!bytes_are(name, variable))
            continue;
        struct config_spot spot = {.source = CONFIG_ENVIRONMENT, .name = variable};
        return set_row(config, &config_table[i], value, &spot, ret_why);
    }
    return is_passed_over(name) ? TOCSIN_OK : refuse_variable(name, ret_why);
}

/* As everybody else calls them; ours beat them. */
static enum tocsin_status read_redis_variable(struct config *config, struct bytes name,
                                              const char *value, struct config_why *ret_why)
{
    static const char *const names[][2] = {{"REDIS_HOST", "redis.host"},
                                           {"REDIS_PORT", "redis.port"},
                                           {"REDIS_PASSWORD", "redis.password"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct config_row *row = config_row_find(bytes_of(names[i][1]));
        struct config_spot spot = {.source = CONFIG_ENVIRONMENT, .name = names[i][0]};
        bool ours = config->sources[row - config_table] == CONFIG_ENVIRONMENT;
        /* Kubernetes says tcp://10.0.0.7:6379 when it knows a service called redis. */
        bool made = strncmp(value, "tcp://", 6) == 0;
        if (bytes_are(name, names[i][0]) && value[0] != '\0' && !made && !ours)
            return set_row(config, row, value, &spot, ret_why);
    }
    return TOCSIN_OK;
}

enum tocsin_status config_read_environment(struct config *config, char *const *environment,
                                           struct config_why *ret_why)
{
    enum tocsin_status status = TOCSIN_OK;
    for (; *environment != NULL && status == TOCSIN_OK; environment++) {
        const char *sign = strchr(*environment, '=');
        struct bytes name = {*environment, sign == NULL ? 0 : (size_t)(sign - *environment)};
        if (sign == NULL)
            continue;
        if (strncmp(*environment, PREFIX, strlen(PREFIX)) != 0) {
            status = read_redis_variable(config, name, sign + 1, ret_why);
            continue;
        }
        status = read_variable(config, name, sign + 1, ret_why);
    }
    return status;
}

enum tocsin_status config_read_file(struct config *config, const char *path,
                                    struct config_why *ret_why)
{
    struct config_spot spot = {.source = CONFIG_FILE, .file = path};
    struct bytes text;
    char *data = config_read_whole(path, CONFIG_FILE_BYTES_MAX, &text.size);
    if (data == NULL)
        return config_refuse(ret_why, &spot, "%s",
                             errno == EFBIG ? "it is larger than 256KiB" : strerror(errno));
    text.at = data;
    enum tocsin_status status = config_read_yaml(config, path, text, ret_why);
    free(data);
    return status;
}

char *config_read_whole(const char *path, size_t max_bytes, size_t *ret_size)
{
    FILE *from = fopen(path, "re");
    if (from == NULL)
        return NULL;
    char *data = malloc(max_bytes + 1);
    size_t size = data != NULL ? fread(data, 1, max_bytes + 1, from) : 0;
    int problem = data == NULL ? ENOMEM : ferror(from) ? errno : size > max_bytes ? EFBIG : 0;
    (void)fclose(from);
    if (problem != 0) {
        free(data);
        errno = problem;
        return NULL;
    }
    *ret_size = size;
    return data;
}

void config_http_limits(const struct config *config, struct http_limits *ret_limits)
{
    const struct config_limits *limits = &config->limits;
    *ret_limits = (struct http_limits){
        .connections = (uint32_t)limits->connections,
        .pipelined = (uint32_t)limits->pipelined,
        .head_bytes = (uint32_t)limits->head_bytes,
        .headers = (uint32_t)limits->headers,
        .body_bytes = (uint32_t)limits->body_bytes,
        .body_bytes_total = limits->body_bytes_total,
        .answer_bytes = limits->answer_bytes,
        .head_timeout_ms = (uint32_t)limits->head_timeout,
        .body_timeout_ms = (uint32_t)limits->body_timeout,
        .idle_timeout_ms = (uint32_t)limits->idle_timeout,
        .write_timeout_ms = (uint32_t)limits->write_timeout,
    };
}
