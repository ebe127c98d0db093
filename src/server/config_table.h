/* SPDX-License-Identifier: MIT */
/* config_table.h - what can be configured?
 *
 * One row each; a new setting is a field in struct config and a row here. The path in the
 * file is the field's own (limits.body_bytes); the variable follows from the path. Rows of one
 * section stand together, those of a section inside it last.
 */
#ifndef TOCSIN_SERVER_CONFIG_TABLE_H
#define TOCSIN_SERVER_CONFIG_TABLE_H

#include "server/config.h"

enum config_type {
    CONFIG_TEXT,   /* char *; min and max are of its length */
    CONFIG_NUMBER, /* uint64_t */
    CONFIG_SIZE,   /* uint64_t, bytes */
    CONFIG_TIME,   /* uint64_t, milliseconds */
    CONFIG_CHOICE, /* unsigned: which of the words */
    CONFIG_LIST,   /* struct config_list; min and max are of its count */
    CONFIG_TOKENS, /* struct config_tokens; likewise */
};

/* What a text, or an item of a list, must look like. */
struct config_form {
    const char *allowed; /* "an address such as 127.0.0.1:7400" */
    bool (*fits)(const char *text);
    const char *const *words; /* of a choice, the last one NULL */
    bool secret;              /* it has a password in it, which is not shown */
    bool url;                 /* it may have one before an @, which is not shown */
};

struct config_row {
    const char *path;
    enum config_type type;
    size_t offset; /* in struct config */
    const char *initial;
    uint64_t min;
    uint64_t max;
    const struct config_form *form;
    const char *text;
};

#define CONFIG_KIB UINT64_C(1024)
#define CONFIG_MIB (1024 * CONFIG_KIB)
#define CONFIG_GIB (1024 * CONFIG_MIB)
#define CONFIG_SECOND UINT64_C(1000)
#define CONFIG_HOUR (3600 * CONFIG_SECOND)
#define CONFIG_DAY (24 * CONFIG_HOUR)

/*  field, type, default, min, max, form, text */
#define CONFIG_TABLE(ROW)                                                                          \
    CONFIG_TABLE_GENERAL(ROW)                                                                      \
    CONFIG_TABLE_SECTIONS(ROW)                                                                     \
    CONFIG_TABLE_HTTP_LIMITS(ROW)                                                                  \
    CONFIG_TABLE_TASK_LIMITS(ROW)                                                                  \
    CONFIG_TABLE_WS(ROW)                                                                           \
    CONFIG_TABLE_COUNTDOWN(ROW)                                                                    \
    CONFIG_TABLE_GOMOKU(ROW)                                                                       \
    CONFIG_TABLE_REDIS(ROW)                                                                        \
    CONFIG_TABLE_CLUSTER(ROW)

#define CONFIG_TABLE_GENERAL(ROW)                                                                  \
    ROW(listen, LIST, "127.0.0.1:7400", 1, 16, address,                                            \
        "Where to listen for HTTP. Port 0 takes a free one. Without tokens only loopback "         \
        "addresses are allowed.")                                                                  \
    ROW(data, TEXT, "tocsin-data", 1, 4000, any,                                                   \
        "The folder of the store; made when it is not there.")                                     \
    ROW(store, TEXT, "sqlite", 1, 1000, store,                                                     \
        "Where records are kept: in files (sqlite), or in a Redis that several nodes share. What " \
        "is in memory is gone with the process: for tests only.")                                  \
    ROW(node, TEXT, "n1", 1, 64, name,                                                             \
        "The name of this node, in answers, logs and fences. With a Redis that is shared, and "    \
        "without a name, it is tocsin- and a few letters of chance.")                              \
    ROW(clock, CHOICE, "system", 0, 0, clock,                                                      \
        "The manual clock stands still until POST /v1/clock/advance moves it: for tests only.")    \
    ROW(tokens, TOKENS, "", 0, 64, token,                                                          \
        "Who may call: each with a name (for the log) and either the token itself or a file "      \
        "that holds it. None: everybody who reaches a loopback address.")                          \
    ROW(allowed_hosts, LIST, "", 0, 64, host,                                                      \
        "Further names by which clients reach this server, as they stand in the Host header. The " \
        "addresses above and localhost are always allowed.")                                       \
    ROW(allowed_origins, LIST, "", 0, 64, origin,                                                  \
        "Web pages of these origins may call this server, too.")                                   \
    ROW(misfire_grace, TIME, "60s", 0, 365 * CONFIG_DAY, none,                                     \
        "A one-shot task that is later than this was missed, and its misfire policy decides.")     \
    ROW(drain_timeout, TIME, "30s", 0, CONFIG_HOUR, none,                                          \
        "After SIGTERM, how long clients may take to receive their answers.")                      \
    ROW(ballast_bytes, SIZE, "16MiB", 0, 16 * CONFIG_GIB, none,                                    \
        "A file of this size is given up when the disk is full, so that work can still end. 0: "   \
        "none.")

