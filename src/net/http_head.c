/* SPDX-License-Identifier: MIT */
#include "net/http_head.h"

#include <string.h>

#include "base/utf8.h"

/* Which sets a byte is in. */
enum character_set {
    TOKEN = 1,  /* letters, digits and !#$%&'*+-.^_`|~ */
    HOST = 2,   /* letters, digits and -._ */
    TARGET = 4, /* what can be seen, but for "#<>, which a client must escape */
};

static const unsigned char sets[256] = {
    ['0' ... '9'] = TOKEN | HOST | TARGET,
    ['A' ... 'Z'] = TOKEN | HOST | TARGET,
    ['a' ... 'z'] = TOKEN | HOST | TARGET,
    ['-'] = TOKEN | HOST | TARGET,
    ['.'] = TOKEN | HOST | TARGET,
    ['_'] = TOKEN | HOST | TARGET,
    ['!'] = TOKEN | TARGET,
    ['#'] = TOKEN,
    ['$'] = TOKEN | TARGET,
    ['%'] = TOKEN | TARGET,
    ['&'] = TOKEN | TARGET,
    ['\''] = TOKEN | TARGET,
    ['*'] = TOKEN | TARGET,
    ['+'] = TOKEN | TARGET,
    ['^'] = TOKEN | TARGET,
    ['`'] = TOKEN | TARGET,
    ['|'] = TOKEN | TARGET,
    ['~'] = TOKEN | TARGET,
    ['('] = TARGET,
    [')'] = TARGET,
    [','] = TARGET,
    ['/'] = TARGET,
    [':'] = TARGET,
    [';'] = TARGET,
    ['='] = TARGET,
    ['?'] = TARGET,
    ['@'] = TARGET,
    ['['] = TARGET,
    ['\\'] = TARGET,
    [']'] = TARGET,
    ['{'] = TARGET,
    ['}'] = TARGET,
};

static bool in_set(enum character_set set, char byte)
{
    return (sets[(unsigned char)byte] & set) != 0;
}

static bool all_in_set(enum character_set set, const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!in_set(set, at[i]))
            return false;
    }
    return true;
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

bool http_head_same(struct bytes one, const char *other, size_t other_size)
{
    if (one.size != other_size)
        return false;
    for (size_t i = 0; i < other_size; i++) {
        if (lower(one.at[i]) != lower(other[i]))
            return false;
    }
    return true;
}

bool http_head_refuse(struct http_parser *parser, unsigned status, const char *detail)
{
    parser->status = (uint16_t)status;
    parser->detail = detail;
    return false;
}

bool http_head_may_begin(char byte)
{
    return in_set(TOKEN, byte);
}

bool http_head_plain(const char *at, size_t size)
{
    size_t i = 0;
    while ((i += utf8_plain(at + i, size - i)) < size) {
        if ((unsigned char)at[i] < 0x80 && at[i] != '\t')
            return false;
        i++;
    }
    return true;
}

/* The request line. */

static enum http_method method_of(struct bytes name)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE", [HTTP_OPTIONS] = "OPTIONS",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (bytes_are(name, names[i]))
            return (enum http_method)i;
    }
    return HTTP_OTHER;
}

