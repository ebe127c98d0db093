/* SPDX-License-Identifier: MIT */
/* metric_list.h - what does Tocsin count and measure? (W-09)
 *
 * One table; a new metric is one row. It makes the names for calls (M_TASKS_ADDED), the rows
 * for metrics_init, and what /metrics says about each. The order is the order there.
 *
 *     metrics_count(&metrics, M_TASKS_SKIPPED, SKIPPED_OVERLAP, 1);
 *     metrics_count(&metrics, M_HTTP_REQUESTS,
 *                   metrics_pair(&metrics, M_HTTP_REQUESTS, ROUTE_TASKS, METRIC_CLASS_OF(201)), 1);
 */
#ifndef TOCSIN_SERVER_METRIC_LIST_H
#define TOCSIN_SERVER_METRIC_LIST_H

#include "base/metrics.h"

/* Values of labels: the enum for calls and the word in the text, from one list. */
#define METRIC_SKIPPED(ROW)                                                                        \
    ROW(OVERLAP, "overlap")                                                                        \
    ROW(MISFIRE, "misfire")                                                                        \
    ROW(PAUSE, "pause")
#define METRIC_ROUTE(ROW)                                                                          \
    ROW(TASKS, "tasks")                                                                            \
    ROW(BATCH, "batch")                                                                            \
    ROW(SCHEDULES, "schedules")                                                                    \
    ROW(LEASE, "lease")                                                                            \
    ROW(RUNS, "runs")                                                                              \
    ROW(QUEUES, "queues")                                                                          \
    ROW(INCIDENTS, "incidents")                                                                    \
    ROW(ROOMS, "rooms")                                                                            \
    ROW(COUNTDOWNS, "countdowns")                                                                  \
    ROW(RENEWALS, "renewals")                                                                      \
    ROW(LEASES, "leases")                                                                          \
    ROW(EVENTS, "events")                                                                          \
    ROW(WS, "ws")                                                                                  \
    ROW(OPERATIONS, "operations")                                                                  \
    ROW(PAGE, "page")                                                                              \
    ROW(OTHER, "other")
#define METRIC_CLASS(ROW)                                                                          \
    ROW(1XX, "1xx")                                                                                \
    ROW(2XX, "2xx")                                                                                \
    ROW(3XX, "3xx")                                                                                \
    ROW(4XX, "4xx")                                                                                \
    ROW(5XX, "5xx")
#define METRIC_REFUSED(ROW)                                                                        \
    ROW(MALFORMED, "malformed")                                                                    \
    ROW(UNAUTHORIZED, "unauthorized")                                                              \
    ROW(FOREIGN, "foreign")                                                                        \
    ROW(LIMITED, "limited")                                                                        \
    ROW(OVERLOADED, "overloaded")                                                                  \
    ROW(UNAVAILABLE, "unavailable")
#define METRIC_STORE_ERROR(ROW)                                                                    \
    ROW(NO_SPACE, "no_space")                                                                      \
    ROW(UNAVAILABLE, "unavailable")                                                                \
    ROW(UNKNOWN, "unknown")                                                                        \
    ROW(IO, "io")                                                                                  \
    ROW(DAMAGED, "damaged")

#define METRIC_WS_DROPPED(ROW)                                                                     \
    ROW(SLOW, "slow")                                                                              \
    ROW(SILENT, "silent")                                                                          \
    ROW(BROKEN, "broken")                                                                          \
    ROW(TOO_LARGE, "too_large")                                                                    \
    ROW(REFUSED, "refused")

#define METRIC_PHASE(ROW)                                                                          \
    ROW(WAITING, "waiting")                                                                        \
    ROW(PLAYING, "playing")                                                                        \
    ROW(ENDED, "ended")

#define METRIC_VALUE_SKIPPED(name, word) SKIPPED_##name,
#define METRIC_VALUE_ROUTE(name, word) ROUTE_##name,
#define METRIC_VALUE_CLASS(name, word) CLASS_##name,
#define METRIC_VALUE_REFUSED(name, word) REFUSED_##name,
#define METRIC_VALUE_STORE_ERROR(name, word) STORE_ERROR_##name,
#define METRIC_VALUE_WS_DROPPED(name, word) WS_DROPPED_##name,
#define METRIC_VALUE_PHASE(name, word) PHASE_##name,

