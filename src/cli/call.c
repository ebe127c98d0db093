/* SPDX-License-Identifier: MIT */
#include "cli/call.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/version.h"

enum { CONNECT_MS = 5000, URL_BYTES_MAX = 8192, FDS_MAX = 1024 };

struct call {
    const struct call_target *target;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer sent;
    struct buffer answer;
    bool (*piece)(void *arg, struct bytes piece);
    void *piece_arg;
    bool under_way;
    bool stopped; /* by piece */
    void (*done)(void *arg, struct call *call, enum call_end end);
    void *arg;
    char why[CURL_ERROR_SIZE];
};

struct calls {
    CURLM *multi;
};

/* The type is curl's. */
static size_t take(char *data, // NOLINT(readability-non-const-parameter)
                   size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    struct bytes piece = {data, size * count};
    if (call->piece != NULL && call_status(call) < 300) {
        call->stopped = !call->piece(call->piece_arg, piece);
        return call->stopped ? 0 : piece.size;
    }
    buffer_append(&call->answer, piece.at, piece.size);
    return buffer_status(&call->answer) == TOCSIN_OK ? piece.size : 0;
}

struct call *call_create(const struct call_target *target)
{
    static bool started;
    struct call *call = calloc(1, sizeof *call);
    if (!started && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(call);
        return NULL;
    }
    started = true;
    if (call == NULL)
        return NULL;
    call->target = target;
    call->easy = curl_easy_init();
    if (call->easy == NULL) {
        free(call);
        return NULL;
    }
    buffer_init(&call->sent, CALL_ANSWER_BYTES_MAX);
    buffer_init(&call->answer, CALL_ANSWER_BYTES_MAX);
    return call;
}

void call_destroy(struct call *call)
{
    if (call == NULL)
        return;
    assert(!call->under_way);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    buffer_release(&call->sent);
    buffer_release(&call->answer);
    free(call);
}

static void add_header(struct call *call, const char *line)
{
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    if (longer != NULL)
        call->headers = longer;
}

static void set_headers(struct call *call, const struct call_request *request)
{
    char line[URL_BYTES_MAX];
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    if (call->target->token != NULL) {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %s", call->target->token);
        add_header(call, line);
    }
    if (request->body.at != NULL) {
        (void)snprintf(line, sizeof line, "Content-Type: %s",
                       request->type != NULL ? request->type : "application/json");
        add_header(call, line);
        add_header(call, "Expect:"); /* no waiting for a 100 */
    }
    for (size_t i = 0; i < sizeof request->headers / sizeof request->headers[0]; i++) {
        if (request->headers[i] != NULL)
            add_header(call, request->headers[i]);
    }
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_body(struct call *call, const struct call_request *request)
{
    buffer_clear(&call->sent);
    buffer_append(&call->sent, request->body.at, request->body.size);
    curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->sent.size);
    curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->sent.size > 0 ? call->sent.data : "");
}

static void prepare(struct call *call, const struct call_request *request)
{
    CURL *easy = call->easy;
    char url[URL_BYTES_MAX];
    curl_easy_reset(easy);
    buffer_clear(&call->answer);
    call->why[0] = '\0';
    call->piece = request->piece;
    call->piece_arg = request->piece_arg;
    call->stopped = false;
    (void)snprintf(url, sizeof url, "%s%s", call->target->url, request->path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "tocsin/" TOCSIN_VERSION);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    if (call->target->ca_file != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, call->target->ca_file);
    if (request->body.at != NULL)
        set_body(call, request);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    set_headers(call, request);
}

static enum call_end end_of(struct call *call, CURLcode result)
{
    switch (result) {
    case CURLE_OK:
        return CALL_ANSWERED;
    case CURLE_WRITE_ERROR:
        if (call->stopped)
            return CALL_ANSWERED;
        (void)snprintf(call->why, sizeof call->why, "the answer is too large");
        return CALL_LOST;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        break;
    default:
        if (call->why[0] == '\0')
            (void)snprintf(call->why, sizeof call->why, "%s", curl_easy_strerror(result));
        return CALL_LOST;
    }
    if (call->why[0] == '\0')
        (void)snprintf(call->why, sizeof call->why, "%s", curl_easy_strerror(result));
    return CALL_UNREACHED;
}

enum call_end call_run(struct call *call, const struct call_request *request)
{
    assert(!call->under_way);
    prepare(call, request);
    return end_of(call, curl_easy_perform(call->easy));
}

int call_status(const struct call *call)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

struct bytes call_body(const struct call *call)
{
    return (struct bytes){call->answer.data, call->answer.size};
}

const char *call_why(const struct call *call)
{
    return call->why;
}

bool call_under_way(const struct call *call)
{
    return call->under_way;
}

/* ---- several at once */

struct calls *calls_create(void)
{
    struct calls *calls = calloc(1, sizeof *calls);
    if (calls == NULL)
        return NULL;
    calls->multi = curl_multi_init();
    if (calls->multi == NULL) {
        free(calls);
        return NULL;
    }
    return calls;
}

void calls_destroy(struct calls *calls)
{
    if (calls == NULL)
        return;
    (void)curl_multi_cleanup(calls->multi);
    free(calls);
}

void calls_start(struct calls *calls, struct call *call, const struct call_request *request,
                 void (*done)(void *arg, struct call *call, enum call_end end), void *arg)
{
    assert(!call->under_way);
    prepare(call, request);
    call->done = done;
    call->arg = arg;
    call->under_way = true;
    CURLMcode added = curl_multi_add_handle(calls->multi, call->easy);
    assert(added == CURLM_OK);
    (void)added;
}

void calls_cancel(struct calls *calls, struct call *call)
{
    if (call == NULL || !call->under_way)
        return;
    (void)curl_multi_remove_handle(calls->multi, call->easy);
    call->under_way = false;
}

/* True: there were some. */
static bool tell_ends(struct calls *calls)
{
    bool any = false;
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(calls->multi, &left)) != NULL) {
        struct call *call = NULL;
        CURLcode result = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        (void)curl_multi_remove_handle(calls->multi, call->easy);
        call->under_way = false;
        call->done(call->arg, call, end_of(call, result));
        any = true;
    }
    return any;
}

void calls_wait(struct calls *calls, const struct pollfd *fds, size_t count, uint64_t timeout_ms)
{
    struct curl_waitfd extra[FDS_MAX];
    int running;
    assert(count <= FDS_MAX);
    for (size_t i = 0; i < count; i++) {
        bool in = (fds[i].events & POLLIN) != 0;
        bool out = (fds[i].events & POLLOUT) != 0;
        extra[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((in ? CURL_WAIT_POLLIN : 0) | (out ? CURL_WAIT_POLLOUT : 0))};
    }
    (void)curl_multi_perform(calls->multi, &running);
    if (tell_ends(calls))
        return; /* whoever was told may want something else now */
    (void)curl_multi_poll(calls->multi, extra, (unsigned)count,
                          (int)(timeout_ms > 60000 ? 60000 : timeout_ms), NULL);
    (void)curl_multi_perform(calls->multi, &running);
    (void)tell_ends(calls);
}
