/* SPDX-License-Identifier: MIT */
#include "net/websocket_handshake.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "net/http_head.h"

enum { KEY_TEXT_BYTES = 24, KEY_BYTES = 16 };

void websocket_accept(struct bytes key, char ret_accept[WEBSOCKET_ACCEPT_BYTES])
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char text[KEY_TEXT_BYTES + sizeof magic - 1];
    unsigned char digest[SHA_DIGEST_LENGTH];
    assert(key.size == KEY_TEXT_BYTES);
    memcpy(text, key.at, KEY_TEXT_BYTES);
    memcpy(text + KEY_TEXT_BYTES, magic, sizeof magic - 1);
    (void)SHA1(text, sizeof text, digest);
    (void)EVP_EncodeBlock((unsigned char *)ret_accept, digest, sizeof digest);
}

static bool key_fits(struct bytes key)
{
    unsigned char decoded[KEY_BYTES + 2];
    unsigned char encoded[KEY_TEXT_BYTES + 1];
    if (key.at == NULL || key.size != KEY_TEXT_BYTES)
        return false;
    if (EVP_DecodeBlock(decoded, (const unsigned char *)key.at, KEY_TEXT_BYTES) != KEY_BYTES + 2)
        return false;
    /* Back again, so that only the one true spelling is a key. */
    (void)EVP_EncodeBlock(encoded, decoded, KEY_BYTES);
    return memcmp(encoded, key.at, KEY_TEXT_BYTES) == 0;
}

static struct bytes trim(struct bytes text)
{
    while (text.size > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && (text.at[text.size - 1] == ' ' || text.at[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Is the word among those, separated by commas, of this header or another of its name? */
static bool names(const struct http_request *request, const char *header, const char *word)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (!http_head_same(request->headers[i].name, header, strlen(header)))
            continue;
        struct bytes left = request->headers[i].value;
        while (left.size > 0) {
            const char *comma = memchr(left.at, ',', left.size);
            size_t size = comma != NULL ? (size_t)(comma - left.at) : left.size;
            if (http_head_same(trim((struct bytes){left.at, size}), word, strlen(word)))
                return true;
            size += comma != NULL;
            left = (struct bytes){left.at + size, left.size - size};
        }
    }
    return false;
}

static size_t count(const struct http_request *request, const char *header)
{
    size_t found = 0;
    for (size_t i = 0; i < request->header_count; i++)
        found += http_head_same(request->headers[i].name, header, strlen(header));
    return found;
}

static const char *wrong_request(const struct http_request *request)
{
    if (request->method != HTTP_GET)
        return "a WebSocket is asked for with GET";
    if (!names(request, "Upgrade", "websocket"))
        return "Upgrade: this is a WebSocket, which needs 'Upgrade: websocket'";
    if (!names(request, "Connection", "upgrade"))
        return "Connection: a WebSocket needs 'Connection: Upgrade'";
    if (request->body.size > 0)
        return "a WebSocket is asked for without a body";
    return NULL;
}

int websocket_handshake(const struct http_request *request, const char *const *protocols,
                        char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem)
{
    char accept[WEBSOCKET_ACCEPT_BYTES];
    struct bytes version = http_request_header(request, "Sec-WebSocket-Version");
    struct bytes key = http_request_header(request, "Sec-WebSocket-Key");
    ret_headers[0] = '\0';
    *ret_problem = wrong_request(request);
    if (*ret_problem != NULL)
        return 400;
    if (version.at == NULL || !bytes_are(version, "13") ||
        count(request, "Sec-WebSocket-Version") > 1) {
        *ret_problem = "Sec-WebSocket-Version: only 13 is spoken here";
        (void)snprintf(ret_headers, WEBSOCKET_HEADERS_BYTES, "Sec-WebSocket-Version: 13\r\n");
        return 426;
    }
    if (!key_fits(key) || count(request, "Sec-WebSocket-Key") > 1) {
        *ret_problem = "Sec-WebSocket-Key: 16 bytes in base64 are needed, once";
        return 400;
    }
    const char *chosen = NULL;
    for (size_t i = 0; protocols[i] != NULL && chosen == NULL; i++) {
        if (names(request, "Sec-WebSocket-Protocol", protocols[i]))
            chosen = protocols[i];
    }
    if (chosen == NULL && http_request_header(request, "Sec-WebSocket-Protocol").at != NULL) {
        *ret_problem = "Sec-WebSocket-Protocol: only v12.stomp is spoken here";
        return 400;
    }
    websocket_accept(key, accept);
    int size = snprintf(ret_headers, WEBSOCKET_HEADERS_BYTES,
                        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                        "%s%s%s",
                        accept, chosen != NULL ? "Sec-WebSocket-Protocol: " : "",
                        chosen != NULL ? chosen : "", chosen != NULL ? "\r\n" : "");
    assert(size < WEBSOCKET_HEADERS_BYTES);
    (void)size;
    return 101;
}