#define CONFIG_TABLE_SECTIONS(ROW)                                                                 \
    ROW(instance.id, TEXT, "", 0, 64, name,                                                        \
        "The name of this node, as `node`: give one of the two.")                                  \
    ROW(tls.certificate, TEXT, "", 0, 4000, any,                                                   \
        "The certificate with its chain, a PEM file. None: plain HTTP.")                           \
    ROW(tls.key, TEXT, "", 0, 4000, any, "The certificate's private key, a PEM file.")             \
    ROW(log.level, CHOICE, "info", 0, 0, level,                                                    \
        "How much is logged; each includes the ones "                                              \
        "before it.")                                                                              \
    ROW(log.format, CHOICE, "logfmt", 0, 0, format, "How a line of the log looks.")                \
    ROW(history.tasks, CHOICE, "failures", 0, 0, history,                                          \
        "Which events of tasks are kept: those of failed ones, all (each costs a write), none.")

#define CONFIG_TABLE_HTTP_LIMITS(ROW)                                                              \
    ROW(limits.connections, NUMBER, "16384", 1, 1000000, none,                                     \
        "Connections that may be open; more are answered 503 and closed.")                         \
    ROW(limits.pipelined, NUMBER, "64", 1, 10000, none,                                            \
        "Requests of one connection that may be under way; further ones wait in the socket.")      \
    ROW(limits.head_bytes, SIZE, "16KiB", 1 * CONFIG_KIB, 1 * CONFIG_MIB, none,                    \
        "The largest head of a request; beyond it 431.")                                           \
    ROW(limits.headers, NUMBER, "64", 8, 1000, none,                                               \
        "The most headers of a request; beyond it 431.")                                           \
    ROW(limits.body_bytes, SIZE, "16MiB", 1 * CONFIG_KIB, 1 * CONFIG_GIB, none,                    \
        "The largest body of a request; beyond it 413.")                                           \
    ROW(limits.body_bytes_total, SIZE, "256MiB", 1 * CONFIG_KIB, 64 * CONFIG_GIB, none,            \
        "The bodies of all requests under way together; beyond it 503 with Retry-After.")          \
    ROW(limits.answer_bytes, SIZE, "64MiB", 64 * CONFIG_KIB, 4 * CONFIG_GIB, none,                 \
        "Answers of one connection that its client has not taken yet; beyond it, it is cut off.")  \
    ROW(limits.head_timeout, TIME, "10s", 10, CONFIG_HOUR, none,                                   \
        "How long the head of a request may take; then 408.")                                      \
    ROW(limits.body_timeout, TIME, "1m", 10, CONFIG_HOUR, none,                                    \
        "How long the body of a request may take; then 408.")                                      \
    ROW(limits.idle_timeout, TIME, "2m", 10, CONFIG_DAY, none,                                     \
        "How long a connection may be idle between two requests.")                                 \
    ROW(limits.write_timeout, TIME, "30s", 10, CONFIG_HOUR, none,                                  \
        "How long a client may take nothing of its answer.")

