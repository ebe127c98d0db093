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

/* Anything but what stands for a hidden one. */
bool config_form_secret(const char *text);

/* name=redis://[[user]:password@]host[:port][/database] */
struct config_redis_url {
    struct bytes name;
    struct bytes user;
    struct bytes password;
    struct bytes host;
    unsigned port;
    unsigned database;
};
bool config_form_redis_split(const char *text, struct config_redis_url *ret_url);
bool config_form_redis(const char *text);

#endif
