/* SPDX-License-Identifier: MIT */
/* threads.h - the backend of a server: a thread that commits, and one that reads.
 *
 * Threads   create, take and destroy on the engine's thread; `post` is called from the others.
 */
#ifndef TOCSIN_ENGINE_THREADS_H
#define TOCSIN_ENGINE_THREADS_H

#include "engine/backend.h"

struct engine_threads;

/* The store must outlive it. post: something has ended, call threads_take soon. */
enum tocsin_status threads_create(struct store *store, void (*post)(void *arg), void *arg,
                                  struct engine_threads **ret_threads, struct tocsin_why *ret_why);
/* Waits for what is under way; what has not begun is not. From then on nothing is handed to it. */
void threads_stop(struct engine_threads *threads);
/* After that, and after engine_abandon: reads that had ended, and nobody had been told. */
void threads_take_reads(struct engine_threads *threads, struct engine *engine);
/* Stops it. What was not taken is lost. */
void threads_destroy(struct engine_threads *threads);

const struct engine_backend *threads_backend(struct engine_threads *threads);

/* Tells the engine what has ended. */
void threads_take(struct engine_threads *threads, struct engine *engine);

#endif