#define CONFIG_TABLE_TASK_LIMITS(ROW)                                                              \
    ROW(limits.tasks_pending, NUMBER, "20000000", 1, UINT64_C(1000000000), none,                   \
        "Tasks that may wait; beyond it 429.")                                                     \
    ROW(limits.payload_bytes, SIZE, "64KiB", 0, 64 * CONFIG_KIB, none,                             \
        "The largest payload of a task.")                                                          \
    ROW(limits.batch_lines, NUMBER, "10000", 1, 1000000, none, "The most lines of a batch.")       \
    ROW(limits.batch_bytes, SIZE, "16MiB", 1 * CONFIG_KIB, 1 * CONFIG_GIB, none,                   \
        "The largest batch; at most limits.body_bytes.")                                           \
    ROW(limits.leases_waiting, NUMBER, "10000", 1, 1000000, none,                                  \
        "Lease calls that may wait for work; beyond it 429.")                                      \
    ROW(limits.runs_per_lease, NUMBER, "1000", 1, 10000, none,                                     \
        "The most runs one lease call is given.")                                                  \
    ROW(limits.queues, NUMBER, "10000", 1, 1000000, none,                                          \
        "Queues with ready or leased tasks or waiting workers; a lease of one more is 429.")       \
    ROW(limits.idempotency_entries, NUMBER, "1000000", 1, 100000000, none,                         \
        "Idempotency keys that are remembered; beyond it 429.")                                    \
    ROW(limits.idempotency_time, TIME, "24h", CONFIG_SECOND, 365 * CONFIG_DAY, none,               \
        "How long an idempotency key is remembered.")                                              \
    ROW(limits.countdowns, NUMBER, "1000000", 1, 100000000, none,                                  \
        "Countdowns that may be kept, expired ones for an hour; beyond it 429.")                   \
    ROW(limits.renewals, NUMBER, "1000000", 1, 10000000, none,                                     \
        "Renewals that may be active or paused; beyond it 429.")                                   \
    ROW(limits.renewal_keys, NUMBER, "1000000", 1, 100000000, none,                                \
        "Keys that the scans of one renewal may find; more, and its round fails.")                 \
    ROW(limits.leases, NUMBER, "100000", 1, 10000000, none,                                        \
        "Named leases that may be held; beyond it 429.")                                           \
    ROW(limits.leases_in_line, NUMBER, "10000", 1, 1000000, none,                                  \
        "Calls that may wait for named leases, all lines together; beyond it 429.")                \
    ROW(limits.finished_tasks, NUMBER, "100000", 0, 100000000, none,                               \
        "Finished one-shot tasks that can still be read, the newest.")                             \
    ROW(limits.finished_bytes, SIZE, "64MiB", 0, 64 * CONFIG_GIB, none, "Memory these may take.")  \
    ROW(limits.docs_bytes, SIZE, "64MiB", 1 * CONFIG_MIB, 64 * CONFIG_GIB, none,                   \
        "Memory for the contents of tasks that are due soon.")                                     \
    ROW(limits.events_bytes, SIZE, "64MiB", 1 * CONFIG_MIB, 1024 * CONFIG_GIB, none,               \
        "Events that are kept in the store; older ones are given up, and their readers see a "     \
        "gap.")

#define CONFIG_TABLE_WS(ROW)                                                                       \
    ROW(ws.connections, NUMBER, "10000", 1, 1000000, none,                                         \
        "WebSockets (/ws) that may be open; more are answered 503. They count among "              \
        "limits.connections.")                                                                     \
    ROW(ws.message_bytes, SIZE, "256KiB", 1 * CONFIG_KIB, 16 * CONFIG_MIB, none,                   \
        "The largest WebSocket message, and the largest body of a STOMP frame; beyond it the "     \
        "connection is closed with 1009, or an ERROR.")                                            \
    ROW(ws.queue_bytes, SIZE, "1MiB", 64 * CONFIG_KIB, 1 * CONFIG_GIB, none,                       \
        "Messages for one client that it has not read yet; beyond it, it is cut off.")             \
    ROW(ws.heart_beat, TIME, "10s", CONFIG_SECOND, CONFIG_HOUR, none,                              \
        "The heart-beat that is offered to clients and asked of them; who is silent for twice as " \
        "long as agreed is cut off.")                                                              \
    ROW(ws.subscriptions, NUMBER, "64", 1, 10000, none,                                            \
        "Subscriptions of one client; one more is an ERROR.")                                      \
    ROW(ws.topics, NUMBER, "100000", 1, 10000000, none,                                            \
        "Topics with a subscriber; subscribing to one more is an ERROR.")

#define CONFIG_TABLE_COUNTDOWN(ROW)                                                                \
    ROW(countdown.holder.ttl.seconds, NUMBER, "10", 1, 3600, none,                                 \
        "In a store that several nodes share: countdown:holder:KEY, which names the node that "    \
        "deals with a timeout, goes by itself after so many seconds, should that node die.")

#define CONFIG_TABLE_GOMOKU(ROW)                                                                   \
    ROW(gomoku.rooms, NUMBER, "10000", 1, 1000000, none,                                           \
        "Gomoku rooms that may be kept; one more is 429.")                                         \
    ROW(gomoku.waiting_idle, TIME, "10m", CONFIG_SECOND, CONFIG_DAY, none,                         \
        "A room in which no game has begun, and nobody is, is dropped after this time; others "    \
        "after 24 hours.")                                                                         \
    ROW(gomoku.turn.seconds, NUMBER, "30", 1, 3600, none,                                          \
        "How long a turn may take in a room that does not say.")                                   \
    ROW(gomoku.turn.aiTimed, CHOICE, "false", 0, 0, truth,                                         \
        "Whether the clock of the machine runs too.")

