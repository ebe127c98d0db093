/* SPDX-License-Identifier: MIT */
/* Frames of STOMP 1.2, in one piece and in any other. */
#include "support/cut_script.h"

#include "net/stomp_write.h"
#include "support/stomp_outcome.h"

#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10
#define X100 X50 X50

static const struct script scripts[] = {
    /* as the specification shows them */
    SCRIPT("CONNECT", "CONNECT\naccept-version:1.2\nhost:stomp.github.org\n\n\0",
           "CONNECT [accept-version=1.2] [host=stomp.github.org] ''\n"),
    SCRIPT("STOMP", "STOMP\naccept-version:1.2\n\n\0", "CONNECT [accept-version=1.2] ''\n"),
    SCRIPT("SEND", "SEND\ndestination:/queue/a\ncontent-type:text/plain\n\nhello queue a\n\0",
           "SEND [destination=/queue/a] [content-type=text/plain] 'hello queue a\n'\n"),
    SCRIPT("SUBSCRIBE", "SUBSCRIBE\nid:0\ndestination:/queue/foo\nack:client\n\n\0",
           "SUBSCRIBE [id=0] [destination=/queue/foo] [ack=client] ''\n"),
    SCRIPT("UNSUBSCRIBE", "UNSUBSCRIBE\nid:0\n\n\0", "UNSUBSCRIBE [id=0] ''\n"),
    SCRIPT("ACK", "ACK\nid:12345\ntransaction:tx1\n\n\0", "ACK [id=12345] [transaction=tx1] ''\n"),
    SCRIPT("NACK", "NACK\nid:12345\n\n\0", "NACK [id=12345] ''\n"),
    SCRIPT("BEGIN", "BEGIN\ntransaction:tx1\n\n\0", "BEGIN [transaction=tx1] ''\n"),
    SCRIPT("COMMIT", "COMMIT\ntransaction:tx1\n\n\0", "COMMIT [transaction=tx1] ''\n"),
    SCRIPT("ABORT", "ABORT\ntransaction:tx1\n\n\0", "ABORT [transaction=tx1] ''\n"),
    SCRIPT("DISCONNECT", "DISCONNECT\nreceipt:77\n\n\0", "DISCONNECT [receipt=77] ''\n"),
    /* between frames */
    SCRIPT("heart-beats", "\n\r\n\n\nABORT\n\n\0\n\r\nABORT\n\n\0\n", "ABORT ''\nABORT ''\n"),
    SCRIPT("a lone CR", "\rABORT\n\n\0", "refused: a carriage return without a line feed\n"),
    SCRIPT("two CRs", "\r\r\n", "refused: a carriage return without a line feed\n"),
    SCRIPT("several at once", "BEGIN\n\n\0ABORT\n\n\0SEND\n\nx\0",
           "BEGIN ''\nABORT ''\nSEND 'x'\n"),
    SCRIPT("a NUL between frames", "ABORT\n\n\0\0BEGIN\n\n\0",
           "ABORT ''\nrefused: this is no command of a STOMP 1.2 client\n"),
    /* lines and headers */
    SCRIPT("CR LF", "SEND\r\na:b\r\n\r\nx\r\n\0", "SEND [a=b] 'x\r\n'\n"),
    SCRIPT("mixed line ends", "SEND\na:b\r\nc:d\n\r\nx\0", "SEND [a=b] [c=d] 'x'\n"),
    SCRIPT("escapes", "SEND\na\\cb:\\r\\n\\c\\\\x\n\n\0", "SEND [a:b=\r\n:\\x] ''\n"),
    SCRIPT("an escape that is none", "SEND\na:\\t\n\n\0",
           "refused: a header with an escape other than \\r \\n \\c \\\\\n"),
    SCRIPT("half an escape", "SEND\na:b\\\n\n\0",
           "refused: a header with an escape other than \\r \\n \\c \\\\\n"),
    SCRIPT("half an escape in a name", "SEND\na\\:b\n\n\0",
           "refused: a header with an escape other than \\r \\n \\c \\\\\n"),
    SCRIPT("no escapes in CONNECT", "CONNECT\npasscode:a\\tb\\c\n\n\0",
           "CONNECT [passcode=a\\tb\\c] ''\n"),
    SCRIPT("a colon in a value", "SEND\na:b:c\n\n\0", "SEND [a=b:c] ''\n"),
    SCRIPT("blanks belong to it", "SEND\n a : b \n\n\0", "SEND [ a = b ] ''\n"),
    SCRIPT("an empty value", "SEND\na:\n\n\0", "SEND [a=] ''\n"),
    SCRIPT("no name", "SEND\n:b\n\n\0", "refused: a header without a name or a colon\n"),
    SCRIPT("no colon", "SEND\nab\n\n\0", "refused: a header without a name or a colon\n"),
    SCRIPT("a CR inside", "SEND\na:b\rc\n\n\0",
           "refused: a header with a NUL or a carriage return in it\n"),
    SCRIPT("a NUL inside", "SEND\na:b\0c\n\n\0",
           "refused: a header with a NUL or a carriage return in it\n"),
    SCRIPT("not UTF-8", "SEND\na:\xff\n\n\0", "refused: a header that is not UTF-8\n"),
    SCRIPT("UTF-8", "SEND\n\xc3\xa4:\xe2\x82\xac\n\n\0", "SEND [\xc3\xa4=\xe2\x82\xac] ''\n"),
    SCRIPT("four headers", "SEND\na:1\nb:2\nc:3\nd:4\n\n\0", "SEND [a=1] [b=2] [c=3] [d=4] ''\n"),
    SCRIPT("five headers", "SEND\na:1\nb:2\nc:3\nd:4\ne:5\n\n\0", "refused: too many headers\n"),
    SCRIPT("a head over 200 bytes", "SEND\na:" X100 X100 "\n\n\0",
           "refused: the headers are larger than the limit\n"),
    SCRIPT("a line without end", X100 X100 "x", "refused: the headers are larger than the limit\n"),
    /* commands */
    SCRIPT("a server's command", "MESSAGE\n\n\0",
           "refused: this is no command of a STOMP 1.2 client\n"),
    SCRIPT("in small letters", "send\n\n\0", "refused: this is no command of a STOMP 1.2 client\n"),
    SCRIPT("an HTTP request", "GET / HTTP/1.1\r\n",
           "refused: this is no command of a STOMP 1.2 client\n"),
    /* bodies */
    SCRIPT("with a length", "SEND\ncontent-length:3\n\na\0b\0", "SEND [content-length=3] 'a"),
    SCRIPT("length 0", "SEND\ncontent-length:0\n\n\0", "SEND [content-length=0] ''\n"),
    SCRIPT("a length that is too short", "SEND\ncontent-length:1\n\nab\0",
           "refused: content-length: no NUL follows so many bytes\n"),
    SCRIPT("the first length counts", "SEND\ncontent-length:1\ncontent-length:9\n\na\0",
           "SEND [content-length=1] [content-length=9] 'a'\n"),
    SCRIPT("a negative length", "SEND\ncontent-length:-1\n\n\0",
           "refused: content-length: a number is needed\n"),
    SCRIPT("an empty length", "SEND\ncontent-length:\n\n\0",
           "refused: content-length: a number is needed\n"),
    SCRIPT("a length beyond 64 bits", "SEND\ncontent-length:99999999999999999999999\n\n\0",
           "refused: content-length: the body is larger than the limit\n"),
    SCRIPT("a length of the limit", "SEND\ncontent-length:100\n\n" X100 "\0",
           "SEND [content-length=100] '" X100 "'\n"),
    SCRIPT("a length over the limit", "SEND\ncontent-length:101\n\n",
           "refused: content-length: the body is larger than the limit\n"),
    SCRIPT("a body of the limit", "SEND\n\n" X100 "\0", "SEND '" X100 "'\n"),
    SCRIPT("a body over the limit", "SEND\n\n" X100 "x\0",
           "refused: the body is larger than the limit\n"),
    SCRIPT("a body where none may be", "SUBSCRIBE\nid:1\n\nx\0",
           "refused: only SEND may have a body\n"),
    SCRIPT("not whole", "SEND\ncontent-length:5\n\nab", ""),
};

