/* SPDX-License-Identifier: MIT */
/* A handshake costs a private-key operation, about a millisecond. So each of its steps is done
 * by a worker; meanwhile nothing is read, and nobody else touches the session. */
#include <assert.h>
#include <stdlib.h>

#include "net/http_inside.h"

struct job {
    uv_work_t work;
    struct http_connection *connection;
    struct tls_session *session;
    enum tls_end end;
};

static void on_worker(uv_work_t *work)
{
    struct job *job = work->data;
    job->end = tls_handshake(job->session);
}

static void on_done(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct http_connection *connection = job->connection;
    enum tls_end end = status == 0 ? job->end : TLS_FAILED;
    free(job);
    connection->working = false;
    if (connection->closed) {
        http_connection_free(connection);
        return;
    }
    if (connection->closing)
        return;
    /* After a failure too: the client learns the reason. */
    if (!http_connection_take_tls(connection) || !http_connection_flush(connection) ||
        (end != TLS_DONE && end != TLS_MORE)) {
        connection->server->counters.refused++;
        http_connection_close(connection);
        return;
    }
    if (end == TLS_DONE) {
        connection->handshaking = false;
        connection->wait = HTTP_WAIT_NEW;
    }
    http_connection_touch(connection); /* which reads on */
}

void http_handshake_go_on(struct http_connection *connection)
{
    struct job *job = malloc(sizeof *job);
    assert(!connection->working);
    if (job == NULL) {
        http_connection_close(connection);
        return;
    }
    job->connection = connection;
    job->session = connection->tls;
    job->work.data = job;
    connection->working = true;
    connection->paused = true;
    int failed = uv_queue_work(connection->tcp.loop, &job->work, on_worker, on_done);
    assert(!failed);
    (void)failed;
}
