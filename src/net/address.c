/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool parse_port(const char *text, in_port_t *ret_port)
{
    unsigned port = 0;
    if (*text == '\0' || strlen(text) > 5)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        port = port * 10 + (unsigned)(*text - '0');
    }
    *ret_port = htons((uint16_t)port);
    return port <= UINT16_MAX;
}

static enum tocsin_status refuse(const char *text, struct tocsin_why *why)
{
    (void)snprintf(why->text, sizeof why->text,
                   "address '%.60s': give an IP address and a port, such as 127.0.0.1:7400 or "
                   "[::1]:7400",
                   text);
    return TOCSIN_INVALID;
}

enum tocsin_status address_parse(const char *text, struct sockaddr_storage *ret_address,
                                 socklen_t *ret_size, struct tocsin_why *ret_why)
{
    char host[ADDRESS_TEXT_BYTES];
    const char *colon = strrchr(text, ':');
    in_port_t port;
    if (colon == NULL || !parse_port(colon + 1, &port))
        return refuse(text, ret_why);
    bool brackets = colon - text >= 2 && text[0] == '[' && colon[-1] == ']';
    const char *at = brackets ? text + 1 : text;
    size_t size = (size_t)(colon - at) - (brackets ? 1 : 0);
    if (size >= sizeof host)
        return refuse(text, ret_why);
    memcpy(host, at, size);
    host[size] = '\0';
    struct sockaddr_storage address = {0};
    if (brackets) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
        six->sin6_family = AF_INET6;
        six->sin6_port = port;
        if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
            return refuse(text, ret_why);
        *ret_size = sizeof *six;
    } else {
        struct sockaddr_in *four = (struct sockaddr_in *)&address;
        four->sin_family = AF_INET;
        four->sin_port = port;
        if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
            return refuse(text, ret_why);
        *ret_size = sizeof *four;
    }
    *ret_address = address;
    return TOCSIN_OK;
}

void address_format(const struct sockaddr_storage *address, char text[ADDRESS_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        (void)inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        (void)snprintf(text, ADDRESS_TEXT_BYTES, "[%s]:%u", host, (unsigned)ntohs(six->sin6_port));
        return;
    }
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    (void)inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
    (void)snprintf(text, ADDRESS_TEXT_BYTES, "%s:%u", host, (unsigned)ntohs(four->sin_port));
}
