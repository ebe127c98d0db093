/* SPDX-License-Identifier: MIT */
/* The page at /: four files that anybody may read. What they may do in a browser is little: run
 * and show what comes from here, talk to here, and stand in nobody's frame. */

#include "server/page.h"

#include <stdio.h>
#include <strings.h>

#include "server/inside.h"

#define POLICY                                                                                     \
    "Content-Security-Policy: default-src 'self'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "                     \
    "form-action 'none'; frame-ancestors 'none'\r\n"                                               \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"

/* Asked for again each time, and then mostly answered by 304: an update is seen at once. */
#define CACHING "Cache-Control: no-cache\r\nVary: Accept-Encoding\r\n"

enum { HEADERS_BYTES = 1024, TAG_BYTES = 16 };

/* ---- lists in headers */

static struct bytes trimmed(struct bytes text)
{
    while (text.size > 0 && (text.at[0] == ' ' || text.at[0] == '\t'))
        text = (struct bytes){text.at + 1, text.size - 1};
    while (text.size > 0 && (text.at[text.size - 1] == ' ' || text.at[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* The next of a list with this separator; false at its end. */
static bool next_item(struct bytes *list, char separator, struct bytes *ret_item)
{
    if (list->at == NULL)
        return false;
    const char *end = memchr(list->at, separator, list->size);
    size_t size = end == NULL ? list->size : (size_t)(end - list->at);
    *ret_item = trimmed((struct bytes){list->at, size});
    if (end == NULL)
        *list = (struct bytes){0};
    else
        *list = (struct bytes){end + 1, list->size - size - 1};
    return true;
}

/* "q=0", "q=0.000": this one is refused. */
static bool is_zero(struct bytes weight)
{
    if (weight.size < 3 || strncasecmp(weight.at, "q=", 2) != 0)
        return false;
    for (size_t i = 2; i < weight.size; i++) {
        if (weight.at[i] != '0' && weight.at[i] != '.')
            return false;
    }
    return true;
}

/* Only what is named counts: "*" alone is not worth a guess. */
static bool takes_gzip(struct bytes accepted)
{
    struct bytes item;
    while (next_item(&accepted, ',', &item)) {
        struct bytes name;
        struct bytes weight;
        if (!next_item(&item, ';', &name) || name.size != 4 || strncasecmp(name.at, "gzip", 4) != 0)
            continue;
        return !next_item(&item, ';', &weight) || !is_zero(weight);
    }
    return false;
}

/* By the weak comparison: the packed one and the other are one page. */
static bool is_known(struct bytes wanted, struct bytes tag)
{
    struct bytes item;
    while (next_item(&wanted, ',', &item)) {
        if (bytes_are(item, "*"))
            return true;
        if (item.size > 2 && item.at[0] == 'W' && item.at[1] == '/')
            item = (struct bytes){item.at + 2, item.size - 2};
        if (item.size > 2 && item.at[0] == '"' && item.at[item.size - 1] == '"' &&
            bytes_equal((struct bytes){item.at + 1, item.size - 2}, tag))
            return true;
    }
    return false;
}

/* ---- the routes */

static void answer(const struct route_request *request, enum page_name name,
                   const char *content_type)
{
    struct page_file file = page_file(name);
    char headers[HEADERS_BYTES];
    if (file.text.size == 0) {
        answer_problem(request->server, request->exchange,
                       &(struct problem){.status = 404,
                                         .code = "NOT_FOUND",
                                         .detail = "this server was built without the page"});
        return;
    }
    bool packed =
        file.packed.size > 0 && takes_gzip(http_request_header(request->http, "Accept-Encoding"));
    (void)snprintf(headers, sizeof headers, POLICY CACHING "ETag: W/\"%.*s\"\r\n%s", TAG_BYTES,
                   file.tag.at, packed ? "Content-Encoding: gzip\r\n" : "");
    struct bytes tag = {file.tag.at, file.tag.size < TAG_BYTES ? file.tag.size : TAG_BYTES};
    if (is_known(http_request_header(request->http, "If-None-Match"), tag)) {
        answer_bytes(request->server, request->exchange, 304, NULL, (struct bytes){0}, headers);
        return;
    }
    answer_bytes(request->server, request->exchange, 200, content_type,
                 packed ? file.packed : file.text, headers);
}

void page_index(const struct route_request *request)
{
    answer(request, PAGE_INDEX, "text/html; charset=utf-8");
}

void page_script(const struct route_request *request)
{
    answer(request, PAGE_SCRIPT, "text/javascript; charset=utf-8");
}

void page_style(const struct route_request *request)
{
    answer(request, PAGE_STYLE, "text/css; charset=utf-8");
}

void page_icon(const struct route_request *request)
{
    answer(request, PAGE_ICON, "image/svg+xml");
}
