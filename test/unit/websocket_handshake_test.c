/* SPDX-License-Identifier: MIT */
/* Who may become a WebSocket, and what it is answered. */
#include "runner.h"

#include <string.h>

#include "net/websocket_handshake.h"

#define KEY "dGhlIHNhbXBsZSBub25jZQ=="

/* RFC 6455, 1.3 */
TEST(the_key_of_the_standard_has_the_answer_of_the_standard)
{
    char accept[WEBSOCKET_ACCEPT_BYTES];
    websocket_accept(bytes_of(KEY), accept);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

struct header_case {
    const char *name;
    const char *headers[6][2]; /* instead of, or beside, the usual ones; value NULL: left out */
    int status;
    const char *holds; /* the headers of the answer, or the problem */
};

static const struct header_case cases[] = {
    {"the usual", {{NULL}}, 101, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"},
    {"case and lists",
     {{"Connection", "keep-alive, UPGRADE"}, {"Upgrade", "h2c, WebSocket"}},
     101,
     "Connection: Upgrade\r\n"},
    {"a protocol",
     {{"Sec-WebSocket-Protocol", "v10.stomp, v11.stomp,v12.stomp"}},
     101,
     "Sec-WebSocket-Protocol: v12.stomp\r\n"},
    {"ours is preferred to theirs",
     {{"Sec-WebSocket-Protocol", "second, v12.stomp"}},
     101,
     "Sec-WebSocket-Protocol: v12.stomp\r\n"},
    {"our second", {{"Sec-WebSocket-Protocol", "second"}}, 101, "Protocol: second\r\n"},
    {"only others", {{"Sec-WebSocket-Protocol", "mqtt"}}, 400, "Sec-WebSocket-Protocol"},
    {"no Upgrade", {{"Upgrade", NULL}}, 400, "Upgrade"},
    {"another Upgrade", {{"Upgrade", "h2c"}}, 400, "Upgrade"},
    {"no Connection", {{"Connection", NULL}}, 400, "Connection"},
    {"another Connection", {{"Connection", "keep-alive"}}, 400, "Connection"},
    {"half a word", {{"Connection", "Upgrad"}}, 400, "Connection"},
    {"no version", {{"Sec-WebSocket-Version", NULL}}, 426, "Sec-WebSocket-Version"},
    {"version 8", {{"Sec-WebSocket-Version", "8"}}, 426, "Sec-WebSocket-Version"},
    {"version 130", {{"Sec-WebSocket-Version", "130"}}, 426, "Sec-WebSocket-Version"},
    {"no key", {{"Sec-WebSocket-Key", NULL}}, 400, "Sec-WebSocket-Key"},
    {"a short key", {{"Sec-WebSocket-Key", "AAAA"}}, 400, "Sec-WebSocket-Key"},
    {"a key that is not base64",
     {{"Sec-WebSocket-Key", "dGhlIHNhbXBs!SBub25jZQ=="}},
     400,
     "Sec-WebSocket-Key"},
    {"a key of 17 bytes", {{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZWU="}}, 400, "16 bytes"},
    {"a key of 18 bytes", {{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZWVl"}}, 400, "16 bytes"},
    {"a key with bits to spare",
     {{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZR=="}},
     400,
     "16 bytes"},
    {"two keys", {{"Sec-WebSocket-Key", KEY}, {"sec-websocket-key", KEY}}, 400, "once"},
    {"two versions",
     {{"Sec-WebSocket-Version", "13"}, {"sec-websocket-version", "13"}},
     426,
     "Sec-WebSocket-Version"},
};

static const char *const usual[][2] = {
    {"Upgrade", "websocket"},
    {"Connection", "Upgrade"},
    {"Sec-WebSocket-Key", KEY},
    {"Sec-WebSocket-Version", "13"},
};

static size_t list_headers(const struct header_case *one, struct http_header ret_headers[16])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        bool replaced = false;
        for (size_t j = 0; j < 6 && one->headers[j][0] != NULL; j++)
            replaced |= strcmp(one->headers[j][0], usual[i][0]) == 0;
        if (!replaced)
            ret_headers[count++] =
                (struct http_header){bytes_of(usual[i][0]), bytes_of(usual[i][1])};
    }
    for (size_t j = 0; j < 6 && one->headers[j][0] != NULL; j++) {
        if (one->headers[j][1] != NULL)
            ret_headers[count++] =
                (struct http_header){bytes_of(one->headers[j][0]), bytes_of(one->headers[j][1])};
    }
    return count;
}

static const char *const protocols[] = {"v12.stomp", "second", NULL};

TEST(a_handshake_is_answered_or_refused_with_a_reason)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char headers[WEBSOCKET_HEADERS_BYTES];
        const char *problem = NULL;
        struct http_header given[16];
        struct http_request request = {.method = HTTP_GET, .headers = given};
        request.header_count = list_headers(&cases[i], given);
        int status = websocket_handshake(&request, protocols, headers, &problem);
        const char *said = status == 101 ? headers : problem;
        if (status != cases[i].status || strstr(said, cases[i].holds) == NULL)
            fail_msg("%s: %d '%s'", cases[i].name, status, said);
        if (status == 426)
            assert_string_equal(headers, "Sec-WebSocket-Version: 13\r\n");
        if (status == 400)
            assert_string_equal(headers, "");
    }
}

TEST(only_a_get_without_a_body_becomes_a_websocket)
{
    char headers[WEBSOCKET_HEADERS_BYTES];
    const char *problem = NULL;
    struct http_header given[16];
    struct http_request request = {.headers = given};
    request.header_count = list_headers(&cases[0], given);
    for (int method = HTTP_GET; method <= HTTP_OTHER; method++) {
        request.method = (enum http_method)method;
        assert_int_equal(websocket_handshake(&request, protocols, headers, &problem),
                         method == HTTP_GET ? 101 : 400);
    }
    request.method = HTTP_GET;
    request.body = bytes_of("x");
    assert_int_equal(websocket_handshake(&request, protocols, headers, &problem), 400);
}

TEST(without_an_offer_no_protocol_is_chosen)
{
    char headers[WEBSOCKET_HEADERS_BYTES];
    const char *problem = NULL;
    struct http_header given[16];
    struct http_request request = {.method = HTTP_GET, .headers = given};
    request.header_count = list_headers(&cases[0], given);
    assert_int_equal(websocket_handshake(&request, protocols, headers, &problem), 101);
    assert_null(strstr(headers, "Protocol"));
}