enum metric_skipped { METRIC_SKIPPED(METRIC_VALUE_SKIPPED) SKIPPED_COUNT };
enum metric_route { METRIC_ROUTE(METRIC_VALUE_ROUTE) ROUTE_COUNT };
enum metric_class { METRIC_CLASS(METRIC_VALUE_CLASS) CLASS_COUNT };
enum metric_refused { METRIC_REFUSED(METRIC_VALUE_REFUSED) REFUSED_COUNT };
enum metric_store_error { METRIC_STORE_ERROR(METRIC_VALUE_STORE_ERROR) STORE_ERROR_COUNT };
enum metric_phase { METRIC_PHASE(METRIC_VALUE_PHASE) PHASE_COUNT };
enum metric_ws_dropped { METRIC_WS_DROPPED(METRIC_VALUE_WS_DROPPED) WS_DROPPED_COUNT };
/* The series of an HTTP status: 404 is one of the 4xx. */
#define METRIC_CLASS_OF(status) ((size_t)(status) / 100 - 1)

/* A wheel has at most this many levels, with those it adds by itself. */
enum { METRIC_LEVELS = 16 };

/*  call name, type, unit, labels, bounds, name in the text, help */
#define METRIC_TABLE(ROW)                                                                          \
    METRIC_TABLE_TASKS(ROW)                                                                        \
    METRIC_TABLE_QUEUES(ROW)                                                                       \
    METRIC_TABLE_COUNTDOWNS(ROW)                                                                   \
    METRIC_TABLE_RENEWALS(ROW)                                                                     \
    METRIC_TABLE_LEASES(ROW)                                                                       \
    METRIC_TABLE_ROOMS(ROW)                                                                        \
    METRIC_TABLE_WHEEL(ROW)                                                                        \
    METRIC_TABLE_STORE(ROW)                                                                        \
    METRIC_TABLE_HTTP(ROW)                                                                         \
    METRIC_TABLE_WS(ROW)                                                                           \
    METRIC_TABLE_CLUSTER(ROW)                                                                      \
    METRIC_TABLE_PROCESS(ROW)

