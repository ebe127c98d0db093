/* SPDX-License-Identifier: MIT */
/* Frames of clients, in one piece and in any other. */
#include "support/cut_script.h"

#include <stdio.h>

#include "support/websocket_outcome.h"

#define MASK_0 "\0\0\0\0"
#define RFC_MASK "\x37\xfa\x21\x3d"

#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X125 X100 X10 X10 "xxxxx"
#define X126 X125 "x"

static const struct script scripts[] = {
    /* RFC 6455, section 5.7 */
    SCRIPT("a masked text", "\x81\x85" RFC_MASK "\x7f\x9f\x4d\x51\x58", "message 1 'Hello'\n"),
    SCRIPT("an unmasked text", "\x81\x05Hello", "refused 1002\n"),
    SCRIPT("a masked pong", "\x8a\x85" RFC_MASK "\x7f\x9f\x4d\x51\x58", "control 10 'Hello'\n"),
    SCRIPT("fragments", "\x01\x83" MASK_0 "Hel\x80\x82" MASK_0 "lo", "message 1 'Hello'\n"),
    /* framing */
    SCRIPT("an empty text", "\x81\x80" MASK_0, "message 1 ''\n"),
    SCRIPT("two messages", "\x82\x81" MASK_0 "a\x81\x81" MASK_0 "b",
           "message 2 'a'\nmessage 1 'b'\n"),
    SCRIPT("an empty fragment first", "\x01\x80" MASK_0 "\x80\x81" MASK_0 "a", "message 1 'a'\n"),
    SCRIPT("an empty fragment last", "\x01\x81" MASK_0 "a\x80\x80" MASK_0, "message 1 'a'\n"),
    SCRIPT("a mask that goes on", "\x82\x89\x01\x02\x03\x04````dddlh", "message 2 'abcdefghi'\n"),
    SCRIPT("16 bits of length", "\x82\xfe\x00\x7e" MASK_0 X126, "message 2 '" X126 "'\n"),
    SCRIPT("a reserved bit", "\xc1\x80" MASK_0, "refused 1002\n"),
    SCRIPT("the second reserved bit", "\xa1\x80" MASK_0, "refused 1002\n"),
    SCRIPT("the third reserved bit", "\x91\x80" MASK_0, "refused 1002\n"),
    SCRIPT("opcode 3", "\x83\x80" MASK_0, "refused 1002\n"),
    SCRIPT("opcode 7", "\x87\x80" MASK_0, "refused 1002\n"),
    SCRIPT("opcode 11", "\x8b\x80" MASK_0, "refused 1002\n"),
    SCRIPT("opcode 15", "\x8f\x80" MASK_0, "refused 1002\n"),
    SCRIPT("an unmasked ping", "\x89\x00", "refused 1002\n"),
    SCRIPT("16 bits for 125", "\x82\xfe\x00\x7d" MASK_0 X125, "refused 1002\n"),
    SCRIPT("64 bits for 65535", "\x82\xff\0\0\0\0\0\0\xff\xff" MASK_0, "refused 1002\n"),
    SCRIPT("a negative length", "\x82\xff\x80\0\0\0\0\0\0\0" MASK_0, "refused 1002\n"),
    SCRIPT("a continuation of nothing", "\x80\x81" MASK_0 "a", "refused 1002\n"),
    SCRIPT("a continuation after the end", "\x81\x80" MASK_0 "\x80\x81" MASK_0 "a",
           "message 1 ''\nrefused 1002\n"),
    SCRIPT("a message in a message", "\x01\x81" MASK_0 "a\x81\x81" MASK_0 "b", "refused 1002\n"),
    SCRIPT("of the limit", "\x82\xfe\x03\xe9" MASK_0, "refused 1009\n"),
    SCRIPT("of the limit, by fragments",
           "\x02\xfe\x03\xe8" MASK_0 X100 X100 X100 X100 X100 X100 X100 X100 X100 X100
           "\x80\x81" MASK_0 "a",
           "refused 1009\n"),
    SCRIPT("far over the limit", "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" MASK_0,
           "refused 1009\n"),
    /* control frames */
    SCRIPT("a ping of 125", "\x89\xfd" MASK_0 X125, "control 9 '" X125 "'\n"),
    SCRIPT("a ping of 126", "\x89\xfe\x00\x7e" MASK_0 X126, "refused 1002\n"),
    SCRIPT("a ping in fragments", "\x09\x81" MASK_0 "a", "refused 1002\n"),
    SCRIPT("an empty ping", "\x89\x80" MASK_0, "control 9 ''\n"),
    SCRIPT("a ping inside a message", "\x01\x81" MASK_0 "a\x89\x81" MASK_0 "p\x80\x81" MASK_0 "b",
           "control 9 'p'\nmessage 1 'ab'\n"),
    SCRIPT("a close without a code", "\x88\x80" MASK_0, "control 8 1005 ''\n"),
    SCRIPT("a close",
           "\x88\x85" MASK_0 "\x03\xe8"
           "bye",
           "control 8 1000 'bye'\n"),
    SCRIPT("a close with a code of its own", "\x88\x82" MASK_0 "\x0f\xa0", "control 8 4000 ''\n"),
    SCRIPT("half a code", "\x88\x81" MASK_0 "\x03", "refused 1002\n"),
    SCRIPT("code 999", "\x88\x82" MASK_0 "\x03\xe7", "refused 1002\n"),
    SCRIPT("code 1004", "\x88\x82" MASK_0 "\x03\xec", "refused 1002\n"),
    SCRIPT("code 1005", "\x88\x82" MASK_0 "\x03\xed", "refused 1002\n"),
    SCRIPT("code 1006", "\x88\x82" MASK_0 "\x03\xee", "refused 1002\n"),
    SCRIPT("code 1015", "\x88\x82" MASK_0 "\x03\xf7", "refused 1002\n"),
    SCRIPT("code 2999", "\x88\x82" MASK_0 "\x0b\xb7", "refused 1002\n"),
    SCRIPT("code 5000", "\x88\x82" MASK_0 "\x13\x88", "refused 1002\n"),
    SCRIPT("a reason that is not UTF-8", "\x88\x83" MASK_0 "\x03\xe8\xff", "refused 1007\n"),
    SCRIPT("a reason cut in a character", "\x88\x83" MASK_0 "\x03\xe8\xc3", "refused 1007\n"),
    /* text */
    SCRIPT("two bytes", "\x81\x82" MASK_0 "\xc3\xa4", "message 1 '\xc3\xa4'\n"),
    SCRIPT("three bytes", "\x81\x83" MASK_0 "\xe2\x82\xac", "message 1 '\xe2\x82\xac'\n"),
    SCRIPT("four bytes", "\x81\x84" MASK_0 "\xf0\x9f\x94\x94", "message 1 '\xf0\x9f\x94\x94'\n"),
    SCRIPT("a character over two fragments", "\x01\x82" MASK_0 "\xf0\x9f\x80\x82" MASK_0 "\x94\x94",
           "message 1 '\xf0\x9f\x94\x94'\n"),
    SCRIPT("cut at the end", "\x81\x82" MASK_0 "a\xc3", "refused 1007\n"),
    SCRIPT("cut at the end of the last fragment", "\x01\x81" MASK_0 "\xe2\x80\x81" MASK_0 "\x82",
           "refused 1007\n"),
    SCRIPT("overlong", "\x81\x82" MASK_0 "\xc0\x80", "refused 1007\n"),
    SCRIPT("a surrogate", "\x81\x83" MASK_0 "\xed\xa0\x80", "refused 1007\n"),
    SCRIPT("past the last code point", "\x81\x84" MASK_0 "\xf4\x90\x80\x80", "refused 1007\n"),
    SCRIPT("a lone continuation", "\x81\x81" MASK_0 "\x80", "refused 1007\n"),
    SCRIPT("a character broken over fragments", "\x01\x81" MASK_0 "\xc3\x80\x81" MASK_0 "a",
           "refused 1007\n"),
    SCRIPT("binary is not looked at", "\x82\x82" MASK_0 "\xff\xfe", "message 2 '\xff\xfe'\n"),
    SCRIPT("cut text, then a binary message", "\x81\x82" MASK_0 "a\xc3\x82\x80" MASK_0,
           "refused 1007\n"),
    /* not whole */
    SCRIPT("half a head", "\x81", ""),
    SCRIPT("half a mask", "\x81\x85\x01\x02", ""),
    SCRIPT("half a payload", "\x81\x85" MASK_0 "Hel", ""),
};

