/* SPDX-License-Identifier: MIT */
/* engine.h - durable timers inside your own program.
 *
 * What the server does, without the server: tasks with a delay, a time, an interval or a cron
 * expression, kept in a folder by the embedded store, run by handlers of yours on a pool of
 * threads. Kill the program at any moment and start it again: what was added is still there,
 * what came due meanwhile runs, what was under way runs again.
 *
 *     tocsin_engine_open(&(struct tocsin_engine_options){.dir = "data"}, &engine, &why);
 *     tocsin_engine_handle(engine, "send-mail", send_mail, NULL);
 *     tocsin_engine_start(engine);
 *     tocsin_engine_add(engine, &(struct tocsin_task){
 *         .id = "welcome-42", .handler = "send-mail", .delay_ms = 5000,
 *         .payload = "{\"to\":\"ada@example.org\"}"}, &why);
 *
 * Promise   OK from add, replace and cancel means it is on the disk. A handler is called at or
 *           after the due time, never before; at least once for each occurrence, and again
 *           with the next attempt number until it answers OK or the retries are used up.
 * Handlers  are named: a task is stored with the name and a payload, never with code. One that
 *           crashes takes the program along, as anywhere in C, and is tried again at the next
 *           start, until its attempts are used up. One that hangs keeps its thread; after the
 *           task's timeout its run counts as failed, and what it answers later is ignored.
 * Fences    each attempt has one; it only rises. Who acts on the outside world passes it on.
 * Memory    about 90 bytes a waiting task; payloads stay on the disk.
 * Threads   any thread may call anything but close; calls wait for the disk. A handler may
 *           call everything but close.
 */
#ifndef TOCSIN_ENGINE_H
#define TOCSIN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tocsin_engine;
struct tocsin_renewals;

struct tocsin_engine_options {
    const char *dir;    /* made when it is not there; NULL: in memory, gone with the program */
    unsigned workers;   /* threads for handlers; 0: 4 */
    uint32_t max_tasks; /* 0: 1 000 000 */
    struct tocsin_renewals *renewals; /* renewal.h; NULL: none. From now on it is the engine's */
};

/* One attempt, borrowed until the handler returns. */
struct tocsin_run {
    const char *task_id;
    const char *handler;
    const char *payload; /* JSON text, ended by a zero; "null" when there was none */
    size_t payload_size;
    uint32_t attempt; /* 1 at first */
    uint64_t fence;   /* also the token for tocsin_engine_finish */
    int64_t due_ms;   /* since 1970 */
};

/* OK: done. MORE: not yet; somebody will call tocsin_engine_finish. Anything else: this
 * attempt has failed. */
typedef enum tocsin_status (*tocsin_handler)(void *arg, const struct tocsin_run *run);

/* All zero but id and handler: once, at once, three retries. */
struct tocsin_task {
    const char *id;      /* at most 255 bytes of UTF-8 */
    const char *handler; /* its name, likewise */
    const char *payload; /* JSON text of at most 64 KiB; NULL: none */
    int64_t delay_ms;
    int64_t at_ms;    /* since 1970; 0: not given. Not with a delay */
    int64_t every_ms; /* 0: not given */
    const char *cron; /* NULL: not given */
    const char *zone; /* of the cron; NULL: UTC */
    int64_t repeat;   /* of every and cron; 0: for ever */
    bool no_retries;
    uint32_t retries;   /* 0: 3 */
    int64_t timeout_ms; /* of one attempt; 0: 5 minutes */
};

/* Opens the folder and takes in what is there. No handler is called before start; everything else
 * may be. */
enum tocsin_status tocsin_engine_open(const struct tocsin_engine_options *options,
                                      struct tocsin_engine **ret_engine,
                                      struct tocsin_why *ret_why);
/* Before start. The name is copied. FULL: 256 handlers at most; CONFLICT: it has one; INVALID: no
 * function, or not a name. A task whose handler nobody registered fails its attempt. */
enum tocsin_status tocsin_engine_handle(struct tocsin_engine *engine, const char *name,
                                        tocsin_handler fn, void *arg);
enum tocsin_status tocsin_engine_start(struct tocsin_engine *engine);
/* Waits for handlers that run, writes what is under way, and frees it all. Not from a
 * handler. */
void tocsin_engine_close(struct tocsin_engine *engine);

/* CONFLICT: there is such a task already. INVALID: ret_why names the field. */
enum tocsin_status tocsin_engine_add(struct tocsin_engine *engine, const struct tocsin_task *task,
                                     struct tocsin_why *ret_why);
/* Makes it, or puts it in the place of the one with this id. */
enum tocsin_status tocsin_engine_replace(struct tocsin_engine *engine,
                                         const struct tocsin_task *task,
                                         struct tocsin_why *ret_why);
/* NONE: there is none. BUSY: it is running; it will not be tried again. */
enum tocsin_status tocsin_engine_cancel(struct tocsin_engine *engine, const char *id);

/* For a handler that answered MORE: how it ended. error may be NULL. FENCED: too late. */
enum tocsin_status tocsin_engine_finish(struct tocsin_engine *engine, uint64_t fence,
                                        enum tocsin_status status, const char *error);

struct tocsin_engine_stats {
    uint64_t tasks; /* waiting, running or failed */
    uint64_t running;
    uint64_t executed;  /* since open */
    uint64_t failed;    /* attempts, since open */
    uint64_t incidents; /* failed for good, and still there */
};
void tocsin_engine_describe(struct tocsin_engine *engine, struct tocsin_engine_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