#define METRIC_TABLE_TASKS(ROW)                                                                    \
    ROW(TASKS_ADDED, COUNTER, ONE, NONE, NO, "tasks_added_total",                                  \
        "Tasks accepted durably, schedules included, since start.")                                \
    ROW(TASKS_REPLACED, COUNTER, ONE, NONE, NO, "tasks_replaced_total",                            \
        "Tasks replaced under the same id by PUT, since start.")                                   \
    ROW(TASKS_FIRED, COUNTER, ONE, NONE, NO, "tasks_fired_total",                                  \
        "Times a task or an occurrence of a schedule came due and was fired, since start.")        \
    ROW(TASKS_EXECUTED, COUNTER, ONE, NONE, NO, "tasks_executed_total",                            \
        "Runs that were acknowledged, since start.")                                               \
    ROW(TASKS_FAILED, COUNTER, ONE, NONE, NO, "tasks_failed_total",                                \
        "Runs that failed for good, all attempts used up, since start.")                           \
    ROW(ATTEMPTS_FAILED, COUNTER, ONE, NONE, NO, "attempts_failed_total",                          \
        "Attempts that ended in a nack, since start; retried or not.")                             \
    ROW(LEASES_EXPIRED, COUNTER, ONE, NONE, NO, "leases_expired_total",                            \
        "Attempts whose lease ended unacknowledged, since start.")                                 \
    ROW(TASKS_RETRIED, COUNTER, ONE, NONE, NO, "tasks_retried_total",                              \
        "Further attempts begun after a failed one, since start.")                                 \
    ROW(TASKS_CANCELLED, COUNTER, ONE, NONE, NO, "tasks_cancelled_total",                          \
        "Tasks cancelled, those already running included, since start.")                           \
    ROW(TASKS_SKIPPED, COUNTER, ONE, SKIPPED, NO, "tasks_skipped_total",                           \
        "Occurrences not run, by reason: the one before still runs (overlap), too late to be "     \
        "wanted (misfire), or inside a pause.")                                                    \
    ROW(TASKS_MISFIRED, COUNTER, ONE, NONE, NO, "tasks_misfired_total",                            \
        "Occurrences found overdue past the misfire grace, whatever was then done with them.")     \
    ROW(FENCED, COUNTER, ONE, NONE, NO, "fenced_total",                                            \
        "Acks, nacks and extends refused because the lease was lost to somebody newer.")           \
    ROW(CONFLICTS, COUNTER, ONE, NONE, NO, "conflicts_total",                                      \
        "Changes refused because the record was there already or had another revision.")           \
    ROW(EVENTS_DROPPED, COUNTER, ONE, NONE, NO, "events_dropped_total",                            \
        "Events given up before a registered consumer had read them; it sees a gap.")              \
    ROW(LATENESS, HISTOGRAM, NS, NONE, LATENESS, "task_lateness_seconds",                          \
        "Time from due to fired.")                                                                 \
    ROW(EXECUTION, HISTOGRAM, NS, NONE, EXECUTION, "task_execution_seconds",                       \
        "Time from a lease being handed out to its ack or nack.")                                  \
    ROW(TASKS_ACTIVE, GAUGE, ONE, NONE, NO, "tasks_active",                                        \
        "Tasks that wait for their time, those waiting for a retry included.")                     \
    ROW(TASKS_LIMIT, GAUGE, ONE, NONE, NO, "tasks_limit",                                          \
        "How many tasks may wait at most (limits.tasks_pending).")                                 \
    ROW(TASKS_RUNNING, GAUGE, ONE, NONE, NO, "tasks_running", "Runs in the hands of a worker.")    \
    ROW(TASKS_PAUSED, GAUGE, ONE, NONE, NO, "tasks_paused", "Tasks that are paused.")              \
    ROW(INCIDENTS, GAUGE, ONE, NONE, NO, "incidents_open",                                         \
        "Tasks that failed for good and were neither retried nor dropped yet.")                    \
    ROW(IDEMPOTENCY, GAUGE, ONE, NONE, NO, "idempotency_entries",                                  \
        "Idempotency keys that are remembered.")

#define METRIC_TABLE_QUEUES(ROW)                                                                   \
    ROW(QUEUE_DEPTH, GAUGE, ONE, QUEUE, NO, "queue_depth",                                         \
        "Runs that are due and wait for a worker, by queue.")                                      \
    ROW(QUEUE_LEASED, GAUGE, ONE, QUEUE, NO, "queue_leased",                                       \
        "Runs in the hands of a worker, by queue.")                                                \
    ROW(QUEUE_DELAYED, GAUGE, ONE, QUEUE, NO, "queue_delayed",                                     \
        "Tasks whose time has not come, by queue.")                                                \
    ROW(QUEUE_WAITING, GAUGE, ONE, QUEUE, NO, "queue_waiting_leases",                              \
        "Lease calls that wait for work, by queue.")                                               \
    ROW(COMMANDS_QUEUED, GAUGE, ONE, NONE, NO, "command_queue_size",                               \
        "Commands accepted and not durable yet.")                                                  \
    ROW(COMMANDS_LIMIT, GAUGE, ONE, NONE, NO, "command_queue_limit",                               \
        "Commands that may be under way at most; beyond it callers are told to wait.")

#define METRIC_TABLE_COUNTDOWNS(ROW)                                                               \
    ROW(COUNTDOWNS_RUNNING, GAUGE, ONE, NONE, NO, "countdowns_running", "Countdowns that run.")    \
    ROW(COUNTDOWNS_PAUSED, GAUGE, ONE, NONE, NO, "countdowns_paused",                              \
        "Countdowns that are paused.")                                                             \
    ROW(COUNTDOWNS_FIRING, GAUGE, ONE, NONE, NO, "countdowns_firing",                              \
        "Countdowns whose timeout is claimed and not dealt with yet (in a shared store).")         \
    ROW(COUNTDOWNS_LIMIT, GAUGE, ONE, NONE, NO, "countdowns_limit",                                \
        "How many countdowns may be kept at most (limits.countdowns).")                            \
    ROW(COUNTDOWN_TICKS, COUNTER, ONE, NONE, NO, "countdown_ticks_total",                          \
        "Ticks of countdowns, since start.")                                                       \
    ROW(COUNTDOWN_TIMEOUTS, COUNTER, ONE, NONE, NO, "countdown_timeouts_total",                    \
        "Countdowns that ran out and were dealt with, since start.")                               \
    ROW(COUNTDOWN_UNARMED, COUNTER, ONE, NONE, NO, "countdown_ticks_lost_total",                   \
        "Ticks there was no memory for, since start.")

