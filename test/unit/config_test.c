/* SPDX-License-Identifier: MIT */
#include "server/config.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "runner.h"
#include "server/config_form.h"
#include "support/config_make.h"

TEST(config_without_any_source_is_what_the_table_says)
{
    struct config config;
    struct config_why why;
    init(&config);
    assert_int_equal(config.listen.count, 1);
    assert_string_equal(config.listen.items[0], "127.0.0.1:7400");
    assert_string_equal(config.node, "n1");
    assert_int_equal(config_store_kind(&config), CONFIG_SQLITE);
    assert_int_equal(config.clock, CONFIG_CLOCK_SYSTEM);
    assert_int_equal(config.log.level, LOG_INFO);
    assert_int_equal(config.log.format, LOG_LOGFMT);
    assert_int_equal(config.history.tasks, CONFIG_HISTORY_FAILURES);
    assert_int_equal(config.misfire_grace, 60000);
    assert_int_equal(config.drain_timeout, 30000);
    assert_int_equal(config.ballast_bytes, 16 << 20);
    assert_int_equal(config.limits.payload_bytes, 65536);
    assert_int_equal(config.limits.idempotency_entries, 1000000);
    assert_int_equal(config.limits.idempotency_time, 24 * 3600 * 1000);
    assert_int_equal(config.limits.finished_tasks, 100000);
    assert_int_equal(config.limits.finished_bytes, 64 << 20);
    assert_int_equal(config.tokens.count, 0);
    assert_int_equal(config_finish(&config, &why), TOCSIN_OK);
    config_release(&config);
}

TEST(config_file_sets_values_of_every_type)
{
    struct config config;
    init(&config);
    assert_reads(&config, "listen: [ '127.0.0.1:0', \"[::1]:7400\" ]\n"
                          "data: /var/lib/tocsin  # a comment\n"
                          "store: memory\n"
                          "misfire_grace: 1500\n"
                          "drain_timeout: 1m30s\n"
                          "allowed_hosts: timers.example.org\n"
                          "tokens:\n"
                          "  - {name: ops, token: 0123456789abcdef}\n"
                          "  - name: ci\n"
                          "    token_file: /etc/tocsin/ci\n"
                          "log: {level: debug, format: json}\n"
                          "limits:\n"
                          "  body_bytes: 32MiB\n"
                          "  head_bytes: 2048\n"
                          "  headers: \"1000\"\n");
    assert_int_equal(config.listen.count, 2);
    assert_string_equal(config.listen.items[1], "[::1]:7400");
    assert_string_equal(config.data, "/var/lib/tocsin");
    assert_int_equal(config_store_kind(&config), CONFIG_MEMORY);
    assert_int_equal(config.misfire_grace, 1500);
    assert_int_equal(config.drain_timeout, 90000);
    assert_string_equal(config.allowed_hosts.items[0], "timers.example.org");
    assert_int_equal(config.tokens.count, 2);
    assert_string_equal(config.tokens.items[0].token, "0123456789abcdef");
    assert_string_equal(config.tokens.items[1].name, "ci");
    assert_string_equal(config.tokens.items[1].file, "/etc/tocsin/ci");
    assert_int_equal(config.log.level, LOG_DEBUG);
    assert_int_equal(config.log.format, LOG_JSON);
    assert_int_equal(config.limits.body_bytes, 32 << 20);
    assert_int_equal(config.limits.head_bytes, 2048);
    assert_int_equal(config.limits.headers, 1000);
    struct http_limits limits;
    config_http_limits(&config, &limits);
    assert_int_equal(limits.body_bytes, 32 << 20);
    assert_int_equal(limits.idle_timeout_ms, 120000);
    config_release(&config);
}

TEST(config_file_may_be_empty)
{
    static const char *const files[] = {"", "# nothing\n", "---\n", "--- \n...\n", "~\n", "{}\n"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct config config;
        init(&config);
        assert_reads(&config, files[i]);
        assert_string_equal(config.node, "n1");
        config_release(&config);
    }
}