static bool digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool read_version(struct http_parser *parser, struct bytes text)
{
    if (text.size != 8 || memcmp(text.at, "HTTP/", 5) != 0 || !digit(text.at[5]) ||
        text.at[6] != '.' || !digit(text.at[7]))
        return http_head_refuse(parser, 400,
                                "The request line must be a method, a target and HTTP/1.1, with "
                                "one blank between them.");
    if (text.at[5] != '1')
        return http_head_refuse(parser, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    parser->version_1_0 = text.at[7] == '0';
    parser->wants_close = parser->version_1_0;
    return true;
}

static bool valid_port(struct bytes port)
{
    if (port.size > 5)
        return false;
    for (size_t i = 0; i < port.size; i++) {
        if (!digit(port.at[i]))
            return false;
    }
    return true;
}

/* A name, an IPv4 address, or an IPv6 address in brackets; then perhaps a port. */
static bool valid_host(struct bytes host)
{
    size_t name = 0;
    if (host.size > 0 && host.at[0] == '[') {
        const char *end = memchr(host.at, ']', host.size);
        if (end == NULL || end - host.at < 3)
            return false;
        for (name = 1; host.at[name] != ']'; name++) {
            if (!digit(host.at[name]) &&
                (lower(host.at[name]) < 'a' || lower(host.at[name]) > 'f') &&
                host.at[name] != ':' && host.at[name] != '.')
                return false;
        }
        name++;
    } else {
        while (name < host.size && in_set(HOST, host.at[name]))
            name++;
    }
    if (name == 0)
        return false;
    if (name == host.size)
        return true;
    return host.at[name] == ':' &&
           valid_port((struct bytes){host.at + name + 1, host.size - name - 1});
}

static size_t scheme_size(struct bytes target)
{
    if (target.size > 7 && http_head_same((struct bytes){target.at, 7}, "http://", 7))
        return 7;
    if (target.size > 8 && http_head_same((struct bytes){target.at, 8}, "https://", 8))
        return 8;
    return 0;
}

static void split_query(struct http_parser *parser, const char *data, struct http_span rest)
{
    const char *mark = memchr(data + rest.at, '?', rest.size);
    parser->path = rest;
    parser->has_query = mark != NULL;
    if (mark == NULL)
        return;
    uint32_t mark_at = (uint32_t)(mark - data);
    parser->path.size = mark_at - rest.at;
    parser->query = (struct http_span){mark_at + 1, rest.at + rest.size - mark_at - 1};
}

/* "http://host/path": the authority counts, and not the Host header (RFC 9112, 3.2.2). */
static bool read_absolute(struct http_parser *parser, const char *data, struct http_span target,
                          size_t scheme)
{
    uint32_t at = target.at + (uint32_t)scheme;
    uint32_t end = target.at + target.size;
    uint32_t path = at;
    while (path < end && data[path] != '/' && data[path] != '?')
        path++;
    parser->host = (struct http_span){at, path - at};
    parser->has_authority = true;
    if (!valid_host((struct bytes){data + at, path - at}))
        return http_head_refuse(parser, 400, "The host in the request target is not a host name.");
    split_query(parser, data, (struct http_span){path, end - path});
    return true;
}

static bool read_target(struct http_parser *parser, const char *data, struct http_span target)
{
    struct bytes text = {data + target.at, target.size};
    if (!all_in_set(TARGET, text.at, text.size))
        return http_head_refuse(parser, 400,
                                "The request target holds a character that must be written as "
                                "%XX.");
    if (text.size > 0 && text.at[0] == '/') {
        split_query(parser, data, target);
        return true;
    }
    size_t scheme = scheme_size(text);
    if (scheme > 0)
        return read_absolute(parser, data, target, scheme);
    if (bytes_are(text, "*") && parser->method == HTTP_OPTIONS) {
        parser->path = target;
        return true;
    }
    return http_head_refuse(parser, 400, "The request target must be a path that begins with '/'.");
}

bool http_head_request_line(struct http_parser *parser, const char *data, struct http_span line)
{
    const char *at = data + line.at;
    const char *end = at + line.size;
    if (!http_head_plain(at, line.size) || memchr(at, '\t', line.size) != NULL)
        return http_head_refuse(parser, 400, "The request line holds a control character.");
    const char *blank = memchr(at, ' ', line.size);
    if (blank == NULL)
        return http_head_refuse(parser, 400,
                                "The request line must be a method, a target and HTTP/1.1.");
    struct bytes method = {at, (size_t)(blank - at)};
    if (method.size == 0 || !all_in_set(TOKEN, method.at, method.size))
        return http_head_refuse(parser, 400, "The request does not begin with a method.");
    parser->method = (uint8_t)method_of(method);
    const char *target = blank + 1;
    blank = memchr(target, ' ', (size_t)(end - target));
    if (blank == NULL)
        return http_head_refuse(parser, 400,
                                "The request line must be a method, a target and HTTP/1.1.");
    if (!read_version(parser, (struct bytes){blank + 1, (size_t)(end - blank - 1)}))
        return false;
    struct http_span span = {(uint32_t)(target - data), (uint32_t)(blank - target)};
    return read_target(parser, data, span);
}

/* Fields that may come once, and what we make of their values. */

static bool read_host(struct http_parser *parser, struct bytes value, uint32_t value_at)
{
    if (!valid_host(value))
        return http_head_refuse(parser, 400, "The Host header is not a host name.");
    if (!parser->has_authority)
        parser->host = (struct http_span){value_at, (uint32_t)value.size};
    return true;
}

static bool read_length(struct http_parser *parser, struct bytes value, uint32_t value_at)
{
    uint64_t length = 0;
    (void)value_at;
    if (value.size == 0)
        return http_head_refuse(parser, 400, "Content-Length must be a number.");
    for (size_t i = 0; i < value.size; i++) {
        if (!digit(value.at[i]))
            return http_head_refuse(parser, 400, "Content-Length must be digits and nothing else.");
        uint64_t more = (uint64_t)(value.at[i] - '0');
        if (length > (UINT64_MAX - more) / 10)
            return http_head_refuse(parser, 400, "Content-Length is beyond 64 bits.");
        length = length * 10 + more;
    }
    parser->length = length;
    parser->has_length = true;
    return true;
}

static bool read_coding(struct http_parser *parser, struct bytes value, uint32_t value_at)
{
    (void)value_at;
    if (!http_head_same(value, "chunked", 7))
        return http_head_refuse(parser, 400,
                                "The only Transfer-Encoding understood here is chunked.");
    parser->chunked = true;
    return true;
}

static bool read_expect(struct http_parser *parser, struct bytes value, uint32_t value_at)
{
    (void)value_at;
    if (parser->version_1_0)
        return true;
    if (!http_head_same(value, "100-continue", 12))
        return http_head_refuse(parser, 417, "The only expectation met here is 100-continue.");
    parser->wants_continue = true;
    return true;
}

#define ONCE(name, read)                                                                           \
    {                                                                                              \
        name, sizeof(name) - 1, read, "There is more than one " name " header."                    \
    }

static const struct {
    const char *name;
    size_t size;
    bool (*read)(struct http_parser *parser, struct bytes value, uint32_t value_at);
    const char *twice;
} once[] = {
    ONCE("Host", read_host),
    ONCE("Content-Length", read_length),
    ONCE("Expect", read_expect),
    ONCE("Transfer-Encoding", read_coding),
    ONCE("Origin", NULL),
    ONCE("Content-Type", NULL),
    ONCE("Authorization", NULL),
    ONCE("Idempotency-Key", NULL),
    ONCE("Sec-WebSocket-Key", NULL),
};

enum { ONCE_COUNT = sizeof once / sizeof once[0], ROW_HOST = 0 };

static bool blank_byte(char byte)
{
    return byte == ' ' || byte == '\t';
}

static struct bytes trimmed(const char *at, const char *end)
{
    while (at < end && blank_byte(*at))
        at++;
    while (at < end && blank_byte(end[-1]))
        end--;
    return (struct bytes){at, (size_t)(end - at)};
}

/* "keep-alive, close": any of them may say that this request is the last. */
static void read_connection(struct http_parser *parser, struct bytes value)
{
    const char *at = value.at;
    const char *end = value.at + value.size;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        if (http_head_same(trimmed(at, stop), "close", 5))
            parser->wants_close = true;
        at = stop + 1;
    }
}

