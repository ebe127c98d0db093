/* SPDX-License-Identifier: MIT */
/* config_form.h - does this text look like what it should be?
 *
 * Pure questions about one word of a configuration; none looks at the network or the disk.
 */
#ifndef TOCSIN_SERVER_CONFIG_FORM_H
#define TOCSIN_SERVER_CONFIG_FORM_H

#include <stdbool.h>

#include "base/bytes.h"

/* "127.0.0.1:7400" or "[::1]:0": an address in digits and a port. */
bool config_form_address(const char *text);
/* Of such an address: only this machine reaches it. */
bool config_form_loopback(const char *address);
/* Letters, digits, '.', '-' and '_'. */
bool config_form_name(const char *text);
/* A host name or an address in digits, with or without a port. */
bool config_form_host(const char *text);
/* "https://app.example.org": a scheme and a host, nothing after. */
bool config_form_origin(const char *text);
/* CONFIG_TOKEN_BYTES_MIN to _MAX of the characters that a bearer token may have. */
bool config_form_token(const char *text);

/* The same with a port that is not 0. */
bool config_form_reach(const char *text);
/* Of an address in digits: it stands for all addresses of the machine. */
bool config_form_wildcard(const char *address);

/* sqlite, memory, or where a Redis is (net/redis/redis_url.h), whose password is not ***. */
bool config_form_store(const char *text);
/* The text with *** for the password. */
void config_form_hide(const char *text, char *ret_text, size_t size);

/* Anything but what stands for a hidden one. */
bool config_form_secret(const char *text);

/* name=redis://…, as in net/redis/redis_url.h */
bool config_form_redis(const char *text);
/* What follows the name; NULL: it has no such form. */
const char *config_form_redis_url(const char *text, struct bytes *ret_name);

#endif
