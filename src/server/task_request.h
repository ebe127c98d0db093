/* SPDX-License-Identifier: MIT */
/* task_request.h - a request that becomes a call of the task service. For src/server only. */
#ifndef TOCSIN_SERVER_TASK_REQUEST_H
#define TOCSIN_SERVER_TASK_REQUEST_H

#include "server/inside.h"

/* What a task is to be, until it is put; then it is the next one's, and still in the cache. */
struct task_wish {
    struct task_wish *next;
    struct task task;
    struct task_scratch scratch;
};

/* A call on its way, alone or as a line of a batch. */
struct task_request {
    struct tasks_call call; /* first */
    struct server *server;
    struct http_exchange *exchange; /* NULL: part of many */
    struct many *many;
    struct task_request *next;
    bool malformed;         /* a line that is not JSON */
    bool to_start;          /* a line that has been read, and waits for those before it */
    struct task_wish *wish; /* CREATE, PUT; NULL: no longer needed */
    size_t param_size;
    char param[ROUTE_PARAM_BYTES_MAX];
    char uuid[UUID_TEXT_BYTES];
    char *text; /* an error or an Idempotency-Key, which few have; freed with the request */
};

/* NULL: no memory. */
struct task_request *task_request_create(struct server *server, enum tasks_verb verb);
void task_request_free(struct task_request *self);
/* Started, and not freed: lets the wish go if it has been put. */
void task_request_let_go(struct task_request *self);
void task_request_start(struct task_request *self);

/* False: answered. */
bool task_request_conditions(const struct route_request *request, struct tasks_call *call);
/* The Idempotency-Key with who asks, the route and the line: the same words of another are
 * another's. False: no memory for it. */
bool task_request_idempotency(const struct route_request *request, struct task_request *self,
                              size_t line, struct bytes body);
/* The task of a body. INVALID: why, and whether it is JSON at all. */
enum tocsin_status task_request_wish(struct task_request *self, struct bytes body, bool by_path,
                                     bool *ret_malformed, struct tocsin_why *ret_why);

#endif
