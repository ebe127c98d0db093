/* SPDX-License-Identifier: MIT */
#include "server/config_form.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/redis/redis_url.h"
#include "server/config.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool is_port(const char *text)
{
    size_t size = strlen(text);
    return size >= 1 && size <= 5 && strspn(text, DIGITS) == size &&
           (size == 1 || text[0] != '0') && strtol(text, NULL, 10) <= 65535;
}

/* The address without its port and brackets; false when it is none. */
static bool split(const char *text, char host[INET6_ADDRSTRLEN], bool *ret_six)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !is_port(colon + 1))
        return false;
    bool six = text[0] == '[';
    const char *from = text + six;
    const char *to = colon - six;
    if (to <= from || (six && *to != ']') || to - from >= INET6_ADDRSTRLEN)
        return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    *ret_six = six;
    return true;
}

bool config_form_address(const char *text)
{
    char host[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    bool six;
    return split(text, host, &six) && inet_pton(six ? AF_INET6 : AF_INET, host, address) == 1;
}

bool config_form_loopback(const char *address)
{
    char host[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool six;
    if (!split(address, host, &six))
        return false;
    if (!six)
        return inet_pton(AF_INET, host, bytes) == 1 && bytes[0] == 127;
    if (inet_pton(AF_INET6, host, bytes) != 1)
        return false;
    return memcmp(bytes, &in6addr_loopback, sizeof bytes) == 0 ||
           (memcmp(bytes, mapped, sizeof mapped) == 0 && bytes[12] == 127);
}

bool config_form_name(const char *text)
{
    size_t size = strlen(text);
    return size >= 1 && size <= 64 && strspn(text, LETTERS DIGITS "._-") == size;
}

bool config_form_host(const char *text)
{
    if (config_form_address(text))
        return true;
    size_t size = strcspn(text, ":");
    if (text[0] == '[') {
        char with_port[INET6_ADDRSTRLEN + 8];
        return strlen(text) < INET6_ADDRSTRLEN && strchr(text, ']') != NULL &&
               snprintf(with_port, sizeof with_port, "%s:0", text) > 0 &&
               config_form_address(with_port);
    }
    return size >= 1 && size <= 253 && strspn(text, LETTERS DIGITS ".-_") == size &&
           text[0] != '.' && text[0] != '-' && strstr(text, "..") == NULL &&
           (text[size] == '\0' || is_port(text + size + 1));
}

bool config_form_reach(const char *text)
{
    const char *colon = strrchr(text, ':');
    return config_form_host(text) && colon != NULL && is_port(colon + 1) &&
           strcmp(colon, ":0") != 0;
}

bool config_form_wildcard(const char *address)
{
    char host[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)] = {0};
    static const unsigned char none[sizeof bytes];
    bool six;
    return split(address, host, &six) && inet_pton(six ? AF_INET6 : AF_INET, host, bytes) == 1 &&
           memcmp(bytes, none, sizeof bytes) == 0;
}

bool config_form_origin(const char *text)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t size = strlen(schemes[i]);
        if (strncmp(text, schemes[i], size) == 0)
            return config_form_host(text + size);
    }
    return false;
}

bool config_form_token(const char *text)
{
    size_t size = strlen(text);
    return size >= CONFIG_TOKEN_BYTES_MIN && size <= CONFIG_TOKEN_BYTES_MAX &&
           strspn(text, LETTERS DIGITS "-._~+/=") == size;
}

/* ---- Redis */

bool config_form_store(const char *text)
{
    struct redis_url url;
    if (strcmp(text, "sqlite") == 0 || strcmp(text, "memory") == 0)
        return true;
    return redis_url_split(text, &url) && !bytes_are(url.password, "***") && url.user.size <= 255;
}

void config_form_hide(const char *text, char *ret_text, size_t size)
{
    struct redis_url url;
    if (!redis_url_split(text, &url) || url.password.at == NULL) {
        (void)snprintf(ret_text, size, "%s", text);
        return;
    }
    (void)snprintf(ret_text, size, "redis://%.*s:***%s", (int)url.user.size,
                   url.user.at != NULL ? url.user.at : "", url.password.at + url.password.size);
}

bool config_form_secret(const char *text)
{
    return strstr(text, "(hidden)") == NULL;
}

const char *config_form_redis_url(const char *text, struct bytes *ret_name)
{
    const char *sign = strstr(text, "=redis://");
    if (sign == NULL || sign == text)
        return NULL;
    *ret_name = (struct bytes){text, (size_t)(sign - text)};
    return sign + 1;
}

bool config_form_redis(const char *text)
{
    struct bytes given;
    struct redis_url url;
    char name[65];
    const char *where = config_form_redis_url(text, &given);
    if (where == NULL || !redis_url_split(where, &url) || given.size >= sizeof name ||
        !config_form_secret(text))
        return false;
    memcpy(name, given.at, given.size);
    name[given.size] = '\0';
    return config_form_name(name) && strcmp(name, "default") != 0;
}
