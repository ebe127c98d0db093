/* SPDX-License-Identifier: MIT */
/* config.h - how was this server told to run?
 *
 * Everything a server needs to know, from four sources: defaults, a YAML file, environment
 * variables (TOCSIN_ and the path: limits.body_bytes is TOCSIN_LIMITS_BODY_BYTES), flags. All
 * of it stands in one table (config_table.h), from which also come --print-config, the
 * example file and the help.
 *
 *     config_init(&config)
 *     config_set(&config, "listen", "127.0.0.1:0", CONFIG_FLAG, &why)
 *     config_read_file(&config, "/etc/tocsin/tocsin.yml", &why)
 *     config_read_environment(&config, environ, &why)
 *     config_finish(&config, &why)
 *
 * Promise   a later source in the list above beats an earlier one, in whatever order they are
 *           read. What is not exactly allowed is refused, and the reason says where (file, line
 *           and column, variable or flag), what was found, what is allowed, and for a name
 *           that is not known the nearest one that is. Secrets are never in a reason.
 * Failure   INVALID with a reason, or NO_MEMORY. A value that was refused leaves the one
 *           before; a file that was refused may have been read in part.
 * Memory    all strings are the config's own, until config_release.
 * Threads   one at a time; once finished, any may read.
 */
#ifndef TOCSIN_SERVER_CONFIG_H
#define TOCSIN_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "net/http_server.h"

enum {
    CONFIG_FILE_BYTES_MAX = 256 * 1024,
    CONFIG_ROWS_MAX = 96,
    CONFIG_TOKEN_BYTES_MIN = 16,
    CONFIG_TOKEN_BYTES_MAX = 255,
};

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG };

enum config_store { CONFIG_SQLITE, CONFIG_MEMORY, CONFIG_REDIS };
/* In the order of the words in the table. */
enum config_clock { CONFIG_CLOCK_SYSTEM, CONFIG_CLOCK_MANUAL };
enum config_renewal_engine { CONFIG_TIME_WHEEL, CONFIG_SCHEDULED };
enum config_history { CONFIG_HISTORY_FAILURES, CONFIG_HISTORY_ALL, CONFIG_HISTORY_NONE };

struct config_list {
    char **items;
    size_t count;
};

struct config_token {
    char *name;
    char *token; /* NULL until config_finish has read the file */
    char *file;  /* NULL: the token was given itself */
};

struct config_tokens {
    struct config_token *items;
    size_t count;
};

/* Sizes in bytes, times in milliseconds; what each is for says the table. */
struct config_limits {
    uint64_t connections;
    uint64_t pipelined;
    uint64_t head_bytes;
    uint64_t headers;
    uint64_t body_bytes;
    uint64_t body_bytes_total;
    uint64_t answer_bytes;
    uint64_t head_timeout;
    uint64_t body_timeout;
    uint64_t idle_timeout;
    uint64_t write_timeout;
    uint64_t tasks_pending;
    uint64_t payload_bytes;
    uint64_t batch_lines;
    uint64_t batch_bytes;
    uint64_t leases_waiting;
    uint64_t runs_per_lease;
    uint64_t queues;
    uint64_t idempotency_entries;
    uint64_t idempotency_time;
    uint64_t countdowns;
    uint64_t renewals;
    uint64_t renewal_keys;
    uint64_t leases;
    uint64_t leases_in_line;
    uint64_t finished_tasks;
    uint64_t finished_bytes;
    uint64_t docs_bytes;
    uint64_t events_bytes;
};

/* STOMP over WebSocket. */
struct config_ws {
    uint64_t connections;
    uint64_t message_bytes;
    uint64_t queue_bytes;
    uint64_t heart_beat;
    uint64_t subscriptions;
    uint64_t topics;
};

struct config_turn {
    uint64_t seconds;
    unsigned aiTimed;
};

struct config_gomoku {
    uint64_t rooms;
    uint64_t waiting_idle;
    struct config_turn turn;
};

struct config_holder_ttl {
    uint64_t seconds;
};

struct config_holder {
    struct config_holder_ttl ttl;
};

struct config_countdown {
    struct config_holder holder;
};

