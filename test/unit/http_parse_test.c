/* SPDX-License-Identifier: MIT */
/* The parser against a table of requests, each cut in every way that two pieces allow, and byte
 * by byte. Law 8: every limit holds. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

#include "support/http_cases.h"
#include "support/http_outcome.h"

enum { OUTCOME_BYTES_MAX = 1 << 16 };

static char *outcome_text(const struct http_case *row, size_t first, size_t step)
{
    struct buffer out;
    size_t size;
    buffer_init(&out, OUTCOME_BYTES_MAX);
    outcome_of(row->bytes, row->size, first, step, &out);
    assert_int_equal(buffer_status(&out), TOCSIN_OK);
    return buffer_take(&out, &size);
}

static void check_outcome(const struct http_case *row)
{
    char *whole = outcome_text(row, 0, SIZE_MAX / 2);
    if (strncmp(whole, row->outcome, strlen(row->outcome)) != 0)
        fail_msg("%s: expected\n%s\nbut it is\n%s", row->name, row->outcome, whole);
    free(whole);
}

static void check_cuts(const struct http_case *row)
{
    char *whole = outcome_text(row, 0, SIZE_MAX / 2);
    for (size_t first = 0; first <= row->size; first++) {
        /* 0 stands for byte by byte */
        char *cut = outcome_text(row, first, first == 0 ? 1 : SIZE_MAX / 2);
        if (strcmp(whole, cut) != 0)
            fail_msg("%s: cut at %zu it is\n%s\nand whole\n%s", row->name, first, cut, whole);
        free(cut);
    }
    free(whole);
}

static void check_sentence(const struct http_case *row)
{
    char *text = outcome_text(row, 0, SIZE_MAX / 2);
    const char *refusal = strstr(text, "REFUSED ");
    assert_non_null(refusal);
    assert_true(strlen(refusal) > strlen("REFUSED 400 ") + 10);
    assert_int_equal(refusal[strlen(refusal) - 1], '.');
    free(text);
}

static void good(void (*check)(const struct http_case *row))
{
    for (size_t i = 0; i < sizeof http_good_cases / sizeof http_good_cases[0]; i++)
        check(&http_good_cases[i]);
}

static void bad(void (*check)(const struct http_case *row))
{
    for (size_t i = 0; i < sizeof http_bad_cases / sizeof http_bad_cases[0]; i++)
        check(&http_bad_cases[i]);
}

TEST(good_requests_are_taken)
{
    good(check_outcome);
}

TEST(bad_requests_are_refused_with_their_status)
{
    bad(check_outcome);
}

TEST(where_the_bytes_are_cut_makes_no_difference)
{
    good(check_cuts);
    bad(check_cuts);
}

TEST(a_refusal_is_a_sentence_for_a_tired_person)
{
    bad(check_sentence);
}

static enum http_parse_end parse_text(struct http_parser *parser, const char *text)
{
    char data[1024];
    size_t size = strlen(text);
    assert_true(size < sizeof data);
    memcpy(data, text, size + 1);
    http_parser_init(parser);
    return http_parse(parser, &outcome_limits, data, &size);
}

/* Every byte in every place where only some are allowed. */
TEST(each_byte_is_allowed_where_the_standard_says_so)
{
    static const char token[] = "!#$%&'*+-.^_`|~";
    for (int byte = 1; byte < 256; byte++) {
        struct http_parser parser;
        char text[100];
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool digit = byte >= '0' && byte <= '9';
        bool in_token = letter || digit || strchr(token, byte) != NULL;

        (void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x\r\nA%cA: b\r\n\r\n", byte);
        assert_int_equal(parse_text(&parser, text) == HTTP_PARSE_DONE, in_token || byte == ':');

        (void)snprintf(text, sizeof text, "G%cT / HTTP/1.1\r\nHost: x\r\n\r\n", byte);
        assert_int_equal(parse_text(&parser, text) == HTTP_PARSE_DONE, in_token);

        (void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x\r\nA: b%cb\r\n\r\n", byte);
        assert_int_equal(parse_text(&parser, text) == HTTP_PARSE_DONE,
                         byte == '\t' || (byte >= ' ' && byte != 0x7f));

        (void)snprintf(text, sizeof text, "GET /%ca HTTP/1.1\r\nHost: x\r\n\r\n", byte);
        assert_int_equal(parse_text(&parser, text) == HTTP_PARSE_DONE,
                         byte > ' ' && byte < 0x7f && strchr("\"#<>", byte) == NULL);

        (void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: x%cy\r\n\r\n", byte);
        assert_int_equal(parse_text(&parser, text) == HTTP_PARSE_DONE,
                         letter || digit || strchr("-._", byte) != NULL);
    }
}

TEST(a_header_is_found_without_regard_to_case)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nIf-Match: \"7\"\r\n\r\n";
    struct http_parser parser;
    struct http_request request;
    struct http_header headers[8];
    assert_int_equal(parse_text(&parser, text), HTTP_PARSE_DONE);
    http_parser_request(&parser, text, headers, &request);
    assert_true(bytes_are(http_request_header(&request, "if-match"), "\"7\""));
    assert_true(bytes_are(http_request_header(&request, "IF-MATCH"), "\"7\""));
    assert_null(http_request_header(&request, "If-Matc").at);
    assert_null(http_request_header(&request, "If-None-Match").at);
}

/* A body in chunks of one byte takes no more room than its bytes and one chunk's frame. */
TEST(chunks_are_closed_up_while_more_is_awaited)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char chunk[] = "1\r\nx\r\n";
    struct http_parser parser;
    char data[256];
    size_t size = sizeof head - 1;
    http_parser_init(&parser);
    memcpy(data, head, size);
    assert_int_equal(http_parse(&parser, &outcome_limits, data, &size), HTTP_PARSE_MORE);
    for (size_t i = 0; i < 64; i++) {
        memcpy(data + size, chunk, sizeof chunk);
        size += sizeof chunk - 1;
        assert_int_equal(http_parse(&parser, &outcome_limits, data, &size), HTTP_PARSE_MORE);
        assert_int_equal(size, sizeof head - 1 + i + 1);
    }
}