#define METRIC_TABLE_RENEWALS(ROW)                                                                 \
    ROW(RENEWALS_ACTIVE, GAUGE, ONE, NONE, NO, "renewals_active",                                  \
        "Renewals that keep their keys alive.")                                                    \
    ROW(RENEWALS_PAUSED, GAUGE, ONE, NONE, NO, "renewals_paused", "Renewals that are paused.")     \
    ROW(RENEWALS_LIMIT, GAUGE, ONE, NONE, NO, "renewals_limit",                                    \
        "How many renewals may be active or paused at most (limits.renewals).")                    \
    ROW(RENEWALS_IN_TROUBLE, GAUGE, ONE, NONE, NO, "renewals_in_trouble",                          \
        "Renewals of whose last ten rounds less than 80 % went well.")                             \
    ROW(RENEWALS_COMPLETED, COUNTER, ONE, NONE, NO, "renewals_completed_total",                    \
        "Renewals whose strategy has ended, since start.")                                         \
    ROW(RENEWALS_FAILED, COUNTER, ONE, NONE, NO, "renewals_failed_total",                          \
        "Renewals that failed too often in a row, since start.")                                   \
    ROW(RENEWALS_CANCELLED, COUNTER, ONE, NONE, NO, "renewals_cancelled_total",                    \
        "Renewals that were cancelled, since start.")                                              \
    ROW(RENEWALS_LOST, COUNTER, ONE, NONE, NO, "renewals_lost_total",                              \
        "Renewals whose key has become another's, since start.")                                   \
    ROW(RENEWAL_ROUNDS, COUNTER, ONE, NONE, NO, "renewal_rounds_total",                            \
        "Times all keys of a renewal were renewed, or should have been, since start.")             \
    ROW(RENEWAL_ROUNDS_FAILED, COUNTER, ONE, NONE, NO, "renewal_rounds_failed_total",              \
        "Of these, those in which no key was renewed.")                                            \
    ROW(RENEWAL_ROUNDS_OPEN, GAUGE, ONE, NONE, NO, "renewal_rounds_open", "Rounds under way.")     \
    ROW(RENEWAL_BEATS_SKIPPED, COUNTER, ONE, NONE, NO, "renewal_beats_skipped_total",              \
        "Times a renewal was due while its last round was still under way, since start.")          \
    ROW(RENEWAL_RETRIES, COUNTER, ONE, NONE, NO, "renewal_retries_total",                          \
        "Rounds tried again before their time after a failure, since start.")                      \
    ROW(RENEWAL_KEYS_RENEWED, COUNTER, ONE, NONE, NO, "renewal_keys_renewed_total",                \
        "Keys that were renewed, or needed it not, since start.")                                  \
    ROW(RENEWAL_KEYS_FAILED, COUNTER, ONE, NONE, NO, "renewal_keys_failed_total",                  \
        "Keys that were missing, another's, refused or not reached, since start.")                 \
    ROW(RENEWAL_LATENESS, HISTOGRAM, NS, NONE, LATENESS, "renewal_lateness_seconds",               \
        "Time from when a renewal was due until its round began.")                                 \
    ROW(RENEWAL_TOOK, HISTOGRAM, NS, NONE, LATENESS, "renewal_latency_seconds",                    \
        "Time from when a renewal was due until its last key was answered.")

