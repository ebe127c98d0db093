/* SPDX-License-Identifier: MIT */
/* redis_url.h - where is this Redis?
 *
 *     redis://[[user]:password@]host[:port][/database]
 *
 * A password may have any character; a host with colons stands in brackets.
 */
#ifndef TOCSIN_NET_REDIS_URL_H
#define TOCSIN_NET_REDIS_URL_H

#include "base/bytes.h"

struct redis_url {
    struct bytes user; /* empty: none, as the password */
    struct bytes password;
    struct bytes host;
    unsigned port;
    unsigned database;
};

/* Parts of the text. False: it has another form. */
bool redis_url_split(const char *text, struct redis_url *ret_url);

#endif