static bool split_field(struct http_parser *parser, const char *data, struct http_span line,
                        struct bytes *ret_name, struct bytes *ret_value)
{
    const char *at = data + line.at;
    if (blank_byte(at[0]))
        return http_head_refuse(parser, 400,
                                "A header line begins with a blank; folded lines are not taken.");
    const char *colon = memchr(at, ':', line.size);
    if (colon == NULL)
        return http_head_refuse(parser, 400, "A header line has no colon.");
    struct bytes name = {at, (size_t)(colon - at)};
    if (name.size == 0 || !all_in_set(TOKEN, name.at, name.size))
        return http_head_refuse(parser, 400,
                                "The name of a header is empty or holds a character it may not.");
    if (!http_head_plain(colon + 1, line.size - name.size - 1))
        return http_head_refuse(parser, 400, "The value of a header holds a control character.");
    *ret_name = name;
    *ret_value = trimmed(colon + 1, at + line.size);
    return true;
}

bool http_head_field(struct http_parser *parser, const char *data, struct http_span line)
{
    struct bytes name;
    struct bytes value;
    if (!split_field(parser, data, line, &name, &value))
        return false;
    if (parser->header_count++ == 0)
        parser->first_header = line;
    if (http_head_same(name, "Connection", 10)) {
        read_connection(parser, value);
        return true;
    }
    for (size_t i = 0; i < ONCE_COUNT; i++) {
        if (!http_head_same(name, once[i].name, once[i].size))
            continue;
        if ((parser->seen >> i & 1) != 0)
            return http_head_refuse(parser, 400, once[i].twice);
        parser->seen |= (uint16_t)(1u << i);
        return once[i].read == NULL || once[i].read(parser, value, (uint32_t)(value.at - data));
    }
    return true;
}

bool http_head_trailer(struct http_parser *parser, const char *data, struct http_span line)
{
    struct bytes name;
    struct bytes value;
    parser->trailer_count++;
    return split_field(parser, data, line, &name, &value);
}

bool http_head_end(struct http_parser *parser, const struct http_parse_limits *limits)
{
    if ((parser->seen >> ROW_HOST & 1) == 0 && !parser->version_1_0)
        return http_head_refuse(parser, 400, "There is no Host header.");
    if (parser->chunked && parser->has_length)
        return http_head_refuse(parser, 400,
                                "Both Content-Length and Transfer-Encoding are given; which one is "
                                "meant cannot be known.");
    if (parser->chunked && parser->version_1_0)
        return http_head_refuse(parser, 400, "HTTP/1.0 has no Transfer-Encoding.");
    if (parser->length > limits->body_bytes)
        return http_head_refuse(parser, 413, "The body is larger than this server takes.");
    if (!parser->chunked && parser->length == 0)
        parser->wants_continue = false;
    return true;
}