#define STORES "sqlite, memory, or redis://[user:password@]host[:port][/database]"

static const struct {
    const char *yaml, *why;
} bad_files[] = {
    {"stor: sqlite\n", "t.yml:1:1: stor is not known; did you mean store?"},
    {"\nlimits:\n  bodybytes: 1\n",
     "t.yml:3:3: limits.bodybytes is not known; did you mean limits.body_bytes?"},
    {"body_bytes: 1\n", "t.yml:1:1: body_bytes is not known; did you mean limits.body_bytes?"},
    {"limit:\n  body_bytes: 1\n", "t.yml:1:1: limit is not known; did you mean limits?"},
    {"Log-Level: x\n", "t.yml:1:1: Log-Level is not known; did you mean log.level?"},
    {"something_else: 1\n", "t.yml:1:1: something_else is not known"},
    {"limits.body_bytes: 1\n",
     "t.yml:1:1: limits.body_bytes: a key has no dots; what is below 'limits:' is indented"},
    {"a.b: 1\n", "t.yml:1:1: a.b is not known"},
    {"store: redis\n", "t.yml:1:8: store: found 'redis', allowed is " STORES},
    {"store: redis://a:b@\n", "t.yml:1:8: store: found '(hidden)', allowed is " STORES},
    {"store: redis://a:***@h\n", "t.yml:1:8: store: found '(hidden)', allowed is " STORES},
    {"store: [sqlite]\n", "t.yml:1:8: store: found a list, allowed is " STORES},
    {"store: {a: b}\n", "t.yml:1:8: store: found a mapping, allowed is " STORES},
    {"store:\n", "t.yml:1:7: store: found nothing, allowed is " STORES},
    {"store: ~\n", "t.yml:1:8: store: found nothing, allowed is " STORES},
    {"store: sqlite\nstore: memory\n", "t.yml:2:1: store: it is there already, in line 1"},
    {"tls: {}\nnode: a\ntls: {}\n", "t.yml:3:1: tls: it is there already, in line 1"},
    {"log:\n  level: loud\n",
     "t.yml:2:10: log.level: found 'loud', allowed is one of error, warn, info, debug"},
    {"log:\nnode: a\n", "t.yml:1:5: log: nothing stands below it: give it keys, or take it out"},
    {"log: info\n", "t.yml:1:6: log: found a value, allowed are keys below it"},
    {"limits:\n  head_bytes: 64k\n",
     "t.yml:2:15: limits.head_bytes: found '64k', allowed is a size from 1KiB to 1MiB, such as "
     "64KiB"},
    {"limits: {head_bytes: 1023}\n",
     "t.yml:1:22: limits.head_bytes: found '1023', allowed is a size from 1KiB to 1MiB, such "
     "as 64KiB"},
    {"limits: {headers: 1001}\n",
     "t.yml:1:19: limits.headers: found '1001', allowed is a whole number from 8 to 1000"},
    {"limits: {headers: 0x10}\n", "t.yml:1:19: limits.headers: found '0x10', allowed is a "
                                  "whole number from 8 to 1000"},
    {"limits: {headers: 010}\n", "t.yml:1:19: limits.headers: found '010', allowed is a whole "
                                 "number from 8 to 1000"},
    {"limits: {headers: 64B}\n", "t.yml:1:19: limits.headers: found '64B', allowed is a whole "
                                 "number from 8 to 1000"},
    {"limits: {headers: 99999999999999999999}\n",
     "t.yml:1:19: limits.headers: found '99999999999999999999', allowed is a whole number from "
     "8 to 1000"},
    {"limits: {docs_bytes: 99999999999TiB}\n",
     "t.yml:1:22: limits.docs_bytes: found '99999999999TiB', allowed is a size from 1MiB to "
     "64GiB, such as 64KiB"},
    {"misfire_grace: 5 minutes\n",
     "t.yml:1:16: misfire_grace: found '5 minutes', allowed is a time from 0ms to 365d, such "
     "as 30s"},
    {"misfire_grace: -1\n", "t.yml:1:16: misfire_grace: found '-1', allowed is a time from 0ms "
                            "to 365d, such as 30s"},
    {"listen: []\n", "t.yml:1:9: listen: found '', allowed is a list of 1 to 16, each an "
                     "address such as 127.0.0.1:7400 or [::1]:7400"},
    {"listen: 7400\n", "t.yml:1:9: listen: found '7400', allowed is a list of 1 to 16, each an "
                       "address such as 127.0.0.1:7400 or [::1]:7400"},
    {"listen:\n  - localhost:7400\n",
     "t.yml:2:5: listen: found 'localhost:7400', allowed is a list of 1 to 16, each an address "
     "such as 127.0.0.1:7400 or [::1]:7400"},
    {"listen: [[a]]\n", "t.yml:1:10: listen: found a list, allowed is a list of 1 to 16, each "
                        "an address such as 127.0.0.1:7400 or [::1]:7400"},
    {"node: \"a b\"\n", "t.yml:1:7: node: found 'a b', allowed is letters, digits, dots, "
                        "dashes and underscores"},
    {"data: \"a\\0b\"\n",
     "t.yml:1:7: data: found 'a', allowed is a text without control characters"},
    {"data: \"a\\nb\"\n",
     "t.yml:1:7: data: found 'a?b', allowed is a text without control characters"},
    {"data: &here /x\n", "t.yml:1:7: data: anchors (&) and aliases (*) are not allowed"},
    {"data: *here\n", "t.yml:1:7: data: anchors (&) and aliases (*) are not allowed"},
    {"data: !!str x\n", "t.yml:1:7: data: tags (!) are not allowed"},
    {"<<: {}\n", "t.yml:1:1: << is not known"},
    {"? [a]\n: b\n", "t.yml:1:3: a key must be a single word"},
    {"- a\n", "t.yml:1:1: the file must be a mapping: lines such as 'store: sqlite'"},
    {"sqlite\n", "t.yml:1:1: the file must be a mapping: lines such as 'store: sqlite'"},
    {"store: sqlite\n---\nstore: memory\n", "t.yml:2:1: a second document (---) is not allowed"},
    {"store: \"sqlite\n", "t.yml:2:1: this is not YAML: found unexpected end of stream"},
    {"data: b: c\n", "t.yml:1:8: this is not YAML: mapping values are not allowed in this "
                     "context"},
    {"\tstore: sqlite\n", "t.yml:1:1: this is not YAML: found character that cannot start any "
                          "token"},
    {"store: \xff\n", "t.yml: byte 7: invalid leading UTF-8 octet"},
    {"tokens: abc\n", "t.yml:1:9: tokens: found a single value, allowed is a list of up to 64, "
                      "each {name, token} or {name, token_file}"},
    {"tokens: [abc]\n", "t.yml:1:10: tokens: a token is a mapping with name and either token "
                        "or token_file"},
    {"tokens: [{name: a}]\n", "t.yml:1:10: tokens: token a: one of token and token_file is needed"},
    {"tokens: [{token: 0123456789abcdef}]\n", "t.yml:1:10: tokens: a token without a name"},
    {"tokens: [{name: a, token: 0123456789abcdef, token_file: /x}]\n",
     "t.yml:1:10: tokens: token a: one of token and token_file is needed"},
    {"tokens: [{name: a, secret: b}]\n",
     "t.yml:1:20: tokens: a token has name and either token or token_file"},
    {"tokens: [{name: a, name: b}]\n", "t.yml:1:20: tokens: the same key twice in one token"},
    {"tokens:\n  - name: a\n    token: hunter2\n",
     "t.yml:2:5: tokens: token a: found 7 characters; a token has 16 to 255 letters, digits "
     "and -._~+/="},
    {"tokens: [{name: 'a b', token: 0123456789abcdef}]\n",
     "t.yml:1:10: tokens: found the name 'a b', allowed are letters, digits, dots, dashes and "
     "underscores, 64 at most"},
};