#define METRIC_TABLE_LEASES(ROW)                                                                   \
    ROW(NAMED_HELD, GAUGE, ONE, NONE, NO, "named_leases_held", "Named leases that are held.")      \
    ROW(NAMED_WAITING, GAUGE, ONE, NONE, NO, "named_leases_waiting",                               \
        "Calls that stand in line for a named lease.")                                             \
    ROW(NAMED_LIMIT, GAUGE, ONE, NONE, NO, "named_leases_limit",                                   \
        "How many named leases may be held at most (limits.leases).")                              \
    ROW(NAMED_ACQUIRED, COUNTER, ONE, NONE, NO, "named_leases_acquired_total",                     \
        "Named leases given to a new holder, since start.")                                        \
    ROW(NAMED_RENEWED, COUNTER, ONE, NONE, NO, "named_leases_renewed_total",                       \
        "Keepalives of named leases, since start.")                                                \
    ROW(NAMED_RELEASED, COUNTER, ONE, NONE, NO, "named_leases_released_total",                     \
        "Named leases that were released, since start.")                                           \
    ROW(NAMED_EXPIRED, COUNTER, ONE, NONE, NO, "named_leases_expired_total",                       \
        "Named leases whose time was over, since start.")                                          \
    ROW(NAMED_FENCED, COUNTER, ONE, NONE, NO, "named_leases_fenced_total",                         \
        "Keepalives and releases refused because the lease was lost, since start.")

#define METRIC_TABLE_ROOMS(ROW)                                                                    \
    ROW(ROOMS, GAUGE, ONE, PHASE, NO, "rooms", "Gomoku rooms, by phase.")                          \
    ROW(ROOMS_LIMIT, GAUGE, ONE, NONE, NO, "rooms_limit",                                          \
        "How many rooms may be kept at most (gomoku.rooms).")                                      \
    ROW(ROOM_SESSIONS, GAUGE, ONE, NONE, NO, "room_sessions",                                      \
        "Sessions that are in a room, as players or spectators.")                                  \
    ROW(ROOM_FRAMES, COUNTER, ONE, NONE, NO, "room_frames_total",                                  \
        "Frames published to the topics of rooms, since start.")                                   \
    ROW(ROOM_TIMEOUTS, COUNTER, ONE, NONE, NO, "room_timeouts_total",                              \
        "Games lost on time, since start.")                                                        \
    ROW(ROOM_STALE, COUNTER, ONE, NONE, NO, "room_stale_total",                                    \
        "Timeouts and answers of the AI for a turn that was past, since start; they do nothing.")  \
    ROW(ROOM_REFUSED, COUNTER, ONE, NONE, NO, "room_commands_refused_total",                       \
        "Commands of players that were refused, since start.")                                     \
    ROW(ROOM_UNPUBLISHED, COUNTER, ONE, NONE, NO, "room_frames_unpublished_total",                 \
        "Frames of rooms there was no memory for, since start.")                                   \
    ROW(LIVE_LOST, COUNTER, ONE, NONE, NO, "live_frames_lost_total",                               \
        "Frames of rooms, countdowns and leases that could not be published, since start.")

#define METRIC_TABLE_WHEEL(ROW)                                                                    \
    ROW(WHEEL_TIMERS, GAUGE, ONE, LEVEL, NO, "wheel_timers",                                       \
        "Timers on the wheel, by level; 0 is the finest. Of many: from a sample.")                 \
    ROW(WHEEL_TICKS, COUNTER, ONE, NONE, NO, "wheel_ticks_total",                                  \
        "Ticks of the finest level the wheel has gone through, since start.")                      \
    ROW(WHEEL_MOVED, COUNTER, ONE, NONE, NO, "wheel_cascaded_total",                               \
        "Steps of timers to a finer level, since start.")                                          \
    ROW(LOOP_TURN, HISTOGRAM, NS, NONE, LATENESS, "loop_turn_seconds",                             \
        "Time one turn of the loop kept it busy.")

