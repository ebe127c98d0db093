/* SPDX-License-Identifier: MIT */
#include "net/redis/redis_url.h"

#include <stdlib.h>

static bool take_number(const char *text, size_t size, unsigned long most, unsigned *ret_number)
{
    char digits[12];
    if (size == 0 || size >= sizeof digits || strspn(text, "0123456789") < size)
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    unsigned long number = strtoul(digits, NULL, 10);
    *ret_number = (unsigned)number;
    return number <= most;
}

bool redis_url_split(const char *text, struct redis_url *ret_url)
{
    static const char scheme[] = "redis://";
    *ret_url = (struct redis_url){.port = 6379};
    if (strncmp(text, scheme, strlen(scheme)) != 0)
        return false;
    const char *host = text + strlen(scheme);
    const char *at = strrchr(host, '@');
    if (at != NULL) {
        const char *colon = strchr(host, ':');
        if (colon == NULL || colon > at)
            return false;
        ret_url->user = (struct bytes){host, (size_t)(colon - host)};
        ret_url->password = (struct bytes){colon + 1, (size_t)(at - colon - 1)};
        host = at + 1;
    }
    const char *slash = strchr(host, '/');
    const char *end = slash != NULL ? slash : host + strlen(host);
    if (slash != NULL && !take_number(slash + 1, strlen(slash + 1), 1000000, &ret_url->database))
        return false;
    bool six = host[0] == '[';
    const char *host_end = six ? memchr(host, ']', (size_t)(end - host)) : host;
    if (host_end == NULL)
        return false;
    const char *colon = memchr(host_end, ':', (size_t)(end - host_end));
    if (colon != NULL &&
        (!take_number(colon + 1, (size_t)(end - colon - 1), 65535, &ret_url->port) ||
         ret_url->port == 0))
        return false;
    const char *stop = colon != NULL ? colon : end;
    ret_url->host = (struct bytes){host + six, (size_t)(stop - host) - (six ? 2 : 0)};
    return stop > host + (six ? 2 : 0) && ret_url->host.size <= 255;
}
