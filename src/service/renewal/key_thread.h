/* SPDX-License-Identifier: MIT */
/* key_thread.h - a client whose work may wait.
 *
 * Between functions that block and a service that must not: a thread of its own does the jobs,
 * one after another, and they are handed back on the service's thread.
 *
 * Threads   all but `work`, `close` and `post` from the service's.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_KEY_THREAD_H
#define TOCSIN_SERVICE_RENEWAL_KEY_THREAD_H

#include <tocsin/status.h>

#include "service/renewal/key_client.h"

struct key_thread;

struct key_thread_options {
    void (*work)(void *self, struct key_job *job); /* on the thread; `done` is not its affair */
    void (*close)(void *self);                     /* on the thread, at the end; may be NULL */
    void *self;
    void (*post)(void *arg); /* from the thread: there is something to take */
    void *arg;
};

enum tocsin_status key_thread_create(const struct key_thread_options *options,
                                     struct key_thread **ret_thread);
struct key_client key_thread_client(struct key_thread *thread);
/* Jobs that are done get their done called here. */
void key_thread_take(struct key_thread *thread);
/* What waits has failed, and so does whatever is given from now on. Returns at once. */
void key_thread_stop(struct key_thread *thread);
/* After stop: waits for the job under way. */
void key_thread_join(struct key_thread *thread);
/* After join and a last take. */
void key_thread_destroy(struct key_thread *thread);

#endif