#define CONFIG_TABLE_REDIS(ROW)                                                                    \
    ROW(redis.host, TEXT, "127.0.0.1", 1, 255, any,                                                \
        "The Redis called default, whose keys renewals keep alive. REDIS_HOST, REDIS_PORT and "    \
        "REDIS_PASSWORD are taken, too. It is connected to when a renewal needs it.")              \
    ROW(redis.port, NUMBER, "6379", 1, 65535, none, "Its port.")                                   \
    ROW(redis.user, TEXT, "", 0, 255, any, "Its user, if it has any.")                             \
    ROW(redis.password, TEXT, "", 0, 255, secret, "Its password, if it has one.")                  \
    ROW(redis.database, NUMBER, "0", 0, 1000000, none, "Its database.")                            \
    ROW(redis.servers, LIST, "", 0, 30, redis,                                                     \
        "Further Redis servers, each with the name that a renewal gives as redis.")                \
    ROW(redis.timeout, TIME, "2s", 10, CONFIG_HOUR, none,                                          \
        "How long a command may take; then its outcome counts as unknown.")                        \
    ROW(redis.renewal.enabled, CHOICE, "true", 0, 0, truth,                                        \
        "Whether renewals are renewed. If not, they wait; new ones are refused.")                  \
    ROW(redis.renewal.type, CHOICE, "time-wheel", 0, 0, renewal,                                   \
        "What says whose turn it is: a timing wheel, or a queue ordered by time.")                 \
    ROW(redis.renewal.executor_thread_pool_size, NUMBER, "4", 1, 64, none,                         \
        "Threads that talk to Redis servers, at most one for each of them.")                       \
    ROW(redis.renewal.metrics_report_interval, NUMBER, "60", 0, 86400, none,                       \
        "Seconds between two lines of the log that say how renewals do. 0: none.")                 \
    ROW(redis.renewal.default_renewal_interval, NUMBER, "30", 1, 86400, none,                      \
        "Seconds between two renewals, for one that names neither strategy nor interval.")         \
    ROW(redis.renewal.default_ttl, NUMBER, "300", 1, UINT64_C(3000000000), none,                   \
        "Seconds that keys live, for a renewal that does not say.")                                \
    ROW(redis.renewal.time_wheel.tick_duration, NUMBER, "100", 1, 10000, none,                     \
        "Milliseconds: what is due within one tick goes out together.")                            \
    ROW(redis.renewal.time_wheel.ticks_per_wheel, NUMBER, "512", 2, 65536, none,                   \
        "Slots of the wheel; what lies beyond them is kept on further levels.")

#define CONFIG_TABLE_CLUSTER(ROW)                                                                  \
    ROW(cluster.address, TEXT, "", 0, 280, reach,                                                  \
        "With a Redis that is shared: where other nodes reach this one. None: the first address "  \
        "of listen.")                                                                              \
    ROW(cluster.lease, TIME, "5s", 300, 60 * CONFIG_SECOND, none,                                  \
        "How long the node that does the work may be silent before another takes over. The same "  \
        "on all nodes.")                                                                           \
    ROW(cluster.renew, TIME, "1500ms", 50, 20 * CONFIG_SECOND, none,                               \
        "How often it says that it is there; at most a third of cluster.lease.")

extern const struct config_row config_table[];
extern const size_t config_table_count;

/* NULL: there is no such row. The path need not end with a zero. */
const struct config_row *config_row_find(struct bytes path);
/* True for "limits". */
bool config_row_is_section(struct bytes path);
/* The known path, or section, that is most like this one; NULL when none is like it. */
const char *config_row_nearest(struct bytes path, char ret_section[64]);
/* The same for a variable, given without TOCSIN_: dots and underscores are one. */
const struct config_row *config_row_nearest_variable(struct bytes name);

enum { CONFIG_VARIABLE_BYTES = 64 };
/* "TOCSIN_LIMITS_BODY_BYTES" */
void config_row_variable(const struct config_row *row, char ret_name[CONFIG_VARIABLE_BYTES]);
/* "a size from 1KiB to 1GiB, such as 64KiB" */
void config_row_allowed(const struct config_row *row, struct buffer *out);

static inline void *config_row_field(const struct config_row *row, struct config *config)
{
    return (char *)config + row->offset;
}

static inline const void *config_row_value(const struct config_row *row,
                                           const struct config *config)
{
    return (const char *)config + row->offset;
}

#endif
