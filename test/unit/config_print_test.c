/* SPDX-License-Identifier: MIT */
/* What a configuration looks like when it is printed, and what becomes of that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"
#include "server/config_table.h"
#include "support/config_make.h"

TEST(config_token_is_read_from_its_file_without_the_line_end)
{
    char name[] = "/tmp/tocsin-token-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789abcdefXYZ\r\n", 21), 21);
    (void)close(fd);
    struct config config;
    struct config_why why = {""};
    char value[64];
    init(&config);
    (void)snprintf(value, sizeof value, "ops=@%s", name);
    assert_sets(&config, "tokens", value);
    assert_int_equal(config_finish(&config, &why), TOCSIN_OK);
    assert_string_equal(config.tokens.items[0].token, "0123456789abcdefXYZ");
    char *text = printed(&config, true); /* the file is named, its secret is not copied */
    assert_null(strstr(text, "0123456789abcdefXYZ"));
    assert_non_null(strstr(text, name));
    free(text);
    config_release(&config);
    (void)unlink(name);
}

TEST(config_printed_and_read_back_is_the_same)
{
    struct config config;
    struct config again;
    init(&config);
    assert_reads(&config,
                 "listen: ['[::1]:0', 127.0.0.1:1]\ndata: \"a \\\"b\\\" \\\\ # c: d\"\n"
                 "node: null.x\nallowed_origins: ['https://a.example:8443']\n"
                 "tokens: [{name: a, token: '=0123456789abcde'}, {name: b, token_file: '~'}]\n"
                 "misfire_grace: 90061001\nlimits: {head_bytes: 1025, docs_bytes: 1GiB}\n"
                 "tls: {certificate: '- x', key: \"null\"}\n"
                 "gomoku: {turn: {seconds: 7, aiTimed: true}, waiting_idle: 90s}\n");
    char *first = printed(&config, true);
    init(&again);
    assert_reads(&again, first);
    char *second = printed(&again, true);
    assert_string_equal(first, second);
    assert_string_equal(again.data, "a \"b\" \\ # c: d");
    assert_string_equal(again.tokens.items[0].token, "=0123456789abcde");
    assert_string_equal(again.tokens.items[1].file, "~");
    assert_string_equal(again.tls.certificate, "- x");
    assert_int_equal(again.misfire_grace, 90061001);
    free(first);
    free(second);
    config_release(&config);
    config_release(&again);
}

TEST(config_text_that_could_not_be_printed_back_is_refused)
{
    static const char *const bad[] = {
        "a\x7f",        "a\xc2\x85",    "a\xc2\x9f",    "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf", "a\nb",         "\xff"};
    static const char *const good[] = {"a\xc2\xa0", "\xe2\x80\xa7", "\xef\xbf\xbd",
                                       "\xf0\x9f\x94\x94"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct config config;
        char token[40];
        init(&config);
        assert_int_equal(config_set(&config, "data", bad[i], CONFIG_FLAG, NULL), TOCSIN_INVALID);
        (void)snprintf(token, sizeof token, "a=@%s", bad[i]);
        assert_int_equal(config_set(&config, "tokens", token, CONFIG_FLAG, NULL), TOCSIN_INVALID);
        config_release(&config);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct config config;
        struct config again;
        init(&config);
        init(&again);
        assert_sets(&config, "data", good[i]);
        char *text = printed(&config, true);
        assert_reads(&again, text);
        assert_string_equal(again.data, good[i]);
        free(text);
        config_release(&config);
        config_release(&again);
    }
}

TEST(config_printed_hides_tokens_and_is_not_taken_with_hidden_ones)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_sets(&config, "tokens", "ops=0123456789abcdef");
    char *text = printed(&config, false);
    assert_null(strstr(text, "0123456789abcdef"));
    assert_non_null(strstr(text, "token: \"(hidden)\""));
    assert_int_equal(read_yaml(&config, text, &why), TOCSIN_INVALID);
    free(text);
    config_release(&config);
}

TEST(config_example_file_is_what_the_table_says)
{
    struct config config;
    static char file[100000];
    init(&config);
    FILE *example = fopen(TEST_DATA "/../../ops/tocsin.yml", "re");
    assert_non_null(example);
    file[fread(file, 1, sizeof file - 1, example)] = '\0';
    (void)fclose(example);
    char *text = printed(&config, false);
    assert_string_equal(file, text);
    free(text);
    config_release(&config);
}

TEST(config_table_gives_every_row_a_variable_a_text_and_a_place_in_the_help)
{
    struct buffer help;
    buffer_init(&help, 1 << 20);
    config_help(&help);
    buffer_append_byte(&help, '\0');
    assert_int_equal(buffer_status(&help), TOCSIN_OK);
    for (size_t i = 0; i < config_table_count; i++) {
        char variable[CONFIG_VARIABLE_BYTES];
        config_row_variable(&config_table[i], variable);
        assert_non_null(strstr(help.data, config_table[i].path));
        assert_non_null(strstr(help.data, variable));
        assert_int_equal(config_table[i].text[strlen(config_table[i].text) - 1], '.');
        for (size_t j = 0; j < i; j++) {
            char other[CONFIG_VARIABLE_BYTES];
            config_row_variable(&config_table[j], other);
            assert_string_not_equal(variable, other);
        }
    }
    for (const char *line = help.data; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_true(strchr(line, '\n') - line <= 100);
    buffer_release(&help);
}