#define METRIC_TABLE_STORE(ROW)                                                                    \
    ROW(STORE_COMMITS, COUNTER, ONE, NONE, NO, "store_commits_total",                              \
        "Commits that became durable, since start.")                                               \
    ROW(STORE_COMMIT, HISTOGRAM, NS, NONE, LATENESS, "store_commit_seconds",                       \
        "Time a commit took, its sync included.")                                                  \
    ROW(STORE_RECORDS, COUNTER, ONE, NONE, NO, "store_records_written_total",                      \
        "Versions of records written, since start.")                                               \
    ROW(STORE_ERRORS, COUNTER, ONE, STORE_ERROR, NO, "store_errors_total",                         \
        "Commits and reads the store refused or failed, by reason, since start.")                  \
    ROW(STORE_FULL, GAUGE, ONE, NONE, NO, "store_disk_full",                                       \
        "1 while the disk is full and only what makes room is written, else 0.")                   \
    ROW(STORE_LIVING, GAUGE, ONE, NONE, NO, "store_living_records", "Records in the store.")       \
    ROW(STORE_DEAD, GAUGE, ONE, NONE, NO, "store_dead_records",                                    \
        "Versions that died and are not swept yet.")                                               \
    ROW(STORE_SWEPT, COUNTER, ONE, NONE, NO, "store_swept_total",                                  \
        "Dead versions swept out of the file, since start.")                                       \
    ROW(STORE_FILE, GAUGE, ONE, NONE, NO, "store_file_bytes", "Size of the store's file.")         \
    ROW(STORE_LOG, GAUGE, ONE, NONE, NO, "store_log_bytes", "Size of its write-ahead log.")

#define METRIC_TABLE_HTTP(ROW)                                                                     \
    ROW(HTTP_CONNECTIONS, GAUGE, ONE, NONE, NO, "http_connections", "Connections that are open.")  \
    ROW(HTTP_CONNECTIONS_LIMIT, GAUGE, ONE, NONE, NO, "http_connections_limit",                    \
        "Connections that may be open at most (limits.connections).")                              \
    ROW(HTTP_ACCEPTED, COUNTER, ONE, NONE, NO, "http_accepted_total",                              \
        "Connections accepted, since start.")                                                      \
    ROW(HTTP_REQUESTS, COUNTER, ONE, ROUTE_AND_CLASS, NO, "http_requests_total",                   \
        "Requests answered, by kind of route and class of status, since start.")                   \
    ROW(HTTP_REFUSED, COUNTER, ONE, REFUSED, NO, "http_refused_total",                             \
        "Requests refused before or instead of being served, by reason, since start.")             \
    ROW(HTTP_RECEIVED, COUNTER, ONE, NONE, NO, "http_received_bytes_total",                        \
        "Bytes read from clients, since start.")                                                   \
    ROW(HTTP_SENT, COUNTER, ONE, NONE, NO, "http_sent_bytes_total",                                \
        "Bytes written to clients, since start.")

#define METRIC_TABLE_WS(ROW)                                                                       \
    ROW(WS_CONNECTIONS, GAUGE, ONE, NONE, NO, "ws_connections", "WebSockets that are open.")       \
    ROW(WS_CONNECTIONS_LIMIT, GAUGE, ONE, NONE, NO, "ws_connections_limit",                        \
        "WebSockets that may be open at most (ws.connections).")                                   \
    ROW(WS_OPENED, COUNTER, ONE, NONE, NO, "ws_opened_total", "WebSockets opened, since start.")   \
    ROW(WS_SESSIONS, COUNTER, ONE, NONE, NO, "ws_sessions_total",                                  \
        "STOMP sessions connected, since start.")                                                  \
    ROW(WS_DROPPED, COUNTER, ONE, WS_DROPPED, NO, "ws_dropped_total",                              \
        "WebSockets closed by us, by reason: does not read, says nothing, broke the WebSocket "    \
        "protocol, sent too large a message, or was refused with a STOMP ERROR.")                  \
    ROW(WS_SUBSCRIPTIONS, GAUGE, ONE, NONE, NO, "ws_subscriptions",                                \
        "Subscriptions that are there.")                                                           \
    ROW(WS_TOPICS, GAUGE, ONE, NONE, NO, "ws_topics", "Topics with a subscriber.")                 \
    ROW(WS_RECEIVED, COUNTER, ONE, NONE, NO, "ws_frames_received_total",                           \
        "STOMP frames from clients, since start.")                                                 \
    ROW(WS_PUBLISHED, COUNTER, ONE, NONE, NO, "ws_published_total",                                \
        "Messages published to topics, with or without a subscriber, since start.")                \
    ROW(WS_DELIVERED, COUNTER, ONE, NONE, NO, "ws_messages_sent_total",                            \
        "MESSAGE frames queued for clients, since start.")                                         \
    ROW(WS_UNTOLD, COUNTER, ONE, NONE, NO, "ws_messages_untold_total",                             \
        "Messages for one session that had not subscribed to them, since start.")                  \
    ROW(WS_NACKED, COUNTER, ONE, NONE, NO, "ws_messages_nacked_total",                             \
        "Messages that clients answered with NACK, since start.")                                  \
    ROW(WS_PENDING, GAUGE, ONE, NONE, NO, "ws_publications_pending",                               \
        "Published messages that are not given to all subscribers yet.")

