/* SPDX-License-Identifier: MIT */
#include "net/lookup.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { HOST_BYTES = 256, PORT_BYTES = 6 };

struct lookup {
    uv_getaddrinfo_t request;
    lookup_done *done;
    void *arg;
};

static bool is_port(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9' || strlen(text) >= PORT_BYTES)
        return false;
    unsigned long port = strtoul(text, &end, 10);
    return *end == '\0' && port > 0 && port <= UINT16_MAX;
}

/* False: it is no "host:port". */
static bool cut(const char *text, char host[HOST_BYTES], const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !is_port(colon + 1))
        return false;
    bool brackets = text[0] == '[' && colon - text > 2 && colon[-1] == ']';
    const char *at = brackets ? text + 1 : text;
    size_t size = (size_t)(colon - at) - (brackets ? 1 : 0);
    if (size == 0 || size >= HOST_BYTES || (!brackets && memchr(at, ':', size) != NULL))
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)at[i];
        if (byte <= ' ' || byte >= 0x7f || at[i] == '/' || at[i] == '[' || at[i] == ']')
            return false;
    }
    memcpy(host, at, size);
    host[size] = '\0';
    *ret_port = colon + 1;
    return true;
}

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct lookup *lookup = request->data;
    struct sockaddr_storage addresses[LOOKUP_ADDRESSES_MAX];
    size_t count = 0;
    const struct addrinfo *at = status == 0 ? found : NULL;
    for (; at != NULL && count < LOOKUP_ADDRESSES_MAX; at = at->ai_next) {
        if (at->ai_addrlen <= sizeof addresses[0])
            memcpy(&addresses[count++], at->ai_addr, at->ai_addrlen);
    }
    uv_freeaddrinfo(found);
    lookup_done *done = lookup->done;
    void *arg = lookup->arg;
    free(lookup);
    const char *error = status != 0 ? uv_strerror(status) : "it has no address";
    done(arg, addresses, count, count > 0 ? NULL : error);
}

enum tocsin_status lookup_start(struct loop *loop, const char *text, lookup_done *done, void *arg,
                                struct lookup **ret_lookup, struct tocsin_why *ret_why)
{
    char host[HOST_BYTES];
    const char *port;
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    if (!cut(text, host, &port)) {
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "address '%.60s': give a host and a port, such as node1.example:7400, "
                       "10.0.0.1:7400 or [::1]:7400",
                       text);
        return TOCSIN_INVALID;
    }
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup != NULL) {
        lookup->request.data = lookup;
        lookup->done = done;
        lookup->arg = arg;
    }
    if (lookup == NULL ||
        uv_getaddrinfo(loop_uv(loop), &lookup->request, on_found, host, port, &hints) != 0) {
        free(lookup);
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory to look up '%.60s'", text);
        return TOCSIN_NO_MEMORY;
    }
    *ret_lookup = lookup;
    return TOCSIN_OK;
}

void lookup_cancel(struct lookup *lookup)
{
    (void)uv_cancel((uv_req_t *)&lookup->request);
}