TEST(config_file_that_is_wrong_is_refused_with_place_reason_and_remedy)
{
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        enum tocsin_status status = read_yaml(&config, bad_files[i].yaml, &why);
        if (status != TOCSIN_INVALID || strcmp(why.text, bad_files[i].why) != 0) {
            print_error("%s  says   %s\n  wanted %s\n", bad_files[i].yaml, why.text,
                        bad_files[i].why);
            wrong++;
        }
        config_release(&config);
    }
    assert_int_equal(wrong, 0);
}

TEST(config_file_has_a_limit_of_size_and_of_items)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    static char yaml[CONFIG_FILE_BYTES_MAX + 2];
    memset(yaml, '#', sizeof yaml - 1);
    assert_int_equal(read_yaml(&config, yaml, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "t.yml: it is larger than 256KiB");
    assert_int_equal(read_yaml(&config, yaml + 1, &why), TOCSIN_OK);
    size_t used = (size_t)snprintf(yaml, sizeof yaml, "listen: [");
    for (int i = 0; i < 17; i++)
        used += (size_t)snprintf(yaml + used, sizeof yaml - used, "'127.0.0.1:%d',", 7000 + i);
    (void)snprintf(yaml + used, sizeof yaml - used, "]\n");
    assert_int_equal(read_yaml(&config, yaml, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "t.yml:1:282: listen: more than 16 of them");
    assert_int_equal(config.listen.count, 1);
    memset(yaml, '[', sizeof yaml - 1);
    yaml[CONFIG_FILE_BYTES_MAX] = '\0';
    assert_int_equal(read_yaml(&config, yaml, &why), TOCSIN_INVALID);
    config_release(&config);
}

TEST(config_file_that_cannot_be_read_is_named)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_int_equal(config_read_file(&config, "/nonexistent/t.yml", &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "/nonexistent/t.yml: No such file or directory");
    assert_int_equal(config_read_file(&config, "/tmp", &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "/tmp: Is a directory");
    config_release(&config);
}

/* environ has them writable. */
#define VARIABLE(text) ((char[]){text})

static char *const environment[] = {
    VARIABLE("HOME=/root"),
    VARIABLE("TOCSIN_LISTEN=127.0.0.1:1,127.0.0.1:2"),
    VARIABLE("TOCSIN_LIMITS_BODY_BYTES=20MiB"),
    VARIABLE("TOCSIN_NODE=from-environment"),
    VARIABLE("TOCSIN_TOKENS=ops=0123456789abcdef==,ci=@/etc/ci"),
    VARIABLE("TOCSIN_URL=http://127.0.0.1:7400"),
    VARIABLE("TOCSIN_TOKEN=a"),
    VARIABLE("TOCSIN_SERVICE_HOST=10.0.0.1"),
    VARIABLE("TOCSIN_PORT_7400_TCP=tcp://10.0.0.1:7400"),
    VARIABLE("TOCSIN_CONFIG=/etc/tocsin.yml"),
    NULL,
};

TEST(config_of_the_environment_is_read_by_names_made_from_the_paths)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_int_equal(config_read_environment(&config, environment, &why), TOCSIN_OK);
    assert_int_equal(config.listen.count, 2);
    assert_string_equal(config.listen.items[1], "127.0.0.1:2");
    assert_int_equal(config.limits.body_bytes, 20 << 20);
    assert_string_equal(config.tokens.items[0].token, "0123456789abcdef==");
    assert_string_equal(config.tokens.items[1].file, "/etc/ci");
    config_release(&config);
}

TEST(config_flag_beats_environment_beats_file_beats_default_in_any_order)
{
    static const char yaml[] = "node: from-file\nlisten: 127.0.0.1:9\ndata: from-file\n";
    for (int order = 0; order < 6; order++) {
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        struct config config;
        struct config_why why = {""};
        init(&config);
        for (int step = 0; step < 3; step++) {
            if (orders[order][step] == 0)
                assert_reads(&config, yaml);
            else if (orders[order][step] == 1)
                assert_int_equal(config_read_environment(&config, environment, &why), TOCSIN_OK);
            else
                assert_sets(&config, "node", "from-flag");
        }
        assert_string_equal(config.node, "from-flag");
        assert_string_equal(config.listen.items[0], "127.0.0.1:1");
        assert_string_equal(config.data, "from-file");
        assert_int_equal(config_store_kind(&config), CONFIG_SQLITE);
        config_release(&config);
    }
}

TEST(config_value_that_is_beaten_must_be_right_all_the_same)
{
    struct config config;
    struct config_why why = {""};
    init(&config);
    assert_sets(&config, "store", "memory");
    assert_int_equal(read_yaml(&config, "store: redis\n", &why), TOCSIN_INVALID);
    char *const bad[] = {VARIABLE("TOCSIN_STORE=redis"), NULL};
    assert_int_equal(config_read_environment(&config, bad, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "environment: TOCSIN_STORE: found 'redis', allowed is " STORES);
    assert_int_equal(config_store_kind(&config), CONFIG_MEMORY);
    config_release(&config);
}

TEST(config_variable_or_flag_that_is_wrong_is_refused_by_name)
{
    static const struct {
        const char *variable;
        const char *why;
    } variables[] = {
        {"TOCSIN_LIMIT_BODYBYTES=1", "environment: TOCSIN_LIMIT_BODYBYTES is not known; did you "
                                     "mean TOCSIN_LIMITS_BODY_BYTES?"},
        {"TOCSIN_WHATEVER_THIS_IS=1", "environment: TOCSIN_WHATEVER_THIS_IS is not known"},
        {"TOCSIN_=1", "environment: TOCSIN_ is not known"},
        {"TOCSIN_DRAIN_TIMEOUT=soon", "environment: TOCSIN_DRAIN_TIMEOUT: found 'soon', allowed is "
                                      "a time from 0ms to 1h, such as 30s"},
        {"TOCSIN_LISTEN=", "environment: TOCSIN_LISTEN: found '', allowed is a list of 1 to 16, "
                           "each an address such as 127.0.0.1:7400 or [::1]:7400"},
        {"TOCSIN_TOKENS=0123456789abcdef",
         "environment: TOCSIN_TOKENS: allowed is name=token or name=@file, with commas"},
        {"TOCSIN_TOKENS=a=@", "environment: TOCSIN_TOKENS: token a: '' is not the name of a file"},
        {"TOCSIN_DATA=\xff", "environment: TOCSIN_DATA: found '\xff', allowed is a text without "
                             "control characters"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        char variable[100];
        (void)snprintf(variable, sizeof variable, "%s", variables[i].variable);
        char *const one[] = {variable, NULL};
        assert_int_equal(config_read_environment(&config, one, &why), TOCSIN_INVALID);
        assert_string_equal(why.text, variables[i].why);
        assert_int_equal(config_set(&config, "nod", "x", CONFIG_FLAG, &why), TOCSIN_INVALID);
        assert_string_equal(why.text, "command line: nod is not known; did you mean node?");
        assert_int_equal(config_set(&config, "node", "", CONFIG_FLAG, &why), TOCSIN_INVALID);
        assert_string_equal(why.text, "command line: node: found '', allowed is letters, digits, "
                                      "dots, dashes and underscores");
        assert_int_equal(config_set(&config, "node", "", CONFIG_FLAG, NULL), TOCSIN_INVALID);
        config_release(&config);
    }
}

TEST(config_as_a_whole_must_make_sense)
{
    static const struct {
        const char *yaml, *why;
    } cases[] = {
        {"listen: 0.0.0.0:7400",
         "listen: 0.0.0.0:7400 can be reached from other machines: that needs tokens; without, "
         "only loopback addresses (127.0.0.1, [::1]) are allowed"},
        {"listen: ['127.0.0.1:1', '[::]:7400']",
         "listen: [::]:7400 can be reached from other machines: that needs tokens; without, only "
         "loopback addresses (127.0.0.1, [::1]) are allowed"},
        {"{listen: '10.0.0.1:1', tokens: [{name: a, token: 0123456789abcdef}]}", NULL},
        {"{listen: '10.0.0.1:1', clock: manual, tokens: [{name: a, token: 0123456789abcdef}]}",
         "listen: 10.0.0.1:1 can be reached from other machines, and the clock is manual: that is "
         "for tests on loopback addresses only"},
        {"listen: ['127.0.0.1:1', '127.0.0.1:1']", "listen: 127.0.0.1:1 is there twice"},
        {"listen: ['127.0.0.1:0', '127.0.0.1:0']", NULL},
        {"tls: {certificate: a.pem}",
         "tls: certificate is given without key: TLS needs both files"},
        {"tls: {key: a.pem}", "tls: key is given without certificate: TLS needs both files"},
        {"tls: {certificate: a.pem, key: b.pem}", NULL},
        {"limits: {batch_bytes: 17MiB}",
         "limits.batch_bytes: 17MiB is more than limits.body_bytes (16MiB) lets in"},
        {"limits: {body_bytes: 300MiB}",
         "limits.body_bytes: 300MiB is more than limits.body_bytes_total (256MiB) lets in"},
        {"tokens: [{name: a, token: 0123456789abcdef}, {name: a, token: 0123456789abcdeg}]",
         "tokens: the name a is there twice"},
        {"tokens: [{name: a, token: 0123456789abcdef}, {name: b, token: 0123456789abcdef}]",
         "tokens: a and b have the same token"},
        {"tokens: [{name: a, token_file: /nonexistent/token}]",
         "tokens: token a: /nonexistent/token: No such file or directory"},
        {"tokens: [{name: a, token_file: /dev/null}]",
         "tokens: token a: /dev/null holds 0 characters; a token has 16 to 255 letters, digits and "
         "-._~+/="},
        {"tokens: [{name: a, token_file: /dev/zero}]",
         "tokens: token a: /dev/zero: it is too long for a token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        assert_reads(&config, cases[i].yaml);
        enum tocsin_status wanted = cases[i].why != NULL ? TOCSIN_INVALID : TOCSIN_OK;
        if (config_finish(&config, &why) != wanted)
            fail_msg("%s: %s", cases[i].yaml, why.text);
        assert_string_equal(why.text, cases[i].why != NULL ? cases[i].why : "");
        config_release(&config);
    }
}

TEST(config_forms_take_what_they_should_and_nothing_else)
{
    static const struct {
        bool (*fits)(const char *text);
        const char *good[6], *bad[12];
    } forms[] = {
        {config_form_address,
         {"127.0.0.1:0", "0.0.0.0:65535", "[::1]:7400", "[fe80::1]:1", "[::ffff:127.0.0.1]:1"},
         {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:01", "::1:7400", "[::1]",
          "[127.0.0.1]:1", "127.0.0.1:-1", "[]:1", "[::1:1", "localhost:1"}},
        {config_form_loopback,
         {"127.0.0.1:0", "127.255.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"},
         {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::ffff:10.0.0.1]:1", "[::2]:1", "x"}},
        {config_form_host,
         {"a", "a.example.org", "a.example.org:8443", "10.0.0.1", "[::1]", "[::1]:80"},
         {"", ".a", "-a", "a..b", "a b", "a:", "a:x", "a/b", "http://a", "[::1", "[x]"}},
        {config_form_origin,
         {"http://a", "https://a.example.org:8443", "http://[::1]:80"},
         {"", "a", "ftp://a", "https://", "https://a/", "https://a/b", "null", "*"}},
        {config_form_token,
         {"0123456789abcdef", "-._~+/=-._~+/=ab"},
         {"", "0123456789abcde", "0123456789abcde ", "0123456789abcde\"",
          "0123456789abcd\xc3\xa9"}},
        {config_form_name, {"n1", "A.b-c_d"}, {"", "a b", "a/b", "\xc3\xa9"}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (size_t j = 0; j < 6 && forms[i].good[j] != NULL; j++) {
            if (!forms[i].fits(forms[i].good[j]))
                fail_msg("form %zu refuses %s", i, forms[i].good[j]);
        }
        for (size_t j = 0; j < 12 && forms[i].bad[j] != NULL; j++) {
            if (forms[i].fits(forms[i].bad[j]))
                fail_msg("form %zu takes %s", i, forms[i].bad[j]);
        }
    }
}

/* C-05: under the names of the requirement. */
TEST(config_of_the_game_has_a_section_in_a_section)
{
    struct config config;
    struct config_why why = {""};
    char timed[] = "TOCSIN_GOMOKU_TURN_AITIMED=true";
    char *variables[] = {timed, NULL};
    init(&config);
    assert_int_equal(config.gomoku.turn.seconds, 30);
    assert_int_equal(config.gomoku.turn.aiTimed, 0);
    assert_reads(&config, "gomoku: {turn: {seconds: 45, aiTimed: false}, rooms: 7}\n"
                          "instance:\n  id: gomoku-1\n");
    assert_int_equal(config_read_environment(&config, variables, &why), TOCSIN_OK);
    assert_sets(&config, "gomoku.turn.seconds", "60");
    assert_int_equal(config_finish(&config, &why), TOCSIN_OK);
    assert_int_equal(config.gomoku.turn.seconds, 60);
    assert_int_equal(config.gomoku.turn.aiTimed, 1);
    assert_int_equal(config.gomoku.rooms, 7);
    assert_string_equal(config.node, "gomoku-1");
    config_release(&config);
}

/* C-04: under the name of the requirement. */
TEST(config_of_the_holder_of_a_timeout)
{
    struct config config;
    struct config_why why = {""};
    char given[] = "TOCSIN_COUNTDOWN_HOLDER_TTL_SECONDS=7";
    char *variables[] = {given, NULL};
    init(&config);
    assert_int_equal(config.countdown.holder.ttl.seconds, 10);
    assert_reads(&config, "countdown:\n  holder:\n    ttl:\n      seconds: 30\n");
    assert_int_equal(config.countdown.holder.ttl.seconds, 30);
    assert_int_equal(config_read_environment(&config, variables, &why), TOCSIN_OK);
    assert_int_equal(config.countdown.holder.ttl.seconds, 7);
    assert_int_not_equal(
        config_set(&config, "countdown.holder.ttl.seconds", "0", CONFIG_FLAG, &why), TOCSIN_OK);
    assert_sets(&config, "countdown.holder.ttl.seconds", "1");
    config_release(&config);
}

TEST(config_names_a_node_once)
{
    static const struct {
        const char *yaml;
        const char *flag; /* of instance.id; NULL: none */
        const char *node; /* NULL: refused */
    } rows[] = {
        {"node: a\n", NULL, "a"},
        {"node: a\n", "b", "b"}, /* a flag beats the file */
        {"instance: {id: a}\n", NULL, "a"},
        {"instance: {id: ''}\n", NULL, "n1"},
        {"node: a\ninstance: {id: a}\n", NULL, "a"},
        {"node: a\ninstance: {id: b}\n", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct config_why why = {""};
        init(&config);
        assert_reads(&config, rows[i].yaml);
        if (rows[i].flag != NULL)
            assert_sets(&config, "instance.id", rows[i].flag);
        enum tocsin_status status = config_finish(&config, &why);
        assert_int_equal(status, rows[i].node != NULL ? TOCSIN_OK : TOCSIN_INVALID);
        if (rows[i].node != NULL)
            assert_string_equal(config.node, rows[i].node);
        else
            assert_string_equal(why.text, "instance.id: b, but node is a: give one of the two");
        config_release(&config);
    }
}