#define METRIC_TABLE_CLUSTER(ROW)                                                                  \
    ROW(CLUSTER_OWNER, GAUGE, ONE, NONE, NO, "cluster_owner",                                      \
        "1 while this node owns the records, else 0; a node that is alone always does.")           \
    ROW(CLUSTER_TAKEOVERS, COUNTER, ONE, NONE, NO, "cluster_takeovers_total",                      \
        "Times this node got the lease, since start.")                                             \
    ROW(CLUSTER_LOST, COUNTER, ONE, NONE, NO, "cluster_leases_lost_total",                         \
        "Of these, those that ended without being given up, since start.")                         \
    ROW(CLUSTER_RENEW_FAILURES, COUNTER, ONE, NONE, NO, "cluster_renew_failures_total",            \
        "Renewals of the lease that Redis did not answer, since start.")                           \
    ROW(CLUSTER_LOST_COMMITS, COUNTER, ONE, NONE, NO, "cluster_lost_commits_total",                \
        "Commits that Redis had answered to this node and has lost, since start.")                 \
    ROW(CLUSTER_TUNNELS, GAUGE, ONE, NONE, NO, "cluster_tunnels",                                  \
        "Connections that are passed on to the owner.")                                            \
    ROW(CLUSTER_FORWARDED, COUNTER, ONE, NONE, NO, "cluster_forwarded_total",                      \
        "Connections that were passed on to the owner, since this node follows.")                  \
    ROW(CLUSTER_REFUSED, COUNTER, ONE, NONE, NO, "cluster_forward_refused_total",                  \
        "Connections that could not be passed on to an owner, since this node follows.")

#define METRIC_TABLE_PROCESS(ROW)                                                                  \
    ROW(LOG_LINES, COUNTER, ONE, NONE, NO, "log_lines_total", "Lines logged, since start.")        \
    ROW(LOG_DROPPED, COUNTER, ONE, NONE, NO, "log_dropped_total",                                  \
        "Log lines that could not be written, since start.")                                       \
    ROW(LOG_SUPPRESSED, COUNTER, ONE, NONE, NO, "log_suppressed_total",                            \
        "Log lines held back because there were too many of the same, since start.")               \
    ROW(PROCESS_MEMORY, GAUGE, ONE, NONE, NO, "process_resident_memory_bytes",                     \
        "Memory of the process that is resident.")                                                 \
    ROW(PROCESS_CPU, COUNTER, NS, NONE, NO, "process_cpu_seconds_total",                           \
        "CPU time of the process, user and system.")                                               \
    ROW(PROCESS_START, GAUGE, MS, NONE, NO, "process_start_time_seconds",                          \
        "When the process was started, in seconds since 1970.")                                    \
    ROW(PROCESS_FDS, GAUGE, ONE, NONE, NO, "process_open_fds", "File descriptors that are open.")  \
    ROW(PROCESS_FDS_LIMIT, GAUGE, ONE, NONE, NO, "process_max_fds",                                \
        "File descriptors that may be open at most.")

enum metric_id {
#define METRIC_ID(id, type, unit, labels, bounds, name, help) M_##id,
    METRIC_TABLE(METRIC_ID)
#undef METRIC_ID
        M_COUNT
};

extern const struct metric_row metric_list[M_COUNT];

/* Memory, CPU time, open descriptors, start: as the system tells them now. What it does not
 * tell stays as it was. */
void metric_list_read_process(struct metrics *metrics);

#endif
