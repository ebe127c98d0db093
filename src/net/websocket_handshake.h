/* SPDX-License-Identifier: MIT */
/* websocket_handshake.h - may this request become a WebSocket, and what is it answered?
 *
 * The server's half of RFC 6455, section 4.2. Who may ask (Host, Origin, tokens) is decided
 * before, as for every other request.
 *
 * Refused   400 with a sentence: not a GET, not HTTP/1.1, no "Upgrade: websocket", no
 *           "Connection: Upgrade", a key that is not 16 bytes in base64, a body. 426: a version
 *           other than 13.
 * Protocol  the first of ours that the client offers too; none is chosen when it offers none, and
 *           400 when it offers only others.
 */
#ifndef TOCSIN_NET_WEBSOCKET_HANDSHAKE_H
#define TOCSIN_NET_WEBSOCKET_HANDSHAKE_H

#include "net/http_request.h"

enum { WEBSOCKET_ACCEPT_BYTES = 29, WEBSOCKET_HEADERS_BYTES = 256 };

/* protocols: ours, the preferred first, the last one NULL; each a short constant. 101: and the
 * headers to say it with. Else the status to refuse with, a sentence in ret_problem, and the
 * headers that belong to it ("" when none do). */
int websocket_handshake(const struct http_request *request, const char *const *protocols,
                        char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem);

/* What Sec-WebSocket-Accept says to a key, terminated. */
void websocket_accept(struct bytes key, char ret_accept[WEBSOCKET_ACCEPT_BYTES]);

#endif