TEST(frames_are_read_or_refused_as_the_specification_has_it)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        script_expect(&scripts[i], stomp_outcome, 0, SIZE_MAX / 2);
}

TEST(where_the_bytes_are_cut_makes_no_difference)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        script_expect_cut(&scripts[i], stomp_outcome);
}

TEST(a_body_with_a_length_may_hold_any_byte)
{
    static const char bytes[] = "SEND\ncontent-length:3\n\na\0b\0";
    struct stomp_parser parser;
    size_t used;
    stomp_parser_init(&parser, &stomp_outcome_limits);
    assert_int_equal(stomp_parse(&parser, bytes, sizeof bytes - 1, &used), STOMP_PARSE_FRAME);
    assert_int_equal(used, sizeof bytes - 1);
    assert_true(bytes_equal(stomp_parser_frame(&parser)->body, (struct bytes){"a\0b", 3}));
    stomp_parser_release(&parser);
}

TEST(the_first_of_two_headers_counts)
{
    static const char bytes[] = "SEND\nfoo:World\nfoo:Hello\n\n";
    struct stomp_parser parser;
    size_t used;
    stomp_parser_init(&parser, &stomp_outcome_limits);
    assert_int_equal(stomp_parse(&parser, bytes, sizeof bytes, &used), STOMP_PARSE_FRAME);
    assert_true(bytes_are(stomp_frame_header(stomp_parser_frame(&parser), "foo"), "World"));
    assert_null(stomp_frame_header(stomp_parser_frame(&parser), "fo").at);
    stomp_parser_release(&parser);
}

TEST(between_two_frames_no_memory_is_held)
{
    static const char bytes[] = "SEND\na:b\n\nbody";
    struct stomp_parser parser;
    size_t used;
    stomp_parser_init(&parser, &stomp_outcome_limits);
    assert_int_equal(stomp_parse(&parser, bytes, sizeof bytes, &used), STOMP_PARSE_FRAME);
    stomp_parser_let_go(&parser);
    assert_null(parser.text.data);
    assert_null(parser.spans);
    assert_null(parser.headers);
    stomp_parser_release(&parser);
}

TEST(what_is_written_is_escaped_and_reads_back)
{
    struct buffer out;
    struct stomp_parser parser;
    size_t used;
    struct bytes odd = {"a:b\r\n\\c", 7};
    buffer_init(&out, 1000);
    stomp_write_command(&out, "SEND");
    stomp_write_header(&out, "odd", odd);
    stomp_write_number(&out, "content-length", 4);
    stomp_write_body(&out, (struct bytes){"x\0\ny", 4});
    static const char wanted[] = "SEND\nodd:a\\cb\\r\\n\\\\c\ncontent-length:4\n\nx\0\ny";
    assert_int_equal(out.size, sizeof wanted);
    assert_memory_equal(out.data, wanted, sizeof wanted);
    stomp_parser_init(&parser, &stomp_outcome_limits);
    assert_int_equal(stomp_parse(&parser, out.data, out.size, &used), STOMP_PARSE_FRAME);
    assert_true(bytes_equal(stomp_frame_header(stomp_parser_frame(&parser), "odd"), odd));
    stomp_parser_release(&parser);
    buffer_release(&out);
}