/* RFC 6455, 5 */
TEST(frames_are_read_or_refused_as_the_standard_has_it)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        script_expect(&scripts[i], websocket_outcome, 0, SIZE_MAX / 2);
}

TEST(where_the_bytes_are_cut_makes_no_difference)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        script_expect_cut(&scripts[i], websocket_outcome);
}

/* So a message over the limit costs nothing, however long it says it is. */
TEST(a_message_over_the_limit_is_refused_by_its_head_alone)
{
    char head[] = "\x82\xfe\x03\xe9" MASK_0;
    struct websocket_parser parser;
    struct websocket_event event;
    websocket_parser_init(&parser, 1000);
    assert_int_equal(websocket_parse(&parser, head, sizeof head - 1, &event), WEBSOCKET_REFUSED);
    assert_int_equal(event.code, WEBSOCKET_TOO_LARGE);
    websocket_parser_init(&parser, 1001);
    assert_int_equal(websocket_parse(&parser, head, sizeof head - 1, &event), WEBSOCKET_MORE);
}

TEST(heads_that_we_write_are_in_their_shortest_form)
{
    static const struct {
        uint64_t bytes;
        size_t size;
        const char *head;
    } cases[] = {
        {0, 2, "\x81\x00"},
        {125, 2, "\x81\x7d"},
        {126, 4, "\x81\x7e\x00\x7e"},
        {65535, 4, "\x81\x7e\xff\xff"},
        {65536, 10, "\x81\x7f\0\0\0\0\0\x01\0\0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char head[WEBSOCKET_HEAD_BYTES_MAX];
        assert_int_equal(websocket_head(WEBSOCKET_TEXT, cases[i].bytes, head), cases[i].size);
        assert_memory_equal(head, cases[i].head, cases[i].size);
    }
}

TEST(payload_of_any_length_and_mask_is_unmasked)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = 0; round < test_effort(2000); round++) {
        char bytes[8 + 300];
        char plain[300];
        size_t size = (size_t)(test_random_next(&random) % 300);
        size_t head = size < 126 ? 6 : 8;
        bytes[0] = (char)0x82;
        bytes[1] = (char)(0x80 | (size < 126 ? size : 126));
        bytes[2] = (char)(size >> 8);
        bytes[3] = (char)size;
        for (size_t i = 0; i < 4; i++)
            bytes[head - 4 + i] = (char)test_random_next(&random);
        for (size_t i = 0; i < size; i++) {
            plain[i] = (char)test_random_next(&random);
            bytes[head + i] = (char)(plain[i] ^ bytes[head - 4 + i % 4]);
        }
        struct websocket_parser parser;
        websocket_parser_init(&parser, 1000);
        size_t seen = 0;
        for (size_t at = 0; at < head + size;) {
            struct websocket_event event;
            size_t piece = 1 + (size_t)(test_random_next(&random) % 40);
            if (piece > head + size - at)
                piece = head + size - at;
            enum websocket_end end = websocket_parse(&parser, bytes + at, piece, &event);
            if (end == WEBSOCKET_DATA) {
                assert_memory_equal(event.bytes.at, plain + seen, event.bytes.size);
                seen += event.bytes.size;
            }
            at += event.used;
        }
        assert_int_equal(seen, size);
    }
}
