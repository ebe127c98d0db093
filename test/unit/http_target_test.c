/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <string.h>

#include "net/http_target.h"

static const struct {
    const char *coded;
    const char *path;  /* NULL: refused */
    const char *query; /* NULL: refused */
} codes[] = {
    {"", "", ""},
    {"abc", "abc", "abc"},
    {"a%2Fb", "a/b", "a/b"},
    {"a%2fb", "a/b", "a/b"},
    {"a+b", "a+b", "a b"},
    {"a%2Bb", "a+b", "a+b"},
    {"%25", "%", "%"},
    {"%252F", "%2F", "%2F"},
    {"%C3%A4", "\303\244", "\303\244"},
    {"%F0%9F%94%94", "\360\237\224\224", "\360\237\224\224"},
    {"%7f%01", "\177\001", "\177\001"},
    {"..", "..", ".."},
    {"%", NULL, NULL},
    {"%2", NULL, NULL},
    {"a%2", NULL, NULL},
    {"%2G", NULL, NULL},
    {"%G2", NULL, NULL},
    {"%+1", NULL, NULL},
    {"% 1", NULL, NULL},
    {"%%41", NULL, NULL},
    {"%00", NULL, NULL},
    {"a%00b", NULL, NULL},
    {"%C3", NULL, NULL},
    {"%C3x", NULL, NULL},
    {"%A4", NULL, NULL},
    {"%C0%AF", NULL, NULL},
    {"%ED%A0%80", NULL, NULL},
    {"%F4%90%80%80", NULL, NULL},
    {"%FF", NULL, NULL},
};

typedef enum tocsin_status (*decoder)(struct bytes, char *, size_t, size_t *);

static void check_decoded(decoder decode, const char *coded, const char *plain)
{
    char to[64];
    size_t size = 999;
    enum tocsin_status status = decode(bytes_of(coded), to, sizeof to, &size);
    if (plain == NULL) {
        if (status != TOCSIN_INVALID || size != 999)
            fail_msg("'%s' is not refused", coded);
        return;
    }
    if (status != TOCSIN_OK || !bytes_are((struct bytes){to, size}, plain))
        fail_msg("'%s' is not '%s'", coded, plain);
}

TEST(escapes_are_decoded_or_refused)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        check_decoded(http_path_decode, codes[i].coded, codes[i].path);
        check_decoded(http_query_decode, codes[i].coded, codes[i].query);
    }
}

TEST(what_does_not_fit_is_too_large)
{
    char to[3];
    size_t size = 999;
    assert_int_equal(http_path_decode(bytes_of("abcd"), to, 3, &size), TOCSIN_TOO_LARGE);
    assert_int_equal(size, 999);
    assert_int_equal(http_path_decode(bytes_of("%61bc"), to, 3, &size), TOCSIN_OK);
    assert_int_equal(size, 3);
}

TEST(a_path_is_split_before_it_is_decoded)
{
    struct bytes path = bytes_of("/v1/a%2Fb//");
    struct bytes segment;
    assert_true(http_path_next(&path, &segment));
    assert_true(bytes_are(segment, "v1"));
    assert_true(http_path_next(&path, &segment));
    assert_true(bytes_are(segment, "a%2Fb"));
    assert_true(http_path_next(&path, &segment));
    assert_int_equal(segment.size, 0);
    assert_true(http_path_next(&path, &segment));
    assert_int_equal(segment.size, 0);
    assert_false(http_path_next(&path, &segment));
    path = bytes_of("*");
    assert_false(http_path_next(&path, &segment));
}

TEST(a_query_is_split_before_it_is_decoded)
{
    struct bytes query = bytes_of("&a=1%262&&b&c==&=d");
    struct bytes name;
    struct bytes value;
    assert_true(http_query_next(&query, &name, &value));
    assert_true(bytes_are(name, "a") && bytes_are(value, "1%262"));
    assert_true(http_query_next(&query, &name, &value));
    assert_true(bytes_are(name, "b"));
    assert_null(value.at);
    assert_true(http_query_next(&query, &name, &value));
    assert_true(bytes_are(name, "c") && bytes_are(value, "="));
    assert_true(http_query_next(&query, &name, &value));
    assert_true(bytes_are(name, "") && bytes_are(value, "d"));
    assert_false(http_query_next(&query, &name, &value));
}

TEST(a_parameter_is_found_by_its_decoded_name)
{
    struct bytes query = bytes_of("limit=10&%61fter=x&flag&limit=20");
    assert_true(bytes_are(http_query_find(query, "limit"), "10"));
    assert_true(bytes_are(http_query_find(query, "after"), "x"));
    assert_non_null(http_query_find(query, "flag").at);
    assert_int_equal(http_query_find(query, "flag").size, 0);
    assert_null(http_query_find(query, "lim").at);
    assert_null(http_query_find((struct bytes){NULL, 0}, "limit").at);
}

TEST(a_query_is_checked_whole)
{
    static const char *const names[] = {"limit", "after"};
    static const struct {
        const char *query;
        const char *why; /* NULL: fine */
    } cases[] = {
        {"", NULL},
        {"limit=1", NULL},
        {"limit=1&after=%C3%A4+b", NULL},
        {"after", NULL},
        {"limti=1", "parameter 'limti' is not known here"},
        {"limit=1&limit=1", "parameter 'limit' is given twice"},
        {"limit=1&%6Cimit=2", "parameter '%6Cimit' is given twice"},
        {"after=%C3", "parameter 'after' has a value with a bad escape, or one that is not UTF-8"},
        {"after=%", "parameter 'after' has a value with a bad escape, or one that is not UTF-8"},
        {"after=a%00", "parameter 'after' has a value with a bad escape, or one that is not UTF-8"},
        {"%=1", "parameter '%' is not known here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tocsin_why why = {""};
        enum tocsin_status status = http_query_check(bytes_of(cases[i].query), names, 2, &why);
        assert_int_equal(status, cases[i].why == NULL ? TOCSIN_OK : TOCSIN_INVALID);
        assert_string_equal(why.text, cases[i].why == NULL ? "" : cases[i].why);
    }
}

/* The check without room agrees with the decoder, on whatever bytes. */
TEST(check_and_decode_agree)
{
    static const char *const names[] = {"a"};
    static const char letters[] = "%%%aAcC34fF0+9";
    struct test_random random = {test_seed()};
    for (uint64_t round = test_effort(200000); round > 0; round--) {
        char text[16] = "a=";
        char to[16];
        size_t size = 2 + test_random_below(&random, 13);
        size_t to_size;
        struct tocsin_why why = {""};
        for (size_t i = 2; i < size; i++)
            text[i] = letters[test_random_below(&random, sizeof letters - 1)];
        struct bytes value = {text + 2, size - 2};
        assert_int_equal(http_query_check((struct bytes){text, size}, names, 1, &why),
                         http_query_decode(value, to, sizeof to, &to_size));
    }
}