struct config_time_wheel {
    uint64_t tick_duration; /* ms */
    uint64_t ticks_per_wheel;
};

struct config_renewal {
    unsigned enabled;
    unsigned type; /* enum config_renewal_engine */
    uint64_t executor_thread_pool_size;
    uint64_t metrics_report_interval;  /* s */
    uint64_t default_renewal_interval; /* s */
    uint64_t default_ttl;              /* s */
    struct config_time_wheel time_wheel;
};

/* The Redis servers whose keys are kept alive. */
struct config_redis {
    char *host; /* of the one called default */
    uint64_t port;
    char *user;
    char *password;
    uint64_t database;
    struct config_list servers; /* name=redis://… */
    uint64_t timeout;
    struct config_renewal renewal;
};

struct config_instance {
    char *id; /* "": not given. Else it names the node, when all is finished. */
};

struct config_tls {
    char *certificate; /* "": none */
    char *key;
};

struct config_log {
    unsigned level;  /* enum log_level */
    unsigned format; /* enum log_format */
};

struct config_histories {
    unsigned tasks; /* enum config_history */
};

/* Several nodes on one Redis. */
struct config_cluster {
    char *address; /* "": the first of listen */
    uint64_t lease;
    uint64_t renew;
};

struct config {
    struct config_list listen;
    char *data;
    char *store; /* config_store_kind */
    char *node;
    struct config_instance instance;
    unsigned clock; /* enum config_clock */
    struct config_tokens tokens;
    struct config_list allowed_hosts;
    struct config_list allowed_origins;
    uint64_t misfire_grace;
    uint64_t drain_timeout;
    uint64_t ballast_bytes;
    struct config_tls tls;
    struct config_log log;
    struct config_histories history;
    struct config_limits limits;
    struct config_ws ws;
    struct config_countdown countdown;
    struct config_gomoku gomoku;
    struct config_redis redis;
    struct config_cluster cluster;

    bool accept_loss;                 /* a flag for one start, in no file */
    uint8_t sources[CONFIG_ROWS_MAX]; /* enum config_source of each row of the table */
};

struct config_why {
    char text[600];
};

/* All defaults. */
enum tocsin_status config_init(struct config *config);
void config_release(struct config *config);

enum tocsin_status config_read_file(struct config *config, const char *path,
                                    struct config_why *ret_why);
/* The same from bytes; name is what reasons call them. */
enum tocsin_status config_read_yaml(struct config *config, const char *name, struct bytes yaml,
                                    struct config_why *ret_why);

/* Strings "NAME=value", the last one NULL, as environ has them. A name that begins with TOCSIN_
 * and is none of ours is refused; TOCSIN_CONFIG (the file, which is the caller's business),
 * those of the clients (TOCSIN_URL, TOCSIN_TOKEN), of the tests (TOCSIN_SEED, TOCSIN_EFFORT)
 * and those that Kubernetes makes for a service of this name (TOCSIN_SERVICE_…, TOCSIN_PORT…)
 * are passed over. */
enum tocsin_status config_read_environment(struct config *config, char *const *environment,
                                           struct config_why *ret_why);

/* One value as text; lists with commas, tokens as name=token or name=@file. */
enum tocsin_status config_set(struct config *config, const char *path, const char *value,
                              enum config_source source, struct config_why *ret_why);

/* Does it make sense as a whole? Reads the token files. Once, after all sources. */
enum tocsin_status config_finish(struct config *config, struct config_why *ret_why);

enum config_store config_store_kind(const struct config *config);
/* For people: "sqlite", or "redis://user:***@host:6379/0" without the password. */
enum { CONFIG_STORE_SHOWN_BYTES = 1024 };
void config_store_shown(const struct config *config, char ret_text[CONFIG_STORE_SHOWN_BYTES]);

/* What the HTTP server is told of it. */
void config_http_limits(const struct config *config, struct http_limits *ret_limits);

/* A commented YAML file with every value; read back, it gives the same configuration. Tokens
 * are hidden unless secrets are asked for; a hidden one is refused when read back. */
void config_print(const struct config *config, bool secrets, struct buffer *out);
/* Every path with its variable, what is allowed, its default, what it is for. */
void config_help(struct buffer *out);

#endif
